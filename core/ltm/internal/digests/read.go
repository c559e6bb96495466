package digests

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// File is an open file of digests. Used by one goroutine.
type File struct {
	f    vfs.File
	name string
	dir  *directory
}

// Open opens the file beside the episode at path, and reads its end. NotFound if there is
// none, Corrupt if it is not whole.
func Open(fsys vfs.FS, path string) (*File, error) {
	f, err := fsys.OpenFile(path+Ext, os.O_RDONLY, 0)
	name := filepath.Base(path + Ext)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, engram.Errorf(engram.NotFound, name, "nothing is kept beside the episode")
	}
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, name, "it cannot be opened: %w", err)
	}
	d, err := readDirectory(f)
	if err != nil {
		f.Close()
		return nil, engram.Errorf(engram.CodeOf(err), name, "%w", err)
	}
	return &File{f: f, name: name, dir: d}, nil
}

func readDirectory(f vfs.File) (*directory, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, "", "it cannot be read: %w", err)
	}
	if st.Size() < int64(trailerLen) {
		return nil, corrupt("it is cut")
	}
	end := st.Size() - int64(trailerLen)
	trailer := make([]byte, trailerLen)
	if err := readAt(f, trailer, end); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(trailer))
	if string(trailer[8:]) != magic || length > maxDirectory || length > end {
		return nil, corrupt("it does not end as such files do: it is cut, or of another version")
	}
	text := make([]byte, length)
	if err := readAt(f, text, end-length); err != nil {
		return nil, err
	}
	return parseDirectory(text, binary.LittleEndian.Uint32(trailer[4:]), st.Size())
}

func readAt(f vfs.File, b []byte, at int64) error {
	if n, err := f.ReadAt(b, at); n < len(b) {
		if errors.Is(err, io.EOF) {
			return corrupt("it is cut")
		}
		return engram.Errorf(engram.Unavailable, "", "it cannot be read: %w", err)
	}
	return nil
}

// Head returns what the digests are of.
func (f *File) Head() *Head { return &f.dir.Head }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Each visits the digests of a format, which are valid during the call, those of one entity in
// the order in which they were added. NotFound if the file has none of this format, Corrupt if
// it is damaged, which may be found when some were visited.
func (f *File) Each(ctx context.Context, format string, visit func(engram.ID, engram.Time, []byte) error) error {
	at := slices.Index(f.dir.Formats, format)
	if at < 0 {
		return engram.Errorf(engram.NotFound, f.name, "it has no digests of the format %q", format)
	}
	for i := range f.dir.Blocks {
		b := &f.dir.Blocks[i]
		if b.Format != at {
			continue
		}
		if ctx.Err() != nil {
			return engram.Errorf(engram.Canceled, f.name, "reading it was given up: %w", context.Cause(ctx))
		}
		plain, err := f.block(b)
		if err == nil {
			err = parseBlock(plain, visit)
		}
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), f.name, "%w", err)
		}
	}
	return nil
}

// block reads a block.
func (f *File) block(b *block) ([]byte, error) {
	stored := make([]byte, b.Stored)
	if err := readAt(f.f, stored, b.Offset); err != nil {
		return nil, err
	}
	if crc32.Checksum(stored, castagnoli) != b.CRC {
		return nil, corrupt("the CRC of the block at %d does not fit it", b.Offset)
	}
	var head zstd.Header
	if err := head.Decode(stored); err != nil || head.HasFCS && head.FrameContentSize != uint64(b.Bytes) {
		return nil, corrupt("the block at %d does not begin as one of %d bytes", b.Offset, b.Bytes)
	}
	// The size is believed only as far as the bytes may be worth it.
	plain, err := decoder().DecodeAll(stored, make([]byte, 0, min(b.Bytes, 256*len(stored))))
	if err != nil || len(plain) != b.Bytes {
		return nil, corrupt("the block at %d cannot be decompressed", b.Offset)
	}
	return plain, nil
}
