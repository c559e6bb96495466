package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/mind/memories"
)

// A recording is imported into a memory: here an MCAP file with one topic of JSON, into a
// server in this process. A client of a server elsewhere does as well.
func ExampleImport() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run7.mcap")
	check(record(file))
	s, err := server.New(server.Config{Memories: memories.All()})
	check(err)
	defer s.Close()

	report, err := ingest.Import(context.Background(), s, file, ingest.Options{})
	check(err)
	for _, t := range report.Topics {
		fmt.Println(t.Topic, t.Messages, t.Targets)
	}
	battery := engram.MustID(`GeneralPurpose/json/run7/\/battery`)
	latest, err := s.Latest(context.Background(), battery)
	check(err)
	fmt.Println(latest.Time)
	// Output:
	// /battery 3 [GeneralPurpose/json]
	// 1970-01-01 00:00:02.000000
}

// record writes a recording of three messages.
func record(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := mcap.NewWriter(f, &mcap.WriterOptions{Chunked: true})
	if err != nil {
		return err
	}
	_ = w.WriteHeader(&mcap.Header{})
	_ = w.WriteChannel(&mcap.Channel{ID: 1, Topic: "/battery", MessageEncoding: "json"})
	for i := range uint64(3) {
		if err := w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: i * 1e9, PublishTime: i * 1e9, Data: fmt.Appendf(nil, `{"percent": %d}`, 90-i)}); err != nil {
			return err
		}
	}
	return w.Close()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
