package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// document is a guide in docs/ whose commands do what it says.
type document struct {
	file string
	maps string // of the shared data, a folder that the commands call "maps"; "" if they need none
	// enough reports whether that many commands were found.
	enough func(commands int) bool
	// mayFail reports whether a command may end with another code than 0; nil is none.
	mayFail func(command string) bool
}

// run runs the commands of the document against a server, and compares what they print. One that
// ends with & runs on.
func (d document) run(t *testing.T) {
	t.Helper()
	maps := ""
	if d.maps != "" {
		var err error
		if maps, err = filepath.Abs(d.maps); err == nil {
			_, err = os.Stat(maps)
		}
		if err != nil {
			t.Skip("the maps are not here: ", err)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", d.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../cmd/engram").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if maps != "" {
		if err := os.Symlink(maps, filepath.Join(dir, "maps")); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "ENGRAM_ADDRESS=unix:"+filepath.Join(dir, "s"), "TZ=UTC", "LC_ALL=C.UTF-8")
	env = append(env, "ENGRAM_HTTP="+serveDocument(t, dir, env))
	commands := transcript(string(text))
	if !d.enough(len(commands)) {
		t.Fatalf("found %d commands", len(commands))
	}
	for _, c := range commands {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.TrimSuffix(c.text, "&"))
		cmd.Dir, cmd.Env = dir, env
		if strings.HasSuffix(c.text, "&") {
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it was killed
			continue
		}
		var notes bytes.Buffer
		cmd.Stderr = &notes
		out, err := cmd.Output()
		if err != nil && (d.mayFail == nil || !d.mayFail(c.text)) {
			t.Fatalf("%s\n%v\n%s%s", c.text, err, out, &notes)
		}
		if !expectation(c.prints).MatchString(space.ReplaceAllString(string(out), "")) {
			t.Fatalf("%s\nprinted\n%s\nwant\n%s", c.text, out, c.prints)
		}
	}
}

func atLeast(n int) func(int) bool { return func(commands int) bool { return commands >= n } }

// serveDocument starts a server for the commands of a document, and returns its address for HTTP.
func serveDocument(t *testing.T, dir string, env []string) string {
	t.Helper()
	log := filepath.Join(dir, "serve.log")
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	serve := exec.Command(filepath.Join(dir, "engram"), "serve", "--listen", "unix:"+filepath.Join(dir, "s"), "--listen", "http://127.0.0.1:0")
	serve.Dir, serve.Env, serve.Stdout, serve.Stderr = dir, env, file, file
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Kill() // whatever it does
		_ = serve.Wait()         // it was killed
	})
	for {
		out, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(string(out), "http://"); at >= 0 {
			if address, _, whole := strings.Cut(string(out)[at:], "\n"); whole {
				return strings.TrimSpace(address)
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the server does not come up: %s", out)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// typed is a command and what it prints.
type typed struct{ text, prints string }

// transcript returns the commands of a document's blocks, each with what it prints. A command goes on
// as long as a quote or a here-document is open.
func transcript(document string) (all []typed) {
	for i, block := range strings.Split(document, "\n```") {
		if i%2 == 0 || !strings.HasPrefix(block, "\n$ ") {
			continue
		}
		for _, part := range strings.Split(block, "\n$ ")[1:] {
			lines := strings.Split(part, "\n")
			n := 1
			for n < len(lines) && unfinished(strings.Join(lines[:n], "\n")) {
				n++
			}
			all = append(all, typed{strings.Join(lines[:n], "\n"), strings.Join(lines[n:], "\n")})
		}
	}
	return all
}

func unfinished(command string) bool {
	if first, rest, ok := strings.Cut(command, "<<'END'"); ok {
		return !strings.HasSuffix(first+rest, "\nEND")
	}
	return exec.Command("bash", "-n", "-c", command).Run() != nil
}
