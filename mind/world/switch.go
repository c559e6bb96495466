package world

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Switch is a [Model] that passes calls on to another one, which can be exchanged while it is
// in use: no call fails for it, and watchers go on.
type Switch struct {
	mu   sync.Mutex
	turn *turn
	past map[uint64]bool // epochs of marks of models before; a model that does not know one does not wait for it
}

// turn is the time in which a model is behind a switch.
type turn struct {
	Model
	calls  sync.WaitGroup
	epochs map[uint64]bool // of the marks that it returned; under the switch's lock
	over   chan struct{}   // closed when another one took its place
}

// NewSwitch returns a switch with a model behind it.
func NewSwitch(m Model) *Switch {
	return &Switch{turn: newTurn(m), past: map[uint64]bool{}}
}

func newTurn(m Model) *turn {
	return &turn{Model: m, epochs: map[uint64]bool{}, over: make(chan struct{})}
}

// Exchange puts another model behind the switch, and returns the one before when no call is in
// it any more.
func (s *Switch) Exchange(m Model) Model {
	s.mu.Lock()
	old := s.turn
	s.turn = newTurn(m)
	maps.Copy(s.past, old.epochs)
	close(old.over)
	s.mu.Unlock()
	old.calls.Wait()
	return old.Model
}

// enter returns the model for a call, which leaves it by calls.Done, without the marks that it
// cannot know.
func (s *Switch) enter(after []Mark) (*turn, []Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn.calls.Add(1)
	after = slices.DeleteFunc(slices.Clone(after), func(m Mark) bool { return s.past[m.Epoch] && !s.turn.knows(m.Epoch) })
	return s.turn, after
}

// knows reports whether the model may come to have what was written in an epoch: it was behind the
// switch before, or is over the same server as one that was.
func (t *turn) knows(epoch uint64) bool {
	m, ok := t.Model.(interface{ knows(epoch uint64) bool })
	return ok && m.knows(epoch)
}

// write calls the model and remembers the epoch of the mark.
func (s *Switch) write(f func(Model) (Mark, error)) (Mark, error) {
	t, _ := s.enter(nil)
	defer t.calls.Done()
	m, err := f(t.Model)
	if m.Number > 0 {
		s.mu.Lock()
		if t.epochs[m.Epoch] = true; t != s.turn {
			s.past[m.Epoch] = true
		}
		s.mu.Unlock()
	}
	return m, err
}

// until returns a context that ends with the turn, too.
func (t *turn) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-t.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// isOver reports whether another model took the place of this one.
func (t *turn) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// View implements [Model].
func (s *Switch) View(ctx context.Context, after ...Mark) (*Forest, error) {
	for {
		t, marks := s.enter(after)
		f, err := t.view(ctx, marks)
		t.calls.Done()
		if err == nil || !t.isOver() || ctx.Err() != nil {
			return f, err
		}
	}
}

// Past implements [Model].
func (s *Switch) Past(ctx context.Context, at engram.Time, asOf *engram.Time) (*Forest, error) {
	t, _ := s.enter(nil)
	defer t.calls.Done()
	return t.Past(ctx, at, asOf)
}

func (t *turn) view(ctx context.Context, after []Mark) (*Forest, error) {
	if len(after) == 0 {
		return t.View(ctx)
	}
	ctx, cancel := t.until(ctx)
	defer cancel()
	return t.View(ctx, after...)
}

// Update implements [Model].
func (s *Switch) Update(ctx context.Context, items ...NamedItem) (refused []Refusal, mark Mark, err error) {
	mark, err = s.write(func(m Model) (mark Mark, err error) {
		refused, mark, err = m.Update(ctx, items...)
		return mark, err
	})
	return refused, mark, err
}

// StateAll implements [Model].
func (s *Switch) StateAll(ctx context.Context, dryRun bool, all ...Stated) (failed []error, mark Mark, err error) {
	mark, err = s.write(func(m Model) (mark Mark, err error) {
		failed, mark, err = m.StateAll(ctx, dryRun, all...)
		return mark, err
	})
	return failed, mark, err
}

// UpdatePose implements [Model].
func (s *Switch) UpdatePose(ctx context.Context, name, frame string, p pose.Pose, c pose.Cov) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.UpdatePose(ctx, name, frame, p, c) })
}

// Attach implements [Model].
func (s *Switch) Attach(ctx context.Context, name, parent string, at *pose.Pose) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.Attach(ctx, name, parent, at) })
}

// Remove implements [Model].
func (s *Switch) Remove(ctx context.Context, name, reason string, children Children) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.Remove(ctx, name, reason, children) })
}

// Withdraw implements [Model].
func (s *Switch) Withdraw(ctx context.Context, name string) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.Withdraw(ctx, name) })
}

// Articulate implements [Model].
func (s *Switch) Articulate(ctx context.Context, joint string, a Articulation) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.Articulate(ctx, joint, a) })
}

// SetState implements [Model].
func (s *Switch) SetState(ctx context.Context, state State, confidence float64) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.SetState(ctx, state, confidence) })
}

// SetMap implements [Model].
func (s *Switch) SetMap(ctx context.Context, name string, described Map, data []byte) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.SetMap(ctx, name, described, data) })
}

// MapData implements [Model].
func (s *Switch) MapData(ctx context.Context, name string) ([]byte, error) {
	t, _ := s.enter(nil)
	defer t.calls.Done()
	return t.MapData(ctx, name)
}

// SetComponent implements [Model].
func (s *Switch) SetComponent(ctx context.Context, name string, c Component) (Mark, error) {
	return s.write(func(m Model) (Mark, error) { return m.SetComponent(ctx, name, c) })
}

// Watch implements [Model].
func (s *Switch) Watch(ctx context.Context) (Watcher, error) {
	w := &switchWatcher{s: s}
	if err := w.follow(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// switchWatcher watches the model behind a switch, and goes over to the next.
type switchWatcher struct {
	s    *Switch
	turn *turn   // of in; as is seen, of who waits
	seen *Forest // the last view

	mu     sync.Mutex
	in     Watcher
	closed bool
}

// follow goes over to the model that is behind the switch.
func (w *switchWatcher) follow(ctx context.Context) error {
	t, _ := w.s.enter(nil)
	defer t.calls.Done()
	in, err := t.Watch(ctx)
	if err != nil {
		return err
	}
	f, err := t.View(ctx)
	if err != nil {
		in.Close()
		return err
	}
	w.turn, w.seen = t, f
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in != nil {
		w.in.Close()
	}
	if w.in = in; w.closed {
		in.Close()
	}
	return nil
}

// Next implements [Watcher]. After an exchange all items of both worlds may differ.
func (w *switchWatcher) Next(ctx context.Context) (Change, error) {
	w.mu.Lock()
	in := w.in
	w.mu.Unlock()
	turnCtx, cancel := w.turn.until(ctx)
	defer cancel()
	c, err := in.Next(turnCtx)
	if err == nil {
		w.seen = c.Forest
		return c, nil
	}
	if !w.turn.isOver() || ctx.Err() != nil {
		return c, err
	}
	names := map[string]engram.Time{}
	for m := range w.seen.All() {
		names[m.Name] = engram.MinTime
	}
	if err := w.follow(ctx); err != nil {
		return Change{}, err
	}
	for m := range w.seen.All() {
		names[m.Name] = engram.MinTime
	}
	return Change{w.seen, slices.Sorted(maps.Keys(names)), true, names}, nil
}

// Close implements [Watcher].
func (w *switchWatcher) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.in.Close()
}
