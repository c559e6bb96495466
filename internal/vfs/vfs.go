// Package vfs is the part of a file system that what must survive a crash is
// written through, so that tests can have it fail: short writes, a full disk,
// errors of reading and of fsync. [OS] is the real one, [Faulty] the failing one,
// which also knows what would survive a loss of power.
//
// It knows nothing of what is written.
//
// It is no public API: several wings share it.
package vfs

import (
	"io"
	"io/fs"
)

// FS is a file system. Names are paths as package os takes them. Safe for
// concurrent use.
type FS interface {
	// OpenFile opens a file with flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(oldname, newname string) error
	Remove(name string) error
	MkdirAll(name string, perm fs.FileMode) error
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes what was created, renamed and removed in a folder durable.
	SyncDir(name string) error
	// Space returns the bytes of the disk that holds name: all, and those that are
	// free for this user.
	Space(name string) (total, free uint64, err error)
}

// File is an open file. Its methods may be called by one goroutine at a time,
// except ReadAt, which any number may call.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	io.Closer
	// Sync returns when all that was written is on the disk. After an error it is
	// unknown what is: the pages may be lost though a later Sync succeeds.
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
}
