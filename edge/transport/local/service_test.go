package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func realServer(t testing.TB) feature.Server {
	t.Helper()
	svc, err := benchServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.(interface{ Close() error }).Close() })
	return svc
}

func fill(t testing.TB, svc engram.Service, entities, snapshots, size int) {
	t.Helper()
	for e := range entities {
		var c engram.Commit
		for i := range snapshots {
			c.Updates = append(c.Updates, engram.EntityUpdate{
				Entity: engram.MustID(fmt.Sprintf("Bench/Data/p%d/e%d", e%3, e)), Time: engram.Time(i),
				Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: benchType, Bytes: benchPayload(size)})},
			})
		}
		results, err := svc.Commit(t.Context(), c)
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What a client gets is what the server itself answers, small or over many frames
// and windows.
func TestQueries(t *testing.T) {
	svc := realServer(t)
	fill(t, svc, 7, 100, 3000)
	address := serve(t, svc, Options{})
	everything := engram.Pattern{}.Select(engram.All())
	names := engram.Query{Memories: []engram.QueryNode{{Children: []engram.QueryNode{{Children: []engram.QueryNode{{}}}}}}}
	for _, window := range []int{0, 1, 100_000} {
		c := client(t, address, DialOptions{Window: window})
		for name, q := range map[string]engram.Query{
			"everything": everything,
			"names":      names,
			"latest":     engram.SelectID(engram.MustID("Bench/Data/p1"), engram.Latest(1)),
			"nothing":    engram.SelectID(engram.MustID("Bench/Data/none"), engram.All()),
			"none":       {},
		} {
			want, err := svc.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Query(testkit.Context(t), q)
			if err != nil {
				t.Fatalf("%s, window %d: %v", name, window, err)
			}
			if !reflect.DeepEqual(got.Items(), want.Items()) || len(got.Memories) != len(want.Memories) {
				t.Errorf("%s, window %d: %d items, want %d", name, window, len(got.Items()), len(want.Items()))
			}
			var whole engram.Result
			parts := 0
			if err := c.QueryParts(testkit.Context(t), q, func(r *engram.Result) error {
				parts++
				whole.Merge(r)
				return nil
			}); err != nil {
				t.Fatalf("%s in parts: %v", name, err)
			}
			if !reflect.DeepEqual(whole.Items(), want.Items()) {
				t.Errorf("%s in %d parts: %d items, want %d", name, parts, len(whole.Items()), len(want.Items()))
			}
		}
		stop := errors.New("enough")
		if err := c.QueryParts(testkit.Context(t), everything, func(*engram.Result) error { return stop }); err != stop {
			t.Errorf("a part's error became %v", err)
		}
		bad := engram.Query{Memories: []engram.QueryNode{{Names: engram.MatchRegex("(")}}}
		if _, err := c.Query(testkit.Context(t), bad); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("a bad regex: %v", err)
		}
		if _, err := c.Query(testkit.Context(t), everything); err != nil {
			t.Errorf("after calls given up: %v", err)
		}
	}
}

// A snapshot that does not fit through a connection is refused by itself.
func TestTooLarge(t *testing.T) {
	svc := realServer(t)
	address := serve(t, svc, Options{MaxFrame: 1 << 20})
	c := client(t, address, DialOptions{})
	mk := func(n int) engram.EntityUpdate {
		return engram.EntityUpdate{Entity: benchEntity, Time: engram.Time(n), Instances: []engram.Instance{
			engram.NewInstance(engram.Payload{Type: benchType, Bytes: benchPayload(n)})}}
	}
	long := mk(10)
	long.Instances[0].Payload.Type = string(make([]byte, maxTypeName+1))
	cm := engram.Commit{Updates: []engram.EntityUpdate{mk(900_000), mk(2 << 20), mk(800_000), long, mk(700_000)}}
	check := func(results []engram.UpdateResult, err error) {
		t.Helper()
		if err != nil || len(results) != 5 {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for i, want := range []engram.Code{0, engram.Exhausted, 0, engram.Invalid, 0} {
			if engram.CodeOf(results[i].Err) != want || results[i].ID.Truncate(engram.LevelEntity) != benchEntity {
				t.Errorf("update %d: %+v, want %v", i, results[i], want)
			}
		}
	}
	check(c.Commit(testkit.Context(t), cm))
	st, err := c.CommitStream(testkit.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Send(cm); err != nil {
		t.Fatal(err)
	}
	check(st.Recv())
	many := mk(11)
	wordy := many.Instances[0]
	wordy.Payload.Type = string(bytes.Repeat([]byte("x"), maxTypeName))
	for range maxRecords / 2 / maxTypeName {
		many.Instances = append(many.Instances, wordy)
	}
	wide := client(t, serve(t, svc, Options{}), DialOptions{})
	results, err := wide.Commit(testkit.Context(t), engram.Commit{Updates: []engram.EntityUpdate{many, mk(12)}})
	if err != nil || engram.CodeOf(results[0].Err) != engram.Exhausted || results[1].Err != nil {
		t.Errorf("very many instances: %v, %v", results, err)
	}
	// The other way: a client that takes less than is stored.
	narrow := client(t, address, DialOptions{MaxFrame: minFrame})
	if _, err := narrow.Latest(testkit.Context(t), benchEntity); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("Latest: %v", err)
	}
	if _, err := narrow.Query(testkit.Context(t), engram.SelectID(benchEntity, engram.All())); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("Query: %v", err)
	}
	sub, err := narrow.Subscribe(testkit.Context(t), engram.Subscription{WithData: true, Start: engram.Start{Kind: engram.StartLast, N: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if _, err := sub.Next(testkit.Context(t)); engram.CodeOf(err) != engram.OutOfRange {
		t.Errorf("Next: %v", err)
	}
}

// The rare calls work, and their errors keep their codes.
func TestRareCalls(t *testing.T) {
	svc := realServer(t)
	c := client(t, serve(t, svc, Options{}), DialOptions{})
	ctx := testkit.Context(t)
	if err := c.AddCoreSegment(ctx, engram.CoreSegment{ID: engram.MustID("Bench/More"), Type: benchType}); err != nil {
		t.Error(err)
	}
	if err := c.AddProviderSegment(ctx, engram.ProviderSegment{ID: engram.MustID("Bench/More/p")}); err != nil {
		t.Error(err)
	}
	d, err := c.Describe(ctx, engram.MustPattern("Bench/More"))
	if err != nil || len(d) != 2 {
		t.Errorf("%v, %v", d, err)
	}
	if err := c.RemoveSegment(ctx, engram.MustID("Bench/None")); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	def, err := c.Type(ctx, benchType)
	if err != nil || def.Name != benchType {
		t.Errorf("%v, %v", def, err)
	}
	if err := c.AddType(ctx, def); err != nil {
		t.Error(err)
	}
	if names, err := c.TypeNames(ctx); err != nil || len(names) == 0 {
		t.Errorf("%v, %v", names, err)
	}
	fill(t, c, 2, 3, 33)
	stats, err := c.Stats(ctx, engram.MustPattern("Bench/Data"), engram.LevelEntity)
	want, _ := svc.Stats(ctx, engram.MustPattern("Bench/Data"), engram.LevelEntity)
	if err != nil || len(stats) == 0 || !reflect.DeepEqual(stats, want) {
		t.Errorf("%v, %v, want %v", stats, err, want)
	}
	predictions, err := c.Predict(ctx, []engram.ID{benchEntity.At(1)})
	if err != nil || len(predictions) != 1 || engram.CodeOf(predictions[0].Err) != engram.Unsupported {
		t.Errorf("%v, %v", predictions, err)
	}
	if info, err := c.Info(ctx); err != nil || info.Epoch == 0 || len(info.Memories) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := Dial(ctx, c.address, DialOptions{Server: "another"}); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("Dial of another server: %v", err)
	}
	if _, err := c.Subscribe(ctx, engram.Subscription{Slow: engram.SlowBlock}); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a subscription that blocks: %v", err)
	}
}

// A server that goes away and comes back, with its memory, costs a subscription
// nothing, and calls a moment. One that lost its memory is told of.
func TestReconnect(t *testing.T) {
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	svc := realServer(t)
	stop := serveAt(t, path, svc, Options{})
	c := client(t, "local:"+path, DialOptions{})
	ctx := testkit.Context(t)
	st, err := c.Subscribe(ctx, engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	stream, err := c.CommitStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	next := uint64(1)
	expect := func(upTo uint64, restarted bool) {
		t.Helper()
		for next <= upTo {
			batch, err := st.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range batch {
				if u.Number != next || u.Dropped != 0 || u.Restarted != (restarted && next == 1) {
					t.Fatalf("update %+v, want number %d", u, next)
				}
				next++
			}
		}
	}
	fill(t, c, 1, 3, 33)
	expect(3, false)
	for range 3 {
		stop()
		fill(t, svc, 1, 2, 33) // while nobody can be told
		if _, err := c.Latest(ctx, engram.MustID("Bench/Data/p0/e0")); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a call to a server that is away: %v", err)
		}
		if _, err := stream.Recv(); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a commit stream to a server that is away: %v", err)
		}
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		if _, err := st.Next(short); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("Next: %v", err)
		}
		cancel()
		stop = serveAt(t, path, svc, Options{})
		expect(next+1, false)
		fill(t, c, 1, 2, 33)
		expect(next+1, false)
	}
	stop()
	fresh := realServer(t)
	stop = serveAt(t, path, fresh, Options{})
	defer stop()
	if _, err := c.Latest(ctx, benchEntity); engram.CodeOf(err) != engram.NotFound { // repeated, unlike a commit
		t.Errorf("a call to a server that came back: %v", err)
	}
	fill(t, c, 1, 2, 33)
	next = 1
	expect(2, true)
}

// The end of a call's context reaches the server, and the end of Next's leaves the
// subscription as it was.
func TestCancel(t *testing.T) {
	f := newFake()
	entered, left := make(chan Peer, 1), make(chan error, 1)
	f.commitHook = func(ctx context.Context, c engram.Commit) error {
		if c.Updates[0].Time != 0 {
			return nil
		}
		p, _ := PeerOf(ctx)
		entered <- p
		<-ctx.Done()
		left <- ctx.Err()
		return ctx.Err()
	}
	c := client(t, serve(t, f, Options{}), DialOptions{})
	ctx, cancel := context.WithCancel(testkit.Context(t))
	go func() {
		if p := <-entered; p.PID != os.Getpid() || p.UID != os.Getuid() || p.GID != os.Getgid() {
			t.Errorf("the server takes us for %+v", p)
		}
		cancel()
	}()
	if _, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", 0)}}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("Commit: %v", err)
	}
	if err := <-left; err != context.Canceled {
		t.Errorf("the server's call ended with %v", err)
	}
	st, err := c.Subscribe(testkit.Context(t), engram.Subscription{WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		ctx, cancel := context.WithCancel(testkit.Context(t))
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := st.Next(ctx); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("Next: %v", err)
		}
		if _, err := st.Next(ctx); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("Next with a context that has ended: %v", err)
		}
		if _, err := c.Commit(testkit.Context(t), engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", engram.Time(i+1), payload(100_000, 1))}}); err != nil {
			t.Fatal(err)
		}
		batch, err := st.Next(testkit.Context(t))
		if err != nil || len(batch) != 1 || batch[0].Number != uint64(i+1) {
			t.Fatalf("%v, %v", batch, err)
		}
	}
	time.AfterFunc(time.Millisecond, func() { st.Close() })
	if _, err := st.Next(testkit.Context(t)); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("Next of a closed stream: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Latest(testkit.Context(t), benchEntity); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a call of a closed client: %v", err)
	}
	if _, err := c.Subscribe(testkit.Context(t), engram.Subscription{}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a subscription of a closed client: %v", err)
	}
	if _, err := c.CommitStream(testkit.Context(t)); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("a commit stream of a closed client: %v", err)
	}
}

// A server that is told to stop finishes the calls under way, for a while.
func TestGrace(t *testing.T) {
	for name, grace := range map[string]time.Duration{"enough": testkit.Patience, "too short": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "local")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			f := newFake()
			entered, release := make(chan struct{}), make(chan struct{})
			f.commitHook = func(ctx context.Context, c engram.Commit) error {
				close(entered)
				select {
				case <-release:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			stop := serveAt(t, filepath.Join(dir, "s"), f, Options{Grace: grace})
			c := client(t, "local:"+filepath.Join(dir, "s"), DialOptions{ReconnectFor: time.Millisecond})
			st, err := c.Subscribe(testkit.Context(t), engram.Subscription{})
			if err != nil {
				t.Fatal(err)
			}
			committed := make(chan error, 1)
			go func() {
				_, err := c.Commit(testkit.Context(t), engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", 1)}})
				committed <- err
			}()
			<-entered
			stopped := make(chan struct{})
			go func() {
				stop()
				close(stopped)
			}()
			want := engram.Unavailable
			if name == "enough" {
				want = 0
				for {
					if _, err := st.Next(testkit.Context(t)); err != nil { // it ends at once
						if engram.CodeOf(err) != engram.Unavailable {
							t.Errorf("Next: %v", err)
						}
						break
					}
				}
				close(release)
			}
			if err := <-committed; engram.CodeOf(err) != want {
				t.Errorf("Commit: %v, want %v", err, want)
			}
			<-stopped
		})
	}
}

// A panic in the service is an error of one call.
func TestPanic(t *testing.T) {
	f := newFake()
	f.commitHook = func(context.Context, engram.Commit) error { panic("a hook's defect") }
	c := client(t, serve(t, f, Options{Log: testkit.Quiet}), DialOptions{})
	for range 2 {
		if _, err := c.Commit(testkit.Context(t), engram.Commit{}); engram.CodeOf(err) != engram.Internal {
			t.Errorf("Commit: %v", err)
		}
		st, err := c.CommitStream(testkit.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Send(engram.Commit{}); err != nil {
			t.Error(err)
		}
		if _, err := st.Recv(); engram.CodeOf(err) != engram.Internal {
			t.Errorf("Recv: %v", err)
		}
		st.Close()
		if _, err := st.Recv(); err == nil {
			t.Error("a closed commit stream goes on")
		}
	}
}
