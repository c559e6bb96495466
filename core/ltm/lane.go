package ltm

import (
	"cmp"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// direction is the order in which a lane meets times. Its keys ascend where the times
// do what the direction says, so that one search serves both.
type direction bool

const (
	ascending  direction = false
	descending direction = true
)

// key returns the key of a time: lower is met earlier.
func (d direction) key(t engram.Time) engram.Time {
	if d == descending {
		return ^t
	}
	return t
}

// near and far return the keys of the first and the last time of a span that is met.
func (d direction) near(iv engram.Interval) engram.Time {
	if d == descending {
		return ^(iv.End - 1)
	}
	return iv.Start
}

func (d direction) far(iv engram.Interval) engram.Time {
	if d == descending {
		return ^iv.Start
	}
	return iv.End - 1
}

// lane goes through an entity's slots in one direction. It opens episodes and reads
// blocks only when a time that they may hold is the next.
type lane struct {
	dir  direction
	at   engram.Time // the place it stands at
	live bool
	from engram.Time // the key from which on the disk is asked

	parts   queue // of the view's parts
	runs    []openRun
	cursors []*cursor

	place wm.Place
	ahead *engram.Snapshot // the working memory's next
}

// openRun is an entity's timeline in one episode, with the blocks to come.
type openRun struct {
	*run
	blocks queue
}

// queue is an order in which spans are met, and how far a lane has come in it.
type queue struct {
	order []int32 // nil: as they are, or backward
	n     int
	next  int
	dir   direction
}

// newQueue orders n spans by how early they are met and skips those that lie before
// the key from; ordered says that their starts and ends ascend.
func newQueue(n int, ordered bool, dir direction, from engram.Time, span func(int) engram.Interval) queue {
	q := queue{n: n, dir: dir}
	if ordered {
		lo, hi := 0, n
		for lo < hi {
			mid := int(uint(lo+hi) / 2)
			if dir.far(span(q.index(mid))) < from {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		q.next = lo
		return q
	}
	for i := range n {
		if dir.far(span(i)) >= from {
			q.order = append(q.order, int32(i))
		}
	}
	slices.SortStableFunc(q.order, func(a, b int32) int { return cmp.Compare(dir.near(span(int(a))), dir.near(span(int(b)))) })
	q.n = len(q.order)
	if q.n == 0 {
		q.order = nil
	}
	return q
}

// index returns which span comes i-th.
func (q *queue) index(i int) int {
	switch {
	case q.order != nil:
		return int(q.order[i])
	case q.dir == descending:
		return q.n - 1 - i
	}
	return i
}

// head returns the span that comes next; ok is false at the end.
func (q *queue) head() (i int, ok bool) {
	if q.next >= q.n {
		return 0, false
	}
	return q.index(q.next), true
}

// seek puts the lane at a place, unless it stands there already.
func (l *lane) seek(v *view, dir direction, place engram.Time) {
	if l.live && l.at == place {
		return
	}
	*l = lane{dir: dir, at: place, live: true, cursors: l.cursors[:0], runs: l.runs[:0]}
	if dir == ascending {
		l.from = place
	} else if place == engram.MinTime {
		l.parts.n = 0 // nothing lies before it
		return
	} else {
		l.from = max(dir.key(place-1), dir.key(v.floor))
	}
	l.parts = newQueue(len(v.disk), v.ordered(), dir, l.from, func(i int) engram.Interval { return v.disk[i].span })
	if v.wm == nil {
		return
	}
	if dir == ascending {
		l.place = v.wm.From(place)
	} else {
		l.place = v.wm.After(place - 1)
	}
	l.look(v)
}

// jump moves over the block or episode that comes next without reading it, if it has
// at most n slots, all of which count, and nothing else can have one among them. It
// returns how many it has, or 0.
func (l *lane) jump(v *view, n int) int {
	for v.filter == nil && len(l.cursors) == 0 && v.err == nil {
		c, ok := l.next(v)
		if !ok || !l.reaches(v, c.span, engram.MaxTime) || l.ahead != nil && l.dir.key(l.ahead.Time) <= l.dir.near(c.span) {
			return 0
		}
		alone := c.after > l.dir.far(c.span) && l.dir.near(c.span) >= l.from && c.span.End-1 <= v.floor
		if alone && c.slots > 0 && c.slots <= n {
			c.queue.next++
			if l.at = c.span.End; l.dir == descending {
				l.at = c.span.Start
			}
			return c.slots
		}
		if c.queue != &l.parts {
			return 0
		}
		l.openPart(v) // perhaps its blocks can be passed over
	}
	return 0
}

// upcoming is what a lane meets next of the disk.
type upcoming struct {
	queue *queue
	span  engram.Interval
	slots int         // 0 if that is not known
	after engram.Time // the key of what is met behind it
}

// next returns the block or episode that is met next.
func (l *lane) next(v *view) (c upcoming, ok bool) {
	c.after = engram.MaxTime
	if l.ahead != nil {
		c.after = l.dir.key(l.ahead.Time)
	}
	meet := func(q *queue, place int, span func(int) engram.Interval, slots func(int) int) {
		if place >= q.n {
			return
		}
		i := q.index(place)
		iv := span(i)
		near := l.dir.near(iv)
		if c.queue != nil && near >= l.dir.near(c.span) {
			c.after = min(c.after, near)
			return
		}
		if c.queue != nil {
			c.after = min(c.after, l.dir.near(c.span))
		}
		c.queue, c.span, c.slots = q, iv, slots(i)
	}
	episodeSpan := func(i int) engram.Interval { return v.disk[i].span }
	episodeSlots := func(i int) int { return v.disk[i].slots(&v.admit) }
	for place := range 2 { // the first of each queue, and what comes behind it
		for i := range l.runs {
			r := &l.runs[i]
			meet(&r.blocks, r.blocks.next+place, r.run.span, func(i int) int { return r.run.slots(&v.admit, i) })
		}
		meet(&l.parts, l.parts.next+place, episodeSpan, episodeSlots)
	}
	return c, c.queue != nil
}

// look finds the working memory's next slot.
func (l *lane) look(v *view) {
	if l.dir == ascending {
		l.ahead, l.place = v.wm.Next(l.place, engram.MaxTime)
	} else {
		l.ahead, l.place = v.wm.Prev(l.place, engram.MinTime)
	}
}

// step finds the next slot with a time up to last and moves the lane beyond it.
func (l *lane) step(v *view, last engram.Time) (f found, ok bool) {
	if !v.checkIn() {
		return found{}, false
	}
	limit := l.dir.key(last)
	for {
		best, any := l.best()
		if any && best <= limit {
			limit = best
		}
		if l.expand(v, limit) {
			continue
		}
		if !any || best > limit || v.err != nil {
			return found{}, false
		}
		return l.merge(v, best), v.err == nil
	}
}

// best returns the key of the slot that comes next as far as is known.
func (l *lane) best() (best engram.Time, any bool) {
	if l.ahead != nil {
		best, any = l.dir.key(l.ahead.Time), true
	}
	for _, c := range l.cursors {
		if k := l.dir.key(c.time()); !any || k < best {
			best, any = k, true
		}
	}
	return best, any
}

// expand opens the episode or block that comes next, if it may hold a slot up to the
// key limit. It reports whether there was one.
func (l *lane) expand(v *view, limit engram.Time) bool {
	var from *openRun
	for i := range l.runs {
		r := &l.runs[i]
		if b, ok := r.blocks.head(); ok && l.reaches(v, r.span(b), limit) {
			from, limit = r, l.dir.near(r.span(b))
		}
	}
	if i, ok := l.parts.head(); ok && l.reaches(v, v.disk[i].span, limit) {
		l.openPart(v)
		return true
	}
	if from == nil {
		return false
	}
	b, _ := from.blocks.head()
	from.blocks.next++
	l.open(v, from.run, b)
	return true
}

// openPart opens the episode that comes next.
func (l *lane) openPart(v *view) {
	i, _ := l.parts.head()
	l.parts.next++
	p := &v.disk[i]
	if !v.open(p) {
		return
	}
	l.runs = append(l.runs, openRun{p.run, newQueue(len(p.run.blocks), p.run.timeline.Ordered(), l.dir, l.from, p.run.span)})
}

// reaches reports whether a span may hold a slot up to the key limit for which the disk
// is asked.
func (l *lane) reaches(v *view, iv engram.Interval, limit engram.Time) bool {
	return iv.Start <= v.floor && max(l.dir.near(iv), l.from) <= limit
}

// open reads the index of a block and puts a cursor at its first slot that is wanted.
func (l *lane) open(v *view, r *run, block int) {
	b := &r.blocks[block]
	index, err := r.timeline.Versions(v.ctx, block)
	if err != nil {
		v.fail(r.handle, err, b.Span, b.Count)
		return
	}
	c := &cursor{run: r, block: block, index: index}
	if l.dir == descending {
		c.pos = index.Search(l.dir.key(l.from)+1) - 1
	} else {
		c.pos = index.Search(l.from)
	}
	if c.there(v, l.dir) {
		l.cursors = append(l.cursors, c)
	}
}

// merge chooses among all versions of the slot with that key, and moves beyond it.
func (l *lane) merge(v *view, key engram.Time) found {
	f := found{time: l.dir.key(key)}
	var best arrival
	if l.ahead != nil && l.dir.key(l.ahead.Time) == key {
		if d := (arrival{l.ahead.Arrived, l.ahead.Number, v.admit.epoch}); !v.buried(nil, d, f.time) {
			f.snap, best = l.ahead, d
		}
		l.look(v)
	}
	kept := l.cursors[:0]
	for _, c := range l.cursors {
		for c.there(v, l.dir) && c.time() == f.time {
			d := arrival{c.index.Arrived(c.pos), c.index.Number(c.pos), c.run.epoch}
			if v.admit.admits(d) && !v.buried(c.run.handle, d, f.time) && (f.none() || v.admit.replaces(d, best)) {
				f.snap, f.cur, f.pos, best = nil, c, c.pos, d
			}
			c.advance(l.dir)
		}
		if c.there(v, l.dir) {
			kept = append(kept, c)
		}
	}
	clear(l.cursors[len(kept):])
	l.cursors = kept
	return f
}

// arrival is when a version of a time arrived, in which epoch and as which update.
type arrival struct {
	arrived engram.Time
	number  uint64
	epoch   uint64
}

// replaces reports whether a, of a time, replaces b: it arrived later. What arrived in
// one moment is told apart by the epochs and the numbers: a copy's version that has come
// whole took the place of one that had not.
func (m *admission) replaces(a, b arrival) bool {
	switch {
	case a.arrived != b.arrived:
		return a.arrived > b.arrived
	case a.epoch == b.epoch:
		return a.number > b.number
	}
	return m.life != nil && m.life(a.epoch) > m.life(b.epoch)
}
