package web_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/server"
)

// series is what a page is answered.
type series struct {
	ID, From, To string
	N            int
	Series       []struct {
		Path, Error string
		Before      *struct {
			Time  string
			Value float64
		}
		Odd                          int
		Bin                          []int
		FirstTime, LastTime, Count   []int64
		First, Last, Low, High, Mean []float64
	}
	Gaps []gap
}

type gap struct {
	ID, Reason, From, To string
	Count                int
}

const joint = "Test/Any/p/joint"

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

func TestSeries(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		// Ten seconds at 100 Hz, a gap of ten seconds, and one value.
		var times []engram.Time
		for i := range 1000 {
			times = append(times, start.Add(time.Duration(i)*10*time.Millisecond))
		}
		times = append(times, start.Add(25*time.Second))
		fill(t, svc, joint, times, func(i int) any {
			return map[string]any{"q": []any{float64(i), -float64(i)}, "on": i%2 == 1, "took": time.Duration(i) * time.Second}
		})
		to := start.Add(30 * time.Second)
		got := read[series](p, "series", "id", joint, "path", "q[1]", "path", "on", "path", "took", "path", "missing", "from", text(start), "to", text(to), "n", "30")
		if got.ID != joint || got.From != text(start) || got.To != text(to) || got.N != 30 || len(got.Series) != 4 || len(got.Gaps) != 0 {
			t.Fatalf("%+v", got)
		}
		q := got.Series[0]
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 25}; !slices.Equal(q.Bin, want) || q.Before != nil {
			t.Errorf("bins %v, %v", q.Bin, q.Before)
		}
		if q.First[1] != -100 || q.Last[1] != -199 || q.Low[1] != -199 || q.High[1] != -100 || q.Mean[1] != -149.5 || q.Count[1] != 100 ||
			q.FirstTime[1] != 1e9 || q.LastTime[1] != 1.99e9 || q.First[10] != -1000 || q.FirstTime[10] != 25e9 || q.Count[10] != 1 {
			t.Errorf("%+v", q)
		}
		if on := got.Series[1]; on.Mean[0] != 0.5 || on.High[0] != 1 {
			t.Errorf("%+v", on)
		}
		if took := got.Series[2]; took.Last[0] != 99 {
			t.Errorf("%+v", took)
		}
		if len(got.Series[3].Bin) != 0 {
			t.Errorf("%+v", got.Series[3])
		}
		// What was in force before.
		got = read[series](p, "series", "id", joint, "path", "q[0]", "from", text(start.Add(12*time.Second)), "to", text(to), "n", "30")
		if q := got.Series[0]; q.Before == nil || q.Before.Value != 999 || q.Before.Time != text(times[999]) || len(q.Bin) != 1 || q.First[0] != 1000 || q.Low != nil {
			t.Errorf("%+v", q)
		}
		// Everything, if nothing else is said.
		got = read[series](p, "series", "id", joint, "path", "q[0]", "n", "1")
		if q := got.Series[0]; got.From != text(start) || got.To != text(times[1000]+1) || q.Count[0] != 1001 {
			t.Errorf("%+v", got)
		}
	})
}

// However many snapshots there are and wherever they lie, each is in its bin.
func TestSeriesHasAll(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		random := rand.New(rand.NewPCG(1, 2))
		var times []engram.Time
		at := start
		for range 20 {
			at = at.Add(time.Duration(random.ExpFloat64() * float64(10*time.Minute)))
			step := time.Duration(1 + random.Int64N(int64(20*time.Millisecond)))
			for range random.IntN(5000) { // so many that several read a part each
				at = at.Add(step)
				times = append(times, at)
			}
		}
		fill(t, svc, joint, times, func(i int) any { return float64(i) })
		from, to := times[len(times)/7], times[len(times)-9]
		const n = 777
		count, sum := make([]int64, n), 0.0
		inside := 0
		for i, at := range times {
			if at >= from && at < to {
				count[int(float64(at-from)/float64(to-from)*n)]++
				sum += float64(i)
				inside++
			}
		}
		got := read[series](p, "series", "id", joint, "path", "", "from", text(from), "to", text(to), "n", fmt.Sprint(n)).Series[0]
		var total int64
		all := 0.0
		for i, bin := range got.Bin {
			if math.Abs(float64(count[bin]-got.Count[i])) > 1 { // of a time that lies between two bins
				t.Errorf("bin %d has %d, want %d", bin, got.Count[i], count[bin])
			}
			total += got.Count[i]
			all += got.Mean[i] * float64(got.Count[i])
		}
		if total != int64(inside) || math.Abs(all-sum) > 1e-6*sum {
			t.Errorf("%d values of %d, sum %v of %v", total, inside, all, sum)
		}
		d := read[[]density](p, "density", "id", joint, "from", text(from), "to", text(to), "n", fmt.Sprint(n))[0]
		var dense int64
		for i, bin := range got.Bin {
			if int64(d.Count[bin]) != got.Count[i] {
				t.Errorf("bin %d has %d snapshots and %d values", bin, d.Count[bin], got.Count[i])
			}
		}
		for _, c := range d.Count {
			dense += int64(c)
		}
		if dense != total || d.First != text(times[0]) || d.Last != text(times[len(times)-1]) {
			t.Error(dense, total, d.First, d.Last)
		}
	})
}

type density struct {
	ID, From, To, First, Last string
	Count                     []int
	Gaps                      []gap
}

func TestSeriesOfOddValues(t *testing.T) {
	svc := memory(t, false, 0)
	p := open(t, svc)
	values := []any{1.5, math.NaN(), math.Inf(1), "text", nil, 2.5, int32(7)}
	var times []engram.Time
	for i := range values {
		times = append(times, start+engram.Time(i))
	}
	fill(t, svc, joint, times, func(i int) any { return map[string]any{"v": values[i]} })
	got := read[series](p, "series", "id", joint, "path", "v", "n", "1").Series[0]
	if got.Odd != 1 || got.Count[0] != 3 || got.High[0] != 7 || got.Last[0] != 7 {
		t.Errorf("%+v", got)
	}
}

func TestSeriesRefuses(t *testing.T) {
	svc := memory(t, false, 0)
	p := open(t, svc)
	fill(t, svc, joint, []engram.Time{start}, func(int) any { return 1.0 })
	p.refused(http.StatusBadRequest, "series", "id", joint)
	p.refused(http.StatusBadRequest, "series", "id", "Test/Any", "path", "a")
	p.refused(http.StatusBadRequest, "series", "id", joint, "path", "a", "n", "1000000000")
	p.refused(http.StatusBadRequest, "series", "id", joint, "path", "a", "from", "never")
	p.refused(http.StatusBadRequest, "series", "id", joint, "path", "a", "from", text(start), "to", text(start-1))
	p.refused(http.StatusNotFound, "series", "id", "Test/Any/p/nobody", "path", "a")
	p.refused(http.StatusBadRequest, "density")
	if d := read[[]density](p, "density", "id", "Test/Any/p/nobody", "id", joint); len(d) != 1 || d[0].ID != joint {
		t.Errorf("%+v", d)
	}
	// A member that no payload has is told beside the others.
	if got := read[series](p, "series", "id", joint, "path", "a..b", "path", "v"); !strings.Contains(got.Series[0].Error, "a name is missing") || got.Series[1].Error != "" {
		t.Errorf("%+v", got)
	}
}

func TestSeriesAsCSV(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		var times []engram.Time
		for i := range 20_000 {
			times = append(times, start+engram.Time(i)*1001)
		}
		fill(t, svc, joint, times, func(i int) any {
			if i == 5 {
				return map[string]any{"a,b": 0.25}
			}
			return map[string]any{"a,b": float64(i), "c": -float64(i)}
		})
		res := p.piece("series", "id", joint, "path", `["a,b"]`, "path", "c", "csv", "1")
		rows, err := csv.NewReader(res.Body).ReadAll()
		if err != nil || res.StatusCode != http.StatusOK || len(rows) != len(times)+1 {
			t.Fatal(res.Status, len(rows), err)
		}
		if !slices.Equal(rows[0], []string{"time", `["a,b"]`, "c"}) || !slices.Equal(rows[6][1:], []string{"0.25", ""}) || res.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Error(rows[0], rows[6], res.Header)
		}
		for i, row := range rows[1:] {
			if at, err := engram.ParseTime(row[0]); err != nil || at != times[i] {
				t.Fatal(row, err)
			}
			if v, err := strconv.ParseFloat(row[1], 64); i != 5 && (err != nil || v != float64(i)) {
				t.Fatal(row, err)
			}
		}
	})
}

func TestDensityTellsWhatIsMissing(t *testing.T) {
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

func TestMembers(t *testing.T) {
	svc := memory(t, false, 0)
	p := open(t, svc)
	defs, err := idf.CompileXML(idf.Source{fstest.MapFS{"Arm.xml": {Data: []byte(`<AronTypeDefinition><GenerateTypes>
		<IntEnum name='Mood'><EnumValue key='calm' value='0'/><EnumValue key='busy' value='3'/></IntEnum>
		<Object name='Arm'>
			<ObjectChild key='name'><List><String/></List></ObjectChild>
			<!-- Joint positions: rad. -->
			<ObjectChild key='position'><List><Double/></List></ObjectChild>
			<ObjectChild key='limit'><Dict><Float/></Dict></ObjectChild>
			<ObjectChild key='mood'><Mood/></ObjectChild>
			<ObjectChild key='charge'><Double optional='true'/></ObjectChild>
			<ObjectChild key='note'><String/></ObjectChild>
		</Object></GenerateTypes></AronTypeDefinition>`)}}}, "Arm.xml")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(defs, func(d engram.TypeDef) bool { return d.Name == "Arm" })
	typ, err := idf.ParseType(defs[at])
	if err != nil {
		t.Fatal(err)
	}
	b, err := typ.Encode(map[string]any{"name": []any{"elbow", "wrist"}, "position": []any{0.5, 0.0}, "limit": map[string]any{"the elbow": float32(2)}, "mood": "busy", "note": "n"})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.AddType(t.Context(), defs[at]); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID(joint), Time: start, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "Arm", Bytes: b})}})
	type member struct {
		Path, Type, Unit, Label, Doc string
		Keys                         map[string]string
	}
	got := read[struct {
		ID, Type string
		Members  []member
	}](p, "members", "id", joint)
	want := []member{
		{Path: "position[0]", Type: "Double", Label: "elbow", Doc: "Joint positions: rad."},
		{Path: "position[1]", Type: "Double", Label: "wrist", Doc: "Joint positions: rad."},
		{Path: `limit["the elbow"]`, Type: "Float"},
		{Path: "mood", Type: "Mood", Keys: map[string]string{"0": "calm", "3": "busy"}},
		{Path: "charge", Type: "Double"},
	}
	if fmt.Sprint(got.Members) != fmt.Sprint(want) || got.Type != "Arm" {
		t.Errorf("%+v, want %+v", got.Members, want)
	}
	var query []string
	for _, m := range want {
		query = append(query, "path", m.Path)
	}
	for i, s := range read[series](p, "series", append(query, "id", joint)...).Series {
		if want := [][]float64{{0.5}, {0}, {2}, {3}, nil}[i]; !slices.Equal(s.First, want) {
			t.Errorf("%s is %v, want %v", s.Path, s.First, want)
		}
	}
	p.refused(http.StatusNotFound, "members", "id", "Test/Any/p/nobody")
}
