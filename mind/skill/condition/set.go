package condition

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/due"
)

// Set is the conditions that stand. The zero value is not usable; see [New]. One goroutine at a time.
type Set struct {
	types    func(name string) *idf.Type
	places   Places
	segments map[[2]string]*segment // by the names of memory and core segment
	watches  map[demand]*watch
	entries  map[engram.ID]*entry
	seen     map[engram.ID]engram.Time // of the newest snapshot of each entity that a watch matches
	timers   due.Timers[*thing]
	quiet    bool
	past     bool
	event    engram.ID // what changes just now
	fired    []Fired
	stopped  []Stopped
	found    []*watch // of the update at hand
	changes  []change
}

// Fired is that a condition was fulfilled.
type Fired struct {
	Condition engram.ID
	Thing     engram.ID        // the entity; the root of a condition without a pattern
	Cause     engram.ID        // the instance that satisfies the filter, or what made the last term hold
	Snapshot  *engram.Snapshot // of the entity; nil of a condition without a pattern
	Instance  int              // in the snapshot
	Key       string           // what is to happen once: the same for the same updates in the same order
	Failed    *Term            // of a guard: the term that holds no more
	Against   engram.ID        // and what stands against it; the root if nothing does
}

// KeyLen is the length of keys, in bytes.
const KeyLen = 16

// Stopped is a condition that was taken out because it cannot go on.
type Stopped struct {
	Condition engram.ID
	Err       error
}

// Present returns the present snapshots of the entities that a pattern matches.
type Present func(engram.Pattern) ([]engram.Item, error)

// entry is one condition, or the terms of something else.
type entry struct {
	Condition
	id     engram.ID
	kind   kind
	on     *watch // nil without a pattern
	terms  []*watch
	things map[engram.ID]*thing // that fulfil the pattern, or have fired a short time ago
	once   map[string]bool      // values that it has fired for
	tokens float64              // firings that it may make at once
	filled engram.Time          // when that was reckoned
	doubt  string               // why a filter failed last
	halted bool                 // it cannot go on
	looked bool                 // its terms were looked at
	failed *Term                // that did not hold then
	until  engram.Time          // when that was to be looked at again; 0 if it was not
}

// kind says what terms are for.
type kind uint8

const (
	standing kind = iota
	required      // they are only asked for
	guarding      // it fires when they hold no more
)

// thing is what a condition may be fulfilled for.
type thing struct {
	of     *entry
	entity engram.ID
	held   engram.Time // since when it is fulfilled; 0 if it is not
	began  engram.ID   // what made it so
	done   bool        // it has fired since then, or at Level what it started goes on
	last   engram.Time // when it fired; 0 if it did not
	timer  due.Timer[*thing]
	aging  engram.ID // what grows too old when the timer is due
}

// Bounds.
const (
	MostConditions = 100_000
	mostSteps      = 20_000  // of a filter on an instance: about 1 ms
	mostOnce       = 100_000 // values that a condition remembers
	mostBurst      = 1_000   // firings of a condition at once
	mostRate       = 200     // firings of a condition per second, in the long run
)

// New returns a set without conditions. Types gives the type of a name, nil if it is not known; places tell distances.
func New(types func(name string) *idf.Type, places Places) *Set {
	return &Set{types: types, places: places, segments: map[[2]string]*segment{}, watches: map[demand]*watch{}, entries: map[engram.ID]*entry{}, seen: map[engram.ID]engram.Time{}}
}

// Put adds or replaces a condition, which was given as the snapshot set. One that is fulfilled already fires. One that is there
// with the same demands goes on as it is. The error is that of [Condition.Check], of present, or Exhausted.
func (s *Set) Put(now engram.Time, set engram.ID, c Condition, present Present) ([]Fired, error) {
	return s.put(now, set, c, standing, present)
}

// Require has the present state of terms known, so that [Set.Holds] tells of them.
func (s *Set) Require(now engram.Time, id engram.ID, all []Term, present Present) error {
	_, err := s.put(now, id.At(now), Condition{All: all}, required, present)
	return err
}

// Guard fires once when one of the terms does not hold.
func (s *Set) Guard(now engram.Time, id engram.ID, all []Term, present Present) ([]Fired, error) {
	return s.put(now, id.At(now), Condition{All: all}, guarding, present)
}

func (s *Set) put(now engram.Time, set engram.ID, c Condition, k kind, present Present) ([]Fired, error) {
	id := set.Truncate(engram.LevelEntity)
	if err := c.Check(); err != nil {
		return nil, err
	}
	if had := s.entries[id]; had != nil && had.kind == k && reflect.DeepEqual(had.Condition, c) {
		return nil, nil
	}
	if len(s.entries) >= MostConditions {
		return nil, engram.Errorf(engram.Exhausted, id.String(), "there are %d conditions", MostConditions)
	}
	e := &entry{Condition: c, id: id, kind: k, things: map[engram.ID]*thing{}, once: map[string]bool{}, tokens: mostBurst, filled: now}
	if err := s.connect(now, e, present); err != nil {
		s.disconnect(e)
		return nil, err
	}
	s.Remove(id)
	s.entries[id] = e
	s.event = set
	switch {
	case e.on != nil:
		for entity := range e.on.there {
			if e.Trigger != EachUpdate {
				s.evaluate(now, e, s.thing(e, entity))
			}
		}
	case e.kind != required:
		s.evaluate(now, e, s.thing(e, engram.ID{}))
	}
	return s.take(), nil
}

// connect finds or makes what an entry watches.
func (s *Set) connect(now engram.Time, e *entry, present Present) (err error) {
	if len(e.On.Levels) > 0 {
		if e.on, err = s.watch(now, e.On, e.Where, present); err != nil {
			return err
		}
		if e.on.on[e] = true; e.on.why != nil {
			s.halt(e, e.on.why)
		}
	}
	for i := range e.All {
		w, err := s.watch(now, e.All[i].Of, e.All[i].Where, present)
		if err != nil {
			return err
		}
		if w.terms[e] = true; w.why != nil {
			s.halt(e, w.why)
		}
		e.terms = append(e.terms, w)
	}
	return nil
}

// watch returns what watches a demand, which is made if it is not there.
func (s *Set) watch(now engram.Time, p engram.Pattern, where string, present Present) (*watch, error) {
	key := demand{p.String(), where}
	if w := s.watches[key]; w != nil {
		return w, nil
	}
	w := &watch{demand: key, of: p, there: map[engram.ID]*match{}, on: map[*entry]bool{}, terms: map[*entry]bool{}}
	var err error
	if w.matcher, err = p.Matcher(); err != nil {
		return nil, err
	}
	if where != "" {
		if w.filter, err = idf.CompileFilter(where); err != nil {
			return nil, err
		}
	}
	items, err := present(p)
	if err != nil {
		return nil, err
	}
	s.watches[key] = w
	g := s.segments[w.segment()]
	if g == nil {
		g = &segment{byEntity: map[string][]*watch{}, byProvider: map[string][]*watch{}}
		s.segments[w.segment()] = g
	}
	g.add(w)
	for _, item := range items {
		entity := item.ID.Truncate(engram.LevelEntity)
		if last, known := s.seen[entity]; !w.matcher.Match(entity) || known && item.Time < last {
			continue
		}
		s.seen[entity] = item.Time
		if i, ok := s.satisfies(w, item.Snapshot); ok {
			w.enter(&match{entity: entity, snapshot: item.Snapshot, instance: i, arrived: min(item.Arrived, now)})
		}
	}
	return w, nil
}

// segment returns the names of the memory and the core segment that a watch is about.
func (w *watch) segment() [2]string {
	in := w.of.Enclosing()
	return [2]string{in.Memory(), in.CoreSegment()}
}

// Remove takes out a condition, or terms.
func (s *Set) Remove(id engram.ID) {
	e := s.entries[id]
	if e == nil {
		return
	}
	delete(s.entries, id)
	for _, t := range e.things {
		s.timers.Set(&t.timer, 0)
	}
	s.disconnect(e)
}

// disconnect takes an entry from what it watches, and that out if nothing needs it any more.
func (s *Set) disconnect(e *entry) {
	all := slices.Clone(e.terms)
	if e.on != nil {
		delete(e.on.on, e)
		all = append(all, e.on)
	}
	for _, w := range e.terms {
		delete(w.terms, e)
	}
	for _, w := range all {
		g := s.segments[w.segment()]
		if len(w.on)+len(w.terms) > 0 || s.watches[w.demand] != w {
			continue
		}
		delete(s.watches, w.demand)
		if g.remove(w); g.empty() {
			delete(s.segments, w.segment())
			maps.DeleteFunc(s.seen, func(id engram.ID, _ engram.Time) bool {
				return [2]string{id.Memory(), id.CoreSegment()} == w.segment()
			})
		}
	}
}

// Quiet does something with the set. What fires meanwhile is not told, and what is to be held was: it has happened before.
func (s *Set) Quiet(do func()) {
	s.quiet = true
	defer func() { s.quiet = false }()
	do()
}

// Past says that what comes now has happened before, until [Set.Resume]. Conditions at [Level] do not fire then: what they started
// may go on.
func (s *Set) Past() { s.past = true }

// Resume ends what [Set.Past] began, when it is known what goes on: see [Set.Running].
func (s *Set) Resume(now engram.Time) []Fired {
	s.past = false
	for _, e := range s.entries {
		if e.Trigger != Level {
			continue
		}
		for _, t := range sorted(e.things) {
			s.evaluate(now, e, t)
		}
	}
	return s.take()
}

// Next returns when Tick is due, 0 if nothing is to come by itself.
func (s *Set) Next() engram.Time { return s.timers.Next() }

// Halts reports whether conditions were taken out since the last call of [Set.Stopped].
func (s *Set) Halts() bool { return len(s.stopped) > 0 }

// Stopped returns the conditions that were taken out since the last call because they cannot go on.
func (s *Set) Stopped() []Stopped {
	all := s.stopped
	s.stopped = nil
	return all
}

// Doubt returns why a filter of a condition failed last, "" if it did not.
func (s *Set) Doubt(id engram.ID) string {
	if e := s.entries[id]; e != nil {
		return e.doubt
	}
	return ""
}

// take returns what has fired.
func (s *Set) take() []Fired {
	all := s.fired
	s.fired = nil
	return all
}

// satisfies reports whether an instance of a snapshot satisfies a demand, and which.
func (s *Set) satisfies(w *watch, snapshot *engram.Snapshot) (instance int, ok bool) {
	if w.filter == nil {
		return 0, len(snapshot.Instances) > 0
	}
	for i := range snapshot.Instances {
		meter := idf.FilterMeter{Left: mostSteps}
		ok, err := w.filter.Evaluate(s.types(snapshot.Instances[i].Payload.Type), snapshot, i, &meter)
		switch {
		case ok:
			return i, true
		case meter.Err() != nil || engram.CodeOf(err) == engram.Exhausted:
			s.stop(w, engram.Errorf(engram.Exhausted, w.where, "the filter costs too much: more than %d steps on one instance", mostSteps))
			return 0, false
		case err != nil:
			for _, of := range [...]map[*entry]bool{w.on, w.terms} {
				for e := range of {
					e.doubt = err.Error()
				}
			}
		}
	}
	return 0, false
}

// stop takes out the conditions that watch a demand, and will.
func (s *Set) stop(w *watch, why error) {
	w.why = why
	for _, of := range [...]map[*entry]bool{w.on, w.terms} {
		for e := range of {
			s.halt(e, why)
		}
	}
}

// halt has an entry be taken out.
func (s *Set) halt(e *entry, why error) {
	if !e.halted {
		e.halted = true
		s.stopped = append(s.stopped, Stopped{e.id, why})
	}
}

// pause returns the least time between two firings for a thing.
func (e *entry) pause() time.Duration {
	if e.Trigger == Level && e.Pause == 0 {
		return DefaultPause
	}
	return e.Pause
}
