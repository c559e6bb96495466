package codec

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// build appends the payload of an index. Payloads are built in order, from the
// first on.
func (t *tree) build(dst []byte, i int) []byte {
	w := t.which[i]
	if w == 0 {
		t.atKept++
		return append(dst, t.kept[t.atKept-1]...)
	}
	return t.roots[w-1].appendMembers(dst)
}

// appendMembers appends a message's next members.
func (n *node) appendMembers(dst []byte) []byte {
	for _, f := range n.fields {
		dst = f.appendMember(dst)
	}
	return dst
}

func (n *node) appendMember(dst []byte) []byte {
	if n.skip {
		return dst
	}
	switch n.occurs {
	case occursMaybe:
		if n.present.next() == 0 {
			return dst
		}
	case occursList:
		for i := range int(n.count.next()) {
			dst = n.elemAt(i).appendValue(appendTag(dst, n.number, n.kind.wire()))
		}
		return dst
	case occursPacked:
		count := int(n.count.next())
		if count == 0 {
			return dst
		}
		dst = appendTag(dst, n.number, protowire.BytesType)
		from := len(dst)
		dst = append(dst, 0)
		for i := range count {
			dst = n.elemAt(i).appendValue(dst)
		}
		return endLength(dst, from)
	default:
		if n.isZero() {
			return dst
		}
	}
	return n.appendValue(appendTag(dst, n.number, n.kind.wire()))
}

func (n *node) elemAt(i int) *node {
	if i < len(n.elems) {
		return n.elems[i]
	}
	return n.rest
}

// isZero reports whether the next value is zero, and if so goes beyond it.
func (n *node) isZero() bool {
	zero := false
	switch n.kind {
	case kindFloat, kindDouble:
		if zero = n.floats[n.at] == 0; zero {
			n.at++
		}
	case kindText:
		if zero = len(n.texts[n.at]) == 0; zero {
			n.at++
		}
	default:
		if zero = n.ints.v[n.ints.at] == 0; zero {
			n.ints.at++
		}
	}
	return zero
}

// appendValue appends the next value, of bytes with their length. An element that was not read is zero or empty.
func (n *node) appendValue(dst []byte) []byte {
	if n.skip {
		switch n.kind.wire() {
		case protowire.Fixed64Type:
			return binary.LittleEndian.AppendUint64(dst, 0)
		case protowire.Fixed32Type:
			return binary.LittleEndian.AppendUint32(dst, 0)
		}
		return append(dst, 0)
	}
	switch n.kind {
	case kindDouble:
		n.at++
		return binary.LittleEndian.AppendUint64(dst, n.floats[n.at-1])
	case kindFloat:
		n.at++
		return binary.LittleEndian.AppendUint32(dst, uint32(n.floats[n.at-1]))
	case kindText:
		n.at++
		return protowire.AppendBytes(dst, n.texts[n.at-1])
	case kindVarint:
		return protowire.AppendVarint(dst, uint64(n.ints.next()))
	case kindZigzag:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(n.ints.next()))
	case kindFixed32:
		return binary.LittleEndian.AppendUint32(dst, uint32(n.ints.next()))
	case kindFixed64:
		return binary.LittleEndian.AppendUint64(dst, uint64(n.ints.next()))
	}
	from := len(dst)
	dst = append(dst, 0)
	if n.kind == kindMessage {
		return endLength(n.appendMembers(dst), from)
	}
	ns := n.ints.next()
	sec, nanos := ns/1e9, ns%1e9
	if n.kind == kindTime && nanos < 0 {
		sec, nanos = sec-1, nanos+1e9
	}
	if sec != 0 {
		dst = protowire.AppendVarint(appendTag(dst, 1, protowire.VarintType), uint64(sec))
	}
	if nanos != 0 {
		dst = protowire.AppendVarint(appendTag(dst, 2, protowire.VarintType), uint64(nanos))
	}
	return endLength(dst, from)
}

func appendTag(dst []byte, number protowire.Number, wire protowire.Type) []byte {
	if number < 16 { // the usual case, inlined
		return append(dst, byte(number)<<3|byte(wire))
	}
	return protowire.AppendTag(dst, number, wire)
}

// endLength writes the length of what follows from, where a byte was left for it.
func endLength(dst []byte, from int) []byte {
	length := len(dst) - from - 1
	if length < 0x80 {
		dst[from] = byte(length)
		return dst
	}
	size := protowire.SizeVarint(uint64(length))
	for range size - 1 {
		dst = append(dst, 0)
	}
	copy(dst[from+size:], dst[from+1:from+1+length])
	binary.PutUvarint(dst[from:], uint64(length))
	return dst
}

// seek goes to the payload of an index, if all payloads have the same members and as
// many elements in their lists, so that it is known where their values are. It
// reports whether they do.
func (t *tree) seek(i int) bool {
	if len(t.roots) != 1 || len(t.kept) > 0 || !t.roots[0].isRegular() {
		return false
	}
	t.roots[0].seek(i)
	return true
}

// isRegular reports whether a message has the same members each time.
func (n *node) isRegular() bool {
	for _, f := range n.fields {
		if !allEqual(f.present.v) || !allEqual(f.count.v) {
			return false
		}
		if f.kind != kindMessage {
			continue
		}
		if f.occurs == occursMaybe && !f.isRegular() || f.rest != nil && !f.rest.isRegular() {
			return false
		}
		for _, e := range f.elems {
			if !e.isRegular() {
				return false
			}
		}
	}
	return true
}

func allEqual(v []int64) bool {
	for _, x := range v {
		if x != v[0] {
			return false
		}
	}
	return true
}

// seek goes to the i-th time that a message or a value occurs.
func (n *node) seek(i int) {
	n.ints.at, n.at = i, i
	for _, f := range n.fields {
		switch f.occurs {
		case occursUnlessZero:
			f.seek(i)
		case occursMaybe:
			if f.present.at = i; len(f.present.v) > 0 && f.present.v[0] != 0 {
				f.seek(i)
			}
		default:
			f.count.at = i
			count := 0
			if len(f.count.v) > 0 {
				count = int(f.count.v[0])
			}
			for _, e := range f.elems {
				e.seek(i)
			}
			if f.rest != nil {
				f.rest.seek(i * max(count-len(f.elems), 0))
			}
		}
	}
}
