package recording

import (
	"bytes"
	"io"

	"github.com/seed-301d4374/engram"
)

// window reads small pieces of a file in growing order of their place.
type window struct {
	f    io.ReaderAt
	size int64
	buf  []byte
	off  int64 // of buf in the file
}

const windowLen = 64 << 10

// at returns n bytes at off, valid until the next call; ok is false if the file
// ends before or cannot be read there.
func (w *window) at(off int64, n int) (b []byte, ok bool) {
	if off < 0 || n < 0 || off > w.size-int64(n) {
		return nil, false
	}
	if off >= w.off && off+int64(n) <= w.off+int64(len(w.buf)) {
		i := int(off - w.off)
		return w.buf[i : i+n], true
	}
	want := int(min(int64(max(n, windowLen)), w.size-off))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf, w.off = w.buf[:want], off
	if m, _ := w.f.ReadAt(w.buf, off); m < n {
		w.buf = w.buf[:0]
		return nil, false
	}
	return w.buf[:n], true
}

// find returns the first place from off on where pattern stands, or -1.
func (w *window) find(off int64, pattern []byte) int64 {
	for off < w.size {
		n := int(min(windowLen, w.size-off))
		b, ok := w.at(off, n)
		if !ok {
			return -1
		}
		if i := bytes.Index(b, pattern); i >= 0 {
			return off + int64(i)
		}
		if n < windowLen {
			return -1
		}
		off += int64(n - len(pattern) + 1)
	}
	return -1
}

// toTime converts unsigned nanoseconds; ok is false beyond what Time holds.
func toTime(ns uint64) (t engram.Time, ok bool) {
	t = engram.Time(ns)
	return t, t >= 0 && t < engram.MaxTime
}
