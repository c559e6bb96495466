package server_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// What is stamped ahead of a clock that was set right is told, once in the log, with what to
// do, until it is the present.
func TestStampsAheadAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		var log bytes.Buffer
		s, err := server.New(server.Config{
			Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{{ID: engram.MustID("Test/Core")}}}},
			Now:      func() engram.Time { return engram.Now().Add(time.Duration(ahead.Load())) },
			Log:      slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := idf.ValuePayload("x")
		if err != nil {
			t.Fatal(err)
		}
		put := func(entity string) {
			t.Helper()
			now := engram.Now().Add(time.Duration(ahead.Load()))
			for _, r := range commit(t, s, engram.EntityUpdate{Entity: engram.MustID("Test/Core/me/" + entity), Time: now, Instances: []engram.Instance{engram.NewInstance(p)}}) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
		}
		const hours = 5 * time.Hour
		ahead.Store(int64(hours))
		put("a")
		put("b")
		if got := s.Troubles(); len(got) > 0 {
			t.Errorf("while the clock is ahead, %q is told", got)
		}
		ahead.Store(0)
		put("a")
		put("c")
		got := s.Troubles()
		if len(got) != 1 {
			t.Fatalf("troubles are %q", got)
		}
		for _, part := range []string{"of 2 entities", "Test/Core/me/", "up to 5h0m0s ahead", "gone when the server is started anew", "max ahead"} {
			if !strings.Contains(got[0], part) {
				t.Errorf("%q is not in %q", part, got[0])
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "of 2 entities") {
			t.Errorf("the log has %s", text)
		}
		time.Sleep(hours)
		if got := s.Troubles(); len(got) > 0 {
			t.Errorf("when it is the present, %q is told", got)
		}
	})
}

// What an earlier epoch has left on the disk, stamped ahead of the clock, is told from the start
// on, whatever the working memory has of it, until what is advised is done.
func TestStampsAheadOnDiskAreTold(t *testing.T) {
	const year = 365 * 24 * time.Hour
	dir := t.TempDir()
	var ahead atomic.Int64
	now := func() engram.Time { return engram.Now().Add(time.Duration(ahead.Load())) }
	begin := func() *server.Server {
		store, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Now: now, Log: testkit.Quiet, DiskLimit: 1})
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.New(server.Config{
			Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{
				{ID: engram.MustID("Test/Core"), History: engram.Bounds{MaxCount: 1}},
				{ID: engram.MustID("Test/Simulated"), MaxAhead: engram.AnyAhead},
			}}},
			Now: now, Store: store, Log: testkit.Quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	commitAll := func(s *server.Server) {
		t.Helper()
		for _, e := range []string{"Test/Core/me/a", "Test/Core/me/b", "Test/Simulated/me/a"} {
			for _, r := range commit(t, s, testkit.Update(t, e, now(), "x")) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
		}
	}
	s := begin()
	ahead.Store(int64(year))
	commitAll(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ahead.Store(0)
	s = begin()
	commitAll(s)
	got := s.Troubles()
	if len(got) != 1 {
		t.Fatalf("troubles are %q", got)
	}
	for _, part := range []string{"of 2 entities", "Test/Core/me/", `'engram ltm forget "Test/Core" --range`} {
		if !strings.Contains(got[0], part) {
			t.Errorf("%q is not in %q", part, got[0])
		}
	}
	if strings.Contains(got[0], "Simulated") {
		t.Errorf("a segment that takes any time is named: %q", got[0])
	}
	order := ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern("Test/Core")}, Span: engram.Interval{Start: now().Add(2 * time.Minute), End: engram.MaxTime}, Why: "clock"}
	if _, err := s.LongTerm().Forget(t.Context(), order, nil); err != nil {
		t.Fatal(err)
	}
	if got = s.Troubles(); len(got) > 0 {
		t.Errorf("when it is forgotten, %q is told", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A trouble is logged once, when it comes, also in the minute in which another one goes.
func TestTroublesAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var troubles atomic.Pointer[[]string]
		set := func(all ...string) { troubles.Store(&all) }
		set("first")
		var log bytes.Buffer
		s, err := server.New(server.Config{
			Memories: []server.Memory{{Name: "Test", Hooks: server.Hooks{Troubles: func() []string { return *troubles.Load() }}}},
			Log:      slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, c := range []struct {
			now  []string
			news string // "" if nothing is logged
		}{
			{[]string{"first"}, "[first]"},
			{[]string{"second"}, "[second]"},
			{[]string{"second", "third"}, "[third]"},
			{[]string{"third"}, ""},
			{nil, ""},
			{[]string{"third"}, "[third]"},
		} {
			set(c.now...)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if text := log.String(); strings.Count(text, "\n") != min(1, len(c.news)) || !strings.Contains(text, c.news) {
				t.Errorf("when there is %q, the log has %q, want %q", c.now, text, c.news)
			}
			log.Reset()
		}
	})
}
