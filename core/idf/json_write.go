package idf

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// jsonWriter writes encoded messages as JSON without building values of them.
type jsonWriter struct {
	records
	buf  []byte
	opts JSONOptions
}

func (w *jsonWriter) put(c byte) { w.buf = append(w.buf, c) }

// nextItem begins an item of a list or an object.
func (w *jsonWriter) nextItem() {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.put(',')
	}
}

// key begins an object's member.
func (w *jsonWriter) key(name string) {
	w.nextItem()
	w.string(name)
	w.put(':')
}

// message writes a message that stands depth messages deep.
func (w *jsonWriter) message(l *layout, b []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	if l.special == isValue {
		return w.variant(b, depth)
	}
	if l.special >= isTime {
		if done, err := w.special(l, b); done || err != nil {
			return err
		}
	}
	from, to, err := w.records.open(l, b)
	if err != nil {
		return err
	}
	defer w.records.close(from)
	switch l.special {
	case isList, isDict:
		if from == to {
			w.empty(l.members[0])
			return nil
		}
		return w.value(from, to, depth)
	case isOptional:
		if from == to {
			w.buf = append(w.buf, "null"...)
			return nil
		}
		return w.value(from, to, depth)
	case isTuple:
		return w.tuple(l, from, to, depth)
	}
	return w.object(l, from, to, depth)
}

func (w *jsonWriter) object(l *layout, from, to, depth int) error {
	w.put('{')
	for i, m := range l.members {
		if from == to || w.stack[from].m.index != i {
			if w.opts.AllMembers && !m.presence {
				w.key(m.name)
				w.empty(m)
			}
			continue
		}
		end := w.group(from, to)
		if m.presence || w.opts.AllMembers || !w.isZero(from, end) {
			w.key(m.name)
			if err := w.value(from, end, depth); err != nil {
				return under(m.name, err)
			}
		}
		from = end
	}
	w.put('}')
	return nil
}

// isZero reports whether a member without presence has its zero value, although it
// was written.
func (w *jsonWriter) isZero(from, to int) bool {
	o := &w.stack[to-1]
	switch {
	case o.m.list:
		for i := from; i < to; i++ {
			if o := &w.stack[i]; !o.isPacked() || len(o.b) > 0 {
				return false
			}
		}
		return true
	case o.m.wire == protowire.BytesType:
		return !o.m.dict && len(o.b) == 0
	}
	return o.num == 0
}

func (w *jsonWriter) tuple(l *layout, from, to, depth int) error {
	w.put('[')
	for i, m := range l.members {
		w.nextItem()
		switch {
		case from < to && w.stack[from].m.index == i:
			end := w.group(from, to)
			if err := w.value(from, end, depth); err != nil {
				return under(indexSegment(i), err)
			}
			from = end
		case m.presence:
			w.buf = append(w.buf, "null"...)
		default:
			w.empty(m)
		}
	}
	w.put(']')
	return nil
}

// empty writes what a member without presence has if it is not written.
func (w *jsonWriter) empty(m *member) {
	switch {
	case m.dict:
		w.buf = append(w.buf, "{}"...)
	case m.list:
		w.buf = append(w.buf, "[]"...)
	case m.wire == protowire.BytesType:
		w.buf = append(w.buf, `""`...)
	default:
		w.numeric(m, 0)
	}
}

// value writes a member from all its occurrences.
func (w *jsonWriter) value(from, to, depth int) error {
	m := w.stack[from].m
	switch {
	case m.dict:
		return w.dict(m, from, to, depth)
	case m.list:
		return w.list(m, from, to, depth)
	case m.msg != nil:
		return w.message(m.msg, merged(w.stack[from:to]), depth+1)
	}
	return w.scalar(&w.stack[to-1])
}

func (w *jsonWriter) list(m *member, from, to, depth int) error {
	w.put('[')
	n := 0
	for i := from; i < to; i++ {
		o := w.stack[i]
		if o.isPacked() {
			for rest := o.b; len(rest) > 0; n++ {
				var err error
				if o.num, rest, err = m.consumeScalar(rest); err != nil {
					return under(indexSegment(n), err)
				}
				w.nextItem()
				w.numeric(m, o.num)
			}
			continue
		}
		w.nextItem()
		var err error
		if m.msg != nil {
			err = w.message(m.msg, o.b, depth+1)
		} else {
			err = w.scalar(&o)
		}
		if err != nil {
			return under(indexSegment(n), err)
		}
		n++
	}
	w.put(']')
	return nil
}

// openEntry is an opened entry of a dict: its key and where its value's
// occurrences stand.
type openEntry struct {
	key      string
	from, to int
}

func (w *jsonWriter) dict(m *member, from, to, depth int) error {
	if depth+1 > maxDepth {
		return errNesting(engram.Corrupt)
	}
	base := len(w.stack)
	defer w.records.close(base)
	entries := make([]openEntry, 0, to-from)
	for i := from; i < to; i++ {
		first, end, err := w.records.open(m.msg, w.stack[i].b)
		if err != nil {
			return err
		}
		e := openEntry{to: end}
		if e.key, e.from, err = w.records.key(m, first, end); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	// Of equal keys the last is in force.
	slices.SortStableFunc(entries, func(a, b openEntry) int { return strings.Compare(a.key, b.key) })
	w.put('{')
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].key == e.key {
			continue
		}
		w.key(e.key)
		if err := w.entryValue(m.elem(), e, depth+1); err != nil {
			return under(keySegment(e.key), err)
		}
	}
	w.put('}')
	return nil
}

func (w *jsonWriter) entryValue(m *member, e openEntry, depth int) error {
	switch {
	case e.from < e.to:
		return w.value(e.from, e.to, depth)
	case m.msg != nil: // a message without content
		return w.message(m.msg, nil, depth+1)
	}
	w.empty(m)
	return nil
}
