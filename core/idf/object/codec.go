package object

import (
	"errors"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// number makes the codec of a scalar that is a number on the wire.
func number[T comparable](wire protowire.Type, to func(T) uint64, from func(uint64) T) Codec[T] {
	return Codec[T]{
		wire: wire,
		write: func(w *Writer, v T) *failure {
			switch wire {
			case protowire.Fixed32Type:
				w.buf = protowire.AppendFixed32(w.buf, uint32(to(v)))
			case protowire.Fixed64Type:
				w.buf = protowire.AppendFixed64(w.buf, to(v))
			default:
				w.buf = protowire.AppendVarint(w.buf, to(v))
			}
			return nil
		},
		read: func(r *Record, v *T) *failure { *v = from(r.num); return nil },
		zero: func(v T) bool { return to(v) == 0 },
	}
}

func bits[T ~int32 | ~int64 | ~uint32 | ~uint64](v T) uint64  { return uint64(v) }
func value[T ~int32 | ~int64 | ~uint32 | ~uint64](u uint64) T { return T(u) }

// The codecs of scalars, by protobuf's names.
var (
	Bool     = number(protowire.VarintType, protowire.EncodeBool, protowire.DecodeBool)
	Int32    = number(protowire.VarintType, bits[int32], value[int32])
	Int64    = number(protowire.VarintType, bits[int64], value[int64])
	Uint32   = number(protowire.VarintType, bits[uint32], value[uint32])
	Uint64   = number(protowire.VarintType, bits[uint64], value[uint64])
	Sint32   = number(protowire.VarintType, func(v int32) uint64 { return protowire.EncodeZigZag(int64(v)) & math.MaxUint32 }, func(u uint64) int32 { return int32(protowire.DecodeZigZag(u & math.MaxUint32)) })
	Sint64   = number(protowire.VarintType, protowire.EncodeZigZag, protowire.DecodeZigZag)
	Fixed32  = number(protowire.Fixed32Type, bits[uint32], value[uint32])
	Fixed64  = number(protowire.Fixed64Type, bits[uint64], value[uint64])
	Sfixed32 = number(protowire.Fixed32Type, bits[int32], value[int32])
	Sfixed64 = number(protowire.Fixed64Type, bits[int64], value[int64])
	Float    = number(protowire.Fixed32Type, func(v float32) uint64 { return uint64(math.Float32bits(v)) }, func(u uint64) float32 { return math.Float32frombits(uint32(u)) })
	Double   = number(protowire.Fixed64Type, math.Float64bits, math.Float64frombits)
)

// Enum is the codec of an enumeration.
func Enum[T ~int32]() Codec[T] { return number(protowire.VarintType, bits[T], value[T]) }

var errText = errors.New("the text is not UTF-8")

// String is the codec of texts.
var String = Codec[string]{
	wire: protowire.BytesType,
	write: func(w *Writer, v string) *failure {
		if !utf8.ValidString(v) {
			return invalid(errText)
		}
		w.buf = append(w.buf, v...)
		return nil
	},
	read: func(r *Record, v *string) *failure {
		if !utf8.Valid(r.bytes) {
			return corrupt(errText)
		}
		*v = string(r.bytes)
		return nil
	},
	zero: func(v string) bool { return v == "" },
}

// Bytes is the codec of bytes, which are copied, into the memory that is there.
var Bytes = Codec[[]byte]{
	wire:  protowire.BytesType,
	write: func(w *Writer, v []byte) *failure { w.buf = append(w.buf, v...); return nil },
	read:  func(r *Record, v *[]byte) *failure { *v = append((*v)[:0], r.bytes...); return nil },
	zero:  func(v []byte) bool { return len(v) == 0 },
}

// Message is the codec of an object in another.
func Message[T any, P interface {
	*T
	Object
}]() Codec[T] {
	return Codec[T]{
		wire:  protowire.BytesType,
		write: func(w *Writer, v T) *failure { P(&v).WriteMembers(w); return w.err },
		read:  func(r *Record, v *T) *failure { return readMembers(r.bytes, P(v), r.depth+1) },
		zero:  never[T],
	}
}

// special makes the codec of a message that [idf] knows how to read and write, as the one
// member of its content.
func special[T any](content func(v T) ([]byte, error), read func(b []byte, v *T) error, zero func(T) bool) Codec[T] {
	return Codec[T]{
		wire: protowire.BytesType,
		write: func(w *Writer, v T) *failure {
			b, err := content(v)
			if err != nil {
				return invalid(err)
			}
			w.buf = append(w.buf, b...)
			return nil
		},
		read: func(r *Record, v *T) *failure {
			if err := read(r.bytes, v); err != nil {
				return corrupt(err)
			}
			return nil
		},
		zero: zero,
	}
}

func never[T any](T) bool { return false }

// The codecs of the special types.
var (
	Time     = special(asType[engram.Time]("google.protobuf.Timestamp"), fromType[engram.Time]("google.protobuf.Timestamp"), never)
	Duration = special(asType[time.Duration]("google.protobuf.Duration"), fromType[time.Duration]("google.protobuf.Duration"), never)
	// Link is that of links; one without an ID is the zero ID.
	Link = special(writeLink, readLink, never)
	// Array and Matrix are those of arrays; nil is unset.
	Array  = special(asType[*idf.NDArray]("engram.idf.v1.NDArray"), fromType[*idf.NDArray]("engram.idf.v1.NDArray"), func(v *idf.NDArray) bool { return v == nil })
	Matrix = special(asType[*idf.NDArray]("engram.idf.v1.Matrix"), fromType[*idf.NDArray]("engram.idf.v1.Matrix"), func(v *idf.NDArray) bool { return v == nil })
	// Any is that of data of any type, as [idf.DecodeValue] gives it; nil is unset.
	Any = special(idf.EncodeValue, func(b []byte, v *any) (err error) { *v, err = idf.DecodeValue(b); return err }, func(v any) bool { return v == nil })
)

var known = idf.NewRegistry()

func asType[T any](name string) func(T) ([]byte, error) {
	t, _ := known.Get(name)
	return func(v T) ([]byte, error) { return t.Encode(v) }
}

func fromType[T any](name string) func([]byte, *T) error {
	t, _ := known.Get(name)
	return func(b []byte, v *T) error {
		decoded, err := t.Decode(b)
		if err != nil {
			return err
		}
		d, ok := decoded.(T)
		if !ok {
			return errors.New("is out of range")
		}
		*v = d
		return nil
	}
}

var writeID, readID = asType[engram.ID]("engram.idf.v1.Link"), fromType[engram.ID]("engram.idf.v1.Link")

func writeLink(id engram.ID) ([]byte, error) {
	if id == (engram.ID{}) {
		return nil, nil
	}
	return writeID(id)
}

func readLink(b []byte, v *engram.ID) error {
	if len(b) == 0 {
		*v = engram.ID{}
		return nil
	}
	return readID(b, v)
}
