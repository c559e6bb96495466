package wm

import (
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// AddCoreSegment implements engram.Segments. Without a journal the only durability
// offered is Volatile.
func (w *WM) AddCoreSegment(ctx context.Context, s engram.CoreSegment) error {
	if s.ID.Level() != engram.LevelCoreSegment {
		return engram.Errorf(engram.Invalid, s.ID.String(), "the ID of a %s, not of a core segment", s.ID.Level())
	}
	switch {
	case s.Durability > engram.Synced:
		return engram.Errorf(engram.Invalid, s.ID.String(), "%v (%d)", s.Durability, s.Durability)
	case s.Durability != engram.Volatile && w.journal == nil:
		return engram.Errorf(engram.Unsupported, s.ID.String(), "durability %v is not offered here; only %v is, because this memory has no disk", s.Durability, engram.Volatile)
	}
	if err := checkBounds(s.ID, s.History); err != nil {
		return err
	}
	if s.Type == "" {
		s.Type = engram.ValueType
	}
	t, err := knownType(w.types, s.Type)
	if err != nil {
		return err
	}
	w.defining.Lock()
	defer w.defining.Unlock()
	m, ok := w.memories.Get(s.ID.Memory())
	if !ok {
		return engram.Errorf(engram.NotFound, s.ID.String(), "there is no memory %q here", s.ID.Memory())
	}
	if c, ok := m.cores.Get(s.ID.CoreSegment()); ok {
		if c.def != s {
			return engram.Errorf(engram.AlreadyExists, s.ID.String(), "the core segment exists with another definition (type %s, history %+v, durability %v, max ahead %v, fixed providers %v); remove it first", c.def.Type, c.def.History, c.def.Durability, c.def.MaxAhead, c.def.FixedProviders)
		}
		return nil
	}
	w.mu.Lock()
	n, _, most, _ := m.segmentsLocked(w.limits.MaxSegments)
	w.mu.Unlock()
	if n >= most {
		return tooManySegments(m, s.ID, n, "core")
	}
	s.ID = child(m.id, s.ID.CoreSegment())
	if w.journal != nil {
		if err := w.journal.AddCoreSegment(ctx, s); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m.cores.add(s.ID.CoreSegment(), &core{id: s.ID, def: s, memory: m, rule: newTypeRule(t)})
	return nil
}

// AddProviderSegment implements engram.Segments. Adding a provider segment again
// with the same type, or one that a commit made without a type, does nothing; with
// another type it fails with AlreadyExists.
func (w *WM) AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error {
	if s.ID.Level() != engram.LevelProviderSegment {
		return engram.Errorf(engram.Invalid, s.ID.String(), "the ID of a %s, not of a provider segment", s.ID.Level())
	}
	w.defining.Lock()
	defer w.defining.Unlock()
	c, err := w.core(s.ID)
	if err != nil {
		return err
	}
	rule := c.rule
	if s.Type != "" {
		t, err := knownType(w.types, s.Type)
		if err != nil {
			return err
		}
		if err := t.CheckExtends(c.rule.base.typ); err != nil {
			return engram.Errorf(engram.CodeOf(err), s.ID.String(), "its core segment's type is not met: %w", err)
		}
		rule = newTypeRule(t)
	}
	if p, ok := c.providers.Get(s.ID.ProviderSegment()); ok {
		return p.checkAgain(s)
	}
	w.mu.Lock()
	err = w.roomLocked(&pending{core: c}, s.ID)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if w.journal != nil {
		if err := w.journal.AddProviderSegment(ctx, s); err != nil {
			return err
		}
	}
	w.mu.Lock()
	p, made := c.providers.Get(s.ID.ProviderSegment()) // by a commit, meanwhile
	if !made {
		c.addProviderLocked(s.ID.ProviderSegment(), s.Type, rule)
	}
	w.mu.Unlock()
	if !made {
		return nil
	}
	err = p.checkAgain(s)
	if err != nil && w.journal != nil {
		err = errors.Join(err, w.journal.AddProviderSegment(ctx, engram.ProviderSegment{ID: s.ID, Type: p.typ}))
	}
	return err
}

// checkAgain returns an error if the provider segment, which is there, is not what is
// to be added.
func (p *provider) checkAgain(s engram.ProviderSegment) error {
	if p.typ != s.Type {
		return engram.Errorf(engram.AlreadyExists, s.ID.String(), "the provider segment exists with type %q, not %q; remove it first", p.typ, s.Type)
	}
	return nil
}

// releaseBatch is how many entities of a removed segment are let go under one hold
// of the lock.
const releaseBatch = 64

// RemoveSegment implements engram.Segments. What the segment did stays counted
// above it. Updates of it that already wait for subscribers are delivered. With a
// journal it takes no commits from the call on, and returns when the disk has it that
// the segment is no more; if that fails it stays as it was.
func (w *WM) RemoveSegment(ctx context.Context, id engram.ID) error {
	w.defining.Lock()
	defer w.defining.Unlock()
	c, p, err := w.segment(id)
	if err != nil {
		return err
	}
	if w.journal != nil {
		leave := func(leaving bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if p != nil {
				p.leaving = leaving
			} else {
				c.leaving = leaving
			}
		}
		leave(true)
		if err := w.journal.RemoveSegment(ctx, id); err != nil {
			leave(false)
			return err
		}
	}
	gone, owed := w.detach(id, c, p)
	owed.wakeUp()
	for _, p := range gone {
		entities := p.entities.sorted()
		for len(entities) > 0 {
			n := min(releaseBatch, len(entities))
			now := w.now()
			var owed notices
			w.mu.Lock()
			for _, e := range entities[:n] {
				e.value.releaseLocked()
				w.mu.feed.erasedLocked(e.value, w.mu.number, now, &owed)
			}
			w.mu.Unlock()
			owed.wakeUp()
			entities = entities[n:]
		}
	}
	return nil
}

// segment returns the core segment or, with its core segment, the provider segment of
// that ID.
func (w *writer) segment(id engram.ID) (c *core, p *provider, err error) {
	if l := id.Level(); l != engram.LevelCoreSegment && l != engram.LevelProviderSegment {
		return nil, nil, engram.Errorf(engram.Invalid, id.String(), "the ID of a %s; only core and provider segments can be removed", l)
	}
	if c, err = w.core(id); err != nil || id.Level() == engram.LevelCoreSegment {
		return c, nil, err
	}
	p, ok := c.providers.Get(id.ProviderSegment())
	if !ok {
		return nil, nil, engram.Errorf(engram.NotFound, id.String(), "there is no such provider segment")
	}
	return c, p, nil
}

// detach takes a core segment, or one of its provider segments if p is not nil, out of
// the hierarchy and returns the provider segments that are gone.
func (w *writer) detach(id engram.ID, c *core, p *provider) (out []*provider, owed notices) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.memory.copied { // a copy is told of by its owner
		r := Removal{Segment: id}
		w.stampLocked(&r)
		w.noteLocked(r, &owed)
	}
	if p != nil {
		c.providers.remove(p.id.ProviderSegment())
		p.detachLocked()
		c.past.addPast(&p.held)
		c.refused.Add(p.refused.Load())
		return []*provider{p}, owed
	}
	c.memory.cores.remove(c.id.CoreSegment())
	c.removed = true
	c.memory.refused.Add(c.refused.Load())
	for _, e := range c.providers.sorted() {
		e.value.detachLocked()
		c.memory.refused.Add(e.value.refused.Load())
		out = append(out, e.value)
	}
	return out, owed
}

func (p *provider) detachLocked() {
	p.removed = true
	p.core.memory.held.subHeld(&p.held)
	p.core.memory.made--
}

// releaseLocked lets go of what an entity of a removed segment holds.
func (e *entity) releaseLocked() {
	m := e.provider.core.memory
	newest := e.newest.Load()
	for v := range e.versions() {
		m.feed.pins.evicted(v)
		switch {
		case !m.bounded():
		case v == newest:
			m.current.remove(v)
		default:
			m.history.remove(v)
		}
	}
	m.byAge.drop(e)
	e.timeline.view.Store(nil)
	e.timeline.deadFront = 0
	e.newest.Store(nil)
	e.removed = true
	m.feed.forget(e)
}

// Describe implements engram.Segments.
func (w *WM) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	names, err := w.compiler.Names(ctx, p, w.limits.MaxFilterSteps)
	if err != nil {
		return nil, err
	}
	scope := engram.ScopeOf(ctx)
	var out []engram.Description
	for _, m := range w.memories.sorted() {
		if !names.Match(engram.LevelMemory, m.name) || engram.VisibilityIn(scope, m.value.id) == engram.Hidden {
			continue
		}
		for _, c := range m.value.cores.sorted() {
			if err := checkContext(ctx); err != nil {
				return nil, err
			}
			if names.Match(engram.LevelCoreSegment, c.name) {
				out = c.value.describe(out, names, len(p.Levels), scope)
			}
		}
	}
	return out, names.Err()
}

// describe appends the descriptions of the core segment and its provider segments that
// match a pattern of so many levels, or contain a match of it.
func (c *core) describe(out []engram.Description, names *query.Names, levels int, scope engram.Scope) []engram.Description {
	seen := engram.VisibilityIn(scope, c.id)
	if seen == engram.Hidden {
		return out
	}
	d := engram.Description{
		ID: c.id, Type: c.def.Type, History: c.def.History,
		Durability: c.def.Durability, MaxAhead: c.def.MaxAhead, FixedProviders: c.def.FixedProviders,
	}
	at := len(out)
	out = append(out, d)
	found := levels <= int(engram.LevelCoreSegment) && seen == engram.Visible
	for _, p := range c.providers.sorted() {
		if !names.Match(engram.LevelProviderSegment, p.name) ||
			levels == int(engram.LevelEntity) && !p.value.anyEntity(names, scope) {
			continue
		}
		switch engram.VisibilityIn(scope, p.value.id) {
		case engram.Hidden:
			continue
		case engram.Partial:
			if !p.value.anyEntity(names, scope) {
				continue
			}
		}
		found = true
		d.ID, d.Type = p.value.id, p.value.rule.base.name
		out = append(out, d)
	}
	if !found {
		return out[:at]
	}
	return out
}

// anyEntity reports whether an entity of the provider segment is matched that lies in
// the scope.
func (p *provider) anyEntity(names *query.Names, scope engram.Scope) bool {
	if listed, ok := names.Listed(engram.LevelEntity); ok {
		for _, name := range listed {
			if e, there := p.entities.Get(name); there && engram.VisibilityIn(scope, e.id) != engram.Hidden {
				return true
			}
		}
		return false
	}
	for _, e := range p.entities.sorted() {
		if names.Match(engram.LevelEntity, e.name) && engram.VisibilityIn(scope, e.value.id) != engram.Hidden {
			return true
		}
	}
	return false
}
