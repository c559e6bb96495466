package live

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// Whatever a server sends, the client lives, remembers no more than it may, and subscribes
// only to what there is.
func FuzzFrames(f *testing.F) {
	frame := func(text bool, b []byte) []byte {
		kind := byte('b')
		if text {
			kind = 't'
		}
		return append([]byte{kind}, base64.StdEncoding.EncodeToString(b)...)
	}
	say := func(m any) []byte {
		b, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		return frame(true, b)
	}
	channels := say(protocol.Advertise{Op: "advertise", Channels: []protocol.Channel{
		{ID: 1, Topic: "/a", Encoding: "json", SchemaName: "a"}, {ID: 2, Topic: "/b", Encoding: "protobuf", SchemaName: "b", Schema: "AAAA"},
	}})
	message := frame(false, protocol.AppendMessage(nil, 1, 5, []byte("{}")))
	f.Add(bytes.Join([][]byte{channels, message, message, frame(false, protocol.AppendTime(nil, 7)), channels, message}, []byte("\n")))
	f.Add(bytes.Join([][]byte{channels, say(protocol.Unadvertise{Op: "unadvertise", ChannelIDs: []uint32{1, 1, 5}}), message}, []byte("\n")))
	f.Add(say(protocol.ParameterValues{Op: "parameterValues", ID: "all", Parameters: []protocol.Parameter{{Name: "/robot_description", Value: "<robot/>"}}}))
	f.Add(bytes.Join([][]byte{say(protocol.Status{Op: "status", Level: 2, Message: "no"}), frame(false, []byte{1, 0, 0}), frame(true, []byte("{"))}, []byte("\n")))
	f.Fuzz(func(t *testing.T, session []byte) {
		s := newSource(&url.URL{Scheme: "ws", Host: "robot"}, Options{
			Wanted: func(string, string) bool { return true }, Tell: func(string) {}, Described: func(string, string) {}, Now: engram.Now, QueueBytes: 1 << 20,
		})
		s.queue.limit = 1 << 10
		asked := map[uint32]bool{}
		c := newConnection(s, func(_ context.Context, m any) error {
			if sub, ok := m.(protocol.Subscribe); ok {
				for _, w := range sub.Subscriptions {
					if asked[w.ID] {
						t.Errorf("the subscription %d is made twice", w.ID)
					}
					asked[w.ID] = true
				}
			}
			return nil
		})
		for line := range bytes.SplitSeq(session, []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			b, err := base64.StdEncoding.DecodeString(string(line[1:]))
			if err != nil {
				continue
			}
			if line[0] == 't' {
				if err := c.text(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			} else {
				c.binary(b)
			}
		}
		if len(c.channels) != len(c.subs) || len(c.channels) > len(asked) || int64(len(c.channels)) != s.channels.Load() {
			t.Errorf("%d channels, %d subscriptions, %d asked for", len(c.channels), len(c.subs), len(asked))
		}
		s.Loss()
		s.queue.close()
		for m, err := s.Next(); err == nil; m, err = s.Next() {
			if m.Channel == nil || m.LogTime <= 0 {
				t.Errorf("a message of %v at %v", m.Channel, m.LogTime)
			}
		}
	})
}

// The queue drops the oldest, and says of which topics and times it did.
func TestQueueDrops(t *testing.T) {
	q := newQueue(10 * (overhead + 100))
	channels := []*recording.Channel{{Topic: "/a"}, {Topic: "/b"}}
	for i := range 5000 {
		q.put(recording.Message{Channel: channels[i%2], LogTime: engram.Time(i + 1), Data: make([]byte, 100)})
		if i%3 == 0 {
			if m, ok := q.take(); !ok || m.Channel == nil {
				t.Fatal("nothing to be taken")
			}
		}
	}
	left := q.len()
	q.put(recording.Message{Channel: channels[0], LogTime: 6000, Data: make([]byte, 1<<20)}) // larger than all room
	if q.len() != 1 {
		t.Errorf("%d messages wait instead of the largest", q.len())
	}
	q.close()
	if m, ok := q.take(); !ok || m.LogTime != 6000 {
		t.Error("what came last is not there")
	}
	if _, ok := q.take(); ok {
		t.Error("a queue that is closed and empty has a message")
	}
	l, any := q.loss()
	taken := uint64((5000+2)/3 + 1)
	if !any || left != 10 || l.Messages+taken != 5001 || fmt.Sprint(l.Topics) != "[/a /b]" || l.Span.Start < 1 || l.Span.End != 5001 {
		t.Errorf("%d left, lost %+v of %d taken", left, l, taken)
	}
}
