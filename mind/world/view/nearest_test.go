package view_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// Who misspells what an item is called is told the item's name: of what several are called that of the last one in the
// forest, unless it is the name of one.
func TestUnknownTellsWhatWasMeant(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		b := []byte("aaa")
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 300 {
		b := world.NewBuilder(world.DefaultRules())
		for range 6 {
			d := &world.Description{Kinds: []string{world.KindObject}, Label: word(), SpokenNames: []string{word()}}
			it := &world.Item{Structure: &world.Structure{}, Description: d, Source: world.Operator}
			if err := b.Put(world.Statement{Name: word(), Said: world.Said{Provider: "plan", Time: 1, Confidence: 1}, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
		f := b.Forest()
		called := map[string]string{}
		for m := range f.All() {
			called[m.Label()] = m.Name
			called[m.Description.SpokenNames[0]] = m.Name
		}
		for m := range f.All() {
			called[m.Name] = m.Name
		}
		typed := word() + "d"
		want := called[spelling.Nearest(typed, slices.Sorted(maps.Keys(called)))]
		if err := view.Unknown(f, typed); want != "" && !strings.HasSuffix(err.Error(), "did you mean "+want+"?") || want == "" && strings.Contains(err.Error(), "did you mean") {
			t.Fatalf("%s among %v: %v, want %q", typed, called, err, want)
		}
	}
}
