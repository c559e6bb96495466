package skill

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Execution returns an execution as it was last, or NotFound.
func (s *Skills) Execution(ctx context.Context, id engram.ID) (*Execution, error) {
	last, err := s.svc.Latest(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.codec.Execution(id, last.Time, last.Instances)
}

// Timeline returns the snapshots of an execution that are kept, in the order of their times, or NotFound if there are none.
// What cannot be read is left out.
func (s *Skills) Timeline(ctx context.Context, id engram.ID) (all []*Execution, err error) {
	r, err := s.svc.Query(ctx, engram.PatternOf(id).Select(engram.All()))
	if err != nil {
		return nil, err
	}
	for item := range r.All() {
		if e, err := s.codec.Execution(id, item.Time, item.Instances); err == nil {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return nil, engram.Errorf(engram.NotFound, id.String(), "there is no execution of this name; 'engram skill history' lists those there are")
	}
	slices.SortFunc(all, func(a, b *Execution) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}

// Phases is how long an execution took.
type Phases struct {
	Waited  time.Duration // for its provider and its resources
	Ran     time.Duration // with its provider
	Stopped time.Duration // from when it was told to stop until it stood still, or went on
}

// PhasesOf returns how long an execution took by its timeline, which has a snapshot at least; until now, if it has not ended.
func PhasesOf(timeline []*Execution, now engram.Time) (p Phases) {
	p.before(timeline[0])
	for i, e := range timeline {
		next := now
		if i+1 < len(timeline) {
			next = timeline[i+1].Time
		}
		took := max(0, next.Sub(e.Time))
		switch {
		case e.Status.Ended():
		case e.Status == schedule.Stopping:
			p.Stopped += took
		case e.Waits():
			p.Waited += took
		default:
			p.Ran += took
		}
	}
	return p
}

// before adds what was before the first snapshot that is kept.
func (p *Phases) before(e *Execution) {
	began := e.Called
	switch {
	case e.Started == 0:
		return
	case began != 0:
	case e.Waits() || !e.Request.IsRoot(): // it was never called
		began = e.Time
	default:
		began = e.Started
	}
	p.Waited += max(0, began.Sub(e.Started))
	p.Ran += max(0, e.Time.Sub(began))
}

// Waits reports whether the execution waits for its provider or its resources.
func (e *Execution) Waits() bool { return e.Called == 0 && e.Status <= schedule.Preparing }

// Relative is an execution among those that led to another one, or came of it.
type Relative struct {
	ID        engram.ID
	Execution *Execution  // as it was last; nil if it is not there, or not any more
	Calls     []*Relative // in the order in which they were begun
}

// mostRelatives bounds what is read of a family.
const mostRelatives = 1000

// Family returns what an execution called, below what called it: from the execution that was called first, each has one call up
// to the given one, which has all of its own. Of a family of more than 1,000 the rest is left out; cut is how many there are at
// least.
func (s *Skills) Family(ctx context.Context, e *Execution) (root *Relative, cut int, err error) {
	root = &Relative{ID: e.ID, Execution: e}
	family := map[engram.ID]*Relative{e.ID: root}
	if cut, err = s.descend(ctx, root, family); err != nil {
		return nil, 0, err
	}
	for above := e.Parent; !above.IsRoot() && family[above] == nil && len(family) < 2*mostRelatives; {
		root = &Relative{ID: above, Calls: []*Relative{root}}
		family[above] = root
		switch root.Execution, err = s.Execution(ctx, above); {
		case err == nil:
			above = root.Execution.Parent
		case engram.CodeOf(err) == engram.Unavailable || engram.CodeOf(err) == engram.Canceled:
			return nil, 0, err
		default: // it is not there any more, or is nothing that can be read as an execution
			return root, cut, nil
		}
	}
	return root, cut, nil
}

// descend adds what an execution called, and what that called.
func (s *Skills) descend(ctx context.Context, of *Relative, family map[engram.ID]*Relative) (cut int, err error) {
	for level := []engram.ID{of.ID}; len(level) > 0; {
		q := engram.MustPattern("Skill/Execution").Select(engram.Latest(1))
		q.LinksTo, q.FilterOrder = level, engram.SelectThenFilter
		called, err := s.executions(ctx, q)
		if err != nil {
			return 0, err
		}
		level = nil
		for _, e := range called {
			above := family[e.Parent]
			switch {
			case above == nil || family[e.ID] != nil: // it has a link for another reason, or calls itself
			case len(family) >= mostRelatives:
				cut++
			default:
				r := &Relative{ID: e.ID, Execution: e}
				above.Calls, family[e.ID] = append(above.Calls, r), r
				level = append(level, e.ID)
			}
		}
	}
	return cut, nil
}

// ExecutionsOf returns the executions of a skill as they were last, in the order in which they were begun.
func (s *Skills) ExecutionsOf(ctx context.Context, of engram.ID) ([]*Execution, error) {
	q := engram.MustPattern("Skill/Execution").Select(engram.Latest(1))
	q.LinksTo, q.FilterOrder = []engram.ID{of}, engram.SelectThenFilter
	all, err := s.executions(ctx, q)
	return slices.DeleteFunc(all, func(e *Execution) bool { return e.Skill.Truncate(engram.LevelEntity) != of }), err
}
