package local

import (
	"strings"
	"unsafe"
)

// makePayload returns n bytes for a payload, for the caller to fill: they may hold
// anything. Clearing them first, as make does, would cost a fifth of what a server
// spends on a commit of images. A strings.Builder has the only memory in Go that
// comes uncleared, and this one is not used as a string.
func makePayload(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

// lender makes the memory of a transient subscription's snapshots, and uses it
// again for those of the next frame.
type lender struct {
	free      [][]byte
	lent      [][]byte
	bytes     int // of free
	snapshots []*stored
	used      int // of snapshots
}

// maxFree bounds what a lender keeps.
const maxFree = 4 << 20

// takeBack says that nobody uses what was lent any more.
func (l *lender) takeBack() {
	for i, b := range l.lent {
		if invariants {
			poison(b)
		}
		if l.bytes+cap(b) <= maxFree {
			l.bytes += cap(b)
			l.free = append(l.free, b)
		}
		l.lent[i] = nil
	}
	l.lent = l.lent[:0]
	for _, s := range l.snapshots[:l.used] {
		*s = stored{}
	}
	l.used = 0
}

// payload is makePayload with memory that was lent before, if some fits.
func (l *lender) payload(n int) []byte {
	var b []byte
	for i := len(l.free) - 1; i >= max(0, len(l.free)-8); i-- {
		if c := cap(l.free[i]); c >= n && c <= 2*n+shareChunk {
			b = l.free[i][:n]
			l.free[i] = l.free[len(l.free)-1]
			l.free[len(l.free)-1] = nil
			l.free = l.free[:len(l.free)-1]
			l.bytes -= c
			break
		}
	}
	if b == nil {
		if len(l.free) > 1024 { // none of them fits any more
			l.free, l.bytes = nil, 0
		}
		b = makePayload(n)
	}
	l.lent = append(l.lent, b)
	return b
}

func (l *lender) snapshot() *stored {
	if l.used == len(l.snapshots) {
		l.snapshots = append(l.snapshots, new(stored))
	}
	l.used++
	return l.snapshots[l.used-1]
}

// poison overwrites a buffer that nobody may look at any more.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
