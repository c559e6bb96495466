package wm

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// What a subscription wants is what one of its patterns matches, however it is kept.
func TestWantedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "a/b", "*", "", "\x00"})
		selector := rapid.Custom(func(t *rapid.T) engram.NameSelector {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				return engram.AllNames()
			case 1:
				return engram.MatchRegex(rapid.SampledFrom([]string{"a", "a|b", ".*/b", ""}).Draw(t, "regex"))
			case 2:
				return engram.OneOf(rapid.SliceOfN(name, 0, 3).Draw(t, "names")...)
			}
			return engram.OneOf(name.Draw(t, "name"))
		})
		var patterns []engram.Pattern
		for range rapid.IntRange(0, 5).Draw(t, "patterns") {
			patterns = append(patterns, engram.Pattern{Levels: rapid.SliceOfN(selector, 0, 4).Draw(t, "levels")})
		}
		w, err := newWanted(patterns)
		if err != nil {
			t.Fatal(err)
		}
		good := name.Filter(func(s string) bool { return engram.CheckName(s) == nil })
		for range 20 {
			id, err := engram.NewID(rapid.SliceOfN(good, 4, 4).Draw(t, "entity")...)
			if err != nil {
				t.Fatal(err)
			}
			want := len(patterns) == 0
			for _, p := range patterns {
				m, err := p.Matcher()
				if err != nil {
					t.Fatal(err)
				}
				want = want || m.Match(id)
			}
			if got := w.match(id); got != want {
				t.Fatalf("%v of %v is %v; want %v", id, patterns, got, want)
			}
		}
	})
}

// A name that no entity can have does not hide a pattern of the same text.
func TestWantedBesideAnImpossibleName(t *testing.T) {
	w, err := newWanted([]engram.Pattern{{Levels: []engram.NameSelector{engram.OneOf("")}}, {}})
	if err != nil {
		t.Fatal(err)
	}
	if !w.match(engram.MustID("a/a/a/a")) {
		t.Error("what the empty pattern matches is not wanted")
	}
}

// asking are subscriptions that ask for as much as each may.
var asking = map[string]func(n int) engram.Subscription{
	"one pattern again and again": func(int) engram.Subscription {
		return engram.Subscription{Patterns: slices.Repeat([]engram.Pattern{engram.MustPattern("a/b/c/d")}, 9990)}
	},
	"one regex again and again": func(int) engram.Subscription {
		return engram.Subscription{Patterns: slices.Repeat([]engram.Pattern{engram.MustPattern("a/b/c/~[a-z]{900}")}, 9990)}
	},
	"names": func(n int) engram.Subscription {
		return patterns(func(i int) string { return fmt.Sprintf("a/b/c/%d-%d", n, i) })
	},
	"lists of names": func(n int) engram.Subscription {
		names := make([]string, 9990)
		for i := range names {
			names[i] = fmt.Sprint(n, "-", i)
		}
		return engram.Subscription{Patterns: []engram.Pattern{{Levels: []engram.NameSelector{engram.OneOf(names...)}}}}
	},
	"names beside a star": func(n int) engram.Subscription {
		return patterns(func(i int) string { return fmt.Sprintf("a/*/c/%d-%d", n, i) })
	},
	"regexes": func(n int) engram.Subscription {
		var s engram.Subscription
		for i := range 40 {
			s.Patterns = append(s.Patterns, engram.MustPattern(fmt.Sprintf("a/~(ab?){200}%d-%d", n, i)))
		}
		return s
	},
	"filters": func(n int) engram.Subscription {
		return engram.Subscription{Where: fmt.Sprint(n, " == 0 || [", strings.Repeat("a,", 2000), "] == [1]")}
	},
	"other filters": func(n int) engram.Subscription {
		return engram.Subscription{Where: fmt.Sprint(n, " == 0", strings.Repeat(" || a.b.c == 1", 280))}
	},
	"fields": func(n int) engram.Subscription {
		var s engram.Subscription
		for i := range 9990 {
			s.Fields = append(s.Fields, fmt.Sprint("f", n, "-", i))
		}
		return s
	},
}

func patterns(text func(i int) string) (s engram.Subscription) {
	for i := range 9990 {
		s.Patterns = append(s.Patterns, engram.MustPattern(text(i)))
	}
	return s
}

// What a subscription asks for is counted as no less than it takes, a pattern once however
// often it is asked for.
func TestWhatIsAskedIsCounted(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, ask := range asking {
		t.Run(name, func(t *testing.T) {
			w := New(Config{})
			defer w.Close()
			const n = 8
			before := heap()
			for i := range n {
				if _, err := w.Subscribe(t.Context(), ask(i)); err != nil {
					t.Fatal(err)
				}
			}
			took, counted := heap()-before, w.mu.feed.asked
			t.Logf("%d bytes, counted %d", took/n, counted/n)
			if took > counted+n*2*freeBytes {
				t.Errorf("%d bytes are taken, %d counted", took, counted)
			}
			if strings.HasSuffix(name, "again and again") && counted > n*400_000 {
				t.Errorf("%d bytes are counted of one pattern", counted/n)
			}
		})
	}
}

// What all open subscriptions ask for has one bound. Beyond it others are refused that ask
// for much, those that ask for little are not, and who ends gives back.
func TestSubscriptionsShareABound(t *testing.T) {
	const bound = 16 << 20
	for _, name := range []string{"names", "lists of names", "names beside a star", "regexes", "filters", "fields"} {
		t.Run(name, func(t *testing.T) {
			w := New(Config{Limits: Limits{MaxAskedBytes: bound}})
			defer w.Close()
			var open []engram.UpdateStream
			for i := 0; ; i++ {
				s, err := w.Subscribe(t.Context(), asking[name](i))
				if err != nil {
					if engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "KiB together") {
						t.Fatal(err)
					}
					break
				}
				if open = append(open, s); w.mu.feed.asked > bound {
					t.Fatalf("%d subscriptions ask for %d bytes", len(open), w.mu.feed.asked)
				}
			}
			if len(open) == 0 {
				t.Fatal("no subscription has room")
			}
			for range 100 {
				s, err := w.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("a/~b.*")}, Where: "confidence > 0.5"})
				if err != nil {
					t.Fatalf("one that asks for little: %v", err)
				}
				defer s.Close()
			}
			open[0].Close()
			s, err := w.Subscribe(t.Context(), asking[name](0))
			if err != nil {
				t.Fatalf("after another ended: %v", err)
			}
			for _, s := range append(open[1:], s) {
				s.Close()
				s.Close()
			}
			if w.mu.feed.asked != 0 {
				t.Errorf("%d bytes are still counted", w.mu.feed.asked)
			}
		})
	}
}
