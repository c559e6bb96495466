package server_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
)

// A memory of one's own: a type, a segment, and a hook that looks at what is committed.
// client.Host puts the server on the network, beside an engram that runs already; package
// node runs one that needs no other.
func ExampleNew() {
	files := fstest.MapFS{"weather.proto": {Data: []byte(`
		syntax = "proto3";
		package weather;
		message Reading { double temperature_celsius = 1; }`)}}
	types := must(idf.CompileProto(idf.Source{files}, "weather.proto"))
	reading := must(idf.ParseType(types[0]))
	tooHot := must(idf.CompileFilter("temperature_celsius > 60.0"))
	s := must(server.New(server.Config{Memories: []server.Memory{{
		Name: "Weather", Types: types,
		Segments: []engram.CoreSegment{{ID: engram.MustID("Weather/Station"), Type: reading.Name(), History: engram.Bounds{MaxCount: 1000}}},
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

	roof := engram.MustID("Weather/Station/house/roof")
	for at, celsius := range []float64{12.5, 612.5} {
		payload := engram.Payload{Type: reading.Name(), Bytes: must(reading.Encode(map[string]any{"temperature_celsius": celsius}))}
		results := must(s.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: roof, Time: engram.Time(at) * 1e9, Instances: []engram.Instance{engram.NewInstance(payload)},
		}}}))
		fmt.Println(celsius, "°C:", engram.FirstError(results))
	}
	// Output:
	// 12.5 °C: <nil>
	// 612.5 °C: Weather/Station/house/roof: no weather has over 60 °C; check the sensor
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
