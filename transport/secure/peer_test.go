//go:build linux

package secure

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A process is named by its program, an interpreter by its script too, and one that is not there by its number.
func TestProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := (Peer{PID: os.Getpid()}).Program(); got != self {
		t.Errorf("this program is called %q, want %q", got, self)
	}
	script := exec.Command("sh", "-e", "plan.sh", "cup")
	script.Dir = t.TempDir()
	if err := os.WriteFile(script.Dir+"/plan.sh", []byte("echo up\nread -r line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := script.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.Start(); err != nil {
		t.Skip("no shell: ", err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	if got := (Peer{PID: script.Process.Pid}).Program(); !strings.HasSuffix(got, "sh -e plan.sh") {
		t.Errorf("a script is called %q", got)
	}
	_ = in.Close() // it ends
	_ = script.Wait()
	if got := (Peer{PID: script.Process.Pid}).Program(); got != "" && strings.Contains(got, "plan") {
		t.Errorf("what has ended is called %q", got)
	}
}
