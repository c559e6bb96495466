package wm

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// admitLocked is confirmLocked for a local commit. It refuses an update with OutOfRange if
// its time lies too far ahead of the clock, and with TooOld if the bounds would evict it
// at once and nothing else keeps it: an acknowledged update can be read.
func (w *writer) admitLocked(u *engram.EntityUpdate, p *pending, hasEntry bool, clock engram.Time) error {
	if err := w.confirmLocked(u, p, hasEntry); err != nil {
		return err
	}
	if err := w.roomLocked(p, u.Entity); err != nil {
		return err
	}
	if err := p.pooledLocked(u.Entity); err != nil {
		return err
	}
	if present := p.core.def.Present(clock); u.Time > present {
		p.version = nil
		return engram.Errorf(engram.OutOfRange, u.Entity.String(), "the time %v lies %v ahead of the server's clock, %v; %s takes times up to %v ahead; give the time at which it was true, set the clock that is wrong, or have the segment take it (max ahead)",
			u.Time, roughly(u.Time.Sub(clock)), clock, p.core.id, present.Sub(clock))
	}
	if e, newest := p.lateLocked(u.Entity.Entity(), w.mu.clock); e != nil && e.vanishesLocked(p.version, newest) && !w.keptElsewhere(u.Entity) {
		p.version = nil
		return engram.Errorf(engram.TooOld, u.Entity.String(), "it would be evicted at once: newer ones of the entity are there, and the bounds keep nothing so old, or so far ahead of the clock, beside them; raise the bounds of %s or of its memory, or let a long-term memory record it",
			p.core.id)
	}
	if p.crowdsLocked(u.Entity) && !w.keptElsewhere(u.Entity) {
		p.version = nil
		b := &p.core.memory.bounds
		return engram.Errorf(engram.Exhausted, u.Entity.String(), "%s has no room for it (%d bytes, %d snapshots) beside the newest states of what there is, which it does not forget; let a long-term memory record it (engram serve --data)",
			p.core.memory.id, b.MaxBytes, b.MaxCount)
	}
	return nil
}

// crowdsLocked reports whether the newest state of another entity would have to go for the
// version, in a memory that keeps those.
func (p *pending) crowdsLocked(entity engram.ID) bool {
	m := p.core.memory
	if !m.keepsNewest {
		return false
	}
	left := m.held
	left.addHeld(p.version.counted())
	if e := p.knownLocked(entity.Entity()); e != nil && e.newest.Load() != nil {
		left.subHeld(e.newest.Load().counted()) // may go then
	} else if left.cost += entityCost(entity); p.provider == nil {
		left.cost += providerCost(entity)
	}
	return m.crowdedLocked(left)
}

// crowdedLocked reports whether there would be newest states only, and beyond the bounds, if
// the memory held so much and evicted the rest.
func (m *memory) crowdedLocked(held counters) bool {
	most := m.maxBytes()
	for old := m.history.first; m.beyond(&held, most); old = old.after {
		if old == nil {
			return true
		}
		held.subHeld(old.counted())
	}
	return false
}

func (w *writer) keptElsewhere(entity engram.ID) bool {
	keeps := w.kept.Load()
	return keeps != nil && (*keeps)(entity)
}

// roughly returns a duration without decimals that nobody needs.
func roughly(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Truncate(time.Second)
	}
	return d
}

// knownLocked returns the entity of that name, nil if there is none.
func (p *pending) knownLocked(name string) *entity {
	if p.entity != nil && !p.entity.removed {
		return p.entity
	}
	if p.provider == nil {
		return nil
	}
	e, _ := p.provider.entities.Get(name)
	return e
}

// lateLocked returns the entity of that name and its newest state if that is newer than the
// version, else nil.
func (p *pending) lateLocked(name string, now engram.Time) (e *entity, newest *version) {
	if e = p.knownLocked(name); e == nil {
		return nil, nil
	}
	present := e.present(now)
	if newest = e.newestLocked(present); newest == nil || !query.Newer(newest.Time, p.version.Time, present) {
		return nil, nil
	}
	return e, newest
}

// vanishesLocked reports whether a version that is not to be the entity's newest state
// would be evicted as soon as it is stored. newest is that state.
func (e *entity) vanishesLocked(v, newest *version) bool {
	m := e.provider.core.memory
	if b := &e.provider.core.def.History; *b != (engram.Bounds{}) && e.beyondWith(b, v, newest) {
		return true
	}
	if b := &m.bounds; b.MaxAge > 0 && m.reference(b.MaxAge).Sub(v.Time) > b.MaxAge {
		return true
	}
	held := m.held
	held.addHeld(v.counted())
	if was := e.newest.Load(); was != newest { // it stays, and the other one may go
		held.addHeld(newest.counted())
		held.subHeld(was.counted())
	}
	return m.crowdedLocked(held)
}

// beyondWith reports whether the entity's own bounds evict v, which is stored nowhere
// yet, and all that goes before it. newest is the entity's.
func (e *entity) beyondWith(b *engram.Bounds, v, newest *version) bool {
	left := e.held
	left.addHeld(v.counted())
	ahead := v.Time > newest.Time
	r := reading{spans: e.timeline.spans()}
	for old := range r.versions(r.After(newest.Time)) { // what is ahead goes first, and never for its age
		if !beyondSize(&left, b) || ahead && old.Time > v.Time {
			break
		}
		left.subHeld(old.counted())
	}
	if ahead {
		return beyondSize(&left, b)
	}
	since := newest.Time
	if b.MaxAge > 0 {
		if before := e.timeline.before(since); before == nil || v.Time > before.Time {
			since = robust(since, v.Time, b.MaxAge)
		} else {
			since = robust(since, before.Time, b.MaxAge)
		}
	}
	exceeded := func(t engram.Time) bool {
		return beyondSize(&left, b) || b.MaxAge > 0 && since.Sub(t) > b.MaxAge
	}
	for old := range e.versions() {
		if old.Time > v.Time {
			break
		}
		if !exceeded(old.Time) {
			return false
		}
		left.subHeld(old.counted())
	}
	return exceeded(v.Time)
}

// robust returns the time from which ages are measured back, of the two newest times:
// the newest, unless that alone is more than the age ahead.
func robust(newest, second engram.Time, age time.Duration) engram.Time {
	if newest.Sub(second) > age {
		return second
	}
	return newest
}
