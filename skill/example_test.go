package skill_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

type graspIn struct{ Object string }

type graspOut struct{ Force float64 }

// A provider of a skill, and somebody who asks for it. svc is a server in this process or a
// client of one; the two may be in different processes.
func Example() {
	provide := func(ctx context.Context, svc engram.Service) error {
		p := skill.NewProvider(svc, "Arm")
		skill.Handle(p, skill.Spec{Name: "Grasp", Resources: []string{"right_arm"}, Timeout: 20 * time.Second},
			func(c *skill.Call, in graspIn) (graspOut, error) {
				c.Progress(0.5, "closing the hand around "+in.Object)
				return graspOut{Force: 12}, nil
			})
		return p.Run(ctx)
	}
	ask := func(ctx context.Context, svc engram.Service) error {
		x, err := skill.Start(ctx, svc, skill.Request{Skill: "Grasp", Parameters: map[string]any{"object": "cup"}, Caller: "me"})
		if err != nil {
			return err
		}
		e, err := x.Wait(ctx)
		if err != nil {
			return err
		}
		fmt.Println(e.Status, e.Result)
		return nil
	}
	_, _ = provide, ask
}
