package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
)

// age is a producer or consumer of 33 bytes: ADDRESS consume|produce ENTITY COUNT. A consumer prints "ready", and in the end the ages, µs.
func age(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("age ADDRESS consume|produce ENTITY COUNT")
	}
	entity, err := engram.Parse(args[2])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	m, err := client.Connect(ctx, client.Options{Address: args[0]})
	if err != nil {
		return err
	}
	defer m.Close()
	if args[1] == "produce" {
		for i := range count {
			now := engram.Now()
			results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: now,
				Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "bench.Small", Bytes: encodeSmall(int64(now), float64(i+1))})}}}})
			if err != nil {
				return err
			}
			if results[0].Err != nil {
				return results[0].Err
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	stream, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(entity)}, WithData: true})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	ages := make([]any, 0, count)
	for u, err := range engram.Updates(ctx, stream) {
		if err != nil {
			return err
		}
		sent, _ := protowire.ConsumeVarint(u.Snapshot.Instances[0].Payload.Bytes[1:])
		if ages = append(ages, float64(int64(engram.Now())-int64(sent))/1e3); len(ages) == count {
			break
		}
	}
	fmt.Println(ages...)
	return nil
}

// encodeSmall encodes bench.Small: sent, x, y, n.
func encodeSmall(sent int64, y float64) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(sent))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(1))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), math.Float64bits(y))
	return protowire.AppendFixed32(protowire.AppendTag(b, 4, protowire.Fixed32Type), 7)
}
