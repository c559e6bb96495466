package knowledge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

func TestPatterns(t *testing.T) {
	const str = rdf.NSXSD + "string"
	plain, typed, tagged := rdf.NewText, func(s string) rdf.Term { return rdf.NewTyped(s, str) }, func(s string) rdf.Term { return rdf.NewTagged(s, "en") }
	for _, c := range []struct {
		name    string
		pattern Pattern
		yes, no []rdf.Term
	}{
		{"any literal", Pattern{}, []rdf.Term{plain(""), typed("x"), tagged("x")}, []rdf.Term{rdf.NewIRI("x"), rdf.NewBlank("x"), {}}},
		{"the same text", Pattern{Match: Same, Text: "3001"}, []rdf.Term{plain("3001"), typed("3001"), tagged("3001")}, []rdf.Term{plain("03001"), plain("3001 ")}},
		{"the same text keeps case", Pattern{Match: Same, Text: "Munich"}, []rdf.Term{plain("Munich")}, []rdf.Term{plain("munich")}},
		{"the same empty text", Pattern{Match: Same}, []rdf.Term{plain("")}, []rdf.Term{plain("x")}},
		{"plain", Pattern{Match: Same, Text: "x", Qualifier: Plain}, []rdf.Term{plain("x")}, []rdf.Term{typed("x"), tagged("x")}},
		{"typed", Pattern{Qualifier: Typed}, []rdf.Term{typed("x")}, []rdf.Term{plain("x"), tagged("x")}},
		{"of a type", Pattern{Qualifier: Typed, Type: rdf.NSXSD + "integer"}, nil, []rdf.Term{typed("1"), plain("1")}},
		{"tagged", Pattern{Qualifier: Tagged}, []rdf.Term{tagged("x")}, []rdf.Term{plain("x"), typed("x")}},
		{"of a language", Pattern{Qualifier: Tagged, Lang: "en"}, []rdf.Term{tagged("x")}, []rdf.Term{rdf.NewTagged("x", "en-US"), rdf.NewTagged("x", "EN")}},
		{"exact", Pattern{Match: Exact, Text: "KÜCHE"}, []rdf.Term{plain("küche"), typed("Kuche"), plain("KU\u0308CHE"[:2] + "che")}, []rdf.Term{plain("küchen"), plain("kueche")}},
		{"prefix", Pattern{Match: Prefix, Text: "Tür"}, []rdf.Term{plain("TURM"), plain("tür")}, []rdf.Term{plain("Haustür")}},
		{"an empty prefix", Pattern{Match: Prefix}, []rdf.Term{plain("x"), plain("")}, nil},
		{"substring", Pattern{Match: Substring, Text: "board"}, []rdf.Term{plain("cupBOARD 1")}, []rdf.Term{plain("boar d")}},
		{"word", Pattern{Match: Word, Text: "Oven"}, []rdf.Term{plain("the oven"), plain("oven-door"), plain("oven")}, []rdf.Term{plain("ovens"), plain("coven"), plain("")}},
		{"words", Pattern{Match: Word, Text: "oven door"}, []rdf.Term{plain("an Oven door.")}, []rdf.Term{plain("oven doors")}},
		{"like", Pattern{Match: Like, Text: "M*n*h"}, []rdf.Term{plain("munich"), plain("MNH"), plain("München in Bach")}, []rdf.Term{plain("munichs"), plain("a munich"), plain("mnhx")}},
		{"like with stars around", Pattern{Match: Like, Text: "*Munich*"}, []rdf.Term{plain("Munich"), plain("in Munich."), plain("mumunich")}, []rdf.Term{plain("Munch")}},
		{"like without a star", Pattern{Match: Like, Text: "a.c"}, []rdf.Term{plain("A.C")}, []rdf.Term{plain("abc"), plain("a.cd")}},
		{"like has no other wildcards", Pattern{Match: Like, Text: "Mun?ch"}, []rdf.Term{plain("mun?ch")}, []rdf.Term{plain("munich")}},
		{"like with a star alone", Pattern{Match: Like, Text: "*"}, []rdf.Term{plain(""), plain("x")}, nil},
		{"the second of two stars is one", Pattern{Match: Like, Text: "a**b"}, []rdf.Term{plain("a*b"), plain("axx*b")}, []rdf.Term{plain("axb")}},
	} {
		for _, term := range c.yes {
			if !c.pattern.Matches(term) {
				t.Errorf("%s: %+v does not match %+v", c.name, c.pattern, term)
			}
		}
		for _, term := range c.no {
			if c.pattern.Matches(term) {
				t.Errorf("%s: %+v matches %+v", c.name, c.pattern, term)
			}
		}
	}
}

// Like finds what trying all ways finds.
func TestLikeAgainstTryingAll(t *testing.T) {
	var naive func(text, pattern string) bool
	naive = func(text, pattern string) bool {
		if pattern == "" {
			return text == ""
		}
		if pattern[0] != '*' {
			return text != "" && text[0] == pattern[0] && naive(text[1:], pattern[1:])
		}
		rest := pattern[1:]
		if rest == "" {
			return true
		}
		for i := range text {
			if text[i] == rest[0] && naive(text[i+1:], rest[1:]) {
				return true
			}
		}
		return false
	}
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("ab*")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		text, pattern := letters.Draw(t, "text"), letters.Draw(t, "pattern")
		if pattern == "" {
			return // matches all
		}
		got := Pattern{Match: Like, Text: pattern}.Matches(rdf.NewText(strings.ToUpper(text)))
		if want := naive(text, pattern); got != want {
			t.Fatalf("%q like %q: %v, want %v", text, pattern, got, want)
		}
	})
}
