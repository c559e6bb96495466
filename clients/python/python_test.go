// Package python runs the tests of the client for Python against a real server.
package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
)

func TestMain(m *testing.M) {
	code := m.Run()
	program.Remove()
	os.Exit(code)
}

// interpreter returns a Python that has what the client needs.
func interpreter(t *testing.T) string {
	t.Helper()
	return testkit.Python(t, "import sys, grpc, google.protobuf, numpy; sys.exit(sys.version_info < (3, 10))", "python3-grpcio, python3-protobuf, python3-numpy")
}

// run runs a program in a folder, and returns what it prints.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(testkit.Context(t), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// suite runs a module of the tests by an interpreter; without sources, of the package that is
// installed there.
func suite(t *testing.T, python, sources, module string) {
	t.Helper()
	run(t, "tests", []string{"PYTHONPATH=" + sources, "PYTHONDONTWRITEBYTECODE=1", "ENGRAM_BINARY=" + program.Engram(t)}, python, "-m", "unittest", module)
}

// The modules of the tests pass, over the local socket and over gRPC.
func TestSuite(t *testing.T) {
	python := interpreter(t)
	long := []string{"test_copies", "test_docs", "test_episodes"}
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) < 5 {
		t.Fatalf("there are %d modules: %v", len(files), err)
	}
	for _, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), ".py")
		t.Run(module, func(t *testing.T) {
			for _, l := range long {
				if module == l {
					testkit.Long(t)
				}
			}
			suite(t, python, "../src", module)
		})
	}
}

// sources returns a folder with a copy of the sources: builds leave files beside them.
func sources(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "clients/python"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wheel builds a wheel, and returns its path.
func wheel(t *testing.T, dir, pip string, flags ...string) string {
	t.Helper()
	run(t, dir, nil, pip, append([]string{"wheel", "--quiet", "--no-deps", "--wheel-dir", dir, "./clients/python"}, flags...)...)
	wheels, err := filepath.Glob(filepath.Join(dir, "engram-*-py3-none-any.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("the wheels are %q: %v", wheels, err)
	}
	return wheels[0]
}

// readme checks that a package that is installed in an environment runs the README's example.
func readme(t *testing.T, python, venv string) {
	t.Helper()
	if file := run(t, venv, nil, python, "-c", "import engram; print(engram.__file__)"); !strings.HasPrefix(file, venv) {
		t.Errorf("imported from %s", file)
	}
	suite(t, python, "", "test_docs.Guide.test_readme")
}

// The wheel has all that the package needs beside Debian's packages.
func TestWheel(t *testing.T) {
	python, dir := interpreter(t), sources(t)
	venv := filepath.Join(dir, "v")
	pip := filepath.Join(venv, "bin/pip")
	run(t, dir, nil, python, "-m", "venv", "--system-site-packages", venv)
	run(t, dir, nil, pip, "install", "--quiet", "--no-deps", "--no-index", wheel(t, dir, pip, "--no-build-isolation", "--no-index"))
	readme(t, filepath.Join(venv, "bin/python"), venv)
}

// What the guide prints installs the package with all that it needs: with the current versions
// of PyPI, in which its types and its style are checked, and with those of Debian.
func TestInstall(t *testing.T) {
	testkit.Long(t)
	python, dir := interpreter(t), sources(t)
	for _, way := range []struct {
		name          string
		venv, install []string
	}{
		{"PyPI", nil, nil},
		{"Debian", []string{"--system-site-packages"}, []string{"--no-deps", "--no-build-isolation"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			venv := filepath.Join(dir, way.name)
			pip, its := filepath.Join(venv, "bin/pip"), filepath.Join(venv, "bin/python")
			run(t, dir, nil, python, append(append([]string{"-m", "venv"}, way.venv...), venv)...)
			run(t, dir, nil, pip, append(append([]string{"install", "--quiet"}, way.install...), "./clients/python")...)
			readme(t, its, venv)
			suite(t, its, "", "test_memory")
			if way.name != "PyPI" {
				return
			}
			fresh := filepath.Join(dir, "fresh")
			run(t, dir, nil, python, "-m", "venv", fresh)
			run(t, dir, nil, filepath.Join(fresh, "bin/pip"), "install", "--quiet", wheel(t, dir, pip))
			readme(t, filepath.Join(fresh, "bin/python"), fresh)
			run(t, dir, nil, pip, "install", "--quiet", "mypy==2.4.1", "ruff==0.17.6", "pandas", "polars", "pyarrow", "av", "matplotlib", "types-protobuf")
			run(t, ".", nil, its, "-m", "mypy", "--strict", "--cache-dir", t.TempDir())
			// It tells a wrong name in a program: without an error the "ignore" would be one.
			run(t, t.TempDir(), nil, its, "-m", "mypy", "--strict", "--cache-dir", t.TempDir(), "-c", "import engram\nengram.NotFuond  # type: ignore[attr-defined]")
			run(t, ".", nil, its, "-m", "ruff", "check", "--no-cache", ".")
			suite(t, its, "", "test_frame") // with pandas, polars and pyarrow
			suite(t, its, "", "test_docs")
		})
	}
}
