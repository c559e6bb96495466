package catalogue_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
)

// thousand makes a folder of 1,000 episodes of 100 entities, copies of one file,
// with their catalogue.
func thousand(b *testing.B) string {
	b.Helper()
	dir := folder(b)
	var entities []engram.ID
	for i := range 100 {
		entities = append(entities, engram.MustID(fmt.Sprintf("RobotState/Proprioception/Armar/joint-%03d", i)))
	}
	record(b, dir, "0000.mcap", 1e18, 10, entities...)
	raw, err := os.ReadFile(filepath.Join(dir, "0000.mcap"))
	if err != nil {
		b.Fatal(err)
	}
	for i := 1; i < 1000; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.mcap", i)), raw, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkOpen opens a folder of 1,000 episodes, and one whose catalogue is lost.
func BenchmarkOpen(b *testing.B) {
	dir := thousand(b)
	file := filepath.Join(dir, "..", "catalogue.sqlite")
	o := catalogue.Options{Dir: dir, File: file, Episode: episode.Options{Types: registry}}
	once := func(b *testing.B) {
		c, problems, err := catalogue.Open(context.Background(), o)
		if err != nil || len(problems) > 0 {
			b.Fatal(err, problems)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("lost", func(b *testing.B) {
		for b.Loop() {
			os.Remove(file)
			once(b)
		}
	})
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			once(b)
		}
	})
}

// BenchmarkHoldings looks up who holds an entity in 1,000 episodes: read from the
// database, and again.
func BenchmarkHoldings(b *testing.B) {
	dir := thousand(b)
	c := open(b, dir)
	id := engram.MustID("RobotState/Proprioception/Armar/joint-007")
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			if err := c.Remove(context.Background(), "none.mcap"); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if h, err := c.Holdings(context.Background(), id); err != nil || len(h.All()) != 1000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			h, err := c.Holdings(context.Background(), id)
			if err != nil {
				b.Fatal(err)
			}
			for range h.Back(1e18) {
				break
			}
		}
	})
}

// BenchmarkPut adds an episode of 100 entities.
func BenchmarkPut(b *testing.B) {
	dir := thousand(b)
	c := open(b, dir)
	r, err := episode.Open(filepath.Join(dir, "0000.mcap"), episode.Options{Types: registry})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		if err := c.Put(context.Background(), r.Info(), r.Entities()); err != nil {
			b.Fatal(err)
		}
	}
}
