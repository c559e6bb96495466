package follow

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Shared keeps views of a server's memories, one for all who may read the same and ask for the same
// key. A view is opened when it is asked for first, and closed when the server stops, or when others were asked for
// since and nobody uses it. All methods are safe for concurrent use.
type Shared struct {
	most int
	open func(ctx context.Context, svc engram.Service, key any, told func(done, of int)) (Opened, error)

	mu      sync.Mutex
	ctx     context.Context // ends with the server
	svc     engram.Service  // nil while the server is not running
	views   []*shared       // those that were taken last come first
	running sync.WaitGroup  // a goroutine for each view; begun while svc is there
}

// Opened is something that follows a service.
type Opened interface {
	// Done is closed when it follows no more.
	Done() <-chan struct{}
	// Close ends it, and waits for what it does in the background.
	Close() error
}

// shared is a view for all who may read the same.
type shared struct {
	scope engram.Scope // nil is everything
	key   any
	ready chan struct{} // closed when view or err is there
	view  Opened
	err   error
	idle  chan struct{} // closed when nobody uses what has left

	// Under the lock of Shared.
	users    int
	left     bool          // nobody gets it any more
	done, of int           // how far it is opened
	moved    chan struct{} // closed when it is further
}

// NewShared returns views that open opens, at most so many that somebody can still get; those that were taken longest ago
// leave first. The service that open is given answers within the scope of who asked (engram.ScopeOf), whatever the
// context of a call says. The key is that of [Shared.Take]. While it opens, open says with told how much of how much
// is done. Its ctx ends with the server.
func NewShared(most int, open func(ctx context.Context, svc engram.Service, key any, told func(done, of int)) (Opened, error)) *Shared {
	return &Shared{most: most, open: open}
}

// Start says of which service there are views, until ctx ends. It is a Start hook of a memory.
func (s *Shared) Start(ctx context.Context, svc engram.Service) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.svc = ctx, svc
	return nil
}

// Run waits until ctx ends and the last view is closed. There are no views from then on. It is a Run hook, of the
// same memory as [Shared.Start].
func (s *Shared) Run(ctx context.Context, _ engram.Service) error {
	<-ctx.Done()
	s.mu.Lock()
	s.svc, s.views = nil, nil
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Take returns the view for who may read what the caller may, and for a key, which can be compared. The caller calls
// release when it is used no more. While the view is opened, by this call or another one, told is called with how much
// of how much is done, unless it is nil. The call ends with ctx; opening goes on then, for others. The error is
// Unavailable while the server is not running, Canceled, or that of opening.
func (s *Shared) Take(ctx context.Context, key any, told func(done, of int)) (view Opened, release func(), err error) {
	v, err := s.find(engram.ScopeOf(ctx), key)
	if err != nil {
		return nil, nil, err
	}
	if err := s.await(ctx, v, told); err != nil {
		s.giveBack(v)
		return nil, nil, err
	}
	return v.view, sync.OnceFunc(func() { s.giveBack(v) }), nil
}

// await waits until a view is opened, and tells how far that is.
func (s *Shared) await(ctx context.Context, v *shared, told func(done, of int)) error {
	for {
		s.mu.Lock()
		done, of, moved := v.done, v.of, v.moved
		s.mu.Unlock()
		select {
		case <-v.ready:
			return v.err
		default:
		}
		if told != nil {
			told(done, of)
		}
		select {
		case <-v.ready:
		case <-moved:
		case <-ctx.Done():
			return engram.Errorf(engram.Canceled, "", "the question was given up before what it asks of was read: %w", ctx.Err())
		}
	}
}

// find returns the view of a scope and a key, to be given back; a new one if there is none that follows its memories.
func (s *Shared) find(scope engram.Scope, key any) (*shared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.svc == nil {
		return nil, engram.Errorf(engram.Unavailable, "", "the server is not running")
	}
	i := slices.IndexFunc(s.views, func(v *shared) bool { return v.scope == scope && v.key == key })
	if i >= 0 && s.views[i].over() {
		s.leaveLocked(i)
		i = -1
	}
	var v *shared
	if i < 0 {
		v = &shared{scope: scope, key: key, ready: make(chan struct{}), idle: make(chan struct{}), moved: make(chan struct{})}
		ctx, svc := s.ctx, s.svc
		if scope != nil {
			svc = scoped{svc, scope}
		}
		s.running.Go(func() { s.live(ctx, svc, v) })
	} else {
		v = s.views[i]
		s.views = slices.Delete(s.views, i, i+1)
	}
	s.views = slices.Insert(s.views, 0, v)
	v.users++
	if len(s.views) > s.most {
		s.leaveLocked(len(s.views) - 1)
	}
	return v, nil
}

// live has a view from its beginning until nobody uses it or ctx ends.
func (s *Shared) live(ctx context.Context, svc engram.Service, v *shared) {
	v.view, v.err = s.open(ctx, svc, v.key, func(done, of int) { s.tell(v, done, of) })
	close(v.ready)
	if v.err != nil {
		return
	}
	select {
	case <-v.idle:
	case <-ctx.Done():
	}
	_ = v.view.Close() // it is only read
}

// tell notes how far a view is opened.
func (s *Shared) tell(v *shared, done, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.done, v.of = done, of
	close(v.moved)
	v.moved = make(chan struct{})
}

// over reports whether the view came to nothing, or follows its memories no more.
func (v *shared) over() bool {
	select {
	case <-v.ready:
	default:
		return false
	}
	if v.err != nil {
		return true
	}
	select {
	case <-v.view.Done():
		return true
	default:
		return false
	}
}

// leaveLocked takes a view out of the list.
func (s *Shared) leaveLocked(i int) {
	v := s.views[i]
	s.views = slices.Delete(s.views, i, i+1)
	v.left = true
	if v.users == 0 {
		close(v.idle)
	}
}

func (s *Shared) giveBack(v *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.users--; v.users == 0 && v.left {
		close(v.idle)
	}
}
