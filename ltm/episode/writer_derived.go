package episode

import (
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// keyDerived marks, in its metadata, a channel of what is made from the entities' messages
// for viewers: readers of episodes pass over it, and imports leave it out.
const keyDerived = "derived"

// derivedTopic is what the topics of derived channels begin with, as no ID does.
const derivedTopic = "/"

// derivedMessage is a message of a derived channel that waits to be written.
type derivedMessage struct {
	channel *channelState
	log     uint64
	record  []byte
}

// IsDerived reports whether a channel holds what was made from the messages of others, by its
// metadata.
func IsDerived(metadata map[string]string) bool { return metadata[keyDerived] != "" }

// AddDerived writes a message that was made from what the episode holds, for viewers that do
// not know its types, into the channel of a topic; it begins with a slash, and all messages
// of a topic have one type. It is nothing that the episode holds: readers of episodes and
// imports do not see it, and a repaired file lacks it. The error is Invalid if the topic is an
// entity's, and else as that of Add.
func (w *Writer) AddDerived(topic string, typ engram.TypeDef, at engram.Time, data []byte) error {
	if !strings.HasPrefix(topic, derivedTopic) {
		return engram.Errorf(engram.Invalid, topic, "topics of what is derived begin with a slash")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usableLocked(); err != nil {
		return err
	}
	ch := w.mu.derived[topic]
	if ch == nil {
		var err error
		if ch, err = w.derivedChannelLocked(topic, typ); err != nil {
			return err
		}
	}
	log := max(logTime(at), w.mu.floor)
	m := derivedMessage{channel: ch, log: log, record: appendMessage(nil, ch.ID, ch.sequence, log, log, data)}
	ch.sequence = (ch.sequence + 1) &^ furtherInstance
	w.mu.deriveds = append(w.mu.deriveds, m)
	w.mu.pending += len(m.record)
	return w.flushFullLocked()
}

func (w *coder) derivedChannelLocked(topic string, typ engram.TypeDef) (*channelState, error) {
	schema, err := w.schemaLocked(typ.Name, &typ)
	if err != nil {
		return nil, err
	}
	if w.mu.next == maxChannels {
		return nil, w.fullError()
	}
	w.mu.next++
	ch := &channelState{
		Channel: mcap.Channel{ID: w.mu.next, SchemaID: schema.ID, Topic: topic, MessageEncoding: "protobuf", Metadata: map[string]string{keyDerived: "true"}},
		schema:  schema,
	}
	w.mu.derived[topic] = ch
	w.mu.channels = append(w.mu.channels, ch)
	return ch, nil
}

// putDerived puts a derived message into the chunk.
func (p *flushPlan) putDerived(m *derivedMessage) {
	if !m.channel.written && !p.channels[m.channel] {
		p.define(m.channel)
	}
	p.entries[m.channel.ID] = append(p.entries[m.channel.ID], indexEntry{m.log, uint64(len(p.records))})
	p.records = append(p.records, m.record...)
	p.messages[m.channel.ID]++
	p.start, p.end = min(p.start, m.log), max(p.end, m.log)
}

// settleDerivedLocked takes note of the derived messages that were written, and returns how
// many there were.
func (w *coder) settleDerivedLocked() (n uint64) {
	for i := range w.mu.deriveds {
		m := &w.mu.deriveds[i]
		w.mu.stats.MessageStartTime = min(w.mu.stats.MessageStartTime, m.log)
		w.mu.stats.MessageEndTime = max(w.mu.stats.MessageEndTime, m.log)
		w.mu.pending -= len(m.record)
		n++
	}
	w.mu.deriveds = nil
	return n
}
