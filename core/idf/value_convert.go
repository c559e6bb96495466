package idf

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// asMap returns a dict or object; any map whose keys are strings, integers or bools
// is one.
func asMap(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Map {
		return nil, false
	}
	m := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		switch k := it.Key(); {
		case k.Kind() == reflect.String:
			m[k.String()] = it.Value().Interface()
		case k.CanInt():
			m[strconv.FormatInt(k.Int(), 10)] = it.Value().Interface()
		case k.CanUint():
			m[strconv.FormatUint(k.Uint(), 10)] = it.Value().Interface()
		case k.Kind() == reflect.Bool:
			m[strconv.FormatBool(k.Bool())] = it.Value().Interface()
		default:
			return nil, false
		}
	}
	return m, true
}

// asList returns a list; any slice or array is one.
func asList(v any) ([]any, bool) {
	if l, ok := v.([]any); ok {
		return l, true
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice && rv.Kind() != reflect.Array {
		return nil, false
	}
	if _, ok := v.(engram.ID); ok {
		return nil, false
	}
	l := make([]any, rv.Len())
	for i := range l {
		l[i] = rv.Index(i).Interface()
	}
	return l, true
}

// asString returns a string, of a named type too.
func asString(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case jsonNumber:
		return "", false
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.String {
		return rv.String(), true
	}
	return "", false
}

func asBool(v any) (b, ok bool) {
	if b, ok = v.(bool); ok {
		return b, true
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Bool {
		return rv.Bool(), true
	}
	return false, false
}

// mismatch is the error about a value of the wrong kind.
func mismatch(v any, expected string) error {
	return memberErrorf(engram.TypeMismatch, "expected %s, got %s", expected, inWords(v))
}

// inWords says in words what a value is.
func inWords(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + shorten(v)
	case jsonNumber:
		return "the number " + string(v)
	case engram.ID:
		return "the link " + shorten(v.String())
	case engram.Time:
		return "the time " + v.String()
	case time.Duration:
		return "the duration " + v.String()
	case *NDArray:
		return "an array (" + v.String() + ")"
	case Enum:
		return "the enumeration value " + v.String()
	case []byte:
		return strconv.Itoa(len(v)) + " bytes"
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return fmt.Sprintf("a list of %d items", rv.Len())
	case reflect.Bool:
		return fmt.Sprint(rv.Bool())
	case reflect.String:
		return "the string " + shorten(rv.String())
	}
	if n := numberOf(v); n.kind != notNumber {
		return "the number " + n.String()
	}
	return fmt.Sprintf("a Go value of type %T", v)
}

func (n number) String() string {
	switch {
	case n.text != "":
		return n.text
	case n.kind == aFloat:
		return strconv.FormatFloat(n.f, 'g', -1, 64)
	case n.neg:
		return "-" + strconv.FormatUint(n.u, 10)
	}
	return strconv.FormatUint(n.u, 10)
}

// words says what one value of the member is.
func (m *member) words() string {
	switch {
	case m.enum != nil:
		return "a value of " + m.enum.name
	case m.msg != nil:
		return m.msg.words()
	}
	switch m.kind {
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.BytesKind:
		return "bytes"
	case protoreflect.BoolKind:
		return "a bool"
	}
	return "a number (" + m.kind.String() + ")"
}

func (l *layout) words() string {
	switch l.special {
	case isList:
		return "a list"
	case isDict:
		return "a dict"
	case isOptional:
		return "a value or null"
	case isTuple:
		return "a list of " + strconv.Itoa(len(l.members)) + " items"
	case isTime:
		return "a time"
	case isDuration:
		return "a duration"
	case isLink:
		return "a link"
	case isArray:
		return "an ndarray"
	case isMatrix:
		return "a matrix"
	case isValue:
		return "any value"
	}
	return "an object (" + l.name + ")"
}
