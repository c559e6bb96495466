package wm

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// feed hands every update to the subscriptions that match its entity, in the order
// of the numbers. The WM's lock protects it.
type feed struct {
	subscriptions []*subscription // in the order they began
	begun         uint64          // how many ever
	ended         uint64          // how many of them ended
	dropped       uint64          // by the queues of those that ended
	keep          uint64          // how many updates it remembers
	recent        []recentUpdate  // the last ones, at number modulo keep
	watchers      []*Watcher
	removals      removals
}

// recentUpdate remembers where an update went, so that a subscription that resumes
// shortly after it broke off finds what it missed without a search.
type recentUpdate struct {
	entity  *entity // nil if it was no news: recalled
	time    engram.Time
	settled engram.Time // everything with a higher number arrived at or after it
}

// matches is an entity's list of the subscriptions that match it. It is brought up
// to date when the entity is written to; each subscription is matched once.
type matches struct {
	list  []*match
	begun uint64 // the feed's counts when that was done
	ended uint64
}

// match is a subscription that matches an entity.
type match struct {
	*subscription
	entity  *entity
	waiting uint64 // where its newest update waits in the queue, for SlowLatest; 0 if none does
}

func (f *feed) active() bool { return len(f.subscriptions) > 0 }

// record remembers an update.
func (f *feed) record(v *version, settled engram.Time) {
	u := recentUpdate{v.entity, v.Time, settled}
	if v.Recalled {
		u.entity = nil
	}
	if uint64(len(f.recent)) < f.keep {
		if len(f.recent) == 0 {
			f.recent = append(f.recent, recentUpdate{}) // no update has number 0
		}
		if uint64(len(f.recent)) < f.keep {
			f.recent = append(f.recent, u)
			return
		}
	}
	f.recent[v.Number%f.keep] = u
}

// add adds a subscription.
func (f *feed) add(s *subscription) {
	f.begun++
	s.ordinal = f.begun
	f.subscriptions = append(f.subscriptions, s)
}

// remove removes a subscription if it is there.
func (f *feed) remove(s *subscription) {
	if i := slices.Index(f.subscriptions, s); i >= 0 {
		f.subscriptions = slices.Delete(f.subscriptions, i, i+1)
		f.ended++
		f.dropped += s.queue.dropped.Load()
	}
}

// takeAll removes and returns all subscriptions.
func (f *feed) takeAll() []*subscription {
	all := f.subscriptions
	f.ended += uint64(len(all))
	for _, s := range all {
		f.dropped += s.queue.dropped.Load()
	}
	f.subscriptions = nil
	return all
}

// notices are what writers owe subscriptions once they have let go of the lock.
type notices struct {
	asleep   []*subscription // to be woken
	watchers []*Watcher      // to be woken
	slow     []*subscription // to be waited for
}

// rouse wakes whom it is owed to.
func (n *notices) rouse() {
	for _, s := range n.asleep {
		s.rouse()
	}
	for _, w := range n.watchers {
		w.rouse()
	}
}

// notifyLocked hands v to the subscriptions that match e, and notes what is owed to
// them.
func (f *feed) notifyLocked(e *entity, v *version, supersedes bool, owed *notices) {
	if e.matches.begun != f.begun || e.matches.ended != f.ended {
		f.match(e)
	}
	for _, m := range e.matches.list {
		full, asleep := m.push(m, v, supersedes)
		if asleep {
			owed.asleep = append(owed.asleep, m.subscription)
		}
		if full && !slices.Contains(owed.slow, m.subscription) {
			owed.slow = append(owed.slow, m.subscription)
		}
	}
}

// match brings an entity's list up to date.
func (f *feed) match(e *entity) {
	m := &e.matches
	if m.ended != f.ended {
		m.list = slices.DeleteFunc(m.list, func(m *match) bool { return m.isOver() })
	}
	for i := len(f.subscriptions) - 1; i >= 0 && f.subscriptions[i].ordinal > m.begun; i-- {
		if s := f.subscriptions[i]; s.matches(e.id) {
			m.list = append(m.list, &match{subscription: s, entity: e})
		}
	}
	m.begun, m.ended = f.begun, f.ended
}
