package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// side is the width and height of the image, of 49 KB.
const side = 128

// kinds are what is sent: the type of payloads, how one is made that is sent at a time, and how
// that time is read from one.
var kinds = map[string]struct {
	typ    string
	encode func(sent engram.Time, n int) ([]byte, error)
	sent   func(payload []byte) (engram.Time, error)
}{
	"small": {"bench.Small", encodeSmall, func(payload []byte) (engram.Time, error) {
		sent, n := protowire.ConsumeVarint(payload[1:])
		return engram.Time(sent), protowire.ParseError(min(n, 0))
	}},
	"image": {"foxglove.RawImage", encodeImage, func(payload []byte) (engram.Time, error) {
		m := &foxglove.RawImage{}
		err := proto.Unmarshal(payload, m)
		return engram.Time(m.GetTimestamp().AsTime().UnixNano()), err
	}},
}

// age is a producer or consumer: ADDRESS consume|produce small|image ENTITY COUNT. A consumer
// prints "ready", and in the end the ages in µs.
func age(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("age ADDRESS consume|produce small|image ENTITY COUNT")
	}
	kind, ok := kinds[args[2]]
	if !ok {
		return fmt.Errorf("there is no kind %q", args[2])
	}
	entity, err := engram.Parse(args[3])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[4])
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
			payload, err := kind.encode(now, i)
			if err != nil {
				return err
			}
			results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: now,
				Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: kind.typ, Bytes: payload})}}}})
			if err == nil {
				err = engram.FirstError(results)
			}
			if err != nil {
				return err
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
		sent, err := kind.sent(u.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			return err
		}
		if ages = append(ages, float64(engram.Now()-sent)/1e3); len(ages) == count {
			break
		}
	}
	fmt.Println(ages...)
	return nil
}

// encodeSmall encodes bench.Small, of 33 bytes: sent, x, y, n.
func encodeSmall(sent engram.Time, n int) ([]byte, error) {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(sent))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(1))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), math.Float64bits(float64(n)))
	return protowire.AppendFixed32(protowire.AppendTag(b, 4, protowire.Fixed32Type), 7), nil
}

func encodeImage(sent engram.Time, _ int) ([]byte, error) {
	return proto.Marshal(&foxglove.RawImage{Timestamp: timestamppb.New(time.Unix(0, int64(sent))), Width: side, Height: side, Encoding: "rgb8", Step: 3 * side, Data: make([]byte, 3*side*side)})
}
