package episode_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// memoryFS holds files in memory, for fuzzing.
type memoryFS struct {
	vfs.FS
	mu    sync.Mutex
	files map[string]*[]byte
}

func newMemoryFS(files map[string][]byte) *memoryFS {
	m := &memoryFS{files: map[string]*[]byte{}}
	for name, b := range files {
		b = bytes.Clone(b)
		m.files[name] = &b
	}
	return m
}

func (m *memoryFS) OpenFile(name string, flag int, _ fs.FileMode) (vfs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.files[name]
	if b == nil {
		if flag&os.O_CREATE == 0 {
			return nil, fs.ErrNotExist
		}
		b = new([]byte)
		m.files[name] = b
	}
	return &memoryFile{b: b}, nil
}

func (m *memoryFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memoryFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

func (m *memoryFS) Stat(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }
func (m *memoryFS) SyncDir(string) error             { return nil }

type memoryFile struct {
	b   *[]byte
	off int64
}

func (f *memoryFile) Read([]byte) (int, error) { return 0, errors.New("not needed") }

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(*f.b)) {
		return 0, io.EOF
	}
	n := copy(p, (*f.b)[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Write(p []byte) (int, error) {
	*f.b = append((*f.b)[:f.off], p...)
	f.off += int64(len(p))
	return len(p), nil
}

func (f *memoryFile) Seek(off int64, _ int) (int64, error) { f.off = off; return off, nil }
func (f *memoryFile) Close() error                         { return nil }
func (f *memoryFile) Sync() error                          { return nil }
func (f *memoryFile) Truncate(n int64) error               { *f.b = (*f.b)[:n]; return nil }
func (f *memoryFile) Stat() (fs.FileInfo, error)           { return memoryInfo{int64(len(*f.b))}, nil }

type memoryInfo struct{ size int64 }

func (i memoryInfo) Name() string     { return "" }
func (i memoryInfo) Size() int64      { return i.size }
func (memoryInfo) Mode() fs.FileMode  { return 0o644 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }
