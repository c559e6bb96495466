package world

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// hub has the present world, and tells who waits of changes.
type hub struct {
	mu       sync.Mutex
	builder  *Builder
	forest   *Forest           // what the builder came to; nil since a change
	reached  map[uint64]uint64 // by epoch: the number up to which all is in the builder
	heard    Mark              // of what its provider said, of what came since it was cleared
	news     chan struct{}     // closed at the next change
	watchers map[*watcher]bool
	ended    error // why there is nothing new any more; nil before
	// seek looks for what was written up to marks elsewhere than in the news; nil if there
	// is nowhere else. It is called by one goroutine at a time.
	seek    func(context.Context, []Mark) error
	seeking chan struct{} // has room for who calls it
	// current reports whether more may come of an epoch; nil if there is only one.
	current func(epoch uint64) bool
}

func newHub(rules Rules) *hub {
	return &hub{
		builder: NewBuilder(rules), reached: map[uint64]uint64{}, news: make(chan struct{}), watchers: map[*watcher]bool{},
	}
}

// change changes the world up to marks by f, which returns the names of the items, each with the time from
// which on it may differ.
func (h *hub) change(f func(*Builder) map[string]engram.Time, to ...Mark) {
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := h.builder.takeHeard(f(h.builder))
	h.forest = nil
	for _, m := range to {
		if m.Epoch != 0 {
			h.reached[m.Epoch] = max(h.reached[m.Epoch], m.Number)
		}
	}
	for w := range h.watchers {
		w.tell(heard)
	}
	h.wakeLocked()
}

// settle waits until the world has update number of what its provider says, which was written
// in an epoch or, if the server began anew just before, in the next one. It returns the mark,
// and whether the world has the update.
func (h *hub) settle(ctx context.Context, wrote Mark) (Mark, bool) {
	for {
		h.mu.Lock()
		heard, news, ended := h.heard, h.news, h.ended
		h.mu.Unlock()
		if heard.Number >= wrote.Number {
			return Mark{heard.Epoch, wrote.Number}, true
		}
		if ended != nil {
			return wrote, false
		}
		select {
		case <-news:
		case <-ctx.Done():
			return wrote, false
		}
	}
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
	return m.Number == 0 || m.Epoch != 0 && h.reached[m.Epoch] >= m.Number
}

// knows reports whether anything that was written in an epoch is in the world.
func (h *hub) knows(epoch uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reached[epoch] > 0
}

// View implements [Model].
func (h *hub) View(ctx context.Context, after ...Mark) (*Forest, error) {
	for {
		h.mu.Lock()
		after = slices.DeleteFunc(slices.Clone(after), h.hasLocked)
		if len(after) == 0 && h.ended == nil {
			defer h.mu.Unlock()
			return h.viewLocked(), nil
		}
		news, ended := h.news, h.ended
		h.mu.Unlock()
		if ended != nil {
			return nil, ended
		}
		if err := h.await(ctx, news, after); err != nil {
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
		case h.knows(m.Epoch):
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

// await waits for something that may have brought what was written up to the marks.
func (h *hub) await(ctx context.Context, news <-chan struct{}, after []Mark) error {
	if h.seek == nil {
		select {
		case <-news:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
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
	again := time.NewTimer(seekEvery)
	defer again.Stop()
	select {
	case <-news: // of itself, where it has found it
	case <-again.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
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
