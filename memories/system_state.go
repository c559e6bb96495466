package memories

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/sense"
	"github.com/seed-301d4374/engram/server"
)

// SystemState is how the computers and the memories themselves are. An entity of
// Cpu and Ram is a computer, an entity of Memory a memory. [MonitorSystem] fills it.
// An entity of Forgetting is a core segment of which the long-term memory forgot
// something; that fills it. An entity of Clock is a robot, or a server of none; [Clocks] fills it. An entity of Audit is an identity; [Audit] fills it.
// An entity of Withdrawal says what is not believed any more (package link/doubt), one of Mark that entities matter. An entity of Attention is a rule of package sense, one of Incident a trigger of a rule, one of Sensor an
// entity as its producer sees it; producers fill both.
func SystemState() server.Memory {
	const name = "SystemState"
	m := &marks{standing: map[engram.ID]mark{}}
	hour := engram.Bounds{MaxCount: 4_000, MaxAge: time.Hour, MaxBytes: 4 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "load of computers, their main memory, and what the memories hold and forgot, who was let do what",
		Types: typesIn("system_state"),
		Segments: []engram.CoreSegment{
			segment(name, "Cpu", "engram.system_state.Cpu", hour),
			segment(name, "Ram", "engram.system_state.Ram", hour),
			segment(name, "Memory", "engram.system_state.Memory", hour),
			logged(segment(name, "Clock", clockType, forever(100))),
			logged(segment(name, "Forgetting", "engram.system_state.Forgetting", forever(1_000))),
			logged(segment(name, "Audit", "engram.system_state.Audit", forever(2_000))),
			logged(segment(name, "Withdrawal", doubt.Type, forever(100))),
			logged(segment(name, markSegment, markType, forever(100))),
			logged(segment(name, "Attention", sense.RuleType, forever(100))),
			logged(segment(name, "Incident", sense.IncidentType, forever(16))),
			segment(name, "Sensor", sense.SensorType, hour),
		},
		Hooks:  server.Hooks{Commit: checkSystemState, Start: m.start, Write: map[string]server.WriteHook{markSegment: m.write}},
		Bounds: engram.Bounds{MaxBytes: 24 * mib, MaxCount: 60_000},
	}
}

// checkSystemState is a Commit hook that refuses rules of attention and withdrawals that nobody could follow.
func checkSystemState(_ context.Context, u *engram.EntityUpdate) error {
	switch u.Entity.CoreSegment() {
	case "Attention":
		return checkEach(u, "rule of attention", sense.RuleType, func(t *idf.Type, payload []byte) error {
			v, err := t.Decode(payload)
			if err != nil {
				return err
			}
			r, err := sense.Decode(v)
			if err != nil {
				return err
			}
			return r.Check()
		})
	case markSegment:
		return checkEach(u, "mark", markType, func(t *idf.Type, payload []byte) error {
			_, err := parseMark(t, payload)
			return err
		})
	case "Withdrawal":
		if len(u.Instances) != 1 {
			return engram.Errorf(engram.Invalid, u.Entity.String(), "a withdrawal is one instance, not %d", len(u.Instances))
		}
		return checkEach(u, "withdrawal", doubt.Type, func(t *idf.Type, payload []byte) error {
			j, err := t.JSON(payload, idf.JSONOptions{})
			if err == nil {
				_, err = doubt.Parse(j)
			}
			return err
		})
	}
	return nil
}

// checkEach returns why one of an update's instances is none of what it has to be.
func checkEach(u *engram.EntityUpdate, what, typeName string, check func(t *idf.Type, payload []byte) error) error {
	for i := range u.Instances {
		p := &u.Instances[i].Payload
		t, ok := Type(p.Type)
		if !ok || p.Type != typeName {
			return engram.Errorf(engram.TypeMismatch, u.Entity.String(), "no %s: a payload of type %s", what, p.Type)
		}
		if err := check(t, p.Bytes); err != nil {
			return engram.Errorf(engram.CodeOf(err), u.Entity.String(), "no %s: %w", what, err)
		}
	}
	return nil
}
