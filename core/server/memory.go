package server

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Memory defines a concrete memory.
type Memory struct {
	Name     string
	Doc      string               // one line: what it is for
	Types    []engram.TypeDef     // made known before the segments are added
	Segments []engram.CoreSegment // their IDs lie below Name; their durability is what they have where there is a log
	// Policies say what the long-term memory does with core segments, by their names;
	// the others' record everything. What was set over them in the folder counts.
	Policies map[string]policy.Policy
	Bounds   engram.Bounds // of all the memory holds together
	// KeepNewest has it refuse what there is no room for, instead of forgetting the newest
	// state of something else, unless a long-term memory records it.
	KeepNewest bool
	Hooks      Hooks
	// Features are what the memory offers beside commit, query, subscribe and predict. At most
	// one memory of a server offers a service.
	Features []feature.Feature
}

// Hooks hang a memory's own code on what happens in it. Nil hooks do nothing. They
// are called by several goroutines at once.
type Hooks struct {
	// Start runs before the memory serves; svc is the server it lives in, for
	// commits and subscriptions of its own. ctx ends when the server closes.
	Start func(ctx context.Context, svc engram.Service) error
	// Run runs beside the memory from its start on, in a goroutine of its own,
	// until ctx ends when the server closes; Close waits for it. It is the place
	// for what a memory does by itself: acquire, derive, tidy up. An error that it
	// returns before ctx's end is logged; the memory serves on.
	Run func(ctx context.Context, svc engram.Service) error
	// Commit sees each entity update before it is validated and stored; it may
	// change it, or refuse it with an error. Instances is the caller's slice: a
	// hook that changes them puts a slice of its own in its place. u is the hook's until it returns.
	Commit func(ctx context.Context, u *engram.EntityUpdate) error
	// Write takes the place of plainly storing the updates of the core segments that
	// it names. Such a hook sees each update after Commit and calls put, once, to
	// store it; put returns what the memory says. It is for state that must change
	// with the memory or not at all: the hook holds that still, checks, calls put, and
	// changes it if there was no error. What it returns without having called put
	// refuses the update; after put it counts for nothing, but see [Note]. Subscribers
	// that make writers wait are waited for after the hook.
	Write map[string]WriteHook
	// Stored is told of each stored snapshot, after it can be read and before the
	// commit returns. It must be quick; what takes long belongs into a
	// subscription.
	Stored func(ctx context.Context, u engram.Update)
	// Query sees each query that can concern the memory, before it is answered; it
	// may bring what is asked for up to date, change q (but not the slices it
	// holds), or refuse with an error. Reading one entity's newest snapshot is a
	// query too.
	Query func(ctx context.Context, q *engram.Query) error
	// Predict answers engram.Predictor for snapshots of this memory, one answer
	// per ID at the same index.
	Predict func(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error)
	// Troubles says what is wrong with what was committed of late, a sentence each; nothing
	// if all is well. It must be quick.
	Troubles func() []string
}

// WriteHook is a function of [Hooks].Write.
type WriteHook func(ctx context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error
