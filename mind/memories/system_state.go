package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// SystemState is how the computers and the memories themselves are. An entity of
// Cpu and Ram is a computer, an entity of Memory a memory. [MonitorSystem] fills it.
// An entity of Forgetting is a core segment of which the long-term memory forgot
// something; that fills it. An entity of Clock is a robot, or a server of none; [Clocks] fills it where there is no memory World. An entity of Audit is an identity; [Audit] fills it.
func SystemState() server.Memory {
	const name = "SystemState"
	hour := engram.Bounds{MaxCount: 4_000, MaxAge: time.Hour, MaxBytes: 4 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "load of computers, their main memory, and what the memories hold and forgot, who was let do what",
		Types: typesIn("system_state"),
		Segments: []engram.CoreSegment{
			segment(name, "Cpu", "engram.system_state.Cpu", hour),
			segment(name, "Ram", "engram.system_state.Ram", hour),
			segment(name, "Memory", "engram.system_state.Memory", hour),
			clockSegment(name),
			logged(segment(name, "Forgetting", "engram.system_state.Forgetting", forever(1_000))),
			logged(segment(name, "Audit", "engram.system_state.Audit", forever(2_000))),
		},
		Bounds: engram.Bounds{MaxBytes: 24 * mib, MaxCount: 60_000},
	}
}
