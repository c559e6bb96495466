package gen_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram/core/idf/gen"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// TestPythonIsChecked has ruff look for mistakes in the classes of all types, and at their
// format, and runs a program that uses them.
func TestPythonIsChecked(t *testing.T) {
	folder := pythonGolden(t)
	ruff := testkit.Program(t, "ruff")
	for _, args := range [][]string{{"check", "--isolated", "--no-cache", "golden"}, {"format", "--isolated", "--no-cache", "--diff", "golden"}} {
		cmd := exec.Command(ruff, args...)
		cmd.Dir = folder
		run(t, cmd)
	}
	run(t, pythonCommand(t, folder, "use.py"))
}

// TestPythonHints has mypy check the classes and the program. Of errors that the program
// expects there is one for each comment that says so, as mypy warns of those without.
func TestPythonHints(t *testing.T) {
	testkit.Long(t)
	folder := pythonGolden(t)
	python := pythonCommand(t, folder)
	mypy := testkit.Program(t, "mypy")
	cmd := exec.Command(mypy, "--strict", "--follow-imports", "silent", "--python-executable", python.Path, "--cache-dir", t.TempDir(), "golden", "use.py")
	cmd.Dir, cmd.Env = folder, python.Env
	run(t, cmd)
}

// pythonGolden returns a folder with the classes of all types, and a program that uses them.
func pythonGolden(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	write(t, gen.Python, allTypes(t), filepath.Join(folder, "golden"))
	writeFile(t, filepath.Join(folder, "use.py"), string(readFile(t, "testdata/use.py")))
	return folder
}
