package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Compact implements [Service].
func (s *Store) Compact(ctx context.Context, dryRun bool, progress Progress) (Compacted, error) {
	return Compacted{}, engram.Errorf(engram.Unsupported, "", "compacting is being written")
}
