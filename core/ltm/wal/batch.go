package wal

import (
	"github.com/seed-301d4374/engram/internal/vfs"
)

const (
	batchBytes = 1 << 20  // of small records, gathered for one write
	copyBelow  = 16 << 10 // payloads of a record below this are copied together with it
	maxBuffers = 512      // in one call
)

// batch gathers records and writes them in few calls.
type batch struct {
	file   vfs.File
	marker uint32
	small  []byte   // of records that are copied, and of what precedes the others
	cut    int      // up to where small is in bufs
	bufs   [][]byte // what is to be written
	done   int64    // bytes written since it was begun
}

func (b *batch) begin(file vfs.File, marker uint32) {
	b.file, b.marker, b.done = file, marker, 0
	if b.small == nil {
		b.small = make([]byte, 0, batchBytes)
	}
}

// add adds a record whose position is known.
func (b *batch) add(e *Entry) error {
	putFrame(e.meta, b.marker, e.pos, e.dataLen, e.dataCRC)
	large := e.dataLen >= copyBelow
	need := len(e.meta)
	if !large {
		need += e.dataLen
	}
	if len(b.small)+need > cap(b.small) || len(b.bufs) >= maxBuffers {
		if err := b.flush(); err != nil {
			return err
		}
		if need > cap(b.small) { // the names of thousands of instances
			b.bufs = append(append(b.bufs, e.meta), e.data...)
			return nil
		}
	}
	b.small = append(b.small, e.meta...)
	if large {
		b.split()
		b.bufs = append(b.bufs, e.data...)
		return nil
	}
	for _, d := range e.data {
		b.small = append(b.small, d...)
	}
	return nil
}

// split puts the copied records into bufs.
func (b *batch) split() {
	if len(b.small) > b.cut {
		b.bufs = append(b.bufs, b.small[b.cut:len(b.small):len(b.small)])
		b.cut = len(b.small)
	}
}

// whole returns how many of the records, which are those since it was begun, are written
// as a whole, up to the first that is to be synced: that is refused with the write.
func (b *batch) whole(records []*Entry) int {
	left := b.done
	for i, e := range records {
		if left -= e.size(); left < 0 || e.synced {
			return i
		}
	}
	return len(records)
}

// flush writes what was gathered.
func (b *batch) flush() error {
	b.split()
	var err error
	if len(b.bufs) > 0 {
		var n int64
		n, err = vfs.WriteBuffers(b.file, b.bufs)
		b.done += n
	}
	clear(b.bufs)
	b.small, b.cut, b.bufs = b.small[:0], 0, b.bufs[:0]
	return err
}
