package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram"
)

// Channel is a stream of messages of one type on one topic.
type Channel struct {
	Topic string
	// Type is the messages' type as recorded: "sensor_msgs/Imu",
	// "sensor_msgs/msg/Imu", "foxglove.RawImage"; empty if there is none.
	Type string
	// Encoding of the messages: "ros1", "cdr", "protobuf", "json", or another name.
	Encoding string
	// SchemaEncoding says what Schema is: "ros1msg", "ros2msg", "ros2idl",
	// "protobuf" (a FileDescriptorSet), "jsonschema"; empty if there is none.
	SchemaEncoding string
	Schema         []byte
	Metadata       map[string]string // as MCAP has it
}

// Message is one recorded message.
type Message struct {
	Channel *Channel
	LogTime engram.Time // when it was recorded
	// PublishTime is when it was sent, where the format keeps that; else LogTime.
	PublishTime engram.Time
	Sequence    uint32 // as MCAP has it
	Data        []byte // valid until the next call of Next
	// Damage says why Data are still compressed; nil if they are not.
	Damage error
}

// Reader reads a recording. Its methods are for one goroutine at a time.
type Reader interface {
	// Next returns the next message, and io.EOF after the last.
	Next() (Message, error)
	// Progress returns how many of the recording's bytes have been dealt with.
	Progress() (done, total int64)
	// Span returns the time span of the messages as far as it is known before they
	// are read; empty if it is not.
	Span() engram.Interval
	// Loss returns what could not be read so far; it is complete after io.EOF.
	Loss() []Loss
	// Close releases files and goroutines.
	Close() error
}

// Open opens a recording: an MCAP file, a ROS 1 bag, a rosbag2 database, a rosbag2
// metadata.yaml, or a folder that holds the parts of a split recording; files and messages
// may be compressed by zstd, lz4, bzip2 or gzip, whatever they are called. The error is NotFound, Invalid for an empty file or one of another kind, Unsupported for a
// format that is known and not read, and Corrupt if not even the header is whole.
func Open(path string) (Reader, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, engram.Errorf(engram.NotFound, path, "no such file or folder")
	case err != nil:
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be read: %w", err)
	}
	open, at := openFile, path
	if info.IsDir() {
		open = openFolder
	} else if filepath.Base(path) == metadataFile {
		open, at = openFolder, filepath.Dir(path)
	}
	r, err := open(at)
	if err != nil {
		return nil, err
	}
	return &singly{Reader: r, most: maxMessage}, nil
}

// headLen is how much of a file is enough to know its format.
const headLen = 16

var (
	mcapMagic   = []byte("\x89MCAP0\r\n")
	bagMagic    = []byte("#ROSBAG V2.0\n")
	sqliteMagic = []byte("SQLite format 3\x00")
)

func openFile(path string) (Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be opened: %w", err)
	}
	r, err := openFormat(path, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// openFormat opens the file by its first bytes. The reader it returns owns f.
func openFormat(path string, f *os.File) (Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, engram.Errorf(engram.Invalid, path, "is not a regular file")
	}
	head := make([]byte, headLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be read: %w", err)
	}
	head = head[:n]
	switch {
	case n == 0:
		return nil, engram.Errorf(engram.Invalid, path, "is empty")
	case bytes.HasPrefix(head, mcapMagic):
		return openMCAP(path, f, info.Size())
	case bytes.HasPrefix(head, bagMagic):
		return openBag(path, f, info.Size())
	case bytes.HasPrefix(head, sqliteMagic):
		f.Close()
		return openSQLite(path, info.Size())
	case compressionOf(head) != "":
		return openCompressed(path, f, compressionOf(head))
	case packedBy(head) != "":
		return nil, engram.Errorf(engram.Unsupported, path, "is packed by %s, which is not read; unpack it first", packedBy(head))
	case bytes.HasPrefix(head, []byte("#ROSBAG V")):
		return nil, engram.Errorf(engram.Unsupported, path, "is a bag of version %q; migrate it with `rosbag reindex` or `rosbag fix`", bytes.TrimSpace(head[9:]))
	case bytes.HasPrefix(mcapMagic, head), bytes.HasPrefix(bagMagic, head), bytes.HasPrefix(sqliteMagic, head):
		return nil, engram.Errorf(engram.Corrupt, path, "is cut off in its header, after %d bytes", n)
	}
	return nil, engram.Errorf(engram.Invalid, path, "is not a recording: neither MCAP nor a ROS bag nor a rosbag2 database")
}
