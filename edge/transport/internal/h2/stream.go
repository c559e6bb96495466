package h2

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"

	"golang.org/x/net/http2"
)

// stream is a call. Its fields that change are guarded by the connection's mu.
type stream struct {
	id      uint32
	c       *conn
	r       *http.Request
	h       http.Handler
	cancel  context.CancelFunc
	room    sync.Cond // to send, or the stream has ended
	window  int64     // to send
	waits   bool      // for room
	starved bool      // it is in the connection's list
	sent    bool      // the answer, all of it
	err     error     // why it has ended
	in      content
}

// content is a request's, as far as it was not read yet.
type content struct {
	more      sync.Cond
	chunks    [][]byte
	begin     int   // of what is left of the first chunk
	window    int64 // which may be received still
	returned  int64 // of what was read, to be told
	announced int64 // -1: not known
	got       int64
	ended     bool
	cut       bool // it may not be read any more
}

// Chunks are of two sizes, so that a few bytes do not take the room of many.
const smallChunk, largeChunk = 1 << 10, 16 << 10

var (
	smallChunks = sync.Pool{New: func() any { return new([smallChunk]byte) }}
	largeChunks = sync.Pool{New: func() any { return new([largeChunk]byte) }}
)

// chunk returns a chunk for so many bytes or fewer.
func chunk(bytes int) []byte {
	if bytes <= smallChunk {
		return smallChunks.Get().(*[smallChunk]byte)[:0]
	}
	return largeChunks.Get().(*[largeChunk]byte)[:0]
}

func drop(chunk []byte) {
	if cap(chunk) == smallChunk {
		smallChunks.Put((*[smallChunk]byte)(chunk[:smallChunk]))
	} else {
		largeChunks.Put((*[largeChunk]byte)(chunk[:largeChunk]))
	}
}

// put adds bytes.
func (in *content) put(b []byte) {
	for len(b) > 0 {
		n := len(in.chunks)
		if n == 0 || len(in.chunks[n-1]) == cap(in.chunks[n-1]) {
			in.chunks = append(in.chunks, chunk(len(b)))
			n++
		}
		last := in.chunks[n-1]
		took := min(len(b), cap(last)-len(last))
		in.chunks[n-1] = append(last, b[:took]...)
		b = b[took:]
	}
}

// take moves bytes into b.
func (in *content) take(b []byte) (n int) {
	for len(b) > n && len(in.chunks) > 0 {
		first := in.chunks[0]
		took := copy(b[n:], first[in.begin:])
		n += took
		if in.begin += took; in.begin == len(first) {
			drop(first)
			in.chunks[0], in.begin = nil, 0
			in.chunks = in.chunks[1:]
		}
	}
	return n
}

// dropLocked drops what was not read, and returns how much it was.
func (in *content) dropLocked() (bytes int64) {
	for _, b := range in.chunks {
		bytes += int64(len(b))
		drop(b)
	}
	bytes -= int64(in.begin)
	in.chunks, in.begin = nil, 0
	return bytes
}

// Read implements io.Reader for the handler.
func (s *stream) Read(b []byte) (int, error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(s.in.chunks) == 0 && !s.in.ended && s.err == nil && !s.in.cut {
		s.in.more.Wait()
	}
	switch {
	case s.in.cut:
		return 0, os.ErrDeadlineExceeded
	case s.err != nil:
		return 0, s.err
	case len(s.in.chunks) == 0:
		return 0, io.EOF
	}
	n := s.in.take(b)
	c.returnLocked(s, int64(n))
	return n, nil
}

// Close implements io.Closer. What comes is dropped when the handler returns.
func (s *stream) Close() error { return nil }

// headers begins a stream, or ends a request's content with trailers, which are not kept.
func (c *conn) headers(f *http2.MetaHeadersFrame) error {
	id := f.StreamID
	if id%2 == 0 {
		return protocol
	}
	if id <= c.mu.seen {
		s := c.mu.streams[id]
		switch {
		case s == nil && c.mu.stopping:
			return nil
		case s == nil:
			return http2.ConnectionError(http2.ErrCodeStreamClosed)
		case s.in.ended:
			return reset(id, http2.ErrCodeStreamClosed)
		case !f.StreamEnded(), len(f.PseudoFields()) > 0, s.in.announced >= 0 && s.in.got != s.in.announced:
			return reset(id, http2.ErrCodeProtocol)
		}
		s.in.ended = true
		c.doneLocked(s)
		s.in.more.Signal()
		return nil
	}
	if c.mu.seen = id; c.mu.stopping {
		return nil // the client knows that it has to ask elsewhere
	}
	c.mu.last = id
	if f.HasPriority() && f.Priority.StreamDep == id {
		return reset(id, http2.ErrCodeProtocol)
	}
	// Handlers of streams that were reset may run still; they are bounded, too.
	if len(c.mu.streams) >= c.o.MaxStreams || c.mu.handlers >= 2*c.o.MaxStreams {
		return reset(id, http2.ErrCodeRefusedStream)
	}
	r, err := c.request(f)
	if err != nil {
		return err
	}
	s := &stream{id: id, c: c, window: c.mu.initial}
	s.in.more.L, s.room.L = &c.mu.Mutex, &c.mu.Mutex
	s.in.window, s.in.announced, s.in.ended = int64(c.o.StreamWindow), r.ContentLength, f.StreamEnded()
	ctx, cancel := context.WithCancel(c.base)
	s.cancel = cancel
	r.Body = s
	if s.in.ended {
		if r.ContentLength > 0 {
			cancel()
			return reset(id, http2.ErrCodeProtocol)
		}
		r.Body, r.ContentLength = http.NoBody, 0
	}
	s.r = r.WithContext(ctx)
	c.mu.streams[id] = s
	c.mu.handlers++
	if s.h = c.h; f.Truncated {
		s.h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
		})
	}
	c.start(s)
	return nil
}

// request returns the request of a stream, without its content.
func (c *conn) request(f *http2.MetaHeadersFrame) (*http.Request, error) {
	method, path, scheme := f.PseudoValue("method"), f.PseudoValue("path"), f.PseudoValue("scheme")
	target, err := url.ParseRequestURI(path)
	malformed := reset(f.StreamID, http2.ErrCodeProtocol)
	if method == "" || method == http.MethodConnect || err != nil || scheme != "http" && scheme != "https" {
		return nil, malformed
	}
	fields := f.RegularFields()
	header, values := make(http.Header, len(fields)), make([]string, len(fields))
	for i, field := range fields {
		switch field.Name {
		case "connection", "proxy-connection", "transfer-encoding", "upgrade", "keep-alive":
			return nil, malformed
		case "te":
			if field.Value != "trailers" {
				return nil, malformed
			}
		}
		name := c.name(field.Name)
		if have, ok := header[name]; ok {
			header[name] = append(have, field.Value)
			continue
		}
		values[i] = field.Value
		header[name] = values[i : i+1 : i+1]
	}
	r := &http.Request{Method: method, URL: target, Proto: "HTTP/2.0", ProtoMajor: 2, Header: header, Host: f.PseudoValue("authority"),
		RemoteAddr: c.from, RequestURI: path, ContentLength: -1}
	if r.Host == "" {
		r.Host = header.Get("Host")
	}
	delete(header, "Host")
	if scheme == "https" {
		r.TLS = c.state
	}
	if lengths := header["Content-Length"]; len(lengths) > 0 {
		n, err := strconv.ParseUint(lengths[0], 10, 62)
		if err != nil || len(lengths) > 1 {
			return nil, malformed
		}
		r.ContentLength = int64(n)
	}
	return r, nil
}

// name returns a header's name as it is written in http.Header.
func (c *conn) name(lower string) string {
	name, ok := c.names[lower]
	if !ok {
		name = http.CanonicalHeaderKey(lower)
		if len(c.names) < maxNames && len(lower) <= maxName {
			c.names[lower] = name
		}
	}
	return name
}
