// Package testkit is what the tests of several packages need alike: updates of any
// data, commits that must succeed, waiting for an event. It knows the domain and its
// data format only, so any package above these can use it; servers and the message
// fabric are in its folders serving and fabrics. What a memory must do is not here but in
// memorytest.
//
// It is no public API: tests of several wings share it.
package testkit

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
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

// Patience is how long a test waits for one event. It is much longer than any event takes on
// a computer that is busy, and much shorter than the ten minutes of a test binary, so
// that one event that cannot come ends one test only, and the test says which it was.
const Patience = 2 * time.Minute

// spare is what a test has left to say why it gives up, before its process is ended.
const spare = 5 * time.Second

// Context returns a context for the calls of a whole test: it ends with the test, or
// shortly before the test binary's own limit.
func Context(t testing.TB) context.Context {
	at := time.Now().Add(10 * time.Minute)
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, has := d.Deadline(); has {
			at = end.Add(-spare)
		}
	}
	ctx, cancel := context.WithDeadline(t.Context(), at)
	t.Cleanup(cancel)
	return ctx
}

// await asks again and again until is says yes. It gives up when the test has failed
// meanwhile, as a goroutine may have that was to bring the event about, and after
// [Patience], of the virtual time in a bubble of testing/synctest.
func await(t testing.TB, what string, is func() (said string, yes bool)) {
	t.Helper()
	began := time.Now()
	for end := began.Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		said, yes := is()
		switch {
		case yes:
			return
		case t.Failed():
			t.Fatalf("%s is not awaited any more, for the test has failed: %s", what, said)
		case time.Now().After(end):
			t.Fatalf("%s has not come in %v: %s", what, time.Since(began).Round(time.Second), said)
		}
	}
}

// Receive returns what comes through a channel. It gives up as [Until] does.
func Receive[V any](t testing.TB, from <-chan V) (v V) {
	t.Helper()
	await(t, "a value", func() (string, bool) {
		select {
		case v = <-from:
			return "", true
		case <-time.After(100 * time.Millisecond):
			return "nothing is in the channel", false
		}
	})
	return v
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

// Until waits until is says yes; said names what is missing, with which the test fails
// otherwise. It gives up as soon as the test has failed, so a goroutine that is to bring
// the event about reports its error by t.Error, and after [Patience].
func Until(t testing.TB, is func() (said string, yes bool)) {
	t.Helper()
	await(t, "the event", is)
}

var long = flag.Bool("long", false, "run the tests that take long, or need real time, too; .ci/full does")

// Long skips the test unless the flag -long is given. It is for scenarios that take
// seconds of CPU.
func Long(t testing.TB) {
	t.Helper()
	if !*long {
		t.Skip("takes long: runs with -long")
	}
}

// RealTime skips the test unless the flag -long is given. It is for a test whose verdict
// may depend on the speed of the machine; assumes says on what: "a lease of 2 s is
// renewed in time". .ci/full runs such tests one at a time, with nothing beside them, and
// nobody runs them under the race detector.
func RealTime(t testing.TB, assumes string) {
	t.Helper()
	if !*long || Raced {
		t.Skipf("needs real time (%s): runs with -long, without the race detector", assumes)
	}
}

var seed = flag.Uint64("seed", 0, "of what tests do at random; 0 is the same each time, with -long a new one")

// Seed returns the seed of what a test does at random, and logs it: that of the flag -seed,
// else the same each time, or with -long a new one.
func Seed(t testing.TB) uint64 {
	t.Helper()
	s := *seed
	switch {
	case s != 0:
	case *long:
		s = rand.Uint64()
	default:
		s = 1
	}
	t.Logf("again with -seed %d", s)
	return s
}

// Repeats returns how often a test repeats what it does, or how much it does at once:
// few times, or many with -long.
func Repeats(few, many int) int {
	if *long {
		return many
	}
	return few
}
