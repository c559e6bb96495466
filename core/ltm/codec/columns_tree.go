package codec

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/vector"
)

const (
	// maxListColumns is how many elements of a list have columns of their own; those
	// after them share one.
	maxListColumns = 128
	// maxTreeNodes bounds the members of one message that have columns.
	maxTreeNodes = 4096
	maxTreeDepth = 100
	// maxTreeValues bounds the values of one message.
	maxTreeValues = 1 << 23
)

// place tells payloads apart that have columns of their own: by type, and by the
// instance's index in its snapshot.
type place struct {
	typ      string
	instance int
}

// tree holds payloads member by member. Payloads are added to it in order, or it is
// read from a message, and then they are built in the same order.
type tree struct {
	which []int64 // of each payload: 0 kept as it is, else 1 + the index of its root
	kept  [][]byte
	roots []*node

	places   map[place]int // while shredding
	nodes    int
	broken   bool // a payload failed when some of its values were stored
	changing int  // values in columns that change

	atKept int // while building
}

// node is a member of a message, or an element of a list, or a whole payload. Its
// columns have a value for each time it may occur.
type node struct {
	number protowire.Number
	kind   kind
	occurs occurs

	present column // occursMaybe: 1 where it is there
	count   column // lists: how many elements
	ints    column // of scalars but floats and texts
	floats  []uint64
	texts   [][]byte
	at      int // of floats or texts: the next one to build
	times   int // of a message: how often it occurs, while shredding

	fields []*node // of a message; nil until it occurs for the first time
	elems  []*node // of a list
	rest   *node   // of a list: elements beyond elems

	plan *plan // while shredding

	skip   bool     // its values were not read
	unread unread   // its values, as long as they are not read
	ones   [][]byte // of a list of texts, once it was asked for: what each element is in all lists; nil if that differs
	asked  bool     // for ones
}

// column is a row of integers with a place to read on.
type column struct {
	v  []int64
	at int
}

func (c *column) add(v int64) { c.v = append(c.v, v) }

func (c *column) next() int64 {
	v := c.v[c.at]
	c.at++
	return v
}

// keep stores a payload as it is.
func (t *tree) keep(b []byte) {
	t.which = append(t.which, 0)
	t.kept = append(t.kept, b)
}

// shred stores a payload's members. It returns false if that cannot be done; the tree
// is broken then if something was stored already.
func (t *tree) shred(p *plan, at place, b []byte) bool {
	if p == nil {
		return false
	}
	root, ok := t.places[at]
	if !ok {
		root = len(t.roots)
		t.places[at] = root
		t.roots = append(t.roots, &node{kind: kindMessage, plan: p})
	}
	if !t.message(t.roots[root], b, 1) {
		t.broken = true
		return false
	}
	t.which = append(t.which, int64(root)+1)
	return true
}

func (t *tree) newNode(f *planField, o occurs) *node {
	t.nodes++
	return &node{number: f.number, kind: f.kind, occurs: o, plan: f.sub}
}

// message stores the members of a message that stand in rising order, as all usual
// encoders write them.
func (t *tree) message(n *node, b []byte, depth int) bool {
	if depth > maxTreeDepth {
		return false
	}
	n.times++
	if n.fields == nil {
		if t.nodes+len(n.plan.fields) > 2*maxTreeNodes {
			return false
		}
		n.fields = make([]*node, len(n.plan.fields))
		for i := range n.plan.fields {
			n.fields[i] = t.newNode(&n.plan.fields[i], n.plan.fields[i].occurs)
		}
	}
	for _, f := range n.fields {
		var ok bool
		if b, ok = t.member(f, b, depth); !ok {
			return false
		}
	}
	return len(b) == 0
}

// member takes a member's records from the front of b, if they are there.
func (t *tree) member(f *node, b []byte, depth int) (rest []byte, ok bool) {
	switch f.occurs {
	case occursPacked:
		content, rest, found, ok := record(b, f.number, protowire.BytesType)
		if !ok {
			return nil, false
		}
		count := 0
		for len(content) > 0 {
			size := valueSize(content, f.kind)
			if size <= 0 || !t.value(t.elem(f, count), content[:size], depth) {
				return nil, false
			}
			content = content[size:]
			count++
		}
		if found && count == 0 {
			return nil, false // an empty record
		}
		f.count.add(int64(count))
		return rest, true
	case occursList:
		count := 0
		for {
			content, rest, found, ok := record(b, f.number, f.kind.wire())
			if !ok {
				return nil, false
			}
			if !found {
				f.count.add(int64(count))
				return rest, true
			}
			if !t.value(t.elem(f, count), content, depth) {
				return nil, false
			}
			b = rest
			count++
		}
	}
	content, rest, found, ok := record(b, f.number, f.kind.wire())
	if !ok {
		return nil, false
	}
	if f.occurs == occursMaybe {
		if !found {
			f.present.add(0)
			return rest, true
		}
		f.present.add(1)
	}
	if !found {
		f.zero()
		return rest, true
	}
	return rest, t.value(f, content, depth)
}

// elem returns the node of a list's element.
func (t *tree) elem(f *node, i int) *node {
	if i < len(f.elems) {
		return f.elems[i]
	}
	element := planField{kind: f.kind, sub: f.plan}
	if i < maxListColumns && t.nodes < maxTreeNodes {
		f.elems = append(f.elems, t.newNode(&element, occursUnlessZero))
		return f.elems[i]
	}
	if f.rest == nil {
		f.rest = t.newNode(&element, occursUnlessZero)
	}
	return f.rest
}

// record takes the next record of b if it is of that member: its content without
// tag, and of bytes without length.
func record(b []byte, number protowire.Number, wire protowire.Type) (content, rest []byte, found, ok bool) {
	if len(b) == 0 {
		return nil, nil, false, true
	}
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num < number {
		return nil, nil, false, false
	}
	if num > number {
		return nil, b, false, true
	}
	if typ != wire {
		return nil, nil, false, false
	}
	if b = b[n:]; typ == protowire.BytesType {
		content, n = protowire.ConsumeBytes(b)
		if n < 0 {
			return nil, nil, false, false
		}
		return content, b[n:], true, true
	}
	if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
		return nil, nil, false, false
	}
	return b[:n], b[n:], true, true
}

// valueSize returns the size of the scalar at the front of a packed record, 0 or less
// if there is none.
func valueSize(b []byte, k kind) int {
	switch k.wire() {
	case protowire.VarintType:
		_, n := protowire.ConsumeVarint(b)
		return n
	case protowire.Fixed32Type:
		if len(b) >= 4 {
			return 4
		}
	case protowire.Fixed64Type:
		if len(b) >= 8 {
			return 8
		}
	}
	return 0
}

// zero stores that a scalar is not there because it is zero.
func (n *node) zero() {
	switch n.kind {
	case kindFloat, kindDouble:
		n.floats = append(n.floats, 0)
	case kindText:
		n.texts = append(n.texts, nil)
	default:
		n.ints.add(0)
	}
}

// value stores one value from its encoded content.
func (t *tree) value(n *node, content []byte, depth int) bool {
	switch n.kind {
	case kindMessage:
		return t.message(n, content, depth+1)
	case kindText:
		n.texts = append(n.texts, content)
		return true
	case kindTime, kindDuration:
		ns, ok := nanoseconds(content, n.kind)
		n.ints.add(ns)
		return ok
	case kindFixed32, kindFloat:
		v, m := protowire.ConsumeFixed32(content)
		if n.kind == kindFloat {
			n.floats = append(n.floats, uint64(v))
		} else {
			n.ints.add(int64(v))
		}
		return m > 0
	case kindFixed64, kindDouble:
		v, m := protowire.ConsumeFixed64(content)
		if n.kind == kindDouble {
			n.floats = append(n.floats, v)
		} else {
			n.ints.add(int64(v))
		}
		return m > 0
	}
	v, m := protowire.ConsumeVarint(content)
	if n.kind == kindZigzag {
		n.ints.add(protowire.DecodeZigZag(v))
	} else {
		n.ints.add(int64(v))
	}
	return m > 0
}

// nanoseconds reads a Timestamp or Duration. Only what fits 64 bits, which times of
// the memory do, has columns.
func nanoseconds(b []byte, k kind) (ns int64, ok bool) {
	var parts [2]int64
	for i := range parts {
		content, rest, found, ok := record(b, protowire.Number(i+1), protowire.VarintType)
		if !ok {
			return 0, false
		}
		if found {
			v, _ := protowire.ConsumeVarint(content)
			parts[i] = int64(v)
		}
		b = rest
	}
	const most = 9_000_000_000
	sec, nanos := parts[0], parts[1]
	if len(b) > 0 || sec < -most || sec > most || nanos <= -1e9 || nanos >= 1e9 || k == kindTime && nanos < 0 {
		return 0, false
	}
	return sec*1e9 + nanos, true
}

// fits reports whether all its values are as many as are read.
func (t *tree) fits() bool {
	total := len(t.which)
	most := len(t.kept)
	for _, r := range t.roots {
		r.measure(&total, &most)
	}
	return total+len(t.kept) <= maxTreeValues && most <= vector.MaxCount
}

// measure adds how many values the columns of a member have, and notes the longest.
func (n *node) measure(total, most *int) {
	for _, length := range [...]int{len(n.present.v), len(n.count.v), len(n.ints.v), len(n.floats), len(n.texts)} {
		*total += length
		*most = max(*most, length)
	}
	for _, c := range n.count.v {
		*most = max(*most, int(c))
	}
	*total += n.times
	*most = max(*most, n.times)
	for _, f := range n.fields {
		f.measure(total, most)
	}
	for _, e := range n.elems {
		e.measure(total, most)
	}
	if n.rest != nil {
		n.rest.measure(total, most)
	}
}

// compare builds all payloads and marks as whole those that are not what they were.
// It returns how many these are.
func (t *tree) compare(payloads []*engram.Payload, whole []bool) (n int) {
	var scratch []byte
	for i, p := range payloads {
		scratch = t.build(scratch[:0], i)
		if !bytes.Equal(scratch, p.Bytes) {
			whole[i] = true
			n++
		}
	}
	t.rewind()
	return n
}

func (t *tree) rewind() {
	t.atKept = 0
	for _, r := range t.roots {
		r.rewind()
	}
}

func (n *node) rewind() {
	n.present.at, n.count.at, n.ints.at, n.at = 0, 0, 0, 0
	for _, f := range n.fields {
		f.rewind()
	}
	for _, e := range n.elems {
		e.rewind()
	}
	if n.rest != nil {
		n.rest.rewind()
	}
}
