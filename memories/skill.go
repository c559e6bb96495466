package memories

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge/service"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
)

// Skill is what the robot can do and what it did. An entity of Description and
// Transition is a skill, one of Request, Execution, Call and Report an execution of a skill,
// one of Provider a provider. Package skill says how programs take part.
func Skill() server.Memory { return skillOf(nil) }

// skillOf returns the memory Skill whose conditions ask questions of answers; nil has none.
func skillOf(answers service.Service) server.Memory {
	const name = skill.Memory
	s := newSkills()
	conditions := &skillConditions{answers: answers, elsewhere: s.elsewhere, ask: s.ask}
	return server.Memory{
		Name:  name,
		Doc:   "skills, their executions and how those went",
		Types: typesIn("skill"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Description", "engram.skill.Description", forever(16))),
			// Heartbeats: what was heard in an earlier epoch of the server tells nothing.
			segment(name, "Provider", "engram.skill.Provider", forever(16)),
			logged(segment(name, "Switch", "engram.skill.Switch", forever(16))),
			// What was asked for and claimed is neither lost nor done twice: on the disk before
			// anybody hears of it.
			synced(segment(name, "Request", "engram.skill.Request", forever(16))),
			synced(segment(name, "Execution", "engram.skill.Execution",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			// A stop goes its way on a disk that is full, too.
			segment(name, "Abort", "engram.skill.Abort", forever(16)),
			segment(name, "Call", "engram.skill.Call", forever(16)),
			segment(name, "Report", "engram.skill.Report", engram.Bounds{MaxCount: 16, MaxBytes: 4 * mib}),
			logged(segment(name, "Transition", "engram.skill.Transition",
				engram.Bounds{MaxCount: 10_000, MaxAge: 12 * time.Hour, MaxBytes: 4 * mib})),
			logged(segment(name, "Condition", "engram.skill.Condition", forever(1_000))),
			logged(segment(name, "Plan", "engram.skill.Plan", engram.Bounds{MaxCount: 1_000, MaxBytes: 4 * mib})),
			logged(segment(name, "Trajectory", "engram.skill.Trajectory", forever(16))),
		},
		Bounds: engram.Bounds{MaxBytes: 48 * mib, MaxCount: 200_000},
		Hooks: server.Hooks{
			Start: s.start,
			Commit: func(ctx context.Context, u *engram.EntityUpdate) error {
				if u.Entity.CoreSegment() == "Condition" {
					return conditions.committed(ctx, u)
				}
				return s.admit(ctx, u)
			},
			Run: func(ctx context.Context, svc engram.Service) error {
				defer s.elsewhere.close()
				return together(s.run, conditions.run)(ctx, svc)
			},
		},
	}
}
