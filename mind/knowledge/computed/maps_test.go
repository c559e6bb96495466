package computed_test

import (
	"os"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func load(t testing.TB, names ...string) *knowledge.View {
	t.Helper()
	g := knowledge.NewGraph()
	for _, name := range names {
		f, err := os.Open(testkit.Shared(t, "knowledge", "maps", name))
		if err != nil {
			t.Fatal(err)
		}
		_, err = rdf.Read(f, rdf.RDFXML, rdf.ReadOptions{Name: name, Base: "file:///" + name, Scope: name}, func(q rdf.Quad) error {
			g.Add(q.Triple)
			return nil
		})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return &knowledge.View{Graph: g}
}

// The relations of KnowRob's and RoboEarth's maps. The numbers are those of a computation from the
// text of the file by KnowRob's formulas.
func TestMaps(t *testing.T) {
	room := func(name string) string { return "http://knowrob.org/kb/ias_hospital_room.owl#" + name }
	kitchen := func(name string) string { return "http://knowrob.org/kb/ias_semantic_map.owl#" + name }
	hospital := computed.New(load(t, "ias_hospital_room.owl", "knowrob.owl", "owl.owl"))
	lab := computed.New(load(t, "ias_semantic_map.owl", "knowrob.owl", "owl.owl"))
	for _, want := range []struct {
		c              *computed.Computables
		s, property, o string
		n              int
		with           string // one of the answers
	}{
		{lab, "", computed.KnowRob + "on-Physical", "", 46, kitchen("cupboard5") + " " + kitchen("cupboard4")},
		{lab, "", computed.KnowRob + "aboveOf", "", 46, kitchen("handle17000") + " " + kitchen("cupboard7")}, // whose centre is beside the handle
		{lab, kitchen("handle17000"), computed.KnowRob + "aboveOf", "", 1, kitchen("handle17000") + " " + kitchen("cupboard7")},
		{lab, "", computed.KnowRob + "belowOf", kitchen("handle17000"), 1, kitchen("cupboard7") + " " + kitchen("handle17000")},
		{lab, "", computed.KnowRob + "above-Generally", "", 46, ""},
		{lab, "", computed.KnowRob + "belowOf", "", 46, ""},
		{lab, "", computed.KnowRob + "below-Generally", "", 46, ""},
		{lab, "", computed.KnowRob + "in-ContGeneric", "", 61, kitchen("handle17000") + " " + kitchen("cupboard0")},
		{lab, "", computed.KnowRob + "toTheLeftOf", "", 518, ""},
		{lab, "", computed.KnowRob + "toTheRightOf", "", 518, ""},
		{lab, "", computed.KnowRob + "inFrontOf-Generally", "", 3982, ""},
		{lab, "", computed.KnowRob + "inCenterOf", "", 108, ""},
		{lab, "", computed.NS + "on", kitchen("drawer2"), 2, kitchen("drawer3") + " " + kitchen("drawer2")},
		{lab, kitchen("drawer3"), computed.NS + "on", "", 1, kitchen("drawer3") + " " + kitchen("drawer2")},
		{lab, kitchen("door2"), computed.NS + "in", "", 1, kitchen("door2") + " " + kitchen("cupboard0")},
		{lab, kitchen("cupboard1"), computed.NS + "nextTo", kitchen("cupboard0"), 1, ""},
		{lab, kitchen("cupboard0"), computed.NS + "leftOf", kitchen("cupboard1"), 1, ""},
		{lab, kitchen("cupboard0"), computed.NS + "visibleFrom", kitchen("knob18003"), 1, ""},
		{hospital, "", computed.KnowRob + "on-Physical", room("cabinet1"), 2, room("bottle1") + " " + room("cabinet1")},
		{hospital, "", computed.KnowRob + "in-ContGeneric", room("cabinet1"), 1, room("door1") + " " + room("cabinet1")}, // the bottle has no size
		{hospital, room("bed1"), computed.KnowRob + "orientation", "", 1, room("bed1") + " " + room("RotationMatrixBed")},
		{hospital, "", computed.NS + "in", room("cabinet1"), 2, room("bottle1") + " " + room("cabinet1")},
		{hospital, "", computed.NS + "insidePlace", room("Room7635"), 5, room("door_handle") + " " + room("Room7635")},
		{hospital, room("door_handle"), computed.NS + "nextTo", room("cabinet1"), 1, ""},
		{hospital, "", computed.NS + "near", room("bed1"), 2, ""},
		{hospital, room("bed1"), computed.DistanceTo + "/" + room("cabinet1"), "", 1, ""},
		{hospital, room("Room3001"), computed.NS + "near", "", 0, ""},
	} {
		if got := ask(t, want.c, want.s, want.property, want.o); len(got) != want.n || want.with != "" && !slices.Contains(got, want.with) {
			t.Errorf("%s %s %s: %d answers, not %d with %q: %.300q", want.s, want.property, want.o, len(got), want.n, want.with, got)
		}
	}
	when, ok := computed.Interval(load(t, "ias_hospital_room.owl"), rdf.NewIRI(room("SemanticMapPerception2")))
	if !ok || when.Start != 1321540911e9 || when.End != when.Start {
		t.Errorf("the handle was seen at %v, %v", when, ok)
	}
}
