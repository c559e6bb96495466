// Package program builds engram for tests that run it as a process of its own.
//
// It is no public API: tests of several wings share it.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var dir string // of what was built; "" before that

var build = sync.OnceValues(func() (path string, err error) {
	if dir, err = os.MkdirTemp("", "engram"); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "engram")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/seed-301d4374/engram/cmd/engram").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// Engram returns the path of the program, which is built once for all tests of a package.
// The package's TestMain calls [Remove] at the end.
func Engram(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Remove removes the program, if it was built.
func Remove() {
	if dir != "" {
		os.RemoveAll(dir)
	}
}
