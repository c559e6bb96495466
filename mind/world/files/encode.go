package files

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// appendJSON writes a tree as JSON, lists of scalars on one line.
func appendJSON(b []byte, v any, depth int) []byte {
	indent := func(n int) { b = append(append(b, '\n'), strings.Repeat("  ", n)...) }
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			return append(b, "{}"...)
		}
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			indent(depth + 1)
			b = append(appendText(b, f.key), ": "...)
			b = appendJSON(b, f.value, depth+1)
		}
		indent(depth)
		b = append(b, '}')
	case []any:
		long := !isFlow(v)
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if long {
				indent(depth + 1)
			} else if i > 0 {
				b = append(b, ' ')
			}
			b = appendJSON(b, item, depth+1)
		}
		if long {
			indent(depth)
		}
		b = append(b, ']')
	case string:
		b = appendText(b, v)
	default:
		b = append(b, scalar(v, true)...)
	}
	if depth == 0 {
		b = append(b, '\n')
	}
	return b
}

// isFlow reports whether a list stands on one line: of scalars, or of lists of numbers.
func isFlow(list []any) bool {
	for _, item := range list {
		switch v := item.(type) {
		case object:
			return false
		case []any:
			for _, x := range v {
				if _, number := x.(float64); !number {
					return false
				}
			}
		}
	}
	return true
}

// appendText writes a text as JSON does, which YAML reads alike.
func appendText(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // texts and buffers do not fail
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		if !unicode.IsPrint(r) && r < 0x10000 {
			b = append(b, `\u`...)
			b = append(b, strconv.FormatInt(0x10000+int64(r), 16)[1:]...)
			continue
		}
		b = append(b, string(r)...)
	}
	return b
}

// scalar writes what is no text. Floats stay floats when they are read.
func scalar(v any, isJSON bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		switch {
		case math.IsNaN(v) && isJSON:
			return `"NaN"`
		case math.IsNaN(v):
			return ".nan"
		case math.IsInf(v, 0) && isJSON:
			return map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0]
		case math.IsInf(v, 0):
			return map[bool]string{true: ".inf", false: "-.inf"}[v > 0]
		}
		s := strconv.FormatFloat(v, 'g', -1, 64)
		mantissa, exponent, e := strings.Cut(s, "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		if e {
			return mantissa + "e" + exponent
		}
		return mantissa
	}
	return "null"
}

func encodeYAML(tree any) []byte {
	if list, ok := tree.([]any); ok && len(list) == 0 {
		return []byte("[]\n")
	}
	return appendYAML(nil, tree, 0)
}

// appendYAML writes a tree in block style, each line with its indent and its end.
func appendYAML(b []byte, v any, indent int) []byte {
	pad := strings.Repeat(" ", indent)
	switch v := v.(type) {
	case object:
		for _, f := range v {
			b = append(append(append(b, pad...), plainText(f.key)...), ':')
			b = appendMember(b, f.value, indent)
		}
	case []any:
		for _, item := range v {
			if o, ok := item.(object); ok && len(o) > 0 {
				at := len(b)
				b = appendYAML(b, o, indent+2)
				b[at+indent] = '-' // where the first member's indent is
				continue
			}
			b = append(append(b, pad...), '-')
			b = appendMember(b, item, indent)
		}
	}
	return b
}

func appendMember(b []byte, v any, indent int) []byte {
	switch w := v.(type) {
	case object:
		if len(w) > 0 {
			return appendYAML(append(b, '\n'), w, indent+2)
		}
	case []any:
		if !isFlow(w) {
			return appendYAML(append(b, '\n'), w, indent+2)
		}
	}
	return append(appendFlow(append(b, ' '), v), '\n')
}

func appendFlow(b []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		return append(b, "{}"...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendFlow(b, item)
		}
		return append(b, ']')
	case string:
		return append(b, plainText(v)...)
	}
	return append(b, scalar(v, false)...)
}

// plain texts need no quotes: words that YAML takes for nothing else.
var (
	plain    = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+-]+)*$`)
	reserved = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n|nan|inf|infinity)$`)
)

func plainText(s string) string {
	if plain.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	return string(appendText(nil, s))
}
