package episode

import (
	"cmp"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	ltmv1 "github.com/seed-301d4374/engram/gen/engram/ltm/v1"
)

const (
	// largeMessage is the size from which an entity's messages get chunks of their
	// own, so that whoever reads numbers does not decompress images.
	largeMessage = 16 << 10
	// A block is made of consecutive runs until it has this many versions or runs.
	blockVersions = 512
	blockSegments = 4
)

// topRecord is a record that stands outside chunks and waits to be written.
type topRecord struct {
	op                  mcap.OpCode
	name, mediaType     string
	bytes               []byte
	logTime, createTime uint64
	contentBytes        uint64
}

func (w *coder) metadataRecord(kind string, m map[string]string) topRecord {
	name := w.metadataName(kind)
	return topRecord{op: mcap.OpMetadata, name: name, bytes: appendMetadata(nil, name, m)}
}

// noteLocked has a metadata record written with the next chunks.
func (w *coder) noteLocked(kind string, m map[string]string) {
	w.mu.notes = append(w.mu.notes, w.metadataRecord(kind, m))
}

// attachLocked has an attachment written with the next chunks.
func (w *coder) attachLocked(name, mediaType string, logTime, createTime uint64, data []byte) {
	w.mu.notes = append(w.mu.notes, topRecord{
		op: mcap.OpAttachment, name: name, mediaType: mediaType, logTime: logTime, createTime: createTime,
		bytes: appendAttachment(nil, name, mediaType, logTime, createTime, data), contentBytes: uint64(len(data)),
	})
}

// Attach puts a file beside the messages, as an attachment. It is not what the episode
// holds: readers of episodes do not see it. The error is Invalid if the name is one of an
// episode's own.
func (w *Writer) Attach(name, mediaType string, logged, created engram.Time, data []byte) error {
	return w.aside(name, func() { w.attachLocked(name, mediaType, logTime(logged), logTime(created), data) })
}

// Describe puts a record of metadata beside the messages, as Attach does a file.
func (w *Writer) Describe(name string, entries map[string]string) error {
	return w.aside(name, func() {
		w.mu.notes = append(w.mu.notes, topRecord{op: mcap.OpMetadata, name: name, bytes: appendMetadata(nil, name, entries)})
	})
}

// aside writes what note adds to the records outside chunks.
func (w *Writer) aside(name string, note func()) error {
	if IsOwn(name) {
		return engram.Errorf(engram.Invalid, name, "episodes use this name themselves")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usableLocked(); err != nil {
		return err
	}
	note()
	return w.flushLocked()
}

// envelopeChannelLocked makes the channel of the envelopes.
func (w *coder) envelopeChannelLocked() error {
	t, err := idf.TypeOf((*ltmv1.Envelope)(nil).ProtoReflect().Descriptor(), "", "")
	if err != nil {
		return err
	}
	def := t.Def()
	schema, err := w.schemaLocked(def.Name, &def)
	if err != nil {
		return err
	}
	w.mu.next = envelopeChannel
	w.mu.envelopes = &channelState{
		Channel: mcap.Channel{ID: envelopeChannel, SchemaID: schema.ID, Topic: envelopeTopic, MessageEncoding: "protobuf"},
		schema:  schema,
	}
	return nil
}

// flushPlan is what one flush will write. Nothing of the writer changes before it
// is written.
type flushPlan struct {
	w        *coder
	buf      []byte
	notes    []topRecord // what stands outside chunks
	noted    bool        // what the episode says of itself is among them
	parts    []*plannedPart
	chunks   []*mcap.ChunkIndex
	schemas  map[*schemaState]bool
	channels map[*channelState]bool
	messages map[uint16]uint64
	latest   uint64 // the latest log time

	// The chunk that is being put together.
	records    []byte
	entries    map[uint16][]indexEntry
	inChunk    []*plannedPart
	of         map[*openRun]*plannedPart // those in the chunk
	start, end uint64
}

// plannedPart is the part of a run that lies in one chunk, and where that will be;
// offsets count from the plan's beginning.
type plannedPart struct {
	run
	entity *writeEntity
	bytes  int // of its messages
	chunk  int
	stored int64 // bytes of the file, about
	seg    segment
}

// piece is messages of a run that stay together: those of one snapshot, or one that
// holds several.
type piece struct {
	entity           *writeEntity
	run              *openRun
	first, last      int // messages
	version, through int // versions
	log              uint64
}

// flushLocked writes all runs, with what the episode says of itself, if that has changed.
func (w *coder) flushLocked() error {
	p := &flushPlan{
		w: w, buf: w.mu.scratch[:0], notes: w.mu.notes, noted: w.mu.noted, latest: w.mu.latest,
		schemas: map[*schemaState]bool{}, channels: map[*channelState]bool{}, messages: map[uint16]uint64{},
	}
	if p.noted {
		info := w.Info()
		p.notes = append([]topRecord{w.metadataRecord(metadataBegin, infoMetadata(&info))}, p.notes...)
	}
	if w.mu.pending == 0 && len(p.notes) == 0 {
		return nil
	}
	for i := range p.notes {
		p.buf = append(p.buf, p.notes[i].bytes...)
	}
	p.planChunks()
	if err := p.planEnvelopes(); err != nil {
		return err
	}
	base := w.mu.offset
	if err := w.writeLocked(p.buf); err != nil {
		return err
	}
	if w.mu.scratch = p.buf[:0]; cap(p.buf) > 2*maxPending {
		w.mu.scratch = nil
	}
	p.commit(base)
	return nil
}

// planChunks puts the messages of all runs into chunks, in the order of their log times,
// those of one entity as they were added. Large ones come after the others in chunks of
// their own, unless all is to be in order.
func (p *flushPlan) planChunks() {
	p.clear()
	var mixed []piece
	var large [][]piece
	for _, e := range p.w.mu.order {
		log := uint64(0)
		for _, r := range e.runs {
			apart := !p.w.opts.Strict && len(r.buf) >= largeMessage*r.messages
			from := len(mixed)
			mixed = r.pieces(e, mixed, log)
			log = mixed[len(mixed)-1].log
			if apart {
				large = append(large, slices.Clone(mixed[from:]))
				mixed = mixed[:from]
			}
		}
	}
	slices.SortStableFunc(mixed, func(a, b piece) int { return cmp.Compare(a.log, b.log) })
	slices.SortStableFunc(large, func(a, b []piece) int { return cmp.Compare(a[0].log, b[0].log) })
	for _, pieces := range append([][]piece{mixed}, large...) {
		for i := range pieces {
			p.put(&pieces[i])
		}
		p.endChunk()
	}
}

// pieces appends a run's pieces. Their log times are no less than log and do not descend.
func (r *openRun) pieces(e *writeEntity, list []piece, log uint64) []piece {
	x := piece{entity: e, run: r}
	for x.last < len(r.entries) {
		completes := 0
		if r.form == nil {
			x.last += len(r.versions[x.version].Instances)
			completes = 1
		}
		for r.form != nil && completes == 0 && x.last < len(r.entries) {
			completes = int(r.form[x.last].completes)
			x.last++
		}
		x.through = x.version + completes
		log = max(log, r.entries[x.first].log)
		x.log = log
		list = append(list, x)
		x.first, x.version = x.last, x.through
	}
	return list
}

// offset returns where message i begins in the run's buffer, or where the last one ends.
func (r *openRun) offset(i int) int {
	if i == len(r.entries) {
		return len(r.buf)
	}
	return r.entries[i].offset
}

// put puts the messages of a piece into the chunk, or into the next one if that is full.
func (p *flushPlan) put(x *piece) {
	r := x.run
	n := r.offset(x.last) - r.offset(x.first)
	if len(p.records) > 0 && len(p.records)+n > p.w.opts.ChunkBytes {
		p.endChunk()
	}
	part := p.of[r]
	if part == nil {
		part = &plannedPart{run: run{entity: r.entity, channel: r.entries[x.first].channel.ID}, entity: x.entity}
		p.of[r] = part
		p.inChunk = append(p.inChunk, part)
		p.parts = append(p.parts, part)
	}
	for i := x.first; i < x.last; i++ {
		m := &r.entries[i]
		if ch := m.channel; !ch.written && !p.channels[ch] {
			p.define(ch)
		}
		at := uint64(len(p.records))
		if part.messages == 0 {
			part.offset = at
		}
		part.gaps = append(part.gaps, uint32(at-part.offset-part.length))
		p.records = append(p.records, r.buf[m.offset:r.offset(i+1)]...)
		part.length = uint64(len(p.records)) - part.offset
		part.messages++
		part.bytes += len(p.records) - int(at)
		p.entries[m.channel.ID] = append(p.entries[m.channel.ID], indexEntry{m.log, at})
		p.messages[m.channel.ID]++
		p.start, p.end = min(p.start, m.log), max(p.end, m.log)
	}
	part.versions = append(part.versions, r.versions[x.version:x.through]...)
	if r.form != nil {
		part.form = append(part.form, r.form[x.first:x.last]...)
	}
	part.inForce += max(min(r.inForce, x.through)-x.version, 0)
}

// planEnvelopes appends the envelopes of all runs, in chunks of their own.
func (p *flushPlan) planEnvelopes() error {
	ch := p.w.mu.envelopes
	sequence := ch.sequence
	for _, r := range p.parts {
		if len(p.records) == 0 && !p.channels[ch] && !ch.written {
			p.define(ch)
		}
		r.chunkBack = uint64(len(p.buf) - r.chunk)
		data, err := r.encode()
		if err != nil {
			return err
		}
		r.seg.at = uint32(len(p.records))
		log, publish := p.latest, uint64(0) // never earlier than what stands before
		if n := len(r.versions); n > 0 {
			publish = logTime(r.versions[n-1].Arrived)
		}
		p.entries[ch.ID] = append(p.entries[ch.ID], indexEntry{log, uint64(len(p.records))})
		p.messages[ch.ID]++
		p.records = appendMessage(p.records, ch.ID, sequence, log, publish, data)
		sequence++
		p.start, p.end = min(p.start, log), max(p.end, log)
		p.inChunk = append(p.inChunk, r)
		if len(p.records) >= p.w.opts.ChunkBytes/4 {
			p.endEnvelopes()
		}
	}
	if len(p.records) > 0 {
		p.endEnvelopes()
	}
	return nil
}

func (p *flushPlan) endEnvelopes() {
	at, runs := len(p.buf), p.inChunk
	p.inChunk = nil
	length := p.endChunk()
	for _, r := range runs {
		r.seg.chunk, r.seg.length = int64(at), uint32(length)
	}
}

// define puts a channel's record into the chunk, with the schemas it needs.
func (p *flushPlan) define(ch *channelState) {
	for _, s := range append([]*schemaState{ch.schema}, ch.needs...) {
		if !s.written && !p.schemas[s] {
			p.schemas[s] = true
			p.records = appendSchema(p.records, &s.Schema)
		}
	}
	p.channels[ch] = true
	p.records = appendChannel(p.records, &ch.Channel)
}

func (p *flushPlan) clear() {
	p.records, p.inChunk, p.of = p.records[:0], nil, map[*openRun]*plannedPart{}
	p.entries = map[uint16][]indexEntry{}
	p.start, p.end = math.MaxUint64, 0
}

// endChunk appends the chunk, if there is something for one, and its message indices,
// and returns the length of the chunk's record.
func (p *flushPlan) endChunk() uint64 {
	if len(p.records) == 0 {
		return 0
	}
	p.latest = max(p.latest, p.end)
	at := len(p.buf)
	var index *mcap.ChunkIndex
	p.buf, index = appendChunk(p.buf, p.records, p.start, p.end)
	index.ChunkStartOffset = uint64(at)
	for _, ch := range slices.Sorted(maps.Keys(p.entries)) {
		index.MessageIndexOffsets[ch] = uint64(len(p.buf))
		p.buf = appendMessageIndex(p.buf, ch, p.entries[ch])
	}
	index.MessageIndexLength = uint64(len(p.buf)-at) - index.ChunkLength
	p.chunks = append(p.chunks, index)
	for _, r := range p.inChunk {
		r.chunk, r.chunkLen = at, index.ChunkLength
		r.stored = int64(float64(index.CompressedSize) * float64(r.bytes) / float64(len(p.records)))
	}
	p.clear()
	return index.ChunkLength
}

// commit takes note of what was written at base.
func (p *flushPlan) commit(base int64) {
	w := p.w
	p.commitNotes(base)
	for s := range p.schemas {
		s.written = true
		w.mu.stats.SchemaCount++
	}
	for ch := range p.channels {
		ch.written = true
		w.mu.stats.ChannelCount++
	}
	for _, c := range p.chunks {
		c.ChunkStartOffset += uint64(base)
		for ch := range c.MessageIndexOffsets {
			c.MessageIndexOffsets[ch] += uint64(base)
		}
		w.mu.chunks = append(w.mu.chunks, c)
		w.mu.stats.ChunkCount++
	}
	messages := uint64(0)
	for ch, n := range p.messages {
		w.mu.stats.ChannelMessageCounts[ch] += n
		w.mu.stats.MessageCount += n
		messages += n
	}
	for _, r := range p.parts {
		r.seg.chunk += base
		r.entity.settle(r)
	}
	for _, e := range w.mu.order {
		for _, r := range e.runs {
			w.mu.stats.MessageStartTime = min(w.mu.stats.MessageStartTime, r.start)
			w.mu.stats.MessageEndTime = max(w.mu.stats.MessageEndTime, r.end)
			w.mu.pending -= len(r.buf)
			// Of who writes little, the memory is not kept while nothing comes.
			if cap(r.buf) <= 2*w.opts.ChunkBytes && len(r.buf) >= w.opts.ChunkBytes/2 {
				e.spare.buf, e.spare.entries = r.buf, r.entries
			}
		}
		w.mu.raw -= e.raw
		e.runs, e.raw = nil, 0
	}
	w.mu.latest = p.latest
	w.mu.envelopes.sequence += uint32(p.messages[w.mu.envelopes.ID])
	w.pub.Lock()
	w.pub.info.Messages += messages - p.messages[w.mu.envelopes.ID]
	w.pub.info.Bytes = w.mu.offset
	w.pub.Unlock()
}

// commitNotes takes note of the records outside chunks that were written at base.
func (p *flushPlan) commitNotes(base int64) {
	w := p.w
	for i := range p.notes {
		t := &p.notes[i]
		if t.op == mcap.OpMetadata {
			w.mu.meta = append(w.mu.meta, &mcap.MetadataIndex{Offset: uint64(base), Length: uint64(len(t.bytes)), Name: t.name})
			w.mu.stats.MetadataCount++
		} else {
			w.mu.attach = append(w.mu.attach, &mcap.AttachmentIndex{
				Offset: uint64(base), Length: uint64(len(t.bytes)), LogTime: t.logTime, CreateTime: t.createTime,
				DataSize: t.contentBytes, Name: t.name, MediaType: t.mediaType,
			})
			w.mu.stats.AttachmentCount++
		}
		base += int64(len(t.bytes))
	}
	w.mu.notes, w.mu.noted = nil, w.mu.noted && !p.noted
}

// settle moves versions from the tail to a block, for readers.
func (e *writeEntity) settle(r *plannedPart) {
	v := &e.view
	v.Lock()
	defer v.Unlock()
	v.Bytes += r.stored
	v.Chunks++
	b := &blockRef{blockOf(r.versions), []segment{r.seg}}
	same := func(a, b *engram.Snapshot) bool {
		return a.Time == b.Time && a.Arrived == b.Arrived && a.Number == b.Number
	}
	n := 0
	for n < len(r.versions) && n < len(v.tail) && same(r.versions[n], v.tail[n]) {
		n++
	}
	v.tail = slices.Clone(v.tail[n:])
	for _, s := range r.versions[n:] { // a codec was given some that it could not code
		if i := slices.IndexFunc(v.tail, func(t *engram.Snapshot) bool { return same(s, t) }); i >= 0 {
			v.tail = slices.Delete(v.tail, i, i+1)
		}
	}
	v.ordered = slices.IsSortedFunc(v.tail, compareVersions)
	v.blocks, v.table = appendBlock(v.blocks, b), nil
}

// blockOf returns the block of versions.
func blockOf(versions []*engram.Snapshot) Block {
	b := Block{Count: len(versions)}
	times := make([]engram.Time, len(versions))
	for i, s := range versions {
		b.Span, b.Arrived = extend(b.Span, s.Time), extend(b.Arrived, s.Arrived)
		times[i] = s.Time
	}
	slices.Sort(times)
	b.Times = len(slices.Compact(times))
	return b
}

// join returns the block of all versions of both. How many times they have is not
// known where their spans overlap.
func join(a, b Block) Block {
	if a.Count == 0 {
		return b
	}
	if b.Count == 0 {
		return a
	}
	joined := Block{Span: union(a.Span, b.Span), Arrived: union(a.Arrived, b.Arrived), Count: a.Count + b.Count}
	if a.Times > 0 && b.Times > 0 && !a.Span.Overlaps(b.Span) {
		joined.Times = a.Times + b.Times
	}
	return joined
}

// appendBlock appends a block, or joins it to the last one if both are small. Views
// of the list as it was stay as they are.
func appendBlock(blocks []*blockRef, b *blockRef) []*blockRef {
	n := len(blocks)
	if n == 0 {
		return []*blockRef{b}
	}
	last := blocks[n-1]
	if b.Count > 0 && (last.Count+b.Count > blockVersions || len(last.segments)+len(b.segments) > blockSegments) {
		return append(blocks, b)
	}
	return append(slices.Clone(blocks[:n-1]), &blockRef{
		Block:    join(last.Block, b.Block),
		segments: append(slices.Clip(last.segments), b.segments...),
	})
}

// writeLocked writes whole records at the file's end. After an error the file is
// as it was before, or will be before the next one is written.
func (w *coder) writeLocked(b []byte) error {
	if err := w.untearLocked(); err != nil {
		return err
	}
	w.mu.torn = true
	if n, err := w.f.Write(b); err != nil || n < len(b) {
		if err == nil {
			err = io.ErrShortWrite
		}
		return fileError(w.container.path, err)
	}
	w.mu.torn = false
	w.mu.dataCRC = crc32.Update(w.mu.dataCRC, crc32.IEEETable, b)
	w.mu.offset += int64(len(b))
	return nil
}

// untearLocked cuts off what a failed write left behind the last whole record.
func (w *coder) untearLocked() error {
	if !w.mu.torn {
		return nil
	}
	if err := w.f.Truncate(w.mu.offset); err != nil {
		return fileError(w.container.path, err)
	}
	if _, err := w.f.Seek(w.mu.offset, io.SeekStart); err != nil {
		return fileError(w.container.path, err)
	}
	w.mu.torn = false
	return nil
}
