package episode

import (
	"fmt"
	"maps"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// endGroup takes what no envelope told of from the chunks since the last one: the
// messages in plain form, with what MCAP itself says of them.
func (s *salvage) endGroup() error {
	for _, at := range slices.Sorted(maps.Keys(s.chunks)) {
		c := s.chunks[at]
		records, err := s.load(c)
		if err != nil {
			if len(c.claimed) == 0 {
				s.scan.problem(c.offset, "a chunk of %d bytes: %v", c.length, err)
			}
			continue
		}
		if err := s.takeUnclaimed(c, records); err != nil {
			return err
		}
	}
	s.chunks, s.enveloped, s.last, s.records = map[int64]*foundChunk{}, false, nil, nil
	return nil
}

func (s *salvage) takeUnclaimed(c *foundChunk, records []byte) error {
	var err error
	var pending []groupMessage // instances of one snapshot
	var from *origin
	count := map[string]int{}
	lost := map[string]int{}
	end := func() {
		if len(pending) == 0 || err != nil {
			return
		}
		first := &pending[0]
		v := &engram.Snapshot{Time: ownTime(from.at, first.log), Arrived: engram.Time(first.publish)}
		for i := range pending {
			in := engram.NewInstance(engram.Payload{Type: pending[i].Type})
			in.Sent = v.Arrived
			v.Instances = append(v.Instances, in)
		}
		pending[len(pending)-1].Snapshots = []*engram.Snapshot{v}
		if s.keep == nil || s.keep(from.entity, v) {
			count[from.entity.String()]++
			err = s.out.adopt(s.ctx, from, pending, from.at != "" && !Timeless(v.Time))
		}
		pending = nil
	}
	recordsOf(records, func(op mcap.OpCode, at int, content []byte) {
		m, ok := parseMessage(content)
		if !ok || op != mcap.OpMessage || err != nil {
			return
		}
		if c.claimed[at] {
			return
		}
		ch, typ := s.channels[m.channel], engram.TypeDef{}
		known := false
		if typ, known = s.typeOf(m.channel); !known || ch.Metadata["codec"] != codec.Plain {
			topic := fmt.Sprintf("channel %d", m.channel)
			if ch != nil {
				topic = ch.Topic
			}
			lost[topic]++
			return
		}
		o, err2 := s.origin(m.channel, true)
		if err2 != nil {
			lost[ch.Topic]++
			return
		}
		if m.sequence&furtherInstance == 0 || o != from {
			end()
		}
		from = o
		pending = append(pending, groupMessage{
			Message: codec.Message{Type: typ.Name, Bytes: m.data, Key: len(pending) == 0, Instance: len(pending)},
			typ:     typ, log: m.log, publish: m.publish,
		})
	})
	end()
	for _, topic := range slices.Sorted(maps.Keys(count)) {
		s.scan.problem(c.offset, "when %d versions of %s were sent, their confidence and number: their envelope is lost", count[topic], topic)
	}
	for _, topic := range slices.Sorted(maps.Keys(lost)) {
		s.scan.problem(c.offset, "%d messages of %s: their envelope is lost, without which they cannot be decoded", lost[topic], topic)
		for _, o := range s.from {
			o.lost = o.lost || o.entity.String() == topic
		}
	}
	return err
}
