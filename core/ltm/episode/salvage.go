package episode

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// salvage takes what is whole in an episode's file, run by run in the order of the
// file, into a new episode. What stays is copied as it is coded.
type salvage struct {
	ctx  context.Context
	scan *scanner
	out  *Writer
	// keep says which versions are wanted; nil wants all.
	keep func(engram.ID, *engram.Snapshot) bool

	info     Info
	told     bool // info was read
	schemas  map[uint16]*mcap.Schema
	channels map[uint16]*mcap.Channel
	dicts    map[string][]byte
	sources  map[string]source
	from     map[string]*origin // by what a channel's metadata say of coding

	// The chunks since the last envelope, of which it may tell.
	chunks    map[int64]*foundChunk
	enveloped bool // an envelope followed them
	last      *foundChunk
	records   []byte // of last

	sealed  uint64 // versions that it should hold, if it was sealed
	lost    uint64 // versions that were told to be lost
	dropped uint64 // versions that keep did not want
}

// foundChunk is a chunk of messages in the file.
type foundChunk struct {
	offset, length int64
	err            error        // why it cannot be read
	claimed        map[int]bool // the messages that envelopes told of, by where they begin
}

// origin is a way in which messages of the old episode are coded.
type origin struct {
	entity  engram.ID
	channel Channel // as the new episode is given it
	plain   bool
	at      string            // the channel's own time of its version, if it says one
	next    map[uint16]uint32 // the sequence that a channel's next message should have
	group   []groupMessage    // since the last key
	lost    bool              // messages are missing, up to the next key
}

type groupMessage struct {
	codec.Message
	typ          engram.TypeDef
	channel      uint16
	sequence     uint32
	log, publish uint64
	keep         []bool
	inForce      bool
}

func newSalvage(ctx context.Context, scan *scanner, keep func(engram.ID, *engram.Snapshot) bool) *salvage {
	return &salvage{
		ctx: ctx, scan: scan, keep: keep,
		schemas: map[uint16]*mcap.Schema{}, channels: map[uint16]*mcap.Channel{},
		dicts: map[string][]byte{}, sources: map[string]source{}, from: map[string]*origin{}, chunks: map[int64]*foundChunk{},
	}
}

// readSummary takes from the summary what chunks may have lost.
func (s *salvage) readSummary(f vfs.File) {
	sum, err := parseSummary(f, s.scan.size, false)
	if err != nil {
		return
	}
	s.info, s.told, s.sealed = sum.info, true, sum.info.Snapshots
	maps.Copy(s.schemas, sum.schemas)
	maps.Copy(s.channels, sum.channels)
}

// define takes the definitions and the episode's account of itself: before
// messages are read, as any of them may be needed by what comes before it.
func (s *salvage) define(r foundRecord) error {
	switch r.op {
	case mcap.OpChunk:
		records, _, err := openChunk(r.content)
		if err != nil {
			return nil // told when its messages are missed
		}
		recordsOf(records, func(op mcap.OpCode, _ int, content []byte) { s.defineRecord(op, content, true) })
	case mcap.OpAttachment:
		if a, ok := parseAttachment(r.content); ok {
			s.dicts[a.name] = a.data
		}
	case mcap.OpMetadata:
		m, err := mcap.ParseMetadata(r.content)
		if err != nil {
			return nil
		}
		switch kind := metadataKind(m.Name); kind {
		case metadataType:
			s.sources[m.Metadata["name"]] = source{m.Metadata["source"], m.Metadata["format"]}
		case metadataBegin, metadataEpisode:
			info, err := parseInfo(m.Metadata)
			if engram.CodeOf(err) == engram.Unsupported {
				return err
			}
			if err == nil {
				s.info, s.told = info, true
				if kind == metadataEpisode {
					s.sealed = info.Snapshots
				}
			}
		}
	case mcap.OpSchema, mcap.OpChannel:
		s.defineRecord(r.op, r.content, false)
	}
	return nil
}

// defineRecord takes a definition. One that no CRC vouches for has to make sense.
func (s *salvage) defineRecord(op mcap.OpCode, content []byte, sound bool) {
	switch op {
	case mcap.OpSchema:
		x, err := mcap.ParseSchema(content)
		if err != nil || s.schemas[x.ID] != nil {
			return
		}
		if !sound {
			if _, err := idf.ParseType(engram.TypeDef{Name: x.Name, Descriptors: x.Data}); err != nil {
				return
			}
		}
		s.schemas[x.ID] = x
	case mcap.OpChannel:
		x, err := mcap.ParseChannel(content)
		if err != nil || s.channels[x.ID] != nil {
			return
		}
		if _, err := engram.Parse(x.Topic); err != nil && !sound {
			return
		}
		s.channels[x.ID] = x
	}
}

// take takes the messages of a chunk, or what an envelope tells of some.
func (s *salvage) take(r foundRecord) error {
	if r.op != mcap.OpChunk {
		return nil
	}
	c := &foundChunk{offset: r.offset, length: r.length}
	records, _, err := openChunk(r.content)
	if err != nil {
		c.err = err
	} else if s.isEnvelopes(records) {
		s.enveloped = true
		whole := recordsOf(records, func(op mcap.OpCode, _ int, content []byte) {
			if err == nil && op == mcap.OpMessage {
				err = s.takeEnvelope(r.offset, content)
			}
		})
		if !whole {
			s.scan.problem(r.offset, "a chunk of envelopes has records that are not whole")
		}
		return err
	}
	if s.enveloped {
		if err := s.endGroup(); err != nil {
			return err
		}
	}
	s.chunks[r.offset] = c
	return nil
}

// isEnvelopes reports whether a chunk holds envelopes and no messages of entities.
func (s *salvage) isEnvelopes(records []byte) bool {
	is := false
	recordsOf(records, func(op mcap.OpCode, _ int, content []byte) {
		if m, ok := parseMessage(content); ok && op == mcap.OpMessage && !is {
			ch := s.channels[m.channel]
			is = ch != nil && ch.Topic == envelopeTopic || ch == nil && m.channel == envelopeChannel
		}
	})
	return is
}

// load returns the records of a chunk.
func (s *salvage) load(c *foundChunk) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	if s.last == nil || s.last.offset != c.offset {
		b := make([]byte, c.length)
		if err := s.scan.read(b, c.offset); err != nil {
			return nil, fileError(s.scan.path, err)
		}
		records, _, err := openChunk(b[recordHead:])
		if err != nil {
			return nil, err
		}
		s.last, s.records = c, records
	}
	return s.records, nil
}

// takeEnvelope takes the run that an envelope in the chunk at offset tells of.
func (s *salvage) takeEnvelope(offset int64, content []byte) error {
	m, _ := parseMessage(content)
	r, err := parseRun(m.data)
	if err != nil {
		s.scan.problem(offset, "%v", err)
		return nil
	}
	lost := func(format string, args ...any) error {
		if len(r.versions) > 0 {
			iv := engram.Interval{}
			for _, v := range r.versions {
				iv = extend(iv, v.Time)
			}
			s.lost += uint64(len(r.versions))
			s.scan.problem(offset, "%d versions of %s from %v to %v: %s", len(r.versions), r.entity, iv.Start, iv.End-1, fmt.Sprintf(format, args...))
		}
		for _, o := range s.from {
			if o.entity.String() == r.entity {
				o.lost = true
			}
		}
		return nil
	}
	c := s.chunks[offset-int64(r.chunkBack)]
	if c == nil || c.length != int64(r.chunkLen) {
		c = s.moved(r)
	}
	if c == nil {
		return lost("the chunk at %d that held them is not there", offset-int64(r.chunkBack))
	}
	records, err := s.load(c)
	if err != nil {
		return lost("the chunk at %d that held them is damaged: %v", c.offset, err)
	}
	if r.offset+r.length > uint64(len(records)) {
		return lost("their place in the chunk at %d does not exist", c.offset)
	}
	if c.claimed == nil {
		c.claimed = map[int]bool{}
	}
	claimed := c.claimed
	r.each(records[r.offset:r.offset+r.length], func(_ int, at int, _ []byte) { claimed[int(r.offset)+at] = true })
	o, err := s.origin(r.channel, r.form == nil)
	if err != nil {
		return lost("%v", err)
	}
	messages, ok := s.messages(r, records[r.offset:r.offset+r.length])
	if !ok {
		return lost("their messages do not fit their envelope in the chunk at %d", c.offset)
	}
	return s.run(o, r, messages, c.offset)
}

// moved returns the only chunk that has the length of the one that an envelope
// tells of, or nil: bytes between the two may have been lost or added.
func (s *salvage) moved(r *run) (found *foundChunk) {
	for _, c := range s.chunks {
		if c.length == int64(r.chunkLen) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// messages returns the messages of a run.
func (s *salvage) messages(r *run, b []byte) (list []groupMessage, ok bool) {
	version, instance := 0, 0
	for i := range r.messages {
		content, rest, ok := r.cut(b, i)
		m, whole := parseMessage(content)
		if !ok || !whole {
			return nil, false
		}
		typ, ok := s.typeOf(m.channel)
		if !ok || s.channels[m.channel].Topic != r.entity {
			return nil, false
		}
		g := groupMessage{Message: codec.Message{Type: typ.Name, Bytes: m.data}, typ: typ, channel: m.channel, sequence: m.sequence, log: m.log, publish: m.publish}
		if r.form != nil {
			f := r.form[i]
			g.Key, g.Instance = f.key, int(f.instance)
			g.Snapshots = r.versions[version : version+int(f.completes)]
			version += int(f.completes)
		} else {
			g.Key, g.Instance = instance == 0, instance
			if instance++; instance == len(r.versions[version].Instances) {
				g.Snapshots = r.versions[version : version+1]
				version, instance = version+1, 0
			}
		}
		list = append(list, g)
		b = rest
	}
	return list, len(b) == 0
}

// typeOf returns the type of a channel's messages.
func (s *salvage) typeOf(channel uint16) (engram.TypeDef, bool) {
	ch := s.channels[channel]
	if ch == nil || s.schemas[ch.SchemaID] == nil {
		return engram.TypeDef{}, false
	}
	schema := s.schemas[ch.SchemaID]
	written := s.sources[schema.Name]
	return engram.TypeDef{Name: schema.Name, Descriptors: schema.Data, Source: written.text, Format: written.format}, true
}

// origin returns how the messages of a channel are coded.
func (s *salvage) origin(channel uint16, plain bool) (*origin, error) {
	ch := s.channels[channel]
	if ch == nil {
		return nil, engram.Errorf(engram.Corrupt, "", "the channel %d is not defined", channel)
	}
	key := fmt.Sprint(plain, ch.Topic)
	for _, k := range slices.Sorted(maps.Keys(ch.Metadata)) {
		key += "\x00" + k + "\x00" + ch.Metadata[k]
	}
	if o := s.from[key]; o != nil {
		return o, nil
	}
	id, err := engram.Parse(ch.Topic)
	if err != nil || id.Level() != engram.LevelEntity {
		return nil, engram.Errorf(engram.Corrupt, "", "the channel %d has the topic %q, which is no entity", channel, ch.Topic)
	}
	def, err := channelDefOf(ch, s.schemas, func(name string) ([]byte, error) {
		if d := s.dicts[name]; d != nil {
			return d, nil
		}
		return nil, engram.Errorf(engram.Corrupt, "", "the attachment %s is missing or damaged", name)
	})
	if err != nil {
		return nil, err
	}
	typ := engram.TypeDef{Name: def.typ}
	for _, schema := range s.schemas {
		if schema.Name == def.typ {
			written := s.sources[schema.Name]
			typ.Descriptors, typ.Source, typ.Format = schema.Data, written.text, written.format
		}
	}
	if typ.Descriptors == nil {
		if t, ok := s.out.opts.Types.Get(def.typ); ok {
			typ = t.Def()
		}
	}
	o := &origin{
		entity: id, plain: plain, at: ch.Metadata[keyTime], next: map[uint16]uint32{},
		channel: Channel{Entity: id, Type: typ, Policy: ch.Metadata["policy"], Segment: ch.Metadata[keySegment], Codec: def.config},
	}
	o.channel.Codec.Types = s.out.opts.Types
	if !plain {
		if o.channel.Codec.Payload, err = s.payloadType(typ); err != nil {
			return nil, err
		}
	}
	s.from[key] = o
	return o, nil
}

func (s *salvage) payloadType(def engram.TypeDef) (*idf.Type, error) {
	if t, err := s.out.opts.Types.Add(def); err == nil || engram.CodeOf(err) != engram.AlreadyExists {
		return t, err
	}
	t, _ := s.out.opts.Types.Get(def.Name)
	return t, nil
}

// run takes the messages of a run.
func (s *salvage) run(o *origin, r *run, messages []groupMessage, offset int64) error {
	version := 0
	for i := range messages {
		m := &messages[i]
		m.keep = make([]bool, len(m.Snapshots))
		m.inForce = version < r.inForce
		version += len(m.Snapshots)
		for k, v := range m.Snapshots {
			m.keep[k] = s.keep == nil || s.keep(o.entity, v)
		}
		if o.plain {
			o.group = append(o.group, *m)
			if len(m.Snapshots) == 0 {
				continue
			}
			if m.keep[0] {
				if err := s.out.adopt(s.ctx, o, o.group, m.inForce); err != nil {
					return err
				}
			} else {
				s.dropped++
			}
			o.group = o.group[:0]
			continue
		}
		if m.Key {
			if err := s.endKeyGroup(o); err != nil {
				return err
			}
			o.lost = false
		} else if m.sequence&^furtherInstance != o.next[m.channel] {
			o.lost = true
		}
		o.next[m.channel] = (m.sequence + 1) &^ furtherInstance
		if o.lost {
			for _, v := range m.Snapshots {
				s.lost++
				s.scan.problem(offset, "the version of %s of %v: what it is decoded from is lost", o.entity, v.Time)
			}
			continue
		}
		o.group = append(o.group, *m)
	}
	return nil
}

// endKeyGroup takes the messages from one key to the next: as they are if all
// versions stay, else those that stay are coded anew, so that nothing is left of
// the others.
func (s *salvage) endKeyGroup(o *origin) error {
	group := o.group
	o.group = nil
	all, none := true, true
	for _, m := range group {
		for _, k := range m.keep {
			all, none = all && k, none && !k
			if !k {
				s.dropped++
			}
		}
	}
	into := o.channel
	if s.keep != nil && len(into.Codec.Dictionary) > 0 {
		// It was made of payloads, perhaps of those that go.
		into.Codec.Dictionary, all = nil, false
	}
	switch {
	case len(group) == 0 || none && !all:
		return nil
	case all:
		for i := range group {
			if err := s.out.adopt(s.ctx, o, group[i:i+1], group[i].inForce); err != nil {
				return err
			}
		}
		return nil
	}
	d, err := newDecoder(o.channel.Codec)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, m := range group {
		got, err := d.Decode(s.ctx, m.Message, m.keep)
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), o.entity.String(), "cannot be decoded, so nothing can be taken out of it: %w", err)
		}
		for k, v := range got {
			if k < len(m.keep) && m.keep[k] {
				if err := s.out.Add(s.ctx, &into, v, m.inForce); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// finish takes what is left.
func (s *salvage) finish() error {
	if err := s.endGroup(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(s.from)) {
		if o := s.from[key]; !o.plain {
			if err := s.endKeyGroup(o); err != nil {
				return err
			}
		}
	}
	return nil
}
