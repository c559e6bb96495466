package node

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// begin starts a node that serves until end is called.
func begin(t *testing.T, c Config) (n *Node, end func()) {
	t.Helper()
	n, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()
	end = func() {
		if cancel != nil {
			cancel()
			<-ended
			cancel = nil
		}
	}
	t.Cleanup(end)
	return n, end
}

// statementsOf returns, by entity, when an item was stated last in a memory, and whether anything is said of it.
func statementsOf(t *testing.T, n *Node, memory string) map[string]int {
	t.Helper()
	r, err := n.srv.Query(t.Context(), engram.MustPattern(memory+"/Item").Select(engram.Latest(1)))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for it := range r.All() {
		said[it.ID.Entity()] = len(it.Snapshot.Instances[0].Payload.Bytes)
	}
	return said
}

// A server that keeps nothing has back what it said before, from the copy that another one holds, and says so;
// or it is withdrawn there, too; or it stays as it is. One that takes its memory over has it as well.
func TestWhatAServerLostIsRecovered(t *testing.T) {
	for name, test := range map[string]struct {
		how       world.Recovery
		successor string // the name of the server that has the memory next
		check     string // of its health
		says      bool   // something of the cup at the end
	}{
		"take":      {world.RecoverTake, "owner", "1 entity as said before", true},
		"successor": {world.RecoverTake, "successor", "1 entity as said before", true},
		"withdraw":  {world.RecoverWithdraw, "owner", "is withdrawn", false},
	} {
		t.Run(name, func(t *testing.T) {
			address := testkit.FreeAddress(t)
			socket := func(name string) []string { return []string{"unix:" + filepath.Join(t.TempDir(), name)} }
			copied := contract.Copy{Pattern: engram.MustPattern("World")}
			holder, _ := begin(t, Config{Memories: []server.Memory{memories.Speech()}, Name: "holder", Listen: socket("h"), Copies: []contract.Copy{copied},
				Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
			own := Config{Memories: []server.Memory{memories.World()}, Name: "owner", Listen: socket("o"), Backbone: &Backbone{URL: "nats://" + address}, Recovery: test.how}
			first, end := begin(t, own)
			w, err := world.Over(t.Context(), first.srv, "eye", world.DefaultRules(), world.FromSource(world.Perception))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.Update(t.Context(), world.NamedItem{Name: "cup", Item: world.Item{Structure: &world.Structure{}}}); err != nil {
				t.Fatal(err)
			}
			testkit.Until(t, func() (string, bool) { return "the copy has nothing", statementsOf(t, holder, "World")["cup"] > 0 })
			w.Close()
			end()
			own.Name = test.successor
			second, _ := begin(t, own)
			testkit.Until(t, func() (string, bool) {
				said, is := statementsOf(t, second, "World")["cup"]
				return "the memory says nothing of the cup", is && (said > 0) == test.says
			})
			testkit.Until(t, func() (string, bool) {
				return "the copy is not as the memory", (statementsOf(t, holder, "World")["cup"] > 0) == test.says
			})
			testkit.Until(t, func() (string, bool) {
				status, reason := second.recovery.health(t.Context())
				return reason, status == health.OK && strings.Contains(reason, test.check) && strings.Contains(reason, "holder")
			})
			if !test.says {
				return
			}
			// It is its own again: what it takes back is gone everywhere, and health tells no more of it.
			again, err := world.Over(t.Context(), second.srv, "eye", world.DefaultRules(), world.FromSource(world.Perception))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if _, err := again.Withdraw(t.Context(), "cup"); err != nil {
				t.Fatal(err)
			}
			testkit.Until(t, func() (string, bool) { return "the copy believes it", statementsOf(t, holder, "World")["cup"] == 0 })
			if _, reason := second.recovery.health(t.Context()); reason != "" {
				t.Errorf("health tells of what was said since: %s", reason)
			}
		})
	}
}

// A server with a disk knows what it said: it withdraws nothing.
func TestWithdrawingNeedsNoDisk(t *testing.T) {
	n, err := New(t.Context(), Config{Data: &ltm.Options{Dir: t.TempDir()}, Recovery: world.RecoverWithdraw})
	if engram.CodeOf(err) != engram.Invalid {
		t.Errorf("%v", err)
		n.Close()
	}
}

// listing is a name system that knows only these.
type listing struct {
	mns.Registry
	entries []mns.Entry
}

func (l listing) List(context.Context) ([]mns.Entry, error) { return l.entries, nil }

// Servers that hang are asked for their copies at the same time, each once in a round.
func TestOneThatHangsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		asked := make(chan string, 100)
		n := &Node{}
		n.options.Server = "own"
		n.options.Backbone = func(ctx context.Context, server string) (net.Conn, error) {
			asked <- fmt.Sprint(server, " after ", time.Since(began))
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := &recovery{n: n, since: map[string]engram.Time{}, from: map[string]*recoveredFrom{}, trouble: map[heldCopy]error{}}
		var names listing
		for _, memory := range []string{"World", "Object", "Navigation"} {
			r.since[memory] = engram.MinTime
			names.entries = append(names.entries, mns.Entry{Memory: memory, Server: "own", Copies: []mns.Copy{
				{Server: "a", Memory: memory, Addresses: []string{"nats:a"}}, {Server: "b", Memory: memory, Addresses: []string{"nats:b"}},
			}})
		}
		n.names = names
		waits := map[heldCopy]*attempt{}
		r.round(t.Context(), waits)
		close(asked)
		var got []string
		for a := range asked {
			got = append(got, a)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"a after 0s", "b after 0s"}) || len(waits) != 6 {
			t.Errorf("asked %q, for %d copies", got, len(waits))
		}
	})
}

// A server with a disk has from a copy the last that it lost when it was killed, and not what it forgot meanwhile.
func TestOnlyWhatIsLostIsRecovered(t *testing.T) {
	address := testkit.FreeAddress(t)
	socket := func(name string) []string { return []string{"unix:" + filepath.Join(t.TempDir(), name)} }
	holder, _ := begin(t, Config{Memories: []server.Memory{memories.Speech()}, Name: "holder", Listen: socket("h"), Copies: []contract.Copy{{Pattern: engram.MustPattern("World")}},
		Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	data := t.TempDir()
	own := func() Config {
		return Config{Memories: []server.Memory{memories.World()}, Name: "owner", Listen: socket("o"), Backbone: &Backbone{URL: "nats://" + address}, Data: &ltm.Options{Dir: data}}
	}
	first, end := begin(t, own())
	say := func(n *Node, names ...string) {
		w, err := world.Over(t.Context(), n.srv, "eye", world.DefaultRules(), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for _, name := range names {
			if _, _, err := w.Update(t.Context(), world.NamedItem{Name: name, Item: world.Item{Structure: &world.Structure{}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	say(first, "cup", "secret")
	testkit.Until(t, func() (string, bool) { return "the copy has nothing", len(statementsOf(t, holder, "World")) == 2 })
	end()
	second, end := begin(t, own())
	if got := statementsOf(t, second, "World"); len(got) != 2 {
		t.Fatalf("%v are there after the restart", got)
	}
	if _, err := second.srv.LongTerm().Forget(t.Context(), admin.Forgetting{Patterns: []engram.Pattern{engram.MustPattern("World/Item/eye/secret")}, Span: engram.Always(), Why: "test", By: "test"}, nil); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, func() (string, bool) { return "the copy has not forgotten", len(statementsOf(t, holder, "World")) == 1 })
	end()
	third, _ := begin(t, own())
	say(third, "plate")
	testkit.Until(t, func() (string, bool) { return "the copy has nothing", len(statementsOf(t, holder, "World")) == 2 })
	if got := statementsOf(t, third, "World"); len(got) != 2 {
		t.Errorf("%v are there", got)
	}
	if status, reason := third.recovery.health(t.Context()); status != health.OK || reason != "" {
		t.Errorf("health is %s: %s", status, reason)
	}
}

// What is said before the copy has answered, by who does not know what he said before, takes nothing of that away: neither
// at the server nor at the holder of the copy.
func TestWhatIsSaidAtOnceIsCompleted(t *testing.T) {
	address := testkit.FreeAddress(t)
	socket := func(name string) []string { return []string{"unix:" + filepath.Join(t.TempDir(), name)} }
	holder, _ := begin(t, Config{Memories: []server.Memory{memories.Speech()}, Name: "holder", Listen: socket("h"), Copies: []contract.Copy{{Pattern: engram.MustPattern("World")}},
		Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	own := Config{Memories: []server.Memory{memories.World()}, Name: "owner", Listen: socket("o"), Backbone: &Backbone{URL: "nats://" + address}}
	first, end := begin(t, own)
	say := func(n *Node, items ...world.NamedItem) {
		t.Helper()
		w, err := world.Over(t.Context(), n.srv, "eye", world.DefaultRules(), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if refused, _, err := w.Update(t.Context(), items...); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	say(first,
		world.NamedItem{Name: "spoon", Item: world.Item{Structure: &world.Structure{Parent: "table"}, Placement: &world.Placement{Pose: pose.Translation(1, 0, 0)},
			Description: &world.Description{Kinds: []string{"object"}, Label: "L1"}}},
		world.NamedItem{Name: "fork", Item: world.Item{Structure: &world.Structure{Parent: "table"}, Description: &world.Description{Kinds: []string{"object"}}}})
	testkit.Until(t, func() (string, bool) { return "the copy has nothing", len(statementsOf(t, holder, "World")) == 2 })
	end()
	second, err := New(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	say(second, world.NamedItem{Name: "spoon", Item: world.Item{Structure: &world.Structure{}, Description: &world.Description{Label: "L2"}}})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- second.Serve(ctx) }()
	defer func() { cancel(); <-served }()
	for name, n := range map[string]*Node{"owner": second, "holder": holder} {
		testkit.Until(t, func() (string, bool) {
			codec, err := world.NewCodec(t.Context(), second.srv)
			if err != nil {
				return err.Error(), false
			}
			r, err := n.srv.Query(t.Context(), engram.MustPattern("World/Item/eye/spoon").Select(engram.Latest(1)))
			if err != nil || len(r.Items()) != 1 {
				return fmt.Sprint(err), false
			}
			s, err := codec.Statement(r.Items()[0].ID, r.Items()[0].Snapshot)
			if err != nil {
				return err.Error(), false
			}
			it := s.Item
			whole := it.Is("object") && it.Description.Label == "L2" && it.Structure != nil && it.Structure.Parent == "table" && it.Placement != nil && it.Placement.Pose.T.X == 1
			return fmt.Sprintf("at the %s: %+v", name, it), whole
		})
	}
	testkit.Until(t, func() (string, bool) {
		status, reason := second.recovery.health(t.Context())
		return reason, status == health.OK && strings.Contains(reason, "did not name all that was said before")
	})
}

// A server without a disk whose holders are not reached says that it may have lost something; one that nobody can reach
// has nothing to wait for.
func TestNobodyIsReached(t *testing.T) {
	for name, test := range map[string]struct {
		backbone embedded.Options
		status   health.Status
	}{
		"others may have copies": {embedded.Options{Listen: testkit.FreeAddress(t)}, health.Degraded},
		"nobody else":            {embedded.Options{}, health.OK},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := begin(t, Config{Memories: []server.Memory{memories.World()}, Name: "owner", Listen: []string{"unix:" + filepath.Join(t.TempDir(), "o")}, Backbone: &Backbone{Embedded: test.backbone}})
			status, reason := n.recovery.health(t.Context())
			if status != test.status || (status == health.Degraded) != strings.Contains(reason, "no holder of a copy is reached yet") {
				t.Errorf("%s: %s", status, reason)
			}
		})
	}
}

// That a copy of another memory has answered brings nothing of World back.
func TestAnotherMemoryIsReached(t *testing.T) {
	n, _ := begin(t, Config{Memories: []server.Memory{memories.World(), memories.Object()}, Name: "owner", Listen: []string{"unix:" + filepath.Join(t.TempDir(), "o")},
		Backbone: &Backbone{Embedded: embedded.Options{Listen: testkit.FreeAddress(t)}}})
	for _, step := range []struct{ memory, lost string }{{"", "Object, World: no holder"}, {"Object", "World: no holder"}, {"World", ""}} {
		n.recovery.hear(step.memory, step.memory != "")
		if status, reason := n.recovery.health(t.Context()); !strings.HasPrefix(reason, step.lost) || (status == health.Degraded) != (step.lost != "") {
			t.Errorf("after %q: %s: %s", step.memory, status, reason)
		}
	}
}

// Where others are in reach, and none of them holds a copy, nothing can come back: that is nothing to be mended.
func TestNobodyHoldsACopy(t *testing.T) {
	address := testkit.FreeAddress(t)
	socket := func(name string) []string { return []string{"unix:" + filepath.Join(t.TempDir(), name)} }
	n, _ := begin(t, Config{Memories: []server.Memory{memories.World()}, Name: "owner", Listen: socket("o"), Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	if status, reason := n.recovery.health(t.Context()); status != health.Degraded {
		t.Errorf("alone: %s: %s", status, reason)
	}
	begin(t, Config{Memories: []server.Memory{memories.Vision()}, Name: "camera", Listen: socket("c"), Backbone: &Backbone{URL: "nats://" + address}})
	testkit.Until(t, func() (string, bool) {
		status, reason := n.recovery.health(t.Context())
		return reason, status == health.OK
	})
}
