package web_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
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
		None                       int
		Bin, EndBin                []int
		EndTime                    []int64
		FirstTime, LastTime, Count []int64
		First, Last, Low, High     []float64
	}
	Gaps []gap
}

// told waits until the server tells of an entity's first and last snapshot: what is recorded counts a moment after it was
// committed.
func told(t testing.TB, svc *server.Server, entity string, first, last engram.Time) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		stats, err := svc.Stats(t.Context(), engram.MustPattern(entity), engram.LevelEntity)
		if err != nil {
			return err.Error(), false
		}
		for _, s := range stats {
			if s.ID.Level() != engram.LevelEntity {
				continue
			}
			oldest := s.First
			if s.Disk.Snapshots > 0 {
				oldest = min(oldest, s.Disk.First)
			}
			return fmt.Sprintf("the first is at %v", oldest), s.Last == last && oldest == first
		}
		return "there is no such entity", false
	})
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
		told(t, svc, joint, times[0], times[len(times)-1])
		to := start.Add(30 * time.Second)
		got := read[series](p, "series", "id", joint, "path", "q[1]", "path", "on", "path", "took", "path", "missing", "from", text(start), "to", text(to), "n", "30")
		if got.ID != joint || got.From != text(start) || got.To != text(to) || got.N != 30 || len(got.Series) != 4 || len(got.Gaps) != 0 {
			t.Fatalf("%+v", got)
		}
		q := got.Series[0]
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 25}; !slices.Equal(q.Bin, want) || q.Before != nil {
			t.Errorf("bins %v, %v", q.Bin, q.Before)
		}
		if q.First[1] != -100 || q.Last[1] != -199 || q.Low[1] != -199 || q.High[1] != -100 || q.Count[1] != 100 ||
			q.FirstTime[1] != 1e9 || q.LastTime[1] != 1.99e9 || q.First[10] != -1000 || q.FirstTime[10] != 25e9 || q.Count[10] != 1 {
			t.Errorf("%+v", q)
		}
		if on := got.Series[1]; on.Low[0] != 0 || on.First[0] != 0 || on.High[0] != 1 {
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
		type expected struct{ count, first, last int64 }
		want := map[int]expected{}
		for i, at := range times {
			if at < from || at >= to {
				continue
			}
			// floor((at-from)*n / (to-from)), whose product is larger than 64 bits.
			bin := new(big.Int).Mul(big.NewInt(int64(at-from)), big.NewInt(n))
			b := int(bin.Div(bin, big.NewInt(int64(to-from))).Int64())
			e, there := want[b]
			if !there {
				e.first = int64(i)
			}
			e.count, e.last = e.count+1, int64(i)
			want[b] = e
		}
		got := read[series](p, "series", "id", joint, "path", "", "from", text(from), "to", text(to), "n", fmt.Sprint(n)).Series[0]
		if len(got.Bin) != len(want) {
			t.Errorf("%d bins have values, not %d", len(got.Bin), len(want))
		}
		for i, bin := range got.Bin {
			e := want[bin]
			if got.Count[i] != e.count || got.First[i] != float64(e.first) || got.Low[i] != float64(e.first) || got.Last[i] != float64(e.last) || got.High[i] != float64(e.last) ||
				got.FirstTime[i] != int64(times[e.first]-from) || got.LastTime[i] != int64(times[e.last]-from) {
				t.Errorf("bin %d has %d values, %v to %v, not %+v", bin, got.Count[i], got.First[i], got.Last[i], e)
			}
		}
	})
}

// NaN, infinities and members that are not there are no values: from the first of them on no value is in force.
func TestSeriesOfOddValues(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		values := []any{1.5, math.NaN(), math.Inf(1), 2.5, int32(7), "text", nil, nil, math.Inf(-1), math.NaN(), uint64(9), 4.0}
		var times []engram.Time
		for i := range values {
			times = append(times, start+engram.Time(i))
		}
		fill(t, svc, joint, times, func(i int) any { return map[string]any{"v": values[i]} })
		span := []string{"id", joint, "path", "v", "to", text(start + 12), "from"}
		all := read[series](p, "series", append(span, text(start), "n", "1")...).Series[0]
		if all.None != 7 || all.Count[0] != 5 || all.High[0] != 9 || all.Last[0] != 4 || len(all.EndBin) != 0 {
			t.Errorf("in one bin: %+v", all)
		}
		got := read[series](p, "series", append(span, text(start), "n", "4")...).Series[0] // of three snapshots each
		if !slices.Equal(got.Bin, []int{0, 1, 3}) || !slices.Equal(got.Count, []int64{1, 2, 2}) || !slices.Equal(got.Low, []float64{1.5, 2.5, 4}) {
			t.Errorf("in four bins: %+v", got)
		}
		if !slices.Equal(got.EndBin, []int{0, 1, 2}) || !slices.Equal(got.EndTime, []int64{1, 5, 6}) {
			t.Errorf("no value is in force from %v in %v on", got.EndTime, got.EndBin)
		}
		// Nor is there one before a time that begins among them.
		got = read[series](p, "series", append(span, text(times[7]), "n", "1")...).Series[0]
		if got.Before != nil || got.First[0] != 9 {
			t.Errorf("%+v", got)
		}
	})
}

// A value at the very end of a bin lies in the next one, and what lies at the end of the time is not in it.
func TestSeriesAtTheEdges(t *testing.T) {
	svc := memory(t, false, 0)
	p := open(t, svc)
	times := []engram.Time{start - 1, start, start + 9, start + 10, start + 29, start + 30}
	fill(t, svc, joint, times, func(i int) any { return float64(i) })
	got := read[series](p, "series", "id", joint, "path", "", "from", text(start), "to", text(start+30), "n", "3").Series[0]
	if !slices.Equal(got.Bin, []int{0, 1, 2}) || !slices.Equal(got.First, []float64{1, 3, 4}) || !slices.Equal(got.Last, []float64{2, 3, 4}) ||
		!slices.Equal(got.LastTime, []int64{9, 10, 29}) || got.Before == nil || got.Before.Value != 0 {
		t.Errorf("%+v", got)
	}
	// Bins of less than a nanosecond.
	got = read[series](p, "series", "id", joint, "path", "", "from", text(start+9), "to", text(start+11), "n", "4").Series[0]
	if !slices.Equal(got.Bin, []int{0, 2}) || !slices.Equal(got.First, []float64{2, 3}) {
		t.Errorf("%+v", got)
	}
	// No time at all.
	if got := read[series](p, "series", "id", joint, "path", "", "from", text(start), "to", text(start), "n", "4").Series[0]; len(got.Bin) != 0 {
		t.Errorf("%+v", got)
	}
	// All time that there is.
	if got := read[series](p, "series", "id", joint, "path", "", "from", text(engram.MinTime), "to", text(engram.MaxTime), "n", "2").Series[0]; got.Count[0] != 6 && got.Count[1] != 6 {
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
		told(t, svc, joint, times[0], times[len(times)-1])
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

// As CSV whole numbers have all their digits, also those that a plot rounds.
func TestSeriesAsCSVRoundsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		fill(t, svc, joint, []engram.Time{start, start + 1}, func(i int) any {
			return map[string]any{"a": int64(1<<53+1) * int64(1-2*i), "b": uint64(math.MaxUint64), "c": 1e300, "d": int64(7)}
		})
		told(t, svc, joint, start, start+1)
		rows, err := csv.NewReader(p.piece("series", "id", joint, "path", "a", "path", "b", "path", "c", "path", "d", "csv", "1").Body).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatal(rows, err)
		}
		for i, want := range []string{"9007199254740993", "-9007199254740993"} {
			if got := rows[i+1][1:]; !slices.Equal(got, []string{want, "18446744073709551615", "1e+300", "7"}) {
				t.Errorf("%q", got)
			}
		}
	})
}

// Two write the joints of one robot, each those that it has: a joint is followed by its name, and what one of them says ends
// nothing of the other's.
func TestSeriesByName(t *testing.T) {
	everywhere(t, func(t *testing.T, svc *server.Server) {
		p := open(t, svc)
		var times []engram.Time
		for i := range 10 {
			times = append(times, start+engram.Time(i))
		}
		fill(t, svc, joint, times, func(i int) any {
			switch {
			case i == 8: // It says that it does not know.
				return map[string]any{"name": []any{"laser"}, "q": []any{math.NaN()}}
			case i%4 == 0:
				return map[string]any{"name": []any{"laser"}, "q": []any{float64(i)}}
			}
			return map[string]any{"name": []any{"left", "right"}, "q": []any{-float64(i), 100.0}}
		})
		told(t, svc, joint, times[0], times[9])
		span := []string{"id", joint, "path", `q["laser"]`, "path", `q["left"]`, "path", `q["nobody"]`, "path", "q[0]", "to", text(start + 10), "from"}
		got := read[series](p, "series", append(span, text(start), "n", "10")...).Series
		laser, left, nobody, first := got[0], got[1], got[2], got[3]
		if !slices.Equal(laser.First, []float64{0, 4}) || !slices.Equal(laser.Bin, []int{0, 4}) || !slices.Equal(laser.EndBin, []int{8}) || laser.None != 1 {
			t.Errorf("%+v", laser)
		}
		if !slices.Equal(left.First, []float64{-1, -2, -3, -5, -6, -7, -9}) || len(left.EndBin) != 0 || left.None != 0 {
			t.Errorf("%+v", left)
		}
		if len(nobody.Bin) != 0 || len(nobody.EndBin) != 0 {
			t.Errorf("%+v", nobody)
		}
		if !slices.Equal(first.First, []float64{0, -1, -2, -3, 4, -5, -6, -7, -9}) {
			t.Errorf("%+v", first)
		}
		// What was in force is what was said of it last, whoever spoke since.
		got = read[series](p, "series", append(span, text(times[7]), "n", "1")...).Series
		if b := got[0].Before; b == nil || b.Value != 4 || b.Time != text(times[4]) {
			t.Errorf("%+v", b)
		}
		if b := got[1].Before; b == nil || b.Value != -6 {
			t.Errorf("%+v", b)
		}
		if got[2].Before != nil {
			t.Errorf("%+v", got[2].Before)
		}
		rows, err := csv.NewReader(p.piece("series", "id", joint, "path", `q["laser"]`, "path", `q["left"]`, "csv", "1").Body).ReadAll()
		if err != nil || len(rows) != 11 || !slices.Equal(rows[0], []string{"time", `q["laser"]`, `q["left"]`}) || !slices.Equal(rows[3][1:], []string{"", "-2"}) || !slices.Equal(rows[5][1:], []string{"4", ""}) {
			t.Error(rows, err)
		}
		var paths []string
		for _, m := range read[struct{ Members []struct{ Path string } }](p, "members", "id", joint).Members {
			paths = append(paths, m.Path)
		}
		slices.Sort(paths)
		if want := []string{`["q"]["laser"]`, `["q"]["left"]`, `["q"]["right"]`}; !slices.Equal(paths, want) {
			t.Errorf("%q, want %q", paths, want)
		}
	})
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
		Path, Type, Unit, Name, Doc string
		Keys                        map[string]string
	}
	got := read[struct {
		ID, Type string
		Members  []member
	}](p, "members", "id", joint)
	want := []member{
		{Path: `position["elbow"]`, Type: "Double", Name: "elbow", Doc: "Joint positions: rad."},
		{Path: `position["wrist"]`, Type: "Double", Name: "wrist", Doc: "Joint positions: rad."},
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
