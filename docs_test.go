package engram_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// livingDocs returns the pages that must be true of the present: those of the root, those below
// docs but for docs/history, and those of the clients.
func livingDocs(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := filepath.Glob("clients/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	docs = append(docs, clients...)
	err = filepath.WalkDir("docs", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join("docs", "history"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			docs = append(docs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

var (
	fencePattern = regexp.MustCompile("(?ms)^```.*?^```[ \t]*$")
	codePattern  = regexp.MustCompile("`[^`\n]+`")
	linkPattern  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
)

// anchors returns the fragments that lead to the headings of a page, as GitHub makes them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(fencePattern.ReplaceAllString(page, "")) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		var name strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				name.WriteRune(r)
			case r == ' ':
				name.WriteByte('-')
			}
		}
		anchor := name.String()
		for n := 1; found[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", name.String(), n)
		}
		found[anchor] = true
	}
	return found
}

// repository has the files of the repository and their folders.
var repository = sync.OnceValue(func() map[string]bool {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		panic(err)
	}
	has := map[string]bool{".": true}
	for path := range strings.Lines(string(out)) {
		for path = strings.TrimSpace(path); !has[path]; path = filepath.Dir(path) {
			has[path] = true
		}
	}
	return has
})

// there reports whether the repository has what a pattern matches. What lies about besides, such
// as a folder that packages were moved from, is not of it.
func there(pattern string) bool {
	pattern = filepath.Clean(pattern)
	if repository()[pattern] {
		return true
	}
	for path := range repository() {
		if ok, err := filepath.Match(pattern, path); err == nil && ok {
			return true
		}
	}
	return false
}

// deadLinks returns the links of a page to files and headings that are not there. Links to other
// sites are not looked at.
func deadLinks(file, page string) (dead []string) {
	prose := codePattern.ReplaceAllString(fencePattern.ReplaceAllString(page, ""), "")
	for _, m := range linkPattern.FindAllStringSubmatch(prose, -1) {
		path, fragment, _ := strings.Cut(m[1], "#")
		if strings.Contains(path, ":") {
			continue
		}
		target, found := page, true
		if path != "" {
			path = filepath.Join(filepath.Dir(file), path)
			found, target = there(path), ""
			if strings.HasSuffix(path, ".md") {
				text, _ := os.ReadFile(path)
				target = string(text)
			}
		}
		if !found || fragment != "" && target != "" && !anchors(target)[fragment] {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// topFolders are those in which the paths that pages name begin.
var topFolders = []string{
	"core", "mind", "fleet", "edge", "client", "node", "cmd", "internal", "docs", "api", "gen",
	"examples", "packaging", "bench", "clients", ".ci",
}

// goneFolders are those that packages lay in before the wings (docs/history/import-paths.md).
var goneFolders = []string{
	"access", "backbone", "copies", "feature", "idf", "ingest", "knowledge", "ltm", "memories",
	"memorytest", "mns", "ops", "pose", "query", "server", "transport", "web", "wm", "world",
}

// notPaths are what looks like a path in a folder that is gone, and is none.
var notPaths = []string{
	"copies/", // in the data folder of a server
}

var pathPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.*-]+)*/?$`)

// deadPaths returns the paths in a page's code that lead nowhere: those in a folder of the
// repository that does not have them, and those in folders that are gone.
func deadPaths(page string) (dead []string) {
	for _, code := range codePattern.FindAllString(fencePattern.ReplaceAllString(page, ""), -1) {
		for word := range strings.FieldsSeq(strings.Trim(code, "`")) {
			word = strings.TrimPrefix(strings.TrimRight(word, ",;:"), "./")
			top, rest, ok := strings.Cut(word, "/")
			if !ok || !pathPattern.MatchString(word) {
				continue
			}
			switch {
			case slices.Contains(topFolders, top):
				if !there(strings.Replace(word, "...", "*", 1)) {
					dead = append(dead, word)
				}
			case slices.Contains(goneFolders, top) && !slices.Contains(notPaths, top+"/"+rest):
				dead = append(dead, word)
			}
		}
	}
	return dead
}

// Links and paths in the docs lead to files, folders and headings that exist.
func TestDocsLeadSomewhere(t *testing.T) {
	docs := livingDocs(t)
	if len(docs) < 25 {
		t.Fatalf("only %d pages are found", len(docs))
	}
	links, paths := 0, 0
	for _, file := range docs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		links += len(linkPattern.FindAllString(page, -1))
		paths += strings.Count(page, "`core/") + strings.Count(page, "`mind/")
		for _, link := range deadLinks(file, page) {
			t.Errorf("%s: the link %s leads nowhere", file, link)
		}
		for _, path := range deadPaths(page) {
			t.Errorf("%s: the path %s is none", file, path)
		}
	}
	if links < 200 || paths < 100 {
		t.Errorf("the pages have only %d links and %d paths", links, paths)
	}
}

// What leads nowhere is found, and what leads somewhere is not.
func TestDeadLinksAndPathsAreFound(t *testing.T) {
	const page = "# A page, of `code`\n\n## Twice\n\n## Twice\n\n```\n# no heading\n[no link](nowhere.md)\n```\n"
	for link, dead := range map[string]bool{
		"ltm.md": false, "ltm.md#policies": false, "../core/wm": false, "#twice": false, "#twice-1": false,
		"#a-page-of-code": false, "https://example.com/nowhere": false,
		"nowhere.md": true, "ltm.md#nowhere": true, "../wm": true, "#no-heading": true, "#twice-2": true,
	} {
		want := []string{link}
		if !dead {
			want = nil
		}
		if got := deadLinks("docs/page.md", page+"[a link]("+link+") and `[code](nowhere.md)`\n"); !slices.Equal(got, want) {
			t.Errorf("of a page with a link to %s these are dead: %q", link, got)
		}
	}
	for code, dead := range map[string]bool{
		"core/wm": false, "core/wm/timeline.go": false, "go test ./core/wm -bench .": false, ".ci/run": false,
		"docs/formats/": false, "go test ./core/...": false, "api/engram/v1": false, "clients/python": false,
		"ltm forget": false, "World/Item": false, "copies/": false, "Object/Instance/camera/cup": false,
		"text/plain": false, "wm": false, "server.Memory": false,
		"core/nowhere": true, "cmd/engram/nowhere.go": true, "go test ./core/nowhere -v": true, ".ci/nowhere": true,
		"wm/timeline.go": true, "ltm/wal": true, "go test ./transport/rpc -v": true, "copies/source": true, "web/": true,
	} {
		if got := deadPaths("It says `" + code + "`.\n```\nwm/timeline.go `wm/wm.go`\n```\n"); (len(got) > 0) != dead {
			t.Errorf("of the code %q these are dead: %q", code, got)
		}
	}
}

// shownInPicture returns the folders of wings that a picture does not show, and what it shows
// that is none.
func shownInPicture(picture string, packages map[string][]string) (missing, unknown []string) {
	shown := map[string]bool{}
	for _, m := range regexp.MustCompile(`<text [^>]*monospace"[^>]*>([a-z]+)</text>`).FindAllStringSubmatch(picture, -1) {
		shown[m[1]] = true
	}
	names := map[string]bool{"engram": true} // the root
	for p := range packages {
		top, rest, _ := strings.Cut(p, "/")
		below, _, _ := strings.Cut(rest, "/")
		names[top], names[below] = true, true
		for _, name := range []string{top, below} {
			inside := name != "" && name != "internal" && name != "."
			if inside && rooms("core", "mind", "fleet", "edge")(p) && !shown[name] && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	for name := range shown {
		if !names[name] && !slices.Contains(topFolders, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(missing)
	slices.Sort(unknown)
	return missing, unknown
}

// The picture in docs/architecture.md shows each folder of the wings.
func TestPictureShowsWings(t *testing.T) {
	picture, err := os.ReadFile("docs/img/wings.svg")
	if err != nil {
		t.Fatal(err)
	}
	packages := listPackages(t)
	if missing, unknown := shownInPicture(string(picture), packages); len(missing)+len(unknown) > 0 {
		t.Errorf("docs/img/wings.svg does not show %q, and shows %q, which are none", missing, unknown)
	}
	bad := strings.ReplaceAll(string(picture), ">wm<", ">workingmemory<")
	if missing, unknown := shownInPicture(bad, packages); !slices.Equal(missing, []string{"wm"}) || !slices.Equal(unknown, []string{"workingmemory"}) {
		t.Errorf("of a picture with a wrong name are found %q and %q", missing, unknown)
	}
}

// unlisted returns the packages of a wing for which its package comment has no line, and the lines
// that are for none.
func unlisted(wing, comment string, packages map[string][]string) (missing, unknown []string) {
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z0-9/]+) +\S`).FindAllStringSubmatch(comment, -1) {
		listed[wing+"/"+m[1]] = true
	}
	for p := range packages {
		if strings.HasPrefix(p, wing+"/") && !listed[p] {
			missing = append(missing, p)
		}
	}
	for p := range listed {
		if _, ok := packages[p]; !ok {
			unknown = append(unknown, p)
		}
	}
	slices.Sort(missing)
	slices.Sort(unknown)
	return missing, unknown
}

// "go doc" of each wing has a line for each of its packages.
func TestWingsListTheirPackages(t *testing.T) {
	packages := listPackages(t)
	for _, wing := range []string{"core", "mind", "fleet", "edge"} {
		comment, err := os.ReadFile(filepath.Join(wing, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		if missing, unknown := unlisted(wing, string(comment), packages); len(missing)+len(unknown) > 0 {
			t.Errorf("%s/doc.go does not list %q, and lists %q, which are no packages", wing, missing, unknown)
		}
	}
	bad := "// Package fleet is.\n//\n//\tmns   names\n//\tbones nothing\n"
	missing, unknown := unlisted("fleet", bad, map[string][]string{"fleet": nil, "fleet/mns": nil, "fleet/copies": nil, "core/wm": nil})
	if !slices.Equal(missing, []string{"fleet/copies"}) || !slices.Equal(unknown, []string{"fleet/bones"}) {
		t.Errorf("of a wrong list are found %q and %q", missing, unknown)
	}
}
