package rpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/internal/intake"
)

// procedure is what a procedure takes in.
type procedure struct {
	shape *intake.Shape // of its requests; nil: not known
	bytes int           // of one request, decompressed
	limit intake.Limit
	needs *needs
	// Whether it streams, and whether its client may send when it likes.
	streams, bidi bool
}

// needs is what an identity must be allowed, of anything, before what it sends is read.
type needs struct{ first, others access.Actions }

// payloads has the procedures whose requests carry payloads, and so may be large, beside
// those of features. All others have the small limits of [Options.MaxRequest].
var payloads = map[string]*needs{
	memoryPath + "Commit":       {first: access.Write},
	memoryPath + "CommitStream": {first: access.Write},
	memoryPath + "AddType":      {first: access.Admin, others: access.All},
}

// unknown is the procedure of requests of which no descriptor is known: those of the
// standard services for health and reflection, which are small.
var unknown = &procedure{bytes: 64 << 10}

// procedures returns those of services, by path.
func procedures(o *Options, services []string, offered []feature.Feature) map[string]*procedure {
	all := map[string]*procedure{}
	for _, name := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		service, ok := d.(protoreflect.ServiceDescriptor)
		if err != nil || !ok {
			continue
		}
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			path := "/" + name + "/" + string(m.Name())
			p := &procedure{
				shape: intake.Of(m.Input()), bytes: min(o.MaxRequest, o.MaxMessage),
				// A query's node has some values, of which limits counts one.
				limit:   intake.Limit{Values: 10 * o.MaxQueryNodes, Heap: o.Decoding.Most()},
				streams: m.IsStreamingClient() || m.IsStreamingServer(), bidi: m.IsStreamingClient(),
			}
			if needs := payloads[path]; needs != nil {
				p.carries(o, needs)
			}
			all[path] = p
		}
	}
	for _, f := range offered {
		for _, c := range f.Calls {
			if c.Payload != 0 {
				all[f.Procedure(&c)].carries(o, &needs{first: c.Payload})
			}
		}
	}
	return all
}

// carries says that the requests of a procedure carry payloads.
func (p *procedure) carries(o *Options, n *needs) {
	p.needs, p.bytes, p.limit.Values = n, o.MaxMessage, o.MaxValues
}

// form is how a request says its messages.
type form struct{ json, enveloped bool }

// forms has those that are served, by content type.
var forms = func() map[string]form {
	m := map[string]form{"application/grpc": {enveloped: true}, "application/grpc-web": {enveloped: true}}
	for _, codec := range []string{"proto", "json", "json; charset=utf-8"} {
		json := codec != "proto"
		m["application/"+codec] = form{json: json}
		for _, prefix := range []string{"application/grpc+", "application/grpc-web+", "application/connect+"} {
			m[prefix+codec] = form{json: json, enveloped: true}
		}
	}
	return m
}()

// formOf returns the form of a request, and makes its content type the canonical one.
func formOf(r *http.Request) (form, bool) {
	text := r.Header.Get("Content-Type")
	if f, ok := forms[text]; ok {
		return f, true
	}
	base, params, err := mime.ParseMediaType(text)
	if err != nil {
		return form{}, false
	}
	if charset, ok := params["charset"]; ok {
		params["charset"] = strings.ToLower(charset)
	}
	text = mime.FormatMediaType(base, params)
	f, ok := forms[text]
	if ok {
		r.Header["Content-Type"] = []string{text}
	}
	return f, ok
}

// messages is a request's body: it reads each message whole, decompresses it, and
// counts what it would be decoded to, before it hands it on. The message at hand and
// what is made of it are in the lease until the next one is read. It is read by one
// goroutine.
type messages struct {
	ctx   context.Context
	from  io.ReadCloser
	stall stall // while the client is waited for
	bidi  bool  // it may send when it likes: it is waited for within a message only
	p     *procedure
	form
	gzip    bool  // messages may be compressed
	length  int64 // of the body, if it is not enveloped; -1: not known
	drain   bool  // what is refused must be read before an answer can be given
	lease   intake.Lease
	buffer  *[]byte // in which message lies, unless that is decoded from elsewhere
	prefix  [envelopeSize]byte
	told    int // of prefix
	message []byte
	read    int // of message
	err     error
}

// intake puts the messages of a request before what reads them. The error is for who
// sent it.
func (h *Handler) intake(r *http.Request, s stall, bidi bool) (*messages, error) {
	p := h.procedures[r.URL.Path]
	if p == nil {
		p = unknown
	}
	if rules := h.o.Secure.Access; rules != nil && p.needs != nil {
		if err := rules.Somewhere(r.Context(), p.needs.first, p.needs.others); err != nil {
			return nil, err
		}
	}
	m := &messages{ctx: r.Context(), from: r.Body, stall: s, bidi: bidi, p: p, length: r.ContentLength, drain: r.ProtoMajor == 1, lease: h.o.Decoding.Lease(), told: envelopeSize}
	if r.Method == http.MethodGet {
		m.from = http.NoBody
		return m, m.get(r.URL.Query())
	}
	var ok bool
	if m.form, ok = formOf(r); !ok {
		m.err = io.EOF // it is refused for its content type
		return m, nil
	}
	compression := "Content-Encoding"
	if m.enveloped {
		compression = "Grpc-Encoding"
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/connect+") {
			compression = "Connect-Content-Encoding"
		}
	}
	if m.gzip = r.Header.Get(compression) == "gzip"; m.gzip && !m.enveloped {
		r.Header.Del(compression)
	}
	return m, nil
}

// maxGet bounds the message in a GET's address.
const maxGet = 16 << 10

// get counts the message in the address of a GET, which is decoded from there.
func (m *messages) get(query url.Values) error {
	text := query.Get("message")
	switch compression := query.Get("compression"); {
	case compression != "" && compression != "identity":
		return engram.Errorf(engram.Unsupported, "", "the message of a GET is compressed with %.16q; send it as it is, or use POST", compression)
	case len(text) > maxGet:
		return engram.Errorf(engram.Exhausted, "", "the message of a GET has %d bytes; at most %d are allowed; use POST", len(text), maxGet)
	}
	m.message = []byte(text)
	if query.Get("base64") == "1" {
		var err error
		if m.message, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "=")); err != nil {
			return engram.Errorf(engram.Invalid, "", "the message of a GET is not base64: %w", err)
		}
	}
	m.json = query.Get("encoding") != "proto"
	return m.count()
}

// Read implements io.Reader.
func (m *messages) Read(b []byte) (int, error) {
	for m.told == envelopeSize && m.read == len(m.message) {
		if m.err != nil {
			return 0, m.err
		}
		m.advance()
	}
	n := copy(b, m.prefix[m.told:])
	m.told += n
	body := copy(b[n:], m.message[m.read:])
	m.read += body
	return n + body, nil
}

// advance goes on to the next message, or notes the error.
func (m *messages) advance() {
	m.release()
	if err := m.next(); err != nil {
		m.release()
		if m.err = err; !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			m.err = m.refused(err)
		}
	}
}

// take returns the next message of an enveloped body, which is valid until the one after
// it is read or an answer is given, and the flags of its envelope.
func (m *messages) take() (flags byte, message []byte, err error) {
	if m.err == nil {
		m.advance()
	}
	m.told, m.read = envelopeSize, len(m.message)
	return m.prefix[0], m.message, m.err
}

// last returns io.EOF if the body ends after the message at hand, which it leaves.
func (m *messages) last() error {
	if m.err == nil {
		_, m.err = io.ReadFull(source{m}, m.prefix[:])
	}
	return m.err
}

// refused returns the error for a message that is not taken. Over HTTP/1 a client reads
// the answer only once it has sent everything.
func (m *messages) refused(err error) error {
	if engram.CodeOf(err) == engram.Exhausted && m.drain {
		_, _ = io.Copy(io.Discard, io.LimitReader(source{m}, 1<<30)) // it is refused all the same
	}
	if _, ours := errors.AsType[*engram.Error](err); ours {
		return wireError(err)
	}
	return err
}

// Close implements io.Closer.
func (m *messages) Close() error { return m.from.Close() }

// release says that the message at hand is not needed any more.
func (m *messages) release() {
	m.lease.Release()
	m.message, m.read = nil, 0
	buffers.put(m.buffer)
	m.buffer = nil
}

// next reads a message.
func (m *messages) next() error {
	if !m.enveloped {
		m.err = io.EOF // after this one
		err := m.fill(m.length)
		if err == nil && m.gzip && len(m.message) > 0 {
			err = m.decompress()
		}
		if err != nil {
			return err
		}
		return m.count()
	}
	var from io.Reader = source{m}
	if m.bidi {
		from = m.from
	}
	if _, err := io.ReadFull(from, m.prefix[:]); err != nil {
		return err
	}
	err := m.fill(int64(binary.BigEndian.Uint32(m.prefix[1:])))
	if err == nil && m.prefix[0] == compressed && m.gzip {
		m.prefix[0] = 0
		err = m.decompress()
	}
	if err == nil && m.prefix[0] == 0 { // others are ends of streams, or no messages: not decoded
		err = m.count()
	}
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(m.prefix[1:], uint32(len(m.message)))
	m.told = 0
	return nil
}

const (
	envelopeSize = 5 // a byte of flags, and the length
	compressed   = 1 // the flag
)

// fill reads a message of so many bytes, or all there is if that is -1. Room is taken as
// the bytes come, whatever was announced.
func (m *messages) fill(announced int64) error {
	if announced > int64(m.p.bytes) {
		return m.tooLarge(announced)
	}
	most := int64(m.p.bytes) + 1
	if announced >= 0 {
		most = announced
	}
	return m.gather(source{m}, most, announced)
}

// gather reads up to most bytes into the message, in a buffer of its own. Fewer than were
// announced are an error.
func (m *messages) gather(from io.Reader, most, announced int64) error {
	step := int64(64 << 10)
	if announced > 0 {
		step = 4 << 20 // room for an image is had at once
	}
	before := int64(len(m.message))
	m.buffer = buffers.get(small)
	b := (*m.buffer)[:0]
	for int64(len(b)) < most {
		if len(b) == cap(b) {
			_, size := buffers.class(int(min(most, max(step, 2*int64(len(b))))))
			if err := m.lease.Read(m.ctx, before+int64(size)); err != nil {
				return err
			}
			outgrown := m.buffer
			m.buffer = buffers.get(size)
			b = append((*m.buffer)[:0], b...)
			buffers.put(outgrown)
		}
		n, err := from.Read(b[len(b):min(int64(cap(b)), most)])
		b = b[:len(b)+n]
		if err == io.EOF && int64(len(b)) >= announced {
			break
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	if m.message = b; len(b) > m.p.bytes {
		return m.tooLarge(int64(len(b)))
	}
	return nil
}

func (m *messages) tooLarge(size int64) error {
	return engram.Errorf(engram.Exhausted, "", "a message of %d bytes or more; at most %d are allowed here", size, m.p.bytes)
}

var inflaters sync.Pool

// decompress puts what the message unpacks to in its place.
func (m *messages) decompress() error {
	var err error
	z, ok := inflaters.Get().(*gzip.Reader)
	if ok {
		err = z.Reset(bytes.NewReader(m.message))
	} else {
		z, err = gzip.NewReader(bytes.NewReader(m.message))
	}
	if err == nil {
		defer inflaters.Put(z)
		defer buffers.put(m.buffer) // of what was compressed
		err = m.gather(z, int64(m.p.bytes)+1, -1)
	}
	if _, ours := errors.AsType[*engram.Error](err); err != nil && !ours {
		err = engram.Errorf(engram.Invalid, "", "a message cannot be decompressed: %w", err)
	}
	return err
}

// count takes room for what the message is decoded to.
func (m *messages) count() error {
	var c intake.Count
	var err error
	switch {
	case m.p.shape == nil:
		c = intake.Bytes(m.message)
	case m.json:
		c, err = m.p.shape.JSON(m.message, m.p.limit)
	default:
		c, err = m.p.shape.Wire(m.message, m.p.limit)
	}
	if err != nil {
		return err
	}
	heap := c.Heap + int64(len(m.message)) // what decodes it has its own copy
	if most := m.p.limit.Heap; most > 0 {
		heap = min(heap, most)
	}
	return m.lease.Work(m.ctx, heap)
}

// source reads a body and says when the client is waited for.
type source struct{ m *messages }

func (s source) Read(b []byte) (int, error) {
	if s.m.stall.timer != nil {
		s.m.stall.begin()
		defer s.m.stall.end()
	}
	return s.m.from.Read(b)
}
