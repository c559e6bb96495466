package pattern

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// numberOf returns the double next to the value of a literal that is a number.
func numberOf(t rdf.Term) (float64, bool) { return rdf.ValueOf(t).Float() }

// boolOf returns the value of a literal that is a truth value.
func boolOf(t rdf.Term) (value, ok bool) { return rdf.ValueOf(t).Bool() }

// timeOf returns the value of a date or of a date with time; without zone it is UTC.
func timeOf(t rdf.Term) (time.Time, bool) { return rdf.ValueOf(t).Time() }

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
	return rdf.IsInteger(t.Type) && (wanted == "decimal" || wanted == "integer")
}

// prepare says what is wrong with a facet.
func (f *facet) prepare() (err error) {
	switch f.name {
	case "pattern":
		f.regexp, f.insts, err = bounded("^(?:" + f.value.literalText() + ")$")
		return err
	case "length", "minLength", "maxLength":
		if n, err := strconv.Atoi(f.value.literalText()); err != nil || n < 0 {
			return engram.Errorf(engram.Invalid, "", "%s is followed by a number", f.name)
		}
	}
	return nil
}

// maxRegexp is how large a regular expression in a question may be, see [engram.RegexSize].
const maxRegexp = 10_000

// bounded compiles a regular expression that is not too large, and returns how large it is.
func bounded(text string) (*regexp.Regexp, int, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	size := engram.RegexSize(parsed, maxRegexp)
	if size > maxRegexp {
		return nil, 0, engram.Errorf(engram.Exhausted, "", "the regular expression is too large when it is compiled; repeat fewer times, and smaller classes of characters")
	}
	re, err := regexp.Compile(text)
	return re, size, err
}

func (t Term) literalText() string {
	if t.kind == exact {
		return t.term.Value
	}
	return t.text
}

// literal returns what a value of a facet means.
func (t Term) literal() rdf.Term {
	switch t.kind {
	case exact:
		return t.term
	case number:
		if n, ok := rdf.NewNumber(t.text); ok {
			return n
		}
	}
	return rdf.NewText(t.text)
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
	v, w := rdf.Alike(rdf.ValueOf(t), f.limit)
	c, ok := v.Compare(w)
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

// compareTerms puts values in order: none, numbers, times, then all else by its text. A plain text that is written as a
// number is one here.
func compareTerms(a, b rdf.Term) int {
	value := func(t rdf.Term) rdf.Value {
		if t.Kind == rdf.IRI || t.Kind == rdf.Blank {
			t = rdf.NewText(t.Value)
		} else if n, ok := rdf.NewNumber(t.Value); ok && t.Kind == rdf.Literal && t.Type == "" && t.Lang == "" {
			t = n
		}
		return rdf.ValueOf(t)
	}
	return cmp.Or(value(a).Order(value(b)), strings.Compare(a.Value, b.Value))
}
