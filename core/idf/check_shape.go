package idf

import (
	"fmt"
	"math"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

// shape checks a message against its member's restriction: what is wrong with it, or "".
type shape func(m []byte) string

// newShape returns the restriction of a member that Check enforces, or nil. That on
// a map is on its values. What the voxels of a point cloud are is not looked at:
// clouds name their fields in many ways.
func newShape(fd protoreflect.FieldDescriptor) shape {
	want := shapeOf(fd)
	if want == nil || fd.Kind() == protoreflect.GroupKind {
		return nil
	}
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	if fd.Message() == nil {
		return nil
	}
	var check func(want *idfv1.Shape, m []byte) string
	switch fd.Message().FullName() {
	case "engram.idf.v1.Matrix":
		check = checkMatrix
	case "engram.idf.v1.NDArray":
		check = checkNDArray
	case "foxglove.RawImage":
		check = checkImage
	default:
		return nil
	}
	return func(m []byte) string { return check(want, m) }
}

// shapes checks the shaped members among the fields in b[i:end], whose wire form
// was checked. It sets what and path if one has not the shape of its type.
func (s *scanner) shapes(p *checkPlan, i, end int) {
	for i < end && s.what == "" {
		num, wire, n := protowire.ConsumeTag(s.b[i:end])
		v := i + n
		i = v + protowire.ConsumeFieldValue(num, wire, s.b[v:end])
		f := p.field(uint64(num))
		if f == nil || f.sub == nil || f.shape == nil && !f.sub.shaped {
			continue
		}
		m := s.b[v:i]
		if wire == protowire.BytesType {
			m, _ = protowire.ConsumeBytes(m)
		}
		if f.shape != nil {
			if f.mapEntry {
				m = mapValue(m)
			}
			s.what = f.shape(m)
		} else {
			s.shapes(f.sub, i-len(m), i)
		}
		if s.what != "" {
			s.in(f)
		}
	}
}

// mapValue returns the message that is the value of a map's entry.
func mapValue(entry []byte) []byte {
	value, _ := lastRecord(entry, 2, false)
	return value
}

// eachField calls f with the fields of a message whose wire form was checked: with
// a varint, or with the content of a length-delimited field.
func eachField(m []byte, visit func(num protowire.Number, v uint64, b []byte)) {
	for len(m) > 0 {
		var f field
		if f, m, _ = nextField(m); f.wire == protowire.VarintType || f.wire == protowire.BytesType {
			visit(f.num, f.value, f.b)
		}
	}
}

func checkMatrix(want *idfv1.Shape, m []byte) string {
	var rows, cols int64
	var dtype idfv1.DType
	data := 0
	eachField(m, func(num protowire.Number, v uint64, b []byte) {
		switch num {
		case 1:
			rows = int64(v)
		case 2:
			cols = int64(v)
		case 3:
			dtype = idfv1.DType(v)
		case 4:
			data = len(b)
		}
	})
	switch {
	case want.GetRows() != 0 && rows != want.GetRows():
		return fmt.Sprintf("the matrix has %d rows, its type wants %d", rows, want.GetRows())
	case want.GetCols() != 0 && cols != want.GetCols():
		return fmt.Sprintf("the matrix has %d columns, its type wants %d", cols, want.GetCols())
	case want.GetDtype() != 0 && dtype != want.GetDtype():
		return fmt.Sprintf("the matrix is of %s, its type wants %s", dtype, want.GetDtype())
	}
	return checkData("matrix", dtype, data, [2]int64{rows, cols})
}

func checkNDArray(want *idfv1.Shape, m []byte) string {
	var dtype idfv1.DType
	data, ndim, elements := 0, int32(0), int64(1)
	eachField(m, func(num protowire.Number, v uint64, b []byte) {
		switch num {
		case 1:
			if b == nil {
				ndim++
				elements = product(elements, int64(v))
			}
			for len(b) > 0 {
				v, n := protowire.ConsumeVarint(b)
				b = b[n:]
				ndim++
				elements = product(elements, int64(v))
			}
		case 2:
			dtype = idfv1.DType(v)
		case 3:
			data = len(b)
		}
	})
	switch {
	case want.GetNdim() != 0 && ndim != want.GetNdim():
		return fmt.Sprintf("the ndarray has %d dimensions, its type wants %d", ndim, want.GetNdim())
	case want.GetDtype() != 0 && dtype != want.GetDtype():
		return fmt.Sprintf("the ndarray is of %s, its type wants %s", dtype, want.GetDtype())
	}
	if ndim == 0 && dtype == 0 {
		elements = 0 // nothing is set
	}
	return checkData("ndarray", dtype, data, [2]int64{elements, 1})
}

// checkData compares the bytes of an array with its dimensions.
func checkData(what string, dtype idfv1.DType, data int, dims [2]int64) string {
	elements := product(dims[0], dims[1])
	if elements < 0 {
		return fmt.Sprintf("the %s has a negative or too large dimension", what)
	}
	size := elementSize(dtype)
	if size == 0 && elements > 0 {
		return fmt.Sprintf("the %s has the unknown element type %d", what, dtype)
	}
	if want := product(elements, size); want != int64(data) {
		return fmt.Sprintf("the %s has %d bytes of data, its dimensions and element type %s need %d", what, data, dtype, want)
	}
	return ""
}

// product returns a times b, or -1 if one is negative or the product exceeds int64.
func product(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return -1
	}
	return int64(lo)
}

// elementSize returns the bytes of one element, 0 for an unknown type.
func elementSize(d idfv1.DType) int64 {
	switch d {
	case idfv1.DType_UINT8, idfv1.DType_INT8:
		return 1
	case idfv1.DType_UINT16, idfv1.DType_INT16:
		return 2
	case idfv1.DType_UINT32, idfv1.DType_INT32, idfv1.DType_FLOAT32:
		return 4
	case idfv1.DType_UINT64, idfv1.DType_INT64, idfv1.DType_FLOAT64:
		return 8
	}
	return 0
}

func checkImage(want *idfv1.Shape, m []byte) string {
	var encoding []byte
	data := 0
	eachField(m, func(num protowire.Number, _ uint64, b []byte) {
		switch num {
		case 4:
			encoding = b
		case 6:
			data = len(b)
		}
	})
	if w := want.GetEncoding(); w != "" && string(encoding) != w && (len(encoding) > 0 || data > 0) {
		return fmt.Sprintf("the image has the encoding %q, its type wants %q", encoding, w)
	}
	return ""
}
