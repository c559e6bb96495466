package idf

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Change is one difference between two payloads.
type Change struct {
	Path string // such as pose.position.z, names[3] or joints["knee"]
	A, B any    // plain Go values; nil where the member is absent
}

// maxShownBytes is up to which length a Change holds bytes as they are; longer ones
// are a [BytesSummary].
const maxShownBytes = 64

// Diff lists the differences between two payloads of one type, for display: members
// as declared, dicts by rising key, lists item by item of equal index, arrays of up
// to 256 elements and the same shape element by element. The data of larger arrays
// and bytes over 64 are summarised. NaN equals NaN. The error is Corrupt.
func Diff(t *Type, a, b []byte) ([]Change, error) {
	if bytes.Equal(a, b) {
		return nil, nil
	}
	va, err := t.Decode(a)
	if err != nil {
		return nil, err
	}
	vb, err := t.Decode(b)
	if err != nil {
		return nil, err
	}
	d := differ{}
	d.message(t.layout(), va, vb)
	return d.changes, nil
}

// differ collects changes; path is the place it has come to.
type differ struct {
	walkPath
	changes []Change
}

// leave reports a pair of which one side is absent; false if both are there.
func (d *differ) leave(a, b any) bool {
	if a != nil && b != nil {
		return false
	}
	if a != nil || b != nil {
		d.report(a, b)
	}
	return true
}

func (d *differ) report(a, b any) {
	d.changes = append(d.changes, Change{string(d.path), summarized(a), summarized(b)})
}

func (d *differ) message(l *layout, a, b any) {
	switch l.special {
	case isList, isDict, isOptional:
		d.member(l.members[0], a, b)
	case isTuple:
		d.items(a, b, func(i int, a, b any) { d.member(l.members[i], a, b) })
	case isObject:
		d.object(l, a, b)
	default:
		d.any(a, b)
	}
}

func (d *differ) object(l *layout, a, b any) {
	if d.leave(a, b) {
		return
	}
	end := len(d.path)
	for _, m := range l.members {
		d.name(m.name)
		d.member(m, a.(map[string]any)[m.name], b.(map[string]any)[m.name])
		d.path = d.path[:end]
	}
}

func (d *differ) member(m *member, a, b any) {
	switch {
	case m.dict:
		d.entries(a, b, func(a, b any) { d.single(m.elem(), a, b) })
	case m.list:
		d.items(a, b, func(_ int, a, b any) { d.single(m, a, b) })
	default:
		d.single(m, a, b)
	}
}

func (d *differ) single(m *member, a, b any) {
	if m.msg != nil {
		d.message(m.msg, a, b)
		return
	}
	d.any(a, b)
}

// items compares two lists, which d.any may find absent or of another kind.
func (d *differ) items(a, b any, item func(i int, a, b any)) {
	if d.leave(a, b) {
		return
	}
	la, lb := a.([]any), b.([]any)
	end := len(d.path)
	for i := range max(len(la), len(lb)) {
		d.index(i)
		switch {
		case i >= len(la):
			d.leave(nil, lb[i])
		case i >= len(lb):
			d.leave(la[i], nil)
		default:
			item(i, la[i], lb[i])
		}
		d.path = d.path[:end]
	}
}

// entries compares two dicts.
func (d *differ) entries(a, b any, entry func(a, b any)) {
	if d.leave(a, b) {
		return
	}
	da, db := a.(map[string]any), b.(map[string]any)
	keys := slices.Collect(maps.Keys(da))
	for k := range db {
		if _, ok := da[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	end := len(d.path)
	for _, k := range keys {
		d.key([]byte(k))
		entry(da[k], db[k])
		d.path = d.path[:end]
	}
}

// any compares two values whose type only they themselves tell.
func (d *differ) any(a, b any) {
	if d.leave(a, b) {
		return
	}
	switch x := a.(type) {
	case []any:
		if _, ok := b.([]any); ok {
			d.items(a, b, func(_ int, a, b any) { d.any(a, b) })
			return
		}
	case map[string]any:
		if _, ok := b.(map[string]any); ok {
			d.entries(a, b, d.any)
			return
		}
	case *NDArray:
		if y, ok := b.(*NDArray); ok {
			d.arrays(x, y)
			return
		}
	}
	if !sameScalar(a, b) {
		d.report(a, b)
	}
}

func (d *differ) arrays(a, b *NDArray) {
	switch {
	case a.DType != b.DType || !slices.Equal(a.Shape, b.Shape):
		d.report(a, b)
	case bytes.Equal(a.Data, b.Data):
	case a.Valid() != nil || b.Valid() != nil || a.Len() > maxShownElements:
		d.report(SummarizeBytes(a.Data), SummarizeBytes(b.Data))
	default:
		d.elements(a, b)
	}
}

// elements compares two valid arrays of one shape.
func (d *differ) elements(a, b *NDArray) {
	end := len(d.path)
	for i := range a.Len() {
		if bytes.Equal(a.element(i), b.element(i)) {
			continue
		}
		place := make([]int, len(a.Shape))
		for dim, rest := len(a.Shape)-1, i; dim >= 0; dim-- {
			place[dim] = rest % int(a.Shape[dim])
			rest /= int(a.Shape[dim])
		}
		for _, p := range place {
			d.index(p)
		}
		if x, y := a.number(i), b.number(i); !sameScalar(x, y) {
			d.report(x, y)
		}
		d.path = d.path[:end]
	}
}

// number returns an element as the Go value of its type.
func (a *NDArray) number(i int) any {
	switch a.DType {
	case Float32:
		return float32(a.Float(i))
	case Float64:
		return a.Float(i)
	case Uint64:
		return uint64(a.Int(i))
	}
	return a.Int(i)
}

// sameScalar reports whether two values that are no containers are the same.
func sameScalar(a, b any) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && (math.Float64bits(x) == math.Float64bits(y) || x != x && y != y)
	case float32:
		y, ok := b.(float32)
		return ok && (math.Float32bits(x) == math.Float32bits(y) || x != x && y != y)
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	case bool, int32, int64, uint32, uint64, string, Enum, engram.ID:
		return a == b
	}
	if isContainer(a) || isContainer(b) {
		return false
	}
	return a == b
}

func isContainer(v any) bool {
	switch v.(type) {
	case []any, map[string]any, []byte:
		return true
	}
	return false
}

// summarized returns a value with the bytes in it summarised that are long.
func summarized(v any) any {
	switch v := v.(type) {
	case []byte:
		if len(v) > maxShownBytes {
			return SummarizeBytes(v)
		}
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = summarized(v[i])
		}
		return items
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, x := range v {
			object[k] = summarized(x)
		}
		return object
	}
	return v
}
