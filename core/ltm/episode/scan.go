package episode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// scanner walks the records of a file from its beginning, whatever is in it: what
// is damaged it skips by its length, or by searching for where records go on.
type scanner struct {
	f        vfs.File
	path     string
	size     int64
	window   []byte
	windowAt int64
	problems []Problem
	refused  error // what the disk said first that did not give back something of the file
}

// foundRecord is a whole record outside chunks.
type foundRecord struct {
	op      mcap.OpCode
	offset  int64
	length  int64 // with its head
	content []byte
}

const (
	windowLen = 256 << 10
	// maxRecord bounds the records that are read whole.
	maxRecord = maxChunk + 1<<20
	// maxProblems bounds what is told of one file.
	maxProblems = 1000
)

func newScanner(f vfs.File, path string) (*scanner, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fileError(path, err)
	}
	return &scanner{f: f, path: path, size: st.Size()}, nil
}

func (s *scanner) problem(offset int64, format string, args ...any) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, Problem{Offset: offset, What: fmt.Sprintf(format, args...)})
	}
}

// at returns n bytes at off, or nil if the file or the disk does not have them.
func (s *scanner) at(off int64, n int) []byte {
	if off < 0 || n < 0 || int64(n) > s.size-off {
		return nil
	}
	if off >= s.windowAt && off+int64(n) <= s.windowAt+int64(len(s.window)) {
		return s.window[off-s.windowAt:][:n]
	}
	b := make([]byte, n)
	if err := s.read(b, off); err != nil {
		return nil
	}
	return b
}

// read fills b from off on. Where the file is shorter than it was, that is no refusal.
func (s *scanner) read(b []byte, off int64) error {
	n, err := s.f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if s.refused == nil && !errors.Is(err, io.EOF) {
		s.refused = err
	}
	return err
}

// load has the window begin at off.
func (s *scanner) load(off int64) bool {
	b := make([]byte, min(windowLen, s.size-off))
	if err := s.read(b, off); err != nil {
		s.problem(off, "the disk does not give back %d bytes: %v", len(b), err)
		return false
	}
	s.window, s.windowAt = b, off
	return true
}

// head reads the head of the record at off; ok is false if it cannot be one of the
// data or summary section that is whole.
func (s *scanner) head(off int64) (op mcap.OpCode, n int64, ok bool) {
	b := s.at(off, recordHead)
	if b == nil {
		return 0, 0, false
	}
	op = mcap.OpCode(b[0])
	length := binary.LittleEndian.Uint64(b[1:])
	known := op >= mcap.OpHeader && op <= mcap.OpDataEnd && op != mcap.OpMessage || op >= 0x80
	if !known || length > uint64(s.size-off-recordHead) || length > maxRecord {
		return op, 0, false
	}
	n = int64(length)
	switch op {
	case mcap.OpMessageIndex:
		b := s.at(off+recordHead, 6)
		return op, n, b != nil && n >= 6 && uint64(binary.LittleEndian.Uint32(b[2:])) == length-6
	case mcap.OpDataEnd:
		return op, n, n == 4
	case mcap.OpFooter:
		return op, n, n == footerLen
	}
	return op, n, true
}

// chunkEnd returns where the chunk at off ends by the length of its records, or -1.
func (s *scanner) chunkEnd(off int64) int64 {
	b := s.at(off+recordHead, int(min(chunkHead+16+8, s.size-off-recordHead)))
	h, ok := parseChunkHeader(b)
	if !ok || h.stored > maxChunk || h.compression != mcap.CompressionZSTD && h.compression != mcap.CompressionNone {
		return -1
	}
	return off + recordHead + int64(h.length) + int64(h.stored)
}

// plausible reports whether n records follow each other at off, or fewer up to the
// end of the file.
func (s *scanner) plausible(off int64, n int) bool {
	for range n {
		if s.isEnd(off) {
			return true
		}
		op, length, ok := s.head(off)
		if !ok || op == mcap.OpChunk && s.chunkEnd(off) != off+recordHead+length {
			return false
		}
		off += recordHead + length
	}
	return true
}

// isEnd reports whether the file ends at off, or with the closing magic there.
func (s *scanner) isEnd(off int64) bool {
	return off == s.size || off == s.size-int64(len(mcap.Magic)) && bytes.Equal(s.at(off, len(mcap.Magic)), mcap.Magic)
}

// walk calls visit with each whole record. The content is visit's to keep.
func (s *scanner) walk(ctx context.Context, visit func(foundRecord) error) error {
	off := int64(0)
	if b := s.at(0, len(mcap.Magic)); !bytes.Equal(b, mcap.Magic) {
		s.problem(0, "the file does not begin as an MCAP file does")
		if !s.plausible(int64(len(mcap.Magic)), 2) {
			off = s.resync(ctx, 0)
		}
	}
	if off == 0 {
		off = int64(len(mcap.Magic))
	}
	for off < s.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.isEnd(off) {
			return nil
		}
		op, n, ok := s.head(off)
		if ok && op == mcap.OpChunk {
			// A chunk says its length twice.
			if end := s.chunkEnd(off); end != off+recordHead+n {
				if end > 0 && end <= s.size && s.plausible(end, 2) {
					n = end - off - recordHead
					s.problem(off, "the length of a chunk's record is damaged; its records say where it ends")
				} else if !s.plausible(off+recordHead+n, 2) {
					ok = false
				}
			}
		} else if op == mcap.OpChunk {
			if end := s.chunkEnd(off); end > 0 && end <= s.size && s.plausible(end, 2) {
				n, ok = end-off-recordHead, true
				s.problem(off, "the length of a chunk's record is damaged; its records say where it ends")
			}
		}
		next := s.size
		if end := off + recordHead + n; !ok || op != mcap.OpChunk && !s.plausible(end, 1) {
			// If records are found before its end, its length is damaged.
			if next = s.resync(ctx, off); next < end {
				ok = false
			}
		}
		if !ok {
			if next == s.size {
				s.problem(off, "the last %d bytes are no whole record", s.size-off)
			} else {
				s.problem(off, "%d bytes are no records", next-off)
			}
			off = next
			continue
		}
		content := make([]byte, n)
		if err := s.read(content, off+recordHead); err != nil {
			s.problem(off, "the disk does not give back a record of %d bytes: %v", n, err)
			off += recordHead + n
			continue
		}
		if err := visit(foundRecord{op, off, recordHead + n, content}); err != nil {
			return err
		}
		off += recordHead + n
	}
	return ctx.Err() // resync gives up with it
}

// resync searches behind off for where records go on; the file's end if nowhere. A run of
// zeros longer than a record can be is taken for the end: of a file that was made longer.
func (s *scanner) resync(ctx context.Context, off int64) int64 {
	zeros := int64(0)
	for next := off + 1; next < s.size; next++ {
		if next < s.windowAt || next >= s.windowAt+int64(len(s.window)) {
			if ctx.Err() != nil || !s.load(next) {
				return s.size
			}
			if len(bytes.TrimLeft(s.window, "\x00")) > 0 {
				zeros = 0
			} else if zeros += int64(len(s.window)); zeros > maxRecord {
				return s.size
			} else {
				next += int64(len(s.window)) - 1
				continue
			}
		}
		b := s.window[next-s.windowAt:]
		// Most bytes are ruled out without looking further: the length of a record is
		// a number whose upper bytes are 0.
		if b[0] == 0 || b[0] > byte(mcap.OpDataEnd) || len(b) > recordHead && binary.LittleEndian.Uint32(b[5:]) != 0 {
			continue
		}
		if s.isEnd(next) || s.plausible(next, 3) {
			return next
		}
	}
	return s.size
}

// openScan opens a file to be scanned.
func openScan(path string, o *Options, flag int) (vfs.File, *scanner, error) {
	f, err := o.FS.OpenFile(path, flag, 0)
	if err != nil {
		return nil, nil, fileError(path, err)
	}
	s, err := newScanner(f, path)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, s, nil
}

// recordsOf calls visit with each record of a chunk's records and its offset;
// false if they are not whole records.
func recordsOf(records []byte, visit func(op mcap.OpCode, offset int, content []byte)) bool {
	for rest := records; len(rest) > 0; {
		op, content, after, ok := cutRecord(rest)
		if !ok {
			return false
		}
		visit(op, len(records)-len(rest), content)
		rest = after
	}
	return true
}
