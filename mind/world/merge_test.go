package world

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// dump writes all that a forest says.
func dump(f *Forest) string {
	var b strings.Builder
	for m := range f.All() {
		path, _ := f.PathToRoot(m.Name)
		fmt.Fprintf(&b, "%s below %d: %+v %q %+v", m.Name, len(path)-1, f.item(m.Name).rootFromItem, m.kinds(), m.LabelEvidence)
		for _, s := range []*Statement{m.Structured, m.Placed, m.Described} {
			if s != nil {
				fmt.Fprintf(&b, " %s@%d", s.Provider, s.Time)
			}
		}
		if d := m.Description; d != nil {
			fmt.Fprintf(&b, " %q (%q) by %q at %v with %v and %v", m.Label(), d.Label, d.Maintainer, d.Place, d.Detection, d.Properties)
		}
		root := f.node(f.item(m.Name).root)
		near, _ := f.Near(m.Name, pose.Vec3{}, 3)
		for _, n := range near {
			fmt.Fprintf(&b, " near %s", n.Name)
		}
		fmt.Fprintf(&b, " in %s\n", root.name)
	}
	for m := range f.Roots() {
		fmt.Fprintf(&b, "root %s\n", m.Name)
	}
	for w := range f.Waiting() {
		fmt.Fprintf(&b, "%s waits for %s\n", w.Item.Name, w.Parent)
	}
	for n := range f.Notes() {
		fmt.Fprintf(&b, "%s: %s\n", n.Name, n.Text)
	}
	for _, kind := range []string{KindMap, KindObject, KindRobot} {
		fmt.Fprintf(&b, "%s: %q\n", kind, names(f.ByKind(kind)))
	}
	return b.String()
}

// statements are a few items of which several providers say anything.
func statements(t *rapid.T) []Statement {
	item := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "r/a", "r/b"}) // frames of the robot, too
	named := rapid.OneOf(rapid.Just(""), item)
	kinds := rapid.SampledFrom([][]string{nil, {KindMap}, {KindObject}, {KindRobot, KindObject}})
	members := rapid.SampledFrom([]string{"", "x", "y"})
	draw := func(i int) Statement {
		it := Item{Source: Source(rapid.IntRange(1, 3).Draw(t, "source"))}
		group := func() engram.Time { return engram.Time(rapid.IntRange(0, 9).Draw(t, "stated")) }
		if rapid.IntRange(0, 5).Draw(t, "removed") == 0 {
			it.Removed = &Removal{Time: group()}
		}
		if rapid.Bool().Draw(t, "structure") {
			it.Structure = &Structure{named.Draw(t, "parent"), group()}
		}
		if rapid.Bool().Draw(t, "placement") {
			at := pose.Translation(rapid.Float64Range(-5, 5).Draw(t, "x"), 0, 0)
			it.Placement = &Placement{Frame: named.Draw(t, "frame"), Pose: at, Time: group()}
		}
		if rapid.Bool().Draw(t, "description") {
			it.Description = &Description{Kinds: kinds.Draw(t, "kinds"), Label: members.Draw(t, "label"), Maintainer: members.Draw(t, "maintainer"), Time: group()}
			if tag := members.Draw(t, "tag"); tag != "" {
				it.Description.Place, it.Description.Detection = &Place{Number: tag}, &Detection{Tags: []string{tag}}
				it.Description.Properties = map[string]any{tag: it.Description.Label, "of": it.Description.Maintainer}
			}
			it.LabelEvidence = Evidence{"cup": rapid.Float64Range(0, 1).Draw(t, "cup")}
		}
		said := Said{
			Provider: rapid.SampledFrom([]string{"a", "p", "q"}).Draw(t, "provider"),
			Robot:    rapid.SampledFrom([]string{"", "r"}).Draw(t, "robot"),
			Time:     engram.Time(rapid.IntRange(1, 9).Draw(t, "time")), Arrived: engram.Time(i), Confidence: 1,
		}
		return Statement{item.Draw(t, "name"), said, &it}
	}
	all := make([]Statement, rapid.IntRange(0, 30).Draw(t, "statements"))
	for i := range all {
		all[i] = draw(i)
	}
	return all
}

func rulesOfTest() Rules {
	r := DefaultRules()
	r.Offsets = map[string]time.Duration{"r": 2}
	r.Prefer = map[string][]string{KindObject: {"q"}}
	return r
}

// Whatever the order in which statements arrive, and however often somebody looks meanwhile,
// forests with the same statements are equal, and are what a merge of all at once gives.
func TestOrderDoesNotMatter(t *testing.T) { rapid.Check(t, orderDoesNotMatter) }

// FuzzBuilder is the same of arbitrary operations.
func FuzzBuilder(f *testing.F) { f.Fuzz(rapid.MakeFuzz(orderDoesNotMatter)) }

func orderDoesNotMatter(t *rapid.T) {
	all := statements(t)
	x, y := NewBuilder(rulesOfTest()), NewBuilder(rulesOfTest())
	for _, s := range all {
		if err := x.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range rapid.Permutation(all).Draw(t, "order") {
		if err := y.Put(s); err != nil {
			t.Fatal(err)
		}
		y.Forest()
	}
	f := x.Forest()
	a, b := dump(f), dump(y.Forest())
	if a != b {
		t.Fatalf("%s\nis not\n%s", a, b)
	}
	againstNaive(t, f)
}

// againstNaive finds the parents, frames and neighbours of a forest by looking at all items.
func againstNaive(t *rapid.T, f *Forest) {
	up := naiveEdges(f, func(m *Merged) (string, engram.Time) {
		if m.Structured == nil {
			return "", 0
		}
		return m.Structure.Parent, m.Structured.at(m.Structure.Time).Add(f.rules.Offsets[m.Structured.Robot])
	}, f.Has, true)
	joins := func(name string) bool { // an item, or a frame that nobody removed
		removed := func(s *Statement) bool { return s.Item.Removed != nil }
		return f.Has(name) || name != "" && !slices.ContainsFunc(f.Statements(name), removed)
	}
	frame := naiveEdges(f, func(m *Merged) (string, engram.Time) {
		if m.Placement == nil {
			return "", 0
		}
		to := m.Placement.Frame
		if to == "" && (up[m.Name] != "" || !f.Has(m.parent())) {
			to = m.parent()
		} else {
			to = ownFrame(m.Placed.Robot, to)
		}
		if shared := sharedFrame(to); shared != "" && !f.Has(to) && joins(to) && (f.Has(shared) || !joins(shared)) {
			to = shared
		}
		return to, m.Placed.at(m.Placement.Time).Add(f.rules.Offsets[m.Placed.Robot])
	}, joins, false)
	var root func(name string) (string, float64)
	root = func(name string) (string, float64) {
		if frame[name] == "" {
			return name, 0
		}
		in, x := root(frame[name])
		m, _ := f.Get(name)
		return in, x + m.Placement.Pose.T.X
	}
	for m := range f.All() {
		n := f.item(m.Name)
		if got := f.parent(n); (got == nil) != (up[m.Name] == "") || got != nil && got.name != up[m.Name] {
			t.Fatalf("the parent of %s is %v, not %q", m.Name, got, up[m.Name])
		}
		in, x := root(m.Name)
		if got := f.node(n.root).name; got != in || math.Abs(n.rootFromItem.T.X-x) > 1e-9 {
			t.Fatalf("%s is at %v in %s, not at %g in %s", m.Name, n.rootFromItem.T, got, x, in)
		}
		near := map[string]bool{}
		for o := range f.All() {
			if r, ox := root(o.Name); r == in && math.Abs(ox-x) <= 3-1e-9 {
				near[o.Name] = true
			}
		}
		found, _ := f.Near(m.Name, pose.Vec3{}, 3)
		for _, o := range found {
			delete(near, o.Name)
		}
		if len(near) > 0 {
			t.Fatalf("near %s are also %v", m.Name, near)
		}
	}
}

// naiveEdges returns where the edges of all items lead that exist and are the newest of no
// loop. A self-loop is none if selfless.
func naiveEdges(f *Forest, edge func(*Merged) (string, engram.Time), leads func(string) bool, selfless bool) map[string]string {
	to, stated := map[string]string{}, map[string]engram.Time{}
	for m := range f.All() {
		if name, t := edge(m); leads(name) && !(selfless && name == m.Name) {
			to[m.Name], stated[m.Name] = name, t
		}
	}
	cut := map[string]bool{}
	for name := range to {
		members := []string{name}
		for at := to[name]; at != "" && len(members) <= len(to); at = to[at] {
			if at == name {
				cut[slices.MaxFunc(members, func(a, b string) int {
					if stated[a] != stated[b] {
						return int(stated[a] - stated[b])
					}
					return strings.Compare(a, b)
				})] = true
				break
			}
			members = append(members, at)
		}
	}
	maps.DeleteFunc(to, func(name, _ string) bool { return cut[name] })
	return to
}

func TestNewestWinsPerGroup(t *testing.T) {
	cup := thing("table", 1, 0, 0, KindObject)
	cup.Description.Label = "cup"
	seen := Item{Placement: &Placement{Frame: "table", Pose: pose.Translation(2, 0, 0)}}
	f := forest(t, at("cup", "plan", 1, cup), at("cup", "eye", 2, seen))
	m, err := f.Get("cup")
	if err != nil || m.Placed.Provider != "eye" || m.Described.Provider != "plan" || m.Structured.Provider != "plan" || m.Label() != "cup" {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := f.Statements("cup"); len(got) != 2 || got[0].Provider != "eye" || got[1].Provider != "plan" {
		t.Errorf("of the cup speak %v", got)
	}
	// A group keeps its time when its provider says something else.
	seen.Placement.Time, seen.Description = 2*second, &Description{Label: "mug"}
	moved := Item{Placement: &Placement{Frame: "table", Pose: pose.Translation(3, 0, 0)}}
	f = forest(t, at("cup", "eye", 9, seen), at("cup", "nose", 5, moved))
	if m, _ := f.Get("cup"); m.Placed.Provider != "nose" || m.Described.Provider != "eye" {
		t.Errorf("%+v", m)
	}
	if when, ok := m.PlacedAt(); !ok || when != 2*second {
		t.Errorf("it was placed at %v", when)
	}
	// What is not in a provider's newest statement is withdrawn.
	f = forest(t, at("cup", "eye", 9, seen), at("cup", "eye", 10, Item{}))
	if f.Has("cup") {
		t.Error("a withdrawn item is there")
	}
}

func TestOperatorOutranksUntilWithdrawn(t *testing.T) {
	operator := thing("shelf", 1, 0, 0, KindObject)
	operator.Source = Operator
	b := build(t, at("cup", "anna", 1, operator), at("cup", "eye", 5, thing("table", 0, 0, 0)))
	if m, _ := b.Forest().Get("cup"); m.Structure.Parent != "shelf" {
		t.Errorf("the cup is on the %s", m.Structure.Parent)
	}
	if err := b.Put(at("cup", "eye", 6, Item{Removed: &Removal{}})); err != nil || !b.Forest().Has("cup") {
		t.Errorf("perception removed what an operator states: %v", err)
	}
	for _, s := range []Statement{at("cup", "eye", 7, thing("table", 0, 0, 0)), at("cup", "anna", 8, Item{})} {
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	if m, _ := b.Forest().Get("cup"); m.Structure.Parent != "table" {
		t.Errorf("the cup is on the %s", m.Structure.Parent)
	}
}

func TestRemovalWinsUntilSomethingNewer(t *testing.T) {
	gone := at("cup", "eye", 5, Item{Removed: &Removal{Reason: "broken"}})
	if forest(t, gone, at("cup", "nose", 5, thing("", 0, 0, 0))).Has("cup") {
		t.Error("what was said no later than the removal undoes it")
	}
	seen := thing("table", 0, 0, 0, KindObject)
	seen.Structure.Time, seen.Description.Time = second, second
	f := forest(t, gone, at("cup", "nose", 6, seen))
	if m, err := f.Get("cup"); err != nil || !m.Is(KindObject) {
		t.Errorf("a cup seen since is %v, %v", m, err)
	}
}

// Who removed an item and states it again has not taken back the removal: what others said
// before it does not count again.
func TestRemovalStays(t *testing.T) {
	again := thing("shelf", 0, 0, 0)
	again.Removed = &Removal{Reason: "broken", Time: 5 * second}
	b := build(t, at("cup", "nose", 4, thing("table", 0, 0, 0, KindObject)), at("cup", "eye", 7, again))
	m, err := b.Forest().Get("cup")
	if err != nil || m.Structure.Parent != "shelf" || m.Is(KindObject) {
		t.Fatalf("%+v, %v", m, err)
	}
	old := again
	old.Structure, old.Placement, old.Description = &Structure{Parent: "shelf", Time: 5 * second}, nil, nil
	if err := b.Put(at("cup", "eye", 8, old)); err != nil || b.Forest().Has("cup") {
		t.Errorf("what was said before the removal counts again: %v", err)
	}
	if err := b.Put(at("cup", "eye", 9, Item{})); err != nil || !b.Forest().Has("cup") {
		t.Errorf("a removal that was withdrawn holds: %v", err)
	}
}

// A frame that nobody states joins what is placed in it; one that was removed does not.
func TestBareFrames(t *testing.T) {
	in := func(frame string, x float64) Item {
		return Item{Placement: &Placement{Frame: frame, Pose: pose.Translation(x, 0, 0)}}
	}
	b := build(t, at("cup", "eye", 1, in("map", 3)), at("table", "plan", 1, in("map", 1)), at("spoon", "eye", 1, thing("tray", 1, 0, 0)),
		at("fork", "eye", 1, thing("tray", 2, 0, 0)))
	f := b.Forest()
	for _, want := range []struct {
		target, source string
		x              float64
	}{{"table", "cup", 2}, {"map", "cup", 3}, {"cup", "map", -3}, {"fork", "spoon", -1}} {
		if got, err := f.Pose(want.target, want.source); err != nil || got.Pose.T.X != want.x {
			t.Errorf("%s in %s: %v, %v", want.source, want.target, got, err)
		}
	}
	if near, err := f.Near("map", pose.Vec3{}, 2); err != nil || len(near) != 1 || near[0].Name != "table" {
		t.Errorf("%v, %v", near, err)
	}
	if _, err := f.Pose("spoon", "cup"); !errors.As(err, new(NotAligned)) {
		t.Error(err)
	}
	if _, err := f.Pose("moon", "cup"); engram.CodeOf(err) != engram.NotFound || f.Has("map") {
		t.Error(err)
	}
	for _, s := range []Statement{at("map", "plan", 2, Item{Removed: &Removal{}}), at("tray", "plan", 2, in("map", 5))} {
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	f = b.Forest()
	if _, err := f.Pose("table", "cup"); !errors.As(err, new(NotAligned)) {
		t.Errorf("a removed frame joins: %v", err)
	}
	if err := b.Put(at("map", "plan", 3, Item{})); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Forest().Pose("table", "spoon"); err != nil || got.Pose.T.X != 5 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRobotsSpeakForThemselves(t *testing.T) {
	f := forest(t,
		at("rover", "rover", 1, thing("hall", 1, 0, 0, KindRobot)),
		at("rover", "ghost", 9, thing("cellar", 2, 0, 0, KindRobot)))
	if m, _ := f.Get("rover"); m.Placed.Provider != "rover" || m.Structure.Parent != "hall" {
		t.Errorf("%+v", m)
	}
	if f = forest(t, at("rover", "ghost", 9, thing("cellar", 2, 0, 0, KindRobot))); f.item("rover").merged.Placement != nil {
		t.Error("a robot is where another one says")
	}
}

func TestPreferenceAndClocks(t *testing.T) {
	rules := DefaultRules()
	rules.Offsets = map[string]time.Duration{"late": -10 * time.Second}
	rules.Prefer = map[string][]string{"person": {"tracker"}}
	b := NewBuilder(rules)
	put := func(s Statement, robot string) {
		s.Robot = robot
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	put(at("cup", "eye", 12, thing("table", 0, 0, 0)), "late") // 2 s by our clock
	put(at("cup", "nose", 5, thing("shelf", 0, 0, 0)), "")
	put(at("anna", "tracker", 1, thing("hall", 0, 0, 0, "person")), "")
	put(at("anna", "eye", 5, thing("cellar", 0, 0, 0, "person")), "")
	f := b.Forest()
	if m, _ := f.Get("cup"); m.Structure.Parent != "shelf" {
		t.Errorf("the cup is on the %s", m.Structure.Parent)
	}
	if m, _ := f.Get("anna"); m.Structure.Parent != "hall" || m.Structured.Time != second {
		t.Errorf("Anna is in the %s", m.Structure.Parent)
	}
}

func TestLoopIsBrokenAtItsNewestEdge(t *testing.T) {
	loop := []Statement{
		at("a", "p", 1, thing("e", 1, 0, 0)), at("b", "q", 2, thing("a", 1, 0, 0)), at("c", "p", 5, thing("b", 1, 0, 0)),
		at("d", "q", 3, thing("c", 1, 0, 0)), at("e", "p", 4, thing("d", 1, 0, 0)), at("me", "p", 1, thing("me", 0, 0, 0)),
	}
	b := build(t, loop...)
	f := b.Forest()
	equal(t, "all", names(f.All()), "c", "d", "e", "a", "b", "me")
	var notes []string
	for n := range f.Notes() {
		notes = append(notes, n.Name)
		if len(n.Text) < 20 {
			t.Errorf("%+v", n)
		}
	}
	equal(t, "noted", notes, "c", "me", "me")
	if err := b.Put(at("e", "p", 6, thing("", 0, 0, 0))); err != nil {
		t.Fatal(err)
	}
	equal(t, "all", names(b.Forest().All()), "e", "a", "b", "c", "d", "me")
	// Poses have loops of their own.
	in := func(frame string) Item {
		return Item{Placement: &Placement{Frame: frame, Pose: pose.Translation(1, 0, 0)}}
	}
	f = forest(t, at("x", "p", 1, in("y")), at("y", "p", 2, in("x")))
	if got, err := f.Pose("y", "x"); err != nil || got.Pose.T.X != 1 {
		t.Errorf("x from y: %v, %v", got, err)
	}
}

func TestChildWaitsForItsParent(t *testing.T) {
	b := build(t, at("cup", "eye", 1, thing("table", 1, 0, 0)))
	f := b.Forest()
	var waiting []string
	for w := range f.Waiting() {
		waiting = append(waiting, w.Item.Name+" for "+w.Parent)
	}
	equal(t, "waiting", waiting, "cup for table")
	equal(t, "roots", names(f.Roots()))
	equal(t, "all", names(f.All()), "cup")
	if err := b.Put(at("table", "plan", 1, thing("", 0, 0, 0))); err != nil {
		t.Fatal(err)
	}
	f = b.Forest()
	equal(t, "children", names(f.Children("table")), "cup")
	if got, err := f.Pose("table", "cup"); err != nil || got.Pose.T.X != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// A pose without a frame is meant in the parent of its own statement.
func TestPoseBelongsToItsOwnParent(t *testing.T) {
	f := forest(t,
		at("room", "p", 1, thing("", 0, 0, 0)), at("table", "p", 1, thing("room", 5, 0, 0)),
		at("cup", "eye", 1, thing("room", 1, 0, 0)),
		at("cup", "hand", 2, Item{Structure: &Structure{Parent: "table"}}))
	if got, err := f.Pose("room", "cup"); err != nil || got.Pose.T.X != 1 {
		t.Errorf("%v, %v", got, err)
	}
	equal(t, "on the table", names(f.Children("table")), "cup")
}

func TestWhatIsNoPoseIsNoted(t *testing.T) {
	for _, bad := range []pose.Pose{{}, pose.Translation(math.NaN(), 0, 0), {R: pose.Quat{W: math.Inf(1)}}} {
		it := thing("room", 0, 0, 0)
		it.Placement.Pose = bad
		if err := it.Check("cup"); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
		f := forest(t, at("cup", "eye", 1, it))
		notes := 0
		for range f.Notes() {
			notes++
		}
		if m, err := f.Get("cup"); err != nil || m.Placement != nil || notes != 1 {
			t.Errorf("%v: %v, %v, %d notes", bad, m, err, notes)
		}
	}
	for name, bad := range map[string]Item{
		"":     thing("", 0, 0, 0),
		"cup":  thing("cup", 0, 0, 0),
		"in":   {Placement: &Placement{Frame: "in", Pose: pose.Identity()}},
		"box":  {Description: &Description{Box: &Box{pose.Identity(), pose.Vec3{X: -1}}}},
		"mad":  {Description: &Description{Box: &Box{}}},
		"ball": {Description: &Description{Shape: &Shape{Size: pose.Vec3{X: math.NaN()}}}},
	} {
		if err := bad.Check(name); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := Item{Description: &Description{Kinds: make([]string, MaxKinds+1)}}
	if err := many.Check("many"); engram.CodeOf(err) != engram.Exhausted {
		t.Error(err)
	}
}

// One view does not change what an item is taken for.
func TestLabelNeedsMoreThanOneView(t *testing.T) {
	e := Evidence{"cup": 0.6, "bowl": 0.9}
	if got := e.Label("cup"); got != "cup" {
		t.Errorf("after one view it is a %s", got)
	}
	e["bowl"] += 0.8
	if got := e.Label("cup"); got != "bowl" {
		t.Errorf("after two views it is a %s", got)
	}
	operator := Item{Description: &Description{Label: "mug"}, Source: Operator}
	eye := Item{Description: &Description{Label: "cup"}, LabelEvidence: Evidence{"bowl": 5}}
	f := forest(t, at("it", "anna", 1, operator), at("it", "eye", 2, eye), at("that", "eye", 2, eye))
	it, _ := f.Get("it")
	that, _ := f.Get("that")
	if it.Label() != "mug" || that.Label() != "bowl" {
		t.Errorf("it is a %s, that a %s", it.Label(), that.Label())
	}
}

// Where items were over time ends with where the forest has them, whatever the order.
func TestTrackEndsAtPresent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := statements(t)
		b := NewBuilder(rulesOfTest())
		of := map[string][]Statement{}
		for i := range all {
			all[i].Arrived = engram.Time(i)
			if err := b.Put(all[i]); err != nil {
				t.Fatal(err)
			}
			of[all[i].Name] = append(of[all[i].Name], all[i])
		}
		joints := map[string][]JointStatement{}
		for i := range rapid.IntRange(0, 4).Draw(t, "joints") {
			value := rapid.Float64Range(-1, 1).Draw(t, "value")
			moved := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "moved")
			s := JointStatement{"j" + moved, Said{Provider: "p", Time: engram.Time(i), Arrived: engram.Time(i)}, &Articulation{
				Base: rapid.SampledFrom([]string{"c", "d"}).Draw(t, "base"), Moved: moved, Kind: Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: &value,
			}}
			if rapid.Bool().Draw(t, "seen") {
				s.Home, s.Joint = InInstance, &Articulation{Value: &value}
				b.putValue(s)
			} else if err := b.PutJoint(s); err != nil {
				t.Fatal(err)
			}
			joints[moved] = append(joints[moved], s)
		}
		f := b.Forest()
		for name, said := range of {
			track := f.rules.Track(name, rapid.Permutation(said).Draw(t, "order"), joints[name])
			var last Edge
			for i, e := range track {
				if i > 0 && e.Time <= last.Time {
					t.Fatalf("%s: %v after %v", name, e.Time, last.Time)
				}
				last = e
			}
			now, _ := f.Edge(name)
			n := f.any(name)
			if now.Frame == "" && last.Frame != "" { // a loop is cut there, or the frame was removed
				if n.cut == [2]bool{} && f.joins(f.statedFrame(n)) {
					t.Fatalf("%s was last %+v, and is in nothing", name, last)
				}
				continue
			}
			last.Frame = f.itemOf(last.Frame)
			if !now.same(last) {
				t.Fatalf("%s is %+v, and was last %+v", name, now, last)
			}
		}
	})
}

// Frames that robots call alike are each robot's own, until somebody states the item that they are.
func TestFramesOfRobots(t *testing.T) {
	in := func(frame string, x float64) Item {
		return Item{Placement: &Placement{Frame: frame, Pose: pose.Translation(x, 0, 0)}}
	}
	said := func(robot, name, frame string, x float64) Statement {
		s := at(name, "eye", 1, in(frame, x))
		s.Robot = robot
		return s
	}
	b := build(t, said("r1", "cup", "map", 1), said("r1", "mug", "map", 3), said("r2", "bowl", "map", 7))
	f := b.Forest()
	if p, err := f.Pose("cup", "mug"); err != nil || p.Pose.T.X != 2 {
		t.Errorf("what one robot placed is at %v, %v", p, err)
	}
	var apart NotAligned
	if _, err := f.Pose("cup", "bowl"); !errors.As(err, &apart) || apart.TargetRoot != "r1/map" || apart.SourceRoot != "r2/map" {
		t.Errorf("what two robots placed: %v", err)
	}
	if _, err := f.Pose("map", "cup"); engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), "say r1/map or r2/map") {
		t.Errorf("in the map of any robot: %v", err)
	}
	if p, err := f.Pose("r2/map", "bowl"); err != nil || p.Pose.T.X != 7 {
		t.Errorf("in the map of one robot: %v, %v", p, err)
	}
	if err := b.Put(at("map", "plan", 2, thing("", 0, 0, 0, KindMap))); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Forest().Pose("cup", "bowl"); err != nil || p.Pose.T.X != 6 {
		t.Errorf("in one map: %v, %v", p, err)
	}
	// One robot's map is moved apart again, as an item of its own.
	if err := b.Put(at("r2/map", "plan", 3, thing("map", 10, 0, 0))); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Forest().Pose("map", "bowl"); err != nil || p.Pose.T.X != 17 {
		t.Errorf("in a map within the map: %v, %v", p, err)
	}
}

// Who says one thing of an item takes nothing from what others say: each member of the description is of the statement that
// counts most of those that say it.
func TestMembersOfADescription(t *testing.T) {
	class := engram.MustID("Object/Class/PriorKnowledge/cup")
	plan := Item{Source: PriorKnowledge, Structure: &Structure{}, Description: &Description{Kinds: []string{KindObject, "cup"}, Label: "cup", Class: &class,
		Place: &Place{Level: "room", Number: "1"}, Detection: &Detection{Methods: []string{"apriltag"}}, Properties: map[string]any{"colour": "red", "full": true}}}
	anna := Item{Source: Operator, Description: &Description{Label: "mine", Place: &Place{Number: "2"}, Detection: &Detection{Tags: []string{"7"}}, Properties: map[string]any{"colour": "blue"}}}
	eye := Item{Source: Perception, Description: &Description{Kinds: []string{KindObject}, Maintainer: "lab"}}
	b := build(t, at("cup", "anna", 3, anna), at("cup", "plan", 1, plan), at("cup", "eye", 2, eye))
	m, err := b.Forest().Get("cup")
	if err != nil {
		t.Fatal(err)
	}
	got := *m.Description
	got.Time = 0
	want := Description{Kinds: []string{KindObject}, Label: "mine", Class: &class, Maintainer: "lab", Place: &Place{"room", "2"},
		Detection: &Detection{Methods: []string{"apriltag"}, Tags: []string{"7"}}, Properties: map[string]any{"colour": "blue", "full": true}}
	if !reflect.DeepEqual(got, want) || m.Described.Provider != "anna" || m.Label() != "mine" {
		t.Errorf("%+v\nis not\n%+v", got, want)
	}
	if err := b.Put(at("cup", "anna", 4, Item{})); err != nil {
		t.Fatal(err)
	}
	if m, _ := b.Forest().Get("cup"); m.Label() != "cup" || m.Description.Properties["colour"] != "red" || len(plan.Description.Properties) != 2 {
		t.Errorf("%+v", m.Description)
	}
}

// What an operator calls an item counts before what is seen, whoever says something else of it, another operator, too.
func TestLabelOfAnOperator(t *testing.T) {
	label := func(source Source, label string) Item {
		return Item{Source: source, Description: &Description{Label: label}}
	}
	eye := Item{Source: Perception, Views: 9, LabelEvidence: Evidence{"bowl": 9}, Description: &Description{Kinds: []string{KindObject}}}
	bob := Item{Source: Operator, Description: &Description{Maintainer: "bob"}}
	for want, all := range map[string][]Statement{
		"mug":  {at("cup", "anna", 1, label(Operator, "mug")), at("cup", "bob", 2, bob), at("cup", "eye", 3, eye)},
		"bowl": {at("cup", "anna", 1, label(PriorKnowledge, "mug")), at("cup", "bob", 2, bob), at("cup", "eye", 3, eye)},
	} {
		if m, err := build(t, all...).Forest().Get("cup"); err != nil || m.Label() != want || m.Description.Label != "mug" {
			t.Errorf("it is called %q, want %q: %v", m.Label(), want, err)
		}
	}
}

// Of who says where a robot is there is a note as long as that would count otherwise: not of what was said before it was removed.
func TestNoteOnThePlaceOfARobot(t *testing.T) {
	rover := Item{Source: PriorKnowledge, Description: &Description{Kinds: []string{KindRobot}}}
	sneak := at("rover", "sneak", 2, thing("room", 1, 0, 0))
	removed := rover
	removed.Removed = &Removal{Time: 3e9}
	for want, all := range [][]Statement{{at("rover", "rover", 4, removed), sneak}, {at("rover", "rover", 4, rover), sneak}} {
		if notes := slices.Collect(build(t, all...).Forest().Notes()); len(notes) != want {
			t.Errorf("%v, want %d notes", notes, want)
		}
	}
}
