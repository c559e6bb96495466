package explore

import (
	"math"
	"os"
	"testing"

	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/world/files"
)

func maps(t testing.TB) map[string]*hallway.Grid {
	out := map[string]*hallway.Grid{"default": hallway.Default()}
	file := "../../../../shared/data/maps/depot.yaml"
	if text, err := os.ReadFile(file); err == nil {
		f, err := files.ReadGrid(text, file, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		out["depot"] = hallway.OfFile(f)
	}
	return out
}

// Scouts that jump from one viewpoint to the next see all of the floor, two in about half the
// way of one, and one goes on when the other has gone.
func TestCoverage(t *testing.T) {
	for name, g := range maps(t) {
		w, err := hallway.New(g, 1, "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		explore := func(scouts int, dies float64) (way float64) {
			s := New(g, w.Truth("a").Point, hallway.CameraView, hallway.CameraRange)
			at := []hallway.Pose{w.Truth("a"), w.Truth("b")}[:scouts]
			gone := make([]float64, scouts)
			for range 1000 {
				if s.Left() == 0 {
					break
				}
				i := 0 // who has gone less is the next
				if scouts == 2 && gone[1] < gone[0] {
					i = 1
				}
				if dies > 0 && scouts == 2 && gone[i] > dies {
					at, scouts, i = at[:1], 1, 0
				}
				var others []hallway.Point
				for j := range at {
					if j != i {
						others = append(others, at[j].Point)
					}
				}
				to, ok := s.Next(at[i], others, nil)
				if !ok {
					break
				}
				c, _ := s.cell(to.Point)
				gone[i] += s.distances(at[i].Point)[c]/0.9 + 0.7
				for k := range 10 { // what is seen on the way, if that is straight
					u := float64(k) / 10
					p := hallway.Point{X: at[i].X*(1-u) + to.X*u, Y: at[i].Y*(1-u) + to.Y*u}
					if g.Sees(at[i].Point, to.Point) {
						s.Look(hallway.Pose{Point: p, Yaw: math.Atan2(to.Y-at[i].Y, to.X-at[i].X)})
					}
				}
				at[i] = to.Pose
				s.Look(to.Pose)
				if to.Around {
					gone[i] += AroundTime
					for k := range 8 {
						s.Look(hallway.Pose{Point: to.Point, Yaw: to.Yaw + float64(k)*math.Pi/4})
					}
				}
			}
			if s.Left() > 0.02 {
				t.Errorf("%s: %d scouts left %.0f %%", name, scouts, 100*s.Left())
			}
			return max(gone[0], gone[len(gone)-1])
		}
		one, two, died := explore(1, 0), explore(2, 0), explore(2, 15)
		t.Logf("%s: one scout takes %.0f s, two %.0f s, one whose partner dies %.0f s", name, one, two, died)
		if two > 0.7*one || died > 1.2*one {
			t.Errorf("%s: one scout takes %.0f s, two %.0f s, one whose partner dies %.0f s", name, one, two, died)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	g := maps(b)["depot"]
	if g == nil {
		b.Skip("no shared data")
	}
	w, _ := hallway.New(g, 1, "a", "b")
	s := New(g, w.Truth("a").Point, hallway.CameraView, hallway.CameraRange)
	for b.Loop() {
		s.Next(w.Truth("a"), []hallway.Point{w.Truth("b").Point}, nil)
	}
}
