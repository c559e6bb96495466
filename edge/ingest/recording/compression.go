package recording

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
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
	{"bz2", bzip2Block},
	{"gzip", "\x1f\x8b\x08"},
}

// bzip2Block is how bzip2 begins, whose fourth byte is the size of its blocks, a digit.
const bzip2Block = "BZh?1AY&SY"

// compressionOf returns the name of the compression that data begin with; "" if it is none of
// those that are read.
func compressionOf(data []byte) string {
	for _, c := range compressions {
		if n := len(c.magic); len(data) > n && (string(data[:n]) == c.magic ||
			c.magic == bzip2Block && string(data[:3]) == c.magic[:3] && string(data[4:n]) == c.magic[4:]) {
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

// maxMessage is the largest message that is decompressed, in bytes.
const maxMessage = 256 << 20

// singly reads messages that may have been compressed one by one, as rosbag2's compression
// mode "message" leaves them in databases and in MCAP files. The content tells, since
// metadata are missing from some recordings, and wrong in others. A message that cannot be
// decompressed comes as it is, with its Damage.
type singly struct {
	Reader
	most  int // bytes of a message
	plain bytes.Buffer
}

// Next implements Reader.
func (s *singly) Next() (Message, error) {
	m, err := s.Reader.Next()
	if err != nil {
		return m, err
	}
	name := compressionOf(m.Data)
	if name == "" || !startsOtherwise(m.Channel.Encoding) && !saidSo(s.Reader) {
		return m, nil
	}
	if err := s.decompress(name, m.Data); err != nil {
		m.Damage = engram.Errorf(engram.Corrupt, "", "compressed by %s, it cannot be decompressed: %w", name, err)
	} else {
		m.Data = s.plain.Bytes()
	}
	return m, nil
}

func (s *singly) decompress(name string, data []byte) error {
	plain, done, err := decompressed(name, bytes.NewBuffer(data))
	if err != nil {
		return err
	}
	defer done()
	s.plain.Reset()
	if _, err := io.Copy(&s.plain, io.LimitReader(plain, int64(s.most)+1)); err != nil {
		return err
	}
	if s.plain.Len() > s.most {
		s.plain = bytes.Buffer{}
		return fmt.Errorf("it has more than %d bytes", s.most)
	}
	return nil
}

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
