package testkit

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lack skips a test that lacks what can be installed; in CI, which installs it, the test fails.
func lack(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Program returns the path of a program that a test needs. The test is skipped where it is not
// installed; in CI, which installs it, it fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		lack(t, name+" is not installed")
	}
	return path
}

// Python returns the path of a Python 3 that runs a program, such as "import numpy". The test is
// skipped where none does, as it lacks the Debian packages that are named; in CI, which installs
// them, it fails.
func Python(t testing.TB, program, packages string) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", program).Run() == nil {
			return path
		}
	}
	lack(t, "no python3 runs \""+program+"\" (Debian: "+packages+")")
	return ""
}

// Folder skips a test without a folder that it needs, with how to get it; in CI, which does that,
// it fails.
func Folder(t testing.TB, path, how string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		lack(t, "there is no "+path+": "+how)
	}
}

// Node returns the path of Node.js for a test that uses a module of the package of npm in a
// folder. The test is skipped where one of them is not installed; in CI, which installs both, it
// fails.
func Node(t testing.TB, dir, module string) string {
	t.Helper()
	node := Program(t, "node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", module)); err != nil {
		lack(t, module+" is not installed; run, in this package's folder: npm ci --prefix "+dir)
	}
	return node
}

// StartPiped starts a process, and returns what it reads and what it prints. Who calls waits for it.
func StartPiped(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}
