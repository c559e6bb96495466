package rpc

import (
	"math/bits"
	"sync"
)

// buffers has the buffers that messages are read into and written from. They are used
// again, because fresh memory costs more than the copy into it.
var buffers bufferPool

// small is how large the smallest buffers are.
const small = 16 << 10

// bufferPool has buffers of sizes that are doubled from small on, up to 8 MiB; larger ones
// are not kept. Safe for concurrent use.
type bufferPool struct{ classes [10]sync.Pool }

// class returns the class of buffers of at least so many bytes, and how many they have.
func (p *bufferPool) class(bytes int) (class, size int) {
	class = max(0, bits.Len(uint(max(bytes, 1)-1))-bits.Len(uint(small-1)))
	if class >= len(p.classes) {
		return class, bytes
	}
	return class, small << class
}

// get returns a buffer of at least so many bytes, with anything in it.
func (p *bufferPool) get(bytes int) *[]byte {
	class, size := p.class(bytes)
	if class < len(p.classes) {
		if b, ok := p.classes[class].Get().(*[]byte); ok {
			return b
		}
	}
	b := make([]byte, size)
	return &b
}

// put gives a buffer back, which is not used any more. It may be nil.
func (p *bufferPool) put(b *[]byte) {
	if b == nil {
		return
	}
	if class, size := p.class(len(*b)); class < len(p.classes) && size == len(*b) {
		p.classes[class].Put(b)
	}
}
