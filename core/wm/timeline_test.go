package wm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// lineModel is a timeline as a sorted list.
type lineModel struct {
	line timeline
	want []*version // current versions, by time
	next uint64
}

func (m *lineModel) find(t engram.Time) (i int, there bool) {
	return slices.BinarySearchFunc(m.want, t, func(v *version, t engram.Time) int { return int(v.Time - t) })
}

func (m *lineModel) put(t *rapid.T, at engram.Time) {
	m.next++
	v := &version{}
	v.Time, v.Number = at, m.next
	superseded := m.line.put(v)
	i, there := m.find(at)
	if !there {
		m.want = slices.Insert(m.want, i, v)
		if superseded != nil {
			t.Fatalf("a new time %d supersedes %d", at, superseded.Number)
		}
		return
	}
	if superseded != m.want[i] || v.older.Load() != superseded {
		t.Fatalf("time %d supersedes %v, want %d", at, superseded, m.want[i].Number)
	}
	m.want[i] = v
}

func (m *lineModel) clear(i int) {
	m.want[i].older.Store(nil)
	m.line.clear(m.want[i])
	m.want = slices.Delete(m.want, i, i+1)
}

// check compares the whole timeline, both ways, and places in it.
func (m *lineModel) check(t *rapid.T) {
	r := reading{lens: lens{highWater: m.next, asOf: engram.MaxTime}, spans: m.line.spans()}
	p := place{}
	for i, want := range m.want {
		if v := r.next(&p); v != want {
			t.Fatalf("forward, %d of %d: %v, want time %d", i, len(m.want), v, want.Time)
		}
	}
	if v := r.next(&p); v != nil {
		t.Fatalf("forward beyond the end: time %d", v.Time)
	}
	p = r.End()
	for i := len(m.want) - 1; i >= 0; i-- {
		if v := r.prev(&p); v != m.want[i] {
			t.Fatalf("backward, %d: %v, want time %d", i, v, m.want[i].Time)
		}
	}
	if v := r.prev(&p); v != nil {
		t.Fatalf("backward beyond the beginning: time %d", v.Time)
	}
	front := m.line.front()
	if len(m.want) > 0 && front != m.want[0] || len(m.want) == 0 && front != nil {
		t.Fatalf("the front is %v", front)
	}
	at := engram.Time(rapid.IntRange(-5, 4000).Draw(t, "at"))
	i, there := m.find(at)
	p, q := r.From(at), r.after(at)
	var want *version
	if i < len(m.want) {
		want = m.want[i]
	}
	if v := r.next(&p); v != want {
		t.Fatalf("from %d: %v, want %v", at, v, want)
	}
	if !there {
		i--
	}
	want = nil
	if i >= 0 {
		want = m.want[i]
	}
	if v := r.prev(&q); v != want {
		t.Fatalf("at or before %d: %v, want %v", at, v, want)
	}
	if v := m.line.current(at); there && v != want || !there && v != nil {
		t.Fatalf("current at %d: %v", at, v)
	}
	n := len(m.want)
	first := rapid.IntRange(-n-2, n+2).Draw(t, "first index")
	last := rapid.IntRange(-n-2, n+2).Draw(t, "last index")
	var sel query.Selection
	query.Select[place](&sel, &r, engram.Indices(first, last), n+1)
	got := sel.Snapshots
	lo, hi := first, last
	if lo < 0 {
		lo = max(lo+n, 0)
	}
	if hi < 0 {
		hi += n
	}
	hi = min(hi, n-1)
	if len(got) != max(0, hi-lo+1) {
		t.Fatalf("indices %d to %d of %d give %d, want %d to %d", first, last, n, len(got), lo, hi)
	}
	for i, s := range got {
		if s != &m.want[lo+i].Snapshot {
			t.Fatalf("indices %d to %d of %d: %d-th is time %d, want %d", first, last, n, i, s.Time, m.want[lo+i].Time)
		}
	}
}

// TestTimeline compares a timeline of many chunks with a sorted list: steady and
// jumping times, late ones, merged runs, superseded ones, eviction from the front
// and in the middle.
func TestTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &lineModel{}
		end := engram.Time(0)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				step := engram.Time(rapid.SampledFrom([]int{1, 1, 3, 100}).Draw(t, "step"))
				for range rapid.IntRange(1, 400).Draw(t, "n") {
					end += step
					m.put(t, end)
				}
			},
			"scatter": func(t *rapid.T) {
				for range rapid.IntRange(1, 50).Draw(t, "n") {
					m.put(t, engram.Time(rapid.IntRange(0, 3000).Draw(t, "time")))
				}
			},
			"merge a run": func(t *rapid.T) {
				at := engram.Time(rapid.IntRange(-3000, 3000).Draw(t, "time"))
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					at++
					m.put(t, at)
				}
			},
			"backward": func(t *rapid.T) {
				at := engram.Time(rapid.IntRange(0, 3000).Draw(t, "time"))
				for range rapid.IntRange(1, 150).Draw(t, "n") {
					at--
					m.put(t, at)
				}
			},
			"evict front": func(t *rapid.T) {
				for range min(rapid.IntRange(1, 900).Draw(t, "n"), len(m.want)) {
					m.clear(0)
				}
			},
			"evict within": func(t *rapid.T) {
				if len(m.want) == 0 {
					t.Skip("the timeline is empty: there is nothing to evict")
				}
				at := rapid.IntRange(0, len(m.want)-1).Draw(t, "first")
				for range min(rapid.IntRange(1, 600).Draw(t, "n"), len(m.want)-at) {
					m.clear(at)
				}
			},
			"check": m.check,
			"": func(*rapid.T) {
				if n := len(m.want); n > 0 {
					end = max(end, m.want[n-1].Time)
				}
			},
		})
		m.check(t)
	})
}

// TestTimelineOldView shows that a reader's view stays what it was at its high-water mark,
// whatever is written later.
func TestTimelineOldView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &lineModel{}
		type view struct {
			reading
			want []uint64
		}
		var views []view
		look := func(r reading) (got []uint64) {
			for p := (place{}); ; {
				var s *engram.Snapshot
				s, p = r.Next(p, engram.MaxTime)
				if s == nil {
					return got
				}
				got = append(got, s.Number)
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			for range rapid.IntRange(1, 60).Draw(t, "n") {
				m.put(t, engram.Time(rapid.IntRange(0, 400).Draw(t, "time")))
			}
			r := reading{lens: lens{highWater: m.next, asOf: engram.MaxTime}, spans: m.line.spans()}
			views = append(views, view{r, look(r)})
		}
		for i, v := range views {
			if got := look(v.reading); !slices.Equal(got, v.want) {
				t.Fatalf("view %d showed %v and shows %v", i, v.want, got)
			}
			v.spans = m.line.spans() // a newer view with the old high-water mark
			if got := look(v.reading); !slices.Equal(got, v.want) {
				t.Fatalf("view %d showed %v, and with its high-water mark the last view shows %v", i, v.want, got)
			}
		}
	})
}
