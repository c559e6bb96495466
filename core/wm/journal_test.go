package wm

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
)

// slowJournal is a journal whose disk answers when the test says so, in order.
type slowJournal struct {
	mu       sync.Mutex
	log      []string     // what was appended, in order
	waiting  []*slowEntry // not yet answered
	appended chan struct{}
	refuse   error // of Append
	remove   func() error
}

type slowEntry struct {
	j        *slowJournal
	text     string
	answered chan struct{}
	err      error
}

func (j *slowJournal) Begin(_ context.Context, id engram.ID, s *engram.Snapshot) (JournalEntry, error) {
	return &slowEntry{j: j, text: fmt.Sprintf("%s %d", id.Entity(), s.Time), answered: make(chan struct{})}, nil
}
func (j *slowJournal) AddType(context.Context, engram.TypeDef) error                    { return nil }
func (j *slowJournal) AddCoreSegment(context.Context, engram.CoreSegment) error         { return nil }
func (j *slowJournal) AddProviderSegment(context.Context, engram.ProviderSegment) error { return nil }
func (j *slowJournal) RemoveSegment(context.Context, engram.ID) error                   { return j.remove() }

func (e *slowEntry) Append(_ engram.Time, synced bool) error {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	if e.j.refuse != nil {
		return e.j.refuse
	}
	e.j.log = append(e.j.log, e.text)
	if synced {
		e.j.waiting = append(e.j.waiting, e)
		e.j.appended <- struct{}{}
	}
	return nil
}

func (e *slowEntry) Wait() error {
	<-e.answered
	return e.err
}

func (e *slowEntry) Done() bool {
	select {
	case <-e.answered:
		return true
	default:
		return false
	}
}

// answer completes the first n entries that wait.
func (j *slowJournal) answer(n int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.waiting[:n] {
		e.err = err
		close(e.answered)
	}
	j.waiting = j.waiting[n:]
}

// journaledMemory has a segment of each durability: Volatile, Logged, Synced.
func journaledMemory(t *testing.T) (*WM, *slowJournal) {
	t.Helper()
	j := &slowJournal{appended: make(chan struct{}, 100), remove: func() error { return nil }}
	w := New(Config{Journal: j})
	if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"Volatile", "Logged", "Synced"} {
		s := engram.CoreSegment{ID: engram.MustID("Test/" + name), Durability: engram.Durability(i)}
		if err := w.AddCoreSegment(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return w, j
}

func textUpdate(id string, at engram.Time) engram.EntityUpdate {
	u := emptyUpdate(at)
	u.Entity = engram.MustID("Test/" + id)
	return u
}

// commitAsync commits in another goroutine; the result comes when the commit returns.
func commitAsync(t *testing.T, w *WM, updates ...engram.EntityUpdate) chan []engram.UpdateResult {
	done := make(chan []engram.UpdateResult, 1)
	go func() {
		results, err := w.Commit(context.Background(), engram.Commit{Updates: updates})
		if err != nil {
			t.Error(err)
		}
		done <- results
	}()
	return done
}

func commitNow(t *testing.T, w *WM, updates ...engram.EntityUpdate) []engram.UpdateResult {
	t.Helper()
	results, err := w.Commit(t.Context(), engram.Commit{Updates: updates})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// While a synced update waits for the disk nobody sees it, and others go on.
func TestSyncedUpdateWaitsAlone(t *testing.T) {
	w, j := journaledMemory(t)
	done := commitAsync(t, w, textUpdate("Synced/p/e", 1), textUpdate("Logged/p/e", 1), textUpdate("Volatile/p/e", 1))
	<-j.appended
	if r := commitNow(t, w, textUpdate("Logged/p/e", 2), textUpdate("Volatile/p/e", 2)); engram.FirstError(r) != nil {
		t.Error(r)
	}
	if _, err := w.Latest(t.Context(), engram.MustID("Test/Synced/p/e")); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("before it is on disk: %v", err)
	}
	j.answer(1, nil)
	r := <-done
	if err := engram.FirstError(r); err != nil || r[0].Number != 5 {
		t.Errorf("%+v; want number 5 for the synced update, which came last into the memory", r)
	}
	if s, err := w.Latest(t.Context(), engram.MustID("Test/Synced/p/e")); err != nil || s.Number != 5 {
		t.Errorf("on disk: %+v, %v", s, err)
	}
}

// Synced updates come into the memory in the order of the journal, whoever wakes first.
func TestSyncedUpdatesKeepTheirOrder(t *testing.T) {
	w, j := journaledMemory(t)
	const n = 20
	var all []chan []engram.UpdateResult
	for range n {
		all = append(all, commitAsync(t, w, textUpdate("Synced/p/e", 7)))
		<-j.appended
	}
	j.answer(3, engram.Errorf(engram.Unavailable, "", "broken"))
	j.answer(n-3, nil)
	last, arrived := uint64(0), engram.MinTime
	for i, done := range all {
		r := (<-done)[0]
		if i < 3 {
			if engram.CodeOf(r.Err) != engram.Unavailable || r.Number != 0 {
				t.Errorf("update %d: %+v; want it refused", i, r)
			}
			continue
		}
		if r.Err != nil || r.Number != last+1 {
			t.Errorf("update %d has number %d, %v; the one before has %d", i, r.Number, r.Err, last)
		}
		last = r.Number
	}
	for v := w.entity(engram.MustID("Test/Synced/p/e")).newest.Load(); v != nil; v = v.older.Load() {
		if v.Arrived == arrived {
			t.Error("two versions of one time arrived at the same time")
		}
		arrived = v.Arrived
	}
	if s, _ := w.Latest(t.Context(), engram.MustID("Test/Synced/p/e")); s == nil || s.Number != n-3 {
		t.Errorf("the newest is %+v", s)
	}
}

// Of updates that wait for one sync, whoever wakes first puts all into the memory; each
// waits for the slow consumers of its own entity alone.
func TestOneSyncSlowConsumer(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			w, j := journaledMemory(t)
			p, err := engram.ParsePattern("Test/Synced/p/slow")
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{p}, Queue: 1, Slow: engram.SlowBlock})
			if err != nil {
				t.Fatal(err)
			}
			first := commitAsync(t, w, textUpdate("Synced/p/slow", 1))
			<-j.appended
			j.answer(1, nil)
			<-first
			slow := commitAsync(t, w, textUpdate("Synced/p/slow", 2))
			<-j.appended
			var others []chan []engram.UpdateResult
			for i := range 2 * completeBatch {
				others = append(others, commitAsync(t, w, textUpdate("Synced/p/e", engram.Time(i))))
				<-j.appended
			}
			synctest.Wait()
			j.answer(len(others)+1, nil)
			for i, done := range others {
				if r := (<-done)[0]; r.Err != nil || r.Number != uint64(i)+3 {
					t.Errorf("update %d: %+v", i, r)
				}
			}
			synctest.Wait()
			select {
			case <-slow:
				t.Error("the writer did not wait for its slow consumer")
			default:
			}
			s.Close()
			<-slow
		})
	}
}

func TestJournalThatRefusesChangesNothing(t *testing.T) {
	w, j := journaledMemory(t)
	commitNow(t, w, textUpdate("Logged/p/e", 1))
	j.refuse = engram.Errorf(engram.Exhausted, "", "full")
	r := commitNow(t, w, textUpdate("Logged/p/e", 2), textUpdate("Synced/p/e", 2), textUpdate("Logged/p/new", 2), textUpdate("Volatile/p/e", 2))
	for i := range 3 {
		if engram.CodeOf(r[i].Err) != engram.Exhausted || r[i].Number != 0 {
			t.Errorf("update %d: %+v; want Exhausted", i, r[i])
		}
	}
	if r[3].Err != nil || w.Number() != 2 {
		t.Errorf("%+v, newest number %d", r[3], w.Number())
	}
	if s, err := w.Latest(t.Context(), engram.MustID("Test/Logged/p/e")); err != nil || s.Time != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	stats, err := w.Stats(t.Context(), engram.MustPattern("Test"), engram.LevelMemory)
	if err != nil || stats[0].Refused != 3 || stats[0].Entities != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// What becomes of the segments while an update waits for the disk.
func TestSegmentsChangeWhileTheDiskWorks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *WM) error
		want   engram.Code
	}{
		"nothing": {func(*WM) error { return nil }, 0},
		"the core segment is removed": {func(w *WM) error {
			return w.RemoveSegment(t.Context(), engram.MustID("Test/Synced"))
		}, engram.NotFound},
		"it is removed and added again": {func(w *WM) error {
			if err := w.RemoveSegment(t.Context(), engram.MustID("Test/Synced")); err != nil {
				return err
			}
			return w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/Synced"), Durability: engram.Synced})
		}, engram.NotFound},
		"its provider segment is added": {func(w *WM) error {
			return w.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: engram.MustID("Test/Synced/p"), Type: engram.ValueType})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, j := journaledMemory(t)
			u := textUpdate("Synced/p/e", 1)
			u.Instances[0].Payload.Type = engram.ValueType
			done := commitAsync(t, w, u)
			<-j.appended
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			j.answer(1, nil)
			if r := (<-done)[0]; engram.CodeOf(r.Err) != c.want {
				t.Errorf("%+v; want %v", r, c.want)
			}
		})
	}
}

// A segment that is being removed takes nothing, and everything again if that fails.
func TestRemovalThatTheDiskRefuses(t *testing.T) {
	w, j := journaledMemory(t)
	commitNow(t, w, textUpdate("Logged/p/e", 1))
	j.remove = func() error {
		if r := commitNow(t, w, textUpdate("Logged/p/e", 2)); engram.CodeOf(r[0].Err) != engram.Unavailable {
			t.Errorf("during the removal: %+v; want Unavailable", r[0])
		}
		return engram.Errorf(engram.Unavailable, "", "broken")
	}
	if err := w.RemoveSegment(t.Context(), engram.MustID("Test/Logged")); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("the removal: %v", err)
	}
	if r := commitNow(t, w, textUpdate("Logged/p/e", 3)); r[0].Err != nil || r[0].Number != 2 {
		t.Errorf("after it failed: %+v", r[0])
	}
}

func TestSettleWaitsForWhatWasAppended(t *testing.T) {
	w, j := journaledMemory(t)
	first := commitAsync(t, w, textUpdate("Synced/p/a", 1))
	<-j.appended
	marked := make(chan struct{})
	passed := make(chan uint64)
	go func() {
		n, err := w.Barrier(context.Background(), func() { close(marked) })
		if err != nil {
			t.Error(err)
		}
		passed <- n
	}()
	<-marked
	second := commitAsync(t, w, textUpdate("Synced/p/b", 1))
	<-j.appended
	j.answer(1, nil)
	if n := <-passed; n != 1 {
		t.Errorf("the barrier is at number %d; want 1", n)
	}
	<-first
	j.answer(1, nil)
	<-second
}

func TestDurabilities(t *testing.T) {
	w := testMemory(t)
	for d, want := range map[engram.Durability]engram.Code{
		engram.Logged: engram.Unsupported, engram.Synced: engram.Unsupported, engram.Synced + 1: engram.Invalid,
	} {
		err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/New"), Durability: d})
		if engram.CodeOf(err) != want {
			t.Errorf("%v without a journal: %v; want %v", d, err, want)
		}
	}
}

// What is in the journal when the memory is closed comes into it, and subscribers are
// told of it before their streams end: who records them has all that the journal has.
func TestCloseSettlesWhatIsAppended(t *testing.T) {
	w, j := journaledMemory(t)
	s, err := w.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done := commitAsync(t, w, textUpdate("Synced/p/e", 1))
	<-j.appended
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	for { // once it is being closed, nothing more is appended
		if _, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{textUpdate("Volatile/p/e", 1)}}); engram.CodeOf(err) == engram.Unavailable {
			break
		}
	}
	j.answer(1, nil)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if r := <-done; r[0].Err != nil {
		t.Errorf("%+v", r)
	}
	for {
		batch, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("the stream ended without the update: %v", err)
		}
		for _, u := range batch {
			if u.ID.CoreSegment() == "Synced" {
				return
			}
		}
	}
}
