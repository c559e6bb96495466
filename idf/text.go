package idf

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// TextOptions says how payloads are shown as text.
type TextOptions struct {
	// Lines puts each member on a line of its own, those inside it indented below;
	// otherwise all is on one line and members that are zero are left out.
	Lines bool
	// Items is up to how many items of a list or dict are shown before the rest is
	// only counted; 0 means 8, negative no limit.
	Items int
}

const defaultTextItems = 8

// Text returns the payload for people to read: members as declared, vectors and
// quaternions as (x, y, z), floats with six digits, long lists cut, images, point
// clouds and bytes summarised:
//
//	frame_id: "map", pose: {position: (0.1, 0.2, 0.3), orientation: (0, 0, 0, 1)}
//
// It cannot be read back: see [Type.JSON]. The error is Corrupt.
func (t *Type) Text(b []byte, o TextOptions) (string, error) {
	v, err := t.Decode(b)
	if err != nil {
		return "", err
	}
	if o.Items == 0 {
		o.Items = defaultTextItems
	}
	w := textWriter{opts: o}
	l := t.layout()
	switch object, ok := v.(map[string]any); {
	case l.special != isObject || !ok:
		w.message(l, v)
	case w.summary(l, v):
	case o.Lines:
		w.lines(l, object, 0)
	default:
		w.members(l, object)
	}
	return string(w.buf), nil
}

// textWriter writes plain values as text.
type textWriter struct {
	buf  []byte
	opts TextOptions
}

func (w *textWriter) print(s string) { w.buf = append(w.buf, s...) }

// lines writes an object's members, each on a line that is indented by so many
// levels.
func (w *textWriter) lines(l *layout, object map[string]any, level int) {
	for _, m := range l.members {
		v, ok := object[m.name]
		if !ok {
			continue
		}
		w.beginLine(level)
		w.print(m.name)
		w.print(":")
		w.lineValue(m, v, level+1)
	}
}

func (w *textWriter) beginLine(level int) {
	if len(w.buf) > 0 {
		w.print("\n")
	}
	w.print(strings.Repeat("  ", level))
}

// lineValue writes a member's value behind its name, or on the lines below if it
// is an object, or a list or dict of objects.
func (w *textWriter) lineValue(m *member, v any, level int) {
	m = m.unwrapped()
	deep := m.below() != nil && m.below().special == isObject && !isVector(m.below())
	switch {
	case m.dict && deep:
		dict, _ := v.(map[string]any)
		keys := slices.Sorted(maps.Keys(dict))
		for i, k := range keys {
			if w.cut(i, len(keys), "entries", level) {
				break
			}
			w.beginLine(level)
			w.print(textKey(k))
			w.print(":")
			w.lineMessage(m.below(), dict[k], level+1)
		}
		w.orEmpty(len(keys), " {}")
	case m.list && deep:
		items, _ := v.([]any)
		for i, item := range items {
			if w.cut(i, len(items), "items", level) {
				break
			}
			w.beginLine(level)
			w.print(indexSegment(i) + ":")
			w.lineMessage(m.msg, item, level+1)
		}
		w.orEmpty(len(items), " []")
	case deep:
		w.lineMessage(m.msg, v, level)
	default:
		w.print(" ")
		w.member(m, v)
	}
}

func (w *textWriter) orEmpty(n int, empty string) {
	if n == 0 {
		w.print(empty)
	}
}

// cut writes how many there are, if no more are to be shown.
func (w *textWriter) cut(i, n int, what string, level int) bool {
	if w.opts.Items < 0 || i < w.opts.Items {
		return false
	}
	w.beginLine(level)
	w.print("… " + grouped(n) + " " + what)
	return true
}

func (w *textWriter) lineMessage(l *layout, v any, level int) {
	object, ok := v.(map[string]any)
	if !ok {
		w.print(" ")
		w.any(v)
		return
	}
	end := len(w.buf)
	w.print(" ")
	if w.summary(l, v) {
		return
	}
	w.buf = w.buf[:end]
	if len(object) == 0 {
		w.print(" {}")
	}
	w.lines(l, object, level)
}

// members writes an object's members that are not zero, on one line.
func (w *textWriter) members(l *layout, object map[string]any) {
	first := true
	for _, m := range l.members {
		v, ok := object[m.name]
		if !ok || !m.presence && isZero(v) {
			continue
		}
		if !first {
			w.print(", ")
		}
		first = false
		w.print(m.name)
		w.print(": ")
		w.member(m, v)
	}
}

// isZero reports whether a value is what a member without presence has if it is not
// written.
func isZero(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case []byte:
		return len(v) == 0
	case Enum:
		return v.Number == 0
	case float64:
		return math.Float64bits(v) == 0
	case float32:
		return math.Float32bits(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	}
	n := numberOf(v)
	return n.kind == anInteger && n.u == 0
}

func (w *textWriter) member(m *member, v any) {
	switch {
	case m.dict:
		w.entries(v, func(v any) { w.single(m.elem(), v) })
	case m.list:
		w.items(v, func(_ int, v any) { w.single(m, v) })
	default:
		w.single(m, v)
	}
}

func (w *textWriter) single(m *member, v any) {
	if m.msg != nil {
		w.message(m.msg, v)
		return
	}
	w.any(v)
}

func (w *textWriter) message(l *layout, v any) {
	object, isMap := v.(map[string]any)
	switch {
	case l.special == isList, l.special == isDict, l.special == isOptional:
		w.member(l.members[0], v)
	case l.special == isTuple:
		w.tuple(l, v)
	case l.special != isObject || !isMap:
		w.any(v)
	case w.summary(l, v):
	default:
		w.print("{")
		w.members(l, object)
		w.print("}")
	}
}

func (w *textWriter) tuple(l *layout, v any) {
	items, _ := v.([]any)
	w.print("(")
	for i, item := range items {
		if i > 0 {
			w.print(", ")
		}
		if item == nil {
			w.print("null")
		} else {
			w.member(l.members[i], item)
		}
	}
	w.print(")")
}

// items writes a list, cut after some.
func (w *textWriter) items(v any, item func(int, any)) {
	items, _ := v.([]any)
	w.print("[")
	for i, x := range items {
		if i > 0 {
			w.print(", ")
		}
		if w.opts.Items >= 0 && i >= w.opts.Items {
			w.print("… " + grouped(len(items)) + " values")
			break
		}
		item(i, x)
	}
	w.print("]")
}

func (w *textWriter) entries(v any, entry func(any)) {
	dict, _ := v.(map[string]any)
	w.print("{")
	for i, k := range slices.Sorted(maps.Keys(dict)) {
		if i > 0 {
			w.print(", ")
		}
		if w.opts.Items >= 0 && i >= w.opts.Items {
			w.print("… " + grouped(len(dict)) + " entries")
			break
		}
		w.print(textKey(k))
		w.print(": ")
		entry(dict[k])
	}
	w.print("}")
}

// textKey returns a dict's key, in quotes unless it looks like a name.
func textKey(k string) string {
	for _, r := range k {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' && r != '_' || r > 'z' {
			return strconv.Quote(k)
		}
	}
	if k == "" {
		return `""`
	}
	return k
}

// any writes a value whose type it tells itself.
func (w *textWriter) any(v any) {
	switch v := v.(type) {
	case nil:
		w.print("null")
	case bool:
		w.buf = strconv.AppendBool(w.buf, v)
	case float64:
		w.float(v, 64)
	case float32:
		w.float(float64(v), 32)
	case string:
		w.buf = strconv.AppendQuote(w.buf, v)
	case []byte:
		w.print(grouped(len(v)) + " bytes")
	case engram.Time:
		w.buf = v.Append(w.buf)
	case time.Duration:
		w.print(v.String())
	case engram.ID:
		w.print(printable(v.String()))
	case Enum:
		w.buf = v.append(w.buf)
	case *NDArray:
		w.array(v)
	case []any:
		w.items(v, func(_ int, v any) { w.any(v) })
	case map[string]any:
		w.entries(v, w.any)
	default:
		w.print(numberOf(v).String())
	}
}

// float writes the shortest text that tells the number, of six digits at most.
func (w *textWriter) float(f float64, bits int) {
	text := strconv.FormatFloat(f, 'g', -1, bits)
	if short := strconv.FormatFloat(f, 'g', 6, bits); len(short) < len(text) {
		text = short
	}
	w.print(text)
}

func (w *textWriter) array(a *NDArray) {
	w.print(a.String())
	if a.Valid() != nil {
		w.print(", not valid: " + grouped(len(a.Data)) + " bytes")
		return
	}
	w.print(" [")
	for i := range a.Len() {
		if i > 0 {
			w.print(", ")
		}
		if w.opts.Items >= 0 && i >= 2*w.opts.Items {
			w.print("… " + grouped(a.Len()) + " values")
			break
		}
		w.any(a.number(i))
	}
	w.print("]")
}

// grouped writes a count with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
