package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	posesfeature "github.com/seed-301d4374/engram/mind/pose/api"
)

// RobotState is what robots know of themselves: their models, their joints and
// where they are. An entity of Description and Proprioception is a robot, an
// entity of Localization an edge of the transform tree, one of Revision an author
// of revisions of where they were, one of Acquisition a sensor.
//
// The memory keeps a [pose.Store] of all this, which it serves; docs/pose.md says
// how commits come into it.
func RobotState(opts ...Option) server.Memory { return robotState(newPoses(optionsOf(opts).poses)) }

func robotState(p *poses) server.Memory {
	const name = "RobotState"
	// What poses are rebuilt from is in the log where there is one, but for joint
	// states, which are worth nothing after a restart. A revision carries what it came
	// to, so that it does not need the odometry which the memory has forgotten since.
	return server.Memory{
		Name:  name,
		Doc:   "robots' models, joint states and places",
		Types: typesIn("robot_state"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Description", "engram.robot_state.Description", forever(16))),
			// 43 joints at 100 Hz are 0.2 MB/s.
			segment(name, "Proprioception", "engram.robot_state.Proprioception",
				engram.Bounds{MaxCount: 60_000, MaxAge: 5 * time.Minute, MaxBytes: 64 * mib}),
			logged(segment(name, "Localization", "engram.robot_state.Localization",
				engram.Bounds{MaxCount: 60_000, MaxAge: 10 * time.Minute, MaxBytes: 32 * mib})),
			logged(segment(name, "Revision", "engram.robot_state.Revision", engram.Bounds{MaxCount: 1_000, MaxBytes: 32 * mib})),
			logged(segment(name, "Acquisition", acquisitionType, engram.Bounds{MaxCount: maxAcquisitions, MaxBytes: 32 * mib})),
		},
		Bounds: engram.Bounds{MaxBytes: 256 * mib, MaxCount: 1_000_000},
		Hooks: server.Hooks{
			Start:    p.start,
			Troubles: p.troubles,
			Run:      p.followWorld,
			Commit:   p.committed,
			Write:    map[string]server.WriteHook{"Localization": p.writeLocalization, "Revision": p.writeRevision, "Acquisition": p.writeAcquisition},
			Stored:   p.stored,
		},
		Features: []feature.Feature{posesfeature.Feature(p.service)},
	}
}
