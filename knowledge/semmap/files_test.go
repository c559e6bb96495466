package semmap

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/rdf"
)

const mapFolder = "../../../shared/data/knowledge/maps"

// load returns the graph of files of the reference data.
func load(t testing.TB, files ...string) *knowledge.Graph {
	t.Helper()
	g := knowledge.NewGraph()
	for _, name := range files {
		f, err := os.Open(filepath.Join(mapFolder, name))
		if os.IsNotExist(err) {
			t.Skip("the reference data are not here")
		}
		if err != nil {
			t.Fatal(err)
		}
		format, err := rdf.FormatOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rdf.Read(f, format, rdf.ReadOptions{Name: name, Scope: name}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return g
}

func TestDump(t *testing.T) {
	for _, fs := range [][]string{{"ias_hospital_room.owl"}, {"ias_hospital_room.owl", "roboearth.owl", "knowrob.owl"}, {"seed_joints.owl", "knowrob.owl"}, {"ias_semantic_map.owl"}, {"object_model.owl"}, {"ias_map_addons.owl"}} {
		im := Read(load(t, fs...), ReadOptions{})
		t.Log(fs)
		for _, it := range im.Items {
			t.Logf("%s in %q %+v", it.Name, it.Structure.Parent, it.Placement)
			d := *it.Description
			t.Logf("   %q %q %q %v %v %v %v", d.Kinds, d.Label, d.SpokenNames, d.Class, d.Box, d.Place, d.Properties)
		}
		t.Log(len(im.Poses))
		for _, j := range im.Joints {
			t.Logf("%+v", j)
		}
		for _, j := range im.Maps {
			t.Logf("%+v", j)
		}
		for _, j := range im.States {
			t.Logf("%+v", j)
		}
		for _, j := range im.Notes {
			t.Logf("NOTE %+v", j)
		}
	}
}
