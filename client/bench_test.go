package client_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// benchServers are servers of one robot with a memory each, and a client.
func benchServers(b *testing.B, memories ...string) *client.Client {
	b.Helper()
	names := mns.NewLocal()
	ctx, cancel := context.WithCancel(context.Background())
	var ends []func()
	b.Cleanup(func() {
		cancel()
		for _, end := range ends {
			end()
		}
		names.Close()
	})
	home := ""
	for _, m := range memories {
		s, err := server.New(server.Config{Memories: []server.Memory{memory(m)}, Log: testkit.Quiet})
		if err != nil {
			b.Fatal(err)
		}
		endpoint, err := transport.Listen("unix:" + filepath.Join(b.TempDir(), "s"))
		if err != nil {
			b.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- endpoint.Serve(ctx, s, names, rpc.Options{Server: m, Log: testkit.Quiet}) }()
		ends = append(ends, func() { <-served; s.Close() })
		addresses := endpoint.Addresses()
		if _, err := names.Register(b.Context(), mns.Registration{Server: m, Memories: []string{m}, Addresses: addresses, TTL: mns.MaxTTL}); err != nil {
			b.Fatal(err)
		}
		if home == "" {
			home = addresses[len(addresses)-1]
		}
	}
	c, err := client.Connect(b.Context(), client.Options{Address: home})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	for _, m := range memories {
		results, err := c.Commit(b.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID(entity(m)), Time: 1, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})},
		}}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// What the client adds to a call to the robot's own memories.
func BenchmarkOwn(b *testing.B) {
	for name, memories := range map[string][]string{"one server": {"A"}, "two servers": {"A", "B"}} {
		c := benchServers(b, memories...)
		id := engram.MustID(entity("A"))
		q := engram.SelectID(id, engram.Latest(1))
		b.Run("query/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, err := c.Query(b.Context(), q); err != nil || len(r.Memories) != 1 {
					b.Fatal(r, err)
				}
			}
		})
		b.Run("latest/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Latest(b.Context(), id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResolve measures how long it takes to know where a memory is: of a client
// that knows it, of a registry's answer, and of a client that connects.
func BenchmarkResolve(b *testing.B) {
	base := startRobot(b, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"}, []string{"Object"})
	startRobot(b, embedded.Options{Robot: "robot1", LeafOf: []string{base.fabric.LeafURL()}}, []string{"Object"})
	c := base.client(b)
	knows(b, c, true, "robot1:Object")
	commit := engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID("robot1:Object/None/p/e"), Time: 1}}}
	_, _ = c.Commit(b.Context(), commit) // connects
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if h := client.Knows(c, "robot1:Object"); !h {
				b.Fatal("unknown")
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Names().Resolve(b.Context(), "robot1:Object"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Names().Resolve(b.Context(), "Object"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("connect", func(b *testing.B) {
		for b.Loop() {
			c, err := client.Connect(b.Context(), client.Options{Address: base.address})
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
}

// slow is a memory whose queries take a while.
type slow struct {
	*server.Server
	wait time.Duration
}

func (s slow) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	time.Sleep(s.wait)
	return s.Server.Query(ctx, q)
}

// BenchmarkFanOut asks 8 servers, each of which needs a while, the slowest 10 ms: the
// answer of all should take little longer than that of the slowest.
func BenchmarkFanOut(b *testing.B) {
	names := mns.NewLocal()
	ctx, cancel := context.WithCancel(context.Background())
	var ends []func()
	b.Cleanup(func() {
		cancel()
		for _, end := range ends {
			end()
		}
		names.Close()
	})
	home := ""
	for i := range 8 {
		m := string(rune('A' + i))
		s, err := server.New(server.Config{Memories: []server.Memory{memory(m)}, Log: testkit.Quiet})
		if err != nil {
			b.Fatal(err)
		}
		var updates []engram.EntityUpdate
		for e := range 20 {
			updates = append(updates, engram.EntityUpdate{
				Entity: engram.MustID(fmt.Sprintf("%s/Any/p/e%d", m, e)), Time: 1, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})},
			})
		}
		if _, err := s.Commit(b.Context(), engram.Commit{Updates: updates}); err != nil {
			b.Fatal(err)
		}
		l, err := rpc.Listen("127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		h := rpc.NewHandler(slow{s, time.Duration(3+i) * time.Millisecond}, names, rpc.Options{Server: m, Log: testkit.Quiet, Grace: time.Millisecond})
		served := make(chan error, 1)
		go func() { served <- rpc.Serve(ctx, h, l) }()
		ends = append(ends, func() { <-served; s.Close() })
		if _, err := names.Register(b.Context(), mns.Registration{Server: m, Memories: []string{m}, Addresses: []string{rpc.AddressOf(l)}, TTL: mns.MaxTTL}); err != nil {
			b.Fatal(err)
		}
		home = rpc.AddressOf(l)
	}
	c, err := client.Connect(b.Context(), client.Options{Address: home})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	for name, pattern := range map[string]string{"all": "", "slowest": "H"} {
		q := engram.MustPattern(pattern).Select(engram.Latest(1))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r, err := c.Query(b.Context(), q); err != nil || len(r.Missing) > 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
}
