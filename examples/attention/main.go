// Command attention is a camera driver: it gives 20 small images a second, and rules of attention say
// which of them come into the memory of the engram that runs on this computer.
//
//	go run ./cmd/engram serve      # in one terminal
//	go run ./examples/attention    # in another
package main

import (
	"bytes"
	"context"
	"log"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/sense"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	attention, err := sense.New(ctx, m, sense.Config{Producer: "Head", Present: memories.Present(m), RingBytes: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer attention.Close()
	for frame := range time.Tick(50 * time.Millisecond) {
		if ctx.Err() != nil {
			return
		}
		image, err := proto.Marshal(&foxglove.RawImage{Timestamp: timestamppb.New(frame), FrameId: "head", Encoding: "mono8",
			Width: 64, Height: 48, Step: 64, Data: bytes.Repeat([]byte{byte(frame.Second())}, 64*48)})
		if err != nil {
			log.Fatal(err)
		}
		in := engram.NewInstance(engram.Payload{Type: "foxglove.RawImage", Bytes: image})
		results, err := attention.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID("Vision/ImageRGB/Head/camera"), Time: engram.TimeOf(frame), Instances: []engram.Instance{in}}}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil && ctx.Err() == nil {
			log.Print(err)
		}
	}
}
