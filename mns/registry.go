package mns

import (
	"context"
	"iter"
	"time"
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
	// or was never granted in this life of the registry.
	Renew(ctx context.Context, lease uint64) error
	// Release gives the lease and its names up; releasing an unknown lease does
	// nothing.
	Release(ctx context.Context, lease uint64) error
	// Resolve returns the entry of a memory, or NotFound.
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
	Server    string        // identifies the server; the same after its restart
	Memories  []string      // names of the memories it hosts
	Addresses []string      // "unix:/path", "http://host:port"; best first
	TTL       time.Duration // how long the lease runs unless renewed; 0 means [DefaultTTL]
	// Standby declares that the server takes over when the one that holds the names
	// has gone: [Keep] then waits for them instead of failing with Conflict.
	Standby bool
}

// Lease is the right to registered names, until it runs out.
type Lease struct {
	ID  uint64
	TTL time.Duration // as granted
}

// Entry says where a memory is.
type Entry struct {
	Memory    string
	Addresses []string // best first
	Server    string   // the registering server
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
