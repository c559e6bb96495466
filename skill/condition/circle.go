package condition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

const requestProvider = "Conditions"

// A circle is found in two ways. Where updates have links to executions, or are such, it is known what
// they come of: the third time that a condition comes of itself is one too many. Where they have none, an
// update is taken to come of the only execution that a condition runs just then, or of the one that ended last, a
// moment before. That may be chance, as of what comes regularly. So after many times the condition is held back: if
// what fulfils it comes all the same, while nothing goes on that conditions run, that was chance; if it falls silent,
// it came of itself.
const (
	maxLinked    = 3
	maxSuspected = 32
	maxChain     = 256  // conditions of a chain that are remembered
	maxTrail     = 4096 // requests and executions that are

	chanceGrowth = 100                   // how much later is held back again what came by chance
	effectWithin = time.Second           // after an execution's end, what comes may come of it
	leastQuiet   = 20 * time.Millisecond // after an execution's end before what comes does not come of it
	leastSilence = 100 * time.Millisecond
	mostSilence  = 2 * time.Second
	mostWaiting  = 2 * time.Second // for what goes on to end
)

// trail remembers what requests of conditions came of.
type trail struct {
	fired      map[string]*fired // by request
	executions map[string]*execution
	order      []string // of both, the oldest first
	active     map[string]bool
	last       string // the request of a condition whose execution ended last
	lastEnd    engram.Time
}

// fired is a request of a condition.
type fired struct {
	condition, skill string
	at               engram.Time
	chain            []step // what it came of, the nearest first
}

type step struct {
	condition, skill string
	linked           bool // the one before in the list came of it for sure
	at               engram.Time
	lag              time.Duration // from its end to that
}

// suspicion is that a condition comes of itself, which is tried by holding it back.
type suspicion struct {
	circle   string // how it goes
	since    engram.Time
	lag      time.Duration // how long after an end its effect comes
	interval time.Duration // from one time to the next
	quiet    engram.Time   // from when on nothing comes of what went on; 0: it goes on
	waiting  []waiting     // what is held back
}

// waiting is what is to be made if it was chance.
type waiting struct {
	firing Firing
	thing  *thing
}

// execution is what is known of an execution, by the path of its request.
type execution struct {
	parent, cause engram.ID
	ended         bool
}

func newTrail() trail {
	return trail{fired: map[string]*fired{}, executions: map[string]*execution{}, active: map[string]bool{}}
}

// readExecution reads a snapshot of Skill/Execution.
func (e *Engine) readExecution(ctx context.Context, it engram.Item) (*execution, bool) {
	if len(it.Snapshot.Instances) == 0 {
		return nil, false
	}
	payload := &it.Snapshot.Instances[0].Payload
	t := e.present.Type(ctx, payload.Type)
	if t == nil {
		return nil, false
	}
	v, err := t.Decode(payload.Bytes)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, false
	}
	x := &execution{}
	x.parent, _ = m["parent"].(engram.ID)
	x.cause, _ = m["cause"].(engram.ID)
	x.ended = HasEnded(m)
	return x, true
}

// HasEnded reports whether a decoded execution has ended.
func HasEnded(execution any) bool {
	m, _ := execution.(map[string]any)
	switch fmt.Sprint(m["status"]) {
	case "Succeeded", "Failed", "Aborted":
		return true
	}
	return false
}

// pathOf returns by what a request and its execution are known.
func pathOf(id engram.ID) string { return id.ProviderSegment() + "/" + id.Entity() }

func isDeed(id engram.ID) bool {
	return id.Memory() == "Skill" && (id.CoreSegment() == "Execution" || id.CoreSegment() == "Request")
}

func (t *trail) execution(entity engram.ID, x *execution, now engram.Time) {
	path := pathOf(entity)
	if t.executions[path] == nil {
		t.remember(path)
	}
	t.executions[path] = x
	if _, ofCondition := t.fired[path]; ofCondition && !x.ended {
		t.active[path] = true
	} else {
		if ofCondition {
			t.last, t.lastEnd = path, now
		}
		delete(t.active, path)
	}
}

func (t *trail) remember(path string) {
	if t.order = append(t.order, path); len(t.order) > maxTrail {
		for _, old := range t.order[:maxTrail/2] {
			delete(t.executions, old)
			delete(t.fired, old)
			delete(t.active, old)
		}
		t.order = slices.Delete(t.order, 0, maxTrail/2)
	}
}

// fire remembers a request that is made because of an update. It returns how a circle goes, if it
// closes one that has been gone through often enough; or what it is suspected of, if it is.
func (t *trail) fire(request string, of *standing, by engram.Item, typ *idf.Type, now engram.Time) (circle string, suspected *suspicion) {
	condition := of.id.Entity()
	f := &fired{condition: condition, skill: of.Skill, at: now}
	if origin, linked, lag := t.origin(by, typ, now); origin != nil && (linked || of.Trigger != Level) { // a level repeats itself
		f.chain = append([]step{{origin.condition, origin.skill, linked, origin.at, lag}}, origin.chain...)
		f.chain = f.chain[:min(len(f.chain), maxChain)]
	}
	sure, any, linked := 0, 0, true
	var around []string
	s := &suspicion{since: now}
	before := now
	for i, step := range f.chain {
		linked = linked && step.linked
		s.lag = max(s.lag, step.lag)
		if step.condition != condition {
			continue
		}
		if any == 0 {
			for _, step := range slices.Backward(f.chain[:i+1]) {
				around = append(around, step.condition+" runs "+step.skill)
			}
		}
		s.interval, before = max(s.interval, before.Sub(step.at)), step.at
		any++
		if linked {
			sure++
		}
	}
	s.circle = fmt.Sprintf("a circle, gone through %d times: %s, which fulfils %s again", any, strings.Join(around, ", which fulfils "), condition)
	switch {
	case sure >= maxLinked:
		return s.circle, nil
	case any >= of.patience:
		return "", s
	}
	path := requestProvider + "/" + request
	t.remember(path)
	t.fired[path] = f
	return "", nil
}

// byChance remembers a request that comes of nothing.
func (t *trail) byChance(request string, of *standing, now engram.Time) {
	path := requestProvider + "/" + request
	t.remember(path)
	t.fired[path] = &fired{condition: of.id.Entity(), skill: of.Skill, at: now}
}

// look finds out from when on nothing comes of what went on, as far as it is known by now.
func (s *suspicion) look(t *trail) {
	if s.quiet == 0 && len(t.active) == 0 {
		s.quiet = max(s.since, t.lastEnd).Add(max(leastQuiet, 2*s.lag))
	} else if len(t.active) > 0 {
		s.quiet = 0
	}
}

// decide tells when the next decision is due; if one is, whether what is held back comes of itself.
func (s *suspicion) decide(t *trail, now engram.Time) (next engram.Time, itself, chance bool) {
	s.look(t)
	if s.quiet == 0 {
		next = s.since.Add(mostWaiting)
		return next, false, now >= next
	}
	next = s.quiet.Add(min(max(3*s.interval, leastSilence), mostSilence))
	return next, now >= next, false
}

// forget takes a request back that was not made.
func (t *trail) forget(request string) { delete(t.fired, requestProvider+"/"+request) }

// origin returns the request of a condition that an update comes of, whether it is sure, and if not how long
// before it had ended; nil if it comes of none.
func (t *trail) origin(by engram.Item, typ *idf.Type, now engram.Time) (f *fired, linked bool, lag time.Duration) {
	if isDeed(by.ID) {
		return t.climb(pathOf(by.ID)), true, 0
	}
	if typ != nil {
		for i := range by.Snapshot.Instances {
			links, err := typ.Links(by.Snapshot.Instances[i].Payload.Bytes)
			if err != nil {
				break
			}
			for _, l := range links {
				if isDeed(l.ID) {
					if f := t.climb(pathOf(l.ID)); f != nil {
						return f, true, 0
					}
				}
			}
		}
	}
	if len(t.active) == 1 {
		for path := range t.active {
			return t.fired[path], false, 0
		}
	}
	if lag = now.Sub(t.lastEnd); len(t.active) == 0 && lag <= effectWithin {
		return t.fired[t.last], false, lag
	}
	return nil, false, 0
}

// climb returns the request of a condition that an execution comes of by its parents and causes.
func (t *trail) climb(path string) *fired {
	for range 64 {
		if f := t.fired[path]; f != nil {
			return f
		}
		x := t.executions[path]
		switch {
		case x == nil:
			return nil
		case !x.parent.IsRoot():
			path = pathOf(x.parent)
		case isDeed(x.cause):
			path = pathOf(x.cause)
		default:
			return nil
		}
	}
	return nil
}
