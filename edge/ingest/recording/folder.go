package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/tempdir"
)

// metadataFile is the name of the file that describes a rosbag2 recording.
const metadataFile = "metadata.yaml"

// metadata is what rosbag2 writes about a recording.
type metadata struct {
	StorageIdentifier string   `yaml:"storage_identifier"`
	RelativeFilePaths []string `yaml:"relative_file_paths"`
	MessageCount      uint64   `yaml:"message_count"`
	StartingTime      struct {
		Nanoseconds int64 `yaml:"nanoseconds_since_epoch"`
	} `yaml:"starting_time"`
	Duration struct {
		Nanoseconds int64 `yaml:"nanoseconds"`
	} `yaml:"duration"`
	CompressionMode string `yaml:"compression_mode"`
}

// maxMetadata is the largest metadata file read.
const maxMetadata = 64 << 20

// parseMetadata reads the metadata of a recording: the content of a file, or of
// the database, which has it without the outer key.
func parseMetadata(b []byte) (m metadata, err error) {
	var file struct {
		Info *metadata `yaml:"rosbag2_bagfile_information"`
	}
	if err := yaml.Unmarshal(b, &file); err == nil && file.Info != nil {
		return *file.Info, nil
	}
	err = yaml.Unmarshal(b, &m)
	return m, err
}

// folder reads the parts of a split recording one after the other.
type folder struct {
	path  string
	parts []string
	sizes []int64
	meta  metadata

	part      int // of current
	current   Reader
	doneSize  int64 // of the parts before
	total     int64
	delivered uint64
	loss      []Loss
	found     []Aside // in the parts before
	back      time.Duration
	ended     bool
}

func openFolder(path string) (Reader, error) {
	f := &folder{path: path}
	b, err := readLimited(filepath.Join(path, metadataFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		if f.parts, err = recordingsIn(path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, engram.Errorf(engram.Unavailable, filepath.Join(path, metadataFile), "cannot be read: %w", err)
	default:
		if f.meta, err = parseMetadata(b); err != nil {
			return nil, engram.Errorf(engram.Invalid, filepath.Join(path, metadataFile), "is not a rosbag2 description: %s", yaml.FormatError(err, false, false))
		}
		for _, p := range f.meta.RelativeFilePaths {
			// Old recordings have the folder's own name in front. What lies outside the
			// folder is none of its parts.
			p = filepath.FromSlash(p)
			if _, err := os.Stat(filepath.Join(path, p)); err != nil || !filepath.IsLocal(p) {
				p = filepath.Base(p)
			}
			f.parts = append(f.parts, present(filepath.Join(path, p)))
		}
	}
	if len(f.parts) == 0 {
		return nil, engram.Errorf(engram.Invalid, path, "holds no recording")
	}
	for _, p := range f.parts {
		size := int64(0)
		if info, err := os.Stat(p); err == nil {
			size = info.Size()
		}
		f.sizes = append(f.sizes, size)
		f.total += size
	}
	// One part at least must be readable, or nothing is imported at all.
	if err := f.openPart(); err != nil {
		return nil, err
	}
	return f, nil
}

// present returns the path of a part of a recording that is there: the one that is named, or that
// of a file that was compressed or decompressed since.
func present(path string) string {
	paths := []string{path}
	for _, suffix := range extensions {
		paths = append(paths, path+suffix)
		if plain, ok := strings.CutSuffix(path, suffix); ok {
			paths = append(paths, plain)
		}
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return path
}

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMetadata+1))
	if err == nil && len(b) > maxMetadata {
		err = fmt.Errorf("larger than %d bytes", maxMetadata)
	}
	return b, err
}

// recordingsIn lists the recordings in a folder by their content, in the natural
// order of their names: part 2 before part 10.
func recordingsIn(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be read: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && isRecording(filepath.Join(path, e.Name())) {
			names = append(names, e.Name())
		}
	}
	// What was compressed or decompressed and left beside the result is one recording, not two.
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return Unpacked(n) != n && slices.Contains(names, Unpacked(n))
	})
	slices.SortFunc(names, compareNatural)
	for i, n := range names {
		names[i] = filepath.Join(path, n)
	}
	return names, nil
}

// List returns the recordings that path holds: those in a folder that has no
// metadata.yaml to say that they are parts of one, by their content, with the
// folders of rosbag2 recordings below it; else path itself.
func List(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || isSplit(path) {
		return []string{path}, nil //nolint:nilerr // Open says what is wrong with it
	}
	names, err := recordingsIn(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be read: %w", err)
	}
	for _, e := range entries {
		if sub := filepath.Join(path, e.Name()); e.IsDir() && isSplit(sub) {
			names = append(names, sub)
		}
	}
	if len(names) == 0 {
		return []string{path}, nil
	}
	return names, nil
}

// isSplit reports whether the folder is described as one recording.
func isSplit(path string) bool {
	_, err := os.Stat(filepath.Join(path, metadataFile))
	return err == nil
}

func isRecording(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	src := io.Reader(f)
	head := make([]byte, headLen)
	if n, _ := f.ReadAt(head, 0); compressionOf(head[:n]) != "" {
		plain, done, err := decompressed(compressionOf(head[:n]), f)
		if err != nil {
			return false
		}
		defer done()
		src = plain
	}
	n, _ := io.ReadFull(src, head)
	for _, magic := range [][]byte{mcapMagic, bagMagic, sqliteMagic} {
		if n >= len(magic) && string(head[:len(magic)]) == string(magic) {
			return true
		}
	}
	return false
}

// compareNatural compares names with the numbers in them taken as numbers.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		na, ra := leadingDigits(a)
		nb, rb := leadingDigits(b)
		if na == "" || nb == "" {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		ta, tb := strings.TrimLeft(na, "0"), strings.TrimLeft(nb, "0")
		if len(ta) != len(tb) {
			return len(ta) - len(tb)
		}
		if c := strings.Compare(ta, tb); c != 0 {
			return c
		}
		a, b = ra, rb
	}
	return len(a) - len(b)
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// openPart opens the next part that can be read; those that cannot are lost. The
// error is that of the last part if no part could be read at all.
func (f *folder) openPart() error {
	var failed error
	for ; f.part < len(f.parts); f.part++ {
		r, err := openFile(f.parts[f.part])
		if err == nil {
			f.current = r
			return nil
		}
		failed = err
		f.loss = append(f.loss, Loss{File: f.parts[f.part], Bytes: f.sizes[f.part], Reason: "a part of the recording cannot be read: " + err.Error()})
		f.doneSize += f.sizes[f.part]
	}
	return failed
}

// Next implements Reader.
func (f *folder) Next() (Message, error) {
	for f.current != nil {
		m, err := f.current.Next()
		if err == nil {
			f.delivered++
			return m, nil
		}
		if err != io.EOF {
			return m, err
		}
		f.loss = append(f.loss, f.current.Loss()...)
		f.found = append(f.found, Asides(f.current)...)
		f.back = max(f.back, GoneBack(f.current))
		f.current.Close()
		f.current = nil
		f.doneSize += f.sizes[f.part]
		f.part++
		f.openPart() //nolint:errcheck // what cannot be opened is among the losses
	}
	if !f.ended {
		f.ended = true
		if len(f.loss) == 0 && f.meta.MessageCount > f.delivered {
			f.loss = append(f.loss, Loss{File: filepath.Join(f.path, metadataFile), Messages: f.meta.MessageCount - f.delivered,
				Reason: fmt.Sprintf("the metadata count %d messages, %d were read", f.meta.MessageCount, f.delivered)})
		}
	}
	return Message{}, io.EOF
}

// Span implements Reader.
func (f *folder) Span() engram.Interval {
	start := engram.Time(f.meta.StartingTime.Nanoseconds)
	if start < 0 || start == engram.MaxTime || f.meta.Duration.Nanoseconds < 0 || f.meta.MessageCount == 0 {
		return engram.Interval{}
	}
	return engram.Interval{Start: start, End: start.Add(time.Duration(f.meta.Duration.Nanoseconds)).Add(1)}
}

// Progress implements Reader.
func (f *folder) Progress() (done, total int64) {
	done = f.doneSize
	if f.current != nil {
		d, _ := f.current.Progress()
		done += d
	}
	return min(done, f.total), f.total
}

// Loss implements Reader.
func (f *folder) Loss() []Loss {
	if f.current != nil {
		return append(slices.Clone(f.loss), f.current.Loss()...)
	}
	return f.loss
}

// Close implements Reader.
func (f *folder) Close() error {
	if f.current != nil {
		return f.current.Close()
	}
	return nil
}

// maxUnpacked is the largest recording that is decompressed as a whole.
const maxUnpacked = 256 << 30

// unpacked is a reader of a temporary file.
type unpacked struct {
	Reader
	dir *tempdir.Dir
}

// Close implements Reader.
func (u unpacked) Close() error {
	err := u.Reader.Close()
	return errors.Join(err, u.dir.Remove())
}

// openCompressed reads a recording that is compressed as a whole, as rosbag2's
// compression mode "file" leaves it, from a temporary copy.
func openCompressed(path string, f *os.File, compression string) (Reader, error) {
	defer f.Close()
	plain, done, err := decompressed(compression, f)
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, path, "cannot be decompressed: %w", err)
	}
	defer done()
	dir, err := tempdir.Make("engram-unpacked-")
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "no room to decompress it: %w", err)
	}
	temp, err := os.Create(filepath.Join(dir.Path, "recording"))
	if err != nil {
		dir.Remove()
		return nil, engram.Errorf(engram.Unavailable, path, "no room to decompress it: %w", err)
	}
	_, cause := io.Copy(temp, io.LimitReader(plain, maxUnpacked))
	info, err := temp.Stat()
	var r Reader
	if err == nil {
		head := make([]byte, headLen)
		if n, _ := temp.ReadAt(head, 0); compressionOf(head[:n]) != "" {
			err = engram.Errorf(engram.Invalid, path, "is compressed more than once")
		} else {
			r, err = openFormat(temp.Name(), temp)
		}
	}
	if err != nil {
		temp.Close()
		dir.Remove()
		if cause != nil {
			return nil, engram.Errorf(engram.Corrupt, path, "cannot be decompressed: %w", cause)
		}
		return nil, engram.Errorf(engram.CodeOf(err), path, "decompressed: %w", err)
	}
	if cause != nil {
		r = lossy{r, Loss{File: path, Offset: info.Size(), Reason: "the compressed file is damaged or cut: " + cause.Error()}}
	}
	return unpacked{r, dir}, nil
}

// lossy adds a loss to those of a reader.
type lossy struct {
	Reader
	loss Loss
}

// Loss implements Reader.
func (l lossy) Loss() []Loss { return append([]Loss{l.loss}, l.Reader.Loss()...) }
