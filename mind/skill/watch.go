package skill

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// News is what a watch tells. One of Execution, Provider, Absence and Restarted is set.
type News struct {
	Execution *Execution   // it has changed, or was under way when the watch began
	Above     []*Execution // what called it, from the one that was called first, as it was when the execution began
	Lost      bool         // the server began anew and does not know of the execution, which is as it was last
	Provider  *Presence
	Absence   *engram.Absence // of a server, see [engram.Update]
	Restarted bool            // the server began anew, or another one has taken over
}

// Stage returns the skills from the one that was called first to that of the execution, such as Bring/Grasp.
func (n *News) Stage() string {
	var names []string
	for _, e := range append(slices.Clone(n.Above), n.Execution) {
		names = append(names, e.Skill.Entity())
	}
	return strings.Join(names, "/")
}

// Presence is that a provider came or went.
type Presence struct {
	Provider string
	Time     engram.Time
	There    bool
	Ended    bool // it ended in order; else its lease is over
	Lease    Lease
}

// Watch tells of all executions and providers, until ctx ends or an error of each, which it returns: first of those that are
// there, then of what changes. It goes on when a server that went away is back.
func (s *Skills) Watch(ctx context.Context, each func(News) error) error {
	sub, err := s.svc.Subscribe(ctx, engram.Subscription{
		Patterns: []engram.Pattern{engram.MustPattern("Skill/Execution"), engram.MustPattern("Skill/Provider")}, WithData: true, Absences: true, Queue: 8192,
	})
	if err != nil {
		return err
	}
	defer sub.Close()
	w := &watcher{Skills: s, each: each, known: map[engram.ID]*watched{}, providers: map[engram.ID]*presence{}}
	if err := w.look(ctx); err != nil {
		return err
	}
	for {
		updates, err := w.next(ctx, sub)
		if err != nil {
			return err
		}
		for i := range updates {
			if err := w.hear(&updates[i]); err != nil {
				return err
			}
		}
		if err := w.heal(ctx); err != nil {
			return err
		}
		if err := w.expire(ctx); err != nil {
			return err
		}
	}
}

// watcher is a watch.
type watcher struct {
	*Skills
	each      func(News) error
	known     map[engram.ID]*watched
	providers map[engram.ID]*presence
	behind    bool // something was not heard
}

// watched is an execution. One that has ended is kept a while, since what was heard of it may come again.
type watched struct {
	*Execution
	above []*Execution
}

// presence is a provider.
type presence struct {
	Lease
	there bool
	due   time.Time // when its lease is looked at again
}

// mostWatched bounds the executions that are known.
const mostWatched = 10_000

// next returns what comes, at the latest when a lease is due: nothing then.
func (w *watcher) next(ctx context.Context, sub engram.UpdateStream) ([]engram.Update, error) {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	for _, p := range w.providers {
		if at, ok := waiting.Deadline(); p.there && (!ok || p.due.Before(at)) {
			cancel()
			waiting, cancel = context.WithDeadline(ctx, p.due)
		}
	}
	if w.behind {
		cancel()
		waiting, cancel = context.WithTimeout(ctx, time.Second)
	}
	defer cancel()
	updates, err := sub.Next(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return updates, err
}

// hear takes an update.
func (w *watcher) hear(u *engram.Update) error {
	if u.Absence != nil {
		return w.each(News{Absence: u.Absence})
	}
	w.behind = w.behind || u.Dropped > 0 || u.Restarted
	if u.Restarted {
		if err := w.each(News{Restarted: true}); err != nil {
			return err
		}
	}
	if u.Snapshot == nil {
		return nil
	}
	return w.take(u.ID.Truncate(engram.LevelEntity), u.Snapshot)
}

// heal looks for what was not heard, as soon as that can be.
func (w *watcher) heal(ctx context.Context) error {
	if !w.behind {
		return nil
	}
	err := w.look(ctx)
	if engram.CodeOf(err) == engram.Unavailable {
		return nil
	}
	w.behind = false
	return err
}

// take takes a snapshot that has come just now.
func (w *watcher) take(id engram.ID, s *engram.Snapshot) error {
	if id.CoreSegment() == "Provider" {
		l, err := w.codec.Lease(id, s.Instances)
		if err != nil {
			return nil // it is none
		}
		return w.provider(id, s.Time, l, time.Now().Add(l.Lease))
	}
	e, err := w.codec.Execution(id, s.Time, s.Instances)
	if err != nil {
		return nil // it is none
	}
	return w.execution(e)
}

// execution takes a state of an execution.
func (w *watcher) execution(e *Execution) error {
	known := w.known[e.ID]
	switch {
	case known == nil:
		w.forget()
		known = &watched{above: w.above(e)}
		w.known[e.ID] = known
	case e.Time <= known.Time: // it was heard already
		return nil
	}
	known.Execution = e
	return w.each(News{Execution: e, Above: known.above})
}

// forget makes room for one more execution.
func (w *watcher) forget() {
	if len(w.known) >= mostWatched {
		maps.DeleteFunc(w.known, func(_ engram.ID, e *watched) bool { return e.Status.Ended() })
	}
	if len(w.known) >= mostWatched { // noted ones that never ended
		clear(w.known)
	}
}

// above returns what called an execution, from the one that was called first.
func (w *watcher) above(e *Execution) []*Execution {
	if parent := w.known[e.Parent]; parent != nil {
		return append(slices.Clone(parent.above), parent.Execution)
	}
	return nil
}

// provider takes a lease, which is looked at again when it is due.
func (w *watcher) provider(id engram.ID, at engram.Time, l Lease, due time.Time) error {
	p := w.providers[id]
	if p == nil {
		p = &presence{}
		w.providers[id] = p
	}
	was, epoch := p.there, p.Epoch
	p.Lease, p.there, p.due = l, !l.Ended, due
	if was == p.there && (!was || epoch == l.Epoch) {
		return nil
	}
	return w.each(News{Provider: &Presence{Provider: id.Entity(), Time: at, There: p.there, Ended: l.Ended, Lease: l}})
}

// expire looks at the providers whose leases are due: what was heard last may not be the last.
func (w *watcher) expire(ctx context.Context) error {
	for id, p := range w.providers {
		if !p.there || time.Now().Before(p.due) {
			continue
		}
		s, err := w.svc.Latest(ctx, id)
		switch engram.CodeOf(err) {
		case 0:
			l, err := w.codec.Lease(id, s.Instances)
			if left := s.Arrived.Add(l.Lease).Sub(engram.Now()); err == nil && !l.Ended && left > 0 {
				p.due = time.Now().Add(left)
				continue
			}
		case engram.NotFound, engram.TooOld:
		default: // nobody knows
			p.due = time.Now().Add(p.Lease.Lease)
			continue
		}
		p.there = false
		if err := w.each(News{Provider: &Presence{Provider: id.Entity(), Time: engram.Now(), Lease: p.Lease}}); err != nil {
			return err
		}
	}
	return nil
}

// look looks at all that is there. Of what has ended it tells what was under way before.
func (w *watcher) look(ctx context.Context) error {
	r, err := w.svc.Query(ctx, engram.MustPattern("Skill/Provider").Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for item := range r.All() {
		id := item.ID.Truncate(engram.LevelEntity)
		l, err := w.codec.Lease(id, item.Instances)
		left := item.Arrived.Add(l.Lease).Sub(engram.Now())
		if err != nil || w.providers[id] == nil && (l.Ended || left <= 0) {
			continue
		}
		if err := w.provider(id, item.Time, l, time.Now().Add(left)); err != nil {
			return err
		}
	}
	all, err := w.Executions(ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
	if err != nil {
		return err
	}
	there := map[engram.ID]bool{}
	for _, e := range all {
		there[e.ID] = true
		if w.known[e.ID] == nil && e.Status.Ended() {
			continue
		}
		if err := w.execution(e); err != nil {
			return err
		}
	}
	for id, e := range w.known {
		if there[id] {
			continue
		}
		delete(w.known, id)
		if e.Status.Ended() {
			continue
		}
		if err := w.each(News{Execution: e.Execution, Above: e.above, Lost: true}); err != nil {
			return err
		}
	}
	return nil
}
