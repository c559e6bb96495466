package ltm_test

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// What policies want to be gone waits while the CPU is wanted, also before the next episode, but
// not for ever, not while the disk fills, and not where it is asked for.
func TestForgettingStepsBack(t *testing.T) {
	const every = time.Hour // the background does nothing by itself
	for name, c := range map[string]struct {
		wait   []float64     // what is measured, one after the other; then the last one
		looks  []int         // minutes after the last time that something was forgotten
		fills  bool          // the disk
		left   int           // from this step on all is there
		putOff time.Duration // in all
		asked  bool          // for what is due
	}{
		"not yet":                 {looks: []int{59}, left: 0},
		"nobody wants it":         {wait: []float64{0}, looks: []int{60}, left: 8},
		"somebody does":           {wait: []float64{1}, looks: []int{60, 120, 300}, left: 0, putOff: 240 * time.Minute},
		"not any more":            {wait: []float64{1, 1, 0.1}, looks: []int{60, 61, 65}, left: 8, putOff: 5 * time.Minute},
		"somebody begins to":      {wait: []float64{0, 0, 1}, looks: []int{60}, left: 4},
		"somebody begins, ends":   {wait: []float64{0, 0, 1, 1, 0}, looks: []int{60, 61, 64}, left: 8, putOff: 3 * time.Minute},
		"for ever":                {wait: []float64{1}, looks: []int{60, 659, 660}, left: 8, putOff: 600 * time.Minute},
		"the disk fills":          {wait: []float64{1}, looks: []int{0}, fills: true},
		"what is asked for":       {wait: []float64{1}, asked: true, left: 8},
		"where it cannot be told": {looks: []int{60}, left: 8},
	} {
		t.Run(name, func(t *testing.T) {
			k, n := &clock{}, 0
			o := ltm.Options{
				Dir: fastDir(t), Now: k.now, ForgetEvery: every, SealAge: 10_000 * time.Hour, DiskLimit: 0.85,
				Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Volatile"): {Keep: policy.Retention{MaxAge: 10 * step}}},
			}
			disk := &fullDisk{FS: vfs.OS}
			disk.total.Store(1 << 14)
			disk.free.Store(1 << 13)
			o.FS = disk
			l := begin(t, o)
			if c.wait != nil {
				l.PassWait(func() float64 {
					n++
					return c.wait[min(n, len(c.wait))-1]
				})
			}
			l.stepwise(t, k, 0, 20, 4, volatileCup)
			begun := time.Unix(0, 0)
			last := begun
			if c.fills {
				disk.free.Store(1 << 11)
			}
			for _, minutes := range c.looks {
				last = l.Look(last, begun.Add(time.Duration(minutes)*time.Minute))
			}
			if c.asked {
				l.due(t)
			}
			if c.fills {
				if got, _ := l.times(t, volatileCup, engram.TargetLTM, engram.All()); len(got) == 20 {
					t.Error("nothing went, though the disk fills")
				}
				return
			}
			l.onDisk(t, "then", volatileCup, span(c.left, 20)...)
			if f := l.Figures(); c.left == 8 && f.PutOff || f.PutOff && c.wait == nil {
				t.Errorf("something is put off yet: %+v", f)
			} else if !f.PutOff && f.PutOffFor != c.putOff {
				t.Errorf("it was put off for %v, want %v", f.PutOffFor, c.putOff)
			}
		})
	}
}

// While the CPU is wanted, numbers are coded in a way that takes less of it and more bytes, and
// reads the same; and an episode becomes older, but not as old as one likes.
func TestRecordingStepsBack(t *testing.T) {
	const joint, n = "Test/Volatile/p/joint", 400
	var wanted atomic.Bool
	k := &clock{}
	l := begin(t, ltm.Options{
		Dir: fastDir(t), Now: k.now, SealAge: time.Hour,
		Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Volatile"): {Codec: "columns"}},
		CPUWait: func() float64 {
			if wanted.Load() {
				return 1
			}
			return 0
		},
	})
	look := func(is bool) (sealing bool) {
		t.Helper()
		wanted.Store(is)
		sealing, err := l.LookAtEpisode(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := l.Figures(); f.Thrifty != is {
			t.Fatalf("the CPU is wanted: %v, and the figures are %+v", is, f)
		}
		return sealing
	}
	// As an encoder of 19 bits counts: to find that takes time, and saves bytes.
	value := func(i int) float64 {
		return math.Round(60_000+2_000*math.Sin(float64(i)/20)) * 2 * math.Pi / (1 << 19)
	}
	record := func(round int) int64 {
		t.Helper()
		for i := range n {
			k.Add(int64(step))
			l.commit(t, joint, engram.Time(round*n+i), value(i))
		}
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		infos, err := l.Episodes(t.Context(), engram.Always())
		if err != nil {
			t.Fatal(err)
		}
		return infos[len(infos)-1].Bytes
	}
	look(false)
	before := record(0)
	look(true)
	during := record(1)
	look(false)
	after := record(2)
	if least := before + n/2; during < least || after > least {
		t.Errorf("an episode has %d bytes, %d while the CPU is wanted, and then %d", before, during, after)
	}
	q := engram.SelectID(engram.MustID(joint), engram.All())
	q.Target = engram.TargetLTM
	r, err := l.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for item := range r.All() {
		p, err := idf.ValuePayload(value(int(item.Time) % n))
		if err != nil || string(item.Instances[0].Payload.Bytes) != string(p.Bytes) {
			t.Fatalf("%v is read as %v, %v", item.Time, item.Instances[0].Payload, err)
		}
		got++
	}
	if got != 3*n {
		t.Errorf("%d of %d versions are read", got, 3*n)
	}
	if l.Figures().ThriftyFor <= 0 {
		t.Error("it is not told for how long the CPU was wanted")
	}

	open := func() {
		t.Helper()
		look(false)
		l.commit(t, joint, engram.Time(k.Add(int64(step))), 0.5)
		l.times(t, joint, engram.TargetLTM, engram.All()) // waits for the recorder
	}
	for _, c := range []struct {
		wanted bool
		age    time.Duration
		want   bool
	}{{false, 59 * time.Minute, false}, {false, time.Hour, true}, {true, 119 * time.Minute, false}, {true, 2 * time.Hour, true}} {
		open()
		look(c.wanted) // before the recorder may see by itself how old it is
		k.Add(int64(c.age))
		if got := look(c.wanted); got != c.want {
			t.Errorf("an episode of %v is to be sealed: %v; the CPU is wanted: %v", c.age, got, c.wanted)
		}
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
}
