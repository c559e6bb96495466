package mns

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Registry knows where memories are. Its methods are safe for concurrent use. All
// return errors of code Unavailable when the registry is away and Canceled when
// ctx ends.
type Registry interface {
	// Register announces memories under a lease. Conflict names the server that
	// holds one of the names; then nothing is registered. A server that registers
	// again (by its Server identity) gives up what it had registered before.
	Register(ctx context.Context, r Registration) (Lease, error)
	// Renew lets the lease run for its whole TTL again; NotFound if it has expired
	// or was never granted in this epoch of the registry.
	Renew(ctx context.Context, lease uint64) error
	// Release gives the lease and its names up; releasing an unknown lease does
	// nothing.
	Release(ctx context.Context, lease uint64) error
	// Resolve returns the entry of a memory that is hosted, or of which copies are
	// held; or NotFound. A memory whose server left within [TakeoverTime] is
	// Unavailable: another server may be about to take it over.
	Resolve(ctx context.Context, memory string) (Entry, error)
	// Wait is Resolve that waits for the name until ctx ends.
	Wait(ctx context.Context, memory string) (Entry, error)
	// List returns all entries, sorted by memory.
	List(ctx context.Context) ([]Entry, error)
	// Watch yields all entries there are, then an event with Synced set, then
	// every change: of changes in quick succession to one name, at least the last.
	// It ends with an error, at the latest when ctx ends.
	Watch(ctx context.Context) iter.Seq2[Event, error]
}

// Registration is what a server announces.
type Registration struct {
	Server    string   // identifies the server; the same after its restart
	Memories  []string // names of the memories it hosts
	Addresses []string // "unix:/path", "http://host:port"; best first
	// Copies are the names of the memories that it holds copies of: "robot1:Object" of
	// another robot's, "Vision" of another server's of this robot. Any number of
	// servers may hold copies of one memory.
	Copies []string
	TTL    time.Duration // how long the lease runs unless renewed; 0 means [DefaultTTL]
	// Standby declares that the server takes over when the one that holds the names
	// has gone: [Keep] then waits for them instead of failing with Conflict.
	Standby bool
	// Yields says which of the memories the server can do without; nil means none. [Keep]
	// leaves those out that other servers have, and registers them once they are free.
	Yields Yielder
}

// Yielder is a server that can do without some of its memories. Its methods are called by
// several goroutines.
type Yielder interface {
	// MayYield reports whether a memory is one of them.
	MayYield(memory string) bool
	// Yielded is told when others of its memories are registered by other servers, and by
	// which, by memory.
	Yielded(elsewhere map[string]string)
}

// Lease is the right to registered names, until it runs out.
type Lease struct {
	ID  uint64
	TTL time.Duration // as granted
}

// Entry says where a memory is.
type Entry struct {
	// Memory is the memory's name: "Object", or "robot1:Object" if it is another
	// robot's.
	Memory    string
	Addresses []string // best first
	// Server is the registering server, "" if none is known: then there are copies.
	Server string
	Robot  string // whose memory it is, "" if the robot has no name
	// Epoch tells one run of another robot's server from the next; 0 if that is not known.
	Epoch  uint64
	Copies []Copy // sorted by robot and server
	// SuspectedSince is when the server was last heard, by the clock of the name system,
	// if it is suspected to be down; 0 if it is not, or nobody listens for it. Of a memory
	// of which only copies are known, it is when its robot was last heard.
	SuspectedSince engram.Time
	// LastKnown is when the name system was last there, where it is away and this is what
	// it said then; 0 while it is there.
	LastKnown engram.Time
}

// Copy says where a copy of a memory is.
type Copy struct {
	Server    string   // that holds the copy
	Robot     string   // whose server that is, "" if it has no name
	Memory    string   // the copy's name there
	Addresses []string // best first
	// SuspectedSince is as that of an [Entry], of the server that holds the copy.
	SuspectedSince engram.Time
}

// Local returns the memory's name at the server that hosts it: without the robot's.
func (e Entry) Local() string {
	if e.Foreign() {
		return e.Memory[len(e.Robot)+1:]
	}
	return e.Memory
}

// Foreign reports whether the memory is another robot's.
func (e Entry) Foreign() bool {
	return e.Robot != "" && len(e.Memory) > len(e.Robot) && e.Memory[len(e.Robot)] == ':' && e.Memory[:len(e.Robot)] == e.Robot
}

// Equal reports whether both entries say the same.
func (e Entry) Equal(o Entry) bool {
	return e.Memory == o.Memory && e.Server == o.Server && e.Robot == o.Robot && slices.Equal(e.Addresses, o.Addresses) &&
		e.SuspectedSince == o.SuspectedSince && e.LastKnown == o.LastKnown &&
		slices.EqualFunc(e.Copies, o.Copies, func(a, b Copy) bool {
			return a.Server == b.Server && a.Robot == b.Robot && a.Memory == b.Memory && a.SuspectedSince == b.SuspectedSince && slices.Equal(a.Addresses, b.Addresses)
		})
}

// Holders returns the servers that hold copies.
func (e Entry) Holders() []string {
	var names []string
	for _, c := range e.Copies {
		names = append(names, c.Server)
	}
	return names
}

// Event is a change of the registry.
type Event struct {
	Entry   Entry // of a removed name only the Memory is set
	Removed bool
	Synced  bool // no change: all entries there were have been yielded
}

// DefaultTTL is the time a lease runs if its registration names none.
const DefaultTTL = 10 * time.Second

// Bounds of what a registration may hold; Exhausted or Invalid beyond them. TTLs
// outside are clamped.
const (
	MinTTL       = time.Second
	MaxTTL       = time.Hour
	MaxMemories  = 1000 // of one registration
	MaxAddresses = 16   // of one registration
	MaxText      = 1024 // bytes of an address or a server's identity
	MaxEntries   = 10_000
)
