package episode

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path/filepath"
	"strconv"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// ErrRewritten is the cause of the error of [Open] for a file that another program made
// of an episode.
var ErrRewritten = errors.New("another program has written the file anew, and its index does not fit it any more; import it")

// summary is what the end of a sealed episode tells.
type summary struct {
	info     Info
	schemas  map[uint16]*mcap.Schema
	channels map[uint16]*mcap.Channel
	attach   []*mcap.AttachmentIndex
	meta     []*mcap.MetadataIndex
	chunks   []*mcap.ChunkIndex // nil unless asked for
	stats    *mcap.Statistics
	start    int64 // where the summary begins

	indexTold string      // where the index's attachment was written; "" in format 1
	indexAt   int64       // where the index's content lies in the file
	entities  []dirEntity // sorted
}

// tailLen is read at once from the end of a file: most often it holds all.
const tailLen = 64 << 10

// fileTail reads parts of a file of known size, from its end for preference.
type fileTail struct {
	f    vfs.File
	size int64
	from int64 // where tail begins
	tail []byte
}

func (t *fileTail) read(off int64, n uint64) ([]byte, error) {
	if off < 0 || off > t.size || n > uint64(t.size-off) {
		return nil, engram.Errorf(engram.Corrupt, "", "%d bytes at %d are referred to; the file has %d", n, off, t.size)
	}
	if off >= t.from {
		return t.tail[off-t.from:][:n], nil
	}
	b := make([]byte, n)
	if _, err := t.f.ReadAt(b, off); err != nil {
		return nil, engram.Errorf(engram.Corrupt, "", "%d bytes at %d cannot be read: %w", n, off, err)
	}
	return b, nil
}

const footerRecord = recordHead + footerLen

// footer reads the end of the file: where the summary begins and the footer does, and the
// footer's record.
func (t *fileTail) footer() (start, end int64, record []byte, err error) {
	end = t.size - int64(len(mcap.Magic)) - footerRecord
	unsealed := engram.Errorf(engram.Corrupt, "", "the file does not end with a footer: it was cut, or never sealed; repair it")
	if end < int64(len(mcap.Magic)) {
		return 0, 0, nil, unsealed
	}
	last, err := t.read(end, footerRecord+uint64(len(mcap.Magic)))
	if err != nil {
		return 0, 0, nil, err
	}
	op, content, rest, ok := cutRecord(last)
	if !ok || op != mcap.OpFooter || len(content) != footerLen || string(rest) != string(mcap.Magic) {
		return 0, 0, nil, unsealed
	}
	start = int64(binary.LittleEndian.Uint64(content))
	if start <= 0 || start > end {
		return 0, 0, nil, engram.Errorf(engram.Corrupt, "", "the footer says that the summary begins at %d", start)
	}
	return start, end, last, nil
}

// summaryCRC returns the summary's CRC that a footer's record has.
func summaryCRC(footer []byte) uint32 { return binary.LittleEndian.Uint32(footer[footerRecord-4:]) }

// readSummary reads the end of a sealed episode; withChunks also the chunk indices.
func readSummary(f vfs.File, path string, withChunks bool) (*summary, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fileError(path, err)
	}
	s, err := parseSummary(f, st.Size(), withChunks)
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), path, "%w", err)
	}
	if b, err := (&fileTail{f: f, size: st.Size(), from: st.Size()}).read(0, uint64(len(mcap.Magic))+1); err != nil {
		return nil, err
	} else if !bytes.HasPrefix(b, mcap.Magic) || mcap.OpCode(b[len(mcap.Magic)]) != mcap.OpHeader {
		return nil, engram.Errorf(engram.Corrupt, path, "the file does not begin as an MCAP file does; repair it")
	}
	s.info.Name, s.info.Bytes, s.info.Sealed = filepath.Base(path), st.Size(), true
	return s, nil
}

func parseSummary(f vfs.File, size int64, withChunks bool) (*summary, error) {
	t := &fileTail{f: f, size: size, from: size}
	from := max(0, size-tailLen)
	tail, err := t.read(from, uint64(size-from))
	if err != nil {
		return nil, err
	}
	t.tail, t.from = tail, from

	start, end, last, err := t.footer()
	if err != nil {
		return nil, err
	}
	s := &summary{schemas: map[uint16]*mcap.Schema{}, channels: map[uint16]*mcap.Channel{}, start: start}
	b, err := t.read(s.start, uint64(end-s.start))
	if err != nil {
		return nil, err
	}
	crc := crc32.Update(crcIEEE(b), crc32.IEEETable, last[:footerRecord-4])
	if want := summaryCRC(last); want != crc {
		return nil, engram.Errorf(engram.Corrupt, "", "the CRC of the summary does not fit it; repair the episode")
	}
	if err := s.parseRecords(b, withChunks); err != nil {
		return nil, err
	}
	if err := s.readInfo(t); err != nil {
		return nil, err
	}
	return s, s.readDirectory(t)
}

func (s *summary) parseRecords(b []byte, withChunks bool) error {
	for len(b) > 0 {
		op, content, rest, ok := cutRecord(b)
		if !ok {
			return engram.Errorf(engram.Corrupt, "", "a record of the summary is not whole")
		}
		b = rest
		var err error
		switch op {
		case mcap.OpSchema:
			var x *mcap.Schema
			if x, err = mcap.ParseSchema(content); err == nil {
				s.schemas[x.ID] = x
			}
		case mcap.OpChannel:
			var x *mcap.Channel
			if x, err = mcap.ParseChannel(content); err == nil {
				s.channels[x.ID] = x
			}
		case mcap.OpStatistics:
			s.stats, err = mcap.ParseStatistics(content)
		case mcap.OpAttachmentIndex:
			var x *mcap.AttachmentIndex
			if x, err = mcap.ParseAttachmentIndex(content); err == nil {
				s.attach = append(s.attach, x)
			}
		case mcap.OpMetadataIndex:
			var x *mcap.MetadataIndex
			if x, err = mcap.ParseMetadataIndex(content); err == nil {
				s.meta = append(s.meta, x)
			}
		case mcap.OpChunkIndex:
			if !withChunks {
				continue
			}
			var x *mcap.ChunkIndex
			if x, err = mcap.ParseChunkIndex(content); err == nil {
				s.chunks = append(s.chunks, x)
			}
		}
		if err != nil {
			return engram.Errorf(engram.Corrupt, "", "a record of the summary cannot be read: %w", err)
		}
	}
	return nil
}

// metadata reads the metadata record of an index entry.
func (s *summary) metadata(t *fileTail, x *mcap.MetadataIndex) (*mcap.Metadata, error) {
	b, err := t.read(int64(x.Offset), x.Length)
	if err != nil {
		return nil, err
	}
	op, content, rest, ok := cutRecord(b)
	if !ok || op != mcap.OpMetadata || len(rest) > 0 {
		return nil, engram.Errorf(engram.Corrupt, "", "there is no metadata record of %d bytes at %d", x.Length, x.Offset)
	}
	m, err := mcap.ParseMetadata(content)
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, "", "the metadata record at %d cannot be read: %w", x.Offset, err)
	}
	return m, nil
}

func (s *summary) readInfo(t *fileTail) error {
	for _, x := range s.meta {
		if metadataKind(x.Name) != metadataEpisode {
			continue
		}
		m, err := s.metadata(t, x)
		if err == nil {
			s.info, err = parseInfo(m.Metadata)
		}
		if err == nil {
			s.indexTold = m.Metadata[keyIndexAt]
		}
		return err
	}
	return engram.Errorf(engram.Invalid, "", "the file has no metadata of the name %s: it is no episode; import it", metadataEpisode)
}

func (s *summary) readDirectory(t *fileTail) error {
	for _, x := range s.attach {
		if x.Name != attachmentIndex {
			continue
		}
		if s.indexTold != "" && s.indexTold != strconv.FormatUint(x.Offset, 10) {
			return engram.Errorf(engram.Corrupt, "", "%w", ErrRewritten)
		}
		at := int64(x.Offset) + recordHead + 8 + 8 + 4 + int64(len(x.Name)) + 4 + int64(len(x.MediaType)) + 8
		if x.DataSize < uint64(indexTrailer) || x.DataSize > uint64(t.size) {
			return engram.Errorf(engram.Corrupt, "", "the index has %d bytes", x.DataSize)
		}
		b, err := t.read(at+int64(x.DataSize)-int64(indexTrailer), uint64(indexTrailer))
		if err != nil {
			return err
		}
		offset, length, crc, err := parseTrailer(b, x.DataSize)
		if err != nil {
			return err
		}
		if b, err = t.read(at+int64(offset), uint64(length)); err != nil {
			return err
		}
		s.indexAt = at
		if s.entities, err = parseDirectory(b, crc, offset); err == nil && s.info.Version == 1 {
			s.guessRecorded()
		}
		return err
	}
	return engram.Errorf(engram.Corrupt, "", "the file has no index; repair it")
}

// guessRecorded finds out what an episode of format 1 recorded: of entities of which it
// holds values in force or what holds at all times, only the end is known.
func (s *summary) guessRecorded() {
	for i := range s.entities {
		e := &s.entities[i].Entity
		switch {
		case e.InForce == 0 && !Timeless(e.Span.Start):
			e.Recorded = e.Span
		case e.Snapshots > e.InForce && !Timeless(e.Span.End-1):
			e.Recorded = engram.Interval{Start: e.Span.End - 1, End: e.Span.End}
		}
		s.info.Recorded = union(s.info.Recorded, e.Recorded)
	}
}

// channelDefOf returns what a reader needs to know of a channel; dictionary reads
// an attachment.
func channelDefOf(ch *mcap.Channel, schemas map[uint16]*mcap.Schema, dictionary func(string) ([]byte, error)) (*channelDef, error) {
	schema := schemas[ch.SchemaID]
	if schema == nil {
		return nil, engram.Errorf(engram.Corrupt, ch.Topic, "its schema %d is missing", ch.SchemaID)
	}
	def := &channelDef{topic: ch.Topic, message: schema.Name, typ: ch.Metadata["type"], config: codec.Config{Codec: ch.Metadata["codec"]}}
	var err error
	for key, v := range map[string]*float64{"quality": &def.config.Quality, "max_error": &def.config.MaxError} {
		if text := ch.Metadata[key]; text != "" {
			if *v, err = strconv.ParseFloat(text, 64); err != nil {
				return nil, engram.Errorf(engram.Corrupt, ch.Topic, "its %s is %q, which is no number", key, text)
			}
		}
	}
	if text := ch.Metadata["params"]; text != "" {
		if def.config.Params, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, engram.Errorf(engram.Corrupt, ch.Topic, "its codec's parameters are not base64: %w", err)
		}
	}
	if name := ch.Metadata["dictionary"]; name != "" {
		if def.config.Dictionary, err = dictionary(name); err != nil {
			return nil, err
		}
	}
	return def, nil
}
