// Command quickstart writes into the memory of the engram that runs on this
// computer, reads it back, and is told of a change.
//
//	go run ./cmd/engram serve          # in one terminal
//	go run ./examples/quickstart       # in another
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
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
	cup := engram.MustID("GeneralPurpose/Seen/quickstart/blue-cup")
	if err := m.AddCoreSegment(ctx, engram.CoreSegment{ID: cup.Truncate(engram.LevelCoreSegment)}); err != nil {
		return err
	}
	updates, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(cup)}})
	if err != nil {
		return err
	}

	what, err := idf.ValuePayload(map[string]any{"where": "table", "position": []any{0.4, 0.1, 0.9}})
	if err != nil {
		return err
	}
	seen := engram.EntityUpdate{Entity: cup, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(what)}}
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{seen}})
	if err != nil {
		return err
	}
	fmt.Println("committed", results[0].ID)

	latest, err := m.Latest(ctx, cup)
	if err != nil {
		return err
	}
	value, err := idf.DecodeValue(latest.Instances[0].Payload.Bytes)
	if err != nil {
		return err
	}
	fmt.Println("latest", value)

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for u, err := range engram.Updates(ctx, updates) {
		if err != nil {
			return err
		}
		fmt.Println("told of", u.ID)
		break
	}
	return engram.FirstError(results)
}
