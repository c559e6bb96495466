package resume

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/seed-301d4374/engram"
)

// retryDelays are the pauses before a call is sent again: long enough for a broken
// connection to be made anew, short enough for a control loop to learn soon that
// its memory is away.
var retryDelays = [...]time.Duration{10 * time.Millisecond, 100 * time.Millisecond}

// Repeat calls try until it succeeds, fails for another reason than an absent server, or
// returns again false.
func Repeat(ctx context.Context, try func() (again bool, err error)) error {
	for attempt := 0; ; attempt++ {
		again, err := try()
		if engram.CodeOf(err) != engram.Unavailable || attempt == len(retryDelays) || !again {
			return err
		}
		select {
		case <-time.After(retryDelays[attempt]):
		case <-ctx.Done():
			return err
		}
	}
}

// The pauses before a stream is opened again.
const firstPause, longestPause = 20 * time.Millisecond, 2 * time.Second

// Reconnect calls open until it succeeds, and newEpoch where the server of that
// address refused because it began a new epoch. It returns the error of what will
// not succeed however often it is tried, Unavailable after limit, if that is not
// 0, and ctx's cause after its end.
func Reconnect(ctx context.Context, address string, limit time.Duration, open func() error, newEpoch func()) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		// Jitter, so that the clients of a server that comes back do not come as one.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err := open()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case engram.CodeOf(err) == engram.Conflict:
			newEpoch()
			pause = firstPause
		case !MayReturn(err):
			return err
		case limit > 0 && time.Since(began) > limit:
			return engram.Errorf(engram.Unavailable, address, "given up reconnecting after %v: %w", limit, err)
		}
	}
}
