package world

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// sayings are things that robots say of items, joints, states and clocks.
func sayings(t *rapid.T) (puts []func(*Builder) error) {
	for _, s := range statements(t) {
		puts = append(puts, func(b *Builder) error { return b.Put(s) })
	}
	item := rapid.SampledFrom([]string{"a", "b", "c", "d", "r/a"})
	object := rapid.SampledFrom([]string{"a", "b"})
	provider, robot := rapid.SampledFrom([]string{"p", "q"}), rapid.SampledFrom([]string{"", "r", "s"})
	for i := range rapid.IntRange(0, 10).Draw(t, "sayings") {
		said := Said{
			Provider: provider.Draw(t, "provider"), Robot: robot.Draw(t, "robot"),
			Time: engram.Time(rapid.IntRange(1, 5).Draw(t, "time")), Arrived: engram.Time(1000 + i), Confidence: 1,
		}
		var value *float64
		if rapid.Bool().Draw(t, "valued") {
			v := rapid.Float64Range(-1, 1).Draw(t, "value")
			value = &v
		}
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			a := &Articulation{
				Kind: Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: value, Source: Source(rapid.IntRange(1, 3).Draw(t, "source")),
				Moved: rapid.OneOf(rapid.Just(""), item).Draw(t, "moved"), ValueTime: engram.Time(rapid.IntRange(0, 4).Draw(t, "stated")),
			}
			if a.Moved != "" && rapid.Bool().Draw(t, "described") {
				a.Base = item.Draw(t, "base")
			}
			s := JointStatement{object.Draw(t, "object") + "/j", said, a}
			puts = append(puts, func(b *Builder) error { return b.PutJoint(s) })
		case 1:
			said.Home = InInstance
			s := Seen{Statement: Statement{object.Draw(t, "object"), said, &Item{Description: &Description{Kinds: []string{KindObject}}}}}
			s.Item.Placement = &Placement{Frame: item.Draw(t, "frame"), Pose: pose.Translation(1, 0, 0)}
			if value != nil {
				s.Joints = []JointStatement{{s.Name + "/j", said, &Articulation{Value: value}}}
			}
			puts = append(puts, func(b *Builder) error { return b.see(s) })
		case 2:
			s := StateStatement{rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "entity"), said, &State{Item: item.Draw(t, "item"), Name: "full"}}
			if value != nil {
				s.State.Value = *value
			}
			puts = append(puts, func(b *Builder) error { return b.PutState(s) })
		case 3:
			of := rapid.SampledFrom([]string{"r", "s", "own"}).Draw(t, "of")
			offset := time.Duration(rapid.IntRange(-3, 3).Draw(t, "offset")) * clockGrain
			c := clockSaid(rapid.SampledFrom([]string{"r", "s"}).Draw(t, "by"), of, said.Time, offset, time.Duration(1+i))
			c.Arrived = said.Arrived
			puts = append(puts, func(b *Builder) error { b.putClock(c); return nil })
		}
	}
	return puts
}

// dumpAll is dump with what moves, states and edges, which must be those that poses come of.
func dumpAll(t *rapid.T, f *Forest) string {
	var w strings.Builder
	w.WriteString(dump(f))
	for j := range f.Joints().All() {
		fmt.Fprintf(&w, "%s joins %s and %s", j.Name, j.Base, j.Moved)
		if j.Value != nil {
			fmt.Fprintf(&w, " at %g since %v", *j.Value, j.ValueTime)
		}
		fmt.Fprintln(&w)
	}
	for m := range f.All() {
		states, _ := f.States(m.Name)
		for _, s := range states {
			fmt.Fprintf(&w, "%s is %s %v by %s\n", m.Name, s.State.Name, s.State.Value, s.Who())
		}
		e, _ := f.Edge(m.Name)
		fmt.Fprintf(&w, "%s is at %v\n", m.Name, e)
		// A name that several robots have frames of is none of these.
		if at, err := f.Pose(e.Frame, m.Name); e.Frame != "" && err == nil && math.Abs(at.Pose.T.X-e.Pose.T.X) > 1e-9 {
			t.Fatalf("%s has the edge %v, and is at %v", m.Name, e, at)
		}
	}
	return w.String()
}

// Joints, values, states and clocks may come in any order, too.
func TestOrderOfAllDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := NewBuilder(rulesOfTest()), NewBuilder(rulesOfTest())
		x.robot, y.robot = "own", "own"
		all := sayings(t)
		for _, put := range all {
			if err := put(x); err != nil {
				t.Fatal(err)
			}
		}
		for _, put := range rapid.Permutation(all).Draw(t, "order") {
			if err := put(y); err != nil {
				t.Fatal(err)
			}
			y.Forest()
		}
		if a, b := dumpAll(t, x.Forest()), dumpAll(t, y.Forest()); a != b {
			t.Fatalf("%s\nis not\n%s", a, b)
		}
	})
}

// A value of a joint that an object is not said to have any more counts no longer, as in a world that
// never heard it.
func TestValuesAreWithdrawn(t *testing.T) {
	open := 0.5
	seen := func(at engram.Time, joints ...string) Seen {
		said := Said{Provider: "eye", Home: InInstance, Time: at, Arrived: at}
		s := Seen{Statement: Statement{"fridge", said, &Item{Description: &Description{}}}}
		for _, j := range joints {
			s.Joints = append(s.Joints, JointStatement{"fridge/" + j, said, &Articulation{Value: &open}})
		}
		return s
	}
	first, second := seen(5, "slide"), seen(6)
	for _, test := range []struct {
		seen []Seen
		x    float64
	}{{[]Seen{first}, 1.5}, {[]Seen{second}, 1}, {[]Seen{first, second}, 1}, {[]Seen{second, first}, 1}, {[]Seen{first, second, seen(7, "slide")}, 1.5}} {
		b := build(t, at("drawer", "p", 1, thing("fridge", 1, 0, 0)))
		slide := JointStatement{"fridge/slide", Said{Provider: "p", Time: 1, Arrived: 1}, &Articulation{
			Base: "fridge", Moved: "drawer", Kind: Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1},
		}}
		if err := b.PutJoint(slide); err != nil {
			t.Fatal(err)
		}
		for _, s := range test.seen {
			if err := b.see(s); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := b.Forest().Pose("fridge", "drawer"); err != nil || got.Pose.T.X != test.x {
			t.Errorf("%d seen: %v, %v, want %g", len(test.seen), got, err, test.x)
		}
	}
}
