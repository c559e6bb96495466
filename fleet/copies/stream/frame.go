package stream

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/seed-301d4374/engram"
)

// frameReader reads what a frame is made of. After an error it yields zeros.
type frameReader struct {
	rest []byte
	room uint64 // bytes of memory that what it lists may take yet
	err  error
}

func (f *frameReader) fail(format string, args ...any) {
	if f.err == nil {
		f.err = corrupt(format, args...)
	}
	f.rest = nil
}

// claim takes n things of a type off the memory that is left, before there is any of
// them: in a frame they may take few bytes, or none.
func (f *frameReader) claim(n uint64, t reflect.Type) {
	size := uint64(t.Size())
	if n > f.room/size {
		f.fail("%d of %s are more than it may list", n, t)
		return
	}
	f.room -= n * size
}

func (f *frameReader) take(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.fail("it ends in the middle of something")
		return nil
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *frameReader) byte() byte {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *frameReader) uint32() uint32 {
	if b := f.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (f *frameReader) time() engram.Time {
	if b := f.take(8); b != nil {
		return engram.Time(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (f *frameReader) uint() uint64 {
	v, n := binary.Uvarint(f.rest)
	if n <= 0 {
		f.fail("a number cannot be read")
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

func (f *frameReader) int() int64 { return unzigzag(f.uint()) }

// size reads what cannot be negative.
func (f *frameReader) size() int64 {
	v := f.uint()
	if v > math.MaxInt64 {
		f.fail("a size of %d", v)
		return 0
	}
	return int64(v)
}

// interval reads a start and a length; the whole of time is longer than an int64.
func (f *frameReader) interval() engram.Interval {
	start := f.time()
	return engram.Interval{Start: start, End: start + engram.Time(f.uint())}
}

func (f *frameReader) bytes() []byte { return f.take(f.uint()) }

func (f *frameReader) text() string { return string(f.bytes()) }

// index reads an index below n.
func (f *frameReader) index(what string, n int) int {
	v := f.uint()
	if v >= uint64(n) {
		f.fail("%s %d of %d", what, v, n)
		return 0
	}
	return int(v)
}

// ref reads a reference to one of n things, or that a new one follows.
func (f *frameReader) ref(what string, n int) (i int, known bool) {
	v := f.uint()
	if v == 0 || f.err != nil {
		return 0, false
	}
	if v > uint64(n) {
		f.fail("%s %d of %d", what, v, n)
		return 0, false
	}
	return int(v - 1), true
}
