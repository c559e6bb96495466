package live

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// connection is what is known of one connection; used by one goroutine.
type connection struct {
	s        *Source
	send     func(ctx context.Context, message any) error
	channels map[uint32]*subscription // by the server's number
	subs     map[uint32]*subscription // by ours
	last     uint32                   // of our numbers
	time     engram.Time              // what the server said last; 0 if nothing
	// Of the first messages, how far the log time was from this computer's clock at least.
	compared int
	apart    time.Duration
}

// subscription is a channel that is subscribed to.
type subscription struct {
	id     uint32 // ours
	stream *stream
	begun  bool // a message has come
}

// stream is a channel as long as the source lives.
type stream struct {
	recording.Channel
	// The last message, by which one that is sent again on the next subscription is known.
	time engram.Time
	hash uint64
}

type streamKey struct{ topic, typ, encoding, schemaEncoding, schema string }

// What a server may make us remember.
const (
	maxChannels = 10000     // at a time
	maxStreams  = 50000     // over time
	maxSchemas  = 256 << 20 // bytes of their schemas
)

func newConnection(s *Source, send func(context.Context, any) error) *connection {
	return &connection{s: s, send: send, channels: map[uint32]*subscription{}, subs: map[uint32]*subscription{}}
}

// greeted asks a server for what it can tell beside messages.
func (c *connection) greeted(ctx context.Context, info *protocol.Announcement) error {
	if c.s.o.Described == nil || !slices.Contains(info.Capabilities, "parameters") {
		return nil
	}
	// All, since ROS 2 puts the name of the node before that of the parameter.
	return c.send(ctx, protocol.Parameters{Op: "getParameters", ParameterNames: []string{}, ID: "all"})
}

// text deals with a text message of the server. Its error is that of the connection.
func (c *connection) text(ctx context.Context, b []byte) error {
	var m protocol.Announcement
	if err := json.Unmarshal(b, &m); err != nil {
		c.s.badFrame("a message is no JSON of the protocol: %v", err)
		return nil
	}
	switch m.Op {
	case "advertise":
		return c.advertise(ctx, m.Channels)
	case "unadvertise":
		for _, id := range m.ChannelIDs {
			c.remove(id)
		}
	case "parameterValues":
		return c.parameters(ctx, &m)
	case "status":
		if m.Level > protocol.LevelInfo {
			c.s.complaint(m.Message)
		}
	}
	return nil // services, the graph and what is new are not for us
}

// advertise subscribes to those of new channels that are wanted.
func (c *connection) advertise(ctx context.Context, channels []protocol.Channel) error {
	var wanted []protocol.Subscription
	var unwanted []uint32
	for i := range channels {
		ch := &channels[i]
		if old := c.remove(ch.ID); old != nil {
			unwanted = append(unwanted, old.id) // the number stands for another one now
		}
		if !c.s.o.Wanted(ch.Topic, ch.SchemaName) {
			continue
		}
		if len(c.channels) >= maxChannels {
			c.s.badFrame("there are more than %d channels; those beyond are left out", maxChannels)
			break
		}
		st := c.s.stream(ch)
		if st == nil {
			c.s.badFrame("there were more channels and schemas than are remembered (%d, %d bytes); those beyond are left out", maxStreams, maxSchemas)
			break
		}
		c.last++
		sub := &subscription{id: c.last, stream: st}
		c.channels[ch.ID], c.subs[sub.id] = sub, sub
		wanted = append(wanted, protocol.Subscription{ID: sub.id, ChannelID: ch.ID})
	}
	c.s.channels.Store(int64(len(c.channels)))
	if len(unwanted) > 0 {
		if err := c.send(ctx, protocol.Unsubscribe{Op: "unsubscribe", SubscriptionIDs: unwanted}); err != nil {
			return err
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return c.send(ctx, protocol.Subscribe{Op: "subscribe", Subscriptions: wanted})
}

// remove forgets a channel of the server, if it is subscribed to.
func (c *connection) remove(id uint32) *subscription {
	sub := c.channels[id]
	if sub != nil {
		delete(c.channels, id)
		delete(c.subs, sub.id)
		c.s.channels.Store(int64(len(c.channels)))
	}
	return sub
}

// stream returns a channel as it is kept; nil if there are too many.
func (s *Source) stream(ch *protocol.Channel) *stream {
	key := streamKey{ch.Topic, ch.SchemaName, ch.Encoding, ch.SchemaEncoding, ch.Schema}
	if st := s.streams[key]; st != nil {
		return st
	}
	if len(s.streams) >= maxStreams || s.schemas+len(ch.Schema) > maxSchemas {
		return nil
	}
	st := &stream{Channel: recording.Channel{Topic: ch.Topic, Type: ch.SchemaName, Encoding: ch.Encoding, SchemaEncoding: ch.SchemaEncoding, Schema: []byte(ch.Schema)}}
	if st.SchemaEncoding == "" {
		st.SchemaEncoding = schemaEncodings[ch.Encoding]
	}
	if st.SchemaEncoding == "protobuf" || st.SchemaEncoding == "flatbuffer" {
		b, err := base64.StdEncoding.DecodeString(strings.TrimRight(ch.Schema, "\n"))
		if err != nil {
			s.o.Tell(fmt.Sprintf("the schema of %s is no base64 (%v), so its messages are kept as bytes", ch.Topic, err))
		} else {
			st.Schema = b
		}
	}
	s.streams[key] = st
	s.schemas += len(ch.Schema)
	return st
}

// schemaEncodings are those that messages have where nothing else is said.
var schemaEncodings = map[string]string{"ros1": "ros1msg", "cdr": "ros2msg", "protobuf": "protobuf", "json": "jsonschema", "flatbuffer": "flatbuffer"}

// binary deals with a binary message of the server.
func (c *connection) binary(b []byte) {
	f := protocol.Fields{B: b}
	switch op := f.U8(); {
	case f.Short:
		c.s.badFrame("a binary message is empty")
	case op == protocol.OpMessage:
		id, at := f.U32(), f.U64()
		if f.Short {
			c.s.badFrame("a message of a channel is cut off")
			return
		}
		c.message(id, at, f.B)
	case op == protocol.OpTime:
		at := f.U64()
		if t, ok := timeOf(at); ok && !f.Short {
			c.time = t
		} else {
			c.s.badFrame("the server tells no time that can be")
		}
	case op == protocol.OpServiceAnswer, op == protocol.OpAsset, op == protocol.OpPlaybackState: // not for us
	default:
		c.s.badFrame("there is no binary message %d in the protocol", op)
	}
}

// timeOf converts unsigned nanoseconds.
func timeOf(ns uint64) (t engram.Time, ok bool) {
	t = engram.Time(ns)
	return t, t > 0 && t < engram.MaxTime
}

// message puts a message into the queue. One without a time gets the server's, or else
// this computer's.
func (c *connection) message(id uint32, ns uint64, data []byte) {
	sub := c.subs[id]
	if sub == nil {
		if id == 0 || id > c.last {
			c.s.badFrame("a message is of a subscription that was not made")
		}
		return // it was under way as the channel was taken back
	}
	now := c.s.o.Now()
	at, ok := timeOf(ns)
	if ok {
		c.compare(now.Sub(at))
	} else if at = c.time; at == 0 {
		at = now
	}
	c.s.messages.Add(1)
	c.s.bytes.Add(uint64(len(data)))
	st, hash := sub.stream, maphash.Bytes(c.s.seed, data)
	again := !sub.begun && st.time == at && st.hash == hash
	sub.begun, st.time, st.hash = true, at, hash
	if !again {
		c.s.queue.put(recording.Message{Channel: &st.Channel, LogTime: at, PublishTime: at, Data: data})
	}
}

const (
	compareMessages = 100
	maxApart        = time.Second
	otherZero       = 365 * 24 * time.Hour
)

// compare looks at the server's clock, once: what is committed besides has the times of
// this computer.
func (c *connection) compare(late time.Duration) {
	if c.compared >= compareMessages {
		return
	}
	if c.compared++; c.compared == 1 || late.Abs() < c.apart.Abs() {
		c.apart = late
	}
	if c.compared < compareMessages || c.apart.Abs() <= maxApart {
		return
	}
	switch {
	case c.apart.Abs() > otherZero:
		c.s.o.Tell("the server's times count from another zero, as in a simulation; they are taken as they are")
	case c.apart > 0:
		c.s.o.Tell(fmt.Sprintf("the server's times are %v behind this computer's; they are taken as they are", c.apart.Round(time.Millisecond)))
	default:
		c.s.o.Tell(fmt.Sprintf("the server's times are %v before this computer's; they are taken as they are", -c.apart.Round(time.Millisecond)))
	}
}

// parameters looks for descriptions of robots.
func (c *connection) parameters(ctx context.Context, m *protocol.Announcement) error {
	if c.s.o.Described == nil {
		return nil
	}
	var names []string
	for _, p := range m.Parameters {
		urdf, _ := p.Value.(string)
		if !strings.HasSuffix(p.Name, "robot_description") || !bytes.Contains([]byte(urdf), []byte("<robot")) {
			continue
		}
		names = append(names, p.Name)
		if c.s.described[p.Name] == urdf {
			continue
		}
		if len(c.s.described) >= maxDescriptions && c.s.described[p.Name] == "" {
			c.s.badFrame("there are more than %d descriptions of robots", maxDescriptions)
			continue
		}
		select {
		case c.s.descriptions <- description{p.Name, urdf}:
			c.s.described[p.Name] = urdf
		default:
			c.s.o.Tell("descriptions of robots come faster than they are committed; " + p.Name + " is left out")
		}
	}
	if len(names) == 0 || m.ID != "all" {
		return nil
	}
	return c.send(ctx, protocol.Parameters{Op: "subscribeParameterUpdates", ParameterNames: names})
}

// maxDescriptions bounds the parameters that are taken for descriptions.
const maxDescriptions = 64

// complaint tells what the server complains of, each once in a row.
func (s *Source) complaint(text string) {
	text = "the server says: " + strings.ToValidUTF8(text[:min(len(text), 500)], "")
	s.mu.Lock()
	tell := s.complained != text
	s.complained = text
	s.mu.Unlock()
	if tell {
		s.o.Tell(text)
	}
}
