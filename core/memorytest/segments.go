package memorytest

import (
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// testSegments adds segments, once and again.
func testSegments(s *suite) {
	s.addTypes()
	def := engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxCount: 5, MaxAge: time.Hour, MaxBytes: 1 << 20}}
	def.ID = s.coreSegment(def)
	s.must(s.m.AddCoreSegment(s.ctx(), def))
	other := def
	other.History.MaxCount = 6
	s.wantCode("another definition of a core segment", s.m.AddCoreSegment(s.ctx(), other), engram.AlreadyExists)
	other = def
	other.Type = otherType
	s.wantCode("another type of a core segment", s.m.AddCoreSegment(s.ctx(), other), engram.AlreadyExists)

	p := engram.ProviderSegment{ID: below(def.ID, "Marked"), Type: markedType}
	s.must(s.m.AddProviderSegment(s.ctx(), p))
	s.must(s.m.AddProviderSegment(s.ctx(), p))
	p.Type = readingType
	s.wantCode("another type of a provider segment", s.m.AddProviderSegment(s.ctx(), p), engram.AlreadyExists)

	untyped := engram.CoreSegment{ID: s.coreSegment(engram.CoreSegment{})}
	untyped.Type = engram.ValueType
	s.must(s.m.AddCoreSegment(s.ctx(), untyped))
}

// testBadSegments adds what cannot be.
func testBadSegments(s *suite) {
	s.addTypes()
	core := s.coreSegment(engram.CoreSegment{Type: readingType})
	for what, c := range map[string]struct {
		def  engram.CoreSegment
		code engram.Code
	}{
		"in an unknown memory":  {engram.CoreSegment{ID: id("NoSuchMemory", "a")}, engram.NotFound},
		"of an unknown type":    {engram.CoreSegment{ID: id(s.memory, "bad"), Type: "no.such.Type"}, engram.NotFound},
		"with an entity's ID":   {engram.CoreSegment{ID: id(s.memory, "a", "b", "c")}, engram.Invalid},
		"with a memory's ID":    {engram.CoreSegment{ID: id(s.memory)}, engram.Invalid},
		"with a negative bound": {engram.CoreSegment{ID: id(s.memory, "bad"), History: engram.Bounds{MaxCount: -1}}, engram.Invalid},
	} {
		s.wantCode("a core segment "+what, s.m.AddCoreSegment(s.ctx(), c.def), c.code)
	}
	for what, c := range map[string]struct {
		def   engram.ProviderSegment
		code  engram.Code
		words string
	}{
		"in an unknown core segment":        {engram.ProviderSegment{ID: id(s.memory, "none", "b")}, engram.NotFound, "none"},
		"of an unknown type":                {engram.ProviderSegment{ID: below(core, "bad"), Type: "no.such.Type"}, engram.NotFound, "no.such.Type"},
		"of a type that extends another":    {engram.ProviderSegment{ID: below(core, "bad"), Type: otherType}, engram.TypeMismatch, "value"},
		"of the variant in a typed segment": {engram.ProviderSegment{ID: below(core, "bad"), Type: engram.ValueType}, engram.TypeMismatch, "value"},
		"with a core segment's ID":          {engram.ProviderSegment{ID: core}, engram.Invalid, ""},
	} {
		s.wantCode("a provider segment "+what, s.m.AddProviderSegment(s.ctx(), c.def), c.code, c.words)
	}
	for what, c := range map[string]struct {
		id   engram.ID
		code engram.Code
	}{
		"core":     {id(s.memory, "none"), engram.NotFound},
		"provider": {below(core, "none"), engram.NotFound},
		"memory":   {id(s.memory), engram.Invalid},
		"entity":   {below(core, "a", "b"), engram.Invalid},
	} {
		s.wantCode("removing a "+what, s.m.RemoveSegment(s.ctx(), c.id), c.code)
	}
	if got := s.describe(engram.PatternOf(core)); len(got) != 1 {
		s.Errorf("after all that was refused there are %+v", got)
	}
}

// testRemoveSegment removes a provider segment, then its core segment.
func testRemoveSegment(s *suite) {
	entity := s.readings("cup")
	core, kept := entity.Truncate(engram.LevelCoreSegment), below(entity.Truncate(engram.LevelCoreSegment), "Kept", "cup")
	s.fill(entity, 1, 2)
	s.fill(kept, 3)
	s.must(s.m.RemoveSegment(s.ctx(), entity.Parent()))
	s.wantIDs("what is left", engram.SelectID(core, engram.All()), kept.At(3))
	s.wantCode("what was removed", second(s.m.Latest(s.ctx(), entity)), engram.NotFound)
	s.fill(entity, 5)
	s.wantIDs("a provider segment made again", engram.SelectID(core, engram.All()), kept.At(3), entity.At(5))
	s.must(s.m.RemoveSegment(s.ctx(), core))
	s.wantIDs("a removed core segment", engram.SelectID(core, engram.All()))
	s.refuse("a commit to a removed core segment", update(entity, 6, reading(1)), engram.NotFound)
	if got := s.describe(engram.PatternOf(core)); len(got) != 0 {
		s.Errorf("a removed core segment is described as %+v", got)
	}
	s.must(s.m.AddCoreSegment(s.ctx(), engram.CoreSegment{ID: core, Type: otherType}))
	s.wantIDs("a core segment added again", engram.SelectID(core, engram.All()))
}

func (s *suite) describe(p engram.Pattern) []engram.Description {
	s.Helper()
	d, err := s.m.Describe(s.ctx(), p)
	s.must(err)
	return d
}

// testDescribe describes segments by patterns of each length.
func testDescribe(s *suite) {
	s.addTypes()
	def := engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxCount: 9}, MaxAhead: time.Hour, FixedProviders: true}
	core := s.coreSegment(def)
	s.must(s.m.AddProviderSegment(s.ctx(), engram.ProviderSegment{ID: below(core, "B"), Type: markedType}))
	s.must(s.m.AddProviderSegment(s.ctx(), engram.ProviderSegment{ID: below(core, "A")}))
	s.fill(below(core, "A", "cup"), 1)
	want := []engram.Description{
		{ID: core, Type: readingType, History: def.History, MaxAhead: time.Hour, FixedProviders: true},
		{ID: below(core, "A"), Type: readingType, History: def.History, MaxAhead: time.Hour, FixedProviders: true},
		{ID: below(core, "B"), Type: markedType, History: def.History, MaxAhead: time.Hour, FixedProviders: true},
	}
	levels := engram.PatternOf(core).Levels
	for text, c := range map[string]struct {
		more []engram.NameSelector
		want []engram.Description
	}{
		"a core segment":                {nil, want},
		"its providers":                 {[]engram.NameSelector{engram.AllNames()}, want},
		"one provider":                  {[]engram.NameSelector{engram.OneOf("B")}, []engram.Description{want[0], want[2]}},
		"no provider":                   {[]engram.NameSelector{engram.OneOf("none")}, nil},
		"providers above one entity":    {[]engram.NameSelector{engram.AllNames(), engram.OneOf("cup")}, want[:2]},
		"providers above matched names": {[]engram.NameSelector{engram.AllNames(), engram.MatchRegex("c.*")}, want[:2]},
		"providers above no entity":     {[]engram.NameSelector{engram.AllNames(), engram.OneOf("fork")}, nil},
	} {
		if got := s.describe(engram.Pattern{Levels: slices.Concat(levels, c.more)}); !slices.Equal(got, c.want) {
			s.Errorf("%s: %+v, want %+v", text, got, c.want)
		}
	}
	if got := s.describe(engram.Pattern{Levels: levels[:1]}); !slices.Contains(got, want[0]) || !slices.Contains(got, want[2]) {
		s.Errorf("the memory's segments are %+v", got)
	}
	_, err := s.m.Describe(s.ctx(), engram.Pattern{Levels: []engram.NameSelector{engram.MatchRegex("(")}})
	s.wantCode("a bad pattern", err, engram.Invalid)
	untyped := s.coreSegment(engram.CoreSegment{})
	if got := s.describe(engram.PatternOf(untyped)); len(got) != 1 || got[0].Type != engram.ValueType {
		s.Errorf("a core segment without a type is %+v", got)
	}
}

// testTypeDefs makes types known, once, again and differently.
func testTypeDefs(s *suite) {
	s.addTypes()
	s.addTypes()
	def := typeOf(readingType).Def()
	got, err := s.m.Type(s.ctx(), readingType)
	s.must(err)
	t, err := idf.ParseType(got)
	s.must(err)
	if !t.Same(typeOf(readingType)) || got.Source != def.Source || got.Format != def.Format {
		s.Errorf("the type came back as %+v", got)
	}
	names, err := s.m.TypeNames(s.ctx())
	s.must(err)
	for _, name := range []string{readingType, markedType, otherType, engram.ValueType, "foxglove.RawImage"} {
		if !slices.Contains(names, name) {
			s.Errorf("type %s is not among the names", name)
		}
	}
	if !slices.IsSorted(names) {
		s.Error("the types' names are not sorted")
	}
	const other = `syntax = "proto3"; package memorytest; message Reading { double value = 1; string unit = 3; }`
	changed, err := idf.CompileProto(idf.Source{fstest.MapFS{"other.proto": {Data: []byte(other)}}}, "other.proto")
	s.must(err)
	s.wantCode("the same name with other members", s.m.AddType(s.ctx(), changed[0]), engram.AlreadyExists, "unit")
	def.Descriptors = []byte("these are no descriptors")
	s.wantCode("damaged descriptors", s.m.AddType(s.ctx(), def), engram.Invalid)
	_, err = s.m.Type(s.ctx(), "no.such.Type")
	s.wantCode("an unknown type", err, engram.NotFound, "no.such.Type")
}

func (s *suite) stats(p engram.Pattern, depth engram.Level) []engram.Stats {
	s.Helper()
	st, err := s.m.Stats(s.ctx(), p, depth)
	s.must(err)
	for i := range st {
		st[i].Disk = engram.OnDisk{} // which memories have, and record to in their own time
	}
	return st
}

// testStats counts at each level.
func testStats(s *suite) {
	s.addTypes()
	core := s.coreSegment(engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxCount: 3}})
	cup, plate := below(core, "A", "cup"), below(core, "B", "plate")
	s.fill(cup, 10, 20, 20)                           // one superseded
	s.commit(update(cup, 30, reading(1), reading(2))) // evicts 10
	s.commit(update(plate, 5, payload(markedType, map[string]any{})))
	s.refuse("a refused update", update(plate, 6, engram.Payload{Type: otherType}), engram.TypeMismatch)
	size := func(v float64) int64 { return int64(len(reading(v).Bytes)) }

	cups := engram.Stats{
		ID: cup, Type: readingType, Snapshots: 2, Superseded: 1, Instances: 4, First: 20, Last: 30,
		Bytes: 2*size(20) + size(1) + size(2), Committed: 4, Evicted: 1,
	}
	plates := engram.Stats{ID: plate, Type: markedType, Snapshots: 1, Instances: 1, First: 5, Last: 5, Committed: 1}
	a, b := cups, plates
	a.ID, a.Entities = cup.Parent(), 1
	b.ID, b.Entities, b.Type, b.Refused = plate.Parent(), 1, readingType, 1
	sum := engram.Stats{
		ID: core, Type: readingType, Entities: 2, Snapshots: 3, Superseded: 1, Instances: 5, First: 5, Last: 30,
		Bytes: a.Bytes, Committed: 5, Evicted: 1, Refused: 1,
	}
	for _, c := range []struct {
		what  string
		p     engram.Pattern
		depth engram.Level
		want  []engram.Stats
	}{
		{"the core segment", engram.PatternOf(core), engram.LevelCoreSegment, []engram.Stats{sum}},
		{"down to providers", engram.PatternOf(core), engram.LevelProviderSegment, []engram.Stats{sum, a, b}},
		{"down to entities", engram.PatternOf(core), engram.LevelEntity, []engram.Stats{sum, a, cups, b, plates}},
		{"one entity", engram.PatternOf(cup), engram.LevelEntity, []engram.Stats{cups}},
		{"one provider", engram.PatternOf(plate.Parent()), engram.LevelEntity, []engram.Stats{b, plates}},
		{"nothing", engram.PatternOf(below(core, "C")), engram.LevelEntity, nil},
	} {
		if got := s.stats(c.p, c.depth); !slices.Equal(got, c.want) {
			s.Errorf("%s:\n got %+v\nwant %+v", c.what, got, c.want)
		}
	}
	memories := engram.Pattern{}
	if robot, _, ok := strings.Cut(s.memory, ":"); ok { // which is not among one's own
		memories = engram.MustPattern(robot + ":*")
	}
	all := s.stats(memories, engram.LevelMemory)
	at := slices.IndexFunc(all, func(st engram.Stats) bool { return st.ID == id(s.memory) })
	if at < 0 || all[at].Snapshots < 3 || all[at].Committed < 5 || all[at].Refused < 1 {
		s.Fatalf("the memories: %+v", all)
	}
	s.refuse("an update to no segment", update(id(s.memory, "none", "x", "y"), 6, reading(1)), engram.NotFound)
	if now := s.stats(engram.PatternOf(id(s.memory)), engram.LevelMemory); len(now) != 1 || now[0].Refused <= all[at].Refused {
		s.Errorf("an update to no segment is not counted: %+v", now)
	}
	s.must(s.m.RemoveSegment(s.ctx(), cup.Parent()))
	if got := s.stats(engram.PatternOf(core), engram.LevelCoreSegment); len(got) != 1 || got[0].Snapshots != 1 || got[0].Committed != 5 || got[0].Evicted != 1 {
		s.Errorf("after a removal: %+v", got)
	}
	_, err := s.m.Stats(s.ctx(), engram.Pattern{}, engram.LevelSnapshot)
	s.wantCode("stats down to snapshots", err, engram.Invalid)
	_, err = s.m.Stats(s.ctx(), engram.Pattern{Levels: []engram.NameSelector{engram.MatchRegex(strings.Repeat("(", 3))}}, engram.LevelMemory)
	s.wantCode("a bad pattern", err, engram.Invalid)
}

// testPredict asks a memory without a behaviour for a prediction.
func testPredict(s *suite) {
	predictor, ok := s.m.(engram.Predictor)
	if !ok {
		s.Skip("prediction is not offered")
	}
	entity := s.readings("cup")
	s.fill(entity, 1)
	ids := []engram.ID{entity.At(2), entity.At(3)}
	predictions, err := predictor.Predict(s.ctx(), ids)
	s.must(err)
	if len(predictions) != len(ids) {
		s.Fatalf("%d predictions for %d IDs", len(predictions), len(ids))
	}
	for i, p := range predictions {
		if p.ID != ids[i] || (p.Snapshot == nil) == (p.Err == nil) {
			s.Errorf("prediction %d is %+v", i, p)
		}
	}
}
