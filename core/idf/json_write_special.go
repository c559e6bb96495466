package idf

import (
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// maxShownElements is up to which length the data of an array is shown as numbers.
const maxShownElements = 256

// special writes a special message. It is not done if its content has no form but
// that of an object.
func (w *jsonWriter) special(l *layout, b []byte) (done bool, err error) {
	switch l.special {
	case isTime:
		sec, nanos, err := readSeconds(b)
		t, ok := timeOf(sec, nanos)
		if err != nil || !ok {
			return false, err
		}
		w.time(t)
	case isDuration:
		sec, nanos, err := readSeconds(b)
		d, ok := durationOf(sec, nanos)
		if err != nil || !ok {
			return false, err
		}
		w.duration(d)
	case isLink:
		link, err := lastRecord(b, 1, false)
		if err == nil {
			err = validText(link)
		}
		if err != nil {
			return false, err
		}
		w.buf = appendJSONString(w.buf, link)
	case isArray, isMatrix:
		a, err := readArray(b, l.special == isMatrix)
		if err != nil {
			return false, err
		}
		w.array(&a, l.special == isMatrix)
	}
	return true, nil
}

// array writes an array, valid or not, as an object with its message's members.
func (w *jsonWriter) array(a *NDArray, matrix bool) {
	w.put('{')
	if matrix {
		w.key("rows")
		w.plainInt(a.Shape[0])
		w.key("cols")
		w.plainInt(a.Shape[1])
	} else {
		w.key("shape")
		w.put('[')
		for _, n := range a.Shape {
			w.nextItem()
			w.plainInt(n)
		}
		w.put(']')
	}
	w.key("dtype")
	if a.DType.Size() > 0 {
		w.string(a.DType.String())
	} else {
		w.buf = strconv.AppendInt(w.buf, int64(a.DType), 10)
	}
	w.key("data")
	if a.Valid() == nil && a.Len() <= maxShownElements {
		w.put('[')
		for i := range a.Len() {
			w.nextItem()
			w.element(a, i)
		}
		w.put(']')
	} else {
		w.bytes(a.Data)
	}
	w.put('}')
}

func (w *jsonWriter) element(a *NDArray, i int) {
	switch a.DType {
	case Float32:
		w.float(a.Float(i), 32)
	case Float64:
		w.float(a.Float(i), 64)
	case Uint64:
		if u := uint64(a.Int(i)); u > maxPlainInt {
			w.buf = append(strconv.AppendUint(append(w.buf, '"'), u, 10), '"')
			return
		}
		fallthrough
	default:
		w.plainInt(a.Int(i))
	}
}

// plainInt writes an integer as a number if every reader of JSON keeps it exactly,
// else as a string.
func (w *jsonWriter) plainInt(v int64) {
	if v <= maxPlainInt && v >= -maxPlainInt {
		w.buf = strconv.AppendInt(w.buf, v, 10)
		return
	}
	w.buf = append(strconv.AppendInt(append(w.buf, '"'), v, 10), '"')
}

// variant writes a Value as what it holds, with a tag where that would be read as
// another kind.
func (w *jsonWriter) variant(b []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	v, err := readVariant(b)
	if err != nil {
		return err
	}
	switch v.kind {
	case variantNull:
		w.buf = append(w.buf, "null"...)
	case variantBool:
		w.buf = strconv.AppendBool(w.buf, v.num != 0)
	case variantInt64:
		if i := protowire.DecodeZigZag(v.num); i <= maxPlainInt && i >= -maxPlainInt {
			w.plainInt(i)
		} else {
			w.tagged(tagInt64, func() { w.plainInt(i) })
		}
	case variantUint64:
		w.tagged(tagUint64, func() { w.buf = append(strconv.AppendUint(append(w.buf, '"'), v.num, 10), '"') })
	case variantInt32:
		w.tagged(tagInt32, func() { w.plainInt(int64(v.int32())) })
	case variantFloat:
		w.tagged(tagFloat, func() { w.float(float64(math.Float32frombits(uint32(v.num))), 32) })
	case variantDouble:
		w.variantDouble(math.Float64frombits(v.num))
	case variantString:
		if err := validText(v.b); err != nil {
			return err
		}
		w.buf = appendJSONString(w.buf, v.b)
	case variantList:
		return w.variantList(v.b, depth+2)
	case variantDict:
		return w.variantDict(v.b, depth+3)
	default:
		tag := variantTags[v.kind]
		w.tagged(tag, func() { err = w.message(valueLayout.find(v.kind).msg, v.b, depth+1) })
		return under(tag, err)
	}
	return nil
}

// variantTags are the tags of the special messages.
var variantTags = map[protowire.Number]string{
	variantTime: tagTime, variantDuration: tagDuration, variantArray: tagArray, variantLink: tagLink,
}

func (w *jsonWriter) tagged(tag string, content func()) {
	w.put('{')
	w.key(tag)
	content()
	w.put('}')
}

// variantDouble writes a double with a point or an exponent, which tells it from an
// integer.
func (w *jsonWriter) variantDouble(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.tagged(tagDouble, func() { w.float(f, 64) })
		return
	}
	start := len(w.buf)
	w.float(f, 64)
	if !slices.ContainsFunc(w.buf[start:], func(c byte) bool { return c == '.' || c == 'e' }) {
		w.buf = append(w.buf, ".0"...)
	}
}

func (w *jsonWriter) variantList(b []byte, depth int) error {
	w.put('[')
	for i := 0; ; i++ {
		item, rest, found, err := nextRecord(b, 1)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		w.nextItem()
		if err := w.variant(item, depth); err != nil {
			return under(indexSegment(i), err)
		}
		b = rest
	}
	w.put(']')
	return nil
}

func (w *jsonWriter) variantDict(b []byte, depth int) error {
	dict := map[string][]byte{}
	keys := []string{}
	for {
		entry, rest, found, err := nextRecord(b, 1)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		key, value, err := dictEntry(entry)
		if err != nil {
			return err
		}
		if _, ok := dict[string(key)]; !ok {
			keys = append(keys, string(key))
		}
		dict[string(key)], b = value, rest
	}
	slices.Sort(keys)
	if len(keys) == 1 && keys[0] != "" && keys[0][0] == '$' {
		var err error
		w.tagged(tagDict, func() { err = w.variantEntries(keys, dict, depth) })
		return err
	}
	return w.variantEntries(keys, dict, depth)
}

func (w *jsonWriter) variantEntries(keys []string, dict map[string][]byte, depth int) error {
	w.put('{')
	for _, k := range keys {
		w.key(k)
		if err := w.variant(dict[k], depth); err != nil {
			return under(keySegment(k), err)
		}
	}
	w.put('}')
	return nil
}
