package follow

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
)

// opened is a view that only knows whether it is closed.
type opened struct {
	svc    engram.Service
	done   chan struct{}
	closed chan struct{}
}

func (o *opened) Done() <-chan struct{} { return o.done }
func (o *opened) Close() error          { close(o.closed); return nil }

func (o *opened) isClosed() bool {
	select {
	case <-o.closed:
		return true
	default:
		return false
	}
}

func open(_ context.Context, svc engram.Service, _ any, _ func(done, of int)) (Opened, error) {
	return &opened{svc, make(chan struct{}), make(chan struct{})}, nil
}

// running starts views of no service until the test ends.
func running(t *testing.T, s *Shared) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	if err := s.Start(ctx, struct{ engram.Service }{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, nil) }()
	t.Cleanup(func() { stop(); <-ended })
}

func take(t *testing.T, s *Shared, scope engram.Scope, key any) (*opened, func()) {
	t.Helper()
	ctx := t.Context()
	if scope != nil {
		ctx = engram.WithScope(ctx, scope)
	}
	v, release, err := s.Take(ctx, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*opened), release
}

// some is a scope of which there are several.
type some struct {
	none
	n int
}

// Who may read the same and asks for the same shares a view; nobody else gets it.
func TestViewsAreOfOneScopeAndKey(t *testing.T) {
	s := NewShared(8, open)
	running(t, s)
	seen := map[*opened]bool{}
	for _, scope := range []engram.Scope{nil, some{n: 1}, some{n: 2}} {
		for _, key := range []any{nil, "a"} {
			v, release := take(t, s, scope, key)
			again, release2 := take(t, s, scope, key)
			if v != again || seen[v] {
				t.Errorf("the view of %v, %v is not its own", scope, key)
			}
			seen[v] = true
			if of, scoped := v.svc.(scoped); scoped != (scope != nil) || scoped && of.scope != scope {
				t.Errorf("the view of %v reads %v", scope, v.svc)
			}
			release()
			release2()
		}
	}
}

// The view that was taken longest ago leaves first; it is closed when nobody uses it, and not before.
func TestTakenLongestAgoLeavesFirst(t *testing.T) {
	s := NewShared(2, open)
	running(t, s)
	a, releaseA := take(t, s, nil, "a")
	b, releaseB := take(t, s, nil, "b")
	again, releaseAgain := take(t, s, nil, "a")
	if again != a {
		t.Error("a second view of a")
	}
	_, releaseC := take(t, s, nil, "c") // b leaves
	releaseC()
	releaseA()
	releaseAgain()
	if b.isClosed() || a.isClosed() {
		t.Error("a view is closed that is used, or kept")
	}
	releaseB()
	releaseB() // which counts once
	<-b.closed
	if anew, release := take(t, s, nil, "b"); anew == b {
		t.Error("a closed view is taken")
	} else {
		release()
	}
	<-a.closed // c was taken later
}

// What follows its memories no more, or could not be opened, is opened anew.
func TestOpenedAnew(t *testing.T) {
	broken := errors.New("broken")
	s := NewShared(2, func(ctx context.Context, svc engram.Service, key any, told func(done, of int)) (Opened, error) {
		if broken != nil {
			return nil, broken
		}
		return open(ctx, svc, key, told)
	})
	if _, _, err := s.Take(t.Context(), nil, nil); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("before the start: %v", err)
	}
	running(t, s)
	if _, _, err := s.Take(t.Context(), nil, nil); err != broken {
		t.Errorf("%v, want %v", err, broken)
	}
	broken = nil
	v, release := take(t, s, nil, nil)
	close(v.done)
	release()
	if again, release := take(t, s, nil, nil); again == v {
		t.Error("what follows no more is taken")
	} else {
		release()
	}
	<-v.closed
}

// Who waits is told how far opening is, and may give up without ending it for others.
func TestOpeningIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps, opens := make(chan int), 0
		s := NewShared(2, func(ctx context.Context, svc engram.Service, key any, told func(done, of int)) (Opened, error) {
			opens++
			for step := range steps {
				told(step, 3)
			}
			return open(ctx, svc, key, told)
		})
		ctx, stop := context.WithCancel(context.Background())
		_ = s.Start(ctx, struct{ engram.Service }{})
		go s.Run(ctx, nil)
		defer stop()
		impatient, giveUp := context.WithCancel(context.Background())
		gone := make(chan error)
		go func() {
			_, _, err := s.Take(impatient, nil, nil)
			gone <- err
		}()
		var told []int
		got := make(chan error)
		go func() {
			_, release, err := s.Take(context.Background(), nil, func(done, _ int) { told = append(told, done) })
			release()
			got <- err
		}()
		for step := range 3 {
			synctest.Wait()
			steps <- step + 1
		}
		synctest.Wait()
		giveUp()
		if err := <-gone; engram.CodeOf(err) != engram.Canceled {
			t.Errorf("what was given up ends with %v", err)
		}
		close(steps)
		if err := <-got; err != nil || opens != 1 || !slices.Equal(told, []int{0, 1, 2, 3}) {
			t.Errorf("%v after %d openings, told %v", err, opens, told)
		}
	})
}
