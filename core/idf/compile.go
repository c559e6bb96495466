package idf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Source is where type files and what they include are found: file systems,
// searched in order.
type Source []fs.FS

const (
	maxSourceFile  = 1 << 20  // bytes of one type file
	maxSourceTotal = 16 << 20 // of a type file with all it includes
)

// sourceReader reads the files of one compilation, within its limits.
type sourceReader struct {
	src   Source
	total int
}

// read returns the content of a file. The error is NotFound, Exhausted or what the
// file system says, and names the path.
func (r *sourceReader) read(name string) ([]byte, error) {
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return nil, engram.Errorf(engram.Invalid, name, "not a path of a type file; write it with slashes, relative to a folder that is searched")
	}
	for _, fsys := range r.src {
		f, err := fsys.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b, err := io.ReadAll(io.LimitReader(f, maxSourceFile+1))
		_ = f.Close() // was only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if r.total += len(b); len(b) > maxSourceFile || r.total > maxSourceTotal {
			return nil, engram.Errorf(engram.Exhausted, name,
				"too large: a type file may have %d bytes, %d with all it includes", maxSourceFile, maxSourceTotal)
		}
		return b, nil
	}
	return nil, engram.Errorf(engram.NotFound, name, "not found in the %d folders that are searched", len(r.src))
}

// cleanPath returns a path without "./", "x/.." and doubled slashes.
func cleanPath(name string) string { return path.Clean(name) }
