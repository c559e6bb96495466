package world

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// writeTurn is that of a provider to write: what it states rests on what it has stated before. Others write meanwhile.
type writeTurn struct {
	room  chan struct{} // has room for who writes
	users int           // who have it or wait for it; under the hub's lock
	heard Mark          // the newest of what the provider said, of what came since this was cleared; under the hub's lock
}

// takeTurn waits until the provider may write, until release is called. The error is Canceled.
func (h *hub) takeTurn(ctx context.Context, provider string) (release func(), err error) {
	h.mu.Lock()
	t := h.turns[provider]
	if t == nil {
		t = &writeTurn{room: make(chan struct{}, 1)}
		h.turns[provider] = t
	}
	t.users++
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(h.turns, provider)
		}
	}
	select {
	case t.room <- struct{}{}:
		return func() { <-t.room; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, engram.Errorf(engram.Canceled, "world", "given up while %q was writing something else: %w", provider, ctx.Err())
	}
}

// noteHeardLocked notes up to where what providers say has come, for those that write.
func (h *hub) noteHeardLocked(own map[string]Mark, lost Mark) {
	for provider, t := range h.turns {
		to := own[provider]
		if lost.Number > to.Number {
			to = lost
		}
		if to.Number > 0 {
			t.heard = to
		}
	}
}

// As returns the world as a model of which another provider writes, by a source and a clock of its own as [FromSource] and
// [Clock] say; nil is this computer's clock. It needs no closing, and costs nothing: what is stated is in the world of all. The
// error is Invalid if no provider has such a name.
func (m *Memory) As(provider string, source Source, now func() engram.Time) (Model, error) {
	if err := engram.CheckName(provider); err != nil {
		return nil, err
	}
	if now == nil {
		now = engram.Now
	}
	return &voice{m.keeperOf(m.hub, provider, source, now), m}, nil
}

// voice is what one of several providers says in a world.
type voice struct {
	*keeper
	in *Memory
}

// Past implements [Model].
func (v *voice) Past(ctx context.Context, at engram.Time, asOf *engram.Time) (*Forest, error) {
	return v.in.Past(ctx, at, asOf)
}

// MapData implements [Model].
func (v *voice) MapData(ctx context.Context, name string) ([]byte, error) {
	return v.in.MapData(ctx, name)
}

// keeperOf returns what states what a provider says.
func (m *Memory) keeperOf(h *hub, provider string, source Source, now func() engram.Time) *keeper {
	return &keeper{
		hub: h, provider: provider, robot: m.codec.robot, source: source, now: now, begin: m.catchUp, hear: m.hear,
		check: func(ctx context.Context, updates []update) []error { return m.check(ctx, provider, updates) },
		store: func(ctx context.Context, updates []update) ([]error, Mark, error) {
			return m.commit(ctx, provider, updates)
		},
		storeData: func(ctx context.Context, name string, t engram.Time, data []byte) error {
			return m.commitData(ctx, provider, name, t, data)
		},
	}
}
