package computed_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/computed"
	"github.com/seed-301d4374/engram/knowledge/rdf"
)

func load(t testing.TB, names ...string) *knowledge.View {
	t.Helper()
	g := knowledge.NewGraph()
	for _, name := range names {
		f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "knowledge", "maps", name))
		if err != nil {
			t.Skip("the maps are not here: ", err)
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

func TestDump(t *testing.T) {
	for _, file := range []string{"ias_semantic_map.owl", "ias_hospital_room.owl"} {
		v := load(t, file, "knowrob.owl", "owl.owl")
		c := computed.New(v)
		s := c.Scene()
		for b := range s.Bodies() {
			t.Log(b.Name, b.Pose, b.Box.Size, b.Place)
		}
		ps := slices.Sorted(c.Properties())
		for _, p := range ps {
			seq, _ := c.Compute(rdf.Term{}, p, rdf.Term{})
			n := 0
			for d := range seq {
				if n++; n < 12 {
					t.Log(p, d.S.Value, d.O.Value, d.Probability)
				}
			}
			t.Log(p, n)
		}
	}
}
