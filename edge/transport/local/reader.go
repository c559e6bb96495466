package local

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/seed-301d4374/engram"
)

const (
	// readSmall and readLarge are how much is read when a header is expected: a
	// little where large payloads follow, which are then read into their own
	// memory, and much where many small frames come together.
	readSmall = 2 << 10
	readLarge = 32 << 10
	// largePayload is the payload size from which a connection counts as one of
	// large payloads, until a frame has none.
	largePayload = 8 << 10
	// maxRecords bounds the records of a frame, so that the input buffer is.
	maxRecords = 32 << 20
)

// reader reads frames. It belongs to one goroutine.
type reader struct {
	conn  net.Conn
	stall time.Duration // how long the rest of a begun frame may take; 0 means for ever
	own   limits
	take  taking // what the frame at hand takes; nothing is counted on a client's side

	buf      []byte // buf[r:w] is read and not used
	r, w     int
	begun    bool // a frame's header was read, and not yet all of it
	large    bool // the last frame had large payloads
	deadline bool // set on the connection

	decoder
}

func newReader(conn net.Conn, own limits, stall time.Duration) *reader {
	rd := &reader{conn: conn, stall: stall, own: own, buf: make([]byte, readLarge)}
	rd.ids.limit, rd.types.limit = own.ids, own.types
	return rd
}

// next reads a frame's header and records; their decoder is the reader's own. The
// error is io.EOF where the peer closed the connection between two frames. Then
// the records are to be decoded, which says where the payloads go, and finish
// reads these.
func (rd *reader) next() (header, error) {
	if rd.w-rd.r < headerSize {
		if err := rd.fill(headerSize); errors.Is(err, io.ErrUnexpectedEOF) {
			return header{}, cut(err)
		} else if err != nil {
			return header{}, err
		}
	}
	h, err := parseHeader(rd.buf[rd.r:rd.w][:headerSize:headerSize], rd.own.frame)
	if err != nil {
		return h, err
	}
	if h.meta > maxRecords {
		return h, engram.Errorf(engram.Exhausted, "", "a frame with %d bytes of records was announced; at most %d are allowed", h.meta, maxRecords)
	}
	rd.r += headerSize
	rd.begun = true
	if err := rd.take.records(h); err != nil {
		return h, err
	}
	if rd.w-rd.r < int(h.meta) {
		if err := rd.fill(int(h.meta)); err != nil {
			return h, cut(err)
		}
	}
	records := rd.buf[rd.r : rd.r+int(h.meta)]
	if err := rd.take.frame(h, records); err != nil {
		return h, err
	}
	rd.decoder.begin(records, int(h.length-h.meta))
	rd.r += int(h.meta)
	return h, nil
}

// finish reads the frame's payloads into the places that decoding its records
// made for them. The error is Corrupt if the records were.
func (rd *reader) finish() error {
	if err := rd.decoder.end(); err != nil {
		return err
	}
	rd.large = false
	for i, p := range rd.payloads {
		rd.large = rd.large || len(p) >= largePayload
		n := copy(p, rd.buf[rd.r:rd.w])
		rd.r += n
		if n < len(p) {
			rd.hurry()
			if err := rd.readFull(p[n:]); err != nil {
				return cut(err)
			}
		}
		rd.payloads[i] = nil
	}
	if invariants && rd.r > 0 {
		poison(rd.buf[:rd.r]) // what was decoded must not refer to it
	}
	rd.begun = false
	if rd.deadline {
		rd.deadline = false
		return rd.conn.SetReadDeadline(time.Time{})
	}
	return nil
}

// hasFrame reports whether another frame has been read already.
func (rd *reader) hasFrame() bool {
	n := rd.w - rd.r
	return n >= headerSize && n-headerSize >= int(binary.LittleEndian.Uint32(rd.buf[rd.r:]))
}

// fill reads until at least n bytes are there to be used.
func (rd *reader) fill(n int) error {
	rd.w = copy(rd.buf, rd.buf[rd.r:rd.w])
	rd.r = 0
	chunk := readLarge
	if rd.large {
		chunk = readSmall
	}
	if n <= readLarge && len(rd.buf) > keepBuffer {
		rd.buf = append(make([]byte, 0, readLarge), rd.buf[:rd.w]...)[:readLarge]
	}
	for rd.w < n {
		if rd.w > 0 || n != headerSize {
			rd.hurry() // a frame has begun
		}
		if rd.w == len(rd.buf) { // by no more than what has come, whatever was announced
			rd.buf = append(rd.buf, make([]byte, min(len(rd.buf), n-rd.w))...)
		}
		got, err := rd.read(rd.w > 0 || n != headerSize, rd.buf[rd.w:min(len(rd.buf), max(rd.w+chunk, min(n, len(rd.buf))))])
		rd.w += got
		if err != nil && rd.w < n {
			if err == io.EOF && rd.w > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// read reads some bytes. A client's call that ends while a frame is on its way
// waits for the rest, but not long.
func (rd *reader) read(begun bool, b []byte) (int, error) {
	n, err := rd.conn.Read(b)
	if begun && rd.stall == 0 && !rd.deadline && errors.Is(err, os.ErrDeadlineExceeded) {
		rd.deadline = true
		rd.conn.SetReadDeadline(time.Now().Add(restTimeout))
		return rd.conn.Read(b)
	}
	return n, err
}

// restTimeout is how long the rest of a frame may take that nobody waits for.
const restTimeout = time.Second

func (rd *reader) readFull(p []byte) error {
	for len(p) > 0 {
		n, err := rd.read(true, p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// hurry gives the peer until the stall time is over to send the rest of a frame.
func (rd *reader) hurry() {
	if rd.stall > 0 && !rd.deadline {
		rd.deadline = true
		rd.conn.SetReadDeadline(time.Now().Add(rd.stall))
	}
}

// cut says that a frame ended before its end.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

var errCut = corrupt("the connection ended in the middle of a frame")

// payload allocations.
const (
	// shareBelow is the payload size below which payloads of one frame share
	// memory, in chunks so small that one that is kept does not pin much.
	shareBelow = 128
	shareChunk = 512
)

// decoder decodes a frame's records. What is wrong with them is remembered and
// told by end; until then the values read are zero. It belongs to a reader.
type decoder struct {
	b        []byte
	rest     int // payload bytes not yet given to a payload
	bad      error
	payloads [][]byte // in order; to be filled
	chunk    []byte   // for small payloads
	lender   *lender  // nil: what is decoded is the caller's for good

	ids   receivedNames[engram.ID]
	types receivedNames[string]
}

func (d *decoder) begin(records []byte, payloadBytes int) {
	d.b, d.rest, d.bad = records, payloadBytes, nil
	d.payloads, d.chunk = d.payloads[:0], nil
}

// end checks that the records were right and are used up.
func (d *decoder) end() error {
	if d.bad == nil && len(d.b) > 0 {
		d.fail("%d bytes stand after a frame's last record", len(d.b))
	}
	if d.bad == nil && d.rest > 0 {
		d.fail("a frame has %d payload bytes that belong to no payload", d.rest)
	}
	return d.bad
}

func (d *decoder) fail(format string, args ...any) {
	if d.bad == nil {
		d.bad = corrupt(format, args...)
	}
	d.b, d.rest = nil, 0
}

// take returns the next n bytes of the records, or nil.
func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.fail("a frame's records end in the middle of one")
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) u8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) text() string {
	if b := d.take(2); b != nil {
		return string(d.take(int(binary.LittleEndian.Uint16(b))))
	}
	return ""
}

// remainder returns a copy of the records that are left.
func (d *decoder) remainder() []byte { return append([]byte(nil), d.take(len(d.b))...) }

// count reads a number of records that take at least size bytes each.
func (d *decoder) count(size int) int {
	n := int(d.u32())
	if n > len(d.b)/size {
		d.fail("a frame announces %d records where there is room for %d", n, len(d.b)/size)
		return 0
	}
	return n
}

// payload makes room for the next n bytes of payload.
func (d *decoder) payload(n uint32) []byte {
	if int64(n) > int64(d.rest) {
		d.fail("a frame's payloads are longer than the frame")
		return nil
	}
	if n == 0 {
		return nil
	}
	d.rest -= int(n)
	var p []byte
	switch {
	case d.lender != nil:
		p = d.lender.payload(int(n))
	case n >= shareBelow:
		p = makePayload(int(n))
	case int(n) > len(d.chunk):
		d.chunk = make([]byte, max(int(n), min(d.rest+int(n), shareChunk)))
		fallthrough
	default:
		p, d.chunk = d.chunk[:n:n], d.chunk[n:]
	}
	d.payloads = append(d.payloads, p)
	return p
}
