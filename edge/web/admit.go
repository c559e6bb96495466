package web

import (
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// admission bounds the pieces that are worked on at once: of each identity to one less than of all together, so that who
// asks for many leaves others room. Make one with [newAdmission].
type admission struct {
	all chan struct{} // has one for each piece that is worked on

	mu sync.Mutex
	by map[access.Identity]*asking
}

// asking are the pieces that an identity asks for.
type asking struct {
	turns chan struct{} // has one for each that may be worked on
	count int           // with those that wait; guarded by the mu of admission
}

// maxWaiting bounds the pieces of an identity that wait. A browser asks for six at once, or with HTTP/2 for some more.
const maxWaiting = 256

// newAdmission returns one for so many pieces at once, at least 2.
func newAdmission(most int) *admission {
	return &admission{all: make(chan struct{}, most), by: map[access.Identity]*asking{}}
}

// turn waits until a piece may be worked on for who makes a call; done ends that. It is not held while an answer is written:
// a browser may take its time.
func (a *admission) turn(ctx context.Context) (done func(), err error) {
	id := access.IdentityOf(ctx)
	own, err := a.ask(id)
	if err != nil {
		return nil, err
	}
	for i, turns := range [...]chan struct{}{own.turns, a.all} {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-own.turns
			}
			a.leave(id, own)
			return nil, engram.Errorf(engram.Canceled, "", "the browser has gone: %w", context.Cause(ctx))
		}
	}
	return func() {
		<-a.all
		<-own.turns
		a.leave(id, own)
	}, nil
}

// within calls f when it is the turn of who makes a call.
func (a *admission) within(ctx context.Context, f func() error) error {
	done, err := a.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	return f()
}

func (a *admission) ask(id access.Identity) (*asking, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.by[id]
	if own == nil {
		own = &asking{turns: make(chan struct{}, cap(a.all)-1)}
		a.by[id] = own
	}
	if own.count >= cap(own.turns)+maxWaiting {
		return nil, engram.Errorf(engram.Exhausted, string(id), "%d requests of this identity wait already; try again in a few seconds", maxWaiting)
	}
	own.count++
	return own, nil
}

func (a *admission) leave(id access.Identity, own *asking) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if own.count--; own.count == 0 {
		delete(a.by, id)
	}
}
