package copies

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// replica is one copy: its rule, its position, and a ledger of what it does not hold.
type replica struct {
	pattern string    // the text of the copy's
	memory  string    // its name at the holder
	id      engram.ID // of the memory
	matcher *engram.PatternMatcher

	mu         sync.Mutex
	rule       string        // the pattern of the rule that made it, "" if none did
	configured bool          // it, or the rule that made it
	copy       contract.Copy // its pattern does not change
	ended      bool          // it was removed
	rules      uint64        // counts changes of the rules: each restarts the pull
	changes    uint64        // counts changes of what the file stores
	saved      uint64        // changes that the file has

	// positions are by server: another one that owns the memory now has another
	// history, and the first may come back.
	positions map[string]contract.Position
	newest    map[string]contract.Had // beside each position
	ledger    ledger

	owner   string // the server
	state   contract.State
	since   time.Time
	problem string
	behind  contract.Behind
	// caughtUp is when the copy lacked nothing last, by the owner's clock, and caughtUpHere
	// the same moment by this computer's; 0 is never.
	caughtUp     engram.Time
	caughtUpHere time.Time
	heard        *atomic.Int64 // of its link: when the owner was last heard, Unix nanoseconds; 0 is never
	held         uint64        // number at the holder of the newest that came, or a later one
	received     uint64
	payload      int64
	wire         int64
	had          uint64
	removed      uint64
}

func newReplica(c contract.Copy, present func(engram.ID) engram.Time) *replica {
	r := &replica{
		pattern: c.Pattern.String(),
		memory:  c.Pattern.Levels[0].Names[0], copy: c, positions: map[string]contract.Position{}, newest: map[string]contract.Had{}, ledger: newLedger(present),
		state: contract.StateWaiting, since: time.Now(), heard: new(atomic.Int64),
	}
	r.matcher, _ = c.Pattern.Matcher() // the errors were found by Check
	r.id, _ = engram.NewID(r.memory)
	return r
}

// maxPositions bounds the servers that a copy remembers.
const maxPositions = 16

// share returns the request of a pull of the copy from a server, and the count of its
// rules.
func (r *replica) share(server string, heard *atomic.Int64) (s contract.Share, rules uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard != heard {
		heard.Store(max(heard.Load(), r.heard.Load()))
		r.heard = heard
	}
	return contract.Share{Patterns: []engram.Pattern{rename(r.copy.Pattern, ownersName(r.memory))}, After: r.positions[server], Had: r.newest[server], Rules: r.copy.Rules}, r.rules
}

// setState sets the state of the copy.
func (r *replica) setState(s contract.State, owner, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setStateLocked(s, owner, problem)
}

func (r *replica) setStateLocked(s contract.State, owner, problem string) {
	if r.state != s {
		r.state, r.since = s, time.Now()
	}
	if owner != "" {
		r.owner = owner
	}
	r.problem = problem
}

// took notes the outcome of a batch from a server. rules is the count of the rules that it
// was pulled by; c, left and lost have the holder's names.
func (r *replica) took(server string, rules uint64, b *contract.Batch, c *contract.Changes, applied contract.Applied, left []contract.LeftOut, lost []engram.Missing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range c.Removed {
		r.ledger.removed(&c.Removed[i])
	}
	for i := range c.Versions {
		v := &c.Versions[i]
		r.ledger.stored(v.Entity, v.Snapshot.Time)
		r.payload += int64(v.Snapshot.Size())
	}
	r.held = max(r.held, applied.Number)
	r.received += uint64(len(c.Versions))
	r.had += applied.Had
	r.removed += applied.Removed
	r.wire += b.Wire
	if rules != r.rules {
		return // it begins anew, and not from here: what it lacks is told again
	}
	for i := range left {
		r.ledger.add(left[i].Entity, left[i].Reason, left[i].Count, left[i].Bytes, left[i].Interval)
	}
	for i := range lost {
		r.ledger.add(lost[i].ID, lost[i].Reason, lost[i].Count, 0, lost[i].Interval)
	}
	if applied.Refused > 0 {
		r.ledger.add(r.id, contract.LostRefused, applied.Refused, 0, engram.Always())
	}
	if r.behind = b.Behind; b.Behind.Updates == 0 {
		r.caughtUp, r.caughtUpHere = b.Behind.Now, time.Now()
	}
	if r.positions[server] != b.Position || len(left) > 0 || len(lost) > 0 || applied.Refused > 0 || len(c.Removed) > 0 {
		if _, known := r.positions[server]; !known && len(r.positions) >= maxPositions {
			for other := range r.positions {
				delete(r.newest, other)
				delete(r.positions, other) // any: it is pulled from its beginning should it come back
				break
			}
		}
		had := r.newest[server]
		had.Took(r.positions[server], b)
		r.positions[server], r.newest[server] = b.Position, had
		r.changes++
	}
	state := contract.StateLive
	if b.Behind.Updates > 0 {
		state = contract.StateCatching
	}
	problem := ""
	if applied.Refused > 0 && applied.Reason != nil {
		problem = applied.Reason.Error()
	} else if state == r.state {
		problem = r.problem
	}
	r.setStateLocked(state, server, problem)
}

// moment is a point in the history of a replica: its counters.
type moment struct{ rules, added uint64 }

func (r *replica) now() moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return moment{r.rules, r.ledger.added}
}

// stored notes versions that were fetched.
func (r *replica) stored(versions []contract.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range versions {
		if v := &versions[i]; r.matcher.Match(v.Entity) {
			r.ledger.stored(v.Entity, v.Snapshot.Time)
		}
	}
	r.changes++
}

// fetched notes the owner's answer to a query of the moment begun. If the copy began anew
// since then, the fetched versions may be gone.
func (r *replica) fetched(a *answer, begun moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rules == begun.rules {
		r.ledger.fetched(a, begun.added)
		r.changes++
	}
}

// idle notes a heartbeat of a pull by these rules: if the copy was complete before, it
// still is.
func (r *replica) idle(server string, rules uint64, now engram.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind.Updates > 0 || r.owner != server || r.rules != rules {
		return
	}
	r.caughtUp, r.caughtUpHere = now, time.Now()
	if r.state == contract.StateCatching {
		r.setStateLocked(contract.StateLive, server, r.problem)
	}
}

// touches reports whether the copy holds anything of what an ID names.
func (r *replica) touches(id engram.ID) bool {
	for i, name := range id.Names() {
		if !r.matcher.Level(engram.Level(i + 1)).Match(name) {
			return false
		}
	}
	return true
}

// isEnded reports whether the copy was removed.
func (r *replica) isEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// madeBy returns the pattern of the rule that made the copy, "" if none did, and whether
// that, or the copy itself, is configured.
func (r *replica) madeBy() (rule string, configured bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rule, r.configured
}

// adopt makes the copy independent of the rule that made it.
func (r *replica) adopt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rule, r.configured = "", false
}

// handOver makes another rule the owner of the copy.
func (r *replica) handOver(to *rule) {
	r.mu.Lock()
	r.rule, r.configured = to.pattern, to.configured
	r.mu.Unlock()
	r.follow(to.copy.Rules)
}

// follow changes the rules of the copy. The pull goes on from its position.
func (r *replica) follow(rules contract.Rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy.Rules = rules
	r.changes++
	r.rules++
}

// beginAnew pulls the copy from its beginning.
func (r *replica) beginAnew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.positions)
	clear(r.newest)
	r.ledger = newLedger(r.ledger.present)
	r.changes++
	r.rules++
}

func (r *replica) status() contract.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := contract.Status{
		Copy: r.copy, Configured: r.configured, Owner: r.owner, State: r.state, Since: engram.TimeOf(r.since), Error: r.problem,
		Rule: r.rule, Position: r.positions[r.owner], Updates: r.behind.Updates, Bytes: r.behind.Bytes,
		Received: r.received, Payload: r.payload, Wire: r.wire, Had: r.had, Removed: r.removed,
	}
	s.LeftOut, s.Lost = r.ledger.leftOut()
	s.Losses = r.ledger.losses()
	contact := r.heard.Load()
	if contact == 0 {
		return s
	}
	s.Contact = engram.Time(contact)
	if r.behind.Updates > 0 && s.Position.Epoch != 0 && s.Position.Arrived > engram.MinTime { // else it is before or in the middle of an epoch of its owner
		s.Lag = max(r.behind.Now.Sub(s.Position.Arrived), 0)
	}
	if r.state != contract.StateLive && r.state != contract.StateCatching {
		s.Lag += max(engram.Now().Sub(s.Contact), 0) // what was written since is not known
	}
	return s
}

// used says how old the copy is.
func (r *replica) used() engram.CopyUsed {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := engram.CopyUsed{Memory: r.memory, Behind: r.behind.Updates, AsOf: r.caughtUp}
	if p := r.positions[r.owner]; r.isWholeLocked() {
		u.Epoch, u.Number, u.Held = p.Epoch, p.Number, r.held
	}
	if r.caughtUp != 0 {
		u.Lag = time.Since(r.caughtUpHere)
	}
	return u
}

// isWholeLocked reports whether the copy is of all that its owner's memory has.
func (r *replica) isWholeLocked() bool {
	rules := &r.copy.Rules
	return rules.MaxRate == 0 && len(rules.Fields) == 0 && rules.Where == "" && rules.MaxPayload == 0 &&
		!slices.ContainsFunc(r.copy.Pattern.Levels[1:], func(s engram.NameSelector) bool { return s.Kind != engram.NameAll })
}

// missing appends what the copy lacks of a query's path.
func (r *replica) missing(out []engram.Missing, p *path) []engram.Missing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ledger.tallies) == 0 {
		return out
	}
	return r.ledger.missing(out, p)
}
