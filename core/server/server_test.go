package server_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func commit(t *testing.T, w engram.Writer, updates ...engram.EntityUpdate) []engram.UpdateResult {
	t.Helper()
	results, err := w.Commit(t.Context(), engram.Commit{Updates: updates})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func content(t *testing.T, s *engram.Snapshot) any {
	t.Helper()
	v, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestServerIsAMemory(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		return serving.New(t, server.Memory{Name: memorytest.MemoryName})
	}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}

// The suite passes as well when every hook is there and does nothing.
func TestServerWithHooksIsAMemory(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memorytest.Memory {
		return serving.New(t, server.Memory{Name: memorytest.MemoryName, Hooks: server.Hooks{
			Commit: func(context.Context, *engram.EntityUpdate) error { return nil },
			Stored: func(context.Context, engram.Update) {},
			Query:  func(context.Context, *engram.Query) error { return nil },
		}})
	}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
}

// The suite passes with everything on disk as well.
func TestServerWithLongTermIsAMemory(t *testing.T) {
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: memorytest.MemoryName}}, Log: testkit.Quiet, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	memorytest.Run(t, func(*testing.T) memorytest.Memory { return s }, memorytest.LongTerm(), memorytest.Entities(testkit.Repeats(10_000, 100_000)))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestCommitHookChangesAndRefuses(t *testing.T) {
	refusal := engram.Errorf(engram.Conflict, "the cup", "is elsewhere")
	s := serving.New(t, serving.Memory("Plain", server.Hooks{}), serving.Memory("Test", server.Hooks{
		Commit: func(_ context.Context, u *engram.EntityUpdate) error {
			switch u.Entity.Entity() {
			case "refused":
				return refusal
			case "untyped":
				return errors.New("no reason given")
			case "late":
				u.Time += 1000
			}
			return nil
		},
	}))
	updates := []engram.EntityUpdate{
		testkit.Update(t, "Test/Any/p/refused", 1, "a"), testkit.Update(t, "Test/Any/p/late", 1, "b"),
		testkit.Update(t, "Plain/Any/p/refused", 1, "c"), testkit.Update(t, "Test/Any/p/untyped", 1, "d"),
	}
	results := commit(t, s, updates...)
	if !errors.Is(results[0].Err, refusal) || results[0].ID != updates[0].Entity {
		t.Errorf("the refused update: %v, %v", results[0].ID, results[0].Err)
	}
	if want := engram.MustID("Test/Any/p/late").At(1001); results[1].Err != nil || results[1].ID != want {
		t.Errorf("the changed update: %v, %v; want %v", results[1].ID, results[1].Err, want)
	}
	if results[2].Err != nil {
		t.Errorf("the hook of one memory refused an update of another: %v", results[2].Err)
	}
	if e, ok := errors.AsType[*engram.Error](results[3].Err); !ok || !strings.Contains(e.Error(), "Test/Any/p/untyped") {
		t.Errorf("an error without a code: %v; want an *engram.Error that names the entity", results[3].Err)
	}
	if updates[1].Time != 1 {
		t.Error("the hook's change reached the caller's commit")
	}
	stats, err := s.Stats(t.Context(), engram.MustPattern("Test"), engram.LevelCoreSegment)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range stats {
		if st.Refused != 2 {
			t.Errorf("%v counts %d refusals; want 2", st.ID, st.Refused)
		}
	}
}

func TestStoredHookSeesWhatCanBeRead(t *testing.T) {
	var s *server.Server
	var told []engram.Update
	s = serving.New(t, serving.Memory("Test", server.Hooks{Stored: func(ctx context.Context, u engram.Update) {
		at, _ := u.ID.Time()
		now, err := s.AtOrBefore(ctx, u.ID.Truncate(engram.LevelEntity), at)
		if err != nil || now.Number != u.Number || u.Snapshot != now {
			t.Errorf("told of %v, number %d, but the memory has %v, %v", u.ID, u.Number, now, err)
		}
		told = append(told, u)
	}}))
	bad := testkit.Update(t, "Test/Nowhere/p/e", 1, "x")
	results := commit(t, s, testkit.Update(t, "Test/Any/p/e", 1, "a"), bad, testkit.Update(t, "Test/Any/p/e", 2, "b"))
	if len(told) != 0 && told[0].ID != results[0].ID {
		t.Errorf("told of %v first; want %v", told[0].ID, results[0].ID)
	}
	if len(told) != 2 {
		t.Fatalf("told of %d snapshots; want the 2 that were stored", len(told))
	}
}

func TestQueryHookSeesWhatConcernsItsMemory(t *testing.T) {
	var seen []string
	hook := func(name string) server.Hooks {
		return server.Hooks{Query: func(_ context.Context, q *engram.Query) error {
			seen = append(seen, name)
			if q.Where == "refuse" {
				return engram.Errorf(engram.Unavailable, "", "the camera is off")
			}
			return nil
		}}
	}
	s := serving.New(t, serving.Memory("B", hook("B")), serving.Memory("A", hook("A")), serving.Memory("C", server.Hooks{}))
	entity := engram.MustID("A/Any/p/e")
	commit(t, s, testkit.Update(t, entity.String(), 1, "x"))
	for _, tt := range []struct {
		what string
		ask  func() error
		want string
	}{
		{"all", func() error { _, err := s.Query(t.Context(), engram.Pattern{}.Select(engram.All())); return err }, "A B"},
		{"regex", func() error {
			_, err := s.Query(t.Context(), engram.MustPattern("~B|C").Select(engram.All()))
			return err
		}, "B"},
		{"by name", func() error { _, err := s.Query(t.Context(), engram.MustPattern("C").Select(engram.All())); return err }, ""},
		{"parts", func() error {
			return s.QueryParts(t.Context(), engram.MustPattern("A").Select(engram.All()), func(*engram.Result) error { return nil })
		}, "A"},
		{"latest", func() error { _, err := s.Latest(t.Context(), entity); return err }, "A"},
		{"at or before", func() error { _, err := s.AtOrBefore(t.Context(), entity, 5); return err }, "A"},
	} {
		seen = nil
		if err := tt.ask(); err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
		if got := strings.Join(seen, " "); got != tt.want {
			t.Errorf("%s: the hooks of %q were called; want %q", tt.what, got, tt.want)
		}
	}
	q := engram.MustPattern("A").Select(engram.All())
	q.Where = "refuse"
	if _, err := s.Query(t.Context(), q); engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "A: ") {
		t.Errorf("a refused query: %v; want Unavailable that names memory A", err)
	}
}

func TestPredictAsksTheMemory(t *testing.T) {
	s := serving.New(t, serving.Memory("Plain", server.Hooks{}), serving.Memory("Bad", server.Hooks{
		Predict: func(context.Context, []engram.ID) ([]engram.Prediction, error) { return nil, nil },
	}), serving.Memory("Test", server.Hooks{
		Predict: func(_ context.Context, ids []engram.ID) ([]engram.Prediction, error) {
			all := make([]engram.Prediction, len(ids))
			for i, id := range ids {
				at, _ := id.Time()
				all[i].Snapshot = &engram.Snapshot{Time: at}
			}
			return all, nil
		},
	}))
	ids := []engram.ID{
		engram.MustID("Test/Any/p/a").At(5), engram.MustID("Plain/Any/p/a").At(5), engram.MustID("Nowhere/Any/p/a").At(5),
		engram.MustID("Test/Any/p/a"), engram.MustID("Bad/Any/p/a").At(5), engram.MustID("Test/Any/p/b").At(6),
	}
	got, err := s.Predict(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	var codes []engram.Code
	for i, p := range got {
		if p.ID != ids[i] {
			t.Errorf("answer %d is about %v; want %v", i, p.ID, ids[i])
		}
		codes = append(codes, engram.CodeOf(p.Err))
	}
	if want := []engram.Code{0, engram.Unsupported, engram.NotFound, engram.Invalid, engram.Internal, 0}; !slices.Equal(codes, want) {
		t.Errorf("codes %v; want %v", codes, want)
	}
	if got[5].Snapshot == nil || got[5].Snapshot.Time != 6 {
		t.Errorf("the second prediction is %+v; want one of time 6", got[5].Snapshot)
	}
}

func TestStartHookFindsAllMemories(t *testing.T) {
	s := serving.New(t, serving.Memory("First", server.Hooks{Start: func(ctx context.Context, svc engram.Service) error {
		results, err := svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, "Second/Any/p/e", 1, "from First")}})
		if err != nil {
			return err
		}
		return engram.FirstError(results)
	}}), serving.Memory("Second", server.Hooks{}))
	snap, err := s.Latest(t.Context(), engram.MustID("Second/Any/p/e"))
	if err != nil || content(t, snap) != "from First" {
		t.Errorf("what the Start hook committed: %v, %v", snap, err)
	}
	if got := s.Memories(); !slices.Equal(got, []string{"First", "Second"}) {
		t.Errorf("memories %v", got)
	}
}

func TestNewRefusesWhatCannotServe(t *testing.T) {
	ended := false
	poses := []feature.Feature{feature.New("engram.v1.PoseService")}
	for _, tt := range []struct {
		what     string
		memories []server.Memory
		code     engram.Code
		word     string
	}{
		{"a bad name", []server.Memory{{Name: ""}}, engram.Invalid, ""},
		{"one name twice", []server.Memory{serving.Memory("A", server.Hooks{}), serving.Memory("A", server.Hooks{})}, engram.AlreadyExists, "A"},
		{"one service twice", []server.Memory{{Name: "A", Features: poses}, {Name: "B", Features: poses}}, engram.AlreadyExists, "PoseService"},
		{"a segment elsewhere", []server.Memory{{Name: "A", Segments: []engram.CoreSegment{{ID: engram.MustID("B/Any")}}}}, engram.Invalid, "B/Any"},
		{"an unknown type", []server.Memory{{Name: "A", Segments: []engram.CoreSegment{{ID: engram.MustID("A/Any"), Type: "no.Such"}}}}, engram.NotFound, "no.Such"},
		{"a failing Start hook", []server.Memory{serving.Memory("A", server.Hooks{Run: func(ctx context.Context, _ engram.Service) error {
			<-ctx.Done()
			ended = true
			return nil
		}}), serving.Memory("B", server.Hooks{Start: func(context.Context, engram.Service) error { return errors.New("no camera") }})}, engram.Internal, "no camera"},
	} {
		_, err := server.New(server.Config{Memories: tt.memories, Log: testkit.Quiet})
		if engram.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.word) {
			t.Errorf("%s: %v; want %v with %q", tt.what, err, tt.code, tt.word)
		}
	}
	if !ended {
		t.Error("New returned before the Run hook of a server that failed to start had ended")
	}
}

// Whose fault it is that a memory cannot start stands first: a file of prior knowledge,
// not the hook that read it.
func TestWhyAMemoryCannotStart(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{engram.Errorf(engram.Invalid, "prior knowledge", "Object/Class/cup.yaml: mass: it is no number"), "prior knowledge: Object/Class/cup.yaml: mass: it is no number"},
		{errors.New("no camera"), "A: the memory cannot start: no camera"},
	} {
		_, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{
			serving.Memory("A", server.Hooks{Start: func(context.Context, engram.Service) error { return tt.err }}),
		}})
		if err == nil || err.Error() != tt.want || engram.CodeOf(err) != engram.CodeOf(tt.err) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	ended := false
	s, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{serving.Memory("Test", server.Hooks{
		Run: func(ctx context.Context, svc engram.Service) error {
			<-ctx.Done()
			last := testkit.Update(t, "Test/Any/p/e", 1, "the last word")
			if err := engram.FirstError(commit(t, svc, last)); err != nil {
				t.Errorf("what a Run hook commits at the end: %v", err)
			}
			ended = true
			return nil
		},
	})}})
	if err != nil {
		t.Fatal(err)
	}
	updates, err := s.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !ended {
		t.Error("Close returned before the Run hook did")
	}
	batch, err := updates.Next(t.Context())
	for err == nil {
		batch, err = updates.Next(t.Context()) // what was written before the end
	}
	if len(batch) > 0 || engram.CodeOf(err) != engram.Unavailable && engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a subscription to a closed server: %v", err)
	}
	_, err = s.Commit(t.Context(), engram.Commit{})
	for what, err := range map[string]error{
		"Commit": err,
		"Query":  second(s.Query(t.Context(), engram.Query{})),
		"Latest": second(s.Latest(t.Context(), engram.MustID("Test/Any/p/e"))),
		"Stats":  second(s.Stats(t.Context(), engram.Pattern{}, engram.LevelMemory)),
	} {
		if engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("%s of a closed server: %v; want Unavailable", what, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCommitStreamInProcess(t *testing.T) {
	s := serving.New(t, serving.Memory("Test", server.Hooks{}))
	stream, err := s.CommitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for i := range 3 {
		if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, "Test/Any/p/e", engram.Time(i), i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(engram.Commit{}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("Send after CloseSend: %v", err)
	}
	for i := range 3 {
		results, err := stream.Recv()
		if err != nil || len(results) != 1 || results[0].ID != engram.MustID("Test/Any/p/e").At(engram.Time(i)) {
			t.Errorf("answer %d: %v, %v", i, results, err)
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("after the last answer: %v; want io.EOF", err)
	}
	abandoned, err := s.CommitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	abandoned.Close()
	if _, err := abandoned.Recv(); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("Recv after Close: %v; want Canceled", err)
	}
}

// A Write hook stores one update at a time, in the commit's order, and is told what
// the memory says while subscribers that make writers wait are not waited for.
func TestWriteHookStoresOrRefuses(t *testing.T) {
	var s *server.Server
	var holding sync.Mutex
	var written, stored []string
	s = serving.New(t, serving.Memory("Test", server.Hooks{
		Write: map[string]server.WriteHook{
			"Any": func(_ context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
				holding.Lock()
				defer holding.Unlock()
				switch u.Entity.Entity() {
				case "refused":
					return engram.Errorf(engram.Conflict, "the cup", "is elsewhere")
				case "forgotten":
					return nil
				}
				u.Time += 1000
				if err := put(u); err != nil {
					return err
				}
				written = append(written, u.Entity.Entity())
				if err := put(u); engram.CodeOf(err) != engram.Internal {
					t.Errorf("stored twice: %v", err)
				}
				return errors.New("counts for nothing")
			},
		},
		Stored: func(_ context.Context, u engram.Update) { stored = append(stored, u.ID.Entity()) },
	}), serving.Memory("Plain", server.Hooks{}))
	bad := testkit.Update(t, "Test/Any/p/bad", 1, "x")
	bad.Instances[0].Confidence = 2
	results := commit(t, s,
		testkit.Update(t, "Plain/Any/p/a", 1, "a"), testkit.Update(t, "Test/Any/p/b", 1, "b"), testkit.Update(t, "Test/Any/p/refused", 1, "c"),
		testkit.Update(t, "Plain/Any/p/d", 1, "d"), bad, testkit.Update(t, "Test/Any/p/forgotten", 1, "e"), testkit.Update(t, "Test/Any/p/f", 1, "f"))
	for i, want := range []engram.Code{0, 0, engram.Conflict, 0, engram.OutOfRange, engram.Internal, 0} {
		if r := results[i]; engram.CodeOf(r.Err) != want || (want == 0) != (r.Number > 0) {
			t.Errorf("update %d: %+v; want %v", i, r, want)
		}
	}
	if at, _ := results[1].ID.Time(); at != 1001 || results[1].Number >= results[3].Number || results[3].Number >= results[6].Number {
		t.Errorf("stored as %v", results)
	}
	if want := []string{"b", "f"}; !slices.Equal(written, want) || !slices.Equal(stored, want) {
		t.Errorf("written %v, stored %v; want %v", written, stored, want)
	}
	stats, err := s.Stats(t.Context(), engram.MustPattern("Test/Any"), engram.LevelCoreSegment)
	if err != nil || stats[len(stats)-1].Refused != 3 {
		t.Errorf("%+v, %v; want 3 refused", stats, err)
	}

	// The subscriber takes its updates only when it gets what the hook holds.
	sub, err := s.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Test/*")}, Slow: engram.SlowBlock, Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10 {
			commit(t, s, testkit.Update(t, "Test/Any/p/g", 2, "g"))
		}
	}()
	for n := 0; n < 10; {
		holding.Lock()
		holding.Unlock() //lint:ignore SA2001 what it waits for is that nobody holds it
		updates, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(updates)
	}
	<-done
	sub.Close()
}

// dyingContext ends when it was looked at some times.
type dyingContext struct {
	context.Context
	left atomic.Int32
}

func (c *dyingContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Of a commit that is given up midway, hooks are told of what was stored, and the
// caller of what was not.
func TestCommitGivenUpMidwayIsTold(t *testing.T) {
	for _, write := range []bool{false, true} {
		for looks := range int32(12) {
			stored := map[engram.Time]bool{}
			h := server.Hooks{Stored: func(ctx context.Context, u engram.Update) {
				if ctx.Err() != nil {
					t.Error("the hook's context has ended")
				}
				stored[u.Snapshot.Time] = true
			}}
			m := serving.Memory("Test", h)
			if write {
				m.Segments = append(m.Segments, engram.CoreSegment{ID: engram.MustID("Test/Hooked")})
				m.Hooks.Write = map[string]server.WriteHook{"Hooked": func(_ context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
					return put(u)
				}}
			}
			s := serving.New(t, m)
			var c engram.Commit
			for i := range 200 {
				name := "Test/Any/p/e"
				if write && i%40 == 0 {
					name = "Test/Hooked/p/e"
				}
				c.Updates = append(c.Updates, testkit.Update(t, name, engram.Time(i), i))
			}
			ctx := &dyingContext{Context: t.Context()}
			ctx.left.Store(looks)
			results, err := s.Commit(ctx, c)
			if err != nil && s.Number() > 0 {
				t.Errorf("after %d looks: %v, and %d were stored", looks, err, s.Number())
			}
			n := 0
			for i, r := range results {
				if r.Err == nil {
					n++
				} else if engram.CodeOf(r.Err) != engram.Canceled {
					t.Errorf("after %d looks, update %d: %v", looks, i, r.Err)
				}
				if (r.Err == nil) != stored[engram.Time(i)] {
					t.Errorf("after %d looks, update %d: %v, and the hook was told: %v", looks, i, r.Err, stored[engram.Time(i)])
				}
			}
			if uint64(n) != s.Number() || len(stored) != n {
				t.Errorf("after %d looks: %d stored, %d said to be, %d told", looks, s.Number(), n, len(stored))
			}
			s.Close()
		}
	}
}
