// Command light commits and is told of it: the least that a client is. CI looks at
// how large it is.
package main

import (
	"context"
	"log"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	entity := engram.MustID("GeneralPurpose/Seen/light/cup")
	updates, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(entity)}})
	if err != nil {
		return err
	}
	seen := engram.EntityUpdate{Entity: entity, Time: engram.Now(), Instances: []engram.Instance{
		engram.NewInstance(engram.Payload{Type: engram.ValueType}),
	}}
	if _, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{seen}}); err != nil {
		return err
	}
	for u, err := range engram.Updates(ctx, updates) {
		if err != nil {
			return err
		}
		log.Println("told of", u.ID)
		break
	}
	return nil
}
