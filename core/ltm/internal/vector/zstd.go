package vector

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// One encoder and one decoder serve all: EncodeAll and DecodeAll may be called
// concurrently and keep no goroutines.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		panic(err) // the options are right
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxPlain))
	if err != nil {
		panic(err)
	}
	return d
})

// maxPlain bounds what one compressed part holds.
const maxPlain = 64 << 20

// decompress returns the n bytes that were compressed, in the room that there is, if they fit.
func decompress(packed []byte, n int, room []byte) ([]byte, error) {
	if n > maxPlain {
		return nil, corrupt("%d bytes in one part; at most %d are allowed", n, maxPlain)
	}
	if n == 0 && len(packed) == 0 {
		return nil, nil
	}
	var header zstd.Header
	if err := header.Decode(packed); err != nil || !header.HasFCS || header.FrameContentSize != uint64(n) {
		return nil, corrupt("a compressed part does not hold the %d bytes that belong there", n)
	}
	if cap(room) < n {
		room = make([]byte, 0, n)
	}
	b, err := decoder().DecodeAll(packed, room[:0])
	if err != nil || len(b) != n {
		return nil, corrupt("a compressed part is damaged: %v", err)
	}
	return b, nil
}

// Compress compresses bytes with zstd; [Decompress] is the inverse.
func Compress(b []byte) []byte { return encoder().EncodeAll(b, nil) }

// Decompress returns what was compressed, at most most bytes, in the room that there is, if they fit.
func Decompress(packed []byte, most int, room []byte) ([]byte, error) {
	var header zstd.Header
	if err := header.Decode(packed); err != nil || !header.HasFCS || header.FrameContentSize > uint64(most) {
		return nil, corrupt("a compressed part is damaged or holds more than %d bytes", most)
	}
	return decompress(packed, int(header.FrameContentSize), room)
}

// scratch is room for what is needed while a vector is read.
type scratch struct {
	ints  []int64
	bytes []byte
}

// maxScratch bounds the elements of what is kept of it.
const maxScratch = 1 << 16

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// twice returns room for two rows of n integers.
func (s *scratch) twice(n int) (a, b []int64) {
	if cap(s.ints) < 2*n {
		s.ints = make([]int64, 2*n)
	}
	return s.ints[:n], s.ints[n : 2*n]
}

// free gives it back.
func (s *scratch) free() {
	if cap(s.ints) <= maxScratch && cap(s.bytes) <= maxScratch {
		scratches.Put(s)
	}
}
