package rdf

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lit reads a literal as Turtle writes it, with the prefix xsd.
func lit(t testing.TB, text string) Term {
	t.Helper()
	var got Term
	doc := "@prefix xsd: <" + NSXSD + "> . <a:s> <a:p> " + text + " ."
	if _, err := Read(strings.NewReader(doc), Turtle, ReadOptions{Name: text}, func(q Quad) error { got = q.O; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

// How two literals compare: <, =, > or, of those in no order, # (and ≡ if they are equal all the same).
func TestLiteralsCompare(t *testing.T) {
	for _, row := range []string{
		// Decimals and integers of any type and size, exactly.
		`4 = "4"^^xsd:int`, `4 = "4.0"^^xsd:decimal`, `"+04"^^xsd:unsignedByte = " 4 "^^xsd:long`, `4 < 4.000000000000000000001`, `-4 < 3`, `-2 > -10`, `9 < 10`, `0.5 < 0.55`,
		`18446744073709551616 < 18446744073709551617`, `-18446744073709551616 > -18446744073709551617`, `1.40 = 1.4`, `"-0"^^xsd:integer = 0`, `".5"^^xsd:decimal = "0.50"^^xsd:decimal`,
		`100000000000000000000000000000000000000001 > 100000000000000000000000000000000000000000.9`,
		// What is none of its datatype.
		`"4.5"^^xsd:integer # 4.5`, `"4.0"^^xsd:int # 4`, `"4."^^xsd:integer # 4`, `"4.5"^^xsd:integer ≡ "4.5"^^xsd:integer`, `"4.5"^^xsd:integer # "4.5"^^xsd:long`,
		`"300"^^xsd:byte # 299`, `"300"^^xsd:byte # 300`, `"127"^^xsd:byte = 127`, `"128"^^xsd:byte # 128`, `"-128"^^xsd:byte = -128`, `"-129"^^xsd:byte # -129`, `"255"^^xsd:unsignedByte = 255`, `"256"^^xsd:unsignedByte # 256`,
		`"32768"^^xsd:short # 32768`, `"65535"^^xsd:unsignedShort = 65535`, `"2147483647"^^xsd:int < 2147483648`, `"2147483648"^^xsd:int # 2147483648`, `"4294967296"^^xsd:unsignedInt # 4294967296`,
		`"-9223372036854775808"^^xsd:long = -9223372036854775808`, `"9223372036854775808"^^xsd:long # 9223372036854775808`, `"18446744073709551615"^^xsd:unsignedLong = 18446744073709551615`,
		`"18446744073709551616"^^xsd:unsignedLong # 18446744073709551616`, `"-1"^^xsd:unsignedLong # -1`, `"-0"^^xsd:unsignedInt = 0`, `"-1"^^xsd:nonNegativeInteger # -1`, `"0"^^xsd:positiveInteger # 0`, `"1"^^xsd:nonPositiveInteger # 1`,
		`"0"^^xsd:nonPositiveInteger = 0`, `"0"^^xsd:negativeInteger # 0`, `"-18446744073709551616"^^xsd:negativeInteger = -18446744073709551616`,
		`"P1Y"^^xsd:dayTimeDuration # "P12M"^^xsd:duration`, `"P1M"^^xsd:dayTimeDuration # "P1M"^^xsd:yearMonthDuration`, `"P1YT1M"^^xsd:dayTimeDuration # "P1YT1M"^^xsd:duration`, `"P1D"^^xsd:yearMonthDuration # "PT24H"^^xsd:duration`,
		`"PT1M"^^xsd:yearMonthDuration # "PT1M"^^xsd:duration`, `"P1Y"^^xsd:yearMonthDuration = "P12M"^^xsd:duration`, `"P1DT1M"^^xsd:dayTimeDuration = "PT1441M"^^xsd:duration`, `"-PT1M"^^xsd:dayTimeDuration < "PT0S"^^xsd:duration`,
		// Floats as IEEE 754 has them; a decimal beside one as XPath does.
		`1.4e0 = 1.4`, `0.1 = "0.1"^^xsd:float`, `"0.1"^^xsd:float > "0.1"^^xsd:double`, `"16777217"^^xsd:float = "16777216"^^xsd:float`, `"16777217"^^xsd:double > "16777216"^^xsd:double`,
		`9007199254740993 = 9007199254740992e0`, `"1e400"^^xsd:double = "INF"^^xsd:double`, `"-INF"^^xsd:float < -100000000000000000000000000000000000000000`, `"NaN"^^xsd:double # "NaN"^^xsd:double`,
		`"NaN"^^xsd:float # 1`, `"-0.0"^^xsd:double = 0`, `"INF"^^xsd:float = "INF"^^xsd:double`, `"+INF"^^xsd:double > 1`,
		// Instants.
		`"2024-03-01T10:00:00+02:00"^^xsd:dateTime < "2024-03-01T08:30:00Z"^^xsd:dateTime`, `"2024-03-01T09:00:00Z"^^xsd:dateTime = "2024-03-01T10:00:00+01:00"^^xsd:dateTimeStamp`,
		`"2024-03-01T09:00:00.5Z"^^xsd:dateTime > "2024-03-01T09:00:00.49999999999999999999Z"^^xsd:dateTime`, `"2024-03-01T09:00:00.500Z"^^xsd:dateTime = "2024-03-01T09:00:00.5Z"^^xsd:dateTime`,
		`"2024-02-29T24:00:00Z"^^xsd:dateTime = "2024-03-01T00:00:00Z"^^xsd:dateTime`, `"-0044-03-15T00:00:00Z"^^xsd:dateTime < "0001-01-01T00:00:00Z"^^xsd:dateTime`, `"12024-01-01T00:00:00Z"^^xsd:dateTime > "9999-01-01T00:00:00Z"^^xsd:dateTime`,
		// Without a zone: as they stand, and beside one with a zone only if it is so in every zone.
		`"2024-03-01T09:00:00"^^xsd:dateTime < "2024-03-01T10:00:00"^^xsd:dateTime`, `"2024-03-01T09:00:00"^^xsd:dateTime # "2024-03-01T09:00:00Z"^^xsd:dateTime`,
		`"2024-03-01T09:00:00"^^xsd:dateTime < "2024-03-01T23:00:01Z"^^xsd:dateTime`, `"2024-03-01T09:00:00"^^xsd:dateTime # "2024-03-01T23:00:00Z"^^xsd:dateTime`,
		`"2024-03-01T09:00:00"^^xsd:dateTime > "2024-02-29T18:59:59Z"^^xsd:dateTime`, `"2024-03-01T09:00:00"^^xsd:dateTime # "2024-02-29T19:00:00Z"^^xsd:dateTime`,
		// Dates and their parts.
		`"2024-03-01"^^xsd:date < "2024-03-02"^^xsd:date`, `"2024-03-01+14:00"^^xsd:date < "2024-03-01Z"^^xsd:date`, `"2024-03-01Z"^^xsd:date = "2024-03-01T01:00:00+01:00"^^xsd:dateTime`,
		`"08:00:00Z"^^xsd:time < "10:00:00+01:00"^^xsd:time`, `"10:00:00+01:00"^^xsd:time = "09:00:00Z"^^xsd:time`, `"2023"^^xsd:gYear < "2024"^^xsd:gYear`, `"--02-29"^^xsd:gMonthDay < "--03-01"^^xsd:gMonthDay`, `"2024"^^xsd:gYear # "2024-01"^^xsd:gYearMonth`,
		`"---31"^^xsd:gDay > "---05"^^xsd:gDay`, `"--11"^^xsd:gMonth < "--12"^^xsd:gMonth`,
		// Durations.
		`"PT60M"^^xsd:duration = "PT1H"^^xsd:dayTimeDuration`, `"P1Y"^^xsd:duration = "P12M"^^xsd:yearMonthDuration`, `"P1M"^^xsd:duration # "P30D"^^xsd:duration`, `"P1M"^^xsd:duration > "P27D"^^xsd:duration`, `"P1M"^^xsd:duration < "P32D"^^xsd:duration`,
		`"-P1D"^^xsd:duration < "PT0S"^^xsd:duration`, `"PT0.5S"^^xsd:duration < "PT0.51S"^^xsd:duration`, `"P5M"^^xsd:duration < "P154D"^^xsd:duration`, `"P1Y"^^xsd:duration # "P365D"^^xsd:duration`,
		// Truth values, texts and languages.
		`true = "1"^^xsd:boolean`, `"0"^^xsd:boolean < true`, `"a" < "b"`, `"a" = "a"^^xsd:string`, `"Z" < "a"`, `"10" < "9"`, `"\uffff" < "\U00010000"`, `"Tür"@de = "Tür"@DE`, `"Tür"@de < "Tür"@en`, `"Tür"@de # "Tür"`, `"a"^^xsd:anyURI = "a"`,
		// A plain text is what the other one is, if it is written so.
		`"4" = 4`, `"4" < 4.5`, `"Door" # 4`, `"1e3" = 1000`, `"true" = true`, `"1" # true`, `"2024-03-01" = "2024-03-01"^^xsd:date`, `"2024-03-01T10:00:00+02:00" < "2024-03-01T08:30:00Z"^^xsd:dateTime`, `"P1D" = "PT24H"^^xsd:duration`,
		// Values of two kinds, of no datatype of XML Schema, and what is none.
		`4 # true`, `4 # "2024-03-01"^^xsd:date`, `"ab"^^xsd:hexBinary ≡ "AB"^^xsd:hexBinary`, `"ab"^^xsd:hexBinary # "qw=="^^xsd:base64Binary`, `"x"^^<a:t> ≡ "x"^^<a:t>`, `"x"^^<a:t> # "x"^^<a:u>`, `"x"^^<a:t> # "x"`,
		`"n/a"^^xsd:double ≡ "n/a"^^xsd:double`, `"n/a"^^xsd:double # 4`, `"2024-02-30"^^xsd:date # "2024-03-01"^^xsd:date`, `"2024-03-01T10:00:60Z"^^xsd:dateTime # "2024-03-01T10:01:00Z"^^xsd:dateTime`, `"2024-03-01T10:00:00"^^xsd:dateTimeStamp # "2024-03-01T10:00:00"^^xsd:dateTime`,
		`"1_000"^^xsd:integer # 1000`, `"0x10"^^xsd:double # 16`, `"inf"^^xsd:double # "INF"^^xsd:double`, `"P1S"^^xsd:duration # "PT1S"^^xsd:duration`, `"PT1.S"^^xsd:duration # "PT1S"^^xsd:duration`, `"1."^^xsd:decimal = 1`,
	} {
		cells := strings.Fields(strings.ReplaceAll(row, `" 4 "`, `"\u00204\u0020"`))
		a, b := lit(t, cells[0]), lit(t, cells[2])
		for _, turned := range []bool{false, true} {
			want := cells[1]
			if turned {
				a, b = b, a
				want = strings.NewReplacer("<", ">", ">", "<").Replace(want)
			}
			got := "#"
			c, ok := Compare(a, b)
			switch {
			case ok && c < 0:
				got = "<"
			case ok && c > 0:
				got = ">"
			case ok:
				got = "="
			case Equal(a, b):
				got = "≡"
			}
			if got != want || (got == "=" || got == "≡") != Equal(a, b) {
				t.Errorf("%v %s %v, equal is %v; want %s", a, got, b, Equal(a, b), row)
			}
		}
	}
	for _, iri := range []Term{NewIRI("4"), NewBlank("4"), {}} {
		if _, ok := Compare(iri, lit(t, "4")); ok || Equal(iri, lit(t, "4")) || !Equal(iri, iri) {
			t.Errorf("%v beside a literal", iri)
		}
	}
}

// value draws literals that are near each other.
func drawLiteral() *rapid.Generator[Term] {
	numbers := rapid.SampledFrom([]string{"0", "-0", "1", "1.0", "0.1", "0.10", "-1", "9007199254740992", "9007199254740993", "16777216", "16777217", "18446744073709551616", "18446744073709551617", "1e3", "1000", "INF", "-INF", "NaN", "x", "2024", "true"})
	types := rapid.SampledFrom([]string{"integer", "int", "decimal", "float", "double", "string", "boolean", "gYear"})
	times := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("2024-0%d-%02dT%02d:00:00%s", rapid.IntRange(2, 3).Draw(t, "month"), rapid.IntRange(1, 2).Draw(t, "day"), rapid.IntRange(0, 24).Draw(t, "hour"),
			rapid.SampledFrom([]string{"", "Z", "+14:00", "-14:00", "+02:00"}).Draw(t, "zone"))
	})
	spans := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%sP%dM%dDT%dS", rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign"), rapid.IntRange(0, 2).Draw(t, "months"), rapid.IntRange(27, 32).Draw(t, "days"), rapid.IntRange(0, 1).Draw(t, "seconds"))
	})
	return rapid.Custom(func(t *rapid.T) Term {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0, 1:
			return NewTyped(numbers.Draw(t, "number"), NSXSD+types.Draw(t, "type"))
		case 2:
			return NewTyped(times.Draw(t, "time"), NSXSD+"dateTime")
		case 3:
			return NewTyped(spans.Draw(t, "span"), NSXSD+"duration")
		}
		return NewTagged(numbers.Draw(t, "text"), rapid.SampledFrom([]string{"", "en", "EN"}).Draw(t, "lang"))
	})
}

// The order of all values is one, and that in which values compare; equal values have one key.
func TestValuesHaveOneOrder(t *testing.T) {
	sign := func(c int) int {
		switch {
		case c < 0:
			return -1
		case c > 0:
			return 1
		}
		return 0
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := ValueOf(drawLiteral().Draw(t, "a")), ValueOf(drawLiteral().Draw(t, "b")), ValueOf(drawLiteral().Draw(t, "c"))
		if sign(a.Order(b)) != -sign(b.Order(a)) || a.Order(a) != 0 {
			t.Fatalf("%+v and %+v have two orders", a, b)
		}
		if a.Order(b) <= 0 && b.Order(c) <= 0 && a.Order(c) > 0 {
			t.Fatalf("%+v, %+v and %+v are in a circle", a, b, c)
		}
		before, ok := a.Compare(b)
		after, also := b.Compare(a)
		if ok != also || ok && sign(before) != -sign(after) {
			t.Fatalf("%+v and %+v compare as %d %v and %d %v", a, b, before, ok, after, also)
		}
		if ok && before != 0 && sign(a.Order(b)) != sign(before) {
			t.Fatalf("%+v and %+v compare as %d, in order as %d", a, b, before, a.Order(b))
		}
		if a.Equal(b) != b.Equal(a) || a.Equal(b) && a.Bucket() != b.Bucket() {
			t.Fatalf("%+v and %+v are equal, with the keys %v and %v", a, b, a.Bucket(), b.Bucket())
		}
	})
}

// Decimals compare as fractions do, instants as those of package time.
func TestValuesAgainstOthers(t *testing.T) {
	decimal := rapid.StringMatching(`[+-]?(0{0,2}[0-9]{1,30}(\.[0-9]{0,5})?|\.[0-9]{1,4})`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimal.Draw(t, "a"), decimal.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if c, ok := Compare(NewTyped(a, NSXSD+"decimal"), NewTyped(b, NSXSD+"decimal")); !ok || c != x.Cmp(y) {
			t.Fatalf("%s and %s compare as %d, %v", a, b, c, ok)
		}
		instant := func(name string) (time.Time, Term) {
			at := time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
			at = at.In(time.FixedZone("", 60*rapid.IntRange(-840, 840).Draw(t, "zone")))
			return at, NewTyped(at.Format(time.RFC3339Nano), NSXSD+"dateTime")
		}
		at, first := instant("first")
		to, second := instant("second")
		if at.Year() < 1 || at.Year() > 9999 || to.Year() < 1 || to.Year() > 9999 {
			return
		}
		if c, ok := Compare(first, second); !ok || c != at.Compare(to) {
			t.Fatalf("%v and %v compare as %d, %v", first, second, c, ok)
		}
		if got, ok := ValueOf(first).Time(); !ok || !got.Equal(at) {
			t.Fatalf("%v is %v, %v", first, got, ok)
		}
	})
}

// Any text of any datatype has a value or none, and compares with itself.
func FuzzValue(f *testing.F) {
	for _, text := range []string{"4", "-1.5e3", "2024-02-29T24:00:00.5-14:00", "P1Y2M3DT4H5M6.7S", "--02-29Z", "INF", "true"} {
		f.Add(text, "integer")
		f.Add(text, "dateTime")
		f.Add(text, "duration")
		f.Add(text, "gMonthDay")
		f.Add(text, "double")
	}
	f.Fuzz(func(t *testing.T, text, datatype string) {
		v := ValueOf(NewTyped(text, NSXSD+datatype))
		nan, isFloat := v.Float()
		if v.Order(v) != 0 || v.Equal(v) != (!isFloat || nan == nan) {
			t.Errorf("%q of %q is %+v, which is not itself", text, datatype, v)
		}
		if c, ok := v.Compare(v); ok && c != 0 {
			t.Errorf("%q of %q is %d beside itself", text, datatype, c)
		}
		v.Bucket()
		v.Time()
	})
}
