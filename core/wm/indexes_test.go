package wm_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	asking "github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// slowIndex is an index of types that takes no version while its gate is closed.
type slowIndex struct {
	asking.Index
	gate *sync.RWMutex
}

func (x slowIndex) Add(entity engram.ID, s *engram.Snapshot) {
	x.gate.RLock()
	defer x.gate.RUnlock()
	x.Index.Add(entity, s)
}

// values asks for the entities with a value, by its type.
func values(t *testing.T, w *wm.WM) (names []string) {
	t.Helper()
	q := engram.SelectID(modelCore, engram.Latest(1))
	q.Type = engram.ValueType
	r, err := w.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.All() {
		names = append(names, it.ID.Entity())
	}
	return names
}

// An index costs nothing before a query could use it; one that falls behind farther than
// the memory remembers is filled anew, and says so; it can be thrown away and comes back.
func TestIndexFallsBehind(t *testing.T) {
	w := memory(t, wm.Config{Limits: wm.Limits{Recent: 16}}, engram.Bounds{MaxCount: 2}, engram.Bounds{})
	defer w.Close()
	var gate sync.RWMutex
	x := w.Indexes()
	o := wm.IndexOptions{New: func() asking.Index { return slowIndex{asking.NewTypeIndex(), &gate} }}
	if err := x.Register("type", o); err != nil {
		t.Fatal(err)
	}
	if err := x.Register("type", o); engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("registered twice: %v", err)
	}
	testkit.Commit(t, w, change("a", 1, blob(5)))
	if f := x.Figures(); len(f) != 1 || f[0].Asked || f[0].Fills > 0 {
		t.Errorf("before the first query its figures are %+v", f)
	}
	if got := values(t, w); !slices.Equal(got, []string{"a"}) {
		t.Errorf("found %v", got)
	}
	if err := x.Await(t.Context(), "type"); err != nil {
		t.Fatal(err)
	}
	before := x.Figures()[0]
	gate.Lock()
	for i := range 100 {
		testkit.Commit(t, w, change("b", i, blob(5)))
	}
	testkit.Commit(t, w, change("c", 1, blob(5)))
	gate.Unlock()
	if err := x.Await(t.Context(), "type"); err != nil {
		t.Fatal(err)
	}
	after := x.Figures()[0]
	if after.Fills <= before.Fills || after.Missed == 0 || !after.Ready || after.Behind > 0 || after.Entries != 3 {
		t.Errorf("its figures are %+v, before %+v", after, before)
	}
	if got := values(t, w); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("found %v", got)
	}
	x.Remove("type")
	if err := x.Await(t.Context(), "type"); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("after its removal: %v", err)
	}
	if err := x.Register("type", o); err != nil {
		t.Fatal(err)
	}
	if err := x.Await(t.Context(), "type"); err != nil || x.Figures()[0].Entries != 3 {
		t.Errorf("registered again: %v, %+v", err, x.Figures())
	}
}

// An index that grows beyond its bound is thrown away, and queries do without.
func TestIndexIsBounded(t *testing.T) {
	w := memory(t, wm.Config{}, engram.Bounds{}, engram.Bounds{})
	defer w.Close()
	testkit.Commit(t, w, change("a", 1, blob(5)))
	if err := w.Indexes().Register("type", wm.IndexOptions{New: asking.NewTypeIndex, MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	if err := w.Indexes().Await(t.Context(), "type"); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("too large an index: %v", err)
	}
	if f := w.Indexes().Figures()[0]; f.Ready || !f.TooLarge || f.Bytes > 0 {
		t.Errorf("its figures are %+v", f)
	}
	if got := values(t, w); !slices.Equal(got, []string{"a"}) {
		t.Errorf("found %v", got)
	}
}
