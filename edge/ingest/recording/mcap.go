package recording

import (
	"encoding/binary"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// mcapFile is an MCAP file. Its records are parsed by the mcap library; walking
// them is done here, because the library's readers stop at the first damage.
type mcapFile struct {
	path     string
	w        window
	schemas  map[uint16]*mcap.Schema
	channels map[uint16]*Channel
	// The summary section repeats schemas and channels; they count where the data
	// section's own are lost.
	summarySchemas  map[uint16]*mcap.Schema
	summaryChannels map[uint16]*mcap.Channel
	inSummary       bool
	reader          *chunkReader
	closed          bool // the footer was seen
	found           []Aside
}

// recordHead is an opcode and a length.
const recordHead = 9

// looseLen bounds the stretch of messages outside chunks that is read like one chunk.
const looseLen = 4 << 20

func openMCAP(path string, f *os.File, size int64) (Reader, error) {
	m := &mcapFile{
		path: path, w: window{f: f, size: size},
		schemas: map[uint16]*mcap.Schema{}, channels: map[uint16]*Channel{},
		summarySchemas: map[uint16]*mcap.Schema{}, summaryChannels: map[uint16]*mcap.Channel{},
	}
	m.reader = &chunkReader{path: path, f: f, closer: f, size: size, form: m, width: runtime.GOMAXPROCS(0)}
	off := int64(len(mcapMagic))
	op, n, ok := m.record(off)
	if ok && op == mcap.OpHeader {
		_, ok = m.w.at(off, recordHead+int(min(n, windowLen)))
	}
	if !ok || op != mcap.OpHeader {
		return nil, engram.Errorf(engram.Corrupt, path, "has the beginning of an MCAP file, but its header record is cut off or damaged")
	}
	m.scan(off + recordHead + n)
	m.reader.begin()
	return m.reader, nil
}

// record reads the head of the record at off; ok is false if the record is not
// whole in the file.
func (m *mcapFile) record(off int64) (op mcap.OpCode, n int64, ok bool) {
	head, ok := m.w.at(off, recordHead)
	if !ok {
		return 0, 0, false
	}
	length := binary.LittleEndian.Uint64(head[1:])
	op = mcap.OpCode(head[0])
	return op, int64(length), op != 0 && length <= uint64(m.w.size-off-recordHead)
}

// scan walks the records of the file and finds the chunks.
func (m *mcapFile) scan(off int64) {
	for off < m.w.size {
		if m.closed && m.w.size-off == int64(len(mcapMagic)) {
			if tail, ok := m.w.at(off, len(mcapMagic)); ok && string(tail) == string(mcapMagic) {
				return
			}
		}
		op, n, ok := m.record(off)
		if ok && op <= mcap.OpDataEnd || ok && op >= 0x80 {
			end := off + recordHead + n
			if op == mcap.OpMessage && !m.inSummary {
				end = m.loose(off)
			} else {
				m.take(op, off+recordHead, n)
			}
			off = end
			continue
		}
		off = m.damaged(op, off)
	}
	if !m.closed && len(m.reader.loss) == 0 && (len(m.reader.chunks) == 0 || !m.reader.chunks[len(m.reader.chunks)-1].cut) {
		m.reader.loss = append(m.reader.loss, Loss{File: m.path, Offset: m.w.size, Beyond: true,
			Reason: "the file ends without its footer: it was cut, or never closed"})
	}
}

// damaged deals with a record at off whose head makes no sense or that is not
// whole, and returns where to go on.
func (m *mcapFile) damaged(op mcap.OpCode, off int64) int64 {
	// A chunk says its length a second time, by that of its records.
	if op == mcap.OpChunk {
		if c, end := m.chunk(off + recordHead); c != nil && end <= m.w.size && m.plausible(end, 2) {
			m.reader.chunks = append(m.reader.chunks, c)
			m.reader.loss = append(m.reader.loss, Loss{File: m.path, Offset: off, Bytes: recordHead,
				Reason: "the length of a chunk's record is damaged; the chunk was read nevertheless"})
			return end
		}
	}
	for next := off + 1; next < m.w.size; next++ {
		if m.plausible(next, 3) {
			m.reader.loss = append(m.reader.loss, Loss{File: m.path, Offset: off, Bytes: next - off,
				Reason: "a record's head is damaged"})
			return next
		}
	}
	if op == mcap.OpChunk {
		if c, end := m.chunk(off + recordHead); c != nil && end > m.w.size {
			c.size, c.cut = m.w.size-c.offset, true
			m.reader.chunks = append(m.reader.chunks, c)
			return m.w.size
		}
	}
	reason := "the file ends in the middle of a record"
	if m.closed {
		reason = "the file goes on after its footer"
	}
	m.reader.loss = append(m.reader.loss, Loss{File: m.path, Offset: off, Bytes: m.w.size - off, Beyond: !m.closed, Reason: reason})
	return m.w.size
}

// plausible reports whether n records of the data or summary section follow each
// other at off, or fewer up to the end of the file.
func (m *mcapFile) plausible(off int64, n int) bool {
	for range n {
		if m.w.size-off == int64(len(mcapMagic)) {
			tail, ok := m.w.at(off, len(mcapMagic))
			return ok && string(tail) == string(mcapMagic)
		}
		op, length, ok := m.record(off)
		if !ok || op > mcap.OpDataEnd || op == mcap.OpHeader {
			return false
		}
		if op == mcap.OpChunk {
			if c, end := m.chunk(off + recordHead); c == nil || end != off+recordHead+length {
				return false
			}
		}
		off += recordHead + length
	}
	return true
}

// take deals with a whole record outside chunks.
func (m *mcapFile) take(op mcap.OpCode, off, n int64) {
	switch op {
	case mcap.OpChunk:
		c, end := m.chunk(off)
		if c == nil || end != off+n {
			m.reader.loss = append(m.reader.loss, Loss{File: m.path, Offset: off, Bytes: n, Reason: "a chunk's head is damaged"})
			return
		}
		m.reader.chunks = append(m.reader.chunks, c)
	case mcap.OpDataEnd:
		m.inSummary = true
	case mcap.OpFooter:
		m.closed = true
	case mcap.OpAttachment, mcap.OpMetadata:
		m.aside(op, off, n)
	case mcap.OpSchema, mcap.OpChannel, mcap.OpStatistics:
		if n > maxDefinition {
			return
		}
		if b, ok := m.w.at(off, int(n)); ok {
			m.define(op, b)
		}
	}
}

// maxDefinition is the largest record of a schema or channel read.
const maxDefinition = 64 << 20

// define keeps a schema, a channel or the statistics. b is copied.
func (m *mcapFile) define(op mcap.OpCode, b []byte) {
	switch op {
	case mcap.OpSchema:
		s, err := mcap.ParseSchema(b)
		if err != nil {
			return
		}
		s.Data = slices.Clone(s.Data)
		into := m.schemas
		if m.inSummary {
			into = m.summarySchemas
		}
		if _, ok := into[s.ID]; !ok {
			into[s.ID] = s
		}
	case mcap.OpChannel:
		c, err := mcap.ParseChannel(b)
		if err != nil {
			return
		}
		if m.inSummary {
			m.summaryChannels[c.ID] = c
		} else if _, ok := m.channels[c.ID]; !ok {
			m.channels[c.ID] = m.channelOf(c)
		}
	case mcap.OpStatistics:
		if s, err := mcap.ParseStatistics(b); err == nil {
			m.reader.expected = s.MessageCount
		}
	}
}

func (m *mcapFile) channelOf(c *mcap.Channel) *Channel {
	out := &Channel{Topic: c.Topic, Encoding: c.MessageEncoding, Metadata: c.Metadata}
	s := m.schemas[c.SchemaID]
	if s == nil {
		s = m.summarySchemas[c.SchemaID]
	}
	if s != nil && c.SchemaID != 0 {
		out.Type, out.SchemaEncoding, out.Schema = s.Name, s.Encoding, s.Data
	}
	return out
}

// channel returns the channel of that number, or nil.
func (m *mcapFile) channel(id uint16) *Channel {
	if c, ok := m.channels[id]; ok {
		return c
	}
	c, ok := m.summaryChannels[id]
	if !ok {
		return nil
	}
	m.channels[id] = m.channelOf(c)
	return m.channels[id]
}

// chunk reads the head of the chunk whose content begins at off; nil if it makes
// no sense. end is where its content ends by the length of its records.
func (m *mcapFile) chunk(off int64) (c *chunk, end int64) {
	const fixed = 8 + 8 + 8 + 4 + 4
	b, ok := m.w.at(off, fixed)
	if !ok {
		return nil, 0
	}
	start, okStart := toTime(binary.LittleEndian.Uint64(b))
	last, okEnd := toTime(binary.LittleEndian.Uint64(b[8:]))
	timed := okStart && okEnd && start <= last
	if !timed { // they are none of what the chunk holds
		start, last = 0, 0
	}
	c = &chunk{start: start, end: last, timed: timed, rawSize: binary.LittleEndian.Uint64(b[16:]), crc: binary.LittleEndian.Uint32(b[24:])}
	nameLen := int(binary.LittleEndian.Uint32(b[28:]))
	if nameLen > maxCompressionName {
		return nil, 0
	}
	b, ok = m.w.at(off+fixed, nameLen+8)
	if !ok {
		return nil, 0
	}
	c.compression = string(b[:nameLen])
	size := binary.LittleEndian.Uint64(b[nameLen:])
	c.offset = off + fixed + int64(nameLen) + 8
	// What compresses it is not known here: load says so. A name that is none is damage.
	if size > 1<<40 || !utf8.ValidString(c.compression) || strings.ContainsFunc(c.compression, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, 0
	}
	c.size = int64(size)
	c.index = c.offset + c.size
	if timed && last == 0 { // are the times of messages, or of none: an index says how many there are
		next, length, ok := m.record(c.index)
		c.timed = ok && next == mcap.OpMessageIndex && length > 6
	}
	return c, c.index
}

// maxCompressionName is the longest name of a compression, in bytes.
const maxCompressionName = 128

// loose gathers messages that stand outside chunks, from off on, as one chunk that
// is not compressed, and returns where they end.
func (m *mcapFile) loose(off int64) int64 {
	c := &chunk{offset: off, start: engram.MaxTime}
	for off < m.w.size && off-c.offset < looseLen {
		op, n, ok := m.record(off)
		if !ok || op != mcap.OpMessage && op != mcap.OpSchema && op != mcap.OpChannel {
			break
		}
		if op != mcap.OpMessage {
			m.take(op, off+recordHead, n)
		} else if b, ok := m.w.at(off+recordHead, int(min(n, messageHead))); ok && n >= messageHead {
			if t, ok := toTime(binary.LittleEndian.Uint64(b[6:])); ok {
				c.start, c.end, c.timed = min(c.start, t), max(c.end, t), true
			}
		}
		off += recordHead + n
	}
	c.size, c.rawSize, c.index = off-c.offset, uint64(off-c.offset), off
	if c.start == engram.MaxTime {
		c.start = 0
	}
	m.reader.chunks = append(m.reader.chunks, c)
	return off
}

// messageHead is channel, sequence, log time and publish time.
const messageHead = 2 + 4 + 8 + 8

// index implements container.
func (m *mcapFile) index(data []byte, dst []entry) ([]entry, int) {
	bad := 0
	for off := 0; off < len(data); {
		rest := data[off:]
		if len(rest) < recordHead {
			return dst, bad + len(rest)
		}
		n := binary.LittleEndian.Uint64(rest[1:])
		if n > uint64(len(rest)-recordHead) || rest[0] == 0 {
			return dst, bad + len(rest)
		}
		body := rest[recordHead : recordHead+int(n)]
		off += recordHead + int(n)
		switch op := mcap.OpCode(rest[0]); op {
		case mcap.OpSchema, mcap.OpChannel:
			m.define(op, body)
		case mcap.OpMessage:
			e, ok := m.message(body)
			if !ok {
				bad += recordHead + len(body)
				continue
			}
			e.off, e.len = off-len(body)+messageHead, len(body)-messageHead
			dst = append(dst, e)
		}
	}
	return dst, bad
}

func (m *mcapFile) message(body []byte) (e entry, ok bool) {
	if len(body) < messageHead {
		return e, false
	}
	e.channel = m.channel(binary.LittleEndian.Uint16(body))
	logTime, okLog := toTime(binary.LittleEndian.Uint64(body[6:]))
	publish, okPublish := toTime(binary.LittleEndian.Uint64(body[14:]))
	if e.channel == nil || !okLog && !okPublish {
		return e, false
	}
	// Some writers leave the publish time zero, and some have no log time but a number that is none.
	if !okLog {
		logTime = publish
	}
	if !okPublish || publish == 0 {
		publish = logTime
	}
	e.time, e.publish, e.sequence = logTime, publish, binary.LittleEndian.Uint32(body[2:])
	return e, true
}

// topics implements container. The summary has those whose channels stand in chunks that cannot
// be read.
func (m *mcapFile) topics() []string {
	for id := range m.summaryChannels {
		m.channel(id)
	}
	return topicsOf(m.channels)
}

// lost implements container by the message indexes that follow a chunk.
func (m *mcapFile) lost(c *chunk) (messages uint64, topics []string) {
	if c.cut {
		return 0, nil
	}
	names := map[string]bool{}
	for off := c.index; ; {
		op, n, ok := m.record(off)
		if !ok || op != mcap.OpMessageIndex || n < 6 {
			break
		}
		b, ok := m.w.at(off+recordHead, 6)
		if !ok {
			break
		}
		messages += uint64(binary.LittleEndian.Uint32(b[2:])) / 16
		if ch := m.channel(binary.LittleEndian.Uint16(b)); ch != nil {
			names[ch.Topic] = true
		}
		off += recordHead + n
	}
	return messages, slices.Sorted(maps.Keys(names))
}
