package idf

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// array writes the content of an NDArray or Matrix: from an array, which must be
// valid; from nested lists of numbers, whose element type is dtype; or from an object
// with the message's members, whose data may be a list of numbers too.
func (e *encoder) array(l *layout, v any, dtype DType) error {
	a, err := e.arrayOf(l, v, dtype)
	if err != nil {
		return err
	}
	return e.appendArray(l.special == isMatrix, a)
}

func (e *encoder) arrayOf(l *layout, v any, dtype DType) (*NDArray, error) {
	switch v := v.(type) {
	case NDArray:
		return validArray(&v)
	case *NDArray:
		if v != nil {
			return validArray(v)
		}
		return nil, mismatch(nil, l.words())
	}
	if object, ok := asMap(v); ok {
		return e.arrayOfObject(l, object, dtype)
	}
	if items, ok := asList(v); ok {
		if err := dense(items, shapeOfList(items)); err != nil {
			return nil, err
		}
		a := &NDArray{Shape: shapeOfList(items), DType: dtype}
		return a, e.fill(a, items)
	}
	return nil, mismatch(v, l.words())
}

// listDType returns the element type of an array that is given as lists of numbers, for a
// member with that restriction, which may be nil.
func listDType(shape *idfv1.Shape) DType {
	if d := DType(shape.GetDtype()); d != 0 {
		return d
	}
	return Float64
}

func validArray(a *NDArray) (*NDArray, error) {
	if err := a.Valid(); err != nil {
		return nil, memberErrorf(engram.Invalid, "%v", err)
	}
	return a, nil
}

// maxArrayDims is how many dimensions an array may have that is given as nested lists.
const maxArrayDims = 16

// shapeOfList returns the shape of nested lists, judged by their first items.
func shapeOfList(items []any) []int64 {
	shape := []int64{int64(len(items))}
	for len(items) > 0 && len(shape) < maxArrayDims {
		inner, ok := asList(items[0])
		if !ok {
			break
		}
		shape = append(shape, int64(len(inner)))
		items = inner
	}
	return shape
}

// arrayOfObject takes an array from the members of its message. Only data given as
// numbers must fill the shape.
func (e *encoder) arrayOfObject(l *layout, object map[string]any, dtype DType) (*NDArray, error) {
	a := &NDArray{}
	for name := range object {
		if l.byName[name] == nil && !e.partial {
			return nil, l.unknownMember(engram.TypeMismatch, name)
		}
	}
	if l.special == isMatrix {
		a.Shape = make([]int64, 2)
	}
	for i, name := range []string{"rows", "cols"} {
		v, ok := object[name]
		if !ok || l.special != isMatrix || v == nil {
			continue
		}
		if a.Shape[i], ok = e.number(v).int64(); !ok {
			return nil, under(name, mismatch(v, "a number"))
		}
	}
	if v := object["shape"]; v != nil {
		dims, ok := asList(v)
		if !ok {
			return nil, under("shape", mismatch(v, "a list of numbers"))
		}
		for i, d := range dims {
			n, ok := e.number(d).int64()
			if !ok {
				return nil, under("shape", under(indexSegment(i), mismatch(d, "a number")))
			}
			a.Shape = append(a.Shape, n)
		}
	}
	var err error
	if a.DType, err = e.dtype(l, object["dtype"]); err != nil {
		return nil, under("dtype", err)
	}
	return a, under("data", e.data(l, a, object, dtype))
}

func (e *encoder) dtype(l *layout, v any) (DType, error) {
	if v == nil {
		return 0, nil
	}
	if s, ok := asString(v); ok {
		if d, err := ParseDType(s); err == nil {
			return d, nil
		}
	}
	num, err := l.byName["dtype"].enum.parse(e.number(v), v)
	return DType(int32(num)), err
}

// data takes the data of an array whose other members were read.
func (e *encoder) data(l *layout, a *NDArray, object map[string]any, dtype DType) error {
	v := object["data"]
	if v == nil {
		return nil
	}
	if b, ok := v.([]byte); ok {
		a.Data = b
		return nil
	}
	items, ok := asList(v)
	if !ok {
		var err error
		a.Data, err = e.delimited(l.byName["data"], v)
		return err
	}
	if a.DType == 0 {
		a.DType = dtype
	}
	given := shapeOfList(items)
	if _, ok := object["shape"]; l.special == isMatrix && len(given) == 2 && a.Shape[0] == 0 && a.Shape[1] == 0 ||
		l.special == isArray && !ok {
		a.Shape = given
	}
	return e.fill(a, items)
}

// fill makes the array's data of nested lists of numbers.
func (e *encoder) fill(a *NDArray, items []any) error {
	if a.DType.Size() == 0 {
		return memberErrorf(engram.TypeMismatch, "the element type is unknown (%v)", a.DType)
	}
	if err := e.fillFrom(a, items, 1); err != nil {
		return err
	}
	_, err := validArray(a)
	return err
}

func (e *encoder) fillFrom(a *NDArray, items []any, depth int) error {
	if depth > maxArrayDims {
		return memberErrorf(engram.Invalid, "an array is nested deeper than %d lists", maxArrayDims)
	}
	for i, item := range items {
		if inner, ok := asList(item); ok {
			if err := e.fillFrom(a, inner, depth+1); err != nil {
				return under(indexSegment(i), err)
			}
			continue
		}
		n := e.number(item)
		if n.kind == notNumber {
			return under(indexSegment(i), mismatch(item, "a number"))
		}
		if !a.appendElement(n) {
			return under(indexSegment(i), memberErrorf(engram.OutOfRange, "the number %s does not fit a %v", n, a.DType))
		}
	}
	return nil
}

// dense refuses nested lists that have not the shape, as where lists at one depth differ
// in length.
func dense(items []any, shape []int64) error {
	if int64(len(items)) != shape[0] {
		return memberErrorf(engram.TypeMismatch, "a list of an array has %d items where others have %d", len(items), shape[0])
	}
	for i, item := range items {
		inner, ok := asList(item)
		if ok != (len(shape) > 1) {
			return under(indexSegment(i), memberErrorf(engram.TypeMismatch, "numbers and lists stand side by side in an array"))
		}
		if ok {
			if err := dense(inner, shape[1:]); err != nil {
				return under(indexSegment(i), err)
			}
		}
	}
	return nil
}

// appendElement appends a number as an element; false if it does not fit.
func (a *NDArray) appendElement(n number) bool {
	switch a.DType {
	case Float32:
		f, ok := n.float32()
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(f))
		return ok
	case Float64:
		f, ok := n.float64()
		a.Data = binary.LittleEndian.AppendUint64(a.Data, math.Float64bits(f))
		return ok
	case Uint64:
		u, ok := n.uint64()
		a.Data = binary.LittleEndian.AppendUint64(a.Data, u)
		return ok
	}
	i, ok := n.int64()
	size := a.DType.Size()
	var b [8]byte
	putInt(b[:], size, i)
	a.Data = append(a.Data, b[:size]...)
	return ok && a.Int(a.Len()-1) == i
}

// appendArray writes the content of an NDArray or Matrix.
func (e *encoder) appendArray(matrix bool, a *NDArray) error {
	dtype, data := byte(2), protowire.Number(3)
	if matrix {
		if len(a.Shape) != 2 {
			return memberErrorf(engram.TypeMismatch, "a matrix has two dimensions; the array has shape %v", a.Shape)
		}
		dtype, data = 3, 4
		for i, n := range a.Shape {
			if n != 0 {
				e.buf = protowire.AppendVarint(append(e.buf, byte(i+1)<<3), uint64(n))
			}
		}
	} else if len(a.Shape) > 0 {
		start := e.begin(1)
		for _, n := range a.Shape {
			e.buf = protowire.AppendVarint(e.buf, uint64(n))
		}
		e.end(start)
	}
	if a.DType != 0 {
		e.buf = protowire.AppendVarint(append(e.buf, dtype<<3), uint64(int64(a.DType)))
	}
	if len(a.Data) > 0 {
		e.buf = protowire.AppendTag(e.buf, data, protowire.BytesType)
		e.buf = protowire.AppendBytes(e.buf, a.Data)
	}
	return nil
}
