package attack

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Whatever happens to the links between an owner and two holders of copies, while it
// commits and forgets: in the end the one that copies everything has what its owner has,
// byte for byte, and the other what its rules let through and nothing else; nothing twice,
// and nothing of what was forgotten.
func TestCopiesOverBrokenLinks(t *testing.T) {
	testkit.RealTime(t, "servers over links that break are heard between two faults")
	binary, chance, leaves := built(t), chance(t), testkit.FreeAddress(t)
	start := func(robot string, flags ...string) *victim {
		t.Helper()
		return started(t, binary, folder(t), append(flags, "--robot", robot, "--name", robot, "--backbone", "embedded")...)
	}
	// Between robots all goes over these links: their addresses on this computer are
	// not told to each other.
	links := []*link{leadTo(t, leaves, chance, nil), leadTo(t, leaves, chance, nil)}
	all := start("base", "--memory", "SystemState", "--leaf-listen", leaves, "--copy", "robot1:GeneralPurpose")
	owner := start("robot1", "--memory", "GeneralPurpose", "--leaf-of", "nats-leaf://"+links[0].address())
	some := start("robot2", "--memory", "SystemState", "--leaf-of", "nats-leaf://"+links[1].address(),
		"--copy", `robot1:GeneralPurpose/DamagedSynced where='payload.contains("7")'`, "--copy", "robot1:GeneralPurpose/DamagedLogged rate=5")
	c, err := client.Connect(t.Context(), client.Options{Address: owner.unix()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []engram.ID{logged, synced} {
		if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: id, Durability: engram.Synced}); err != nil {
			t.Fatal(err)
		}
	}

	holder := all.dial(t, "local")
	rounds, next := 0, 0
	var done []string
	settled := func() {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			var want, got, few [2]map[string]string
			for i, s := range []engram.ID{synced, logged} {
				var err error
				if want[i], err = copied(t.Context(), owner, s, "GeneralPurpose", engram.SourceAny); err == nil {
					got[i], err = copied(t.Context(), all, s, "robot1:GeneralPurpose", engram.SourceCopy)
				}
				if err == nil {
					few[i], err = copied(t.Context(), some, s, "robot1:GeneralPurpose", engram.SourceCopy)
				}
				if err != nil {
					return fmt.Sprintf("round %d: %s: %v", rounds, s, err), false
				}
			}
			let := maps.Clone(want[0])
			maps.DeleteFunc(let, func(_, text string) bool {
				text, _, _ = strings.Cut(text, " arrived ")
				return !strings.Contains(text, "7")
			})
			within := len(few[1]) > 0
			for at, text := range few[1] {
				within = within && want[1][at] == text
			}
			return fmt.Sprintf("round %d, after %v: the copies have %d and %d snapshots of %d and %d; with rules %d of %d, and %d", rounds, done,
					len(got[0]), len(got[1]), len(want[0]), len(want[1]), len(few[0]), len(let), len(few[1])),
				len(want[0]) > 0 && maps.Equal(got[0], want[0]) && maps.Equal(got[1], want[1]) && maps.Equal(few[0], let) && within
		})
	}
	for deadline := time.Now().Add(*lasting); rounds == 0 || time.Now().Before(deadline) && !t.Failed(); rounds++ {
		done = nil
		own := rand.New(rand.NewPCG(chance.Uint64(), 0))
		for range 3 + own.IntN(8) { // steps of what the owner and the network do
			n := 1 + own.IntN(15)
			if err := write(t.Context(), c, next, next+n); err != nil {
				t.Fatal(err)
			}
			next += n
			if own.IntN(3) == 0 {
				s := []engram.ID{synced, logged}[own.IntN(2)]
				_, err := c.LongTerm("GeneralPurpose").Forget(t.Context(), admin.Forgetting{
					Patterns: []engram.Pattern{engram.PatternOf(entity(s, own.IntN(entities)))}, Span: engram.Interval{Start: 0, End: engram.Time(1 + own.IntN(next))},
					EvenKept: true, Why: "it is attacked", By: "a test",
				}, nil)
				if err != nil && engram.CodeOf(err) != engram.NotFound { // all of it was forgotten before
					t.Fatal(err)
				}
			}
			which := own.IntN(len(links))
			done = append(done, fmt.Sprint(which, " ", links[which].harm()))
		}
		for _, l := range links {
			l.heal()
		}
		if err := write(t.Context(), c, next, next+1); err != nil { // there is something of all entities
			t.Fatal(err)
		}
		next++
		settled()
		u, err := update(engram.MustID("robot1:"+entity(synced, 0).String()), next, "nobody's")
		if err != nil {
			t.Fatal(err)
		}
		if results, err := holder.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || engram.CodeOf(results[0].Err) != engram.Unsupported {
			t.Errorf("a commit to the copy: %+v, %v", results, err)
		}
	}
	for i, l := range links {
		if through := l.bytes.Load(); through < int64(next) {
			t.Errorf("the servers have another way than link %d, through which %d bytes went: nothing was tried", i, through)
		}
	}
	t.Logf("%d rounds, %d commits", rounds, next)
}
