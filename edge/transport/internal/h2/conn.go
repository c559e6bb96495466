package h2

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	maxFrame   = 16 << 10 // bytes of a frame's payload, in and out
	maxWindow  = 1<<31 - 1
	firstWin   = 65535    // of a connection and of a stream, before anything is said
	maxPending = 64 << 10 // bytes of frames that wait for the client to read
	maxWarm    = 8        // goroutines that wait for a call
	tableSize  = 4 << 10  // bytes of a table of headers, as HTTP/2 has it
	maxNames   = 64       // names of headers that a connection remembers
	maxName    = 64       // bytes of such a name
)

// conn is a connection. One goroutine reads its frames; handlers write their answers
// themselves. Lock order: write, mu.
type conn struct {
	o     Options
	nc    net.Conn
	state *tls.ConnectionState // nil without TLS
	h     http.Handler
	base  context.Context
	end   context.CancelFunc // of base
	from  string

	// Of the goroutine that reads.
	frames *http2.Framer
	names  map[string]string // as they are written in http.Header
	began  bool              // the client's settings have come

	work    chan *stream  // for warm goroutines
	flushes chan struct{} // for the goroutine that writes what is no answer
	calls   sync.WaitGroup

	write struct {
		lock
		buf     *bufio.Writer
		header  bytes.Buffer
		encoder *hpack.Encoder
		err     error
	}
	mu struct {
		sync.Mutex
		streams  map[uint32]*stream
		seen     uint32 // the last stream of which there was a frame
		last     uint32 // the last stream that was begun
		handlers int    // which run, those of streams that were reset too
		warm     int
		window   int64     // to send
		starved  []*stream // which wait for it, first come, first served
		initial  int64     // of streams, to send
		received int64     // which may be received still
		returned int64     // of what was received, to be told
		pending  []byte
		tables   []uint32 // sizes of the encoder's table, to be set
		stopping bool
		closed   bool
		heard    time.Time // the last frame
		idle     time.Time // since when there is no stream, if there is none
		writing  time.Time // since when, if it is
		asked    bool      // whether it is still there
		ticker   *time.Timer
	}
}

// lock is a mutex in which one may wait for as long as a client does not read.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

func newConn(o Options, nc net.Conn, state *tls.ConnectionState, h http.Handler, base context.Context) *conn {
	c := &conn{o: o, nc: nc, state: state, h: h, from: nc.RemoteAddr().String(), names: map[string]string{}, work: make(chan *stream), flushes: make(chan struct{}, 1)}
	c.base, c.end = context.WithCancel(base)
	c.frames = http2.NewFramer(nil, bufio.NewReaderSize(nc, maxFrame))
	c.frames.SetReuseFrames()
	c.frames.SetMaxReadFrameSize(maxFrame)
	c.frames.ReadMetaHeaders = hpack.NewDecoder(tableSize, nil)
	c.frames.MaxHeaderListSize = uint32(o.MaxHeaderBytes)
	c.write.lock = make(lock, 1)
	c.write.buf = bufio.NewWriterSize(wire{c}, 2*maxFrame)
	c.write.encoder = hpack.NewEncoder(&c.write.header)
	c.mu.streams = map[uint32]*stream{}
	c.mu.window, c.mu.initial, c.mu.received = firstWin, firstWin, int64(o.ConnWindow)
	c.mu.heard, c.mu.idle = time.Now(), time.Now()
	return c
}

// serve serves the connection. When it returns, all calls have ended.
func (c *conn) serve() {
	defer c.calls.Wait()
	defer c.close()
	_ = c.nc.SetReadDeadline(time.Now().Add(c.o.HeaderTimeout)) // if there is none, reading says why
	if c.state != nil {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c.nc, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
	}
	settings := http2.NewFramer(c.write.buf, nil) // the first that the client hears
	c.write.err = errors.Join(settings.WriteSettings(
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.o.MaxStreams)},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(c.o.MaxHeaderBytes)},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(c.o.StreamWindow)},
	), settings.WriteWindowUpdate(0, uint32(c.o.ConnWindow-firstWin)))
	c.wake() // it may be awake already: the server may stop before the client has said anything
	c.calls.Go(c.flusher)
	c.mu.Lock()
	c.mu.ticker = time.AfterFunc(c.beat(), c.tick)
	c.mu.Unlock()
	for {
		f, err := c.frames.ReadFrame()
		if err == nil {
			err = c.handle(f)
		}
		if se, ok := errors.AsType[http2.StreamError](err); ok && c.began {
			c.reset(se.StreamID, se.Code, errReset)
			err = nil
		}
		if err != nil {
			c.goAway(err)
			return
		}
	}
}

// beat is how often the connection is looked at.
func (c *conn) beat() time.Duration { return min(c.o.PingTimeout, c.o.StallTimeout, c.o.IdleTimeout) }

// tick ends the connection of a client that does not read, that is silent although it was
// asked, or that wants nothing.
func (c *conn) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	silent := time.Since(c.mu.heard)
	switch {
	case c.mu.closed:
		return
	case !c.mu.writing.IsZero() && time.Since(c.mu.writing) > c.o.StallTimeout, silent > 2*c.o.PingTimeout:
		c.nc.Close() // reading ends with it
		return
	case time.Since(c.mu.idle) > c.o.IdleTimeout && len(c.mu.streams) == 0:
		c.stopLocked()
	case silent >= c.o.PingTimeout && !c.mu.asked:
		c.mu.asked = true
		c.tellLocked(func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) })
	}
	c.mu.ticker.Reset(c.beat())
}

// close ends the connection and what goes on over it.
func (c *conn) close() {
	c.nc.Close()
	c.end()
	c.mu.Lock()
	c.mu.closed = true
	if c.mu.ticker != nil {
		c.mu.ticker.Stop()
	}
	for _, s := range c.mu.streams {
		c.endLocked(s, errClosed)
	}
	c.mu.Unlock()
	close(c.work)
}

// goAway tells why the connection ends.
func (c *conn) goAway(err error) {
	code := http2.ErrCodeProtocol
	if ce, ok := errors.AsType[http2.ConnectionError](err); ok {
		code = http2.ErrCode(ce)
	} else if errors.Is(err, http2.ErrFrameTooLarge) {
		code = http2.ErrCodeFrameSize
	} else if _, ok := errors.AsType[http2.StreamError](err); !ok {
		return // it has broken
	}
	c.o.ErrorLog.Printf("http2: %s: %v", c.from, err)
	c.mu.Lock()
	c.tellLocked(func(f *http2.Framer) error { return f.WriteGoAway(c.mu.last, code, nil) })
	c.mu.Unlock()
	c.write.Lock()
	c.flush()
	c.hangUp()
	_, _ = io.CopyN(io.Discard, c.nc, 1<<20) // it ends anyway
}

// hangUp says that nothing more is said. The client has a second to hear it: to close at
// once would take the last word from it, if it has sent something since.
func (c *conn) hangUp() {
	if w, ok := c.nc.(interface{ CloseWrite() error }); !ok || w.CloseWrite() != nil || c.nc.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		c.nc.Close()
	}
}

// stop takes no new streams, and ends the connection with the last one that there is.
func (c *conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopLocked()
}

func (c *conn) stopLocked() {
	c.mu.stopping = true
	c.tellLocked(func(f *http2.Framer) error { return f.WriteGoAway(c.mu.last, http2.ErrCodeNo, nil) })
}

// tellLocked sends frames that are no part of an answer. They wait in memory while others
// write: the goroutine that reads must not wait for a client that does not read either.
func (c *conn) tellLocked(frames func(*http2.Framer) error) {
	b := bytes.NewBuffer(c.mu.pending)
	_ = frames(http2.NewFramer(b, nil)) // a buffer takes everything
	if c.mu.pending = b.Bytes(); len(c.mu.pending) > maxPending {
		c.nc.Close() // the client asks, and does not read
	}
	c.wake()
}

// wake has the flusher write.
func (c *conn) wake() {
	select {
	case c.flushes <- struct{}{}:
	default: // it is known
	}
}

// flusher writes what waits in memory, until the connection ends.
func (c *conn) flusher() {
	for {
		select {
		case <-c.flushes:
		case <-c.base.Done():
			return
		}
		c.write.Lock()
		c.flush()
		c.mu.Lock()
		over := c.mu.stopping && len(c.mu.streams) == 0
		c.mu.Unlock()
		if over {
			c.hangUp()
		}
	}
}

// flush writes what is to be written, and unlocks the writer.
func (c *conn) flush() {
	defer c.write.Unlock()
	c.mu.Lock()
	pending := c.mu.pending
	c.mu.pending = nil
	c.mu.Unlock()
	if c.write.err == nil {
		_, c.write.err = c.write.buf.Write(pending)
	}
	if c.write.err == nil {
		c.write.err = c.write.buf.Flush()
	}
	if c.write.err != nil {
		c.nc.Close()
	}
}

// wire writes to a connection, and says since when it does.
type wire struct{ *conn }

func (w wire) Write(b []byte) (int, error) {
	w.since(time.Now())
	defer w.since(time.Time{})
	return w.nc.Write(b)
}

func (w wire) since(t time.Time) {
	w.mu.Lock()
	w.mu.writing = t
	w.mu.Unlock()
}

// handle handles a frame.
func (c *conn) handle(f http2.Frame) error {
	if !c.began {
		if s, ok := f.(*http2.SettingsFrame); !ok || s.IsAck() {
			return protocol
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.began && !c.mu.stopping { // a connection that ends keeps the bound that hangUp gives it
		_ = c.nc.SetReadDeadline(time.Time{}) // if there is none, reading says why
	}
	c.began = true
	c.mu.heard, c.mu.asked = time.Now(), false
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return c.headers(f)
	case *http2.DataFrame:
		return c.data(f)
	case *http2.WindowUpdateFrame:
		return c.more(f.StreamID, int64(f.Increment))
	case *http2.RSTStreamFrame:
		if f.StreamID > c.mu.seen || f.StreamID%2 == 0 {
			return protocol
		}
		c.endLocked(c.mu.streams[f.StreamID], errReset)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.tellLocked(func(fr *http2.Framer) error { return fr.WritePing(true, f.Data) })
		}
	case *http2.PriorityFrame:
		if f.StreamDep == f.StreamID {
			return reset(f.StreamID, http2.ErrCodeProtocol)
		}
	case *http2.PushPromiseFrame:
		return protocol
	}
	return nil
}

// settings takes over the client's settings.
func (c *conn) settings(f *http2.SettingsFrame) error {
	switch {
	case f.IsAck():
		return nil
	case f.NumSettings() > 100:
		return protocol
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingHeaderTableSize:
			c.mu.tables = append(c.mu.tables, s.Val)
			if n := len(c.mu.tables); n > 2 { // the smallest and the last matter
				c.mu.tables = []uint32{min(c.mu.tables[0], c.mu.tables[1]), s.Val}
			}
		case http2.SettingInitialWindowSize:
			by := int64(s.Val) - c.mu.initial
			c.mu.initial = int64(s.Val)
			for _, st := range c.mu.streams {
				if st.window += by; st.window > maxWindow {
					return http2.ConnectionError(http2.ErrCodeFlowControl)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range c.mu.streams {
		s.room.Signal()
	}
	c.tellLocked((*http2.Framer).WriteSettingsAck)
	return nil
}

// more gives a stream, or all, more room to send.
func (c *conn) more(id uint32, by int64) error {
	if id == 0 {
		if c.mu.window += by; c.mu.window > maxWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.feedLocked()
	} else if s := c.mu.streams[id]; s != nil {
		if s.window += by; s.window > maxWindow {
			return reset(id, http2.ErrCodeFlowControl)
		}
		s.room.Signal()
	} else if id > c.mu.seen || id%2 == 0 {
		return protocol
	}
	return nil
}

// feedLocked wakes the next stream that waits for room on the connection. It wakes the one
// after it.
func (c *conn) feedLocked() {
	for len(c.mu.starved) > 0 && c.mu.window > 0 {
		s := c.mu.starved[0]
		c.mu.starved = c.mu.starved[1:]
		s.starved = false
		if s.waits {
			s.room.Signal()
			return
		}
	}
}

// data takes a part of a request's content.
func (c *conn) data(f *http2.DataFrame) error {
	size := int64(f.Length)
	if f.StreamID > c.mu.seen || f.StreamID%2 == 0 {
		return protocol
	}
	if c.mu.received -= size; c.mu.received < 0 {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	s := c.mu.streams[f.StreamID]
	if s == nil || s.in.ended {
		c.returnLocked(nil, size)
		return reset(f.StreamID, http2.ErrCodeStreamClosed)
	}
	content := f.Data()
	s.in.got += int64(len(content))
	if s.in.window -= size; s.in.window < 0 {
		c.returnLocked(nil, size)
		return reset(f.StreamID, http2.ErrCodeFlowControl)
	}
	ended := f.StreamEnded()
	if n := s.in.announced; n >= 0 && (s.in.got > n || ended && s.in.got != n) {
		c.returnLocked(nil, size)
		return reset(f.StreamID, http2.ErrCodeProtocol)
	}
	c.returnLocked(s, size-int64(len(content))) // the padding
	s.in.put(content)
	if ended {
		s.in.ended = true
		c.doneLocked(s)
	}
	s.in.more.Signal()
	return nil
}

// returnLocked says that bytes that were received have been read, or will not be. It is
// told to the client a part of the window at a time.
func (c *conn) returnLocked(s *stream, n int64) {
	if c.mu.returned += n; c.mu.returned >= int64(c.o.ConnWindow)/4 {
		c.tellLocked(func(f *http2.Framer) error { return f.WriteWindowUpdate(0, uint32(c.mu.returned)) })
		c.mu.received += c.mu.returned
		c.mu.returned = 0
	}
	if s == nil || s.in.ended {
		return
	}
	if s.in.returned += n; s.in.returned >= int64(c.o.StreamWindow)/4 {
		c.tellLocked(func(f *http2.Framer) error { return f.WriteWindowUpdate(s.id, uint32(s.in.returned)) })
		s.in.window += s.in.returned
		s.in.returned = 0
	}
}

// reset ends a stream, which may have ended already, and tells the client.
func (c *conn) reset(id uint32, code http2.ErrCode, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(c.mu.streams[id], why)
	c.mu.seen = max(c.mu.seen, id)
	c.tellLocked(func(f *http2.Framer) error { return f.WriteRSTStream(id, code) })
}

// endLocked ends a stream, if there is one, and what its handler waits for.
func (c *conn) endLocked(s *stream, err error) {
	if s == nil || s.err != nil {
		return
	}
	s.err = err
	s.cancel()
	if s.starved { // the list must not keep it for as long as the client gives no room
		c.mu.starved = slices.DeleteFunc(c.mu.starved, func(o *stream) bool { return o == s })
		s.starved = false
	}
	c.forgetLocked(s)
	s.in.more.Broadcast()
	s.room.Broadcast()
}

// doneLocked forgets a stream of which both sides have said everything.
func (c *conn) doneLocked(s *stream) {
	if s.in.ended && s.sent {
		c.forgetLocked(s)
	}
}

func (c *conn) forgetLocked(s *stream) {
	delete(c.mu.streams, s.id)
	if c.mu.idle = c.mu.heard; c.mu.stopping && len(c.mu.streams) == 0 {
		c.stopLocked() // it is told again, and is over now
	}
}

// start has a goroutine serve a stream: a warm one, whose stack has grown, if there is one.
func (c *conn) start(s *stream) {
	c.calls.Add(1)
	select {
	case c.work <- s:
	default:
		go func() {
			for ok := true; ok; {
				c.run(s)
				c.mu.Lock()
				stay := c.mu.warm < maxWarm && !c.mu.closed
				if stay {
					c.mu.warm++
				}
				c.mu.Unlock()
				c.calls.Done()
				if !stay {
					return
				}
				s, ok = <-c.work
				c.mu.Lock()
				c.mu.warm--
				c.mu.Unlock()
			}
		}()
	}
}

// run has the handler answer a stream.
func (c *conn) run(s *stream) {
	w := &response{c: c, s: s, header: http.Header{}}
	defer func() {
		if cause := recover(); cause != nil {
			if cause != http.ErrAbortHandler {
				c.o.ErrorLog.Printf("http2: panic serving %s: %v\n%s", c.from, cause, debug.Stack())
			}
			c.reset(s.id, http2.ErrCodeInternal, errClosed)
		}
		c.mu.Lock()
		c.endLocked(s, errClosed)
		c.mu.handlers--
		c.returnLocked(nil, s.in.dropLocked())
		c.mu.Unlock()
	}()
	s.h.ServeHTTP(w, s.r)
	w.finish()
}
