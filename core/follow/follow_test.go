package follow_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

// fake is a server elsewhere, whose streams tell what the test has them tell.
type fake struct {
	mu       sync.Mutex
	streams  chan *fakeStream
	refuse   error // of subscriptions and queries
	away     []string
	read     [][]string // memories that were asked for
	starts   []engram.Start
	memories []string
}

func newFake() *fake { return &fake{streams: make(chan *fakeStream, 8), memories: []string{"A", "B"}} }

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) Subscribe(_ context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.starts = append(f.starts, sub.Start)
	s := &fakeStream{updates: make(chan []engram.Update, 8), ended: make(chan error, 1), epoch: 7}
	f.streams <- s
	return s, nil
}

func (f *fake) Query(_ context.Context, q engram.Query) (*engram.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	var asked []string
	r := &engram.Result{}
	for _, n := range q.Memories {
		asked = append(asked, n.Names.Names...)
	}
	f.read = append(f.read, asked)
	for _, memory := range asked {
		if slices.Contains(f.away, memory) {
			r.Missing = append(r.Missing, engram.Missing{ID: engram.MustID(memory), Reason: engram.MissingUnreachable})
		}
		r.Memories = append(r.Memories, &engram.ResultNode{Name: memory})
	}
	return r, nil
}

func (f *fake) QueryParts(context.Context, engram.Query, func(*engram.Result) error) error {
	return engram.Errorf(engram.Unsupported, "", "it is not asked")
}

func (f *fake) Latest(context.Context, engram.ID) (*engram.Snapshot, error) {
	return nil, engram.Errorf(engram.Unsupported, "", "it is not asked")
}

func (f *fake) AtOrBefore(context.Context, engram.ID, engram.Time) (*engram.Snapshot, error) {
	return nil, engram.Errorf(engram.Unsupported, "", "it is not asked")
}

// reads returns what was asked for since it was called last.
func (f *fake) reads() (read [][]string) {
	f.set(func() { read, f.read = f.read, nil })
	return read
}

type fakeStream struct {
	updates chan []engram.Update
	ended   chan error
	epoch   uint64
}

func (s *fakeStream) Next(ctx context.Context) ([]engram.Update, error) {
	select {
	case u := <-s.updates:
		return u, nil
	case err := <-s.ended:
		return nil, err
	case <-ctx.Done():
		return nil, engram.Errorf(engram.Canceled, "", "%w", ctx.Err())
	}
}

func (s *fakeStream) Epoch() uint64 { return s.epoch }
func (s *fakeStream) Close() error  { return nil }

// log is a view that notes what it is told.
type log struct {
	mu      sync.Mutex
	numbers []uint64
	refuse  error // of what is applied
}

func (l *log) Apply(_ uint64, updates []engram.Update) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refuse; err != nil {
		l.refuse = nil
		return nil, err
	}
	for _, u := range updates {
		l.numbers = append(l.numbers, u.Number)
	}
	return nil, nil
}

func (l *log) told() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.numbers)
}

// readable is a log that can be read anew.
type readable struct{ *log }

func (readable) Query(memories []string) engram.Query {
	if memories == nil {
		memories = []string{"A", "B"}
	}
	return engram.Query{Memories: []engram.QueryNode{{Names: engram.OneOf(memories...)}}}
}

func (readable) Reset(context.Context, *engram.Result, []string) error { return nil }

func update(number uint64, id string) engram.Update {
	return engram.Update{Number: number, ID: engram.MustID(id).At(1)}
}

// following has a view followed in virtual time.
func following(t *testing.T, view func(*log) follow.View, trouble func(error), test func(t *testing.T, srv *fake, l *log, f *follow.Follower, s *fakeStream)) {
	synctest.Test(t, func(t *testing.T) {
		srv, l := newFake(), &log{}
		f := follow.New(srv, view(l), follow.Options{Patterns: []engram.Pattern{engram.MustPattern("A"), engram.MustPattern("B")}, Trouble: trouble})
		if err := f.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.Start()
		test(t, srv, l, f, <-srv.streams)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Wait(t.Context(), follow.Mark{Epoch: 1, Number: 1}); engram.CodeOf(err) != engram.Canceled {
			t.Errorf("after its end, who waits is told %v", err)
		}
	})
}

func asReader(l *log) follow.View { return readable{l} }

func TestWhoWaitsHasWhatWasWritten(t *testing.T) {
	following(t, asReader, nil, func(t *testing.T, srv *fake, l *log, f *follow.Follower, s *fakeStream) {
		waited := make(chan error)
		go func() { waited <- f.Wait(t.Context(), follow.Mark{Epoch: 7, Number: 2}) }()
		s.updates <- []engram.Update{update(1, "A/S/p/e")}
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatal("it waited for number 2 and returned at 1:", err)
		default:
		}
		s.updates <- []engram.Update{update(2, "A/S/p/e")}
		if err := <-waited; err != nil || !slices.Equal(l.told(), []uint64{1, 2}) {
			t.Fatal(err, l.told())
		}
		time.Sleep(time.Second) // the background goes on
		s.updates <- []engram.Update{update(3, "A/S/p/e")}
		synctest.Wait()
		if !f.Has(follow.Mark{Epoch: 7, Number: 3}) {
			t.Error("nobody has taken what came while nobody waited")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Wait(ctx, follow.Mark{Epoch: 7, Number: 4}); engram.CodeOf(err) != engram.Canceled {
			t.Error(err)
		}
	})
}

// What is lost is read anew before the view counts as having it; of a memory that is away that is tried again.
func TestLossesAreReadAnew(t *testing.T) {
	following(t, asReader, nil, func(t *testing.T, srv *fake, _ *log, f *follow.Follower, s *fakeStream) {
		want := func(what string, reads ...[]string) {
			t.Helper()
			synctest.Wait()
			if got := srv.reads(); fmt.Sprint(got) != fmt.Sprint(reads) {
				t.Fatalf("%s: %v were read, want %v", what, got, reads)
			}
		}
		want("at the beginning", []string{"A", "B"})
		srv.set(func() { srv.away = []string{"B"} })
		lossy := update(5, "A/S/p/e")
		lossy.Dropped = 3
		s.updates <- []engram.Update{lossy}
		want("after a loss", []string{"A", "B"})
		if f.Lost() != 3 {
			t.Error("lost are", f.Lost())
		}
		if f.Has(follow.Mark{Epoch: 7, Number: 5}) {
			t.Error("it counts as having what is lost of B")
		}
		time.Sleep(600 * time.Millisecond)
		want("after a pause", []string{"B"})
		time.Sleep(600 * time.Millisecond)
		want("before a pause of twice the length ended")
		srv.set(func() { srv.away = nil })
		time.Sleep(600 * time.Millisecond)
		want("after it", []string{"B"})
		if !f.Has(follow.Mark{Epoch: 7, Number: 5}) {
			t.Error("it does not count as having what was read")
		}
		again := update(6, "B/S/p/e")
		again.Restarted = true
		s.updates <- []engram.Update{again}
		want("of a server that began anew", []string{"B"})
		s.updates <- []engram.Update{update(7, "C/S/p/e")}
		want("of a memory that is new", []string{"C"})
	})
}

// A stream that breaks, and what a view cannot take, is had again from where it was.
func TestWhatBreaksGoesOn(t *testing.T) {
	var troubles []error
	following(t, func(l *log) follow.View { return l }, func(err error) { troubles = append(troubles, err) },
		func(t *testing.T, srv *fake, l *log, f *follow.Follower, s *fakeStream) {
			s.updates <- []engram.Update{update(1, "A/S/p/e")}
			synctest.Wait()
			l.mu.Lock()
			l.refuse = engram.Errorf(engram.Canceled, "", "not now")
			l.mu.Unlock()
			s.updates <- []engram.Update{update(2, "A/S/p/e")}
			time.Sleep(time.Second)
			s = <-srv.streams
			s.updates <- []engram.Update{update(2, "A/S/p/e")}
			synctest.Wait()
			s.ended <- engram.Errorf(engram.Exhausted, "", "too slow")
			time.Sleep(time.Minute)
			s = <-srv.streams
			s.updates <- []engram.Update{update(3, "A/S/p/e")}
			synctest.Wait()
			if !slices.Equal(l.told(), []uint64{1, 2, 3}) {
				t.Error("it was told", l.told())
			}
			from := func(n uint64) engram.Start { return engram.Start{Kind: engram.StartNumber, Number: n, Epoch: 7} }
			if want := []engram.Start{{}, from(1), from(2)}; !slices.Equal(srv.starts, want) {
				t.Errorf("it began at %v, want %v", srv.starts, want)
			}
			if len(troubles) != 4 || troubles[0] == nil || troubles[1] != nil || troubles[2] == nil || troubles[3] != nil {
				t.Error("troubles:", troubles)
			}
		})
}

// What is not there at the beginning is followed as soon as it is, and a server that is closed ends it.
func TestWhatCannotBeOpenedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, l := newFake(), &log{}
		srv.refuse = engram.Errorf(engram.NotFound, "", "not yet")
		f := follow.New(srv, l, follow.Options{})
		if err := f.Open(t.Context()); engram.CodeOf(err) != engram.NotFound {
			t.Fatal(err)
		}
		f.Start()
		time.Sleep(10 * time.Second)
		srv.set(func() { srv.refuse = nil })
		s := <-srv.streams
		s.updates <- []engram.Update{update(1, "A/S/p/e")}
		synctest.Wait()
		if !slices.Equal(l.told(), []uint64{1}) {
			t.Error("it was told", l.told())
		}
		waited := make(chan error)
		go func() { waited <- f.Wait(t.Context(), follow.Mark{Epoch: 7, Number: 9}) }()
		synctest.Wait()
		s.ended <- engram.Errorf(engram.Unavailable, "", "the memory was closed")
		if err := <-waited; engram.CodeOf(err) != engram.Unavailable {
			t.Error("who waits is told", err)
		}
		<-f.Done()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLocalIsOfTheSameProcess(t *testing.T) {
	f := follow.New(newFake(), readable{&log{}}, follow.Options{Local: true})
	if err := f.Open(t.Context()); engram.CodeOf(err) != engram.Unsupported {
		t.Error(err)
	}
}

// A follower in the process of a server that was closed before the first subscription ends, and waits for nobody.
func TestServerOfTheProcessWasClosedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFake()
		server.refuse = engram.Errorf(engram.Unavailable, "", "the memory was closed")
		f := follow.New(server, &log{}, follow.Options{Local: true})
		f.Start()
		<-f.Done()
		if err := f.Wait(t.Context(), follow.Mark{Epoch: 7, Number: 1}); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("it ends with %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}
