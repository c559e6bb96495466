package engram_test

import (
	"os"
	"os/exec"
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
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
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

// The direction of imports, as docs/architecture.md gives it.
func TestForbiddenImports(t *testing.T) {
	local := func(folders ...string) func(string) bool {
		return func(p string) bool {
			return slices.ContainsFunc(folders, func(f string) bool { return in(f)(p) })
		}
	}
	packages := listPackages(t)
	if len(packages) < 5 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	isStandard := func(p string) bool {
		_, ours := packages[p]
		return !ours && !strings.Contains(strings.SplitN(p, "/", 2)[0], ".")
	}
	rules := []struct {
		from, to func(string) bool
		why      string
	}{
		{func(p string) bool { return p == "." }, func(p string) bool { return !isStandard(p) },
			"the root is the domain; it imports only the standard library"},
		{local("pose"), func(p string) bool { return !isStandard(p) && !local("pose")(p) && p != "." },
			"pose can be used without the rest of the memory, and without dependencies"},
		{local("wm", "ltm", "pose", "idf"), local("transport", "server", "client", "mns", "memories", "ingest", "cmd"),
			"data structures know no transport, server or concrete memory"},
		{local("wm", "ltm", "pose", "idf", "server"), func(p string) bool { return p == "net" || in("net/http")(p) },
			"only the edges talk to a network"},
		{local("idf"), local("wm", "ltm", "pose"), "the data format is below the memories that use it"},
		{local("server"), local("transport", "client", "memories", "ingest", "cmd"),
			"a server is behind the domain interfaces; edges and concrete memories are put on from outside"},
		{local("transport", "client", "mns"), local("memories", "ingest", "cmd"),
			"edges carry any memory, so they know none"},
		{func(p string) bool { return !local("transport", "gen", "mns")(p) }, local("gen/engram/v1"),
			"generated RPC types stay at the edge"},
		{local("memories", "ingest"), local("transport", "client", "cmd"), "they write through the domain interfaces"},
		{func(p string) bool { return !in("cmd")(p) }, local("cmd"), "nothing imports a program"},
	}
	for from, imports := range packages {
		for _, to := range imports {
			for _, r := range rules {
				// Programs, examples and benchmarks may do what packages may not.
				if r.from(from) && r.to(to) && !local("cmd", "examples", "bench", "internal")(from) {
					t.Errorf("%s imports %s: %s", from, to, r.why)
				}
			}
		}
	}
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
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+\.\S+/?\S*) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		if !strings.Contains(string(doc), "`"+m[1]+"`") {
			t.Errorf("docs/dependencies.md does not say why %s is used", m[1])
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

// docs/guarantees.md names only tests that exist.
func TestGuaranteesNameTests(t *testing.T) {
	doc, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := exec.Command("git", "grep", "-hE", `func (Test|Benchmark)|^	\{"[A-Z]`, "--", "*_test.go", "memorytest/run.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(?:(memorytest): )?([A-Z][A-Za-z0-9]+)`").FindAllStringSubmatch(string(doc), -1)
	if len(named) < 30 {
		t.Fatalf("docs/guarantees.md names only %d tests", len(named))
	}
	for _, m := range named {
		want := "func " + m[2] + "("
		switch {
		case m[1] == "memorytest":
			want = `{"` + m[2] + `"`
		case !strings.HasPrefix(m[2], "Test") && !strings.HasPrefix(m[2], "Benchmark"):
			continue
		}
		if !strings.Contains(string(tests), want) {
			t.Errorf("docs/guarantees.md names %s, which is no test", m[2])
		}
	}
}
