package codec

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
)

// Depth images are coded exactly, each by itself, in whichever of these ways gave
// the fewest bytes when all were last tried. The first byte says which; the rest is
// compressed with zstd.
const (
	// depthRVL is Wilson's run-length and variable-length code ("Fast Lossless Depth
	// Image Compression", 2017): runs of zeros are counted, others are differences.
	depthRVL byte = 1 + iota
	// depthPlanes predicts each value from its neighbours and holds the low bytes of
	// the errors before the high ones.
	depthPlanes
	// depthPalette holds up to 256 values and an index into them for each pixel.
	depthPalette
	// depthMillimetres is 16-bit depth in one of the ways above, of metres in floating
	// point that were made from it.
	depthMillimetres
	// depthWords is depthPlanes with four planes, of any 32 bits.
	depthWords
)

// depthAgain is after how many images all ways are tried again.
const depthAgain = 64

// depthCoder codes the depth images of one stream.
type depthCoder struct {
	way    byte // that was best
	images int
	values []uint16
	errors []byte // scratch
}

var zstdCoder = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true), // so that even small ones say their size
		zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("codec: zstd: " + err.Error()) // the options are constant
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<29), zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic("codec: zstd: " + err.Error())
	}
	return e, d
})

func appendZstd(b, raw []byte) []byte {
	e, _ := zstdCoder()
	return e.EncodeAll(raw, b)
}

// readZstd decompresses what has at most limit bytes.
func readZstd(b []byte, limit int) ([]byte, bool) {
	var h zstd.Header
	if err := h.Decode(b); err != nil || !h.HasFCS || h.FrameContentSize > uint64(limit) {
		return nil, false
	}
	_, d := zstdCoder()
	raw, err := d.DecodeAll(b, make([]byte, 0, h.FrameContentSize))
	return raw, err == nil && len(raw) == int(h.FrameContentSize)
}

// encode returns the coded pixels of a picture of depth.
func (d *depthCoder) encode(p *picture) []byte {
	if d.images++; d.images%depthAgain == 1 {
		d.way = 0
	}
	n := p.width * p.height
	if p.depth == 2 {
		d.values = resize(d.values, n)
		for y := range p.height {
			row := p.pixels[y*p.step:]
			for x := range p.width {
				d.values[y*p.width+x] = binary.LittleEndian.Uint16(row[2*x:])
			}
		}
		return d.best(nil, d.values, p.width)
	}
	words := make([]uint32, n)
	for y := range p.height {
		row := p.pixels[y*p.step:]
		for x := range p.width {
			words[y*p.width+x] = binary.LittleEndian.Uint32(row[4*x:])
		}
	}
	if b, ok := d.millimetres(words, p.width); ok {
		return b
	}
	d.errors = resize(d.errors, 4*n)
	planes(d.errors, words, p.width)
	return appendZstd([]byte{depthWords}, d.errors)
}

// best appends 16-bit values in the way that is best for this stream.
func (d *depthCoder) best(head []byte, values []uint16, width int) []byte {
	if d.way != 0 {
		if b := d.in(d.way, head, values, width); b != nil {
			return b
		}
	}
	var best []byte
	for _, way := range []byte{depthPlanes, depthRVL, depthPalette} {
		if b := d.in(way, head, values, width); b != nil && (best == nil || len(b) < len(best)) {
			best, d.way = b, way
		}
	}
	return best
}

// in appends values in one way; nil if they cannot be.
func (d *depthCoder) in(way byte, head []byte, values []uint16, width int) []byte {
	var raw []byte
	switch way {
	case depthRVL:
		raw = appendRVL(d.errors[:0], values)
		d.errors = raw
	case depthPalette:
		if raw = appendPalette(d.errors[:0], values); raw == nil {
			return nil
		}
		d.errors = raw
	default:
		d.errors = resize(d.errors, 2*len(values))
		planes(d.errors, values, width)
		raw = d.errors
	}
	return appendZstd(append(head[:len(head):len(head)], way), raw)
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// decodeDepth is the inverse of encode; it writes pixels into data, of which what
// lies between rows is zero.
func decodeDepth(b []byte, g *geometry, data []byte) error {
	n := g.width * g.height
	corrupt := engram.Errorf(engram.Corrupt, formatDepth, "%d bytes of a %d x %d depth image are damaged", len(b), g.width, g.height)
	if len(b) < 1 {
		return corrupt
	}
	if g.depth == 2 {
		values, ok := decode16(b, n, g.width)
		if !ok {
			return corrupt
		}
		for y := range g.height {
			row := data[y*g.step:]
			for x, v := range values[y*g.width : (y+1)*g.width] {
				binary.LittleEndian.PutUint16(row[2*x:], v)
			}
		}
		return nil
	}
	var words []uint32
	ok := false
	switch b[0] {
	case depthMillimetres:
		words, ok = decodeMillimetres(b[1:], n, g.width)
	case depthWords:
		var raw []byte
		if raw, ok = readZstd(b[1:], 4*n); ok && len(raw) == 4*n {
			words = make([]uint32, n)
			fromPlanes(words, raw, g.width)
		} else {
			ok = false
		}
	}
	if !ok {
		return corrupt
	}
	for y := range g.height {
		row := data[y*g.step:]
		for x, v := range words[y*g.width : (y+1)*g.width] {
			binary.LittleEndian.PutUint32(row[4*x:], v)
		}
	}
	return nil
}

func decode16(b []byte, n, width int) ([]uint16, bool) {
	if len(b) < 1 {
		return nil, false
	}
	// The longest is RVL: 6 nibbles a value, and the lengths of runs.
	raw, ok := readZstd(b[1:], 4*n+64)
	if !ok {
		return nil, false
	}
	values := make([]uint16, n)
	switch b[0] {
	case depthRVL:
		ok = readRVL(values, raw)
	case depthPalette:
		ok = readPalette(values, raw)
	case depthPlanes:
		if ok = len(raw) == 2*n; ok {
			fromPlanes(values, raw, width)
		}
	default:
		ok = false
	}
	return values, ok
}

// millimetres codes metres that are all thousandths, as float32 has them, with one
// other pattern such as NaN where nothing was measured.
func (d *depthCoder) millimetres(words []uint32, width int) ([]byte, bool) {
	d.values = resize(d.values, len(words))
	var other uint32
	hasOther, scales := false, [2]bool{true, true}
	for i, w := range words {
		v := float64(math.Float32frombits(w)) * 1000
		k := math.Round(v)
		if k >= 0 && k < math.MaxUint16 && !math.Signbit(v) {
			a, b := metres(uint16(k), false) == w, metres(uint16(k), true) == w
			if a || b {
				scales[0], scales[1] = scales[0] && a, scales[1] && b
				if !scales[0] && !scales[1] {
					return nil, false
				}
				d.values[i] = uint16(k)
				continue
			}
		}
		if hasOther && w != other {
			return nil, false
		}
		other, hasOther = w, true
		d.values[i] = math.MaxUint16
	}
	head := binary.LittleEndian.AppendUint32([]byte{depthMillimetres, 0}, other)
	if !scales[0] {
		head[1] = 1
	}
	return d.best(head, d.values, width), true
}

// metres returns the bits of k millimetres, as the quotient or as the product that
// drivers compute.
func metres(k uint16, product bool) uint32 {
	if product {
		return math.Float32bits(float32(k) * float32(0.001))
	}
	return math.Float32bits(float32(k) / 1000)
}

func decodeMillimetres(b []byte, n, width int) ([]uint32, bool) {
	if len(b) < 6 || b[0] > 1 {
		return nil, false
	}
	product, other := b[0] == 1, binary.LittleEndian.Uint32(b[1:])
	values, ok := decode16(b[5:], n, width)
	if !ok {
		return nil, false
	}
	words := make([]uint32, n)
	for i, v := range values {
		words[i] = other
		if v != math.MaxUint16 {
			words[i] = metres(v, product)
		}
	}
	return words, true
}
