package pattern_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Beside what is reckoned with a variable stands what CEL has of a time; a list has the variables' literals.
func TestConditionsThatReckon(t *testing.T) {
	v := turtle(t, `:a :t "2024-03-01T10:00:00"^^xsd:dateTime ; :u "2024-03-01T12:00:00"^^xsd:dateTime ; :m 18446744073709551617 .
:b :t "2024-03-01T10:00:00"^^xsd:dateTime ; :u "2024-03-01T10:00:00"^^xsd:dateTime ; :m 18446744073709551616 .
:c :t "2024-03-01T10:00:00+02:00"^^xsd:dateTime ; :u "2024-03-01T08:00:00Z"^^xsd:dateTime ; :m 2 .
:d :t "2024-03-01"^^xsd:date ; :u "2024-03-01T00:30:00"^^xsd:dateTime ; :m "2" . :e :none 1 .`)
	for text, want := range map[string]string{
		`?x t ?t; ?x u ?u; where ?t + duration("1h") < ?u`:                                                     "a",
		`?x t ?t; ?x u ?u; where ?u > duration("1h") + ?t`:                                                     "a",
		`?x t ?t; ?x u ?u; where ?t + duration("2h") == ?u`:                                                    "a",
		`?x t ?t; ?x u ?u; where ?u - duration("30m") <= ?t`:                                                   "b, c, d",
		`?x t ?t; ?x u ?u; where ?u - ?t < duration("1h")`:                                                     "b, c, d",
		`?x t ?t; ?x u ?u; where ?t + duration("2h") in [?u]`:                                                  "a",
		`?x t ?t; ?x u ?u; where ?u in [?t - duration("1h"), ?t + duration("2h")]`:                             "a",
		`?x t ?t; ?x u ?u; where ?t in [?u]`:                                                                   "b, c",
		`?x t ?t; ?x u ?u; where ?t in [?u, timestamp("2024-03-01T10:00:00Z")]`:                                "b, c",
		`?x t ?t; ?x u ?u; where !(?t in [timestamp("2024-03-01T08:00:00Z"), ?u])`:                             "a, d",
		`?x t ?t; ?x u ?u; where (true ? ?t : ?u) == ?t`:                                                       "a, b, c, d",
		`?x t ?t; where ?t < timestamp("2024-03-01T14:00:00Z") + duration("1h")`:                               "c, d",
		`?x t ?t; ?x u ?u; where ?t == timestamp("2024-03-01T08:00:00Z")`:                                      "c",
		`?x m ?m; :a m ?n; where ?m in [?n]`:                                                                   "a",
		`?x m ?m; :a m ?n; where ?m in [1, ?n, 2.0]`:                                                           "a, c, d",
		`?x m ?m; where 2 in [?m]`:                                                                             "c, d",
		`?x m ?m; where "2" in [?m]`:                                                                           "c, d",
		`?x m ?m; :a m ?n; where [?m] == [?n]`:                                                                 "a, b",
		`?x t ?t; optional { ?x none ?y }; where null in [?y]`:                                                 "a, b, c, d",
		`?x t ?t; optional { ?x none ?y }; where ?y == null`:                                                   "a, b, c, d",
		`?x t ?t; optional { ?x none ?y }; where ?y in [1, ?t]`:                                                "",
		`?x m ?m; where ?x in ["http://x#a", "http://x#c"]`:                                                    "a, c",
		`?x m ?m; where ?x == "http://x#" + "a"`:                                                               "a",
		`?x m ?m; :a t ?t; where ?m > 18446744073709551615u && ?t < timestamp(string("2025-01-01T00:00:00Z"))`: "a, b",
	} {
		got := rows(t, v, "prefix : <http://x#>; "+text+"; select ?x; distinct")
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, ", "), want)
		}
	}
}

// Literals that are given by value are looked up, as those that are given by text are: what the graph has else costs no steps.
func TestValuesAreLookedUp(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, ":n%d :n %d ; :at \"%04d-01-01T12:00:00+02:00\"^^xsd:dateTime ; :k :k%d .\n", i, i, i+1, i)
	}
	text.WriteString(`:n7 :n "007"^^xsd:byte ; :on true . :other :n 7.0 ; :m 7 , "7"^^xsd:float , "7" ; :at "NaN"^^xsd:double . :m rdfs:subPropertyOf :n .`)
	v := turtle(t, text.String())
	for text, want := range map[string]int{
		`?x n "7"^^xsd:short`:                        2, // n7 has it twice
		`?x n "7"^^xsd:short; mode plain`:            2,
		`?x n "7"^^xsd:short; select ?x; distinct`:   2,
		`?x ?p "7"^^xsd:short`:                       3,
		`_ ?p "7"^^xsd:short`:                        2,
		`?x at "0007-01-01T10:00:00Z"^^xsd:dateTime`: 1,
		`?x at "NaN"^^xsd:double`:                    1,
		`?x on "1"^^xsd:boolean`:                     1,
		`?x a (n value "7"^^xsd:unsignedByte)`:       2,
		`?x n "7"^^xsd:long; ?x k ?k`:                1,
		`?x k k7; ?x n "7"^^xsd:long`:                1,
		`n7 n "7"^^xsd:long`:                         1,
		`n8 n "7"^^xsd:long`:                         0,
		`?y on true; ?x n "7"^^xsd:long`:             2,
		`?x n "5000"^^xsd:int`:                       0,
	} {
		c, err := pattern.CompileText(v, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		n := 0
		for row, err := range c.Ask(t.Context(), v, knowledge.Limits{Steps: 60}) {
			if err != nil {
				t.Errorf("%s: %v", text, err)
				break
			}
			n++
			row.Why()
		}
		if n != want {
			t.Errorf("%s: %d rows, not %d", text, n, want)
		}
	}
}

// lengths are computed of names.
type lengths struct{}

func (lengths) Properties() iter.Seq[string] {
	return slices.Values([]string{"http://x#length", "http://x#mark"})
}

func (lengths) Compute(from rdf.Term, property string, to rdf.Term) (iter.Seq[knowledge.Derived], bool) {
	return func(yield func(knowledge.Derived) bool) {
		for _, name := range []string{"cup", "plate"} {
			it := rdf.Triple{S: rdf.NewIRI("http://x#" + name), P: rdf.NewIRI(property), O: rdf.NewTyped(fmt.Sprint(len(name)), rdf.NSXSD+"integer")}
			if property == "http://x#mark" {
				it.O = rdf.NewText(name)
			}
			if (from.IsZero() || from == it.S) && (to.IsZero() || to == it.O) && !yield(knowledge.Derived{Triple: it, Probability: 1}) {
				return
			}
		}
	}, strings.HasPrefix(property, "http://x#")
}

// What is computed has literals that the graph does not have.
func TestComputedLiterals(t *testing.T) {
	v := turtle(t, kitchen+` :mug :mark "mug", "cup" ; :length 3 .`)
	v.Computed = lengths{}
	for text, want := range map[string]string{
		`?x length "3"^^xsd:byte`:           "cup, mug",
		`?x length 5.0`:                     "plate",
		`plate length "5.0"^^xsd:decimal`:   "",
		`?x mark "plate"`:                   "plate",
		`?x mark "cup"^^xsd:string`:         "cup, mug",
		`cup mark "cup"`:                    "",
		`cup mark "mug"; count`:             "0",
		`?x a (length value "5"^^xsd:int)`:  "plate",
		`?x a (mark value "plate")`:         "plate",
		`cup a (mark value "plate"); count`: "0",
	} {
		got := rows(t, v, text)
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, ", "), want)
		}
	}
}
