package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	_ "github.com/seed-301d4374/engram/client/backbone"
	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/fleet/mns/robots"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// robot is a robot, or the base station, with a backbone and one memory server.
type robot struct {
	*server.Server
	name    string
	fabric  *embedded.Server
	conn    *backbone.Backbone
	names   *robots.Fleet
	address string // for programs on the robot
	kept    *mns.Kept
}

// lasting names are those of robots that nobody takes for silent, however busy the machine
// is; quick ones those of robots that are not heard for some seconds: a test that waits for
// that needs real time.
var (
	lasting = robots.Options{Lease: time.Hour, DetectionTimeout: time.Hour}
	quick   = robots.Options{Lease: 6 * time.Second, DetectionTimeout: 3 * time.Second}
)

// patience is how long a program waits for a server that sends nothing, on a machine that
// may be busy.
const patience = time.Minute

// startRobot starts a robot whose server hosts memories; what stands in held are
// memories of others that it holds copies of.
func startRobot(t testing.TB, o embedded.Options, memories []string, held ...string) *robot {
	t.Helper()
	return startRobotOf(t, lasting, o, memories, held...)
}

func startRobotOf(t testing.TB, names robots.Options, o embedded.Options, memories []string, held ...string) *robot {
	t.Helper()
	o.Log = testkit.Quiet
	r := &robot{name: o.Robot}
	var err error
	if r.fabric, err = embedded.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.fabric.Close() })
	if r.conn, err = backbone.Connect(t.Context(), backbone.Options{InProcess: r.fabric, Robot: o.Robot, Log: testkit.Quiet}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.conn.Close() })
	own, err := kv.Open(t.Context(), r.conn.JetStream(), kv.Options{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	names.Robot, names.Every, names.Heard, names.Log = o.Robot, 100*time.Millisecond, r.conn.Heard, testkit.Quiet
	if r.names, err = robots.Join(r.conn.Conn(), own, names); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.names.Close() })
	r.Server, r.kept, r.address = r.serve(t, o.Robot+" host", memories, held...)
	return r
}

// serve starts a memory server on the robot. It returns its address for programs there,
// too.
func (r *robot) serve(t testing.TB, identity string, memories []string, held ...string) (s *server.Server, kept *mns.Kept, address string) {
	t.Helper()
	var defs []server.Memory
	for _, m := range append(slices.Clone(memories), held...) {
		defs = append(defs, memory(m))
	}
	s, err := server.New(server.Config{Robot: r.name, Memories: defs, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := transport.Listen("unix:" + t.TempDir() + "/s")
	if err != nil {
		t.Fatal(err)
	}
	addresses := slices.Clone(endpoint.Addresses())
	through, err := r.conn.Listen(identity)
	if err != nil {
		t.Fatal(err)
	}
	endpoint.Add(through)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- endpoint.Serve(ctx, s, r.names, rpc.Options{Server: identity, Backbone: r.conn.Dial, Log: testkit.Quiet, Grace: 20 * time.Millisecond})
	}()
	if kept, err = mns.Keep(t.Context(), r.names, mns.Registration{
		Server: identity, Memories: memories, Copies: held, Addresses: append(addresses, rpc.AddressOf(through)),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kept.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s, kept, addresses[len(addresses)-1]
}

// client connects a program on the robot that is patient.
func (r *robot) client(t testing.TB) *client.Client {
	t.Helper()
	return r.clientOf(t, patience)
}

// clientOf connects a program that is as patient as is said.
func (r *robot) clientOf(t testing.TB, patience time.Duration) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Options{Address: r.address, DetectionTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// link is the radio link to the base station: a proxy that can be cut, or fall silent.
type link struct {
	l net.Listener

	mu     sync.Mutex
	target string
	conns  map[net.Conn]bool
	cut    bool
	pace   int           // bytes per second; 0 is as fast as can be
	silent chan struct{} // closed when the link speaks; nil if it does
}

func newLink(t testing.TB, leafURL string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{l: l, target: strings.TrimPrefix(leafURL, "nats-leaf://"), conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", k.far())
			if err != nil || !k.add(near, far) {
				near.Close()
				if far != nil {
					far.Close()
				}
				continue
			}
			running.Go(func() { k.pass(near, far) })
			running.Go(func() { k.pass(far, near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		k.set(true, false)
		running.Wait()
	})
	return k
}

func (k *link) url() string { return "nats-leaf://" + k.l.Addr().String() }

func (k *link) add(conns ...net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range conns {
		k.conns[c] = true
	}
	return !k.cut
}

// pass hands on what comes, unless the link is silent.
func (k *link) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		for part := range slices.Chunk(buf[:n], 4<<10) {
			k.mu.Lock()
			silent, pace := k.silent, k.pace
			k.mu.Unlock()
			if pace > 0 {
				time.Sleep(time.Duration(len(part)) * time.Second / time.Duration(pace))
			}
			if silent != nil {
				<-silent
			}
			if _, err := to.Write(part); err != nil {
				return
			}
		}
	}
}

// leadTo has the link lead to another place.
func (k *link) leadTo(leafURL string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target = strings.TrimPrefix(leafURL, "nats-leaf://")
}

func (k *link) far() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.target
}

// set cuts the link, or lets it fall silent, or neither.
func (k *link) set(cut, silent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut
	if k.silent != nil && !silent {
		close(k.silent)
		k.silent = nil
	}
	if silent && k.silent == nil {
		k.silent = make(chan struct{})
	}
	if cut {
		for c := range k.conns {
			c.Close()
		}
		clear(k.conns)
	}
}

// knows waits until a client knows, or no longer knows, who hosts memories.
func knows(t testing.TB, c *client.Client, hosted bool, memories ...string) {
	t.Helper()
	for _, m := range memories {
		testkit.Until(t, func() (string, bool) {
			e, err := c.Names().Resolve(t.Context(), m)
			return fmt.Sprintf("%s is at %q, %v", m, e.Server, err), (err == nil && e.Server != "") == hosted
		})
	}
}

// reaches waits until a client reaches all servers that host what a pattern selects: the
// first time may take longer than it is patient, on a busy machine.
func reaches(t testing.TB, c *client.Client, pattern string) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		got := ask(t, c, pattern)
		return got, got != engram.Unavailable.String() && !strings.ContainsAny(got, "-!")
	})
}

// fleetOf starts a base station and two robots, each with the memory Object, the
// base station with Map, too, and a copy of robot1:Object.
func fleetOf(t testing.TB, names robots.Options) (base, r1, r2 *robot, radio *link) {
	t.Helper()
	base = startRobotOf(t, names, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"}, []string{"Object", "Map"}, "robot1:Object")
	radio = newLink(t, base.fabric.LeafURL())
	r1 = startRobotOf(t, names, embedded.Options{Robot: "robot1", LeafOf: []string{radio.url()}}, []string{"Object"})
	r2 = startRobotOf(t, names, embedded.Options{Robot: "robot2", LeafOf: []string{base.fabric.LeafURL()}}, []string{"Object"})
	return base, r1, r2, radio
}

func ask(t testing.TB, c *client.Client, pattern string) string {
	t.Helper()
	r, err := c.Query(t.Context(), engram.MustPattern(pattern).Select(engram.All()))
	if err != nil {
		return engram.CodeOf(err).String()
	}
	said := ids(r)
	for _, m := range r.Missing {
		said += " -" + m.ID.String()
	}
	for _, u := range r.Copies {
		said += fmt.Sprintf(" %s@%s", u.Memory, u.Server)
		if u.Away {
			said += "!"
		}
	}
	return strings.TrimSpace(said)
}

// Who asks for the memories of several robots gets one answer, in which the own
// memories have their plain names, wherever it is asked.
func TestOneView(t *testing.T) {
	t.Parallel()
	base, r1, r2, _ := fleetOf(t, lasting)
	cb, c1, c2 := base.client(t), r1.client(t), r2.client(t)
	for _, c := range []*client.Client{cb, c1, c2} {
		knows(t, c, true, "base:Object", "robot1:Object", "robot2:Object", "base:Map")
	}
	ctx := t.Context()
	sub, err := c2.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("*:Object")}, WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, cb, testkit.Update(t, "Object/Any/p/e", 1, "at base"), testkit.Update(t, "robot1:Object/Any/p/e", 2, "from base"), testkit.Update(t, "Map/Any/p/e", 1, ""))
	testkit.Commit(t, c1, testkit.Update(t, "robot1:Object/Any/p/own", 3, "own"), testkit.Update(t, "robot2:Object/Any/p/e", 4, "from robot1"))
	if err := base.Server.AddCoreSegment(ctx, engram.CoreSegment{ID: engram.MustID("robot1:Object/Copied")}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		c             *client.Client
		pattern, want string
	}{
		{cb, "*:Object", "Object/Any/p/e robot1:Object/Any/p/e robot1:Object/Any/p/own robot2:Object/Any/p/e"},
		{c1, "*:Object", "Object/Any/p/e Object/Any/p/own base:Object/Any/p/e robot2:Object/Any/p/e"},
		{c2, "*:Object", "Object/Any/p/e base:Object/Any/p/e robot1:Object/Any/p/e robot1:Object/Any/p/own"},
		{cb, "*:*/*/*/e", "Map/Any/p/e Object/Any/p/e robot1:Object/Any/p/e robot2:Object/Any/p/e"},
		{cb, "", "Map/Any/p/e Object/Any/p/e"}, // not what it holds copies of
		{c1, "*", "Object/Any/p/e Object/Any/p/own"},
		{c1, "~.*", "Object/Any/p/e Object/Any/p/own"},
		{c1, "~(?:Object|Map)", "Object/Any/p/e Object/Any/p/own"},
		{c1, "~.*:.*", "base:Map/Any/p/e base:Object/Any/p/e robot1:Object/Any/p/e robot1:Object/Any/p/own robot2:Object/Any/p/e"},
		{c1, "~robot[12]:Object", "robot1:Object/Any/p/e robot1:Object/Any/p/own robot2:Object/Any/p/e"},
		{c1, "~robot1:Object|Object", "Object/Any/p/e Object/Any/p/own"},
		{c1, "robot1:*", "robot1:Object/Any/p/e robot1:Object/Any/p/own"}, // as it was asked for
		{c1, "base:*", "base:Map/Any/p/e base:Object/Any/p/e"},
		{c1, "robot1:Object", "robot1:Object/Any/p/e robot1:Object/Any/p/own"},
		{c2, "robot1:Object/Any/p/own", "robot1:Object/Any/p/own"},
		{c2, "robot1:Nothing", ""},
		{c2, "robot7:Object", "unavailable"},
		{c2, "~robot7:Object", ""},
	} {
		if got := ask(t, x.c, x.pattern); got != x.want {
			t.Errorf("%s answers %q with %q, want %q", x.c.Address(), x.pattern, got, x.want)
		}
		parts := &engram.Result{}
		err := x.c.QueryParts(ctx, engram.MustPattern(x.pattern).Select(engram.All()), func(r *engram.Result) error {
			parts.Merge(r)
			return nil
		})
		if got := ids(parts); err == nil && got != x.want {
			t.Errorf("in parts %q is answered with %q, want %q", x.pattern, got, x.want)
		}
	}
	seen := map[string]int{}
	for _, u := range testkit.Next(t, sub, 4) {
		seen[u.ID.Parent().String()+" "+string(rune('0'+len(u.Snapshot.Instances)))]++
	}
	for _, want := range []string{"Object/Any/p/e 1", "base:Object/Any/p/e 1", "robot1:Object/Any/p/e 1", "robot1:Object/Any/p/own 1"} {
		if seen[want] != 1 {
			t.Errorf("told of %v", seen)
		}
	}
	if snap, err := c2.Latest(ctx, engram.MustID("robot1:Object/Any/p/own")); err != nil || snap.Time != 3 {
		t.Errorf("the latest is %v, %v", snap, err)
	}
	if snap, err := c1.AtOrBefore(ctx, engram.MustID("robot1:Object/Any/p/own"), 5); err != nil || snap.Time != 3 {
		t.Errorf("at or before is %v, %v", snap, err)
	}
	stats, err := c2.Stats(ctx, engram.MustPattern("*:Object"), engram.LevelMemory)
	if err != nil || len(stats) != 3 || stats[1].ID.String() != "base:Object" || stats[2].ID.String() != "robot1:Object" || stats[2].Snapshots != 2 {
		t.Errorf("counted %v, %v", stats, err)
	}
	described, err := cb.Describe(ctx, engram.MustPattern("robot1:Object/Any"))
	if err != nil || len(described) != 2 || described[0].ID.String() != "robot1:Object/Any" {
		t.Errorf("described %v, %v", described, err)
	}
	results, err := c2.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{
		testkit.Update(t, "robot1:Object/Any/p/e", 9, ""), testkit.Update(t, "robot1:None/Any/p/e", 9, ""), testkit.Update(t, "robot7:Object/Any/p/e", 9, ""), testkit.Update(t, "Object/Any/p/e", 9, ""),
	}})
	if err != nil || results[0].ID.String() != engram.MustID("robot1:Object/Any/p/e").At(9).String() || results[0].Err != nil || results[3].Err != nil ||
		engram.CodeOf(results[1].Err) != engram.NotFound || engram.CodeOf(results[2].Err) != engram.Unavailable {
		t.Errorf("committed %v, %v", results, err)
	}
	stream, err := c2.CommitStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, "robot1:Object/Any/p/s", 1, ""), testkit.Update(t, "Object/Any/p/s", 1, "")}}); err != nil {
		t.Fatal(err)
	}
	if err := stream.Flush(); err != nil {
		t.Fatal(err)
	}
	if results, err := stream.Recv(); err != nil || engram.FirstError(results) != nil || results[0].ID.Memory() != "robot1:Object" || results[1].ID.Memory() != "Object" {
		t.Errorf("the stream answers %v, %v", results, err)
	}
}

// A robot that is cut off is said to be missing, a copy answers in its stead where
// that is wanted, and subscriptions go on where they were left off.
func TestRobotCutOff(t *testing.T) {
	t.Parallel()
	t.Run("the others go on", func(t *testing.T) { robotCutOff(t, lasting, patience, false) })
	t.Run("it is missed, and comes back", func(t *testing.T) {
		testkit.RealTime(t, "robots that are there are heard, and answer, within 3 s; a robot that is cut off has been asked before 6 s are over, when it leaves the names")
		robotCutOff(t, quick, 3*time.Second, true)
	})
}

// robotCutOff cuts a robot off. If it is asked then, the question waits for as long as the
// program is patient.
func robotCutOff(t *testing.T, names robots.Options, patience time.Duration, asked bool) {
	base, r1, r2, radio := fleetOf(t, names)
	cb, c1, c2 := base.clientOf(t, patience), r1.client(t), r2.client(t)
	knows(t, cb, true, "robot1:Object", "robot2:Object")
	if _, err := base.Server.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, "robot1:Object/Any/p/copied", 1, "")}}); err != nil {
		t.Fatal(err)
	}
	reaches(t, cb, "~robot[12]:Object")
	sub, err := cb.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("*:Object")}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, c1, testkit.Update(t, "Object/Any/p/e", 1, ""))
	testkit.Commit(t, c2, testkit.Update(t, "Object/Any/p/e", 1, ""))
	testkit.Next(t, sub, 2)
	source := func(s engram.Source, pattern string) string {
		t.Helper()
		q := engram.MustPattern(pattern).Select(engram.All())
		q.Source = s
		r, err := cb.Query(t.Context(), q)
		if err != nil {
			return engram.CodeOf(err).String()
		}
		said := fmt.Sprint(ids(r), " missing ", len(r.Missing), " copies ", len(r.Copies))
		for _, u := range r.Copies {
			said += fmt.Sprintf(" %s@%s away %v", u.Memory, u.Server, u.Away)
		}
		return said
	}
	const copied = "robot1:Object/Any/p/copied missing 0 copies 1 robot1:Object@base host away false"
	if got := source(engram.SourceCopy, "robot1:Object"); got != copied {
		t.Errorf("of the copy: %s", got)
	}
	if got := source(engram.SourceCopy, "robot2:Object"); got != "robot2:Object/Any/p/e missing 0 copies 0" {
		t.Errorf("where there is no copy: %s", got)
	}
	if got := source(engram.SourceOwner, "robot1:Object"); got != "robot1:Object/Any/p/e missing 0 copies 0" {
		t.Errorf("of the owner: %s", got)
	}

	radio.set(true, false)
	for i := range 50 {
		testkit.Commit(t, c1, testkit.Update(t, "Object/Any/p/e", engram.Time(2+i), ""))
	}
	testkit.Commit(t, c2, testkit.Update(t, "Object/Any/p/e", 2, ""))
	testkit.Next(t, sub, 1)
	if got := source(engram.SourceCopy, "robot1:Object"); got != copied {
		t.Errorf("of the copy, the owner just cut off: %s", got)
	}
	if got := source(engram.SourceOwner, "robot2:Object"); got != "robot2:Object/Any/p/e robot2:Object/Any/p/e missing 0 copies 0" {
		t.Errorf("of another owner: %s", got)
	}
	if !asked {
		return
	}
	const away = "robot1:Object/Any/p/copied robot2:Object/Any/p/e robot2:Object/Any/p/e -robot1:Object robot1:Object@base host!"
	for _, hosted := range []bool{true, false} { // while it is still in the names, and then
		if !hosted {
			knows(t, cb, false, "robot1:Object")
		}
		if got := ask(t, cb, "~robot[12]:Object"); got != away {
			t.Errorf("without robot1: %q, want %q", got, away)
		}
		if got := source(engram.SourceOwner, "robot1:Object"); got != "unavailable" {
			t.Errorf("of the owner, cut off: %s", got)
		}
		if got := source(engram.SourceOwner, "~robot[12]:Object"); got != "robot2:Object/Any/p/e robot2:Object/Any/p/e missing 1 copies 0" {
			t.Errorf("of the owners, one cut off: %s", got)
		}
		if got := source(engram.SourceCopy, "robot1:Object"); got != copied {
			t.Errorf("of the copy, the owner cut off: %s", got)
		}
		if _, err := cb.Latest(t.Context(), engram.MustID("robot1:Object/Any/p/e")); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("the latest: %v", err)
		}
		results, err := cb.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, "robot1:Object/Any/p/e", 1, "")}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a commit: %v", err)
		}
		stats, err := cb.Stats(t.Context(), engram.MustPattern("*:Object"), engram.LevelMemory)
		if err != nil || len(stats) != 3 || stats[1].ID.String() != "robot1:Object" || stats[1].Snapshots != 1 {
			t.Errorf("counted %v, %v", stats, err)
		}
	}

	radio.set(false, false)
	updates := testkit.Next(t, sub, 50)
	for i, u := range updates {
		if want := engram.MustID("robot1:Object/Any/p/e").At(engram.Time(2 + i)); u.ID != want || u.Dropped > 0 || u.Restarted {
			t.Fatalf("after the cut update %d is %+v, want %v", i, u, want)
		}
	}
	knows(t, cb, true, "robot1:Object")
	testkit.Until(t, func() (string, bool) {
		got := ask(t, cb, "robot1:Object/Any/p/e")
		return got, strings.Count(got, "robot1:Object/Any/p/e") == 51 && !strings.Contains(got, "-")
	})
}

// A robot that falls silent does not keep the answer waiting for long, and once that
// is known, not at all.
func TestSilentRobot(t *testing.T) {
	testkit.RealTime(t, "robots that are there answer within 4 s, and the first answer without the silent one comes within 15 s")
	t.Parallel()
	base, _, r2, radio := fleetOf(t, quick)
	cb := base.clientOf(t, 4*time.Second)
	knows(t, cb, true, "robot1:Object", "robot2:Object")
	testkit.Commit(t, r2.client(t), testkit.Update(t, "Object/Any/p/e", 1, ""))
	testkit.Until(t, func() (string, bool) { // connects, within its patience
		got := ask(t, cb, "~robot[12]:Object")
		return got, got == "robot2:Object/Any/p/e"
	})
	radio.set(false, true)
	query := func(ctx context.Context) {
		t.Helper()
		r, err := cb.Query(ctx, engram.MustPattern("~robot[12]:Object").Select(engram.All()))
		if err != nil || ids(r) != "robot2:Object/Any/p/e" || len(r.Missing) != 1 {
			t.Fatalf("%v, %v", r, err)
		}
	}
	// The first call gives up after its patience of some seconds, the transports would
	// after 20 s: the test assumes that this machine does not stand still for the rest.
	first, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	query(first)
	then, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 30 { // which would take two minutes if each was patient
		query(then)
	}
	radio.set(false, false)
	testkit.Until(t, func() (string, bool) {
		got := ask(t, cb, "~robot[12]:Object")
		return got, got == "robot2:Object/Any/p/e"
	})
}

// A subscription that asks for it is told when a robot falls silent, and when it is back;
// a new program is told since when.
func TestSilenceIsTold(t *testing.T) {
	testkit.RealTime(t, "a robot that beats ten times a second is heard within 3 s, and robots that are there answer within 12 s")
	t.Parallel()
	base, r1, _, radio := fleetOf(t, quick)
	cb := base.client(t)
	knows(t, cb, true, "robot1:Object", "robot2:Object")
	sub, err := cb.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}, Absences: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	radio.set(false, true)
	away := testkit.Next(t, sub, 1)[0].Absence
	if away == nil || away.Server != "robot1 host" || !slices.Equal(away.Memories, []string{"robot1:Object"}) || away.Since == 0 || away.Until != 0 {
		t.Fatalf("told %+v", away)
	}
	result, err := base.clientOf(t, 12*time.Second).Query(t.Context(), engram.MustPattern("*:Object").Select(engram.All()))
	if err != nil || len(result.Missing) != 1 || result.Missing[0].ID.Memory() != "robot1:Object" || result.Missing[0].Since != away.Since || len(result.Copies) != 1 {
		t.Errorf("a new program is answered %+v, %v; robot1 was heard at %v", result, err, away.Since)
	}
	radio.set(false, false)
	for {
		u := testkit.Next(t, sub, 1)[0]
		if u.Absence != nil && u.Absence.Until != 0 {
			if u.Absence.Since != away.Since || !slices.Equal(u.Absence.Memories, away.Memories) {
				t.Errorf("back: %+v, away was %+v", u.Absence, away)
			}
			break
		}
	}
	testkit.Commit(t, r1.client(t), testkit.Update(t, "Object/Any/p/e", 1, ""))
	for {
		if u := testkit.Next(t, sub, 1)[0]; u.Absence == nil {
			if u.ID.Memory() != "robot1:Object" {
				t.Errorf("then came %+v", u)
			}
			break
		}
	}
}

// A subscription to a memory of another robot that has changed its server, unheard, gets
// all that the new one was told, and says where the memory is back.
func TestTakenOverOnAnotherRobot(t *testing.T) {
	t.Parallel()
	t.Run("of updates", func(t *testing.T) {
		soon := lasting
		soon.DetectionTimeout = 300 * time.Millisecond // who is suspected without reason is heard again
		takenOverOnAnotherRobot(t, soon, false)
	})
	t.Run("of absences", func(t *testing.T) {
		testkit.RealTime(t, "a robot that beats ten times a second is heard within 3 s")
		takenOverOnAnotherRobot(t, quick, true)
	})
}

func takenOverOnAnotherRobot(t *testing.T, names robots.Options, absences bool) {
	base, r1, _, radio := fleetOf(t, names)
	cb := base.client(t)
	reaches(t, cb, "robot1:Object")
	sub, err := cb.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}, Absences: absences})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Commit(t, r1.Server, testkit.Update(t, "Object/Any/p/e", 1, ""))
	testkit.Next(t, sub, 1)

	radio.set(true, false)
	if err := r1.kept.Close(); err != nil {
		t.Fatal(err)
	}
	successor, _, _ := r1.serve(t, "robot1 standby", []string{"Object"})
	const n = 10
	for i := range n {
		testkit.Commit(t, successor, testkit.Update(t, "Object/Any/p/e", engram.Time(2+i), ""))
	}
	if absences {
		if u := testkit.Next(t, sub, 1)[0]; u.Absence == nil || u.Absence.Server != "robot1 host" || u.Absence.Until != 0 {
			t.Fatalf("told %+v", u)
		}
	}
	radio.set(false, false)
	var told []engram.Update
	var back *engram.Absence
	for len(told) < n || absences && back == nil {
		for _, u := range testkit.Next(t, sub, 1) {
			switch {
			case u.Absence == nil:
				told = append(told, u)
			case u.Absence.Until != 0:
				back = u.Absence
			}
		}
	}
	for i, u := range told {
		if want := engram.MustID("robot1:Object/Any/p/e").At(engram.Time(2 + i)); u.ID != want || u.Number != uint64(1+i) || u.Dropped > 0 || u.Restarted != (i == 0) {
			t.Errorf("update %d is %+v, want %v", i, u, want)
		}
	}
	if absences && (back.Server != "robot1 standby" || !slices.Equal(back.Memories, []string{"robot1:Object"})) {
		t.Errorf("told back: %+v", back)
	}
	if sub.Epoch() != successor.Epoch() {
		t.Error("the epoch is not the new server's")
	}
}

// An answer over a slow link is waited for, however long it takes. Its frames of 16 kB take
// two thirds of a second each on the link.
func TestSlowLink(t *testing.T) {
	testkit.RealTime(t, "less than 10 s pass between two frames that the link takes two thirds of a second for")
	t.Parallel()
	const patience, pace = 10 * time.Second, 25_000
	base, r1, _, radio := fleetOf(t, quick)
	cb := base.clientOf(t, patience)
	knows(t, cb, true, "robot1:Object")
	noise := make([]byte, 12*pace) // that no transport compresses
	rand.NewChaCha8([32]byte{}).Read(noise)
	testkit.Commit(t, r1.client(t), testkit.Update(t, "Object/Any/p/e", 1, noise))
	testkit.Until(t, func() (string, bool) { // connects, within its patience
		got := ask(t, cb, "robot1:Object/Any/p/none")
		return got, got == ""
	})
	radio.mu.Lock()
	radio.pace = pace
	radio.mu.Unlock()
	began := time.Now()
	if got := ask(t, cb, "robot1:Object"); got != "robot1:Object/Any/p/e" {
		t.Errorf("over the slow link: %q", got)
	}
	if took := time.Since(began); took < patience {
		t.Errorf("the answer took %v only, less than the client's patience", took)
	}
}

// A robot works alone, and its names are known to all when it meets them.
func TestRobotThatStartsAlone(t *testing.T) {
	t.Parallel()
	radio := newLink(t, "127.0.0.1:1") // where nobody listens
	r1 := startRobot(t, embedded.Options{Robot: "robot1", LeafOf: []string{radio.url()}}, []string{"Object"})
	c1 := r1.client(t)
	testkit.Commit(t, c1, testkit.Update(t, "Object/Any/p/e", 1, ""))
	if got := ask(t, c1, "*:Object"); got != "Object/Any/p/e" {
		t.Errorf("alone: %q", got)
	}
	sub, err := c1.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("*:Object")}, Start: engram.Start{Kind: engram.StartLast, N: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	testkit.Next(t, sub, 1)
	base := startRobot(t, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"}, []string{"Object"})
	radio.leadTo(base.fabric.LeafURL())
	testkit.Commit(t, base.client(t), testkit.Update(t, "Object/Any/p/e", 1, ""))
	if u := testkit.Next(t, sub, 1); u[0].ID.Memory() != "base:Object" {
		t.Errorf("told of %v", u)
	}
	testkit.Until(t, func() (string, bool) {
		got := ask(t, c1, "*:Object")
		return got, got == "Object/Any/p/e base:Object/Any/p/e"
	})
}

// A program whose home is the backbone sees what others see, and goes on while the
// name system is away.
func TestHomeOnTheBackbone(t *testing.T) {
	t.Parallel()
	base := startRobot(t, embedded.Options{Robot: "base", Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0"}, []string{"Object"})
	r1 := startRobot(t, embedded.Options{Robot: "robot1", LeafOf: []string{base.fabric.LeafURL()}}, []string{"Object"})
	knows(t, base.client(t), true, "robot1:Object")
	c, err := client.Connect(t.Context(), client.Options{Address: base.fabric.ClientURL(), DetectionTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	knows(t, c, true, "robot1:Object") // Connect does not wait for long until it is told
	testkit.Commit(t, c, testkit.Update(t, "Object/Any/p/e", 1, ""), testkit.Update(t, "robot1:Object/Any/p/e", 1, ""))
	if got := ask(t, c, "*:Object"); got != "Object/Any/p/e robot1:Object/Any/p/e" {
		t.Errorf("answered %q", got)
	}
	if got := ask(t, r1.client(t), ""); got != "Object/Any/p/e" {
		t.Errorf("robot1 has %q", got)
	}
	if _, err := c.LongTerm("").Episodes(t.Context(), engram.Always()); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("the only server's long-term memory: %v", err)
	}
	if _, err := c.Poses("robot1:Object").LookUp(t.Context(), nil); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("poses of a server that keeps none: %v", err)
	}
	_, err = client.Connect(t.Context(), client.Options{Address: "nats://127.0.0.1:1"})
	if engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("where there is no backbone: %v", err)
	}
}

// A memory of another robot behaves like the memory itself.
func TestMemoryOfAnotherRobot(t *testing.T) {
	t.Parallel()
	base := startRobot(t, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"}, []string{"Map"})
	robot := startRobot(t, embedded.Options{Robot: "robot1", LeafOf: []string{base.fabric.LeafURL()}}, []string{memorytest.MemoryName})
	name := robot.name + ":" + memorytest.MemoryName
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		c := base.client(t)
		knows(t, c, true, name)
		return c
	}, memorytest.Name(name), memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}

// While the backbone, and with it the name system, is away, programs go on with the
// servers they know.
func TestNameSystemIsAway(t *testing.T) {
	t.Parallel()
	soon := lasting
	soon.DetectionTimeout = 300 * time.Millisecond // of the backbone: there is no other robot
	r := startRobotOf(t, soon, embedded.Options{Robot: "robot1", Listen: "127.0.0.1:0"}, []string{"Object"})
	on, err := client.Connect(t.Context(), client.Options{Address: r.fabric.ClientURL(), DetectionTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	beside := r.client(t)
	r.fabric.Close()
	testkit.Until(t, func() (string, bool) {
		entries, err := r.names.List(t.Context())
		return fmt.Sprintf("the names are %+v, %v", entries, err), err == nil && r.names.Away() != 0
	})
	for name, c := range map[string]*client.Client{"on the backbone": on, "at the server": beside} {
		testkit.Commit(t, c, testkit.Update(t, "Object/Any/p/e", 1, ""))
		if got := ask(t, c, "*:Object"); got != "Object/Any/p/e" && got != "Object/Any/p/e Object/Any/p/e" {
			t.Errorf("%s: answered %q", name, got)
		}
		if _, err := c.Latest(testkit.Context(t), engram.MustID("robot2:Object/Any/p/e")); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("%s: of an unknown robot: %v", name, err)
		}
	}
}

// A memory that a program hosts whose home is the backbone is reached by others there.
func TestHostOnTheBackbone(t *testing.T) {
	t.Parallel()
	base := startRobot(t, embedded.Options{Robot: "base", Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0"}, []string{"Object"})
	r1 := startRobot(t, embedded.Options{Robot: "robot1", LeafOf: []string{base.fabric.LeafURL()}}, []string{"Object"})
	s, err := server.New(server.Config{Memories: []server.Memory{memory("Arm")}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	hosted := make(chan error, 1)
	go func() {
		hosted <- client.Host(ctx, s, client.HostOptions{Address: base.fabric.ClientURL(), RPC: rpc.Options{Log: testkit.Quiet, Grace: 20 * time.Millisecond}})
	}()
	c := r1.client(t)
	knows(t, c, true, "base:Arm")
	e, err := c.Names().Resolve(t.Context(), "base:Arm")
	if err != nil || !strings.HasPrefix(e.Server, "base ") {
		t.Errorf("it is at %+v, %v", e, err)
	}
	testkit.Commit(t, s, testkit.Update(t, "Arm/Any/p/e", 1, ""))
	testkit.Until(t, func() (string, bool) { // dialling may take long on a busy machine
		got := ask(t, c, "base:Arm")
		return got, got == "base:Arm/Any/p/e"
	})
	stop()
	if err := <-hosted; err != nil {
		t.Error(err)
	}
	knows(t, c, false, "base:Arm")
}

// Where the own robot holds a copy, SourceNear reads and follows that instead of the owner, also
// while the owner is away; elsewhere the owner.
func TestNearCopies(t *testing.T) {
	t.Parallel()
	base, r1, r2, radio := fleetOf(t, lasting)
	cb, c1, c2 := base.client(t), r1.client(t), r2.client(t)
	knows(t, cb, true, "robot1:Object", "robot2:Object")
	reaches(t, cb, "~robot[12]:Object")
	follow := func() engram.UpdateStream {
		t.Helper()
		sub, err := cb.Subscribe(t.Context(), engram.Subscription{
			Patterns: []engram.Pattern{engram.MustPattern("~robot[12]:Object")}, Source: engram.SourceNear, Start: engram.Start{Kind: engram.StartLast, N: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sub.Close() })
		return sub
	}
	sub := follow()
	testkit.Commit(t, c1, testkit.Update(t, "Object/Any/p/e", 1, ""))
	testkit.Commit(t, base.Server, testkit.Update(t, "robot1:Object/Any/p/copied", 1, ""))
	testkit.Commit(t, c2, testkit.Update(t, "Object/Any/p/e", 1, ""))
	told := map[string]bool{}
	for _, u := range testkit.Next(t, sub, 2) {
		told[u.ID.Truncate(engram.LevelEntity).String()] = true
	}
	if !told["robot1:Object/Any/p/copied"] || !told["robot2:Object/Any/p/e"] {
		t.Errorf("told of %v", told)
	}
	radio.set(true, false)
	late := follow()
	for copied := false; !copied; { // of a robot that is away
		copied = testkit.Next(t, late, 1)[0].ID.Truncate(engram.LevelEntity) == engram.MustID("robot1:Object/Any/p/copied")
	}
	if got := late.(interface{ EpochOf(string) uint64 }).EpochOf("robot1:Object"); got != base.Server.Epoch() {
		t.Errorf("the copy's epoch is %d, not its holder's", got)
	}
	q := engram.MustPattern("robot1:Object").Select(engram.All())
	q.Source = engram.SourceNear
	if r, err := cb.Query(t.Context(), q); err != nil || ids(r) != "robot1:Object/Any/p/copied" || len(r.Missing) > 0 {
		t.Errorf("asked: %v, %v", r, err)
	}
	if got := cb.Robot(); got != "base" {
		t.Errorf("the client is on %q", got)
	}
}
