package rpc_test

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// What a hook notes of an update that it stores is in the answer to the commit, and of that alone.
func TestNotesOverRPC(t *testing.T) {
	note := func(ctx context.Context, id engram.ID) {
		if id.Entity() == "odd" {
			server.Note(ctx, engram.Errorf(engram.Conflict, "the cup", "left out"))
			server.Note(ctx, engram.Errorf(engram.Invalid, "the cup", "counts for nothing"))
		}
	}
	s := serving.New(t, testMemory(server.Hooks{
		Write: map[string]server.WriteHook{"Any": func(ctx context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
			note(ctx, u.Entity)
			return put(u)
		}},
		Stored: func(ctx context.Context, u engram.Update) { note(ctx, u.ID.Truncate(engram.LevelEntity)) },
	}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{update(t, "even", 1, "x"), update(t, "odd", 1, "x")}})
	if err != nil || engram.FirstError(results) != nil || results[0].Note != nil || results[1].Number == 0 {
		t.Fatal(results, err)
	}
	want(t, "an update that was noted", results[1].Note, engram.Conflict, "the cup", "left out")
}
