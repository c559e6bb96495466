package engram_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestQueryCheck(t *testing.T) {
	entity := func(s ...engram.SnapshotSelector) engram.Query {
		return engram.SelectID(engram.MustID("A/B/C/d"), s...)
	}
	deep := engram.Query{Memories: []engram.QueryNode{{}}}
	for range 4 {
		deep.Memories = []engram.QueryNode{{Children: deep.Memories}}
	}
	above := engram.Query{Memories: []engram.QueryNode{{Snapshots: []engram.SnapshotSelector{engram.All()}}}}
	for name, c := range map[string]struct {
		q    engram.Query
		code engram.Code
	}{
		"all":               {entity(engram.All()), 0},
		"index range":       {entity(engram.Indices(-3, -1)), 0},
		"latest none":       {entity(engram.Latest(0)), engram.Invalid},
		"backward range":    {entity(engram.In(engram.Interval{Start: 2, End: 1})), engram.Invalid},
		"negative distance": {entity(engram.Nearest(0, -1)), engram.Invalid},
		"no kind":           {entity(engram.SnapshotSelector{}), engram.Invalid},
		"five levels":       {deep, engram.Invalid},
		"memory snapshots":  {above, engram.Invalid},
		"too many names":    {engram.Query{Memories: []engram.QueryNode{{Names: engram.OneOf(make([]string, 100)...)}}}, engram.Exhausted},
	} {
		if err := c.q.Check(50); engram.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
}

func TestResultAllBuildsIDs(t *testing.T) {
	r := engram.Result{Memories: []*engram.ResultNode{{Name: "M", Children: []*engram.ResultNode{
		{Name: "a/b", Children: []*engram.ResultNode{{Name: "P", Children: []*engram.ResultNode{
			{Name: "e", Snapshots: []*engram.Snapshot{{Time: 1}, {Time: 2}}},
		}}}},
	}}}}
	want := []engram.ID{engram.MustID(`M/a\/b/P/e/1`), engram.MustID(`M/a\/b/P/e/2`)}
	items := r.Items()
	if len(items) != 2 || items[0].ID != want[0] || items[1].ID != want[1] {
		t.Errorf("items %v, want %v", items, want)
	}
	for range r.All() { // leaving the loop early must stop the walk
		break
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("disk on fire")
	err := fmt.Errorf("outer: %w", engram.Errorf(engram.Corrupt, "Object/Instance", "cannot be read: %w", cause))
	if !errors.Is(err, engram.Corrupt) || errors.Is(err, engram.Invalid) || !errors.Is(err, cause) {
		t.Errorf("%v does not unwrap to its code and cause", err)
	}
	if got, want := err.Error(), "outer: Object/Instance: cannot be read: disk on fire"; got != want {
		t.Errorf("prints as %q, want %q", got, want)
	}
	for want, err := range map[engram.Code]error{
		0: nil, engram.Corrupt: err, engram.Canceled: fmt.Errorf("x: %w", context.DeadlineExceeded),
		engram.Internal: cause, engram.TooNew: fmt.Errorf("x: %w", engram.TooNew),
	} {
		if got := engram.CodeOf(err); got != want {
			t.Errorf("CodeOf(%v) = %v, want %v", err, got, want)
		}
	}
	for c := engram.Internal; c <= engram.Unsupported; c++ {
		if c.String() == fmt.Sprintf("code %d", uint8(c)) {
			t.Errorf("code %d has no words", uint8(c))
		}
	}
}
