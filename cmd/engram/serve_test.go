package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/node"
)

// What could not end in good order has an exit code of its own.
func TestServerThatCannotEnd(t *testing.T) {
	var stderr bytes.Buffer
	err := ended(&node.LossError{Reason: "the server could not end in good order"})
	if code := outcome(t.Context(), newServe(), err, &stderr); code != exitWithLoss || !strings.Contains(stderr.String(), "could not end in good order") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// The help names all memories that start.
func TestServeHelpNamesAllMemories(t *testing.T) {
	long := strings.Join(strings.Fields(newServe().Long), " ")
	begin, end := strings.Index(long, "It hosts the memories "), strings.Index(long, ", and their name system")
	if begin < 0 || end < begin {
		t.Fatal(long)
	}
	named := strings.FieldsFunc(strings.ReplaceAll(long[begin+len("It hosts the memories "):end], " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
	var hosted []string
	for _, m := range memories.All() {
		hosted = append(hosted, m.Name)
	}
	if !slices.Equal(named, hosted) {
		t.Errorf("the help names %q, hosted are %q", named, hosted)
	}
}

// With a NATS cluster that does not let it in, or denies what it needs, a server says so
// and ends, at once.
func TestServeOnACluster(t *testing.T) {
	key := func() (seed, public string) {
		k, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		s, seedErr := k.Seed()
		p, publicErr := k.PublicKey()
		if err := errors.Join(seedErr, publicErr); err != nil {
			t.Fatal(err)
		}
		return string(s), p
	}
	right, rightPublic := key()
	poor, poorPublic := key()
	deaf, deafPublic := key()
	stranger, _ := key()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(), Nkeys: []*server.NkeyUser{
		{Nkey: rightPublic},
		{Nkey: poorPublic, Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$KV.>"}}}},
		{Nkey: deafPublic, Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{"engram.names.>"}}}},
	}}
	nats, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	nats.Start()
	defer func() { nats.Shutdown(); nats.WaitForShutdown() }()
	if !nats.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		name, seed string
		code       int
		says       string
	}{
		{"right", right, exitOK, "ready at"},
		{"stranger", stranger, exitFailed, "does not let this program in"},
		{"poor", poor, exitFailed, `does not let this program publish on "$KV.`},
		{"deaf", deaf, exitFailed, `does not let this program subscribe to "engram.names.`},
		{"nonsense", "SUA" + strings.Repeat("A", 20), exitUsage, "not the seed of an nkey"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(dir, tt.name)
			if err := access.WriteFile(file, []byte(tt.seed)); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			stderr := &ready{stop: stop}
			code := run(ctx, []string{"serve", "--robot", "robot1", "--plain-memory", memories.All()[0].Name + "2", "--monitor", "0",
				"--listen", "unix:" + filepath.Join(t.TempDir(), "s"), "--backbone", nats.ClientURL(), "--backbone-nkey", file}, nil, stderr, stderr)
			if code != tt.code || !strings.Contains(stderr.String(), tt.says) || strings.Contains(stderr.String(), tt.seed) {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}

// ready is the output of a server that is told to end once it says that it is ready.
type ready struct {
	bytes.Buffer
	stop func()
}

func (r *ready) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("^C ends this one")) {
		r.stop()
	}
	return r.Buffer.Write(p)
}
