package digests

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// ParseBlock visits the digests of a block.
var ParseBlock = parseBlock

// Parts returns the directory of a file, and its blocks, stored and plain.
func Parts(file []byte) (text []byte, blocks [][]byte) {
	trailer := file[len(file)-trailerLen:]
	rest := file[:len(file)-trailerLen]
	text = rest[len(rest)-int(binary.LittleEndian.Uint32(trailer)):]
	d, err := parseDirectory(text, binary.LittleEndian.Uint32(trailer[4:]), int64(len(file)))
	if err != nil {
		panic(err)
	}
	for _, b := range d.Blocks {
		stored := file[b.Offset:][:b.Stored]
		plain, err := decoder().DecodeAll(stored, nil)
		if err != nil {
			panic(err)
		}
		blocks = append(blocks, stored, plain)
	}
	return text, blocks
}

// WithTrailer makes a file that ends with a directory.
func WithTrailer(text []byte) []byte {
	b := append([]byte(nil), text...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, castagnoli))
	return append(b, magic...)
}

// OfBlock makes a file that has one block, as it is stored.
func OfBlock(stored []byte) []byte {
	size := 1 << 10
	var head zstd.Header
	if head.Decode(stored) == nil && head.HasFCS && head.FrameContentSize < maxBlock {
		size = int(head.FrameContentSize)
	}
	d := &directory{Head: Head{Formats: []string{"x"}}, Blocks: []block{{Stored: len(stored), Bytes: size, CRC: crc32.Checksum(stored, castagnoli)}}}
	b, err := appendDirectory(append([]byte(nil), stored...), d)
	if err != nil {
		panic(err)
	}
	return b
}
