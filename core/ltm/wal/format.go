package wal

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// Version is the version of the format that is written.
const Version = 1

// formats says how files of each version are read. A new version adds a line here,
// a section in docs/formats/log.md and golden files in testdata; what an earlier one
// reads like stays.
var formats = map[uint32]struct {
	parse func(f frame, memory *names) (Record, error)
}{
	1: {parseRecord},
}

// Sizes of the format.
const (
	magic       = "engrlog\n"
	headerSize  = 1024 // of one copy of the header
	nameAt      = 42   // of the memory's name in it
	headerCopy  = 4096 // where the second copy lies
	recordsAt   = 8192 // where the records begin
	frameSize   = 20   // of what precedes a record's content
	maxMeta     = 8 << 20
	maxData     = 1<<31 - 1
	offsetBits  = 36 // of a position
	maxFiles    = 1 << (64 - offsetBits)
	fileSuffix  = ".log"
	nameDigits  = 8
	maxFileSize = 1 << offsetBits
	// A file is at most one record longer than that.
	maxSegmentBytes = maxFileSize / 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func position(number uint64, offset int64) Position {
	return Position(number<<offsetBits | uint64(offset))
}

func (p Position) file() uint64  { return uint64(p) >> offsetBits }
func (p Position) offset() int64 { return int64(uint64(p) & (maxFileSize - 1)) }

func (p Position) String() string { return fmt.Sprintf("%s+%d", fileName(p.file()), p.offset()) }

func fileName(number uint64) string { return fmt.Sprintf("%0*d%s", nameDigits, number, fileSuffix) }

// fileNumber returns the number in a file's name.
func fileNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, fileSuffix)
	if !ok || len(digits) < nameDigits {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n > 0 && n < maxFiles && fileName(n) == name
}

// header is what a file begins with.
type header struct {
	number  uint64 // of the file
	marker  uint32 // what its records begin with; drawn by lot
	cut     Position
	created time.Time
	memory  string // whose records the file holds
}

// newHeader returns the header of a new file. Records of earlier files count only if
// they lie before cut.
func newHeader(memory string, number uint64, cut Position) header {
	var b [4]byte
	for b[0] == 0 || b[3] == 0 { // so that it is not found one byte off in zeros
		rand.Read(b[:])
	}
	return header{number: number, marker: binary.LittleEndian.Uint32(b[:]), cut: cut, created: time.Now(), memory: memory}
}

// encode returns the bytes before a file's records.
func (h header) encode() []byte { return h.encodeAs(Version) }

func (h header) encodeAs(version uint32) []byte {
	b := make([]byte, recordsAt)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], h.marker)
	binary.LittleEndian.PutUint64(b[16:], h.number)
	binary.LittleEndian.PutUint64(b[24:], uint64(h.cut))
	binary.LittleEndian.PutUint64(b[32:], uint64(h.created.UnixNano()))
	binary.LittleEndian.PutUint16(b[40:], uint16(len(h.memory)))
	copy(b[nameAt:headerSize-4], h.memory)
	binary.LittleEndian.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	copy(b[headerCopy:], b[:headerSize])
	return b
}

// parseHeader reads a copy of a header; ok is false if it is damaged. The place of
// magic, version and checksum is the same in every version, and a version that is
// not known is an Unsupported error.
func parseHeader(b []byte) (h header, version uint32, ok bool, err error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic ||
		crc32.Checksum(b[:headerSize-4], castagnoli) != binary.LittleEndian.Uint32(b[headerSize-4:]) {
		return header{}, 0, false, nil
	}
	version = binary.LittleEndian.Uint32(b[8:])
	if _, known := formats[version]; !known {
		return header{}, version, false, engram.Errorf(engram.Unsupported, "", "the log is of version %d; this program reads versions up to %d: use the newer one that wrote it", version, Version)
	}
	name := b[nameAt : headerSize-4]
	name = name[:min(len(name), int(binary.LittleEndian.Uint16(b[40:])))]
	h = header{
		memory:  string(name),
		marker:  binary.LittleEndian.Uint32(b[12:]),
		number:  binary.LittleEndian.Uint64(b[16:]),
		cut:     Position(binary.LittleEndian.Uint64(b[24:])),
		created: time.Unix(0, int64(binary.LittleEndian.Uint64(b[32:]))),
	}
	return h, version, true, nil
}

// frame is a record's content and place.
type frame struct {
	pos  Position
	meta []byte
	data []byte
}

// arrived returns when a version arrived.
func (f frame) arrived() (t engram.Time, ok bool) {
	if len(f.meta) < arrivedAt+8 || Kind(f.meta[0]) != KindSnapshot {
		return 0, false
	}
	return engram.Time(binary.LittleEndian.Uint64(f.meta[arrivedAt:])), true
}

// putFrame fills in what precedes a record's content: b begins with room for it,
// and the meta data follow.
func putFrame(b []byte, marker uint32, pos Position, dataLen int, dataCRC uint32) {
	binary.LittleEndian.PutUint32(b, marker)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-frameSize))
	binary.LittleEndian.PutUint32(b[8:], uint32(dataLen))
	binary.LittleEndian.PutUint32(b[12:], dataCRC)
	binary.LittleEndian.PutUint32(b[16:], frameCRC(b, pos))
}

// frameCRC is the checksum of a record's place, lengths and meta data. The place is
// part of it so that a record is taken for one only where it was written.
func frameCRC(b []byte, pos Position) uint32 {
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(pos))
	crc := crc32.Update(0, castagnoli, at[:])
	crc = crc32.Update(crc, castagnoli, b[:16])
	return crc32.Update(crc, castagnoli, b[frameSize:])
}
