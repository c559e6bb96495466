// Command skill is a provider of skills: the arm waves, grasps and brings. It stops when it is told to.
//
//	engram serve &
//	go run ./examples/skill &
//	engram skill run Arm/Wave times=3
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/skill"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	arm := skill.Description{Resources: []string{"right_arm"}, TimeLimit: time.Minute}
	wave, grasp, bring := arm, arm, arm
	wave.Text, wave.Defaults, wave.Preemptible = "waves with the right hand", map[string]any{"times": int64(2)}, true
	grasp.Text = "closes the hand around an object"
	bring.Text = "fetches an object and hands it over"
	skills, err := skill.Open(ctx, m)
	if err != nil {
		log.Fatal(err)
	}
	err = skills.Provide(ctx, "Arm", skill.ProvideOptions{},
		skill.Skill{Name: "Wave", Description: wave, Do: doWave},
		skill.Skill{Name: "Grasp", Description: grasp, Do: doGrasp},
		skill.Skill{Name: "Bring", Description: bring, Do: doBring})
	if err != nil {
		log.Fatal(err)
	}
}

func doWave(ctx context.Context, c *skill.Call) error {
	times, _ := c.Parameters["times"].(int64)
	for i := range times {
		if err := c.Progress(ctx, float64(i)/float64(times), "waving"); err != nil {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx) // the arm stands still
		}
	}
	c.SetResult(map[string]any{"waved": times})
	return nil
}

func doGrasp(_ context.Context, c *skill.Call) error {
	if c.Text("object") == "milk" {
		return &skill.Failure{Code: "slipped", Message: "the milk slipped out of the hand", Retry: true}
	}
	return nil
}

func doBring(ctx context.Context, c *skill.Call) error {
	_, err := c.Run(ctx, skill.Ask{Skill: "Arm/Grasp", Parameters: map[string]any{"object": c.Text("object")}})
	return err
}
