package ingest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
)

// What is noted together of a channel is bounded.
const (
	recordMessages = 1000
	recordBytes    = 2 << 20 // of messages
	recordSpan     = time.Minute
)

// noter notes what payloads do not tell of the messages that they were made of, so that
// [ExportROS] gives these back.
type noter struct {
	im     *importer
	none   bool // the memory does not know the type
	ready  bool // there is the core segment
	number uint64
	open   map[recordKey]*recordedLane
	order  []*recordedLane
	report TopicReport // of no topic
	enc    rosmsg.Encoder
	parts  []recordedPart
	ids    []engram.ID
	bytes  [][]byte
}

type recordKey struct {
	channel *recording.Channel
	rule    *route
}

// recordedLane is what was noted of a channel's messages that took one route.
type recordedLane struct {
	recorded
	entity engram.ID
	plan   *rosmsg.Plan
	wire   rosmsg.Wire
	index  map[engram.ID]int
	bytes  int
}

// recordedRule is how a mapping made payloads, as [recorded] has it.
type recordedRule struct {
	Split   string            `json:"split,omitempty"`
	Members map[string]Target `json:"members,omitempty"`
}

func (r recordedRule) rule() *Rule { return &Rule{Split: r.Split, Members: r.Members} }

// begin forgets the parts of the message before.
func (r *noter) begin() { r.ids, r.parts, r.bytes = r.ids[:0], r.parts[:0], r.bytes[:0] }

// part notes where a part of the message went.
func (r *noter) part(entity engram.ID, at engram.Time, payload []byte) {
	r.ids, r.parts, r.bytes = append(r.ids, entity), append(r.parts, recordedPart{time: at}), append(r.bytes, payload)
}

// end notes a message with the parts that were told; rt is nil if none was found for it.
// The error ends the import.
func (r *noter) end(ctx context.Context, ch *channel, rt *route, m *recording.Message) error {
	r.number++
	if r.none || !isROS(m.Channel) {
		return nil
	}
	if !r.ready {
		if err := r.prepare(ctx); err != nil || r.none {
			return err
		}
	}
	key := recordKey{m.Channel, rt}
	l := r.open[key]
	if l != nil && (len(l.messages) >= recordMessages || l.bytes >= recordBytes || m.LogTime < l.messages[len(l.messages)-1].log ||
		m.LogTime.Sub(l.messages[0].log) > recordSpan) {
		if err := r.flush(l); err != nil {
			return err
		}
		l = nil
	}
	if l == nil {
		var err error
		if l, err = r.lane(key, ch, rt); err != nil || l == nil {
			return err
		}
	}
	var made []byte
	big := l.wire == rosmsg.WireCDR && len(m.Data) > 1 && m.Data[1] == 0
	if len(r.parts) > 0 {
		if l.plan != nil {
			made, _ = r.enc.Encode(l.plan, rosmsg.Form{Wire: l.wire, Big: big}, r.parts[0].time, r.bytes...)
		} else {
			made = madeOther(l.payload, r.bytes[0])
		}
	}
	note := recordedMessage{number: r.number, log: m.LogTime, publish: m.PublishTime, sequence: m.Sequence, crc: checksum(m.Data)}
	note.patch = makePatch(made, m.Data, big)
	note.parts = slices.Clone(r.parts)
	for i, id := range r.ids {
		n, ok := l.index[id]
		if !ok {
			n = len(l.entities)
			l.index[id] = n
			l.entities = append(l.entities, id)
		}
		note.parts[i].entity = n
	}
	r.im.report.Noted++
	l.messages = append(l.messages, note)
	l.bytes += len(m.Data)
	return nil
}

// prepare adds the core segment.
func (r *noter) prepare(ctx context.Context) error {
	err := r.im.router.dst.AddCoreSegment(ctx, engram.CoreSegment{ID: recordedSegment, Type: recordedType})
	if fatal(err) {
		return err
	}
	r.none = err != nil && engram.CodeOf(err) != engram.AlreadyExists // it does not know the type
	r.ready = !r.none
	return nil
}

// lane begins to note messages of a channel that take a route.
func (r *noter) lane(key recordKey, ch *channel, rt *route) (*recordedLane, error) {
	l := &recordedLane{index: map[engram.ID]int{}}
	l.channel = *key.channel
	provider, err := recordedSegment.Child(r.im.router.provider)
	if err == nil {
		// Not the topic alone: who asks for it wants what was made of its messages.
		l.entity, err = provider.Child("messages of " + l.channel.Topic)
	}
	if err != nil {
		return nil, nil // a topic that no entity can be named after is refused where it goes
	}
	if s, ok := ch.source.(*rosSource); ok {
		l.wire = s.wire
	}
	if rt != nil {
		l.payload = rt.payload
		if c, ok := rt.convert.(*rosConverter); ok {
			l.plan = c.plan
			if !rt.rule.keepsType() {
				rule := recordedRule{Split: rt.rule.Split, Members: rt.rule.Members}
				text, err := json.Marshal(rule)
				if err != nil {
					return nil, engram.Errorf(engram.Internal, l.entity.String(), "the rule of the mapping cannot be noted: %w", err)
				}
				l.rule = string(text)
			}
		}
	}
	if r.open == nil {
		r.open = map[recordKey]*recordedLane{}
	}
	r.open[key] = l
	r.order = append(r.order, l)
	return l, nil
}

// flush commits what was noted.
func (r *noter) flush(l *recordedLane) error {
	r.order = slices.DeleteFunc(r.order, func(o *recordedLane) bool { return o == l })
	for key, o := range r.open {
		if o == l {
			delete(r.open, key)
		}
	}
	at := l.messages[0].log
	_, err := r.im.out.add(&r.report, l.entity, at, at, engram.Payload{Type: recordedType, Bytes: l.encode()})
	return err
}

// flushAll commits all that was noted, at the end.
func (r *noter) flushAll() error {
	for len(r.order) > 0 {
		if len(r.order[0].messages) == 0 {
			r.order = r.order[1:]
			continue
		}
		if err := r.flush(r.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// madeOther returns what a payload that was not made of ROS serialisation says of the message:
// the bytes of one that is not understood, else itself.
func madeOther(typ string, payload []byte) []byte {
	if typ != engram.ValueType {
		return payload
	}
	return opaqueData(payload)
}
