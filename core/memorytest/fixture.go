package memorytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// timeout bounds every wait of the suite, so that what never comes is an error and
// not a hang; it is long, as the machine may be busy.
const timeout = 3 * time.Minute

// The types the suite works with. Marked extends Reading, Other does not.
const typesProto = `
syntax = "proto3";
package memorytest;
message Detail { optional double z = 1; repeated string tags = 2; }
message Reading { double value = 1; string unit = 2; Detail detail = 3; bytes blob = 4; }
message Marked { double value = 1; string unit = 2; Detail detail = 3; bytes blob = 4; int64 mark = 5; }
message Other { string value = 1; string unit = 2; }
`

const (
	readingType = "memorytest.Reading"
	markedType  = "memorytest.Marked"
	otherType   = "memorytest.Other"
)

var allTypes = sync.OnceValue(func() map[string]*idf.Type {
	const path = "memorytest.proto"
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{path: {Data: []byte(typesProto)}}}, path)
	if err != nil {
		panic(err)
	}
	types := make(map[string]*idf.Type)
	for _, def := range defs {
		t, err := idf.ParseType(def)
		if err != nil {
			panic(err)
		}
		types[t.Name()] = t
	}
	types[engram.ValueType], _ = idf.NewRegistry().Get(engram.ValueType)
	return types
})

// typeOf returns one of the suite's types.
func typeOf(name string) *idf.Type { return allTypes()[name] }

// ctx returns a context for one call or wait.
func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), timeout)
	s.Cleanup(cancel)
	return ctx
}

// addTypes makes the suite's types known.
func (s *suite) addTypes() {
	s.Helper()
	for _, name := range []string{readingType, markedType, otherType} {
		s.must(s.m.AddType(s.ctx(), typeOf(name).Def()))
	}
}

// coreSegment adds a core segment named after the running part of the suite.
func (s *suite) coreSegment(def engram.CoreSegment) engram.ID {
	s.Helper()
	name := s.Name()[strings.LastIndexByte(s.Name(), '/')+1:]
	s.segments++
	def.ID = id(s.memory, fmt.Sprintf("%s-%d", name, s.segments))
	s.must(s.m.AddCoreSegment(s.ctx(), def))
	return def.ID
}

// readings adds a core segment of type Reading and returns an entity in it.
func (s *suite) readings(entity string) engram.ID {
	s.Helper()
	s.addTypes()
	return below(s.coreSegment(engram.CoreSegment{Type: readingType}), "Provider", entity)
}

func id(names ...string) engram.ID {
	out, err := engram.NewID(names...)
	if err != nil {
		panic(err)
	}
	return out
}

func below(parent engram.ID, names ...string) engram.ID {
	return id(append(parent.Names(), names...)...)
}

// sibling returns the entity of another name in the same provider segment.
func sibling(entity engram.ID, name string) engram.ID { return below(entity.Parent(), name) }

// payload returns a payload of the named type with the given members.
func payload(typ string, members any) engram.Payload {
	b, err := typeOf(typ).Encode(members)
	if err != nil {
		panic(err)
	}
	return engram.Payload{Type: typ, Bytes: b}
}

func reading(value float64) engram.Payload {
	return payload(readingType, map[string]any{"value": value, "unit": "m"})
}

// update returns an update with one instance per payload.
func update(entity engram.ID, t engram.Time, payloads ...engram.Payload) engram.EntityUpdate {
	u := engram.EntityUpdate{Entity: entity, Time: t}
	for _, p := range payloads {
		u.Instances = append(u.Instances, engram.NewInstance(p))
	}
	return u
}

// value returns the value of a snapshot's first instance, a Reading.
func (s *suite) value(snap *engram.Snapshot) float64 {
	s.Helper()
	v, err := typeOf(readingType).Decode(snap.Instances[0].Payload.Bytes)
	s.must(err)
	f, _ := v.(map[string]any)["value"].(float64)
	return f
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// wantCode checks that err bears the code and mentions all words.
func (s *suite) wantCode(what string, err error, code engram.Code, words ...string) {
	s.Helper()
	if !errors.Is(err, code) {
		s.Errorf("%s: got error %v (%v), want %v", what, err, engram.CodeOf(err), code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.Errorf("%s: the error %q does not mention %q", what, err, w)
		}
	}
}

// commit commits updates that must all be stored, and returns their numbers.
func (s *suite) commit(updates ...engram.EntityUpdate) []uint64 {
	s.Helper()
	results, err := s.m.Commit(s.ctx(), engram.Commit{Updates: updates})
	s.must(err)
	s.must(engram.FirstError(results))
	var numbers []uint64
	for _, r := range results {
		numbers = append(numbers, r.Number)
	}
	return numbers
}

// refuse commits one update that must be refused.
func (s *suite) refuse(what string, u engram.EntityUpdate, code engram.Code, words ...string) {
	s.Helper()
	results, err := s.m.Commit(s.ctx(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	s.must(err)
	s.wantCode(what, results[0].Err, code, words...)
	if r := results[0]; r.Number != 0 || r.ID != u.Entity {
		s.Errorf("%s: refused as %v with number %d, want the entity %v and 0", what, r.ID, r.Number, u.Entity)
	}
}

// fill commits a reading for each time, of value time.
func (s *suite) fill(entity engram.ID, times ...engram.Time) []uint64 {
	s.Helper()
	var updates []engram.EntityUpdate
	for _, t := range times {
		updates = append(updates, update(entity, t, reading(float64(t))))
	}
	return s.commit(updates...)
}

func (s *suite) query(q engram.Query) *engram.Result {
	s.Helper()
	r, err := s.m.Query(s.ctx(), q)
	s.must(err)
	return r
}

// times returns the times of all snapshots of a result.
func times(r *engram.Result) []engram.Time {
	var out []engram.Time
	for it := range r.All() {
		out = append(out, it.Time)
	}
	return out
}

// wantTimes checks that a query finds exactly snapshots with these times, in the
// order of the result.
func (s *suite) wantTimes(what string, q engram.Query, want ...engram.Time) {
	s.Helper()
	if got := times(s.query(q)); !slices.Equal(got, want) {
		s.Errorf("%s: got times %d, want %d", what, got, want)
	}
}

// wantIDs checks that a query finds exactly these snapshots.
func (s *suite) wantIDs(what string, q engram.Query, want ...engram.ID) {
	s.Helper()
	var got []engram.ID
	for it := range s.query(q).All() {
		got = append(got, it.ID)
	}
	if !slices.Equal(got, want) {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (s *suite) subscribe(sub engram.Subscription) engram.UpdateStream {
	s.Helper()
	stream, err := s.m.Subscribe(s.ctx(), sub)
	s.must(err)
	s.Cleanup(func() { stream.Close() })
	return stream
}

// next reads n updates.
func (s *suite) next(stream engram.UpdateStream, n int) []engram.Update {
	s.Helper()
	var out []engram.Update
	for ctx := s.ctx(); len(out) < n; {
		updates, err := stream.Next(ctx)
		if err != nil {
			s.Fatalf("after %d of %d updates: %v", len(out), n, err)
		}
		out = append(out, updates...)
	}
	if len(out) > n {
		s.Fatalf("got %d updates, want %d: %v", len(out), n, out)
	}
	return out
}

func numbersOf(updates []engram.Update) []uint64 {
	var out []uint64
	for _, u := range updates {
		out = append(out, u.Number)
	}
	return out
}

// wantNumbers checks that the stream delivers exactly the updates of these numbers
// next, none of which is preceded by a loss.
func (s *suite) wantNumbers(what string, stream engram.UpdateStream, want []uint64) []engram.Update {
	s.Helper()
	got := s.next(stream, len(want))
	if !slices.Equal(numbersOf(got), want) {
		s.Fatalf("%s: got updates %d, want %d", what, numbersOf(got), want)
	}
	for _, u := range got {
		if u.Dropped != 0 {
			s.Errorf("%s: update %d says that %d were dropped", what, u.Number, u.Dropped)
		}
	}
	return got
}
