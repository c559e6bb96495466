package transport

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// firstStagger is how long a server's next address waits for the one before it.
const firstStagger = 250 * time.Millisecond

// within calls dial with a context that ends after a timeout. That is counted in turns
// of this process: one that did not get to run has given nobody the time to answer.
func within[C any](ctx context.Context, address string, timeout time.Duration, dial func(ctx context.Context, address string) (C, error)) (C, error) {
	const turns = 6
	var late atomic.Bool
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		turn := time.NewTicker(timeout / turns)
		defer turn.Stop()
		for range turns {
			select {
			case <-turn.C:
			case <-trying.Done():
				return
			}
		}
		late.Store(true)
		cancel()
	}()
	conn, err := dial(trying, address)
	if err != nil && late.Load() && ctx.Err() == nil {
		err = engram.Errorf(engram.Unavailable, address, "nothing answers within %v: %w", timeout, err)
	}
	return conn, err
}

// First dials a server's addresses in order, each a moment after the one before it
// unless that has failed already: an address to which there is no route takes long to
// fail, and is given up after a timeout. The first connection is taken, the others are
// closed. The error joins those of all addresses.
func First[C io.Closer](ctx context.Context, addresses []string, timeout time.Duration, dial func(ctx context.Context, address string) (C, error)) (C, error) {
	type outcome struct {
		conn C
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan outcome, len(addresses))
	var failures []error
	next, pending := 0, 0
	for next < len(addresses) || pending > 0 {
		var stagger <-chan time.Time
		if next < len(addresses) {
			address := addresses[next]
			go func() {
				conn, err := within(ctx, address, timeout, dial)
				outcomes <- outcome{conn, err}
			}()
			next, pending = next+1, pending+1
			stagger = time.After(firstStagger)
		}
		select {
		case o := <-outcomes:
			pending--
			if o.err != nil {
				failures = append(failures, o.err)
				continue
			}
			cancel()
			for range pending { // the others end soon
				if o := <-outcomes; o.err == nil {
					o.conn.Close()
				}
			}
			return o.conn, nil
		case <-stagger:
		}
	}
	if len(addresses) == 0 {
		failures = append(failures, errors.New("it has no address that can be reached from here"))
	}
	var none C
	return none, errors.Join(failures...)
}

// Unreached returns the error where none of a server's addresses has led to it, as
// [First] said: Forbidden if who was met at each of them is not believed, else
// Unavailable. That is no credentials.ErrNotBelieved, whoever else was met: the server
// that is meant is away.
func Unreached(server string, err error) error {
	if disbelieved(err) {
		return engram.Errorf(engram.Forbidden, server, "the memory server is not believed: %w", err)
	}
	if errors.Is(err, credentials.ErrNotBelieved) {
		return engram.Errorf(engram.Unavailable, server, "the memory server cannot be reached: %v", err)
	}
	return engram.Errorf(engram.Unavailable, server, "the memory server cannot be reached: %w", err)
}

// disbelieved reports whether all that is joined in an error is disbelief.
func disbelieved(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return errors.Is(err, credentials.ErrNotBelieved)
	}
	return !slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return !errors.Is(one, credentials.ErrNotBelieved) })
}
