package pattern

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge/rdf"
)

// integers are the datatypes of whole numbers.
var integers = map[string]bool{
	"integer": true, "long": true, "int": true, "short": true, "byte": true, "nonNegativeInteger": true, "positiveInteger": true,
	"nonPositiveInteger": true, "negativeInteger": true, "unsignedLong": true, "unsignedInt": true, "unsignedShort": true, "unsignedByte": true,
}

// isNumeric says whether literals of a datatype are numbers.
func isNumeric(datatype string) bool {
	local, ok := strings.CutPrefix(datatype, rdf.NSXSD)
	return ok && (integers[local] || local == "decimal" || local == "double" || local == "float")
}

// numberOf returns the value of a literal that is written as a number, and has no type or a
// numeric one or is a text.
func numberOf(t rdf.Term) (float64, bool) {
	if t.Kind != rdf.Literal || t.Lang != "" || t.Type != "" && t.Type != rdf.NSXSD+"string" && !isNumeric(t.Type) {
		return 0, false
	}
	return parseNumber(t.Value)
}

func parseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "_xXpP") {
		return 0, false
	}
	switch s {
	case "INF", "+INF":
		s = "+Inf"
	case "-INF":
		s = "-Inf"
	case "NaN":
	default:
		if c := s[len(s)-1]; c != '.' && (c < '0' || c > '9') {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// equalNumbers compares by value, whole numbers of any size exactly.
func equalNumbers(a, b string) bool {
	x, ok1 := parseNumber(a)
	y, ok2 := parseNumber(b)
	if !ok1 || !ok2 || x != y {
		return false
	}
	if x > -1<<53 && x < 1<<53 {
		return true
	}
	m, ok1 := new(big.Int).SetString(strings.TrimPrefix(strings.TrimSpace(a), "+"), 10)
	n, ok2 := new(big.Int).SetString(strings.TrimPrefix(strings.TrimSpace(b), "+"), 10)
	return !ok1 || !ok2 || m.Cmp(n) == 0
}

// boolOf returns the value of a literal that is a truth value.
func boolOf(t rdf.Term) (value, ok bool) {
	if t.Kind != rdf.Literal || t.Lang != "" || t.Type != "" && t.Type != rdf.NSXSD+"boolean" && t.Type != rdf.NSXSD+"string" {
		return false, false
	}
	switch strings.TrimSpace(t.Value) {
	case "true":
		return true, true
	case "false":
		return false, true
	case "1":
		return true, t.Type == rdf.NSXSD+"boolean"
	case "0":
		return false, t.Type == rdf.NSXSD+"boolean"
	}
	return false, false
}

// timeOf returns the value of a date or of a date with time; without zone it is UTC.
func timeOf(t rdf.Term) (time.Time, bool) {
	if t.Type != rdf.NSXSD+"dateTime" && t.Type != rdf.NSXSD+"date" && t.Type != rdf.NSXSD+"dateTimeStamp" {
		return time.Time{}, false
	}
	text := strings.TrimSpace(t.Value)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02", "2006-01-02Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// isOfDatatype says whether a literal is of a datatype: plain ones are texts, whole numbers are
// decimal, too.
func isOfDatatype(t rdf.Term, datatype string) bool {
	if t.Kind != rdf.Literal {
		return false
	}
	wanted, ok := strings.CutPrefix(datatype, rdf.NSXSD)
	switch {
	case datatype == rdf.NSRDFS+"Literal" || t.Type == datatype:
		return true
	case datatype == rdf.NS+"langString":
		return t.Lang != ""
	case datatype == rdf.NS+"PlainLiteral":
		return t.Type == "" || t.Type == rdf.NSXSD+"string"
	case !ok:
		return false
	case wanted == "string":
		return t.Type == "" && t.Lang == ""
	}
	has, ok := strings.CutPrefix(t.Type, rdf.NSXSD)
	return ok && integers[has] && (wanted == "decimal" || wanted == "integer")
}

// prepare says what is wrong with a facet.
func (f *facet) prepare() (err error) {
	switch f.name {
	case "pattern":
		f.regexp, err = regexp.Compile("^(?:" + f.value.literalText() + ")$")
		return err
	case "length", "minLength", "maxLength":
		if n, err := strconv.Atoi(f.value.literalText()); err != nil || n < 0 {
			return engram.Errorf(engram.Invalid, "", "%s is followed by a number", f.name)
		}
	}
	return nil
}

func (t Term) literalText() string {
	if t.kind == exact {
		return t.term.Value
	}
	return t.text
}

// holds says whether a literal fulfils the facet.
func (f facet) holds(t rdf.Term) bool {
	limit := f.value.literalText()
	switch f.name {
	case "length", "minLength", "maxLength":
		n, _ := strconv.Atoi(limit)
		has := utf8.RuneCountInString(t.Value)
		return f.name == "length" && has == n || f.name == "minLength" && has >= n || f.name == "maxLength" && has <= n
	case "pattern":
		return f.regexp.MatchString(t.Value)
	case "langRange":
		return limit == "*" && t.Lang != "" || strings.EqualFold(t.Lang, limit) ||
			len(t.Lang) > len(limit) && t.Lang[len(limit)] == '-' && strings.EqualFold(t.Lang[:len(limit)], limit)
	}
	c, ok := 0, false
	if at, isTime := timeOf(t); isTime {
		other, isTime := timeOf(rdf.NewTyped(limit, rdf.NSXSD+"dateTime"))
		c, ok = at.Compare(other), isTime
	} else {
		x, ok1 := parseNumber(t.Value)
		y, ok2 := parseNumber(limit)
		if ok = ok1 && ok2 && x == x && y == y; x < y {
			c = -1
		} else if x > y {
			c = 1
		}
	}
	if !ok {
		return false
	}
	switch f.name {
	case ">=":
		return c >= 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	}
	return c < 0
}

// compareTerms puts values in order: none, numbers, times, then texts and IRIs.
func compareTerms(a, b rdf.Term) int {
	if x, y := rank(a), rank(b); x != y {
		return x - y
	}
	if x, ok := numberOf(a); ok {
		if y, ok := numberOf(b); ok && x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	if x, ok := timeOf(a); ok {
		if y, ok := timeOf(b); ok {
			if c := x.Compare(y); c != 0 {
				return c
			}
		}
	}
	return strings.Compare(a.Value, b.Value)
}

func rank(t rdf.Term) int {
	if t.Kind == 0 {
		return 0
	}
	if _, ok := numberOf(t); ok {
		return 1
	}
	if _, ok := timeOf(t); ok {
		return 2
	}
	return 3
}
