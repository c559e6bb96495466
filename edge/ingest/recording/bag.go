package recording

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/seed-301d4374/engram"
)

// bagFile is a ROS 1 bag, format 2.0. Its records are read here: the go-rosbag
// library, which the tests compare with, trusts every length it reads.
type bagFile struct {
	path        string
	w           window
	connections map[uint32]*Channel
	reader      *chunkReader
	indexPos    uint64
	cut         bool
	promised    uint64 // messages by the chunk infos at the end
}

// The opcodes of a bag's records.
const (
	bagMessage    = 2
	bagHeader     = 3
	bagIndex      = 4
	bagChunk      = 5
	bagChunkInfo  = 6
	bagConnection = 7
)

// maxBagHeader is the largest record header read; real ones have some 100 bytes.
const maxBagHeader = 1 << 20

// bagRecord is a record's header and where its data lie.
type bagRecord struct {
	header []byte // valid until the window moves
	op     byte
	data   int64 // offset in the file, or in the chunk
	size   int64
	whole  bool // the data end within the file
}

func (r *bagRecord) end() int64 { return r.data + r.size }

func openBag(path string, f *os.File, size int64) (Reader, error) {
	b := &bagFile{path: path, w: window{f: f, size: size}, connections: map[uint32]*Channel{}}
	b.reader = &chunkReader{path: path, f: f, closer: f, size: size, form: b, width: runtime.GOMAXPROCS(0)}
	off := int64(len(bagMagic))
	r, ok := b.record(off)
	if !ok || r.op != bagHeader || !r.whole {
		return nil, engram.Errorf(engram.Corrupt, path, "has the beginning of a ROS bag, but its header record is cut off or damaged")
	}
	if v, ok := headerUint(r.header, "index_pos", 8); ok {
		b.indexPos = v
	}
	b.scan(r.end())
	b.reader.begin()
	return b.reader, nil
}

// headerField returns the value of a field of a record's header.
func headerField(header []byte, key string) ([]byte, bool) {
	for len(header) >= 4 {
		n := binary.LittleEndian.Uint32(header)
		header = header[4:]
		if uint64(n) > uint64(len(header)) {
			return nil, false
		}
		field := header[:n]
		header = header[n:]
		if name, value, ok := bytes.Cut(field, []byte("=")); ok && string(name) == key {
			return value, true
		}
	}
	return nil, false
}

// headerUint returns the value of a field that is a number of size bytes.
func headerUint(header []byte, key string, size int) (uint64, bool) {
	v, ok := headerField(header, key)
	if !ok || len(v) != size {
		return 0, false
	}
	switch size {
	case 1:
		return uint64(v[0]), true
	case 4:
		return uint64(binary.LittleEndian.Uint32(v)), true
	}
	return binary.LittleEndian.Uint64(v), true
}

// rosTime converts seconds and nanoseconds.
func rosTime(v uint64) engram.Time {
	return engram.Time(v&0xFFFFFFFF)*1e9 + engram.Time(v>>32)
}

// record reads the record at off; ok is false if it makes no sense. Its data may
// reach beyond the file's end.
func (b *bagFile) record(off int64) (r bagRecord, ok bool) {
	lead, ok := b.w.at(off, 4)
	if !ok {
		return r, false
	}
	n := int64(binary.LittleEndian.Uint32(lead))
	if n > maxBagHeader {
		return r, false
	}
	all, ok := b.w.at(off+4, int(n)+4)
	if !ok {
		return r, false
	}
	r.header = all[:n]
	op, ok := headerUint(r.header, "op", 1)
	r.op, r.data, r.size = byte(op), off+4+n+4, int64(binary.LittleEndian.Uint32(all[n:]))
	r.whole = r.size <= b.w.size-r.data
	return r, ok && bagMessage <= r.op && r.op <= bagConnection
}

// scan walks the records of the file and finds the chunks.
func (b *bagFile) scan(off int64) {
	for off < b.w.size {
		r, ok := b.record(off)
		if !ok || !r.whole && r.op != bagChunk {
			off = b.damaged(off, "a record's head is damaged")
			continue
		}
		next := r.end()
		switch r.op {
		case bagChunk:
			next = b.chunk(off, &r)
		case bagMessage:
			next = b.loose(off)
		case bagConnection:
			if data, ok := b.w.at(r.data-int64(len(r.header))-4, len(r.header)+4+int(min(r.size, maxDefinition))); ok {
				n := len(r.header)
				b.connection(data[:n], data[n+4:])
			}
		case bagChunkInfo:
			b.chunkInfo(&r)
		}
		off = next
	}
	b.reader.expected = b.promised
	if b.cut {
		return
	}
	if b.indexPos == 0 || b.indexPos > uint64(b.w.size) {
		l := Loss{File: b.path, Offset: b.w.size, Beyond: true, Reason: "the file ends without its index: it was cut, or never closed"}
		if b.indexPos > uint64(b.w.size) && b.indexPos < 1<<60 {
			l.Bytes = int64(b.indexPos) - b.w.size
		}
		b.reader.loss = append(b.reader.loss, l)
	}
}

// damaged finds the next record that makes sense after off, by the field that
// every chunk's header begins with or holds.
func (b *bagFile) damaged(off int64, reason string) int64 {
	next := b.w.size
	for at := off + 1; ; at++ {
		if at = b.w.find(at, []byte("\x04\x00\x00\x00op=")); at < 0 {
			break
		}
		// Headers are written with the fields sorted or with op first; try every
		// place before from which the header's length fits.
		for start := at - 4; start > off && start >= at-256; start-- {
			if r, ok := b.record(start); ok && r.whole && start+4 <= at && at < r.data && b.follows(r.end()) {
				next = start
			}
		}
		if next < b.w.size {
			break
		}
	}
	if next == b.w.size {
		b.cut = true
		reason = "the file ends in the middle of a record"
	}
	b.reader.loss = append(b.reader.loss, Loss{File: b.path, Offset: off, Bytes: next - off, Beyond: b.cut, Reason: reason})
	return next
}

// follows reports whether a record or the file's end stands at off.
func (b *bagFile) follows(off int64) bool {
	if off == b.w.size {
		return true
	}
	_, ok := b.record(off)
	return ok
}

// chunk keeps the chunk whose record r stands at off and returns where to go on:
// after the index records that follow it.
func (b *bagFile) chunk(off int64, r *bagRecord) int64 {
	compression, okC := headerField(r.header, "compression")
	size, okS := headerUint(r.header, "size", 4)
	if !okC || !okS {
		return b.damaged(off, "a chunk's head is damaged")
	}
	c := &chunk{offset: r.data, size: r.size, compression: string(compression), rawSize: size, index: r.end()}
	if !r.whole || !b.follows(c.index) {
		// Either the file is cut here, or the chunk's length is damaged.
		if next := b.w.find(c.offset, []byte("\x04\x00\x00\x00op=\x04")); next < 0 {
			c.size, c.cut, b.cut = min(c.size, b.w.size-c.offset), true, true
			b.timesOf(c)
			b.reader.chunks = append(b.reader.chunks, c)
			return b.w.size
		}
		return b.damaged(off, "a chunk's length is damaged")
	}
	next, known := c.index, false
	for next < b.w.size {
		ir, ok := b.record(next)
		if !ok || ir.op != bagIndex || !ir.whole || ir.size > maxDefinition {
			break
		}
		next = ir.end()
		data, ok := b.w.at(ir.data, int(ir.size))
		for ; ok && len(data) >= 12; data = data[12:] {
			t := rosTime(binary.LittleEndian.Uint64(data))
			if !known || t < c.start {
				c.start = t
			}
			if !known || t > c.end {
				c.end = t
			}
			known = true
		}
	}
	c.timed = known
	if !known {
		b.timesOf(c)
	}
	b.reader.chunks = append(b.reader.chunks, c)
	return next
}

// timesOf finds the times in a chunk that has no index, by reading it.
func (b *bagFile) timesOf(c *chunk) {
	buf, _ := c.load(b.w.f)
	defer buffers.Put(buf)
	entries, _ := b.index(buf.Bytes(), nil)
	for i, e := range entries {
		if i == 0 {
			c.start, c.end, c.timed = e.time, e.time, true
		}
		c.start, c.end = min(c.start, e.time), max(c.end, e.time)
	}
}

// loose gathers messages that stand outside chunks, from off on, as one chunk that
// is not compressed, and returns where they end.
func (b *bagFile) loose(off int64) int64 {
	c := &chunk{offset: off, start: engram.MaxTime}
	for off < b.w.size && off-c.offset < looseLen {
		r, ok := b.record(off)
		if !ok || !r.whole || r.op != bagMessage {
			break
		}
		if t, ok := headerUint(r.header, "time", 8); ok {
			c.start, c.end, c.timed = min(c.start, rosTime(t)), max(c.end, rosTime(t)), true
		}
		off = r.end()
	}
	c.size, c.rawSize, c.index = off-c.offset, uint64(off-c.offset), off
	if c.start == engram.MaxTime {
		c.start = 0
	}
	b.reader.chunks = append(b.reader.chunks, c)
	return off
}

// connection keeps a connection. Both arguments are copied.
func (b *bagFile) connection(header, data []byte) {
	id, ok := headerUint(header, "conn", 4)
	topic, ok2 := headerField(header, "topic")
	if _, known := b.connections[uint32(id)]; !ok || !ok2 || known {
		return
	}
	c := &Channel{Topic: string(topic), Encoding: "ros1", SchemaEncoding: "ros1msg"}
	if v, ok := headerField(data, "type"); ok {
		c.Type = string(v)
	}
	if v, ok := headerField(data, "message_definition"); ok {
		c.Schema = slices.Clone(v)
	}
	b.connections[uint32(id)] = c
}

// chunkInfo counts the messages that the bag's index promises.
func (b *bagFile) chunkInfo(r *bagRecord) {
	if r.size > maxDefinition {
		return
	}
	data, ok := b.w.at(r.data, int(r.size))
	for ; ok && len(data) >= 8; data = data[8:] {
		b.promised += uint64(binary.LittleEndian.Uint32(data[4:]))
	}
}

// index implements container.
func (b *bagFile) index(data []byte, dst []entry) ([]entry, int) {
	bad := 0
	for off := 0; off < len(data); {
		rest := data[off:]
		if len(rest) < 4 {
			return dst, bad + len(rest)
		}
		n := uint64(binary.LittleEndian.Uint32(rest))
		if n+8 > uint64(len(rest)) {
			return dst, bad + len(rest)
		}
		header := rest[4 : 4+n]
		size := uint64(binary.LittleEndian.Uint32(rest[4+n:]))
		head := int(n) + 8
		if size > uint64(len(rest)-head) {
			return dst, bad + len(rest)
		}
		body := rest[head : head+int(size)]
		off += head + len(body)
		op, _ := headerUint(header, "op", 1)
		switch op {
		case bagConnection:
			b.connection(header, body)
		case bagMessage:
			conn, ok1 := headerUint(header, "conn", 4)
			t, ok2 := headerUint(header, "time", 8)
			channel := b.connections[uint32(conn)]
			if !ok1 || !ok2 || channel == nil {
				bad += head + len(body)
				continue
			}
			at := rosTime(t)
			dst = append(dst, entry{time: at, publish: at, channel: channel, off: off - len(body), len: len(body)})
		default:
			bad += head + len(body)
		}
	}
	return dst, bad
}

// topics implements container.
func (b *bagFile) topics() []string { return topicsOf(b.connections) }

// lost implements container by the index records that follow a chunk.
func (b *bagFile) lost(c *chunk) (messages uint64, topics []string) {
	if c.cut {
		return 0, nil
	}
	names := map[string]bool{}
	for off := c.index; ; {
		r, ok := b.record(off)
		if !ok || r.op != bagIndex {
			break
		}
		count, _ := headerUint(r.header, "count", 4)
		conn, _ := headerUint(r.header, "conn", 4)
		messages += min(count, uint64(r.size)/12)
		if ch := b.connections[uint32(conn)]; ch != nil {
			names[ch.Topic] = true
		}
		off = r.end()
	}
	return messages, slices.Sorted(maps.Keys(names))
}
