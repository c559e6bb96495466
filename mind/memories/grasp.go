package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// Grasp is where and how hands can take hold of things. An entity is an object; the
// ways to take hold of it are the instances of its snapshot.
func Grasp() server.Memory {
	const name = "Grasp"
	minutes := engram.Bounds{MaxCount: 1_000, MaxAge: 15 * time.Minute, MaxBytes: 8 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "places where hands can take hold, and grasps that can be executed",
		Types: typesIn("grasp"),
		Segments: []engram.CoreSegment{
			segment(name, "Affordance", "engram.grasp.Affordance", minutes),
			segment(name, "Candidate", "engram.grasp.Candidate", minutes),
		},
		Bounds: engram.Bounds{MaxBytes: 32 * mib, MaxCount: 50_000},
	}
}
