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
	erasures      erasures
	pins          pins
	asked         int64 // bytes, of all subscriptions: see asks
	matched       int   // how long the lists of all entities are
}

// recentUpdate remembers where an update went, so that a subscription that resumes
// shortly after it broke off finds what it missed without a search.
type recentUpdate struct {
	entity       *entity
	news         bool // false: it was recalled
	time         engram.Time
	lowWatermark engram.Time // everything with a higher number arrived at or after it
}

// matches is an entity's list of the subscriptions that match it. It is brought up
// to date when the entity is written to; each subscription is matched once, if there is
// room for the list.
type matches struct {
	list  []*subscription
	begun uint64 // the feed's counts when that was done
	ended uint64
}

// maxMatches bounds the lists of all entities together: they take 32 MiB, and what is
// beyond is matched with each update.
const maxMatches = 4 << 20

func (f *feed) active() bool { return len(f.subscriptions) > 0 }

// record remembers an update.
func (f *feed) record(v *version, watermark engram.Time) {
	u := recentUpdate{v.entity, !v.Recalled, v.Time, watermark}
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
	f.asked += s.asked
	f.subscriptions = append(f.subscriptions, s)
}

// remove removes a subscription if it is there.
func (f *feed) remove(s *subscription) {
	if i := slices.Index(f.subscriptions, s); i >= 0 {
		f.subscriptions = slices.Delete(f.subscriptions, i, i+1)
		f.ended++
		f.asked -= s.asked
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
	f.subscriptions, f.asked = nil, 0
	return all
}

// notices are what writers owe subscriptions once they have let go of the lock.
type notices struct {
	asleep   []*subscription // to be woken
	watchers []*Watcher      // to be woken
	slow     []*subscription // to be waited for
}

// wakeUp wakes whom it is owed to.
func (n *notices) wakeUp() {
	for _, s := range n.asleep {
		s.wakeUp()
	}
	for _, w := range n.watchers {
		w.wakeUp()
	}
}

// notifyLocked hands v to the subscriptions that match e, and notes what is owed to
// them.
func (f *feed) notifyLocked(e *entity, v *version, supersedes bool, owed *notices) {
	for _, s := range f.match(e) {
		full, asleep := s.push(e, v, supersedes)
		if asleep {
			owed.asleep = append(owed.asleep, s)
		}
		if full && !slices.Contains(owed.slow, s) {
			owed.slow = append(owed.slow, s)
		}
	}
}

// match returns the subscriptions that match an entity, and keeps them if there is room.
func (f *feed) match(e *entity) []*subscription {
	m := &e.matches
	if m.begun == f.begun && m.ended == f.ended {
		return m.list
	}
	list := m.list
	f.matched -= len(list)
	if m.ended != f.ended {
		list = slices.DeleteFunc(list, (*subscription).isOver)
	}
	for i := len(f.subscriptions) - 1; i >= 0 && f.subscriptions[i].ordinal > m.begun; i-- {
		if s := f.subscriptions[i]; s.matches(e.id) {
			list = append(list, s)
		}
	}
	if e.removed || f.matched+len(list) > maxMatches {
		*m = matches{}
		return list
	}
	f.matched += len(list)
	*m = matches{list, f.begun, f.ended}
	return list
}

// forget lets go of the list of an entity that is removed.
func (f *feed) forget(e *entity) {
	f.matched -= len(e.matches.list)
	e.matches = matches{}
}
