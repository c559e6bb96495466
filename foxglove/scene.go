package foxglove

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram/foxglove/protocol"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/world"
)

// worldTopic is the channel of the world's items.
const worldTopic = "/world"

// scene sends the items of the world as things to draw: all when the subscription begins,
// then those that changed, with what hangs on them.
type scene struct {
	s    *session
	wake signal
}

func newScene(s *session) *scene { return &scene{s: s, wake: make(signal, 1)} }

// again has all items sent.
func (sc *scene) again() { sc.wake.give() }

// run waits for the first subscription, and follows the world from then on.
func (sc *scene) run(ctx context.Context) error {
	select {
	case <-sc.wake:
	case <-ctx.Done():
		return nil
	}
	// Nothing is written.
	model, err := world.Over(ctx, sc.s.door.svc, "viewer", world.DefaultRules(), world.Robots("*"))
	if err != nil {
		sc.s.mu.Lock()
		defer sc.s.mu.Unlock()
		return sc.s.complain(ctx, protocol.LevelWarning, "the world cannot be shown: %v", err)
	}
	defer model.Close()
	if sc.s.playback != nil {
		return sc.replay(ctx, model)
	}
	watcher, err := model.Watch(ctx)
	if err != nil {
		return err
	}
	changes := make(chan world.Change)
	sc.s.beside(ctx, func(ctx context.Context) error {
		for {
			c, err := watcher.Next(ctx)
			if err != nil {
				return err
			}
			select {
			case changes <- c:
			case <-ctx.Done():
				return nil
			}
		}
	})
	f, err := model.View(ctx)
	for err == nil {
		err = sc.send(ctx, f, nil)
		for again := false; err == nil && !again; {
			select {
			case <-sc.wake:
				again = true
			case c := <-changes:
				f = c.Forest
				err = sc.send(ctx, f, c.Names)
			case <-ctx.Done():
				return nil
			}
		}
	}
	return err
}

// replayEvery is how often the world of a playback is made, unless that takes more than a
// tenth of the time.
const replayEvery = 200 * time.Millisecond

// replay sends the world of the playback's time whenever that is another.
func (sc *scene) replay(ctx context.Context, model *world.Memory) error {
	for {
		begun := time.Now()
		sc.s.mu.Lock()
		at := sc.s.playback.now
		sc.s.mu.Unlock()
		if f, err := model.Past(ctx, at, nil); err == nil {
			if err := sc.send(ctx, f, nil); err != nil {
				return err
			}
		}
		select {
		case <-time.After(max(replayEvery, 9*time.Since(begun))):
		case <-ctx.Done():
			return nil
		}
		select {
		case <-sc.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends items with all that hangs on them; no names mean all items.
func (sc *scene) send(ctx context.Context, f *world.Forest, names []string) error {
	s := sc.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.topics[worldTopic]
	if c == nil || !c.subscribed {
		return nil
	}
	now := s.now()
	m := &foxglovepb.SceneUpdate{}
	draw := func(it *world.Merged) {
		if e := DrawItem(f, it, now); e != nil {
			m.Entities = append(m.Entities, e)
		}
	}
	if names == nil {
		m.Deletions = append(m.Deletions, &foxglovepb.SceneEntityDeletion{Timestamp: stamp(now), Type: foxglovepb.SceneEntityDeletion_ALL})
		for it := range f.All() {
			draw(it)
		}
	}
	sent := map[string]bool{}
	for _, name := range names {
		if !f.Has(name) {
			m.Deletions = append(m.Deletions, &foxglovepb.SceneEntityDeletion{Timestamp: stamp(now), Id: name})
			continue
		}
		for it := range f.Subtree(name) {
			if !sent[it.Name] {
				sent[it.Name] = true
				draw(it)
			}
		}
	}
	payload, err := proto.Marshal(m)
	if err != nil || len(payload) == 0 {
		return err
	}
	timed := false
	return s.message(ctx, c.subscription, now, payload, &timed)
}
