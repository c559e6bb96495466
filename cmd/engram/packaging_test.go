package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The sample configurations can be used as they are.
func TestSampleConfigurations(t *testing.T) {
	files, err := filepath.Glob("../../packaging/config/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		var out, said bytes.Buffer
		if code := run(t.Context(), []string{"config", "check", f}, nil, &out, &said); code != exitOK {
			t.Errorf("%s: exit code %d: %s", f, code, said.String())
		}
	}
}

// systemd knows everything that the unit says, and finds it well guarded.
func TestSystemdUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed, which judges the unit")
	}
	const unit = "../../packaging/systemd/engram.service"
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		// The program is not installed where tests run.
		if strings.Contains(line, "engram.service") && !strings.Contains(line, "not executable") {
			t.Errorf("%s (%v)", strings.TrimSpace(line), err)
		}
	}
	if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput(); err != nil {
		t.Errorf("the service is more exposed than it has to be: %v\n%s", err, out)
	}
}
