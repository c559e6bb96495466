package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenses returns the licence notices of everything linked into the binary of an
// architecture: Go's own, and those of each module with those of its folders that have
// their own. A module without a licence is an error: it may not be given to others.
func (b *build) licenses(arch string) ([]byte, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}{{"\t"}}{{.Dir}}`, "./cmd/engram")
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the packages of %s: %w", arch, err)
	}
	root, err := output("", "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	version, err := output("", "go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	notices := map[string][]string{
		"The Go standard library " + version: {filepath.Join(root, "LICENSE")},
		"The page (edge/web/dist)":           {filepath.Join(b.root, "edge/web/dist/ui/licenses.md")},
	}
	for line := range strings.Lines(string(list)) {
		part := strings.Split(strings.TrimSpace(line), "\t")
		if len(part) != 3 {
			continue // the standard library, or ours
		}
		module, dir := part[0], part[1]
		if _, ok := notices[module]; !ok {
			if notices[module], err = noticesIn(dir); err != nil {
				return nil, err
			}
			if len(notices[module]) == 0 {
				return nil, fmt.Errorf("%s has no licence in %s", module, dir)
			}
		}
		for folder := part[2]; folder != dir; folder = filepath.Dir(folder) {
			more, err := noticesIn(folder)
			if err != nil {
				return nil, err
			}
			for _, f := range more {
				if !slices.Contains(notices[module], f) {
					notices[module] = append(notices[module], f)
				}
			}
		}
	}
	return written(notices)
}

// notice is the name of a file with a licence, a notice or a grant of patents.
var notice = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// source is the name of a program's text, such as license_test.go.
var source = regexp.MustCompile(`\.(go|c|h|s|py|sh)$`)

func noticesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.Type()&fs.ModeDir == 0 && notice.MatchString(e.Name()) && !source.MatchString(e.Name()) {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// written puts the notices into one text, by name.
func written(notices map[string][]string) ([]byte, error) {
	var names []string
	for name := range notices {
		names = append(names, name)
	}
	slices.Sort(names)
	var out bytes.Buffer
	fmt.Fprintf(&out, "The program engram contains software of others, under these licences:\n\n  %s\n", strings.Join(names, "\n  "))
	for _, name := range names {
		for _, f := range notices[name] {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, filepath.Base(f), bytes.TrimSpace(text))
		}
	}
	return out.Bytes(), nil
}
