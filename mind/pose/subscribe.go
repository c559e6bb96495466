package pose

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Changes says what a subscription reports: that the pose of Source in Target moved
// by more than Trans metres or Rot radians since the revision that the subscriber
// acknowledged last. If both are 0 they are those of [DefaultThreshold].
type Changes struct {
	Target, Source string
	// OnlyAcquired reports only acquisitions of Source, one by one.
	OnlyAcquired bool
	Trans, Rot   float64
}

// Event tells what moved between two revisions.
type Event struct {
	From, To Revision
	Changes  []Change // without OnlyAcquired
	Moved    []Moved  // with OnlyAcquired, the largest first
	View     *View    // of To; all of the event can be looked up in it
}

// Moved is an acquisition whose pose in the target moved.
type Moved struct {
	ID         AcquisitionID
	Time       engram.Time
	Old, New   Pose // target ← sensor
	Trans, Rot float64
	// Failed is set if one of the revisions has no answer; that pose is then zero.
	Failed bool
}

// Subscription reports changes. It is safe for concurrent use, but one Next should
// run at a time.
type Subscription struct {
	s   *Store
	ask Changes
	th  Threshold

	mu    sync.Mutex
	acked Revision // what the subscriber has dealt with
	told  Revision // what it was told of
}

// Subscribe begins to report what changed since the revision from, which is the
// last one that the subscriber knows of. A subscriber that was away resumes from
// the last revision it acknowledged. The errors are NotFound for a frame that is
// unknown in that revision, Invalid for a negative threshold, TooOld if the revision
// is retained no more (all may have moved: begin anew at the current one) and TooNew
// if it does not exist.
func (s *Store) Subscribe(c Changes, from Revision) (*Subscription, error) {
	st, err := s.states.of(from)
	if err != nil {
		return nil, err
	}
	if _, err := s.newPath(nil, st.content, c.Target, c.Source); err != nil {
		return nil, err
	}
	th := Threshold{c.Trans, c.Rot}
	if !(c.Trans >= 0 && c.Rot >= 0) {
		return nil, engram.Errorf(engram.Invalid, "", "thresholds %g m and %g rad must not be negative", c.Trans, c.Rot)
	}
	if th == (Threshold{}) {
		th = DefaultThreshold()
	}
	return &Subscription{s: s, ask: c, th: th, acked: from, told: from}, nil
}

// Next waits until something moved by more than the threshold since the revision
// acknowledged last, and tells what. Revisions in between are not reported one by
// one. An event that is not acknowledged is contained in the next, which comes
// after the next revision. The error is the context's, or TooOld if the subscriber
// has fallen behind what is retained.
func (sub *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		sub.mu.Lock()
		acked, told := sub.acked, sub.told
		sub.mu.Unlock()
		if err := sub.s.states.wait(ctx, told); err != nil {
			return Event{}, err
		}
		view := sub.s.Now()
		ev, err := sub.since(acked, view)
		if err != nil {
			return Event{}, err
		}
		sub.mu.Lock()
		sub.told = max(sub.told, view.Revision())
		sub.mu.Unlock()
		if len(ev.Changes) > 0 || len(ev.Moved) > 0 {
			return ev, nil
		}
	}
}

// Ack says that the subscriber has dealt with all events up to the revision rev.
// Movements are measured from there.
func (sub *Subscription) Ack(rev Revision) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.acked = max(sub.acked, rev)
	sub.told = max(sub.told, rev)
}

// Acked returns the revision to resume from.
func (sub *Subscription) Acked() Revision {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.acked
}

// since makes the event from an acknowledged revision to a view.
func (sub *Subscription) since(acked Revision, view *View) (Event, error) {
	ev := Event{From: acked, To: view.Revision(), View: view}
	st, err := sub.s.states.of(acked)
	if err != nil {
		return ev, err
	}
	if !sub.ask.OnlyAcquired {
		ev.Changes, err = sub.s.diff(st, view.state, view.Revision(), newFrozen(view.frozen), sub.ask.Target, sub.ask.Source, sub.th)
		return ev, err
	}
	ev.Moved, err = sub.moved(st, view)
	return ev, err
}

// moved compares the subscriber's acquisitions. One made after the acknowledged
// revision is compared with the revision in which it was made, because that is the
// one its owner saw.
func (sub *Subscription) moved(base *state, view *View) ([]Moved, error) {
	now, err := view.Path(sub.ask.Target, sub.ask.Source)
	if err != nil {
		return nil, err
	}
	olds := map[Revision]*Path{}
	ice := newFrozen(view.frozen)
	var out []Moved
	for _, a := range sub.s.acquisitionsOf(now.source, engram.Always()) {
		rev := max(a.rev, base.rev)
		if rev >= view.Revision() {
			continue
		}
		old := olds[rev]
		if old == nil {
			st := base
			if rev != base.rev {
				if st, err = sub.s.states.of(rev); err != nil {
					return nil, err
				}
			}
			if old, err = sub.s.newPath(sub.s.viewOf(st, view.Revision(), ice), st.content, sub.ask.Target, sub.ask.Source); err != nil {
				return nil, err
			}
			olds[rev] = old
		}
		m := Moved{ID: a.id, Time: a.t}
		var failOld, failNew Failure
		m.Old, _, failOld = old.At(a.t)
		m.New, _, failNew = now.At(a.t)
		switch okOld, okNew := failOld.Code == OK, failNew.Code == OK; {
		case !okOld && !okNew:
			continue
		case okOld != okNew:
			m.Failed = true
		default:
			if m.Trans, m.Rot = m.Old.Distance(m.New); !sub.th.exceeded(m.Trans, m.Rot) {
				continue
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Moved) int {
		// Metres first: what a map builder corrects by.
		return cmp.Or(cmp.Compare(b.Trans, a.Trans), cmp.Compare(b.Rot, a.Rot), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
