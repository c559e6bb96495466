package recording

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// chunk is a part of a file that holds records, compressed together.
type chunk struct {
	offset      int64 // of the compressed records in the file
	size        int64 // of the compressed records, as far as the file has them
	compression string
	rawSize     uint64      // of the records
	crc         uint32      // of the records; 0 is unknown
	cut         bool        // the file ends before the chunk does
	start, end  engram.Time // of the messages, if timed says so
	timed       bool
	index       int64 // where index records may follow the chunk in the file
}

// entry is one message in a chunk's records.
type entry struct {
	time, publish engram.Time
	channel       *Channel
	off, len      int
	sequence      uint32
}

// maxChunk is the largest chunk read, decompressed.
const maxChunk = 1 << 30

// buffers hold decompressed records and are used again.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// load reads and decompresses c. With an error there may be records all the same:
// those before the place where the chunk is cut. Of a damaged chunk none are
// returned, since what came before an error shows may be wrong already.
func (c *chunk) load(f io.ReaderAt) (*bytes.Buffer, error) {
	buf := buffers.Get().(*bytes.Buffer)
	buf.Reset()
	if c.rawSize > maxChunk || c.size > maxChunk {
		return buf, fmt.Errorf("chunk of %d bytes; at most %d are read", max(c.rawSize, uint64(c.size)), maxChunk)
	}
	// A wild size must not cost memory: the buffer grows with what really comes.
	buf.Grow(int(min(c.rawSize, 64<<10+16*uint64(c.size))))
	name, known := c.compression, isPlain(c.compression) || slices.ContainsFunc(compressions, func(k struct{ name, magic string }) bool { return k.name == c.compression })
	if !known {
		var head [headLen]byte
		n, _ := f.ReadAt(head[:min(c.size, headLen)], c.offset) // what is missing is told below
		name = compressionOf(head[:n])
	}
	err := c.decompress(name, io.NewSectionReader(f, c.offset, c.size), buf)
	// Whatever the name is, what comes out of it in the right size and with the right checksum is
	// the content.
	if !known && (err != nil || name == "" && (c.crc == 0 || c.size != int64(c.rawSize))) {
		buf.Reset()
		return buf, fmt.Errorf("its compression %q is not known", c.compression)
	}
	if err != nil && !c.cut {
		buf.Reset()
	}
	return buf, err
}

// decompress appends the records to buf, which src holds in a compression that is read.
func (c *chunk) decompress(name string, src io.Reader, buf *bytes.Buffer) error {
	plain, done, err := decompressed(name, src)
	if err != nil {
		return err
	}
	defer done()
	n, err := io.Copy(buf, io.LimitReader(plain, int64(c.rawSize)))
	switch {
	case err != nil:
	case uint64(n) < c.rawSize:
		err = io.ErrUnexpectedEOF
	case c.crc != 0 && crc32.ChecksumIEEE(buf.Bytes()) != c.crc:
		err = fmt.Errorf("its checksum is wrong")
	}
	return err
}

// loaded is a chunk in memory.
type loaded struct {
	buf *bytes.Buffer
	err error
}

// open is a chunk whose messages are being delivered.
type open struct {
	c       *chunk
	buf     *bytes.Buffer
	entries []entry // sorted by time; those not yet delivered
	all     []entry
}

// container is what the formats made of chunks have of their own.
type container interface {
	// index appends the messages in a chunk's records to dst and returns how many
	// bytes at the end make no sense. It is called for one chunk after another.
	index(data []byte, dst []entry) (entries []entry, rest int)
	// lost tells what the index records after a chunk say it holds.
	lost(c *chunk) (messages uint64, topics []string)
	// topics returns the topics of all channels known so far, sorted.
	topics() []string
}

// maxOpen bounds how many overlapping chunks are held at once. Beyond it messages
// come in the order of those that are open.
const maxOpen = 64

// chunkReader merges the chunks of one file.
type chunkReader struct {
	path   string
	f      io.ReaderAt
	closer io.Closer
	size   int64
	form   container

	chunks  []*chunk // sorted by start
	next    int
	ahead   []chan loaded // of chunks[next:]
	width   int           // how many are loaded ahead
	workers sync.WaitGroup

	active    []*open
	current   *open // whose message was returned last
	spare     [][]entry
	delivered uint64
	expected  uint64 // messages the file says it has; 0 is unknown
	done      int64
	loss      []Loss
	ended     bool
	back      time.Duration // how far log times go back in the file
}

func (r *chunkReader) begin() {
	latest := engram.MinTime
	for _, c := range r.chunks {
		if c.timed {
			r.goesBack(latest, c.start)
			latest = max(latest, c.end)
		}
	}
	slices.SortStableFunc(r.chunks, func(a, b *chunk) int {
		return int(min(max(int64(a.start.Sub(b.start)), -1), 1))
	})
}

// prefetch starts loading chunks ahead of the one that is due.
func (r *chunkReader) prefetch() {
	for len(r.ahead) < r.width && r.next+len(r.ahead) < len(r.chunks) {
		c, result := r.chunks[r.next+len(r.ahead)], make(chan loaded, 1)
		r.ahead = append(r.ahead, result)
		r.workers.Go(func() {
			buf, err := c.load(r.f)
			result <- loaded{buf, err}
		})
	}
}

// Next implements Reader.
func (r *chunkReader) Next() (Message, error) {
	if r.current != nil && len(r.current.entries) == 0 {
		r.release(r.current)
	}
	r.current = nil
	var first *open
	for {
		first = nil
		for _, o := range r.active {
			if first == nil || o.entries[0].time < first.entries[0].time {
				first = o
			}
		}
		if r.next == len(r.chunks) || first != nil && (len(r.active) == maxOpen || r.chunks[r.next].start > first.entries[0].time) {
			break
		}
		r.openNext()
	}
	if first == nil {
		r.finish()
		return Message{}, io.EOF
	}
	e := first.entries[0]
	first.entries = first.entries[1:]
	r.current = first
	r.delivered++
	return Message{Channel: e.channel, LogTime: e.time, PublishTime: e.publish, Sequence: e.sequence, Data: first.buf.Bytes()[e.off : e.off+e.len]}, nil
}

// openNext loads the chunk that is due and makes it active.
func (r *chunkReader) openNext() {
	r.prefetch()
	c := r.chunks[r.next]
	l := <-r.ahead[0]
	r.ahead = r.ahead[1:]
	r.next++
	r.prefetch()
	var dst []entry
	if n := len(r.spare); n > 0 {
		dst, r.spare = r.spare[n-1], r.spare[:n-1]
	}
	entries, rest := r.form.index(l.buf.Bytes(), dst[:0])
	// What is lost is told once: by the error, or by the records that follow none.
	if l.err != nil || rest > 0 {
		loss := Loss{File: r.path, Offset: c.offset, Bytes: c.size, Reason: "damaged records in a chunk"}
		if l.err != nil {
			loss.Reason = "a chunk cannot be read: " + l.err.Error()
		}
		if c.cut {
			loss.Reason, loss.Beyond = "the file ends in the middle of a chunk", true
		}
		if len(entries) > 0 && c.rawSize > 0 {
			good := int64(l.buf.Len() - rest)
			loss.Bytes = max(1, c.size-c.size*good/int64(c.rawSize))
			loss.Offset = c.offset + c.size - loss.Bytes
		}
		var messages uint64
		messages, loss.Topics = r.form.lost(c)
		loss.Messages = messages - min(messages, uint64(len(entries)))
		if c.timed {
			loss.Span, loss.HasSpan = engram.Interval{Start: c.start, End: c.end.Add(1)}, true
			if n := len(entries); n > 0 {
				loss.Span.Start = min(entries[n-1].time, c.end)
			}
		}
		r.loss = append(r.loss, loss)
	}
	if !slices.IsSortedFunc(entries, byTime) {
		latest := engram.MinTime
		for i := range entries {
			r.goesBack(latest, entries[i].time)
			latest = max(latest, entries[i].time)
		}
		slices.SortStableFunc(entries, byTime)
	}
	r.done += c.size
	o := &open{c: c, buf: l.buf, entries: entries, all: entries}
	if len(entries) == 0 {
		r.free(o)
		return
	}
	r.active = append(r.active, o)
}

// goesBack notes the log time of what stands in the file behind something of another one.
func (r *chunkReader) goesBack(before, t engram.Time) {
	if before > engram.MinTime {
		r.back = max(r.back, before.Sub(t))
	}
}

func byTime(a, b entry) int {
	switch {
	case a.time < b.time:
		return -1
	case a.time > b.time:
		return 1
	}
	return 0
}

// release takes a chunk that was delivered out of the active ones.
func (r *chunkReader) release(o *open) {
	r.active = slices.DeleteFunc(r.active, func(x *open) bool { return x == o })
	r.free(o)
}

func (r *chunkReader) free(o *open) {
	r.spare = append(r.spare, o.all)
	buffers.Put(o.buf)
	o.buf = nil
}

// finish compares what was delivered with what the file says it holds.
func (r *chunkReader) finish() {
	if r.ended {
		return
	}
	r.ended = true
	r.done = r.size
	var told uint64
	for i := range r.loss {
		l := &r.loss[i]
		told += l.Messages
		if l.Beyond {
			l.Topics = r.form.topics() // each may have gone on behind the cut
		}
	}
	if r.expected > r.delivered+told {
		l := Loss{File: r.path, Messages: r.expected - r.delivered - told,
			Reason: fmt.Sprintf("the file's summary counts %d messages, %d were read", r.expected, r.delivered)}
		if r.delivered == 0 {
			l.Topics = r.form.topics()
		}
		r.loss = append(r.loss, l)
	}
}

// Span implements Reader.
func (r *chunkReader) Span() engram.Interval {
	span := engram.Interval{Start: engram.MaxTime}
	for _, c := range r.chunks {
		if c.timed {
			span.Start, span.End = min(span.Start, c.start), max(span.End, c.end.Add(1))
		}
	}
	return span
}

// Progress implements Reader.
func (r *chunkReader) Progress() (done, total int64) { return min(r.done, r.size), r.size }

// Loss implements Reader.
func (r *chunkReader) Loss() []Loss { return r.loss }

// Close implements Reader.
func (r *chunkReader) Close() error {
	r.workers.Wait()
	return r.closer.Close()
}

// topicsOf returns the topics of channels, sorted.
func topicsOf[K comparable](channels map[K]*Channel) []string {
	names := map[string]bool{}
	for _, c := range channels {
		names[c.Topic] = true
	}
	return slices.Sorted(maps.Keys(names))
}
