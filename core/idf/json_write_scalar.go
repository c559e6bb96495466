package idf

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

func (w *jsonWriter) scalar(o *occurrence) error {
	switch o.m.kind {
	case protoreflect.StringKind:
		if err := validText(o.b); err != nil {
			return err
		}
		w.buf = appendJSONString(w.buf, o.b)
	case protoreflect.BytesKind:
		w.bytes(o.b)
	default:
		w.numeric(o.m, o.num)
	}
	return nil
}

func (w *jsonWriter) numeric(m *member, num uint64) {
	switch m.kind {
	case protoreflect.BoolKind:
		w.buf = strconv.AppendBool(w.buf, num != 0)
	case protoreflect.EnumKind:
		if e := m.enum.value(int32(num)); e.Key != "" {
			w.string(e.Key)
		} else {
			w.buf = e.append(w.buf)
		}
	case protoreflect.FloatKind:
		w.float(float64(math.Float32frombits(uint32(num))), 32)
	case protoreflect.DoubleKind:
		w.float(math.Float64frombits(num), 64)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.buf = append(strconv.AppendUint(append(w.buf, '"'), num, 10), '"')
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.buf = append(strconv.AppendInt(append(w.buf, '"'), integer(m.kind, num), 10), '"')
	default:
		w.buf = strconv.AppendInt(w.buf, integer(m.kind, num), 10)
	}
}

// float writes the shortest text that reads back as the same number, with an
// exponent where that is usual in JSON.
func (w *jsonWriter) float(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		w.buf = append(w.buf, `"NaN"`...)
	case math.IsInf(f, 1):
		w.buf = append(w.buf, `"Infinity"`...)
	case math.IsInf(f, -1):
		w.buf = append(w.buf, `"-Infinity"`...)
	default:
		format := byte('f')
		if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			format = 'e'
		}
		w.buf = strconv.AppendFloat(w.buf, f, format, -1, bits)
	}
}

func (w *jsonWriter) bytes(b []byte) {
	if w.opts.SummarizeBytes >= 0 && len(b) > w.opts.SummarizeBytes {
		sum := sha256.Sum256(b)
		w.put('{')
		w.key("bytes")
		w.buf = strconv.AppendInt(w.buf, int64(len(b)), 10)
		w.key("sha256")
		w.string(hex.EncodeToString(sum[:]))
		w.put('}')
		return
	}
	w.buf = append(base64.StdEncoding.AppendEncode(append(w.buf, '"'), b), '"')
}

func (w *jsonWriter) string(s string) { w.buf = appendJSONString(w.buf, s) }

func (w *jsonWriter) time(t engram.Time) {
	w.buf = append(t.AppendRFC3339(append(w.buf, '"')), '"')
}

// duration writes a duration in seconds, as protobuf's JSON does.
func (w *jsonWriter) duration(d time.Duration) {
	w.buf = append(appendSeconds(append(w.buf, '"'), d), 's', '"')
}

// appendSeconds appends a duration in seconds with as many decimals as it needs.
func appendSeconds(b []byte, d time.Duration) []byte {
	u := uint64(d)
	if d < 0 {
		b, u = append(b, '-'), -u
	}
	b = strconv.AppendUint(b, u/1e9, 10)
	if frac := u % 1e9; frac != 0 {
		start := len(b)
		b = strconv.AppendUint(b, 1e9+frac, 10)
		b[start] = '.'
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return b
}

// appendJSONString appends a string in quotes. It must be UTF-8.
func appendJSONString[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}
