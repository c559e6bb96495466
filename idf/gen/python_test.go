package gen_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram/idf/gen"
)

// TestPythonTypes has mypy check the classes of all types, and the library.
func TestPythonTypes(t *testing.T) {
	needPython(t)
	if _, err := exec.LookPath("mypy"); err != nil {
		t.Skip("there is no mypy: apt-get install mypy")
	}
	folder := pythonLibrary(t)
	write(t, gen.Python, allTypes(t), filepath.Join(folder, "golden"))
	cmd := exec.Command("mypy", "--strict", "--python-executable", debianPython, "--cache-dir", t.TempDir(), "engram", "golden")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
