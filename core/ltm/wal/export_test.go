package wal

import (
	"os"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// Unsynced is the computer's file system without the time that syncs take, for tests
// that need none.
var Unsynced vfs.FS = unsyncedFS{vfs.OS}

type unsyncedFS struct{ vfs.FS }

type unsyncedFile struct{ vfs.File }

func (u unsyncedFS) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsyncedFS) SyncDir(string) error { return nil }

func (unsyncedFile) Sync() error { return nil }

// DefinitionsSize returns the bytes of the log of definitions.
func (j *Journal) DefinitionsSize() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.definitions[0].Size()
}
