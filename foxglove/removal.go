package foxglove

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// lookEvery is how often a live session looks whether segments were removed: subscriptions
// do not tell that.
const lookEvery = 2 * time.Second

// removals takes back the channels of segments that were removed, until the session ends.
func (s *session) removals(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		gone, err := s.gone(ctx)
		if err != nil || len(gone) == 0 {
			continue // it is looked at again
		}
		s.mu.Lock()
		err = s.unadvertise(ctx, gone)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// gone returns the provider segments that have channels and are there no more, neither in
// RAM nor on disk.
func (s *session) gone(ctx context.Context) (map[engram.ID]bool, error) {
	of := map[engram.ID]bool{}
	s.mu.Lock()
	for key := range s.entities {
		of[key.entity.Truncate(engram.LevelProviderSegment)] = true
	}
	s.mu.Unlock()
	if len(of) == 0 {
		return nil, nil
	}
	described, err := s.door.svc.Describe(ctx, engram.Pattern{})
	if err != nil {
		return nil, err
	}
	for _, d := range described {
		delete(of, d.ID)
	}
	for id := range of {
		stats, err := s.door.svc.Stats(ctx, engram.PatternOf(id), engram.LevelProviderSegment)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(stats, func(n engram.Stats) bool { return n.ID == id }) {
			delete(of, id)
		}
	}
	return of, nil
}

// unadvertise takes back the channels of provider segments, and what is derived from these
// alone. What is written there later has new channels.
func (s *session) unadvertise(ctx context.Context, providers map[engram.ID]bool) error {
	var ids []uint32
	var topics []string
	remove := func(c *channel) {
		if c.subscribed {
			delete(s.subs, c.subscription)
		}
		delete(s.channels, c.ID)
		delete(s.topics, c.Topic)
		ids, topics = append(ids, c.ID), append(topics, c.Topic)
	}
	for key, c := range s.entities {
		if providers[key.entity.Truncate(engram.LevelProviderSegment)] {
			delete(s.entities, key)
			remove(c)
		}
	}
	for _, c := range s.topics {
		if c.derived != nil && c.derived.make != nil && len(s.sources(c)) == 0 {
			remove(c)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	slices.Sort(topics)
	if err := s.send(ctx, protocol.Unadvertise{Op: "unadvertise", ChannelIDs: ids}); err != nil {
		return err
	}
	if !s.graph {
		return nil
	}
	g := newGraphUpdate()
	g.RemovedTopics = topics
	return s.send(ctx, g)
}
