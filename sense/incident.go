package sense

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy/record"
)

// IncidentSegment is the core segment of incidents, and IncidentType the type of its payloads.
const (
	IncidentSegment = "SystemState/Incident"
	IncidentType    = "engram.system_state.Incident"
)

// Incident is a trigger of a rule, and what came of it.
type Incident struct {
	Name   string
	Rule   engram.ID // its snapshot
	Cause  engram.ID // the snapshot that was the trigger; the root if there is none
	Time   engram.Time
	Window engram.Interval // of what goes on; it ends with MaxTime while what it waits for holds
	Closed bool            // nothing comes to it any more
	Shares []Share         // by sensor
	// Suppressed are triggers that made no incident of their own, and Reason is why the last one did not.
	Suppressed uint64
	Reason     string
	Note       string // why it ended early, or what the rule lacked

	rule   *standing
	shares map[*sensor]*Share
	dirty  bool        // it is to be told
	over   engram.Time // when its window was found to be over; 0 before
}

// Share is what a sensor gave in the window of an incident.
type Share struct {
	Sensor engram.ID
	Seen   uint64 // that the sensor gave
	Kept   uint64 // that are in the memory
	Lacked uint64 // that the rule would have had, and that are not in the memory

	pending int // on their way to the memory
}

// Value returns the incident as a value for a payload of [IncidentType].
func (i *Incident) Value() map[string]any {
	shares := []any{}
	for _, s := range i.Shares {
		shares = append(shares, map[string]any{"sensor": s.Sensor, "seen": int64(s.Seen), "kept": int64(s.Kept), "lacked": int64(s.Lacked)})
	}
	v := map[string]any{
		"timestamp": i.Time, "rule": i.Rule, "window_start": i.Window.Start, "closed": i.Closed,
		"sensors": shares, "suppressed": int64(i.Suppressed), "reason": i.Reason, "note": i.Note,
	}
	if !i.Cause.IsRoot() {
		v["cause"] = i.Cause
	}
	if i.Window.End != engram.MaxTime {
		v["window_end"] = i.Window.End
	}
	return v
}

const (
	maxOpenIncidents = 64 // of all rules
	// settling is how long what comes late is waited for after a window was found to be over, and
	// mostSettling how long what is on its way to the memory.
	settling     = 500 * time.Millisecond
	mostSettling = 10 * time.Second
	// mostAhead is how far ahead of now a trigger may be; one that is farther counts as that.
	mostAhead = time.Minute
)

// incidents are those that something may still come to, or that are to be told.
type incidents struct {
	open  []*Incident
	told  []*Incident // closed, and to be told once more
	names map[string]int
}

// Trigger takes notice of an update that a rule waits for. cause is the update's snapshot, at its time. It returns why there
// is no incident of it, "" if there is one.
func (g *Gate) Trigger(rule string, cause engram.ID, at, now engram.Time) (why string) {
	r := g.rules[rule]
	if r == nil {
		return "the rule is not followed"
	}
	at = min(at, now.Add(mostAhead))
	window := engram.Interval{Start: at.Add(-r.Before), End: at.Add(r.After).Add(1)}
	g.attendTo(r, window)
	_, why = g.begin(r, cause, at, window)
	return why
}

// Hold takes notice of whether what a rule waits for holds. cause is the snapshot that it came to hold with, or ceased to, at
// its time.
func (g *Gate) Hold(rule string, holds bool, cause engram.ID, at, now engram.Time) {
	r := g.rules[rule]
	if r == nil || r.holds == holds {
		return
	}
	r.holds, at = holds, min(at, now.Add(mostAhead))
	if !holds {
		end := at.Add(r.After).Add(1)
		r.spans.cut(end)
		if i := r.current; i != nil {
			g.end(i, end)
			r.current = nil
		}
		return
	}
	window := engram.Interval{Start: at.Add(-r.Before), End: engram.MaxTime}
	g.attendTo(r, window)
	r.current, _ = g.begin(r, cause, at, window)
}

// Miss says what a rule lacks, so that it is not known whether what it waits for holds; "" is nothing. Meanwhile the rule wants
// all that comes, and from the ring what came in the time that it wants before a trigger, unless it lacks it since it was set.
func (g *Gate) Miss(rule, what string, now engram.Time) {
	r := g.rules[rule]
	if r == nil || r.missing == what {
		return
	}
	if r.missing == "" && r.read && r.Before > 0 { // it may have been so for a while
		g.attendTo(r, engram.Interval{Start: now.Add(-r.Before), End: now.Add(1)})
	}
	r.missing, r.read = what, r.read || what == ""
}

// attendTo has a rule want what lies in a window, what the ring has of it among that.
func (g *Gate) attendTo(r *standing, window engram.Interval) {
	for _, part := range r.spans.add(window) {
		for n, s := range g.ring.since(0) {
			if s.fate != left || !part.Contains(s.snapshot.Time) {
				continue
			}
			i := slices.IndexFunc(s.sensor.attended, func(a *attended) bool { return a.rule == r })
			switch {
			case i < 0:
			case n < g.ring.held:
				s.fate = failed
				s.sensor.counts.LeftOut--
				s.sensor.counts.Lacked++
			case s.sensor.attended[i].filter.Offer(&s.snapshot).Verdict == record.Record:
				s.sensor.counts.LeftOut--
				g.want(n)
				g.incidents.pending(s.sensor, s.snapshot.Time)
			}
		}
	}
}

// begin makes an incident, unless there is a reason why not.
func (g *Gate) begin(r *standing, cause engram.ID, at engram.Time, window engram.Interval) (made *Incident, why string) {
	if last := r.last; last != nil && r.Cooldown > 0 {
		if d := at.Sub(last.Time); d.Abs() < r.Cooldown {
			order := "after"
			if d < 0 {
				order = "before"
			}
			return nil, g.incidents.suppress(last, cause, fmt.Sprintf("%s %s it, in the cooldown of %s", d.Abs(), order, r.Cooldown))
		}
	}
	if last := r.last; len(g.incidents.open) >= maxOpenIncidents {
		why := fmt.Sprintf("%d incidents are open already", maxOpenIncidents)
		if last != nil {
			why = g.incidents.suppress(last, cause, why)
		}
		return nil, why
	}
	i := &Incident{Name: g.incidents.name(r.id.Entity(), at), Rule: r.id, Cause: cause, Time: at, Window: window, Note: r.missing,
		rule: r, shares: map[*sensor]*Share{}, dirty: true}
	for _, s := range g.sensors {
		if slices.ContainsFunc(s.attended, func(a *attended) bool { return a.rule == r }) {
			i.shares[s] = &Share{Sensor: s.id}
		}
	}
	for _, s := range g.ring.since(0) {
		share := i.shares[s.sensor]
		if share == nil || !window.Contains(s.snapshot.Time) {
			continue
		}
		share.Seen++
		switch s.fate {
		case passed:
			share.Kept++
		case wanted, sending:
			share.pending++
		case failed:
			share.Lacked++
		}
	}
	r.last = i
	g.incidents.open = append(g.incidents.open, i)
	return i, ""
}

func (x *incidents) suppress(last *Incident, cause engram.ID, why string) string {
	last.Suppressed++
	last.Reason = why
	if !cause.IsRoot() {
		last.Reason = cause.String() + ": " + why
	}
	if !last.dirty && last.Closed {
		x.told = append(x.told, last)
	}
	last.dirty = true
	return last.Reason
}

// name returns a name of its own for an incident.
func (x *incidents) name(rule string, at engram.Time) string {
	name := rule + "." + at.Std().Format("20060102T150405.000000000")
	if x.names == nil || len(x.names) > maxTrailOfNames {
		x.names = map[string]int{}
	}
	x.names[name]++
	if n := x.names[name]; n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return name
}

// maxTrailOfNames bounds the names that are remembered.
const maxTrailOfNames = 1 << 12

// seen counts a snapshot that a sensor gave.
func (x *incidents) seen(s *sensor, at engram.Time) {
	for _, i := range x.open {
		if share := i.share(s); share != nil && i.Window.Contains(at) {
			share.Seen++
		}
	}
}

// pending counts a snapshot that is on its way to the memory.
func (x *incidents) pending(s *sensor, at engram.Time) {
	for _, i := range x.open {
		if share := i.shares[s]; share != nil && i.Window.Contains(at) {
			share.pending++
		}
	}
}

// became counts whether the memory has a snapshot now that was on its way.
func (x *incidents) became(s *sensor, at engram.Time, taken bool) {
	for _, i := range x.open {
		share := i.shares[s]
		if share == nil || share.pending == 0 || !i.Window.Contains(at) {
			continue
		}
		share.pending--
		if taken {
			share.Kept++
		} else {
			share.Lacked++
		}
	}
}

// waits reports whether something is on its way to the memory.
func (i *Incident) waits() bool {
	for _, share := range i.shares {
		if share.pending > 0 {
			return true
		}
	}
	return false
}

// share returns what is counted of a sensor, nil of one that the rule is not about.
func (i *Incident) share(s *sensor) *Share {
	share := i.shares[s]
	if share == nil && slices.ContainsFunc(s.attended, func(a *attended) bool { return a.rule == i.rule }) {
		share = &Share{Sensor: s.id}
		i.shares[s] = share
	}
	return share
}

// abandon ends the incidents of a rule that is followed no more.
func (g *Gate) abandon(r *standing, now engram.Time) {
	for _, i := range g.incidents.open {
		if i.rule == r {
			i.Note = "the rule was changed or removed"
			g.end(i, min(i.Window.End, now))
		}
	}
}

// end has the window of an incident end before it was to, and counts no more what lies after that.
func (g *Gate) end(i *Incident, end engram.Time) {
	end = max(end, i.Window.Start+1)
	for _, s := range g.ring.since(0) {
		share := i.shares[s.sensor]
		if share == nil || s.snapshot.Time < end || !i.Window.Contains(s.snapshot.Time) {
			continue
		}
		share.Seen = max(share.Seen, 1) - 1
		switch s.fate {
		case passed:
			share.Kept = max(share.Kept, 1) - 1
		case failed:
			share.Lacked = max(share.Lacked, 1) - 1
		case wanted, sending:
			share.pending = max(share.pending, 1) - 1
		}
	}
	i.Window.End, i.dirty = end, true
}

// Due returns the incidents that are to be told: those that are new, that ended, or that triggers were suppressed after.
func (g *Gate) Due(now engram.Time) (tell []*Incident) {
	x := &g.incidents
	x.open = slices.DeleteFunc(x.open, func(i *Incident) bool {
		if i.over == 0 && now >= i.Window.End {
			i.over = now
		}
		if d := now.Sub(i.over); i.over != 0 && d >= settling && (!i.waits() || d >= mostSettling) {
			i.Closed, i.dirty = true, true
		}
		if i.dirty {
			tell = append(tell, i.tell())
		}
		return i.Closed
	})
	for _, i := range x.told {
		tell = append(tell, i.tell())
	}
	x.told = nil
	return tell
}

// tell returns the incident as it is now.
func (i *Incident) tell() *Incident {
	i.dirty = false
	i.Shares = nil
	for _, s := range slices.SortedFunc(maps.Values(i.shares), func(a, b *Share) int { return a.Sensor.Compare(b.Sensor) }) {
		i.Shares = append(i.Shares, *s)
	}
	told := *i
	return &told
}
