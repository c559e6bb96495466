package local

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

const (
	// gather is how many bytes wait for a flush, at most.
	gather = 32 << 10
	// maxWaiting is how many bytes may wait while others are being written; who
	// wants to add more waits.
	maxWaiting = 1 << 20
	// keepBuffer is the largest buffer kept for the next time.
	keepBuffer = 256 << 10
	// wideSocket is how much a socket is to take at once on which much is written:
	// each time it is full costs two switches between processes.
	wideSocket = 4 << 20
	// maxVectors is how many pieces one write takes (IOV_MAX).
	maxVectors = 1024
)

// writer puts frames on a connection. Safe for concurrent use.
type writer struct {
	conn  *net.UnixConn
	stall time.Duration // how long the peer may read nothing
	peer  limits

	drains sync.WaitGroup // goroutines that write what a socket did not take

	// Owned by whoever set mu.writing.
	out struct {
		batch *batch
		all   [][]byte // backing of rest
		rest  [][]byte // not yet written
		wide  bool     // the socket has been told to take wideSocket
		socketState
	}

	mu struct {
		sync.Mutex
		encoder
		waiting *batch // gathers frames
		spare   *batch
		writing bool
		taken   chan struct{} // closed when waiting was taken; nil if nobody cares
		err     error         // why nothing can be written any more
	}
}

func newWriter(conn *net.UnixConn, peer limits, stall time.Duration) (*writer, error) {
	w := &writer{conn: conn, stall: stall, peer: peer}
	if err := w.openSocket(); err != nil {
		return nil, err
	}
	w.mu.waiting, w.mu.spare = &batch{}, &batch{}
	w.mu.ids.limit, w.mu.types.limit = min(peer.ids, maxIDs), min(peer.types, maxTypes)
	return w, nil
}

// begin locks the writer and returns the encoder for one frame, to be completed
// with send or gather. It waits while too much is waiting. The error is that of
// the connection or Canceled; then nothing is locked.
func (w *writer) begin(ctx context.Context) (*encoder, error) {
	w.mu.Lock()
	for w.mu.err == nil && w.mu.writing && w.mu.waiting.size >= maxWaiting {
		if w.mu.taken == nil {
			w.mu.taken = make(chan struct{})
		}
		taken := w.mu.taken
		w.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, engram.Errorf(engram.Canceled, "", "the call was given up while the peer read nothing: %w", context.Cause(ctx))
		}
		w.mu.Lock()
	}
	if err := w.mu.err; err != nil {
		w.mu.Unlock()
		return nil, err
	}
	w.mu.begin(w.mu.waiting)
	return &w.mu.encoder, nil
}

// send completes the frame, unlocks, and sees to it that everything is written.
func (w *writer) send(k kind, flags uint8, call uint32) {
	w.mu.end(k, flags, call)
	w.flushLocked()
}

// gather completes the frame and unlocks; the frame goes out with the next that is
// sent, with flush, or when much has come together.
func (w *writer) gather(k kind, flags uint8, call uint32) {
	w.mu.end(k, flags, call)
	if w.mu.waiting.size >= gather {
		w.flushLocked()
		return
	}
	w.mu.Unlock()
}

// quiet reports whether nothing is being written: what is sent then does not wait.
func (w *writer) quiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.mu.writing
}

func (w *writer) flush() {
	w.mu.Lock()
	w.flushLocked()
}

// flushLocked unlocks.
func (w *writer) flushLocked() {
	if w.mu.writing || w.mu.err != nil || w.mu.waiting.size == 0 {
		w.mu.Unlock()
		return
	}
	w.mu.writing = true
	// Bounded, so that nobody writes for others for ever.
	for round := 0; round < 4 && w.take(); round++ {
		if !w.push(false) {
			break
		}
	}
	// take ended it, or there is more to write than the socket takes now.
	if w.mu.writing {
		w.drains.Add(1)
		go w.drain()
	}
	w.mu.Unlock()
}

// take, called with the lock held by the one that writes, makes what is waiting
// the output; false if nothing is, or nothing can be written: then writing is over.
func (w *writer) take() bool {
	if w.mu.waiting.size == 0 || w.mu.err != nil {
		w.mu.writing = false
		return false
	}
	w.out.batch, w.mu.waiting, w.mu.spare = w.mu.waiting, w.mu.spare, nil
	w.out.all = w.out.batch.vectors(w.out.all[:0])
	w.out.rest = w.out.all
	if w.out.batch.size > wideSocket/32 && !w.out.wide {
		w.out.wide = true
		w.conn.SetWriteBuffer(wideSocket) // a matter of speed only
	}
	if w.mu.taken != nil {
		close(w.mu.taken)
		w.mu.taken = nil
	}
	return true
}

// push writes the output, without the lock; all of it if wait is set, else what
// the socket takes. It returns with the lock held, and true if all was written.
func (w *writer) push(wait bool) bool {
	w.mu.Unlock()
	err := w.write(wait)
	w.mu.Lock()
	if err != nil {
		w.failLocked(err)
		return false
	}
	if len(w.out.rest) > 0 {
		return false
	}
	w.recycle()
	return true
}

func (w *writer) recycle() {
	clear(w.out.all)
	w.out.batch.reset()
	w.mu.spare, w.out.batch = w.out.batch, nil
}

// drain writes, waiting for the peer, until there is nothing left.
func (w *writer) drain() {
	defer w.drains.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out.batch != nil && w.mu.err == nil {
		w.push(true)
	}
	for w.take() {
		w.push(true)
	}
}

// fail makes every further use of the writer return err, or what failed first.
func (w *writer) fail(err error) {
	w.mu.Lock()
	w.failLocked(err)
	w.mu.Unlock()
}

// failure returns why nothing can be written any more, or nil.
func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.err
}

func (w *writer) failLocked(err error) {
	if w.mu.err == nil {
		var e *engram.Error
		if !errors.As(err, &e) {
			e = engram.Errorf(engram.Unavailable, "", "the connection is broken: %w", err)
		}
		w.mu.err = e
		w.conn.Close() // ends the reader and whoever waits in write
	}
	if w.mu.taken != nil {
		close(w.mu.taken)
		w.mu.taken = nil
	}
}

// last writes an error about the whole connection, as far as the peer takes it at
// once, and makes the writer return it from now on.
func (w *writer) last(err error) {
	w.mu.Lock()
	if w.mu.err == nil && !w.mu.writing {
		w.mu.begin(w.mu.waiting)
		w.mu.encoder.err(err)
		w.mu.end(kindError, 0, 0)
		w.mu.writing = true
		if w.take() {
			w.push(false)
		}
	}
	w.failLocked(err)
	w.mu.Unlock()
}
