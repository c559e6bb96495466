package robots_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/robots"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Kept by nats-server for the life of the process.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"))
}

// robot is a robot, or the base station, with its own backbone and names.
type robot struct {
	*robots.Fleet
	fabric *embedded.Server
	conn   *backbone.Backbone
	own    *mns.Local
}

func start(t *testing.T, o embedded.Options, f robots.Options) *robot {
	t.Helper()
	o.Log, f.Log = testkit.Quiet, testkit.Quiet
	f.Robot = o.Robot
	r := &robot{own: mns.NewLocal()}
	var err error
	if r.fabric, err = embedded.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.fabric.Close() })
	if r.conn, err = backbone.Connect(t.Context(), backbone.Options{InProcess: r.fabric, Robot: o.Robot, Log: testkit.Quiet}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.conn.Close() })
	if r.Fleet, err = robots.Join(r.conn.Conn(), r.own, f); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Fleet.Close()
		r.own.Close()
	})
	return r
}

// quick beats often, so that a lease runs out soon, and who is silent is not suspected
// before it has.
var quick = robots.Options{Lease: 3 * time.Second, Every: 50 * time.Millisecond, DetectionTimeout: 6 * time.Second}

// lasting keeps what was heard once for longer than a test, however busy the machine is.
var lasting = robots.Options{Lease: time.Hour, Every: 50 * time.Millisecond, DetectionTimeout: time.Hour}

func base(t *testing.T, o robots.Options) *robot {
	return start(t, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"}, o)
}

func leaf(t *testing.T, of *robot, name string, o robots.Options) *robot {
	return start(t, embedded.Options{Robot: name, LeafOf: []string{of.fabric.LeafURL()}}, o)
}

func (r *robot) register(t *testing.T, memories []string, copies ...string) *mns.Kept {
	t.Helper()
	server := r.Robot() + " host"
	k, err := mns.Keep(t.Context(), r, mns.Registration{
		Server: server, Memories: memories, Copies: copies,
		Addresses: []string{"unix:/s", "http://127.0.0.1:7411", "http://10.0.0.1:7411", "nats:" + server},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// list writes all entries as memory@server, with the holders of copies.
func list(t *testing.T, r mns.Registry) string {
	t.Helper()
	entries, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		text := e.Memory + "@" + strings.TrimSuffix(e.Server, " host")
		for _, c := range e.Copies {
			text += "+" + c.Memory + "@" + strings.TrimSuffix(c.Server, " host")
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func untilList(t *testing.T, r mns.Registry, want string) {
	t.Helper()
	testkit.Until(t, func() (string, bool) { got := list(t, r); return got + ", want " + want, got == want })
}

// Robots know the names of each other and of the base station, and their own under
// both names. What leaves is gone at once; a robot that is cut off, when its lease
// has run out, but for what others hold copies of; and it is back when the link is.
func TestRobotsKnowEachOther(t *testing.T) {
	t.Parallel()
	robotsKnowEachOther(t, lasting)
	t.Run("cut off", func(t *testing.T) {
		testkit.RealTime(t, "a robot that beats every 50 ms is heard within its lease of 3 s")
		b, r1 := robotsKnowEachOther(t, quick)
		cutOff(t, b, r1)
	})
}

func robotsKnowEachOther(t *testing.T, o robots.Options) (b, r1 *robot) {
	t.Helper()
	b = base(t, o)
	r1, r2 := leaf(t, b, "robot1", o), leaf(t, b, "robot2", o)
	b.register(t, []string{"Object"}, "robot1:Object")
	r1.register(t, []string{"Object", "Vision"})
	k2 := r2.register(t, []string{"Object"}, "robot1:Vision")
	untilList(t, b, "Object@base robot1:Object@robot1+robot1:Object@base robot1:Vision@robot1+robot1:Vision@robot2 robot2:Object@robot2")
	untilList(t, r1, "Object@robot1+robot1:Object@base Vision@robot1+robot1:Vision@robot2 base:Object@base robot2:Object@robot2")
	own, err := r1.Resolve(t.Context(), "robot1:Object")
	if err != nil || own.Memory != "Object" || own.Robot != "robot1" || own.Foreign() {
		t.Errorf("its own name resolves to %+v, %v", own, err)
	}
	far, err := r1.Resolve(t.Context(), "robot2:Object")
	if err != nil || far.Local() != "Object" || !slices.Equal(far.Addresses, []string{"http://10.0.0.1:7411", "nats:robot2 host"}) {
		t.Errorf("another's name resolves to %+v, %v", far, err)
	}
	if err := k2.Close(); err != nil {
		t.Fatal(err)
	}
	untilList(t, b, "Object@base robot1:Object@robot1+robot1:Object@base robot1:Vision@robot1")
	return b, r1
}

func cutOff(t *testing.T, b, r1 *robot) {
	t.Helper()
	watch, stop := context.WithCancel(t.Context())
	defer stop()
	events := make(chan mns.Event, 1000)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ev := range b.Watch(watch) {
			events <- ev
		}
	}()
	r1.fabric.Close() // with its leaf node and all its connections
	untilList(t, b, "Object@base robot1:Object@+robot1:Object@base")
	again := leaf(t, b, "robot1", quick)
	again.register(t, []string{"Object"})
	untilList(t, b, "Object@base robot1:Object@robot1+robot1:Object@base")
	if _, err := b.Wait(t.Context(), "robot1:Object"); err != nil {
		t.Error(err)
	}
	var told []string
	for {
		ev := testkit.Receive(t, events)
		switch {
		case ev.Removed:
			told = append(told, "-"+ev.Entry.Memory)
		case !ev.Synced:
			told = append(told, ev.Entry.Memory+"@"+ev.Entry.Server)
		}
		if n := len(told); n > 3 && told[n-1] == "robot1:Object@robot1 host" {
			break
		}
	}
	if want := []string{"Object@base host", "robot1:Object@robot1 host", "robot1:Vision@robot1 host", "-robot1:Vision", "robot1:Object@", "robot1:Object@robot1 host"}; !slices.Equal(told, want) {
		t.Errorf("the watch told %q, want %q", told, want)
	}
	stop()
	<-watched
}

// A name of a robot that is not there says so, and which are.
func TestRobotOutOfReach(t *testing.T) {
	t.Parallel()
	b := base(t, lasting)
	leaf(t, b, "robot1", lasting).register(t, []string{"Object"})
	untilList(t, b, "robot1:Object@robot1")
	for name, words := range map[string]string{"robot7:Object": "robot1", "robot1:Vision": "robot1:Object", "Object": "none is"} {
		_, err := b.Resolve(t.Context(), name)
		if engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Wait(ctx, "robot7:Object"); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("waiting in vain: %v", err)
	}
}

// Anybody can send anything on the message fabric.
func TestGarbage(t *testing.T) {
	t.Parallel()
	b := start(t, embedded.Options{Robot: "base"}, lasting)
	b.register(t, []string{"Object"})
	many := `["` + strings.Repeat(`a","`, mns.MaxMemories) + `b"]`
	for subject, text := range map[string]string{
		"engram.names.r.s":   `{`,
		"engram.names.r.t":   `{"robot":"r","server":"x","life":"1","memories":["A"],"addresses":["nats:t"]}`,
		"engram.names.r.u":   `{"robot":"r","server":"u","life":"1","memories":["A:B"],"addresses":["nats:u"]}`,
		"engram.names.r.v":   `{"robot":"r","server":"v","life":"1","memories":[""],"addresses":["nats:v"]}`,
		"engram.names.r.w":   `{"robot":"r","server":"w","life":"1","memories":` + many + `,"addresses":["nats:w"]}`,
		"engram.names.=2A.x": `{"robot":"*","server":"x","life":"1","memories":["A"],"addresses":["nats:x"]}`,
		"engram.names":       strings.Repeat("x", 5000),
	} {
		if err := b.conn.Conn().Publish(subject, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"robot":"r","server":"good","life":"1","memories":["A"],"addresses":["nats:good"],"new":{"field":1}}`
	if err := b.conn.Conn().Publish("engram.names.r.good", []byte(good)); err != nil {
		t.Fatal(err)
	}
	untilList(t, b, "Object@base r:A@good")
	if p := b.Problems(); len(p) != 1 || !strings.Contains(p[0], "another program") {
		t.Errorf("reported %q", p)
	}
}

// What others announce is bounded.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, embedded.Options{Robot: "base"}, lasting)
	const each = 900
	for s := range 20 {
		var names []string
		for m := range each {
			names = append(names, fmt.Sprintf(`"m%d"`, s*each+m))
		}
		text := fmt.Sprintf(`{"robot":"r","server":"s%d","life":"1","memories":[%s],"addresses":["nats:s"]}`, s, strings.Join(names, ","))
		if err := b.conn.Conn().Publish(fmt.Sprintf("engram.names.r.s%d", s), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Until(t, func() (string, bool) { p := b.Problems(); return fmt.Sprint(p), len(p) == 1 })
	if n := len(strings.Fields(list(t, b))); n > mns.MaxEntries || n < mns.MaxEntries-each {
		t.Errorf("%d names are known", n)
	}
}

// Two robots of one name are reported where both are heard, when they have been for longer
// than a lease.
func TestTwoRobotsOfOneName(t *testing.T) {
	t.Parallel()
	soon := lasting
	soon.Lease = 700 * time.Millisecond // one that runs out on a busy machine begins anew
	b := base(t, soon)
	b.register(t, []string{"Map"})
	r1 := leaf(t, b, "robot1", soon)
	r1.register(t, []string{"Object"})
	untilList(t, b, "Map@base robot1:Object@robot1")
	twin := leaf(t, b, "robot1", soon)
	twin.register(t, []string{"Object"})
	for name, r := range map[string]*robot{"the base station": b, "the robot": r1} {
		testkit.Until(t, func() (string, bool) {
			p := strings.Join(r.Problems(), "; ")
			return name + " reports " + p, strings.Contains(p, "robot1") && strings.Contains(p, "different names")
		})
	}
	base := leaf(t, b, "base", soon)
	k, err := mns.Keep(t.Context(), base, mns.Registration{Server: "other", Memories: []string{"Object"}, Addresses: []string{"nats:other"}})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	testkit.Until(t, func() (string, bool) {
		p := strings.Join(b.Problems(), "; ")
		return "the base station reports " + p, strings.Contains(p, `"other" says that it belongs to robot base`)
	})
}

// A memory whose name looks like another robot's is not registered.
func TestNameWithAColon(t *testing.T) {
	t.Parallel()
	_, err := base(t, lasting).Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"a:b"}, Addresses: []string{"nats:s"}})
	if engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
}
