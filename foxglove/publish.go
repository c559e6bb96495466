package foxglove

import (
	"context"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// advertised takes note of what the viewer is going to publish.
func (s *session) advertised(ctx context.Context, r *protocol.Request) error {
	for _, c := range r.Channels {
		var err error
		_, taken := s.published[c.ID]
		switch {
		case taken:
			err = s.complain(ctx, protocol.LevelError, "the channel %d is taken", c.ID)
		case len(s.published) >= maxNames:
			err = s.complain(ctx, protocol.LevelError, "a viewer may publish %d channels", maxNames)
		case c.Encoding != "json" && c.Encoding != "protobuf":
			err = s.complain(ctx, protocol.LevelError, "%s: messages are published as json or protobuf, not as %q", c.Topic, c.Encoding)
		default:
			if _, failed := entityOf(c.Topic); failed != nil {
				err = s.complain(ctx, protocol.LevelError, "%v", failed)
				break
			}
			s.published[c.ID] = c
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entityOf returns the entity that a topic names, with a slash before it or without.
func entityOf(topic string) (engram.ID, error) {
	id, err := engram.Parse(strings.TrimPrefix(topic, "/"))
	if err != nil || id.Level() != engram.LevelEntity {
		return id, engram.Errorf(engram.Invalid, topic, "what is published is committed to an entity; the topic must be its ID, such as Speech/Text/Studio/operator")
	}
	return id, nil
}

// publish commits a message of the viewer.
func (s *session) publish(ctx context.Context, channel uint32, data []byte) error {
	c, ok := s.published[channel]
	if !ok {
		return s.complain(ctx, protocol.LevelError, "channel %d was not advertised", channel)
	}
	if s.playback != nil {
		return s.complain(ctx, protocol.LevelError, "history cannot be published to; connect without ?from=")
	}
	err := s.commit(ctx, &c, data)
	if err != nil {
		return s.complain(ctx, protocol.LevelError, "not written: %v", err)
	}
	return nil
}

func (s *session) commit(ctx context.Context, c *protocol.Channel, data []byte) error {
	entity, err := entityOf(c.Topic)
	if err != nil {
		return err
	}
	name := c.SchemaName
	k, err := s.door.types.get(ctx, name)
	if engram.CodeOf(err) == engram.NotFound || name == "" {
		// Viewers name JSON as they like: what the segment takes counts.
		if name, err = s.segmentType(ctx, entity); err == nil {
			k, err = s.door.types.get(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	payload := data // the connection gives each message memory of its own
	if c.Encoding == "json" {
		if payload, err = k.FromJSON(data); err != nil {
			return err
		}
	}
	results, err := s.door.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: s.door.o.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: name, Bytes: payload})},
	}}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

// segmentType returns the type of what a segment takes.
func (s *session) segmentType(ctx context.Context, entity engram.ID) (string, error) {
	provider := entity.Truncate(engram.LevelProviderSegment)
	found, err := s.door.svc.Describe(ctx, engram.PatternOf(provider.Parent()))
	if err != nil {
		return "", err
	}
	typ := ""
	for _, d := range found {
		if d.ID == provider || d.ID == provider.Parent() && typ == "" {
			typ = d.Type
		}
	}
	if typ == "" {
		return "", engram.Errorf(engram.NotFound, provider.Parent().String(), "there is no such core segment")
	}
	return typ, nil
}
