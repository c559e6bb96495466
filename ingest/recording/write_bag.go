package recording

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// BagWriter writes a ROS 1 bag of format 2.0 with uncompressed chunks and an index.
//
// Source: wiki.ros.org/Bags/Format/2.0.
type BagWriter struct {
	*outFile
	byKey    map[string]uint32
	channels map[*Channel]uint32
	records  [][]byte // of connections
	chunk    []byte
	index    map[uint32][]byte // of the chunk, by connection
	info     bagChunkNote
	infos    []bagChunkNote
}

// bagChunkNote is what the index at the end says of a chunk.
type bagChunkNote struct {
	at         int64
	start, end engram.Time
	counts     map[uint32]uint32
}

const (
	bagHeaderLen = 4096
	bagChunkLen  = 768 << 10 // as rosbag has it
)

// CreateBag creates a bag.
func CreateBag(path string) (*BagWriter, error) {
	f, err := createFile(path)
	if err != nil {
		return nil, err
	}
	b := &BagWriter{outFile: f, byKey: map[string]uint32{}, channels: map[*Channel]uint32{}, index: map[uint32][]byte{}}
	b.info.counts = map[uint32]uint32{}
	if _, err := f.Write(b.head(0)); err != nil {
		f.Discard()
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be written: %w", err)
	}
	return b, nil
}

// head returns the file's beginning.
func (b *BagWriter) head(indexAt int64) []byte {
	header := bagField(nil, "op", []byte{bagHeader})
	header = bagField(header, "index_pos", binary.LittleEndian.AppendUint64(nil, uint64(indexAt)))
	header = bagField(header, "conn_count", bagUint(uint32(len(b.records))))
	header = bagField(header, "chunk_count", bagUint(uint32(len(b.infos))))
	pad := make([]byte, bagHeaderLen-8-len(header))
	for i := range pad {
		pad[i] = ' '
	}
	return append([]byte(bagMagic), bagRecordOf(nil, header, pad)...)
}

// bagField appends a field of a header.
func bagField(header []byte, name string, value []byte) []byte {
	header = binary.LittleEndian.AppendUint32(header, uint32(len(name)+1+len(value)))
	return append(append(append(header, name...), '='), value...)
}

func bagUint(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

func bagTime(t engram.Time) []byte {
	return append(bagUint(uint32(int64(t)/1e9)), bagUint(uint32(int64(t)%1e9))...)
}

// bagRecordOf appends a record.
func bagRecordOf(dst, header, data []byte) []byte {
	dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(header))), header...)
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(data))), data...)
}

// Write implements Writer. The error is OutOfRange for times that bags cannot hold.
func (b *BagWriter) Write(m *Message) error {
	if m.LogTime < 0 || int64(m.LogTime)/1e9 > math.MaxUint32 {
		return engram.Errorf(engram.OutOfRange, m.Channel.Topic, "a bag holds times from 1970 to 2106, not %v", m.LogTime)
	}
	id, ok := b.channels[m.Channel]
	if !ok {
		id = b.connect(m.Channel)
		b.channels[m.Channel] = id
	}
	at := bagTime(m.LogTime)
	b.index[id] = append(append(b.index[id], at...), bagUint(uint32(len(b.chunk)))...)
	if len(b.info.counts) == 0 {
		b.info.start, b.info.end = m.LogTime, m.LogTime
	}
	b.info.start, b.info.end = min(b.info.start, m.LogTime), max(b.info.end, m.LogTime)
	b.info.counts[id]++
	header := make([]byte, 0, 64)
	header = bagField(header, "op", []byte{bagMessage})
	header = bagField(header, "conn", bagUint(id))
	header = bagField(header, "time", at)
	b.chunk = bagRecordOf(b.chunk, header, m.Data)
	if len(b.chunk) >= bagChunkLen {
		return b.flush()
	}
	return nil
}

// connect writes a connection, unless there is one like it.
func (b *BagWriter) connect(c *Channel) uint32 {
	key := c.key()
	if id, ok := b.byKey[key]; ok {
		return id
	}
	id := uint32(len(b.records))
	b.byKey[key] = id
	header := bagField(nil, "op", []byte{bagConnection})
	header = bagField(header, "conn", bagUint(id))
	header = bagField(header, "topic", []byte(c.Topic))
	data := bagField(nil, "topic", []byte(c.Topic))
	data = bagField(data, "type", []byte(c.Type))
	data = bagField(data, "message_definition", c.Schema)
	for _, name := range bagMetadata {
		if v, ok := c.Metadata[name]; ok {
			data = bagField(data, name, []byte(v))
		}
	}
	record := bagRecordOf(nil, header, data)
	b.records = append(b.records, record)
	b.chunk = append(b.chunk, record...)
	return id
}

// flush writes the chunk with its index.
func (b *BagWriter) flush() error {
	if len(b.chunk) == 0 {
		return nil
	}
	b.info.at = b.at
	header := bagField(nil, "op", []byte{bagChunk})
	header = bagField(header, "compression", []byte("none"))
	header = bagField(header, "size", bagUint(uint32(len(b.chunk))))
	lead := append(binary.LittleEndian.AppendUint32(nil, uint32(len(header))), header...)
	lead = binary.LittleEndian.AppendUint32(lead, uint32(len(b.chunk)))
	_, err := b.outFile.Write(lead)
	if err == nil {
		_, err = b.outFile.Write(b.chunk)
	}
	for _, id := range slices.Sorted(maps.Keys(b.index)) {
		header := bagField(nil, "op", []byte{bagIndex})
		header = bagField(header, "ver", bagUint(1))
		header = bagField(header, "conn", bagUint(id))
		header = bagField(header, "count", bagUint(b.info.counts[id]))
		if err == nil {
			_, err = b.outFile.Write(bagRecordOf(nil, header, b.index[id]))
		}
	}
	if err != nil {
		return engram.Errorf(engram.Unavailable, b.path, "cannot be written: %w", err)
	}
	b.infos = append(b.infos, b.info)
	b.chunk, b.info = b.chunk[:0], bagChunkNote{counts: map[uint32]uint32{}}
	clear(b.index)
	return nil
}

// Finish implements Writer.
func (b *BagWriter) Finish() (int64, error) {
	if err := b.flush(); err != nil {
		return 0, err
	}
	indexAt := b.at
	var end []byte
	for _, record := range b.records {
		end = append(end, record...)
	}
	for _, info := range b.infos {
		header := bagField(nil, "op", []byte{bagChunkInfo})
		header = bagField(header, "ver", bagUint(1))
		header = bagField(header, "chunk_pos", binary.LittleEndian.AppendUint64(nil, uint64(info.at)))
		header = bagField(header, "start_time", bagTime(info.start))
		header = bagField(header, "end_time", bagTime(info.end))
		header = bagField(header, "count", bagUint(uint32(len(info.counts))))
		var data []byte
		for _, id := range slices.Sorted(maps.Keys(info.counts)) {
			data = append(append(data, bagUint(id)...), bagUint(info.counts[id])...)
		}
		end = bagRecordOf(end, header, data)
	}
	_, err := b.outFile.Write(end)
	if err == nil {
		err = b.w.Flush()
	}
	if err == nil {
		_, err = b.f.WriteAt(b.head(indexAt), 0)
	}
	if err != nil {
		return 0, engram.Errorf(engram.Unavailable, b.path, "cannot be written: %w", err)
	}
	return b.finish()
}
