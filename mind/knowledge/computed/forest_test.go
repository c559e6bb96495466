package computed_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// kitchen is a world that one provider writes.
type kitchen struct {
	testing.TB
	*world.Local
}

func newKitchen(t testing.TB) kitchen {
	return kitchen{t, world.NewLocal("anna", world.DefaultRules(), world.FromSource(world.Perception))}
}

func (k kitchen) forest() *world.Forest {
	k.Helper()
	f, err := k.View(context.Background())
	if err != nil {
		k.Fatal(err)
	}
	return f
}

// put states an item at a pose in its parent, with a box that stands on its origin.
func (k kitchen) put(name, parent string, at pose.Pose, cov pose.Cov, size pose.Vec3, kinds ...string) {
	k.Helper()
	item := world.Item{
		Placement:   &world.Placement{Pose: at, Cov: cov},
		Description: &world.Description{Kinds: append(kinds, world.KindObject)},
	}
	if parent != "" {
		item.Structure = &world.Structure{Parent: parent}
	} else {
		item.Placement = nil
	}
	if size != (pose.Vec3{}) {
		item.Description.Box = &world.Box{Pose: pose.Translation(0, 0, size.Z/2), Size: size}
	}
	refused, _, err := k.Update(context.Background(), world.NamedItem{Name: name, Item: item})
	if err != nil || len(refused) > 0 {
		k.Fatal(refused, err)
	}
}

func iri(item string) string { return "https://home.example/" + item }

func (k kitchen) scene() *computed.Scene {
	return computed.FromForest(k.forest(), computed.DefaultRules(), iri)
}

func TestKitchen(t *testing.T) {
	k := newKitchen(t)
	exact := pose.ExactCov()
	k.put("house", "", pose.Identity(), exact, pose.Vec3{}, world.KindMap)
	k.put("kitchen", "house", pose.Translation(10, 0, 0), pose.DiagonalCov(1, 0), pose.Vec3{X: 5, Y: 4, Z: 2.5}, world.KindMap)
	k.put("hall", "house", pose.Translation(15, 0, 0), exact, pose.Vec3{X: 5, Y: 4, Z: 2.5}, world.KindMap)
	k.put("table", "kitchen", pose.Translation(0, 1, 0), exact, pose.Vec3{X: 1.6, Y: 0.8, Z: 0.75})
	k.put("plate", "table", pose.Translation(-0.3, 0, 0.75), exact, pose.Vec3{})
	k.put("cup", "table", pose.Translation(0.7, 0, 0.75), pose.DiagonalCov(0.1, 0), pose.Vec3{X: 0.08, Y: 0.08, Z: 0.1})
	k.put("fridge", "kitchen", pose.Translation(-2, 0, 0), exact, pose.Vec3{X: 0.6, Y: 0.6, Z: 1.8}, "container")
	k.put("milk", "fridge", pose.Translation(0, 0, 0.9), exact, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.2})
	k.put("shelf", "hall", pose.Translation(-2.6, 0, 0), exact, pose.Vec3{X: 0.2, Y: 1, Z: 2}) // half of it in the wall
	k.put("adrift", "", pose.Identity(), exact, pose.Vec3{X: 1, Y: 1, Z: 1})
	s := k.scene()

	for _, want := range []struct {
		r     *computed.Relation
		of    string
		first []string
	}{
		{computed.On, "table", []string{"cup", "plate"}},
		{computed.On, "kitchen", nil},
		{computed.In, "fridge", []string{"milk"}},
		{computed.In, "table", nil},
		{computed.InsidePlace, "kitchen", []string{"cup", "fridge", "milk", "plate", "table"}},
		{computed.InsidePlace, "house", []string{"cup", "fridge", "hall", "kitchen", "milk", "plate", "shelf", "table"}},
		{computed.InsidePlace, "hall", []string{"shelf"}},
		{computed.Near, "adrift", nil},
	} {
		var got []string
		for name := range s.Firsts(want.r, iri(want.of)) {
			got = append(got, name[len(iri("")):])
		}
		if !slices.Equal(got, want.first) {
			t.Errorf("%s of %s: %v, not %v", want.r.Property, want.of, got, want.first)
		}
	}
	// That the kitchen may be anywhere makes what is in it no less certain; the cup may lie
	// beyond the edge of the table, a standard deviation away, or too deep or too high.
	if p, _ := s.Holds(computed.On, iri("plate"), iri("table")); p != 1 {
		t.Errorf("the plate is on the table with %g", p)
	}
	if p, ok := s.Holds(computed.On, iri("cup"), iri("table")); !ok || math.Abs(p-0.841*0.383) > 0.03 {
		t.Errorf("the cup is on the table with %g", p)
	}
	if d, ok := s.Distance(iri("cup"), iri("fridge")); !ok || math.Abs(d-math.Hypot(2+0.7-0.3-0.04, 1-0.3-0.04)) > 1e-3 {
		t.Errorf("the cup is %g m from the fridge", d)
	}
	if _, ok := s.Distance(iri("cup"), iri("adrift")); ok {
		t.Error("there is a distance to what nobody knows where it is")
	}
	knowRob := map[string]*computed.Relation{}
	for _, r := range computed.KnowRobRelations {
		knowRob[r.Property[len(computed.KnowRob):]] = r
	}
	if _, ok := s.Holds(knowRob["in-ContGeneric"], iri("milk"), iri("fridge")); !ok {
		t.Error("KnowRob has the milk not in the fridge")
	}
	if _, ok := s.Holds(knowRob["in-ContGeneric"], iri("cup"), iri("table")); ok {
		t.Error("KnowRob has the table as a container")
	}
}

func TestOutlines(t *testing.T) {
	k := newKitchen(t)
	k.put("house", "", pose.Identity(), pose.ExactCov(), pose.Vec3{}, world.KindMap)
	corners := []pose.Vec3{{}, {X: 4}, {X: 4, Y: 2}, {X: 2, Y: 2}, {X: 2, Y: 4}, {Y: 4}} // an L
	refused, _, err := k.Update(t.Context(), world.NamedItem{Name: "room", Item: world.Item{
		Structure:   &world.Structure{Parent: "house"},
		Placement:   &world.Placement{Pose: pose.Translation(10, 0, 0), Cov: pose.ExactCov()},
		Description: &world.Description{Kinds: []string{world.KindMap}, Shape: &world.Shape{Kind: world.ShapePolygon, Outline: corners}},
	}})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	for name, at := range map[string]pose.Vec3{"in one arm": {X: 3, Y: 1}, "in the other": {X: 1, Y: 3.5, Z: 1.5}, "in the corner": {X: 3, Y: 3}, "on the roof": {X: 1, Y: 1, Z: 3}} {
		k.put(name, "house", pose.Translation(10+at.X, at.Y, at.Z), pose.ExactCov(), pose.Vec3{})
	}
	var got []string
	for name := range k.scene().Firsts(computed.InsidePlace, iri("room")) {
		got = append(got, name[len(iri("")):])
	}
	if want := []string{"in one arm", "in the other"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// A camera sees what its field of view has, in the optical frame that its component names.
func TestFieldOfView(t *testing.T) {
	k := newKitchen(t)
	exact := pose.ExactCov()
	k.put("room", "", pose.Identity(), exact, pose.Vec3{X: 9, Y: 9, Z: 3}, world.KindMap)
	k.put("camera", "room", pose.Translation(0, 0, 1), exact, pose.Vec3{})
	k.put("optical", "camera", pose.Pose{R: pose.RPY(-math.Pi/2, 0, -math.Pi/2)}, exact, pose.Vec3{}) // z along the camera's x
	for name, at := range map[string]pose.Vec3{"ahead": {X: 2, Z: 1}, "behind": {X: -2, Z: 1}, "high": {X: 2, Z: 2.5}, "left": {X: 2, Y: 1, Z: 1}, "far": {X: 4, Z: 1}, "close": {X: 0.1, Z: 1}} {
		k.put(name, "room", pose.Pose{T: at, R: pose.Quat{W: 1}}, exact, pose.Vec3{})
	}
	view := &world.View{Horizontal: 1.2, Vertical: 0.8, MinRange: 0.2, MaxRange: 3}
	if _, err := k.SetComponent(t.Context(), "camera", world.Component{Kind: "camera", Frame: "optical", View: view}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range k.scene().Firsts(computed.VisibleFrom, iri("camera")) {
		got = append(got, name[len(iri("")):])
	}
	if want := []string{"ahead", "left"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// A scene that follows a world is that of the world anew.
func TestFollow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	k := newKitchen(t)
	size := pose.Vec3{X: 0.5, Y: 0.5, Z: 0.5}
	some := func() pose.Pose {
		return pose.Pose{T: pose.Vec3{X: rng.Float64() * 2, Y: rng.Float64() * 2, Z: rng.Float64()}, R: pose.RPY(0, 0, rng.Float64()*6)}
	}
	k.put("room", "", pose.Identity(), pose.ExactCov(), pose.Vec3{X: 9, Y: 9, Z: 9}, world.KindMap)
	s := k.scene()
	for step := range 60 {
		n, cov := rng.IntN(12), pose.ExactCov()
		name, parent := fmt.Sprint("i", n), "room"
		if n > 0 && rng.IntN(2) == 0 {
			parent = fmt.Sprint("i", rng.IntN(n))
		}
		if rng.IntN(40) == 0 {
			cov = pose.DiagonalCov(rng.Float64()*0.1, 0.01)
		}
		if rng.IntN(5) == 0 {
			_, _ = k.Remove(t.Context(), name, "gone", world.OrphanChildren) // it may not be there
		} else {
			k.put(name, parent, some(), cov, size.Scale(rng.Float64()))
		}
		s = s.Follow(k.forest())
		anew := k.scene()
		if got, want := bodies(s), bodies(anew); !maps.EqualFunc(got, want, func(a, b computed.Body) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("after %d steps: %v, not %v", step, got, want)
		}
		for b := range s.Bodies() {
			for _, r := range computed.Relations {
				if got, want := maps.Collect(s.Firsts(r, b.Name)), maps.Collect(anew.Firsts(r, b.Name)); !maps.Equal(got, want) {
					t.Fatalf("after %d steps, %s of %s: %v, not %v", step, r.Property, b.Name, got, want)
				}
			}
		}
	}
}

func bodies(s *computed.Scene) map[string]computed.Body {
	all := map[string]computed.Body{}
	for b := range s.Bodies() {
		all[b.Name] = b
	}
	return all
}

// BenchmarkWorldMove is from an item that moves in a world of 10,000 to what is then on the table.
func BenchmarkWorldMove(b *testing.B) {
	k := newKitchen(b)
	var items []world.NamedItem
	for i := range 10_000 {
		item := world.Item{
			Structure:   &world.Structure{},
			Placement:   &world.Placement{Frame: "map", Pose: pose.Translation(float64(i/21%25)*3, float64(i/21/25)*3, 0), Cov: pose.DiagonalCov(0.01, 0.01)},
			Description: &world.Description{Box: &world.Box{Pose: pose.Translation(0, 0, 0.375), Size: pose.Vec3{X: 1.6, Y: 0.8, Z: 0.75}}},
		}
		if n := i % 21; n > 0 {
			item.Structure.Parent = fmt.Sprint("i", i-n)
			item.Placement.Frame = ""
			item.Placement.Pose = pose.Translation(float64(n%5)*0.3-0.6, float64(n/5)*0.18-0.36, 0.75)
			item.Description.Box = &world.Box{Pose: pose.Translation(0, 0, 0.05), Size: pose.Vec3{X: 0.08, Y: 0.08, Z: 0.1}}
		}
		items = append(items, world.NamedItem{Name: fmt.Sprint("i", i), Item: item})
	}
	if refused, _, err := k.Update(b.Context(), items...); err != nil || len(refused) > 0 {
		b.Fatal(refused, err)
	}
	s := k.scene()
	for i := 0; b.Loop(); i++ {
		if _, err := k.UpdatePose(b.Context(), "i1600", "", pose.Translation(0.1, 0.1, 0.75+float64(i%2)), pose.DiagonalCov(0.01, 0.01)); err != nil {
			b.Fatal(err)
		}
		s = s.Follow(k.forest())
		n := 0
		for range s.Firsts(computed.On, iri("i1596")) {
			n++
		}
		if n != 20-i%2 {
			b.Fatal(n)
		}
	}
}
