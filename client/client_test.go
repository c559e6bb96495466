package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Kept by nats-server for the life of the process.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"))
}

// host is a memory server on a socket, registered with a name system.
type host struct {
	*server.Server
	address string
	kept    *mns.Kept
	stop    func() // ends serving and the registration
}

// start serves memories of those names. names is the name system to register with;
// if own is not nil, the host offers it.
func start(t *testing.T, identity string, names, own mns.Registry, address string, memories ...server.Memory) *host {
	t.Helper()
	s, err := server.New(server.Config{Memories: memories, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := transport.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	addresses := endpoint.Addresses()
	h := &host{Server: s, address: addresses[len(addresses)-1]}
	go func() {
		served <- endpoint.Serve(ctx, s, own, rpc.Options{Server: identity, Log: testkit.Quiet, Grace: time.Second})
	}()
	if len(memories) > 0 {
		h.kept, err = mns.Keep(t.Context(), names, mns.Registration{Server: identity, Memories: s.Memories(), Addresses: addresses})
		if err != nil {
			t.Fatal(err)
		}
	}
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		if h.kept != nil {
			h.kept.Close()
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
	}
	t.Cleanup(h.stop)
	return h
}

func memory(name string) server.Memory {
	return server.Memory{Name: name, Segments: []engram.CoreSegment{{ID: engram.MustID(name + "/Any")}}}
}

func connect(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// cluster is a name system at a host that has memory A, and two more hosts with B
// and with C and D.
func cluster(t *testing.T) (c *client.Client, names *mns.Local, hosts []*host) {
	t.Helper()
	names = mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	hosts = []*host{
		start(t, "first", names, names, serving.Socket(t), memory("A")),
		start(t, "second", names, nil, serving.Socket(t), memory("B")),
		start(t, "third", names, nil, serving.Socket(t), memory("C"), memory("D")),
	}
	return connect(t, hosts[0].address), names, hosts
}

func entity(memory string) string { return memory + "/Any/p/e" }

func ids(r *engram.Result) string {
	var all []string
	for it := range r.All() {
		all = append(all, it.ID.Truncate(engram.LevelEntity).String())
	}
	return strings.Join(all, " ")
}

func TestClientIsAMemory(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		names := mns.NewLocal()
		t.Cleanup(func() { names.Close() })
		return connect(t, start(t, "one", names, names, serving.Socket(t), memory(memorytest.MemoryName)).address)
	}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}

// The same with the memory on another server than the name system, and others there.
func TestClusterIsAMemory(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		names := mns.NewLocal()
		t.Cleanup(func() { names.Close() })
		home := start(t, "home", names, names, serving.Socket(t), memory("Other"))
		start(t, "elsewhere", names, nil, serving.Socket(t), memory(memorytest.MemoryName))
		return connect(t, home.address)
	}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}

func TestCommitAndQueryAcrossServers(t *testing.T) {
	c, _, hosts := cluster(t)
	results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{
		testkit.Update(t, entity("C"), 1, "c"), testkit.Update(t, entity("A"), 2, "a"), testkit.Update(t, entity("Nowhere"), 3, "x"),
		testkit.Update(t, entity("D"), 4, "d"), testkit.Update(t, entity("B"), 5, "b"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []string{"C", "A", "", "D", "B"} {
		if m == "" {
			if engram.CodeOf(results[i].Err) != engram.NotFound || !strings.Contains(results[i].Err.Error(), "Nowhere") {
				t.Errorf("an update of an unknown memory: %v", results[i].Err)
			}
		} else if results[i].Err != nil || results[i].ID != engram.MustID(entity(m)).At(engram.Time(i+1)) {
			t.Errorf("update of %s: %v, %v", m, results[i].ID, results[i].Err)
		}
	}
	if _, err := hosts[2].Latest(t.Context(), engram.MustID(entity("D"))); err != nil {
		t.Errorf("D is not where it belongs: %v", err)
	}
	for _, tt := range []struct{ pattern, want string }{
		{"", "A/Any/p/e B/Any/p/e C/Any/p/e D/Any/p/e"},
		{"~[BD]", "B/Any/p/e D/Any/p/e"},
		{"C", "C/Any/p/e"},
		{"Nowhere", ""},
	} {
		q := engram.MustPattern(tt.pattern).Select(engram.Latest(1))
		r, err := c.Query(t.Context(), q)
		if err != nil || ids(r) != tt.want || len(r.Missing) > 0 {
			t.Errorf("%q: %q, missing %v, %v; want %q", tt.pattern, ids(r), r.Missing, err, tt.want)
		}
		whole := &engram.Result{}
		err = c.QueryParts(t.Context(), q, func(part *engram.Result) error { whole.Merge(part); return nil })
		if err != nil || ids(whole) != tt.want {
			t.Errorf("%q in parts: %q, %v; want %q", tt.pattern, ids(whole), err, tt.want)
		}
	}
	for _, m := range []string{"A", "B", "C", "D"} {
		if _, err := c.Latest(t.Context(), engram.MustID(entity(m))); err != nil {
			t.Errorf("latest of %s: %v", m, err)
		}
	}
	if _, err := c.Latest(t.Context(), engram.MustID(entity("Nowhere"))); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("latest of an unknown memory: %v", err)
	}
	stats, err := c.Stats(t.Context(), engram.Pattern{}, engram.LevelMemory)
	var counted []string
	for _, s := range stats {
		counted = append(counted, fmt.Sprint(s.ID, s.Snapshots))
	}
	if got := strings.Join(counted, " "); err != nil || got != "A 1 B 1 C 1 D 1" {
		t.Errorf("stats %q, %v", got, err)
	}
}

// A server that is away is said to be missing; the others answer.
func TestQueryWithoutAServer(t *testing.T) {
	c, names, hosts := cluster(t)
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "a"), testkit.Update(t, entity("B"), 1, "b"), testkit.Update(t, entity("C"), 1, "c"))
	address := hosts[1].address
	hosts[1].stop()
	// It is gone, but still registered, as after a crash.
	if _, err := names.Register(t.Context(), mns.Registration{Server: "second", Memories: []string{"B"}, Addresses: []string{address}, TTL: mns.MaxTTL}); err != nil {
		t.Fatal(err)
	}
	q := engram.Pattern{}.Select(engram.Latest(1))
	var r *engram.Result
	testkit.Until(t, func() (string, bool) { // until the client knows the registration
		var err error
		if r, err = c.Query(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		return "nothing is missing", len(r.Missing) > 0
	})
	if ids(r) != "A/Any/p/e C/Any/p/e" || len(r.Missing) != 1 || r.Missing[0].ID != engram.MustID("B") || r.Missing[0].Reason != engram.MissingUnreachable {
		t.Errorf("answered %q, missing %v", ids(r), r.Missing)
	}
	if _, err := c.Query(t.Context(), engram.MustPattern("B").Select(engram.Latest(1))); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("a query of B alone: %v; want Unavailable", err)
	}
	results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity("A"), 2, "a"), testkit.Update(t, entity("B"), 2, "b")}})
	if err != nil || results[0].Err != nil || engram.CodeOf(results[1].Err) != engram.Unavailable {
		t.Errorf("a commit to A and B: %v, %v", results, err)
	}
}

// A memory that moves to another server is found there.
func TestMemoryThatMovesIsFollowed(t *testing.T) {
	c, names, hosts := cluster(t)
	testkit.Commit(t, c, testkit.Update(t, entity("B"), 1, "old"))
	sub, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("B")}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	hosts[1].stop()
	moved := start(t, "fourth", names, nil, serving.Socket(t), memory("B"))
	// A commit on a connection that breaks may have been stored: it is not repeated.
	testkit.Until(t, func() (string, bool) {
		results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity("B"), 2, "new")}})
		if err = cmp.Or(err, engram.FirstError(results)); err != nil && !errors.Is(err, engram.Unavailable) {
			t.Fatal(err)
		}
		return fmt.Sprint(err), err == nil
	})
	if snap, err := c.Latest(t.Context(), engram.MustID(entity("B"))); err != nil || snap.Time != 2 {
		t.Errorf("latest %v, %v", snap, err)
	}
	if _, err := moved.Latest(t.Context(), engram.MustID(entity("B"))); err != nil {
		t.Errorf("the commit did not go where B is: %v", err)
	}
	if got := testkit.Next(t, sub, 1); got[0].ID != engram.MustID(entity("B")).At(2) || sub.Epoch() != moved.Epoch() {
		t.Errorf("the subscription tells of %v, epoch %d", got[0].ID, sub.Epoch())
	}
}

func TestSubscriptionMergesServers(t *testing.T) {
	c, names, hosts := cluster(t)
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "before"), testkit.Update(t, entity("C"), 1, "before"))
	sub, err := c.Subscribe(t.Context(), engram.Subscription{WithData: true, Start: engram.Start{Kind: engram.StartLast, N: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	got := testkit.Next(t, sub, 2)
	const n = 50
	for i := range n {
		testkit.Commit(t, c, testkit.Update(t, entity("A"), engram.Time(10+i), i), testkit.Update(t, entity("B"), engram.Time(10+i), i), testkit.Update(t, entity("D"), engram.Time(10+i), i))
	}
	got = append(got, testkit.Next(t, sub, 3*n)...)
	last := map[string]engram.Time{}
	count := map[string]int{}
	for _, u := range got {
		at, _ := u.ID.Time()
		m := u.ID.Memory()
		if at <= last[m] {
			t.Errorf("%v came after time %v", u.ID, last[m])
		}
		last[m] = at
		count[m]++
	}
	if want := map[string]int{"A": n + 1, "B": n, "C": 1, "D": n}; !maps.Equal(count, want) {
		t.Errorf("updates per memory %v; want %v", count, want)
	}
	// A server that comes later is subscribed to from its first update.
	late := start(t, "late", names, nil, serving.Socket(t), memory("E"))
	testkit.Commit(t, late, testkit.Update(t, entity("E"), 1, "x"))
	if u := testkit.Next(t, sub, 1); u[0].ID.Memory() != "E" {
		t.Errorf("got %v; want what the new server has", u[0].ID)
	}
	// One that comes back in a new epoch is followed, and says so.
	address := hosts[1].address
	hosts[1].stop()
	again := start(t, "second", names, nil, address, memory("B"))
	testkit.Commit(t, again, testkit.Update(t, entity("B"), 1, "new epoch"))
	if u := testkit.Next(t, sub, 1); u[0].ID != engram.MustID(entity("B")).At(1) || !u[0].Restarted || u[0].Number != 1 {
		t.Errorf("got %+v; want the first update of B's new epoch", u[0])
	}
	sub.Close()
	if _, err := sub.Next(t.Context()); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("Next after Close: %v", err)
	}
}

func TestSubscriptionIsJudgedBeforeThereIsAnything(t *testing.T) {
	names := mns.NewLocal()
	defer names.Close()
	home := start(t, "home", names, names, serving.Socket(t))
	c := connect(t, home.address)
	_, err := c.Subscribe(t.Context(), engram.Subscription{Slow: engram.SlowBlock})
	if engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a subscription that blocks writers: %v", err)
	}
	sub, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("A")}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	h := start(t, "a", names, nil, serving.Socket(t), memory("A"))
	testkit.Commit(t, h, testkit.Update(t, entity("A"), 1, "x"))
	if u := testkit.Next(t, sub, 1); u[0].ID.Memory() != "A" {
		t.Errorf("got %v", u[0].ID)
	}
}

func TestCommitStreamAcrossServers(t *testing.T) {
	c, _, _ := cluster(t)
	stream, err := c.CommitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	memories := []string{"A", "B", "C", "D", "Nowhere"}
	const n = 2000
	failed := make(chan error, 1)
	go func() {
		for i := range n {
			var cm engram.Commit
			for k := range i % 4 {
				cm.Updates = append(cm.Updates, testkit.Update(t, entity(memories[(i+k)%5]), engram.Time(i), i))
			}
			if err := stream.Send(cm); err != nil {
				failed <- err
				return
			}
		}
		failed <- errors.Join(stream.Flush(), stream.CloseSend())
	}()
	for i := range n {
		results, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != i%4 {
			t.Fatalf("commit %d has %d answers; want %d", i, len(results), i%4)
		}
		for k, r := range results {
			m := memories[(i+k)%5]
			if m == "Nowhere" && engram.CodeOf(r.Err) == engram.NotFound {
				continue
			}
			if r.Err != nil || r.ID != engram.MustID(entity(m)).At(engram.Time(i)) {
				t.Fatalf("commit %d, update %d: %v, %v", i, k, r.ID, r.Err)
			}
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("after the last answer: %v", err)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// A type is brought to the server that needs it.
func TestTypesReachTheServersThatNeedThem(t *testing.T) {
	c, names, hosts := cluster(t)
	def := gripType(t)
	if err := hosts[0].AddType(t.Context(), def); err != nil { // only the first knows it
		t.Fatal(err)
	}
	seg := engram.CoreSegment{ID: engram.MustID("B/Typed"), Type: def.Name}
	if err := c.AddCoreSegment(t.Context(), seg); err != nil {
		t.Errorf("a segment on B of a type that A's server knows: %v", err)
	}
	if err := c.AddType(t.Context(), def); err != nil {
		t.Error(err)
	}
	start(t, "late", names, nil, serving.Socket(t), memory("E"))
	if _, err := c.Names().Wait(t.Context(), "E"); err != nil {
		t.Fatal(err)
	}
	if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("E/Typed"), Type: def.Name}); err != nil {
		t.Errorf("a segment on a server that came after the type: %v", err)
	}
	if err := c.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: engram.MustID("E/Typed/p")}); err != nil {
		t.Error(err)
	}
	descriptions, err := c.Describe(t.Context(), engram.MustPattern("*/Typed"))
	var found []string
	for _, d := range descriptions {
		found = append(found, d.ID.String())
	}
	if got := strings.Join(found, " "); err != nil || got != "B/Typed E/Typed E/Typed/p" {
		t.Errorf("described %q, %v", got, err)
	}
	all, err := c.TypeNames(t.Context())
	if err != nil || !slices.Contains(all, def.Name) || !slices.IsSorted(all) {
		t.Errorf("type names %v, %v", all, err)
	}
	if _, err := c.Type(t.Context(), "no.Such"); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("an unknown type: %v", err)
	}
	if err := c.RemoveSegment(t.Context(), seg.ID); err != nil {
		t.Error(err)
	}
	if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("B/X"), Type: "no.Such"}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a segment of an unknown type: %v", err)
	}
}

// The memories go on when the name system restarts.
func TestNameSystemRestarts(t *testing.T) {
	before := mns.NewLocal()
	address := serving.Socket(t)
	home := start(t, "home", before, before, address)
	far := start(t, "far", before, nil, serving.Socket(t), memory("A"))
	c := connect(t, home.address)
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "x"))
	home.stop()
	before.Close()
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 2, "while the name system is away"))
	after := mns.NewLocal()
	defer after.Close()
	start(t, "home", after, after, address)
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 3, "before A has registered again"))
	if snap, err := far.Latest(t.Context(), engram.MustID(entity("A"))); err != nil || snap.Time != 3 {
		t.Errorf("latest %v, %v", snap, err)
	}
}

func TestConnectSaysWhereItLooked(t *testing.T) {
	t.Setenv(client.AddressVariable, "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if c, err := client.Connect(t.Context(), client.Options{}); err == nil {
		c.Close()
		t.Skip("an engram server runs on this machine's default port")
	} else if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), rpc.DefaultSocket()) ||
		!strings.Contains(err.Error(), rpc.DefaultTCP) || !strings.Contains(err.Error(), "engram serve") {
		t.Errorf("nothing to connect to: %v", err)
	}
	names := mns.NewLocal()
	defer names.Close()
	byDefault := start(t, "default", names, names, rpc.DefaultSocket(), memory("A"))
	if c := connect(t, ""); c.Address() != byDefault.address {
		t.Errorf("connected to %s", c.Address())
	}
	other := start(t, "other", names, names, serving.Socket(t))
	t.Setenv(client.AddressVariable, other.address)
	if c := connect(t, ""); c.Address() != other.address {
		t.Errorf("with %s set, connected to %s", client.AddressVariable, c.Address())
	}
	lone := start(t, "lone", names, nil, serving.Socket(t), memory("L"))
	if _, err := client.Connect(t.Context(), client.Options{Address: lone.address}); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a server without a name system: %v", err)
	}
}

func TestClosedClient(t *testing.T) {
	c, _, _ := cluster(t)
	sub, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Next(t.Context()); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a subscription of a closed client: %v", err)
	}
	if _, err := c.Query(t.Context(), engram.Query{}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a query of a closed client: %v", err)
	}
	if _, err := c.Commit(t.Context(), engram.Commit{}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a commit of a closed client: %v", err)
	}
}

// gripType returns a type that no server knows from the start.
func gripType(t *testing.T) engram.TypeDef {
	t.Helper()
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"grip.proto": {Data: []byte("syntax = \"proto3\"; package test; message Grip { double force = 1; }")}}}, "grip.proto")
	if err != nil {
		t.Fatal(err)
	}
	return defs[0]
}

func TestHostRefuses(t *testing.T) {
	names := mns.NewLocal()
	defer names.Close()
	home := start(t, "home", names, names, serving.Socket(t), memory("A"))
	host := func(o client.HostOptions, memories ...server.Memory) error {
		s, err := server.New(server.Config{Memories: memories, Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		o.Address, o.RPC.Log = home.address, testkit.Quiet
		ctx := testkit.Context(t)
		return client.Host(ctx, s, o)
	}
	for _, tt := range []struct {
		what string
		err  error
		code engram.Code
		word string
	}{
		{"a memory that another server hosts", host(client.HostOptions{}, memory("A")), engram.Conflict, `"home"`},
		{"no memory", host(client.HostOptions{}), engram.Invalid, "no memory"},
		{"a socket that is taken", host(client.HostOptions{Listen: []string{"127.0.0.1:0", home.address}}, memory("B")), engram.AlreadyExists, home.address},
	} {
		if engram.CodeOf(tt.err) != tt.code || !strings.Contains(tt.err.Error(), tt.word) {
			t.Errorf("%s: %v; want %v with %q", tt.what, tt.err, tt.code, tt.word)
		}
	}
}

// What a program hosts is found by name beside the rest, until it ends.
func TestHostedMemoryIsFound(t *testing.T) {
	names := mns.NewLocal()
	defer names.Close()
	home := start(t, "home", names, names, serving.Socket(t), memory("A"))
	s, err := server.New(server.Config{Memories: []server.Memory{memory("B")}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- client.Host(ctx, s, client.HostOptions{Address: home.address, RPC: rpc.Options{Log: testkit.Quiet}})
	}()
	c := connect(t, home.address)
	if _, err := c.Names().Wait(t.Context(), "B"); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "x"), testkit.Update(t, entity("B"), 1, "x"))
	if _, err := s.Latest(t.Context(), engram.MustID(entity("B"))); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Host ended with %v", err)
	}
	if _, err := names.Resolve(t.Context(), "B"); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("after its end the memory is still registered: %v", err)
	}
}

// The name system is reached by edge/transport/rpc, the memories by edge/transport/local
// where that can be: with nothing else registered it must be, and where nobody
// listens the other way is taken.
func TestClientPrefersTheLocalTransport(t *testing.T) {
	for name, registered := range map[string]func(addresses []string) []string{
		"local only":    func(addresses []string) []string { return addresses[:1] },
		"local is dead": func(addresses []string) []string { return []string{"local:/nowhere", addresses[1]} },
	} {
		t.Run(name, func(t *testing.T) {
			names := mns.NewLocal()
			defer names.Close()
			home := start(t, "home", names, names, serving.Socket(t), memory("A"))
			away := start(t, "away", names, nil, serving.Socket(t), memory("B"))
			addresses := []string{"local:" + strings.TrimPrefix(away.address, "unix:") + ".local", away.address}
			if _, err := names.Register(t.Context(), mns.Registration{Server: "away", Memories: []string{"B"}, Addresses: registered(addresses), TTL: mns.MaxTTL}); err != nil {
				t.Fatal(err)
			}
			c := connect(t, home.address)
			testkit.Commit(t, c, testkit.Update(t, entity("B"), 1, "x"))
			if _, err := c.Latest(t.Context(), engram.MustID(entity("B"))); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that comes back under another identity is reached in two ways for a
// moment: by the stream that reconnects, and by its new registration.
func TestUpdatesComeOnceAfterARestart(t *testing.T) {
	address := serving.Socket(t)
	begin := func(identity string) *host {
		names := mns.NewLocal()
		t.Cleanup(func() { names.Close() })
		return start(t, identity, names, names, address, memory("A"))
	}
	first := begin("first")
	c := connect(t, address)
	sub, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, c, testkit.Update(t, entity("A"), 1, "before"))
	testkit.Next(t, sub, 1)
	first.stop()
	second := begin("second")
	const n = 20
	var got []engram.Update
	for i := range n {
		if i == n/2 { // from here on the client has seen the new registration
			testkit.Until(t, func() (string, bool) {
				e, err := c.Names().Resolve(t.Context(), "A")
				return fmt.Sprintf("A is at %q, %v", e.Server, err), e.Server == "second"
			})
		}
		testkit.Commit(t, second, testkit.Update(t, entity("A"), engram.Time(10+i), i))
		got = append(got, testkit.Next(t, sub, 1)...)
	}
	for i, u := range got {
		if u.ID != engram.MustID(entity("A")).At(engram.Time(10+i)) || u.Restarted != (i == 0) {
			t.Errorf("update %d: %v, restarted %v", i, u.ID, u.Restarted)
		}
	}
}

// What copies are told to have of their owners comes whole over each transport.
func TestCopiesAreTold(t *testing.T) {
	for _, address := range []string{serving.Socket(t), "127.0.0.1:0"} {
		names := mns.NewLocal()
		t.Cleanup(func() { names.Close() })
		h := start(t, "one", names, names, address, memory("A"), memory("robot1:A"), memory("robot2:A"))
		told := []engram.CopyUsed{
			{Memory: "robot1:A", Server: "one", AsOf: 1, Lag: 2, Behind: 3, Epoch: 1<<64 - 1, Number: 5, Held: 6}, {Memory: "robot2:A", Server: "one"},
		}
		h.ExplainCopies(func(*engram.Query) ([]engram.Missing, []engram.CopyUsed) { return nil, told })
		r, err := connect(t, h.address).Query(t.Context(), engram.MustPattern("*").Select(engram.Latest(1)))
		if err != nil || !slices.Equal(r.Copies, told) {
			t.Errorf("over %s: told are %+v, %v", h.address, r.Copies, err)
		}
	}
}
