package idf

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

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
	// Time is the snapshot's, which stands beside the text: a member timestamp that
	// equals it is left out. 0 is none.
	Time engram.Time
	// Brief shortens what a line has no room for: links to their last two names, times
	// to the time of day where they are of the day of Time, numbers in lists and vectors
	// to three digits behind the point. On one line links come last, and members from_x and
	// to_x stand together, as x: a → b.
	Brief bool
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
	l := layoutOf(t)
	switch object, ok := v.(map[string]any); {
	case l.special != isObject || !ok:
		w.message(l, v)
	case w.summary(l, v):
	case o.Lines:
		w.lines(l, w.untimed(object), 0)
	default:
		w.members(l, w.untimed(object))
	}
	return string(w.buf), nil
}

// Difference is [Type.Text] on one line, in two parts: the members that differ from a
// payload before, also those that are zero or unset now, and those that are as before.
// Both are "" where there is nothing of it. The error is Corrupt.
func (t *Type) Difference(b, before []byte, o TextOptions) (changed, same string, err error) {
	o.Lines = false
	v, err := t.Decode(b)
	if err != nil {
		return "", "", err
	}
	l := layoutOf(t)
	object, ok := v.(map[string]any)
	if l.special != isObject || !ok || (&textWriter{}).summary(l, v) {
		whole, err := t.Text(b, o)
		if then, was := t.Text(before, o); was == nil && whole == then {
			return "", whole, err
		}
		return whole, "", err
	}
	was, _ := t.Decode(before)
	objectBefore, _ := was.(map[string]any)
	now, then := fieldsOf(b), fieldsOf(before)
	w := textWriter{opts: o}
	if o.Items == 0 {
		w.opts.Items = defaultTextItems
	}
	object = w.untimed(object)
	alike := maps.Clone(object)
	first := true
	differs := func(m *member) bool { // a dict's items may stand in another order, and zeros or not
		return m != nil && !bytes.Equal(now[m.number], then[m.number]) && !reflect.DeepEqual(object[m.name], objectBefore[m.name])
	}
	for _, p := range w.ordered(l, object) {
		if !differs(p.member) && !differs(p.to) {
			continue
		}
		delete(alike, p.name)
		if p.to != nil {
			delete(alike, p.to.name)
		}
		if _, ok := object[p.name]; !ok && p.name == "timestamp" && len(now[p.number]) > 0 {
			continue // it stands beside
		}
		w.part(&first, p, object)
	}
	changed = string(w.buf)
	w.buf = w.buf[:0]
	w.members(l, alike)
	return changed, string(w.buf), nil
}

// fieldsOf returns the bytes of each field of a message that was decoded before.
func fieldsOf(b []byte) map[protowire.Number][]byte {
	fields := map[protowire.Number][]byte{}
	for len(b) > 0 {
		number, _, n := protowire.ConsumeField(b)
		if n < 0 {
			break
		}
		if fields[number] == nil {
			fields[number] = b[:n:n]
		} else {
			fields[number] = append(fields[number], b[:n]...)
		}
		b = b[n:]
	}
	return fields
}

// textWriter writes plain values as text.
type textWriter struct {
	buf  []byte
	opts TextOptions
	deep bool // in a list or vector
}

// untimed returns an object's members without the timestamp that stands beside them.
func (w *textWriter) untimed(object map[string]any) map[string]any {
	v, ok := object["timestamp"]
	if w.opts.Time == 0 || !ok || v != w.opts.Time {
		return object
	}
	object = maps.Clone(object)
	delete(object, "timestamp")
	return object
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
	for _, p := range w.ordered(l, object) {
		if v, ok := object[p.name]; ok && (p.presence || p.to != nil || !isZero(v)) {
			w.part(&first, p, object)
		}
	}
}

// part is a member as it stands on a line, or one from_x together with to_x.
type part struct {
	*member
	to *member // nil if it stands alone
}

// ordered returns an object's members as they stand on a line: briefly, links behind the others, since
// they say the least to people, and what changes from one thing to another together.
func (w *textWriter) ordered(l *layout, object map[string]any) []part {
	var links, others []part
	taken := map[*member]bool{}
	for i, m := range l.members {
		p := part{member: m}
		if w.opts.Brief {
			p.to = toOf(m, l.members[i+1:], object)
		}
		taken[p.to] = true
		switch _, link := object[m.name].(engram.ID); {
		case taken[m]:
		case link && w.opts.Brief:
			links = append(links, p)
		default:
			others = append(others, p)
		}
	}
	return append(others, links...)
}

// toOf returns the member to_x of from_x among those behind it, where both are there.
func toOf(from *member, behind []*member, object map[string]any) *member {
	x, ok := strings.CutPrefix(from.name, "from_")
	if !ok || object[from.name] == nil {
		return nil
	}
	for _, to := range behind {
		if to.name == "to_"+x && object[to.name] != nil {
			return to
		}
	}
	return nil
}

// part writes a member on a line, with its name.
func (w *textWriter) part(first *bool, p part, object map[string]any) {
	if !*first {
		w.print(", ")
	}
	*first = false
	name := p.name
	if p.to != nil {
		name = strings.TrimPrefix(name, "from_")
	}
	w.print(name)
	w.print(": ")
	v, ok := object[p.name]
	if !ok {
		w.print("unset")
		return
	}
	w.member(p.member, v)
	if p.to != nil {
		w.print(" → ")
		w.member(p.to, object[p.to.name])
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
	defer w.within()()
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
		w.time(v)
	case time.Duration:
		w.print(v.String())
	case engram.ID:
		w.link(v)
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

// within marks that what is written is in a list or vector, until the returned function is
// called.
func (w *textWriter) within() (end func()) {
	before := w.deep
	w.deep = true
	return func() { w.deep = before }
}

// float writes the shortest text that tells the number, of six digits at most.
func (w *textWriter) float(f float64, bits int) {
	text := strconv.FormatFloat(f, 'g', -1, bits)
	if short := strconv.FormatFloat(f, 'g', 6, bits); len(short) < len(text) {
		text = short
	}
	if w.opts.Brief && w.deep {
		format, digits := byte('g'), 3
		if a := math.Abs(f); a >= 1 && a < 1e6 {
			format = 'f'
		}
		if short := strconv.FormatFloat(f, format, digits, bits); len(short) < len(text) {
			text = short
		}
	}
	w.print(text)
}

// time writes a time; a brief one of the same day as the snapshot's has no date, and no zeros
// at its end.
func (w *textWriter) time(t engram.Time) {
	text := t.String()
	if of := w.opts.Time; w.opts.Brief && of != 0 {
		if date := len("2006-01-02 "); of.String()[:date] == text[:date] {
			text = strings.TrimRight(strings.TrimRight(text[date:], "0"), ".")
		}
	}
	w.print(text)
}

// link writes an ID; a brief one is its last two names, with its time where that is not the
// snapshot's.
func (w *textWriter) link(id engram.ID) {
	if !w.opts.Brief || id.Level() < engram.LevelEntity {
		w.print(printable(id.String()))
		return
	}
	if robot, _, ok := strings.Cut(id.Memory(), ":"); ok {
		w.print(printable(engram.EscapeName(robot)) + ":")
	}
	w.print(printable(engram.EscapeName(id.ProviderSegment()) + "/" + engram.EscapeName(id.Entity())))
	if t, ok := id.Time(); ok && t != w.opts.Time {
		w.print(" ")
		w.time(t)
	}
	if i, ok := id.Index(); ok && i > 0 {
		w.print("/" + strconv.Itoa(i))
	}
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
