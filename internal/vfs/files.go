package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// IsFull reports whether an error says that the disk, or the user's quota of it, has no
// room left.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// ReadFile returns a file's content, nil if there is no such file, and an error if it
// has more than limit bytes.
func ReadFile(fsys FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return text, err
}

// ReplaceFile makes text the content of a file, which only this user may read, so that a
// crash leaves the old or the new one. It uses the name with ".new" at its end.
func ReplaceFile(fsys FS, path string, text []byte) error {
	temporary := path + ".new"
	// One that a crash has left may be of a mode that lets others read it.
	if err := fsys.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(temporary, path)
	}
	if err != nil {
		fsys.Remove(temporary) // as well as it can be done: the disk may be full
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}
