package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	hosting "github.com/seed-301d4374/engram/core/server/api"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The query hooks of programs are called at once: several that hang take no longer than one.
func TestQueryHooksOfProgramsDoNotWaitForEachOther(t *testing.T) {
	s, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var called sync.WaitGroup
	called.Add(3)
	for i, name := range []string{"A", "B", "C"} {
		hooks := hosting.Hooks{Query: func(context.Context, *engram.Query) error {
			called.Done()
			called.Wait()
			if i == 0 {
				return nil
			}
			return engram.Errorf(engram.Forbidden, name, "not by you")
		}}
		if err := s.hosting.Host(t.Context(), hosting.Memory{Name: name, Hooks: hooks}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Query(t.Context(), engram.MustPattern("*").Select(engram.Latest(1)))
	if engram.CodeOf(err) != engram.Forbidden || !strings.HasPrefix(err.Error(), "B: ") {
		t.Error(err)
	}
}

// What programs host takes a part of the computer's memory together, however many memories
// they choose.
func TestHostedMemoriesShareTheirRoom(t *testing.T) {
	s, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.hosting.pool.MaxBytes, s.hosting.pool.MinBytes = 1<<20, 64<<10
	held := int64(0)
	for i := range 8 {
		m := fmt.Sprintf("M%d", i)
		core := engram.MustID(m + "/State")
		if err := s.hosting.Host(t.Context(), hosting.Memory{Name: m, Cores: []engram.CoreSegment{{ID: core}}}); err != nil {
			t.Fatal(err)
		}
		for at := range 100 {
			u := testkit.Update(t, m+"/State/p/a", engram.Time(at), strings.Repeat("x", 5000))
			if r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
		}
	}
	stats, err := s.wm.Stats(t.Context(), engram.MustPattern("*"), engram.LevelMemory)
	if err != nil {
		t.Fatal(err)
	}
	for i := range stats {
		held += stats[i].Bytes
	}
	if most := int64(1<<20 + 8*64<<10); held > most || len(stats) != 8 {
		t.Errorf("%d memories hold %d bytes, want up to %d", len(stats), held, most)
	}
	big := testkit.Update(t, "M7/State/p/a", 1000, strings.Repeat("x", 100_000))
	if r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{big}}); err != nil || engram.CodeOf(r[0].Err) != engram.Exhausted {
		t.Errorf("a snapshot that is larger than what is left: %v, %v", r, err)
	}
}

// A program that gives up does not wait until the name system has answered another one.
func TestHostWaitsAsLongAsItsProgram(t *testing.T) {
	asked := make(chan struct{})
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), Announce: func(ctx context.Context, _ func() []string) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	waits, giveUp := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- s.hosting.Host(waits, hosting.Memory{Name: "A"}) }()
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.hosting.Host(gone, hosting.Memory{Name: "B"}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("the second program: %v", err)
	}
	giveUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first program: %v", err)
	}
}
