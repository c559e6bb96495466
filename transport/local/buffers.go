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

// poison overwrites a buffer that nobody may look at any more.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
