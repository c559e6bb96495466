package episode

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
)

// maxChunk bounds the uncompressed bytes of a chunk that is read: the largest
// payload a memory takes by default, in a run of its own, and room to spare.
const maxChunk = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcIEEE(b []byte) uint32 { return crc32.ChecksumIEEE(b) }
func crc32c(b []byte) uint32  { return crc32.Checksum(b, castagnoli) }

// The one encoder and decoder of the package; both serve any number of goroutines.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxChunk), zstd.WithDecoderConcurrency(0))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// appendChunk appends a chunk record with these records, compressed if that saves
// anything worth decompressing for. start and end are the log times of the first
// and the last message.
func appendChunk(b, records []byte, start, end uint64) (_ []byte, index *mcap.ChunkIndex) {
	b, at := beginRecord(b, mcap.OpChunk)
	b = binary.LittleEndian.AppendUint64(b, start)
	b = binary.LittleEndian.AppendUint64(b, end)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(records)))
	b = binary.LittleEndian.AppendUint32(b, crcIEEE(records))
	head := len(b)
	b = appendString(b, string(mcap.CompressionZSTD))
	size := len(b)
	b = append(b, make([]byte, 8)...)
	from := len(b)
	b = zstdEncoder().EncodeAll(records, b)
	compression := mcap.CompressionZSTD
	if n := len(b) - from; n > len(records)-len(records)/16 {
		compression = mcap.CompressionNone
		b = appendString(b[:head], "")
		size = len(b)
		b = append(b, make([]byte, 8)...)
		from = len(b)
		b = append(b, records...)
	}
	binary.LittleEndian.PutUint64(b[size:], uint64(len(b)-from))
	return endRecord(b, at), &mcap.ChunkIndex{
		MessageStartTime: start, MessageEndTime: end,
		ChunkLength: uint64(len(b) - at), Compression: compression,
		CompressedSize: uint64(len(b) - from), UncompressedSize: uint64(len(records)),
		MessageIndexOffsets: map[uint16]uint64{},
	}
}

// chunkHeader is what stands before a chunk's compressed records.
type chunkHeader struct {
	start, end  uint64
	size        uint64 // uncompressed
	crc         uint32
	compression mcap.CompressionFormat
	stored      uint64 // bytes of the compressed records
	length      int    // of the header itself
}

// parseChunkHeader reads the beginning of a chunk record's content.
func parseChunkHeader(b []byte) (h chunkHeader, ok bool) {
	if len(b) < chunkHead {
		return h, false
	}
	h = chunkHeader{
		start: binary.LittleEndian.Uint64(b),
		end:   binary.LittleEndian.Uint64(b[8:]),
		size:  binary.LittleEndian.Uint64(b[16:]),
		crc:   binary.LittleEndian.Uint32(b[24:]),
	}
	name, rest, ok := cutString(b[28:])
	if !ok || len(name) > 16 || len(rest) < 8 {
		return h, false
	}
	h.compression = mcap.CompressionFormat(name)
	h.stored = binary.LittleEndian.Uint64(rest)
	h.length = chunkHead + len(name) + 8
	return h, true
}

// openChunk returns the records of a chunk, given its record's content. They share
// the content's memory if they are not compressed.
func openChunk(content []byte) ([]byte, chunkHeader, error) {
	corrupt := func(format string, args ...any) ([]byte, chunkHeader, error) {
		return nil, chunkHeader{}, engram.Errorf(engram.Corrupt, "", format, args...)
	}
	h, ok := parseChunkHeader(content)
	if !ok {
		return corrupt("the chunk's head is damaged")
	}
	stored := content[h.length:]
	if h.stored != uint64(len(stored)) {
		return corrupt("the chunk says that it has %d bytes of records; there are %d", h.stored, len(stored))
	}
	if h.size > maxChunk {
		return corrupt("the chunk says that its records are %d bytes long; at most %d are allowed", h.size, maxChunk)
	}
	records := stored
	switch h.compression {
	case mcap.CompressionNone:
	case mcap.CompressionZSTD:
		// The size that the chunk states is believed only as far as the frame agrees.
		var head zstd.Header
		if err := head.Decode(stored); err != nil || head.HasFCS && head.FrameContentSize != h.size {
			return corrupt("the chunk's zstd frame is damaged")
		}
		var into []byte
		if head.HasFCS {
			into = make([]byte, 0, min(h.size, uint64(len(stored))*256))
		}
		var err error
		if records, err = zstdDecoder().DecodeAll(stored, into); err != nil {
			return corrupt("the chunk's records cannot be decompressed: %w", err)
		}
	default:
		return corrupt("the chunk is compressed as %q; episodes have zstd and none", h.compression)
	}
	if h.size != uint64(len(records)) {
		return corrupt("the chunk's records are %d bytes long; it says %d", len(records), h.size)
	}
	if h.crc != 0 && h.crc != crcIEEE(records) {
		return corrupt("the chunk's CRC does not fit its records")
	}
	return records, h, nil
}
