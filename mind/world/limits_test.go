package world

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// link i of a chain is in link i-1.
func link(i int) Statement {
	parent := ""
	if i > 0 {
		parent = fmt.Sprint("link", i-1)
	}
	return at(fmt.Sprint("link", i), "plan", 1, thing(parent, 1, 0, 0, KindObject))
}

// A chain of 100,000 items, whatever comes first, takes no stack and no square of its length.
func TestDeepChain(t *testing.T) {
	const depth = 100_000
	for name, order := range map[string]func(i int) int{
		"root first": func(i int) int { return i },
		"leaf first": func(i int) int { return depth - 1 - i },
		"any first":  func(i int) int { return i * 61_001 % depth }, // a prime to depth
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder(DefaultRules())
			for i := range depth {
				if err := b.Put(link(order(i))); err != nil {
					t.Fatal(err)
				}
				if i%25_000 == 0 {
					b.Forest()
				}
			}
			f := b.Forest()
			leaf := fmt.Sprint("link", depth-1)
			if path, err := f.PathToRoot(leaf); err != nil || len(path) != depth {
				t.Fatal(len(path), err)
			}
			count := 0
			for range f.All() {
				count++
			}
			if count != depth {
				t.Fatalf("%d of %d items", count, depth)
			}
			if p, err := f.Pose("link0", leaf); err != nil || math.Abs(p.Pose.T.X-(depth-1)) > 1e-6 {
				t.Fatal(p.Pose, err)
			}
			// Its root put into its leaf is the newest edge of that loop.
			if err := b.Put(at("link0", "eye", 2, thing(leaf, 1, 0, 0))); err != nil {
				t.Fatal(err)
			}
			f = b.Forest()
			if path, err := f.PathToRoot(leaf); err != nil || len(path) != depth {
				t.Fatal(len(path), err)
			}
			notes := notesOf(f)
			if len(notes) != 1 || !strings.Contains(notes[0], "newest edge of that loop") {
				t.Fatalf("%q", notes)
			}
		})
	}
}

func notesOf(f *Forest) (notes []string) {
	for n := range f.Notes() {
		notes = append(notes, n.Name+": "+n.Text)
	}
	return notes
}

// An item with very many children is as good as any: to add, to ask, to take one away.
func TestManyChildren(t *testing.T) {
	const children = 100_000
	b := build(t, at("shelf", "plan", 1, thing("", 0, 0, 0, KindObject)))
	r := rand.New(rand.NewPCG(1, 2))
	for _, i := range r.Perm(children) {
		if err := b.Put(at(fmt.Sprint("book", i), "plan", 1, thing("shelf", float64(i), 0, 0, KindObject))); err != nil {
			t.Fatal(err)
		}
	}
	before := b.Forest()
	count := func(f *Forest) (n int) {
		for range f.Children("shelf") {
			n++
		}
		return n
	}
	if n := count(before); n != children {
		t.Fatal(n)
	}
	for i := range 100 { // a forest each
		if err := b.Put(at(fmt.Sprint("book", i), "plan", 2, Item{Removed: &Removal{Reason: "lent"}})); err != nil {
			t.Fatal(err)
		}
		b.Forest()
	}
	if n, old := count(b.Forest()), count(before); n != children-100 || old != children {
		t.Fatal(n, old)
	}
}

// Two that give one name to different things are told so; several kinds at once are no fault.
func TestNameTaken(t *testing.T) {
	f := forest(t,
		at("bolt", "plan", 1, thing("", 0, 0, 0, KindRobot)), at("bolt", "eye", 2, thing("", 0, 0, 0, KindObject, "screw")),
		at("fridge", "plan", 1, thing("", 0, 0, 0, KindMap, KindObject)), at("fridge", "eye", 2, thing("", 0, 0, 0, KindObject)),
		at("lamp", "plan", 1, thing("", 0, 0, 0, KindRobot)), at("lamp", "eye", 2, Item{Removed: &Removal{}}), at("lamp", "eye2", 3, thing("", 0, 0, 0, KindObject)),
	)
	equal(t, "notes", notesOf(f), `bolt: the name is taken twice: eye says that it is of the kinds object, screw, plan that it is of the kind robot; `+
		"if these are two things, give one another name, else state all kinds")
	if kinds, err := f.Kinds("bolt"); err != nil || len(f.Statements("bolt")) != 2 {
		t.Error(kinds, err)
	}
}

// Five items that two robots put in a loop: all is kept, and the newest edge does not count.
func TestLoopOfTwoRobots(t *testing.T) {
	var all []Statement
	for i := range 5 {
		all = append(all, at(fmt.Sprint("box", i), "rover", float64(i+1), thing(fmt.Sprint("box", (i+1)%5), 1, 0, 0)))
	}
	all[2].Provider, all[2].Robot, all[2].Time = "arm", "arm", 9*second
	f := forest(t, all...)
	notes := notesOf(f)
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "box2: its parent box3 lies below it, which is the newest edge") {
		t.Errorf("%q", notes)
	}
	for _, s := range all {
		if said := f.Statements(s.Name); len(said) != 1 || said[0].Item.Structure.Parent != s.Item.Structure.Parent {
			t.Errorf("of %s is said %+v", s.Name, said)
		}
	}
	if path, err := f.PathToRoot("box3"); err != nil || len(path) != 5 {
		t.Error(len(path), err)
	}
}

// What is committed without a Model may be anything. None of it stops a world; each has a note.
func TestBadStatements(t *testing.T) {
	nan := thing("map", math.NaN(), 0, 0)
	flat := thing("map", 1, 0, 0)
	flat.Placement.Pose.R = pose.Quat{}
	mesh := thing("map", 1, 0, 0)
	mesh.Description.Shape = &Shape{Kind: ShapeMesh, Mesh: "http://[::1"}
	nowhere := thing("map", 1, 0, 0)
	nowhere.Description.Shape = &Shape{Kind: ShapeMesh}
	size := thing("map", 1, 0, 0)
	size.Description.Box = &Box{pose.Pose{}, pose.Vec3{X: math.Inf(1)}}
	all := []Statement{
		at("map", "plan", 1, thing("", 0, 0, 0, KindMap)), at("self", "plan", 1, thing("self", 0, 0, 0)),
		at("nan", "plan", 1, nan), at("flat", "plan", 1, flat), at("mesh", "plan", 1, mesh), at("nowhere", "plan", 1, nowhere), at("size", "plan", 1, size),
	}
	f := forest(t, all...)
	noted := map[string]bool{}
	for n := range f.Notes() {
		noted[n.Name] = true
	}
	for _, s := range all[1:] {
		if !noted[s.Name] {
			t.Errorf("%s has no note", s.Name)
		}
		if _, err := f.Get(s.Name); err != nil {
			t.Error(err)
		}
		_, _ = f.Pose("map", s.Name)
		_, _ = f.Belief(s.Name, 2*second, []Look{{Frame: "map", Said: Said{Time: 2}, View: View{1, 1, 0, 9}}})
	}
	if _, err := f.Within(Region{"map", Box{pose.Identity(), pose.Vec3{X: 9, Y: 9, Z: 9}}}); err != nil {
		t.Error(err)
	}
}

// What cannot be read counts as a statement that says nothing, and is told of until its provider says
// something else.
func TestUnreadable(t *testing.T) {
	m := &Memory{codec: testCodec(t)}
	b := NewBuilder(DefaultRules())
	put := func(id string, sec float64, p engram.Payload) {
		t.Helper()
		if _, err := m.put(b, engram.Item{ID: engram.MustID(id), Snapshot: &engram.Snapshot{Time: engram.Time(sec * 1e9), Instances: []engram.Instance{{Payload: p}}}}); err != nil {
			t.Fatal(err)
		}
	}
	cup := thing("", 0, 0, 0, KindObject)
	good, err := m.codec.EncodeItem(&cup)
	if err != nil {
		t.Fatal(err)
	}
	state, err := m.codec.EncodeState(&State{Item: "cup", Name: "full", Value: true})
	if err != nil {
		t.Fatal(err)
	}
	bad := engram.Payload{Bytes: []byte{0xff}}
	put("World/Item/eye/cup", 1, good)
	put("World/Item/plan/cup", 1, good)
	put("World/Item/eye/cup", 2, bad)
	put("World/State/eye/cup\\/full", 2, bad)
	put("World/Map/eye/plan", 2, bad)
	notes := notesOf(b.Forest())
	if len(notes) != 3 || !strings.HasPrefix(notes[0], "cup: what eye says cannot be read") {
		t.Errorf("%q", notes)
	}
	if m, err := b.Forest().Get("cup"); err != nil || m.Described.Provider != "plan" {
		t.Error(m, err)
	}
	put("World/Item/eye/cup", 3, good)
	put("World/State/eye/cup\\/full", 3, state)
	if notes := notesOf(b.Forest()); len(notes) != 1 {
		t.Errorf("%q", notes)
	}
}
