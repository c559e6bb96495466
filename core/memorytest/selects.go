package memorytest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

func span(start, end engram.Time) engram.Interval { return engram.Interval{Start: start, End: end} }

// testSelectors asks one entity with each kind of selector.
func testSelectors(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10, 20, 30, 40, 50)
	all := []engram.Time{10, 20, 30, 40, 50}
	for _, c := range []struct {
		what string
		sel  engram.SnapshotSelector
		want []engram.Time
	}{
		{"all", engram.All(), all},
		{"latest", engram.Latest(1), all[4:]},
		{"latest 3", engram.Latest(3), all[2:]},
		{"latest of more than there are", engram.Latest(99), all},
		{"at", engram.At(30), []engram.Time{30}},
		{"at where nothing is", engram.At(31), nil},
		{"at or before, exactly", engram.AtOrBefore(30), []engram.Time{30}},
		{"at or before, between", engram.AtOrBefore(39), []engram.Time{30}},
		{"at or before, after all", engram.AtOrBefore(engram.MaxTime), []engram.Time{50}},
		{"at or before, before all", engram.AtOrBefore(9), nil},
		{"nearest, below", engram.Nearest(24, 5), []engram.Time{20}},
		{"nearest, above", engram.Nearest(26, 5), []engram.Time{30}},
		{"nearest, two equally close", engram.Nearest(25, 5), []engram.Time{20}},
		{"nearest, exactly", engram.Nearest(30, 0), []engram.Time{30}},
		{"nearest, just too far", engram.Nearest(25, 4), nil},
		{"nearest, before all", engram.Nearest(5, 5), []engram.Time{10}},
		{"nearest, after all", engram.Nearest(60, time.Hour), []engram.Time{50}},
		{"range with its start", engram.In(span(20, 41)), []engram.Time{20, 30, 40}},
		{"range without its end", engram.In(span(20, 40)), []engram.Time{20, 30}},
		{"range between", engram.In(span(21, 29)), nil},
		{"empty range", engram.In(span(20, 20)), nil},
		{"always", engram.In(engram.Always()), all},
		{"indices", engram.Indices(1, 3), all[1:4]},
		{"first index", engram.Indices(0, 0), all[:1]},
		{"indices from the end", engram.Indices(-2, -1), all[3:]},
		{"indices from start to end", engram.Indices(1, -2), all[1:4]},
		{"indices from end to start", engram.Indices(-4, 2), all[1:3]},
		{"indices beyond both ends", engram.Indices(-99, 99), all},
		{"indices beyond the end", engram.Indices(5, 9), nil},
		{"indices in the wrong order", engram.Indices(3, 1), nil},
	} {
		s.wantTimes(c.what, engram.SelectID(entity, c.sel), c.want...)
	}
}

// testSelectorUnion asks with several selectors and nodes at once.
func testSelectorUnion(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10, 20, 30, 40, 50)
	other := sibling(entity, "plate")
	s.fill(other, 15, 25)
	s.wantTimes("overlapping selectors", engram.SelectID(entity, engram.Latest(2), engram.At(10), engram.In(span(40, 99)), engram.AtOrBefore(45)), 10, 40, 50)

	q := engram.SelectID(entity, engram.At(20))
	more := engram.SelectID(entity, engram.Latest(1), engram.At(20))
	q.Memories = append(q.Memories, more.Memories...)
	s.wantIDs("nodes that share a path", q, entity.At(20), entity.At(50))

	q = engram.SelectID(entity, engram.At(20))
	plates := engram.PatternOf(entity.Parent())
	plates.Levels = append(plates.Levels, engram.MatchRegex("c.p|plate"))
	q.Memories = append(q.Memories, plates.Select(engram.Latest(1)).Memories...)
	s.wantIDs("a name and a regex", q, entity.At(20), entity.At(50), other.At(25))
}

// testOutOfOrder commits in a mixed order and finds the order of time.
func testOutOfOrder(s *suite) {
	entity := s.readings("cup")
	var order, want []engram.Time
	for i := range 1000 {
		order = append(order, engram.Time(i*617%1000))
		want = append(want, engram.Time(i))
	}
	for i := 0; i < len(order); i += 7 {
		s.fill(entity, order[i:min(i+7, len(order))]...)
	}
	s.wantTimes("all", engram.SelectID(entity, engram.All()), want...)
	s.wantTimes("a range", engram.SelectID(entity, engram.In(span(300, 310))), want[300:310]...)
	s.wantTimes("indices", engram.SelectID(entity, engram.Indices(500, 502)), want[500:503]...)
	if snap, err := s.m.Latest(s.ctx(), entity); err != nil || snap.Time != 999 {
		s.Errorf("the latest is %+v, %v", snap, err)
	}
}

// testSupersede writes to the same time again: the second version counts.
func testSupersede(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10, 20, 30)
	numbers := s.commit(update(entity, 20, reading(-1)), update(entity, 20, reading(-2)))
	r := s.query(engram.SelectID(entity, engram.All()))
	if got := times(r); !slices.Equal(got, []engram.Time{10, 20, 30}) {
		s.Fatalf("times %d", got)
	}
	if snap := r.Items()[1].Snapshot; s.value(snap) != -2 || snap.Number != numbers[1] {
		s.Errorf("at 20 stands %v of update %d, want the second version of it", s.value(snap), snap.Number)
	}
	if snap, err := s.m.AtOrBefore(s.ctx(), entity, 25); err != nil || s.value(snap) != -2 {
		s.Errorf("at or before 25 stands %+v, %v", snap, err)
	}
}

// testAsOf asks what was known at earlier moments.
func testAsOf(s *suite) {
	entity := s.readings("cup")
	var known []engram.Time // when each version arrived
	for _, u := range []engram.EntityUpdate{
		update(entity, 10, reading(1)),
		update(entity, 30, reading(2)),
		update(entity, 10, reading(3)), // supersedes
		update(entity, 20, reading(4)), // out of order
		update(entity, 30, reading(5)), // supersedes the newest
	} {
		s.commit(u)
		snap, err := s.m.AtOrBefore(s.ctx(), entity, u.Time)
		s.must(err)
		known = append(known, snap.Arrived)
		for engram.Now() == snap.Arrived { // the clock may be coarse
		}
	}
	asOf := func(t engram.Time, sel engram.SnapshotSelector) []float64 {
		q := engram.SelectID(entity, sel)
		q.AsOf = &t
		var values []float64
		for it := range s.query(q).All() {
			values = append(values, s.value(it.Snapshot))
		}
		return values
	}
	for i, want := range [][]float64{{1}, {1, 2}, {3, 2}, {3, 4, 2}, {3, 4, 5}} {
		if got := asOf(known[i], engram.All()); !slices.Equal(got, want) {
			s.Errorf("as of update %d: values %v, want %v", i, got, want)
		}
	}
	if got := asOf(known[0]-1, engram.All()); len(got) != 0 {
		s.Errorf("before anything arrived, %v was known", got)
	}
	if got := asOf(known[2], engram.AtOrBefore(25)); !slices.Equal(got, []float64{3}) {
		s.Errorf("as of update 2, at or before 25 stood %v", got)
	}
	if got := asOf(known[3], engram.Latest(1)); !slices.Equal(got, []float64{2}) {
		s.Errorf("as of update 3, the latest was %v", got)
	}
	if got := asOf(known[1], engram.Indices(-1, -1)); !slices.Equal(got, []float64{2}) {
		s.Errorf("as of update 1, the last index was %v", got)
	}
}

// testLatestReader asks the short way, for what is there and what is not.
func testLatestReader(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10, 20, 30)
	for at, want := range map[engram.Time]engram.Time{10: 10, 19: 10, 20: 20, 29: 20, 30: 30, engram.MaxTime: 30} {
		if snap, err := s.m.AtOrBefore(s.ctx(), entity, at); err != nil || snap.Time != want {
			s.Errorf("at or before %d: %+v, %v; want %d", at, snap, err, want)
		}
	}
	s.wantCode("before the first", second(s.m.AtOrBefore(s.ctx(), entity, 9)), engram.NotFound)
	for _, missing := range []engram.ID{
		sibling(entity, "none"), below(entity.Parent().Parent(), "none", "none"),
		id(s.memory, "none", "none", "none"), id("none", "none", "none", "none"),
	} {
		s.wantCode("latest of "+missing.String(), second(s.m.Latest(s.ctx(), missing)), engram.NotFound)
		s.wantCode("at or before in "+missing.String(), second(s.m.AtOrBefore(s.ctx(), missing, 10)), engram.NotFound)
	}
	s.wantCode("latest of a segment", second(s.m.Latest(s.ctx(), entity.Parent())), engram.Invalid)
}

// testExtremeTimes stores the first and the last time of data, and times before 1970.
func testExtremeTimes(s *suite) {
	s.addTypes()
	entity := below(s.coreSegment(engram.CoreSegment{Type: readingType, MaxAhead: engram.AnyAhead}), "Provider", "cup")
	want := []engram.Time{engram.MinTime, engram.MinTime + 1, -1, 0, 1, engram.MaxTime - 1}
	s.fill(entity, want...)
	s.wantTimes("all", engram.SelectID(entity, engram.All()), want...)
	s.wantTimes("always", engram.SelectID(entity, engram.In(engram.Always())), want...)
	s.wantTimes("the first", engram.SelectID(entity, engram.At(engram.MinTime)), engram.MinTime)
	s.wantTimes("at or before the first", engram.SelectID(entity, engram.AtOrBefore(engram.MinTime)), engram.MinTime)
	s.wantTimes("nearest over all time", engram.SelectID(entity, engram.Nearest(engram.MinTime, 1<<62)), engram.MinTime)
	s.wantTimes("before 1970", engram.SelectID(entity, engram.In(span(engram.MinTime, 0))), want[:3]...)
}

// testNames selects entities by each kind of name selector, at each level.
func testNames(s *suite) {
	s.addTypes()
	core := s.coreSegment(engram.CoreSegment{Type: readingType})
	var all []engram.ID
	for _, p := range []string{"Camera", "Lidar"} {
		for _, e := range []string{"cup", "cup-1", "cup-2", "plate"} {
			all = append(all, below(core, p, e).At(1))
			s.fill(below(core, p, e), 1)
		}
	}
	only := func(keep func(engram.ID) bool) []engram.ID {
		return slices.DeleteFunc(slices.Clone(all), func(id engram.ID) bool { return !keep(id) })
	}
	pattern := func(levels ...engram.NameSelector) engram.Query {
		p := engram.PatternOf(core)
		p.Levels = append(p.Levels, levels...)
		return p.Select(engram.Latest(1))
	}
	s.wantIDs("everything in the segment", pattern(), all...)
	s.wantIDs("all names", pattern(engram.AllNames(), engram.AllNames()), all...)
	s.wantIDs("one provider", pattern(engram.OneOf("Lidar")), all[4:]...)
	s.wantIDs("one name", pattern(engram.AllNames(), engram.OneOf("cup")), only(func(id engram.ID) bool { return id.Entity() == "cup" })...)
	s.wantIDs("several names, one twice, one not there", pattern(engram.OneOf("Lidar"), engram.OneOf("plate", "cup", "cup", "fork")), all[4], all[7])
	s.wantIDs("a regex matches whole names", pattern(engram.OneOf("Camera"), engram.MatchRegex("cup")), all[0])
	s.wantIDs("a regex", pattern(engram.MatchRegex("C.*|L.*"), engram.MatchRegex(`cup-\d`)),
		only(func(id engram.ID) bool { return strings.HasPrefix(id.Entity(), "cup-") })...)
	s.wantIDs("a regex that matches nothing", pattern(engram.AllNames(), engram.MatchRegex("fork")))
	q := engram.Pattern{Levels: []engram.NameSelector{engram.MatchRegex(regexp.QuoteMeta(s.memory[:len(s.memory)-1]) + "."), engram.OneOf(core.CoreSegment())}}.Select(engram.Latest(1))
	s.wantIDs("a regex for the memory", q, all...)
}

// testOddNames stores under names with every kind of character that is allowed.
func testOddNames(s *suite) {
	entity := s.readings("cup")
	var want []engram.ID
	for _, name := range []string{" ", "*", "../..", "/imu/data", "a\nb", `back\slash`, "tab\t", "~x", "Ünïcödé", "ロボット", strings.Repeat("n", engram.MaxNameLen)} {
		e := sibling(entity, name)
		s.fill(e, 1)
		want = append(want, e.At(1))
		s.wantIDs(fmt.Sprintf("name %q", name), engram.SelectID(e, engram.All()), e.At(1))
		if _, err := s.m.Latest(s.ctx(), e); err != nil {
			s.Errorf("name %q: %v", name, err)
		}
	}
	slices.SortFunc(want, engram.ID.Compare)
	s.wantIDs("all names", engram.SelectID(entity.Parent(), engram.All()), want...)
}

// testBareNames asks for names without snapshots, at each level.
func testBareNames(s *suite) {
	entity := s.readings("b")
	s.fill(entity, 1, 2)
	s.fill(sibling(entity, "a"), 1)
	s.fill(below(entity.Parent().Parent(), "Another", "c"), 1)
	names := func(depth int) []string {
		selectors := []engram.NameSelector{engram.OneOf(s.memory), engram.OneOf(entity.CoreSegment()), engram.AllNames(), engram.AllNames()}
		node := engram.QueryNode{Names: selectors[depth]}
		for i := depth - 1; i >= 0; i-- {
			node = engram.QueryNode{Names: selectors[i], Children: []engram.QueryNode{node}}
		}
		r := s.query(engram.Query{Memories: []engram.QueryNode{node}})
		var out []string
		var walk func(path string, nodes []*engram.ResultNode)
		walk = func(path string, nodes []*engram.ResultNode) {
			for _, n := range nodes {
				if len(n.Snapshots) > 0 {
					s.Errorf("%s holds snapshots", n.Name)
				}
				if len(n.Children) == 0 {
					out = append(out, path+n.Name)
				}
				walk(path+n.Name+"/", n.Children)
			}
		}
		walk("", r.Memories)
		return out
	}
	core := s.memory + "/" + entity.CoreSegment()
	for depth, want := range [][]string{
		{s.memory}, {core}, {core + "/Another", core + "/Provider"},
		{core + "/Another/c", core + "/Provider/a", core + "/Provider/b"},
	} {
		if got := names(depth); !slices.Equal(got, want) {
			s.Errorf("names at depth %d: %v, want %v", depth, got, want)
		}
	}
}

// testNothingFound asks for what is not there: no error, and no empty nodes.
func testNothingFound(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10)
	for what, q := range map[string]engram.Query{
		"another time":    engram.SelectID(entity, engram.At(11)),
		"another entity":  engram.SelectID(sibling(entity, "none"), engram.All()),
		"another segment": engram.SelectID(id(s.memory, "none"), engram.All()),
		"another memory":  engram.SelectID(id("none"), engram.All()),
		"nothing":         {},
	} {
		if r := s.query(q); len(r.Memories) != 0 || len(r.Missing) != 0 {
			s.Errorf("%s: found %d memories, missing %v", what, len(r.Memories), r.Missing)
		}
	}
}
