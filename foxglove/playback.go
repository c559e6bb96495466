package foxglove

import (
	"context"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// playback plays history. Its members are guarded by the session's mu.
type playback struct {
	s     *session
	now   engram.Time // all before it was sent
	speed float32
	state uint8
}

// control is a request of the viewer's playback bar.
type control struct {
	command uint8 // 0 plays, 1 pauses
	speed   float32
	seeks   bool
	to      engram.Time
	request string
}

// playEvery is how often a playback goes on, and playAtMost how much of the time that
// passed it makes up for after it was slow, so that it stays interruptible.
const (
	playEvery  = 40 * time.Millisecond
	playAtMost = 250 * time.Millisecond
)

// maxSpeed bounds how fast history is played.
const maxSpeed = 1000

func newPlayback(s *session) *playback {
	p := &playback{s: s, now: s.Start, speed: 1, state: protocol.Paused}
	if s.conn.Subprotocol() != protocol.SDK {
		p.state = protocol.Playing // its viewer has no bar
	}
	return p
}

// run plays until the session ends.
func (p *playback) run(ctx context.Context) error {
	tick := time.NewTicker(playEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		passed := min(time.Since(last), playAtMost)
		last = time.Now()
		p.s.mu.Lock()
		err := p.step(ctx, passed)
		p.s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// step sends what happened in the time that passed.
func (p *playback) step(ctx context.Context, passed time.Duration) error {
	if p.state != protocol.Playing {
		return nil
	}
	until := min(p.now.Add(time.Duration(float64(passed)*float64(p.speed))), p.s.End)
	q := p.s.subscribedQuery(engram.In(engram.Interval{Start: p.now, End: until}))
	var items []engram.Item
	if len(q.Memories) > 0 {
		r, err := p.s.door.svc.Query(ctx, q)
		if err != nil {
			p.state = protocol.Paused
			if err := p.s.complain(ctx, protocol.LevelError, "history cannot be read: %v", err); err != nil {
				return err
			}
			return p.tell(ctx, false, "")
		}
		items = r.Items()
		slices.SortStableFunc(items, func(a, b engram.Item) int { return int(max(-1, min(1, a.Time-b.Time))) })
	}
	p.now = until
	if err := p.s.tellTime(ctx, p.now); err != nil {
		return err
	}
	timed := true
	for _, it := range items {
		if err := p.s.deliver(ctx, it, &timed); err != nil {
			return err
		}
	}
	p.s.tree.step()
	p.s.scene.again()
	if p.now >= p.s.End {
		p.state = protocol.Ended
		return p.tell(ctx, false, "")
	}
	return nil
}

// subscribedQuery asks for snapshots of all entities from which subscribed channels are made.
func (s *session) subscribedQuery(selector engram.SnapshotSelector) engram.Query {
	var q engram.Query
	for _, c := range s.subs {
		if c.derived == treeOf || c.derived == worldOf {
			continue
		}
		for _, of := range s.sources(c) {
			q.Memories = append(q.Memories, engram.SelectID(of.entity, selector).Memories...)
		}
	}
	return q
}

// control does what the viewer's bar asks for.
func (p *playback) control(ctx context.Context, c control) error {
	if c.speed > 0 && c.speed <= maxSpeed {
		p.speed = c.speed
	}
	switch c.command {
	case 0:
		p.state = protocol.Playing
	case 1:
		p.state = protocol.Paused
	}
	if c.seeks {
		p.now = max(p.s.Start, min(c.to, p.s.End))
	}
	if p.now >= p.s.End && p.state == protocol.Playing {
		p.state = protocol.Ended
	}
	if err := p.tell(ctx, c.seeks, c.request); err != nil || !c.seeks {
		return err
	}
	// What held at that time, of every channel.
	timed := false
	for _, c := range p.s.subs {
		if err := p.s.sendPresent(ctx, c, &timed); err != nil {
			return err
		}
	}
	return nil
}

// tell tells the viewer where the playback is.
func (p *playback) tell(ctx context.Context, sought bool, request string) error {
	if p.s.conn.Subprotocol() != protocol.SDK {
		return nil
	}
	return p.s.write(ctx, websocket.MessageBinary, protocol.AppendPlaybackState(nil, p.state, p.now, p.speed, sought, request))
}
