package server

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature/hosting"
)

// A program that gives up does not wait until the name system has answered another one.
func TestHostWaitsAsLongAsItsProgram(t *testing.T) {
	asked := make(chan struct{})
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), Announce: func(ctx context.Context, _ []string) error {
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
