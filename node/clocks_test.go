package node

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Two robots that have the memory World and copies of the other's, and nothing else, and whose clocks are 25 s
// apart: what is said later counts at both, and the health of both tells of the clocks.
func TestClocksAreCorrectedWithoutBeingTold(t *testing.T) {
	leaf := testkit.FreeAddress(t)
	const ahead = 25 * time.Second
	began := engram.Now()
	begun := func(robot string, skew time.Duration, e embedded.Options) (*Node, *world.Memory) {
		socket := "unix:" + filepath.Join(t.TempDir(), robot)
		n := served(t, Config{
			Memories: []server.Memory{memories.World()}, Robot: robot, Name: robot + " host", Listen: []string{socket}, Backbone: &Backbone{Embedded: e},
			Copies: []contract.Copy{{Pattern: engram.MustPattern("*:World")}}, Operations: Operations{ClockEvery: 30 * time.Second},
			Now: func() engram.Time { return engram.Now().Add(skew) },
		})
		c, err := client.Connect(t.Context(), client.Options{Address: socket})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		w, err := world.Over(t.Context(), c, "plan", world.DefaultRules(), world.Robots("*"), world.FromSource(world.Perception), world.Clock(func() engram.Time {
			if robot == "base" {
				return began.Add(time.Second) // later than what the other says, whose clock shows more
			}
			return began.Add(skew)
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return n, w
	}
	base, atBase := begun("base", 0, embedded.Options{LeafListen: leaf})
	robot, atRobot := begun("robot1", ahead, embedded.Options{LeafOf: []string{"nats-leaf://" + leaf}})
	for x, w := range map[float64]*world.Memory{1: atRobot, 2: atBase} {
		refused, _, err := w.Update(t.Context(), world.NamedItem{Name: "cup", Item: world.Item{Placement: &world.Placement{Frame: "map", Pose: pose.Translation(x, 0, 0)}}})
		if err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
	}
	for name, w := range map[string]*world.Memory{"base": atBase, "robot1": atRobot} {
		testkit.Until(t, func() (string, bool) {
			f, err := w.View(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m, err := f.Get("cup")
			if err != nil || len(f.Statements("cup")) != 2 {
				return fmt.Sprintf("at %s: %d statements, %v", name, len(f.Statements("cup")), err), false
			}
			return fmt.Sprintf("at %s the cup is at %v", name, m.Placement.Pose.T), m.Placement.Pose.T.X == 2
		})
	}
	for how, n := range map[string]*Node{"ahead of this one": base, "behind this one": robot} {
		testkit.Until(t, func() (string, bool) {
			status, reason := clocksHealth(n.ops.clocks.Skews())
			return reason, status == health.Degraded && strings.Contains(reason, how) && strings.Contains(reason, "25s")
		})
		// What the other says is not of the future by its clock.
		if status, reason := n.futureHealth(t.Context()); status != health.OK {
			t.Errorf("%s: %s", n.Name(), reason)
		}
	}
}

// Clocks that are far from this one's are a trouble, of which no more is told than can be read.
func TestClocksHealth(t *testing.T) {
	skew := func(server string, offset, delay time.Duration) clock.Skew {
		return clock.Skew{Server: server, Sample: clock.Sample{Offset: offset, Delay: delay, At: 1}}
	}
	var many []clock.Skew
	for i := range 8 {
		many = append(many, skew(fmt.Sprint("s", i), time.Hour, 0))
	}
	for name, test := range map[string]struct {
		skews []clock.Skew
		want  string // "" is ok
	}{
		"none":           {nil, ""},
		"close":          {[]clock.Skew{skew("a", 900*time.Millisecond, 0)}, ""},
		"not sure":       {[]clock.Skew{skew("a", 3*time.Second, 5*time.Second)}, ""},
		"never measured": {[]clock.Skew{{Server: "a", Error: "away"}}, ""},
		"behind":         {[]clock.Skew{skew("a", -25*time.Second, time.Millisecond)}, `the clock of "a" is 25s behind this one`},
		"many":           {many, `"s4" is 1h ahead of this one; and so for 3 others`},
	} {
		status, reason := clocksHealth(test.skews)
		if (status == health.OK) != (test.want == "") || !strings.Contains(reason, test.want) {
			t.Errorf("%s: %s: %s", name, status, reason)
		}
	}
}

// What providers say of the world in the future is told, also of what is copied, and what is of the present is not.
func TestStatementsOfTheFutureAreTold(t *testing.T) {
	n := served(t, Config{Memories: []server.Memory{memories.World(), memories.Object()}, Name: "one"})
	say := func(entity, typ string, ahead time.Duration) {
		testkit.Commit(t, n.srv, engram.EntityUpdate{Entity: engram.MustID(entity), Time: engram.Now().Add(ahead), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ})}})
	}
	say("World/Item/eye/cup", "engram.world.Item", 0)
	if status, reason := n.futureHealth(t.Context()); status != health.OK || reason != "" {
		t.Errorf("%s: %s", status, reason)
	}
	say("World/Item/eye/plate", "engram.world.Item", 20*time.Second)
	say("World/State/eye/cup", "engram.world.State", 40*time.Second)
	for i := range 5 { // of what it says one thing counts
		say("World/State/eye/cup", "engram.world.State", time.Duration(30+i)*time.Second)
	}
	say("Object/Instance/eye/cup", "engram.object.Instance", 30*time.Second)
	status, reason := n.futureHealth(t.Context())
	if status != health.Degraded || !strings.Contains(reason, "3 statements are of the future") || !strings.Contains(reason, "World/State/eye/cup") {
		t.Errorf("%s: %s", status, reason)
	}
}

// People are told how far clocks are apart with as much of it as matters.
func TestDistanceOfTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		25*time.Second + 351*time.Millisecond: "25.35s", 395*time.Second + time.Millisecond: "6m35s",
		7*time.Hour + 12*time.Minute + time.Second: "7h12m", 35*time.Hour + time.Minute: "1d11h", 365*24*time.Hour + time.Second: "365d",
	} {
		if got := distance(d); got != want {
			t.Errorf("%v is told as %q, want %q", d, got, want)
		}
	}
}
