// Package testkit is what the tests of several packages need alike: updates of any
// data, commits that must succeed, waiting for an event. It knows the domain and its
// data format only, so any package above these can use it; servers and the message
// fabric are in its folders serving and fabrics. What a memory must do is not here but in
// memorytest.
package testkit

import (
	"context"
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Quiet is a log that keeps nothing.
var Quiet = slog.New(slog.DiscardHandler)

// T is a test, or a run of a property by rapid.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Value returns v as a payload of engram.ValueType.
func Value(t T, v any) engram.Payload {
	t.Helper()
	p, err := idf.ValuePayload(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Update is an update of an entity with an instance for each value.
func Update(t T, entity string, at engram.Time, values ...any) engram.EntityUpdate {
	t.Helper()
	u := engram.EntityUpdate{Entity: engram.MustID(entity), Time: at}
	for _, v := range values {
		u.Instances = append(u.Instances, engram.NewInstance(Value(t, v)))
	}
	return u
}

// Commit stores updates and fails the test if one of them is refused.
func Commit(t T, w engram.Writer, updates ...engram.EntityUpdate) []engram.UpdateResult {
	t.Helper()
	results, err := w.Commit(context.Background(), engram.Commit{Updates: updates})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// spare is what a test has left to say why it gives up, before its process is ended.
const spare = 5 * time.Second

// limit is when a test gives up waiting for an event: shortly before the test binary's
// own limit, as a loaded machine may need any time.
func limit(t any) time.Time {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, has := d.Deadline(); has {
			return at.Add(-spare)
		}
	}
	return time.Now().Add(10 * time.Minute)
}

// Context returns a context for waiting for an event: it ends with the test, or when
// the test must give up.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithDeadline(t.Context(), limit(t))
	t.Cleanup(cancel)
	return ctx
}

// Receive returns what comes through a channel.
func Receive[V any](t testing.TB, from <-chan V) V {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), limit(t))
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatal("nothing has come")
		panic("unreachable")
	}
}

// Next returns a stream's next n updates.
func Next(t testing.TB, s engram.UpdateStream, n int) []engram.Update {
	t.Helper()
	ctx := Context(t)
	var all []engram.Update
	for len(all) < n {
		batch, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d updates: %v", len(all), n, err)
		}
		all = append(all, batch...)
	}
	return all
}

// Until waits until is says yes. It asks again and again, without an end but the
// test's; said is what the test fails with then.
func Until(t testing.TB, is func() (said string, yes bool)) {
	t.Helper()
	for end := limit(t); ; time.Sleep(5 * time.Millisecond) {
		said, yes := is()
		if yes {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("in the end: %s", said)
		}
	}
}

var long = flag.Bool("long", false, "run the tests that take long, too; .ci/run does")

// Long skips the test unless the flag -long is given. It is for scenarios that take
// seconds of CPU.
func Long(t testing.TB) {
	t.Helper()
	if !*long {
		t.Skip("takes long: runs with -long")
	}
}

// Repeats returns how often a test repeats what it does, or how much it does at once:
// few times, or many with -long.
func Repeats(few, many int) int {
	if *long {
		return many
	}
	return few
}
