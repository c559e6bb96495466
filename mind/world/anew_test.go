package world_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/world"
)

// unsteady is a server that begins anew, whose clock is put back, and whose streams lose updates.
type unsteady struct {
	*testing.T
	engram.Service // its present life
	parts          server.Parts
	dir            string
	close          func()
	clock          engram.Time

	mu      sync.Mutex
	streams []*unsteadyStream
}

// begin begins another life of the server.
func (u *unsteady) begin() {
	for _, s := range u.streams { // they tell of no end
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	if u.close != nil {
		u.close()
	}
	types := idf.NewRegistry()
	journal, err := wal.OpenJournal(wal.JournalOptions{Dir: u.dir, Types: types})
	if err != nil {
		u.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{memories.World(), memories.Object()}, Types: types, Journal: journal, Log: testkit.Quiet, Now: func() engram.Time {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.clock++
		return u.clock
	}})
	if err != nil {
		u.Fatal(err)
	}
	u.mu.Lock()
	u.Service, u.parts, u.close = s, s.Parts(), func() { s.Close() }
	u.mu.Unlock()
	for _, s := range u.streams {
		s.openLocked(engram.Start{Kind: engram.StartNumber}, true)
	}
}

// erase removes what an entity has at times that n divides, as what is forgotten on request is.
func (u *unsteady) erase(entity engram.ID, n engram.Time) {
	w := u.parts.Working
	err := w.Removals().Note(wm.Removal{IDs: []engram.ID{entity}}, func(*wm.Removal) error { return nil })
	if err == nil {
		_, err = w.Erase(u.Context(), entity, func(s *engram.Snapshot) bool { return s.Time%n == 0 })
	}
	if err != nil {
		u.Fatal(err)
	}
}

func (u *unsteady) life() engram.Service {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.Service
}

func (u *unsteady) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	return u.life().Query(ctx, q)
}

func (u *unsteady) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	s := &unsteadyStream{u: u, sub: sub}
	s.openLocked(sub.Start, false)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.streams = append(u.streams, s)
	return s, nil
}

// unsteadyStream is a stream over several lives of a server.
type unsteadyStream struct {
	u         *unsteady
	sub       engram.Subscription
	mu        sync.Mutex
	inner     pollable
	restarted bool
	losses    []loss
	lost      uint64
}

type pollable interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
}

func (s *unsteadyStream) openLocked(start engram.Start, restarted bool) {
	s.sub.Start = start
	inner, err := s.u.life().Subscribe(context.Background(), s.sub)
	if err != nil {
		s.u.Fatal(err)
	}
	s.inner, s.restarted, s.losses = inner.(pollable), restarted, nil
}

// loss is how many updates after one are lost, up to another one.
type loss struct{ after, n, last uint64 }

// lose has the stream lose some of what is to come.
func (s *unsteadyStream) lose(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losses = append(s.losses, loss{s.u.parts.Working.Number(), n, math.MaxUint64})
}

// forgive has the stream lose nothing of what is to come.
func (s *unsteadyStream) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.losses {
		s.losses[i].last = min(s.losses[i].last, s.u.parts.Working.Number())
	}
}

// loses reports whether an update is lost.
func (s *unsteadyStream) loses(u *engram.Update) bool {
	for i := range s.losses {
		if l := &s.losses[i]; l.n > 0 && u.Number <= l.last && (u.Number > l.after || u.Removed && u.Number == l.after) {
			l.n--
			return true
		}
	}
	return false
}

func (s *unsteadyStream) Poll() ([]engram.Update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		updates, err := s.inner.Poll()
		if err != nil || len(updates) == 0 {
			return nil, err
		}
		var come []engram.Update
		for _, u := range updates {
			if s.loses(&u) {
				s.lost++
				continue
			}
			u.Dropped, u.Restarted = s.lost, s.restarted
			s.lost, s.restarted = 0, false
			come = append(come, u)
		}
		if len(come) > 0 {
			return come, nil
		}
	}
}

// Wait waits for ever: who asks polls.
func (s *unsteadyStream) Wait(ctx context.Context) error {
	<-ctx.Done()
	return engram.Errorf(engram.Canceled, "", "%w", ctx.Err())
}

func (s *unsteadyStream) Next(context.Context) ([]engram.Update, error) {
	return nil, engram.Errorf(engram.Internal, "", "it is polled")
}

func (s *unsteadyStream) Epoch() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner.Epoch()
}

func (s *unsteadyStream) Close() error { return nil }

// A world that follows, over losses, removals, other lives of the server and a clock that is put back, says what one says that reads
// everything anew: at present, and at every time and belief.
func TestFollowedWorldIsTheOneReadAnew(t *testing.T) {
	start := engram.Now().Add(-24 * time.Hour)
	codec, err := world.NewCodec(t.Context(), serve0(t))
	if err != nil {
		t.Fatal(err)
	}
	drawn := rapid.Custom(func(t *rapid.T) []deed { return deeds(t, codec, start) })
	shared := 0
	for seed := range testkit.Repeats(10, 200) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		ctx := testkit.Context(t)
		u := &unsteady{T: t, dir: t.TempDir(), clock: start + 1000}
		u.begin()
		watched, err := world.Over(ctx, u, "test", world.DefaultRules(), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		var said []engram.ID // entities
		for round := range 6 {
			for _, d := range drawn.Example(seed*10 + round) {
				switch said = append(said, d.entity); r.IntN(8) {
				case 0:
					u.streams[0].lose(1 + r.Uint64N(3))
				case 1:
					u.mu.Lock()
					u.clock -= engram.Time(r.IntN(30))
					u.mu.Unlock()
				case 2:
					if r.IntN(2) == 0 {
						u.streams[0].lose(1)
					}
					u.erase(said[r.IntN(len(said))], engram.Time(1+r.IntN(3)))
				}
				up := engram.EntityUpdate{Entity: d.entity, Time: d.at + engram.Time(4*round), Instances: []engram.Instance{engram.NewInstance(d.payload)}}
				testkit.Commit(t, u.life(), up)
			}
			if r.IntN(3) == 0 {
				u.begin()
			}
			u.streams[0].forgive() // what was lost last is told with what comes next
			testkit.Commit(t, u.life(), engram.EntityUpdate{Entity: engram.MustID("World/State/test/tick"), Time: start + engram.Time(round), Instances: []engram.Instance{engram.NewInstance(tick(t, codec))}})
			f, err := watched.View(ctx)
			if err != nil {
				t.Fatal(err)
			}
			anew, err := world.Over(ctx, u.life(), "anew", world.DefaultRules())
			if err != nil {
				t.Fatal(err)
			}
			now, err := anew.View(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := described(f), described(now); got != want {
				t.Fatalf("seed %d, round %d: the present says\n%sother than\n%s", seed, round, got, want)
			}
			if err := anew.Close(); err != nil {
				t.Fatal(err)
			}
			for range 8 {
				at := start + engram.Time(r.IntN(4*round+10))
				var asOf *engram.Time
				what := fmt.Sprintf("seed %d, round %d: at %d", seed, round, at-start)
				if r.IntN(2) == 0 {
					asOf = new(start + 1000 - 30 + engram.Time(r.IntN(100*round+100)))
					what += fmt.Sprintf(" as of %d", *asOf-start)
				}
				if watched.SharesPast(ctx, at, asOf) {
					shared++
				}
				past, err := watched.Past(ctx, at, asOf)
				if err != nil {
					t.Fatal(what, err)
				}
				read, err := watched.ReadPast(ctx, at, asOf)
				if err != nil {
					t.Fatal(what, err)
				}
				if got, want := described(past), described(read); got != want {
					t.Fatalf("%s, it says\n%sother than\n%s", what, got, want)
				}
			}
		}
		if err := watched.Close(); err != nil {
			t.Fatal(err)
		}
		u.close()
	}
	if shared == 0 {
		t.Error("no past was made from the present")
	}
}

func serve0(t *testing.T) engram.Types {
	u := &unsteady{T: t, dir: t.TempDir()}
	u.begin()
	t.Cleanup(u.close)
	return u.Service
}

// tick is a state that says nothing.
func tick(t *testing.T, codec *world.Codec) engram.Payload {
	p, err := codec.EncodeState(&world.State{Item: "tick", Name: "tick", Source: world.Perception})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
