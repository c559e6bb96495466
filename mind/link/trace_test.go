package link_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/link"
	"github.com/seed-301d4374/engram/mind/memories"
)

// linked is a value that links to some IDs.
func linked(t testing.TB, to ...engram.ID) engram.Instance {
	t.Helper()
	p, err := idf.ValuePayload(map[string]any{"to": to})
	if err != nil {
		t.Fatal(err)
	}
	return engram.NewInstance(p)
}

func write(t testing.TB, w engram.Writer, entity engram.ID, at engram.Time, to ...engram.ID) engram.ID {
	t.Helper()
	testkit.Commit(t, w, engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{linked(t, to...)}})
	return entity.At(at)
}

// hiding is a scope without what lies in an ID.
type hiding engram.ID

func (h hiding) Visibility(id engram.ID) engram.Visibility {
	switch hidden := engram.ID(h); {
	case hidden.Contains(id):
		return engram.Hidden
	case id.Contains(hidden):
		return engram.Partial
	}
	return engram.Visible
}

// Who may not read something gets the trace that there would be without it, links to it being links to what is not there:
// nothing that leads on from it is told, and nothing counted.
func TestTraceTellsNothingOfWhatIsHidden(t *testing.T) {
	traces := func(secret bool, ctx context.Context) (all []string) {
		s := serve(t)
		a, b := engram.MustID("Test/Any/p/a"), engram.MustID("Test/Any/p/b")
		hidden := engram.MustID("Test/Any/secret/x")
		cause := write(t, s, a, 1)
		if secret {
			write(t, s, hidden, 2, cause)
		}
		result := write(t, s, b, 3, hidden.At(2), hidden, hidden.At(7))
		for _, o := range []link.Options{{}, {Direction: link.Down}, {Depth: 1}, {Direction: link.Down, Nodes: 1}} {
			root := result
			if o.Direction == link.Down {
				root = cause
			}
			trace, err := link.New(s, "").Trace(ctx, root, o)
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, told(trace)...), fmt.Sprint(trace.Cut))
		}
		_, err := link.New(s, "").Trace(ctx, hidden.At(2), link.Options{})
		return append(all, fmt.Sprint(err))
	}
	scoped := engram.WithScope(t.Context(), hiding(engram.MustID("Test/Any/secret")))
	got, want := traces(true, scoped), traces(false, t.Context())
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if slices.Equal(traces(true, t.Context()), want) {
		t.Error("it makes no difference what is hidden")
	}
}

// What a link is to is told to be gone, if it was there and who is asked knows why it is not any more.
func TestTraceTellsWhatIsGone(t *testing.T) {
	segment := engram.CoreSegment{ID: engram.MustID("Test/Any"), History: engram.Bounds{MaxCount: 2}}
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{segment}}}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, b := engram.MustID("Test/Any/p/a"), engram.MustID("Test/Any/p/b")
	old := write(t, s, a, 1)
	write(t, s, a, 2)
	write(t, s, a, 3)
	result := write(t, s, b, 4, old, a.At(9), a.At(3).Instance(5), b.At(4), a.Parent())
	trace, err := link.New(s, "").Trace(t.Context(), result, link.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[engram.ID]string{result: "", old: engram.MissingEvicted, a.At(9): link.Absent, a.At(3).Instance(5): link.Absent, a.Parent(): ""}
	for i := range trace.Nodes {
		n := &trace.Nodes[i]
		if why, is := want[n.ID]; !is || n.Missing != why {
			t.Errorf("%s is %q, want %q", n.ID, n.Missing, why)
		}
	}
	if len(trace.Nodes) != len(want) {
		t.Errorf("%d nodes, want %d", len(trace.Nodes), len(want))
	}
	_, err = link.New(s, "").Trace(t.Context(), old, link.Options{})
	if engram.CodeOf(err) != engram.TooOld {
		t.Errorf("a trace from what is evicted: %v", err)
	}
}

// As of a belief a trace has what was known then.
func TestTraceAsOfABelief(t *testing.T) {
	s := serve(t)
	a, b, c := engram.MustID("Test/Any/p/a"), engram.MustID("Test/Any/p/b"), engram.MustID("Test/Any/p/c")
	write(t, s, a, 1)
	write(t, s, b, 1, a)
	latest, err := s.Latest(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	then := latest.Arrived
	write(t, s, c, 1, a)
	write(t, s, b, 1) // not any more
	for asOf, want := range map[*engram.Time]engram.ID{nil: c.At(1), &then: b.At(1)} {
		trace, err := link.New(s, "").Trace(t.Context(), a, link.Options{Direction: link.Down, AsOf: asOf})
		if err != nil {
			t.Fatal(err)
		}
		if len(trace.Nodes) != 2 || trace.Nodes[1].ID != want {
			t.Errorf("as of %v it is %v, want %v", asOf, told(trace), want)
		}
	}
}

// 100,000 links in one payload are followed as far as the bounds allow.
func TestTraceOfManyLinks(t *testing.T) {
	s := serve(t)
	var to []engram.ID
	for i := range 100_000 {
		to = append(to, engram.MustID("Test/Any/p/never").At(engram.Time(i)))
	}
	root := write(t, s, engram.MustID("Test/Any/p/a"), 1, to...)
	trace, err := link.New(s, "").Trace(t.Context(), root, link.Options{Nodes: 50})
	if err != nil || len(trace.Nodes) != 50 || trace.Cut != 100_000-49 {
		t.Fatalf("%d nodes, %d cut, %v", len(trace.Nodes), trace.Cut, err)
	}
	causes, err := link.New(s, "").Trace(t.Context(), to[77_777].Parent(), link.Options{Direction: link.Down})
	if engram.CodeOf(err) != engram.NotFound {
		t.Errorf("what came of what never was: %v, %v", causes, err)
	}
}

// Bad questions are told what is wrong with them.
func TestBadTraces(t *testing.T) {
	s := serve(t)
	root := write(t, s, engram.MustID("Test/Any/p/a"), 1)
	for _, bad := range []struct {
		root engram.ID
		o    link.Options
		code engram.Code
	}{
		{root.Truncate(engram.LevelProviderSegment), link.Options{}, engram.Invalid},
		{engram.ID{}, link.Options{}, engram.Invalid},
		{root, link.Options{Depth: -1}, engram.Invalid},
		{root, link.Options{Nodes: -1}, engram.Invalid},
		{root, link.Options{Memories: []string{"Test/Any"}}, engram.Invalid},
		{root, link.Options{Memories: []string{"~("}}, engram.Invalid},
		{root.Instance(1), link.Options{}, engram.NotFound},
		{engram.MustID("Nope/x/y/z"), link.Options{}, engram.NotFound},
	} {
		if trace, err := link.New(s, "").Trace(t.Context(), bad.root, bad.o); engram.CodeOf(err) != bad.code {
			t.Errorf("trace of %s, %+v: %v, %v", bad.root, bad.o, trace, err)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := link.New(s, "").Trace(done, root, link.Options{}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

// What links to an entity while a snapshot is in force there is found, however much links to it later.
func TestEffectsWhileInForce(t *testing.T) {
	s := serve(t)
	camera := engram.MustID("Test/Any/p/camera")
	first := write(t, s, camera, 10)
	write(t, s, camera, 20)
	effect := write(t, s, engram.MustID("Test/Any/z/effect"), 15, camera)
	for i := range 200 {
		write(t, s, engram.MustID(fmt.Sprintf("Test/Any/a/later%d", i)), 30, camera)
	}
	trace, err := link.New(s, "").Trace(t.Context(), first, link.Options{Direction: link.Down, Nodes: 50})
	if err != nil || len(trace.Nodes) != 2 || trace.Nodes[1].ID != effect || trace.Cut != 0 {
		t.Fatalf("found %v, %v", told(trace), err)
	}
}

// What came of a snapshot is found when that is gone; what never was and nothing links to is not.
func TestEffectsOfWhatIsGone(t *testing.T) {
	s := serve(t)
	gone := engram.MustID("Test/Any/p/image").At(5)
	effect := write(t, s, engram.MustID("Test/Any/z/effect"), 6, gone.Instance(1))
	for _, root := range []engram.ID{gone, gone.Instance(1)} {
		trace, err := link.New(s, "").Trace(t.Context(), root, link.Options{Direction: link.Down})
		if err != nil || len(trace.Nodes) != 2 || trace.Nodes[0].Missing != link.Absent || trace.Nodes[1].ID != effect {
			t.Errorf("of %s: %v, %v", root, trace, err)
		}
	}
	for _, root := range []engram.ID{gone.Instance(0), gone.Parent().At(6), gone.Parent()} {
		if trace, err := link.New(s, "").Trace(t.Context(), root, link.Options{Direction: link.Down}); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("of %s: %v, %v", root, trace, err)
		}
	}
}

// An activity links to what an entity was when it first said so, and a thousand snapshots of it leave room for all else.
func TestLinksOfALongActivity(t *testing.T) {
	s := serve(t)
	plan, image := engram.MustID("Test/Any/p/plan"), engram.MustID("Test/Any/p/image")
	write(t, s, image, 1)
	write(t, s, plan, 2, image.At(1))
	run := engram.MustID("Skill/Execution/p/run")
	of, _ := memories.Type("engram.skill.Execution")
	b, err := of.Encode(map[string]any{"skill": plan, "cause": plan.At(2)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		at := engram.Time(3 + 2*i)
		testkit.Commit(t, s, engram.EntityUpdate{Entity: run, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b})}})
		write(t, s, plan, at+1)
	}
	result := write(t, s, engram.MustID("Test/Any/p/result"), 300, run, image)
	trace, err := link.New(s, "").Trace(t.Context(), result, link.Options{Nodes: 4})
	if err != nil || len(trace.Nodes) != 4 || trace.Cut != 0 {
		t.Errorf("up it is %v, %v", told(trace), err)
	}
	if trace, err = link.New(s, "").Trace(t.Context(), plan.At(6), link.Options{Direction: link.Down}); err != nil || len(trace.Nodes) != 1 {
		t.Errorf("down from a later plan it is %v, %v", told(trace), err)
	}
}
