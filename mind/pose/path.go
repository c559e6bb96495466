package pose

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// Path is the resolved way between two frames. It is safe for concurrent use, and
// following a change of the structure costs it a little once.
//
// Each question returns the pose targetFromSource, how it came about, and the
// failure, whose Code is [OK] if there is an answer.
type Path struct {
	store          *Store
	view           *View // nil: the current revision
	target, source int32
	about          *subject // names them
	compiled       atomic.Pointer[compiled]
	legs           atomic.Pointer[legs] // of the last Between
}

// compiled is what a path knows of one content.
type compiled struct {
	content *content
	segs    []*segment
}

// Path resolves the way between two frames. The error is NotFound if there is no
// such frame. Frames that are not connected (yet) have a path, too.
func (s *Store) Path(target, source string) (*Path, error) {
	return s.newPath(nil, s.states.now().content, target, source)
}

func (s *Store) newPath(v *View, c *content, target, source string) (*Path, error) {
	ti, ok := s.frameID(c, target)
	if !ok {
		return nil, unknownFrame(target, 0).Err()
	}
	si, ok := s.frameID(c, source)
	if !ok {
		return nil, unknownFrame(source, 0).Err()
	}
	return s.pathOf(v, target, source, ti, si), nil
}

// pathOf makes the path between two frames that exist.
func (s *Store) pathOf(v *View, target, source string, ti, si int32) *Path {
	return &Path{store: s, view: v, target: ti, source: si, about: &subject{kind: "path", of: target, to: source}}
}

// Target and Source return the names of the path's frames.
func (p *Path) Target() string { return p.about.of }

// Source returns the name of the source frame.
func (p *Path) Source() string { return p.about.to }

// now returns what the path is asked about.
func (p *Path) now() *state {
	if p.view != nil {
		return p.view.state
	}
	return p.store.states.now()
}

// segmentAt returns the segment that holds at t.
func (p *Path) segmentAt(st *state, t engram.Time) *segment {
	c := p.compiled.Load()
	if c != nil && c.content == st.content {
		for _, seg := range c.segs {
			if t >= seg.Start && (t < seg.End || seg.End == engram.MaxTime) {
				return seg
			}
		}
	}
	return p.compile(st, t)
}

// compile adds a segment. Two readers may do so at once and one segment get lost;
// it is compiled again when it is needed.
func (p *Path) compile(st *state, t engram.Time) *segment {
	seg := st.content.compile(p.target, p.source, t, p.view, false)
	next := &compiled{content: st.content, segs: []*segment{seg}}
	if c := p.compiled.Load(); c != nil && c.content == st.content {
		next.segs = append(next.segs, c.segs...)
	}
	p.compiled.Store(next)
	return seg
}

// At answers at the time t.
func (p *Path) At(t engram.Time) (T Pose, info Info, fail Failure) {
	st := p.now()
	var q query
	q.init(t, st.rev)
	q.fail = &fail
	if p.segmentAt(st, t).eval(&T, &q) {
		info.Oldest, info.Flags = q.oldest, q.answerFlags()
	} else {
		p.blame(&fail)
		T = Pose{}
	}
	info.TargetTime, info.SourceTime, info.Revision = t, t, st.rev
	return // naked, because naming fail would copy it onto itself
}

// blame completes a failure that is not that of an edge.
func (p *Path) blame(f *Failure) {
	if f.about == nil {
		f.about = p.about
	}
}

// at is At in a state.
func (p *Path) at(st *state, t engram.Time) (T Pose, info Info, fail Failure) {
	var q query
	q.init(t, st.rev)
	q.fail = &fail
	return p.ask(st, &q)
}

// ask answers a question that was prepared, whose failure is at q.fail.
func (p *Path) ask(st *state, q *query) (T Pose, info Info, fail Failure) {
	if !p.segmentAt(st, q.t).eval(&T, q) {
		p.blame(q.fail)
		return Pose{}, q.info(), *q.fail
	}
	return T, q.info(), Failure{}
}

// LatestCommon answers at the latest time at which every edge on the path has
// samples, without holding or extrapolating any.
func (p *Path) LatestCommon() (T Pose, info Info, fail Failure) {
	st := p.now()
	t, fail := p.latestCommon(st)
	if fail.Code != OK {
		return Pose{}, Info{Revision: st.rev}, fail
	}
	return p.at(st, t)
}

// latestCommon finds that time. It lies in an earlier segment if edges that took
// over since have no samples yet.
func (p *Path) latestCommon(st *state) (engram.Time, Failure) {
	var first Failure
	for t := engram.MaxTime; ; {
		seg := p.segmentAt(st, t)
		if !seg.connected {
			if first.Code == OK {
				first = Failure{Code: NotConnected, Time: t, about: p.about}
			}
			return 0, first
		}
		last, _, fail := seg.lasts()
		if fail.Code == OK {
			if seg.End != engram.MaxTime {
				last = min(last, seg.End-1)
			}
			if last >= seg.Start {
				return last, fail
			}
		} else if first.Code == OK {
			first = fail
		}
		if seg.Start == engram.MinTime {
			return 0, first
		}
		t = seg.Start - 1
	}
}

// Latest answers with the newest sample of every edge, at the time of the newest of
// them. An edge that lags behind that by more than maxSkew fails with TooNew.
func (p *Path) Latest(maxSkew time.Duration) (T Pose, info Info, fail Failure) {
	st := p.now()
	seg := p.segmentAt(st, engram.MaxTime)
	t := engram.MaxTime
	if seg.connected && !seg.static() {
		if _, t, fail = seg.lasts(); fail.Code != OK {
			return Pose{}, Info{Revision: st.rev}, fail
		}
	}
	var q query
	q.init(t, st.rev)
	q.fail = &fail
	q.hold = int64(max(maxSkew, 0))
	return p.ask(st, &q)
}

// Wait answers at t as At does, and waits while the failure is TooNew. The error is
// that of the context, or another failure's. A path of a view never changes and
// does not wait.
func (p *Path) Wait(ctx context.Context, t engram.Time) (T Pose, info Info, err error) {
	for {
		T, info, fail := p.At(t)
		if fail.Code != TooNew || p.view != nil {
			return T, info, fail.Err()
		}
		// Ask again with the bells in hand, lest something was written in between.
		guilty, changed := fail.about, p.store.states.change()
		written := guilty.edge.written()
		T, info, fail = p.At(t)
		if fail.Code != TooNew {
			return T, info, fail.Err()
		}
		if fail.about != guilty {
			continue
		}
		select {
		case <-written:
		case <-changed:
		case <-ctx.Done():
			return T, info, engram.Errorf(engram.Canceled, fail.thing(), "waiting for %v: %w (its last sample is of %v)", t, ctx.Err(), fail.Last)
		}
	}
}

// written returns a channel that the next write to the edge's history closes.
func (e *edge) written() <-chan struct{} {
	if e.poses != nil {
		return e.poses.changed()
	}
	return e.value.history.changed()
}

// Lookup answers at t for two frames by name. It keeps the paths it was asked for;
// a caller that asks often does still better with one of its own.
func (s *Store) Lookup(target, source string, t engram.Time) (T Pose, info Info, fail Failure) {
	if p := s.paths.get([2]string{target, source}); p != nil {
		return p.At(t)
	}
	c := s.states.now().content
	ti, ok := s.frameID(c, target)
	if !ok {
		return Pose{}, Info{}, unknownFrame(target, t)
	}
	si, ok := s.frameID(c, source)
	if !ok {
		return Pose{}, Info{}, unknownFrame(source, t)
	}
	return s.cachedPath(target, source, ti, si).At(t)
}

// cachedPath returns the path between two frames that exist.
func (s *Store) cachedPath(target, source string, ti, si int32) *Path {
	key := [2]string{target, source}
	p := s.paths.get(key)
	if p == nil {
		p = s.pathOf(nil, target, source, ti, si)
		s.paths.put(key, p)
	}
	return p
}

// pathCache keeps paths by their frames' names. Readers take no lock.
type pathCache struct {
	byName atomic.Pointer[map[[2]string]*Path]
	mu     sync.Mutex // serialises put
}

// maxCachedPaths bounds the cache: a program asks for few pairs again and again.
const maxCachedPaths = 1024

func (c *pathCache) get(key [2]string) *Path {
	if m := c.byName.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

func (c *pathCache) put(key [2]string, p *Path) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[[2]string]*Path{}
	if m := c.byName.Load(); m != nil && len(*m) < maxCachedPaths {
		next = maps.Clone(*m)
	}
	next[key] = p
	c.byName.Store(&next)
}
