package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Forget implements [Service].
func (s *Store) Forget(ctx context.Context, f Forgetting, progress Progress) (Forgotten, error) {
	return Forgotten{}, engram.Errorf(engram.Unsupported, "", "forgetting is being written")
}

// Compact implements [Service].
func (s *Store) Compact(ctx context.Context, dryRun bool, progress Progress) (Compacted, error) {
	return Compacted{}, engram.Errorf(engram.Unsupported, "", "compacting is being written")
}
