package base

import (
	"bytes"
	"cmp"
	"context"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
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
	bases  *follow.Shared
}

const (
	maxBases = 8  // of different rights
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
	return &Local{limits: limits, places: admission{most: atOnce}, budget: knowledge.NewBudget(budget), bases: follow.NewShared(maxBases, open)}
}

// Start says what to answer from, until ctx ends.
func (l *Local) Start(ctx context.Context, svc engram.Service) error { return l.bases.Start(ctx, svc) }

// Run waits until ctx ends, and then until nothing is left in RAM. Questions fail from then on.
func (l *Local) Run(ctx context.Context, svc engram.Service) error { return l.bases.Run(ctx, svc) }

// open opens a base over what somebody may read.
func open(ctx context.Context, svc engram.Service, _ any, _ func(done, of int)) (follow.Opened, error) {
	b, err := Over(ctx, svc)
	if err != nil {
		return nil, err
	}
	return b, nil
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
		b, release, err := l.bases.Take(ctx, nil, nil)
		if err != nil {
			yield(logic.Row{}, err)
			return
		}
		defer release()
		v, err := b.(*Base).viewFor(ctx, &q)
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
