package recording

import (
	"encoding/binary"
	"hash/crc32"
	"os"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// Aside is what a recording holds beside its messages: an attachment, or a record of
// metadata.
type Aside struct {
	Name      string
	MediaType string      // of an attachment, as recorded
	Logged    engram.Time // when it was recorded; 0 for metadata
	Created   engram.Time
	Size      int64 // bytes of an attachment
	// Metadata are the pairs of a record of metadata; nil for an attachment.
	Metadata map[string]string

	path           string
	offset, length int64 // of the record's content
}

// Content reads an attachment. The error is Corrupt if its checksum is wrong, and
// Unavailable if the file is not there any more.
func (a *Aside) Content() ([]byte, error) {
	f, err := os.Open(a.path)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, a.path, "the attachment %s cannot be read: %w", a.Name, err)
	}
	defer f.Close()
	b := make([]byte, a.length)
	if _, err := f.ReadAt(b, a.offset); err != nil {
		return nil, engram.Errorf(engram.Unavailable, a.path, "the attachment %s cannot be read: %w", a.Name, err)
	}
	rest := b[:len(b)-4]
	if crc := binary.LittleEndian.Uint32(b[len(rest):]); crc != 0 && crc != crc32.ChecksumIEEE(rest) {
		return nil, engram.Errorf(engram.Corrupt, a.path, "the checksum of the attachment %s is wrong", a.Name)
	}
	return rest[int64(len(rest))-a.Size:], nil
}

// asider is a Reader that finds asides and knows channels before their messages.
type asider interface {
	asides() []Aside
	channels() []*Channel
}

// Asides returns what r has found beside messages in the files that it has opened; those
// of a split recording are complete after io.EOF. The contents can be read until r is
// closed.
func Asides(r Reader) []Aside {
	if a, ok := r.(asider); ok {
		return a.asides()
	}
	return nil
}

// Channels returns the channels of the file that r reads, as far as they are known before
// their messages.
func Channels(r Reader) []*Channel {
	if a, ok := r.(asider); ok {
		return a.channels()
	}
	return nil
}

func (r *chunkReader) asides() []Aside {
	if m, ok := r.form.(*mcapFile); ok {
		return m.found
	}
	return nil
}

func (r *chunkReader) channels() []*Channel {
	m, ok := r.form.(*mcapFile)
	if !ok {
		return nil
	}
	var list []*Channel
	for id := range m.summaryChannels {
		list = append(list, m.channel(id))
	}
	return list
}

func (s *singly) asides() []Aside       { return Asides(s.Reader) }
func (s *singly) channels() []*Channel  { return Channels(s.Reader) }
func (u unpacked) asides() []Aside      { return Asides(u.Reader) }
func (u unpacked) channels() []*Channel { return Channels(u.Reader) }
func (l lossy) asides() []Aside         { return Asides(l.Reader) }
func (l lossy) channels() []*Channel    { return Channels(l.Reader) }

func (f *folder) asides() []Aside {
	if f.current != nil {
		return append(f.found[:len(f.found):len(f.found)], Asides(f.current)...)
	}
	return f.found
}

func (f *folder) channels() []*Channel {
	if f.current == nil {
		return nil
	}
	return Channels(f.current)
}

// maxAsideHead bounds the names in an attachment, and a record of metadata.
const maxAsideHead = 1 << 20

// aside keeps an attachment or a record of metadata of n bytes at off.
func (m *mcapFile) aside(op mcap.OpCode, off, n int64) {
	lost := func(why string) {
		m.reader.loss = append(m.reader.loss, Loss{File: m.path, Offset: off, Bytes: n, Reason: why})
	}
	if op == mcap.OpMetadata {
		b, ok := m.w.at(off, int(min(n, maxAsideHead)))
		if !ok || n > maxAsideHead {
			lost("a record of metadata is too large to be read")
			return
		}
		r, err := mcap.ParseMetadata(b)
		if err != nil {
			lost("a record of metadata is damaged")
			return
		}
		m.found = append(m.found, Aside{Name: r.Name, Metadata: r.Metadata})
		return
	}
	b, _ := m.w.at(off, int(min(n, maxAsideHead)))
	a := Aside{path: m.path, offset: off, length: n}
	at := 16
	text := func() (s string, ok bool) {
		if len(b)-at < 4 {
			return "", false
		}
		k := int64(binary.LittleEndian.Uint32(b[at:]))
		if at += 4; k > int64(len(b)-at) {
			return "", false
		}
		at += int(k)
		return string(b[at-int(k) : at]), true
	}
	name, ok := text()
	media, okMedia := text()
	if !ok || !okMedia || len(b)-at < 8 {
		lost("an attachment is damaged")
		return
	}
	size := binary.LittleEndian.Uint64(b[at:])
	if int64(at)+8+4 > n || size != uint64(n-int64(at)-8-4) {
		lost("an attachment is damaged: it does not have the bytes that it tells of")
		return
	}
	a.Name, a.MediaType, a.Size = name, media, int64(size)
	a.Logged, _ = toTime(binary.LittleEndian.Uint64(b))
	a.Created, _ = toTime(binary.LittleEndian.Uint64(b[8:]))
	m.found = append(m.found, a)
}
