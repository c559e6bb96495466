package semmap_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

var hospital = []string{"ias_hospital_room.owl", "ias_hospital_room_2D_occupancy_map.owl", "ias_hospital_room_octomap.owl", "ias_hospital_room_vslam_map.owl"}

// load returns the graph of files of the reference data.
func load(t testing.TB, files ...string) *knowledge.Graph {
	t.Helper()
	g := knowledge.NewGraph()
	for _, name := range files {
		f, err := os.Open(testkit.Shared(t, "knowledge", "maps", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		format, err := rdf.FormatOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rdf.Read(f, format, rdf.ReadOptions{Name: name, Scope: name}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// parse returns the graph of a document in Turtle, with the usual prefixes.
func parse(t testing.TB, turtle string) *knowledge.Graph {
	t.Helper()
	const prefixes = `@prefix : <http://a.org/kitchen.owl#> . @prefix k: <http://knowrob.org/kb/knowrob.owl#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . `
	g := knowledge.NewGraph()
	_, err := rdf.Read(strings.NewReader(prefixes+turtle), rdf.Turtle, rdf.ReadOptions{}, func(q rdf.Quad) error { g.Add(q.Triple); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func graph(triples []rdf.Triple) *knowledge.Graph {
	g := knowledge.NewGraph()
	for _, t := range triples {
		g.Add(t)
	}
	return g
}

// build makes a world of an import.
func build(t testing.TB, im *semmap.Import) *world.Forest {
	t.Helper()
	b := world.NewBuilder(world.DefaultRules())
	said := world.Said{Provider: "map", Time: 1e9, Arrived: 1e9, Confidence: 1}
	for _, it := range im.Items {
		if err := b.Put(world.Statement{Name: it.Name, Said: said, Item: &it.Item}); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range im.Joints {
		if err := b.PutJoint(world.JointStatement{Name: j.Name, Said: said, Joint: &j.Articulation}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range im.Maps {
		b.PutMap(world.MapStatement{Name: m.Name, Said: said, Map: &m.Map})
	}
	for _, s := range im.States {
		said := said
		said.Confidence = s.Confidence
		if err := b.PutState(world.StateStatement{Said: said, State: &s.State}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range im.Components {
		b.PutComponent(world.ComponentStatement{Name: c.Name, Said: said, Component: &c.Component})
	}
	return b.Forest()
}

// tell returns what an import says, so that two can be compared: without what it was made of.
func tell(im *semmap.Import) (lines []string) {
	for _, it := range im.Items {
		if it.Placement != nil && it.Placement.Frame == it.Structure.Parent {
			it.Placement.Frame = ""
		}
		lines = append(lines, fmt.Sprintf("item %s: in %q", it.Name, it.Structure.Parent), "  placed "+show(it.Placement), "  described "+show(it.Description),
			fmt.Sprintf("  %v %d %v %v", it.Source, it.Views, it.LabelEvidence, it.SeenIn))
	}
	for _, j := range im.Joints {
		j.Time, j.ValueTime = 0, 0
		lines = append(lines, "joint "+show(j))
	}
	for _, m := range im.Maps {
		lines = append(lines, "map "+show(m))
	}
	for _, s := range im.States {
		lines = append(lines, "state "+show(s))
	}
	for _, c := range im.Components {
		lines = append(lines, "component "+show(c))
	}
	return lines
}

// show is %+v with what pointers lead to.
func show(v any) string {
	return showValue(reflect.ValueOf(v))
}

func showValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return showValue(v.Elem())
	case reflect.Struct:
		if s, ok := v.Interface().(engram.ID); ok {
			return s.String()
		}
		var b strings.Builder
		for i := range v.NumField() {
			fmt.Fprintf(&b, "%s:%s ", v.Type().Field(i).Name, showValue(v.Field(i)))
		}
		return "{" + b.String() + "}"
	case reflect.Slice:
		var b strings.Builder
		for i := range v.Len() {
			b.WriteString(showValue(v.Index(i)) + " ")
		}
		return "[" + b.String() + "]"
	case reflect.Map:
		var all []string
		for _, k := range v.MapKeys() {
			all = append(all, fmt.Sprint(k)+"="+showValue(v.MapIndex(k)))
		}
		slices.Sort(all)
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%v", v.Interface())
}

func item(t testing.TB, im *semmap.Import, name string) world.NamedItem {
	t.Helper()
	for _, it := range im.Items {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("there is no item %s", name)
	return world.NamedItem{}
}

func near(a, b pose.Pose) bool { trans, rot := a.Distance(b); return trans < 1e-6 && rot < 1e-6 }

func wrote(t testing.TB, f *world.Forest, o semmap.WriteOptions) []rdf.Triple {
	t.Helper()
	triples, err := semmap.Write(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return triples
}

// TestFilesComeBack imports each file, makes a world of it, writes that, and reads it again.
func TestFilesComeBack(t *testing.T) {
	for _, files := range [][]string{
		{"ias_hospital_room.owl"}, {"ias_hospital_room.owl", "roboearth.owl", "knowrob.owl"}, {"ias_hospital_room_2D_occupancy_map.owl"},
		{"ias_hospital_room_octomap.owl"}, {"ias_hospital_room_vslam_map.owl"}, {"ias_map_addons.owl"}, {"ias_semantic_map.owl", "knowrob.owl"},
		{"object_model.owl"}, {"seed_joints.owl"}, {"seed_joints.owl", "knowrob.owl"}, {"original/ias_hospital_room.owl"}, hospital, {"srdl2-comp.owl"},
	} {
		names := semmap.NewNames("")
		im := semmap.Read(load(t, files...), semmap.ReadOptions{Names: names})
		if len(im.Items) == 0 && files[0] != "srdl2-comp.owl" {
			t.Errorf("%v: no items", files)
		}
		f := build(t, im)
		again := semmap.Read(graph(wrote(t, f, semmap.WriteOptions{Names: names})), semmap.ReadOptions{})
		compare(t, fmt.Sprint(files), tell(im), tell(again))
		for _, n := range again.Notes {
			if n.Refused {
				t.Errorf("%v: %+v", files, n)
			}
		}
	}
}

func compare(t testing.TB, what string, a, b []string) {
	t.Helper()
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			from := max(0, i-1)
			t.Fatalf("%s: after %d of %d and %d lines\n%s\nis not\n%s", what, i, len(a), len(b), strings.Join(a[min(from, len(a)):min(i+1, len(a))], "\n"), strings.Join(b[min(from, len(b)):min(i+1, len(b))], "\n"))
		}
	}
}

func TestHospital(t *testing.T) {
	im := semmap.Read(load(t, hospital...), semmap.ReadOptions{})
	rooms := 0
	for _, it := range im.Items {
		if p := it.Description.Place; p != nil && p.Level == "room" {
			rooms++
			if *p != (world.Place{Level: "room", Number: "3001"}) {
				t.Errorf("%s: %+v", it.Name, p)
			}
		}
	}
	if rooms != 4 {
		t.Errorf("%d rooms", rooms)
	}
	told := 0
	for _, n := range im.Notes {
		if strings.Contains(n.Text, "have the same address") && strings.Contains(n.Text, "octomap") {
			told++
		}
	}
	if told != 5 { // city, street, building, floor and room
		t.Errorf("%d of 5 places are told: %+v", told, im.Notes)
	}

	names := semmap.NewNames("")
	im = semmap.Read(load(t, hospital...), semmap.ReadOptions{Join: true, Names: names})
	room := item(t, im, "Room7635")
	f := build(t, im)
	path, err := f.PathToRoot("Room7635")
	if err != nil || len(path) != 5 || path[4].Name != "Munich" {
		t.Errorf("%v, %v", path, err)
	}
	var maps []string
	for m := range f.Maps().All() {
		if slices.Contains(m.Map.Describes, "Room7635") {
			maps = append(maps, m.Map.Kind.String()+" "+m.Map.URL)
		}
	}
	if len(maps) != 4 {
		t.Errorf("%q", maps)
	}
	for _, file := range hospital {
		if name := names.Item("http://knowrob.org/kb/" + file + "#Room7635"); name != "Room7635" {
			t.Errorf("%s calls it %q", file, name)
		}
	}
	if got := fmt.Sprint(room.Description.Properties["types"]); !strings.Contains(got, "HospitalRoom") || !strings.Contains(got, "RoomInAConstruction") {
		t.Error(got)
	}
}

// TestJoinWithTheWorld reads the files one after the other.
func TestJoinWithTheWorld(t *testing.T) {
	for _, join := range []bool{false, true} {
		b := world.NewBuilder(world.DefaultRules())
		for i, file := range hospital {
			said := world.Said{Provider: file, Time: engram.Time(i), Arrived: engram.Time(i), Confidence: 1}
			im := semmap.Read(load(t, file), semmap.ReadOptions{World: b.Forest(), Join: join})
			for _, it := range im.Items {
				if err := b.Put(world.Statement{Name: it.Name, Said: said, Item: &it.Item}); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range im.Maps {
				b.PutMap(world.MapStatement{Name: m.Name, Said: said, Map: &m.Map})
			}
			if told := slices.ContainsFunc(im.Notes, func(n semmap.Note) bool { return strings.Contains(n.Text, "the same address as the item Room7635") }); told != (i > 0 && !join) {
				t.Errorf("join %v, %s: %+v", join, file, im.Notes)
			}
		}
		f := b.Forest()
		n, described := 0, 0
		for range f.ByPlace("3001", "45", "Karlstrasse", "Munich") {
			n++
		}
		for m := range f.Maps().All() {
			if slices.Contains(m.Map.Describes, "Room7635") {
				described++
			}
		}
		if room, err := f.Get("Room7635"); err != nil || room.Description.Box == nil {
			t.Errorf("join %v: %+v, %v", join, room, err)
		}
		if want := map[bool][2]int{false: {4, 1}, true: {1, 4}}[join]; n != want[0] || described != want[1] {
			t.Errorf("join %v: %d rooms, %d maps", join, n, described)
		}
	}
}

// TestSeedQuestion asks what the map of room 3001 is, of what was written.
func TestSeedQuestion(t *testing.T) {
	names := semmap.NewNames("")
	f := build(t, semmap.Read(load(t, hospital...), semmap.ReadOptions{Names: names, Join: true}))
	for _, o := range []semmap.WriteOptions{{Names: names, Root: "Room7635"}, {Names: names}} {
		g := load(t, "knowrob.owl", "roboearth.owl", "owl.owl")
		for _, t := range wrote(t, f, o) {
			g.Add(t)
		}
		found := map[string]bool{}
		for row, err := range prolog.NewProgram().Ask(t.Context(), &knowledge.View{Graph: g}, `rdf_has(M, rdfs:label, literal(like('*Munich*'), _)),
   owl_has(M, knowrob:properPhysicalParts, R),
   owl_has(R, knowrob:roomNumber, literal(type(_, '3001'))),
   owl_has(R, knowrob:describedInMap, Map).`, prolog.DefaultLimits) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			found[string(b)] = true
		}
		all := fmt.Sprint(found)
		if len(found) != 5 || !strings.Contains(all, "http://knowrob.org/kb/ias_hospital_room_octomap.owl#OctoMap3343") {
			t.Error(all)
		}
	}
}

func TestSeedJoints(t *testing.T) {
	im := semmap.Read(load(t, "seed_joints.owl", "knowrob.owl"), semmap.ReadOptions{})
	joints := map[string]world.Articulation{}
	for _, j := range im.Joints {
		joints[j.Name] = j.Articulation
	}
	h := joints["hinge1"]
	if h.Kind != world.Revolute || h.Base != "cupboard1" || h.Moved != "door1" || h.Radius != 0.3 || *h.Limits != (world.Limits{Lower: 0.1, Upper: 0.9}) {
		t.Errorf("%s", show(h))
	}
	if !near(h.Pose, pose.Translation(-0.3, -0.3, 0)) {
		t.Errorf("%v", h.Pose)
	}
	if h := joints["hinge3"]; h.Radius != 0.6 || h.Base != "fridge1" || h.Moved != "fridge_door1" {
		t.Errorf("%s", show(h))
	}
	if s := joints["slider2"]; s.Kind != world.Prismatic || s.Direction != (pose.Vec3{X: 1}) || s.Moved != "drawer2" {
		t.Errorf("%s", show(s))
	}
	// A newer perception overrides; the older ones are kept.
	var times []string
	for _, p := range im.Poses {
		if p.Item == "door1" {
			times = append(times, p.Time.String())
		}
	}
	if door := item(t, im, "door1"); len(times) != 3 || !slices.IsSorted(times) || door.Placement.Time != 1321541000e9 || !near(door.Placement.Pose, pose.Pose{T: pose.Vec3{X: 0.7, Y: 0.05, Z: 1}, R: pose.RPY(0, 0, math.Pi/2)}) {
		t.Errorf("%v, %+v", times, door.Placement)
	}
	if handle := item(t, im, "handle1"); handle.Structure.Parent != "door1" {
		t.Errorf("the smallest whole of the handle is the door, not %s", handle.Structure.Parent)
	}
	if knob := item(t, im, "knob1"); knob.Structure.Parent != "oven1" {
		t.Errorf("physicalPartOf: %s", knob.Structure.Parent)
	}
	if c := item(t, im, "cupboard1"); c.Structure.Parent != "Room1" {
		t.Errorf("furnishedWith is a sub-property: %s", c.Structure.Parent)
	}
	if fridge := item(t, im, "fridge1"); !slices.Contains(fridge.Description.SpokenNames, "Kühlschrank") {
		t.Errorf("owl:sameAs: %q", fridge.Description.SpokenNames)
	}
	a, b := item(t, im, "link1").Structure.Parent, item(t, im, "link2").Structure.Parent
	if a+b != "link1" && a+b != "link2" {
		t.Errorf("of a loop one edge is cut: %q, %q", a, b)
	}
	if !slices.ContainsFunc(im.States, func(s semmap.State) bool { return s.Item == "oven1" && s.Value == "DeviceStateOn" }) {
		t.Errorf("%+v", im.States)
	}
}

func TestSemanticMap(t *testing.T) {
	im := semmap.Read(load(t, "ias_semantic_map.owl"), semmap.ReadOptions{})
	f := build(t, im)
	at, err := f.Pose("F360-Containers-revised-walls", "door10")
	if err != nil || !near(at.Pose, pose.Translation(0.596411, 3.63448, 0.688794)) {
		t.Errorf("%+v, %v", at, err)
	}
	if len(im.Joints) != 14 || len(im.Poses) != 87 { // 89 perceptions: one of the map, one with a skewed matrix
		t.Errorf("%d joints, %d poses", len(im.Joints), len(im.Poses))
	}
	left, skewed := 0, 0
	for _, n := range im.Notes {
		if strings.Contains(n.Text, "left-handed") {
			left++
		}
		if strings.Contains(n.Text, "unit vectors") {
			skewed++
		}
	}
	if left != 14 || skewed != 1 {
		t.Errorf("%d, %d", left, skewed)
	}
	for _, j := range im.Joints {
		if j.Kind != world.Revolute || j.Pose == pose.Identity() || !strings.HasPrefix(j.Moved, "door") {
			t.Errorf("%s", show(j))
		}
	}
}

func BenchmarkRead(b *testing.B) {
	g := load(b, "ias_semantic_map.owl", "knowrob.owl")
	for b.Loop() {
		semmap.Read(g, semmap.ReadOptions{})
	}
}

func BenchmarkWorld(b *testing.B) {
	names := semmap.NewNames("")
	bl := world.NewBuilder(world.DefaultRules())
	for i := range 10000 {
		it := world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Frame: "map", Pose: pose.Translation(float64(i), 0, 0)},
			Description: &world.Description{Kinds: []string{"object"}, Label: "thing", Box: &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 1, Y: 1, Z: 1}}}}
		if i > 0 {
			it.Structure.Parent = fmt.Sprintf("item%d", (i-1)/10)
		}
		if err := bl.Put(world.Statement{Name: fmt.Sprintf("item%d", i), Said: world.Said{Provider: "plan", Time: 1, Confidence: 1}, Item: &it}); err != nil {
			b.Fatal(err)
		}
	}
	f := bl.Forest()
	b.Run("one", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n = len(semmap.Triples(f, names, "item9999"))
		}
		b.ReportMetric(float64(n), "triples")
	})
	g := graph(wrote(b, f, semmap.WriteOptions{Names: names}))
	b.Run("write 10,000", func(b *testing.B) {
		for b.Loop() {
			wrote(b, f, semmap.WriteOptions{Names: names})
		}
	})
	b.Run("read 10,000", func(b *testing.B) {
		for b.Loop() {
			semmap.Read(g, semmap.ReadOptions{})
		}
	})
}
