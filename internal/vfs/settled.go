package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// CopySettled copies a folder that a program writes into, at a moment at which nothing in
// it changes: file by file it would get states that never were, such as a manifest that is
// newer than the files that it names. For tests that take a copy for what a kill leaves.
// The folder to must not exist or be empty.
func CopySettled(to, from string) error {
	const tries = 10_000
	for range tries {
		before, err := fingerprint(from)
		if err == nil {
			err = os.CopyFS(to, os.DirFS(from))
		}
		if err == nil {
			var after string
			if after, err = fingerprint(from); err == nil && before == after {
				return nil
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // but for what was replaced meanwhile
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s never settles", from)
}

// fingerprint tells one state of a folder from another.
func fingerprint(dir string) (string, error) {
	var text []byte
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			text = fmt.Appendf(text, "%s %d %v\n", path, info.Size(), info.ModTime())
		}
		return err
	})
	return string(text), err
}
