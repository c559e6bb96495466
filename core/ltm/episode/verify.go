package episode

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// Verify checks every CRC, count and reference of a sealed episode, reading all of
// it. It decodes no payloads.
func Verify(ctx context.Context, path string, o Options) ([]Problem, error) {
	o.setDefaults()
	f, scan, err := openScan(path, &o, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &verifier{
		scanner: scan, schemas: map[uint16]*mcap.Schema{}, channels: map[uint16]*mcap.Channel{},
		runs: map[segment]verifiedRun{}, recent: map[int64]*verifiedChunk{},
	}
	v.stats.ChannelMessageCounts = map[uint16]uint64{}
	if err := scan.walk(ctx, v.visit); err != nil {
		return scan.problems, err
	}
	v.endChunk()
	v.endGroup()
	v.summary()
	slices.SortStableFunc(scan.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), strings.Compare(a.What, b.What))
	})
	return scan.problems, nil
}

type verifier struct {
	*scanner
	schemas  map[uint16]*mcap.Schema
	channels map[uint16]*mcap.Channel
	stats    mcap.Statistics
	chunks   []*mcap.ChunkIndex
	attach   []*mcap.AttachmentIndex
	meta     []*mcap.MetadataIndex
	runs     map[segment]verifiedRun
	dataEnd  bool

	current *verifiedChunk           // whose message indices follow
	recent  map[int64]*verifiedChunk // since the last envelopes
	told    bool                     // envelopes followed
}

type verifiedRun struct {
	Block
	entity   string
	inForce  int
	messages int
	recorded engram.Interval
}

type verifiedChunk struct {
	index   *mcap.ChunkIndex
	entries map[uint16][]indexEntry // that no message index told of yet
	records []byte
	offsets []int    // of messages in the records
	ids     []uint16 // their channels
	claimed []bool   // an envelope told of them
}

func (v *verifier) visit(r foundRecord) error {
	if r.op != mcap.OpMessageIndex {
		v.endChunk()
	}
	if v.dataEnd {
		return nil // the summary is checked as a whole
	}
	switch r.op {
	case mcap.OpSchema, mcap.OpChannel:
		v.define(r.offset, r.op, r.content)
	case mcap.OpChunk:
		v.chunk(r)
	case mcap.OpMessageIndex:
		v.messageIndex(r)
	case mcap.OpAttachment:
		a, ok := parseAttachment(r.content)
		if !ok {
			v.problem(r.offset, "the CRC of an attachment does not fit it")
			return nil
		}
		v.attach = append(v.attach, &mcap.AttachmentIndex{
			Offset: uint64(r.offset), Length: uint64(r.length), LogTime: a.logTime, CreateTime: a.createTime,
			DataSize: uint64(len(a.data)), Name: a.name, MediaType: a.mediaType,
		})
	case mcap.OpMetadata:
		m, err := mcap.ParseMetadata(r.content)
		if err != nil {
			v.problem(r.offset, "a metadata record cannot be read: %v", err)
			return nil
		}
		v.meta = append(v.meta, &mcap.MetadataIndex{Offset: uint64(r.offset), Length: uint64(r.length), Name: m.Name})
		if kind := metadataKind(m.Name); kind == metadataBegin || kind == metadataEpisode {
			if _, err := parseInfo(m.Metadata); err != nil {
				v.problem(r.offset, "%v", err)
			}
		}
	case mcap.OpDataEnd:
		v.dataEnd = true
		return v.dataCRC(r)
	}
	return nil
}

// dataCRC checks the CRC over all that stands before the data section's end.
func (v *verifier) dataCRC(r foundRecord) error {
	end, err := mcap.ParseDataEnd(r.content)
	if err != nil {
		return err // its length was checked
	}
	crc, b := uint32(0), make([]byte, 1<<20)
	for off := int64(0); off < r.offset; {
		n := min(int64(len(b)), r.offset-off)
		if m, err := v.f.ReadAt(b[:n], off); int64(m) < n {
			return fileError(v.path, err)
		}
		crc = crc32.Update(crc, crc32.IEEETable, b[:n])
		off += n
	}
	if crc != end.DataSectionCRC {
		v.problem(r.offset, "the CRC of the data section does not fit it")
	}
	return nil
}

func (v *verifier) define(offset int64, op mcap.OpCode, content []byte) {
	if op == mcap.OpSchema {
		s, err := mcap.ParseSchema(content)
		if err != nil {
			v.problem(offset, "a schema cannot be read: %v", err)
			return
		}
		v.schemas[s.ID] = s
		return
	}
	c, err := mcap.ParseChannel(content)
	switch {
	case err != nil:
		v.problem(offset, "a channel cannot be read: %v", err)
		return
	case v.schemas[c.SchemaID] == nil:
		v.problem(offset, "the channel %d of %s refers to the schema %d, which does not stand before it", c.ID, c.Topic, c.SchemaID)
	}
	v.channels[c.ID] = c
}

func (v *verifier) chunk(r foundRecord) {
	records, h, err := openChunk(r.content)
	if err != nil {
		v.problem(r.offset, "%v", err)
		return
	}
	c := &verifiedChunk{
		index: &mcap.ChunkIndex{
			MessageStartTime: h.start, MessageEndTime: h.end, ChunkStartOffset: uint64(r.offset), ChunkLength: uint64(r.length),
			Compression: h.compression, CompressedSize: h.stored, UncompressedSize: h.size, MessageIndexOffsets: map[uint16]uint64{},
		},
		entries: map[uint16][]indexEntry{}, records: records,
	}
	v.current = c
	v.chunks = append(v.chunks, c.index)
	v.stats.ChunkCount++
	envelopes := false
	whole := recordsOf(records, func(op mcap.OpCode, at int, content []byte) {
		m, ok := parseMessage(content)
		switch {
		case op == mcap.OpSchema || op == mcap.OpChannel:
			v.define(r.offset, op, content)
			return
		case op != mcap.OpMessage || !ok:
			v.problem(r.offset, "a record in a chunk is no message: its opcode is %#x", byte(op))
			return
		case v.channels[m.channel] == nil:
			v.problem(r.offset, "a message in a chunk is of the channel %d, which is not defined", m.channel)
			return
		case m.log < h.start || m.log > h.end:
			v.problem(r.offset, "a message in a chunk has the log time %d, outside the chunk's", m.log)
		}
		c.entries[m.channel] = append(c.entries[m.channel], indexEntry{m.log, uint64(at)})
		v.stats.MessageCount++
		v.stats.ChannelMessageCounts[m.channel]++
		if v.channels[m.channel].Topic == envelopeTopic {
			envelopes = true
			v.envelope(r, at, m.data)
			return
		}
		c.offsets, c.ids, c.claimed = append(c.offsets, at), append(c.ids, m.channel), append(c.claimed, false)
	})
	if !whole {
		v.problem(r.offset, "the records of a chunk are not whole")
	}
	if envelopes {
		v.told = true
		return
	}
	if v.told {
		v.endGroup()
	}
	v.recent[r.offset] = c
}

func (v *verifier) envelope(chunk foundRecord, at int, data []byte) {
	r, err := parseRun(data)
	if err != nil {
		v.problem(chunk.offset, "%v", err)
		return
	}
	var recorded engram.Interval
	for _, s := range r.versions[r.inForce:] {
		if !Timeless(s.Time) {
			recorded = extend(recorded, s.Time)
		}
	}
	v.runs[segment{chunk: chunk.offset, length: uint32(chunk.length), at: uint32(at)}] = verifiedRun{blockOf(r.versions), r.entity, r.inForce, r.messages, recorded}
	c := v.recent[chunk.offset-int64(r.chunkBack)]
	if c == nil || c.index.ChunkLength != r.chunkLen {
		v.problem(chunk.offset, "an envelope of %s tells of a chunk of %d bytes at %d, which is not there", r.entity, r.chunkLen, chunk.offset-int64(r.chunkBack))
		return
	}
	if r.offset+r.length > uint64(len(c.records)) {
		v.problem(chunk.offset, "an envelope of %s tells of %d bytes at %d, where its chunk has ended", r.entity, r.length, r.offset)
		return
	}
	var list []int // the messages
	whole := r.each(c.records[r.offset:r.offset+r.length], func(_, at int, _ []byte) {
		if i, ok := slices.BinarySearch(c.offsets, int(r.offset)+at); ok {
			list = append(list, i)
		}
	})
	if !whole || len(list) == 0 || len(list) != r.messages || c.ids[list[0]] != r.channel {
		v.problem(chunk.offset, "an envelope of %s tells of %d messages at %d, which are not there", r.entity, r.messages, r.offset)
		return
	}
	for _, i := range list {
		if topic := v.channels[c.ids[i]].Topic; topic != r.entity {
			v.problem(chunk.offset, "an envelope of %s tells of messages of %s", r.entity, topic)
			return
		}
		if c.claimed[i] {
			v.problem(chunk.offset, "an envelope of %s tells of a message that another one told of", r.entity)
			return
		}
		c.claimed[i] = true
	}
}

func (v *verifier) messageIndex(r foundRecord) {
	m, err := mcap.ParseMessageIndex(r.content)
	if err != nil || v.current == nil {
		v.problem(r.offset, "a message index stands where none belongs, or cannot be read")
		return
	}
	list := v.current.entries[m.ChannelID]
	delete(v.current.entries, m.ChannelID)
	v.current.index.MessageIndexOffsets[m.ChannelID] = uint64(r.offset)
	v.current.index.MessageIndexLength += uint64(r.length)
	same := len(list) == len(m.Records)
	for i := 0; same && i < len(list); i++ {
		same = list[i].log == m.Records[i].Timestamp && list[i].offset == m.Records[i].Offset
	}
	if !same {
		v.problem(r.offset, "the message index of the channel %d does not fit its chunk", m.ChannelID)
	}
}

func (v *verifier) endChunk() {
	if v.current == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(v.current.entries)) {
		v.problem(int64(v.current.index.ChunkStartOffset), "the message index of the channel %d is missing behind its chunk", id)
	}
	v.current = nil
}

func (v *verifier) endGroup() {
	for _, at := range slices.Sorted(maps.Keys(v.recent)) {
		c, claimed := v.recent[at], 0
		for _, is := range c.claimed {
			if is {
				claimed++
			}
		}
		if claimed != len(c.offsets) {
			v.problem(at, "envelopes tell of %d messages of a chunk that has %d", claimed, len(c.offsets))
		}
	}
	v.recent, v.told = map[int64]*verifiedChunk{}, false
}

// summary compares what the end of the file says with what was found.
func (v *verifier) summary() {
	s, err := parseSummary(v.f, v.size, true)
	if err != nil {
		v.problem(v.size, "%v", err)
		return
	}
	v.stats.SchemaCount, v.stats.ChannelCount = uint16(len(v.schemas)), uint32(len(v.channels))
	v.stats.AttachmentCount, v.stats.MetadataCount = uint32(len(v.attach)), uint32(len(v.meta))
	if s.stats == nil {
		v.problem(s.start, "the summary has no statistics")
	} else {
		v.stats.MessageStartTime, v.stats.MessageEndTime = s.stats.MessageStartTime, s.stats.MessageEndTime
		if !reflect.DeepEqual(*s.stats, v.stats) {
			v.problem(s.start, "the statistics of the file are wrong: %s", differences(s.stats, &v.stats))
		}
	}
	for what, same := range map[string]bool{
		"schemas":            reflect.DeepEqual(s.schemas, v.schemas),
		"channels":           reflect.DeepEqual(s.channels, v.channels),
		"chunk indices":      reflect.DeepEqual(s.chunks, v.chunks),
		"attachment indices": reflect.DeepEqual(s.attach, v.attach),
		"metadata indices":   reflect.DeepEqual(s.meta, v.meta),
	} {
		if !same {
			v.problem(s.start, "the summary's %s are not those of the data section", what)
		}
	}
	for _, ch := range v.channels {
		if ch.Topic == envelopeTopic {
			continue
		}
		if _, err := channelDefOf(ch, v.schemas, func(name string) ([]byte, error) {
			if !slices.ContainsFunc(v.attach, func(a *mcap.AttachmentIndex) bool { return a.Name == name }) {
				return nil, engram.Errorf(engram.Corrupt, ch.Topic, "its dictionary %s is missing", name)
			}
			return nil, nil
		}); err != nil {
			v.problem(s.start, "the channel %d: %v", ch.ID, err)
		}
	}
	v.index(s)
}

// differences says how what a file tells of itself differs from what was counted.
func differences(told, counted *mcap.Statistics) string {
	var list []string
	compare := func(what string, told, counted uint64) {
		if told != counted {
			list = append(list, fmt.Sprintf("it tells of %d %s and has %d", told, what, counted))
		}
	}
	compare("messages", told.MessageCount, counted.MessageCount)
	compare("schemas", uint64(told.SchemaCount), uint64(counted.SchemaCount))
	compare("channels", uint64(told.ChannelCount), uint64(counted.ChannelCount))
	compare("attachments", uint64(told.AttachmentCount), uint64(counted.AttachmentCount))
	compare("metadata records", uint64(told.MetadataCount), uint64(counted.MetadataCount))
	compare("chunks", uint64(told.ChunkCount), uint64(counted.ChunkCount))
	ids := slices.Collect(maps.Keys(told.ChannelMessageCounts))
	ids = slices.AppendSeq(ids, maps.Keys(counted.ChannelMessageCounts))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		compare(fmt.Sprintf("messages of the channel %d", id), told.ChannelMessageCounts[id], counted.ChannelMessageCounts[id])
	}
	return strings.Join(list, ", ")
}

// wordsOf says what a block is.
func wordsOf(b Block) string {
	return fmt.Sprintf("%d versions of %d times in %v, which arrived in %v", b.Count, b.Times, b.Span, b.Arrived)
}

// index compares the index with the envelopes.
func (v *verifier) index(s *summary) {
	var total Info
	for i := range s.entities {
		e := &s.entities[i]
		b := make([]byte, e.length)
		if _, err := v.f.ReadAt(b, s.indexAt+int64(e.offset)); err != nil || crc32c(b) != e.crc {
			v.problem(s.indexAt+int64(e.offset), "the CRC of the block table of %s does not fit it", e.ID)
			continue
		}
		refs, err := parseTable(b)
		if err != nil {
			v.problem(s.indexAt+int64(e.offset), "%s: %v", e.ID, err)
			continue
		}
		var sum Entity
		for k, ref := range refs {
			var have Block
			for _, seg := range ref.segments {
				r, ok := v.runs[seg]
				if !ok || r.entity != e.ID.String() {
					v.problem(s.indexAt, "block %d of %s refers to an envelope at %d in the chunk at %d, which is not there", k, e.ID, seg.at, seg.chunk)
					continue
				}
				delete(v.runs, seg)
				have = join(have, r.Block)
				sum.InForce += uint64(r.inForce)
				sum.Recorded = union(sum.Recorded, r.recorded)
				total.Messages += uint64(r.messages)
			}
			if ref.Times == 0 { // it is not told
				have.Times = 0
			}
			if have != ref.Block {
				v.problem(s.indexAt, "block %d of %s is said to have %s; its envelopes have %s", k, e.ID, wordsOf(ref.Block), wordsOf(have))
			}
			sum.Snapshots += uint64(have.Count)
			sum.Span, sum.Arrived = union(sum.Span, have.Span), union(sum.Arrived, have.Arrived)
		}
		if sum.Snapshots != e.Snapshots || sum.InForce != e.InForce || sum.Span != e.Span || sum.Arrived != e.Arrived {
			v.problem(s.indexAt, "%s has %d versions of %v; its blocks have %d of %v", e.ID, e.Snapshots, e.Span, sum.Snapshots, sum.Span)
		}
		if s.info.Version > 1 && sum.Recorded != e.Recorded {
			v.problem(s.indexAt, "%s is said to be recorded in %v; it was in %v", e.ID, e.Recorded, sum.Recorded)
		}
		if n := timesOf(refs); e.Times != 0 && e.Times != n {
			v.problem(s.indexAt, "%s has %d times; its blocks have %d", e.ID, e.Times, n)
		}
		total.Snapshots += sum.Snapshots
		total.InForce += sum.InForce
		total.Recorded = union(total.Recorded, sum.Recorded)
		total.Span, total.Arrived = union(total.Span, sum.Span), union(total.Arrived, sum.Arrived)
	}
	for seg, r := range v.runs {
		v.problem(seg.chunk, "the index does not know an envelope of %s", r.entity)
	}
	i := &s.info
	if i.Snapshots != total.Snapshots || i.Messages != total.Messages || i.InForce != total.InForce || i.Span != total.Span || i.Arrived != total.Arrived {
		v.problem(s.start, "the episode says that it has %d versions in %d messages of %v; it has %d in %d of %v",
			i.Snapshots, i.Messages, i.Span, total.Snapshots, total.Messages, total.Span)
	}
	if i.Version > 1 && i.Recorded != total.Recorded {
		v.problem(s.start, "the episode says that it recorded %v; it did %v", i.Recorded, total.Recorded)
	}
	if !bytes.HasSuffix(v.at(v.size-int64(len(mcap.Magic)), len(mcap.Magic)), mcap.Magic) {
		v.problem(v.size, "the file does not end as an MCAP file does")
	}
}
