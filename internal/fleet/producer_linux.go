package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Producer commits numbered updates to the entities of a provider segment, and
// remembers what it was promised. Every tenth update of an entity supersedes the one before it.
type Producer struct {
	Segment  engram.ID     // a provider segment of the owner's memory
	Entities int           // it takes turns between
	Period   time.Duration // between commits; 0 means as fast as it can
	Size     int           // bytes of an update's text

	mu     sync.Mutex
	next   int              // number of the next update
	acked  map[place][]int  // the numbers that were promised, in order
	unsure map[place][]int  // those that were committed, but not answered
	last   map[string]place // by entity, where the last was promised
	count  int              // of what was promised
	bytes  int64            // of the payloads that were promised
	begun  engram.Time      // time of update 0
	worked time.Duration    // for how long it has been running
}

// place is where a snapshot is: several updates may have been written there.
type place struct {
	entity string
	time   engram.Time
}

// Run commits until ctx ends, and goes on whatever the answers are: what is refused
// or not answered is not repeated.
func (p *Producer) Run(ctx context.Context, w engram.Writer) error {
	p.mu.Lock()
	if p.acked == nil {
		p.acked, p.unsure, p.last = map[place][]int{}, map[place][]int{}, map[string]place{}
		p.begun = engram.Now()
	}
	p.mu.Unlock()
	due := time.Now()
	defer func(began time.Time) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.worked += time.Since(began)
	}(due)
	for ctx.Err() == nil {
		if p.Period > 0 {
			due = due.Add(p.Period)
			if wait := time.Until(due); wait > 0 {
				time.Sleep(wait)
			} else if wait < -time.Second {
				due = time.Now() // it was held up: what it missed is not made up for
			}
		}
		at, n, u, err := p.update()
		if err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		results, err := w.Commit(call, engram.Commit{Updates: []engram.EntityUpdate{u}})
		cancel()
		if err == nil {
			err = engram.FirstError(results)
		}
		p.answered(at, n, len(u.Instances[0].Payload.Bytes), err)
		if err != nil && engram.CodeOf(err) != engram.Unavailable && engram.CodeOf(err) != engram.Canceled {
			return err
		}
	}
	return nil
}

// update makes the next update.
func (p *Producer) update() (at place, n int, u engram.EntityUpdate, err error) {
	p.mu.Lock()
	n = p.next
	p.next++
	p.mu.Unlock()
	slot := n
	if n/p.Entities%10 == 9 {
		slot = n - p.Entities // what the entity had before is superseded
	}
	at = place{entity: fmt.Sprintf("thing %d", n%p.Entities), time: p.begun + engram.Time(slot)*engram.Time(time.Millisecond)}
	entity, err := p.Segment.Child(at.entity)
	if err != nil {
		return at, n, u, err
	}
	payload, err := idf.ValuePayload(p.text(n))
	u = engram.EntityUpdate{Entity: entity, Time: at.time, Instances: []engram.Instance{engram.NewInstance(payload)}}
	return at, n, u, err
}

// text is what update n says; it begins with its number.
func (p *Producer) text(n int) string {
	text := fmt.Sprintf("%d %s ", n, p.Segment)
	return text + strings.Repeat("x", max(0, p.Size-len(text)))
}

func (p *Producer) answered(at place, n, bytes int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.unsure[at] = append(p.unsure[at], n)
		return
	}
	p.acked[at] = append(p.acked[at], n)
	p.last[at.entity] = at
	p.count++
	p.bytes += int64(bytes)
}

// Rate returns how many updates a second were promised while it ran, and how many were
// meant to be: 0 if it was to commit as fast as it can.
func (p *Producer) Rate() (was, meant float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Period > 0 {
		meant = 1 / p.Period.Seconds()
	}
	return float64(p.count) / p.worked.Seconds(), meant
}

// Promised returns how many updates were promised, and the bytes of their payloads.
func (p *Producer) Promised() (updates int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count, p.bytes
}
