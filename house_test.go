package engram_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/seed-301d4374/engram"

// listPackages returns the module's packages, as paths below the module, with the
// packages of this module that each imports outside its tests.
func listPackages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...", "./bench/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		var imports []string
		for _, imp := range fields[1:] {
			if imp == module || strings.HasPrefix(imp, module+"/") {
				imports = append(imports, below(imp))
			} else {
				imports = append(imports, imp)
			}
		}
		packages[below(fields[0])] = imports
	}
	return packages
}

func below(importPath string) string {
	p := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	if p == "" {
		return "."
	}
	return p
}

func in(folder string) func(string) bool {
	return func(p string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }
}

// importRule forbids a direct import between packages, which are paths below the module.
type importRule struct {
	from, to func(string) bool
	why      string
	bad      [2]string // an import that this rule refuses, and no other rule
}

func rooms(folders ...string) func(string) bool {
	return func(p string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return in(f)(p) })
	}
}

func except(which func(string) bool) func(string) bool {
	return func(p string) bool { return !which(p) }
}

// isModule tells a package of another module from the standard library and from ours.
func isModule(p string) bool { return strings.Contains(strings.SplitN(p, "/", 2)[0], ".") && p != "." }

// wings are the folders of the house in their order: each imports the root, the wings below
// it, and itself. mind and fleet lie side by side.
var wings = []struct {
	folder string
	below  []string
	why    string
	bad    [2]string // of an import that goes up
}{
	{"core", nil, "core is one memory server, without a network", [2]string{"core/server", "fleet/copies/contract"}},
	{"mind", []string{"core"}, "what a robot makes of its memories is the same with one server and with many", [2]string{"mind/memories", "fleet/mns"}},
	{"fleet", []string{"core"}, "several servers carry any memory, so they know none", [2]string{"fleet/copies", "mind/pose/lookup"}},
	{"edge", []string{"core", "mind", "fleet"}, "the ways in and out are used by programs, and use none", [2]string{"edge/ingest", "client"}},
	{"client", []string{"core", "mind", "fleet", "edge"}, "a client knows no server as a whole", [2]string{"client", "node"}},
	{"node", []string{"core", "mind", "fleet", "edge", "client"}, "a server as a whole knows no program", [2]string{"node", "packaging/build"}},
}

// programs are the folders of what is run and not imported, with what tests need.
var programs = []string{"cmd", "examples", "bench", "clients", "packaging", "internal/testkit", "internal/sim", "internal/fleet",
	"internal/attack", "internal/crashtest", "internal/netlab", "internal/protogen"}

// importRules are the direction of imports, as docs/architecture.md gives it.
func importRules(packages map[string][]string) []importRule {
	root := func(p string) bool { return p == "." }
	ours := func(p string) bool { _, ok := packages[p]; return ok }
	network := func(p string) bool { return p == "net" || in("net/http")(p) }
	rules := []importRule{
		{root, func(p string) bool { return ours(p) || isModule(p) },
			"the root is the domain; it imports only the standard library", [2]string{".", "internal/vfs"}},
		{rooms("internal"), func(p string) bool { return ours(p) && !root(p) && !rooms("internal", "gen")(p) },
			"what wings share is below them", [2]string{"internal/vfs", "core/wm"}},
		{except(rooms("cmd")), rooms("cmd", "examples", "bench"), "nothing imports a program", [2]string{"client", "examples/hooks"}},
		{func(p string) bool { return rooms("mind/pose")(p) && p != "mind/pose/api" }, func(p string) bool {
			return !root(p) && !rooms("mind/pose")(p) && (ours(p) || isModule(p))
		}, "pose can be used without the rest of the memory, and without dependencies", [2]string{"mind/pose", "google.golang.org/protobuf/proto"}},
		{func(p string) bool { return rooms("core", "mind")(p) && p != "core/secure" }, network,
			"only edges and the fleet talk to a network, over what core/secure secures", [2]string{"core/wm", "net/http"}},
		{rooms("core/idf"), rooms("core/wm", "core/ltm", "core/query", "core/server", "core/access", "core/feature"),
			"the data format is below the memories that use it", [2]string{"core/idf", "core/wm"}},
		{rooms("core/query"), rooms("core/wm", "core/ltm", "core/server", "core/access", "core/feature"),
			"queries run over any memory", [2]string{"core/query", "core/wm"}},
		{rooms("core/wm"), rooms("core/ltm", "core/server", "core/access", "core/feature"),
			"the working memory runs without the long-term memory", [2]string{"core/wm", "core/ltm/wal"}},
		{except(func(p string) bool { return rooms("core/feature", "edge", "gen")(p) || strings.HasSuffix(p, "/api") }), rooms("gen/engram/v1"),
			"generated RPC types stay at the edge and in features", [2]string{"mind/memories", "gen/engram/v1"}},
		{rooms("edge/web"), func(p string) bool {
			return rooms("core/wm", "core/ltm", "core/server", "edge/transport", "edge/ingest", "mind/memories")(p) && !in("mind/memories/vision")(p)
		}, "faces see the memory as clients do, through the domain interfaces and features", [2]string{"edge/web", "core/wm"}},
		{rooms("edge/transport"), rooms("edge/web", "edge/ingest", "mind/memories", "core/server"),
			"transports carry any memory, so they know none", [2]string{"edge/transport/rpc", "mind/memories"}},
		{rooms("node"), rooms("edge/ingest"), "importing is a program's work, beside a server", [2]string{"node", "edge/ingest/recording"}},
	}
	for _, w := range wings {
		lower := rooms(append([]string{w.folder}, w.below...)...)
		rules = append(rules, importRule{rooms(w.folder), func(p string) bool {
			return ours(p) && !root(p) && !lower(p) && !rooms("internal", "gen", "examples", "bench")(p)
		}, w.why, w.bad})
	}
	return rules
}

// forbiddenImports returns what the rules refuse of packages and what each imports.
func forbiddenImports(packages map[string][]string) (found []string) {
	for from, imports := range packages {
		if rooms(programs...)(from) {
			continue
		}
		for _, to := range imports {
			for _, r := range importRules(packages) {
				if r.from(from) && r.to(to) {
					found = append(found, fmt.Sprintf("%s imports %s: %s", from, to, r.why))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestForbiddenImports(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 5 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, found := range forbiddenImports(packages) {
		t.Error(found)
	}
}

// Each rule refuses an import that no other refuses.
func TestForbiddenImportsAreFound(t *testing.T) {
	for _, r := range importRules(nil) {
		from, to := r.bad[0], r.bad[1]
		bad := map[string][]string{from: {to}}
		if !isModule(to) && !in("net")(to) {
			bad[to] = nil
		}
		if got, want := forbiddenImports(bad), fmt.Sprintf("%s imports %s: %s", from, to, r.why); !slices.Equal(got, []string{want}) {
			t.Errorf("%s may import %s, or not for one reason: %q, not %q", from, to, got, want)
		}
	}
	good := map[string][]string{
		"core/access": {".", "core/access/credentials"}, "core/access/credentials": nil, "core/ltm/policy": nil, "core/ltm": nil,
		"fleet/copies": {"core/ltm/policy", "internal/vfs"}, "internal/vfs": nil, "cmd/engram": {"node"}, "node": {"core/ltm", "net/http"}, ".": {"net"},
	}
	if got := forbiddenImports(good); len(got) > 0 {
		t.Errorf("refused without a reason: %q", got)
	}
}

// A program that imports client links little.
func TestClientIsLight(t *testing.T) {
	if got := tooHeavy(linkedBy(t, "./client")); len(got) > 0 {
		t.Errorf("client links too much: %s", strings.Join(got, "; "))
	}
	// A server links what a client must not.
	got := strings.Join(tooHeavy(linkedBy(t, "./cmd/engram")), "; ")
	for _, want := range []string{"cel.dev/cel-go", "github.com/foxglove/mcap", "golang.org/x/image", "github.com/nats-io", "packages beyond",
		module + "/core/idf", module + "/fleet/backbone", module + "/core/ltm/codec", module + "/core/ltm/episode", module + "/core/wm", module + "/core/server"} {
		if !strings.Contains(got, want) {
			t.Errorf("the check does not find %s in a server: it says %q", want, got)
		}
	}
}

// linkedBy returns the packages beyond the standard library that a package links.
func linkedBy(t *testing.T, path string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// tooHeavy returns what among the packages a client must not link, and whether they are
// too many.
func tooHeavy(linked []string) (found []string) {
	const most = 90
	if len(linked) > most {
		found = append(found, fmt.Sprintf("%d packages beyond the standard library, at most %d", len(linked), most))
	}
	for _, heavy := range []string{
		"cel.dev/cel-go", "github.com/foxglove/mcap", "golang.org/x/image", "github.com/nats-io", "github.com/bufbuild/protocompile",
		module + "/core/idf", module + "/fleet/backbone", module + "/core/ltm/codec", module + "/core/ltm/episode", module + "/core/wm", module + "/core/server",
	} {
		if slices.ContainsFunc(linked, func(p string) bool {
			return p == heavy || strings.HasPrefix(p, heavy+"/") && p != module+"/core/ltm/episode/meta"
		}) {
			found = append(found, heavy)
		}
	}
	return found
}

// docs/architecture.md lists every package, and none that does not exist.
func TestArchitectureListsEveryPackage(t *testing.T) {
	doc, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		listed[m[1]] = true
	}
	packages := listPackages(t)
	for p := range packages {
		if !listed[p] && !in("gen")(p) && !in("examples")(p) {
			t.Errorf("docs/architecture.md does not list the package %s", p)
		}
	}
	for p := range listed {
		if _, ok := packages[p]; !ok {
			t.Errorf("docs/architecture.md lists %s, which is not a package", p)
		}
	}
}

// Every direct dependency has its line in docs/dependencies.md.
func TestDependenciesAreExplained(t *testing.T) {
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "bench/go.mod"} {
		mod, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\t(\S+\.\S+/?\S*) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
			if m[1] != module && !strings.Contains(string(doc), "`"+m[1]+"`") {
				t.Errorf("docs/dependencies.md does not say why %s of %s is used", m[1], file)
			}
		}
	}
}

// The README's Go code is the quick start's, without the handling of errors.
func TestReadmeCodeIsTheQuickstart(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md has no Go code")
	}
	rest := string(program)
	for line := range strings.Lines(string(block[1])) {
		line = strings.TrimSpace(line)
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("examples/quickstart/main.go does not have, at its place: %s", line)
		}
		rest = after
	}
}

// docs/reading.md names only functions that exist.
func TestReadingNamesFunctions(t *testing.T) {
	doc, err := os.ReadFile("docs/reading.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| `(?:([A-Za-z]+)\\.)?([A-Za-z]+)` \\|").FindAllStringSubmatch(string(doc), -1)
	if len(named) < 30 {
		t.Fatalf("docs/reading.md names only %d functions", len(named))
	}
	functions := map[string]map[string]bool{} // by package
	for _, n := range named {
		if functions[n[1]] == nil {
			functions[n[1]] = functionsOf(t, n[1])
		}
		if name := strings.TrimPrefix(n[2]+"."+n[3], "."); !functions[n[1]][name] {
			t.Errorf("docs/reading.md names %s of %s, which is no function", name, n[1])
		}
	}
	if functions["core/wm"]["WM.Nothing"] {
		t.Error("a function that is not there is found")
	}
}

// functionsOf returns the functions of a package's files without tests, methods as
// Type.Method.
func functionsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no Go files: %v", dir, err)
	}
	found := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if p, ok := of.(*ast.StarExpr); ok {
					of = p.X
				}
				switch generic := of.(type) {
				case *ast.IndexExpr:
					of = generic.X
				case *ast.IndexListExpr:
					of = generic.X
				}
				if id, ok := of.(*ast.Ident); ok {
					name = id.Name + "." + name
				}
			}
			found[name] = true
		}
	}
	return found
}

// docs/guarantees.md and docs/security.md name only tests that exist, and at least one in
// each row of the tables that have a column for them, unless nothing is promised there.
// attackers are the packages whose tests attack servers from outside of their processes.
var attackers = []string{"internal/attack", "internal/crashtest", "internal/fleet"}

// notAttacked begins a section's statement of why some of its promises name no attack.
const notAttacked = "**Where no attack is named:** "

// unattacked returns the sections of a document with a promise that names none of the attacks
// and no statement why, or with a statement although all do.
func unattacked(doc string, attacks map[string]bool) (wrong []string) {
	test := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	attacked := func(row string) bool { // packages have tests of equal names
		return slices.ContainsFunc(attackers, func(p string) bool { return strings.Contains(row, " in "+p) }) &&
			slices.ContainsFunc(test.FindAllStringSubmatch(row, -1), func(m []string) bool { return attacks[m[1]] })
	}
	section, none, says := "", "", false
	end := func() {
		switch {
		case none != "" && !says:
			wrong = append(wrong, fmt.Sprintf("%s: %q names no attack, and the section does not say why", section, none))
		case none == "" && says:
			wrong = append(wrong, fmt.Sprintf("%s says why some name no attack, and all do", section))
		}
	}
	within := false
	for line := range strings.Lines(doc) {
		switch {
		case strings.HasPrefix(line, "#"):
			end()
			section, none, says = strings.TrimSpace(line), "", false
		case strings.HasPrefix(line, notAttacked):
			says = true
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			within = false
		case strings.HasPrefix(line, "|---"):
			within = true
		case within && !attacked(line):
			none, _, _ = strings.Cut(strings.Trim(line, "| \n"), " | ")
		}
	}
	end()
	return wrong
}

func TestGuaranteesNameAttacks(t *testing.T) {
	const table = "| promise | tests |\n|---|---|\n"
	for doc, wrong := range map[string]int{
		"# a\n" + table + "| b | `TestAttack` in internal/attack |\n":                                                  0,
		"# a\n" + table + "| b | `TestAttack` in ltm |\n":                                                              1,
		"# a\n" + table + "| b | `TestOther` |\n":                                                                      1,
		"# a\n" + table + "| b | `TestOther` |\n\n" + notAttacked + "c.\n":                                             0,
		"# a\n" + table + "| b | `TestAttack` in internal/attack |\n\n" + notAttacked + "c.\n":                         1,
		"# a\n" + notAttacked + "c.\n# d\n" + table + "| b | `TestAttack` in internal/attack |\n| e | `TestOther` |\n": 2,
	} {
		if found := unattacked(doc, map[string]bool{"TestAttack": true}); len(found) != wrong {
			t.Errorf("of %q are found %q", doc, found)
		}
	}
	tests, err := exec.Command("git", append([]string{"grep", "-hoE", "^func Test[A-Za-z0-9]+", "--"}, attackers...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	attacks := map[string]bool{}
	for name := range strings.FieldsSeq(strings.ReplaceAll(string(tests), "func ", "")) {
		attacks[name] = true
	}
	doc, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range unattacked(string(doc), attacks) {
		t.Error("docs/guarantees.md: ", wrong)
	}
}

func TestGuaranteesNameTests(t *testing.T) {
	tests, err := exec.Command("git", "grep", "-hE", `func (Test|Benchmark|Fuzz)|^	\{"[A-Z]`, "--", "*_test.go", "core/memorytest/run.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file, least := range map[string]int{"docs/guarantees.md": 300, "docs/security.md": 25} {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`(?:(memorytest): )?([A-Z][A-Za-z0-9]+)`").FindAllStringSubmatch(string(doc), -1)
		count := 0
		for _, m := range named {
			want := "func " + m[2] + "("
			switch {
			case m[1] == "memorytest":
				want = `{"` + m[2] + `"`
			case !regexp.MustCompile("^(Test|Benchmark|Fuzz)[A-Z]").MatchString(m[2]):
				continue
			}
			count++
			if !strings.Contains(string(tests), want) {
				t.Errorf("%s names %s, which is no test", file, m[2])
			}
		}
		if count < least {
			t.Errorf("%s names only %d tests", file, count)
		}
		within := false
		for line := range strings.Lines(string(doc)) {
			cells := strings.Split(strings.Trim(line, "| \n"), " | ")
			last := cells[len(cells)-1]
			switch {
			case !strings.HasPrefix(line, "|"):
				within = false
			case last == "tests":
				within = true
			case within && !strings.HasPrefix(line, "|---") && last != "–" && !regexp.MustCompile("`[^`]*(Test|Benchmark|Fuzz|memorytest|\\.ci/)[^`]*`|memorytest").MatchString(last):
				t.Errorf("%s names no test of %q", file, cells[0])
			}
		}
	}
}

// unrun returns those of a test's packages in which neither script runs it: skipped is what
// .ci/skipped says, and full the packages that .ci/full runs with -long. A part of a test is
// skipped alone, so it does not count.
func unrun(test string, packages []string, skipped string, full func(pkg string) bool) (found []string) {
	for _, pkg := range packages {
		never := regexp.MustCompile(`(?m)^[-?] ` + regexp.QuoteMeta(pkg+" "+test) + `$`).MatchString(skipped)
		moved := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(pkg+" "+test) + `$`).MatchString(skipped)
		if never || moved && !full(pkg) {
			found = append(found, pkg)
		}
	}
	return found
}

// Each test that a promise names is run by .ci/run or .ci/full.
func TestPromisesAreChecked(t *testing.T) {
	output := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return string(out)
	}
	text := func(file string) string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	scripts, skipped := text(".ci/run")+text(".ci/full"), text(".ci/skipped")
	long := strings.Fields(output(".ci/long"))
	full := func(pkg string) bool { return pkg == "./packaging/build" || slices.Contains(long, pkg) }
	of := map[string][]string{} // packages of tests
	for line := range strings.Lines(output("git", "grep", "-E", "^func Test[A-Za-z0-9_]+", "--", "*_test.go")) {
		file, function, _ := strings.Cut(line, ":")
		name, _, _ := strings.Cut(strings.TrimPrefix(function, "func "), "(")
		of[name] = append(of[name], "./"+filepath.Dir(file))
	}
	for _, doc := range []string{"docs/guarantees.md", "docs/security.md"} {
		for _, m := range regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`").FindAllStringSubmatch(text(doc), -1) {
			if found := unrun(m[1], of[m[1]], skipped, full); len(found) > 0 {
				t.Errorf("%s names %s, which neither .ci/run nor .ci/full runs in %q", doc, m[1], found)
			}
		}
	}
	// A test behind a build tag is run where a script sets the tag.
	for line := range strings.Lines(output("git", "grep", "-E", "^//go:build", "--", "*_test.go")) {
		file, tags, _ := strings.Cut(line, "://go:build ")
		tags = strings.TrimSpace(tags)
		if !slices.Contains([]string{"linux", "race", "!race"}, tags) && !strings.Contains(scripts, "-tags "+tags) {
			t.Errorf("no script runs the tests of %s, which need the tag %s", file, tags)
		}
	}
	if len(unrun("TestA", []string{"./a"}, "- ./a TestA\n", full)) == 0 || len(unrun("TestA", []string{"./a"}, "./a TestA\n", full)) == 0 ||
		len(unrun("TestA", []string{"./core/wm"}, "./core/wm TestA\n./core/wm TestB\n", full)) > 0 {
		t.Error("a test that no script runs is not found, or one that a script runs is")
	}
}

// maxMethods is how many methods a type has at most.
const maxMethods = 45

// tooLarge says which types of a package have too many methods. functions are as
// functionsOf returns them.
func tooLarge(pkg string, functions map[string]bool) (found []string) {
	methods := map[string]int{}
	for name := range functions {
		if of, _, ok := strings.Cut(name, "."); ok {
			methods[of]++
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			found = append(found, fmt.Sprintf("%s.%s has %d methods, of %d at most: split it by role", pkg, name, n, maxMethods))
		}
	}
	return found
}

func TestTypesAreSmall(t *testing.T) {
	for p := range listPackages(t) {
		if strings.HasPrefix(p, "gen/") {
			continue
		}
		for _, wrong := range tooLarge(p, functionsOf(t, p)) {
			t.Error(wrong)
		}
	}
	functions := map[string]bool{"f": true, "small.m": true}
	for i := range maxMethods + 1 {
		functions[fmt.Sprintf("large.m%d", i)] = true
	}
	if wrong := tooLarge("p", functions); len(wrong) != 1 {
		t.Errorf("of a type with %d methods: found %q", maxMethods+1, wrong)
	}
}
