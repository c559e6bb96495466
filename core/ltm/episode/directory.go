package episode

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	ltmv1 "github.com/seed-301d4374/engram/gen/engram/ltm/v1"
)

// The index is an attachment: the block table of each entity, the directory, and a
// trailer of the directory's length (uint32), its CRC32C (uint32) and indexMagic.

const (
	indexMagic   = "ENGIDX01"
	indexTrailer = 4 + 4 + len(indexMagic)
)

// encodeTable returns a block table.
func encodeTable(refs []*blockRef) ([]byte, error) {
	t := &ltmv1.BlockTable{}
	var start, arrived, chunk int64
	for _, r := range refs {
		t.Start = append(t.Start, int64(r.Span.Start)-start)
		t.Span = append(t.Span, uint64(r.Span.End-r.Span.Start))
		t.ArrivedStart = append(t.ArrivedStart, int64(r.Arrived.Start)-arrived)
		t.ArrivedSpan = append(t.ArrivedSpan, uint64(r.Arrived.End-r.Arrived.Start))
		t.Count = append(t.Count, uint32(r.Count))
		t.Segments = append(t.Segments, uint32(len(r.segments)))
		t.Times = append(t.Times, uint32(r.Times))
		start, arrived = int64(r.Span.Start), int64(r.Arrived.Start)
		for _, s := range r.segments {
			t.Chunk = append(t.Chunk, uint64(s.chunk-chunk))
			t.ChunkLength = append(t.ChunkLength, s.length)
			t.At = append(t.At, s.at)
			chunk = s.chunk
		}
	}
	return proto.Marshal(t)
}

// timesOf returns how many different times the versions of all blocks have; 0 if that
// is not known.
func timesOf(refs []*blockRef) (n uint64) {
	end := engram.MinTime
	for _, r := range refs {
		if r.Count == 0 {
			continue
		}
		if r.Times == 0 || r.Span.Start < end {
			return 0
		}
		n, end = n+uint64(r.Times), r.Span.End
	}
	return n
}

// parseTable reads a block table.
func parseTable(b []byte) ([]*blockRef, error) {
	var t ltmv1.BlockTable
	if err := proto.Unmarshal(b, &t); err != nil {
		return nil, engram.Errorf(engram.Corrupt, "", "a block table cannot be read: %w", err)
	}
	n := len(t.Start)
	if len(t.Span) != n || len(t.ArrivedStart) != n || len(t.ArrivedSpan) != n || len(t.Count) != n || len(t.Segments) != n ||
		len(t.Times) != 0 && len(t.Times) != n || len(t.ChunkLength) != len(t.Chunk) || len(t.At) != len(t.Chunk) {
		return nil, engram.Errorf(engram.Corrupt, "", "the columns of a block table differ in length")
	}
	slab := make([]blockRef, n)
	segments := make([]segment, len(t.Chunk))
	chunk := int64(0)
	for i := range segments {
		chunk += int64(t.Chunk[i])
		segments[i] = segment{chunk: chunk, length: t.ChunkLength[i], at: t.At[i]}
	}
	refs := make([]*blockRef, n)
	var start, arrived int64
	at := 0
	for i := range refs {
		start += t.Start[i]
		arrived += t.ArrivedStart[i]
		k := int(t.Segments[i])
		if k > len(segments)-at {
			return nil, engram.Errorf(engram.Corrupt, "", "a block table has fewer segments than its blocks need")
		}
		slab[i] = blockRef{
			Block: Block{
				Span:    engram.Interval{Start: engram.Time(start), End: engram.Time(start + int64(t.Span[i]))},
				Arrived: engram.Interval{Start: engram.Time(arrived), End: engram.Time(arrived + int64(t.ArrivedSpan[i]))},
				Count:   int(t.Count[i]),
			},
			segments: segments[at : at+k : at+k],
		}
		if len(t.Times) > 0 {
			slab[i].Times = int(t.Times[i])
		}
		if slab[i].Times > slab[i].Count {
			return nil, engram.Errorf(engram.Corrupt, "", "a block of %d versions has %d times", slab[i].Count, slab[i].Times)
		}
		at += k
		refs[i] = &slab[i]
	}
	if at != len(segments) {
		return nil, engram.Errorf(engram.Corrupt, "", "a block table has more segments than its blocks need")
	}
	return refs, nil
}

// dirEntity is an entity in the directory.
type dirEntity struct {
	Entity
	number int64
	offset uint64 // of its block table in the index
	length uint32
	crc    uint32
}

// indexBuilder puts an index together.
type indexBuilder struct {
	buf []byte
	dir ltmv1.Directory
}

// add adds an entity; they come sorted by ID.
func (x *indexBuilder) add(e *Entity, refs []*blockRef) error {
	table, err := encodeTable(refs)
	if err != nil {
		return err
	}
	x.dir.Entities = append(x.dir.Entities, &ltmv1.Directory_Entity{
		Id: e.ID.String(), Type: e.Type, Codec: e.Codec,
		Start: int64(e.Span.Start), End: int64(e.Span.End), RecordedStart: int64(e.Recorded.Start), RecordedEnd: int64(e.Recorded.End),
		ArrivedStart: int64(e.Arrived.Start), ArrivedEnd: int64(e.Arrived.End),
		Snapshots: e.Snapshots, InForce: e.InForce, Bytes: uint64(e.Bytes), Chunks: uint32(e.Chunks), Times: timesOf(refs),
		TableOffset: uint64(len(x.buf)), TableLength: uint32(len(table)), TableCrc: crc32c(table),
	})
	x.buf = append(x.buf, table...)
	return nil
}

// end returns the index.
func (x *indexBuilder) end() ([]byte, error) {
	dir, err := proto.Marshal(&x.dir)
	if err != nil {
		return nil, err
	}
	b := append(x.buf, dir...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(dir)))
	b = binary.LittleEndian.AppendUint32(b, crc32c(dir))
	return append(b, indexMagic...), nil
}

// parseTrailer reads the trailer of an index of size bytes, and returns where the
// directory lies in it.
func parseTrailer(b []byte, size uint64) (offset uint64, length, crc uint32, err error) {
	if len(b) != indexTrailer || string(b[8:]) != indexMagic {
		return 0, 0, 0, engram.Errorf(engram.Corrupt, "", "the index does not end as one does")
	}
	length, crc = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if uint64(length)+uint64(indexTrailer) > size {
		return 0, 0, 0, engram.Errorf(engram.Corrupt, "", "the index says that its directory has %d bytes; the whole has %d", length, size)
	}
	return size - uint64(indexTrailer) - uint64(length), length, crc, nil
}

// parseDirectory reads a directory whose block tables lie in the first limit bytes
// of the index.
func parseDirectory(b []byte, crc uint32, limit uint64) ([]dirEntity, error) {
	if crc32c(b) != crc {
		return nil, engram.Errorf(engram.Corrupt, "", "the CRC of the index's directory does not fit it")
	}
	var d ltmv1.Directory
	if err := proto.Unmarshal(b, &d); err != nil {
		return nil, engram.Errorf(engram.Corrupt, "", "the index's directory cannot be read: %w", err)
	}
	list := make([]dirEntity, len(d.Entities))
	for i, e := range d.Entities {
		id, err := engram.Parse(e.Id)
		if err != nil || id.Level() != engram.LevelEntity {
			return nil, engram.Errorf(engram.Corrupt, "", "the index's directory names %q, which is no entity", e.Id)
		}
		if i > 0 && list[i-1].ID.Compare(id) >= 0 {
			return nil, engram.Errorf(engram.Corrupt, "", "the index's directory is not sorted at %s", id)
		}
		if e.TableOffset > limit || uint64(e.TableLength) > limit-e.TableOffset {
			return nil, engram.Errorf(engram.Corrupt, "", "the block table of %s lies outside the index", id)
		}
		list[i] = dirEntity{
			Entity: Entity{
				ID: id, Type: e.Type, Codec: e.Codec,
				Span:      engram.Interval{Start: engram.Time(e.Start), End: engram.Time(e.End)},
				Recorded:  engram.Interval{Start: engram.Time(e.RecordedStart), End: engram.Time(e.RecordedEnd)},
				Arrived:   engram.Interval{Start: engram.Time(e.ArrivedStart), End: engram.Time(e.ArrivedEnd)},
				Snapshots: e.Snapshots, InForce: e.InForce, Bytes: int64(e.Bytes), Chunks: int(e.Chunks), Times: e.Times,
			},
			number: int64(i), offset: e.TableOffset, length: e.TableLength, crc: e.TableCrc,
		}
	}
	return list, nil
}
