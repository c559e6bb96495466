package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	memoryserver "github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// A server that something keeps from ending gives up, and says that something may be
// lost; what was acknowledged as synced is there when it is started again.
func TestServerThatCannotEnd(t *testing.T) {
	dir := t.TempDir()
	release := make(chan struct{})
	memory := memoryserver.Memory{Name: "Stuck", Segments: []engram.CoreSegment{{ID: engram.MustID("Stuck/Kept"), Durability: engram.Synced}}}
	start := func(m memoryserver.Memory) *host {
		h, err := startHost(t.Context(), settings{
			addresses: []string{"unix:" + filepath.Join(t.TempDir(), "s")}, memories: []memoryserver.Memory{m}, data: &ltm.Options{Dir: dir},
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	stuck := memory
	stuck.Hooks.Run = func(context.Context, engram.Service) error {
		<-release
		return nil
	}
	h := start(stuck)
	h.within = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.serveUntil(ctx) }()
	c, err := rpc.Dial(t.Context(), h.addresses[0], rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cup := engram.MustID("Stuck/Kept/p/cup")
	r, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: cup, Time: 1,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}}})
	if err := errors.Join(err, engram.FirstError(r), c.Close()); err != nil {
		t.Fatal(err)
	}
	stop()
	err = <-ended
	var stderr bytes.Buffer
	if code := outcome(ctx, newServe(), err, &stderr); code != exitWithLoss || !strings.Contains(stderr.String(), "could not end in good order within 50ms") ||
		!strings.Contains(stderr.String(), "updates of volatile segments may not be recorded") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	close(release)
	if err := h.Server.Close(); err != nil { // another process would find the data given up
		t.Fatal(err)
	}

	again := start(memory)
	defer again.close()
	if _, err := again.Latest(t.Context(), cup); err != nil {
		t.Errorf("what was synced: %v", err)
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
