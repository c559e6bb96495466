package world

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// TestOrderOfHardwareDoesNotMatter puts statements on joints, maps and components, some of
// which withdraw, in two orders.
func TestOrderOfHardwareDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
		var puts []func(*Builder)
		for i := range rapid.IntRange(1, 12).Draw(t, "statements") {
			said := Said{Provider: of("provider", "p", "q"), Robot: of("robot", "", "r"), Time: engram.Time(rapid.IntRange(1, 6).Draw(t, "time")), Arrived: engram.Time(i)}
			name := of("name", "a", "b")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				j := &Articulation{Base: "base", Moved: of("moved", "x", "y"), Kind: Revolute, Pose: pose.Identity(), Radius: float64(i)}
				if rapid.Bool().Draw(t, "valued") {
					j.Value, j.ValueTime = new(float64(i)), engram.Time(rapid.IntRange(0, 6).Draw(t, "value time"))
				}
				puts = append(puts, func(b *Builder) { _ = b.PutJoint(JointStatement{name, said, j}) })
			case 1:
				j := &Articulation{Moved: of("moved", "x", "y"), Value: new(float64(i)), Source: Source(rapid.IntRange(1, 3).Draw(t, "source"))}
				puts = append(puts, func(b *Builder) { _ = b.PutJoint(JointStatement{name, said, j}) })
			case 2:
				puts = append(puts, func(b *Builder) { _ = b.PutJoint(JointStatement{name, said, &Articulation{}}) })
			case 3:
				m := &Map{Format: of("format", "", "f"), Resolution: float64(i)}
				puts = append(puts, func(b *Builder) { b.PutMap(MapStatement{name, said, m}) })
			case 4:
				c := &Component{Kind: of("kind", "", "k"), StartedBy: fmt.Sprint(i)}
				puts = append(puts, func(b *Builder) { b.PutComponent(ComponentStatement{name, said, c}) })
			}
		}
		first := hardware(puts)
		rand.New(rand.NewSource(int64(rapid.Int().Draw(t, "seed")))).Shuffle(len(puts), func(i, j int) { puts[i], puts[j] = puts[j], puts[i] })
		if again := hardware(puts); again != first {
			t.Fatalf("%s\nand in another order\n%s", first, again)
		}
	})
}

func hardware(puts []func(*Builder)) string {
	b := NewBuilder(DefaultRules())
	for _, put := range puts {
		put(b)
		b.Forest() // which stays as it is
	}
	f := b.Forest()
	var text strings.Builder
	for j := range f.Joints().All() {
		value := "-"
		if j.Value != nil {
			value = fmt.Sprint(*j.Value)
		}
		fmt.Fprintf(&text, "joint %s of %s: %s moves by %s, radius %g\n", j.Name, j.Described.Provider, j.Moved, value, j.Radius)
	}
	for m := range f.Maps().All() {
		fmt.Fprintf(&text, "map %s of %s: %g\n", m.Name, m.Provider, m.Map.Resolution)
	}
	for c := range f.Components().All() {
		fmt.Fprintf(&text, "component %s of %s: %s\n", c.Name, c.Provider, c.Component.StartedBy)
	}
	return text.String()
}
