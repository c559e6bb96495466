package idf

import (
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Bounds of a projection.
const (
	maxProjectPaths = 1024
	maxPathLen      = 1024 // bytes of one path
)

// Projection cuts payloads of one type down to some members. It is immutable and
// safe for concurrent use.
type Projection struct {
	t    *Type
	root *choice
}

// Project compiles a projection onto members given as paths:
//
//	pose.position.z     a member of a member
//	joints.position     of a list: that member in each of its elements
//	position[3]         of a list: that element; the others become zero or empty, so that it keeps its place
//	limits.knee.max     of a dict: what stands under the key "knee"
//	limits["k.1"].max   the same, of a key with other characters than a name's
//	limits.*.max        what stands under each key
//	pair[0]             an item of a tuple
//	pairs.*[0]          of a list of tuples or lists: that item of each
//	data.map.cells      inside a Value: by the keys of dicts, through lists
//
// The error is NotFound and names the path and the nearest member there is, Invalid
// for a path that cannot be one, and Exhausted for too many or too long paths.
func (t *Type) Project(fields []string) (*Projection, error) {
	if len(fields) > maxProjectPaths {
		return nil, engram.Errorf(engram.Exhausted, t.Name(), "a projection onto %d members; at most %d are allowed", len(fields), maxProjectPaths)
	}
	p := &Projection{t: t, root: &choice{}}
	for _, path := range fields {
		steps, err := parsePath(path)
		if err == nil {
			err = p.root.chooseIn(layoutOf(t), steps)
		}
		if err != nil {
			e := err.(*memberError)
			return nil, engram.Errorf(e.code, t.Name(), "member path %s: %s", shorten(path), e.msg)
		}
	}
	return p, nil
}

// choice is what a projection keeps of a member: all, or some of what is in it.
type choice struct {
	all     bool
	layout  *layout // of a message or a list of messages
	members map[*member]*choice
	keys    map[string]*choice // of a dict, or of dicts inside a Value
	each    *choice            // of a dict: for every key
	items   map[int]*choice    // of a list: of the element with that index, beside what is kept of each
}

// sub returns the choice for a member, made if need be.
func (c *choice) sub(m *member) *choice {
	if c.members[m] == nil {
		if c.members == nil {
			c.members = map[*member]*choice{}
		}
		c.members[m] = &choice{}
	}
	return c.members[m]
}

// key returns the choice for what stands under a key of a dict, made if need be.
func (c *choice) key(s step) *choice {
	if s.isEach() {
		if c.each == nil {
			c.each = &choice{}
		}
		return c.each
	}
	if c.keys[s.name] == nil {
		if c.keys == nil {
			c.keys = map[string]*choice{}
		}
		c.keys[s.name] = &choice{}
	}
	return c.keys[s.name]
}

// item returns the choice for an element of a list, made if need be.
func (c *choice) item(i int) *choice {
	if c.items[i] == nil {
		if c.items == nil {
			c.items = map[int]*choice{}
		}
		c.items[i] = &choice{}
	}
	return c.items[i]
}

// at returns what is chosen of a list's element, nil for nothing.
func (c *choice) at(i int) *choice {
	if !c.all && c.layout == nil {
		return c.items[i]
	}
	return c.items[i].or(c)
}

// under returns what is chosen of the value of a dict's key, nil for nothing.
func (c *choice) under(key []byte) *choice {
	named := c.keys[string(key)]
	switch {
	case c.each == nil:
		return named
	case named == nil:
		return c.each
	}
	return named.or(c.each)
}

// or returns the choice of what either chooses.
func (c *choice) or(o *choice) *choice {
	switch {
	case c == nil:
		return o
	case o == nil:
		return c
	}
	both := &choice{all: c.all || o.all, layout: c.layout, each: c.each.or(o.each)}
	if both.layout == nil {
		both.layout = o.layout
	}
	both.members, both.keys, both.items = unite(c.members, o.members), unite(c.keys, o.keys), unite(c.items, o.items)
	return both
}

func unite[K comparable](a, b map[K]*choice) map[K]*choice {
	u := maps.Clone(a)
	if u == nil {
		return b
	}
	for k, c := range b {
		u[k] = u[k].or(c)
	}
	return u
}

// chooseIn adds the rest of a path that leads into a message.
func (c *choice) chooseIn(l *layout, steps []step) error {
	if len(steps) == 0 {
		c.all = true
		return nil
	}
	c.layout = l
	s := steps[0]
	switch l.special {
	case isList, isDict, isOptional:
		return c.sub(l.members[0]).choose(l.members[0], steps)
	case isTuple:
		i, err := strconv.Atoi(s.name)
		if err != nil || i < 0 || i >= len(l.members) {
			return memberErrorf(engram.NotFound, "a tuple of %d items has no item %s", len(l.members), shorten(s.name))
		}
		return c.sub(l.members[i]).choose(l.members[i], steps[1:])
	case isValue:
		if s.index {
			return errIndex(s)
		}
		return c.key(s).chooseIn(l, steps[1:])
	case isObject:
		m := l.byName[s.name]
		if m == nil || s.index || s.quoted {
			return l.unknownMember(engram.NotFound, s.name)
		}
		return c.sub(m).choose(m, steps[1:])
	}
	return memberErrorf(engram.NotFound, "%s has no member %s", l.words(), shorten(s.name))
}

// choose adds the rest of a path that leads into a member.
func (c *choice) choose(m *member, steps []step) error {
	switch {
	case len(steps) == 0:
		c.all = true
		return nil
	case m.list && steps[0].index:
		i, _ := strconv.Atoi(steps[0].name) // an index in a path is a number of 31 bits
		return c.item(i).chooseElement(m, steps[1:])
	case m.list && m.msg != nil && (m.msg.special == isTuple || m.msg.special == isList) && steps[0].isEach() && len(steps) > 1 && steps[1].index:
		return c.chooseElement(m, steps[1:])
	case m.dict:
		key := dictKey{text: steps[0].name}
		if !steps[0].isEach() {
			if err := m.key().parseKey(&key); err != nil {
				return memberErrorf(engram.Invalid, "key %s: %v", shorten(key.text), err)
			}
		}
		return c.key(steps[0]).choose(m.elem(), steps[1:])
	}
	return c.chooseElement(m, steps)
}

// chooseElement adds the rest of a path that leads into the value of a member, or into an element of a list.
func (c *choice) chooseElement(m *member, steps []step) error {
	switch {
	case len(steps) == 0:
		c.all = true
		return nil
	case m.msg != nil:
		return c.chooseIn(m.msg, steps)
	}
	return memberErrorf(engram.NotFound, "%s has no member %s", m.words(), shorten(steps[0].name))
}

func errIndex(s step) error {
	return memberErrorf(engram.Invalid, "a projection keeps every element of a list in a Value; leave [%s] out", s.name)
}

// Apply returns the payload with the chosen members only, copied byte by byte from
// b. A message on a path stays, if need be empty, and so does each element of a
// list; of a dict only the entries of chosen keys stay. The error is Corrupt.
func (p *Projection) Apply(b []byte) ([]byte, error) {
	if p.root.all {
		return slices.Clone(b), nil
	}
	e := encoder{}
	if err := p.root.message(&e, layoutOf(p.t), b, 1); err != nil {
		return nil, p.t.fail(err)
	}
	return e.buf, nil
}

// message writes what is chosen of a message.
func (c *choice) message(e *encoder, l *layout, b []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	if l.special == isValue {
		return c.variant(e, b, depth)
	}
	var seen []int // how many elements there were of lists of which some are chosen, by member
	for len(b) > 0 {
		o, n, err := l.next(b)
		if err != nil {
			return err
		}
		record := b[:n]
		b = b[n:]
		sub := c.members[o.m]
		switch {
		case o.m == nil || sub == nil:
			continue
		case sub.items == nil:
			err = sub.record(e, &o, record, depth)
		default:
			if seen == nil {
				seen = make([]int, len(l.members))
			}
			at := &seen[o.m.index]
			if o.isPacked() {
				*at += sub.packed(e, &o, record, *at)
				break
			}
			err = sub.at(*at).element(e, &o, record, depth)
			*at++
		}
		if err != nil {
			return under(o.m.name, err)
		}
	}
	return nil
}

// packed writes a packed record of which it chooses some elements, of which the first is the list's first-th; it returns
// how many there are.
func (c *choice) packed(e *encoder, o *occurrence, record []byte, first int) (n int) {
	n = o.m.packedLen(o.b)
	if c.all {
		e.buf = append(e.buf, record...)
		return n
	}
	size := 1 // of a zero
	switch o.m.wire {
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	}
	start := e.begin(o.m.number)
	if size == 1 {
		for i, b := first, o.b; len(b) > 0; i++ {
			_, length := consumeVarint(b)
			if length <= 0 { // the rest is damaged, and stays so
				e.buf = append(e.buf, b...)
				break
			}
			if c.items[i] == nil {
				e.buf = append(e.buf, 0)
			} else {
				e.buf = append(e.buf, b[:length]...)
			}
			b = b[length:]
		}
		e.end(start)
		return n
	}
	e.buf = slices.Grow(e.buf, n*size)
	own := e.buf[len(e.buf) : len(e.buf)+n*size]
	clear(own)
	for i := range c.items {
		if i -= first; i >= 0 && i < n {
			copy(own[i*size:(i+1)*size], o.b[i*size:])
		}
	}
	e.buf = e.buf[:len(e.buf)+n*size]
	e.end(start)
	return n
}

// element writes what is chosen of a list's element: nil makes it zero or empty.
func (c *choice) element(e *encoder, o *occurrence, record []byte, depth int) error {
	if c != nil {
		return c.record(e, o, record, depth)
	}
	switch o.wire {
	case protowire.StartGroupType:
		e.buf = protowire.AppendTag(e.buf, o.m.number, protowire.StartGroupType)
		e.buf = protowire.AppendTag(e.buf, o.m.number, protowire.EndGroupType)
	case protowire.Fixed32Type:
		e.buf = protowire.AppendFixed32(protowire.AppendTag(e.buf, o.m.number, o.wire), 0)
	case protowire.Fixed64Type:
		e.buf = protowire.AppendFixed64(protowire.AppendTag(e.buf, o.m.number, o.wire), 0)
	default: // zero, or nothing
		e.buf = append(protowire.AppendTag(e.buf, o.m.number, o.wire), 0)
	}
	return nil
}

// record writes what is chosen of one record of a member.
func (c *choice) record(e *encoder, o *occurrence, record []byte, depth int) error {
	m := o.m
	switch {
	case c.all:
		e.buf = append(e.buf, record...)
	case m.dict:
		return c.entry(e, m, o.b, record, depth+1)
	case m.kind == protoreflect.GroupKind:
		e.buf = protowire.AppendTag(e.buf, m.number, protowire.StartGroupType)
		if err := c.message(e, m.msg, o.b, depth+1); err != nil {
			return err
		}
		e.buf = protowire.AppendTag(e.buf, m.number, protowire.EndGroupType)
	default:
		start := e.begin(m.number)
		if err := c.message(e, m.msg, o.b, depth+1); err != nil {
			return err
		}
		e.end(start)
	}
	return nil
}

// entry writes what is chosen of a dict's entry.
func (c *choice) entry(e *encoder, m *member, b, record []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	key := occurrence{m: m.key()}
	for rest := b; len(rest) > 0; {
		o, n, err := m.msg.next(rest)
		if err != nil {
			return err
		}
		if rest = rest[n:]; o.m == m.key() {
			key = o
		}
	}
	text := key.b
	if m.key().kind != protoreflect.StringKind {
		text = []byte(m.key().keyText(key.num))
	}
	chosen := c.under(text)
	if chosen == nil {
		return nil
	}
	if chosen.all {
		e.buf = append(e.buf, record...)
		return nil
	}
	start := e.begin(m.number)
	for rest := b; len(rest) > 0; {
		o, n, err := m.msg.next(rest)
		if err != nil {
			return err
		}
		switch o.m {
		case m.key():
			e.buf = append(e.buf, rest[:n]...)
		case m.elem():
			if err := chosen.record(e, &o, rest[:n], depth); err != nil {
				return under(keySegment(string(text)), err)
			}
		}
		rest = rest[n:]
	}
	e.end(start)
	return nil
}

// variant writes what is chosen of a Value: what is neither a dict nor a list has
// no keys and becomes null.
func (c *choice) variant(e *encoder, b []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	if c.all {
		e.buf = append(e.buf, b...)
		return nil
	}
	v, err := readVariant(b)
	if err != nil {
		return err
	}
	if v.kind != variantList && v.kind != variantDict {
		return nil
	}
	all := e.begin(v.kind)
	for i := 0; ; i++ {
		content, rest, found, err := nextRecord(v.b, 1)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		v.b = rest
		if v.kind == variantDict {
			if err := c.variantEntry(e, content, depth+3); err != nil {
				return err
			}
			continue
		}
		start := e.begin(1)
		if err := c.variant(e, content, depth+2); err != nil {
			return under(indexSegment(i), err)
		}
		e.end(start)
	}
	e.end(all)
	return nil
}

func (c *choice) variantEntry(e *encoder, entry []byte, depth int) error {
	key, value, err := dictEntry(entry)
	if err != nil {
		return err
	}
	chosen := c.under(key)
	if chosen == nil {
		return nil
	}
	start := e.begin(1)
	e.buf = protowire.AppendTag(e.buf, 1, protowire.BytesType)
	e.buf = protowire.AppendBytes(e.buf, key)
	content := e.begin(2)
	if err := chosen.variant(e, value, depth); err != nil {
		return under(keySegment(string(key)), err)
	}
	e.end(content)
	e.end(start)
	return nil
}
