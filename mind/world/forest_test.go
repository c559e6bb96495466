package world

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

const second = engram.Time(time.Second)

// at makes a statement of provider p at a time in seconds.
func at(name, p string, sec float64, it Item) Statement {
	t := engram.Time(sec * 1e9)
	return Statement{Name: name, Said: Said{Provider: p, Time: t, Arrived: t, Confidence: 1}, Item: &it}
}

// thing is an item of kinds in a parent, at x, y, z in its frame.
func thing(parent string, x, y, z float64, kinds ...string) Item {
	it := Item{Structure: &Structure{Parent: parent}, Description: &Description{Kinds: kinds}, Source: PriorKnowledge}
	if parent != "" {
		it.Placement = &Placement{Pose: pose.Translation(x, y, z), Cov: pose.ExactCov()}
	}
	return it
}

// place is an item of kind map that people call so.
func place(parent, level, number string, called ...string) Item {
	it := thing(parent, 0, 0, 0, KindMap)
	it.Description.Place, it.Description.SpokenNames = &Place{level, number}, called
	return it
}

func build(t testing.TB, statements ...Statement) *Builder {
	t.Helper()
	b := NewBuilder(DefaultRules())
	for _, s := range statements {
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func forest(t testing.TB, statements ...Statement) *Forest {
	t.Helper()
	return build(t, statements...).Forest()
}

func kitchen() []Statement {
	cupboard := thing("kitchen", 2, 0, 0, KindObject, "furniture")
	cupboard.Description.Box = &Box{pose.Translation(0, 0, 1), pose.Vec3{X: 0.6, Y: 1, Z: 2}}
	cup := thing("table", 0.2, 0.1, 0.75, KindObject)
	class := engram.MustID("Object/Class/PriorKnowledge/cup")
	cup.Description.Class = &class
	return []Statement{
		at("flat", "plan", 1, place("", "building", "12", "home")),
		at("kitchen", "plan", 1, place("flat", "room", "3006", "kitchen", "cuisine")),
		at("cupboard", "plan", 1, cupboard),
		at("door", "plan", 1, thing("cupboard", 0.3, 0.5, 1, KindObject)),
		at("table", "plan", 1, thing("kitchen", 0, 2, 0, KindObject, "furniture")),
		at("cup", "eye", 2, cup),
		at("rover", "rover", 2, thing("kitchen", 1, 1, 0, KindRobot)),
		at("camera", "rover", 2, thing("rover", 0, 0, 1.2, KindComponent)),
	}
}

func names(items func(func(*Merged) bool)) (names []string) {
	for m := range items {
		names = append(names, m.Name)
	}
	return names
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestAsked(t *testing.T) {
	f := forest(t, kitchen()...)
	equal(t, "all", names(f.All()), "flat", "kitchen", "cupboard", "door", "rover", "camera", "table", "cup")
	equal(t, "roots", names(f.Roots()), "flat")
	equal(t, "children", names(f.Children("kitchen")), "cupboard", "rover", "table")
	equal(t, "subtree", names(f.Subtree("rover")), "rover", "camera")
	equal(t, "furniture", names(f.ByKind("furniture")), "cupboard", "table")
	equal(t, "cups", names(f.ByClass("cup")), "cup")
	equal(t, "3006 at home", names(f.ByPlace("3006", "home")), "kitchen")
	equal(t, "3006 of the cupboard", names(f.ByPlace("3006", "cupboard")))
	equal(t, "nothing", names(f.Children("nothing")))
	if m, err := f.NearestParent("camera", KindMap); err != nil || m.Name != "kitchen" {
		t.Errorf("the camera's place is %v, %v", m, err)
	}
	if _, err := f.NearestParent("camera", "ship"); !errors.Is(err, engram.NotFound) {
		t.Errorf("a ship above the camera: %v", err)
	}
	path, err := f.PathToRoot("door")
	if err != nil || len(path) != 4 || path[3].Name != "flat" {
		t.Errorf("the way of the door is %v, %v", path, err)
	}
	if kinds, err := f.Kinds("table"); err != nil || !slices.Equal(kinds, []string{KindObject, "furniture"}) {
		t.Errorf("the table is %q, %v", kinds, err)
	}
	if _, err := f.GetKind("table", KindRobot); !errors.Is(err, engram.TypeMismatch) {
		t.Errorf("the table as a robot: %v", err)
	}
	if m, err := f.GetKind("rover", KindRobot); err != nil || m.Name != "rover" {
		t.Errorf("the rover: %v, %v", m, err)
	}
	_, err = f.Get("spoon")
	if !errors.Is(err, engram.NotFound) || f.Has("spoon") || !f.Has("cup") || f.Len() != 8 {
		t.Errorf("spoon: %v; %d items", err, f.Len())
	}
}

func TestSpace(t *testing.T) {
	f := forest(t, kitchen()...)
	near, err := f.Near("table", pose.Vec3{}, 1)
	if err != nil || len(near) != 2 || near[0].Name != "table" || near[1].Name != "cup" || math.Abs(near[1].Distance-math.Sqrt(0.04+0.01+0.5625)) > 1e-12 {
		t.Errorf("near the table are %v, %v", near, err)
	}
	in, err := f.Within(Region{"kitchen", Box{pose.Translation(2, 0, 1), pose.Vec3{X: 1, Y: 2, Z: 2}}})
	if err != nil || len(in) != 2 || in[0].Name != "cupboard" || in[1].Name != "door" {
		t.Errorf("in the region are %v, %v", in, err)
	}
	if _, err := f.Near("moon", pose.Vec3{}, 1); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
}

// What is further away than the index of space has cells for is found all the same.
func TestFarAway(t *testing.T) {
	in := func(x, y float64) Item {
		return Item{Placement: &Placement{Frame: "map", Pose: pose.Translation(x, y, 0)}}
	}
	f := forest(t, at("a", "p", 1, in(1e300, 0)), at("b", "p", 1, in(1e300, 100)), at("c", "p", 1, in(-1e300, 100)))
	if near, err := f.Near("a", pose.Vec3{}, 1); err != nil || len(near) != 1 || near[0].Name != "a" {
		t.Errorf("near a: %v, %v", near, err)
	}
}

func TestPose(t *testing.T) {
	cup := thing("table", 0.2, 0.1, 0.75, KindObject)
	cup.Placement.Cov = pose.DiagonalCov(0.01, 0.02)
	f := forest(t, append(kitchen(), at("cup", "eye", 3, cup), at("island", "plan", 1, place("", "site", "")))...)
	got, err := f.Pose("camera", "cup")
	if err != nil || got.Pose.T.Sub(pose.Vec3{X: -0.8, Y: 1.1, Z: -0.45}).Norm() > 1e-12 || got.Cov != pose.DiagonalCov(0.01, 0.02) {
		t.Errorf("the cup from the camera: %v, %v", got, err)
	}
	_, err = f.Pose("island", "cup")
	apart, ok := errors.AsType[NotAligned](err)
	if !ok || !errors.Is(err, engram.NotFound) || apart != (NotAligned{"island", "cup", "island", "flat"}) {
		t.Errorf("from the island: %v", err)
	}
	if _, err := f.Pose("cup", "moon"); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
}

// A hinge moves the door about its z axis, and the door's handle with it.
func TestArticulation(t *testing.T) {
	b := build(t, append(kitchen(), at("handle", "plan", 1, thing("door", 0, -1, 0, KindObject)))...)
	if got, err := b.Forest().Pose("cupboard", "handle"); err != nil || got.Pose.T != (pose.Vec3{X: 0.3, Y: -0.5, Z: 1}) {
		t.Errorf("the handle without a hinge: %v, %v", got, err)
	}
	open := math.Pi / 2
	hinge := Articulation{Base: "cupboard", Moved: "door", Kind: Revolute, Pose: pose.Translation(0.3, 0.5, 1), Value: &open, Sigma: 0.1}
	put := func(name string, sec float64, a Articulation) {
		if err := b.PutJoint(JointStatement{Name: name, Said: Said{Provider: "touch", Time: engram.Time(sec * 1e9)}, Joint: &a}); err != nil {
			t.Fatal(err)
		}
	}
	put("hinge", 2, hinge)
	got, err := b.Forest().Pose("cupboard", "handle")
	if err != nil || got.Pose.T.Sub(pose.Vec3{X: 1.3, Y: 0.5, Z: 1}).Norm() > 1e-12 {
		t.Errorf("the handle of the open door: %v, %v", got, err)
	}
	if left := got.Cov.Left(pose.Pose{R: got.Pose.R}); math.Abs(math.Sqrt(left[1][1])-0.1) > 1e-12 || left[0][0] > 1e-12 {
		t.Errorf("a metre from the hinge it is sure to %v", left)
	}
	near, err := b.Forest().Near("cupboard", pose.Vec3{X: 1.3, Y: 0.5, Z: 1}, 0.01)
	if err != nil || len(near) != 1 || near[0].Name != "handle" {
		t.Errorf("there is %v, %v", near, err)
	}
	put("hinge", 1, Articulation{Base: "cupboard", Moved: "table"}) // older
	if a, err := b.Forest().Joint("door"); err != nil || a.Radius != hinge.Radius || a.Value != &open {
		t.Errorf("the door's joint: %v, %v", a, err)
	}
	put("hinge", 3, Articulation{Base: "cupboard", Moved: "table"})
	if _, err := b.Forest().Joint("door"); !errors.Is(err, engram.NotFound) {
		t.Errorf("a joint that moves another item: %v", err)
	}
	slide := 0.2
	drawer := Articulation{Base: "cupboard", Moved: "door", Kind: Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: &slide}
	put("slider", 4, drawer)
	if got, err := b.Forest().Pose("cupboard", "door"); err != nil || got.Pose.T.Sub(pose.Vec3{X: 0.5, Y: 0.5, Z: 1}).Norm() > 1e-12 {
		t.Errorf("the drawer: %v, %v", got, err)
	}
	for _, bad := range []Articulation{
		{Base: "a", Moved: "a"}, {Base: "a", Pose: pose.Identity()}, {Base: "a", Moved: "b"},
		{Base: "a", Moved: "b", Pose: pose.Identity(), Kind: Prismatic},
		{Base: "a", Moved: "b", Pose: pose.Identity(), Limits: &Limits{1, 0}},
	} {
		if err := bad.Check("joint"); !errors.Is(err, engram.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := drawer.Check("slider"); err != nil {
		t.Error(err)
	}
}

// A forest that was handed out does not change.
func TestForestsAreImmutable(t *testing.T) {
	b := build(t, kitchen()...)
	f := b.Forest()
	before := dump(f)
	for i := range 1000 {
		s := at(fmt.Sprint("thing", i), "eye", 3, thing("table", float64(i), 0, 0, KindObject, "furniture"))
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Put(at("kitchen", "plan", 4, Item{Removed: &Removal{Reason: "burnt"}})); err != nil {
		t.Fatal(err)
	}
	if after := dump(f); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	if now := b.Forest(); now.Len() != 1007 || now.Has("kitchen") {
		t.Errorf("%d items", now.Len())
	}
}

// Many children of one parent, and a chain of parents, cost no more than others.
func TestManyChildrenAndDeepTrees(t *testing.T) {
	const n = 50_000
	b := NewBuilder(DefaultRules())
	for i := range n {
		if b.Put(at(fmt.Sprint("child", i), "eye", 1, thing("shelf", 0, 0, 0))) != nil ||
			b.Put(at(fmt.Sprint("link", i), "eye", 1, thing(fmt.Sprint("link", i-1), 1, 0, 0))) != nil {
			t.Fatal("refused")
		}
		if i%1000 == 0 {
			b.Forest()
		}
	}
	f := b.Forest()
	if got := len(names(f.Subtree("link0"))); got != n {
		t.Errorf("%d items in the chain", got)
	}
	if err := b.Put(at("shelf", "eye", 1, thing("", 0, 0, 0))); err != nil {
		t.Fatal(err)
	}
	f = b.Forest()
	if got := len(names(f.Children("shelf"))); got != n {
		t.Errorf("%d children", got)
	}
	if got, err := f.Pose("link0", fmt.Sprint("link", n-1)); err != nil || got.Pose.T.X != n-1 {
		t.Errorf("the end of the chain is at %v, %v", got, err)
	}
}

func TestChanged(t *testing.T) {
	b := build(t, kitchen()...)
	before := b.Forest()
	changed := func(before, after *Forest) []string { return slices.Sorted(Changed(before, after)) }
	if got := changed(before, b.Forest()); len(got) > 0 {
		t.Errorf("nothing has changed: %v", got)
	}
	if err := b.Put(at("table", "anna", 99, thing("kitchen", 0, 3, 0, KindObject))); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(at("lamp", "anna", 99, thing("", 0, 0, 0, KindObject))); err != nil {
		t.Fatal(err)
	}
	after := b.Forest()
	var want []string
	for m := range after.Subtree("table") { // what is on it has moved, too
		want = append(want, m.Name)
	}
	want = append(want, "lamp")
	slices.Sort(want)
	for _, got := range [][]string{changed(before, after), changed(after, before)} {
		if !slices.Equal(got, want) {
			t.Errorf("changed: %v, not %v", got, want)
		}
	}
	if got := changed(before, forest(t, kitchen()...)); len(got) != before.Len() {
		t.Errorf("of another builder's all may have changed: %v", got)
	}
	root, rootFromCup, ok := Root(after, "cup")
	if located, err := after.Pose(root, "cup"); !ok || err != nil || located.Pose != rootFromCup {
		t.Errorf("%s: %v, %v, %v", root, rootFromCup, located, err)
	}
	if _, _, ok := Root(after, "nothing"); ok {
		t.Error("there is a root of nothing")
	}
}
