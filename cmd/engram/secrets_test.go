package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// safeBuffer is a buffer that a process's two outputs are written to.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"dial nats://u:p@ss@host:4222: refused":     "dial nats://xxxxx@host:4222: refused",
		`parse "nats://u:a/b@h:1": invalid port`:    `parse "nats://xxxxx@h:1": invalid port`,
		`parse "nats://u:a\"b@h:1": invalid`:        `parse "nats://xxxxx@h:1": invalid`,
		"nats://u:p@one,nats://token@two and so on": "nats://xxxxx@one,nats://xxxxx@two and so on",
		"at http://host:1 asks planner@lab":         "at http://host:1 asks planner@lab",
	} {
		if got := withoutSecrets(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Keys and passwords are in nothing that the programs print, with the most talkative
// log, whatever goes wrong, nor on their command lines.
func TestSecretsAreNotShown(t *testing.T) {
	bin, err := exec.LookPath("engram") // testscript puts it there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var shown safeBuffer
	env := append(os.Environ(), "ENGRAM_AUTH="+dir, "XDG_RUNTIME_DIR="+dir, "GORACE=atexit_sleep_ms=0",
		"ENGRAM_BACKBONE=nats://user:swordfish@127.0.0.1:1,nats://t0kenfish@127.0.0.1:1")
	command := func(ctx context.Context, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, bin, args...)
		c.Env, c.Stdout, c.Stderr = env, &shown, &shown
		return c
	}
	for _, args := range [][]string{
		{"auth", "init"}, {"auth", "add", "robot1", "--server"}, {"auth", "add", "planner"}, {"auth", "ls", "-o", "json"},
		{"auth", "rule", "add", "allow", "read", "--to", "planner", "--on", "Object"},
		{"auth", "rotate", "planner"},
	} {
		if err := command(t.Context(), args...).Run(); err != nil {
			t.Fatal(args, err, shown.String())
		}
	}
	var secrets []string
	keys := func(file string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		_, key, _ := strings.Cut(string(text), "BEGIN PRIVATE KEY")
		key, _, _ = strings.Cut(key, "END PRIVATE KEY")
		for _, line := range strings.Split(key, "\n")[1:] {
			if len(line) > 20 && !strings.HasPrefix(line, "-") {
				secrets = append(secrets, line)
			}
		}
	}
	for _, file := range []string{"authority.key", "robot1.credentials", "planner.credentials"} {
		keys(file)
	}
	if len(secrets) < 6 {
		t.Fatalf("only %d lines of keys", len(secrets))
	}
	secrets = append(secrets, "swordfish", "t0kenfish", "jelly", "cuttle")

	robot := filepath.Join(dir, "robot1.credentials")
	for _, args := range [][]string{
		{"serve", "--listen", "unix:" + dir + "/x.sock", "--credentials", robot, "--log-level", "debug"}, // the backbone is not there
		{"config", "check"},
		{"serve", "--credentials", filepath.Join(dir, "authority.key")},
		{"ls", "--credentials", filepath.Join(dir, "authority.key")},
	} {
		_ = command(t.Context(), args...).Run() // most of them fail
	}
	for _, password := range []string{"jelly@cuttle", "jelly/cuttle", "1/jelly", "jelly,cuttle", "jelly\"cuttle"} {
		env = append(env, "ENGRAM_BACKBONE=nats://user:"+password+"@127.0.0.1:1")
		_ = command(t.Context(), "serve", "--listen", "unix:"+dir+"/x.sock", "--log-level", "debug").Run()
		_ = command(t.Context(), "config", "check").Run()
		for _, scheme := range []string{"nats://", "ftp://", "http://"} {
			env = append(env, "ENGRAM_ADDRESS="+scheme+"user:"+password+"@127.0.0.1:1")
			_ = command(t.Context(), "ls").Run()
			_ = command(t.Context(), "health").Run()
			_ = command(t.Context(), "doctor").Run()
		}
	}
	for _, scheme := range []string{"", "nats://", "tls://", "https://"} {
		address := scheme + "user:jelly%zzcuttle@127.0.0.1:1"
		env = append(env, "ENGRAM_BACKBONE="+address, "ENGRAM_ADDRESS="+address)
		for _, args := range [][]string{{"config", "check"}, {"ls"}, {"health"}, {"doctor"}} {
			_ = command(t.Context(), args...).Run()
		}
	}
	env = append(env, "ENGRAM_BACKBONE=", "ENGRAM_ADDRESS=")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := command(ctx, "serve", "--listen", "unix:"+dir+"/e.sock", "--listen", "127.0.0.1:0", "--credentials", robot,
		"--access", filepath.Join(dir, "access.yaml"), "--log-level", "debug")
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	testkit.Until(t, func() (string, bool) {
		_, rest, ok := strings.Cut(shown.String(), "https://")
		address, _, _ = strings.Cut(rest, " ")
		return "the server did not start: " + shown.String(), ok
	})
	_ = command(t.Context(), "ls", "--address", "https://"+address, "--credentials", filepath.Join(dir, "planner.credentials")).Run()
	_ = command(t.Context(), "ls", "--address", "http://"+address).Run()
	// The file of credentials is damaged under the running server.
	if err := os.WriteFile(robot, []byte(strings.Repeat(secrets[2], 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = command(t.Context(), "ls", "--address", "https://"+address, "--credentials", filepath.Join(dir, "planner.credentials")).Run()
	if line, err := os.ReadFile("/proc/" + strconv.Itoa(server.Process.Pid) + "/cmdline"); err == nil {
		_, _ = shown.Write(line)
	}
	cancel()
	_ = server.Wait()
	for _, s := range secrets {
		if strings.Contains(shown.String(), s) {
			t.Errorf("%.6s… is shown", s)
		}
	}
	if !strings.Contains(shown.String(), "xxxxx") {
		t.Errorf("no URL was shown at all:\n%s", shown.String())
	}
}
