package client_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// told is a name system that says what it is told to.
type told struct {
	mns.Registry
	mu      sync.Mutex
	entries map[string]mns.Entry
	changed chan struct{}
}

func (n *told) say(entries ...mns.Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries = map[string]mns.Entry{}
	for _, e := range entries {
		n.entries[e.Memory] = e
	}
	if n.changed != nil {
		close(n.changed)
	}
	n.changed = make(chan struct{})
}

func (n *told) now() (map[string]mns.Entry, chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.entries, n.changed
}

func (n *told) Resolve(_ context.Context, memory string) (mns.Entry, error) {
	entries, _ := n.now()
	if e, ok := entries[memory]; ok {
		return e, nil
	}
	return mns.Entry{}, engram.Errorf(engram.NotFound, memory, "there is no such memory")
}

func (n *told) List(context.Context) ([]mns.Entry, error) {
	entries, _ := n.now()
	return mns.Sorted(entries), nil
}

func (n *told) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		var known map[string]mns.Entry
		for {
			now, changed := n.now()
			for _, e := range mns.Changes(known, now) {
				if !yield(e, nil) {
					return
				}
			}
			if known == nil && !yield(mns.Event{Synced: true}, nil) {
				return
			}
			known = now
			select {
			case <-changed:
			case <-ctx.Done():
				yield(mns.Event{}, ctx.Err())
				return
			}
		}
	}
}

// certified is a server with credentials of its own.
type certified struct {
	*server.Server
	name    string
	address string
	cert    *x509.Certificate
	rules   *access.Control
	asked   atomic.Int64 // what came to its memories
}

// deployed issues credentials.
type deployed struct{ deployment.Deployment }

func newDeployment(t *testing.T) deployed { return deployed{deployment.New(t)} }

func (d deployed) program(t *testing.T) *credentials.Store { return d.Program(t, "program") }

// serve starts a server that may serve what its credentials say, and hosts memories,
// whether it may or not.
func (d deployed) serve(t *testing.T, name string, may credentials.Serving, names mns.Registry, o rpc.Options, memories ...string) *certified {
	t.Helper()
	own := d.Serving(t, access.Identity(name), may)
	s := &certified{name: name, cert: own.Current().Cert, rules: access.New(access.Options{})}
	var defs []server.Memory
	for _, m := range memories {
		def := memory(m)
		def.Hooks.Query = func(context.Context, *engram.Query) error { s.asked.Add(1); return nil }
		def.Hooks.Commit = func(context.Context, *engram.EntityUpdate) error { s.asked.Add(1); return nil }
		defs = append(defs, def)
	}
	var err error
	if s.Server, err = server.New(server.Config{Memories: defs, Log: testkit.Quiet}); err != nil {
		t.Fatal(err)
	}
	o.Server, o.Log, o.Grace = name, testkit.Quiet, time.Second
	e, err := transport.ListenSecurely(secure.Options{Credentials: own, Access: s.rules}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = e.Addresses()[0]
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx, s.Server, names, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Server.Close()
	})
	return s
}

// at is what the names say of a memory of a robot, seen from another one.
func (s *certified) at(robot, memory string) mns.Entry {
	return mns.Entry{Memory: robot + ":" + memory, Robot: robot, Server: s.name, Addresses: []string{s.address}}
}

// wait waits until the client knows where a memory is.
func wait(t *testing.T, c *client.Client, names *told, e mns.Entry, others ...mns.Entry) {
	t.Helper()
	names.say(append(others, e)...)
	if got, err := c.Names().Resolve(t.Context(), e.Memory); err != nil || !got.Equal(e) {
		t.Fatalf("%v %v", got, err)
	}
}

// A server that has credentials of the deployment, but announces what these do not let
// it serve, is told nothing and asked nothing; what others serve is answered.
func TestServersAreBelievedWhatTheyMayServe(t *testing.T) {
	for _, way := range []string{"directly", "via home"} {
		t.Run(way, func(t *testing.T) {
			d := newDeployment(t)
			names := &told{}
			names.say()
			var addresses sync.Map // by server: where it is, on what is the backbone here
			home := d.serve(t, "base", credentials.Serving{Own: []string{"base:*"}, Copies: []string{"*:*"}}, names, rpc.Options{
				Backbone: func(ctx context.Context, server string) (net.Conn, error) {
					address, _ := addresses.Load(server)
					return (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(address.(string), "https://"))
				},
			}, "Own", "robot1:Held")
			liar := d.serve(t, "liar", credentials.Serving{Own: []string{"robot2:*"}}, nil, rpc.Options{}, "Object", "Held", "More")
			right := d.serve(t, "right", credentials.Serving{Own: []string{"robot1:*"}}, nil, rpc.Options{}, "Object")
			for _, s := range []*certified{liar, right} {
				addresses.Store(s.name, s.address)
				if way != "directly" {
					s.address = "nats:" + s.name
				}
			}
			own := mns.Entry{Memory: "Own", Robot: "base", Server: home.name, Addresses: []string{home.address}}
			other := liar.at("robot2", "More")
			lie := liar.at("robot1", "Object")
			held := liar.at("robot1", "Held")
			held.Copies = []mns.Copy{{Server: home.name, Robot: "base", Memory: "robot1:Held", Addresses: []string{home.address}}}
			names.say(own, other, lie, held)
			testkit.Commit(t, home, testkit.Update(t, entity("Own"), 1, 1), testkit.Update(t, entity("robot1:Held"), 1, 1))
			testkit.Commit(t, liar, testkit.Update(t, entity("More"), 1, 1), testkit.Update(t, entity("Object"), 1, 1), testkit.Update(t, entity("Held"), 1, 1))
			testkit.Commit(t, right, testkit.Update(t, entity("Object"), 1, 1))
			liar.asked.Store(0)

			c, err := client.Connect(t.Context(), client.Options{Address: home.address, DetectionTimeout: patience, Dial: rpc.DialOptions{Credentials: d.program(t)}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			refused := func(what string, err error) {
				t.Helper()
				if engram.CodeOf(err) != engram.Forbidden || !errors.Is(err, credentials.ErrNotBelieved) || !strings.Contains(err.Error(), "robot1:Held") || !strings.Contains(err.Error(), "robot2:*") {
					t.Errorf("%s: %v (%v)", what, err, engram.CodeOf(err))
				}
			}
			query := func(memories ...string) (*engram.Result, error) {
				var q engram.Query
				for _, m := range memories {
					q.Memories = append(q.Memories, engram.MustPattern(m).Select(engram.All()).Memories...)
				}
				return c.Query(t.Context(), q)
			}
			_, err = query("robot1:Object")
			refused("a query", err)
			_, err = c.Latest(t.Context(), engram.MustID(entity("robot1:Object")))
			refused("the latest", err)
			_, err = c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity("robot1:Object"), 2, 2)}})
			refused("a commit", err)
			_, err = c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}})
			refused("a subscription", err)
			_, err = c.Poses("robot1:Object").Revisions(t.Context())
			refused("poses", err)
			stream, err := c.CommitStream(t.Context())
			if err == nil {
				err = stream.Send(engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity("robot1:Object"), 2, 2)}})
				stream.Close()
			}
			refused("a commit stream", err)
			_, err = c.Describe(t.Context(), engram.MustPattern("robot1:Object"))
			refused("a description", err)

			if n := liar.asked.Load(); n != 0 {
				t.Errorf("the liar was asked %d times", n)
			}

			// A question to several has an answer, which says who was not believed. Of what
			// the liar may not serve, a copy answers; what it may serve, it does.
			r, err := query("Own", "*:*")
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(r); got != "Own/Any/p/e robot1:Held/Any/p/e robot2:More/Any/p/e" {
				t.Errorf("answered: %s", got)
			}
			var doubted []string
			for _, m := range r.Missing {
				if m.Reason != engram.MissingNotBelieved {
					t.Errorf("missing: %v", m)
				}
				doubted = append(doubted, m.ID.String())
			}
			slices.Sort(doubted)
			if want := []string{"robot1:Held", "robot1:Object"}; !slices.Equal(doubted, want) {
				t.Errorf("not believed: %v", doubted)
			}
			if n := liar.asked.Load(); n != 1 {
				t.Errorf("the liar was asked %d times, of what it may serve once", n)
			}

			// The same server is believed what it may serve, and another one the rest.
			wait(t, c, names, right.at("robot1", "Object"), own, other)
			for _, m := range []string{"robot1:Object", "robot2:More"} {
				if r, err := query(m); err != nil || len(r.Items()) != 1 || len(r.Missing) != 0 {
					t.Errorf("%s: %v %v", m, r, err)
				}
			}

			// One that has been believed is no more, once it says too much.
			wait(t, c, names, liar.at("robot2", "Object"), own, other)
			wait(t, c, names, mns.Entry{Memory: "robot3:Object", Robot: "robot2", Server: liar.name, Addresses: []string{liar.address}}, own, other)
			if _, err := query("robot3:Object"); !errors.Is(err, credentials.ErrNotBelieved) {
				t.Errorf("a name of a third robot: %v", err)
			}
		})
	}
}

// A server that another takes the place of, at its address, is asked no more.
func TestAnotherServerAtTheSameAddressIsNotBelieved(t *testing.T) {
	d := newDeployment(t)
	names := &told{}
	home := d.serve(t, "base", credentials.Serving{}, names, rpc.Options{}, "Own")
	right := d.serve(t, "right", credentials.Serving{Own: []string{"robot1:*"}}, nil, rpc.Options{}, "Object")
	liar := d.serve(t, "right", credentials.Serving{Own: []string{"robot2:*"}}, nil, rpc.Options{}, "Object")
	target := atomic.Pointer[string]{}
	target.Store(&right.address)
	conns := make(chan net.Conn, 100)
	backbone := func(ctx context.Context, _ string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(*target.Load(), "https://"))
		if err == nil {
			conns <- c
		}
		return c, err
	}
	e := right.at("robot1", "Object")
	e.Addresses = []string{"nats:right"}
	names.say(e)
	c, err := client.Connect(t.Context(), client.Options{Address: home.address, DetectionTimeout: patience,
		Dial: rpc.DialOptions{Credentials: d.program(t), Backbone: backbone}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	testkit.Commit(t, right, testkit.Update(t, entity("Object"), 1, 1))
	testkit.Next(t, s, 1)
	testkit.Commit(t, liar, testkit.Update(t, entity("Object"), 1, 1), testkit.Update(t, entity("Object"), 2, 1))
	liar.asked.Store(0)
	target.Store(&liar.address)
	(<-conns).Close()
	_, err = c.Latest(t.Context(), engram.MustID(entity("robot1:Object")))
	if !errors.Is(err, credentials.ErrNotBelieved) {
		t.Errorf("the latest of who took the server's place: %v", err)
	}
	target.Store(&right.address)
	testkit.Commit(t, right, testkit.Update(t, entity("Object"), 3, 1))
	got, err := s.Next(t.Context()) // although it met the liar meanwhile
	if err != nil || len(got) != 1 || got[0].ID.String() != engram.MustID(entity("robot1:Object")).At(3).String() {
		t.Errorf("went on with %v, %v", got, err)
	}
	if n := liar.asked.Load(); n != 0 {
		t.Errorf("the liar was asked %d times", n)
	}
}

// A home whose new certificate allows less than the names have said of it tells the names
// still, and so is believed again as soon as they say less. Nobody else may tell them.
func TestHomeThatServesLessIsBelievedAgain(t *testing.T) {
	d := newDeployment(t)
	serve := func(name, may string, names *told, memories ...string) *certified {
		return d.serve(t, name, credentials.Serving{Own: []string{may}}, names, rpc.Options{}, memories...)
	}
	before, after := &told{}, &told{}
	wide := serve("base", "robot1:*", before, "Object", "Vision")
	narrow := serve("base", "robot1:Object", after, "Object")
	other := serve("other", "robot2:*", &told{}, "Object")
	host := func(s *certified) string { return strings.TrimPrefix(s.address, "https://") }
	way := newLink(t, host(wide))
	change := func(s *certified) {
		way.set(true, false)
		way.leadTo(host(s))
		way.set(false, false)
	}
	address := "https://" + way.l.Addr().String()
	entry := func(memory string) mns.Entry {
		return mns.Entry{Memory: memory, Robot: "robot1", Server: "base", Addresses: []string{address}}
	}
	before.say(entry("Object"), entry("Vision"))
	after.say(entry("Object"), entry("Vision"), other.at("robot2", "More"))
	for _, s := range []*certified{wide, narrow, other} {
		testkit.Commit(t, s, testkit.Update(t, entity("Object"), 1, 1))
	}
	ask := rpc.DialOptions{Credentials: d.program(t)}
	c, err := client.Connect(t.Context(), client.Options{Address: address, DetectionTimeout: patience, Dial: ask})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	latest := func() error {
		_, err := c.Latest(t.Context(), engram.MustID(entity("Object")))
		return err
	}
	if err := latest(); err != nil {
		t.Fatal(err)
	}
	change(narrow)
	testkit.Until(t, func() (string, bool) { return "the names are not told", client.Knows(c, "robot2:More") })
	if err := latest(); !errors.Is(err, credentials.ErrNotBelieved) {
		t.Errorf("while the names say too much: %v", err)
	}
	after.say(entry("Object"), other.at("robot2", "More"))
	testkit.Until(t, func() (string, bool) {
		err := latest()
		return fmt.Sprintf("when the names say less: %v", err), err == nil
	})

	ask.Serves = func() []credentials.Claim { return []credentials.Claim{{Robot: "robot1", Memory: "Object"}} }
	direct, err := rpc.Dial(t.Context(), address, ask)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	change(other)
	testkit.Until(t, func() (string, bool) {
		entries, err := direct.Names().List(t.Context())
		if err == nil && len(entries) == 0 { // those of the other one
			t.Fatal("another server tells the names")
		}
		return fmt.Sprintf("the names of another server: %v", err), errors.Is(err, credentials.ErrNotBelieved)
	})
}
