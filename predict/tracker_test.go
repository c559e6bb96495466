package predict_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

const step = 10 * time.Millisecond

// tracked observes a function of time.
func tracked(t testing.TB, n int, f func(i int) float64) (*predict.Tracker, engram.Time) {
	t.Helper()
	tr, err := predict.NewTracker(make([]predict.Kind, 1))
	if err != nil {
		t.Fatal(err)
	}
	at := engram.Time(1_000_000_000)
	for i := range n {
		if i > 0 {
			at = at.Add(step)
		}
		tr.Observe(at, []float64{f(i)}, nil)
	}
	return tr, at
}

func ahead(t testing.TB, tr *predict.Tracker, at engram.Time) predict.Forecast {
	t.Helper()
	var f predict.Forecast
	if err := tr.Predict(at, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// What goes on steadily does so for horizons that no prediction was judged at, with a wider band.
func TestTrackerGoesOn(t *testing.T) {
	for _, n := range []int{40, 56, 80, 200} {
		tr, at := tracked(t, n, func(i int) float64 { return 95 - 0.5*float64(i) })
		last, before := 95-0.5*float64(n-1), 0.0
		for _, steps := range []int{10, 20, 24, 30, 40, 60} {
			f := ahead(t, tr, at.Add(time.Duration(steps)*step))
			if want := last - 0.5*float64(steps); math.Abs(f.Mean[0]-want) > 0.5 {
				t.Errorf("of %d snapshots, %d steps ahead it is %v, not %v", n, steps, f.Mean[0], want)
			}
			if f.SD[0] < before {
				t.Errorf("of %d snapshots, %d steps ahead the deviation falls from %v to %v", n, steps, before, f.SD[0])
			}
			before = f.SD[0]
		}
	}
	// What wanders is not carried on.
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		x := 0.0
		tr, at := tracked(t, 40, func(int) float64 { x += r.NormFloat64(); return x })
		if f := ahead(t, tr, at.Add(120*step)); math.Abs(f.Mean[0]-x) > 30 || f.SD[0] < 1 {
			t.Errorf("a walk at %v is expected at %v ± %v", x, f.Mean[0], f.SD[0])
		}
	}
}

// One value that is far off is not carried on: what was expected goes on, less sure, until the next value shows what it was.
func TestTrackerDoubts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, noise := range []float64{0, 0.02} {
		begin := func() *predict.Tracker {
			tr, err := predict.NewTracker(make([]predict.Kind, 1))
			if err != nil {
				t.Fatal(err)
			}
			return tr
		}
		var at engram.Time
		observe := func(tr *predict.Tracker, i int, x float64) (surprise float64) {
			at = engram.Time(0).Add(time.Duration(i) * time.Minute)
			return tr.Observe(at, []float64{x + noise*r.NormFloat64()}, nil)
		}
		expect := func(tr *predict.Tracker, what string, minutes int, want, off, least float64) {
			t.Helper()
			f := ahead(t, tr, at.Add(time.Duration(minutes)*time.Minute))
			if math.Abs(f.Mean[0]-want) > off || f.SD[0] < least || f.Low[0] > want || f.High[0] < want {
				t.Errorf("noise %v, %s, after %d minutes: %v ± %v, from %v to %v; it is %v", noise, what, minutes, f.Mean[0], f.SD[0], f.Low[0], f.High[0], want)
			}
		}
		line := func(i int) float64 { return 90 - 0.5*float64(i) }
		once, jump := begin(), begin()
		for i := range 80 {
			observe(once, i, line(i))
			observe(jump, i, line(i))
		}
		if s := observe(once, 80, 20); s < 50 {
			t.Errorf("noise %v: the outlier surprises by %v", noise, s)
		}
		if f := ahead(t, once, at); math.Abs(f.Mean[0]-20) > 0.1 {
			t.Errorf("noise %v: the outlier was %v", noise, f.Mean[0])
		}
		for _, minutes := range []int{1, 2, 10, 30} {
			expect(once, "after the outlier", minutes, line(80+minutes), 3, 10)
		}
		observe(once, 81, line(81))
		for _, minutes := range []int{1, 2, 10, 30} {
			expect(once, "when it is over", minutes, line(81+minutes), 3, 0)
		}
		near, far := ahead(t, once, at.Add(time.Minute)), ahead(t, once, at.Add(10*time.Minute))
		if far.SD[0] < 2*near.SD[0] {
			t.Errorf("noise %v: after 1 minute the deviation is %v, after 10 %v", noise, near.SD[0], far.SD[0])
		}
		// Charged.
		for i := 80; i < 86; i++ {
			observe(jump, i, line(i)+50)
		}
		for _, minutes := range []int{1, 10} {
			expect(jump, "after the jump", minutes, line(85+minutes)+50, 3, 0)
		}
	}
}

func ExampleTracker() {
	battery, _ := predict.NewTracker([]predict.Kind{predict.Number})
	at := engram.Time(0)
	for minute := range 60 {
		at = engram.Time(0).Add(time.Duration(minute) * time.Minute)
		battery.Observe(at, []float64{90 - 0.5*float64(minute)}, nil)
	}
	var f predict.Forecast
	_ = battery.Predict(at.Add(10*time.Minute), &f)
	fmt.Printf("%.1f %% in %.0f s", f.Mean[0], f.Horizon)
	// Output: 55.5 % in 600 s
}

// A line goes on as a line, a sine as a sine, and what rests rests.
func TestTrackerLearns(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(i int) float64
		off  float64
	}{
		{"constant", func(int) float64 { return 3 }, 0},
		{"line", func(i int) float64 { return 2 * float64(i) }, 1e-6},
		{"sine", func(i int) float64 { return math.Sin(float64(i) / 20) }, 0.04},
		{"saw", func(i int) float64 { return float64(i % 40) }, 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, at := tracked(t, 2000, c.f)
			for _, k := range []int{1, 5, 20} {
				f := ahead(t, tr, at.Add(time.Duration(k)*step))
				if d := math.Abs(f.Mean[0] - c.f(1999+k)); !(d <= c.off) {
					t.Errorf("%d steps ahead %v, off by %v (%s)", k, f.Mean[0], d, f.Model[0])
				}
			}
		})
	}
}

// Of noise the band holds nine of ten, and no model pretends to know better than the mean of what went before.
func TestTrackerKnowsNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tr, at := tracked(t, 500, func(int) float64 { return r.NormFloat64() })
	inside := 0
	const rounds = 2000
	for range rounds {
		f := ahead(t, tr, at.Add(step))
		x := r.NormFloat64()
		if f.Low[0] <= x && x <= f.High[0] {
			inside++
		}
		at = at.Add(step)
		tr.Observe(at, []float64{x}, nil)
	}
	if share := float64(inside) / rounds; share < 0.85 || share > 0.95 {
		t.Errorf("%v of the truths are inside the band of 90 %%", share)
	}
}

// A prediction at a time where there is a snapshot is that snapshot; the uncertainty grows with the horizon; nothing is NaN;
// whatever comes in whatever order.
func TestTrackerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "members")
		kinds := make([]predict.Kind, n)
		for i := range kinds {
			kinds[i] = predict.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
		}
		tr, err := predict.NewTracker(kinds)
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.OneOf(rapid.Float64Range(-100, 100), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e-300}))
		var times []engram.Time
		var rows [][]float64
		at := engram.Time(0)
		for range rapid.IntRange(1, 200).Draw(t, "snapshots") {
			at = at.Add(time.Duration(rapid.Int64Range(-int64(time.Second), int64(10*time.Second)).Draw(t, "step")))
			row := make([]float64, n)
			for i := range row {
				row[i] = value.Draw(t, "value")
			}
			if len(times) == 0 || at > times[len(times)-1] {
				times, rows = append(times, at), append(rows, row)
			}
			tr.Observe(at, row, nil)
		}
		var f predict.Forecast
		last := len(times) - 1
		if err := tr.Predict(times[last], &f); err != nil {
			t.Fatal(err)
		}
		for i, x := range rows[last] {
			if kinds[i] != predict.Angle && math.Abs(x) <= 1e15 && f.Mean[i] != x {
				t.Fatalf("member %d at its newest snapshot is %v, not %v", i, f.Mean[i], x)
			}
		}
		before := make([]float64, n)
		for k := range 20 {
			if err := tr.Predict(times[last].Add(time.Duration(k)*700*time.Millisecond), &f); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if math.IsNaN(f.Mean[i]) || math.IsInf(f.Mean[i], 0) || math.IsNaN(f.SD[i]) {
					t.Fatalf("member %d is %v ± %v", i, f.Mean[i], f.SD[i])
				}
				if f.SD[i] < before[i] {
					t.Fatalf("the uncertainty of member %d falls from %v to %v", i, before[i], f.SD[i])
				}
				before[i] = f.SD[i]
			}
		}
	})
}

func TestTrackerWithoutData(t *testing.T) {
	tr, err := predict.NewTracker(make([]predict.Kind, 2))
	if err != nil {
		t.Fatal(err)
	}
	var f predict.Forecast
	if err := tr.Predict(5, &f); !errors.Is(err, engram.Unavailable) {
		t.Errorf("a prediction of nothing: %v", err)
	}
	tr.Observe(5, []float64{1, 2}, nil)
	if err := tr.Predict(4, &f); !errors.Is(err, engram.Unavailable) {
		t.Errorf("a prediction of before: %v", err)
	}
	if f := ahead(t, tr, 100); f.Mean[1] != 2 || !math.IsInf(f.SD[1], 1) {
		t.Errorf("of one snapshot %+v", f)
	}
	if _, err := predict.NewTracker(make([]predict.Kind, predict.MaxMembers+1)); !errors.Is(err, engram.Exhausted) {
		t.Errorf("too many members: %v", err)
	}
}

// What suddenly goes on otherwise is a surprise.
func TestSurprise(t *testing.T) {
	tr, at := tracked(t, 400, func(i int) float64 { return math.Sin(float64(i)/10) + 0.01*math.Sin(float64(i*i)) })
	most := 0.0
	for i := range 8 {
		at = at.Add(step)
		most = max(most, tr.Observe(at, []float64{5 + float64(i)}, nil))
	}
	if most < 9 {
		t.Errorf("a jump surprises by %v", most)
	}
}

// An episode that is taken out again leaves the model as it was, and one that was learned predicts.
func TestModel(t *testing.T) {
	episode := func(seed uint64) predict.Series {
		r := rand.New(rand.NewPCG(seed, 1))
		var e predict.Series
		var commands []float64
		c := 0.0
		for i := range 400 {
			c += 0.1 * r.NormFloat64()
			commands = append(commands, c)
			x := 0.0
			if i >= 8 {
				x = commands[i-8] // it follows the command eight steps later
			}
			e.Times = append(e.Times, engram.Time(i)*engram.Time(step))
			e.Values = append(e.Values, []float64{x})
			e.Inputs = append(e.Inputs, []float64{c})
		}
		return e
	}
	m, err := predict.NewModel(make([]predict.Kind, 1), []int{0})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []predict.Series{episode(1), episode(2)} {
		if err := m.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	run := func(m *predict.Model) (model, hold float64) {
		tr, err := predict.NewTracker(make([]predict.Kind, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Use(m); err != nil {
			t.Fatal(err)
		}
		e := episode(7)
		for i := range e.Times {
			tr.Observe(e.Times[i], e.Values[i], e.Inputs[i])
			if i < 50 || i+6 >= len(e.Times) {
				continue
			}
			f := ahead(t, tr, e.Times[i+6])
			model += math.Pow(f.Mean[0]-e.Values[i+6][0], 2)
			hold += math.Pow(e.Values[i][0]-e.Values[i+6][0], 2)
		}
		return math.Sqrt(model), math.Sqrt(hold)
	}
	model, hold := run(m)
	if model > 0.2*hold {
		t.Errorf("six steps ahead of what follows a command eight steps later the error is %v, of holding %v", model, hold)
	}
	if err := m.Add(episode(3)); err != nil {
		t.Fatal(err)
	}
	if err := m.Remove(episode(3)); err != nil {
		t.Fatal(err)
	}
	if again, _ := run(m); math.Abs(again-model) > 1e-6*hold {
		t.Errorf("with an episode in and out the error is %v, before %v", again, model)
	}
	if err := m.Add(predict.Series{Times: make([]engram.Time, 2), Values: [][]float64{{1}, {2}}}); !errors.Is(err, engram.Invalid) {
		t.Errorf("an episode without inputs: %v", err)
	}
}

// 43 joints at 100 Hz.
func BenchmarkTracker(b *testing.B) {
	const joints = 43
	tr, err := predict.NewTracker(make([]predict.Kind, joints))
	if err != nil {
		b.Fatal(err)
	}
	row := make([]float64, joints)
	i := 0
	observe := func() {
		for j := range row {
			row[j] = math.Sin(float64(i)/float64(10+j)) + 0.001*float64((i*7919+j)%13)
		}
		tr.Observe(engram.Time(i)*engram.Time(step), row, nil)
		i++
	}
	for range 1000 {
		observe()
	}
	b.Run("observe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			observe()
		}
	})
	b.Run("predict", func(b *testing.B) {
		b.ReportAllocs()
		var f predict.Forecast
		for b.Loop() {
			if err := tr.Predict(engram.Time(i)*engram.Time(step)+engram.Time(190*time.Millisecond), &f); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A joint that turns on and on wraps, and is predicted beyond; one that does not is no angle.
func TestAngleWrapsOnceSeen(t *testing.T) {
	for _, low := range []float64{-math.Pi, 0} {
		tr, err := predict.NewTracker([]predict.Kind{predict.Radian})
		if err != nil {
			t.Fatal(err)
		}
		wrap := func(x float64) float64 { return x - 2*math.Pi*math.Floor((x-low)/(2*math.Pi)) }
		at := engram.Time(0)
		for i := range 400 {
			at = at.Add(step)
			tr.Observe(at, []float64{wrap(0.05 * float64(i))}, nil)
		}
		for _, k := range []int{1, 10, 30, 100} {
			f := ahead(t, tr, at.Add(time.Duration(k)*step))
			want := wrap(0.05 * float64(399+k))
			if d := tr.Off(0, want, f.Mean[0]); math.Abs(d) > 1e-3 || f.Mean[0] < low-1e-9 || f.Mean[0] > low+2*math.Pi+1e-9 {
				t.Errorf("from %v, %d steps ahead: %v, want %v", low, k, f.Mean[0], want)
			}
		}
	}
}

// A model's bytes are the model: it is refined on from there, and is small. Others' bytes are refused.
func TestModelBytes(t *testing.T) {
	const joints = 43
	e := predict.Series{}
	r := rand.New(rand.NewPCG(1, 2))
	row := make([]float64, joints)
	for s := range 400 {
		for i := range row {
			if i%2 == 0 || s%4 == 0 {
				row[i] = math.Sin(0.05*float64(s)+float64(i)) + 0.01*r.NormFloat64()
			}
		}
		e.Times = append(e.Times, engram.Time(0).Add(time.Duration(s)*step))
		e.Values = append(e.Values, slices.Clone(row))
	}
	kinds := make([]predict.Kind, joints)
	kinds[1] = predict.Radian
	m, err := predict.NewModel(kinds, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Add(e); err != nil {
		t.Fatal(err)
	}
	b := m.Append(nil)
	if len(b) > 1<<20 {
		t.Errorf("a model of %d joints takes %d bytes", joints, len(b))
	}
	again, err := predict.DecodeModel(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Append(nil), b) {
		t.Error("the bytes of the bytes are others")
	}
	// What rests in one episode, and is taken out with the other, leaves nothing behind.
	other := e
	other.Values = make([][]float64, len(e.Values))
	for i := range other.Values {
		other.Values[i] = slices.Repeat([]float64{0.1}, joints)
		other.Values[i][0] = e.Values[i][0]
	}
	if err := errors.Join(again.Add(other), again.Remove(e)); err != nil {
		t.Fatal(err)
	}
	tr, err := predict.NewTracker(kinds)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Use(again); err != nil {
		t.Fatal(err)
	}
	for i := range e.Times[:100] {
		tr.Observe(e.Times[i], e.Values[i], nil)
	}
	for i, x := range ahead(t, tr, e.Times[99].Add(2*step)).Mean {
		if !(math.Abs(x) < 10) {
			t.Errorf("member %d is predicted to be %v", i, x)
		}
	}
	for _, bad := range [][]byte{nil, b[:3], b[:40], b[:len(b)-1], append(slices.Clone(b), 0), bytes.Repeat([]byte{0xff}, 100), []byte("EPM1\xff\x03")} {
		if _, err := predict.DecodeModel(bad); !errors.Is(err, engram.Corrupt) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

// Many numbers that rest beside one that is noisy do not narrow its band.
func TestBandBesideWhatRests(t *testing.T) {
	const many = 40
	tr, err := predict.NewTracker(make([]predict.Kind, many))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 10))
	row := make([]float64, many)
	at := engram.Time(0)
	inside, count := 0.0, 0.0
	var f predict.Forecast
	for i := range 2000 {
		at = at.Add(step)
		row[0] = math.Sin(0.02*float64(i)) + 0.1*r.NormFloat64()
		if i > 500 {
			if err := tr.Predict(at, &f); err != nil {
				t.Fatal(err)
			}
			count++
			if row[0] >= f.Low[0] && row[0] <= f.High[0] {
				inside++
			}
		}
		tr.Observe(at, row, nil)
	}
	if share := inside / count; share < 0.85 || share > 0.95 {
		t.Errorf("the band of 90 %% holds %.3f", share)
	}
}

// BenchmarkModel learns from snapshots of 43 joints at 100 Hz; an hour are 360,000.
func BenchmarkModel(b *testing.B) {
	const joints = 43
	e := predict.Series{}
	for s := range 1 << 12 {
		row := make([]float64, joints)
		for i := range row {
			row[i] = math.Sin(0.01 * float64(s) * (1 + 0.1*float64(i)))
		}
		e.Times, e.Values = append(e.Times, engram.Time(0).Add(time.Duration(s)*step)), append(e.Values, row)
	}
	m, err := predict.NewModel(make([]predict.Kind, joints), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := m.Add(e); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(e.Times)), "ns/snapshot")
	b.ReportMetric(float64(len(m.Append(nil))), "bytes")
}

// What was held changes as likely as it did, from the first snapshots on.
func TestHeldChanges(t *testing.T) {
	tr, err := predict.NewTracker([]predict.Kind{predict.Held, predict.Held})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		tr.Observe(engram.Time(0).Add(time.Duration(i)*time.Second), []float64{float64(i % 2), 7}, nil)
	}
	var f predict.Forecast
	if err := tr.Predict(engram.Time(0).Add(40*time.Second), &f); err != nil {
		t.Fatal(err)
	}
	if f.SD[0] < 0.9 || f.SD[1] != 0 {
		t.Errorf("probabilities of another value: %v; the first one is always another", f.SD)
	}
}
