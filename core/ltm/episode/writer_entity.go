package episode

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"strconv"
	"sync"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// writeEntity is an entity of the episode that is being written. What is above
// view belongs to the writer.
type writeEntity struct {
	id      engram.ID
	topic   string
	number  int64 // counts the entities
	channel *Channel
	plain   *coding // each nil until it is needed
	special *coding
	// begun are codings of what stands at the beginning of the episode, by its own time.
	begun   map[engram.Time]*coding
	adopted map[*origin]*coding
	encoder codec.Encoder // nil until something is not coded plain
	coded   *coding       // what the encoder codes for
	held    int           // bytes of payloads that the encoder may hold back
	holds   int           // how many versions
	runs    []*openRun    // that wait to be written
	raw     int           // bytes of payloads in runs
	// spare is the memory of a run that was written, for the next one.
	spare struct {
		buf     []byte
		entries []runEntry
	}

	// view is what readers see; it is locked for moments only.
	view struct {
		sync.Mutex
		Entity
		blocks []*blockRef
		table  *blockTable // of blocks; nil until a reader wants it
		// tail are the versions that are in no block yet, in the order of Add.
		tail    []*engram.Snapshot
		ordered bool // tail is sorted by time and arrival
	}
}

// coding is a way in which messages of an entity are coded: all that channels'
// metadata say. plain says that there is a message for each instance.
type coding struct {
	entity   *writeEntity
	config   codec.Config
	policy   string
	segment  string
	typ      string
	plain    bool
	at       string                  // the own time of the only version, which stands elsewhere; "" else
	types    map[string]*schemaState // of payloads and of the segment
	channels map[string]*channelState
}

// channelState is a channel of the file.
type channelState struct {
	mcap.Channel
	schema   *schemaState
	needs    []*schemaState // to be written before it
	sequence uint32
	written  bool
}

type schemaState struct {
	mcap.Schema
	definition []byte // the type's, of which Data are for viewers
	written    bool
}

// openRun is a run that is being gathered.
type openRun struct {
	run
	coding  *coding
	buf     []byte
	entries []runEntry
	start   uint64 // log times
	end     uint64
}

type runEntry struct {
	channel *channelState
	log     uint64
	offset  int
}

// show makes a version visible to readers.
func (e *writeEntity) show(s *engram.Snapshot, inForce bool) {
	v := &e.view
	v.Lock()
	defer v.Unlock()
	n := len(v.tail)
	v.ordered = n == 0 || v.ordered && compareVersions(v.tail[n-1], s) <= 0
	v.tail = append(v.tail, s)
	v.Snapshots++
	v.Span, v.Arrived = extend(v.Span, s.Time), extend(v.Arrived, s.Arrived)
	if inForce {
		v.InForce++
	} else if !Timeless(s.Time) {
		v.Recorded = extend(v.Recorded, s.Time)
	}
}

// maxBegun bounds the channels of an entity for what stands at the beginning.
const maxBegun = 8

// codingLocked returns how a version is to be coded, plain or as its channel says, having
// made what that needs. What stands at the beginning has a channel of its own, which says
// its time.
func (w *coder) codingLocked(ch *Channel, s *engram.Snapshot, isPlain, atBeginning bool) (*writeEntity, *coding, error) {
	e := w.entityLocked(ch)
	plain, special, begun := e.plain, e.special, e.begun
	if e.channel != nil && !sameChannel(ch, e.channel) {
		plain, special, begun = nil, nil, nil
	}
	// What stands at the beginning is plain, so that viewers see it.
	c, isPlain := &special, isPlain || atBeginning || codecName(ch.Codec.Codec) == codec.Plain
	if isPlain {
		c = &plain
	}
	own := begun[s.Time]
	if atBeginning && (own != nil || len(begun) < maxBegun) {
		c = &own
	}
	if *c == nil {
		var err error
		if *c, err = w.newCodingLocked(e, ch, isPlain); err != nil {
			return nil, nil, err
		}
		if c == &own {
			own.at = strconv.FormatInt(int64(s.Time), 10)
			begun = maps.Clone(begun)
			if begun == nil {
				begun = map[engram.Time]*coding{}
			}
			begun[s.Time] = own
		}
	}
	last := ""
	for i := range s.Instances {
		t := s.Instances[i].Payload.Type
		if t == last {
			continue
		}
		last = t
		if (*c).types[t] == nil {
			schema, err := w.schemaLocked(t, &ch.Type)
			if err != nil {
				return nil, nil, err
			}
			(*c).types[t] = schema
		}
		if isPlain && (*c).channels[t] == nil {
			if _, err := w.channelLocked(*c, t); err != nil {
				return nil, nil, err
			}
		}
	}
	if !isPlain && w.mu.next > maxChannels-64 { // its encoder may want several, later
		return nil, nil, w.fullError()
	}
	e.channel, e.plain, e.special, e.begun = ch, plain, special, begun
	w.enterLocked(e)
	return e, *c, nil
}

// entityLocked returns a channel's entity; one that is not known yet is entered
// when something of it can be stored.
func (w *coder) entityLocked(ch *Channel) *writeEntity {
	if e := w.pub.entities[ch.Entity]; e != nil { // only the holder of mu changes it
		return e
	}
	e := &writeEntity{id: ch.Entity, topic: ch.Entity.String(), number: int64(len(w.mu.order))}
	e.view.ID, e.view.Type, e.view.Codec = ch.Entity, ch.Type.Name, codecName(ch.Codec.Codec)
	return e
}

func (w *coder) enterLocked(e *writeEntity) {
	if w.pub.entities[e.id] == e {
		return
	}
	w.mu.order = append(w.mu.order, e)
	w.pub.Lock()
	w.pub.entities[e.id] = e
	w.pub.Unlock()
}

// sameChannel reports whether two channels of an entity store alike.
func sameChannel(a, b *Channel) bool {
	return a == b || a.Type.Name == b.Type.Name && a.Policy == b.Policy && a.Codec.Codec == b.Codec.Codec &&
		a.Codec.Quality == b.Codec.Quality && a.Codec.MaxError == b.Codec.MaxError && a.Codec.Shown == b.Codec.Shown && bytes.Equal(a.Codec.Dictionary, b.Codec.Dictionary)
}

func codecName(name string) string {
	if name == "" {
		return codec.Plain
	}
	return name
}

func (w *coder) newCodingLocked(e *writeEntity, ch *Channel, plain bool) (*coding, error) {
	schema, err := w.schemaLocked(ch.Type.Name, &ch.Type)
	if err != nil {
		return nil, err
	}
	c := &coding{
		entity: e, policy: ch.Policy, segment: ch.Segment, typ: ch.Type.Name, plain: plain,
		types: map[string]*schemaState{ch.Type.Name: schema}, channels: map[string]*channelState{},
	}
	if plain {
		c.config = codec.Config{Codec: codec.Plain}
		return c, nil
	}
	typ, ok := w.opts.Types.Get(ch.Type.Name)
	if !ok {
		if typ, err = w.opts.Types.Add(ch.Type); err != nil {
			return nil, err
		}
	}
	c.config = w.codecConfig(ch, typ)
	return c, nil
}

// encoderLocked makes c's encoder the entity's; what the one before held back is coded.
func (w *coder) encoderLocked(ctx context.Context, e *writeEntity, c *coding) error {
	if e.coded == c && e.encoder != nil {
		return nil
	}
	if err := w.endCodingLocked(ctx, e); err != nil {
		return err
	}
	if e.encoder != nil {
		e.encoder.Close()
		e.encoder = nil
	}
	enc, config, err := newEncoder(c.config)
	if err != nil {
		return err
	}
	if len(c.channels) > 0 && !bytes.Equal(config.Params, c.config.Params) {
		c.channels = map[string]*channelState{} // their metadata would be wrong
	}
	c.config, e.encoder, e.coded = config, enc, c
	return nil
}

// endCodingLocked has the entity's encoder code what it holds back.
func (w *coder) endCodingLocked(ctx context.Context, e *writeEntity) error {
	if e.encoder == nil {
		return nil
	}
	return e.encoder.Flush(ctx, func(m codec.Message) error { return w.appendLocked(e.coded, m) })
}

// waitsInColumns reports whether the encoder of columns holds something back: seconds of
// what comes often, but minutes of what does not, unless it is told to end.
func (e *writeEntity) waitsInColumns() bool {
	return e.holds > 0 && e.encoder != nil && e.coded.config.Codec == codec.Columns
}

// endColumnsLocked has the encoders of columns code what they hold back.
func (w *coder) endColumnsLocked() error {
	for _, e := range w.mu.order {
		if e.waitsInColumns() {
			if err := w.endCodingLocked(context.Background(), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// encodeLocked codes a version.
func (w *coder) encodeLocked(ctx context.Context, e *writeEntity, c *coding, s *engram.Snapshot, inForce bool) error {
	if !c.plain {
		if err := w.encoderLocked(ctx, e, c); err != nil {
			return err
		}
		size := s.Size()
		e.held, e.holds = e.held+size, e.holds+1
		if err := e.encoder.Encode(ctx, s, func(m codec.Message) error { return w.appendLocked(c, m) }); err != nil {
			e.held, e.holds = max(e.held-size, 0), max(e.holds-1, 0)
			return err
		}
		return nil
	}
	// What came before is to stand before it.
	if e.encoder != nil && e.coded != c {
		if err := w.endCodingLocked(ctx, e); err != nil {
			return err
		}
	}
	r := e.openRun(c, inForce)
	log, publish := logTime(s.Time), logTime(s.Arrived)
	if inForce {
		r.inForce++
	}
	switch {
	case Timeless(s.Time) && fromZero(engram.Time(w.mu.floor)):
		log = max(log, w.mu.newest)
	case Timeless(s.Time):
		log = max(log, w.mu.floor, w.mu.newest)
	case inForce:
		log = max(log, w.mu.floor)
	default:
		w.mu.newest = max(w.mu.newest, log)
	}
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		w.appendMessageLocked(r, c.channels[p.Type], i, log, publish, p.Bytes)
	}
	r.versions = append(r.versions, s)
	e.raw += s.Size()
	w.mu.raw += s.Size()
	return nil
}

// openRun returns the run that the entity's next message of this coding belongs
// to. Values in force are the first of their run.
func (e *writeEntity) openRun(c *coding, inForce bool) *openRun {
	if n := len(e.runs); n > 0 {
		r := e.runs[n-1]
		if r.coding == c && len(r.buf) < maxChunk/4 && len(r.versions) < maxRunVersions && r.messages < maxRunInstances/2 &&
			(!inForce || r.inForce == len(r.versions)) {
			return r
		}
	}
	r := &openRun{coding: c, start: math.MaxUint64, buf: e.spare.buf[:0], entries: e.spare.entries[:0]}
	r.entity = e.topic
	e.spare.buf, e.spare.entries = nil, nil
	e.runs = append(e.runs, r)
	return r
}

// appendLocked takes a coded message.
func (w *coder) appendLocked(c *coding, m codec.Message) error {
	ch := c.channels[m.Type]
	if ch == nil {
		var err error
		if ch, err = w.channelLocked(c, m.Type); err != nil {
			return err
		}
	}
	e := c.entity
	r := e.openRun(c, false)
	var log, publish uint64
	switch {
	case len(m.Snapshots) > 0:
		log, publish = logTime(m.Snapshots[0].Time), logTime(m.Snapshots[len(m.Snapshots)-1].Arrived)
		w.mu.newest = max(w.mu.newest, log)
	case len(r.entries) > 0: // an instance before the last one of its snapshot
		log = r.entries[len(r.entries)-1].log
	}
	w.appendMessageLocked(r, ch, m.Instance, log, publish, m.Bytes)
	r.form = append(r.form, messageForm{uint32(len(m.Snapshots)), uint32(m.Instance), m.Key})
	r.versions = append(r.versions, m.Snapshots...)
	if n := min(len(m.Snapshots), e.holds); n > 0 {
		share := e.held / e.holds * n
		e.raw, e.held, e.holds = e.raw+share, e.held-share, e.holds-n
		w.mu.raw += share
	}
	return nil
}

// appendMessageLocked appends a message of a snapshot's instance.
func (w *coder) appendMessageLocked(r *openRun, ch *channelState, instance int, log, publish uint64, data []byte) {
	if r.messages == 0 {
		r.channel = ch.ID
	}
	r.entries = append(r.entries, runEntry{ch, log, len(r.buf)})
	before := len(r.buf)
	sequence := ch.sequence
	if instance > 0 {
		sequence |= furtherInstance
	}
	ch.sequence = (ch.sequence + 1) &^ furtherInstance
	r.buf = appendMessage(r.buf, ch.ID, sequence, log, publish, data)
	r.messages++
	r.start, r.end = min(r.start, log), max(r.end, log)
	w.mu.pending += len(r.buf) - before
}

// schemaLocked returns the schema of a type: the channel's own, or one that is known.
func (w *coder) schemaLocked(name string, own *engram.TypeDef) (*schemaState, error) {
	def := engram.TypeDef{Name: name}
	switch known, ok := w.opts.Types.Get(name); {
	case own != nil && own.Name == name && len(own.Descriptors) > 0:
		def = *own
	case w.known[name].Descriptors != nil:
		def = w.known[name]
	case ok:
		def = known.Def()
	default:
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		md, isMessage := d.(protoreflect.MessageDescriptor)
		if err != nil || !isMessage {
			return nil, engram.Errorf(engram.NotFound, name, "is not a known type, so nothing of it can be stored; add it first")
		}
		t, err := idf.TypeOf(md, "", "")
		if err != nil {
			return nil, err
		}
		def = t.Def()
	}
	for _, s := range w.mu.byName[name] {
		if bytes.Equal(s.definition, def.Descriptors) {
			return s, nil
		}
	}
	forViewers := idf.OpenCycles(def.Descriptors, name)
	for _, s := range w.mu.byName[name] {
		if bytes.Equal(s.Data, forViewers) {
			return s, nil
		}
	}
	if len(w.mu.schemas) >= math.MaxUint16-1 {
		return nil, w.fullError()
	}
	s := &schemaState{Schema: mcap.Schema{ID: uint16(len(w.mu.schemas) + 1), Name: name, Encoding: "protobuf", Data: forViewers}, definition: def.Descriptors}
	w.mu.schemas = append(w.mu.schemas, s)
	w.mu.byName[name] = append(w.mu.byName[name], s)
	if def.Source != "" || def.Format != "" {
		w.noteLocked(metadataType, map[string]string{"name": name, "source": def.Source, "format": def.Format})
	}
	return s, nil
}

func (w *coder) fullError() error {
	return engram.Errorf(engram.Exhausted, w.path, "the episode has as many channels as a file can have (65,535); %w", ErrFull)
}

// channelLocked makes the channel for messages of a type.
func (w *coder) channelLocked(c *coding, message string) (*channelState, error) {
	schema := c.types[message]
	if schema == nil {
		var err error
		if schema, err = w.schemaLocked(message, nil); err != nil {
			return nil, err
		}
	}
	if w.mu.next == maxChannels {
		return nil, w.fullError()
	}
	w.mu.next++
	meta := map[string]string{"id": c.entity.topic, "type": c.typ, "policy": c.policy, "codec": c.config.Codec}
	if c.segment != "" {
		meta[keySegment] = c.segment
	}
	if c.at != "" {
		meta[keyTime] = c.at
	}
	if c.config.Quality != 0 {
		meta["quality"] = strconv.FormatFloat(c.config.Quality, 'g', -1, 64)
	}
	if c.config.MaxError != 0 {
		meta["max_error"] = strconv.FormatFloat(c.config.MaxError, 'g', -1, 64)
	}
	if len(c.config.Params) > 0 {
		meta["params"] = base64.StdEncoding.EncodeToString(c.config.Params)
	}
	if len(c.config.Dictionary) > 0 {
		meta["dictionary"] = w.dictionaryLocked(c.config.Dictionary)
	}
	ch := &channelState{
		Channel: mcap.Channel{ID: w.mu.next, SchemaID: schema.ID, Topic: c.entity.topic, MessageEncoding: "protobuf", Metadata: meta},
		schema:  schema,
	}
	for _, s := range c.types {
		if s != schema {
			ch.needs = append(ch.needs, s)
		}
	}
	c.channels[message] = ch
	w.mu.channels = append(w.mu.channels, ch)
	w.pub.Lock()
	w.pub.channels[ch.ID] = &channelDef{topic: ch.Topic, message: message, typ: c.typ, config: c.config}
	w.pub.Unlock()
	return ch, nil
}

// dictionaryLocked has a dictionary written as an attachment and returns its name.
func (w *coder) dictionaryLocked(d []byte) string {
	h := fnv.New64a()
	h.Write(d)
	name := fmt.Sprintf("%s%016x", attachmentDictionary, h.Sum64())
	if !w.mu.dicts[name] {
		w.mu.dicts[name] = true
		w.attachLocked(name, "application/octet-stream", 0, 0, d)
	}
	return name
}

// channel returns what a reader needs to know of a channel.
func (w *coder) channel(id uint16) *channelDef {
	w.pub.RLock()
	defer w.pub.RUnlock()
	return w.pub.channels[id]
}
