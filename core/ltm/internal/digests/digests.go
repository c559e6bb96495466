// Package digests writes and reads what is kept beside a sealed episode: what indexes take of
// its versions, so that its payloads need not be read for that again. All of it comes from the
// episode and may be deleted at any time. docs/formats/digests.md fixes the layout.
//
// It knows files and episodes' fingerprints; it knows no index, no payload and no policy.
package digests

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// Ext ends the name of such a file, behind the episode's, and Unfinished that of one that is
// being written.
const (
	Ext        = ".digests"
	Unfinished = Ext + ".new"
)

// Head says what digests are of.
type Head struct {
	Episode string              `json:"episode"` // the name of its file
	Of      episode.Fingerprint `json:"of"`
	Formats []string            `json:"formats"` // of the digests, for each of which all versions were looked at
	// Types are the types of the versions' payloads, by their names, with what tells one
	// definition from another; "" if none was known.
	Types map[string]string `json:"types"`
}

// directory is the end of a file.
type directory struct {
	Head
	Blocks []block `json:"blocks"`
}

// block is where digests of one format lie.
type block struct {
	Format int    `json:"format"` // its place among the formats
	Offset int64  `json:"offset"`
	Stored int    `json:"stored"` // bytes, compressed
	Bytes  int    `json:"bytes"`
	CRC    uint32 `json:"crc32c"` // of the stored ones
}

const (
	magic      = "ENGDIG01"
	trailerLen = 4 + 4 + len(magic) // the directory's length, its CRC
	blockBytes = 256 << 10          // from which on a block is written

	maxBlock     = 64 << 20
	maxDirectory = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The one encoder and decoder of the package; both serve any number of goroutines.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// appendDirectory appends the end of a file.
func appendDirectory(b []byte, d *directory) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, d.Episode, "what is kept beside it cannot be encoded: %w", err)
	}
	if len(text) > maxDirectory {
		return nil, engram.Errorf(engram.Exhausted, d.Episode, "a directory of %d bytes, of %d at most: %w", len(text), maxDirectory, ErrTooLarge)
	}
	b = append(b, text...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, castagnoli))
	return append(b, magic...), nil
}

// parseDirectory reads the directory of a file of that size, and checks that its blocks lie in
// the file.
func parseDirectory(text []byte, crc uint32, size int64) (*directory, error) {
	if crc32.Checksum(text, castagnoli) != crc {
		return nil, corrupt("the CRC of its directory does not fit it")
	}
	d := &directory{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, corrupt("its directory cannot be read: %w", err)
	}
	end := size - int64(trailerLen) - int64(len(text))
	for _, b := range d.Blocks {
		if b.Format < 0 || b.Format >= len(d.Formats) || b.Bytes < 0 || b.Bytes > maxBlock || b.Stored < 0 || b.Offset < 0 || b.Offset > end || int64(b.Stored) > end-b.Offset {
			return nil, corrupt("its directory speaks of %d bytes at %d, of the format %d", b.Stored, b.Offset, b.Format)
		}
	}
	return d, nil
}

// A block has a run for each entity: the entity's ID as text, behind its length; of each
// digest its length, its version's time as the difference from the one before, its bytes; and
// a length of 0 at the end. Lengths are unsigned varints, times signed ones.

func beginRun(b []byte, entity engram.ID) []byte {
	text := entity.String()
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendDigest(b []byte, after, t engram.Time, digest []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(digest)))
	b = binary.AppendVarint(b, int64(t-after))
	return append(b, digest...)
}

func endRun(b []byte) []byte { return append(b, 0) }

// parseBlock visits the digests of a block.
func parseBlock(b []byte, visit func(engram.ID, engram.Time, []byte) error) error {
	for len(b) > 0 {
		text, rest, ok := cutBytes(b)
		if !ok {
			return corrupt("an entity's name is not whole")
		}
		entity, err := engram.Parse(string(text))
		if err != nil || entity.Level() != engram.LevelEntity {
			return corrupt("%q is no entity", text)
		}
		for t := engram.Time(0); ; {
			n, head := binary.Uvarint(rest)
			if head <= 0 {
				return corrupt("the digests of %v are not whole", entity)
			}
			if rest = rest[head:]; n == 0 {
				break
			}
			step, head := binary.Varint(rest)
			if head <= 0 || n > uint64(len(rest)-head) {
				return corrupt("the digests of %v are not whole", entity)
			}
			t += engram.Time(step)
			if err := visit(entity, t, rest[head:][:n:n]); err != nil {
				return err
			}
			rest = rest[head:][n:]
		}
		b = rest
	}
	return nil
}

// cutBytes takes bytes behind their length.
func cutBytes(b []byte) (text, rest []byte, ok bool) {
	n, head := binary.Uvarint(b)
	if head <= 0 || n > uint64(len(b)-head) {
		return nil, nil, false
	}
	return b[head:][:n], b[head:][n:], true
}

func corrupt(format string, args ...any) error {
	return engram.Errorf(engram.Corrupt, "", format, args...)
}
