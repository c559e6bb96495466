package base

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/world"
)

// Local answers questions from the memories of a server in the same process. It has nothing in
// RAM before the first one.
type Local struct {
	limits logic.Limits
	places admission
	budget *knowledge.Budget

	mu      sync.Mutex
	ctx     context.Context // ends with the server
	svc     engram.Service  // nil while the server is not running
	bases   []*shared       // those that were asked last come first
	running sync.WaitGroup  // a goroutine for each base; begun while svc is there
}

// shared is a base for all who may read the same.
type shared struct {
	scope engram.Scope  // nil is everything
	ready chan struct{} // closed when base or err is there
	base  *Base
	err   error
	idle  chan struct{} // closed when nobody uses what has left
	users int           // under the lock of Local
	left  bool          // nobody gets it any more
}

const (
	maxBases = 8  // of other rights than all
	atOnce   = 16 // questions that are answered at once; others wait

	// textsAtOnce is what a question may take, in bytes, for its text and its rows, beside what its memory is limited to.
	textsAtOnce = 16 << 20
)

// NewLocal returns a service that answers from the server that [Local.Start] is given.
// Questions are bounded by the limits, and may ask for less. All together take no more than two that each take the most.
func NewLocal(limits logic.Limits) *Local {
	budget := 2 * limits.Memory
	if budget > 0 {
		budget += 2 * textsAtOnce
	}
	return &Local{limits: limits, places: admission{most: atOnce}, budget: knowledge.NewBudget(budget)}
}

// Start says what to answer from, until ctx ends.
func (l *Local) Start(ctx context.Context, svc engram.Service) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.svc = ctx, svc
	return nil
}

// Run waits until ctx ends, and then until nothing is left in RAM. Questions fail from then on.
func (l *Local) Run(ctx context.Context, _ engram.Service) error {
	<-ctx.Done()
	l.mu.Lock()
	l.svc, l.bases = nil, nil
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// Ask implements [logic.Service].
func (l *Local) Ask(ctx context.Context, q logic.Question) iter.Seq2[logic.Row, error] {
	return func(yield func(logic.Row, error) bool) {
		q.Limits = l.bounded(q.Limits)
		if err := l.places.enter(ctx, q.Limits.Time, q.Waits); err != nil {
			yield(logic.Row{}, err)
			return
		}
		defer l.places.leave()
		share := l.budget.Share()
		defer share.End()
		ctx = knowledge.WithShare(ctx, share)
		s, err := l.take(ctx)
		if err != nil {
			yield(logic.Row{}, err)
			return
		}
		defer l.giveBack(s)
		v, err := s.base.viewFor(ctx, &q)
		if err != nil {
			yield(logic.Row{}, err)
			return
		}
		if err := share.Begin(ctx); err != nil {
			yield(logic.Row{}, err)
			return
		}
		tell := q.Notes
		var notes []string // what was printed since the last row: it is told where the question has no turn
		flush := func() {
			for _, line := range notes {
				tell(line)
			}
			notes = nil
		}
		if tell != nil {
			q.Notes = func(line string) { notes = append(notes, line) }
			defer flush()
		}
		for row, err := range Ask(ctx, v, q) {
			size := rowSize(&row)
			if err == nil {
				err = kept(share, size)
			}
			share.Leave() // who asks takes his time
			flush()
			if !yield(row, err) || err != nil {
				return
			}
			_ = share.Keep(-size) // less is never refused
			if err := share.Begin(ctx); err != nil {
				yield(logic.Row{}, err)
				return
			}
		}
	}
}

// kept has a question hold so many bytes more, beside what it computes.
func kept(share *knowledge.Share, bytes int64) error {
	if err := share.Keep(bytes); err != nil {
		return engram.Errorf(engram.Exhausted, "", "the question: %w", err)
	}
	return nil
}

// rowSize is about what a row takes while it is made a message: its texts several times, and more for each value in them.
func rowSize(row *logic.Row) (size int64) {
	for i, value := range row.Values {
		size += 3*int64(len(value)) + 128*int64(1+bytes.Count(value, []byte{','})) + int64(len(row.Texts[i]))
	}
	return size
}

// viewFor returns the view that a question is asked of.
func (b *Base) viewFor(ctx context.Context, q *logic.Question) (*knowledge.View, error) {
	marks := make([]world.Mark, len(q.After))
	for i, m := range q.After {
		marks[i] = world.Mark(m)
	}
	if q.At == nil && q.AsOf == nil || len(marks) > 0 {
		v, err := b.View(ctx, marks...)
		if err != nil || q.At == nil && q.AsOf == nil {
			return v, err
		}
	}
	at, asOf := engram.Now(), engram.MaxTime
	if q.AsOf != nil {
		asOf = *q.AsOf
	}
	if q.At != nil {
		at = *q.At
	}
	return b.Past(ctx, at, asOf)
}

// bounded returns limits that are nowhere larger than those of the service.
func (l *Local) bounded(asked logic.Limits) logic.Limits {
	return logic.Limits{
		Time: within(asked.Time, l.limits.Time), Steps: within(asked.Steps, l.limits.Steps), Memory: within(asked.Memory, l.limits.Memory),
	}
}

func within[T cmp.Ordered](asked, most T) T {
	var none T
	if asked == none || most != none && asked > most {
		return most
	}
	return asked
}

// take returns the base for who may read what the caller may. It waits for it for as long as ctx allows.
func (l *Local) take(ctx context.Context) (*shared, error) {
	s, err := l.find(engram.ScopeOf(ctx))
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
		err = s.err
	case <-ctx.Done():
		err = engram.Errorf(engram.Canceled, "", "the question was given up before its facts were read: %w", ctx.Err())
	}
	if err != nil {
		l.giveBack(s)
		return nil, err
	}
	return s, nil
}

// find returns the base of a scope, to be given back; a new one if there is none that follows its memories.
func (l *Local) find(scope engram.Scope) (*shared, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.svc == nil {
		return nil, engram.Errorf(engram.Unavailable, "", "the server is not running")
	}
	i := slices.IndexFunc(l.bases, func(s *shared) bool { return s.scope == scope })
	if i >= 0 && l.bases[i].over() {
		l.leave(i)
		i = -1
	}
	var s *shared
	if i < 0 {
		s = &shared{scope: scope, ready: make(chan struct{}), idle: make(chan struct{})}
		ctx, svc := l.ctx, l.svc
		if scope != nil {
			svc = scoped{svc, scope}
		}
		l.running.Go(func() { s.live(ctx, svc) })
	} else {
		s = l.bases[i]
		l.bases = slices.Delete(l.bases, i, i+1)
	}
	l.bases = slices.Insert(l.bases, 0, s)
	s.users++
	if len(l.bases) > maxBases {
		l.leave(len(l.bases) - 1)
	}
	return s, nil
}

// live has the base from its beginning until nobody uses it or ctx ends.
func (s *shared) live(ctx context.Context, svc engram.Service) {
	s.base, s.err = Over(ctx, svc)
	close(s.ready)
	if s.err != nil {
		return
	}
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
	_ = s.base.Close() // it is only read
}

// over reports whether the base came to nothing, or follows its memories no more.
func (s *shared) over() bool {
	select {
	case <-s.ready:
	default:
		return false
	}
	if s.err != nil {
		return true
	}
	select {
	case <-s.base.follower.Done():
		return true
	default:
		return false
	}
}

// leave takes a base out of the list. The lock is held.
func (l *Local) leave(i int) {
	s := l.bases[i]
	l.bases = slices.Delete(l.bases, i, i+1)
	s.left = true
	if s.users == 0 {
		close(s.idle)
	}
}

func (l *Local) giveBack(s *shared) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 && s.left {
		close(s.idle)
	}
}

// scoped is a server as somebody sees it who may read a part of it only.
type scoped struct {
	engram.Service
	scope engram.Scope
}

func (s scoped) in(ctx context.Context) context.Context { return engram.WithScope(ctx, s.scope) }

func (s scoped) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	return s.Service.Query(s.in(ctx), q)
}

func (s scoped) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	return s.Service.QueryParts(s.in(ctx), q, part)
}

func (s scoped) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	return s.Service.Latest(s.in(ctx), entity)
}

func (s scoped) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	return s.Service.AtOrBefore(s.in(ctx), entity, t)
}

func (s scoped) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	return s.Service.Subscribe(s.in(ctx), sub)
}

func (s scoped) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	return s.Service.Predict(s.in(ctx), ids)
}

func (s scoped) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	return s.Service.Describe(s.in(ctx), p)
}

func (s scoped) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	return s.Service.Stats(s.in(ctx), p, depth)
}

// Robot returns the name of the robot whose server it is; "" if it has none.
func (s scoped) Robot() string {
	if r, ok := s.Service.(interface{ Robot() string }); ok {
		return r.Robot()
	}
	return ""
}
