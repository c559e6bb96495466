package plan_test

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// sharedMaps are the maps of which there are reference paths.
var sharedMaps = []string{"depot", "tb3_sandbox", "willow-2010-02-18-0.10"}

// sharedGrid reads one of the shared maps.
func sharedGrid(t testing.TB, name string) *grid.Grid {
	t.Helper()
	file := testkit.Shared(t, "maps", name+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := files.ReadGrid(text, file, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return grid.FromFile(g)
}

// query is a line of the reference: the length of the shortest path, if there is one.
type query struct {
	radius    float64
	from, to  grid.Point
	reachable bool
	length    float64
}

// queries reads the reference of a shared map.
func queries(t testing.TB, name string) (all []query) {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, "oracle", "paths", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		number := func(column int) float64 {
			v, err := strconv.ParseFloat(row[column], 64)
			if err != nil && row[column] != "" {
				t.Fatal(err)
			}
			return v
		}
		all = append(all, query{number(0), grid.Point{X: number(1), Y: number(2)}, grid.Point{X: number(3), Y: number(4)}, row[5] == "true", number(6)})
	}
	if len(all) < 10 {
		t.Fatalf("%s has only %d queries", name, len(all))
	}
	return all
}

// costmap builds a cost map for a round robot.
func costmap(t testing.TB, g *grid.Grid, radius float64) *grid.Costmap {
	t.Helper()
	m, err := grid.New(g, grid.Config{Footprint: grid.Footprint{Radius: radius}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOracle(t *testing.T) {
	for _, name := range sharedMaps {
		t.Run(name, func(t *testing.T) {
			g := sharedGrid(t, name)
			for _, q := range queries(t, name) {
				checkQuery(t, costmap(t, g, q.radius), q)
			}
		})
	}
}

// checkQuery compares the paths of a query with the reference.
func checkQuery(t *testing.T, m *grid.Costmap, q query) {
	t.Helper()
	raw, err := plan.Find(t.Context(), m, q.from, q.to, plan.Options{NoSmoothing: true})
	if !q.reachable {
		if !errors.Is(err, plan.ErrUnreachable) || engram.CodeOf(err) != engram.NotFound {
			t.Errorf("%v to %v: %v, %v; it is unreachable", q.from, q.to, raw, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%v to %v: %v", q.from, q.to, err)
		return
	}
	if math.Abs(raw.Length-q.length) > 1e-6 {
		t.Errorf("%v to %v: %.7f m, and the shortest path has %.7f m", q.from, q.to, raw.Length, q.length)
	}
	smooth, err := plan.Find(t.Context(), m, q.from, q.to, plan.Options{})
	if err != nil || smooth.Length > raw.Length || len(smooth.Points) > len(raw.Points) {
		t.Errorf("%v to %v: after smoothing %v, %v; before %.7f m", q.from, q.to, smooth, err, raw.Length)
		return
	}
	checkClearance(t, m, smooth)
}

// checkClearance looks at points of a path that lie densely, and at its ends.
func checkClearance(t rapid.TB, m *grid.Costmap, p *plan.Path) {
	t.Helper()
	length := 0.0
	for i := range p.Points[1:] {
		a, b := p.Points[i], p.Points[i+1]
		length += a.Distance(b)
		n := int(a.Distance(b)/m.Grid().Resolution*20) + 2
		for k := range n + 1 {
			at := a.Between(b, float64(k)/float64(n))
			if onBorder(m.Grid().PositionOf(at)) {
				continue
			}
			if c, ok := m.Grid().CellOf(at); !ok || !m.CanEnter(c) {
				t.Fatalf("the path goes through %v, where the robot cannot be: %v", at, p.Points)
			}
		}
	}
	if math.Abs(length-p.Length) > 1e-9 {
		t.Fatalf("its lines are %.12f m long, and its length is %.12f m", length, p.Length)
	}
}

// onBorder tells whether rounding decides in which cell a position is.
func onBorder(p grid.Position) bool {
	near := func(x float64) bool { return math.Abs(x-math.Round(x)) < 1e-6 }
	return near(p.U) || near(p.V)
}

// BenchmarkPlan plans all queries of the reference, with the cost map that is there and with one that
// is built for each. Beside the mean it tells the median and the slowest query, each the mean of its
// rounds.
func BenchmarkPlan(b *testing.B) {
	for _, name := range sharedMaps {
		g, all := sharedGrid(b, name), queries(b, name)
		ready := costmap(b, g, all[0].radius)
		b.Run(name+"/costmap", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				costmap(b, g, all[0].radius)
			}
		})
		b.Run(name+"/plan", func(b *testing.B) {
			benchmarkQueries(b, all, func(query) *grid.Costmap { return ready })
		})
		b.Run(name+"/both", func(b *testing.B) {
			benchmarkQueries(b, all, func(q query) *grid.Costmap { return costmap(b, g, q.radius) })
		})
	}
}

// benchmarkQueries plans each query as often, with maps that are asked for each time.
func benchmarkQueries(b *testing.B, all []query, m func(query) *grid.Costmap) {
	b.ReportAllocs()
	took := make([]time.Duration, len(all))
	rounds := 0
	for b.Loop() {
		for i, q := range all {
			start := time.Now()
			if _, err := plan.Find(b.Context(), m(q), q.from, q.to, plan.Options{}); err != nil && q.reachable {
				b.Fatal(err)
			}
			took[i] += time.Since(start)
		}
		rounds++
	}
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	slices.Sort(took)
	report := func(t time.Duration, of int, unit string) {
		b.ReportMetric(float64(t.Microseconds())/1000/float64(of), unit)
	}
	report(sum, rounds*len(all), "ms/query")
	report(took[len(took)/2], rounds, "median-ms")
	report(took[len(took)-1], rounds, "worst-ms")
}

// BenchmarkMoveOnDepot moves a table and makes the cost map with it.
func BenchmarkMoveOnDepot(b *testing.B) {
	g := sharedGrid(b, "depot")
	builder, err := grid.NewBuilder(g, grid.Config{Footprint: grid.Footprint{Radius: 0.25}, Inflation: 0.55, Decay: 3})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		x := 5 + float64(i%50)*0.1
		if _, err := builder.Put("table", []grid.Point{{X: x, Y: 0}, {X: x + 1, Y: 0}, {X: x + 1, Y: 0.6}, {X: x, Y: 0.6}}); err != nil {
			b.Fatal(err)
		}
		builder.Costmap()
		i++
	}
}
