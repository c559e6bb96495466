package memorytest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// testConcurrentWriters has several writers and one subscription, which sees every
// update once, in the order of numbers.
func testConcurrentWriters(s *suite) {
	const writers, each = 4, 500
	entity := s.readings("cup")
	sub := of(entity.Parent(), engram.Start{})
	sub.Queue = writers * each
	stream := s.subscribe(sub)
	numbers := s.write(entity, writers, each)
	s.wantNumbers("all writers' updates", stream, numbers)
	if got := len(times(s.query(engram.SelectID(entity.Parent(), engram.All())))); got != writers*each {
		s.Errorf("%d snapshots are stored, want %d", got, writers*each)
	}
}

// write has writers write to entities of their own and returns the numbers of all
// updates, sorted.
func (s *suite) write(entity engram.ID, writers, each int) []uint64 {
	s.Helper()
	var mu sync.Mutex
	var numbers []uint64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			own := sibling(entity, fmt.Sprint(w))
			for i := range each {
				results, err := s.m.Commit(s.Context(), engram.Commit{Updates: []engram.EntityUpdate{update(own, engram.Time(i), reading(float64(i)))}})
				if err == nil {
					err = engram.FirstError(results)
				}
				if err != nil {
					s.Error(err)
					return
				}
				mu.Lock()
				numbers = append(numbers, results[0].Number)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(numbers)
	return numbers
}

// testConcurrentBackfill begins subscriptions while writers write: backfill and live
// tail meet without gap or duplicate.
func testConcurrentBackfill(s *suite) {
	const writers, each, subscribers = 3, 500, 5
	entity := s.readings("cup")
	first := s.fill(entity, 1)
	var streams []engram.UpdateStream
	var starting sync.WaitGroup
	starting.Go(func() {
		for i := range subscribers {
			start := engram.Start{Kind: engram.StartNumber, Number: first[0] - 1}
			if i%2 == 1 {
				start = engram.Start{Kind: engram.StartTime, Time: engram.MinTime}
			}
			sub := of(entity.Parent(), start)
			sub.Queue, sub.WithData = 1+writers*each, i == 0
			stream, err := s.m.Subscribe(s.ctx(), sub)
			if err != nil {
				s.Error(err)
				return
			}
			streams = append(streams, stream)
		}
	})
	numbers := append(first, s.write(entity, writers, each)...)
	starting.Wait()
	for i, stream := range streams {
		s.wantNumbers(fmt.Sprintf("subscription %d", i), stream, numbers)
		s.must(stream.Close())
	}
}

// testWholeSnapshots reads while a writer writes: no reader sees half a snapshot,
// and none sees an entity go back in its updates.
func testWholeSnapshots(s *suite) {
	const each, readers, instances = 300, 3, 4
	entity := s.readings("cup")
	snapshotOf := func(i int) engram.EntityUpdate {
		return update(entity, engram.Time(i/2), slices.Repeat([]engram.Payload{reading(float64(i))}, instances)...)
	}
	s.commit(snapshotOf(0))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for r := range readers {
		wg.Go(func() {
			last := uint64(0)
			for running := true; running; {
				select {
				case <-done:
					running = false // and look once more
				default:
				}
				snap, err := s.read(r, entity)
				if err != nil {
					s.Error(err)
					return
				}
				if snap.Number < last {
					s.Errorf("update %d was seen after update %d", snap.Number, last)
				}
				last = snap.Number
				for _, in := range snap.Instances {
					if len(snap.Instances) != instances || !slices.Equal(in.Payload.Bytes, snap.Instances[0].Payload.Bytes) {
						s.Errorf("update %d was seen in part", snap.Number)
					}
				}
			}
		})
	}
	for i := 1; i < each; i++ {
		s.commit(snapshotOf(i))
	}
	close(done)
	wg.Wait()
	snap, err := s.m.Latest(s.ctx(), entity)
	s.must(err)
	if s.value(snap) != each-1 {
		s.Errorf("in the end stands %v", s.value(snap))
	}
}

// read reads the newest snapshot in one of three ways.
func (s *suite) read(way int, entity engram.ID) (*engram.Snapshot, error) {
	switch way % 3 {
	case 0:
		return s.m.Latest(s.Context(), entity)
	case 1:
		return s.m.AtOrBefore(s.Context(), entity, engram.MaxTime)
	}
	r, err := s.m.Query(s.Context(), engram.SelectID(entity, engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	items := r.Items()
	if len(items) != 1 {
		return nil, fmt.Errorf("the query found %d snapshots", len(items))
	}
	return items[0].Snapshot, nil
}
