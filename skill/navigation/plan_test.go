package navigation_test

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world/files"
)

const shared = "../../../shared/data"

func readMap(t testing.TB, name string) navigation.Grid {
	t.Helper()
	file := filepath.Join(shared, "maps", name+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	g, err := files.ReadGrid(text, file, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return navigation.GridOf(g)
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Lengths are those that Dijkstra's algorithm found; smoothed paths are not longer, and keep the
// radius wherever they left the path over cells.
func TestReferencePaths(t *testing.T) {
	tables, _ := filepath.Glob(filepath.Join(shared, "oracle/paths/*.csv"))
	if len(tables) == 0 {
		t.Skip("no reference paths")
	}
	exact, smooth := &navigation.GridPlanner{NoSmoothing: true}, &navigation.GridPlanner{}
	for _, table := range tables {
		f, err := os.Open(table)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(table[:len(table)-len(".csv")])
		maps := map[float64]*navigation.Costmap{}
		var cells, smoothed float64
		for _, row := range rows[1:] {
			radius := number(t, row[0])
			c := maps[radius]
			if c == nil {
				if c, err = navigation.NewCostmap(readMap(t, name), navigation.Inflation{Radius: radius}); err != nil {
					t.Fatal(err)
				}
				maps[radius] = c
			}
			start, goal := navigation.Point{X: number(t, row[1]), Y: number(t, row[2])}, navigation.Point{X: number(t, row[3]), Y: number(t, row[4])}
			path, err := exact.Plan(context.Background(), c, start, goal)
			if row[5] != "true" {
				failure, ok := errors.AsType[*navigation.Failure](err)
				if !ok || failure.Reason != navigation.Unreachable || engram.CodeOf(err) != engram.NotFound {
					t.Errorf("%s %v: %v", name, row, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %v: %v", name, row, err)
				continue
			}
			if want := number(t, row[6]); math.Abs(path.Length()-want) > 2e-6 {
				t.Errorf("%s %v: %.6f m", name, row, path.Length())
			}
			short, err := smooth.Plan(context.Background(), c, start, goal)
			if err != nil {
				t.Fatal(err)
			}
			if short.Length() > path.Length()+1e-9 || short[0] != start || short[len(short)-1] != goal {
				t.Errorf("%s %v: %.6f m smoothed, %.6f m before", name, row, short.Length(), path.Length())
			}
			checkClear(t, c, short)
			cells, smoothed = cells+path.Length(), smoothed+short.Length()
		}
		t.Logf("%s: %.1f m over cells, %.1f m smoothed", name, cells, smoothed)
	}
}

// checkClear looks at a path in steps of a tenth of a cell.
func checkClear(t testing.TB, c *navigation.Costmap, path navigation.Path) {
	t.Helper()
	for i := 1; i < len(path); i++ {
		a, b := path[i-1], path[i]
		steps := int(a.Distance(b)/c.Resolution*10) + 1
		for k := range steps + 1 {
			f := float64(k) / float64(steps)
			p := navigation.Point{X: a.X + f*(b.X-a.X), Y: a.Y + f*(b.Y-a.Y)}
			if !c.Enterable(p) {
				t.Errorf("the path leads through %v, which cannot be entered", p)
				return
			}
		}
	}
}

// referencePaths returns the reachable rows of a table.
func referencePaths(t testing.TB, name string) (ends [][2]navigation.Point) {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, "oracle/paths", name+".csv"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if row[5] == "true" {
			ends = append(ends, [2]navigation.Point{{X: number(t, row[1]), Y: number(t, row[2])}, {X: number(t, row[3]), Y: number(t, row[4])}})
		}
	}
	return ends
}

// BenchmarkPlan plans between the ends of all reference paths on willow in turn: on a cost map that is there, and
// with making the cost map of the grid. The longest of a round is told apart.
func BenchmarkPlan(b *testing.B) {
	const name = "willow-2010-02-18-0.10"
	g, ends, i := readMap(b, name), referencePaths(b, name), navigation.Inflation{Radius: 0.3}
	for _, c := range []struct {
		name    string
		planner *navigation.GridPlanner
		anew    bool
	}{{"cells", &navigation.GridPlanner{NoSmoothing: true}, false}, {"smoothed", &navigation.GridPlanner{}, false}, {"anew", &navigation.GridPlanner{}, true}} {
		b.Run(c.name, func(b *testing.B) {
			m, err := navigation.NewCostmap(g, i)
			if err != nil {
				b.Fatal(err)
			}
			longest := time.Duration(0)
			for k := 0; b.Loop(); k++ {
				began := time.Now()
				if c.anew {
					if m, err = navigation.NewCostmap(g, i); err != nil {
						b.Fatal(err)
					}
				}
				e := ends[k%len(ends)]
				if _, err := c.planner.Plan(b.Context(), m, e[0], e[1]); err != nil {
					b.Fatal(err)
				}
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest)/1e6, "ms-longest")
		})
	}
}
