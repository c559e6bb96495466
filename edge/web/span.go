package web

import (
	"context"
	"math/bits"
	"runtime"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
)

const (
	// windowCount and windowBytes are how much of an entity's history is read at once, about.
	windowCount = 8192
	windowBytes = 8 << 20
	// maxReaders bounds the parts of a history that are read at once, and partsEach those that each reader reads.
	maxReaders = 4
	partsEach  = 6
	// maxGaps bounds the notes of what is missing that a piece tells.
	maxGaps = 1000
)

// span is a part of an entity's history.
type span struct {
	entity  engram.ID
	from    engram.Time
	to      engram.Time // not in it
	asOf    *engram.Time
	payload bool
	fields  []string // of payloads, all that are needed; nil for whole ones

	read func() error // called by each when a window was read, between two questions; may be nil

	missing []engram.Missing // told by reading
}

// span reads from, to and asof of an entity. Without from it begins with the first snapshot there is, without to it
// ends with the newest.
func (p *reader) span(ctx context.Context, q query, entity engram.ID) (s *span, held held, err error) {
	s = &span{entity: entity}
	if entity.Level() != engram.LevelEntity {
		return nil, held, engram.Errorf(engram.Invalid, entity.String(), "is no entity")
	}
	if held, err = p.held(ctx, entity); err != nil {
		return nil, held, err
	}
	if s.from, err = q.time("from", held.first); err != nil {
		return nil, held, err
	}
	if s.to, err = q.time("to", held.last.Add(1)); err != nil {
		return nil, held, err
	}
	if s.to < s.from {
		return nil, held, engram.Errorf(engram.Invalid, "to", "%v is before from, %v", s.to, s.from)
	}
	s.asOf, err = q.asOf()
	return s, held, err
}

// held is what the memories hold of an entity, all in all.
type held struct {
	first, last engram.Time
	count       uint64 // at most
	bytes       int64  // of one snapshot, about
}

func (p *reader) held(ctx context.Context, entity engram.ID) (h held, err error) {
	stats, err := p.svc.Stats(ctx, engram.PatternOf(entity), engram.LevelEntity)
	if err != nil {
		return h, err
	}
	for _, s := range stats {
		if s.ID == entity {
			return heldOf(&s), nil
		}
	}
	return h, engram.Errorf(engram.NotFound, entity.String(), "there is no such entity")
}

// heldOf returns what is held of the entity that was counted.
func heldOf(s *engram.Stats) (h held) {
	h.first, h.last = engram.MaxTime, engram.MinTime
	if s.Snapshots > 0 {
		h.first, h.last = s.First, s.Last
		h.bytes = s.Bytes / int64(s.Snapshots+s.Superseded)
	}
	if s.Disk.Snapshots > 0 {
		h.first, h.last = min(h.first, s.Disk.First), max(h.last, s.Disk.Last)
		h.bytes = max(h.bytes, s.Disk.Bytes/int64(s.Disk.Snapshots))
	}
	h.count = s.Snapshots + s.Disk.Snapshots
	if h.count == 0 {
		h.first, h.last = 0, -1
	}
	return h
}

// split cuts a span into parts that can be read at the same time, if it is long, and says by how many readers.
func (s *span) split(h held) (parts []*span, readers int) {
	from, to := max(s.from, h.first), min(s.to, h.last.Add(1))
	n := 1
	if from < to {
		count := float64(h.count) * float64(to.Sub(from)) / float64(h.last.Add(1).Sub(h.first))
		readers = min(runtime.GOMAXPROCS(0), maxReaders)
		n = max(1, min(partsEach*readers, int(count/(2*windowCount))))
	}
	parts = make([]*span, n)
	for i := range parts {
		part := *s
		if i > 0 {
			part.from = parts[i-1].to
		}
		if i < n-1 {
			part.to = from.Add(to.Sub(from) / time.Duration(n) * time.Duration(i+1))
		}
		parts[i] = &part
	}
	return parts, max(1, min(readers, n))
}

// each visits the snapshots of a span in the order of time. It reads the history window by window, each of about as
// many snapshots as are held in RAM without harm, and so needs no more however long the span is.
func (p *reader) each(ctx context.Context, s *span, h held, visit func(*engram.Snapshot) error) error {
	at, end := max(s.from, h.first), min(s.to, h.last.Add(1))
	want := windowCount
	if s.payload && h.bytes > 0 {
		want = int(max(1, min(windowCount, windowBytes/h.bytes)))
	}
	// Where nothing is held, something may be missing.
	if _, _, err := p.read(ctx, s, s.from, min(at, s.to), visit); err != nil {
		return err
	}
	w := window{length: end.Sub(at)}
	if h.count > uint64(want) {
		w.length = max(1, time.Duration(float64(w.length)*float64(want)/float64(h.count)))
		w.unsure = true
	}
	for at < end {
		w.length = min(w.length, end.Sub(at))
		if w.unsure {
			n, err := p.count(ctx, s, at, w.length)
			if err != nil {
				return err
			}
			if n > 2*want && w.length > 1 {
				w.length = max(1, w.length/time.Duration(n/want))
				continue
			}
		}
		n, bytes, err := p.read(ctx, s, at, at.Add(w.length), visit)
		if err != nil {
			return err
		}
		if s.read != nil {
			if err := s.read(); err != nil {
				return err
			}
		}
		if s.payload && n > 0 {
			want = max(1, min(windowCount, windowBytes/max(1, bytes/n)))
		}
		at = at.Add(w.length)
		w.next(n, want)
	}
	_, _, err := p.read(ctx, s, max(at, end), s.to, visit)
	return err
}

// window is the part of a span that is read next.
type window struct {
	length time.Duration
	dense  float64 // the most snapshots per nanosecond that there were so far
	unsure bool    // there may be far more in it than are wanted
}

// next adapts the window to how many snapshots there were in the last one.
func (w *window) next(n, want int) {
	w.dense = max(w.dense, float64(n)/float64(max(w.length, 1)))
	scale := 2.0 // over a gap
	if n > 0 {
		scale = min(2, max(0.125, float64(want)/float64(n)))
	}
	w.length = max(1, time.Duration(min(scale*float64(w.length), 1<<62)))
	w.unsure = w.dense*float64(w.length) > 2*float64(want) || w.dense == 0
}

// count counts the snapshots in a part of a span.
func (p *reader) count(ctx context.Context, s *span, at engram.Time, length time.Duration) (n int, err error) {
	probe := *s
	probe.payload = false
	n, _, err = p.read(ctx, &probe, at, at.Add(length), func(*engram.Snapshot) error { return nil })
	return n, err
}

// read visits the snapshots in a part of a span, and returns their number and size.
func (p *reader) read(ctx context.Context, s *span, from, to engram.Time, visit func(*engram.Snapshot) error) (n, bytes int, err error) {
	if from >= to {
		return 0, 0, nil
	}
	q := engram.SelectID(s.entity, engram.In(engram.Interval{Start: from, End: to}))
	q.AsOf, q.WithoutPayload = s.asOf, !s.payload
	if s.payload {
		q.Fields = s.fields
	}
	err = p.svc.QueryParts(ctx, q, func(r *engram.Result) error {
		for it := range r.All() {
			n, bytes = n+1, bytes+it.Size()
			if err := visit(it.Snapshot); err != nil {
				return err
			}
		}
		s.miss(r.Missing)
		return nil
	})
	return n, bytes, err
}

// miss notes what is missing, once: what lies in several windows is told by each.
func (s *span) miss(missing []engram.Missing) {
next:
	for _, m := range missing {
		for i := range s.missing {
			if o := &s.missing[i]; o.ID == m.ID && o.Reason == m.Reason && o.Interval == m.Interval {
				o.Count = max(o.Count, m.Count)
				continue next
			}
		}
		if len(s.missing) < maxGaps {
			s.missing = append(s.missing, m)
		}
	}
}

// gap is a part of a span of which it is known that something is missing, as a page is told.
type gap struct {
	ID     engram.ID    `json:"id"`
	Reason string       `json:"reason"`
	Count  uint64       `json:"count"`          // snapshots; 0 is unknown
	From   *nanoseconds `json:"from,omitempty"` // as far as is known
	To     *nanoseconds `json:"to,omitempty"`
}

func (s *span) gaps() []gap {
	gaps := make([]gap, 0, len(s.missing))
	for _, m := range s.missing {
		g := gap{ID: m.ID, Reason: m.Reason, Count: m.Count}
		if m.Interval != (engram.Interval{}) {
			g.From, g.To = exact(m.Interval.Start), exact(m.Interval.End)
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// binOf returns which of n equal parts of a span a time lies in.
func (s *span) binOf(t engram.Time, n int) int {
	hi, lo := bits.Mul64(uint64(t)-uint64(s.from), uint64(n))
	bin, _ := bits.Div64(hi, lo, uint64(s.to)-uint64(s.from)) // t lies in the span, so that hi is smaller
	return int(bin)
}

// nanoseconds is a time as pages compute with it: in JSON a string of nanoseconds since the Unix epoch, of which a number
// of JavaScript would lose some.
type nanoseconds engram.Time

// MarshalText implements encoding.TextMarshaler.
func (t nanoseconds) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(t), 10), nil }

func exact(t engram.Time) *nanoseconds { return (*nanoseconds)(&t) }

// asOf reads the time as of which is asked; nil is now.
func (q query) asOf() (*engram.Time, error) {
	if q.Get("asof") == "" {
		return nil, nil
	}
	t, err := q.time("asof", 0)
	return &t, err
}
