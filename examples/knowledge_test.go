package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// The commands in docs/knowledge.md do what the document says.
func TestKnowledgeDocument(t *testing.T) {
	testkit.Long(t)
	maps := testkit.Shared(t, "knowledge", "maps")
	dir := t.TempDir()
	if err := os.Symlink(maps, filepath.Join(dir, "maps")); err != nil {
		t.Fatal(err)
	}
	runDocument(t, "knowledge", dir, 20)
}

// The commands in docs/traces.md do what the document says.
func TestTracesDocument(t *testing.T) {
	testkit.Long(t)
	runDocument(t, "traces", t.TempDir(), 12)
}

// The commands in docs/skills.md do what the document says.
func TestSkillsDocument(t *testing.T) {
	testkit.Long(t)
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "arm"), "./skill").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runDocument(t, "skills", dir, 10, "arm")
}

// They do with the script of the same provider, too.
func TestSkillsDocumentOfTheScript(t *testing.T) {
	testkit.Long(t)
	dir := t.TempDir()
	script, err := filepath.Abs("skill/arm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(script, filepath.Join(dir, "arm.yaml")); err != nil {
		t.Fatal(err)
	}
	runDocument(t, "skills", dir, 10, "engram skill provide arm.yaml")
}

// runDocument runs the commands of a document in a folder, beside a server and programs of the folder, and compares what they
// print.
func runDocument(t *testing.T, name, dir string, least int, beside ...string) {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", dir, "../cmd/engram").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "ENGRAM_ADDRESS=unix:"+filepath.Join(dir, "s"), "TZ=UTC", "LC_ALL=C.UTF-8")
	env = append(env, "ENGRAM_HTTP="+serveKnowledge(t, dir, env))
	for _, program := range beside {
		words := strings.Fields(program)
		cmd := exec.Command(filepath.Join(dir, words[0]), words[1:]...)
		cmd.Dir, cmd.Env = dir, env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // whatever it does
			_ = cmd.Wait()         // it was killed
		})
		for ready := false; !ready; {
			ls := exec.Command(filepath.Join(dir, "engram"), "skill", "ls")
			ls.Env = env
			out, err := ls.Output()
			if ready = strings.Contains(string(out), "ready"); !ready && t.Context().Err() != nil {
				t.Fatalf("%s offers nothing: %s, %v", program, out, err)
			}
		}
	}
	commands := transcript(string(text))
	if len(commands) < least {
		t.Fatalf("found %d commands", len(commands))
	}
	for _, c := range commands {
		cmd := exec.Command("bash", "-c", c.text)
		cmd.Dir, cmd.Env = dir, env
		var notes bytes.Buffer
		cmd.Stderr = &notes
		out, err := cmd.Output()
		if err != nil && !strings.HasPrefix(c.text, "engram knowledge check") { // which ends with 1 where it finds something
			t.Fatalf("%s\n%v\n%s%s", c.text, err, out, &notes)
		}
		if !expectation(c.prints).MatchString(space.ReplaceAllString(string(out), "")) {
			t.Fatalf("%s\nprinted\n%s\nwant\n%s", c.text, out, c.prints)
		}
	}
}

// serveKnowledge starts a server, and returns its address for HTTP.
func serveKnowledge(t *testing.T, dir string, env []string) string {
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
