package query

import (
	"context"
	"runtime"

	"github.com/seed-301d4374/engram"
)

// gate bounds how many filters that take long are evaluated at once, so that however many
// there are, half of the processors are left to those who write. They take turns.
type gate chan struct{}

func newGate() gate { return make(gate, max(1, runtime.GOMAXPROCS(0)/2)) }

// enter waits for a turn, until ctx ends or over is closed.
func (g gate) enter(ctx context.Context, over <-chan struct{}) error {
	select {
	case g <- struct{}{}:
		return nil
	default:
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return checkContext(ctx)
	case <-over:
		return errOver
	}
}

var errOver = engram.Errorf(engram.Canceled, "", "the reader was closed")

func (g gate) leave() { <-g }
