package codec

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
	ltmv1 "github.com/seed-301d4374/engram/gen/engram/ltm/v1"
)

// Columns is the codec that stores the payloads of many snapshots as one message,
// member by member, each member's values as a vector. Payloads are read back to the
// byte, but for floats where [Config.MaxError] allows an error. It is made for
// joints, poses, IMUs; everything else survives it, too.
const Columns = names.Columns

// ColumnsType is the type of the messages that codec columns stores.
const ColumnsType = "engram.ltm.v1.Columns"

const (
	columnsVersion = 1
	// columnsPlain is the version of a message that is a payload as it is: one of type
	// Columns would be taken for a coded one.
	columnsPlain = 2
	// maxColumnsCount and maxColumnsBytes bound the snapshots and the payload bytes of
	// one message; what one message holds is decoded to read any of it.
	maxColumnsCount = 1024
	maxColumnsBytes = 512 << 10
	// maxColumnsPayloads bounds the payloads of a message of several snapshots.
	maxColumnsPayloads = 1 << 16
	// columnsValues is how many values that change a message is to hold, so that one
	// snapshot is read within a millisecond.
	columnsValues = 12 << 10
	minColumns    = 64
	// maxColumnsPlain bounds the payload bytes of a message that is read.
	maxColumnsPlain = 64 << 20
	// maxPasses bounds how often payloads are taken apart to find those that cannot be.
	maxPasses = 3
)

func init() {
	codecs[Columns] = maker{
		encoder: func(c Config) (Encoder, []byte, error) {
			e := &columnsEncoder{types: typesOf(c), maxError: c.MaxError, count: maxColumnsCount}
			if c.Shown > 0 {
				e.shown.period = time.Duration(float64(time.Second) / c.Shown)
			}
			return e, nil, nil
		},
		decoder: func(Config) (Decoder, error) { return &columnsDecoder{}, nil },
	}
}

// columnsEncoder gathers snapshots and writes them when there are enough.
type columnsEncoder struct {
	types    func(name string) *plan
	maxError float64
	shown    shown
	pending  []*engram.Snapshot
	plain    []bool // which of these go in plain form
	bytes    int
	payloads int
	count    int // snapshots of the next message
}

// shown finds the snapshots that viewers see.
type shown struct {
	period time.Duration // 0: none
	due    engram.Time
	begun  bool
}

// isTurn reports whether a snapshot of time t is one of them. Turns lie on a grid, so
// that a stream that jitters about the rate is seen as it is.
func (v *shown) isTurn(t engram.Time) bool {
	if v.period == 0 || v.begun && t < v.due && v.due.Sub(t) <= 2*v.period {
		return false
	}
	if next := v.due.Add(v.period); v.begun && next > t.Add(v.period/2) && next.Sub(t) <= v.period {
		v.due = next
	} else {
		v.due = t.Add(v.period)
	}
	v.begun = true
	return true
}

func (e *columnsEncoder) Encode(ctx context.Context, s *engram.Snapshot, emit func(Message) error) error {
	turn := e.shown.isTurn(s.Time)
	if s.Size() > maxColumnsPlain { // more than is read
		if err := e.Flush(ctx, emit); err != nil {
			return err
		}
		return emitUncoded(s, emit)
	}
	if turn && len(e.pending) == 0 {
		return emitUncoded(s, emit)
	}
	// A large one goes alone, lest what waited has to be decoded with it.
	if size := s.Size(); e.bytes > 0 && e.bytes+size > maxColumnsBytes || e.payloads > 0 && e.payloads+len(s.Instances) > maxColumnsPayloads {
		if err := e.Flush(ctx, emit); err != nil {
			return err
		}
	}
	e.pending, e.plain = append(e.pending, s), append(e.plain, turn)
	e.bytes += s.Size()
	e.payloads += len(s.Instances)
	if len(e.pending) < e.count && e.bytes < maxColumnsBytes {
		return nil
	}
	err := e.Flush(ctx, emit)
	if i := slices.Index(e.pending, s); err != nil && i >= 0 {
		e.remove(i) // the others wait on; this one was not taken
		return err
	}
	return nil
}

// emitUncoded emits a snapshot in plain form.
func emitUncoded(s *engram.Snapshot, emit func(Message) error) error {
	return EmitPlain(s, func(m Message) error {
		if m.Type == ColumnsType { // it would be taken for a coded one
			b, err := proto.Marshal(&ltmv1.Columns{Version: columnsPlain, Plain: m.Bytes})
			if err != nil {
				return engram.Errorf(engram.Internal, ColumnsType, "cannot be written: %w", err)
			}
			m.Bytes = b
		}
		return emit(m)
	})
}

// Flush emits what goes in columns before what goes plain beside it.
func (e *columnsEncoder) Flush(_ context.Context, emit func(Message) error) error {
	for len(e.pending) > 0 {
		var coded []*engram.Snapshot
		for i, s := range e.pending {
			if !e.plain[i] {
				coded = append(coded, s)
			}
		}
		if len(coded) > 0 {
			m, n, err := e.message(coded)
			if err != nil {
				return err
			}
			if err := emit(m); err != nil {
				return err
			}
			e.removeCoded(n)
		}
		for len(e.pending) > 0 && e.plain[0] {
			if err := emitUncoded(e.pending[0], emit); err != nil {
				return err
			}
			e.remove(0)
		}
	}
	return nil
}

// removeCoded takes out the first n snapshots that go in columns.
func (e *columnsEncoder) removeCoded(n int) {
	left := 0
	for i, s := range e.pending {
		if !e.plain[i] && n > 0 {
			n--
			e.bytes -= s.Size()
			e.payloads -= len(s.Instances)
			continue
		}
		e.pending[left], e.plain[left] = s, e.plain[i]
		left++
	}
	clear(e.pending[left:])
	e.pending, e.plain = e.pending[:left], e.plain[:left]
}

// remove takes a snapshot that waits out.
func (e *columnsEncoder) remove(i int) {
	e.bytes -= e.pending[i].Size()
	e.payloads -= len(e.pending[i].Instances)
	e.pending, e.plain = slices.Delete(e.pending, i, i+1), slices.Delete(e.plain, i, i+1)
}

// message codes the first of the snapshots that wait, as many as a message may hold.
func (e *columnsEncoder) message(pending []*engram.Snapshot) (m Message, n int, err error) {
	var t *tree
	body := &ltmv1.Columns{Version: columnsVersion}
	for n = len(pending); ; {
		var times []int64
		t, times = e.shred(pending[:n])
		body.Payloads, body.Bytes = uint32(len(times)), 0
		for _, s := range pending[:n] {
			body.Bytes += uint64(s.Size())
		}
		body.Structure, body.Data = t.append(times, e.maxError)
		perSnapshot := t.changing/n + 1
		e.count = min(max(columnsValues/perSnapshot, minColumns), maxColumnsCount)
		if n <= e.count+e.count/2 {
			break
		}
		n = (n + 1) / 2 // more than was known before they were taken apart
	}
	b, err := proto.Marshal(body)
	if err != nil {
		return m, 0, engram.Errorf(engram.Internal, ColumnsType, "cannot be written: %w", err)
	}
	m = Message{Type: ColumnsType, Bytes: b, Key: true}
	for _, s := range pending[:n] {
		m.Snapshots = append(m.Snapshots, WithoutPayload(s))
	}
	return m, n, nil
}

// shred takes all payloads apart, and what cannot be put together again as it was is
// kept as it is. times are those of the payloads' snapshots.
func (e *columnsEncoder) shred(snapshots []*engram.Snapshot) (*tree, []int64) {
	var payloads []*engram.Payload
	var places []place
	var times []int64
	for _, s := range snapshots {
		for i := range s.Instances {
			p := &s.Instances[i].Payload
			payloads = append(payloads, p)
			places = append(places, place{p.Type, i})
			times = append(times, int64(s.Time))
		}
	}
	whole := make([]bool, len(payloads)) // to be kept as they are
	for pass := 0; ; pass++ {
		if pass == maxPasses {
			for i := range whole {
				whole[i] = true
			}
		}
		t := &tree{places: map[place]int{}}
		for i, p := range payloads {
			if whole[i] || !t.shred(e.types(p.Type), places[i], p.Bytes) {
				whole[i] = true
				t.keep(p.Bytes)
			}
		}
		if t.broken {
			continue // a payload failed half-way and left something behind
		}
		if pass < maxPasses && !t.fits() {
			keepLarge(payloads, whole)
			continue
		}
		if t.compare(payloads, whole) == 0 {
			return t, times
		}
	}
}

// keepLarge has the largest of the payloads that are not kept yet kept as they are, half
// of the bytes: together they have more values than are read.
func keepLarge(payloads []*engram.Payload, whole []bool) {
	var order []int
	bytes := 0
	for i, w := range whole {
		if !w {
			order = append(order, i)
			bytes += len(payloads[i].Bytes)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(payloads[b].Bytes) - len(payloads[a].Bytes) })
	for _, i := range order {
		whole[i] = true
		if bytes -= 2 * len(payloads[i].Bytes); bytes <= 0 {
			return
		}
	}
}

func (e *columnsEncoder) Pending() []*engram.Snapshot { return e.pending }

func (e *columnsEncoder) Close() error {
	e.pending, e.plain = nil, nil
	return nil
}

// openColumns returns what a message has in columns, and the times of its payloads' snapshots; nil if it is in plain form,
// which m is made then. All share m's bytes.
func openColumns(m *Message) (*columnsBody, []int64, error) {
	if m.Type != ColumnsType {
		return nil, nil, nil
	}
	body := &columnsBody{}
	if err := body.parse(m.Bytes); err != nil {
		return nil, nil, engram.Errorf(engram.Corrupt, ColumnsType, "a message is damaged: %w", err)
	}
	if body.version == columnsPlain {
		m.Bytes = body.plain
		return nil, nil, nil
	}
	times := make([]int64, 0, len(m.Snapshots))
	for _, s := range m.Snapshots {
		for range s.Instances {
			times = append(times, int64(s.Time))
		}
	}
	switch {
	case body.version != columnsVersion:
		return nil, nil, engram.Errorf(engram.Unsupported, ColumnsType, "layout %d is not known; a newer version of Engram wrote it", body.version)
	case int(body.payloads) != len(times):
		return nil, nil, engram.Errorf(engram.Corrupt, ColumnsType, "a message of %d payloads stands for snapshots of %d", body.payloads, len(times))
	case body.bytes > maxColumnsPlain:
		return nil, nil, engram.Errorf(engram.Corrupt, ColumnsType, "a message of %d bytes of payloads; at most %d are read", body.bytes, maxColumnsPlain)
	}
	return body, times, nil
}

// columnsBody is a message of type engram.ltm.v1.Columns that was not copied.
type columnsBody struct {
	version, payloads      uint32
	bytes                  uint64
	structure, data, plain []byte
}

func (c *columnsBody) parse(b []byte) error {
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		var v uint64
		var content []byte
		at := n
		switch wire {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b[at:])
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b[at:])
		default:
			n = protowire.ConsumeFieldValue(number, wire, b[at:])
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[at+n:]
		switch {
		case wire == protowire.VarintType && number == 1:
			c.version = uint32(v)
		case wire == protowire.VarintType && number == 2:
			c.payloads = uint32(v)
		case wire == protowire.VarintType && number == 3:
			c.bytes = v
		case wire == protowire.BytesType && number == 4:
			c.structure = content
		case wire == protowire.BytesType && number == 5:
			c.data = content
		case wire == protowire.BytesType && number == 6:
			c.plain = content
		}
	}
	return nil
}

type columnsDecoder struct {
	plain  plainDecoder // of snapshots in plain form
	leaves leaves
}

func (d *columnsDecoder) Decode(ctx context.Context, m Message, want []bool) ([]*engram.Snapshot, error) {
	return d.DecodeMembers(ctx, m, want, nil)
}

// DecodeMembers implements [MemberDecoder].
func (d *columnsDecoder) DecodeMembers(ctx context.Context, m Message, want []bool, members Members) ([]*engram.Snapshot, error) {
	body, times, err := openColumns(&m)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return d.plain.Decode(ctx, m, want)
	}
	last := len(m.Snapshots) - 1
	for want != nil && last >= 0 && !want[last] {
		last--
	}
	out := make([]*engram.Snapshot, len(m.Snapshots))
	if last < 0 {
		copy(out, m.Snapshots)
		return out, nil
	}
	t, err := parseTree(body.structure, body.data, times, func(which []int64, root int) idf.Kept {
		return members.ofPayload(m.Snapshots, slices.Index(which, int64(root)+1))
	}, nil)
	if err != nil {
		return nil, err
	}
	first := 0
	for want != nil && !want[first] {
		first++
	}
	payloads := 0 // before first
	for _, s := range m.Snapshots[:first] {
		payloads += len(s.Instances)
	}
	if first > 0 && !t.seek(payloads) {
		first, payloads = 0, 0
	}
	var slab []byte
	if members == nil {
		slab = make([]byte, 0, int(body.bytes))
	}
	snapshots := make([]engram.Snapshot, len(m.Snapshots))
	instances := make([]engram.Instance, 0, len(times))
	for i, s := range m.Snapshots {
		snapshots[i] = *s
		out[i] = &snapshots[i]
		if i < first || i > last {
			continue
		}
		from := len(instances)
		instances = append(instances, s.Instances...)
		snapshots[i].Instances = instances[from:len(instances):len(instances)]
		for j := range s.Instances {
			start := len(slab)
			slab = t.build(slab, payloads)
			payloads++
			if members != nil && start == 0 { // the others are as long, about
				slab = slices.Grow(slab, min(int(body.bytes), len(slab)*(len(times)-payloads)))
			}
			if len(slab) > int(body.bytes) {
				return nil, engram.Errorf(engram.Corrupt, ColumnsType, "the payloads have more than the %d bytes that they are said to have", body.bytes)
			}
			if want == nil || want[i] {
				snapshots[i].Instances[j].Payload.Bytes = slab[start:len(slab):len(slab)]
			} else {
				slab = slab[:start]
			}
		}
	}
	return out, nil
}

func (*columnsDecoder) Close() error { return nil }
