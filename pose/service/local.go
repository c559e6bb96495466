package service

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
)

// Local serves a store of this process. It implements [Service].
type Local struct {
	store  *pose.Store
	commit func(ctx context.Context, tx Transaction) (pose.Revision, error)
	life   uint64
	left   leftOut
}

var _ Service = (*Local)(nil)

// New returns a service for s. Transactions are handed to commit, which must see
// to it that they are applied ([Apply]); nil applies them to s.
func New(s *pose.Store, commit func(ctx context.Context, tx Transaction) (pose.Revision, error)) *Local {
	l := &Local{store: s, commit: commit, life: rand.Uint64() | 1}
	if commit == nil {
		l.commit = func(_ context.Context, tx Transaction) (pose.Revision, error) { return Apply(s, tx) }
	}
	return l
}

// LookUp implements [Service].
func (l *Local) LookUp(ctx context.Context, questions []Question) ([]Answer, error) {
	views := map[pose.Revision]*pose.View{}
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

func (l *Local) answer(ctx context.Context, q *Question, views map[pose.Revision]*pose.View) (a Answer) {
	a.Target, a.Source = q.Target, q.Source
	p, err := l.path(q, views)
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
		fixed, err := l.resolve(q.Fixed, a.Source)
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
	if a.Err != nil {
		a.Pose, a.Cov, a.Info = pose.Pose{}, pose.Cov{}, pose.Info{}
	}
	return a
}

// path resolves a question's frames, in the view that it asks for.
func (l *Local) path(q *Question, views map[pose.Revision]*pose.View) (*pose.Path, error) {
	target, source, err := l.pair(q.Target, q.Source)
	if err != nil {
		return nil, err
	}
	if q.AsOf == nil {
		return l.store.Path(target, source)
	}
	v := views[*q.AsOf]
	if v == nil {
		if v, err = l.store.View(pose.AsOf(*q.AsOf)); err != nil {
			return nil, err
		}
		views[*q.AsOf] = v
	}
	return v.Path(target, source)
}

// Acquire implements [Service].
func (l *Local) Acquire(ctx context.Context, sensor string, t engram.Time, wait bool) (pose.Acquisition, error) {
	sensor, err := l.resolve(sensor, "")
	if err != nil {
		return pose.Acquisition{}, err
	}
	a, err := l.store.Acquire(sensor, t)
	for wait && engram.CodeOf(err) == engram.TooNew {
		// The failure names the edge that is behind; when that has t, another may be.
		f, ok := failureOf(err)
		if !ok {
			break
		}
		parent, child := f.Edge()
		p, pathErr := l.store.Path(parent, child)
		if pathErr != nil {
			return a, pathErr
		}
		if _, _, err := p.Wait(ctx, t); err != nil {
			return a, err
		}
		a, err = l.store.Acquire(sensor, t)
	}
	return a, err
}

// Release implements [Service].
func (l *Local) Release(_ context.Context, id pose.AcquisitionID) error { return l.store.Release(id) }

// CommitRevision implements [Service].
func (l *Local) CommitRevision(ctx context.Context, tx Transaction) (pose.Revision, error) {
	return l.commit(ctx, tx)
}

// Revisions implements [Service].
func (l *Local) Revisions(context.Context) (Revisions, error) {
	return Revisions{Life: l.life, List: l.store.Revisions()}, nil
}

// Diff implements [Service].
func (l *Local) Diff(_ context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	target, source, err := l.pair(target, source)
	if err != nil {
		return nil, err
	}
	return l.store.Diff(target, source, a, b, th)
}

// Tree implements [Service].
func (l *Local) Tree(_ context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	if asOf == nil {
		return l.store.Edges(), nil
	}
	v, err := l.store.View(pose.AsOf(*asOf))
	if err != nil {
		return nil, err
	}
	return v.Edges(), nil
}

// Path implements [Service].
func (l *Local) Path(_ context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	target, source, err := l.pair(target, source)
	if err != nil {
		return nil, err
	}
	p, err := l.store.Path(target, source)
	if err != nil {
		return nil, err
	}
	edges, fail := p.Edges(t)
	return edges, fail.Err()
}

// Watch implements [Service].
func (l *Local) Watch(_ context.Context, ask pose.Changes, from *pose.Revision) (Stream, error) {
	var err error
	if ask.Target, ask.Source, err = l.pair(ask.Target, ask.Source); err != nil {
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
	s := &localStream{sub: sub, told: rev}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// localStream is a subscription at a store of this process.
type localStream struct {
	sub    *pose.Subscription
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
