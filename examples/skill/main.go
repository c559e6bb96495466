// Command skill offers a skill to the memory of the engram that runs on this computer: one that
// grasps things, with the right arm for itself alone.
//
//	go run ./cmd/engram serve      # in one terminal
//	go run ./examples/skill        # in another
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/skill"
)

type graspIn struct{ Object string }

type graspOut struct{ Force float64 } // N

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	p := skill.NewProvider(m, "Arm")
	skill.Handle(p, skill.Spec{Name: "Grasp", Resources: []string{"right_arm"}}, func(c *skill.Call, in graspIn) (graspOut, error) {
		c.Progress(0.5, "closing the hand around the "+in.Object)
		return graspOut{Force: 12}, nil
	})
	if err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
