package access

import (
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// EventKind says what happened.
type EventKind string

// What is noted.
const (
	EventSignIn       EventKind = "sign-in"       // an identity opened a connection
	EventRefused      EventKind = "refused"       // somebody was not let in
	EventDenied       EventKind = "denied"        // an identity was not let do something
	EventAdmin        EventKind = "admin"         // an identity did what needs the right to administer
	EventRules        EventKind = "rules"         // the rules were changed
	EventRulesRefused EventKind = "rules refused" // a change of the rules that cannot be read
	EventRevoked      EventKind = "revoked"       // an identity or certificate was revoked
	EventNames        EventKind = "names"         // a memory has another server, or none
)

// Event is something to be noted.
type Event struct {
	Kind     EventKind
	Identity Identity
	Action   Actions
	Thing    string // the ID, pattern, name or file it is about
	From     string // the address of the other end, as far as is known
	Text     string
	Count    uint64 // how many of the same there were; 0 is one
}

// Auditor keeps what happened. Its method is called by many goroutines and must not
// wait.
type Auditor interface {
	Audit(Event)
}

func (c *Control) note(e Event) {
	if c.audit != nil {
		c.audit.Audit(e)
	}
}

// noteChanges notes how the rules have changed.
func (c *Control) noteChanges(before, now *Table) {
	if c.audit == nil {
		return
	}
	had := map[string]bool{}
	for _, r := range before.policy.Rules {
		had[r.String()] = true
	}
	for _, r := range now.policy.Rules {
		text := r.String()
		if !had[text] {
			c.note(Event{Kind: EventRules, Action: r.Actions, Text: "added: " + text})
		}
		delete(had, text)
	}
	for text := range had {
		c.note(Event{Kind: EventRules, Text: "removed: " + text})
	}
	for id, r := range now.banned {
		if before.banned[id] == nil {
			c.note(Event{Kind: EventRevoked, Identity: id, Text: r.Why})
		}
	}
	for serial, r := range now.serials {
		if before.serials[serial] == nil {
			c.note(Event{Kind: EventRevoked, Thing: "certificate " + serial, Text: r.Why})
		}
	}
}

// often notes what may happen again and again, and be made happen: of each kind,
// identity and action it is noted once in [repeatEvery], with how often it was.
func (c *Control) often(e Event) {
	if c.audit != nil {
		c.repeats.count(c.audit, e, time.Now())
	}
}

// repeatEvery is how often the same is noted at most.
const repeatEvery = 10 * time.Second

// maxRepeats bounds what is counted apart; what is beyond is counted as somebody's.
const maxRepeats = 1000

type repeatKey struct {
	kind EventKind
	id   Identity
	a    Actions
}

// repeats counts what is not noted one by one.
type repeats struct {
	mu    sync.Mutex
	byKey map[repeatKey]*repeat
}

type repeat struct {
	noted time.Time
	last  Event
	n     uint64 // since it was noted
}

func (r *repeats) count(audit Auditor, e Event, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey == nil {
		r.byKey = map[repeatKey]*repeat{}
	}
	k := repeatKey{e.Kind, e.Identity, e.Action}
	if r.byKey[k] == nil && len(r.byKey) >= maxRepeats {
		r.dueLocked(audit, now)
		if len(r.byKey) >= maxRepeats {
			k = repeatKey{kind: e.Kind}
		}
	}
	n := r.byKey[k]
	if n == nil {
		n = &repeat{}
		r.byKey[k] = n
	}
	n.last = e
	n.n++
	if now.Sub(n.noted) >= repeatEvery {
		n.tell(audit)
		n.noted = now
	}
}

func (n *repeat) tell(audit Auditor) {
	if n.n > 0 {
		n.last.Count = n.n
		audit.Audit(n.last)
		n.n = 0
	}
}

// due notes what was counted a while ago, and forgets what has stopped.
func (r *repeats) due(audit Auditor, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dueLocked(audit, now)
}

func (r *repeats) dueLocked(audit Auditor, now time.Time) {
	for k, n := range r.byKey {
		switch {
		case now.Sub(n.noted) < repeatEvery:
		case n.n == 0:
			delete(r.byKey, k)
		default:
			n.tell(audit)
			n.noted = now
		}
	}
}

// flush notes what was counted and not noted.
func (r *repeats) flush(audit Auditor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.byKey {
		n.tell(audit)
	}
}

// forbidden is the error for what the rules do not let an identity do. It is the same
// whether the thing exists or not.
func (c *Control) forbidden(id Identity, a Actions, thing string) error {
	c.often(Event{Kind: EventDenied, Identity: id, Action: a, Thing: thing})
	return engram.Errorf(engram.Forbidden, thing, "no rule lets %q %s this; 'engram auth check' says which rules there are", string(id), a)
}
