package idf

import "github.com/seed-301d4374/engram"

// Values of IDF in plain Go. [Type.Decode] returns, and [Type.Encode] and
// [EncodeValue] take, any of:
//
//	nil                    null
//	bool, int32, int64, uint32, uint64, float32, float64, string, []byte
//	engram.Time            Time
//	time.Duration          Duration
//	engram.ID              Link
//	*NDArray               NDArray and Matrix
//	[]any                  List, Tuple, Pair, repeated fields
//	map[string]any         Dict and objects
//	Enum                   a value of an enumeration
//
// An object has a key for every member without presence, with its zero value if
// it was not written, and for every set member with presence (optional ones,
// messages, those of a oneof). An item of a tuple that is not set is nil. The keys
// of a dict whose keys are numbers or bools are their decimal text.
//
// What is encoded but has no such Go value keeps its data: a link that is not an
// ID is a string; a time or duration out of range is an object with the members
// seconds and nanos. Inside a Value these are encoded again as what they look like,
// a string and a dict. An array is returned as it is, and refused by Encode if it is
// not valid: see [NDArray.Valid].
//
// Encoding is generous: any number that fits for a number, a key or int for an
// enumeration, text or nanoseconds for a time or a duration, ID text for a link,
// []T for a list, map[string]T for a dict. A double is rounded to a float; an
// integer is never rounded. A nil leaves the member unset, but for a Value, which
// it makes null.

// Enum is a value of an enumeration: its key as it was written, and its number. The
// key is empty if the enumeration has no such number.
type Enum struct {
	Key    string
	Number int32
}

// String returns the key, or the number if there is none.
func (e Enum) String() string { return string(e.append(nil)) }

// EncodeValue encodes v as an engram.idf.v1.Value. Equal values give equal bytes.
// Go's int becomes an int64, uint32 an int64, []byte an ndarray of uint8, an
// enumeration's value its key. The error is TypeMismatch for what a Value cannot
// hold and names the place.
func EncodeValue(v any) ([]byte, error) {
	e := encoder{}
	if err := e.variant(v, 1); err != nil {
		return nil, variantError(err)
	}
	return e.buf, nil
}

// DecodeValue decodes an engram.idf.v1.Value. The error is Corrupt and names the
// place.
func DecodeValue(b []byte) (any, error) {
	v, err := decodeVariant(b, 1)
	if err != nil {
		return nil, variantError(err)
	}
	return v, nil
}

func variantError(err error) error { return failAbout(engram.ValueType, err) }

// ValuePayload returns v as a payload of the variant's type.
func ValuePayload(v any) (engram.Payload, error) {
	b, err := EncodeValue(v)
	if err != nil {
		return engram.Payload{}, err
	}
	return engram.Payload{Type: engram.ValueType, Bytes: b}, nil
}

// Decode returns the payload as plain Go values: a map[string]any for an object, a
// Value's content for the variant. Bytes are copied. The error is Corrupt, and
// names the member, if b is not the wire form of the type.
func (t *Type) Decode(b []byte) (any, error) {
	d := decoder{}
	v, err := d.message(layoutOf(t), b, 1)
	if err != nil {
		return nil, t.fail(err)
	}
	return v, nil
}

// Encode returns the wire form of v, members in the order of their numbers and
// dicts in the order of their keys, so that equal values give equal bytes. The
// error is TypeMismatch, or OutOfRange for a number that does not fit, and names
// the member.
func (t *Type) Encode(v any) ([]byte, error) {
	e := encoder{}
	if err := e.message(layoutOf(t), v, 1, Float64); err != nil {
		return nil, t.fail(err)
	}
	return e.buf, nil
}
