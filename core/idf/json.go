package idf

// JSONOptions says how payloads are shown as JSON.
type JSONOptions struct {
	// SummarizeBytes shows bytes longer than this as {"bytes": n, "sha256": "…"};
	// negative never does, so that [Type.FromJSON] reads all back.
	SummarizeBytes int
	// AllMembers shows members without presence that have their zero value too.
	AllMembers bool
}

// JSON returns the payload as JSON in its plain structure: lists of lists as
// arrays of arrays, times as RFC 3339 in UTC, links and 64-bit integers as strings,
// durations as seconds ("1.5s"), enumerations by key, bytes as base64, NaN and infinities as
// strings, members as declared, dict keys sorted. The data of an array of up to
// 256 elements is a list of numbers. A Value is shown as what it holds, with a tag
// where that would not be read back as the same Value: see docs/formats/idf.md.
// What reads back with [Type.FromJSON] is the same payload, but for the bits by
// which one NaN differs from another.
// The error is Corrupt, and names the member, if b is not the wire form of the type.
func (t *Type) JSON(b []byte, o JSONOptions) ([]byte, error) {
	w := jsonWriter{opts: o, buf: make([]byte, 0, 64+2*min(len(b), 1<<16))}
	if err := w.message(layoutOf(t), b, 1); err != nil {
		return nil, t.fail(err)
	}
	return w.buf, nil
}

// FromJSON returns the wire form of a payload written as JSON: what [Type.JSON]
// writes, and with it numbers as strings, integers with a fraction of zero, times
// as the text of IDs or nanoseconds, members by their protobuf JSON name, arrays as nested
// lists of numbers, NaN and infinities without quotes, a byte order mark. A null leaves a member unset. The error names the member and
// what was expected there: TypeMismatch for a value of the wrong kind or a member
// that the type does not have, OutOfRange for a number that does not fit, Invalid
// for what is not JSON or cannot be.
func (t *Type) FromJSON(j []byte) ([]byte, error) {
	v, err := parseJSON(string(j))
	if err != nil {
		return nil, t.fail(err)
	}
	e := encoder{json: true}
	if err := e.message(layoutOf(t), v, 1, Float64); err != nil {
		return nil, t.fail(err)
	}
	return e.buf, nil
}
