package rdf

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Value is what a literal means: a point of the value space of its datatype (XML Schema 1.1, RDF 1.1). "4"^^xsd:int,
// "+4"^^xsd:integer and "4.0"^^xsd:decimal have one value. All that compares literals compares values:
//
//   - Decimals, and the integers of all types among them, are compared exactly, whatever their size. Where one of two is
//     an xsd:float or xsd:double, both are compared as that type has them (IEEE 754), as in XPath: NaN is equal to nothing.
//   - A time with a zone is an instant. Two times without a zone are compared as they stand. Of one with and one without, one is
//     earlier if it is so in every zone from −14:00 to +14:00; else they are in no order, and they are never equal. An xsd:date is
//     the beginning of its day.
//   - Durations are in an order if they are so from whatever day they begin: a month is longer than 27 days and in no order
//     with 30.
//   - Texts, xsd:anyURI among them, are compared by code points. Those with a language are compared with each other, by
//     text and then by tag, whose case does not count.
//   - Literals of other datatypes are equal if text and datatype are, and in no order, as is binary data.
//
// A literal whose text is not one of its datatype, such as "n/a"^^xsd:double, "4.5"^^xsd:integer or "300"^^xsd:byte, is
// equal to itself only.
type Value struct {
	kind   valueKind
	text   string // of texts; of an exact number its lexical form; of binary data the bytes
	of     string // language tag in lower case, or datatype
	exact  decimal
	float  float64
	truth  bool
	moment moment
	span   span
}

type valueKind uint8

const (
	noValue valueKind = iota // of what is no literal
	otherValue
	textValue
	taggedValue
	binaryValue
	truthValue
	exactValue
	floatValue // xsd:float
	doubleValue
	momentValue
	spanValue
)

// decimal is a number with all its digits, without zeros around them.
type decimal struct {
	negative        bool
	whole, fraction string
}

// ValueOf returns what a literal means.
func ValueOf(t Term) Value {
	if t.Kind != Literal {
		return Value{}
	}
	if t.Lang != "" {
		return Value{kind: taggedValue, text: t.Value, of: strings.ToLower(t.Lang)}
	}
	local, standard := strings.CutPrefix(t.Type, NSXSD)
	if t.Type == "" {
		local = "string"
	}
	if standard || t.Type == "" {
		if v := valueAs(local, t.Value); v.kind != noValue {
			return v
		}
	}
	return Value{kind: otherValue, text: t.Value, of: t.Type}
}

// valueAs reads a text as one of a datatype of XML Schema.
func valueAs(datatype, text string) (v Value) {
	switch datatype {
	case "string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN", "anyURI":
		return Value{kind: textValue, text: text}
	}
	text = strings.TrimFunc(text, isSpace)
	switch {
	case datatype == "boolean":
		v.truth = text == "true" || text == "1"
		if v.truth || text == "false" || text == "0" {
			v.kind = truthValue
		}
	case integers[datatype] != nil:
		if v = numberAs(exactValue, text); strings.Contains(text, ".") || !integers[datatype].has(v.exact) {
			return Value{}
		}
	case datatype == "decimal":
		return numberAs(exactValue, text)
	case datatype == "float":
		return numberAs(floatValue, text)
	case datatype == "double":
		return numberAs(doubleValue, text)
	case datatype == "hexBinary":
		if b, err := hex.DecodeString(text); err == nil {
			return Value{kind: binaryValue, text: string(b), of: datatype}
		}
	case datatype == "base64Binary":
		if b, err := base64.StdEncoding.DecodeString(strings.Join(strings.FieldsFunc(text, isSpace), "")); err == nil {
			return Value{kind: binaryValue, text: string(b), of: datatype}
		}
	case strings.HasSuffix(strings.ToLower(datatype), "duration"):
		var ok bool
		if v.span, ok = parseSpan(datatype, text); ok {
			v.kind = spanValue
		}
	default:
		var ok bool
		if v.moment, ok = parseMoment(datatype, text); ok {
			v.kind = momentValue
		}
	}
	return v
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// integers are the datatypes of whole numbers, with what is in them.
var integers = map[string]*bounds{
	"integer": between("", ""), "nonNegativeInteger": between("0", ""), "positiveInteger": between("1", ""),
	"nonPositiveInteger": between("", "0"), "negativeInteger": between("", "-1"),
	"long": between("-9223372036854775808", "9223372036854775807"), "unsignedLong": between("0", "18446744073709551615"),
	"int": between("-2147483648", "2147483647"), "unsignedInt": between("0", "4294967295"),
	"short": between("-32768", "32767"), "unsignedShort": between("0", "65535"),
	"byte": between("-128", "127"), "unsignedByte": between("0", "255"),
}

// bounds are the least and the greatest number of a datatype.
type bounds struct{ least, most Value }

// between returns bounds; of "" there is none.
func between(least, most string) *bounds {
	return &bounds{numberAs(exactValue, least), numberAs(exactValue, most)}
}

func (b *bounds) has(d decimal) bool {
	return (!b.least.IsNumber() || d.compare(b.least.exact) >= 0) && (!b.most.IsNumber() || d.compare(b.most.exact) <= 0)
}

// IsInteger reports whether a datatype is one of whole numbers.
func IsInteger(datatype string) bool {
	local, ok := strings.CutPrefix(datatype, NSXSD)
	return ok && integers[local] != nil
}

// numberIn reads a number of no datatype: one with an exponent is a double, as are NaN and INF, any other one exact.
func numberIn(text string) Value {
	text = strings.TrimFunc(text, isSpace)
	if v := numberAs(exactValue, text); v.kind != noValue {
		return v
	}
	return numberAs(doubleValue, text)
}

// NewNumber returns a literal of a number as it is written without a datatype: a double if it has an exponent, as are NaN
// and INF, else a decimal. ok is false if it is none.
func NewNumber(text string) (t Term, ok bool) {
	switch v := numberIn(text); v.kind {
	case exactValue:
		return NewTyped(text, NSXSD+"decimal"), true
	case doubleValue:
		return NewTyped(text, NSXSD+"double"), true
	}
	return t, false
}

// numberAs reads a number of a kind. An exact one has no exponent.
func numberAs(kind valueKind, text string) Value {
	unsigned := strings.TrimPrefix(text, "-")
	negative := unsigned != text
	if !negative {
		unsigned = strings.TrimPrefix(text, "+")
	}
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	mantissa, exponent := unsigned, ""
	if i := strings.IndexAny(unsigned, "eE"); i >= 0 {
		mantissa, exponent = unsigned[:i], strings.TrimPrefix(strings.TrimPrefix(unsigned[i+1:], "+"), "-")
		if exponent == "" || !digits(exponent) || len(unsigned[i+1:])-len(exponent) > 1 {
			return Value{}
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	number := whole+fraction != "" && digits(whole) && digits(fraction)
	if kind == exactValue {
		if !number || exponent != "" {
			return Value{}
		}
		d := decimal{negative, strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")}
		if d.whole+d.fraction == "" {
			d.negative = false
		}
		return Value{kind: kind, text: text, exact: d}
	}
	switch {
	case number:
	case unsigned == "INF":
		text = strings.TrimSuffix(text, "INF") + "Inf"
	case text == "NaN":
	default:
		return Value{}
	}
	bits := 64
	if kind == floatValue {
		bits = 32
	}
	f, _ := strconv.ParseFloat(text, bits) // what is too large is infinite, which the error says
	return Value{kind: kind, float: f}
}

// compare orders decimals.
func (d decimal) compare(e decimal) int {
	if d.negative != e.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	c := cmp.Or(cmp.Compare(len(d.whole), len(e.whole)), strings.Compare(d.whole, e.whole), strings.Compare(d.fraction, e.fraction))
	if d.negative {
		return -c
	}
	return c
}

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool {
	return v.kind == exactValue || v.kind == floatValue || v.kind == doubleValue
}

// IsText reports whether only literals with the same text have the value.
func (v Value) IsText() bool {
	return v.kind == textValue || v.kind == taggedValue || v.kind == otherValue
}

// Float returns a number as the double next to it; ok is false of what is none.
func (v Value) Float() (f float64, ok bool) {
	if v.kind == exactValue {
		f, _ = strconv.ParseFloat(v.text, 64)
		return f, true
	}
	return v.float, v.IsNumber()
}

// Bool returns a truth value; ok is false of what is none.
func (v Value) Bool() (truth, ok bool) { return v.truth, v.kind == truthValue }

// Equal reports whether two values are one.
func (v Value) Equal(w Value) bool {
	switch {
	case v.kind == noValue || w.kind == noValue:
		return false
	case v.kind == momentValue && w.kind == momentValue && v.moment.zoned != w.moment.zoned:
		return false
	case v.kind == spanValue && w.kind == spanValue:
		return v.span.equal(w.span)
	case v.kind == w.kind && (v.kind == otherValue || v.kind == binaryValue):
		return v.text == w.text && v.of == w.of
	}
	c, ok := v.Compare(w)
	return ok && c == 0
}

// Compare orders two values: the result is negative if v comes before w. ok is false if they are in no order, as values of
// two kinds are.
func (v Value) Compare(w Value) (c int, ok bool) {
	if v.IsNumber() && w.IsNumber() {
		if v.kind == exactValue && w.kind == exactValue {
			return v.exact.compare(w.exact), true
		}
		bits := 64
		if v.kind != doubleValue && w.kind != doubleValue {
			bits = 32
		}
		x, y := v.rounded(bits), w.rounded(bits)
		if math.IsInf(x, 0) && math.IsInf(y, 0) && (v.kind == exactValue || w.kind == exactValue) { // no decimal is infinite
			return v.Order(w), true
		}
		return cmp.Compare(x, y), x == x && y == y
	}
	if v.kind != w.kind {
		return 0, false
	}
	switch v.kind {
	case textValue:
		return strings.Compare(v.text, w.text), true
	case taggedValue:
		return cmp.Or(strings.Compare(v.text, w.text), strings.Compare(v.of, w.of)), true
	case truthValue:
		return cmp.Compare(v.rank(), w.rank()), true
	case momentValue:
		return v.moment.compare(w.moment)
	case spanValue:
		return v.span.compare(w.span)
	}
	return 0, false
}

func (v Value) rank() int {
	if v.truth {
		return 1
	}
	return 0
}

// rounded returns a number as a float of so many bits has it.
func (v Value) rounded(bits int) float64 {
	if v.kind == exactValue {
		f, _ := strconv.ParseFloat(v.text, bits)
		return f
	}
	return v.float
}

// Order puts any values in one order, which keeps that of Compare: what is no literal, numbers, times, then all else by
// its text. Times without a zone lie where those of UTC do, NaN after all numbers.
func (v Value) Order(w Value) int {
	class := func(v Value) int {
		switch {
		case v.kind == noValue:
			return 0
		case v.IsNumber():
			return 1
		case v.kind == momentValue:
			return 2
		case v.kind == spanValue:
			return 3
		case v.kind == truthValue:
			return 4
		}
		return 5
	}
	if c := cmp.Compare(class(v), class(w)); c != 0 {
		return c
	}
	switch class(v) {
	case 1:
		place := func(v Value) (int, decimal) {
			switch {
			case v.kind == exactValue:
				return 0, v.exact
			case math.IsNaN(v.float):
				return 2, decimal{}
			case math.IsInf(v.float, 0):
				return int(math.Copysign(1, v.float)), decimal{}
			}
			return 0, numberAs(exactValue, strconv.FormatFloat(v.float, 'f', -1, 64)).exact
		}
		i, d := place(v)
		j, e := place(w)
		return cmp.Or(cmp.Compare(i, j), d.compare(e))
	case 2:
		return cmp.Or(cmp.Compare(v.moment.datatype, w.moment.datatype), v.moment.order(w.moment))
	case 3:
		return v.span.order(w.span)
	case 4:
		return cmp.Compare(v.rank(), w.rank())
	}
	return cmp.Or(strings.Compare(v.text, w.text), strings.Compare(v.of, w.of))
}

// Bucket returns a key for maps: equal values have equal keys, but for a double and a decimal with more digits than it has;
// a few that differ have so, too.
func (v Value) Bucket() any {
	switch {
	case v.IsNumber():
		return float32(v.rounded(32))
	case v.kind == momentValue:
		return v.moment
	case v.kind == spanValue:
		return [2]string{strconv.FormatInt(v.span.months, 10), v.span.seconds.RatString()}
	case v.kind == truthValue:
		return v.truth
	}
	return [2]string{v.text, v.of}
}

// Time returns a time that package time has too, of UTC if it has no zone; ok is false of what is none.
func (v Value) Time() (at time.Time, ok bool) {
	m := v.moment
	if v.kind != momentValue || m.datatype != dated || m.days < -800_000 || m.days > 3_000_000 {
		return at, false
	}
	ns, _ := strconv.Atoi((m.fraction + "000000000")[:9])
	return time.Unix(m.days*daySeconds+int64(m.seconds), int64(ns)).UTC(), true
}

// Equal reports whether two literals mean the same. A plain text is read as what the other one is, if it is written so: "4" is
// 4. NaN and the like are not even equal to themselves. Other terms are equal if they are one.
func Equal(a, b Term) bool {
	if a.Kind != Literal || b.Kind != Literal {
		return a == b
	}
	v, w := Alike(ValueOf(a), ValueOf(b))
	return v.Equal(w)
}

// Compare orders two literals by what they mean, a plain text read as what the other one is. ok is false if they are in
// no order, as other terms are.
func Compare(a, b Term) (c int, ok bool) {
	v, w := Alike(ValueOf(a), ValueOf(b))
	return v.Compare(w)
}

// Alike reads one of two values that is a text as the other one's kind, if it is written so. [Equal] and [Compare] do so.
func Alike(v, w Value) (Value, Value) {
	switch {
	case v.kind == textValue && w.kind != textValue:
		return v.as(w), w
	case w.kind == textValue && v.kind != textValue:
		return v, w.as(v)
	}
	return v, w
}

func (v Value) as(other Value) Value {
	read := Value{}
	switch {
	case other.IsNumber():
		read = numberIn(v.text)
	case other.kind == truthValue && len(v.text) > 1: // 1 and 0 are numbers
		read = valueAs("boolean", v.text)
	case other.kind == momentValue:
		for _, datatype := range [...]string{other.moment.datatype, "date"} {
			if read.kind == noValue && (datatype != "date" || other.moment.datatype == dated) {
				read = valueAs(datatype, v.text)
			}
		}
	case other.kind == spanValue:
		read = valueAs("duration", v.text)
	}
	if read.kind == noValue {
		return v
	}
	return read
}
