package idf

import "github.com/seed-301d4374/engram"

// Values of IDF in plain Go. [Type.Decode] returns, and [Type.Encode] and
// [EncodeValue] take, any of:
//
//	nil                    null, an unset optional member
//	bool, int32, int64, uint32, uint64, float32, float64, string, []byte
//	engram.Time            Time
//	time.Duration          Duration
//	engram.ID              Link
//	*NDArray               NDArray and Matrix
//	[]any                  List, Tuple, Pair, repeated fields
//	map[string]any         Dict and objects; objects have a key per member
//	Enum                   a value of an enumeration
//
// Encoding is generous: int and any number without loss for a number, a string or
// int for an enumeration or a time, ID text for a link, []T for a list.

// NDArray is a dense array in row-major order.
type NDArray struct {
	Shape []int64
	DType DType
	Data  []byte // little-endian
}

// DType is the element type of an array.
type DType int32

// Enum is a value of an enumeration: its key as it was written, and its number.
type Enum struct {
	Key    string
	Number int32
}

// EncodeValue encodes v as an engram.idf.v1.Value.
func EncodeValue(v any) ([]byte, error) { panic("to be built") }

// DecodeValue decodes an engram.idf.v1.Value.
func DecodeValue(b []byte) (any, error) { panic("to be built") }

// ValuePayload returns v as a payload of the variant's type.
func ValuePayload(v any) (engram.Payload, error) { panic("to be built") }

// Decode returns the payload as plain Go values: a map[string]any with every
// member that has presence or a value; a Value's content for the variant. Bytes
// are copied.
func (t *Type) Decode(b []byte) (any, error) { panic("to be built") }

// Encode returns the wire form of v, members in the order of their numbers. The
// error is TypeMismatch and names the member.
func (t *Type) Encode(v any) ([]byte, error) { panic("to be built") }

// JSONOptions says how payloads are shown as JSON.
type JSONOptions struct {
	// SummarizeBytes shows bytes longer than this as {"bytes": n, "sha256": "…"};
	// negative never does, so that [Type.FromJSON] reads all back.
	SummarizeBytes int
	Indent         string
	// AllMembers shows members without presence that have their zero value too.
	AllMembers bool
}

// JSON returns the payload as JSON in its plain structure: lists of lists as
// arrays of arrays, times and links and 64-bit integers as strings, enumerations
// by key, bytes as base64, NaN and infinities as strings, dict keys sorted.
func (t *Type) JSON(b []byte, o JSONOptions) ([]byte, error) { panic("to be built") }

// FromJSON returns the wire form of a payload written as JSON. The error is
// TypeMismatch or Invalid and names the member.
func (t *Type) FromJSON(j []byte) ([]byte, error) { panic("to be built") }
