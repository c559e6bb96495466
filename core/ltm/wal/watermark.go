package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// FileState is what is known to be on the disk of a file of a log.
type FileState struct {
	Number uint64      `json:"number"`
	Marker uint32      `json:"marker"` // of the file's header
	Bytes  int64       `json:"bytes"`  // so many are on the disk
	Begun  engram.Time `json:"begun"`
	Until  engram.Time `json:"until"` // when the newest record in these arrived; 0 is not known
}

// State is what is known to be on the disk of a log.
type State struct {
	Memory string      `json:"memory"`
	First  uint64      `json:"first"` // files of lower numbers need not be there
	Files  []FileState `json:"files,omitempty"`
}

const (
	watermarkFile  = "watermark"
	watermarkMagic = "engrmark"
	watermarkSize  = 56
)

// watermark is the file that says up to where a log is on the disk. It is written, but
// not synced, after each sync of the log, so that what it says is always true, and at
// most some seconds old after a loss of power; before files of the log are removed it is
// synced. It has always the same size, lies in one sector, and takes no room that it does
// not have. Safe for concurrent use.
type watermark struct {
	fs   vfs.FS
	path string
	mu   sync.Mutex
	file vfs.File // nil until it can be opened
}

// note writes the watermark, and syncs it if that is asked for.
func (w *watermark) note(first uint64, s FileState, sync bool) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		if w.file, err = w.fs.OpenFile(w.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			w.file = nil
			return err
		}
	}
	b := make([]byte, 0, watermarkSize)
	b = append(b, watermarkMagic...)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint64(b, s.Number)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Bytes))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Begun))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Until))
	b = binary.LittleEndian.AppendUint32(b, s.Marker)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err = w.file.Seek(0, io.SeekStart); err == nil {
		_, err = w.file.Write(b)
	}
	if err == nil && sync {
		err = w.file.Sync()
	}
	return err
}

// read returns what the watermark says; ok is false if it says nothing that can be
// believed.
func (w *watermark) read() (first uint64, s FileState, ok bool) {
	b, err := vfs.ReadFile(w.fs, w.path, watermarkSize)
	if err != nil {
		return 0, s, false
	}
	return parseWatermark(b)
}

func parseWatermark(b []byte) (first uint64, s FileState, ok bool) {
	const end = watermarkSize - 4
	if len(b) != watermarkSize || string(b[:8]) != watermarkMagic || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return 0, s, false
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	s = FileState{
		Number: u64(16), Bytes: int64(u64(24)), Begun: engram.Time(u64(32)), Until: engram.Time(u64(40)), Marker: binary.LittleEndian.Uint32(b[48:]),
	}
	return u64(8), s, true
}

// close closes the file; what it says was written before.
func (w *watermark) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
}

// ErrGone says that what was on the disk of a log is not there any more.
var ErrGone = errors.New("something that was on the disk is gone")

// expect returns what must be on the disk of the log, by the numbers of its files: what
// the manifest says, and what its watermark does.
func (l *Log) expect() map[uint64]FileState {
	first, last, _ := l.mark.read()
	l.mu.first = max(l.opts.Expected.First, first)
	expected := map[uint64]FileState{}
	for _, s := range append(l.opts.Expected.Files, last) {
		if s.Number >= l.mu.first && s.Bytes > max(recordsAt, expected[s.Number].Bytes) {
			expected[s.Number] = s
		}
	}
	return expected
}

// compare tells what is expected and not there; of what is, it notes that it is on the
// disk. found are the losses of files that could not be read, by their numbers.
func (l *Log) compare(expected map[uint64]FileState, found map[uint64]*Loss) (gone []Loss) {
	for _, number := range slices.Sorted(maps.Keys(expected)) {
		s := expected[number]
		i := slices.IndexFunc(l.mu.files, func(f *logFile) bool { return f.number == number })
		lost := Loss{File: fileName(number), Bytes: s.Bytes, From: s.Begun, Until: s.Until, Gone: true}
		switch {
		case found[number] != nil:
			lost.Reason = found[number].Reason
		case i < 0:
			lost.Reason = "the file is missing"
		case l.mu.files[i].marker != s.Marker:
			lost.Reason = "the file was replaced by another one"
		case l.mu.files[i].size < s.Bytes:
			lost.Offset, lost.Bytes = l.mu.files[i].size, s.Bytes-l.mu.files[i].size
			lost.Reason = "the file was cut short"
		default:
			l.mu.files[i].durable, l.mu.files[i].until = s.Bytes, s.Until
			continue
		}
		lost.Reason += fmt.Sprintf(": %d bytes of it were on the disk, %d are there", s.Bytes, lost.Offset)
		gone = append(gone, lost)
	}
	return gone
}

// state returns what is known to be on the disk.
func (l *Log) state() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{Memory: l.opts.Memory, First: l.mu.first}
	for _, f := range l.mu.files {
		if f.durable > recordsAt {
			s.Files = append(s.Files, f.state())
		}
	}
	return s
}

func (f *logFile) state() FileState {
	return FileState{f.number, f.marker, f.durable, engram.TimeOf(f.created), f.until}
}

// note notes how far the file that is written is on the disk.
func (l *Log) note(sync bool) error {
	l.mu.Lock()
	first, s := l.mu.first, FileState{}
	if n := len(l.mu.files); n > 0 {
		s = l.mu.files[n-1].state()
	}
	l.mu.Unlock()
	return l.mark.note(first, s, sync)
}

// letGo notes durably that files below a number need not be there any more.
func (l *Log) letGo(number uint64) error {
	l.mu.Lock()
	l.mu.first = max(l.mu.first, number)
	l.mu.Unlock()
	return l.note(true)
}
