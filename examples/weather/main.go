// Command weather is a memory server of its own: it defines a memory, Weather, with
// a type in a .proto file and a hook, and joins the engram that runs on this
// computer. Programs find Weather by its name, beside all other memories.
//
//	go run ./cmd/engram serve          # in one terminal
//	go run ./examples/weather          # in another
//	go run ./cmd/engram ls Weather     # in a third
package main

import (
	"context"
	"embed"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
)

//go:embed weather.proto
var files embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	types := must(idf.CompileProto(idf.Source{files}, "weather.proto"))
	reading := must(idf.ParseType(types[0]))
	tooHot := must(idf.CompileFilter("temperature_celsius > 60.0"))
	s := must(server.New(server.Config{Memories: []server.Memory{{
		Name:  "Weather",
		Doc:   "what the weather stations measure",
		Types: types,
		Segments: []engram.CoreSegment{
			{ID: engram.MustID("Weather/Station"), Type: reading.Name(), History: engram.Bounds{MaxCount: 1000}},
		},
		Hooks: server.Hooks{Commit: func(_ context.Context, u *engram.EntityUpdate) error {
			for i := range u.Instances {
				if tooHot.Match(reading, &engram.Snapshot{Instances: u.Instances}, i) {
					return engram.Errorf(engram.OutOfRange, u.Entity.String(), "no weather has over 60 °C; check the sensor")
				}
			}
			return nil
		}},
	}}}))
	defer s.Close()
	must(0, client.Host(ctx, s, client.HostOptions{}))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
