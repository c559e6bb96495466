package world

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

// hub has the present world, and tells who waits of changes.
type hub struct {
	*follow.Marks
	follower *follow.Follower // has the marks; nil if nothing is followed
	mu       sync.Mutex
	builder  *Builder
	forest   *Forest               // what the builder came to; nil since a change
	turns    map[string]*writeTurn // of providers that write
	watchers map[*watcher]bool
	// seek looks for what was written up to marks elsewhere than in the news; nil if there
	// is nowhere else. It is called by one goroutine at a time.
	seek    func(context.Context, []Mark) error
	seeking chan struct{} // has room for who calls it
	// current reports whether more may come of an epoch; nil if there is only one.
	current func(epoch uint64) bool
}

func newHub(rules Rules) *hub {
	return &hub{Marks: &follow.Marks{}, builder: NewBuilder(rules), watchers: map[*watcher]bool{}, turns: map[string]*writeTurn{}}
}

// change changes the world up to marks by f, which returns the names of the items, each with the time from
// which on it may differ.
func (h *hub) change(f func(*Builder) map[string]engram.Time, to ...Mark) {
	h.mu.Lock()
	heard := h.builder.takeHeard(f(h.builder))
	h.forest = nil
	for w := range h.watchers {
		w.tell(heard)
	}
	h.mu.Unlock()
	h.Reach(to...)
}

// unsayLocked tells all watchers of statements that were taken back.
func (h *hub) unsayLocked() {
	for w := range h.watchers {
		w.unsaid = true
	}
}

// settle waits until the world has update number of what a provider says, which was written
// in an epoch or, if the server began anew just before, in the next one. It returns the mark,
// and whether the world has the update. It is the turn of the provider.
func (h *hub) settle(ctx context.Context, provider string, wrote Mark) (Mark, bool) {
	for {
		news, ended := h.News()
		h.mu.Lock()
		newest := h.turns[provider].heard
		h.mu.Unlock()
		to := Mark{Epoch: newest.Epoch, Number: wrote.Number}
		heard := newest.Number >= wrote.Number
		if heard && h.Has(to) {
			return to, true
		}
		if ended != nil || h.await(ctx, news) != nil {
			return wrote, false
		}
	}
}

// await waits for news.
func (h *hub) await(ctx context.Context, news <-chan struct{}) error {
	select {
	case <-news:
		return nil
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "world", "%w", ctx.Err())
	}
}

func (h *hub) viewLocked() *Forest {
	if h.forest == nil {
		h.forest = h.builder.Forest()
	}
	return h.forest
}

// View implements [Model].
func (h *hub) View(ctx context.Context, after ...Mark) (*Forest, error) {
	if h.follower != nil {
		err := h.follower.Pull(ctx)
		if err != nil && ctx.Err() != nil && len(after) > 0 {
			return nil, h.notYet(err, after)
		}
		if err != nil && (ctx.Err() != nil || !follow.MayPass(err)) {
			return nil, err
		}
	}
	for {
		news, ended := h.News()
		if ended != nil {
			return nil, ended
		}
		if after = slices.DeleteFunc(slices.Clone(after), h.Has); len(after) == 0 {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.viewLocked(), nil
		}
		if err := h.look(ctx, news, after); err != nil {
			return nil, h.notYet(err, after)
		}
	}
}

// notYet says that marks were not reached, and where that is known that waiting does not help.
func (h *hub) notYet(why error, after []Mark) error {
	text := "wait longer, or ask again"
	for _, m := range after {
		switch {
		case h.current == nil || h.current(m.Epoch):
			continue
		case h.Knows(m.Epoch):
			text = "the server that wrote it has begun anew since, and this world had not come so far: waiting does not help. What the server has kept is there; ask without the mark " + m.String()
		default:
			text = "it is of no server that this world follows now: that has begun anew since, or belongs to a robot that the world is not over (--robots, world.Robots). " +
				"Waiting does not help then. What the server has kept is there; ask without the mark " + m.String()
		}
	}
	return &engram.Error{Code: engram.TooNew, Thing: "world", Err: why, Msg: "what was written up to the mark is not there yet; " + text}
}

// seekEvery is how often what does not come is looked for elsewhere.
const seekEvery = 20 * time.Millisecond

// look waits for something that may have brought what was written up to the marks.
func (h *hub) look(ctx context.Context, news <-chan struct{}, after []Mark) error {
	if h.seek == nil {
		return h.await(ctx, news)
	}
	select {
	case <-news:
		return nil
	case h.seeking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := h.seek(ctx, after)
	<-h.seeking
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	soon, cancel := context.WithTimeout(ctx, seekEvery)
	defer cancel()
	_ = h.await(soon, news) // of itself, where it has found it
	return ctx.Err()
}

// Watch implements [Model].
func (h *hub) Watch(context.Context) (Watcher, error) {
	if _, ended := h.News(); ended != nil {
		return nil, ended
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &watcher{hub: h, heard: map[string]engram.Time{}}
	h.watchers[w] = true
	return w, nil
}

// watcher gathers the names of what changed. They are as many as there are items at most.
type watcher struct {
	hub    *hub
	heard  map[string]engram.Time // what may differ and from when on; under the hub's lock
	unsaid bool                   // see [Change]; under the hub's lock
	closed bool                   // under the hub's lock
}

func (w *watcher) tell(heard map[string]engram.Time) {
	for name, from := range heard {
		hearFrom(w.heard, name, from)
	}
}

// Next implements [Watcher].
func (w *watcher) Next(ctx context.Context) (Change, error) {
	for {
		news, ended := w.hub.News()
		if c, has := w.take(); has {
			return c, nil
		}
		switch {
		case w.isClosed():
			return Change{}, engram.Errorf(engram.Canceled, "watcher", "it was closed")
		case ended != nil:
			return Change{}, ended
		}
		if err := w.hub.await(ctx, news); err != nil {
			return Change{}, engram.Errorf(engram.Canceled, "watcher", "%w", ctx.Err())
		}
	}
}

// take returns what changed, if anything did.
func (w *watcher) take() (Change, bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if len(w.heard) == 0 && !w.unsaid {
		return Change{}, false
	}
	c := Change{w.hub.viewLocked(), slices.Sorted(maps.Keys(w.heard)), w.unsaid, w.heard}
	w.heard, w.unsaid = map[string]engram.Time{}, false
	return c, true
}

func (w *watcher) isClosed() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return w.closed
}

// Close implements [Watcher].
func (w *watcher) Close() {
	w.hub.mu.Lock()
	w.closed = true
	delete(w.hub.watchers, w)
	w.hub.mu.Unlock()
	w.hub.Reach() // wakes who waits
}
