package gen_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/idf/gen"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// built is where the programs of the tests are, each made once.
var built string

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "engram-gen"); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// program makes a program of a language with the classes of all types. It reads requests
// line by line, "TYPE HEX" or "TYPE HEX SENDER DESCRIPTORS": a payload that it reads as an
// object of a type and writes again. Its answer is the payload, or "ERR message".
type program func(t *testing.T) *exec.Cmd

var programs = map[gen.Language]program{gen.Go: goProgram, gen.Python: pythonProgram}

// request is one line.
type request struct {
	to   string
	b    []byte
	from *idf.Type // nil: it is of the type itself
}

// ask returns what a program answers to requests: payloads, or errors.
func ask(t *testing.T, cmd *exec.Cmd, requests []request) (answers [][]byte, errs []string) {
	t.Helper()
	var in bytes.Buffer
	for _, r := range requests {
		fmt.Fprintf(&in, "%s %s", r.to, hexOf(r.b))
		if r.from != nil {
			fmt.Fprintf(&in, " %s %s", r.from.Name(), hexOf(r.from.Def().Descriptors))
		}
		in.WriteByte('\n')
	}
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text, failed := strings.CutPrefix(lines.Text(), "ERR ")
		if failed {
			answers, errs = append(answers, nil), append(errs, text)
			continue
		}
		b, err := hex.DecodeString(strings.TrimPrefix(text, "-"))
		if err != nil {
			t.Fatalf("answer %q: %v", text, err)
		}
		answers, errs = append(answers, b), append(errs, "")
	}
	if len(answers) != len(requests) {
		t.Fatalf("%d answers to %d requests\n%s", len(answers), len(requests), stderr.String())
	}
	return answers, errs
}

func hexOf(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

func goProgram(t *testing.T) *exec.Cmd {
	t.Helper()
	folder := filepath.Join(built, "go")
	binary := filepath.Join(folder, "program")
	if _, err := os.Stat(binary); err == nil {
		return exec.Command(binary)
	}
	types := allTypes(t)
	goModule(t, folder)
	write(t, gen.Go, types, filepath.Join(folder, "golden"))
	var written strings.Builder
	files, _ := filepath.Glob(filepath.Join(folder, "golden", "*.go"))
	for _, f := range files {
		written.Write(readFile(t, f))
	}
	var table strings.Builder
	for _, ty := range types {
		_, after, ok := strings.Cut(written.String(), "returns the type "+ty.Name()+".\nfunc (*")
		if !ok {
			t.Fatalf("there is no struct of %s", ty.Name())
		}
		name, _, _ := strings.Cut(after, ")")
		fmt.Fprintf(&table, "%q: func() object.Object { return new(golden.%s) },\n", ty.Name(), name)
	}
	writeFile(t, filepath.Join(folder, "main.go"), strings.Replace(string(readFile(t, "testdata/main.go.txt")), "// TABLE", table.String(), 1))
	writeFile(t, filepath.Join(folder, "use", "main.go"), string(readFile(t, "testdata/use.go.txt")))
	run(t, goCommand(folder, "build", "-o", binary, "."))
	return exec.Command(binary)
}

// goModule makes a module in a folder that needs this one, as that of a robot does.
func goModule(t testing.TB, folder string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/seed-301d4374/engram"
	mod := strings.Replace(string(readFile(t, root+"/go.mod")), "module "+ours, "module example.com/robot", 1)
	writeFile(t, filepath.Join(folder, "go.mod"), mod+"\nrequire "+ours+" v0.0.0\n\nreplace "+ours+" => "+root+"\n")
	writeFile(t, filepath.Join(folder, "go.sum"), string(readFile(t, root+"/go.sum")))
}

func goCommand(folder string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	return cmd
}

func pythonProgram(t *testing.T) *exec.Cmd {
	t.Helper()
	folder := filepath.Join(built, "python")
	cmd := pythonCommand(t, folder, "main.py")
	if _, err := os.Stat(folder); err != nil {
		write(t, gen.Python, allTypes(t), filepath.Join(folder, "golden"))
		writeFile(t, filepath.Join(folder, "main.py"), string(readFile(t, "testdata/main.py")))
	}
	return cmd
}

// pythonCommand runs Python in a folder, with the package engram of clients/python.
func pythonCommand(t testing.TB, folder string, args ...string) *exec.Cmd {
	t.Helper()
	source, err := filepath.Abs("../../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(source, "engram", "payload.py")); err != nil {
		t.Skip("there is no engram.payload of clients/python yet")
	}
	cmd := exec.Command(testkit.Python(t, "import numpy", "python3-numpy"), args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PYTHONPATH="+source, "MYPYPATH="+source)
	return cmd
}

// write writes the classes of types to a folder.
func write(t testing.TB, lang gen.Language, types []*idf.Type, folder string) {
	t.Helper()
	files, err := gen.Files(lang, types, gen.Options{Package: filepath.Base(folder)})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		writeFile(t, filepath.Join(folder, name), string(b))
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// run runs a command that has to work, and returns what it printed.
func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%.4000s", cmd.Args, err, out)
	}
	return string(out)
}
