package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Before returns a file system that calls a function before each operation on fsys that
// changes something, so that tests can stop between any two of them.
func Before(fsys FS, step func()) FS { return &stepFS{fsys, step} }

type stepFS struct {
	FS
	step func()
}

func (s *stepFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	s.step()
	f, err := s.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &stepFile{f, s.step}, nil
}

func (s *stepFS) Rename(from, to string) error { s.step(); return s.FS.Rename(from, to) }
func (s *stepFS) Remove(name string) error     { s.step(); return s.FS.Remove(name) }
func (s *stepFS) SyncDir(name string) error    { s.step(); return s.FS.SyncDir(name) }

type stepFile struct {
	File
	step func()
}

func (f *stepFile) Write(p []byte) (int, error) { f.step(); return f.File.Write(p) }
func (f *stepFile) Sync() error                 { f.step(); return f.File.Sync() }
func (f *stepFile) Truncate(n int64) error      { f.step(); return f.File.Truncate(n) }

// CheckPrivate returns an error that names what in a folder of the computer is not for its
// owner alone: files of mode 0600 and folders of 0700. It counts the files; what is
// removed meanwhile does not count.
func CheckPrivate(dir string) (files int, err error) {
	var shared []error
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			shared = append(shared, fmt.Errorf("%s has the mode %v, want %v", path, info.Mode().Perm(), want))
		}
		return nil
	})
	return files, errors.Join(append(shared, err)...)
}
