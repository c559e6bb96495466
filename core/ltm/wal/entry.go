package wal

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// Entry is a record on its way into the log. It implements wm.JournalEntry.
type Entry struct {
	log     *Log
	meta    []byte   // room for the frame, then the meta data
	data    [][]byte // payloads
	dataLen int
	dataCRC uint32
	inline  [1][]byte // where data lies if it is one
	room    [256]byte // where meta lies if it is no longer

	pos    Position // where the record begins; the log's lock protects it until the flusher has it
	synced bool
	again  bool // it is in an earlier file, and written anew
	state  atomic.Uint32
	err    error // written before state
}

// States of an entry that was appended to be synced.
const (
	waiting = iota
	onDisk
	refused
)

var entries = sync.Pool{New: func() any { return new(Entry) }}

// size returns the bytes that the record takes in a file.
func (e *Entry) size() int64 { return int64(len(e.meta) + e.dataLen) }

// cost is what an entry counts for in what waits: its bytes and what it takes to
// keep them.
func (e *Entry) cost() int64 { return e.size() + 256 }

// recycle hands an entry back that nobody refers to any more.
func (e *Entry) recycle() {
	e.inline[0] = nil
	e.log, e.meta, e.data, e.dataLen, e.dataCRC = nil, nil, nil, 0, 0
	entries.Put(e)
}

// Begin prepares the record of a version. It waits for room, for a second at most, if
// more is waiting to be written than half of what may; so a burst slows its producers
// down before anything is refused. Exhausted if the record is too large.
func (l *Log) Begin(ctx context.Context, entity engram.ID, s *engram.Snapshot) (*Entry, error) {
	if err := l.waitForRoom(ctx); err != nil {
		return nil, err
	}
	e := entries.Get().(*Entry)
	e.log, e.synced, e.again, e.err = l, false, false, nil
	e.state.Store(waiting)
	e.meta = appendSnapshot(append(e.room[:0], emptyFrame[:]...), entity, s)
	e.data = e.inline[:0]
	for i := range s.Instances {
		if b := s.Instances[i].Payload.Bytes; len(b) > 0 {
			e.data = append(e.data, b)
			e.dataLen += len(b)
			e.dataCRC = crc32.Update(e.dataCRC, castagnoli, b)
		}
	}
	if len(e.meta) > maxMeta || e.dataLen > maxData {
		return nil, engram.Errorf(engram.Exhausted, entity.String(), "the snapshot has %d bytes and %d of names and metadata; a record of the log holds at most %d and %d", e.dataLen, len(e.meta), maxData, maxMeta)
	}
	return e, nil
}

var emptyFrame [frameSize]byte

// begin prepares the record of a definition.
func (l *Log) begin(r *Record) *Entry {
	e := &Entry{log: l}
	var data []byte
	e.meta, data = appendDefinition(append([]byte(nil), emptyFrame[:]...), r)
	if len(data) > 0 {
		e.data, e.dataLen, e.dataCRC = [][]byte{data}, len(data), crc32.Checksum(data, castagnoli)
	}
	return e
}

// Append puts the record at the end of the log and does no I/O. If it fails, nothing
// was appended: Unavailable or Exhausted while the log cannot write, Exhausted if too
// much is waiting. A record that need not be synced must not be used afterwards.
func (e *Entry) Append(arrived engram.Time, synced bool) error {
	if Kind(e.meta[frameSize]) == KindSnapshot {
		binary.LittleEndian.PutUint64(e.meta[frameSize+arrivedAt:], uint64(arrived))
	}
	l := e.log
	l.mu.Lock()
	defer l.mu.Unlock()
	size := e.size()
	switch {
	case l.mu.failure != nil:
		return l.mu.failure
	case l.mu.closed:
		return errClosed
	case l.mu.waiting > 0 && l.mu.waiting+e.cost() > l.opts.MaxPending:
		return engram.Errorf(engram.Exhausted, l.opts.Dir, "%d bytes wait to be on disk and %d more may not, the bound is %d: the disk is too slow for what is logged; log less, or raise the bound", l.mu.waiting, e.cost(), l.opts.MaxPending)
	case !l.opts.shared.room(e.cost()):
		return engram.Errorf(engram.Exhausted, l.opts.Dir, "%d bytes wait to be on disk in all logs and %d more may not, the bound is %d: the disk is too slow for what is logged; log less, or raise the bound", l.opts.shared.now.Load(), e.cost(), l.opts.shared.max)
	}
	if at := l.mu.end.offset(); l.mu.rotate || at > recordsAt && at+size > l.opts.SegmentBytes {
		l.mu.rotate = false
		l.mu.end = position(l.mu.end.file()+1, recordsAt)
	}
	e.pos, e.synced = l.mu.end, synced
	l.mu.end += Position(size)
	l.mu.waiting += e.cost()
	l.opts.shared.add(e.cost())
	l.mu.gathered += size
	l.mu.pending = append(l.mu.pending, e)
	whole := synced && l.mu.group.add()
	if len(l.mu.pending) == 1 || synced && !l.mu.urgent || whole || l.mu.gathered >= gatherBytes {
		l.mu.urgent = l.mu.urgent || synced || l.mu.gathered >= gatherBytes
		l.wakeFlusher()
	}
	return nil
}

// Wait returns when a record that was appended to be synced is on disk, or with the
// reason why it is not and will not be.
func (e *Entry) Wait() error {
	for {
		if err, ok := e.completed(); ok {
			return err
		}
		l := e.log
		l.mu.Lock()
		ch := l.mu.completed
		l.mu.Unlock()
		if err, ok := e.completed(); ok {
			return err
		}
		<-ch
	}
}

// Done implements wm.JournalEntry.
func (e *Entry) Done() bool { return e.state.Load() != waiting }

func (e *Entry) completed() (err error, ok bool) {
	switch e.state.Load() {
	case onDisk:
		return nil, true
	case refused:
		return e.err, true
	}
	return nil, false
}

func (e *Entry) complete(err error) {
	if err == nil {
		e.state.Store(onDisk)
		return
	}
	e.err = err
	e.state.Store(refused)
}

// waitForRoom waits while more is pending than half of what may be.
func (l *Log) waitForRoom(ctx context.Context) error {
	if !l.crowded.Load() {
		return nil
	}
	timeout := time.NewTimer(time.Second)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		ch, crowded := l.mu.completed, l.mu.waiting > l.opts.MaxPending/2 && l.mu.failure == nil && !l.mu.closed
		l.mu.Unlock()
		if !crowded {
			return nil
		}
		select {
		case <-ch:
		case <-timeout.C:
			return nil // Append decides
		case <-ctx.Done():
			return engram.Errorf(engram.Canceled, l.opts.Dir, "given up while waiting for the log: %w", context.Cause(ctx))
		}
	}
}
