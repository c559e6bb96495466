// A provider of a skill: it waves, and stops when it is told to.
//
//	engram serve &
//	go run ./examples/skill &
//	engram skill run Arm/Wave times=3
package main

import (
	"context"
	"log"
	"time"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/skill"
)

func main() {
	ctx := context.Background()
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	log.Fatal(skill.Provide(ctx, m, "Arm", skill.ProvideOptions{}, skill.Skill{Name: "Wave", Do: wave}))
}

func wave(ctx context.Context, c *skill.Call) error {
	times, _ := c.Parameters["times"].(int64)
	for i := range times {
		if err := c.Progress(ctx, float64(i)/float64(times), "waving"); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx) // it stands still
		}
	}
	return nil
}
