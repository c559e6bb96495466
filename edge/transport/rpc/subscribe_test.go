package rpc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// proxy stands between a client and a server and can cut the connections.
type proxy struct {
	net.Listener
	target string

	mu    sync.Mutex
	conns []net.Conn
	wait  sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := rpc.Listen(serving.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, target: strings.TrimPrefix(target, "unix:")}
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.wait.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", p.target)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			p.wait.Go(func() {
				io.Copy(pair[0], pair[1])
				pair[0].Close()
			})
		}
	}
}

// cut breaks all connections without a word.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func TestSubscriptionSurvivesBrokenConnections(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start engram.Start
		first int // the first value to be delivered, of those committed before
	}{
		{"now", engram.Start{}, 10},
		{"last", engram.Start{Kind: engram.StartLast, N: 1}, 9},
		{"time", engram.Start{Kind: engram.StartTime, Time: 5}, 5},
		{"number", engram.Start{Kind: engram.StartNumber, Number: 3}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serving.New(t, testMemory(server.Hooks{}))
			p := newProxy(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address)
			for i := range 10 {
				testkit.Commit(t, s, update(t, "e", engram.Time(i), i))
			}
			c := serving.Dial(t, rpc.AddressOf(p), rpc.DialOptions{})
			sub, err := c.Subscribe(t.Context(), engram.Subscription{WithData: true, Start: tt.start})
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			const n = 300
			var writer sync.WaitGroup
			defer writer.Wait()
			writer.Go(func() {
				for i := 10; i < n; i++ {
					testkit.Commit(t, s, update(t, "e", engram.Time(i), i))
					if i%50 == 0 {
						p.cut()
					}
				}
			})
			expected := tt.first
			for expected < n {
				for _, u := range testkit.Next(t, sub, 1) {
					if at, _ := u.ID.Time(); tt.start.Kind == engram.StartLast && expected == tt.first && at == 10 {
						expected = 10 // cut before the backfill came: the last one is a newer one now
					}
					if at, _ := u.ID.Time(); int(at) != expected || u.Snapshot == nil || u.Dropped != 0 || u.Restarted {
						t.Fatalf("update %+v; want that of time %d", u, expected)
					}
					expected++
				}
			}
			if sub.Epoch() != s.Epoch() {
				t.Errorf("epoch %d; want %d", sub.Epoch(), s.Epoch())
			}
		})
	}
}

// A subscription that has delivered nothing yet misses nothing either.
func TestIdleSubscriptionResumes(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	p := newProxy(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address)
	c := serving.Dial(t, rpc.AddressOf(p), rpc.DialOptions{})
	testkit.Commit(t, s, update(t, "e", 1, "before"))
	sub, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	p.cut()
	testkit.Commit(t, s, update(t, "e", 2, "while it was broken"), update(t, "e", 3, "and more"))
	got := testkit.Next(t, sub, 2)
	if at, _ := got[0].ID.Time(); at != 2 || len(got) != 2 {
		t.Errorf("%d updates, the first %v; want those of times 2 and 3", len(got), got[0].ID)
	}
}

// silent is a server whose first subscription delivers nothing.
type silent struct {
	*server.Server
	begun atomic.Int32
}

type silentStream struct{ engram.UpdateStream }

func (s *silent) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	stream, err := s.Server.Subscribe(ctx, sub)
	if s.begun.Add(1) == 1 && err == nil {
		stream = silentStream{stream}
	}
	return stream, err
}

func (silentStream) Next(ctx context.Context) ([]engram.Update, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A backfill that was lost with the connection comes again, and nothing that was
// written meanwhile is left out for it.
func TestLostBackfillIsMadeAnew(t *testing.T) {
	s := &silent{Server: serving.New(t, testMemory(server.Hooks{}))}
	p := newProxy(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address)
	testkit.Commit(t, s, update(t, "quiet", 1, "old"), update(t, "quiet", 2, "last"), update(t, "busy", 1, "last"))
	sub, err := serving.Dial(t, rpc.AddressOf(p), rpc.DialOptions{}).Subscribe(t.Context(), engram.Subscription{
		WithData: true, Start: engram.Start{Kind: engram.StartLast, N: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, s, update(t, "busy", 2, "new"), update(t, "busy", 3, "newer"))
	p.cut()
	testkit.Commit(t, s, update(t, "busy", 4, "newest"))
	var got []uint64
	for len(got) == 0 || got[len(got)-1] != 6 {
		for _, u := range testkit.Next(t, sub, 1) {
			got = append(got, u.Number)
		}
	}
	if !slices.Equal(got, []uint64{2, 4, 5, 6}) {
		t.Errorf("delivered %v; want the last of testkit.Quiet, 2, and all of busy since, 4 5 6", got)
	}
	if sub.Epoch() != s.Epoch() {
		t.Errorf("epoch %d; want %d", sub.Epoch(), s.Epoch())
	}
}

func TestSubscriptionFollowsIntoANewLife(t *testing.T) {
	address := serving.Socket(t)
	first := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, first, nil, rpc.Options{}, address)
	c := serving.Dial(t, address, rpc.DialOptions{})
	idle, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	sub, err := c.Subscribe(t.Context(), engram.Subscription{WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, first, update(t, "e", 1, "a"), update(t, "e", 2, "b"))
	testkit.Next(t, sub, 2)
	at.Stop()
	second := serving.New(t, testMemory(server.Hooks{}))
	testkit.Commit(t, second, update(t, "e", 10, "before anyone could come back"))
	serving.Serve(t, second, nil, rpc.Options{}, address)
	testkit.Commit(t, second, update(t, "e", 11, "after"))
	got := testkit.Next(t, sub, 2)
	if got[0].Number != 1 || !got[0].Restarted || got[1].Number != 2 || got[1].Restarted {
		t.Errorf("the new epoch begins with %+v; want numbers 1 (restarted) and 2", got)
	}
	if sub.Epoch() != second.Epoch() {
		t.Errorf("epoch %d; want the new epoch's %d", sub.Epoch(), second.Epoch())
	}
	_ = testkit.Next(t, idle, 2)
}

func TestSubscriptionGivesUpIfToldTo(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t))
	c := serving.Dial(t, at.Address, rpc.DialOptions{ReconnectFor: time.Millisecond})
	sub, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	at.Stop()
	_, err = sub.Next(t.Context())
	want(t, "a subscription to a server that is gone", err, engram.Unavailable, "given up")
}

func TestSubscriptionsThatAreRefused(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	for _, tt := range []struct {
		what string
		sub  engram.Subscription
		code engram.Code
	}{
		{"a policy that blocks writers", engram.Subscription{Slow: engram.SlowBlock}, engram.Unsupported},
		{"an unknown policy", engram.Subscription{Slow: 9}, engram.Invalid},
		{"a negative queue", engram.Subscription{Queue: -1}, engram.OutOfRange},
		{"a bad regex", engram.Subscription{Patterns: []engram.Pattern{{Levels: []engram.NameSelector{engram.MatchRegex("(")}}}}, engram.Invalid},
		{"a number of another epoch", engram.Subscription{Start: engram.Start{Kind: engram.StartNumber, Epoch: 7}}, engram.Conflict},
		{"an unknown start", engram.Subscription{Start: engram.Start{Kind: 9}}, engram.Invalid},
	} {
		_, err := c.Subscribe(t.Context(), tt.sub)
		want(t, tt.what, err, tt.code)
	}
	sub, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sub.Next(ctx)
	want(t, "Next with an ended context", err, engram.Canceled)
	testkit.Commit(t, s, update(t, "e", 1, "x"))
	testkit.Next(t, sub, 1) // the subscription itself goes on
	sub.Close()
	_, err = sub.Next(t.Context())
	want(t, "Next after Close", err, engram.Canceled)
}

// A client that does not read costs the others nothing, and is told what it lost.
func TestSlowSubscriberIsToldWhatItLost(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t))
	slow, err := serving.Dial(t, at.Address, rpc.DialOptions{}).Subscribe(t.Context(), engram.Subscription{WithData: true, Queue: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	quick, err := serving.Dial(t, at.Address, rpc.DialOptions{}).Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer quick.Close()
	const n = 60 // of 1 MB: more than the connection's buffers hold
	payload := strings.Repeat("x", 1<<20)
	for i := range n {
		testkit.Commit(t, s, update(t, fmt.Sprint(i), 1, payload))
		if u := testkit.Next(t, quick, 1); u[0].Number != uint64(i+1) || u[0].Dropped != 0 {
			t.Fatalf("the quick subscriber got %+v; want number %d", u[0], i+1)
		}
	}
	seen, dropped := 0, 0
	for seen+dropped < n {
		for _, u := range testkit.Next(t, slow, 1) {
			seen++
			dropped += int(u.Dropped)
			if int(u.Number) != seen+dropped {
				t.Fatalf("update %d after %d seen and %d dropped", u.Number, seen, dropped)
			}
		}
	}
	if dropped == 0 {
		t.Error("nothing was dropped; the test does not test what it should")
	}
	kept, err := s.Query(t.Context(), engram.MustPattern("Test").Select(engram.All()))
	if err != nil || len(kept.Items()) != n {
		t.Errorf("stored are %d snapshots, %v; want all %d", len(kept.Items()), err, n)
	}
}
