package recording

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"modernc.org/sqlite/vfs"
)

// fullSize returns how long a database is by its header, at least size: a file that
// is shorter was cut.
func fullSize(f io.ReaderAt, size int64) int64 {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return size
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	if page < 512 || page&(page-1) != 0 {
		return size
	}
	full := (size + page - 1) / page * page
	// The count of pages is valid if it was written by the last change.
	if [4]byte(head[24:28]) == [4]byte(head[92:96]) {
		full = max(full, min(int64(binary.BigEndian.Uint32(head[28:]))*page, maxUnpacked))
	}
	return full
}

// extended is a file system of one file: a cut database that reads as zeros behind
// the cut. The database library reads what is there of such a file, where it would
// not even open one that is shorter than its header says.
type extended struct {
	path string
	full int64
}

// extendedName is the file's name in an extended.
const extendedName = "cut.db3"

// Open implements fs.FS.
func (e extended) Open(name string) (fs.File, error) {
	if name != extendedName && name != "/"+extendedName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := os.Open(e.path)
	if err != nil {
		return nil, err
	}
	return &extendedFile{io.NewSectionReader(zeroTailed{f}, 0, e.full), f}, nil
}

// extendedFile is an fs.File and its own fs.FileInfo.
type extendedFile struct {
	*io.SectionReader
	f *os.File
}

func (e *extendedFile) Stat() (fs.FileInfo, error) { return e, nil }
func (e *extendedFile) Close() error               { return e.f.Close() }
func (e *extendedFile) Name() string               { return extendedName }
func (e *extendedFile) Mode() fs.FileMode          { return 0o400 }
func (e *extendedFile) ModTime() time.Time         { return time.Time{} }
func (e *extendedFile) IsDir() bool                { return false }
func (e *extendedFile) Sys() any                   { return nil }

// zeroTailed reads zeros behind the end of a file.
type zeroTailed struct{ f io.ReaderAt }

func (z zeroTailed) ReadAt(b []byte, off int64) (int, error) {
	n, err := z.f.ReadAt(b, off)
	if err == io.EOF {
		clear(b[n:])
		return len(b), nil
	}
	return n, err
}

// extend makes a cut database readable; the DSN is that of the extended one.
func extend(path string, full int64) (dsn string, files *vfs.FS, err error) {
	name, files, err := vfs.New(extended{path, full})
	if err != nil {
		return "", nil, err
	}
	return "file:" + extendedName + "?mode=ro&immutable=1&vfs=" + name, files, nil
}

// closeCut closes what extend returned, if anything, after the database.
func closeCut(files *vfs.FS, err error) error {
	if files == nil {
		return err
	}
	return errors.Join(err, files.Close())
}
