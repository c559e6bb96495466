package recording

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/seed-301d4374/engram"
)

// compressions are those that are read, by the bytes that each begins with.
var compressions = []struct{ name, magic string }{
	{"zstd", "\x28\xb5\x2f\xfd"},
	{"lz4", "\x04\x22\x4d\x18"},
	{"bz2", "BZh"},
	{"gzip", "\x1f\x8b\x08"},
}

// compressionOf returns the name of the compression that data begin with; "" if it is none of
// those that are read.
func compressionOf(data []byte) string {
	for _, c := range compressions {
		if len(data) >= len(c.magic) && string(data[:len(c.magic)]) == c.magic {
			return c.name
		}
	}
	return ""
}

// packedBy returns the name of a compression or an archive that data begin with and that is not
// read; "" if there is none.
func packedBy(data []byte) string {
	for name, magic := range map[string]string{"xz": "\xfd7zXZ\x00", "7z": "7z\xbc\xaf\x27\x1c", "zip": "PK\x03\x04", "lzip": "LZIP"} {
		if len(data) >= len(magic) && string(data[:len(magic)]) == magic {
			return name
		}
	}
	return ""
}

// extensions are how the names of compressed files end.
var extensions = []string{".zstd", ".zst", ".lz4", ".bz2", ".gz"}

// Unpacked returns the name that a file had before it was compressed as a whole; its own, if the
// name does not say so.
func Unpacked(name string) string {
	for _, ext := range extensions {
		if plain, ok := strings.CutSuffix(name, ext); ok && filepath.Ext(plain) != "" {
			return plain
		}
	}
	return name
}

// isPlain reports whether that name of a compression says that there is none.
func isPlain(name string) bool { return name == "" || strings.EqualFold(name, "none") }

var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunk))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}}

// decompressed returns what src holds, by the name of a compression that is read. done
// releases what reading it uses.
func decompressed(name string, src io.Reader) (plain io.Reader, done func(), err error) {
	done = func() {}
	switch name {
	case "zstd":
		d := zstdDecoders.Get().(*zstd.Decoder)
		done = func() {
			d.Reset(nil) //nolint:errcheck // drops the reference to src
			zstdDecoders.Put(d)
		}
		if err = d.Reset(src); err != nil {
			done()
			return nil, nil, err
		}
		return d, done, nil
	case "lz4":
		return lz4.NewReader(src), done, nil
	case "bz2":
		return bzip2.NewReader(src), done, nil
	case "gzip":
		plain, err = gzip.NewReader(src)
		return plain, done, err
	}
	return src, done, nil
}

// maxMessage is the largest message read, decompressed.
const maxMessage = maxChunk

// singly reads messages that may have been compressed one by one, as rosbag2's compression
// mode "message" leaves them in databases and in MCAP files. The content tells, since
// metadata are missing from some recordings, and wrong in others.
type singly struct {
	Reader
	path  string
	plain bytes.Buffer
	loss  []Loss
}

// Next implements Reader.
func (s *singly) Next() (Message, error) {
	for {
		m, err := s.Reader.Next()
		if err != nil {
			return m, err
		}
		name := compressionOf(m.Data)
		if name == "" || !startsOtherwise(m.Channel.Encoding) && !saidSo(s.Reader) {
			return m, nil
		}
		if err = s.decompress(name, m.Data); err == nil {
			m.Data = s.plain.Bytes()
			return m, nil
		}
		s.lose(&m, "a compressed message is damaged: "+err.Error())
	}
}

func (s *singly) decompress(name string, data []byte) error {
	plain, done, err := decompressed(name, bytes.NewBuffer(data))
	if err != nil {
		return err
	}
	defer done()
	s.plain.Reset()
	if _, err := io.Copy(&s.plain, io.LimitReader(plain, maxMessage+1)); err != nil {
		return err
	}
	if s.plain.Len() > maxMessage {
		return engram.Errorf(engram.Exhausted, "", "it has more than %d bytes", maxMessage)
	}
	return nil
}

func (s *singly) lose(m *Message, reason string) {
	for i := range s.loss {
		l := &s.loss[i]
		if l.Reason == reason && l.Topics[0] == m.Channel.Topic {
			l.Messages++
			l.Bytes += int64(len(m.Data))
			l.Span.Start, l.Span.End = min(l.Span.Start, m.LogTime), max(l.Span.End, m.LogTime.Add(1))
			return
		}
	}
	s.loss = append(s.loss, Loss{File: s.path, Bytes: int64(len(m.Data)), Messages: 1, Topics: []string{m.Channel.Topic},
		HasSpan: true, Span: engram.Interval{Start: m.LogTime, End: m.LogTime.Add(1)}, Reason: reason})
}

// Loss implements Reader.
func (s *singly) Loss() []Loss { return slices.Concat(s.Reader.Loss(), s.loss) }

// startsOtherwise reports whether no message of an encoding begins as a compression does: CDR
// begins with a zero, and JSON with text.
func startsOtherwise(encoding string) bool { return encoding == "cdr" || encoding == "json" }

// describer is a Reader whose metadata may say that messages are compressed one by one.
type describer interface{ messagesCompressed() bool }

func saidSo(r Reader) bool {
	d, ok := r.(describer)
	return ok && d.messagesCompressed()
}

func (m *metadata) messagesCompressed() bool { return strings.EqualFold(m.CompressionMode, "message") }

func (s *sqliteFile) messagesCompressed() bool { return s.compressed }
func (f *folder) messagesCompressed() bool {
	return f.meta.messagesCompressed() || f.current != nil && saidSo(f.current)
}
func (u unpacked) messagesCompressed() bool { return saidSo(u.Reader) }
func (l lossy) messagesCompressed() bool    { return saidSo(l.Reader) }
