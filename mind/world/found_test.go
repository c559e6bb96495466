package world_test

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// What is asked of an item that was found is answered by the forest that is asked, also where another forest has found the
// item: one from before a change, or of a builder that heard of the items in another order.
func TestFoundInAnotherForest(t *testing.T) {
	build := func(names ...string) *world.Builder {
		b := world.NewBuilder(world.DefaultRules())
		for i, name := range names {
			it := world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Pose: pose.Translation(float64(i), 0, 0), Cov: pose.ExactCov()}, Source: world.Operator}
			if name != "table" {
				it.Structure.Parent = "table"
			}
			if err := b.Put(world.Statement{Name: name, Said: world.Said{Provider: "plan", Time: engram.Time(10e9), Confidence: 1}, Item: &it}); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	b := build("table", "cup", "plate")
	before := b.Forest()
	away := world.Item{Structure: &world.Structure{Parent: "shelf"}, Source: world.Operator}
	if err := b.Put(world.Statement{Name: "cup", Said: world.Said{Provider: "anna", Time: engram.Time(20e9), Confidence: 1}, Item: &away}); err != nil {
		t.Fatal(err)
	}
	now := engram.Time(15e9)
	told := func(f *world.Forest, m *world.Merged) string {
		a := world.AccountOf(f, m, now, nil)
		s, by := world.FutureOf(f, m, now)
		below := ""
		for c := range world.Below(f, m) {
			below += " " + c.Name
		}
		who := "nobody"
		if s != nil {
			who = s.Who()
		}
		return fmt.Sprint(m.Name, " ", a.String(), "; aligned ", world.Aligned(f, m), "; ", who, " ", by, "; below:", below)
	}
	for _, f := range []*world.Forest{before, b.Forest(), build("plate", "cup", "table").Forest(), build("cup", "table").Forest()} {
		for _, name := range []string{"table", "cup"} {
			own, err := f.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			want := told(f, own)
			if a, err := f.Account(name, now, nil); err != nil || a != world.AccountOf(f, own, now, nil) {
				t.Errorf("%s: by its name %v (%v), as it was found %s", name, a, err, want)
			}
			for _, from := range []*world.Forest{before, b.Forest()} {
				m, err := from.Get(name)
				if err != nil {
					t.Fatal(err)
				}
				if got := told(f, m); got != want {
					t.Errorf("found elsewhere: %s, want %s", got, want)
				}
			}
		}
	}
}
