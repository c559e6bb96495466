package idf

import (
	"math"
	"slices"
)

// notNamed is the NaN of what goes by a name that a payload does not have.
var notNamed = math.Float64frombits(0x7ff8_0000_6e61_6d65)

// IsUnnamed reports whether a number that was read says that the payload has no element of the name in its path: it tells
// of others, and nothing of this one.
func IsUnnamed(v float64) bool { return math.Float64bits(v) == math.Float64bits(notNamed) }

// nameLists finds where the elements stand that are read by name in a message, and returns how many names there are.
func (p *pick) nameLists(l *layout, b []byte) (count int, err error) {
	if p.names == nil {
		return 0, nil
	}
	for _, f := range p.fields {
		f.called = f.called[:0]
	}
	for len(b) > 0 {
		num, wire, n := consumeTag(b)
		if n < 0 {
			return 0, errWire(n)
		}
		if l.find(num) != p.names {
			v := skipValue(num, wire, b[n:])
			if v < 0 {
				return 0, errWire(v)
			}
			b = b[n+v:]
			continue
		}
		o, n, err := l.next(b)
		if err != nil {
			return 0, err
		}
		b = b[n:]
		for _, f := range p.fields {
			if f.m.list {
				f.call(count, o.b)
			}
		}
		count++
	}
	return count, nil
}

// call says that the element of a list at an index has a name. The first of a name has it.
func (p *pick) call(index int, name []byte) {
	k := p.keys[string(name)]
	if k != nil && !slices.ContainsFunc(p.called, func(it item) bool { return it.pick == k }) {
		p.called = append(p.called, item{index, k})
	}
}

// endNamed ends the reading of a list beside so many names: what has no such name, and all of a list of another length,
// is not named.
func (p *pick) endNamed(names int, length int, out *sink) {
	for _, k := range p.keys {
		if names != length || !slices.ContainsFunc(p.called, func(it item) bool { return it.pick == k }) {
			k.setAll(out, notNamed)
		}
	}
}

// nameVariants finds where the elements of lists stand that may be read by name in a dict in a Value.
func (p *pick) nameVariants(dict []byte) error {
	deep := false
	for _, k := range p.keys {
		k.called, k.beside, deep = k.called[:0], 0, deep || len(k.keys) > 0
	}
	for rest := dict; deep; {
		entry, after, found, err := nextRecord(rest, 1)
		if err != nil || !found {
			return err
		}
		rest = after
		key, content, err := dictEntry(entry)
		if err != nil {
			return err
		}
		if string(key) != names {
			continue
		}
		v, err := readVariant(content)
		if err != nil {
			return err
		}
		for i := 0; v.kind == variantList; i++ {
			element, after, found, err := nextRecord(v.b, 1)
			if err != nil {
				return err
			}
			if !found {
				for _, k := range p.keys {
					k.beside = i
				}
				break
			}
			v.b = after
			text, err := readVariant(element)
			if err != nil {
				return err
			}
			for _, k := range p.keys {
				if text.kind == variantString {
					k.call(i, text.b)
				}
			}
		}
	}
	return nil
}
