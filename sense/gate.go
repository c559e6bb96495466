package sense

import (
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ltm/policy/record"
)

const (
	maxSensors = 1024 // that have rules and counts of their own; what others give goes on
	maxRules   = 64
)

// Gate decides which snapshots go on to the memory. It is told what sensors give, which rules there are and what they
// wait for; all times come from the caller. One goroutine uses it.
type Gate struct {
	ring    *ring
	types   *idf.Registry
	rules   map[string]*standing
	sensors map[engram.ID]*sensor
	unknown map[string]bool // types of payloads
	offered engram.Snapshot // to filters, which do not keep it; here, so that none is allocated

	wantedFrom uint64 // no slot before it is wanted
	wanted     int

	incidents incidents
}

// standing is a rule at work.
type standing struct {
	*compiled
	id      engram.ID // its snapshot
	spans   spans
	holds   bool
	missing string    // what it lacks; then it wants all that comes
	read    bool      // it lacked nothing once
	last    *Incident // the one before, for the cooldown
	current *Incident // whose window has no end yet
}

// sensor is an entity whose snapshots are offered.
type sensor struct {
	id       engram.ID
	attended []*attended
	counts   Counts
	newest   engram.Time
}

// attended is what a rule wants of a sensor.
type attended struct {
	rule   *standing
	filter *record.Filter
	place  place // with an object
}

// Counts says what became of the snapshots of a sensor; what is on its way to the memory is given only.
type Counts struct {
	Given    uint64 // by the sensor
	Passed   uint64 // to the memory, as they came
	Recalled uint64 // from the ring, and passed
	LeftOut  uint64 // that no rule wanted
	Lacked   uint64 // wanted, and not passed: the ring had lost them, or the memory refused them
	Bytes    uint64 // of what was given
	Sent     uint64 // bytes of what was passed, the recalled among it
}

// Ticket stands for a snapshot that goes on, for [Gate.Done].
type Ticket struct {
	number   uint64
	sensor   *sensor // nil: nothing is counted of it
	inRing   bool
	recalled bool
	at       engram.Time
	size     int64
}

// NewGate returns a gate without rules, whose ring takes at most so many bytes. types knows the payloads' types; what it
// does not know, a rule on changes lets pass.
func NewGate(ringBytes int64, types *idf.Registry) *Gate {
	return &Gate{ring: newRing(ringBytes), types: types, rules: map[string]*standing{}, sensors: map[engram.ID]*sensor{}, unknown: map[string]bool{}}
}

// SetRule has the rule of an ID followed, in place of the one of that name. The error is that of [Rule.Check]; the rule
// is not followed then, and what it was about goes on unless another rule is about it. It is Exhausted for one too many.
func (g *Gate) SetRule(id engram.ID, r *Rule, now engram.Time) (changed bool, err error) {
	name := id.Entity()
	old := g.rules[name]
	if old != nil && old.Same(r) {
		old.id = id
		return false, nil
	}
	if old == nil && !r.Disabled && len(g.rules) >= maxRules {
		return false, engram.Errorf(engram.Exhausted, name, "there are %d rules already, and no more are followed", maxRules)
	}
	var fresh *standing
	if !r.Disabled {
		c, err := compile(r)
		if err != nil {
			g.remove(old, now)
			return old != nil, err
		}
		fresh = &standing{compiled: c, id: id}
		if old != nil {
			fresh.last = old.last
		}
	}
	g.remove(old, now)
	if fresh != nil {
		g.rules[name] = fresh
		for _, s := range g.sensors {
			g.attend(s, fresh)
		}
	}
	return old != nil || fresh != nil, nil
}

func (g *Gate) remove(r *standing, now engram.Time) {
	if r == nil {
		return
	}
	delete(g.rules, r.id.Entity())
	for _, s := range g.sensors {
		s.attended = slices.DeleteFunc(s.attended, func(a *attended) bool { return a.rule == r })
	}
	g.abandon(r, now)
}

func (g *Gate) attend(s *sensor, r *standing) {
	if r.entities.Match(s.id) {
		at := &attended{rule: r, filter: record.NewFilter(r.policy, g.types)}
		at.filter.Look(r.region)
		s.attended = append(s.attended, at)
	}
}

func (g *Gate) sensor(entity engram.ID) *sensor {
	s := g.sensors[entity]
	if s == nil && len(g.sensors) < maxSensors {
		s = &sensor{id: entity}
		for _, name := range slices.Sorted(maps.Keys(g.rules)) {
			g.attend(s, g.rules[name])
		}
		g.sensors[entity] = s
	}
	return s
}

// Offer takes what a sensor gives; its payloads are copied. pass is that it goes on to the memory now: the caller
// writes it there and tells [Gate.Done].
func (g *Gate) Offer(u *engram.EntityUpdate, recorded bool) (t Ticket, pass bool) {
	s := g.sensor(u.Entity)
	if s == nil {
		return Ticket{}, true
	}
	size := int64(0)
	for i := range u.Instances {
		p := &u.Instances[i].Payload
		size += int64(len(p.Bytes))
		if _, ok := g.types.Get(p.Type); !ok && len(g.unknown) < maxSensors {
			g.unknown[p.Type] = true
		}
	}
	s.counts.Given++
	s.newest = max(s.newest, u.Time)
	s.counts.Bytes += uint64(size)
	slot, inRing := g.ring.put(s, u, recorded, g.gone)
	g.incidents.seen(s, u.Time)
	g.offered = engram.Snapshot{Time: u.Time, Instances: u.Instances}
	pass = len(s.attended) == 0
	for _, a := range s.attended {
		if a.rule.wants(u.Time) && a.wants(&g.offered) {
			pass = true
		}
	}
	g.offered.Instances = nil
	if !pass {
		s.counts.LeftOut++
		return Ticket{}, false
	}
	g.incidents.pending(s, u.Time)
	t = Ticket{sensor: s, inRing: inRing, at: u.Time, size: size}
	if inRing {
		slot.fate, t.number = sending, g.ring.next-1
	}
	return t, true
}

func (r *standing) wants(t engram.Time) bool {
	return r.always() || r.missing != "" || r.spans.contain(t)
}

// Done says whether the memory took what a ticket stands for. What was recalled from the ring and may come in again is
// wanted again if again says so.
func (g *Gate) Done(t Ticket, taken, again bool) {
	s := t.sensor
	if s == nil {
		return
	}
	known := t.inRing && t.number >= g.ring.known
	if !taken && again && t.recalled && known && t.number >= g.ring.held {
		g.want(t.number)
		return
	}
	became := failed
	switch {
	case !taken:
		s.counts.Lacked++
	case t.recalled:
		became = passed
		s.counts.Recalled++
		s.counts.Sent += uint64(t.size)
	default:
		became = passed
		s.counts.Passed++
		s.counts.Sent += uint64(t.size)
	}
	if known {
		g.ring.slot(t.number).fate = became
	}
	g.incidents.became(s, t.at, taken)
}

func (g *Gate) want(number uint64) {
	if g.wanted == 0 || number < g.wantedFrom {
		g.wantedFrom = number
	}
	g.ring.slot(number).fate = wanted
	g.wanted++
}

// gone is told by the ring of a snapshot whose payloads it gives up.
func (g *Gate) gone(s *slot) {
	if s.fate == wanted {
		g.wanted--
		s.fate = failed
		s.sensor.counts.Lacked++
		g.incidents.became(s.sensor, s.snapshot.Time, false)
	}
}

// Wanted takes snapshots from the ring that are to be written to the memory, the oldest first: at least one if there is
// any, and no more bytes than buf has room for unless one alone has. Payloads lie in the returned buffer. Each is told to
// [Gate.Done] by its ticket.
func (g *Gate) Wanted(buf []byte) (c engram.Commit, tickets []Ticket, _ []byte) {
	buf = buf[:0]
	for n, s := range g.ring.since(max(g.wantedFrom, g.ring.held)) {
		if g.wanted == 0 {
			break
		}
		if s.fate != wanted {
			continue
		}
		if len(tickets) > 0 && (len(buf)+int(s.size) > cap(buf) || s.recorded != c.Recorded || len(tickets) >= maxBatch) {
			break
		}
		buf = slices.Grow(buf, int(s.size)) // moves nothing that is used, but for the first
		c.Recorded, c.Transient = s.recorded, true
		u := engram.EntityUpdate{Entity: s.sensor.id, Time: s.snapshot.Time, Instances: slices.Clone(s.snapshot.Instances)}
		for i := range u.Instances {
			from := len(buf)
			buf = append(buf, u.Instances[i].Payload.Bytes...)
			u.Instances[i].Payload.Bytes = buf[from:len(buf):len(buf)]
		}
		c.Updates = append(c.Updates, u)
		tickets = append(tickets, Ticket{number: n, sensor: s.sensor, inRing: true, recalled: true, at: u.Time, size: s.size})
		s.fate = sending
		g.wanted--
		g.wantedFrom = n + 1
	}
	return c, tickets, buf
}

// maxBatch is how many snapshots are written from the ring in one commit.
const maxBatch = 256

// Sensors yields the sensors' counts, by entity.
func (g *Gate) Sensors() map[engram.ID]Counts {
	all := make(map[engram.ID]Counts, len(g.sensors))
	for id, s := range g.sensors {
		all[id] = s.counts
	}
	return all
}

// Held tells how many bytes of payloads the ring holds, how many it can hold, and the time of its oldest snapshot, 0 if
// there is none.
func (g *Gate) Held() (bytes, capacity int64, since engram.Time) {
	since, _ = g.ring.oldest()
	return g.ring.size, int64(len(g.ring.bytes)), since
}
