package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func TestUnquote(t *testing.T) {
	for typed, want := range map[string]string{
		`a\\/b`: `a\/b`, `'a\/b'`: `a\/b`, `'a\/b`: `a\/b`, `"a\/b`: `a\/b`, `"a\\/b"`: `a\/b`, `a\ b`: `a b`,
		`'a b'c`: `a bc`, `a'b\'"c"`: `ab\c`, `\`: ``, `"\$x\y"`: `$x\y`, `g1\:x`: `g1:x`, ``: ``, `'`: ``,
	} {
		if got := unquote(typed); got != want {
			t.Errorf("%s is %s, want %s", typed, got, want)
		}
	}
	for typed, want := range map[string]string{`a:b`: `a:`, `a\:b`: ``, `'a:b`: ``, `a\ b:c:d`: `a b:c:`, `ab`: ``} {
		if got := beforeBreak(typed, `"'@><=;|&(:`); got != want {
			t.Errorf("before what is completed of %s stands %q, want %q", typed, got, want)
		}
	}
}

// start is how a shell without the user's settings is begun with the completion that is
// in a file.
var start = map[string]struct {
	args  []string
	setup string
}{
	"bash": {[]string{"--norc", "--noprofile", "-i"}, "[ ! -r /usr/share/bash-completion/bash_completion ] || . /usr/share/bash-completion/bash_completion; . ./completion.bash"},
	"zsh":  {[]string{"-f", "-i"}, "autoload -U compinit; compinit -D -u; . ./completion.zsh"},
	"fish": {[]string{"--no-config", "--init-command", "function fish_prompt; echo -n 'READY> '; end", "-i"}, "source ./completion.fish"},
}

// typeIn types keys, of which \t is a tab, into a shell on a terminal, and compares
// the arguments that engram is called with in the end, one to a line:
//
//	typed SHELL KEYS WANT…
func typeIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || start[args[0]].setup == "" {
		ts.Fatalf("usage: typed bash|zsh|fish KEYS WANT…")
	}
	shell, work := start[args[0]], ts.Getenv("WORK")
	keys := strings.ReplaceAll(args[1], `\t`, "\t")
	called := filepath.Join(work, "called")
	_ = os.Remove(called)
	real, err := exec.LookPath("engram")
	ts.Check(err)
	bin := filepath.Join(work, "typed-bin")
	ts.Check(os.MkdirAll(bin, 0o755))
	fake := "#!/bin/sh\ncase $1 in __*) exec " + real + " \"$@\";; esac\nfor a; do printf '%s\\n' \"$a\"; done >" + called + ".new\nmv " + called + ".new " + called + "\n"
	ts.Check(os.WriteFile(filepath.Join(bin, "engram"), []byte(fake), 0o755))

	ours, theirs, err := terminal()
	ts.Check(err)
	defer ours.Close()
	cmd := exec.Command(args[0], shell.args...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PS1=READY> ", "TERM=dumb", "HOME="+work,
		"ENGRAM_ADDRESS="+ts.Getenv("ENGRAM_ADDRESS"), "XDG_RUNTIME_DIR="+work)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	theirs.Close()
	screen := make(chan []byte, 100)
	go func() {
		for {
			b := make([]byte, 4096)
			n, err := ours.Read(b)
			if n > 0 {
				screen <- b[:n]
			}
			if err != nil {
				close(screen)
				return
			}
		}
	}()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var seen bytes.Buffer
	late := time.After(slowest)
	prompt := func(n int) {
		for bytes.Count(seen.Bytes(), []byte("READY> ")) < n {
			select {
			case b := <-screen:
				seen.Write(b)
			case <-late:
				ts.Fatalf("%s gives no prompt: %q", args[0], seen.String())
			}
		}
	}
	prompt(1)
	_, err = ours.WriteString(shell.setup + "\n")
	ts.Check(err)
	prompt(2)
	_, err = ours.WriteString(keys + "\n")
	ts.Check(err)
	prompt(3) // of what was typed, or after it ran
	var got []byte
	for got == nil {
		if got, err = os.ReadFile(called); err == nil {
			break
		}
		select {
		case b := <-screen:
			seen.Write(b)
		case <-time.After(20 * time.Millisecond):
		case <-late:
			ts.Fatalf("engram is not called: %q", seen.String())
		}
	}
	if want := strings.Join(args[2:], "\n") + "\n"; string(got) != want {
		ts.Fatalf("%s: after %q engram is called with\n%swant\n%sthe screen: %q", args[0], keys, got, want, seen.String())
	}
}

// terminal returns both ends of a new terminal.
func terminal() (ours, theirs *os.File, err error) {
	if ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(ours.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 200}); err != nil {
		return nil, nil, err
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	return ours, theirs, err
}
