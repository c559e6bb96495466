package memories_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// withdraw says that some snapshots are not believed any more.
func withdraw(t testing.TB, s engram.Writer, name string, w doubt.Withdrawal) {
	t.Helper()
	typ, _ := memories.Type(doubt.Type)
	b, err := typ.Encode(w.Value(1))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, s, engram.EntityUpdate{
		Entity: engram.MustID(doubt.Segment + "/me/" + name), Time: 1,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: doubt.Type, Bytes: b})},
	})
}

// doubtful makes a server whose clock is a counter.
func doubtful(t testing.TB) (s *server.Server, clock *engram.Time) {
	t.Helper()
	clock = new(engram.Time)
	*clock = 1000
	s = serving.NewOf(t, server.Config{
		Memories: []server.Memory{serving.Memory("M", server.Hooks{}), memories.SystemState()}, Log: testkit.Quiet,
		Now: func() engram.Time { *clock++; return *clock },
	})
	return s, clock
}

// undoubted asks for what is not doubtful, as "entity@time …", and for why something is left out.
func undoubted(t testing.TB, s engram.Reader, q engram.Query) (got string, missing []engram.Missing) {
	t.Helper()
	q.WithoutDoubtful = true
	r, err := s.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for it := range r.All() {
		all = append(all, fmt.Sprintf("%s@%d", it.ID.Entity(), int64(it.Time)))
	}
	return strings.Join(all, " "), r.Missing
}

// What was withdrawn, and what rests on it over any number of links, is left out, and selectors choose among the others.
func TestWithoutDoubtful(t *testing.T) {
	s, _ := doubtful(t)
	links := func(to ...string) []any {
		all := []any{}
		for _, id := range to {
			all = append(all, engram.MustID(id))
		}
		return all
	}
	for at := engram.Time(10); at <= 50; at += 10 {
		testkit.Commit(t, s, testkit.Update(t, "M/Any/camera/front", at, "pixels"),
			testkit.Update(t, "M/Any/detector/cup", at+1, links(fmt.Sprintf("M/Any/camera/front/%d", int64(at)))),
			testkit.Update(t, "M/Any/planner/plan", at+2, links("M/Any/detector/cup")),
			testkit.Update(t, "M/Any/other/clock", at+3, float64(at)))
	}
	all := engram.MustPattern("M")
	plan := engram.MustPattern("M/Any/planner/plan")
	want := func(what string, q engram.Query, want string) []engram.Missing {
		t.Helper()
		got, missing := undoubted(t, s, q)
		if got != want {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
		return missing
	}
	want("nothing is withdrawn", all.Select(engram.Latest(1)), "front@50 cup@51 clock@53 plan@52")
	withdraw(t, s, "calibration", doubt.Withdrawal{Of: engram.MustPattern("M/Any/camera"), During: engram.Interval{Start: 30, End: 60}, Before: engram.MaxTime, Reason: "it was mis-calibrated"})
	missing := want("the latest", all.Select(engram.Latest(1)), "front@20 cup@21 clock@53 plan@22")
	if len(missing) != 3 || missing[2].Reason != engram.MissingDoubtful || missing[2].Example != engram.MustID("M/Any/planner/plan").At(52) ||
		missing[2].Detail != "it rests on "+engram.MustID("M/Any/camera/front").At(50).String()+", which is withdrawn: it was mis-calibrated" {
		t.Errorf("what is told: %+v", missing)
	}
	want("the latest two", plan.Select(engram.Latest(2)), "plan@12 plan@22")
	want("more than there are", plan.Select(engram.Latest(9)), "plan@12 plan@22")
	want("in force", plan.Select(engram.AtOrBefore(40)), "plan@22")
	want("nearest", plan.Select(engram.Nearest(30, 10)), "plan@22")
	want("nearest, too far", plan.Select(engram.Nearest(40, 10)), "")
	want("by position", plan.Select(engram.Indices(-1, -1)), "plan@22")
	want("exactly", plan.Select(engram.At(32)), "")
	want("all", plan.Select(engram.All()), "plan@12 plan@22")
	want("a range and a position", plan.Select(engram.In(engram.Interval{Start: 20, End: 40}), engram.Indices(0, 0)), "plan@12 plan@22")
	filtered := engram.MustPattern("M/Any/other").Select(engram.Latest(1))
	filtered.Where = "payload < 40.0"
	want("filtered", filtered, "clock@33")
	withdraw(t, s, "clock", doubt.Withdrawal{Of: engram.MustPattern("M/Any/other"), During: engram.Interval{Start: 33, End: 34}, Before: engram.MaxTime})
	want("filtered, and that withdrawn", filtered, "clock@23")
	filtered.FilterOrder = engram.SelectThenFilter
	want("selected, then filtered", filtered, "")
	filtered.Memories = engram.MustPattern("M/Any/other").Select(engram.AtOrBefore(35)).Memories
	want("selected among the others, then filtered", filtered, "clock@23")

	// It is taken back.
	withdraw(t, s, "calibration", doubt.Withdrawal{Of: engram.MustPattern("M/Any/camera"), During: engram.Always(), Before: engram.MaxTime, Revoked: true})
	want("taken back", all.Select(engram.Latest(1)), "front@50 cup@51 clock@53 plan@52")

	for _, bad := range []func(*engram.Query){func(q *engram.Query) { q.Predict = true }, func(q *engram.Query) { q.Every, q.Fields = 1, []string{"x"} }} {
		q := plan.Select(engram.AtOrBefore(40))
		q.WithoutDoubtful = true
		bad(&q)
		if _, err := s.Query(t.Context(), q); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("asked so: %v", err)
		}
	}
	for _, bad := range []doubt.Withdrawal{{During: engram.Always(), Before: engram.MaxTime}, {Of: all, During: engram.Interval{Start: 5, End: 5}, Before: engram.MaxTime}} {
		typ, _ := memories.Type(doubt.Type)
		b, err := typ.Encode(bad.Value(2))
		if err != nil {
			t.Fatal(err)
		}
		u := engram.EntityUpdate{Entity: engram.MustID(doubt.Segment + "/me/bad"), Time: 2, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: doubt.Type, Bytes: b})}}
		results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if engram.CodeOf(err) != engram.Invalid {
			t.Errorf("of %q within %v: %v", bad.Of, bad.During, err)
		}
	}
}

// only is a scope of one provider segment.
type only struct{ engram.ID }

func (o only) Visibility(id engram.ID) engram.Visibility {
	switch {
	case o.Contains(id):
		return engram.Visible
	case id.Contains(o.ID):
		return engram.Partial
	}
	return engram.Hidden
}

// Who may not read what something rests on, or why that was withdrawn, learns that it is doubtful and no more.
func TestDoubtWithinRights(t *testing.T) {
	s, _ := doubtful(t)
	testkit.Commit(t, s, testkit.Update(t, "M/Any/secret/place", 1, "here"), testkit.Update(t, "M/Any/open/cup", 2, engram.MustID("M/Any/secret/place")))
	withdraw(t, s, "w", doubt.Withdrawal{Of: engram.MustPattern("M/Any/secret"), During: engram.Always(), Before: engram.MaxTime, Reason: "nobody knows"})
	q := engram.MustPattern("M").Select(engram.Latest(1))
	q.WithoutDoubtful = true
	r, err := s.Query(engram.WithScope(t.Context(), only{engram.MustID("M/Any/open")}), q)
	if err != nil || len(r.Items()) != 0 || len(r.Missing) != 1 || r.Missing[0].Detail != "it rests on what is withdrawn" || r.Missing[0].ID != engram.MustID("M/Any/open/cup") {
		t.Errorf("%+v, %v", r, err)
	}
	for why, ctx := range map[string]context.Context{
		"doubtful: it rests on what is withdrawn": engram.WithScope(t.Context(), only{engram.MustID("M/Any/open")}),
		"doubtful: it rests on M/Any/secret/place/" + engram.Time(1).String() + ", which is withdrawn: nobody knows": t.Context(),
	} {
		trace := s.Links().Trace(ctx, service.TraceQuery{Start: engram.MustID("M/Any/open/cup")})
		told := ""
		for p, err := range s.Links().Doubted(ctx, trace, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Doubt != nil && p.Doubt.Node.Entity() == "cup" {
				told = p.Doubt.Why
			}
		}
		if told != why {
			t.Errorf("the trace says %q, want %q", told, why)
		}
	}
}

// version is what an entity said of a time, at one arrival.
type version struct {
	arrived engram.Time
	links   []engram.ID
}

type history map[string]map[engram.Time][]version // by entity, in the order of arrival

// seen returns the version that a link means to who arrived at a moment.
func (h history) seen(link engram.ID, at, by engram.Time) (when engram.Time, v *version) {
	of := h[link.Entity()]
	known := func(t engram.Time) *version {
		var last *version
		for i := range of[t] {
			if of[t][i].arrived <= by {
				last = &of[t][i]
			}
		}
		return last
	}
	if t, ok := link.Time(); ok {
		return t, known(t)
	}
	for _, t := range slices.Sorted(maps.Keys(of)) {
		n := known(t)
		if n != nil && (v == nil || t <= at) {
			when, v = t, n
		}
	}
	return when, v
}

func (h history) doubtful(entity string, at engram.Time, v *version, all []doubt.Withdrawal) bool {
	for _, w := range all {
		m, _ := w.Of.Matcher()
		if m.Match(engram.MustID("M/Any/p/"+entity)) && w.During.Contains(at) && v.arrived < w.Before {
			return true
		}
	}
	for _, l := range v.links {
		if when, to := h.seen(l, at, v.arrived); to != nil && (to.arrived < v.arrived) && h.doubtful(l.Entity(), when, to, all) {
			return true
		}
	}
	return false
}

// Random histories, in which much is corrected, against what a recursive definition says.
func TestDoubtModel(t *testing.T) {
	for seed := range uint64(testkit.Repeats(10, 100)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, clock := doubtful(t)
		h := history{}
		var all []doubt.Withdrawal
		const entities, times = 6, 8
		name := func() string { return fmt.Sprint("e", rng.IntN(entities)) }
		for step := range 60 {
			if step%12 == 11 {
				from := engram.Time(rng.IntN(times))
				w := doubt.Withdrawal{Of: engram.MustPattern("M/Any/p/" + name()), During: engram.Interval{Start: from, End: from + 1 + engram.Time(rng.IntN(3))}, Before: engram.MaxTime}
				if rng.IntN(3) > 0 {
					w.Before = *clock
				}
				all = append(all, w)
				withdraw(t, s, fmt.Sprint("w", step), w)
				continue
			}
			entity, at := name(), engram.Time(rng.IntN(times))
			v := version{}
			values := []any{}
			for range rng.IntN(3) {
				to := engram.MustID("M/Any/p/" + name())
				if rng.IntN(2) == 0 {
					to = to.At(engram.Time(rng.IntN(times)))
				}
				// What is not there yet is not linked to: nobody could know it.
				if _, seen := h.seen(to, at, engram.MaxTime); seen == nil || to.Truncate(engram.LevelEntity).Entity() == entity {
					continue
				}
				v.links = append(v.links, to)
				values = append(values, to)
			}
			testkit.Commit(t, s, testkit.Update(t, "M/Any/p/"+entity, at, any(values)))
			n, err := s.AtOrBefore(t.Context(), engram.MustID("M/Any/p/"+entity), at)
			if err != nil || n.Time != at {
				t.Fatal(err)
			}
			v.arrived = n.Arrived
			if h[entity] == nil {
				h[entity] = map[engram.Time][]version{}
			}
			h[entity][at] = append(h[entity][at], v)
		}
		var want []string
		for _, entity := range slices.Sorted(maps.Keys(h)) {
			for _, at := range slices.Sorted(maps.Keys(h[entity])) {
				versions := h[entity][at]
				if !h.doubtful(entity, at, &versions[len(versions)-1], all) {
					want = append(want, fmt.Sprintf("%s@%d", entity, int64(at)))
				}
			}
		}
		if got, _ := undoubted(t, s, engram.MustPattern("M").Select(engram.All())); got != strings.Join(want, " ") {
			t.Errorf("seed %d:\n%s, not\n%s", seed, got, strings.Join(want, " "))
		}
		if t.Failed() {
			return
		}
	}
}
