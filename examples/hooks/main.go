// Command hooks shows all that a memory can do by itself, in one process without a
// network: a memory of counters whose code checks what is committed, counts what
// was stored, answers with what is up to date, predicts, and works in the
// background.
//
//	go run ./examples/hooks
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
)

var (
	door   = engram.MustID("Counters/Visits/sensor/door")
	uptime = engram.MustID("Counters/Uptime/clock/this-program")
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	var stored atomic.Int64
	began := time.Now()
	ready := make(chan struct{})
	var s *server.Server
	s, err := server.New(server.Config{Memories: []server.Memory{{
		Name: "Counters",
		Segments: []engram.CoreSegment{
			{ID: engram.MustID("Counters/Visits")}, {ID: engram.MustID("Counters/Uptime"), History: engram.Bounds{MaxCount: 1}},
		},
		Hooks: server.Hooks{
			Start: func(context.Context, engram.Service) error {
				fmt.Println("Start: the memory is about to serve")
				return nil
			},
			// Run is the memory's own work, such as reading a sensor.
			Run: func(ctx context.Context, svc engram.Service) error {
				err := put(ctx, svc, door, 1, int64(1))
				close(ready)
				<-ctx.Done()
				fmt.Println("Run: the memory is closed")
				return err
			},
			Commit: func(_ context.Context, u *engram.EntityUpdate) error {
				v, err := idf.DecodeValue(u.Instances[0].Payload.Bytes)
				if err != nil {
					return err
				}
				if n, ok := v.(int64); ok && n < 0 {
					return engram.Errorf(engram.OutOfRange, u.Entity.String(), "%d visitors: a count is never negative", n)
				}
				return nil
			},
			Stored: func(_ context.Context, u engram.Update) { stored.Add(1) },
			// Query brings what is asked for up to date: nobody measures the uptime
			// until somebody wants to know it.
			Query: func(ctx context.Context, _ *engram.Query) error {
				return put(ctx, s, uptime, engram.Now(), time.Since(began))
			},
			Predict: func(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
				all := make([]engram.Prediction, len(ids))
				for i, id := range ids {
					all[i].Snapshot, all[i].Err = s.Latest(ctx, id.Truncate(engram.LevelEntity))
				}
				return all, nil
			},
		},
	}}})
	if err != nil {
		return err
	}
	defer s.Close()
	<-ready
	if err := put(ctx, s, door, 2, int64(2)); err != nil {
		return err
	}
	fmt.Println("Commit refused:", put(ctx, s, door, 3, int64(-3)))
	r, err := s.Query(ctx, engram.MustPattern("Counters").Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for it := range r.All() {
		fmt.Println("Query:", it.ID.Truncate(engram.LevelEntity))
	}
	predicted, err := s.Predict(ctx, []engram.ID{door.At(10)})
	if err != nil {
		return err
	}
	value, err := idf.DecodeValue(predicted[0].Snapshot.Instances[0].Payload.Bytes)
	if err != nil {
		return err
	}
	fmt.Println("Predict:", value, "visitors")
	fmt.Println("Stored:", stored.Load(), "snapshots")
	return nil
}

// put commits one value.
func put(ctx context.Context, w engram.Writer, entity engram.ID, at engram.Time, v any) error {
	p, err := idf.ValuePayload(v)
	if err != nil {
		return err
	}
	results, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{
		{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(p)}},
	}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}
