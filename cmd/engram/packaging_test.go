package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/node"
)

// The sample configurations can be used as they are, and with the credentials and rules
// that they tell of.
func TestSampleConfigurations(t *testing.T) {
	files, err := filepath.Glob("../../packaging/config/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v %v", files, err)
	}
	dir := t.TempDir()
	t.Setenv("ENGRAM_AUTH", dir)
	engram := func(args ...string) string {
		t.Helper()
		var out, said bytes.Buffer
		if code := run(t.Context(), args, nil, &out, &said); code != exitOK {
			t.Errorf("%v: exit code %d: %s", args, code, said.String())
		}
		return out.String()
	}
	engram("auth", "init")
	engram("auth", "add", "engram", "--server")
	engram("auth", "rule", "add", "allow", "read", "--to", "planner", "--on", "Object")
	for _, f := range files {
		if shown := engram("config", "check", f); !regexp.MustCompile(`(?m)^metrics-listen +127\.0\.0\.1:`).MatchString(shown) {
			t.Errorf("%s: metrics are for other computers, too:\n%s", f, shown)
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		secured := filepath.Join(dir, filepath.Base(f))
		for _, name := range []string{"credentials: /etc/engram/engram.credentials", "access: /etc/engram/access.yaml"} {
			commented := []byte("\n#" + name + "\n")
			if !bytes.Contains(text, commented) {
				t.Errorf("%s does not tell of %s", f, name)
			}
			text = bytes.Replace(text, commented, []byte("\n"+strings.ReplaceAll(name, "/etc/engram", dir)+"\n"), 1)
		}
		if err := os.WriteFile(secured, text, 0o600); err != nil {
			t.Fatal(err)
		}
		engram("config", "check", secured)
	}
}

// systemd waits as long as a server may take to end.
func TestSystemdWaitsForTheEnd(t *testing.T) {
	text, err := os.ReadFile("../../packaging/systemd/engram.service")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(?m)^TimeoutStopSec=(.+)$`).FindSubmatch(text)
	if said == nil {
		t.Fatal("the unit does not say how long it waits")
	}
	waits, err := time.ParseDuration(string(said[1]))
	if takes := (ltm.Options{}).WithDefaults().CloseWithin + 2*node.EndWithin; err != nil || waits < takes {
		t.Errorf("systemd waits %v (%v); a server may take %v to end", waits, err, takes)
	}
	within, err := newServe().Flags().GetDuration("end-within")
	if err != nil || within != (ltm.Options{}).WithDefaults().CloseWithin {
		t.Errorf("--end-within is %v by default, %v", within, err)
	}
}

// systemd knows everything that the unit says, and finds it well guarded.
func TestSystemdUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed, which judges the unit")
	}
	const unit = "../../packaging/systemd/engram.service"
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	const credentials = "LoadCredential=engram:/etc/engram/engram.credentials\n#Environment=ENGRAM_CREDENTIALS=%d/engram\n"
	if !strings.Contains(string(text), "\n#"+credentials) {
		t.Error("the unit does not tell how it hands credentials on")
	}
	secured := filepath.Join(t.TempDir(), "engram.service")
	if err := os.WriteFile(secured, []byte(strings.Replace(string(text), "\n#"+credentials, "\n"+strings.ReplaceAll(credentials, "#", ""), 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{unit, secured} {
		out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// The program is not installed where tests run.
			if strings.Contains(line, "engram.service") && !strings.Contains(line, "not executable") {
				t.Errorf("%s (%v)", strings.TrimSpace(line), err)
			}
		}
	}
	if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput(); err != nil {
		t.Errorf("the service is more exposed than it has to be: %v\n%s", err, out)
	}
}
