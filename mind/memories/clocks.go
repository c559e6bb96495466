package memories

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

const clockType = "engram.system_state.Clock"

// clockSlack is what a clock may drift before it is told again.
const clockSlack = 20 * time.Millisecond

// Clocks states how far the clocks of other servers are: in World/Clock if the server has the memory
// World, so that copies of World have what its statements are compared by; else in SystemState/Clock.
// It is for one goroutine.
type Clocks struct {
	svc            clockMemory
	memory, server string
	told           map[string]ClockSkew // by entity
	last           engram.Time          // of all that was told, before a restart, too; 0 if it is not known yet
	typ            *idf.Type
}

// clockMemory is what clocks are told to.
type clockMemory interface {
	engram.Writer
	engram.Reader
}

// ClockSkew is how far the clock of a server is from this one's.
type ClockSkew struct {
	Server, Robot string        // measured; Robot is "" for none
	Offset        time.Duration // what must be added to this clock to have the other's
	Uncertainty   time.Duration
	At            engram.Time // by this clock
}

// NewClocks returns what tells clocks to a server of that name with these memories; nil if it has
// neither World nor SystemState.
func NewClocks(svc clockMemory, server string, memories []string) *Clocks {
	typ, _ := Type(clockType)
	for _, memory := range [...]string{"World", "SystemState"} {
		if slices.Contains(memories, memory) {
			return &Clocks{svc: svc, memory: memory, server: server, told: map[string]ClockSkew{}, typ: typ}
		}
	}
	return nil
}

// clockSegment is a segment of clocks.
func clockSegment(memory string) engram.CoreSegment {
	s := logged(segment(memory, "Clock", clockType, forever(100)))
	s.MaxAhead = engram.AnyAhead // see Clocks.Tell
	return s
}

// clockDef is the type of what is told of a clock.
func clockDef() engram.TypeDef {
	defs := typesIn("system_state")
	return defs[slices.IndexFunc(defs, func(d engram.TypeDef) bool { return d.Name == clockType })]
}

// Tell commits what was measured and is not told already: a clock that agrees with what was told of it,
// within both uncertainties and 20 ms, is not told again, so that views do not change with what
// messages were on their way. The entity is the robot, or the server of no robot; of several servers of
// a robot the first in the list counts. What is told last is the newest, also if this clock was set back
// since; so its time may be ahead of the clock.
func (c *Clocks) Tell(ctx context.Context, skews []ClockSkew) error {
	if c.last == 0 && len(skews) > 0 {
		before, err := c.svc.Query(ctx, engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(c.memory), engram.OneOf("Clock"), engram.OneOf(c.server)}}.Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		for it := range before.All() {
			c.last = max(c.last, it.Snapshot.Time)
		}
	}
	var commit engram.Commit
	told := map[string]ClockSkew{}
	for _, s := range skews {
		name := s.Robot
		if name == "" {
			name = s.Server
		}
		was, known := c.told[name]
		if _, twice := told[name]; twice {
			continue
		}
		if d := s.Offset - was.Offset; known && was.Server == s.Server && max(d, -d) <= s.Uncertainty+was.Uncertainty+clockSlack {
			told[name] = was
			continue
		}
		told[name] = s
		c.last = max(s.At, c.last+1)
		b, err := c.typ.Encode(map[string]any{"timestamp": s.At, "server": s.Server, "offset": s.Offset, "uncertainty": s.Uncertainty})
		if err != nil {
			return err
		}
		id, err := engram.NewID(c.memory, "Clock", c.server, name)
		if err != nil {
			return err
		}
		commit.Updates = append(commit.Updates, engram.EntityUpdate{
			Entity: id, Time: c.last, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: clockType, Bytes: b})},
		})
	}
	if len(commit.Updates) == 0 {
		return nil
	}
	results, err := c.svc.Commit(ctx, commit)
	for _, r := range results {
		if err == nil {
			err = r.Err
		}
	}
	if err == nil {
		c.told = told
	}
	return err
}
