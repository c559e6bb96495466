package episode

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
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
	// found is what an envelope that is lost would say; then chunk is that of the messages.
	found *run
}

// blockTable is an entity's blocks.
type blockTable struct {
	refs    []*blockRef
	blocks  []Block
	ordered bool // starts and ends of the blocks' spans ascend
}

func newBlockTable(refs []*blockRef) *blockTable {
	t := &blockTable{refs: refs, blocks: make([]Block, len(refs), len(refs)+1), ordered: true}
	for i, r := range refs {
		t.blocks[i] = r.Block
		t.ordered = t.ordered && (i == 0 || follows(refs[i-1].Block, r.Block))
	}
	return t
}

// follows reports whether b begins and ends no earlier than a.
func follows(a, b Block) bool { return a.Span.Start <= b.Span.Start && a.Span.End <= b.Span.End }

// timeline implements [Timeline].
type timeline struct {
	*container
	entity engram.ID
	number int64 // of the entity in the episode
	table  *blockTable
	blocks []Block
	tail   []*engram.Snapshot // the last block, if it is not written yet: whole, sorted
	// ordered says that starts and ends of the blocks' spans ascend.
	ordered bool
	// members are those that Load has to read, nil for all.
	members     codec.Members
	membersName string
}

// Members implements [Timeline].
func (t *timeline) Members(name string, of codec.Members) Timeline {
	some := *t
	some.membersName, some.members = name, of
	return &some
}

func (t *timeline) Blocks() []Block { return t.blocks }

// blockIndex is a block's versions, and where their messages are.
type blockIndex struct {
	runs  []*placedRun
	count int     // of versions
	order []int32 // of version i, its place in the order of writing; nil if that is i
}

// place returns the run that holds version k, and its place there.
func (x *blockIndex) place(k int) (r *placedRun, i int) {
	if x.order != nil {
		k = int(x.order[k])
	}
	last := len(x.runs) - 1
	for x.runs[last].first > k {
		last--
	}
	return x.runs[last], k - x.runs[last].first
}

// placedRun is a run, where its chunk lies, and which of the block's versions are its.
type placedRun struct {
	*run
	at    int64 // of the chunk with the messages
	first int   // version, in the order of writing
	// marks are where every markEvery-th of a plain run's messages begins, with the gap
	// before it, once one was looked for.
	marks atomic.Pointer[[]uint32]
}

// markEvery is how many messages are passed over one by one at most.
const markEvery = 64

// from returns the records from the end of message k-1 of a plain run on, given those
// of all.
func (r *placedRun) from(records []byte, k int) (_ []byte, ok bool) {
	at := k / markEvery * markEvery
	if at > 0 {
		marks := r.marks.Load()
		if marks == nil {
			list := make([]uint32, 0, r.messages/markEvery)
			rest := records
			for i := range r.messages {
				if i%markEvery == 0 && i > 0 {
					list = append(list, uint32(len(records)-len(rest)))
				}
				if _, rest, ok = r.cut(rest, i); !ok {
					return nil, false
				}
			}
			marks = &list
			r.marks.Store(marks)
		}
		records = records[(*marks)[at/markEvery-1]:]
	}
	for ; at < k; at++ {
		if _, records, ok = r.cut(records, at); !ok {
			return nil, false
		}
	}
	return records, true
}

func (t *timeline) block(i int) error {
	if i < 0 || i >= len(t.blocks) {
		return engram.Errorf(engram.OutOfRange, t.entity.String(), "there is no block %d; there are %d", i, len(t.blocks))
	}
	return nil
}

// Versions implements [Timeline].
func (t *timeline) Versions(ctx context.Context, i int) (*Versions, error) {
	if err := t.block(i); err != nil {
		return nil, err
	}
	if i == len(t.table.refs) {
		return VersionsOf(t.tail), nil
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
	return &Versions{index: x}, nil
}

// Index implements [Timeline].
func (t *timeline) Index(ctx context.Context, i int) ([]*engram.Snapshot, error) {
	v, err := t.Versions(ctx, i)
	if err != nil {
		return nil, err
	}
	return v.snapshots(), nil
}

// Ordered implements [Timeline].
func (t *timeline) Ordered() bool { return t.ordered }

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
	x := &blockIndex{runs: make([]*placedRun, 0, len(ref.segments))}
	size, sorted := 0, true
	for _, s := range ref.segments {
		r, err := t.envelope(ctx, s)
		if err != nil {
			return nil, err
		}
		c := r.columns
		if n := len(x.runs); n > 0 && c.n > 0 && x.count > 0 {
			last, i := x.runs[n-1], x.runs[n-1].columns.n-1
			sorted = sorted && i >= 0 && compareTimes(last.columns, i, c, 0) <= 0
		}
		sorted = sorted && c.sorted
		x.runs = append(x.runs, &placedRun{run: r, at: s.chunk - int64(r.chunkBack), first: x.count})
		x.count += c.n
		size += 200 + c.size() + len(r.form)*12 + len(r.gaps)*4 + r.messages/markEvery*4
	}
	if x.count != ref.Count {
		return nil, engram.Errorf(engram.Corrupt, t.path, "block %d of %s has %d versions; the index says %d", i, t.entity, x.count, ref.Count)
	}
	if !sorted {
		order := make([]int32, x.count)
		for k := range order {
			order[k] = int32(k)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			ra, i := x.place(int(a))
			rb, k := x.place(int(b))
			return compareTimes(ra.columns, i, rb.columns, k)
		})
		x.order = order
		size += 4 * len(order)
	}
	t.cache.put(key, x, int64(size))
	return x, nil
}

// compareTimes orders version i of a and version k of b by time, then by arrival.
func compareTimes(a *columns, i int, b *columns, k int) int {
	return cmp.Or(cmp.Compare(a.time.at(i), b.time.at(k)), cmp.Compare(a.arrived.at(i), b.arrived.at(k)))
}

// envelope reads the envelope of a segment.
func (t *timeline) envelope(ctx context.Context, s segment) (*run, error) {
	if s.found != nil {
		return s.found, nil
	}
	records, err := t.chunk(ctx, s.chunk, uint64(s.length))
	if err != nil {
		return nil, err
	}
	if uint64(s.at) <= uint64(len(records)) {
		if op, content, _, ok := cutRecord(records[s.at:]); ok && op == mcap.OpMessage {
			if m, ok := parseMessage(content); ok {
				r, err := parseEnvelope(m.data)
				if err != nil {
					return nil, engram.Errorf(engram.Corrupt, t.path, "the envelope at %d in the chunk at %d: %w", s.at, s.chunk, err)
				}
				return r, nil
			}
		}
	}
	return nil, engram.Errorf(engram.Corrupt, t.path, "there is no envelope at %d in the chunk at %d", s.at, s.chunk)
}

// Load returns the versions first to last, exclusive, of block i with their payloads.
func (t *timeline) Load(ctx context.Context, i, first, last int) ([]*engram.Snapshot, error) {
	return load(ctx, t, i, first, last, asSnapshots{t})
}

// Numbers implements [Timeline].
func (t *timeline) Numbers(ctx context.Context, i, first, last int, rows *idf.NumberRows) ([][]float64, error) {
	return load(ctx, t, i, first, last, &asRows{t: t, rows: rows})
}

// load returns the versions first to last, exclusive, of block i in a form.
func load[T any](ctx context.Context, t *timeline, i, first, last int, as form[T]) ([]T, error) {
	if err := t.block(i); err != nil {
		return nil, err
	}
	if n := t.blocks[i].Count; first < 0 || last < first || last > n {
		return nil, engram.Errorf(engram.OutOfRange, t.entity.String(), "versions %d to %d of block %d cannot be loaded; it has %d", first, last, i, n)
	}
	out := make([]T, last-first)
	if i == len(t.table.refs) {
		return out, as.of(t.tail[first:last], out)
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
	as.begin(i)
	if x.order == nil || first == last {
		err = loadRuns(ctx, t, i, x, first, last, out, as)
		return out, err
	}
	// What lies together is loaded together.
	wanted := slices.Clone(x.order[first:last])
	slices.Sort(wanted)
	if least, n := int(wanted[0]), int(wanted[len(wanted)-1]-wanted[0])+1; n == len(wanted) || as.around() && n <= 2*len(wanted) {
		found := make([]T, n)
		if err := loadRuns(ctx, t, i, x, least, least+n, found, as); err != nil {
			return nil, err
		}
		for k, o := range x.order[first:last] {
			out[k] = found[int(o)-least]
		}
		return out, nil
	}
	found := make([]T, len(wanted))
	for a := 0; a < len(wanted); {
		b := a + 1
		for b < len(wanted) && wanted[b] == wanted[b-1]+1 {
			b++
		}
		if err := loadRuns(ctx, t, i, x, int(wanted[a]), int(wanted[b-1])+1, found[a:b], as); err != nil {
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

// loadRuns puts the versions first to last, in the order of writing, into out.
func loadRuns[T any](ctx context.Context, t *timeline, i int, x *blockIndex, first, last int, out []T, as form[T]) error {
	for k := range x.runs {
		r := x.runs[k]
		a, b := max(first, r.first), min(last, r.first+r.columns.n)
		if a >= b {
			continue
		}
		into := out[a-first : b-first]
		var err error
		if r.form == nil {
			var list []*engram.Snapshot
			if list, err = t.loadPlain(ctx, r, a-r.first, b-r.first); err == nil {
				err = as.of(list, into)
			}
		} else {
			err = loadCoded(ctx, t, i, x, k, a-r.first, b-r.first, into, as)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// records returns the chunk's records from a run's first message to its last.
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
func (t *timeline) loadPlain(ctx context.Context, r *placedRun, first, last int) ([]*engram.Snapshot, error) {
	b, err := t.records(ctx, r)
	if err != nil {
		return nil, err
	}
	broken := func() error {
		return engram.Errorf(engram.Corrupt, t.path, "the messages of a run of %s in the chunk at %d do not fit its envelope", t.entity, r.at)
	}
	from, to := r.columns.instances(first, last)
	b, ok := r.from(b, from)
	if !ok {
		return nil, broken()
	}
	bytes := 0
	at := b
	for k := from; k < to; k++ {
		content, rest, ok := r.cut(at, k)
		if !ok {
			return nil, broken()
		}
		bytes += len(content) - messageHead
		at = rest
	}
	snapshots := make([]engram.Snapshot, last-first)
	slab := make([]engram.Instance, to-from)
	r.columns.fill(first, snapshots, slab)
	data := make([]byte, 0, bytes)
	for j := range slab {
		content, rest, _ := r.cut(b, from+j)
		at := len(data)
		data = append(data, content[messageHead:]...)
		slab[j].Payload.Bytes = data[at:len(data):len(data)]
		b = rest
	}
	out := make([]*engram.Snapshot, len(snapshots))
	for k := range snapshots {
		out[k] = &snapshots[k]
	}
	return out, nil
}

// timelineOf sorts a tail and puts it behind the blocks.
func (c *container) timelineOf(entity engram.ID, number int64, table *blockTable, tail []*engram.Snapshot, sorted bool) *timeline {
	t := &timeline{container: c, entity: entity, number: number, table: table, blocks: table.blocks, tail: tail, ordered: table.ordered}
	if len(tail) == 0 {
		return t
	}
	if !sorted {
		t.tail = slices.Clone(tail)
		slices.SortStableFunc(t.tail, compareVersions)
	}
	b := Block{Count: len(tail)} // of what is in memory anyway, times are not counted
	for _, s := range tail {
		b.Span, b.Arrived = extend(b.Span, s.Time), extend(b.Arrived, s.Arrived)
	}
	n := len(t.blocks)
	t.ordered = t.ordered && (n == 0 || follows(t.blocks[n-1], b))
	t.blocks = append(slices.Clip(t.blocks), b)
	return t
}
