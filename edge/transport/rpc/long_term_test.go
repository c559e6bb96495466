package rpc_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	longterm "github.com/seed-301d4374/engram/core/ltm/api"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// What a client is answered is what the store in the server answers.
func TestLongTermOverRPC(t *testing.T) {
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Robot: "r1", Log: testkit.Quiet})
	must(t, err)
	s, err := server.New(server.Config{Memories: []server.Memory{testMemory(server.Hooks{})}, Store: store, Log: testkit.Quiet})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	remote := longterm.NewClient(c)
	ctx := t.Context()
	for i := range 20 {
		testkit.Commit(t, c, update(t, "cup", engram.Time(i), "x"))
	}
	must(t, remote.Mark(ctx, episode.Mark{Time: 3, Label: "bump", Before: 1, After: time.Second}))
	must(t, remote.Mark(ctx, episode.Mark{Time: 9, Label: "slip"}))
	if n, err := remote.Unmark(ctx, "slip", engram.Interval{Start: 9, End: 10}); n != 1 || err != nil {
		t.Errorf("%d marks removed, %v; want 1", n, err)
	}
	must(t, remote.SetRule(ctx, admin.Rule{Name: "low", Patterns: []string{"Test"}, When: "confidence < 0.5", Before: 5, After: 6, Label: "l"}))
	must(t, remote.SetPolicy(ctx, policy.Override{Pattern: engram.MustPattern("Test/*"), Settings: map[string]string{"keep.max_age": "7d", "priority": "3"}}))
	must(t, remote.Seal(ctx, "test"))

	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the client has\n%+v, the store\n%+v", what, got, want)
		}
	}
	always := engram.Always()
	episodes, err := remote.Episodes(ctx, always)
	must(t, err)
	stored, err := store.Episodes(ctx, always)
	must(t, err)
	for i := range stored { // absent and empty are the same
		if len(stored[i].Losses) == 0 {
			stored[i].Losses = nil
		}
	}
	same("episodes", episodes, stored)
	info, entities, err := remote.Episode(ctx, episodes[0].Name)
	must(t, err)
	_, wantEntities, err := store.Episode(ctx, episodes[0].Name)
	must(t, err)
	same("episode", info, episodes[0])
	same("entities", entities, wantEntities)
	marks, err := remote.Marks(ctx, always)
	must(t, err)
	same("marks", marks, []episode.Mark{{Time: 3, Label: "bump", Before: 1, After: time.Second}})
	rules, err := remote.Rules(ctx)
	must(t, err)
	wantRules, _ := store.Rules(ctx)
	same("rules", rules, wantRules)
	policies, err := remote.Policies(ctx)
	must(t, err)
	wantPolicies, _ := store.Policies(ctx)
	same("policies", policies, wantPolicies)
	stats, err := remote.LTMStats(ctx)
	must(t, err)
	if stats.Episodes != 1 || stats.Snapshots != 20 || len(stats.Segments) == 0 || stats.DiskTotal == 0 {
		t.Errorf("stats %+v", stats)
	}
	problems, err := remote.Verify(ctx, episodes[0].Name)
	if err != nil || len(problems) > 0 {
		t.Errorf("verify: %v, %v", problems, err)
	}
	if _, err := remote.Recall(ctx, engram.MustPattern("Test").Select(engram.All())); err != nil {
		t.Error(err)
	}
	steps := 0
	done, err := remote.Forget(ctx, admin.Forgetting{
		Patterns: []engram.Pattern{engram.MustPattern("Test")}, Span: engram.Interval{Start: 0, End: 8}, Why: "asked", By: "me",
	}, func(done, total int) { steps++ })
	must(t, err)
	// The mark keeps what lies from 2 on.
	if done.Versions != 2 || done.Protected != 6 || len(done.Acts) != 1 || done.Acts[0].Segment.Memory() != "Test" || steps == 0 {
		t.Errorf("forgot %+v in %d steps", done, steps)
	}
	if _, err := remote.Compact(ctx, true, nil); err != nil {
		t.Error(err)
	}
	must(t, remote.KeepEpisode(ctx, episodes[0].Name, true))
	must(t, remote.RemoveRule(ctx, "low"))
	for _, tt := range []struct {
		what string
		err  error
		code engram.Code
		word string
	}{
		{"dropping a kept episode", remote.DropEpisode(ctx, episodes[0].Name, "x", "me"), engram.Conflict, "kept"},
		{"an episode that is not there", second2(remote.Episode(ctx, "no.mcap")), engram.NotFound, "no such episode"},
		{"a mark that is not there", second(remote.Unmark(ctx, "slip", always)), engram.NotFound, "mark"},
		{"a rule that is not there", remote.RemoveRule(ctx, "low"), engram.NotFound, "rule"},
		{"a setting that is not there", remote.SetPolicy(ctx, policy.Override{Settings: map[string]string{"x": "y"}}), engram.NotFound, "setting"},
		{"forgetting for no reason", second(remote.Forget(ctx, admin.Forgetting{Patterns: []engram.Pattern{{}}}, nil)), engram.Invalid, "why"},
		{"repairing what is not there", second2(remote.Repair(ctx, "no.mcap")), engram.NotFound, "no such"},
	} {
		want(t, tt.what, tt.err, tt.code, tt.word)
	}
	must(t, remote.KeepEpisode(ctx, episodes[0].Name, false))
	must(t, remote.DropEpisode(ctx, episodes[0].Name, "x", "me"))
	damaged, err := remote.Damaged(ctx)
	if err != nil || len(damaged) > 0 {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
	if left, err := remote.Episodes(ctx, always); err != nil || slices.ContainsFunc(left, func(e admin.EpisodeInfo) bool { return e.Name == episodes[0].Name }) {
		t.Errorf("left: %v, %v", left, err)
	}
}

func second2[A, B any](_ A, _ B, err error) error { return err }

// A server without a folder says what to do.
func TestNoLongTermMemory(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	c := serving.Dial(t, serving.Serve(t, s, nil, rpc.Options{}, serving.Socket(t)).Address, rpc.DialOptions{})
	_, err := longterm.NewClient(c).Episodes(t.Context(), engram.Always())
	want(t, "episodes of a server without a folder", err, engram.Unsupported, "--data")
	_, err = longterm.NewClient(c).Forget(t.Context(), admin.Forgetting{}, nil)
	want(t, "forgetting at a server without a folder", err, engram.Unsupported, "--data")
}
