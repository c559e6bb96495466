package episode

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// Records of an MCAP file: an opcode, a length, a content. They are written and
// found here, because the mcap library's writer has one open chunk only and its
// readers stop at the first damage; what is in them, the library parses.

const (
	recordHead  = 1 + 8             // opcode, length
	messageHead = 2 + 4 + 8 + 8     // channel, sequence, log time, publish time
	chunkHead   = 8 + 8 + 8 + 4 + 4 // times, uncompressed size, CRC, length of the compression's name
	footerLen   = 8 + 8 + 4
)

// logTime is an engram time as MCAP has it: nanoseconds since 1970, unsigned.
// Earlier times become 0; the envelope has the true one.
func logTime(t engram.Time) uint64 { return uint64(max(t, 0)) }

func appendString[S string | []byte](b []byte, s S) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendMap(b []byte, m map[string]string) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = appendString(appendString(b, k), m[k])
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// beginRecord appends a record's head; endRecord, given where it stands, its length.
func beginRecord(b []byte, op mcap.OpCode) (_ []byte, at int) {
	return append(b, byte(op), 0, 0, 0, 0, 0, 0, 0, 0), len(b)
}

func endRecord(b []byte, at int) []byte {
	binary.LittleEndian.PutUint64(b[at+1:], uint64(len(b)-at-recordHead))
	return b
}

func appendHeader(b []byte, library string) []byte {
	b, at := beginRecord(b, mcap.OpHeader)
	return endRecord(appendString(appendString(b, ""), library), at)
}

func appendSchema(b []byte, s *mcap.Schema) []byte {
	b, at := beginRecord(b, mcap.OpSchema)
	b = binary.LittleEndian.AppendUint16(b, s.ID)
	b = appendString(appendString(b, s.Name), s.Encoding)
	return endRecord(appendString(b, s.Data), at)
}

func appendChannel(b []byte, c *mcap.Channel) []byte {
	b, at := beginRecord(b, mcap.OpChannel)
	b = binary.LittleEndian.AppendUint16(b, c.ID)
	b = binary.LittleEndian.AppendUint16(b, c.SchemaID)
	b = appendString(appendString(b, c.Topic), c.MessageEncoding)
	return endRecord(appendMap(b, c.Metadata), at)
}

func appendMessage(b []byte, channel uint16, sequence uint32, log, publish uint64, data []byte) []byte {
	b = append(b, byte(mcap.OpMessage))
	b = binary.LittleEndian.AppendUint64(b, uint64(messageHead+len(data)))
	b = binary.LittleEndian.AppendUint16(b, channel)
	b = binary.LittleEndian.AppendUint32(b, sequence)
	b = binary.LittleEndian.AppendUint64(b, log)
	b = binary.LittleEndian.AppendUint64(b, publish)
	return append(b, data...)
}

func appendMessageIndex(b []byte, channel uint16, entries []indexEntry) []byte {
	b = append(b, byte(mcap.OpMessageIndex))
	b = binary.LittleEndian.AppendUint64(b, uint64(2+4+16*len(entries)))
	b = binary.LittleEndian.AppendUint16(b, channel)
	b = binary.LittleEndian.AppendUint32(b, uint32(16*len(entries)))
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, e.log)
		b = binary.LittleEndian.AppendUint64(b, e.offset)
	}
	return b
}

// indexEntry is where a message of some time lies in its chunk.
type indexEntry struct{ log, offset uint64 }

func appendChunkIndex(b []byte, c *mcap.ChunkIndex) []byte {
	b, at := beginRecord(b, mcap.OpChunkIndex)
	for _, v := range []uint64{c.MessageStartTime, c.MessageEndTime, c.ChunkStartOffset, c.ChunkLength} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(10*len(c.MessageIndexOffsets)))
	for _, ch := range slices.Sorted(maps.Keys(c.MessageIndexOffsets)) {
		b = binary.LittleEndian.AppendUint16(b, ch)
		b = binary.LittleEndian.AppendUint64(b, c.MessageIndexOffsets[ch])
	}
	b = binary.LittleEndian.AppendUint64(b, c.MessageIndexLength)
	b = appendString(b, string(c.Compression))
	b = binary.LittleEndian.AppendUint64(b, c.CompressedSize)
	return endRecord(binary.LittleEndian.AppendUint64(b, c.UncompressedSize), at)
}

func appendMetadata(b []byte, name string, m map[string]string) []byte {
	b, at := beginRecord(b, mcap.OpMetadata)
	return endRecord(appendMap(appendString(b, name), m), at)
}

func appendMetadataIndex(b []byte, x *mcap.MetadataIndex) []byte {
	b, at := beginRecord(b, mcap.OpMetadataIndex)
	b = binary.LittleEndian.AppendUint64(b, x.Offset)
	b = binary.LittleEndian.AppendUint64(b, x.Length)
	return endRecord(appendString(b, x.Name), at)
}

func appendAttachment(b []byte, name, mediaType string, logged, created uint64, data []byte) []byte {
	b, head := beginRecord(b, mcap.OpAttachment)
	b = binary.LittleEndian.AppendUint64(b, logged)
	b = binary.LittleEndian.AppendUint64(b, created)
	b = appendString(appendString(b, name), mediaType)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = append(b, data...)
	return endRecord(binary.LittleEndian.AppendUint32(b, crcIEEE(b[head+recordHead:])), head)
}

func appendAttachmentIndex(b []byte, x *mcap.AttachmentIndex) []byte {
	b, at := beginRecord(b, mcap.OpAttachmentIndex)
	for _, v := range []uint64{x.Offset, x.Length, x.LogTime, x.CreateTime, x.DataSize} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return endRecord(appendString(appendString(b, x.Name), x.MediaType), at)
}

// attachment is an attachment record's content.
type attachment struct {
	name, mediaType string
	logTime         uint64
	createTime      uint64
	data            []byte
}

// parseAttachment reads the content of an attachment record and checks its CRC.
func parseAttachment(b []byte) (a attachment, ok bool) {
	if len(b) < 8+8+4+4+8+4 || binary.LittleEndian.Uint32(b[len(b)-4:]) != crcIEEE(b[:len(b)-4]) {
		return a, false
	}
	a.logTime = binary.LittleEndian.Uint64(b)
	a.createTime = binary.LittleEndian.Uint64(b[8:])
	name, rest, ok := cutString(b[16 : len(b)-4])
	if !ok {
		return a, false
	}
	mediaType, rest, ok := cutString(rest)
	if !ok || len(rest) < 8 || binary.LittleEndian.Uint64(rest) != uint64(len(rest)-8) {
		return a, false
	}
	a.name, a.mediaType, a.data = string(name), string(mediaType), rest[8:]
	return a, true
}

func cutString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

func appendStatistics(b []byte, s *mcap.Statistics) []byte {
	b, at := beginRecord(b, mcap.OpStatistics)
	b = binary.LittleEndian.AppendUint64(b, s.MessageCount)
	b = binary.LittleEndian.AppendUint16(b, s.SchemaCount)
	for _, v := range []uint32{s.ChannelCount, s.AttachmentCount, s.MetadataCount, s.ChunkCount} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, s.MessageStartTime)
	b = binary.LittleEndian.AppendUint64(b, s.MessageEndTime)
	b = binary.LittleEndian.AppendUint32(b, uint32(10*len(s.ChannelMessageCounts)))
	for _, ch := range slices.Sorted(maps.Keys(s.ChannelMessageCounts)) {
		b = binary.LittleEndian.AppendUint16(b, ch)
		b = binary.LittleEndian.AppendUint64(b, s.ChannelMessageCounts[ch])
	}
	return endRecord(b, at)
}

func appendSummaryOffset(b []byte, op mcap.OpCode, start, length uint64) []byte {
	b, at := beginRecord(b, mcap.OpSummaryOffset)
	b = binary.LittleEndian.AppendUint64(append(b, byte(op)), start)
	return endRecord(binary.LittleEndian.AppendUint64(b, length), at)
}

func appendDataEnd(b []byte, crc uint32) []byte {
	b, at := beginRecord(b, mcap.OpDataEnd)
	return endRecord(binary.LittleEndian.AppendUint32(b, crc), at)
}

// cutRecord takes the first record of b; ok is false if none is whole.
func cutRecord(b []byte) (op mcap.OpCode, content, rest []byte, ok bool) {
	if len(b) < recordHead {
		return 0, nil, nil, false
	}
	n := binary.LittleEndian.Uint64(b[1:])
	if b[0] == 0 || n > uint64(len(b)-recordHead) {
		return 0, nil, nil, false
	}
	return mcap.OpCode(b[0]), b[recordHead : recordHead+n], b[recordHead+n:], true
}

// message is a message record's content.
type message struct {
	channel      uint16
	sequence     uint32
	log, publish uint64
	data         []byte
}

func parseMessage(b []byte) (m message, ok bool) {
	if len(b) < messageHead {
		return m, false
	}
	return message{
		channel:  binary.LittleEndian.Uint16(b),
		sequence: binary.LittleEndian.Uint32(b[2:]),
		log:      binary.LittleEndian.Uint64(b[6:]),
		publish:  binary.LittleEndian.Uint64(b[14:]),
		data:     b[messageHead:],
	}, true
}
