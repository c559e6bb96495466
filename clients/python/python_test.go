// Package python_test runs the suite of the Python client against a real server.
package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// interpreter returns a Python that has what the client needs.
func interpreter(t *testing.T) string {
	t.Helper()
	return testkit.Python(t, "import sys, grpc, google.protobuf, numpy; sys.exit(sys.version_info < (3, 11))", "python3 of 3.11 or later, python3-grpcio, python3-protobuf, python3-numpy")
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "engram")
	run(t, "", nil, "go", "build", "-o", binary, "../../cmd/engram")
	return binary
}

func run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The suite passes, over the local socket and over gRPC.
func TestSuite(t *testing.T) {
	python := interpreter(t)
	out := run(t, "tests", []string{"PYTHONPATH=../src", "PYTHONDONTWRITEBYTECODE=1", "ENGRAM_BINARY=" + build(t)}, python, "-m", "unittest", "discover", "-v")
	t.Log(out)
}

// What the guide prints installs the package, with all that it needs, from a clone.
func TestInstall(t *testing.T) {
	python := interpreter(t)
	if exec.Command(python, "-c", "import setuptools, wheel, venv, ensurepip").Run() != nil {
		t.Skip("not installed here: python3 lacks setuptools, wheel or venv (Debian: python3-setuptools, python3-wheel, python3-venv)")
	}
	dir := t.TempDir()
	// Builds leave files beside the sources, so a copy is built.
	for _, part := range []string{"clients/python", "gen/python"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("../..", part))); err != nil {
			t.Fatal(err)
		}
	}
	venv := filepath.Join(dir, "v")
	run(t, dir, nil, python, "-m", "venv", "--system-site-packages", venv)
	run(t, dir, nil, filepath.Join(venv, "bin/pip"), "install", "--quiet", "--no-deps", "--no-build-isolation", "./clients/python")
	installed := run(t, dir, nil, filepath.Join(venv, "bin/python"), "-c",
		"import engram, engram._schema as s; print(engram.__file__); s.message('QueryRequest')(); [getattr(engram, n) for n in engram.__all__]")
	if !strings.HasPrefix(installed, venv) {
		t.Errorf("imported from %s", installed)
	}
}

// The types are strict.
func TestTypes(t *testing.T) {
	python := interpreter(t)
	if exec.Command(python, "-m", "mypy", "--version").Run() != nil {
		t.Skip("types are not checked here: mypy is not installed (Debian: mypy)")
	}
	run(t, "", nil, python, "-m", "mypy", "--strict", "--cache-dir", t.TempDir())
}
