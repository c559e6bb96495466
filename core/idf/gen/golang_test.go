package gen_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoIsChecked has gofmt and vet check the structs of all types, and runs a program
// that uses them.
func TestGoIsChecked(t *testing.T) {
	folder := filepath.Dir(goProgram(t).Path)
	if out := run(t, exec.Command("gofmt", "-l", filepath.Join(folder, "golden"))); out != "" {
		t.Errorf("not formatted: %s", strings.Fields(out))
	}
	run(t, goCommand(folder, "vet", "./..."))
	run(t, goCommand(folder, "run", "./use"))
}
