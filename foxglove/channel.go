package foxglove

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// channel is what a viewer can subscribe to: an entity's payloads of one type, or what is
// derived from those of several.
type channel struct {
	protocol.Channel
	entity  engram.ID   // of a plain channel
	typ     string      // of its payloads
	ros2    *ros2       // as which they are sent; nil: as they are
	camera  int         // which image of those of a snapshot, where each has a channel
	derived *derivation // nil for a plain channel
	// subscription is the viewer's number; valid if subscribed.
	subscription uint32
	subscribed   bool
	// sent is the number of the snapshot that was sent when a live subscription began, by
	// which that one and those before it are not sent again.
	sent uint64
}

// channelKey names a plain channel. Images of one camera may be raw and compressed, and those
// of a stereo pair are instances of one snapshot.
type channelKey struct {
	entity engram.ID
	typ    string
	camera int
}

// images are the types of which each instance of a snapshot has a channel: viewers show one
// image at a time.
var images = map[string]bool{"foxglove.RawImage": true, "foxglove.CompressedImage": true, "foxglove.CompressedVideo": true}

// maxCameras bounds the images of one snapshot that have channels.
const maxCameras = 8

// keysOf yields the plain channel of each instance of a snapshot, and its index.
func keysOf(it engram.Item) iter.Seq2[channelKey, int] {
	entity := it.ID.Truncate(engram.LevelEntity)
	return func(yield func(channelKey, int) bool) {
		for i := range it.Instances {
			key := channelKey{entity: entity, typ: it.Instances[i].Payload.Type}
			if images[key.typ] {
				key.camera = i
			}
			if key.camera < maxCameras && !yield(key, i) {
				return
			}
		}
	}
}

// Whether a session has as many channels as it may have, and more are left out.
const (
	allFit = iota
	leftOut
	leftOutTold
)

// discover announces channels of what the memory has.
func (s *session) discover(ctx context.Context) error {
	patterns := s.patterns
	if len(patterns) == 0 {
		patterns = []engram.Pattern{{}}
	}
	var news []protocol.Channel
	for _, p := range patterns {
		nodes, err := s.door.svc.Stats(ctx, p, engram.LevelEntity)
		if err != nil {
			return err
		}
		var untold []engram.Stats
		for _, n := range nodes {
			switch {
			case n.ID.Level() != engram.LevelEntity:
			case n.Type == "":
				untold = append(untold, n) // it lies on disk only
			default:
				s.add(ctx, channelKey{entity: n.ID, typ: n.Type}, &news)
				if images[n.Type] {
					untold = append(untold, n) // there may be more of them
				}
			}
		}
		for _, n := range untold[:min(len(untold), s.door.o.MaxChannels)] {
			if newest, err := s.door.svc.Latest(ctx, n.ID); err == nil {
				for key := range keysOf(engram.Item{ID: n.ID, Snapshot: newest}) {
					s.add(ctx, key, &news)
				}
			}
		}
	}
	return s.announce(ctx, news)
}

// seen announces the channels of a snapshot that nobody was told of, and says whether there
// were any.
func (s *session) seen(ctx context.Context, it engram.Item) (bool, error) {
	var news []protocol.Channel
	for key := range keysOf(it) {
		s.add(ctx, key, &news)
	}
	return len(news) > 0, s.announce(ctx, news)
}

// announce advertises channels, and tells once if there are more than a session may have.
func (s *session) announce(ctx context.Context, news []protocol.Channel) error {
	if len(news) > 0 {
		if err := s.send(ctx, protocol.Advertise{Op: "advertise", Channels: news}); err != nil {
			return err
		}
	}
	if s.full == leftOut {
		s.full = leftOutTold
		return s.complain(ctx, protocol.LevelWarning, "there are more than %d channels; the others are left out: narrow the address with ?pattern=Vision/*", s.door.o.MaxChannels)
	}
	return nil
}

// add adds a plain channel and what is derived from it, if there are none yet.
func (s *session) add(ctx context.Context, key channelKey, news *[]protocol.Channel) {
	if s.entities[key] != nil {
		return
	}
	if len(s.channels) >= s.door.o.MaxChannels {
		s.full = max(s.full, leftOut)
		return
	}
	k, err := s.door.types.get(ctx, key.typ)
	if err != nil {
		return // nobody could read it
	}
	topic := key.entity.String()
	if key.camera > 0 {
		topic += fmt.Sprintf(" [%d]", key.camera)
	}
	if s.topics[topic] != nil {
		topic += " (" + key.typ + ")" // two channels of one topic would be an error
	}
	c := &channel{entity: key.entity, typ: key.typ, camera: key.camera}
	c.Topic, c.Encoding, c.SchemaName, c.Schema, c.SchemaEncoding = topic, "protobuf", key.typ, k.schema, "protobuf"
	if s.cdr {
		c.ros2 = k.ros2()
		c.Encoding, c.SchemaName, c.Schema, c.SchemaEncoding = "cdr", c.ros2.name, c.ros2.schema, "ros2msg"
	}
	s.entities[key] = c
	s.insert(c, news)
	if d := derivations[key.typ]; d != nil {
		if topic := d.topic(key.entity); s.topics[topic] == nil {
			s.addDerived(d, topic, news)
		}
	}
	s.addViews(key.entity, news)
}

// addViews adds the channels of what is made from whole memories, if an entity is of one.
func (s *session) addViews(entity engram.ID, news *[]protocol.Channel) {
	memory := entity.Memory()
	if (memory == "RobotState" || memory == "World") && s.topics[treeTopic] == nil {
		s.addDerived(treeOf, treeTopic, news)
	}
	if (memory == "World" || memory == "Object") && s.topics[worldTopic] == nil {
		s.addDerived(worldOf, worldTopic, news)
	}
}

func (s *session) addDerived(d *derivation, topic string, news *[]protocol.Channel) {
	c := &channel{derived: d}
	c.Topic, c.Encoding, c.SchemaName, c.Schema, c.SchemaEncoding = topic, "protobuf", d.def.Name, d.schema, "protobuf"
	s.insert(c, news)
}

func (s *session) insert(c *channel, news *[]protocol.Channel) {
	s.lastChannel++
	c.ID = s.lastChannel
	s.channels[c.ID], s.topics[c.Topic] = c, c
	*news = append(*news, c.Channel)
}

// subscribe begins the viewer's subscriptions, and sends what holds now of each.
func (s *session) subscribe(ctx context.Context, r *protocol.Request) error {
	timed := false
	for _, w := range r.Subscriptions {
		c := s.channels[w.ChannelID]
		var err error
		switch {
		case c == nil:
			err = s.complain(ctx, protocol.LevelWarning, "there is no channel %d", w.ChannelID)
		case s.subs[w.ID] != nil:
			err = s.complain(ctx, protocol.LevelError, "the subscription %d is taken", w.ID)
		case c.subscribed:
			err = s.complain(ctx, protocol.LevelWarning, "channel %d, %s, is subscribed already", c.ID, c.Topic)
		default:
			c.subscription, c.subscribed, c.sent = w.ID, true, 0
			s.subs[w.ID] = c
			err = s.sendPresent(ctx, c, &timed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) unsubscribe(ctx context.Context, r *protocol.Request) error {
	for _, id := range r.SubscriptionIDs {
		c := s.subs[id]
		if c == nil {
			if err := s.complain(ctx, protocol.LevelWarning, "there is no subscription %d", id); err != nil {
				return err
			}
			continue
		}
		c.subscribed = false
		delete(s.subs, id)
	}
	return nil
}

// sendPresent sends what holds of a channel: now, or at the time of the playback.
func (s *session) sendPresent(ctx context.Context, c *channel, timed *bool) error {
	switch c.derived {
	case treeOf:
		s.tree.again()
		return nil
	case worldOf:
		s.scene.again()
		return nil
	}
	for _, of := range s.sources(c) {
		newest, err := s.present(ctx, of.entity)
		if err != nil {
			continue // there is nothing, it is kept no more, or may not be read
		}
		it := engram.Item{ID: of.entity.At(newest.Time), Snapshot: newest}
		if c.derived == nil {
			if s.playback == nil { // history goes by times: numbers begin anew with each start
				c.sent = newest.Number
			}
			err = s.deliverPlain(ctx, c, it, timed)
		} else {
			err = s.deliverDerived(ctx, c, of.typ, it, timed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) present(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	if s.playback != nil {
		return s.door.svc.AtOrBefore(ctx, entity, s.playback.now)
	}
	return s.door.svc.Latest(ctx, entity)
}

// sources are the plain channels that a channel is made from.
func (s *session) sources(c *channel) []*channel {
	if c.derived == nil {
		return []*channel{c}
	}
	var from []*channel
	for key, of := range s.entities {
		if d := derivations[key.typ]; d == c.derived && d.topic(key.entity) == c.Topic {
			from = append(from, of)
		}
	}
	slices.SortFunc(from, func(a, b *channel) int { return cmp.Compare(a.ID, b.ID) })
	return from
}

// deliver sends a snapshot to those who subscribed to it.
func (s *session) deliver(ctx context.Context, it engram.Item, timed *bool) error {
	for key, i := range keysOf(it) {
		if key.camera == 0 && slices.ContainsFunc(it.Instances[:i], func(in engram.Instance) bool { return in.Payload.Type == key.typ }) {
			continue // it was sent with the first
		}
		c := s.entities[key]
		if c == nil {
			continue
		}
		if c.subscribed && (it.Number == 0 || it.Number > c.sent) {
			if err := s.deliverPlain(ctx, c, it, timed); err != nil {
				return err
			}
		}
		if d := derivations[key.typ]; d != nil {
			if of := s.topics[d.topic(key.entity)]; of != nil && of.subscribed {
				if err := s.deliverDerived(ctx, of, key.typ, it, timed); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deliverPlain sends what a snapshot has for a channel: all instances of its type, or its
// camera's.
func (s *session) deliverPlain(ctx context.Context, c *channel, it engram.Item, timed *bool) error {
	for key, i := range keysOf(it) {
		if key.typ != c.typ || key.camera != c.camera {
			continue
		}
		payload := it.Instances[i].Payload.Bytes
		if c.ros2 != nil {
			var err error
			if payload, err = c.ros2.message(payload); err != nil {
				return s.complain(ctx, protocol.LevelError, "%s cannot be sent: %v", it.ID, err)
			}
		}
		if err := s.message(ctx, c.subscription, it.Time, payload, timed); err != nil {
			return err
		}
	}
	return nil
}

// deliverDerived sends what is derived from the instances of a snapshot that are of a type.
// What cannot be derived is in the plain channel.
func (s *session) deliverDerived(ctx context.Context, c *channel, typ string, it engram.Item, timed *bool) error {
	payload, err := c.derived.make(ctx, s.door.types, typ, it)
	if err != nil || payload == nil {
		return nil
	}
	return s.message(ctx, c.subscription, it.Time, payload, timed)
}

func newGraphUpdate() protocol.GraphUpdate {
	return protocol.GraphUpdate{Op: "connectionGraphUpdate", PublishedTopics: []protocol.Publishers{}, SubscribedTopics: []any{}, AdvertisedServices: []protocol.Providers{}, RemovedTopics: []string{}, RemovedServices: []string{}}
}

// tellGraph tells which components write which topics.
func (s *session) tellGraph(ctx context.Context, services bool) error {
	if !s.graph {
		return nil
	}
	g := newGraphUpdate()
	for _, id := range slices.Sorted(maps.Keys(s.channels)) {
		c := s.channels[id]
		by := s.door.o.Name
		if c.derived == nil {
			by = c.entity.Truncate(engram.LevelProviderSegment).String()
		}
		g.PublishedTopics = append(g.PublishedTopics, protocol.Publishers{Name: c.Topic, IDs: []string{by}})
	}
	if services {
		for _, info := range s.door.services() {
			g.AdvertisedServices = append(g.AdvertisedServices, protocol.Providers{Name: info.Name, IDs: []string{s.door.o.Name}})
		}
	}
	return s.send(ctx, g)
}
