package attack

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Subscribers that do not read, over every transport, cost the server no more than one
// bound for all of them, whatever they wait for; they are told what they lost, and others
// get everything.
func TestSubscribersThatDoNotRead(t *testing.T) {
	testkit.RealTime(t, "who reads keeps up with writers, and answers come within a minute")
	instance := func(v any) []engram.Instance { return []engram.Instance{engram.NewInstance(value(t, v))} }
	for _, attack := range []struct {
		name      string
		each      int // subscriptions over each transport
		data      bool
		instances []engram.Instance
		entities  int64 // that are written to in turn
		at        int   // updates in one commit
	}{
		{"each version of large payloads", 32, true, instance(make([]byte, 256<<10)), 16, 4},
		{"each version of small payloads", 200, true, instance(1), 16, 1000},
		{"notices alone", 250, false, instance(1), 16, 1000},
		{"notices of ever new entities", 250, false, instance(1), 1 << 40, 200},
	} {
		t.Run(attack.name, func(t *testing.T) {
			v := begin(t)
			b := v.bystander(t)
			segment := engram.MustID("GeneralPurpose/Queue")
			if err := b.c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: segment, History: engram.Bounds{MaxCount: 1}}); err != nil {
				t.Fatal(err)
			}
			over := []transport.Client{v.dial(t, "local"), v.dial(t, "tcp")}
			grpc, err := rpc.Dial(t.Context(), v.server, rpc.DialOptions{GRPC: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { grpc.Close() })
			over = append(over, grpc)
			wanted := engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("GeneralPurpose/Queue")}, WithData: attack.data, Queue: 65_536}
			var idle []engram.UpdateStream // some of each transport
			for _, c := range over {
				for i := range attack.each {
					s, err := c.Subscribe(t.Context(), wanted)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { s.Close() })
					if i < 2 {
						idle = append(idle, s)
					}
				}
			}
			reader, err := v.dial(t, "local").Subscribe(t.Context(), wanted)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()

			ctx, cancel := context.WithTimeout(t.Context(), *lasting/4)
			defer cancel()
			writer := v.dial(t, "local")
			var n int64
			for start := int64(engram.Now()) - int64(24*time.Hour); ctx.Err() == nil; {
				var commit engram.Commit
				for range attack.at {
					n++
					entity := fmt.Sprint("GeneralPurpose/Queue/p/e", n%attack.entities)
					commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: engram.MustID(entity), Time: engram.Time(start + n), Instances: attack.instances})
				}
				results, err := writer.Commit(t.Context(), commit)
				if err == nil {
					err = engram.FirstError(results)
				}
				if err != nil {
					t.Fatalf("a commit beside them: %v", err)
				}
				got, dropped := follow(t, reader, len(commit.Updates))
				if dropped > 0 {
					t.Fatalf("who reads lost %d after %d", dropped, got)
				}
			}
			t.Logf("%d updates for %d subscriptions", n, 1+len(over)*attack.each)
			b.check(t, v, mostMemory)
			told := 0
			for _, s := range idle {
				got, dropped := follow(t, s, int(n))
				if dropped > 0 {
					told++
				}
				if got+dropped != n {
					t.Errorf("who did not read got %d and was told of %d lost, of %d", got, dropped, n)
				}
			}
			t.Logf("%d of %d were told of losses", told, len(idle))
		})
	}
}

// follow reads a subscription until so many updates have come or are said to be lost.
func follow(t *testing.T, s engram.UpdateStream, n int) (got, dropped int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for got+dropped < int64(n) {
		batch, err := s.Next(ctx)
		if err != nil {
			t.Errorf("a subscription, after %d updates and %d lost, of %d: %v", got, dropped, n, err)
			return got, dropped
		}
		for _, u := range batch {
			dropped += int64(u.Dropped)
			got++
		}
	}
	return got, dropped
}
