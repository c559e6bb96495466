package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// commitBatch is how many updates of one commit are written under one hold of the
// lock. They become visible together.
const commitBatch = 32

// pending is an entity update on its way into the memory.
type pending struct {
	version    *version // nil if it was refused
	core       *core
	provider   *provider // nil if it is to be made
	entity     *entity   // nil if it is to be made
	superseded *version
}

// Commit implements engram.Writer. An update is refused with NotFound for an
// unknown memory, segment or type, TypeMismatch for a type that the segment does
// not accept, Corrupt for a payload that is not the wire form of its type,
// OutOfRange for a time of MaxTime, or farther ahead of the clock than the segment
// allows, or a confidence outside [0, 1], TooOld for what the bounds would evict at once, Exhausted for a
// limit, Invalid for what is wrong with its form; and for a segment that is Logged or
// Synced, if the journal cannot take it, with Exhausted or Unavailable: then it was
// not stored, and later it may be.
//
// A commit to Synced segments returns when the disk has said that it has them, or
// that it failed, whatever becomes of ctx meanwhile. If ctx ends, or the memory is
// closed, when a part of the updates was stored, the others are refused one by one.
func (w *WM) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	c = c.Owned()
	results := make([]engram.UpdateResult, len(c.Updates))
	for rest := c.Updates; ; {
		at, n := len(c.Updates)-len(rest), min(commitBatch, len(rest))
		slow, err := w.commitBatch(ctx, c.With(rest[:n]), results[at:])
		switch {
		case err != nil && at == 0:
			return nil, err
		case err != nil:
			for i := range rest {
				results[at+i] = engram.UpdateResult{ID: rest[i].Entity, Err: err}
				w.countRefusal(rest[i].Entity)
			}
			return results, nil
		}
		for _, s := range slow {
			s.waitForRoom(ctx)
		}
		if rest = rest[n:]; len(rest) == 0 {
			return results, nil
		}
	}
}

// CommitOne is Commit of one update, c's, for callers that hold a lock: subscribers
// that make writers wait are waited for by calling wait, without it.
func (w *WM) CommitOne(ctx context.Context, c engram.Commit) (r engram.UpdateResult, wait func(context.Context)) {
	wait = func(context.Context) {}
	results := []engram.UpdateResult{{ID: c.Updates[0].Entity}}
	slow, err := w.commitBatch(ctx, c.With(c.Updates[:1]), results)
	if len(slow) > 0 {
		wait = func(ctx context.Context) {
			for _, s := range slow {
				s.waitForRoom(ctx)
			}
		}
	}
	if err != nil {
		results[0].Err = err
	}
	return results[0], wait
}

// commitBatch writes at most commitBatch updates: prepare → lock → append to the
// journal and put into the timelines → publish the numbers → evict what is beyond
// the bounds → hand to the subscriptions → unlock → wake who waits for them. Updates
// of Synced segments are only appended then; they go the rest of the way when they
// are on disk. It returns the subscriptions that make the writer wait; after an error
// nothing was stored.
//
// Evicting comes after publishing, so that a reader who misses what was evicted
// finds with a new high-water mark what took its place.
func (w *writer) commitBatch(ctx context.Context, c engram.Commit, results []engram.UpdateResult) (slow []*subscription, err error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	updates := c.Updates
	var buf [commitBatch]pending
	batch := buf[:len(updates)]
	for i := range updates {
		batch[i], results[i].Err = w.prepareCommit(&updates[i])
	}
	var j journaled // nothing, without a journal
	if w.journal != nil {
		j = w.begin(ctx, updates, batch, results)
	}
	var owed notices

	w.mu.Lock()
	if w.mu.closed {
		w.mu.Unlock()
		return nil, errServerClosed
	}
	now := w.now()
	w.mu.clock, w.mu.arrived = now, max(w.mu.arrived, now)
	clock := now
	if c.Recorded {
		clock = engram.MaxTime // nothing is ahead of it
	}
	for _, s := range j.synced {
		w.appendLocked(s, clock)
	}
	for i := range batch {
		if batch[i].version != nil {
			results[i].Err = w.storeLocked(&updates[i], &batch[i], j.entry(i), clock)
		}
	}
	w.publishLocked(batch, &owed)
	w.mu.Unlock()

	owed.wakeUp()
	for _, s := range j.synced {
		w.finish(s)
		batch[s.index], results[s.index].Err = s.pending, s.err
		owed.slow = appendNew(owed.slow, s.slow)
	}
	for i := range batch {
		if v := batch[i].version; v != nil {
			results[i].ID, results[i].Number = updates[i].Entity.At(v.Time), v.Number
		} else {
			results[i].ID = updates[i].Entity
			w.countRefusal(updates[i].Entity)
		}
	}
	return owed.slow, nil
}

// publishLocked makes what was stored visible, evicts what it pushes beyond the
// bounds, and tells the subscriptions, unless owed is nil.
func (w *writer) publishLocked(batch []pending, owed *notices) {
	w.showLocked(batch, owed)
	if owed != nil {
		w.notifyLocked(batch, owed)
	}
}

// showLocked is publishLocked but for the subscriptions.
func (w *writer) showLocked(batch []pending, owed *notices) {
	w.number.Store(w.mu.number)
	for i := range batch {
		if p := &batch[i]; p.version != nil {
			w.boundLocked(p.entity)
		}
	}
	if owed != nil {
		w.mu.feed.wakeWatchers(owed)
	}
}

// notifyLocked hands what was stored to the subscriptions.
func (w *writer) notifyLocked(batch []pending, owed *notices) {
	if !w.mu.feed.active() {
		return
	}
	for i := range batch {
		if p := &batch[i]; p.version != nil {
			w.mu.feed.notifyLocked(p.entity, p.version, p.superseded != nil, owed)
		}
	}
	w.relieveLocked()
}

// prepareCommit is prepare for an update that is committed here.
func (w *writer) prepareCommit(u *engram.EntityUpdate) (pending, error) {
	p, err := w.prepare(u)
	if err == nil {
		err = p.core.memory.refuseCommit(u.Entity)
	}
	if err != nil {
		return pending{}, err
	}
	return p, nil
}

// prepare checks all of an update that can be checked without the lock, and makes
// the version it is to become.
func (w *writer) prepare(u *engram.EntityUpdate) (pending, error) {
	if u.Entity.Level() != engram.LevelEntity {
		return pending{}, engram.Errorf(engram.Invalid, u.Entity.String(), "the ID of a %s; an update needs an entity's", u.Entity.Level())
	}
	c, err := w.core(u.Entity)
	if err != nil {
		return pending{}, err
	}
	p := pending{core: c}
	rule := c.rule
	if prov, ok := c.providers.Get(u.Entity.ProviderSegment()); ok {
		p.provider, rule = prov, prov.rule
		p.entity, _ = prov.entities.Get(u.Entity.Entity())
	} else if c.def.FixedProviders {
		return pending{}, engram.Errorf(engram.NotFound, u.Entity.Parent().String(), "there is no such provider segment, and its core segment takes only those that were added with AddProviderSegment")
	}
	if err := w.checkForm(u, c); err != nil {
		return pending{}, err
	}
	p.version = newVersion(u)
	for i := range p.version.Instances {
		payload := &p.version.Instances[i].Payload
		t, err := rule.resolve(w.types, payload.Type)
		if err == nil {
			err = t.typ.Check(payload.Bytes)
		}
		if err != nil {
			return pending{}, engram.Errorf(engram.CodeOf(err), u.Entity.String(), "instance %d: %w", i, err)
		}
		payload.Type = t.name
	}
	return p, nil
}

// checkForm checks an update but for its payloads' types.
func (w *writer) checkForm(u *engram.EntityUpdate, c *core) error {
	fail := func(code engram.Code, format string, args ...any) error {
		return engram.Errorf(code, u.Entity.String(), format, args...)
	}
	switch {
	case u.Time == engram.MaxTime:
		return fail(engram.OutOfRange, "the time %v is the open end of intervals and cannot be the time of data", u.Time)
	case len(u.Instances) == 0:
		return fail(engram.Invalid, "the update has no instances; a snapshot has at least one")
	case len(u.Instances) > w.limits.MaxInstances:
		return fail(engram.Exhausted, "the update has %d instances; at most %d are allowed", len(u.Instances), w.limits.MaxInstances)
	}
	size := int64(0)
	for i := range u.Instances {
		in := &u.Instances[i]
		size += int64(len(in.Payload.Bytes))
		switch {
		case len(in.Payload.Bytes) > w.limits.MaxPayload:
			return fail(engram.Exhausted, "instance %d: the payload has %d bytes; at most %d are allowed", i, len(in.Payload.Bytes), w.limits.MaxPayload)
		case in.Confidence != in.Confidence:
			return fail(engram.Invalid, "instance %d: the confidence is NaN; it must lie in [0, 1]", i)
		case in.Confidence < 0 || in.Confidence > 1:
			return fail(engram.OutOfRange, "instance %d: the confidence %v does not lie in [0, 1]", i, in.Confidence)
		case in.HasSent && in.Sent == engram.MaxTime:
			return fail(engram.OutOfRange, "instance %d: it was sent at %v, the open end of intervals, which is no time of data", i, in.Sent)
		}
	}
	if limit := c.def.History.MaxBytes; limit > 0 && size > limit {
		return fail(engram.Exhausted, "the snapshot has %d bytes; its core segment keeps at most %d per entity", size, limit)
	}
	cost := versionCost(int(size), len(u.Instances)) + entityCost(u.Entity) + providerCost(u.Entity)
	if limit := c.memory.bounds.MaxBytes; limit > 0 && cost > limit {
		return fail(engram.Exhausted, "the snapshot takes %d bytes, with its entity; its memory keeps at most %d in all", cost, limit)
	}
	return nil
}

// storeLocked puts a prepared version into its timeline, after its entry, if there is
// one, into the journal. If a segment was removed or added since it was prepared, it is prepared
// again; an error refuses it.
func (w *writer) storeLocked(u *engram.EntityUpdate, p *pending, entry JournalEntry, clock engram.Time) error {
	if err := w.admitLocked(u, p, entry != nil, clock); err != nil {
		return err
	}
	arrived := w.arrivalLocked(p, u.Entity.Entity())
	if entry != nil {
		if err := entry.Append(arrived, false); err != nil {
			p.version = nil
			return err
		}
	}
	w.putLocked(u.Entity, p, arrived)
	return nil
}

// arrivalLocked returns when the version arrived: later than those that it
// supersedes, so that entity, time and arrival tell all versions apart.
func (w *writer) arrivalLocked(p *pending, name string) engram.Time {
	if v := p.currentLocked(name, p.version.Time); v != nil && v.Arrived >= w.mu.arrived {
		w.mu.arrived = v.Arrived + 1
	}
	return w.mu.arrived
}

// currentLocked returns the entity's current version at t, nil if it has none.
func (p *pending) currentLocked(name string, t engram.Time) *version {
	if p.entity == nil || p.entity.removed {
		if p.provider == nil {
			return nil
		}
		e, ok := p.provider.entities.Get(name)
		if !ok {
			return nil
		}
		p.entity = e
	}
	if newest := p.entity.newest.Load(); newest == nil || t > newest.Time && !p.entity.ahead.Load() {
		return nil
	}
	return p.entity.timeline.current(t)
}

// putLocked puts a version into its timeline and gives it its number.
func (w *writer) putLocked(id engram.ID, p *pending, arrived engram.Time) {
	if p.provider == nil {
		p.provider = p.core.addProviderLocked(id.ProviderSegment(), "", p.core.rule)
	}
	if p.entity == nil || p.entity.removed {
		var ok bool
		if p.entity, ok = p.provider.entities.Get(id.Entity()); !ok {
			p.entity = p.provider.addEntityLocked(id.Entity())
		}
	}
	e, v := p.entity, p.version
	w.mu.number++
	v.entity, v.Number, v.Arrived = e, w.mu.number, arrived
	for i := range v.Instances {
		if in := &v.Instances[i]; !in.HasSent {
			in.Sent, in.HasSent = v.Arrived, true
		}
	}
	e.lastNumber.Store(v.Number) // before the version: who sees that, sees this
	if e.provider.core.memory.copied {
		e.arrived.Store(max(e.arrived.Load(), int64(arrived)))
		e.provider.arrived.Store(max(e.provider.arrived.Load(), int64(arrived)))
	}
	p.superseded = e.timeline.put(v)
	if e.held.committed == 0 {
		e.firstNumber.Store(v.Number)
	}
	e.countLocked(v, p.superseded != nil)
	e.rankLocked(v, e.present(w.mu.clock))
	m := e.provider.core.memory
	m.byAge.refresh(e, m.bounds)
	w.mu.feed.record(v, w.lowWatermarkLocked())
}

// standsLocked reports whether the segments are still those that the update was
// prepared for.
func (p *pending) standsLocked(u *engram.EntityUpdate) bool {
	if p.core.removed {
		return false
	}
	if p.provider == nil {
		made, ok := p.core.providers.Get(u.Entity.ProviderSegment())
		if ok && made.rule != p.core.rule {
			return false
		}
		p.provider = made
		return true
	}
	return !p.provider.removed
}

// countLocked counts a version that was stored, at every level.
func (e *entity) countLocked(v *version, supersedes bool) {
	one := v.counted()
	if supersedes {
		one.snapshots, one.superseded = 0, 1
	}
	past := counters{committed: 1, written: one.bytes}
	m := e.provider.core.memory
	for _, c := range [...]*counters{&e.held, &e.provider.held, &m.held} {
		c.addHeld(one)
		c.addPast(&past)
	}
}

// rankLocked finds out whether v, which is in the timeline, is its entity's newest state,
// and tells the memory, which evicts what is not first.
func (e *entity) rankLocked(v *version, present engram.Time) {
	m := e.provider.core.memory
	m.reached(v.Time, present)
	e.provider.core.highest = max(e.provider.core.highest, v.Time)
	old := e.newest.Load()
	newest, ahead := v, false
	switch {
	case old == nil:
	case e.ahead.Load() || max(old.Time, v.Time) > present:
		newest = e.timeline.newest(present)
		ahead = e.timeline.last().Time > newest.Time
	case v.Time < old.Time:
		newest = old
	}
	if newest != old {
		e.newest.Store(newest)
	}
	if ahead != e.ahead.Load() {
		e.ahead.Store(ahead)
	}
	if !m.bounded() {
		return
	}
	if newest != old {
		if old != nil { // before v, which is not to go for it
			m.current.remove(old)
			m.history.push(old)
		}
		if v != newest {
			m.history.remove(newest)
		}
		m.current.push(newest)
	}
	if v != newest {
		m.history.push(v)
	}
}

// countRefusal counts a refused update at the deepest segment on its way.
func (w *writer) countRefusal(id engram.ID) {
	m, ok := w.memories.Get(id.Memory())
	if !ok {
		return
	}
	c, ok := m.cores.Get(id.CoreSegment())
	if !ok {
		m.refused.Add(1)
		return
	}
	p, ok := c.providers.Get(id.ProviderSegment())
	if !ok {
		c.refused.Add(1)
		return
	}
	p.refused.Add(1)
}
