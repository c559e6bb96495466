package h2

import (
	"encoding/binary"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// bufferSize is how much of an answer is kept until the handler flushes or returns.
const bufferSize = 4 << 10

// response implements http.ResponseWriter, http.Flusher and what http.ResponseController
// wants. It is of the handler's goroutine, but for the deadlines.
type response struct {
	c      *conn
	s      *stream
	header http.Header // of the handler

	status   int
	said     http.Header // the header at WriteHeader; nil: as it is when it is sent
	trailers []string    // those that were announced
	begun    bool        // the headers have been sent
	buf      []byte
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.said = status, maps.Clone(w.header)
	for _, list := range w.header["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			w.trailers = append(w.trailers, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// bodiless reports whether an answer has no content by its nature.
func (w *response) bodiless() bool {
	return w.s.r.Method == http.MethodHead || w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

// Write implements io.Writer.
func (w *response) Write(b []byte) (int, error) {
	switch {
	case w.status == 0 && len(w.header["Trailer"]) > 0:
		w.WriteHeader(http.StatusOK)
	case w.status == 0:
		w.status = http.StatusOK // with the header as it is when it is sent
	}
	switch {
	case w.s.r.Method == http.MethodHead:
		return len(b), nil
	case w.bodiless():
		return 0, http.ErrBodyNotAllowed
	}
	if len(w.buf)+len(b) > bufferSize {
		if err := w.FlushError(); err != nil {
			return 0, err
		}
	}
	if len(b) > bufferSize {
		if err := w.send(b, false); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	w.buf = append(w.buf, b...)
	return len(b), nil
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError serves http.ResponseController.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.begun && len(w.buf) == 0 {
		return nil
	}
	err := w.send(w.buf, false)
	w.buf = w.buf[:0]
	return err
}

// SetReadDeadline serves http.ResponseController, for a time that has passed. It does
// nothing for others.
func (w *response) SetReadDeadline(t time.Time) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.s.in.cut = passed(t)
	w.s.in.more.Broadcast()
	return nil
}

// SetWriteDeadline serves http.ResponseController as SetReadDeadline does: the stream is
// reset. Who waits for the connection itself is released by its own bound.
func (w *response) SetWriteDeadline(t time.Time) error {
	if passed(t) {
		w.c.reset(w.s.id, http2.ErrCodeInternal, os.ErrDeadlineExceeded)
	}
	return nil
}

func passed(t time.Time) bool { return !t.IsZero() && !t.After(time.Now()) }

// finish sends what is left of the answer.
func (w *response) finish() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if _, ok := w.header["Content-Length"]; !ok && !w.begun && !w.bodiless() && len(w.trailing()) == 0 {
		w.heading()["Content-Length"] = []string{strconv.Itoa(len(w.buf))}
	}
	_ = w.send(w.buf, true) // it fails only if the client has gone
}

// heading returns the header as it is sent.
func (w *response) heading() http.Header {
	if w.said != nil {
		return w.said
	}
	return w.header
}

// trailing returns which members of the header are trailers.
func (w *response) trailing() []string {
	var names []string
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || slices.Contains(w.trailers, name) {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		slices.Sort(names)
	}
	return names
}

// send sends content, after the headers, and with the trailers if it is the last. All of it
// is written at once, as far as the client lets it.
func (w *response) send(b []byte, last bool) error {
	c, s := w.c, w.s
	var trailers []string
	if last {
		trailers = w.trailing()
	}
	ends := last && len(trailers) == 0 // with the content
	c.write.Lock()
	defer c.flush()
	if _, err := c.reserve(s, 0, false); err != nil {
		return err
	}
	if !w.begun {
		w.begun = true
		h := w.heading()
		if _, typed := h["Content-Type"]; !typed && len(b) > 0 {
			h["Content-Type"] = []string{http.DetectContentType(b)}
		}
		c.writeHeaders(s, w.status, h, w.trailers, ends && len(b) == 0)
		if ends && len(b) == 0 {
			c.sent(s)
			return nil
		}
	} else if ends && len(b) == 0 {
		c.writeData(s, nil, true)
	}
	var bound *time.Timer // of the last word of the handler, for a client that gives no room
	for len(b) > 0 {
		n, err := c.reserve(s, min(len(b), maxFrame), false)
		if n == 0 && err == nil {
			if last && bound == nil {
				bound = time.AfterFunc(c.o.StallTimeout, func() { c.reset(s.id, http2.ErrCodeInternal, os.ErrDeadlineExceeded) })
				defer bound.Stop()
			}
			n, err = c.wait(s, min(len(b), maxFrame))
		}
		if err != nil {
			return err
		}
		c.writeData(s, b[:n], ends && n == len(b))
		b = b[n:]
	}
	if len(trailers) > 0 {
		c.writeTrailers(s, w.header, trailers)
	}
	if last {
		c.sent(s)
	}
	return nil
}

// wait waits for room to send. The writer is unlocked meanwhile.
func (c *conn) wait(s *stream, most int) (int, error) {
	c.flush()
	defer c.write.Lock()
	return c.reserve(s, most, true)
}

// reserve takes room to send at most so many bytes, and waits for some if it is told to.
func (c *conn) reserve(s *stream, most int, wait bool) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.feedLocked()
	for s.err == nil {
		if n := min(int64(most), s.window, c.mu.window); n > 0 {
			s.window -= n
			c.mu.window -= n
			return int(n), nil
		}
		if !wait {
			return 0, nil
		}
		c.feedLocked()
		if s.window > 0 && !s.starved {
			s.starved = true
			c.mu.starved = append(c.mu.starved, s)
		}
		s.waits = true
		s.room.Wait()
		s.waits = false
	}
	return 0, s.err
}

// sent says that the answer is complete. A client that sends still is told to stop.
func (c *conn) sent(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.sent = true
	if !s.in.ended && s.err == nil {
		c.endLocked(s, errClosed)
		c.tellLocked(func(f *http2.Framer) error { return f.WriteRSTStream(s.id, http2.ErrCodeNo) })
		return
	}
	c.doneLocked(s)
}

// The functions that write are called with the writer locked. What fails is noticed when
// all is flushed.

// writeHeaders writes a header but what is or announces trailers.
func (c *conn) writeHeaders(s *stream, status int, h http.Header, trailers []string, ends bool) {
	c.begin()
	c.field(":status", strconv.Itoa(status))
	if _, ok := h["Date"]; !ok {
		c.field("date", time.Now().UTC().Format(http.TimeFormat))
	}
	for name, values := range h {
		switch name {
		case "Connection", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Keep-Alive": // of HTTP/1
			continue
		}
		if strings.HasPrefix(name, http.TrailerPrefix) || slices.Contains(trailers, name) {
			continue
		}
		for _, v := range values {
			c.field(lower(name), v)
		}
	}
	c.block(s.id, ends)
}

// writeTrailers writes the trailers of these names.
func (c *conn) writeTrailers(s *stream, h http.Header, names []string) {
	c.begin()
	for _, name := range names {
		for _, v := range h[name] {
			c.field(lower(strings.TrimPrefix(name, http.TrailerPrefix)), v)
		}
	}
	c.block(s.id, true)
}

// begin begins a block of headers.
func (c *conn) begin() {
	c.write.header.Reset()
	c.mu.Lock()
	tables := c.mu.tables
	c.mu.tables = nil
	c.mu.Unlock()
	for _, size := range tables {
		c.write.encoder.SetMaxDynamicTableSize(min(size, tableSize))
	}
}

// field adds a field to the block, unless it is none.
func (c *conn) field(name, value string) {
	if httpguts.ValidHeaderFieldValue(value) {
		_ = c.write.encoder.WriteField(hpack.HeaderField{Name: name, Value: value}) // into memory
	}
}

// block writes the block of headers that was made.
func (c *conn) block(id uint32, ends bool) {
	kind, flags := http2.FrameHeaders, ending(ends)
	for ; c.write.header.Len() > maxFrame; kind, flags = http2.FrameContinuation, 0 {
		c.frame(kind, flags, id, c.write.header.Next(maxFrame))
	}
	c.frame(kind, flags|http2.FlagHeadersEndHeaders, id, c.write.header.Bytes())
}

// ending returns the flag of the last frame of a stream, headers or data.
func ending(ends bool) http2.Flags {
	if ends {
		return http2.FlagDataEndStream
	}
	return 0
}

func (c *conn) writeData(s *stream, b []byte, ends bool) {
	c.frame(http2.FrameData, ending(ends), s.id, b)
}

// frame writes a frame.
func (c *conn) frame(kind http2.FrameType, flags http2.Flags, id uint32, payload []byte) {
	if c.write.err != nil {
		return
	}
	h := append(c.write.buf.AvailableBuffer(), byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), byte(kind), byte(flags))
	h = binary.BigEndian.AppendUint32(h, id)
	if _, c.write.err = c.write.buf.Write(h); c.write.err == nil {
		_, c.write.err = c.write.buf.Write(payload)
	}
}

// lowered has the names of headers that answers have most.
var lowered = map[string]string{
	"Content-Type": "content-type", "Grpc-Accept-Encoding": "grpc-accept-encoding",
	http.TrailerPrefix + "Grpc-Status": "grpc-status", "Grpc-Status": "grpc-status", "Grpc-Message": "grpc-message",
}

func lower(name string) string {
	if l, ok := lowered[name]; ok {
		return l
	}
	return strings.ToLower(name)
}
