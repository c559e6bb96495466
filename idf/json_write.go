package idf

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// jsonWriter writes encoded messages as JSON without building values of them.
type jsonWriter struct {
	records
	buf   []byte
	opts  JSONOptions
	level int // of indentation
}

// openBracket and closeBracket write those of a list or an object; nextItem begins
// an item between them.
func (w *jsonWriter) openBracket(c byte) {
	w.buf = append(w.buf, c)
	w.level++
}

func (w *jsonWriter) closeBracket(c byte) {
	w.level--
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.newLine()
	}
	w.buf = append(w.buf, c)
}

func (w *jsonWriter) nextItem() {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.buf = append(w.buf, ',')
	}
	w.newLine()
}

func (w *jsonWriter) newLine() {
	if w.opts.Indent == "" {
		return
	}
	w.buf = append(w.buf, '\n')
	for range w.level {
		w.buf = append(w.buf, w.opts.Indent...)
	}
}

// key begins an object's member.
func (w *jsonWriter) key(name string) {
	w.nextItem()
	w.string(name)
	w.buf = append(w.buf, ':')
	if w.opts.Indent != "" {
		w.buf = append(w.buf, ' ')
	}
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
	w.openBracket('{')
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
	w.closeBracket('}')
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
	w.openBracket('[')
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
	w.closeBracket(']')
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
	if m.msg == nil && m.wire != protowire.BytesType {
		return w.numbers(m, from, to)
	}
	w.openBracket('[')
	for i := from; i < to; i++ {
		w.nextItem()
		var err error
		if o := w.stack[i]; m.msg != nil {
			err = w.message(m.msg, o.b, depth+1)
		} else {
			err = w.scalar(&o)
		}
		if err != nil {
			return under(indexSegment(i-from), err)
		}
	}
	w.closeBracket(']')
	return nil
}

// numbers writes a list of scalars, on one line.
func (w *jsonWriter) numbers(m *member, from, to int) error {
	w.buf = append(w.buf, '[')
	n := 0
	for i := from; i < to; i++ {
		o := &w.stack[i]
		if !o.isPacked() {
			w.comma(n)
			w.numeric(m, o.num)
			n++
			continue
		}
		for rest := o.b; len(rest) > 0; n++ {
			var num uint64
			var err error
			if num, rest, err = m.consumeScalar(rest); err != nil {
				return under(indexSegment(n), err)
			}
			w.comma(n)
			w.numeric(m, num)
		}
	}
	w.buf = append(w.buf, ']')
	return nil
}

// comma separates the items of a list that stands on one line.
func (w *jsonWriter) comma(i int) {
	if i > 0 {
		w.buf = append(w.buf, ',')
		if w.opts.Indent != "" {
			w.buf = append(w.buf, ' ')
		}
	}
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
	w.openBracket('{')
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].key == e.key {
			continue
		}
		w.key(e.key)
		if err := w.entryValue(m.elem(), e, depth+1); err != nil {
			return under(keySegment(e.key), err)
		}
	}
	w.closeBracket('}')
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

func (w *jsonWriter) scalar(o *occurrence) error {
	switch o.m.kind {
	case protoreflect.StringKind:
		if err := validText(o.b); err != nil {
			return err
		}
		w.buf = appendJSONString(w.buf, o.b)
	case protoreflect.BytesKind:
		w.bytes(o.b)
	default:
		w.numeric(o.m, o.num)
	}
	return nil
}

func (w *jsonWriter) numeric(m *member, num uint64) {
	switch m.kind {
	case protoreflect.BoolKind:
		w.buf = strconv.AppendBool(w.buf, num != 0)
	case protoreflect.EnumKind:
		if e := m.enum.value(int32(num)); e.Key != "" {
			w.string(e.Key)
		} else {
			w.buf = e.append(w.buf)
		}
	case protoreflect.FloatKind:
		w.float(float64(math.Float32frombits(uint32(num))), 32)
	case protoreflect.DoubleKind:
		w.float(math.Float64frombits(num), 64)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.buf = append(strconv.AppendUint(append(w.buf, '"'), num, 10), '"')
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.buf = append(strconv.AppendInt(append(w.buf, '"'), integer(m.kind, num), 10), '"')
	default:
		w.buf = strconv.AppendInt(w.buf, integer(m.kind, num), 10)
	}
}

// float writes the shortest text that reads back as the same number, with an
// exponent where that is usual in JSON.
func (w *jsonWriter) float(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		w.buf = append(w.buf, `"NaN"`...)
	case math.IsInf(f, 1):
		w.buf = append(w.buf, `"Infinity"`...)
	case math.IsInf(f, -1):
		w.buf = append(w.buf, `"-Infinity"`...)
	default:
		format := byte('f')
		if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			format = 'e'
		}
		w.buf = strconv.AppendFloat(w.buf, f, format, -1, bits)
	}
}

func (w *jsonWriter) bytes(b []byte) {
	if w.opts.SummarizeBytes >= 0 && len(b) > w.opts.SummarizeBytes {
		s := SummarizeBytes(b)
		w.openBracket('{')
		w.key("bytes")
		w.buf = strconv.AppendInt(w.buf, int64(s.Bytes), 10)
		w.key("sha256")
		w.string(s.SHA256)
		w.closeBracket('}')
		return
	}
	w.buf = append(base64.StdEncoding.AppendEncode(append(w.buf, '"'), b), '"')
}

func (w *jsonWriter) string(s string) { w.buf = appendJSONString(w.buf, s) }

func (w *jsonWriter) time(t engram.Time) {
	w.buf = append(t.Append(append(w.buf, '"')), '"')
}

// duration writes a duration in seconds, as protobuf's JSON does.
func (w *jsonWriter) duration(d time.Duration) {
	w.buf = append(appendSeconds(append(w.buf, '"'), d), 's', '"')
}

// appendSeconds appends a duration in seconds with as many decimals as it needs.
func appendSeconds(b []byte, d time.Duration) []byte {
	u := uint64(d)
	if d < 0 {
		b, u = append(b, '-'), -u
	}
	b = strconv.AppendUint(b, u/1e9, 10)
	if frac := u % 1e9; frac != 0 {
		start := len(b)
		b = strconv.AppendUint(b, 1e9+frac, 10)
		b[start] = '.'
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return b
}

// appendJSONString appends a string in quotes. It must be UTF-8.
func appendJSONString[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}
