package memories

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

const clockType = "engram.system_state.Clock"

// clockSlack is what a clock may drift before it is told again.
const clockSlack = 20 * time.Millisecond

// Clocks tells how far the clocks of other servers are, in World/Clock where a server has the
// memory World, so that it is wherever the statements are that are compared by it, or else in
// SystemState/Clock. It is for one goroutine.
type Clocks struct {
	svc            engram.Writer
	memory, server string
	told           map[string]ClockSkew // by entity
	last           engram.Time          // that was told
	typ            *idf.Type
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
func NewClocks(svc engram.Writer, server string, memories []string) *Clocks {
	typ, _ := Type(clockType)
	for _, memory := range [...]string{"World", "SystemState"} {
		if slices.Contains(memories, memory) {
			return &Clocks{svc: svc, memory: memory, server: server, told: map[string]ClockSkew{}, typ: typ}
		}
	}
	return nil
}

// clockDef is the type of what is told of a clock.
func clockDef() engram.TypeDef {
	defs := typesIn("system_state")
	return defs[slices.IndexFunc(defs, func(d engram.TypeDef) bool { return d.Name == clockType })]
}

// Tell commits what was measured and is not told already: a clock that agrees with what was told of it,
// within both uncertainties and 20 ms, is not told again, so that views do not change with what
// messages were on their way. The entity is the robot, or the server of no robot; of several servers of
// a robot the first in the list counts.
func (c *Clocks) Tell(ctx context.Context, skews []ClockSkew) error {
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
		c.last = max(s.At, c.last+1) // also if this clock was put back: what is told last counts
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
