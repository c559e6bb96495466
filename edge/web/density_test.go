package web_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// density is a piece as a page reads it.
type density struct {
	ID, From, To, First, Last string
	Count                     []int
	Gaps                      []gap
}

type gap struct {
	ID, Reason, From, To string
	Count                int
}

const (
	joint = "Test/Any/p/joint"
	start = engram.Time(1_700_000_000_000_000_000)
)

// memory is a server whose working memory keeps a few snapshots of each entity, and with a long-term memory the rest.
func memory(t testing.TB, longTerm bool, keep int) *server.Server {
	c := server.Config{Log: testkit.Quiet, Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{
		{ID: engram.MustID("Test/Any"), MaxAhead: engram.AnyAhead, History: engram.Bounds{MaxCount: keep}},
	}}}}
	if longTerm {
		store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		c.Store = store
	}
	return serving.NewOf(t, c)
}

// fill commits a value for each time.
func fill(t testing.TB, svc *server.Server, entity string, times []engram.Time, value func(i int) any) {
	t.Helper()
	var updates []engram.EntityUpdate
	for i, at := range times {
		updates = append(updates, testkit.Update(t, entity, at, value(i)))
		if len(updates) == 1000 || i == len(times)-1 {
			testkit.Commit(t, svc, updates...)
			updates = nil
		}
	}
}

// everywhere runs a test with the working memory alone, and where it has little.
func everywhere(t *testing.T, run func(t *testing.T, svc *server.Server)) {
	t.Run("working memory", func(t *testing.T) { run(t, memory(t, false, 0)) })
	t.Run("long-term memory", func(t *testing.T) { run(t, memory(t, true, 3)) })
}

// However many snapshots there are and wherever they lie, each is in its bin.
func TestDensity(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		random := rand.New(rand.NewPCG(1, 2))
		var times []engram.Time
		at := start
		for i := range 30_000 { // more than are read at once
			at += 1 + engram.Time(random.Int64N(1000))
			if i%9000 == 8999 {
				at += 1_000_000 // a gap
			}
			times = append(times, at)
		}
		fill(t, svc, joint, times, func(i int) any { return float64(i) })
		const n = 17
		from, to := times[100]+1, times[29_000]
		got := read[[]density](p, "density", "id", joint, "from", text(from), "to", text(to), "n", "17")
		if len(got) != 1 || got[0].From != text(from) || got[0].To != text(to) || got[0].First != text(times[0]) || got[0].Last != text(times[len(times)-1]) || len(got[0].Gaps) != 0 {
			t.Fatalf("%+v", got)
		}
		want := make([]int, n)
		for _, at := range times {
			if at >= from && at < to {
				// At most 30 million nanoseconds times 17: no digit is lost.
				want[int64(at-from)*n/int64(to-from)]++
			}
		}
		if !slices.Equal(got[0].Count, want) {
			t.Errorf("%v, want %v", got[0].Count, want)
		}
		// Everything, if nothing else is said.
		if got := read[[]density](p, "density", "id", joint, "n", "1"); got[0].Count[0] != len(times) || got[0].From != text(times[0]) || got[0].To != text(times[len(times)-1]+1) {
			t.Errorf("%+v", got)
		}
		// As of a time before all there is nothing.
		if got := read[[]density](p, "density", "id", joint, "n", "1", "asof", text(start)); got[0].Count[0] != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestDensityTellsOfWhatIsMissing(t *testing.T) {
	svc := memory(t, false, 10)
	p := open(t, svc)
	var times []engram.Time
	for i := range 100 {
		times = append(times, start.Add(time.Duration(i)*time.Second))
	}
	fill(t, svc, joint, times, func(i int) any { return float64(i) })
	d := read[[]density](p, "density", "id", joint, "from", text(start), "to", text(start.Add(100*time.Second)), "n", "10")[0]
	if !slices.Equal(d.Count, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 10}) || len(d.Gaps) != 1 || d.Gaps[0].Reason != engram.MissingEvicted || d.Gaps[0].Count != 90 || d.Gaps[0].From != text(start) {
		t.Errorf("%+v", d)
	}
}

func TestDensityRefuses(t *testing.T) {
	svc := memory(t, false, 0)
	p := open(t, svc)
	fill(t, svc, joint, []engram.Time{start}, func(int) any { return 1.0 })
	for name, query := range map[string][]string{
		"no entity":       nil,
		"a segment":       {"id", "Test/Any"},
		"no ID":           {"id", "///"},
		"too many bins":   {"id", joint, "n", "1000000000"},
		"no bins":         {"id", joint, "n", "0"},
		"no time":         {"id", joint, "from", "never"},
		"the wrong order": {"id", joint, "from", text(start), "to", text(start - 1)},
		"no belief":       {"id", joint, "asof", "x"},
	} {
		if r := p.refused(http.StatusBadRequest, "density", query...); r.Message == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	var many []string
	for range 65 {
		many = append(many, "id", joint)
	}
	p.refused(http.StatusBadRequest, "density", many...)
	if d := read[[]density](p, "density", "id", "Test/Any/p/nobody", "id", joint); len(d) != 1 || d[0].ID != joint {
		t.Errorf("%+v", d)
	}
}
