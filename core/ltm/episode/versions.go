package episode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sort"

	"github.com/seed-301d4374/engram"
)

// Versions are the versions of a block without their payloads, by time, those of one
// time by arrival. They are kept in a few bytes each, and made into snapshots on
// demand. They do not change; safe for concurrent use.
type Versions struct {
	index *blockIndex
	tail  []*engram.Snapshot // instead of index, of what is not written yet
}

// VersionsOf returns versions that are in memory, sorted by time, those of one time by
// arrival. It keeps the slice.
func VersionsOf(sorted []*engram.Snapshot) *Versions { return &Versions{tail: sorted} }

// Len returns how many there are.
func (v *Versions) Len() int {
	if v.index == nil {
		return len(v.tail)
	}
	return v.index.count
}

// Time returns the time of version k.
func (v *Versions) Time(k int) engram.Time {
	if v.index == nil {
		return v.tail[k].Time
	}
	r, i := v.index.place(k)
	return engram.Time(r.columns.time.at(i))
}

// Arrived returns when version k arrived.
func (v *Versions) Arrived(k int) engram.Time {
	if v.index == nil {
		return v.tail[k].Arrived
	}
	r, i := v.index.place(k)
	return engram.Time(r.columns.arrived.at(i))
}

// Number returns the update number of version k.
func (v *Versions) Number(k int) uint64 {
	if v.index == nil {
		return v.tail[k].Number
	}
	r, i := v.index.place(k)
	return uint64(r.columns.number.at(i))
}

// Snapshot returns version k; the snapshot is the caller's.
func (v *Versions) Snapshot(k int) *engram.Snapshot {
	if v.index == nil {
		return withoutPayloads(v.tail[k : k+1])[0]
	}
	r, i := v.index.place(k)
	return r.columns.snapshots(i, i+1)[0]
}

// Search returns the first version whose time is not before t; Len if there is none.
func (v *Versions) Search(t engram.Time) int {
	return sort.Search(v.Len(), func(k int) bool { return v.Time(k) >= t })
}

// snapshots returns all versions.
func (v *Versions) snapshots() []*engram.Snapshot {
	if v.index == nil {
		return withoutPayloads(v.tail)
	}
	var list []*engram.Snapshot
	for _, r := range v.index.runs {
		list = append(list, r.columns.snapshots(0, r.columns.n)...)
	}
	if v.index.order == nil {
		return list
	}
	sorted := make([]*engram.Snapshot, len(list))
	for k, o := range v.index.order {
		sorted[k] = list[o]
	}
	return sorted
}

func withoutPayloads(versions []*engram.Snapshot) []*engram.Snapshot {
	n := 0
	for _, s := range versions {
		n += len(s.Instances)
	}
	out := make([]*engram.Snapshot, len(versions))
	snapshots := make([]engram.Snapshot, len(versions))
	slab := make([]engram.Instance, 0, n)
	for i, s := range versions {
		at := len(slab)
		slab = append(slab, s.Instances...)
		snapshots[i] = *s
		snapshots[i].Instances = slab[at:len(slab):len(slab)]
		out[i] = &snapshots[i]
	}
	for i := range slab {
		slab[i].Payload.Bytes = nil
	}
	return out
}

// columns are the versions of a run, in the order of writing.
type columns struct {
	n                      int
	time, arrived, number  column
	several                bool   // not one instance each
	starts                 column // of the versions among the instances, and their count; if several
	early                  column // of each instance, how long before arrived it was sent
	unsent, confidence, of column // whether that was not said; the bits of a float32; an index of types
	types                  []string
	sorted                 bool // by time and arrival
}

// instances returns which instances are those of the versions first to last, exclusive.
func (c *columns) instances(first, last int) (from, to int) {
	if !c.several {
		return first, last
	}
	return int(c.starts.at(first)), int(c.starts.at(last))
}

// fill makes the versions from first on into snapshots; slab has room for just their
// instances.
func (c *columns) fill(first int, snapshots []engram.Snapshot, slab []engram.Instance) {
	for k := range snapshots {
		s, i := &snapshots[k], first+k
		s.Time, s.Arrived, s.Number = engram.Time(c.time.at(i)), engram.Time(c.arrived.at(i)), uint64(c.number.at(i))
		from, to := c.instances(i, i+1)
		s.Instances = slab[: to-from : to-from]
		slab = slab[to-from:]
		for j := range s.Instances {
			in := &s.Instances[j]
			in.Sent = s.Arrived - engram.Time(c.early.at(from+j))
			in.HasSent = c.unsent.at(from+j) == 0
			in.Confidence = math.Float32frombits(uint32(c.confidence.at(from + j)))
			in.Payload.Type = c.types[c.of.at(from+j)]
		}
	}
}

// snapshots returns the versions first to last, exclusive.
func (c *columns) snapshots(first, last int) []*engram.Snapshot {
	return c.snapshotsIn(&snapshotRoom{}, first, last)
}

// snapshotsIn returns the versions first to last, exclusive, in a room: those that it had before are lost.
func (c *columns) snapshotsIn(room *snapshotRoom, first, last int) []*engram.Snapshot {
	from, to := c.instances(first, last)
	n, instances := last-first, to-from
	if len(room.out) < n {
		room.list, room.out = make([]engram.Snapshot, n), make([]*engram.Snapshot, n)
		for i := range room.list {
			room.out[i] = &room.list[i]
		}
	}
	if len(room.slab) < instances {
		room.slab = make([]engram.Instance, instances)
	}
	c.fill(first, room.list[:n], room.slab[:instances])
	return room.out[:n:n]
}

// snapshotRoom is memory for snapshots without payloads.
type snapshotRoom struct {
	list []engram.Snapshot
	out  []*engram.Snapshot // to list
	slab []engram.Instance
}

// size is about how many bytes they take.
func (c *columns) size() int {
	n := 400
	for _, col := range [...]*column{&c.time, &c.arrived, &c.number, &c.starts, &c.early, &c.unsent, &c.confidence, &c.of} {
		n += len(col.bytes)
	}
	return n
}

// column is a list of integers, of which each takes as many bytes as what the largest
// exceeds the smallest by needs.
type column struct {
	base  int64
	mask  uint64
	width int
	bytes []byte // with a few at the end, so that eight can be read anywhere
}

// pack makes a column.
func pack(values []int64) column {
	if len(values) == 0 {
		return column{}
	}
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	c := column{base: least, width: (bits.Len64(uint64(most-least)) + 7) / 8}
	if c.width == 0 {
		return c
	}
	c.mask = 1<<(8*c.width) - 1
	c.bytes = make([]byte, (len(values)-1)*c.width+8)
	for i, v := range values {
		binary.LittleEndian.PutUint64(c.bytes[i*c.width:], uint64(v-least))
	}
	return c
}

func (c *column) at(i int) int64 {
	if c.width == 0 {
		return c.base
	}
	return c.base + int64(binary.LittleEndian.Uint64(c.bytes[i*c.width:])&c.mask)
}
