package episode

import (
	"context"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
)

// blockRef is a block and where it lies.
type blockRef struct {
	Block
	segments []segment
}

// segment is where an envelope lies.
type segment struct {
	chunk  int64  // of the envelope's chunk, in the file
	length uint32 // of its record
	at     uint32 // of the envelope's record in the chunk's records
}

// blockTable is an entity's blocks.
type blockTable struct {
	refs   []*blockRef
	blocks []Block
}

func newBlockTable(refs []*blockRef) *blockTable {
	t := &blockTable{refs: refs, blocks: make([]Block, len(refs), len(refs)+1)}
	for i, r := range refs {
		t.blocks[i] = r.Block
	}
	return t
}

// timeline implements [Timeline].
type timeline struct {
	*container
	entity engram.ID
	number int64 // of the entity in the episode
	table  *blockTable
	blocks []Block
	tail   []*engram.Snapshot // the last block, if it is not written yet: whole, sorted
}

func (t *timeline) Blocks() []Block { return t.blocks }

// blockIndex is a decoded block: its versions, and where their messages are.
type blockIndex struct {
	versions []*engram.Snapshot // sorted
	order    []int32            // of versions[i], its place in the order of writing; nil if that is i
	runs     []placedRun
}

// placedRun is a run, where its chunk lies, and which of the block's versions are its.
type placedRun struct {
	*run
	at    int64 // of the chunk with the messages
	first int   // version, in the order of writing
}

func (t *timeline) block(i int) error {
	if i < 0 || i >= len(t.blocks) {
		return engram.Errorf(engram.OutOfRange, t.entity.String(), "there is no block %d; there are %d", i, len(t.blocks))
	}
	return nil
}

// Index returns the versions of block i without their payloads' bytes.
func (t *timeline) Index(ctx context.Context, i int) ([]*engram.Snapshot, error) {
	if err := t.block(i); err != nil {
		return nil, err
	}
	if i == len(t.table.refs) {
		return withoutPayloads(t.tail), nil
	}
	done, err := t.use()
	if err != nil {
		return nil, err
	}
	defer done()
	x, err := t.index(ctx, i)
	if err != nil {
		return nil, err
	}
	return x.versions, nil
}

func (t *timeline) index(ctx context.Context, i int) (*blockIndex, error) {
	ref := t.table.refs[i]
	key := cacheKey{source: t.source, kind: cacheIndex}
	if len(ref.segments) > 0 {
		s := ref.segments[0]
		key.offset, key.at = s.chunk, int64(s.at)<<8|int64(min(len(ref.segments), 255))
	}
	if v, ok := t.cache.get(key); ok {
		return v.(*blockIndex), nil
	}
	x := &blockIndex{versions: make([]*engram.Snapshot, 0, ref.Count)}
	size := 0
	for _, s := range ref.segments {
		r, err := t.envelope(ctx, s)
		if err != nil {
			return nil, err
		}
		x.runs = append(x.runs, placedRun{r, s.chunk - int64(r.chunkBack), len(x.versions)})
		x.versions = append(x.versions, r.versions...)
		size += len(r.form) * 12
	}
	if len(x.versions) != ref.Count {
		return nil, engram.Errorf(engram.Corrupt, t.path, "block %d of %s has %d versions; the index says %d", i, t.entity, len(x.versions), ref.Count)
	}
	if !slices.IsSortedFunc(x.versions, compareVersions) {
		x.order = make([]int32, len(x.versions))
		for k := range x.order {
			x.order[k] = int32(k)
		}
		slices.SortStableFunc(x.order, func(a, b int32) int { return compareVersions(x.versions[a], x.versions[b]) })
		sorted := make([]*engram.Snapshot, len(x.versions))
		for k, o := range x.order {
			sorted[k] = x.versions[o]
		}
		x.versions = sorted
		size += 4 * len(sorted)
	}
	for _, s := range x.versions {
		size += 56 + 56*len(s.Instances)
	}
	t.cache.put(key, x, int64(size))
	return x, nil
}

// envelope reads the envelope of a segment.
func (t *timeline) envelope(ctx context.Context, s segment) (*run, error) {
	records, err := t.chunk(ctx, s.chunk, uint64(s.length))
	if err != nil {
		return nil, err
	}
	if uint64(s.at) <= uint64(len(records)) {
		if op, content, _, ok := cutRecord(records[s.at:]); ok && op == mcap.OpMessage {
			if m, ok := parseMessage(content); ok {
				r, err := parseRun(m.data)
				if err != nil {
					return nil, engram.Errorf(engram.Corrupt, t.path, "the envelope at %d in the chunk at %d: %w", s.at, s.chunk, err)
				}
				return r, nil
			}
		}
	}
	return nil, engram.Errorf(engram.Corrupt, t.path, "there is no envelope at %d in the chunk at %d", s.at, s.chunk)
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

// Load returns the versions first to last, exclusive, of block i with their payloads.
func (t *timeline) Load(ctx context.Context, i, first, last int) ([]*engram.Snapshot, error) {
	if err := t.block(i); err != nil {
		return nil, err
	}
	if n := t.blocks[i].Count; first < 0 || last < first || last > n {
		return nil, engram.Errorf(engram.OutOfRange, t.entity.String(), "versions %d to %d of block %d cannot be loaded; it has %d", first, last, i, n)
	}
	if i == len(t.table.refs) {
		return slices.Clone(t.tail[first:last]), nil
	}
	done, err := t.use()
	if err != nil {
		return nil, err
	}
	defer done()
	x, err := t.index(ctx, i)
	if err != nil {
		return nil, err
	}
	t.ahead.loaded(t, i)
	out := make([]*engram.Snapshot, last-first)
	if x.order == nil {
		err = t.load(ctx, i, x, first, last, out)
		return out, err
	}
	// What lies together is loaded together.
	wanted := slices.Clone(x.order[first:last])
	slices.Sort(wanted)
	found := make([]*engram.Snapshot, len(wanted))
	for a := 0; a < len(wanted); {
		b := a + 1
		for b < len(wanted) && wanted[b] == wanted[b-1]+1 {
			b++
		}
		if err := t.load(ctx, i, x, int(wanted[a]), int(wanted[b-1])+1, found[a:b]); err != nil {
			return nil, err
		}
		a = b
	}
	for k, o := range x.order[first:last] {
		at, _ := slices.BinarySearch(wanted, o)
		out[k] = found[at]
	}
	return out, nil
}

// load puts the versions first to last, in the order of writing, into out.
func (t *timeline) load(ctx context.Context, i int, x *blockIndex, first, last int, out []*engram.Snapshot) error {
	for k := range x.runs {
		r := &x.runs[k]
		a, b := max(first, r.first), min(last, r.first+len(r.versions))
		if a >= b {
			continue
		}
		into := out[a-first : b-first]
		var err error
		if r.form == nil {
			err = t.loadPlain(ctx, r, a-r.first, b-r.first, into)
		} else {
			err = t.loadCoded(ctx, i, x, k, a-r.first, b-r.first, into)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// records returns the bytes of a run.
func (t *timeline) records(ctx context.Context, r *placedRun) ([]byte, error) {
	records, err := t.chunk(ctx, r.at, r.chunkLen)
	if err != nil {
		return nil, err
	}
	if r.offset+r.length > uint64(len(records)) {
		return nil, engram.Errorf(engram.Corrupt, t.path, "a run of %s lies behind the end of its chunk at %d", t.entity, r.at)
	}
	return records[r.offset : r.offset+r.length], nil
}

// loadPlain loads the run's versions first to last, of which each instance is a
// message. Their payloads share one piece of memory, none with the cache.
func (t *timeline) loadPlain(ctx context.Context, r *placedRun, first, last int, out []*engram.Snapshot) error {
	b, err := t.records(ctx, r)
	if err != nil {
		return err
	}
	broken := func() error {
		return engram.Errorf(engram.Corrupt, t.path, "the messages of a run of %s in the chunk at %d do not fit its envelope", t.entity, r.at)
	}
	skip := 0
	for _, s := range r.versions[:first] {
		skip += len(s.Instances)
	}
	for range skip {
		var ok bool
		if _, _, b, ok = cutRecord(b); !ok {
			return broken()
		}
	}
	instances, bytes := 0, 0
	at := b
	for _, s := range r.versions[first:last] {
		for range s.Instances {
			op, content, rest, ok := cutRecord(at)
			if !ok || op != mcap.OpMessage || len(content) < messageHead {
				return broken()
			}
			instances++
			bytes += len(content) - messageHead
			at = rest
		}
	}
	snapshots := make([]engram.Snapshot, last-first)
	slab := make([]engram.Instance, instances)
	data := make([]byte, 0, bytes)
	for k, s := range r.versions[first:last] {
		n := copy(slab, s.Instances)
		for j := range n {
			_, content, rest, _ := cutRecord(b)
			from := len(data)
			data = append(data, content[messageHead:]...)
			slab[j].Payload.Bytes = data[from:len(data):len(data)]
			b = rest
		}
		snapshots[k] = *s
		snapshots[k].Instances = slab[:n:n]
		out[k] = &snapshots[k]
		slab = slab[n:]
	}
	return nil
}

// timelineOf sorts a tail and puts it behind the blocks.
func (c *container) timelineOf(entity engram.ID, number int64, table *blockTable, tail []*engram.Snapshot, ordered bool) *timeline {
	t := &timeline{container: c, entity: entity, number: number, table: table, blocks: table.blocks, tail: tail}
	if len(tail) == 0 {
		return t
	}
	if !ordered {
		t.tail = slices.Clone(tail)
		slices.SortStableFunc(t.tail, compareVersions)
	}
	b := Block{Count: len(tail)}
	for _, s := range tail {
		b.Span, b.Arrived = extend(b.Span, s.Time), extend(b.Arrived, s.Arrived)
	}
	t.blocks = append(slices.Clip(t.blocks), b)
	return t
}

// sortEntities sorts by ID.
func sortEntities(list []Entity) []Entity {
	slices.SortFunc(list, func(a, b Entity) int { return a.ID.Compare(b.ID) })
	return list
}
