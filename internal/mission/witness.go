package mission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/world"
)

// Soon is within which time what one of them says is to be in the worlds of all, simulated.
const Soon = time.Second

// Event is something that one of them said, and that came into the worlds of all. Times are
// simulated.
type Event struct {
	Name string        // of what: "garbage seen", "bin seen", "garbage held", "garbage dropped"
	By   string        // the robot that said so
	At   time.Duration // in the mission: when it was seen or done
	// Delay is after which time the last of all had it.
	Delay time.Duration
	// In are those in whose world it is, and after which time it was.
	In map[string]time.Duration
	// Cut are those whose link was cut meanwhile.
	Cut []string

	arrived func() // the clock need not wait for it any more
}

// Late returns those who had it later than [Soon], though neither their link was cut nor that of who
// said it.
func (e *Event) Late() (who []string) {
	if slices.Contains(e.Cut, e.By) {
		return nil
	}
	for name, after := range e.In {
		if after > Soon && !slices.Contains(e.Cut, name) {
			who = append(who, name)
		}
	}
	slices.Sort(who)
	return who
}

// The events of a mission.
const (
	GarbageSeen    = "garbage seen"
	BinSeen        = "bin seen"
	GarbageHeld    = "garbage held"
	GarbageDropped = "garbage dropped"
)

// events returns which events a world has.
func events(f *world.Forest) (out []string) {
	for _, object := range []string{hallway.Garbage, hallway.Bin} {
		it, err := f.Get(object)
		if err != nil {
			continue
		}
		if _, err := f.Pose(hallwayItem, object); err == nil && it.Placed != nil {
			out = append(out, object+" seen")
		}
		if it.Structured != nil {
			switch it.Structured.Item.Structure.Parent {
			case Worker:
				out = append(out, object+" held")
			case hallway.Bin:
				out = append(out, object+" dropped")
			}
		}
	}
	return out
}

// witness notes when events come into the world of a member.
func (b *member) witness(ctx context.Context) {
	w, err := b.world.Watch(ctx)
	if b.told("watching the world", err); err != nil {
		return
	}
	defer w.Close()
	for {
		c, err := w.Next(ctx)
		if err != nil {
			return
		}
		for _, name := range c.Names {
			if name == hallway.Garbage || name == hallway.Bin {
				b.m.note(b, events(c.Forest))
				break
			}
		}
	}
}

// said notes that a member says something that all are to know, at a time of the mission. Until
// it is in the worlds of all, time passes no faster than for the computers that carry it, for as
// long as it is not late.
func (m *Mission) said(b *member, name string, at time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events[name] != nil {
		return // somebody else was faster
	}
	e := &Event{Name: name, By: b.name, At: at, In: map[string]time.Duration{}, arrived: m.Clock.Hold()}
	m.events[name] = e
	b.run(func(context.Context) {
		defer e.arrived()
		_ = m.Clock.Sleep(m.background, at+Soon-m.Clock.Passed())
		m.overdue(e)
	})
}

// overdue tells of what is not in the worlds of all when it should be.
func (m *Mission) overdue(e *Event) {
	m.mu.Lock()
	var missing []string
	for _, b := range m.members {
		if !b.killed && !has(e.In, b.name) {
			missing = append(missing, b.name)
			m.cutLocked(e, b)
		}
	}
	why := ""
	if len(e.Cut) > 0 {
		why = "; cut off: " + strings.Join(e.Cut, ", ")
	}
	m.mu.Unlock()
	if len(missing) > 0 && m.background.Err() == nil {
		m.tell("! %s: after a second not in the world of %s yet%s", e.Name, strings.Join(missing, ", "), why)
	}
}

// cutLocked notes if a member's link, or that of who said it, has been cut since an event.
func (m *Mission) cutLocked(e *Event, b *member) {
	for _, o := range m.members {
		cut := o.cutFrom > 0 && (o.cutUntil == 0 || o.cutUntil > e.At)
		if cut && (o == b || o.name == e.By) && !slices.Contains(e.Cut, o.name) {
			e.Cut = append(e.Cut, o.name)
		}
	}
}

// note takes what is in the world of a member, and tells of what is in the worlds of all.
func (m *Mission) note(b *member, came []string) {
	now := m.Clock.Passed()
	for _, name := range came {
		m.mu.Lock()
		e := m.events[name]
		if e == nil || has(e.In, b.name) {
			m.mu.Unlock()
			continue
		}
		after := max(0, now-e.At)
		e.In[b.name] = after
		if e.Delay = max(e.Delay, after); after > Soon {
			m.cutLocked(e, b)
		}
		all := true
		for _, o := range m.members {
			all = all && (o.killed || has(e.In, o.name))
		}
		told := fmt.Sprintf("%s: in everybody's world %.2f s after %s said so", name, e.Delay.Seconds(), e.By)
		if late := e.Late(); len(late) > 0 {
			told += ", which is late for " + strings.Join(late, ", ")
		}
		if len(e.Cut) > 0 {
			told += "; cut off: " + strings.Join(e.Cut, ", ")
		}
		m.mu.Unlock()
		if all {
			e.arrived()
			m.tell("%s", told)
		}
	}
}

// Events returns what has come into the worlds of all, by name.
func (m *Mission) Events() map[string]Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]Event{}
	for name, e := range m.events {
		c := *e
		c.In, c.Cut = maps.Clone(e.In), slices.Clone(e.Cut)
		out[name] = c
	}
	return out
}

// disturb kills scout2 and cuts scout1's link once a part of the floor has been seen.
func (m *Mission) disturb() {
	halfway := func() bool {
		for _, name := range []string{Scout1, Scout2} {
			b := m.member(name).body
			b.mu.Lock()
			s := b.search
			b.mu.Unlock()
			if s != nil && s.left() < 0.75 {
				return true
			}
		}
		return false
	}
	m.Clock.Every(m.background, 200*time.Millisecond, func() bool { return !halfway() })
	if m.background.Err() != nil {
		return
	}
	if m.config.KillScout {
		m.kill(m.member(Scout2))
	}
	if d := m.config.CutLink; d > 0 {
		b := m.member(Scout1)
		b.say("its link is cut for %.0f s", d.Seconds())
		m.mu.Lock()
		b.cutFrom = m.Clock.Passed()
		m.mu.Unlock()
		b.home.cut(true)
		_ = m.Clock.Sleep(m.background, d)
		b.home.cut(false)
		b.say("its link is back")
		back := engram.Now()
		m.Clock.Every(m.background, 100*time.Millisecond, func() bool {
			return !m.members[0].heardOf(b, back) || !b.heardOf(m.member(Worker), back)
		})
		m.mu.Lock()
		b.cutUntil = m.Clock.Passed()
		m.mu.Unlock()
		b.say("hears the others again, and they it")
	}
}

// heardOf reports whether the world has of another member what that said since a time.
func (b *member) heardOf(o *member, since engram.Time) bool {
	f, err := b.world.View(b.ctx)
	if err != nil {
		return b.ctx.Err() != nil // nor will it ever hear
	}
	it, err := f.Get(o.name)
	if err != nil {
		return false
	}
	t, ok := it.PlacedAt()
	return ok && t > since
}

// kill ends a robot without a word: nobody hears from it any more.
func (m *Mission) kill(b *member) {
	m.forget(b)
	b.say("is killed")
	b.home.cut(true)
	m.truth.Stop(b.name)
	b.halt()
	b.home.kill()
}

// forget has a member not be counted with any more, nor what it has said if nobody else knows.
func (m *Mission) forget(b *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.killed = true
	for name, e := range m.events {
		if e.By == b.name && len(e.In) < 2 {
			delete(m.events, name)
		}
	}
}

// silent reports whether the operator hears nothing of a member.
func (m *Mission) silent(ctx context.Context, name string) bool {
	if name == Operator {
		return false
	}
	e, err := m.members[0].client.Names().Resolve(ctx, name+":Skill")
	return engram.CodeOf(err) == engram.NotFound || err == nil && e.SuspectedSince != 0
}
