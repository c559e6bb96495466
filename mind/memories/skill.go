package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/skill/executor"
)

// Skill is what the robot can do and what it did. An entity of Description and
// Transition is a skill, an entity of Execution one execution of a skill, one of Activity a span of time with a name, one of
// Plan a plan, and one of Trajectory a motion that was defined before.
func Skill() server.Memory { return skillWith(nil) }

// skillWith returns the memory with the poses of its server; nil without any.
func skillWith(poses lookup.Service) server.Memory {
	const name = "Skill"
	return server.Memory{
		Name:  name,
		Doc:   "skills, plans, motions, executions and how those went",
		Types: typesIn("skill"),
		Hooks: executor.New(poses).Hooks(),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Description", "engram.skill.Description", forever(16))),
			logged(segment(name, "Request", "engram.skill.Request",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			logged(segment(name, "Abort", "engram.skill.Abort",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			segment(name, "Caller", "engram.skill.Caller", engram.Bounds{MaxCount: 1, MaxAge: time.Hour}),
			logged(segment(name, "Provider", "engram.skill.Provider", forever(16))),
			logged(segment(name, "Switch", "engram.skill.Switch", forever(16))),
			logged(segment(name, "Condition", "engram.skill.Condition", forever(16))),
			logged(segment(name, "Execution", "engram.skill.Execution",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			logged(segment(name, "Activity", "engram.skill.Activity",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			logged(segment(name, "Transition", "engram.skill.Transition",
				engram.Bounds{MaxCount: 10_000, MaxAge: 12 * time.Hour, MaxBytes: 4 * mib})),
			logged(segment(name, "Plan", "engram.skill.Plan",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			logged(segment(name, "Trajectory", "engram.skill.Trajectory", forever(16))),
		},
		Bounds: engram.Bounds{MaxBytes: 48 * mib, MaxCount: 200_000},
	}
}
