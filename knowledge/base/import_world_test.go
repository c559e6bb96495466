package base_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/base"
	"github.com/seed-301d4374/engram/knowledge/semmap"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// A semantic map of which the world would refuse anything states nothing, and a dry run says so, too.
func TestWorldOfAMapIsWhole(t *testing.T) {
	for name, maintainer := range map[string]string{"small": "anna", "large": strings.Repeat("x", 3<<20)} {
		b := world.NewBuilder(world.DefaultRules())
		for _, item := range []string{"bowl", "cup", "fork"} {
			it := &world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Frame: "map", Pose: pose.Identity()}, Description: &world.Description{Kinds: []string{world.KindObject}}, Source: world.PriorKnowledge}
			if item == "cup" {
				it.Description.Maintainer = maintainer
			}
			if err := b.Put(world.Statement{Name: item, Said: world.Said{Provider: "plan", Time: 5, Confidence: 1}, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
		f := b.Forest()
		o := semmap.WriteOptions{Names: semmap.NewNames("")}
		o.Names.Learn(f)
		triples, err := semmap.Write(f, o)
		if err != nil {
			t.Fatal(err)
		}
		g := knowledge.NewGraph()
		g.AddAll(triples)
		svc := serving.New(t, memories.World())
		for _, dry := range []bool{true, false} {
			sum, err := base.ImportWorld(t.Context(), svc, g, base.WorldOptions{Provider: "kb", At: engram.Now(), DryRun: dry})
			if name == "small" && err != nil || name == "large" && (!errors.Is(err, engram.Exhausted) || !strings.Contains(err.Error(), "cup: what is said of it takes ")) || sum.Items != 3 {
				t.Errorf("%s, dry run %v: %d items, %.200v", name, dry, sum.Items, err)
			}
			r, err := svc.Query(t.Context(), engram.MustPattern("World").Select(engram.All()))
			if err != nil {
				t.Fatal(err)
			}
			if stated := len(r.Items()) > 0; stated != (name == "small" && !dry) {
				t.Errorf("%s, dry run %v: something is stated: %v", name, dry, stated)
			}
		}
	}
}

// What the map of an earlier import had and a later one does not have is taken back: items, joints and maps.
func TestWorldOfAMapIsTakenBack(t *testing.T) {
	graph := func(all bool) *knowledge.Graph {
		b := world.NewBuilder(world.DefaultRules())
		said := world.Said{Provider: "plan", Time: 5, Confidence: 1}
		for _, item := range []string{"cupboard", "door", "key"} {
			if item == "key" && !all {
				continue
			}
			it := &world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Frame: "map", Pose: pose.Identity()}, Description: &world.Description{Kinds: []string{world.KindObject}}, Source: world.PriorKnowledge}
			if err := b.Put(world.Statement{Name: item, Said: said, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
		if all {
			joint := &world.Articulation{Base: "cupboard", Moved: "door", Kind: world.Revolute, Pose: pose.Identity(), Source: world.PriorKnowledge}
			if err := b.PutJoint(world.JointStatement{Name: "hinge", Said: said, Joint: joint}); err != nil {
				t.Fatal(err)
			}
			b.PutMap(world.MapStatement{Name: "floor", Said: said, Map: &world.Map{Describes: []string{"cupboard"}, Format: "yaml"}})
		}
		f := b.Forest()
		o := semmap.WriteOptions{Names: semmap.NewNames("")}
		o.Names.Learn(f)
		triples, err := semmap.Write(f, o)
		if err != nil {
			t.Fatal(err)
		}
		g := knowledge.NewGraph()
		g.AddAll(triples)
		return g
	}
	svc := serving.New(t, memories.World())
	for i, c := range []struct {
		all       bool
		withdrawn int
		left      [3]int // items, joints, maps
	}{{true, 0, [3]int{3, 1, 1}}, {true, 0, [3]int{3, 1, 1}}, {false, 3, [3]int{2, 0, 0}}, {false, 0, [3]int{2, 0, 0}}, {true, 0, [3]int{3, 1, 1}}} {
		sum, err := base.ImportWorld(t.Context(), svc, graph(c.all), base.WorldOptions{Provider: "kb", At: engram.Now()})
		if err != nil || sum.Withdrawn != c.withdrawn {
			t.Errorf("import %d: %+v, %v", i, sum, err)
		}
		w, err := world.Over(t.Context(), svc, "reader", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]int{f.Len(), len(slices.Collect(f.Joints().All())), len(slices.Collect(f.Maps().All()))}; got != c.left {
			t.Errorf("after import %d there are %d items, joints and maps, not %d", i, got, c.left)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
