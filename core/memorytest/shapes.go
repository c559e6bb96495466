package memorytest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// testWithoutPayload leaves the bytes out and nothing else.
func testWithoutPayload(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10, 20)
	q := engram.SelectID(entity, engram.All())
	q.WithoutPayload = true
	r := s.query(q)
	if got := times(r); !slices.Equal(got, []engram.Time{10, 20}) {
		s.Fatalf("times %d", got)
	}
	for it := range r.All() {
		in := it.Instances[0]
		if len(in.Payload.Bytes) != 0 || in.Payload.Type != readingType || in.Confidence != 1 || it.Number == 0 {
			s.Errorf("without payload came %+v", in)
		}
	}
	if snap, err := s.m.Latest(s.ctx(), entity); err != nil || s.value(snap) != 20 {
		s.Errorf("the memory holds %+v, %v afterwards", snap, err)
	}
}

// testWhere filters by payload and metadata.
func testWhere(s *suite) {
	entity := s.readings("cup")
	for i := range 6 {
		u := update(entity, engram.Time(i*10), reading(float64(i)), reading(float64(-i)))
		u.Instances[0].Confidence = float32(i) / 10
		u.Instances[1].Confidence = 0.5
		s.commit(u)
	}
	where := func(expr string, sel ...engram.SnapshotSelector) engram.Query {
		q := engram.SelectID(entity, sel...)
		q.Where = expr
		return q
	}
	s.wantTimes("by a member", where("value > 2.0", engram.All()), 30, 40, 50)
	s.wantTimes("by confidence", where("confidence < 0.25", engram.All()), 0, 10, 20)
	s.wantTimes("by both", where("value >= 1.0 && confidence < 0.25", engram.All()), 10, 20)
	s.wantTimes("the latest that satisfies", where("value < 3.0 && value >= 0.0", engram.Latest(1)), 20)
	s.wantTimes("at or before, of those that satisfy", where("value == 1.0 || value == 4.0", engram.AtOrBefore(39)), 10)
	s.wantTimes("indices among those that satisfy", where("value > 1.0", engram.Indices(0, 1)), 20, 30)
	s.wantTimes("by a member that is not there", where("no_such_member == 1", engram.All()))
	s.wantTimes("by nothing", where("false", engram.All()))
	for it := range s.query(where("value < 0.0", engram.Latest(1))).All() {
		if len(it.Instances) != 1 || s.value(it.Snapshot) != -5 {
			s.Errorf("the result holds %d instances, the first of value %v; only the second satisfies", len(it.Instances), s.value(it.Snapshot))
		}
	}
	_, err := s.m.Query(s.ctx(), where("value >", engram.All()))
	s.wantCode("an expression that does not compile", err, engram.Invalid)
	_, err = s.m.Query(s.ctx(), where("value == 1.0 || "+strings.Repeat("false || ", 1000)+"true", engram.All()))
	s.wantCode("an expression that is too long", err, engram.Exhausted)
}

// testFilterOrder filters what was selected, and selects among what satisfies.
func testFilterOrder(s *suite) {
	entity := s.readings("cup")
	for i := range 6 { // 0 to 5, and another instance of the same value in every second one
		u := update(entity, engram.Time(i*10), reading(float64(i)))
		if i%2 == 0 {
			u.Instances = append(u.Instances, engram.NewInstance(reading(-1)))
		}
		s.commit(u)
	}
	targets := []engram.Target{engram.TargetBoth, engram.TargetWM}
	if s.longTerm {
		s.awaitRecorded(entity, 6)
		targets = append(targets, engram.TargetLTM)
	}
	for _, target := range targets {
		for what, c := range map[string]struct {
			where                  string
			selectors              []engram.SnapshotSelector
			selectThen, filterThen []engram.Time
		}{
			"the latest, which does":        {"value == 5.0", []engram.SnapshotSelector{engram.Latest(1)}, []engram.Time{50}, []engram.Time{50}},
			"the latest, which does not":    {"value == 4.0", []engram.SnapshotSelector{engram.Latest(1)}, nil, []engram.Time{40}},
			"the latest three":              {"value < 5.0 && value > 0.0", []engram.SnapshotSelector{engram.Latest(3)}, []engram.Time{30, 40}, []engram.Time{20, 30, 40}},
			"in force, which does not":      {"value < 3.0 && value > 0.0", []engram.SnapshotSelector{engram.AtOrBefore(35)}, nil, []engram.Time{20}},
			"in force, which does":          {"value == 3.0", []engram.SnapshotSelector{engram.AtOrBefore(35)}, []engram.Time{30}, []engram.Time{30}},
			"the nearest":                   {"value != 3.0", []engram.SnapshotSelector{engram.Nearest(31, 100)}, nil, []engram.Time{40}},
			"by position":                   {"value > 1.0", []engram.SnapshotSelector{engram.Indices(1, 2)}, []engram.Time{20}, []engram.Time{30, 40}},
			"by position from the end":      {"value < 5.0 && value >= 0.0", []engram.SnapshotSelector{engram.Indices(-2, -1)}, []engram.Time{40}, []engram.Time{30, 40}},
			"all":                           {"value > 3.0", []engram.SnapshotSelector{engram.All()}, []engram.Time{40, 50}, []engram.Time{40, 50}},
			"a time":                        {"value > 3.0", []engram.SnapshotSelector{engram.At(30), engram.At(40)}, []engram.Time{40}, []engram.Time{40}},
			"a union":                       {"value > 0.0 && value < 5.0", []engram.SnapshotSelector{engram.Latest(2), engram.In(span(0, 11))}, []engram.Time{10, 40}, []engram.Time{10, 30, 40}},
			"an instance that is the other": {"value < 0.0", []engram.SnapshotSelector{engram.Latest(2)}, []engram.Time{40}, []engram.Time{20, 40}},
		} {
			q := engram.SelectID(entity, c.selectors...)
			q.Where, q.Target = c.where, target
			s.wantTimes(fmt.Sprintf("target %d, %s, filter then select", target, what), q, c.filterThen...)
			q.FilterOrder = engram.SelectThenFilter
			s.wantTimes(fmt.Sprintf("target %d, %s, select then filter", target, what), q, c.selectThen...)
			for it := range s.query(q).All() {
				if len(it.Instances) != 1 {
					s.Errorf("%s: %d instances, of which one satisfies", what, len(it.Instances))
				}
			}
		}
	}
	q := engram.SelectID(entity, engram.Latest(1))
	q.FilterOrder = 7
	s.wantCode("an order that there is not", second(s.m.Query(s.ctx(), q)), engram.Invalid)
}

// testOfType finds payloads by their type, wherever they lie.
func testOfType(s *suite) {
	s.addTypes()
	core := s.coreSegment(engram.CoreSegment{}) // of values of any shape
	cup, door, thing := below(core, "A", "cup"), below(core, "B", "door"), below(core, "B", "thing")
	marked := func(v float64) engram.Payload { return payload(markedType, map[string]any{"value": v, "mark": 1}) }
	other := payload(otherType, map[string]any{"value": "x"})
	s.commit(update(cup, 10, reading(1)), update(cup, 20, other), update(cup, 30, marked(3)))
	s.commit(update(door, 10, other), update(thing, 10, payload(engram.ValueType, 7)))
	arrived := engram.Now()
	for it := range s.query(engram.SelectID(cup, engram.Latest(1))).All() {
		arrived = it.Arrived
	}
	// What was other is marked since, and the other way; and an instance beside another.
	s.commit(update(cup, 20, marked(2)), update(cup, 30, other), update(thing, 20, other, reading(4)))
	targets := []engram.Target{engram.TargetBoth, engram.TargetWM}
	if s.longTerm {
		s.awaitRecorded(cup, 3)
		s.awaitRecorded(thing, 2)
		targets = append(targets, engram.TargetLTM)
	}
	for _, target := range targets {
		for what, c := range map[string]struct {
			typ    string
			asOf   *engram.Time
			order  engram.FilterOrder
			where  string
			choose engram.SnapshotSelector
			want   []engram.ID
		}{
			"all":                 {typ: readingType, choose: engram.All(), want: []engram.ID{cup.At(10), cup.At(20), thing.At(20)}},
			"of what extends":     {typ: markedType, choose: engram.All(), want: []engram.ID{cup.At(20)}},
			"the latest of it":    {typ: readingType, choose: engram.Latest(1), want: []engram.ID{cup.At(20), thing.At(20)}},
			"the latest if it is": {typ: readingType, choose: engram.Latest(1), order: engram.SelectThenFilter, want: []engram.ID{thing.At(20)}},
			"in an interval":      {typ: readingType, choose: engram.In(span(0, 20)), want: []engram.ID{cup.At(10)}},
			"in force":            {typ: readingType, choose: engram.AtOrBefore(15), want: []engram.ID{cup.At(10)}},
			"as of then":          {typ: readingType, asOf: &arrived, choose: engram.All(), want: []engram.ID{cup.At(10), cup.At(30)}},
			"with another filter": {typ: readingType, where: "value > 1.0", choose: engram.All(), want: []engram.ID{cup.At(20), thing.At(20)}},
			"by position":         {typ: readingType, choose: engram.Indices(-1, -1), want: []engram.ID{cup.At(20), thing.At(20)}},
			"of a type not known": {typ: "memorytest.Nope", choose: engram.All()},
		} {
			q := engram.PatternOf(core).Select(c.choose)
			q.Type, q.AsOf, q.FilterOrder, q.Where, q.Target = c.typ, c.asOf, c.order, c.where, target
			s.wantIDs(fmt.Sprintf("target %d, %s", target, what), q, c.want...)
			q.WithoutPayload = true
			s.wantIDs(fmt.Sprintf("target %d, %s, without payload", target, what), q, c.want...)
			r := s.query(q)
			if len(r.Missing) > 0 {
				s.Errorf("target %d, %s: %v is said to be missing", target, what, r.Missing)
			}
			for it := range r.All() {
				if len(it.Instances) != 1 {
					s.Errorf("target %d, %s: %d instances of %v, of which one is of the type", target, what, len(it.Instances), it.ID)
				}
			}
		}
	}
	q := engram.PatternOf(core).Select(engram.All())
	q.Type = strings.Repeat("x", 2000)
	s.wantCode("a type of a long name", second(s.m.Query(s.ctx(), q)), engram.Exhausted)
}

// testLinksTo finds what links to something, wherever it lies.
func testLinksTo(s *suite) {
	core := s.coreSegment(engram.CoreSegment{}) // of values of any shape
	image, other := below(core, "Camera", "left"), below(core, "Camera", "right")
	cup, plate := below(core, "A", "cup"), below(core, "B", "plate")
	linked := func(to ...engram.ID) engram.Payload {
		return payload(engram.ValueType, map[string]any{"from": to, "said": image.String()}) // a text is no link
	}
	s.commit(update(image, 5, payload(engram.ValueType, 1)), update(image, 10, payload(engram.ValueType, 2)))
	s.commit(update(cup, 10, linked(image.At(5))), update(cup, 20, linked(image.At(10).Instance(0), other.At(1))), update(cup, 30, linked()))
	s.commit(update(plate, 10, linked(image)), update(plate, 20, payload(engram.ValueType, 7), linked(plate.At(20))))
	arrived := engram.Now()
	for it := range s.query(engram.SelectID(plate, engram.Latest(1))).All() {
		arrived = it.Arrived
	}
	s.commit(update(cup, 20, linked(other.At(1))))
	targets := []engram.Target{engram.TargetBoth, engram.TargetWM}
	if s.longTerm {
		s.awaitRecorded(cup, 3)
		s.awaitRecorded(plate, 2)
		targets = append(targets, engram.TargetLTM)
	}
	for _, target := range targets {
		for what, c := range map[string]struct {
			to     engram.ID
			also   []engram.ID
			only   bool
			asOf   *engram.Time
			order  engram.FilterOrder
			where  string
			choose engram.SnapshotSelector
			want   []engram.ID
		}{
			"an entity":           {to: image, choose: engram.All(), want: []engram.ID{cup.At(10), plate.At(10)}},
			"a snapshot":          {to: image.At(5), choose: engram.All(), want: []engram.ID{cup.At(10)}},
			"an instance":         {to: image.At(10).Instance(0), choose: engram.All()},
			"one as of then":      {to: image.At(10).Instance(0), asOf: &arrived, choose: engram.All(), want: []engram.ID{cup.At(20)}},
			"a provider":          {to: image.Parent(), choose: engram.All(), want: []engram.ID{cup.At(10), cup.At(20), plate.At(10)}},
			"the latest":          {to: image.Parent(), choose: engram.Latest(1), want: []engram.ID{cup.At(20), plate.At(10)}},
			"the latest if it is": {to: image.Parent(), choose: engram.Latest(1), order: engram.SelectThenFilter},
			"in an interval":      {to: image.Parent(), choose: engram.In(span(15, 40)), want: []engram.ID{cup.At(20)}},
			"with another filter": {to: image.Parent(), where: "size(payload.from) == 1 && payload.from[0] == \"" + image.String() + "\"", choose: engram.All(), want: []engram.ID{plate.At(10)}},
			"either":              {to: image.At(5), also: []engram.ID{other, image}, choose: engram.All(), want: []engram.ID{cup.At(10), cup.At(20), plate.At(10)}},
			"either of others":    {to: image.At(10), also: []engram.ID{plate.At(20).Instance(0), plate.At(20)}, choose: engram.All(), want: []engram.ID{plate.At(20)}},
			"only the entity":     {to: image, only: true, choose: engram.All(), want: []engram.ID{plate.At(10)}},
			"only the snapshot":   {to: image.At(10), also: []engram.ID{image.At(5)}, only: true, choose: engram.All(), want: []engram.ID{cup.At(10)}},
			"only the provider":   {to: image.Parent(), only: true, choose: engram.All()},
			"itself":              {to: plate, choose: engram.All(), want: []engram.ID{plate.At(20)}},
			"what never was":      {to: below(core, "Camera", "nope").At(3), choose: engram.All()},
		} {
			q := engram.PatternOf(core).Select(c.choose)
			q.LinksTo, q.LinksExactly, q.AsOf, q.FilterOrder, q.Where, q.Target = append(c.also, c.to), c.only, c.asOf, c.order, c.where, target
			s.wantIDs(fmt.Sprintf("target %d, links to %s", target, what), q, c.want...)
			q.WithoutPayload = true
			s.wantIDs(fmt.Sprintf("target %d, links to %s, without payload", target, what), q, c.want...)
			r := s.query(q)
			if len(r.Missing) > 0 {
				s.Errorf("target %d, links to %s: %v is said to be missing", target, what, r.Missing)
			}
			for it := range r.All() {
				if len(it.Instances) != 1 {
					s.Errorf("target %d, links to %s: %d instances of %v, of which one links there", target, what, len(it.Instances), it.ID)
				}
			}
		}
	}
}

// awaitRecorded waits until so many snapshots of an entity are in the long-term memory:
// readers do not wait for a recorder that seems to stand still, as on a busy machine.
func (s *suite) awaitRecorded(entity engram.ID, n int) {
	s.Helper()
	q := engram.SelectID(entity, engram.All())
	q.Target = engram.TargetLTM
	for end := time.Now().Add(2 * time.Minute); len(s.query(q).Items()) < n && time.Now().Before(end); {
		runtime.Gosched()
	}
}

// testFilterFails evaluates filters that say nothing of some payloads: that is told, and
// does not keep the others from being found.
func testFilterFails(s *suite) {
	core := s.coreSegment(engram.CoreSegment{}) // of values of any shape
	entity := below(core, "Provider", "thing")
	for i, v := range []any{
		map[string]any{"n": 5}, map[string]any{"n": "five"}, map[string]any{"items": []any{1}}, map[string]any{"n": 1}, 7,
	} {
		s.commit(update(entity, engram.Time(i*10), payload(engram.ValueType, v)))
	}
	typed := s.readings("cup")
	s.fill(typed, 10, 20)
	for _, order := range []engram.FilterOrder{engram.FilterThenSelect, engram.SelectThenFilter} {
		for expr, c := range map[string]struct {
			of     engram.ID
			times  []engram.Time
			failed uint64
			says   string
		}{
			"n > 3":              {entity, []engram.Time{0}, 3, ""},
			"n > 3 || true":      {entity, []engram.Time{0, 10, 20, 30, 40}, 0, ""},
			"has(payload.n)":     {entity, []engram.Time{0, 10, 30}, 0, ""},
			"items[3] == 1":      {entity, nil, 5, ""},
			"n == 5 && nope > 1": {entity, nil, 3, "nope"},
			"nope == 1":          {typed, nil, 2, "nope"},
			"value[0] > 1.0":     {typed, nil, 2, ""},
			"value > 0.0":        {typed, []engram.Time{10, 20}, 0, ""},
		} {
			q := engram.SelectID(c.of, engram.All())
			q.Where, q.FilterOrder = expr, order
			s.wantTimes(expr, q, c.times...)
			var failed engram.Missing
			for _, m := range s.query(q).Missing {
				if m.Reason == engram.MissingFilterFailed {
					failed = m
				}
			}
			switch {
			case failed.Count != c.failed:
				s.Errorf("%s: evaluating is said to have failed on %d snapshots (%s), not %d", expr, failed.Count, failed.Detail, c.failed)
			case c.failed > 0 && (!c.of.Contains(failed.Example) || !strings.Contains(failed.Detail, c.says) || failed.ID != c.of):
				s.Errorf("%s: what failed is told of %s, such as %s: %s", expr, failed.ID, failed.Example, failed.Detail)
			}
		}
	}
}

// testFields asks for some members only.
func testFields(s *suite) {
	entity := s.readings("cup")
	full := payload(readingType, map[string]any{"value": 1.5, "unit": "m", "detail": map[string]any{"z": 2.5, "tags": []any{"a"}}})
	s.commit(update(entity, 10, full))
	s.commit(update(sibling(entity, "marked"), 10, payload(markedType, map[string]any{"value": 3.5, "unit": "s", "mark": 4})))
	for _, c := range []struct {
		fields []string
		want   engram.Payload
	}{
		{[]string{"value"}, payload(readingType, map[string]any{"value": 1.5})},
		{[]string{"unit", "detail.z"}, payload(readingType, map[string]any{"unit": "m", "detail": map[string]any{"z": 2.5}})},
		{[]string{"detail"}, payload(readingType, map[string]any{"detail": map[string]any{"z": 2.5, "tags": []any{"a"}}})},
	} {
		q := engram.SelectID(entity, engram.All())
		q.Fields = c.fields
		items := s.query(q).Items()
		if len(items) != 1 || !slices.Equal(items[0].Instances[0].Payload.Bytes, c.want.Bytes) {
			s.Errorf("fields %v: got %+v, want %x", c.fields, items, c.want.Bytes)
		}
	}
	q := engram.SelectID(entity.Parent(), engram.All())
	q.Fields = []string{"mark"} // only one of the two types has it
	items := s.query(q).Items()
	if len(items) != 2 || len(items[0].Instances[0].Payload.Bytes) != 0 ||
		!slices.Equal(items[1].Instances[0].Payload.Bytes, payload(markedType, map[string]any{"mark": 4}).Bytes) {
		s.Errorf("a field of one type of two gives %+v", items)
	}
	q.Fields = []string{"valu"}
	_, err := s.m.Query(s.ctx(), q)
	s.wantCode("a field that no type has", err, engram.NotFound, "valu")
	if snap, err := s.m.Latest(s.ctx(), entity); err != nil || !slices.Equal(snap.Instances[0].Payload.Bytes, full.Bytes) {
		s.Errorf("the memory holds %+v, %v afterwards", snap, err)
	}
}

// testTarget asks the working memory alone, and both.
func testTarget(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10)
	for _, target := range []engram.Target{engram.TargetBoth, engram.TargetWM} {
		q := engram.SelectID(entity, engram.All())
		q.Target = target
		s.wantTimes(fmt.Sprintf("target %d", target), q, 10)
	}
}

// testBadQueries asks what makes no sense or too much.
func testBadQueries(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 10)
	pattern := func(sel engram.NameSelector) engram.Query {
		p := engram.PatternOf(entity.Parent())
		p.Levels = append(p.Levels, sel)
		return p.Select(engram.Latest(1))
	}
	deep := engram.QueryNode{}
	for range 4 {
		deep = engram.QueryNode{Children: []engram.QueryNode{deep}}
	}
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("entity-%d", i)
	}
	snapshotsAbove := engram.SelectID(entity, engram.All())
	snapshotsAbove.Memories[0].Snapshots = []engram.SnapshotSelector{engram.All()}
	for what, c := range map[string]struct {
		q    engram.Query
		code engram.Code
	}{
		"a regex that does not compile": {pattern(engram.MatchRegex("cup[")), engram.Invalid},
		"a regex with a lookahead":      {pattern(engram.MatchRegex("(?=cup)")), engram.Invalid},
		"a regex that is too long":      {pattern(engram.MatchRegex(strings.Repeat("x", engram.MaxRegexLen+1))), engram.Exhausted},
		"100,000 entities by name":      {pattern(engram.OneOf(names...)), engram.Exhausted},
		"latest 0":                      {engram.SelectID(entity, engram.Latest(0)), engram.Invalid},
		"nearest within less than 0":    {engram.SelectID(entity, engram.Nearest(1, -time.Second)), engram.Invalid},
		"a range that ends first":       {engram.SelectID(entity, engram.In(span(2, 1))), engram.Invalid},
		"snapshots of a memory":         {snapshotsAbove, engram.Invalid},
		"more levels than there are":    {engram.Query{Memories: []engram.QueryNode{deep}}, engram.Invalid},
	} {
		_, err := s.m.Query(s.ctx(), c.q)
		s.wantCode(what, err, c.code)
	}
	s.wantTimes("what was stored before", engram.SelectID(entity, engram.All()), 10)
}

// testManyEntities asks for the latest snapshots of very many entities at once.
func testManyEntities(s *suite) {
	s.addTypes()
	provider := below(s.coreSegment(engram.CoreSegment{Type: readingType}), "Provider")
	n := s.options.entities
	p := reading(1)
	var updates []engram.EntityUpdate
	for i := range n {
		updates = append(updates, update(below(provider, fmt.Sprintf("entity-%06d", i)), engram.Time(i), p))
		if len(updates) == 5000 {
			s.commit(updates...)
			updates = updates[:0]
		}
	}
	count := func(q engram.Query) (n int) {
		last := engram.ID{}
		for it := range s.query(q).All() {
			if n++; last.Compare(it.ID) >= 0 {
				s.Fatalf("%v follows %v", it.ID, last)
			}
			last = it.ID
		}
		return n
	}
	if got := count(engram.SelectID(provider, engram.Latest(1))); got != n {
		s.Errorf("%d entities were found of %d", got, n)
	}
	pattern := engram.PatternOf(provider)
	pattern.Levels = append(pattern.Levels, engram.MatchRegex(`entity-\d*7`))
	if got := count(pattern.Select(engram.Latest(1))); got != n/10 {
		s.Errorf("%d entities match, want %d", got, n/10)
	}
	stats, err := s.m.Stats(s.ctx(), engram.PatternOf(provider), engram.LevelProviderSegment)
	s.must(err)
	if len(stats) != 1 || stats[0].Entities != uint64(n) || stats[0].Snapshots != uint64(n) {
		s.Errorf("stats %+v", stats)
	}
}

// testParts gets a large answer in parts, which together are the whole one.
func testParts(s *suite) {
	reader, ok := s.m.(engram.PartReader)
	if !ok {
		s.Skip("answers in parts are not offered")
	}
	entity := s.readings("many")
	var want []engram.ID
	var updates []engram.EntityUpdate
	for i := range 10_000 {
		updates = append(updates, update(entity, engram.Time(i), reading(1)))
		want = append(want, entity.At(engram.Time(i)))
	}
	s.commit(updates...)
	for i := range 5000 {
		e := sibling(entity, fmt.Sprintf("one-%04d", i))
		updates[i] = update(e, 1, reading(1))
		want = append(want, e.At(1))
	}
	s.commit(updates[:5000]...)
	q := engram.SelectID(entity.Parent(), engram.All())
	parts, got := 0, []engram.ID(nil)
	s.must(reader.QueryParts(s.ctx(), q, func(r *engram.Result) error {
		parts++
		for it := range r.All() {
			got = append(got, it.ID)
		}
		return nil
	}))
	if parts < 2 {
		s.Errorf("the answer came in %d parts", parts)
	}
	if !slices.Equal(got, want) {
		s.Errorf("the parts hold %d snapshots, or in another order; want %d", len(got), len(want))
	}
	enough := errors.New("enough")
	if err := reader.QueryParts(s.ctx(), q, func(*engram.Result) error { return enough }); !errors.Is(err, enough) {
		s.Errorf("an error of the callback comes back as %v", err)
	}
	q.Memories[0].Names = engram.MatchRegex("(")
	s.wantCode("a bad query in parts", reader.QueryParts(s.ctx(), q, func(*engram.Result) error { return nil }), engram.Invalid)
}

// testBounds lets snapshots be evicted and finds that it is said.
func testBounds(s *suite) {
	s.addTypes()
	inWM := func(id engram.ID, snapshots ...engram.SnapshotSelector) engram.Query {
		q := engram.SelectID(id, snapshots...)
		q.Target = engram.TargetWM
		return q
	}
	core := s.coreSegment(engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxCount: 3}})
	entity := below(core, "Provider", "cup")
	s.fill(entity, 10, 20, 30, 40, 50)
	r := s.query(inWM(entity, engram.All()))
	if got := times(r); !slices.Equal(got, []engram.Time{30, 40, 50}) {
		s.Errorf("times %d are kept, want 3", got)
	}
	if len(r.Missing) != 1 || r.Missing[0].ID != entity || r.Missing[0].Reason != engram.MissingEvicted || r.Missing[0].Count != 2 || r.Missing[0].Interval != span(10, 21) {
		s.Errorf("missing is %+v", r.Missing)
	}
	if s.longTerm {
		s.testEvictedIsKept(entity)
	} else {
		s.wantCode("what was evicted", second(s.m.AtOrBefore(s.ctx(), entity, 25)), engram.TooOld)
	}
	s.wantCode("what never was", second(s.m.AtOrBefore(s.ctx(), entity, 9)), engram.NotFound)
	if r := s.query(inWM(entity, engram.Latest(3), engram.AtOrBefore(35), engram.In(span(30, 99)))); len(r.Missing) != 0 {
		s.Errorf("missing %+v of what is all there", r.Missing)
	}
	s.fill(entity, 50, 50) // superseded versions count
	s.wantTimes("with two superseded versions", inWM(entity, engram.All()), 50)

	aged := below(s.coreSegment(engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxAge: 10}}), "Provider", "cup")
	s.fill(aged, 100, 91, 90)
	if s.longTerm {
		s.fill(aged, 89)
	} else {
		s.refuse("what would be evicted at once, and is kept nowhere else", update(aged, 89, reading(1)), engram.TooOld)
	}
	s.wantTimes("within the age", inWM(aged, engram.All()), 90, 91, 100)
	s.fill(aged, 101)
	s.wantTimes("a newer one lets others age", inWM(aged, engram.All()), 91, 100, 101)
	s.fill(aged, 1000, 102)
	s.wantTimes("one wild stamp evicts nothing", inWM(aged, engram.All()), 100, 101, 102, 1000)

	size := int64(len(reading(1).Bytes))
	sized := below(s.coreSegment(engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxBytes: 2*size + 1}}), "Provider", "cup")
	s.fill(sized, 1, 2, 3)
	s.wantTimes("within the bytes", inWM(sized, engram.All()), 2, 3)
	big := payload(readingType, map[string]any{"value": 1.0, "unit": "m", "blob": make([]byte, 2*size)})
	s.refuse("more bytes than are ever kept", update(sized, 4, big), engram.Exhausted)
	s.wantTimes("within the bytes, afterwards", inWM(sized, engram.All()), 2, 3)
}

// testEvictedIsKept finds in the long-term memory what the working memory evicted of an
// entity that was filled with the times 10 to 50.
func (s *suite) testEvictedIsKept(entity engram.ID) {
	s.Helper()
	// Readers do not wait for a recorder that seems to stand still, as on a busy machine
	// while it seals what parts before this one left: it is waited for here.
	for end := time.Now().Add(2 * time.Minute); len(s.query(engram.SelectID(entity, engram.All())).Missing) > 0 && time.Now().Before(end); {
		runtime.Gosched()
	}
	if snap, err := s.m.AtOrBefore(s.ctx(), entity, 25); err != nil || snap.Time != 20 {
		s.Errorf("what was evicted: %+v, %v; want time 20", snap, err)
	}
	for _, target := range []engram.Target{engram.TargetBoth, engram.TargetLTM} {
		q := engram.SelectID(entity, engram.All())
		q.Target = target
		s.wantTimes(fmt.Sprintf("target %d", target), q, 10, 20, 30, 40, 50)
		if r := s.query(q); len(r.Missing) != 0 {
			s.Errorf("target %d: missing %+v of what is on disk", target, r.Missing)
		}
	}
}
