package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var release = flag.Bool("release", false, "make a whole release, which compiles everything for every architecture")

// One command makes binaries that are static, bear their version, and have the checksums
// that are told.
func TestRelease(t *testing.T) {
	if !*release {
		t.Skip("it compiles everything twice: runs with -release")
	}
	b := build{out: t.TempDir(), version: "v9.8.7", architectures: "amd64,arm64"}
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(b.out, "engram-linux-"+runtime.GOARCH)
	out, err := exec.Command(binary, "version", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Version, Revision, Date, Platform string }
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	if v.Version != "v9.8.7" || v.Revision != b.commit || !regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$`).MatchString(v.Date) || v.Platform != "linux/"+runtime.GOARCH {
		t.Errorf("the binary says that it is %+v", v)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = b.out
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	archives, _ := filepath.Glob(filepath.Join(b.out, "engram-v9.8.7-linux-*.tar.gz"))
	if want := strings.Count(b.architectures, ",") + 1; len(archives) != want {
		t.Fatalf("archives: %v, want %d", archives, want)
	}
	list, err := exec.Command("tar", "-tzf", archives[0]).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/engram\n", "/LICENSE\n", "/THIRD_PARTY_LICENSES\n", "/packaging/systemd/engram.service\n", "/packaging/config/base.yaml\n", "/docs/operations.md\n"} {
		if !strings.Contains(string(list), name) {
			t.Errorf("the archive holds no %q:\n%s", strings.TrimSpace(name), list)
		}
	}
}

// The notices name every module that is linked, each with the text of its licence.
func TestLicenses(t *testing.T) {
	root, err := output("", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		t.Fatal(err)
	}
	b := build{root: root}
	text, err := b.licenses(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := output(root, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/engram")
	if err != nil {
		t.Fatal(err)
	}
	for m := range strings.FieldsFuncSeq(modules, func(r rune) bool { return r == '\n' }) {
		if _, after, ok := strings.Cut(string(text), "\n"+m+": LICENSE"); !ok || len(after) < 500 {
			t.Errorf("the notices have no licence of %s", m)
		}
	}
	for _, words := range []string{"\nThe Go standard library go1.", "NOTICE\n", "PATENTS\n"} {
		if !strings.Contains(string(text), words) {
			t.Errorf("the notices do not hold %q", words)
		}
	}
}

// A module without a licence cannot be given to others.
func TestNoLicense(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]bool{"LICENSE": true, "license.txt": true, "COPYING": true, "NOTICE.md": true, "LICENSE-3RD-PARTY.md": true, "UNLICENSE": true, "license_test.go": false, "licenses": false, "README": false} {
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(folder, "NOTICE"), 0o755); err != nil { // a folder is no notice
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := noticesIn(folder); err != nil || (len(got) == 1) != want {
			t.Errorf("a folder with %s has the notices %v, %v", name, got, err)
		}
	}
}

// The check for static binaries finds one that is not.
func TestCheckStatic(t *testing.T) {
	dynamic := ""
	for _, name := range []string{"/bin/ls", "/usr/bin/env"} {
		if _, err := os.Stat(name); err == nil {
			dynamic = name
		}
	}
	if dynamic == "" {
		t.Skip("there is no dynamic program to try it with")
	}
	if err := checkStatic(dynamic); err == nil {
		t.Errorf("%s is said to be static", dynamic)
	}
}

// It finds one that is not stripped.
func TestCheckStripped(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{"": "not stripped", "-s -w": ""} {
		binary := filepath.Join(dir, "main")
		cmd := exec.Command("go", "build", "-ldflags", flags, "-o", binary, "main.go")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := checkStatic(binary); err != nil && want == "" || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("linked with %q: %v", flags, err)
		}
	}
}
