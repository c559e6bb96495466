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
		t.Skip("it compiles everything twice; CI does it with -release")
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
	for _, name := range []string{"/engram\n", "/LICENSE\n", "/packaging/systemd/engram.service\n", "/packaging/config/base.yaml\n", "/docs/operations.md\n"} {
		if !strings.Contains(string(list), name) {
			t.Errorf("the archive holds no %q:\n%s", strings.TrimSpace(name), list)
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
