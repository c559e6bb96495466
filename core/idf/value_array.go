package idf

import (
	"encoding/binary"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// NDArray is a dense array in row-major order.
type NDArray struct {
	Shape []int64 // the length of each dimension; none is a single element
	DType DType
	Data  []byte // little-endian
}

// DType is the element type of an array; its numbers are those of
// engram.idf.v1.DType.
type DType int32

// The element types.
const (
	Uint8 DType = iota + 1
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Uint64
	Int64
	Float32
	Float64
)

var dtypes = [...]struct {
	name string
	size int
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Uint32: {"uint32", 4}, Int32: {"int32", 4}, Uint64: {"uint64", 8}, Int64: {"int64", 8},
	Float32: {"float32", 4}, Float64: {"float64", 8},
}

// Size returns the bytes of one element, 0 for an unknown type.
func (d DType) Size() int {
	if d < 0 || int(d) >= len(dtypes) {
		return 0
	}
	return dtypes[d].size
}

// String returns the type's name, such as "float32".
func (d DType) String() string {
	if d.Size() == 0 {
		return "dtype " + strconv.Itoa(int(d))
	}
	return dtypes[d].name
}

// ParseDType reads an element type's name, in any case. The error is Invalid.
func ParseDType(name string) (DType, error) {
	for d := Uint8; d <= Float64; d++ {
		if strings.EqualFold(name, dtypes[d].name) {
			return d, nil
		}
	}
	return 0, engram.Errorf(engram.Invalid, "", "%s is not an element type; there are uint8, int8, uint16 … uint64, int64, float32, float64", shorten(name))
}

// Element is a Go type that arrays hold.
type Element interface {
	~uint8 | ~int8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~uint64 | ~int64 | ~float32 | ~float64
}

// NewNDArray returns an array of the given elements, copied, in row-major order.
// Without a shape it has one dimension. The error is Invalid if the shape does not
// hold as many elements.
func NewNDArray[T Element](data []T, shape ...int64) (*NDArray, error) {
	if len(shape) == 0 {
		shape = []int64{int64(len(data))}
	}
	if n, ok := elements(shape); !ok || n != int64(len(data)) {
		return nil, engram.Errorf(engram.Invalid, "", "%d elements do not fill an array of shape %v", len(data), shape)
	}
	a := &NDArray{Shape: slices.Clone(shape), DType: dtypeOf[T]()}
	size := a.DType.Size()
	a.Data = make([]byte, len(data)*size)
	for i, v := range data {
		b := a.Data[i*size:]
		switch a.DType {
		case Float32:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
		case Float64:
			binary.LittleEndian.PutUint64(b, math.Float64bits(float64(v)))
		case Uint64:
			binary.LittleEndian.PutUint64(b, uint64(v))
		default:
			putInt(b, size, int64(v))
		}
	}
	return a, nil
}

// Elements returns the array's elements, copied. The error is Invalid if the array
// is not valid, and TypeMismatch if its elements are not of type T.
func Elements[T Element](a *NDArray) ([]T, error) {
	if err := a.Valid(); err != nil {
		return nil, err
	}
	if d := dtypeOf[T](); d != a.DType {
		return nil, engram.Errorf(engram.TypeMismatch, "", "the array's elements are %v, not %v", a.DType, d)
	}
	out := make([]T, a.Len())
	for i := range out {
		switch a.DType {
		case Float32, Float64:
			out[i] = T(a.Float(i))
		default:
			out[i] = T(a.Int(i))
		}
	}
	return out, nil
}

func dtypeOf[T Element]() DType {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Uint8:
		return Uint8
	case reflect.Int8:
		return Int8
	case reflect.Uint16:
		return Uint16
	case reflect.Int16:
		return Int16
	case reflect.Uint32:
		return Uint32
	case reflect.Int32:
		return Int32
	case reflect.Uint64:
		return Uint64
	case reflect.Int64:
		return Int64
	case reflect.Float32:
		return Float32
	}
	return Float64
}

// elements returns how many elements an array of that shape has; false if a
// dimension is negative or the number exceeds an int64.
func elements(shape []int64) (int64, bool) {
	n := uint64(1)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if d < 0 || hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// Valid returns an Invalid error unless the element type is known and the data
// is exactly as long as the shape says.
func (a *NDArray) Valid() error {
	size := a.DType.Size()
	if size == 0 {
		return engram.Errorf(engram.Invalid, "", "the array's element type is unknown (%v)", a.DType)
	}
	n, ok := elements(a.Shape)
	if hi, need := bits.Mul64(uint64(n), uint64(size)); !ok || hi != 0 || need != uint64(len(a.Data)) {
		return engram.Errorf(engram.Invalid, "", "the array has %d bytes of data; its shape %v of %v needs another number", len(a.Data), a.Shape, a.DType)
	}
	return nil
}

// Len returns how many whole elements the data holds.
func (a *NDArray) Len() int {
	if size := a.DType.Size(); size > 0 {
		return len(a.Data) / size
	}
	return 0
}

// Float returns the element at position i in row-major order. It panics if i is
// outside [0, Len()).
func (a *NDArray) Float(i int) float64 {
	switch a.DType {
	case Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(a.element(i))))
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(a.element(i)))
	case Uint64:
		return float64(uint64(a.Int(i)))
	}
	return float64(a.Int(i))
}

// Int returns the element at position i in row-major order as an integer: a float
// is cut, an uint64 above the highest int64 wraps. It panics if i is outside
// [0, Len()).
func (a *NDArray) Int(i int) int64 {
	b := a.element(i)
	switch a.DType {
	case Uint8:
		return int64(b[0])
	case Int8:
		return int64(int8(b[0]))
	case Uint16:
		return int64(binary.LittleEndian.Uint16(b))
	case Int16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case Uint32:
		return int64(binary.LittleEndian.Uint32(b))
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case Float32, Float64:
		return int64(a.Float(i))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// element returns the bytes of element i.
func (a *NDArray) element(i int) []byte {
	size := a.DType.Size()
	return a.Data[i*size : (i+1)*size : (i+1)*size]
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

// At returns the element at an index per dimension. The error is OutOfRange, or
// Invalid if the array is not valid.
func (a *NDArray) At(index ...int64) (float64, error) {
	if err := a.Valid(); err != nil {
		return 0, err
	}
	if len(index) != len(a.Shape) {
		return 0, engram.Errorf(engram.OutOfRange, "", "index %v has not one number for each dimension of shape %v", index, a.Shape)
	}
	pos := int64(0)
	for d, i := range index {
		if i < 0 || i >= a.Shape[d] {
			return 0, engram.Errorf(engram.OutOfRange, "", "index %v is outside the array's shape %v", index, a.Shape)
		}
		pos = pos*a.Shape[d] + i
	}
	return a.Float(int(pos)), nil
}

// String describes the array without its elements, such as "float32 3x4".
func (a *NDArray) String() string {
	b := append([]byte(a.DType.String()), ' ')
	if len(a.Shape) == 0 {
		return string(append(b, "scalar"...))
	}
	for i, d := range a.Shape {
		if i > 0 {
			b = append(b, 'x')
		}
		b = strconv.AppendInt(b, d, 10)
	}
	return string(b)
}

// putInt writes the low bytes of v.
func putInt(b []byte, size int, v int64) {
	for i := range size {
		b[i] = byte(v >> (8 * i))
	}
}
