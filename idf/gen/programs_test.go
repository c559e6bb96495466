package gen_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/idf/gen"
)

// goProgram is built inside of the module, in a folder that ./... leaves out.
func goProgram(t *testing.T, types []*idf.Type) *exec.Cmd {
	t.Helper()
	root, err := os.MkdirTemp(".", "_built")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	root = filepath.Base(root)
	write(t, gen.Go, types, filepath.Join(root, "golden"))
	written := readAll(t, filepath.Join(root, "golden"))
	var table strings.Builder
	for _, ty := range types {
		_, before, ok := strings.Cut(written, "returns the type "+ty.Name()+".\nfunc (*")
		if !ok {
			t.Fatalf("there is no struct of %s", ty.Name())
		}
		name, _, _ := strings.Cut(before, ")")
		fmt.Fprintf(&table, "%q: func() object.Object { return new(golden.%s) },\n", ty.Name(), name)
	}
	main := strings.Replace(string(readFile(t, "testdata/main.go.txt")), "// TABLE", table.String(), 1)
	main = strings.Replace(main, "GOLDEN", "github.com/seed-301d4374/engram/idf/gen/"+root+"/golden", 1)
	writeFile(t, filepath.Join(root, "main.go"), main)
	binary := filepath.Join(t.TempDir(), "golden")
	must(t, "go", "vet", "./"+root+"/golden")
	must(t, "go", "build", "-o", binary, "./"+root)
	return exec.Command(binary)
}

func readAll(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, f := range files {
		all.Write(readFile(t, f))
	}
	return all.String()
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// debianPython has Debian's numpy, which others may lack.
const debianPython = "/usr/bin/python3"

func needPython(t *testing.T) {
	t.Helper()
	if err := exec.Command(debianPython, "-c", "import numpy").Run(); err != nil {
		t.Skip("there is no " + debianPython + " with numpy: apt-get install python3-numpy")
	}
}

const pythonSource = "../../clients/python/src"

// pythonLibrary returns a folder in which engram.payload is found, and nothing else of
// the package engram, which may need more than numpy.
func pythonLibrary(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "engram", "__init__.py"), "")
	writeFile(t, filepath.Join(folder, "engram", "py.typed"), "")
	writeFile(t, filepath.Join(folder, "engram", "payload.py"), string(readFile(t, pythonSource+"/engram/payload.py")))
	return folder
}

func pythonProgram(t *testing.T, types []*idf.Type) *exec.Cmd {
	t.Helper()
	needPython(t)
	folder := pythonLibrary(t)
	write(t, gen.Python, types, filepath.Join(folder, "golden"))
	writeFile(t, filepath.Join(folder, "main.py"), string(readFile(t, "testdata/main.py")))
	cmd := exec.Command(debianPython, "main.py")
	cmd.Dir = folder
	return cmd
}

// typeScript is the compiler, of the page's packages.
const typeScript = "../../web/app/node_modules/typescript/bin/tsc"

func needTypeScript(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node")
	}
	if _, err := os.Stat(typeScript); err != nil {
		t.Skip("there is no TypeScript: npm ci --prefix web/app")
	}
}

// compileTypeScript compiles the classes of types, and a program beside them.
func compileTypeScript(t *testing.T, types []*idf.Type, program string) (folder string) {
	t.Helper()
	needTypeScript(t)
	folder = t.TempDir()
	write(t, gen.TypeScript, types, filepath.Join(folder, "golden"))
	writeFile(t, filepath.Join(folder, "main.ts"), program)
	writeFile(t, filepath.Join(folder, "package.json"), `{"type": "module"}`)
	writeFile(t, filepath.Join(folder, "tsconfig.json"), `{
		"compilerOptions": {
			"target": "es2022", "module": "nodenext", "strict": true, "noUncheckedIndexedAccess": true,
			"noImplicitOverride": true, "exactOptionalPropertyTypes": true, "isolatedModules": true,
			"erasableSyntaxOnly": true, "verbatimModuleSyntax": true, "noUnusedLocals": true,
			"lib": ["es2022", "dom"], "types": [], "outDir": "out"
		},
		"include": ["main.ts", "golden/*.ts"]
	}`)
	must(t, "node", typeScript, "-p", folder)
	return folder
}

func typeScriptProgram(t *testing.T, types []*idf.Type) *exec.Cmd {
	t.Helper()
	folder := compileTypeScript(t, types, string(readFile(t, "testdata/main.ts")))
	return exec.Command("node", filepath.Join(folder, "out", "main.js"))
}

// cppProgram compiles without optimisation: it takes the compiler long enough.
func cppProgram(t *testing.T, types []*idf.Type) *exec.Cmd {
	t.Helper()
	var table strings.Builder
	for _, ty := range types {
		fmt.Fprintf(&table, "{%q, answer<%s>},\n", ty.Name(), "LayoutOf"+ty.Name())
	}
	folder := t.TempDir()
	write(t, gen.Cpp, types, filepath.Join(folder, "golden"))
	source := string(readFile(t, filepath.Join(folder, "golden", "golden.cpp")))
	library := string(readFile(t, filepath.Join(folder, "golden", "engram_payload_codec.hpp")))
	text := table.String()
	for _, ty := range types {
		_, before, ok := strings.Cut(reverseCut(source+library, `> {
  static constexpr std::string_view name = "`+ty.Name()+`";`), "struct LayoutOf<")
		if !ok {
			t.Fatalf("there is no struct of %s", ty.Name())
		}
		if !strings.Contains(before, "::") {
			before = "engram::payload::" + before
		}
		text = strings.Replace(text, "answer<LayoutOf"+ty.Name()+">", "answer<"+before+">", 1)
	}
	writeFile(t, filepath.Join(folder, "main.cpp"), strings.Replace(string(readFile(t, "testdata/main.cpp")), "// TABLE", text, 1))
	return exec.Command(compileCpp(t, folder, "-O0", "main.cpp", "golden/golden.cpp", "golden/engram_payload.cpp"))
}

// reverseCut returns the line before the text.
func reverseCut(all, text string) string {
	before, _, _ := strings.Cut(all, text)
	return before[strings.LastIndex(before, "\n")+1:]
}

func compileCpp(t *testing.T, folder string, flags ...string) (binary string) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++: apt-get install g++")
	}
	binary = filepath.Join(folder, "program")
	cmd := exec.Command("g++", append([]string{"-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-I.", "-o", binary}, flags...)...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	return binary
}
