package world

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// hub has the present world, and tells who waits of changes.
type hub struct {
	mu       sync.Mutex
	builder  *Builder
	forest   *Forest         // what the builder came to; nil since a change
	reached  Mark            // all up to it is in the builder
	past     map[uint64]bool // epochs before that, of which everything is
	news     chan struct{}   // closed at the next change
	watchers map[*watcher]bool
	ended    error // why there is nothing new any more; nil before
}

func newHub(rules Rules) *hub {
	return &hub{
		builder: NewBuilder(rules), past: map[uint64]bool{}, news: make(chan struct{}), watchers: map[*watcher]bool{},
	}
}

// change changes the world up to a mark by f, which returns the names of the items.
func (h *hub) change(to Mark, f func(*Builder) []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := h.builder.takeHeard(f(h.builder))
	h.forest = nil
	if h.reached.Epoch != 0 && h.reached.Epoch != to.Epoch {
		h.past[h.reached.Epoch] = true
	}
	h.reached = to
	for w := range h.watchers {
		w.tell(heard)
	}
	h.wakeLocked()
}

func (h *hub) wakeLocked() {
	close(h.news)
	h.news = make(chan struct{})
}

// end says that nothing new comes.
func (h *hub) end(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended = why
		h.wakeLocked()
	}
}

func (h *hub) viewLocked() *Forest {
	if h.forest == nil {
		h.forest = h.builder.Forest()
	}
	return h.forest
}

// hasLocked reports whether the world has what was written up to a mark.
func (h *hub) hasLocked(m Mark) bool {
	return m.Number == 0 || h.past[m.Epoch] || h.reached.Epoch == m.Epoch && h.reached.Number >= m.Number
}

// View implements [Model].
func (h *hub) View(ctx context.Context, after ...Mark) (*Forest, error) {
	for {
		h.mu.Lock()
		missing := slices.IndexFunc(after, func(m Mark) bool { return !h.hasLocked(m) })
		if missing < 0 && h.ended == nil {
			defer h.mu.Unlock()
			return h.viewLocked(), nil
		}
		news, ended := h.news, h.ended
		h.mu.Unlock()
		if ended != nil {
			return nil, ended
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, notYet(after[missing], ctx.Err())
		}
	}
}

// Watch implements [Model].
func (h *hub) Watch(context.Context) (Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		return nil, h.ended
	}
	w := &watcher{hub: h, heard: map[string]engram.Time{}, closed: make(chan struct{})}
	h.watchers[w] = true
	return w, nil
}

// watcher gathers the names of what changed. They are as many as there are items at most.
type watcher struct {
	hub    *hub
	heard  map[string]engram.Time // what may differ and from when on; under the hub's lock
	closed chan struct{}
	once   sync.Once
}

func (w *watcher) tell(heard map[string]engram.Time) {
	for name, from := range heard {
		if t, ok := w.heard[name]; !ok || from < t {
			w.heard[name] = from
		}
	}
}

// Next implements [Watcher].
func (w *watcher) Next(ctx context.Context) (Change, error) {
	h := w.hub
	for {
		h.mu.Lock()
		if len(w.heard) > 0 {
			defer h.mu.Unlock()
			c := Change{h.viewLocked(), slices.Sorted(maps.Keys(w.heard)), w.heard}
			w.heard = map[string]engram.Time{}
			return c, nil
		}
		news, ended := h.news, h.ended
		h.mu.Unlock()
		if ended != nil {
			return Change{}, ended
		}
		select {
		case <-news:
		case <-w.closed:
			return Change{}, engram.Errorf(engram.Canceled, "watcher", "it was closed")
		case <-ctx.Done():
			return Change{}, engram.Errorf(engram.Canceled, "watcher", "%w", ctx.Err())
		}
	}
}

// Close implements [Watcher].
func (w *watcher) Close() {
	w.once.Do(func() {
		close(w.closed)
		w.hub.mu.Lock()
		delete(w.hub.watchers, w)
		w.hub.mu.Unlock()
	})
}
