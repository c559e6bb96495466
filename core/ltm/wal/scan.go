package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/seed-301d4374/engram/internal/vfs"
)

const (
	windowBytes = 1 << 20
	block       = 4096 // skipped where the disk cannot read
)

// scan reads the records of a file one after another. Where something is damaged it
// goes on with the next whole record.
type scan struct {
	file   vfs.File
	from   *logFile
	limit  int64 // records end here at the latest
	offset int64 // of the next record
	losses []Loss

	window []byte // a part of the file
	at     int64  // where it begins
	broken error  // why the last read gave less than it should
}

func newScan(file vfs.File, from *logFile, limit int64) *scan {
	return &scan{file: file, from: from, limit: limit, offset: recordsAt}
}

// read returns n bytes at an offset, valid until the next call, or nil if they cannot
// be had.
func (s *scan) read(offset int64, n int) []byte {
	if offset+int64(n) > s.limit {
		return nil
	}
	if offset < s.at || offset+int64(n) > s.at+int64(len(s.window)) {
		s.fill(offset, n)
	}
	if i := offset - s.at; i >= 0 && i+int64(n) <= int64(len(s.window)) {
		return s.window[i : i+int64(n)]
	}
	return nil
}

// fill makes the window begin at offset and hold at least n bytes, if it can.
func (s *scan) fill(offset int64, n int) {
	size := int(min(int64(max(n, windowBytes)), s.limit-offset))
	if cap(s.window) < size {
		s.window = make([]byte, 0, size)
	}
	s.window = s.window[:size]
	got, err := s.file.ReadAt(s.window, offset)
	s.window, s.at, s.broken = s.window[:got], offset, nil
	if err != nil && !errors.Is(err, io.EOF) {
		s.broken = err
	}
}

// frameAt returns the record at an offset; whole is false if none begins there.
// damaged says that its data, whose place is known, are damaged.
func (s *scan) frameAt(offset int64) (f frame, size int64, whole, damaged bool) {
	b := s.read(offset, frameSize)
	if b == nil || binary.LittleEndian.Uint32(b) != s.from.marker {
		return frame{}, 0, false, false
	}
	meta, data := int64(binary.LittleEndian.Uint32(b[4:])), int64(binary.LittleEndian.Uint32(b[8:]))
	crc, dataCRC := binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[12:])
	if meta > maxMeta || data > maxData || offset+frameSize+meta+data > s.limit {
		return frame{}, 0, false, false
	}
	f.pos = position(s.from.number, offset)
	head := s.read(offset, int(frameSize+meta))
	if head == nil || frameCRC(head, f.pos) != crc {
		return frame{}, 0, false, false
	}
	size = frameSize + meta + data
	b = s.read(offset, int(size))
	if b == nil || crc32.Checksum(b[frameSize+meta:], castagnoli) != dataCRC {
		return frame{}, size, true, true
	}
	f.meta, f.data = b[frameSize:frameSize+meta], b[frameSize+meta:]
	return f, size, true, false
}

// next returns the next whole record, valid until the following call, or false at the
// end. What was not whole is in losses; what was cut off at the end is not.
func (s *scan) next() (frame, bool) {
	for s.offset < s.limit {
		f, size, whole, damaged := s.frameAt(s.offset)
		switch {
		case !whole:
			next, ok := s.search(s.offset + 1)
			if !ok {
				return frame{}, false
			}
			s.lose(next-s.offset, "damaged records")
			s.offset = next
		case damaged:
			s.lose(size, "a record whose data are damaged")
			s.offset += size
		default:
			s.offset += size
			return f, true
		}
	}
	return frame{}, false
}

func (s *scan) lose(n int64, what string) {
	if s.broken != nil {
		what = fmt.Sprintf("%s, the disk cannot read them: %v", what, s.broken)
	}
	s.losses = append(s.losses, Loss{File: s.from.name, Offset: s.offset, Bytes: n, Reason: what, Unread: s.broken != nil})
}

// search returns where the next record begins, whatever its data are like.
func (s *scan) search(offset int64) (found int64, ok bool) {
	var marker [4]byte
	binary.LittleEndian.PutUint32(marker[:], s.from.marker)
	for offset+frameSize <= s.limit {
		n := int(min(windowBytes, s.limit-offset))
		b := s.read(offset, n)
		if b == nil { // the disk cannot read all of that
			if b = s.readable(offset); len(b) < frameSize {
				offset = (offset + block) / block * block
				continue
			}
		}
		for i := 0; ; i++ {
			j := bytes.Index(b[i:], marker[:])
			if j < 0 {
				break
			}
			i += j
			at := offset + int64(i)
			if _, _, whole, _ := s.frameAt(at); whole {
				return at, true
			}
			if b = s.read(offset, n); b == nil { // frameAt moved the window
				if b = s.readable(offset); len(b) <= i {
					break
				}
			}
		}
		offset += int64(max(len(b)-len(marker)+1, 1))
	}
	return 0, false
}

// readable returns what can be read from offset on.
func (s *scan) readable(offset int64) []byte {
	s.fill(offset, frameSize)
	return s.window
}
