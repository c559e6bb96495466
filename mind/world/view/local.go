package view

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// Local answers from the memories of a server in the same process: from a world for all who may read the same and
// ask of the same robots. It has nothing in RAM before the first question.
type Local struct {
	answer.Service
	worlds *follow.Shared
}

const (
	// mostWorlds is how many worlds are kept, of different rights or robots.
	mostWorlds = 8
	// mostRobots is of how many robots, or patterns of their names, one question asks.
	mostRobots = 100
)

// NewLocal returns a service that answers from the server that [Local.Start] is given.
func NewLocal() *Local {
	l := &Local{worlds: follow.NewShared(mostWorlds, open)}
	l.Service = service{l.take}
	return l
}

// Start says what to answer from, until ctx ends.
func (l *Local) Start(ctx context.Context, svc engram.Service) error { return l.worlds.Start(ctx, svc) }

// Run waits until ctx ends, and then until nothing is left in RAM. Questions fail from then on.
func (l *Local) Run(ctx context.Context, svc engram.Service) error { return l.worlds.Run(ctx, svc) }

// take returns the world for who may read what the caller may, and the robots of a question.
func (l *Local) take(ctx context.Context, q *answer.Question) (*world.Memory, func(), error) {
	if len(q.Robots) > mostRobots {
		return nil, nil, engram.Errorf(engram.Exhausted, "", "the question is of %d robots; at most %d are allowed; use ~ and a regular expression, or *", len(q.Robots), mostRobots)
	}
	m, release, err := l.worlds.Take(ctx, robotsKey(q.Robots), q.Opening)
	if err != nil {
		return nil, nil, err
	}
	return m.(*world.Memory), release, nil
}

// robotsKey is the same for the same robots in any order. No name has a line's end.
func robotsKey(robots []string) string {
	robots = slices.Clone(robots)
	slices.Sort(robots)
	return strings.Join(slices.Compact(robots), "\n")
}

// open opens the world of what somebody may read.
func open(ctx context.Context, svc engram.Service, key any, told func(done, of int)) (follow.Opened, error) {
	var robots []string
	if text := key.(string); text != "" {
		robots = strings.Split(text, "\n")
	}
	m, err := world.Over(ctx, permitted{svc}, "viewer", world.DefaultRules(), world.Robots(robots...), world.Opening(told)) // others write, [world.Memory.As]
	if err != nil {
		return nil, err
	}
	return m, nil
}

// permitted is a server to which is written what the caller may write.
type permitted struct{ engram.Service }

func (p permitted) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	return access.CommitIn(ctx, p.Service, c)
}

// Robot returns the name of the robot whose server it is; "" if it has none.
func (p permitted) Robot() string {
	if r, ok := p.Service.(interface{ Robot() string }); ok {
		return r.Robot()
	}
	return ""
}
