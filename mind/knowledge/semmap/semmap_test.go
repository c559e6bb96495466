package semmap_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func genPose(t *rapid.T) pose.Pose {
	x := rapid.Float64Range(-5, 5)
	return pose.Pose{T: pose.Vec3{X: x.Draw(t, "x"), Y: x.Draw(t, "y"), Z: x.Draw(t, "z")}, R: pose.RPY(x.Draw(t, "roll")/2, x.Draw(t, "pitch")/4, x.Draw(t, "yaw")/2)}
}

// pick returns some of the words, the first in any place and the others sorted.
func pick(t *rapid.T, label string, words ...string) []string {
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 3, rapid.ID).Draw(t, label)
	if len(some) > 0 {
		slices.Sort(some[1:])
	}
	return some
}

func maybe[T any](t *rapid.T, label string, draw func() T) (v T) {
	if rapid.Bool().Draw(t, label) {
		return draw()
	}
	return v
}

func genDescription(t *rapid.T) *world.Description {
	size := rapid.Float64Range(0, 3)
	vec := func(label string) pose.Vec3 { return pose.Vec3{X: size.Draw(t, label), Y: 1, Z: 2} }
	d := &world.Description{
		Kinds:       pick(t, "kinds", "map", "object", "robot", "furniture", "joint", "wall"),
		Label:       rapid.SampledFrom([]string{"", "Tisch", "a \"table\"\n", "ß"}).Draw(t, "label"),
		SpokenNames: pick(t, "spoken", "Tisch", "the table", "table"),
		Maintainer:  rapid.SampledFrom([]string{"", "anna"}).Draw(t, "maintainer"),
	}
	d.Class = maybe(t, "classed", func() *engram.ID {
		id := engram.MustID(rapid.SampledFrom([]string{"Object/Class/knowrob/Cup", "Object/Class/roboearth/OctoMap", "Object/Class/eye/my cup", "Object/Class/my.eye/a.b"}).Draw(t, "class"))
		return &id
	})
	d.Box = maybe(t, "boxed", func() *world.Box {
		return &world.Box{Pose: maybe2(t, pose.Identity(), genPose), Size: vec("edge")}
	})
	d.Shape = maybe(t, "shaped", func() *world.Shape {
		switch kind := world.ShapeKind(rapid.IntRange(0, 4).Draw(t, "shape")); kind {
		case world.ShapeMesh:
			return &world.Shape{Kind: kind, Mesh: "package://kitchen/door.dae", Size: vec("scale")}
		case world.ShapePolygon:
			return &world.Shape{Kind: kind, Outline: []pose.Vec3{{}, {X: 1}, vec("corner")}}
		default:
			p := genPose(t)
			return &world.Shape{Kind: kind, Size: vec("extent"), Pose: &p}
		}
	})
	d.Detection = maybe(t, "detected", func() *world.Detection {
		return &world.Detection{Methods: []string{"ar", "sift"}, Tags: []string{"17"}}
	})
	d.Place = maybe(t, "placed", func() *world.Place {
		return &world.Place{Level: rapid.SampledFrom([]string{"city", "street", "building", "floor", "room", "site"}).Draw(t, "level"), Number: rapid.SampledFrom([]string{"", "3001", "45a"}).Draw(t, "number")}
	})
	d.Robot = maybe(t, "robot", func() *world.RobotFrames { return &world.RobotFrames{Odom: "r/odom", Base: "r/base"} })
	d.Properties = maybe(t, "props", func() map[string]any {
		return map[string]any{"weight": size.Draw(t, "weight"), "red": true, "count": int64(3), "hash": uint64(math.MaxUint64), "small": int32(2), "of /what": "iron", "7": "x", "_a": "y", "_.": "z", ".a": "v", "ä": "w", "list": []any{"a", 1.5, 1.0, int64(1<<53 + 1), uint64(math.MaxUint64), map[string]any{"b": false}}, "since": engram.Time(5)}
	})
	return d
}

func maybe2(t *rapid.T, v pose.Pose, draw func(*rapid.T) pose.Pose) pose.Pose {
	if rapid.Bool().Draw(t, "other") {
		return draw(t)
	}
	return v
}

// genWorld returns a world with everything that there is.
func genWorld(t *rapid.T) *world.Forest {
	b := world.NewBuilder(world.DefaultRules())
	names := []string{"kitchen", "table", "a/b", "küche 1", "door", "r:2", "fridge", "cup"}
	n := rapid.IntRange(1, len(names)).Draw(t, "items")
	said := func() world.Said {
		at := engram.Time(rapid.Int64Range(1, 3e9).Draw(t, "at"))
		return world.Said{Provider: "plan", Time: at, Arrived: at, Confidence: 1}
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range names[:n] {
		it := &world.Item{Structure: &world.Structure{}, Description: genDescription(t), Source: world.Source(rapid.IntRange(1, 3).Draw(t, "source")), Views: rapid.IntRange(0, 3).Draw(t, "views")}
		if i > 0 {
			it.Structure.Parent = rapid.SampledFrom(append([]string{""}, names[:i]...)).Draw(t, "parent")
		}
		frames := append([]string{"map", it.Structure.Parent}, names[:i]...)
		it.Placement = maybe(t, "posed", func() *world.Placement {
			p := &world.Placement{Frame: rapid.SampledFrom(frames).Draw(t, "frame"), Pose: genPose(t)}
			p.Cov = maybe(t, "certain", func() pose.Cov { return pose.DiagonalCov(0.1, 0.2) })
			return p
		})
		if it.Placement != nil && it.Placement.Frame == "" && it.Structure.Parent == "" {
			it.Placement = nil
		}
		if slices.Contains(it.Description.Kinds, world.KindRobot) {
			it.Structure.Parent, it.Placement = "", nil // counts from the robot only
		}
		check(b.Put(world.Statement{Name: name, Said: said(), Item: it}))
		for _, s := range pick(t, "states", "open", "2 dirty", "stateOfObject") {
			st := &world.State{Source: world.Source(rapid.IntRange(1, 3).Draw(t, "source")), Item: name, Name: s, Value: rapid.SampledFrom([]any{true, "DeviceStateOn", 0.5, int64(2)}).Draw(t, "value"), HalfLife: time.Duration(rapid.IntRange(0, 2).Draw(t, "hours")) * time.Hour}
			by := said()
			by.Confidence = 0.75
			check(b.PutState(world.StateStatement{Said: by, State: st}))
		}
	}
	if n > 1 {
		for i, joint := range pick(t, "joints", "hinge", "door/slide", "door") {
			j := &world.Articulation{Source: world.Source(rapid.IntRange(1, 3).Draw(t, "source")), Base: names[0], Moved: names[1+i%(n-1)], Pose: genPose(t), Kind: world.JointKind(rapid.IntRange(0, 2).Draw(t, "joint")), Sigma: 0.1, Radius: 0.4}
			if j.Kind == world.Prismatic {
				j.Direction = pose.Vec3{Y: 1}
			}
			if j.Kind != world.Fixed {
				j.Reference, j.Limits = 0.25, &world.Limits{Lower: -1, Upper: 1}
				v := rapid.Float64Range(-1, 1).Draw(t, "value")
				j.Value, j.Serves = &v, []string{names[0]}
			}
			check(b.PutJoint(world.JointStatement{Name: joint, Said: said(), Joint: j}))
		}
	}
	for _, m := range pick(t, "maps", "grid", "table", "my map") {
		b.PutMap(world.MapStatement{Name: m, Said: said(), Map: &world.Map{
			Kind: world.MapKind(rapid.IntRange(0, 5).Draw(t, "map")), Describes: names[:1], Frame: "map", Resolution: 0.05, Format: "yaml", URL: "http://a.org/x.yaml",
			Sensors: []string{"lidar"}, Algorithms: []string{"amcl", "icp"}, Author: "anna", Created: 5, Quality: 0.5, Properties: map[string]any{"image": "x.png", "n": int64(1)},
			Extent: &world.Box{Pose: genPose(t), Size: pose.Vec3{X: 1, Y: 2, Z: 3}}, Link: engram.MustID("World/MapData/plan/grid"), SHA256: "ab",
		}})
	}
	for _, c := range pick(t, "components", "eye", "door", "motor/1") {
		b.PutComponent(world.ComponentStatement{Name: c, Said: said(), Component: &world.Component{Kind: "camera", Robot: names[0], Inputs: []string{"a", "b"}, Outputs: []string{"c"}, Frame: "map",
			Running: true, StartedBy: "x.launch", View: &world.View{Horizontal: 1, Vertical: 0.5, MinRange: 0.1, MaxRange: 4}, Properties: map[string]any{"fps": 30.0}}})
	}
	return b.Forest()
}

// said returns the import that a world itself would be.
func said(f *world.Forest) *semmap.Import {
	im := &semmap.Import{}
	for m := range f.All() {
		it := world.NamedItem{Name: m.Name, Item: *m.Item}
		if it.Structure == nil { // of a robot
			it.Structure = &world.Structure{}
		}
		d, st := *m.Description, *it.Structure
		it.Description, it.Structure = &d, &st
		if e, ok := f.Edge(m.Name); ok && e.Frame != "" {
			p := *m.Placement
			p.Frame, p.Time = e.Frame, e.Time
			it.Placement = &p
		} else {
			it.Placement = nil
		}
		im.Items = append(im.Items, it)
		states, _ := f.States(m.Name)
		for _, s := range states {
			im.States = append(im.States, semmap.State{State: *s.State, Confidence: s.Confidence})
		}
	}
	for j := range f.Joints().All() {
		im.Joints = append(im.Joints, semmap.Joint{Name: j.Name, Articulation: *j.Articulation})
	}
	for m := range f.Maps().All() {
		im.Maps = append(im.Maps, semmap.Map{Name: m.Name, Map: *m.Map})
	}
	for c := range f.Components().All() {
		im.Components = append(im.Components, semmap.Component{Name: c.Name, Component: *c.Component})
	}
	return im
}

func TestWorldsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := genWorld(rt)
		names := semmap.NewNames(rapid.SampledFrom([]string{"", "r 1", "r.1"}).Draw(rt, "robot"))
		triples, err := semmap.Write(f, semmap.WriteOptions{Names: names})
		if err != nil {
			rt.Fatal(err)
		}
		var text bytes.Buffer
		if err := rdf.Write(&text, rdf.RDFXML, rdf.Document{}, func(yield func(rdf.Quad) bool) {
			for _, t := range triples {
				if !yield(rdf.Quad{Triple: t}) {
					return
				}
			}
		}); err != nil {
			rt.Fatal(err)
		}
		g := knowledge.NewGraph()
		if _, err := rdf.Read(&text, rdf.RDFXML, rdf.ReadOptions{}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
			rt.Fatal(err)
		}
		im := semmap.Read(g, semmap.ReadOptions{Names: names})
		a, b := tell(said(f)), tell(im)
		slices.Sort(a) // items of one depth have another order
		slices.Sort(b)
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				rt.Fatalf("%d and %d lines\n%s\nis not\n%s\n%+v", len(a), len(b), strings.Join(a[min(i, len(a)):min(i+1, len(a))], ""), strings.Join(b[min(i, len(b)):min(i+1, len(b))], ""), im.Notes)
			}
		}
		for _, n := range im.Notes {
			if !strings.Contains(n.Text, "have the same address") {
				rt.Errorf("%+v", n)
			}
		}
		// What is said of one thing is said of no other, and the same again.
		all, again := semmap.All(f, names), semmap.All(f, names)
		if !slices.Equal(all, again) {
			rt.Error("it is not the same again")
		}
		seen := map[rdf.Triple]bool{}
		for _, t := range all {
			if t.P.Value != semmap.NSKnowRob+"hingedTo" && t.P.Value != semmap.NSKnowRob+"prismaticallyConnectedTo" && seen[t] {
				rt.Errorf("twice: %v", t)
			}
			seen[t] = true
		}
	})
}

func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		robot := rapid.SampledFrom([]string{"", "r1", "a/b"}).Draw(t, "robot")
		n := semmap.NewNames(robot)
		seen := map[string]string{}
		for _, name := range rapid.SliceOf(rapid.String()).Draw(t, "names") {
			if engram.CheckName(name) != nil {
				continue
			}
			iri := n.IRI(name)
			if other, ok := seen[iri]; ok && other != name || n.Item(iri) != name || n.Map(n.MapIRI(name)) != name || n.Item(n.MapIRI(name)) != "" {
				t.Errorf("%q, %q: %s", name, other, iri)
			}
			seen[iri] = name
		}
	})
}

func TestNamesOfImports(t *testing.T) {
	n := semmap.NewNames("r1")
	g := parse(t, `:bed1 k:depthOfObject 1 . <http://b.org/ward.owl#bed1> k:depthOfObject 1 . <http://c.org/ward.owl#bed1> k:depthOfObject 1 .
		<https://engram.dev/world/r1#bed%201> k:depthOfObject 1 . <https://engram.dev/world/r2#bed1> k:depthOfObject 1 .`)
	im := semmap.Read(g, semmap.ReadOptions{Names: n})
	want := map[string]string{
		"bed1": "http://a.org/kitchen.owl#bed1", "ward.bed1": "http://b.org/ward.owl#bed1", "ward.bed1.2": "http://c.org/ward.owl#bed1",
		"bed 1": "https://engram.dev/world/r1#bed%201", "r2.bed1": "https://engram.dev/world/r2#bed1",
	}
	if len(im.Items) != len(want) {
		t.Errorf("%+v", im.Items)
	}
	for name, iri := range want {
		if n.Item(iri) != name || n.IRI(name) != iri {
			t.Errorf("%s: %q, and %s: %q", iri, n.Item(iri), name, n.IRI(name))
		}
	}
	if got := n.Item("https://engram.dev/world/r1#bed1"); got != "" {
		t.Errorf("bed1 has two IRIs: %q", got)
	}
	// They are what they were in a world that has kept them, whatever comes in between.
	f := build(t, im)
	again := semmap.NewNames("r1")
	semmap.Read(parse(t, `<http://c.org/ward.owl#bed1> k:depthOfObject 1 .`), semmap.ReadOptions{Names: again, World: f})
	for name, iri := range want {
		if again.Item(iri) != name || again.IRI(name) != iri {
			t.Errorf("%s: %q, and %s: %q", iri, again.Item(iri), name, again.IRI(name))
		}
	}
	// An item that is gone loses its name, and the name is free.
	again.Learn(world.NewBuilder(world.DefaultRules()).Forest(), "bed1")
	if again.Item("http://a.org/kitchen.owl#bed1") != "" || again.Item(again.IRI("bed1")) != "bed1" {
		t.Error("bed1 is still there")
	}
}

// TestOddFiles reads what is wrong.
func TestOddFiles(t *testing.T) {
	const matrix = `k:m00 1 ; k:m01 0 ; k:m02 0 ; k:m03 1 ; k:m10 0 ; k:m11 1 ; k:m12 0 ; k:m13 2 ; k:m20 0 ; k:m21 0 ; k:m22 1 ; k:m23 3 .`
	see := func(m string) string {
		return `:e a k:SemanticMapPerception ; k:objectActedOn :cup ; k:eventOccursAt :m ; k:startTime :timepoint_5.25 . :m ` + m
	}
	for name, c := range map[string]struct{ turtle, note string }{
		"skewed":             {see(strings.Replace(matrix, "m01 0", "m01 0.5", 1)), "not unit vectors"},
		"scaled":             {see(strings.Replace(matrix, "m00 1", "m00 2", 1)), "not unit vectors"},
		"zero":               {see(strings.Replace(strings.Replace(matrix, "m11 1", "m11 0", 1), "m00 1", "m00 0", 1)), "not unit vectors"},
		"missing":            {see(strings.Replace(matrix, "k:m01 0 ;", "", 1)), "no number m01"},
		"not a number":       {see(strings.Replace(matrix, "m03 1", `m03 "NaN"`, 1)), "no number"},
		"far":                {see(strings.Replace(matrix, "m03 1", `m03 1e300`, 1)), "at most"},
		"quaternion":         {`:e k:objectActedOn :cup ; k:eventOccursAt :m . :m k:translation "1 2 3" ; k:quaternion "0 0 0 0" .`, "no pose"},
		"no quaternion":      {`:e k:objectActedOn :cup ; k:eventOccursAt :m . :m k:translation "1 2 3" .`, "no quaternion"},
		"own frame":          {see(matrix) + ` :m k:relativeTo :cup .`, "its own frame"},
		"no time":            {strings.Replace(see(matrix), "timepoint_5.25", "yesterday", 1), "timepoint_"},
		"loop":               {`:a k:properPhysicalParts :b . :b k:properPhysicalParts :c . :c k:properPhysicalParts :a .`, "a part of itself"},
		"self":               {`:a k:properPhysicalParts :a .`, "nothing is said"},
		"dangling":           {`:a a k:Cup ; k:properPhysicalParts :b .`, "nothing is said"},
		"two wholes":         {`:a k:properPhysicalParts :x . :b k:properPhysicalParts :x .`, "no part of the other"},
		"half a box":         {`:a k:depthOfObject 1 .`, "no box"},
		"negative box":       {`:a k:depthOfObject -1 ; k:widthOfObject 1 ; k:heightOfObject 1 .`, "not negative"},
		"joint of one":       {`:j a k:HingedJoint ; k:connectedTo-Rigidly :a .`, "joins 1 items"},
		"joint of three":     {`:j a k:HingedJoint ; k:connectedTo-Rigidly :a , :b , :c .`, "joins 3 items"},
		"limits":             {`:j a k:HingedJoint ; k:connectedTo-Rigidly :a , :b ; k:minJointValue 2 ; k:maxJointValue 1 .`, "lower limit"},
		"no direction":       {`:j a k:PrismaticJoint ; k:connectedTo-Rigidly :a , :b .`, "no direction"},
		"a map of nothing":   {`:m a k:SemanticEnvironmentMap .`, "describes no item"},
		"unreadable of ours": {`:a a <https://engram.dev/ontology#Item> ; <https://engram.dev/ontology#views> "many" .`, "cannot be read"},
	} {
		im := semmap.Read(parse(t, c.turtle), semmap.ReadOptions{})
		if !slices.ContainsFunc(im.Notes, func(n semmap.Note) bool { return strings.Contains(n.Text, c.note) }) {
			t.Errorf("%s: %+v", name, im.Notes)
		}
		build(t, im)
	}
}

// TestPast writes a plate whose table was moved, and reads where it was.
func TestPast(t *testing.T) {
	b := world.NewBuilder(world.DefaultRules())
	tracks := map[string][]world.Edge{
		"table": {{Time: 1e9, Frame: "map", Pose: pose.Translation(1, 0, 0)}, {Time: 3e9, Frame: "map", Pose: pose.Translation(5, 0, 0)}},
		"plate": {{Time: 1e9, Frame: "map", Pose: pose.Translation(9, 9, 0)}, {Time: 2e9, Frame: "table", Pose: pose.Translation(0, 1, 0.7)}},
	}
	for name, track := range tracks {
		e := track[1]
		said := world.Said{Provider: "eye", Time: e.Time, Arrived: e.Time, Confidence: 1}
		it := &world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Frame: e.Frame, Pose: e.Pose}, Description: &world.Description{Kinds: []string{"object"}}}
		if err := b.Put(world.Statement{Name: name, Said: said, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	names := semmap.NewNames("")
	g := graph(wrote(t, b.Forest(), semmap.WriteOptions{Names: names, Past: func(item string) []world.Edge { return tracks[item] }}))
	im := semmap.Read(g, semmap.ReadOptions{Names: names})
	var got []string
	for _, p := range im.Poses {
		got = append(got, fmt.Sprintf("%s %d %s %v", p.Item, p.Time/1e9, p.Frame, p.Pose.T))
	}
	want := []string{"plate 1 map {9 9 0}", "plate 2 table {0 1 0.7}", "table 1 map {1 0 0}", "table 3 map {5 0 0}"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// KnowRob, which knows the map's frame only, reads where the plate has been since the table moved.
	foreign := knowledge.NewGraph()
	for tr := range g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		if !strings.HasPrefix(tr.P.Value, semmap.NS) && !strings.HasPrefix(tr.O.Value, semmap.NS) {
			foreign.Add(tr)
		}
	}
	im = semmap.Read(foreign, semmap.ReadOptions{})
	if p := item(t, im, "plate").Placement; p.Time != 3e9 || !near(p.Pose, pose.Translation(5, 1, 0.7)) {
		t.Errorf("%+v", p)
	}
}

// TestBoxes has the box of a table stand above its frame, where KnowRob has the centre.
func TestBoxes(t *testing.T) {
	b := world.NewBuilder(world.DefaultRules())
	for name, it := range map[string]*world.Item{
		"table": {Placement: &world.Placement{Frame: "map", Pose: pose.Translation(1, 2, 0)}, Description: &world.Description{Box: &world.Box{Pose: pose.Translation(0, 0, 0.4), Size: pose.Vec3{X: 1, Y: 2, Z: 0.8}}}},
	} {
		if err := b.Put(world.Statement{Name: name, Said: world.Said{Provider: "plan", Time: 1, Confidence: 1}, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	g := graph(wrote(t, b.Forest(), semmap.WriteOptions{}))
	k := func(name string) rdf.Term { return rdf.NewIRI(semmap.NSKnowRob + name) }
	for m := range g.Match(rdf.Term{}, k("eventOccursAt"), rdf.Term{}) {
		for z := range g.Match(m.O, k("m23"), rdf.Term{}) {
			if z.O.Value != "0.4" {
				t.Errorf("%v", z)
			}
		}
	}
	for _, p := range []struct{ property, value string }{{"depthOfObject", "1"}, {"widthOfObject", "2"}, {"heightOfObject", "0.8"}} {
		for range g.Match(rdf.NewIRI(semmap.NSWorld+"#table"), k(p.property), rdf.NewTyped(p.value, rdf.NSXSD+"double")) {
			p.value = ""
		}
		if p.value != "" {
			t.Errorf("%s is not %s", p.property, p.value)
		}
	}
}

// TestOntology has a comment for each name of ours that is written.
func TestOntology(t *testing.T) {
	g := knowledge.NewGraph()
	if _, err := rdf.Read(bytes.NewReader(semmap.Ontology), rdf.Turtle, rdf.ReadOptions{}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
		t.Fatal(err)
	}
	commented := func(iri string) bool {
		for range g.Match(rdf.NewIRI(iri), rdf.NewIRI(rdf.NSRDFS+"comment"), rdf.Term{}) {
			return true
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		triples, err := semmap.Write(genWorld(t), semmap.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range triples {
			for _, term := range []rdf.Term{tr.P, tr.O} {
				if term.Kind == rdf.IRI && strings.HasPrefix(term.Value, semmap.NS) && !commented(term.Value) {
					t.Errorf("%s has no comment", term.Value)
				}
			}
		}
	})
}

// TestAnyGraph reads graphs that make no sense: whatever comes of one can be said in a world.
func TestAnyGraph(t *testing.T) {
	var properties, classes []string
	for _, p := range []string{"properPhysicalParts", "physicalPartOf", "describedInMap", "objectActedOn", "eventOccursAt", "startTime", "orientation", "relativeTo", "connectedTo-Rigidly",
		"hingedTo", "direction", "minJointValue", "maxJointValue", "turnRadius", "vectorX", "vectorY", "vectorZ", "roomNumber", "streetNumber", "depthOfObject", "widthOfObject", "heightOfObject", "translation", "quaternion", "stateOfObject"} {
		properties = append(properties, semmap.NSKnowRob+p)
	}
	for _, c := range []string{"City", "Street", "RoomInAConstruction", "HingedJoint", "PrismaticJoint", "Cup", "SemanticEnvironmentMap", "Robot"} {
		classes = append(classes, semmap.NSKnowRob+c)
	}
	for line := range strings.Lines(string(semmap.Ontology)) {
		if name, ok := strings.CutPrefix(line, ":"); ok {
			name, kind, _ := strings.Cut(name, " ")
			if strings.Contains(kind, "Class") {
				classes = append(classes, semmap.NS+name)
			} else {
				properties = append(properties, semmap.NS+name)
			}
		}
	}
	properties = append(properties, rdf.NSOWL+"sameAs", rdf.NSRDFS+"label", rdf.NSRDFS+"subClassOf", semmap.NSProperty+"iri", semmap.NSProperty+"weight")
	individual := rapid.Custom(func(t *rapid.T) rdf.Term {
		return rapid.SampledFrom([]rdf.Term{rdf.NewIRI("http://a.org/x#a"), rdf.NewIRI("http://a.org/x#b"), rdf.NewIRI("http://b.org/x#a"), rdf.NewIRI("https://engram.dev/world#a"),
			rdf.NewIRI("https://engram.dev/world#map@a"), rdf.NewIRI("https://engram.dev/world#joint@a"), rdf.NewIRI("urn:x"), rdf.NewIRI("#"), rdf.NewIRI(""), rdf.NewBlank("b"), rdf.NewIRI("https://engram.dev/time#timepoint_1.5")}).Draw(t, "individual")
	})
	value := rapid.SampledFrom([]rdf.Term{rdf.NewText("1"), rdf.NewTyped("-1", rdf.NSXSD+"float"), rdf.NewText("x"), rdf.NewText("1 0 0"), rdf.NewText("1 0 0 0"), rdf.NewText("0 0 0 1 0 0 0"), rdf.NewText("revolute"),
		rdf.NewTagged("Munich", "en"), rdf.NewText(""), rdf.NewText("1e300"), rdf.NewTyped("{", rdf.NS+"JSON"), rdf.NewText("Object/Class/a/b")})
	rapid.Check(t, func(rt *rapid.T) {
		g := knowledge.NewGraph()
		for range rapid.IntRange(0, 40).Draw(rt, "n") {
			s := individual.Draw(rt, "s")
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				g.Add(rdf.Triple{S: s, P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rapid.SampledFrom(classes).Draw(rt, "class"))})
			case 1:
				g.Add(rdf.Triple{S: s, P: rdf.NewIRI(rapid.SampledFrom(properties).Draw(rt, "p")), O: value.Draw(rt, "value")})
			default:
				g.Add(rdf.Triple{S: s, P: rdf.NewIRI(rapid.SampledFrom(properties).Draw(rt, "p")), O: individual.Draw(rt, "o")})
			}
		}
		o := semmap.ReadOptions{Join: rapid.Bool().Draw(rt, "join"), Names: semmap.NewNames("")}
		im := semmap.Read(g, o)
		f := build(t, im)
		seen := map[string]string{}
		for _, it := range im.Items {
			iri := o.Names.IRI(it.Name)
			if seen[iri] != "" || o.Names.Item(iri) != it.Name {
				rt.Errorf("%s is %s and %s", iri, seen[iri], it.Name)
			}
			seen[iri] = it.Name
		}
		o.World, o.Names = f, nil
		again := semmap.Read(g, o)
		for i, it := range again.Items {
			if it.Name != im.Items[i].Name {
				rt.Errorf("%s was called %s", it.Name, im.Items[i].Name)
			}
		}
		if _, err := semmap.Write(f, semmap.WriteOptions{}); err != nil {
			rt.Error(err)
		}
	})
}
