//go:build linux

package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/netlab"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// block is a piece of a guide: commands, and what they print.
type block struct {
	line     int // of the guide
	commands string
	prints   []string // lines, in order; "…" stands for anything
}

// blocks returns the sh blocks of a guide between two marks, each with the text block
// that follows it, if one does.
func blocks(text, begin, end string) []block {
	var all []block
	inside, fence := false, ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.Contains(line, begin):
			inside = true
		case strings.Contains(line, end):
			inside = false
		case !inside:
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = strings.TrimPrefix(line, "```")
			if fence == "sh" {
				all = append(all, block{line: i + 2})
			}
		case strings.HasPrefix(line, "```"):
			fence = ""
		case fence == "sh":
			all[len(all)-1].commands += line + "\n"
		case fence == "text" && len(all) > 0:
			all[len(all)-1].prints = append(all[len(all)-1].prints, line)
		}
	}
	return all
}

// unprinted returns the first of the lines that a guide promises which was not
// printed after those before it.
func (b block) unprinted(printed string) (line string, ok bool) {
	lines := strings.Split(printed, "\n")
	for _, promised := range b.prints {
		parts := strings.Split(strings.Join(strings.Fields(promised), " "), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		expression := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		for {
			if len(lines) == 0 {
				return promised, true
			}
			found := expression.MatchString(strings.Join(strings.Fields(lines[0]), " "))
			lines = lines[1:]
			if found {
				break
			}
		}
	}
	return "", false
}

func TestUnprintedLinesAreFound(t *testing.T) {
	guide := "<!-- a -->\ntext\n```sh\necho one\n```\n```text\none  …\nthree\n```\n<!-- b -->\n```sh\nnot this\n```\n"
	all := blocks(guide, "<!-- a -->", "<!-- b -->")
	if len(all) != 1 || all[0].commands != "echo one\n" || all[0].line != 4 {
		t.Fatalf("%+v", all)
	}
	if line, missing := all[0].unprinted("zero\none  two\nthree\n"); missing {
		t.Errorf("%q was printed", line)
	}
	if line, missing := all[0].unprinted("three\none two\n"); !missing || line != "three" {
		t.Errorf("%q (%v) instead of three, which came too early", line, missing)
	}
}

// TestWalkthrough types the commands of docs/distribution.md that need no root.
func TestWalkthrough(t *testing.T) {
	testkit.RealTime(t, "the servers of a guide see each other in the seconds that it waits")
	walk(t, "<!-- walkthrough -->", "<!-- end of the walkthrough -->", false)
}

// TestWalkthroughOfALink types those that cut a link between computers.
func TestWalkthroughOfALink(t *testing.T) {
	testkit.RealTime(t, "the servers of a guide see each other in the seconds that it waits")
	probe, err := netlab.New(t.TempDir())
	if errors.Is(err, engram.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", "ip link add egprobe type bridge && ip link del egprobe").CombinedOutput(); err != nil {
		t.Skipf("a bridge cannot be made here: %v: %s", err, out)
	}
	walk(t, "<!-- walkthrough of a link -->", "<!-- end of the walkthrough of a link -->", true)
}

// walk types the commands of docs/distribution.md between two marks, and compares what they print. The last
// block tidies up, in a shell of its own where what is left behind is not of the shell.
func walk(t *testing.T, begin, end string, apart bool) {
	t.Helper()
	text, err := os.ReadFile("../../docs/distribution.md")
	if err != nil {
		t.Fatal(err)
	}
	all := blocks(string(text), begin, end)
	if len(all) < 5 {
		t.Fatalf("the guide has %d blocks of commands", len(all))
	}
	dir := t.TempDir()
	ctx := testkit.Context(t)
	shell := exec.CommandContext(ctx, "bash", "-e")
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(built(t))+":"+os.Getenv("PATH"), "HOME="+dir, "LC_ALL=C")
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.Stdout, shell.Stderr = w, w
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out := bufio.NewReader(r)
	typed := all
	if apart {
		typed = all[:len(all)-1]
	}
	defer func() { // whatever happens
		stdin.Close()
		if !apart {
			_ = shell.Cancel()
			_ = shell.Wait() // it was killed
			r.Close()
			return
		}
		tidy := exec.Command("bash", "-c", all[len(all)-1].commands)
		if out, err := tidy.CombinedOutput(); err != nil {
			t.Errorf("docs/distribution.md:%d: %v: %s", all[len(all)-1].line, err, out)
		}
		_ = shell.Wait() // its servers were ended
		r.Close()
	}()
	const done = "--- the block is done:"
	// Servers in the background keep the output open when the shell ends.
	fmt.Fprintf(stdin, "trap \"echo '%s' failed\" EXIT\n", done)
	for _, b := range typed {
		fmt.Fprintf(stdin, "{\n%s}\necho '%s' $?\n", b.commands, done)
		var printed bytes.Buffer
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatalf("docs/distribution.md:%d: the shell ended: %v\n%s", b.line, err, printed.String())
			}
			if status, ok := strings.CutPrefix(line, done); ok {
				if strings.TrimSpace(status) != "0" {
					t.Fatalf("docs/distribution.md:%d: failed with %s:\n%s\nprinted\n%s", b.line, strings.TrimSpace(status), b.commands, printed.String())
				}
				break
			}
			printed.WriteString(line)
		}
		t.Logf("%s%s", b.commands, printed.String())
		if line, missing := b.unprinted(printed.String()); missing {
			t.Fatalf("docs/distribution.md:%d: %q was not printed by\n%s\nbut\n%s", b.line, line, b.commands, printed.String())
		}
	}
}
