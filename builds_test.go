package engram_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// byAccident reports whether a file that is not built here has no constraint but its name: object_arm_test.go is for
// processors of the kind arm alone, and its tests run nowhere else.
func byAccident(text string) bool { return !strings.Contains(text, "//go:build ") }

func TestNoFileIsLeftOutByItsName(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{$dir := .Dir}}{{range .IgnoredGoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`, "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if byAccident(string(text)) {
			t.Errorf("%s is not built on linux/amd64, for its name alone: give it another one, or a //go:build line", filepath.Base(file))
		}
	}
	if !byAccident("package p\n") || byAccident("//go:build !linux\n\npackage p\n") {
		t.Error("a file without a constraint is not told from one with it")
	}
}
