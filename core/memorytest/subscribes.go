package memorytest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// of subscribes to what lies below an ID.
func of(id engram.ID, start engram.Start) engram.Subscription {
	return engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(id)}, Start: start}
}

// testSubscribeNow is told of everything from now on, and of nothing before.
func testSubscribeNow(s *suite) {
	entity := s.readings("cup")
	s.fill(entity, 1, 2)
	stream := s.subscribe(of(entity, engram.Start{}))
	numbers := s.fill(entity, 3, 4)
	numbers = append(numbers, s.fill(entity, 4)...)
	updates := s.wantNumbers("the live tail", stream, numbers)
	for i, want := range []engram.Update{{ID: entity.At(3)}, {ID: entity.At(4)}, {ID: entity.At(4), Supersedes: true}} {
		u := updates[i]
		if u.ID != want.ID || u.Supersedes != want.Supersedes || u.Snapshot != nil || u.Arrived == 0 || u.Restarted {
			s.Errorf("update %d is %+v, want %+v", i, u, want)
		}
	}
	if stream.Epoch() == 0 {
		s.Error("the stream has no epoch")
	}
}

// testSubscribeLast gets the last snapshots of each entity first.
func testSubscribeLast(s *suite) {
	entity := s.readings("cup")
	a := s.fill(entity, 10, 30, 20)
	b := s.fill(sibling(entity, "plate"), 5)
	sup := s.fill(entity, 30) // supersedes a[1]
	stream := s.subscribe(of(entity.Parent(), engram.Start{Kind: engram.StartLast, N: 2}))
	live := s.fill(entity, 40)
	s.wantNumbers("the last 2 of each, in order of numbers, and the tail", stream, []uint64{a[2], b[0], sup[0], live[0]})
}

// testSubscribeTime gets what is kept from a time on first.
func testSubscribeTime(s *suite) {
	entity := s.readings("cup")
	a := s.fill(entity, 10, 30, 20, 5)
	stream := s.subscribe(of(entity, engram.Start{Kind: engram.StartTime, Time: 20}))
	live := s.fill(entity, 1) // what comes is delivered whatever its time
	s.wantNumbers("from 20 on and the tail", stream, []uint64{a[1], a[2], live[0]})
}

// testSubscribeNumber resumes where another subscription broke off.
func testSubscribeNumber(s *suite) {
	entity := s.readings("cup")
	first := s.subscribe(of(entity, engram.Start{}))
	numbers := s.fill(entity, 1, 2, 3, 3, 1)
	seen := s.wantNumbers("the first subscription", first, numbers)
	epoch := first.Epoch()
	s.must(first.Close())
	resume := func(after uint64) engram.UpdateStream {
		return s.subscribe(of(entity, engram.Start{Kind: engram.StartNumber, Number: after, Epoch: epoch}))
	}
	from2, fromLast := resume(seen[1].Number), resume(seen[4].Number)
	more := s.fill(entity, 4)
	s.wantNumbers("after the second, superseded ones too", from2, append(numbers[2:len(numbers):len(numbers)], more...))
	s.wantNumbers("after the last", fromLast, more)
	if from2.Epoch() != epoch {
		s.Errorf("the epoch was %d and is %d", epoch, from2.Epoch())
	}
	s.wantNumbers("without an epoch", s.subscribe(of(entity, engram.Start{Kind: engram.StartNumber, Number: numbers[3]})), append(numbers[4:len(numbers):len(numbers)], more...))

	_, err := s.m.Subscribe(s.ctx(), of(entity, engram.Start{Kind: engram.StartNumber, Number: 1, Epoch: epoch + 1}))
	s.wantCode("another epoch", err, engram.Conflict)
	_, err = s.m.Subscribe(s.ctx(), of(entity, engram.Start{Kind: engram.StartNumber, Number: more[0] + 1_000_000, Epoch: epoch}))
	s.wantCode("a number not given yet", err, engram.TooNew)

	bounded := below(s.coreSegment(engram.CoreSegment{Type: readingType, History: engram.Bounds{MaxCount: 2}}), "Provider", "cup")
	numbers = s.fill(bounded, 1, 2, 3, 4, 5)
	updates := s.next(s.subscribe(of(bounded, engram.Start{Kind: engram.StartNumber, Number: numbers[0], Epoch: epoch})), 2)
	if !slices.Equal(numbersOf(updates), numbers[3:]) || updates[0].Dropped != 2 || updates[1].Dropped != 0 {
		s.Errorf("resumed after what was evicted: %+v, want updates %d and 2 dropped", updates, numbers[3:])
	}
}

// testSubscribePatterns subscribes to a union of patterns.
func testSubscribePatterns(s *suite) {
	entity := s.readings("cup-1")
	cups := engram.PatternOf(entity.Parent())
	cups.Levels = append(cups.Levels, engram.MatchRegex(`cup-\d`))
	sub := engram.Subscription{Patterns: []engram.Pattern{
		cups, engram.PatternOf(entity), engram.PatternOf(sibling(entity, "plate")),
	}}
	stream := s.subscribe(sub)
	var want []uint64
	for i, name := range []string{"cup-1", "cup-12", "plate", "fork", "cup-2", "cup-1"} {
		if n := s.fill(sibling(entity, name), engram.Time(i)); name != "cup-12" && name != "fork" {
			want = append(want, n...)
		}
	}
	s.wantNumbers("a union of patterns, each update once", stream, want)
	sub.Start = engram.Start{Kind: engram.StartLast, N: 1}
	s.wantNumbers("its backfill", s.subscribe(sub), want[1:])
}

// testSubscribeData gets snapshots with their updates, whole or some members of them.
func testSubscribeData(s *suite) {
	entity := s.readings("cup")
	sub := of(entity, engram.Start{Kind: engram.StartLast, N: 1})
	sub.WithData = true
	s.fill(entity, 1)
	whole := s.subscribe(sub)
	sub.Fields = []string{"unit"}
	part := s.subscribe(sub)
	numbers := s.fill(entity, 2)
	for i, u := range s.next(whole, 2) {
		if u.Snapshot == nil || u.Snapshot.Number != u.Number || u.Snapshot.Arrived != u.Arrived || u.Snapshot.Time != engram.Time(i+1) || s.value(u.Snapshot) != float64(i+1) {
			s.Errorf("update %d has snapshot %+v", u.Number, u.Snapshot)
		}
	}
	want := payload(readingType, map[string]any{"unit": "m"}).Bytes
	for _, u := range s.next(part, 2) {
		if u.Snapshot == nil || !slices.Equal(u.Snapshot.Instances[0].Payload.Bytes, want) {
			s.Errorf("update %d has snapshot %+v, want only the unit", u.Number, u.Snapshot)
		}
	}
	if snap, err := s.m.Latest(s.ctx(), entity); err != nil || snap.Number != numbers[0] || s.value(snap) != 2 {
		s.Errorf("the memory holds %+v, %v afterwards", snap, err)
	}
}

// testSubscribeWhere is told only of snapshots with an instance that satisfies the
// filter.
func testSubscribeWhere(s *suite) {
	entity := s.readings("cup")
	before := s.fill(entity, 1, 7)
	for _, data := range []bool{false, true} {
		sub := of(entity, engram.Start{Kind: engram.StartNumber, Number: before[0] - 1})
		sub.Where, sub.WithData = "value > 5.0", data
		stream := s.subscribe(sub)
		live := s.fill(entity, 2, 8, 3)
		more := s.commit(update(entity, 9, reading(1), reading(9)))
		updates := s.wantNumbers("those that satisfy", stream, []uint64{before[1], live[1], more[0]})
		for _, u := range updates {
			if (u.Snapshot != nil) != data {
				s.Errorf("update %d: data %v", u.Number, u.Snapshot)
			}
		}
		if data && (len(updates[2].Snapshot.Instances) != 1 || s.value(updates[2].Snapshot) != 9) {
			s.Errorf("of two instances came %+v, want the one that satisfies", updates[2].Snapshot)
		}
		before = s.fill(entity, 1, 7)
	}
}

// testSubscribeLastWhere begins with what satisfies the filter of the last snapshots.
func testSubscribeLastWhere(s *suite) {
	entity := s.readings("cup")
	numbers := s.fill(entity, 1, 9, 2, 7, 8)
	sub := of(entity, engram.Start{Kind: engram.StartLast, N: 3}) // of the times 7, 8, 9
	sub.Where = "value < 7.5"
	stream := s.subscribe(sub)
	more := s.fill(entity, 10, 3)
	s.wantNumbers("of the last, and then", stream, []uint64{numbers[3], more[1]})
}

// testSubscribeFailures is told of updates on which the filter fails.
func testSubscribeFailures(s *suite) {
	core := s.coreSegment(engram.CoreSegment{})
	entity := below(core, "Provider", "thing")
	sub := of(entity, engram.Start{})
	sub.Where = "n > 3"
	quiet := s.subscribe(sub)
	sub.Failures, sub.WithData = true, true
	stream := s.subscribe(sub)
	commit := func(t engram.Time, v any) { s.commit(update(entity, t, payload(engram.ValueType, v))) }
	for i := range 4 {
		commit(engram.Time(i), map[string]any{"m": i})
	}
	commit(4, map[string]any{"n": 4})
	var failed []uint64
	for ctx, matched := s.ctx(), false; !matched; {
		batch, err := stream.Next(ctx)
		s.must(err)
		for _, u := range batch {
			if matched = u.Failed == nil; matched {
				if t, _ := u.ID.Time(); t != 4 || u.Snapshot == nil {
					s.Errorf("update %+v came", u)
				}
				continue
			}
			if u.ID != entity || u.Snapshot != nil || u.Failed.Reason != engram.MissingFilterFailed || u.Failed.ID != entity || !strings.Contains(u.Failed.Detail, `no member "n"`) {
				s.Errorf("what failed is told as %+v: %+v", u, u.Failed)
			}
			failed = append(failed, u.Failed.Count)
		}
	}
	if !slices.Equal(failed, []uint64{1, 2, 4}) {
		s.Errorf("failures are told at %d", failed)
	}
	sub.Start = engram.Start{Kind: engram.StartTime, Time: 2}
	if u := s.next(s.subscribe(sub), 3); u[0].Failed == nil || u[1].Failed == nil || u[1].Failed.Count != 2 || u[2].Failed != nil {
		s.Errorf("of the past came %+v", u)
	}
	if u := s.next(quiet, 1); u[0].Failed != nil {
		s.Errorf("who did not ask is told %+v", u[0].Failed)
	}
}

// testSubscribeSlow commits far more than waits in a queue: every update is
// delivered or counted as dropped just where it is missing.
func testSubscribeSlow(s *suite) {
	const n, entities = 20_000, 3
	for name, policy := range map[string]engram.SlowPolicy{"drop-oldest": engram.SlowDropOldest, "latest": engram.SlowLatest} {
		entity := s.readings("cup")
		sub := of(entity.Parent(), engram.Start{})
		sub.Slow, sub.Queue = policy, 8
		stream := s.subscribe(sub)
		var updates []engram.EntityUpdate
		for i := range n {
			updates = append(updates, update(sibling(entity, fmt.Sprint(i%entities)), engram.Time(i), reading(1)))
		}
		numbers := s.commit(updates...)
		position := make(map[uint64]int, n)
		for i, number := range numbers {
			position[number] = i
		}
		last := -1
		delivered := map[engram.ID]engram.Time{}
		for ctx := s.ctx(); last < n-1; {
			batch, err := stream.Next(ctx)
			s.must(err)
			for _, u := range batch {
				at, ok := position[u.Number]
				if !ok || at <= last {
					s.Fatalf("%s: update %d follows update %d", name, u.Number, numbers[max(last, 0)])
				}
				if lost := at - last - 1; u.Dropped != uint64(lost) {
					s.Fatalf("%s: before update %d there are %d missing, but %d are said to be dropped", name, u.Number, lost, u.Dropped)
				}
				last = at
				t, _ := u.ID.Time()
				delivered[u.ID.Truncate(engram.LevelEntity)] = t
			}
		}
		for i := n - entities; i < n; i++ { // there was room for the newest of each entity
			if got := delivered[updates[i].Entity]; got != updates[i].Time {
				s.Errorf("%s: the last update of %v was of %d, not %d", name, updates[i].Entity, got, updates[i].Time)
			}
		}
	}
}

// testSubscribeBad asks for what makes no sense or too much.
func testSubscribeBad(s *suite) {
	entity := s.readings("cup")
	bad := func(sel engram.NameSelector) engram.Subscription {
		return engram.Subscription{Patterns: []engram.Pattern{{Levels: []engram.NameSelector{engram.OneOf(s.memory), sel}}}}
	}
	queue := of(entity, engram.Start{})
	queue.Queue = 1 << 20
	where := of(entity, engram.Start{})
	where.Where = "value >"
	for what, c := range map[string]struct {
		sub  engram.Subscription
		code engram.Code
	}{
		"a regex that does not compile":       {bad(engram.MatchRegex("(")), engram.Invalid},
		"a regex that is too long":            {bad(engram.MatchRegex(strings.Repeat("x", engram.MaxRegexLen+1))), engram.Exhausted},
		"a queue that is too long":            {queue, engram.Exhausted},
		"an expression that does not compile": {where, engram.Invalid},
		"the last 0":                          {of(entity, engram.Start{Kind: engram.StartLast}), engram.Invalid},
	} {
		stream, err := s.m.Subscribe(s.ctx(), c.sub)
		s.wantCode(what, err, c.code)
		if err == nil {
			stream.Close()
		}
	}
}

// testSubscribeEnd ends waiting in each way there is.
func testSubscribeEnd(s *suite) {
	entity := s.readings("cup")
	stream := s.subscribe(of(entity, engram.Start{}))
	ctx, cancel := context.WithCancel(s.ctx())
	ended := make(chan error)
	go func() {
		_, err := stream.Next(ctx)
		ended <- err
	}()
	cancel()
	s.wantCode("a wait given up", <-ended, engram.Canceled)

	stream = s.subscribe(of(entity, engram.Start{}))
	go func() {
		_, err := stream.Next(s.Context())
		ended <- err
	}()
	s.must(stream.Close())
	s.wantCode("a wait on a closed stream", <-ended, engram.Canceled)
	_, err := stream.Next(s.ctx())
	s.wantCode("a closed stream", err, engram.Canceled)
	s.must(stream.Close()) // again

	var got int
	stream = s.subscribe(of(entity, engram.Start{}))
	s.fill(entity, 1, 2, 3)
	for _, err := range engram.Updates(s.ctx(), stream) {
		s.must(err)
		if got++; got == 2 {
			break
		}
	}
	_, err = stream.Next(s.ctx())
	s.wantCode("a stream whose loop was left", err, engram.Canceled)

	canceled, cancel := context.WithCancel(s.ctx())
	cancel()
	_, err = s.m.Subscribe(canceled, of(entity, engram.Start{}))
	s.wantCode("a call given up", err, engram.Canceled)
}

// testSubscribeRemovals is told of what is removed: after what was committed before, and on resuming.
func testSubscribeRemovals(s *suite) {
	entity, other := s.readings("cup"), s.readings("cup")
	sub := engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(entity), engram.PatternOf(other)}}
	quiet := s.subscribe(sub)
	sub.Removals, sub.WithData, sub.Where = true, true, "value > 5"
	filtered := s.subscribe(sub)
	sub.Where = ""
	stream := s.subscribe(sub)
	before := s.fill(entity, 1, 7)
	s.wantNumbers("before", stream, before)
	s.wantNumbers("of large values", filtered, before[1:])
	s.must(s.m.RemoveSegment(s.ctx(), entity.Truncate(engram.LevelCoreSegment)))
	wantRemoved := func(what string, u engram.Update, number uint64) {
		if !u.Removed || u.ID != entity || u.Number != number || u.Snapshot != nil || u.Dropped != 0 {
			s.Errorf("%s came %+v, want that something of %s was removed after %d", what, u, entity, number)
		}
	}
	wantRemoved("after it", s.next(stream, 1)[0], before[1])
	after := s.fill(other, 8)
	if u := s.next(filtered, 2); u[1].Number != after[0] || u[1].Removed {
		s.Errorf("then came %+v", u[1])
	} else {
		wantRemoved("of large values", u[0], before[1])
	}
	sub.Start = engram.Start{Kind: engram.StartNumber, Number: before[1], Epoch: stream.Epoch()}
	if u := s.next(s.subscribe(sub), 2); u[0].Number != after[0] || u[0].Removed {
		s.Errorf("on resuming came %+v", u[0])
	} else {
		wantRemoved("on resuming", u[1], after[0])
	}
	sub.Start.Number = after[0]
	resumed := s.subscribe(sub)
	last := s.fill(other, 9)
	s.wantNumbers("resumed after it", resumed, last)
	s.wantNumbers("who did not ask", quiet, slices.Concat(before, after, last))
}

// testSubscribeRemoved removes a segment under a subscription, which goes on.
func testSubscribeRemoved(s *suite) {
	entity := s.readings("cup")
	other := s.readings("cup")
	stream := s.subscribe(engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(entity), engram.PatternOf(other)}})
	a := s.fill(entity, 1)
	s.must(s.m.RemoveSegment(s.ctx(), entity.Truncate(engram.LevelCoreSegment)))
	b := s.fill(other, 1)
	s.must(s.m.AddCoreSegment(s.ctx(), engram.CoreSegment{ID: entity.Truncate(engram.LevelCoreSegment), Type: readingType}))
	c := s.fill(entity, 2)
	s.wantNumbers("before, beside and after the removal", stream, slices.Concat(a, b, c))
}
