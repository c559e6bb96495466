package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"syscall"
)

// A kept file is a small text that must outlive damage: it begins with a checksum, and a
// copy of it, the generation before where a crash came between the two, lies beside it
// under the name with [CopySuffix]. Texts are JSON objects, whose first member becomes the
// checksum, or begin with a comment of YAML.

// CopySuffix ends the name of the copy of a kept file, and DamagedSuffix that of one that
// was put aside because neither it nor its copy could be read.
const (
	CopySuffix    = ".before"
	DamagedSuffix = ".damaged"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	checksumMember  = `{"checksum":"`
	checksumComment = "# checksum: "
	checksumDigits  = 8
	maxAside        = 1000 // folders in the way of what is put aside
)

// ErrChecksum says that a text is not the one that was written.
var ErrChecksum = errors.New("its checksum is wrong")

// WithChecksum returns a text with its checksum.
func WithChecksum(text []byte) []byte {
	begin, end := checksumComment, "\n"
	if bytes.HasPrefix(text, []byte("{")) {
		begin, end = checksumMember, `",`
		if text = text[1:]; bytes.HasPrefix(text, []byte("}")) {
			end = `"`
		}
	}
	rest := append([]byte(end), text...)
	return append(fmt.Appendf(nil, "%s%08x", begin, crc32.Checksum(rest, castagnoli)), rest...)
}

// CheckChecksum returns ErrChecksum if a text has a checksum that is not its own. sealed is
// false if it has none, as what people and earlier versions wrote.
func CheckChecksum(text []byte) (sealed bool, err error) {
	for _, begin := range [...]string{checksumMember, checksumComment} {
		digits, ok := bytes.CutPrefix(text, []byte(begin))
		if !ok {
			continue
		}
		n := min(checksumDigits, len(digits))
		if fmt.Sprintf("%08x", crc32.Checksum(digits[n:], castagnoli)) != string(digits[:n]) {
			return true, ErrChecksum
		}
		return true, nil
	}
	return false, nil
}

// WriteKept writes a kept file; replace is [ReplaceFile], or what does the same. The text
// is durable when it returns without an error; that the copy could not be written is none.
func WriteKept(fsys FS, path string, text []byte, replace func(fsys FS, path string, text []byte) error) error {
	if err := replace(fsys, path, text); err != nil {
		return err
	}
	_ = ReplaceFile(fsys, path+CopySuffix, text) // it is the generation before, or there is none
	return nil
}

// ReadKept has a kept file read by a function, its copy if that fails, and reports as
// trouble what is wrong with it. If neither can be read both are put aside under other
// names; but where the system refuses to read them its error is returned: they may be whole.
// read changes nothing when it fails, and is not called if there is no file; an
// error of it that fatal reports is returned.
func ReadKept(fsys FS, path string, limit int64, read func(text []byte) error, fatal func(error) bool) (trouble, err error) {
	try := func(path string) (there bool, err error) {
		text, err := ReadFile(fsys, path, limit)
		if err == nil && text == nil {
			return false, nil
		}
		if err == nil {
			err = read(text)
		}
		return true, err
	}
	there, wrong := try(path)
	if there && wrong == nil || wrong != nil && fatal(wrong) {
		return nil, wrong
	}
	copied, copyWrong := try(path + CopySuffix)
	switch {
	case copied && copyWrong == nil && there:
		_, _ = PutAside(fsys, path) // a folder would be in the way of what is written
		return fmt.Errorf("it cannot be read, and its copy is used: %w", wrong), nil
	case copied && copyWrong == nil:
		return errors.New("the file is missing, and its copy is used"), nil
	case copyWrong != nil && fatal(copyWrong):
		return nil, copyWrong
	case !there && !copied:
		return nil, nil
	}
	refused := isRefusal(wrong) || isRefusal(copyWrong)
	if wrong = errors.Join(wrong, copyWrong); refused {
		return nil, wrong
	}
	for _, name := range [...]string{path, path + CopySuffix} {
		if _, err := PutAside(fsys, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(wrong, err)
		}
	}
	return fmt.Errorf("neither it nor its copy can be read; they are put aside with the name %s, and it is begun anew: %w", path+DamagedSuffix, wrong), nil
}

// isRefusal reports whether an error says that the system refuses to open or to read a file
// that may be whole: for want of rights, of descriptors or of memory, or because a disk fails.
// What is not there, or is no file, is not refused.
func isRefusal(err error) bool {
	if _, system := errors.AsType[syscall.Errno](err); !system {
		return false
	}
	for _, noFile := range [...]error{syscall.ENOENT, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.ENXIO} {
		if errors.Is(err, noFile) {
			return false
		}
	}
	return true
}

// PutAside renames what stands in the place of a file and cannot be used: to its name with
// [DamagedSuffix], where it takes the place of a file that was put aside before, and with a
// number after it where a folder is in the way. It returns the new name.
func PutAside(fsys FS, path string) (to string, err error) {
	to = path + DamagedSuffix
	for n := 2; ; n++ {
		err = fsys.Rename(path, to)
		inTheWay := errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR)
		if !inTheWay || n > maxAside {
			return to, err
		}
		to = fmt.Sprintf("%s%s-%d", path, DamagedSuffix, n)
	}
}
