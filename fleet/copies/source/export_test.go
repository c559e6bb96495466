package source

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram/core/ltm"
)

// SetHeartbeat sets how often a holder is told that nothing comes.
func SetHeartbeat(every time.Duration) { heartbeat = every }

// SetPatience sets how long a recorder that does not come on is waited for, and returns
// what sets it back.
func SetPatience(d time.Duration) (back func()) {
	before := recorderTimeout
	recorderTimeout = d
	return func() { recorderTimeout = before }
}

// SetAskRecorder sets what is asked whether something is recorded, and returns what sets
// it back.
func SetAskRecorder(ask func(s *ltm.Store, ctx context.Context, number uint64) bool) (back func()) {
	before := askRecorder
	askRecorder = ask
	return func() { askRecorder = before }
}
