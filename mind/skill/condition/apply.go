package condition

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// change is what an update was to one demand.
type change struct {
	w      *watch
	before bool   // the entity satisfied it
	now    *match // nil if the update does not
	late   bool   // the entity has a newer snapshot
}

// Apply takes an update: a snapshot with its ID.
func (s *Set) Apply(now engram.Time, item engram.Item) []Fired {
	entity := item.ID.Truncate(engram.LevelEntity)
	g := s.segments[[2]string{entity.Memory(), entity.CoreSegment()}]
	if g == nil {
		return nil
	}
	if s.found = g.find(entity, s.found[:0]); len(s.found) == 0 {
		return nil
	}
	last, known := s.seen[entity]
	late := known && item.Time < last
	if !late {
		s.seen[entity] = item.Time
	}
	s.changes = s.changes[:0]
	for _, w := range s.found {
		c := change{w: w, before: w.there[entity] != nil, late: late}
		if i, ok := s.satisfies(w, item.Snapshot); ok {
			c.now = &match{entity: entity, snapshot: item.Snapshot, instance: i, arrived: now}
		}
		switch {
		case late:
		case c.now != nil:
			w.enter(c.now)
		default:
			w.leave(entity)
		}
		s.changes = append(s.changes, c)
	}
	s.event = entity.At(item.Time)
	s.changed(now, entity)
	return s.take()
}

// changed evaluates what an update concerns: first terms, and then that one entity.
func (s *Set) changed(now engram.Time, entity engram.ID) {
	for _, c := range s.changes {
		if c.late {
			continue
		}
		for _, e := range inOrder(c.w.terms) {
			if c.before != (c.now != nil) || e.ages() {
				s.again(now, e)
			}
		}
	}
	for _, c := range s.changes {
		if c.now != nil || c.before {
			for _, e := range inOrder(c.w.on) {
				s.updated(now, e, entity, c)
			}
		}
	}
}

// updated evaluates a condition for an entity of its pattern.
func (s *Set) updated(now engram.Time, e *entry, entity engram.ID, c change) {
	if e.Trigger == EachUpdate {
		if c.now != nil {
			s.happened(now, e, c.now)
		}
		return
	}
	if !c.late {
		s.evaluate(now, e, s.thing(e, entity))
	}
}

// again evaluates a condition for all things, because one of its terms has changed.
func (s *Set) again(now engram.Time, e *entry) {
	if e.Trigger == EachUpdate || e.kind == required {
		return
	}
	if !e.apart() {
		v := s.holds(now, e, nil)
		if e.looked && v.failed == e.failed && (v.until == 0 || e.until != 0 && v.until >= e.until) {
			return // the timers of all things are early enough
		}
	}
	for _, t := range sorted(e.things) {
		s.evaluate(now, e, t)
	}
}

// thing returns the thing of an entity.
func (s *Set) thing(e *entry, entity engram.ID) *thing {
	t := e.things[entity]
	if t == nil {
		t = &thing{of: e, entity: entity}
		t.timer.Of = t
		e.things[entity] = t
	}
	return t
}

// ages reports whether a term may hold no more, or hold again, though the same entities satisfy it.
func (e *entry) ages() bool {
	return slices.ContainsFunc(e.All, func(t Term) bool { return t.Within > 0 || t.Near > 0 })
}

// match returns what satisfies the pattern and the filter of an entry, of an entity; nil if nothing does.
func (e *entry) match(entity engram.ID) *match {
	if e.on == nil {
		return nil
	}
	return e.on.there[entity]
}

// evaluate looks whether a condition is fulfilled for a thing, and fires if it is to.
func (s *Set) evaluate(now engram.Time, e *entry, t *thing) {
	is := e.match(t.entity)
	v := s.holds(now, e, is)
	e.looked, e.failed, e.until = true, v.failed, v.until
	fulfilled := v.failed == nil && (e.on == nil || is != nil)
	if e.kind == guarding {
		fulfilled = v.failed != nil
	}
	next := v.until
	switch {
	case !fulfilled:
		if t.held = 0; e.Trigger != Level {
			t.done = false
		}
	case t.held == 0:
		if t.held, t.began = now, s.event; s.quiet { // since long ago
			t.held = now.Add(-e.Hold)
		}
	}
	if fulfilled && !t.done && !(s.past && e.Trigger == Level) {
		due := t.held.Add(e.Hold)
		if t.last != 0 {
			due = max(due, t.last.Add(e.pause()))
		}
		if due <= now {
			s.fire(now, t, v)
		} else if next == 0 || due < next {
			next = due
		}
	}
	idle := !fulfilled && !t.done && is == nil
	if idle && e.on != nil { // it is forgotten when its pause is over
		if t.last == 0 || t.last.Add(e.pause()) <= now {
			s.timers.Set(&t.timer, 0)
			delete(e.things, t.entity)
			return
		}
		next = t.last.Add(e.pause())
	}
	t.aging = v.aging
	s.timers.Set(&t.timer, next)
}

// happened fires a condition for an update, if all terms hold.
func (s *Set) happened(now engram.Time, e *entry, m *match) {
	if s.holds(now, e, m).failed != nil {
		return
	}
	t := e.things[m.entity]
	if t != nil && t.last.Add(e.Pause) > now {
		return
	}
	if e.Pause > 0 {
		t = s.thing(e, m.entity)
		s.timers.Set(&t.timer, now.Add(e.Pause))
	} else {
		t = &thing{of: e, entity: m.entity}
	}
	t.began = m.id()
	s.tell(now, t, m, verdict{})
}

// fire fires a condition for a thing.
func (s *Set) fire(now engram.Time, t *thing, v verdict) {
	m := t.of.match(t.entity)
	if t.of.Trigger == Level { // each time is one of its own
		t.began = t.of.id.At(now)
	}
	told := s.tell(now, t, m, v)
	t.done = told || t.of.Trigger != Level // else there is nothing whose end it waits for
}

// tell has a firing be told, unless it is not to be, which it reports.
func (s *Set) tell(now engram.Time, t *thing, m *match, v verdict) bool {
	e := t.of
	f := Fired{Condition: e.id, Thing: t.entity, Cause: t.began, Failed: v.failed}
	if v.against != nil {
		f.Against = v.against.id()
	}
	if m != nil {
		f.Cause, f.Snapshot, f.Instance = m.id(), m.snapshot, m.instance
	}
	of, key := t.entity.String(), t.began.String()
	if e.OncePer != "" {
		v, ok := Value(s.types, f.Thing, m.snapshot, m.instance, e.OncePer)
		if !ok {
			e.doubt = fmt.Sprintf("%s has no member %s, for each value of which it is to run once", f.Cause, e.OncePer)
			return false
		}
		if of, key = "", fmt.Sprint(v); e.once[key] {
			return false
		}
		if len(e.once) >= mostOnce { // who acts on it knows by its key
			clear(e.once)
		}
		e.once[key] = true
	}
	if s.quiet || s.past && e.moves() {
		return true
	}
	t.last = now
	if e.kind == standing && !e.spend(now) {
		s.halt(e, engram.Errorf(engram.Exhausted, e.id.String(), "it fires more often than %d times a second; conditions may start each other in a circle", mostRate))
		return false
	}
	sum := sha256.Sum256([]byte(e.id.String() + "\n" + of + "\n" + key))
	f.Key = strings.ToLower(base32.HexEncoding.EncodeToString(sum[:KeyLen*5/8]))
	s.fired = append(s.fired, f)
	return true
}

// spend takes one of the firings that a condition may make, and reports whether there was one.
func (e *entry) spend(now engram.Time) bool {
	e.tokens = min(mostBurst, e.tokens+max(0, now.Sub(e.filled).Seconds())*mostRate)
	e.filled = now
	e.tokens--
	return e.tokens >= 0
}

// Tick does what is due.
func (s *Set) Tick(now engram.Time) []Fired {
	for timer := s.timers.Take(now); timer != nil; timer = s.timers.Take(now) {
		t := timer.Of
		e := t.of
		if e.Trigger == EachUpdate { // its pause is over
			delete(e.things, t.entity)
			continue
		}
		if s.event = t.aging; s.event.IsRoot() { // a frame has moved
			s.event = e.id.At(now)
		}
		s.evaluate(now, e, t)
	}
	return s.take()
}

// Running says whether what a condition at [Level] has started for a thing goes on.
func (s *Set) Running(now engram.Time, id, entity engram.ID, goesOn bool) []Fired {
	e := s.entries[id]
	if e == nil || e.Trigger != Level {
		return nil
	}
	t := e.things[entity]
	if t == nil && !goesOn {
		return nil
	}
	t = s.thing(e, entity)
	t.done = goesOn
	s.event = id
	s.evaluate(now, e, t)
	return s.take()
}

// Noted has it known that a condition fired for a thing before the set had it.
func (s *Set) Noted(now engram.Time, id, entity engram.ID, at engram.Time) {
	e := s.entries[id]
	if e == nil || e.kind != standing || at.Add(e.pause()) <= now {
		return
	}
	t := s.thing(e, entity)
	if t.last = max(t.last, at); e.Trigger == EachUpdate {
		s.timers.Set(&t.timer, t.last.Add(e.Pause))
		return
	}
	s.evaluate(now, e, t)
}

// Has reports whether a condition or terms are there, and can go on.
func (s *Set) Has(id engram.ID) bool { e := s.entries[id]; return e != nil && !e.halted }

// Holds returns the first of the terms that does not hold, and what stands against it, if anything does; nil if all hold.
func (s *Set) Holds(now engram.Time, id engram.ID) (failed *Term, against engram.ID) {
	e := s.entries[id]
	if e == nil {
		return nil, engram.ID{}
	}
	v := s.holds(now, e, nil)
	if v.against != nil {
		against = v.against.id()
	}
	return v.failed, against
}

// Present has the set know what there is of a memory, and nothing else: after losses, and after something was removed.
func (s *Set) Present(now engram.Time, memory string, items []engram.Item) []Fired {
	there := map[engram.ID]engram.Item{}
	for _, item := range items {
		there[item.ID.Truncate(engram.LevelEntity)] = item
	}
	var gone []engram.ID
	for entity, at := range s.seen {
		switch item, ok := there[entity]; {
		case entity.Memory() != memory:
		case !ok:
			gone = append(gone, entity)
		case item.Time < at: // what is there is an older one
			delete(s.seen, entity)
		}
	}
	slices.SortFunc(gone, engram.ID.Compare)
	for _, entity := range gone {
		s.forget(now, entity)
	}
	fired := s.take()
	for _, item := range items {
		if last, known := s.seen[item.ID.Truncate(engram.LevelEntity)]; !known || last < item.Time {
			fired = append(fired, s.Apply(now, item)...)
		}
	}
	return fired
}

// forget has an entity not be there any more.
func (s *Set) forget(now engram.Time, entity engram.ID) {
	g := s.segments[[2]string{entity.Memory(), entity.CoreSegment()}]
	delete(s.seen, entity)
	s.changes = s.changes[:0]
	for _, w := range g.find(entity, nil) {
		s.changes = append(s.changes, change{w: w, before: w.leave(entity)})
	}
	s.event = entity.At(now)
	s.changed(now, entity)
}

// inOrder returns entries by their IDs, so that the same updates have the same consequences.
func inOrder(all map[*entry]bool) []*entry {
	if len(all) == 0 {
		return nil
	}
	list := make([]*entry, 0, len(all))
	for e := range all {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return a.id.Compare(b.id) })
	return list
}

// sorted returns things by their entities.
func sorted(all map[engram.ID]*thing) []*thing {
	list := make([]*thing, 0, len(all))
	for _, t := range all {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *thing) int { return a.entity.Compare(b.entity) })
	return list
}

// CheckPath returns Invalid for a path of [Value] that no instance of one of the types has; an empty one is not asked for.
func CheckPath(path string, types []*idf.Type) (err error) {
	if path == "" || path == Entity || path == Snapshot || path == Name {
		return nil
	}
	names := engram.SplitPath(path)
	for i, name := range names {
		if _, err := strconv.Atoi(name); err == nil {
			names[i] = "[" + name + "]"
		}
	}
	member := strings.ReplaceAll(strings.Join(names, "."), ".[", "[")
	for _, t := range types {
		if _, err = t.Project([]string{member}); engram.CodeOf(err) != engram.NotFound { // else that is of a key of a dict
			return nil
		}
	}
	if err == nil {
		return nil
	}
	return engram.Errorf(engram.Invalid, path, "%w; beside members there are %s, %s and %s", err, Entity, Snapshot, Name)
}

// Value returns a member of an instance of an entity: by the path of the member, such as pose.position.x or names.0, or one of
// [Entity], [Snapshot] and [Name]. It is false if there is none.
func Value(types func(name string) *idf.Type, entity engram.ID, snapshot *engram.Snapshot, instance int, path string) (any, bool) {
	switch path {
	case Entity:
		return entity, true
	case Snapshot:
		return entity.At(snapshot.Time).Instance(instance), true
	case Name:
		return entity.Entity(), true
	}
	p := snapshot.Instances[instance].Payload
	t := types(p.Type)
	if t == nil {
		return nil, false
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return nil, false
	}
	for _, name := range engram.SplitPath(path) {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}
