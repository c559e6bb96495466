package sense

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
)

var grasp = engram.MustID("SystemState/Attention/me/grasp")

// idleGate returns a gate with a rule that is idle.
func idleGate() (*Gate, engram.ID) {
	g := NewGate(DefaultRing, idf.NewRegistry())
	if _, err := g.SetRule(grasp.At(1), &Rule{Entities: "*", While: []string{"Skill/Execution where status == 'Running'"}}, 1); err != nil {
		panic(err)
	}
	return g, grasp
}

// model is what a gate is to do with a rule about all sensors, and perhaps one that lets all of sensor b pass, of
// sensors that give snapshots in any order.
type model struct {
	given   map[string]engram.EntityUpdate // by name, what the ring may still have among it
	always  bool
	windows []engram.Interval // that are or were wanted
	open    bool
	passed  map[string]int
}

func (m *model) wants(u engram.EntityUpdate) bool {
	return m.always && u.Entity.Entity() == "b" || m.inWindow(u.Time)
}

func (m *model) inWindow(at engram.Time) bool {
	for _, w := range m.windows {
		if w.Contains(at) {
			return true
		}
	}
	return false
}

// Whatever sensors give and whenever triggers come, each snapshot in a window is passed on once, of those before the
// trigger all that the ring had, and no other one is; what each incident counts adds up.
func TestGateIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int64{MinRing, 1 << 20}).Draw(t, "ring")
		g := NewGate(size, idf.NewRegistry())
		before := time.Duration(rapid.IntRange(0, 300).Draw(t, "before")) * time.Millisecond
		after := time.Duration(rapid.IntRange(0, 300).Draw(t, "after")) * time.Millisecond
		events := rapid.Bool().Draw(t, "events")
		rule := &Rule{Entities: "Test", Before: before, After: after}
		if events {
			rule.On = "Events"
		} else {
			rule.While = []string{"Events"}
		}
		if _, err := g.SetRule(grasp.At(1), rule, 1); err != nil {
			t.Fatal(err)
		}
		m := model{given: map[string]engram.EntityUpdate{}, passed: map[string]int{}, always: rapid.Bool().Draw(t, "always")}
		if m.always {
			if _, err := g.SetRule(engram.MustID("SystemState/Attention/me/b").At(1), &Rule{Entities: "Test/Any/p/b"}, 1); err != nil {
				t.Fatal(err)
			}
		}
		now, n, told, triggers := engram.Time(time.Hour), 0, map[string]*Incident{}, 0
		done := func(name string, tk Ticket) {
			if m.passed[name]++; m.passed[name] > 1 {
				t.Fatalf("%s was passed on twice", name)
			}
			g.Done(tk, true, false)
		}
		recall := func() {
			for buf := []byte(nil); ; {
				c, tickets, grown := g.Wanted(buf)
				if buf = grown; len(tickets) == 0 {
					return
				}
				for i, u := range c.Updates {
					name := string(u.Instances[0].Payload.Bytes[:8])
					if was, ok := m.given[name]; !ok || was.Time != u.Time || !m.inWindow(u.Time) {
						t.Fatalf("%s of %v was recalled, which nobody wants", name, u.Time)
					}
					done(name, tickets[i])
				}
			}
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += engram.Time(rapid.IntRange(0, 40).Draw(t, "ms")) * 1e6
			switch rapid.SampledFrom([]string{"give", "give", "give", "give", "trigger", "recall", "due"}).Draw(t, "step") {
			case "give":
				n++
				name := fmt.Sprintf("%08d", n)
				at := now - engram.Time(rapid.SampledFrom([]int{0, 0, 0, 50}).Draw(t, "late"))*1e6
				u := testkit.Update(t, "Test/Any/p/"+[]string{"a", "b"}[n%2], at)
				u.Instances = []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType, Bytes: append([]byte(name), make([]byte, rapid.SampledFrom([]int{0, 100, 20_000}).Draw(t, "bytes"))...)})}
				m.given[name] = u
				tk, pass := g.Offer(&u, false)
				if pass != m.wants(u) {
					t.Fatalf("%s of %v passes: %v", name, at, pass)
				}
				if pass {
					done(name, tk)
				}
			case "trigger":
				if !events {
					m.open = !m.open
				}
				if events || m.open {
					triggers++
				}
				at := now
				if events {
					at -= engram.Time(rapid.SampledFrom([]int{0, 0, 200}).Draw(t, "behind")) * 1e6
				}
				switch w := (engram.Interval{Start: at.Add(-before), End: at.Add(after) + 1}); {
				case events:
					m.windows = append(m.windows, w)
					g.Trigger("grasp", engram.ID{}, at, now)
				case m.open:
					w.End = engram.MaxTime
					m.windows = append(m.windows, w)
					g.Hold("grasp", true, engram.ID{}, now, now)
				default:
					m.windows[len(m.windows)-1].End = w.End
					g.Hold("grasp", false, engram.ID{}, now, now)
				}
				// What the ring has of it is in the memory after this, at the latest.
				var want []string
				for number, s := range g.ring.since(g.ring.held) {
					if m.inWindow(s.snapshot.Time) && s.fate == left {
						t.Fatalf("slot %d of %v is not wanted", number, s.snapshot.Time)
					} else if s.fate == wanted {
						want = append(want, string(s.snapshot.Instances[0].Payload.Bytes[:8]))
					}
				}
				if rapid.Bool().Draw(t, "at once") {
					recall()
					for _, name := range want {
						if m.passed[name] != 1 {
							t.Fatalf("%s was in the ring and is not in the memory", name)
						}
					}
				}
			case "recall":
				recall()
			case "due":
				for _, i := range g.Due(now) {
					told[i.Name] = i
				}
			}
		}
		if m.open {
			g.Hold("grasp", false, engram.ID{}, now, now)
		}
		recall()
		for _, later := range []time.Duration{time.Minute, 2 * time.Minute} {
			for _, i := range g.Due(now.Add(later)) {
				told[i.Name] = i
			}
		}
		suppressed := uint64(0)
		for _, i := range told {
			suppressed += i.Suppressed
			for _, s := range i.Shares {
				if s.Kept+s.Lacked > s.Seen {
					t.Fatalf("of %s the incident %s saw %d, kept %d and lacked %d", s.Sensor, i.Name, s.Seen, s.Kept, s.Lacked)
				}
				if !i.Closed || size > MinRing && s.Kept != s.Seen {
					t.Fatalf("of %s the incident %s kept %d of %d: %+v", s.Sensor, i.Name, s.Kept, s.Seen, i)
				}
			}
		}
		if len(told)+int(suppressed) != triggers {
			t.Fatalf("of %d triggers there are %d incidents, and %d reasons", triggers, len(told), suppressed)
		}
		for id, c := range g.Sensors() {
			if c.Passed+c.Recalled+c.Lacked+c.LeftOut != c.Given || c.LeftOut > c.Given {
				t.Fatalf("%s: %+v", id, c)
			}
		}
	})
}

// What an earlier window wants comes, too, while a later one waits; what is on its way to the memory is not recalled.
func TestWindowsInAnyOrder(t *testing.T) {
	const second = engram.Time(time.Second)
	g := NewGate(MinRing, idf.NewRegistry())
	for name, r := range map[string]*Rule{
		"fall": {Entities: "Test/Any/p/a", On: "Events", Before: time.Second},
		"fast": {Entities: "Test/Any/p/a", Filter: map[string]string{"max_rate": "0.25 Hz"}},
	} {
		if _, err := g.SetRule(engram.MustID("SystemState/Attention/me/"+name).At(1), r, 1); err != nil {
			t.Fatal(err)
		}
	}
	var sent []Ticket
	for i := range engram.Time(10) {
		u := testkit.Update(t, "Test/Any/p/a", i*second, int(i))
		if tk, pass := g.Offer(&u, false); pass {
			sent = append(sent, tk)
		}
	}
	g.Trigger("fall", engram.ID{}, 9*second, 10*second)
	g.Trigger("fall", engram.ID{}, 4*second, 10*second)
	_, tickets, _ := g.Wanted(nil)
	for len(tickets) > 0 {
		for _, tk := range tickets {
			sent = append(sent, tk)
			g.Done(tk, true, false)
		}
		_, tickets, _ = g.Wanted(nil)
	}
	var at []engram.Time
	for _, tk := range sent {
		at = append(at, tk.at/second)
	}
	if want := []engram.Time{0, 4, 8, 3, 9}; !slices.Equal(at, want) {
		t.Errorf("passed on are %v, want %v", at, want)
	}
}

func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spans
		var has [100]bool
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			iv := engram.Interval{Start: engram.Time(rapid.IntRange(0, 99).Draw(t, "start"))}
			iv.End = iv.Start + engram.Time(rapid.IntRange(0, 30).Draw(t, "length"))
			fresh := map[engram.Time]int{}
			for _, part := range s.add(iv) {
				for at := part.Start; at < part.End; at++ {
					fresh[at]++
				}
			}
			for at := iv.Start; at < iv.End && at < 100; at++ {
				if want := map[bool]int{true: 0, false: 1}[has[at]]; fresh[at] != want {
					t.Fatalf("%d is new %d times", at, fresh[at])
				}
				has[at] = true
			}
			for at := range engram.Time(100) {
				if s.contain(at) != has[at] {
					t.Fatalf("%d is in %v: %v", at, s, s.contain(at))
				}
			}
			for i := 1; i < len(s); i++ {
				if s[i-1].End >= s[i].Start {
					t.Fatalf("not disjoint: %v", s)
				}
			}
		}
	})
}
