package condition

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// RequestSegment is the provider segment of the requests that conditions make.
const RequestSegment = "Skill/Request/Conditions"

// CallerPrefix is what the caller of a condition's request begins with; the condition's name follows.
const CallerPrefix = "condition:"

// Firing is a request that is to be made.
type Firing struct {
	Condition  engram.ID // its snapshot
	Cause      engram.ID // the snapshot of the thing that fulfils it
	Name       string    // of the request, in RequestSegment; unique for what it is made for
	Skill      string
	Parameters map[string]any
	Priority   *int32
}

// Caller returns who asks.
func (f *Firing) Caller() string { return CallerPrefix + f.Condition.Entity() }

// Stop says that a condition is to be disabled.
type Stop struct {
	Condition engram.ID // its snapshot
	Reason    string
}

// Problem says why a condition that is fulfilled does not run its skill.
type Problem struct {
	Condition engram.ID // its snapshot
	Text      string
}

// Decisions are what an engine has decided.
type Decisions struct {
	Firings  []Firing
	Stops    []Stop
	Problems []Problem
}

// Engine decides which requests conditions make. One goroutine uses it.
type Engine struct {
	present Present
	rules   map[string]*standing // by name
	index   index[watched]
	asked   map[string]*segment
	round   int
	ending  map[string]*thing // by the request that runs for it
	trail   trail
	due     bool // some level waits
	out     Decisions
}

// standing is a condition that is watched for.
type standing struct {
	*rule
	id      engram.ID // of its snapshot
	set     engram.Time
	things  map[engram.ID]*thing
	problem string

	patience int        // how often it may seem to come of itself
	suspect  *suspicion // nil unless it is held back
}

// watched is what an entity concerns: the condition's own things, or one of its clauses.
type watched struct {
	*standing
	clause bool
}

// thing is an entity that a condition waits for.
type thing struct {
	of      *standing
	item    engram.Item // the newest that satisfied the filter
	at      int         // the instance that did
	on      bool        // the newest satisfies it
	holds   bool        // and all clauses hold
	request string      // that runs, of a level
	quiet   engram.Time // until when nothing is run for it
}

// NewEngine returns an engine without conditions.
func NewEngine(p Present) *Engine {
	return &Engine{present: p, rules: map[string]*standing{}, asked: map[string]*segment{}, ending: map[string]*thing{}, trail: newTrail()}
}

// Len returns how many conditions are watched for.
func (e *Engine) Len() int { return len(e.rules) }

// Has reports whether a condition of the name is watched for that asks for the same.
func (e *Engine) Has(name string, c *Condition) bool {
	s := e.rules[name]
	return s != nil && s.Same(c)
}

// Problem returns the problem that a condition's newest snapshot tells; "" if it tells none, or the condition is gone.
func (e *Engine) Problem(id engram.ID) string {
	if s := e.rules[id.Entity()]; s != nil {
		return s.problem
	}
	return ""
}

// Patterns returns what conditions wait for and ask for: core segments, or some entities of them. round
// differs when they do.
func (e *Engine) Patterns() (all []engram.Pattern, round int) {
	for _, text := range slices.Sorted(maps.Keys(e.asked)) {
		all = append(all, e.asked[text].pattern())
	}
	return all, e.round
}

// Round tells whether [Engine.Patterns] differ from those of another round.
func (e *Engine) Round() int { return e.round }

// segment is what is asked for of a core segment, or of a memory.
type segment struct {
	levels []engram.NameSelector
	names  map[string]bool // of entities; nil is all
}

// maxNames bounds how many entities of a segment are told apart from the others.
const maxNames = 64

func (s *segment) pattern() engram.Pattern {
	p := engram.Pattern{Levels: slices.Clone(s.levels)}
	if s.names != nil {
		p.Levels = append(p.Levels, engram.AllNames(), engram.OneOf(slices.Sorted(maps.Keys(s.names))...))
	}
	return p
}

// ask adds a pattern to what is asked for.
func (e *Engine) ask(p engram.Pattern) {
	levels := p.Levels[:min(len(p.Levels), int(engram.LevelCoreSegment))]
	text := engram.Pattern{Levels: levels}.String()
	s := e.asked[text]
	if s == nil {
		s = &segment{levels: levels, names: map[string]bool{}}
		e.asked[text] = s
		e.round++
	}
	if s.names == nil {
		return
	}
	if len(p.Levels) < int(engram.LevelEntity) || p.Levels[3].Kind != engram.NameOneOf || len(s.names)+len(p.Levels[3].Names) > maxNames {
		s.names = nil
		e.round++
		return
	}
	for _, name := range p.Levels[3].Names {
		if !s.names[name] {
			s.names[name] = true
			e.round++
		}
	}
}

// Set has a condition watched for as its snapshot says, or no more if it is not enabled. A snapshot that
// differs only in what was told of the condition changes nothing else. changed reports whether what is
// watched for differs. The error is that of [Condition.Check].
func (e *Engine) Set(ctx context.Context, id engram.ID, arrived engram.Time, c *Condition) (changed bool, err error) {
	name := id.Entity()
	old := e.rules[name]
	if old != nil && old.Same(c) {
		old.id, old.problem = id, c.Problem
		return false, nil
	}
	if old != nil {
		delete(e.rules, name)
		maps.DeleteFunc(e.ending, func(_ string, t *thing) bool { return t.of == old })
	}
	if c.Enabled && !c.Removed {
		r, err := compile(c)
		if err != nil {
			e.reindex()
			return old != nil, err
		}
		s := &standing{rule: r, id: id, set: arrived, things: map[engram.ID]*thing{}, problem: c.Problem, patience: maxSuspected}
		e.rules[name] = s
		if old == nil {
			e.watch(s)
		}
	}
	if old != nil {
		e.reindex()
	}
	return old != nil || e.rules[name] != nil, nil
}

func (e *Engine) reindex() {
	e.index, e.asked = index[watched]{}, map[string]*segment{}
	e.round++
	for _, s := range e.rules {
		e.watch(s)
	}
}

func (e *Engine) watch(s *standing) {
	for i, p := range s.asks() {
		e.index.add(p, watched{s, i > 0})
		e.ask(p)
	}
}

// Concerns reports whether an update of the entity concerns some condition.
func (e *Engine) Concerns(entity engram.ID) bool { return len(e.index.match(entity)) > 0 }

// Update takes notice of an update and returns what is to be done.
func (e *Engine) Update(ctx context.Context, it engram.Item, now engram.Time) Decisions {
	e.out = Decisions{}
	entity := it.ID.Truncate(engram.LevelEntity)
	if entity.Memory() == "Skill" && entity.CoreSegment() == "Execution" {
		e.execution(ctx, entity, it, now)
	}
	concerned := e.index.match(entity)
	for _, w := range concerned {
		if !w.clause {
			e.seen(ctx, w.standing, it, now)
		}
	}
	var last *standing
	for _, w := range concerned {
		if w.clause && w.standing != last {
			last = w.standing
			for _, t := range sorted(w.things) {
				if t.on && (t.item.ID != it.ID || !e.isOn(concerned, w.standing)) {
					e.check(ctx, t, it, false, now)
				}
			}
		}
	}
	return e.out
}

// isOn reports whether the condition waits for the entity, too, so that it was looked at already.
func (e *Engine) isOn(concerned []watched, s *standing) bool {
	return slices.ContainsFunc(concerned, func(w watched) bool { return !w.clause && w.standing == s })
}

func sorted(things map[engram.ID]*thing) []*thing {
	return slices.SortedFunc(maps.Values(things), func(a, b *thing) int { return a.item.ID.Compare(b.item.ID) })
}

// seen takes notice of an update of a thing.
func (e *Engine) seen(ctx context.Context, s *standing, it engram.Item, now engram.Time) {
	if t := e.look(ctx, s, it); t != nil && t.on && it.Snapshot.Arrived >= s.set { // else it was there before, at another server
		e.check(ctx, t, it, true, now)
	}
}

// look evaluates the filter on an update of a thing. It returns nil of what need not be known.
func (e *Engine) look(ctx context.Context, s *standing, it engram.Item) *thing {
	entity := it.ID.Truncate(engram.LevelEntity)
	t := s.things[entity]
	if t != nil && it.Snapshot.Time < t.item.Snapshot.Time {
		return nil // it came late: something newer is known
	}
	at := -1
	for i := range it.Snapshot.Instances {
		if s.where == nil || s.where.Match(e.present.Type(ctx, it.Snapshot.Instances[i].Payload.Type), it.Snapshot, i) {
			at = i
			break
		}
	}
	if t == nil {
		if at < 0 {
			return nil
		}
		t = &thing{of: s}
		s.things[entity] = t
	}
	t.item, t.at, t.on = it, max(at, 0), at >= 0
	if !t.on {
		t.holds = false
		if t.request == "" && t.quiet == 0 {
			delete(s.things, entity)
		}
	}
	return t
}

// check looks whether all holds of a thing whose filter is satisfied, and fires if the trigger says so.
func (e *Engine) check(ctx context.Context, t *thing, by engram.Item, byThing bool, now engram.Time) {
	s, was := t.of, t.holds
	t.holds = true
	thing := t.item.ID.Truncate(engram.LevelEntity)
	for _, c := range s.clauses {
		if holds, _ := c.Holds(ctx, e.present, thing, now); !holds {
			t.holds = false
			return
		}
	}
	switch s.Trigger {
	case Level:
		e.due = true
		if t.request != "" {
			return
		}
	case Update:
		if !byThing {
			return
		}
	default:
		if was {
			return
		}
	}
	if now >= t.quiet {
		e.fire(ctx, t, by, byThing, now)
	}
}

// fire decides on the request for a thing.
func (e *Engine) fire(ctx context.Context, t *thing, by engram.Item, byThing bool, now engram.Time) {
	s := t.of
	u := update{id: t.item.ID, instance: &t.item.Snapshot.Instances[t.at]}
	u.typ = e.present.Type(ctx, u.instance.Payload.Type)
	f := Firing{Condition: s.id, Cause: t.item.ID, Skill: s.Skill, Priority: s.Priority}
	name, err := s.request(&u, byThing, now)
	made := false
	if err == nil {
		made, _, err = e.present.Requested(ctx, name)
	}
	if made {
		return // perhaps before the server began anew
	}
	f.Name = name
	if err == nil {
		var v any
		if v, err = u.resolve(s.Parameters); err == nil && s.Parameters != nil {
			f.Parameters = v.(map[string]any)
		}
	}
	if err != nil {
		e.out.Problems = append(e.out.Problems, Problem{s.id, err.Error()})
		t.holds = false
		return
	}
	if s.suspect != nil {
		s.suspect.look(&e.trail)
		if !slices.ContainsFunc(s.suspect.waiting, func(w waiting) bool { return w.firing.Name == name }) {
			s.suspect.waiting = append(s.suspect.waiting, waiting{f, t})
		}
		if s.suspect.quiet != 0 && now >= s.suspect.quiet {
			e.acquit(s, now)
		}
		return
	}
	typ := e.present.Type(ctx, by.Snapshot.Instances[0].Payload.Type)
	circle, suspected := e.trail.fire(name, s, by, typ, now)
	switch {
	case circle != "":
		e.stop(s, circle)
	case suspected != nil:
		s.suspect, e.due = suspected, true
		s.suspect.waiting = []waiting{{f, t}}
	default:
		e.make(f, t, now)
	}
}

// make decides on a request.
func (e *Engine) make(f Firing, t *thing, now engram.Time) {
	s := t.of
	t.quiet = now.Add(s.quiet())
	if s.Trigger == Level {
		t.request, e.ending[f.Name] = f.Name, t
	}
	if s.quiet() == 0 {
		t.quiet = 0
	}
	e.out.Firings = append(e.out.Firings, f)
}

// stop ends a condition that closes a circle.
func (e *Engine) stop(s *standing, circle string) {
	e.out.Stops = append(e.out.Stops, Stop{s.id, circle})
	s.Enabled = false
	delete(e.rules, s.id.Entity())
	e.reindex()
}

// acquit makes what was held back of a condition that does not come of itself.
func (e *Engine) acquit(s *standing, now engram.Time) {
	held := s.suspect.waiting
	s.suspect, s.patience = nil, s.patience*chanceGrowth
	for _, w := range held {
		if now >= w.thing.quiet {
			e.trail.byChance(w.firing.Name, s, now)
			e.make(w.firing, w.thing, now)
		}
	}
}

// try decides on a condition that is held back; it returns when that is due, 0 if it was.
func (e *Engine) try(s *standing, now engram.Time) (next engram.Time) {
	next, itself, chance := s.suspect.decide(&e.trail, now)
	switch {
	case itself:
		e.stop(s, fmt.Sprintf("%s; while it was held back for %s nothing fulfilled it", s.suspect.circle, now.Sub(s.suspect.since).Round(time.Millisecond)))
	case chance:
		e.acquit(s, now)
	default:
		return next
	}
	return 0
}

// request returns the name of the request that the update leads to. What must not be done twice has
// a name that says what it is for.
func (s *standing) request(u *update, byThing bool, now engram.Time) (string, error) {
	name := s.id.Entity()
	thing := requestName(u.id.ProviderSegment(), u.id.Entity())
	switch {
	case s.OncePer == OnceEntity:
		name = requestName(name, s.generation("once"), thing)
	case s.OncePer != "":
		v, err := u.member(s.OncePer)
		if err != nil {
			return "", engram.Errorf(engram.CodeOf(err), "once per "+s.OncePer, "%w", err)
		}
		name = requestName(name, s.generation("once"), fmt.Sprint(v))
	case byThing:
		t, _ := u.id.Time()
		name = requestName(name, thing, stamp(t))
	default:
		name = requestName(name, thing, stamp(now), "again")
	}
	if len(name) > engram.MaxNameLen-8 {
		sum := sha256.Sum256([]byte(name))
		name = requestName(name[:64], hex.EncodeToString(sum[:16]))
	}
	return strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", " "), "�"), nil
}

// generation tells what counts for once_per from what came before Since.
func (s *standing) generation(word string) string {
	if s.Since == 0 {
		return word
	}
	return word + "-" + stamp(s.Since)
}

func stamp(t engram.Time) string { return strconv.FormatInt(int64(t), 36) }

// Refused takes notice of that a request could not be made: the next update that fulfils the condition
// tries again.
func (e *Engine) Refused(f *Firing, now engram.Time) {
	e.trail.forget(f.Name)
	delete(e.ending, f.Name)
	s := e.rules[f.Condition.Entity()]
	if s == nil {
		return
	}
	if t := s.things[f.Cause.Truncate(engram.LevelEntity)]; t != nil {
		t.holds, t.request = s.Trigger == Level, ""
	}
}

// execution takes notice of the state of an execution.
func (e *Engine) execution(ctx context.Context, entity engram.ID, it engram.Item, now engram.Time) {
	x, ok := e.readExecution(ctx, it)
	if !ok {
		return
	}
	e.trail.execution(entity, x, now)
	if x.ended && entity.ProviderSegment() == requestProvider {
		e.ended(entity.Entity(), now)
	}
}

func (e *Engine) ended(request string, now engram.Time) {
	if t := e.ending[request]; t != nil {
		delete(e.ending, request)
		t.request, t.quiet = "", now.Add(t.of.quiet())
		e.due = true
	}
}

// Due runs the levels whose time has come, and returns when the next one is due, 0 if none is.
func (e *Engine) Due(ctx context.Context, now engram.Time) (out Decisions, next engram.Time) {
	e.out = Decisions{}
	if !e.due {
		return e.out, 0
	}
	for _, name := range slices.Sorted(maps.Keys(e.rules)) {
		s := e.rules[name]
		if s != nil && s.suspect != nil {
			if at := e.try(s, now); at != 0 && (next == 0 || at < next) {
				next = at
			}
		}
		if s == nil || s.Trigger != Level {
			continue
		}
		for _, t := range sorted(s.things) {
			if t.on && t.holds && t.request == "" && now >= t.quiet {
				e.check(ctx, t, t.item, false, now)
			}
			if t.on && t.holds && t.request == "" && now < t.quiet && (next == 0 || t.quiet < next) {
				next = t.quiet
			}
		}
	}
	e.due = next != 0
	return e.out, next
}

// Reload reads what conditions wait for, where updates may have been lost, or were before the engine: what was
// written since a condition was set counts, unless a request was made for it. Nothing is lost that still
// holds. only selects conditions by the patterns that they wait for; nil is all.
func (e *Engine) Reload(ctx context.Context, now engram.Time, only func(engram.Pattern) bool) (Decisions, error) {
	e.out = Decisions{}
	for _, name := range slices.Sorted(maps.Keys(e.rules)) {
		if s := e.rules[name]; s != nil && (only == nil || slices.ContainsFunc(s.asks(), only)) {
			if err := e.reload(ctx, s, math.MaxUint64, now); err != nil {
				return e.out, err
			}
		}
	}
	return e.out, nil
}

// asks returns the patterns of all that the condition waits for and asks for.
func (s *standing) asks() []engram.Pattern {
	all := []engram.Pattern{s.pattern}
	for _, c := range s.clauses {
		all = append(all, c.Patterns()...)
	}
	return all
}

// Begin reads what a condition waits for that was just set, as far as it was written with an update up to
// a number; what comes after is told by Update.
func (e *Engine) Begin(ctx context.Context, name string, upTo uint64, now engram.Time) (Decisions, error) {
	e.out = Decisions{}
	if s := e.rules[name]; s != nil {
		return e.out, e.reload(ctx, s, upTo, now)
	}
	return e.out, nil
}

func (e *Engine) reload(ctx context.Context, s *standing, upTo uint64, now engram.Time) error {
	found, err := e.present.Newest(ctx, s.pattern)
	if err != nil {
		return err
	}
	for _, it := range found {
		if it.Snapshot.Number > upTo {
			continue
		}
		entity := it.ID.Truncate(engram.LevelEntity)
		known := s.things[entity]
		again := known != nil && known.item.ID == it.ID // it was looked at when it came
		t := e.look(ctx, s, it)
		if t == nil || !t.on || it.Snapshot.Arrived <= s.set {
			continue // what was so before it was set counts when it is written anew
		}
		if known == nil {
			if err := e.recall(ctx, t); err != nil {
				return err
			}
		}
		e.check(ctx, t, it, !again, now)
	}
	for _, t := range sorted(s.things) {
		if t.request == "" {
			continue
		}
		made, ended, err := e.present.Requested(ctx, t.request)
		if err != nil {
			return err
		}
		if ended || !made {
			e.ended(t.request, now)
		}
	}
	return nil
}

// recall finds out what requests were made for a thing before the engine was.
func (e *Engine) recall(ctx context.Context, t *thing) error {
	s := t.of
	names, err := e.present.Requests(ctx, requestName(s.id.Entity(), t.item.ID.ProviderSegment(), t.item.ID.Entity())+".")
	if err != nil {
		return err
	}
	t.holds = len(names) > 0 && s.Trigger != Level
	if s.Trigger != Level {
		return nil
	}
	for _, name := range names {
		made, ended, err := e.present.Requested(ctx, name)
		if err != nil {
			return err
		}
		if made && !ended {
			t.request, e.ending[name] = name, t
		}
	}
	return nil
}
