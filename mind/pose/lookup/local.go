package lookup

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Local serves a store of this process. It implements [Service].
type Local struct {
	store  *pose.Store
	writes Writes
	life   uint64
	left   leftOut
	own    atomic.Pointer[known] // of the last structure that was asked about without foreign edges

	sources []engram.ID
}

// Writes are the ways by which what clients change comes into a store, such as
// through the memory that keeps it. One that is nil changes the store itself.
type Writes struct {
	Revise  func(ctx context.Context, tx Transaction) (pose.Revision, error) // must see to it that it is applied ([Apply])
	Acquire func(ctx context.Context, a Acquire) (pose.Acquisition, error)   // of a sensor by its full name, at a time that is known
	Release func(ctx context.Context, id pose.AcquisitionID) error
}

var _ Service = (*Local)(nil)

// New returns a service for s.
func New(s *pose.Store, w Writes) *Local {
	if w.Revise == nil {
		w.Revise = func(_ context.Context, tx Transaction) (pose.Revision, error) { return Apply(s, tx) }
	}
	if w.Acquire == nil {
		w.Acquire = func(_ context.Context, a Acquire) (pose.Acquisition, error) { return ApplyAcquire(s, a) }
	}
	if w.Release == nil {
		w.Release = func(_ context.Context, id pose.AcquisitionID) error { return s.Release(id) }
	}
	return &Local{store: s, writes: w, life: rand.Uint64() | 1}
}

// LookUp implements [Service].
func (l *Local) LookUp(ctx context.Context, questions []Question) ([]Answer, error) {
	views := map[pose.Revision]look{}
	answers := make([]Answer, len(questions))
	for i := range questions {
		if err := ctx.Err(); err != nil {
			return nil, canceled(err)
		}
		answers[i] = l.answer(ctx, &questions[i], views)
	}
	return answers, nil
}

func canceled(err error) error {
	return engram.Errorf(engram.Canceled, "", "the question was given up: %w", err)
}

// look is a view of a revision, with what the caller may know of it.
type look struct {
	*pose.View
	known *known
}

func (l *Local) answer(ctx context.Context, q *Question, views map[pose.Revision]look) (a Answer) {
	a.Target, a.Source = q.Target, q.Source
	k := l.known(ctx)
	p, err := l.path(k, q, views)
	if err != nil {
		a.Err = err
		return a
	}
	a.Target, a.Source = p.Target(), p.Source()
	var fail pose.Failure
	switch {
	case q.When == At && q.Wait:
		// The wait first; what it answers lacks the covariance.
		if a.Pose, a.Info, a.Err = p.Wait(ctx, q.Time); a.Err == nil && q.Cov {
			a.Pose, a.Cov, a.Info, fail = p.AtCov(q.Time)
		}
	case q.When == At && q.Cov:
		a.Pose, a.Cov, a.Info, fail = p.AtCov(q.Time)
	case q.When == At:
		a.Pose, a.Info, fail = p.At(q.Time)
	case q.When == LatestCommon && q.Cov:
		a.Pose, a.Cov, a.Info, fail = p.LatestCommonCov()
	case q.When == LatestCommon:
		a.Pose, a.Info, fail = p.LatestCommon()
	case q.When == Between:
		fixed, err := l.resolve(k, q.Fixed, a.Source)
		if err == nil {
			err = k.way(fixed, a.Source, q.SourceTime)
		}
		if err != nil {
			a.Err = err
			return a
		}
		if q.Cov {
			a.Pose, a.Cov, a.Info, fail = p.BetweenCov(q.Time, q.SourceTime, fixed)
		} else {
			a.Pose, a.Info, fail = p.Between(q.Time, q.SourceTime, fixed)
		}
	default:
		a.Err = engram.Errorf(engram.Invalid, "", "there is no kind of question %d", q.When)
	}
	if a.Err == nil {
		a.Err = fail.Err()
	}
	if k != nil && q.AsOf == nil {
		// Meanwhile other edges may have come.
		if err := l.known(ctx).way(a.Target, a.Source, q.Time); err != nil {
			a.Err = err
		}
	}
	if k != nil && a.Err == nil && crosses(p, &a.Info) {
		a.Err = pose.NoWay(a.Target, a.Source, a.Info.TargetTime)
	}
	if a.Err != nil {
		a.Pose, a.Cov, a.Info = pose.Pose{}, pose.Cov{}, pose.Info{}
	}
	return a
}

// path resolves a question's frames, in the view that it asks for.
func (l *Local) path(k *known, q *Question, views map[pose.Revision]look) (*pose.Path, error) {
	t := q.Time
	if q.When == LatestCommon {
		t = engram.MaxTime
	}
	target, source, err := l.pair(k, q.Target, q.Source, t)
	if err != nil {
		return nil, err
	}
	if q.AsOf == nil {
		return l.store.Path(target, source)
	}
	v, ok := views[*q.AsOf]
	if !ok {
		if v.View, err = l.store.View(pose.AsOf(*q.AsOf)); err != nil {
			return nil, err
		}
		if k != nil {
			v.known = knownOf(slices.Values(v.Edges()))
		}
		views[*q.AsOf] = v
	}
	if err := v.known.way(target, source, t); err != nil {
		return nil, err
	}
	return v.Path(target, source)
}

// Acquire implements [Service].
func (l *Local) Acquire(ctx context.Context, a Acquire) (pose.Acquisition, error) {
	var err error
	if a.Sensor, err = l.resolve(l.known(ctx), a.Sensor, ""); err != nil {
		return pose.Acquisition{}, err
	}
	for a.Wait {
		_, err := l.store.Mount(a.Sensor, a.Time)
		// The failure names the edge that is behind; when that has the time, another may be.
		f, ok := failureOf(err)
		if engram.CodeOf(err) != engram.TooNew || !ok {
			break // what is wrong otherwise is told below
		}
		parent, child := f.Edge()
		p, err := l.store.Path(parent, child)
		if err != nil {
			return pose.Acquisition{}, err
		}
		if _, _, err := p.Wait(ctx, a.Time); err != nil {
			return pose.Acquisition{}, err
		}
	}
	return l.writes.Acquire(ctx, a)
}

// ApplyAcquire acquires a sensor in a store, once at a time.
func ApplyAcquire(s *pose.Store, a Acquire) (got pose.Acquisition, err error) {
	id := s.AcquiredAt(a.Sensor, a.Time)
	if got, err = s.Mount(a.Sensor, a.Time); err != nil {
		return got, err
	}
	if got.Base == got.Sensor {
		return pose.Acquisition{}, engram.Errorf(engram.NotFound, a.Sensor, "the sensor has no base: neither a fixed edge nor a joint is above it at %v, and seen from itself it never moves; give the robot's description (engram import --urdf) or the mount as a static transform (is_static, /tf_static)", a.Time)
	}
	if id != 0 {
		got.ID = id
		return got, nil
	}
	return s.Acquire(a.Sensor, a.Time)
}

// Release implements [Service].
func (l *Local) Release(ctx context.Context, id pose.AcquisitionID) error {
	return l.writes.Release(ctx, id)
}

// CommitRevision implements [Service].
func (l *Local) CommitRevision(ctx context.Context, tx Transaction) (pose.Revision, error) {
	return l.writes.Revise(ctx, tx)
}

// Revisions implements [Service].
func (l *Local) Revisions(context.Context) (Revisions, error) {
	return Revisions{Life: l.life, List: l.store.Revisions()}, nil
}

// Diff implements [Service].
func (l *Local) Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	target, source, err := l.pair(l.known(ctx), target, source, engram.MaxTime)
	if err != nil {
		return nil, err
	}
	return l.store.Diff(target, source, a, b, th)
}

// Tree implements [Service].
func (l *Local) Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	k := l.known(ctx)
	if asOf == nil {
		return k.part(l.store.Edges()), nil
	}
	v, err := l.store.View(pose.AsOf(*asOf))
	if err != nil {
		return nil, err
	}
	return k.part(v.Edges()), nil
}

// Path implements [Service].
func (l *Local) Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	k := l.known(ctx)
	target, source, err := l.pair(k, target, source, t)
	if err != nil {
		return nil, err
	}
	p, err := l.store.Path(target, source)
	if err != nil {
		return nil, err
	}
	edges, fail := p.Edges(t)
	if k != nil && slices.ContainsFunc(edges, isForeign) {
		return nil, pose.NoWay(target, source, t)
	}
	return edges, fail.Err()
}

// Watch implements [Service].
func (l *Local) Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (Stream, error) {
	var err error
	if ask.Target, ask.Source, err = l.pair(l.known(ctx), ask.Target, ask.Source, engram.MaxTime); err != nil {
		return nil, err
	}
	rev := l.store.Revision()
	if from != nil {
		rev = *from
	}
	sub, err := l.store.Subscribe(ask, rev)
	if engram.CodeOf(err) == engram.NotFound {
		err = engram.Errorf(engram.NotFound, "", "in revision %d, from which to watch: %w", rev, err)
	}
	if err != nil {
		return nil, err
	}
	// The stream outlives the call, and its rights are those of the call.
	rights := context.WithoutCancel(ctx)
	s := &localStream{sub: sub, told: rev, way: func() error { return l.known(rights).way(ask.Target, ask.Source, engram.MaxTime) }}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// localStream is a subscription at a store of this process.
type localStream struct {
	sub    *pose.Subscription
	way    func() error // whether the caller may know, still
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	told pose.Revision // of the event that Next returned last
}

func (s *localStream) Next(ctx context.Context) (Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	s.mu.Lock()
	s.sub.Ack(s.told)
	s.mu.Unlock()
	ev, err := s.sub.Next(ctx)
	if ctx.Err() != nil && err != nil {
		return Event{}, engram.Errorf(engram.Canceled, "", "the watch was given up: %w", err)
	}
	if err == nil {
		err = s.way()
	}
	if err != nil {
		return Event{}, err
	}
	s.mu.Lock()
	s.told = ev.To
	s.mu.Unlock()
	return Event{From: ev.From, To: ev.To, Changes: ev.Changes, Moved: ev.Moved}, nil
}

func (s *localStream) Position() pose.Revision { return s.sub.Acked() }

func (s *localStream) Close() error {
	s.cancel()
	return nil
}
