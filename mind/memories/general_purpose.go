package memories

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// GeneralPurpose is for what has no memory of its own. It has no segments; they
// are added while it runs, with any type.
func GeneralPurpose() server.Memory {
	return server.Memory{
		Name:   "GeneralPurpose",
		Doc:    "anything else: segments are added as they are needed",
		Types:  typesIn("general_purpose"),
		Bounds: engram.Bounds{MaxBytes: 256 * mib, MaxCount: 1_000_000},
	}
}
