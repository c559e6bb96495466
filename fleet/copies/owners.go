package copies

import (
	"context"
	"io"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Owners finds the servers that own what is copied. Memories are named as at the
// holder, "robot1:Object" for another robot's. Its methods are safe for concurrent use.
type Owners interface {
	// Find returns which server owns a memory; NotFound if none does just now.
	Find(ctx context.Context, memory string) (server string, err error)
	// Memories returns the names of all memories that servers own as far as is known just
	// now, of other robots, too.
	Memories(ctx context.Context) ([]string, error)
	// Dial connects to a server that was found to own a memory, and to no other, by a
	// connection of its own, which fails alone. Calls may run beside each other.
	// Unavailable if it cannot be reached, or owns the memory no more.
	Dial(ctx context.Context, memory, server string) (Owner, error)
	// Watch calls changed at its beginning, and then whenever names may lead elsewhere
	// than before, until ctx ends.
	Watch(ctx context.Context, changed func())
}

// Owner is a connection to a server that owns what is copied. It names memories as
// their owner does.
type Owner interface {
	contract.Source
	engram.PartReader
	engram.Segments
	engram.Types
	io.Closer
}
