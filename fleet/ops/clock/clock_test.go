package clock_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// link is a way to a server whose clock is off, with delays that differ.
type link struct {
	now         engram.Time
	off         time.Duration
	there, back time.Duration
}

func (l *link) clock() engram.Time { return l.now }

func (l *link) ask(context.Context) (received, sent engram.Time, err error) {
	l.now += engram.Time(l.there)
	received = l.now + engram.Time(l.off)
	l.now += 1000
	sent = l.now + engram.Time(l.off)
	l.now += engram.Time(l.back)
	return received, sent, nil
}

// The offset is never wrong by more than the uncertainty says, however asymmetric and
// slow the ways are.
func TestOffsetIsWithinItsUncertainty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		off := time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "off"))
		l := &link{now: 1_700_000_000_000_000_000, off: off}
		var f clock.Filter
		for i := range rapid.IntRange(1, 20).Draw(t, "n") {
			l.there = time.Duration(rapid.Int64Range(0, 1e9).Draw(t, fmt.Sprint("there", i)))
			l.back = time.Duration(rapid.Int64Range(0, 1e9).Draw(t, fmt.Sprint("back", i)))
			s, err := clock.Measure(t.Context(), l.clock, 1, l.ask)
			if err != nil {
				t.Fatal(err)
			}
			f.Add(s)
		}
		s, _ := f.Best()
		if wrong := max(s.Offset-off, off-s.Offset); wrong > s.Uncertainty()+2 {
			t.Fatalf("offset %v instead of %v, said to be right within %v", s.Offset, off, s.Uncertainty())
		}
	})
}

// A clock that is set shows at the next sample, although older ones had less delay.
func TestFilterNoticesThatAClockWasSet(t *testing.T) {
	var f clock.Filter
	f.Add(clock.Sample{Offset: 10 * time.Second, Delay: time.Millisecond, At: 1})
	f.Add(clock.Sample{Offset: 10*time.Second + 20*time.Millisecond, Delay: 60 * time.Millisecond, At: 2})
	if s, _ := f.Best(); s.At != 1 {
		t.Errorf("a sample with more delay counts: %+v", s)
	}
	f.Add(clock.Sample{Offset: 2 * time.Millisecond, Delay: 60 * time.Millisecond, At: 3})
	if s, _ := f.Best(); s.At != 3 {
		t.Errorf("the clock was set, but %+v counts", s)
	}
}

func TestServerThatTellsNothing(t *testing.T) {
	_, err := clock.Measure(t.Context(), engram.Now, 3, func(context.Context) (a, b engram.Time, err error) { return 0, 0, nil })
	if engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a server that does not tell its clock: %v", err)
	}
}

// All peers are asked after some rounds, those that are gone are forgotten, and one that
// does not answer keeps what was known of it.
func TestWatch(t *testing.T) {
	var peers []clock.Peer
	for i := range 20 {
		peers = append(peers, clock.Peer{Server: fmt.Sprintf("server %02d", i)})
	}
	away, told := false, 0
	w := clock.Begin(clock.WatchOptions{
		Every: time.Hour, Now: func() engram.Time { return 1e18 }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tell:  func(_ context.Context, skews []clock.Skew) { told = len(skews) },
		Peers: func(context.Context) ([]clock.Peer, error) { return peers, nil },
		Connect: func(_ context.Context, p clock.Peer) (clock.Ask, func(), error) {
			if away {
				return nil, nil, engram.Errorf(engram.Unavailable, p.Server, "it is away")
			}
			at := engram.Time(1e18)
			if p.Server == "server 07" {
				at += engram.Time(10 * time.Second)
			}
			return func(context.Context) (a, b engram.Time, err error) { return at, at, nil }, func() {}, nil
		},
	})
	w.Close() // the rounds are the test's
	for range 3 {
		w.Round(t.Context())
	}
	far := 0
	for _, s := range w.Skews() {
		if s.Offset == 10*time.Second && s.Server == "server 07" {
			far++
		} else if s.Offset != 0 || !s.Known() {
			t.Errorf("%+v", s)
		}
	}
	if n := len(w.Skews()); far != 1 || n != 20 || told != 20 {
		t.Errorf("%d servers, %d far off; want 20 and 1", n, far)
	}
	away, peers = true, peers[7:9]
	w.Round(t.Context())
	if got := w.Skews(); len(got) != 2 || got[0].Error == "" || got[0].Offset != 10*time.Second {
		t.Errorf("after the servers are gone: %+v", got)
	}
}

// A peer that does not answer at first is asked again soon, less and less often, and not before those that were
// never asked.
func TestWhoDoesNotAnswerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []time.Duration
		began := time.Now()
		w := clock.Begin(clock.WatchOptions{
			Every: 30 * time.Second, Now: func() engram.Time { return 1e18 },
			Peers: func(context.Context) ([]clock.Peer, error) { return []clock.Peer{{Server: "late"}}, nil },
			Connect: func(_ context.Context, p clock.Peer) (clock.Ask, func(), error) {
				mu.Lock()
				defer mu.Unlock()
				if asked = append(asked, time.Since(began)); len(asked) < 4 {
					return nil, nil, engram.Errorf(engram.Unavailable, p.Server, "it is about to begin")
				}
				return func(context.Context) (a, b engram.Time, err error) { return 1e18, 1e18, nil }, func() {}, nil
			},
		})
		defer w.Close()
		time.Sleep(20 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}; !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
	})
}

// A peer that comes between two rounds is asked soon, and not again before the next round.
func TestWhoComesIsAskedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		peers, asked := []clock.Peer{}, map[string]int{}
		w := clock.Begin(clock.WatchOptions{
			Every: 30 * time.Second, Now: func() engram.Time { return 1e18 },
			Peers: func(context.Context) ([]clock.Peer, error) {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(peers), nil
			},
			Connect: func(_ context.Context, p clock.Peer) (clock.Ask, func(), error) {
				mu.Lock()
				defer mu.Unlock()
				asked[p.Server]++
				return func(context.Context) (a, b engram.Time, err error) { return 1e18, 1e18, nil }, func() {}, nil
			},
		})
		defer w.Close()
		for _, at := range []struct {
			comes  string
			within time.Duration
			want   map[string]int
		}{
			{"first", 1500 * time.Millisecond, map[string]int{"first": 1}},
			{"second", 2 * time.Second, map[string]int{"first": 1, "second": 1}},
			{"third", 2 * time.Second, map[string]int{"first": 1, "second": 1, "third": 1}},
			{"second", 2 * time.Second, map[string]int{"first": 1, "second": 2, "third": 1}}, // after a restart
			{"", 22 * time.Second, map[string]int{"first": 1, "second": 2, "third": 1}},
			{"", 5 * time.Second, map[string]int{"first": 2, "second": 3, "third": 2}},
		} {
			if at.comes != "" {
				mu.Lock()
				peers = slices.DeleteFunc(peers, func(p clock.Peer) bool { return p.Server == at.comes })
				peers = append(peers, clock.Peer{Server: at.comes, Epoch: uint64(len(asked))})
				mu.Unlock()
			}
			time.Sleep(at.within)
			mu.Lock()
			if !maps.Equal(asked, at.want) {
				t.Errorf("after %v: %v, want %v", at.within, asked, at.want)
			}
			mu.Unlock()
		}
	})
}

// What was measured of a server's clock is not believed of the next run of the server.
func TestClockAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		epoch, clocks, down := uint64(1), map[uint64]engram.Time{1: 25e9, 2: 0}, false
		w := clock.Begin(clock.WatchOptions{
			Every: 30 * time.Second, Now: func() engram.Time { return 1e18 },
			Peers: func(context.Context) ([]clock.Peer, error) {
				mu.Lock()
				defer mu.Unlock()
				return []clock.Peer{{Server: "robot2", Epoch: epoch}}, nil
			},
			Connect: func(_ context.Context, p clock.Peer) (clock.Ask, func(), error) {
				mu.Lock()
				defer mu.Unlock()
				if down {
					return nil, nil, engram.Errorf(engram.Unavailable, p.Server, "it is not up yet")
				}
				at := 1e18 + clocks[p.Epoch]
				return func(context.Context) (a, b engram.Time, err error) { return at, at, nil }, func() {}, nil
			},
		})
		defer w.Close()
		for _, step := range []struct {
			epoch  uint64
			down   bool
			within time.Duration
			want   time.Duration
		}{{1, false, 2 * time.Second, 25 * time.Second}, {2, true, 2 * time.Second, 25 * time.Second}, {2, false, 3 * time.Second, 0}} {
			mu.Lock()
			epoch, down = step.epoch, step.down
			mu.Unlock()
			time.Sleep(step.within)
			if all := w.Skews(); len(all) != 1 || all[0].Offset != step.want {
				t.Errorf("in run %d: %+v, want %v", step.epoch, all, step.want)
			}
		}
	})
}
