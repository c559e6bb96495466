package recording

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// Writer writes a recording. Messages are given in the order of their log times. Not for
// concurrent use.
type Writer interface {
	// Write writes a message. Channels of the same content are one.
	Write(m *Message) error
	// Finish writes the end and gives the file its name; it returns the file's bytes.
	Finish() (int64, error)
	// Discard removes what was written, unless it was finished.
	Discard()
}

// partSuffix is behind the name of a file that is being written.
const partSuffix = ".part"

// outFile is a file that gets its name when it is complete.
type outFile struct {
	path string
	f    *os.File
	w    *bufio.Writer
	at   int64
}

func createFile(path string) (*outFile, error) {
	f, err := os.Create(path + partSuffix)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, path, "cannot be written: %w", err)
	}
	return &outFile{path: path, f: f, w: bufio.NewWriterSize(f, 1<<20)}, nil
}

// Write implements io.Writer.
func (o *outFile) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.at += int64(n)
	return n, err
}

func (o *outFile) finish() (int64, error) {
	err := errors.Join(o.w.Flush(), o.f.Sync(), o.f.Close())
	if err == nil {
		err = os.Rename(o.f.Name(), o.path)
	}
	if err != nil {
		return 0, engram.Errorf(engram.Unavailable, o.path, "cannot be written: %w", err)
	}
	return o.at, nil
}

// Discard implements Writer.
func (o *outFile) Discard() {
	o.f.Close()
	os.Remove(o.f.Name())
}

// channelKey is what makes a channel: what two connections have in common is one.
func (c *Channel) key() string {
	var b []byte
	for _, s := range []string{c.Topic, c.Type, c.Encoding, c.SchemaEncoding, string(c.Schema)} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	keys := make([]string, 0, len(c.Metadata))
	for k, v := range c.Metadata {
		keys = append(keys, k+"\x00"+v)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b = append(binary.AppendUvarint(b, uint64(len(k))), k...)
	}
	return string(b)
}

// MCAPWriter writes an MCAP file with chunks of zstd and a summary.
type MCAPWriter struct {
	*outFile
	w        *mcap.Writer
	schemas  map[[3]string]uint16
	byKey    map[string]uint16
	channels map[*Channel]uint16
}

// CreateMCAP creates an MCAP file of a profile, such as "ros2".
func CreateMCAP(path, profile string) (*MCAPWriter, error) {
	f, err := createFile(path)
	if err != nil {
		return nil, err
	}
	m := &MCAPWriter{outFile: f, schemas: map[[3]string]uint16{}, byKey: map[string]uint16{}, channels: map[*Channel]uint16{}}
	m.w, err = mcap.NewWriter(f, &mcap.WriterOptions{Chunked: true, ChunkSize: 1 << 20, Compression: mcap.CompressionZSTD, CompressionLevel: mcap.CompressionLevelFastest, IncludeCRC: true})
	if err == nil {
		err = m.w.WriteHeader(&mcap.Header{Profile: profile, Library: "engram"})
	}
	if err != nil {
		f.Discard()
		return nil, m.failed(err)
	}
	return m, nil
}

func (m *MCAPWriter) failed(err error) error {
	if err == nil {
		return nil
	}
	return engram.Errorf(engram.Unavailable, m.path, "cannot be written: %w", err)
}

// Write implements Writer.
func (m *MCAPWriter) Write(msg *Message) error {
	id, ok := m.channels[msg.Channel]
	if !ok {
		var err error
		if id, err = m.channel(msg.Channel); err != nil {
			return err
		}
		m.channels[msg.Channel] = id
	}
	return m.failed(m.w.WriteMessage(&mcap.Message{
		ChannelID: id, Sequence: msg.Sequence, LogTime: uint64(msg.LogTime), PublishTime: uint64(msg.PublishTime), Data: msg.Data,
	}))
}

func (m *MCAPWriter) channel(c *Channel) (uint16, error) {
	key := c.key()
	if id, ok := m.byKey[key]; ok {
		return id, nil
	}
	if len(m.byKey) >= 1<<16-1 {
		return 0, engram.Errorf(engram.Exhausted, m.path, "an MCAP file has at most 65,535 channels; export fewer entities")
	}
	schema := uint16(0)
	if c.Type != "" {
		name := [3]string{c.Type, c.SchemaEncoding, string(c.Schema)}
		if schema, _ = m.schemas[name]; schema == 0 {
			schema = uint16(len(m.schemas) + 1)
			if err := m.w.WriteSchema(&mcap.Schema{ID: schema, Name: c.Type, Encoding: c.SchemaEncoding, Data: c.Schema}); err != nil {
				return 0, m.failed(err)
			}
			m.schemas[name] = schema
		}
	}
	id := uint16(len(m.byKey) + 1)
	m.byKey[key] = id
	return id, m.failed(m.w.WriteChannel(&mcap.Channel{ID: id, SchemaID: schema, Topic: c.Topic, MessageEncoding: c.Encoding, Metadata: c.Metadata}))
}

// Aside writes an attachment with its content, or a record of metadata.
func (m *MCAPWriter) Aside(a *Aside, content []byte) error {
	if a.Metadata != nil {
		return m.failed(m.w.WriteMetadata(&mcap.Metadata{Name: a.Name, Metadata: a.Metadata}))
	}
	return m.failed(m.w.WriteAttachment(&mcap.Attachment{
		Name: a.Name, MediaType: a.MediaType, LogTime: uint64(a.Logged), CreateTime: uint64(a.Created), DataSize: uint64(len(content)), Data: bytes.NewReader(content),
	}))
}

// Finish implements Writer.
func (m *MCAPWriter) Finish() (int64, error) {
	if err := m.w.Close(); err != nil {
		return 0, m.failed(err)
	}
	return m.finish()
}
