package base_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// object is an object that stands somewhere.
func object() *world.Item {
	return &world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Frame: "map", Pose: pose.Identity()}, Description: &world.Description{Kinds: []string{world.KindObject}}, Source: world.PriorKnowledge}
}

// A semantic map of which the world would refuse anything states nothing, and a dry run says so, too.
func TestWorldOfAMapIsWhole(t *testing.T) {
	for name, maintainer := range map[string]string{"small": "anna", "large": strings.Repeat("x", 3<<20)} {
		b := world.NewBuilder(world.DefaultRules())
		for _, item := range []string{"bowl", "cup", "fork"} {
			it := object()
			if item == "cup" {
				it.Description.Maintainer = maintainer
			}
			if err := b.Put(world.Statement{Name: item, Said: world.Said{Provider: "plan", Time: 5, Confidence: 1}, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
		g := graphOf(t, b, same)
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
			it := object()
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
		return graphOf(t, b, same)
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
		f := forestOf(t, svc)
		if got := [3]int{f.Len(), len(slices.Collect(f.Joints().All())), len(slices.Collect(f.Maps().All()))}; got != c.left {
			t.Errorf("after import %d there are %d items, joints and maps, not %d", i, got, c.left)
		}
	}
}

// same changes nothing.
func same(all []rdf.Triple) []rdf.Triple { return all }

// graphOf is the graph that a world is written as, with its triples changed.
func graphOf(t *testing.T, b *world.Builder, change func([]rdf.Triple) []rdf.Triple) *knowledge.Graph {
	t.Helper()
	f := b.Forest()
	o := semmap.WriteOptions{Names: semmap.NewNames("")}
	o.Names.Learn(f)
	triples, err := semmap.Write(f, o)
	if err != nil {
		t.Fatal(err)
	}
	g := knowledge.NewGraph()
	g.AddAll(change(triples))
	return g
}

// forestOf is the world of a server at present.
func forestOf(t *testing.T, svc engram.Service) *world.Forest {
	t.Helper()
	w, err := world.Over(t.Context(), svc, "reader", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	f, err := w.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// cupOf is a world with a cup that is full.
func cupOf(t *testing.T) *world.Builder {
	b, said := world.NewBuilder(world.DefaultRules()), world.Said{Provider: "plan", Time: 5e9, Confidence: 1}
	it := object()
	if err := b.Put(world.Statement{Name: "cup", Said: said, Item: it}); err != nil {
		t.Fatal(err)
	}
	if err := b.PutState(world.StateStatement{Name: "cup/full", Said: said, State: &world.State{Item: "cup", Name: "full", Value: true}}); err != nil {
		t.Fatal(err)
	}
	return b
}

// What others say of the same joint, map and component, and counts before it, does not keep what a map had.
func TestWorldOfAMapTakesBackWhatIsOutranked(t *testing.T) {
	svc := serving.New(t, memories.World())
	b, said := cupOf(t), world.Said{Provider: "plan", Time: 5e9, Confidence: 1}
	table := &world.Item{Structure: &world.Structure{}, Description: &world.Description{Kinds: []string{world.KindObject}}, Source: world.PriorKnowledge}
	if err := b.Put(world.Statement{Name: "table", Said: said, Item: table}); err != nil {
		t.Fatal(err)
	}
	less := graphOf(t, b, same)
	joint := world.Articulation{Base: "table", Moved: "cup", Kind: world.Revolute, Pose: pose.Identity(), Source: world.PriorKnowledge}
	aMap, part := world.Map{Describes: []string{"cup"}, Format: "yaml"}, world.Component{Kind: "camera"}
	if err := b.PutJoint(world.JointStatement{Name: "hinge", Said: said, Joint: &joint}); err != nil {
		t.Fatal(err)
	}
	b.PutMap(world.MapStatement{Name: "floor", Said: said, Map: &aMap})
	b.PutComponent(world.ComponentStatement{Name: "eye", Said: said, Component: &part})
	if sum, err := base.ImportWorld(t.Context(), svc, graphOf(t, b, same), base.WorldOptions{Provider: "kb", At: engram.Now()}); err != nil || sum.Joints+sum.Maps+sum.Components != 3 {
		t.Fatal(sum, err)
	}
	w, err := world.Over(t.Context(), svc, "anna", world.DefaultRules(), world.FromSource(world.Operator))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	joint.Source = world.Operator
	if failed, _, err := w.StateAll(t.Context(), false, world.Stated{Name: "hinge", What: joint}, world.Stated{Name: "floor", What: aMap}, world.Stated{Name: "eye", What: part}); err != nil || failed != nil {
		t.Fatal(failed, err)
	}
	for i, withdrawn := range []int{3, 0} {
		if sum, err := base.ImportWorld(t.Context(), svc, less, base.WorldOptions{Provider: "kb", At: engram.Now()}); err != nil || sum.Withdrawn != withdrawn {
			t.Errorf("import %d: %+v, %v", i, sum, err)
		}
	}
	for _, name := range []string{"hinge", "floor", "eye"} {
		if _, err := w.Withdraw(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	f := forestOf(t, svc)
	if left := [3]int{len(slices.Collect(f.Joints().All())), len(slices.Collect(f.Maps().All())), len(slices.Collect(f.Components().All()))}; left != [3]int{} {
		t.Errorf("left are %d", left)
	}
}

// again has triples once more, of subjects of other names, with another value of a property.
func again(all []rdf.Triple, subject, property, value string) []rdf.Triple {
	for _, x := range slices.Clone(all) {
		if !strings.HasSuffix(x.S.Value, subject) {
			continue
		}
		if x.S.Value += "2"; strings.HasSuffix(x.P.Value, property) {
			x.O.Value = value
		}
		all = append(all, x)
	}
	return all
}

// Of two states of one item and name the last counts.
func TestStateThatIsThereTwice(t *testing.T) {
	svc := serving.New(t, memories.World())
	g := graphOf(t, cupOf(t), func(all []rdf.Triple) []rdf.Triple { return again(all, "state@cup@full", "ontology#value", "false") })
	sum, err := base.ImportWorld(t.Context(), svc, g, base.WorldOptions{Provider: "kb", At: engram.Now()})
	if err != nil || sum.States != 2 {
		t.Fatal(sum, err)
	}
	if states, err := forestOf(t, svc).States("cup"); err != nil || len(states) != 1 || states[0].State.Value != false {
		t.Errorf("%+v, %v", states, err)
	}
}

// An earlier pose that cannot be is found out before anything is stated.
func TestPoseThatCannotBe(t *testing.T) {
	svc := serving.New(t, memories.World())
	g := graphOf(t, cupOf(t), func(all []rdf.Triple) []rdf.Triple {
		for i := range all { // the last one can be
			if strings.HasSuffix(all[i].S.Value, "perception@cup") && strings.HasSuffix(all[i].P.Value, "startTime") {
				all[i].O.Value = strings.Replace(all[i].O.Value, "timepoint_5", "timepoint_9", 1)
			}
		}
		all = again(all, "perception@cup", "ontology#pose", "1e15 0 0 1 0 0 0")
		for i := range all {
			if strings.HasSuffix(all[i].S.Value, "perception@cup2") && strings.HasSuffix(all[i].P.Value, "startTime") {
				all[i].O.Value = strings.Replace(all[i].O.Value, "timepoint_9", "timepoint_5", 1)
			}
		}
		return all
	})
	for _, dry := range []bool{true, false} {
		sum, err := base.ImportWorld(t.Context(), svc, g, base.WorldOptions{Provider: "kb", At: engram.Now(), DryRun: dry})
		if sum.Poses != 2 || !errors.Is(err, engram.OutOfRange) {
			t.Errorf("dry run %v: %+v, %v", dry, sum, err)
		}
	}
	if r, err := svc.Query(t.Context(), engram.MustPattern("World").Select(engram.All())); err != nil || len(r.Items()) > 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// noStates is a server that has no room for states.
type noStates struct{ engram.Service }

func (s noStates) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if c.Updates[0].Entity.CoreSegment() == "State" {
		return []engram.UpdateResult{{ID: c.Updates[0].Entity, Err: engram.Errorf(engram.Exhausted, "", "no room")}}, nil
	}
	return s.Service.Commit(ctx, c)
}

// What was stated before a server refused something that nobody could foresee is told.
func TestWorldOfAMapInPart(t *testing.T) {
	g := graphOf(t, cupOf(t), same)
	_, err := base.ImportWorld(t.Context(), noStates{serving.New(t, memories.World())}, g, base.WorldOptions{Provider: "kb", At: engram.Now()})
	if !errors.Is(err, engram.Exhausted) || !strings.Contains(err.Error(), "2 statements of the map were made all the same") { // the cup, and where it was
		t.Error(err)
	}
}
