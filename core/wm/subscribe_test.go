package wm_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// memory returns a working memory with the memory Test and the core segment
// Test/Core of variants.
func memory(t testing.TB, c wm.Config, history, all engram.Bounds) *wm.WM {
	t.Helper()
	if c.Types == nil {
		c.Types = testTypes
	}
	w := wm.New(c)
	if err := w.AddMemory("Test", all); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(context.Background(), engram.CoreSegment{ID: modelCore, History: history}); err != nil {
		t.Fatal(err)
	}
	return w
}

// blob returns a payload of n bytes, n > 3: a variant's string member.
func blob(n int) engram.Payload {
	return engram.Payload{Type: "google.protobuf.StringValue", Bytes: blobBytes(n)}
}

func blobBytes(n int) []byte {
	b := []byte{0x0a, byte(n-3)&0x7f | 0x80, byte((n - 3) >> 7)}
	return append(b, slices.Repeat([]byte{'x'}, n-3)...)
}

func change(entity string, at int, p engram.Payload) engram.EntityUpdate {
	return engram.EntityUpdate{Entity: modelID(entity), Time: engram.Time(at), Instances: []engram.Instance{engram.NewInstance(p)}}
}

func subscribe(t testing.TB, w *wm.WM, s engram.Subscription) engram.UpdateStream {
	t.Helper()
	stream, err := w.Subscribe(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// drain takes all updates that are ready.
func drain(t testing.TB, s engram.UpdateStream, n int) (updates []engram.Update) {
	t.Helper()
	for len(updates) < n {
		batch, err := s.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		updates = append(updates, batch...)
	}
	return updates
}

type delivery struct{ number, dropped uint64 }

func deliveries(updates []engram.Update) (out []delivery) {
	for _, u := range updates {
		out = append(out, delivery{u.Number, u.Dropped})
	}
	return out
}

// TestSlowPolicies fills queues beyond their bounds: what stays is what the policy
// says, and drops are counted where they happened.
func TestSlowPolicies(t *testing.T) {
	entities := []string{"a", "b", "a", "a", "c", "b", "a", "c", "c"} // updates 1 to 9
	for _, c := range []struct {
		name     string
		sub      engram.Subscription
		maxBytes int64
		want     []delivery
	}{
		{"drop oldest", engram.Subscription{Queue: 4}, 0, []delivery{{6, 5}, {7, 0}, {8, 0}, {9, 0}}},
		{"drop oldest, one place", engram.Subscription{Queue: 1}, 0, []delivery{{9, 8}}},
		{"latest", engram.Subscription{Queue: 4, Slow: engram.SlowLatest}, 0, []delivery{{6, 5}, {7, 0}, {9, 1}}},
		{"latest, fewer places than entities", engram.Subscription{Queue: 2, Slow: engram.SlowLatest}, 0, []delivery{{7, 6}, {9, 1}}},
		{"drop oldest for bytes", engram.Subscription{WithData: true}, 350, []delivery{{7, 6}, {8, 0}, {9, 0}}},
		{"bytes do not count without data", engram.Subscription{Queue: 8}, 350, []delivery{{2, 1}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}, {9, 0}}},
		{"latest for bytes", engram.Subscription{WithData: true, Slow: engram.SlowLatest}, 250, []delivery{{7, 6}, {9, 1}}},
		{"more bytes than may wait", engram.Subscription{WithData: true}, 50, []delivery{{9, 8}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := memory(t, wm.Config{Limits: wm.Limits{MaxQueueBytes: c.maxBytes}}, engram.Bounds{}, engram.Bounds{})
			s := subscribe(t, w, c.sub)
			defer s.Close()
			for i, e := range entities {
				testkit.Commit(t, w, change(e, i, blob(100)))
			}
			if got := deliveries(drain(t, s, len(c.want))); !slices.Equal(got, c.want) {
				t.Errorf("delivered %v, want %v", got, c.want)
			}
			testkit.Commit(t, w, change("a", 100, blob(100)))
			if got := deliveries(drain(t, s, 1)); !slices.Equal(got, []delivery{{10, 0}}) {
				t.Errorf("and then %v, want update 10", got)
			}
		})
	}
}

// TestSlowBlock makes writers wait for a slow consumer, but for nothing else.
func TestSlowBlock(t *testing.T) {
	for _, end := range []string{"consumer takes", "stream closes", "memory closes", "writer gives up"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
				s := subscribe(t, w, engram.Subscription{Queue: 2, Slow: engram.SlowBlock})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				testkit.Commit(t, w, change("a", 1, blob(5)), change("a", 2, blob(5)))
				returned := false
				go func() {
					results, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{change("a", 3, blob(5))}})
					if err != nil || results[0].Number != 3 {
						t.Errorf("the commit that waited: %v, %v", results, err)
					}
					returned = true
				}()
				synctest.Wait()
				if returned {
					t.Fatal("the writer did not wait")
				}
				if snap, err := w.Latest(ctx, modelID("a")); err != nil || snap.Number != 3 {
					t.Errorf("while the writer waits, the latest is %+v, %v", snap, err)
				}
				switch end {
				case "consumer takes":
					if got := deliveries(drain(t, s, 3)); !slices.Equal(got, []delivery{{1, 0}, {2, 0}, {3, 0}}) {
						t.Errorf("delivered %v", got)
					}
				case "stream closes":
					s.Close()
				case "memory closes":
					w.Close()
				case "writer gives up":
					cancel()
				}
				synctest.Wait()
				if !returned {
					t.Error("the writer still waits")
				}
				s.Close()
			})
		})
	}
}

// TestCloseWM ends streams after what waits was taken, and refuses writers.
func TestCloseWM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
		s := subscribe(t, w, engram.Subscription{})
		testkit.Commit(t, w, change("a", 1, blob(5)))
		waiting := subscribe(t, w, engram.Subscription{})
		ended := make(chan error, 1)
		go func() {
			_, err := waiting.Next(context.Background())
			ended <- err
		}()
		synctest.Wait()
		w.Close()
		if err := <-ended; engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a waiting stream ends with %v", err)
		}
		if got := deliveries(drain(t, s, 1)); !slices.Equal(got, []delivery{{1, 0}}) {
			t.Errorf("delivered %v", got)
		}
		if _, err := s.Next(context.Background()); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a stream ends with %v", err)
		}
		if _, err := w.Subscribe(context.Background(), engram.Subscription{}); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a subscription gets %v", err)
		}
		c := engram.Commit{Updates: []engram.EntityUpdate{change("a", 2, blob(5))}}
		if _, err := w.Commit(context.Background(), c); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a commit gets %v", err)
		}
		if snap, err := w.Latest(context.Background(), modelID("a")); err != nil || snap.Time != 1 {
			t.Errorf("a closed memory reads %+v, %v", snap, err)
		}
		w.Close() // again
	})
}

// TestResumeLongAgo resumes from before what the feed remembers: what is retained
// comes, and what was evicted is estimated.
func TestResumeLongAgo(t *testing.T) {
	const n = 100_000
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 10}, engram.Bounds{})
	p := blob(5)
	testkit.Commit(t, w, change("kept", 1, p), change("kept", 2, p))
	var updates []engram.EntityUpdate
	for i := range n {
		updates = append(updates, change("busy", i, p))
	}
	testkit.Commit(t, w, updates...)
	testkit.Commit(t, w, change("kept", 3, p))
	for _, after := range []uint64{0, 1, 5000, n} {
		s := subscribe(t, w, engram.Subscription{Start: engram.Start{Kind: engram.StartNumber, Number: after, Epoch: w.Epoch()}})
		dropped := uint64(0)
		last := after
		for last < n+3 {
			for _, u := range drain(t, s, 1) {
				if u.Number <= last {
					t.Fatalf("update %d after %d", u.Number, last)
				}
				last = u.Number
				if v := u.ID.Entity(); v == "busy" && u.Number <= n-10+2 {
					t.Errorf("update %d was evicted and came", u.Number)
				}
				dropped += u.Dropped
			}
		}
		want := float64(n - 10 - max(0, int(after)-2)) // updates of busy that were evicted
		if diff := float64(dropped) - max(0, want); diff < -100 || diff > 100 {
			t.Errorf("after %d, %d are said to be dropped; %v were", after, dropped, want)
		}
		s.Close()
	}
	s := subscribe(t, w, engram.Subscription{Start: engram.Start{Kind: engram.StartTime, Time: n / 2}})
	defer s.Close()
	if got := drain(t, s, 10); got[0].Number != n-10+3 || got[0].Dropped < n/2-100 || got[0].Dropped > n/2+100 {
		t.Errorf("from the middle comes %+v first", got[0])
	}
}

// TestBackfillEvicted evicts a backfill before it is taken: it is counted as dropped.
func TestBackfillEvicted(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{MaxCount: 2}, engram.Bounds{})
	p := blob(5)
	testkit.Commit(t, w, change("a", 1, p), change("a", 2, p), change("b", 1, p))
	s := subscribe(t, w, engram.Subscription{Start: engram.Start{Kind: engram.StartLast, N: 5}, WithData: true})
	defer s.Close()
	testkit.Commit(t, w, change("a", 3, p), change("a", 4, p))
	if got := deliveries(drain(t, s, 3)); !slices.Equal(got, []delivery{{3, 2}, {4, 0}, {5, 0}}) {
		t.Errorf("delivered %v", got)
	}
}

// TestManySubscriptions has subscriptions come and go while entities are written:
// each gets its entity's updates.
func TestManySubscriptions(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	p := blob(5)
	live := map[string]engram.UpdateStream{}
	for i := range 300 {
		name := fmt.Sprint(i % 50)
		if s := live[name]; s != nil {
			results := testkit.Commit(t, w, change(name, i, p), change("other", i, p))
			if got := deliveries(drain(t, s, 1)); !slices.Equal(got, []delivery{{results[0].Number, 0}}) {
				t.Fatalf("%s got %v, want update %d", name, got, results[0].Number)
			}
			s.Close()
		}
		live[name] = subscribe(t, w, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(modelID(name))}})
	}
	for _, s := range live {
		s.Close()
	}
}
