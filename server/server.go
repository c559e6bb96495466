package server

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/wm"
)

// Memory defines a concrete memory.
type Memory struct {
	Name     string
	Doc      string               // one line: what it is for
	Types    []engram.TypeDef     // made known before the segments are added
	Segments []engram.CoreSegment // their IDs lie below Name
	Bounds   engram.Bounds        // of all the memory holds together
	Hooks    Hooks
}

// Hooks hang a memory's own code on what happens in it. Nil hooks do nothing. They
// are called by several goroutines at once.
type Hooks struct {
	// Start runs before the memory serves; svc is the server it lives in, for
	// commits and subscriptions of its own. ctx ends when the server closes.
	Start func(ctx context.Context, svc engram.Service) error
	// Commit sees each entity update before it is validated and stored; it may
	// change it, or refuse it with an error.
	Commit func(ctx context.Context, u *engram.EntityUpdate) error
	// Stored is told of each stored snapshot, after it can be read. It must be
	// quick; what takes long belongs into a subscription.
	Stored func(ctx context.Context, u engram.Update)
	// Query sees each query that can concern the memory, before it is answered; it
	// may bring what is asked for up to date, or refuse with an error.
	Query func(ctx context.Context, q *engram.Query) error
	// Predict answers engram.Predictor for snapshots of this memory.
	Predict func(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error)
}

// Config configures a server.
type Config struct {
	Memories []Memory
	Types    *idf.Registry // nil means a new one
	Now      func() engram.Time
	Limits   wm.Limits
}

// Server hosts memories. It implements engram.Service. Safe for concurrent use.
type Server struct{}

// New makes a server, adds the memories' types and segments and runs their Start
// hooks.
func New(c Config) (*Server, error) { panic("to be built") }

// Memories returns the names of the memories hosted, sorted.
func (s *Server) Memories() []string { panic("to be built") }

// Close ends all subscriptions and waits for what the hooks' context governs.
func (s *Server) Close() error { panic("to be built") }
