package idf

import (
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// variant writes the content of a Value that stands depth messages deep.
func (e *encoder) variant(v any, depth int) error {
	if depth > maxDepth || depth == maxDepth && !isScalar(v) {
		return errNesting(engram.Invalid)
	}
	switch v := v.(type) {
	case nil:
	case bool:
		e.variantScalar(variantBool, protowire.EncodeBool(v))
	case int32:
		e.variantInt32(v)
	case int64:
		e.variantInt64(v)
	case int:
		e.variantInt64(int64(v))
	case uint64:
		e.variantUint64(v)
	case float32:
		e.variantFloat(v)
	case float64:
		e.variantDouble(v)
	case string:
		return e.variantString(v)
	case []byte:
		return e.variantArray(&NDArray{Shape: []int64{int64(len(v))}, DType: Uint8, Data: v})
	case engram.Time:
		start := e.begin(variantTime)
		e.appendTime(v)
		e.end(start)
	case time.Time:
		return e.variant(engram.TimeOf(v), depth)
	case time.Duration:
		start := e.begin(variantDuration)
		e.appendTimeParts(int64(v/time.Second), int64(v%time.Second))
		e.end(start)
	case *NDArray:
		return e.variantArray(v)
	case NDArray:
		return e.variantArray(&v)
	case engram.ID:
		start := e.begin(variantLink)
		if err := e.appendLink(v.String()); err != nil {
			return err
		}
		e.end(start)
	case Enum:
		if v.Key == "" {
			e.variantInt32(v.Number)
			return nil
		}
		return e.variantString(v.Key)
	case jsonNumber:
		return e.variantNumber(string(v))
	case []any:
		return e.variantList(v, depth)
	case map[string]any:
		if e.json {
			if tag, content, ok := tagged(v); ok {
				return e.variantTagged(tag, content, depth)
			}
		}
		return e.variantDict(v, depth)
	default:
		return e.variantOther(v, depth)
	}
	return nil
}

// isScalar reports whether a Value holds v without a message.
func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, int, int32, int64, uint64, float32, float64, string, Enum, jsonNumber:
		return true
	}
	return false
}

// variantOther writes a value of one of Go's many other types.
func (e *encoder) variantOther(v any, depth int) error {
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		if rv.Type().Size() <= 4 {
			e.variantInt32(int32(rv.Int()))
		} else {
			e.variantInt64(rv.Int())
		}
	case rv.CanUint():
		if rv.Type().Size() <= 2 {
			e.variantInt32(int32(rv.Uint()))
			break
		}
		e.variantUint64(rv.Uint())
	case rv.Kind() == reflect.Float32:
		e.variantFloat(float32(rv.Float()))
	case rv.Kind() == reflect.Float64:
		e.variantDouble(rv.Float())
	case rv.Kind() == reflect.Bool:
		return e.variant(rv.Bool(), depth)
	case rv.Kind() == reflect.String:
		return e.variantString(rv.String())
	default:
		if items, ok := asList(v); ok {
			return e.variantList(items, depth)
		}
		if dict, ok := asMap(v); ok {
			return e.variantDict(dict, depth)
		}
		return mismatch(v, valueLayout.words())
	}
	return nil
}

func (e *encoder) variantScalar(kind protowire.Number, num uint64) {
	e.buf = protowire.AppendTag(e.buf, kind, variantWire[kind])
	e.buf = valueLayout.find(kind).appendNumeric(e.buf, num)
}

func (e *encoder) variantInt32(v int32) {
	e.variantScalar(variantInt32, protowire.EncodeZigZag(int64(v)))
}
func (e *encoder) variantInt64(v int64) { e.variantScalar(variantInt64, protowire.EncodeZigZag(v)) }

// variantUint64 writes an int64 wherever that holds the number, so that equal numbers are written alike.
func (e *encoder) variantUint64(v uint64) {
	if v <= math.MaxInt64 {
		e.variantInt64(int64(v))
		return
	}
	e.variantScalar(variantUint64, v)
}
func (e *encoder) variantFloat(v float32) {
	e.variantScalar(variantFloat, uint64(math.Float32bits(v)))
}
func (e *encoder) variantDouble(v float64) { e.variantScalar(variantDouble, math.Float64bits(v)) }

func (e *encoder) variantString(s string) error {
	if !utf8.ValidString(s) {
		return memberErrorf(engram.Invalid, "the string %s is not UTF-8", shorten(s))
	}
	e.buf = protowire.AppendTag(e.buf, variantString, protowire.BytesType)
	e.buf = protowire.AppendString(e.buf, s)
	return nil
}

func (e *encoder) variantArray(a *NDArray) error {
	start := e.begin(variantArray)
	if err := e.array(valueLayout.find(variantArray).msg, a, Float64); err != nil {
		return err
	}
	e.end(start)
	return nil
}

func (e *encoder) variantList(items []any, depth int) error {
	list := e.begin(variantList)
	for i, item := range items {
		start := e.begin(1)
		if err := e.variant(item, depth+2); err != nil {
			return under(indexSegment(i), err)
		}
		e.end(start)
	}
	e.end(list)
	return nil
}

func (e *encoder) variantDict(dict map[string]any, depth int) error {
	keys := make([]string, 0, len(dict))
	for k := range dict {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	all := e.begin(variantDict)
	for _, k := range keys {
		if !utf8.ValidString(k) {
			return under(keySegment(k), memberErrorf(engram.Invalid, "the key is not UTF-8"))
		}
		entry := e.begin(1)
		e.buf = protowire.AppendTag(e.buf, 1, protowire.BytesType)
		e.buf = protowire.AppendString(e.buf, k)
		start := e.begin(2)
		if err := e.variant(dict[k], depth+3); err != nil {
			return under(keySegment(k), err)
		}
		e.end(start)
		e.end(entry)
	}
	e.end(all)
	return nil
}

// JSON shows a Value as what it holds where reading that gives the same Value
// again, and as an object with a tag otherwise.
//
//	null, true, "text", […], {…}   themselves
//	1.0, 2.5e3                     double: a number with a point or an exponent
//	17                             int64: one without, up to ±(2^53 - 1)
//	{"$int64": "…"} {"$uint64": "…"} {"$int32": 1} {"$float": 0.5} {"$double": "NaN"}
//	{"$time": "…"} {"$duration": "1.5s"} {"$link": "…"} {"$ndarray": {…}}
//	{"$dict": {…}}                 a dict with one key that begins with "$"
const (
	tagInt32    = "$int32"
	tagInt64    = "$int64"
	tagUint64   = "$uint64"
	tagFloat    = "$float"
	tagDouble   = "$double"
	tagTime     = "$time"
	tagDuration = "$duration"
	tagLink     = "$link"
	tagArray    = "$ndarray"
	tagDict     = "$dict"
)

var tagKinds = map[string]protowire.Number{
	tagInt32: variantInt32, tagInt64: variantInt64, tagUint64: variantUint64, tagFloat: variantFloat, tagDouble: variantDouble,
	tagTime: variantTime, tagDuration: variantDuration, tagArray: variantArray, tagDict: variantDict, tagLink: variantLink,
}

// maxPlainInt is the largest integer that every reader of JSON keeps exactly.
const maxPlainInt = 1<<53 - 1

// tagged reports whether a JSON object is a Value with its tag.
func tagged(object map[string]any) (tag string, content any, ok bool) {
	if len(object) == 1 {
		for tag, content = range object {
			return tag, content, strings.HasPrefix(tag, "$")
		}
	}
	return "", nil, false
}

func (e *encoder) variantTagged(tag string, content any, depth int) error {
	kind, ok := tagKinds[tag]
	if !ok {
		return memberErrorf(engram.Invalid, `%s is not a tag of a Value; a dict with such a key is written {"$dict": {…}}`, shorten(tag))
	}
	if kind == variantDict {
		dict, ok := asMap(content)
		if !ok {
			return under(tag, mismatch(content, "a dict"))
		}
		return e.variantDict(dict, depth)
	}
	return under(tag, e.single(valueLayout.find(kind), content, depth, true))
}

// variantNumber writes a number of a JSON text. An integer is not rounded: one beyond 64 bits must be a double as it is.
func (e *encoder) variantNumber(s string) error {
	n := parseNumber(s)
	if !strings.ContainsAny(s, ".eE") {
		if i, ok := n.int64(); ok && s != "-0" {
			e.variantInt64(i)
			return nil
		}
		if u, ok := n.uint64(); ok && n.kind == anInteger {
			e.variantUint64(u)
			return nil
		}
		if exact, ok := new(big.Int).SetString(s, 10); ok && len(s) > 18 && len(s) < 400 {
			if f, accuracy := new(big.Float).SetInt(exact).Float64(); accuracy != big.Exact || math.IsInf(f, 0) {
				return memberErrorf(engram.OutOfRange, "the integer %s does not fit 64 bits; write %s.0 for the double next to it, or a string", s, s)
			}
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return memberErrorf(engram.OutOfRange, "the number %s does not fit a double", s)
	}
	e.variantDouble(f)
	return nil
}
