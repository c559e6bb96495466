package memorytest

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// testCommit commits, and finds the same in the answer and in the memory.
func testCommit(s *suite) {
	entity := s.readings("cup")
	before := engram.Now()
	results, err := s.m.Commit(s.ctx(), engram.Commit{Updates: []engram.EntityUpdate{
		update(entity, 10, reading(1)),
		update(sibling(entity, "plate"), 20, reading(2)),
		update(entity, 30, reading(3)),
	}})
	s.must(err)
	s.must(engram.FirstError(results))
	want := []engram.ID{entity.At(10), sibling(entity, "plate").At(20), entity.At(30)}
	for i, r := range results {
		if r.ID != want[i] || r.Number == 0 || i > 0 && r.Number <= results[i-1].Number {
			s.Errorf("result %d is %v with number %d, want %v and growing numbers", i, r.ID, r.Number, want[i])
		}
	}
	snap, err := s.m.Latest(s.ctx(), entity)
	s.must(err)
	if snap.Time != 30 || snap.Number != results[2].Number || s.value(snap) != 3 || len(snap.Instances) != 1 {
		s.Errorf("the latest snapshot is %+v", snap)
	}
	if snap.Arrived < before-1e9 || snap.Arrived > engram.Now()+1e9 {
		s.Errorf("it arrived at %v, between %v and now", snap.Arrived, before)
	}
	if results, err := s.m.Commit(s.ctx(), engram.Commit{}); err != nil || len(results) != 0 {
		s.Errorf("an empty commit gives %v, %v", results, err)
	}
}

// testTimesAhead commits times ahead of the clock, in each way that commits go.
func testTimesAhead(s *suite) {
	entity := s.readings("cup")
	soon, far := engram.Now().Add(10*time.Second), engram.Now().Add(24*time.Hour)
	c := engram.Commit{Updates: []engram.EntityUpdate{update(entity, soon, reading(1)), update(entity, far, reading(2))}}
	refused := func(way string, results []engram.UpdateResult, err error) {
		s.must(err)
		if len(results) != 2 || results[0].Err != nil {
			s.Fatalf("%s: a time in 10 s: %+v", way, results)
		}
		s.wantCode(way+": a time in a day", results[1].Err, engram.OutOfRange)
	}
	results, err := s.m.Commit(s.ctx(), c)
	refused("a commit", results, err)
	recorded := c.With(c.Updates[1:])
	recorded.Recorded = true
	results, err = s.m.Commit(s.ctx(), recorded)
	s.must(err)
	s.must(engram.FirstError(results))
	s.wantTimes("of a recording", engram.SelectID(entity, engram.All()), soon, far)

	streamer, ok := s.m.(engram.CommitStreamer)
	if !ok {
		return
	}
	stream, err := streamer.CommitStream(s.ctx())
	s.must(err)
	defer stream.Close()
	recorded.Updates = []engram.EntityUpdate{update(entity, far+1, reading(3))}
	s.must(stream.Send(c))
	s.must(stream.Send(recorded))
	s.must(stream.Flush())
	results, err = stream.Recv()
	refused("a stream", results, err)
	results, err = stream.Recv()
	s.must(err)
	s.must(engram.FirstError(results))
	s.wantTimes("of a recorded stream", engram.SelectID(entity, engram.All()), soon, far, far+1)
}

// testTransientCommit uses a payload's memory again once the commit is answered.
func testTransientCommit(s *suite) {
	entity := s.readings("cup")
	p := reading(1)
	for i := range 3 {
		copy(p.Bytes, reading(float64(1+i)).Bytes)
		results, err := s.m.Commit(s.ctx(), engram.Commit{Updates: []engram.EntityUpdate{update(entity, engram.Time(i), p)}, Transient: true})
		s.must(err)
		s.must(engram.FirstError(results))
	}
	clear(p.Bytes)
	i := 0
	for item := range s.query(engram.SelectID(entity, engram.All())).All() {
		if got := s.value(item.Snapshot); got != float64(1+i) {
			s.Errorf("snapshot %d holds %v", i, got)
		}
		i++
	}
	if i != 3 {
		s.Errorf("%d snapshots of 3", i)
	}
}

// testInstances stores several instances with their metadata, in their order.
func testInstances(s *suite) {
	entity := s.readings("cup")
	u := update(entity, 5, reading(1), payload(markedType, map[string]any{"value": 2.0, "mark": 7}), engram.Payload{})
	u.Instances[0].Confidence = 0.25
	u.Instances[1].Sent, u.Instances[1].HasSent = 0, true
	u.Instances[2].Confidence = 0
	s.commit(u)
	snap, err := s.m.Latest(s.ctx(), entity)
	s.must(err)
	if len(snap.Instances) != 3 {
		s.Fatalf("%d instances came back of 3", len(snap.Instances))
	}
	for i, want := range u.Instances {
		got := snap.Instances[i]
		if want.Payload.Type == "" {
			want.Payload.Type = readingType
		}
		if got.Confidence != want.Confidence || got.Payload.Type != want.Payload.Type || !slices.Equal(got.Payload.Bytes, want.Payload.Bytes) {
			s.Errorf("instance %d came back as %+v, want %+v", i, got, want)
		}
	}
	if got := snap.Instances[0].Sent; got != snap.Arrived {
		s.Errorf("an instance without a time of sending was sent at %v, not when it arrived, %v", got, snap.Arrived)
	}
	if got := snap.Instances[1]; got.Sent != 0 || !got.HasSent {
		s.Errorf("an instance sent at 0 was sent at %v, %v", got.Sent, got.HasSent)
	}
}

// testPartialFailure shows that bad updates do not stop good ones, and that of a bad
// update nothing is stored.
func testPartialFailure(s *suite) {
	entity := s.readings("cup")
	other := sibling(entity, "plate")
	bad := reading(2)
	bad.Type = otherType
	var updates []engram.EntityUpdate
	var want []engram.Time
	for i := range 100 {
		t := engram.Time(i)
		if i%3 == 0 {
			updates = append(updates, update(other, t, reading(1), bad)) // one instance is good
			continue
		}
		updates = append(updates, update(entity, t, reading(float64(i))))
		want = append(want, t)
	}
	results, err := s.m.Commit(s.ctx(), engram.Commit{Updates: updates})
	s.must(err)
	if len(results) != len(updates) {
		s.Fatalf("%d results for %d updates", len(results), len(updates))
	}
	for i, r := range results {
		if (r.Err != nil) != (i%3 == 0) {
			s.Fatalf("result %d: error %v", i, r.Err)
		}
		if r.Err == nil && r.ID != entity.At(engram.Time(i)) {
			s.Errorf("result %d is about %v", i, r.ID)
		}
	}
	s.wantTimes("the good updates", engram.SelectID(entity, engram.All()), want...)
	s.wantTimes("the bad updates", engram.SelectID(other, engram.All()))
	s.wantCode("an entity never stored", second(s.m.Latest(s.ctx(), other)), engram.NotFound)
}

func second[T any](_ T, err error) error { return err }

// testBadUpdates commits what is wrong in its form: each is refused with its code,
// and what was stored before stays.
func testBadUpdates(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 1)
	good := reading(1)
	with := func(change func(*engram.EntityUpdate)) engram.EntityUpdate {
		u := update(entity, 2, good)
		change(&u)
		return u
	}
	confidence := func(c float64) engram.EntityUpdate {
		return with(func(u *engram.EntityUpdate) { u.Instances[0].Confidence = float32(c) })
	}
	s.refuse("an unknown memory", update(id("NoSuchMemory", "a", "b", "c"), 2, good), engram.NotFound, "NoSuchMemory")
	s.refuse("an unknown core segment", update(id(s.memory, "NoSuchSegment", "b", "c"), 2, good), engram.NotFound, "NoSuchSegment")
	s.refuse("a segment's ID", update(entity.Parent(), 2, good), engram.Invalid)
	s.refuse("a snapshot's ID", with(func(u *engram.EntityUpdate) { u.Entity = entity.At(2) }), engram.Invalid)
	s.refuse("the end of time", with(func(u *engram.EntityUpdate) { u.Time = engram.MaxTime }), engram.OutOfRange)
	s.refuse("no instances", update(entity, 2), engram.Invalid)
	s.refuse("confidence NaN", confidence(math.NaN()), engram.Invalid, "NaN")
	s.refuse("confidence above 1", confidence(1.5), engram.OutOfRange, "1.5")
	s.refuse("confidence below 0", confidence(-0.5), engram.OutOfRange, "-0.5")
	s.refuse("confidence infinite", confidence(math.Inf(1)), engram.OutOfRange)
	s.refuse("too many instances", update(entity, 2, slices.Repeat([]engram.Payload{good}, 4097)...), engram.Exhausted, "4097")
	if _, err := engram.NewID(s.memory, "a", "b", strings.Repeat("x", engram.MaxNameLen+1)); !errors.Is(err, engram.Invalid) {
		s.Errorf("a name too long gives %v", err)
	}
	s.wantTimes("what was stored before", engram.SelectID(entity, engram.All()), 1)
}

// testBadPayloads commits payloads that their segment does not take.
func testBadPayloads(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 1)
	typed := func(typ string, b ...byte) engram.EntityUpdate {
		return update(entity, 2, engram.Payload{Type: typ, Bytes: b})
	}
	s.refuse("an unknown type", typed("no.such.Type"), engram.NotFound, "no.such.Type", "AddType")
	s.refuse("a type that does not extend the segment's", typed(otherType), engram.TypeMismatch, "value")
	s.refuse("the variant in a typed segment", typed(engram.ValueType), engram.TypeMismatch)
	s.refuse("a member of the wrong kind", typed(readingType, 0x0a, 1, 'x'), engram.Corrupt, "value")
	s.refuse("a member cut short", typed(readingType, 0x12, 5, 'm'), engram.Corrupt, "unit")
	s.refuse("a string that is not UTF-8", typed(readingType, 0x12, 1, 0xff), engram.Corrupt, "unit")
	s.refuse("a bad tag", typed(readingType, 0x00), engram.Corrupt)
	s.refuse("a type left to the segment, and wrong bytes", typed("", 0x0a, 1, 'x'), engram.Corrupt, "value")
	s.wantTimes("what was stored before", engram.SelectID(entity, engram.All()), 1)
}

// testPayloadLimit commits payloads of the largest size and one byte more.
func testPayloadLimit(s *suite) {
	if s.maxPayload == 0 {
		s.Skip("the memory under test does not tell its limit")
	}
	entity := s.readings("cup")
	sized := func(n int) engram.Payload {
		blob := make([]byte, n)
		for over := 1; over != 0; {
			p := payload(readingType, map[string]any{"blob": blob})
			over = len(p.Bytes) - n
			blob = blob[:len(blob)-over]
		}
		return payload(readingType, map[string]any{"blob": blob})
	}
	s.commit(update(entity, 1, sized(s.maxPayload)))
	s.refuse("a payload over the limit", update(entity, 2, sized(s.maxPayload+1)), engram.Exhausted)
	s.wantTimes("the one within", engram.SelectID(entity, engram.All()), 1)
}

// testProviderTypes commits payloads of different types to segments of several kinds.
func testProviderTypes(s *suite) {
	s.addTypes()
	at := engram.Time(0)
	accepts := func(what string, provider engram.ID, typ, stored string) {
		s.Helper()
		at++
		entity := below(provider, "entity")
		s.commit(update(entity, at, engram.Payload{Type: typ}))
		snap, err := s.m.Latest(s.ctx(), entity)
		s.must(err)
		if got := snap.Instances[0].Payload.Type; got != stored {
			s.Errorf("%s: type %q was stored as %q, want %q", what, typ, got, stored)
		}
	}
	refuses := func(what string, provider engram.ID, typ string) {
		s.Helper()
		s.refuse(what, update(below(provider, "entity"), 1, engram.Payload{Type: typ}), engram.TypeMismatch)
	}

	untyped := below(s.coreSegment(engram.CoreSegment{}), "Provider")
	for _, typ := range []string{readingType, otherType, engram.ValueType} {
		accepts("a core segment without a type", untyped, typ, typ)
	}
	accepts("a core segment without a type", untyped, "", engram.ValueType)

	core := s.coreSegment(engram.CoreSegment{Type: readingType})
	free := below(core, "Free")
	accepts("a provider made by a commit", free, "", readingType)
	accepts("a provider made by a commit", free, markedType, markedType)
	refuses("a provider made by a commit", free, otherType)

	marked := below(core, "Marked")
	s.must(s.m.AddProviderSegment(s.ctx(), engram.ProviderSegment{ID: marked, Type: markedType}))
	accepts("a provider with a type", marked, "", markedType)
	accepts("a provider with a type", marked, markedType, markedType)
	refuses("a provider with a type", marked, readingType)

	fixed := s.coreSegment(engram.CoreSegment{Type: readingType, FixedProviders: true})
	s.must(s.m.AddProviderSegment(s.ctx(), engram.ProviderSegment{ID: below(fixed, "Added")}))
	accepts("a provider that was added", below(fixed, "Added"), "", readingType)
	s.refuse("a provider that was not added", update(below(fixed, "New", "entity"), 1, engram.Payload{}), engram.NotFound, "AddProviderSegment")
}

// testCommitStream sends commits in a pipeline and gets their answers in order.
func testCommitStream(s *suite) {
	streamer, ok := s.m.(engram.CommitStreamer)
	if !ok {
		s.Skip("commit streams are not offered")
	}
	entity := s.readings("cup")
	stream, err := streamer.CommitStream(s.ctx())
	s.must(err)
	defer stream.Close()
	const n = 500
	sent := make(chan error, 1)
	go func() {
		sent <- func() error {
			for i := range n {
				u := update(entity, engram.Time(i), reading(float64(i)))
				if i%10 == 9 {
					u.Time = engram.MaxTime
				}
				if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{u, u}[:1+i%2]}); err != nil {
					return err
				}
				if i%100 == 50 {
					if err := stream.Flush(); err != nil {
						return err
					}
				}
			}
			return stream.CloseSend()
		}()
	}()
	stored := 0
	last := uint64(0)
	for i := range n {
		results, err := stream.Recv()
		if err != nil {
			s.Fatalf("answer %d: %v", i, err)
		}
		if len(results) != 1+i%2 {
			s.Fatalf("answer %d has %d results, want %d", i, len(results), 1+i%2)
		}
		for _, r := range results {
			if i%10 == 9 {
				s.wantCode("the end of time", r.Err, engram.OutOfRange)
				continue
			}
			if r.Err != nil || r.ID != entity.At(engram.Time(i)) || r.Number <= last {
				s.Fatalf("answer %d: %v number %d after %d, error %v", i, r.ID, r.Number, last, r.Err)
			}
			last = r.Number
		}
		if i%10 != 9 {
			stored++
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		s.Errorf("after the last answer came %v, want io.EOF", err)
	}
	s.must(<-sent)
	if got := len(times(s.query(engram.SelectID(entity, engram.All())))); got != stored {
		s.Errorf("%d snapshots are stored, want %d", got, stored)
	}
}

// testCommitStreamClosed gives a pipeline up.
func testCommitStreamClosed(s *suite) {
	streamer, ok := s.m.(engram.CommitStreamer)
	if !ok {
		s.Skip("commit streams are not offered")
	}
	entity := s.readings("cup")
	stream, err := streamer.CommitStream(s.ctx())
	s.must(err)
	s.must(stream.Send(engram.Commit{Updates: []engram.EntityUpdate{update(entity, 1, reading(1))}}))
	s.must(stream.Flush())
	if _, err := stream.Recv(); err != nil {
		s.Fatal(err)
	}
	s.must(stream.Close())
	late := engram.Commit{Updates: []engram.EntityUpdate{update(entity, 2, reading(2))}}
	if err := errors.Join(stream.Send(late), stream.Flush()); err == nil {
		s.Error("a closed stream takes a commit")
	}
	if _, err := stream.Recv(); err == nil || err == io.EOF {
		s.Errorf("a closed stream answers with %v", err)
	}
	s.wantTimes("what was committed", engram.SelectID(entity, engram.All()), 1)
}
