package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

const second = engram.Time(time.Second)

func TestThinningKeepsKeyPoints(t *testing.T) {
	var versions []Version
	for i := range 20 {
		versions = append(versions, Version{Time: engram.Time(i) * second, Numbers: []float64{math.Abs(float64(i - 13)), 5}})
	}
	versions[17].Numbers[0] = math.NaN()
	versions = append(versions, Version{Time: 6 * second}) // superseded it
	kept := func(thin Thinning, marks ...engram.Interval) (times []int) {
		for i, k := range thin.Keep(versions, marks) {
			if k {
				times = append(times, int(versions[i].Time/second))
			}
		}
		return times
	}
	// 0 is first and largest, 13 smallest, 19 last; the number that never changes has no extremes.
	if got := kept(Thinning{Every: 6}); !slices.Equal(got, []int{0, 6, 12, 13, 18, 19, 6}) {
		t.Errorf("every 6th: %v", got)
	}
	mark := engram.Interval{Start: 8 * second, End: 9 * second}
	if got := kept(Thinning{Every: 100, Around: time.Second}, mark); !slices.Equal(got, []int{0, 7, 8, 9, 10, 13, 19}) {
		t.Errorf("around a mark: %v", got)
	}
	if got := kept(Thinning{}); len(got) != 21 {
		t.Errorf("without thinning: %v", got)
	}
	if got := (Thinning{Every: 2}).Keep(nil, nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func portions() []Portion {
	var ps []Portion
	for e := range 4 { // episodes of 10 s, of two entities each
		for _, entity := range []string{"A/S/p/x", "A/S/p/y", "B/S/p/z"} {
			at := engram.Time(e) * 10 * second
			ps = append(ps, Portion{Episode: fmt.Sprint(e), Entity: engram.MustID(entity),
				Span: engram.Interval{Start: at, End: at + 10*second}, Snapshots: 10, Bytes: 100})
		}
	}
	return ps
}

func show(ps []Portion, drops []Drop) (texts []string) {
	for _, d := range drops {
		texts = append(texts, ps[d.Portion].Episode+ps[d.Portion].Entity.Entity()+" "+d.Why)
	}
	return texts
}

func TestExpired(t *testing.T) {
	now := 50 * second
	for _, c := range []struct {
		name    string
		policy  Policy // of segment A/S
		protect []int
		want    []string
	}{
		{"for ever", Policy{}, nil, nil},
		{"age", Policy{Keep: Retention{MaxAge: 30 * time.Second}}, nil, []string{"0x age", "0y age", "1x age", "1y age"}},
		{"age, but a portion straddles", Policy{Keep: Retention{MaxAge: 35 * time.Second}}, nil, []string{"0x age", "0y age"}},
		{"count", Policy{Keep: Retention{MaxCount: 15}}, nil, []string{"0x count", "0y count", "1x count", "1y count"}},
		{"bytes of the whole segment", Policy{Keep: Retention{MaxBytes: 550}}, nil, []string{"0x bytes", "0y bytes", "1y bytes"}},
		{"protected ones stay and count", Policy{Keep: Retention{MaxBytes: 550}}, []int{0}, []string{"0y bytes", "1y bytes"}},
		{"age before bytes", Policy{Keep: Retention{MaxAge: 40 * time.Second, MaxBytes: 550}}, nil, []string{"0x age", "0y age", "1y bytes"}},
	} {
		ps := portions()
		for _, i := range c.protect {
			ps[i].Protected = true
		}
		got := show(ps, Expired(now, ps, func(core engram.ID) Policy {
			if core == engram.MustID("A/S") {
				return c.policy
			}
			return Policy{}
		}))
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDueForThinning(t *testing.T) {
	ps := portions()
	ps[0].Thinned, ps[1].Protected = true, true
	got := show(ps, Due(50*second, ps, func(core engram.ID) Policy {
		return Policy{Thin: Thinning{After: 30 * time.Second, Every: 2}}
	}))
	slices.Sort(got)
	if want := []string{"0z thin", "1x thin", "1y thin", "1z thin"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestVictimsGoByPriorityThenAge(t *testing.T) {
	ps := portions()
	ps[2].Protected = true // 0z
	of := func(core engram.ID) Policy {
		if core.Memory() == "B" {
			return Policy{Priority: -1}
		}
		return Policy{}
	}
	got := show(ps, Victims(50*second, 350, ps, of))
	if want := []string{"1z disk", "2z disk", "3z disk", "0y disk"}; !slices.Equal(got, want) && !slices.Equal(got, []string{"1z disk", "2z disk", "3z disk", "0x disk"}) {
		t.Errorf("%v, want %v", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		need := rapid.Int64Range(0, 2000).Draw(t, "need")
		freed := int64(0)
		for _, d := range Victims(50*second, need, ps, of) {
			if freed >= need {
				t.Fatalf("more is dropped than is needed")
			}
			freed += ps[d.Portion].Bytes
		}
		if freed < min(need, 1100) {
			t.Fatalf("%d bytes become free of %d", freed, need)
		}
	})
}

// What an epoch left whose clock was ahead goes before what is of the present, whatever
// bound is exceeded.
func TestFutureGoesFirst(t *testing.T) {
	day := engram.Time(24 * time.Hour)
	now := 1000 * day
	portion := func(at engram.Time) Portion {
		iv := engram.Interval{Start: at, End: at + day/2}
		return Portion{Entity: engram.MustID("Object/Instance/p/cup"), Span: iv, Arrived: iv, Snapshots: 5, Bytes: 10}
	}
	portions := []Portion{portion(998 * day), portion(1365 * day), portion(999 * day), portion(1366 * day), portion(1000 * day)}
	for name, keep := range map[string]Retention{"count": {MaxCount: 12}, "bytes": {MaxBytes: 30}} {
		got := Expired(now, portions, func(engram.ID) Policy { return Policy{Keep: keep} })
		if len(got) != 2 || got[0].Portion != 1 || got[1].Portion != 3 {
			t.Errorf("%s: %v", name, got)
		}
	}
	var order []int
	for _, d := range Victims(now, 50, portions, func(engram.ID) Policy { return Policy{} }) {
		order = append(order, d.Portion)
	}
	if want := []int{1, 3, 0, 2, 4}; !slices.Equal(order, want) {
		t.Errorf("of a full disk they go in the order %v, want %v", order, want)
	}
}

// A snapshot stamped in the future keeps what arrived with it no longer than that.
func TestFutureDoesNotKeep(t *testing.T) {
	day := 24 * time.Hour
	now := engram.Time(1000 * day)
	core := engram.MustID("Object/Instance")
	portion := func(entity string, days ...int) Portion {
		iv := func(a, b int) engram.Interval {
			return engram.Interval{Start: engram.Time(a) * engram.Time(day), End: engram.Time(b) * engram.Time(day)}
		}
		return Portion{Entity: engram.MustID(core.String() + "/p/" + entity), Span: iv(days[0], days[1]), Arrived: iv(days[2], days[3]), Snapshots: 5, Bytes: 10}
	}
	portions := []Portion{portion("a", 900, 5000, 900, 901), portion("b", 990, 991, 990, 991), portion("imported", 1, 2, 995, 996)}
	of := func(engram.ID) Policy {
		return Policy{Keep: Retention{MaxAge: 30 * day}, Thin: Thinning{After: 30 * day, Every: 2}}
	}
	want := []Drop{{2, ForAge}, {0, ForAge}}
	if got := Expired(now, portions, of); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want = []Drop{{2, ForThin}, {0, ForThin}}
	if got := Due(now, portions, of); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
