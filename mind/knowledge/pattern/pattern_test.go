package pattern_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

const kitchen = `
:parts a owl:TransitiveProperty . :kitchen :parts :cupboard, :table . :cupboard :parts :door, :drawer .
:Cupboard rdfs:subClassOf :Furniture . :Table rdfs:subClassOf :Furniture .
:kitchen a :Room ; rdfs:label "Kitchen"@en, "Küche"@de ; :built "2001-05-17T10:00:00Z"^^xsd:dateTime .
:cupboard a :Cupboard ; :height 2.05e0 ; :count 3 ; rdfs:label "Cupboard" .
:table a :Table ; :height "0.75"^^xsd:double ; :count "12"^^xsd:integer ; :open true .
:door a :Door ; :height "n/a" ; :opensTo :door . :drawer a :Drawer ; :open false ; :opensTo :table .
:cup a :Cup . :plate a :Plate . <http://x#blue%20m%C3%BCg> a :Mug .`

func rows(t *testing.T, v *knowledge.View, text string) []string {
	t.Helper()
	c, err := pattern.CompileText(v, text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return nil
	}
	return rowsOf(t, v, c)
}

func rowsOf(t *testing.T, v *knowledge.View, c *pattern.Compiled) []string {
	t.Helper()
	var all []string
	for row, err := range c.Ask(t.Context(), v, knowledge.DefaultLimits) {
		if err != nil {
			t.Errorf("%s: %v", c, err)
			return nil
		}
		var cells []string
		for i := range row.Len() {
			value := row.Value(i)
			if value.Kind == rdf.IRI {
				value.Value = short(value)
			}
			cells = append(cells, value.Value)
		}
		if row.Probability < 1 {
			cells = append(cells, fmt.Sprintf("%.3g", row.Probability))
		}
		all = append(all, strings.Join(cells, " "))
	}
	return all
}

// What the language says.
func TestLanguage(t *testing.T) {
	v := turtle(t, kitchen)
	for text, want := range map[string]string{
		`?x a Furniture`:                          "cupboard, table",
		`?x type Furniture; mode plain`:           "",
		`?x parts door`:                           "cupboard, kitchen",
		`'blue müg' type ?c`:                      "Mug",
		`?x parts door; mode plain`:               "cupboard",
		`?x parts+ door; mode plain`:              "cupboard, kitchen",
		`?x parts* door; mode plain`:              "cupboard, door, kitchen",
		`door ^parts ?x`:                          "cupboard, kitchen",
		`?x label "Kitchen"`:                      "kitchen",
		`?x label "Kitchen"@de`:                   "",
		`?x label "Küche"@de`:                     "kitchen",
		`?x label ~"^K"`:                          "kitchen",
		`?x label ~"(?i)c"`:                       "cupboard, kitchen",
		`?x height 0.75`:                          "table",
		`?x height "0.75"^^xsd:double`:            "table",
		`?x count 12.0`:                           "table",
		`?x open true`:                            "table",
		`?x opensTo ?x`:                           "door",
		`?x height ?h; where ?h > 1.0; select ?x`: "cupboard",
		`?x height ?h where double(?h) >= 0.75 && ?h != "n/a"`:                 "cupboard 2.05e0, table 0.75",
		`?x count ?n; where ?n % 2 == 1`:                                       "cupboard 3",
		`?x label ?n; where ?n.startsWith("K") ? true : false`:                 "kitchen Kitchen, kitchen Küche",
		`?x built ?t; where ?t < timestamp("2002-01-01T00:00:00Z"); select ?x`: "kitchen",
		`?x open ?o; where ?o`:                                                 "table true",
		`kitchen parts ?x; not { ?x a Furniture }`:                             "door, drawer",
		`kitchen parts ?x; ! ?x a Furniture`:                                   "door, drawer",
		`?x a Furniture; optional { ?x open ?o }`:                              "cupboard , table true",
		`?x a Furniture; optional ?x open ?o; where ?o == null; select ?x`:     "cupboard",
		`kitchen parts ?x; count`:                                              "4",
		`?w parts ?x; select ?w, count(?x); order by count desc`:               "kitchen 4, cupboard 2",
		`?w a Cup; ?w parts ?x; count`:                                         "0",
		`kitchen parts ?x; order by ?x desc; limit 2`:                          "table, drawer",
		`?x height ?h; select ?h; order by ?h`:                                 "0.75, 2.05e0, n/a",
		`?x parts ?_y; select ?x; distinct; order by ?x`:                       "cupboard, kitchen",
		`?x parts _`:                            "cupboard, kitchen",
		`?x parts ?_y`:                          "cupboard, kitchen",
		`_ parts ?x; ?x a Door`:                 "door",
		`drawer ?p ?o`:                          "opensTo table, open false, type Drawer",
		`door ?p door`:                          "opensTo",
		`?x a (Furniture and not Table)`:        "cupboard",
		`?x opensTo (Furniture or Room)`:        "drawer",
		"# all doors\n?x a Door. # that is all": "door",
		`prefix k: <http://x#>; ?x k:parts k:'door'; ?x a 'Room'`: "kitchen",
		`?x subClassOf Furniture`:                                 "Cupboard, Table",
		`<http://x#none> parts ?x`:                                "",
		`kitchen parts door`:                                      "",
	} {
		got := rows(t, v, text)
		ordered := strings.Contains(text, "order by")
		wanted := strings.Split(want, ", ")
		if !ordered {
			slices.Sort(got)
			slices.Sort(wanted)
		}
		if strings.Join(got, ", ") != strings.Join(wanted, ", ") {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, ", "), strings.Join(wanted, ", "))
		}
		q, err := pattern.Parse(text)
		if err != nil {
			continue
		}
		again, err := pattern.Parse(q.String())
		if err != nil || again.String() != q.String() {
			t.Errorf("%s is written as %s: %v", text, q, err)
		}
		b, err := json.Marshal(q)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var from pattern.Question
		if err := json.Unmarshal(b, &from); err != nil || from.String() != q.String() {
			t.Errorf("%s is %s in JSON, read as %s: %v", text, b, &from, err)
		}
	}
}

// Class expressions, on what is known.
func TestClasses(t *testing.T) {
	v := turtle(t, kitchen+` :drawers rdfs:subPropertyOf :parts . :chest :drawers :drawer1, :drawer2 . :drawer1 a :Drawer . :drawer2 a :Drawer . :Drawer a owl:Class .`)
	for text, want := range map[string]string{
		`Furniture`: "cupboard, table",
		`Furniture and (height some xsd:double[>= 1.0])`:    "cupboard",
		`height some double[> 0.5, < 2.0]`:                  "table",
		`height some xsd:string`:                            "door",
		`parts some Drawer`:                                 "chest, cupboard, kitchen",
		`inverse parts some Room`:                           "cupboard, door, drawer, table",
		`inverse(parts) some {cupboard}`:                    "door, drawer",
		`drawers only Drawer`:                               "chest",
		`parts only (Door or Drawer)`:                       "chest, cupboard",
		`parts min 4`:                                       "kitchen",
		`parts exactly 2 Drawer`:                            "chest",
		`Furniture and (parts max 1)`:                       "table",
		`Furniture and parts exactly 0`:                     "table",
		`opensTo Self`:                                      "door",
		`{cup, plate}`:                                      "cup, plate",
		`count value 12`:                                    "table",
		`open value true`:                                   "table",
		`label value "Küche"@de`:                            "kitchen",
		`label value ~"Kü"`:                                 "kitchen",
		`label some string[pattern "Cup.*"]`:                "cupboard",
		`label some rdfs:Literal[langRange "de"]`:           "kitchen",
		`label some {"Cupboard"}`:                           "cupboard",
		`Furniture and not Table`:                           "cupboard",
		`Furniture that (inverse parts some Room)`:          "cupboard, table",
		`owl:Thing and (open some xsd:boolean)`:             "drawer, table",
		`built some xsd:dateTime[< "2010-01-01T00:00:00Z"]`: "kitchen",
		`Cup or Plate`:                                      "cup, plate",
	} {
		c, err := pattern.CompileClass(v, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := rowsOf(t, v, c)
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, ", "), want)
		}
		class, err := pattern.ParseClass(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := pattern.ParseClass(class.String())
		if err != nil || again.String() != class.String() {
			t.Errorf("%s is written as %s: %v", text, class, err)
		}
		// Asked of each, and as part of a question, it is the same.
		for _, text := range []string{`?x ?p ?o; ?x a (` + text + `); select distinct ?x`, `?x a (` + text + ` and owl:Thing)`} {
			part := rows(t, v, text)
			slices.Sort(part)
			if !slices.Equal(part, got) {
				t.Errorf("%s\n got %s\nwant %s", text, part, got)
			}
		}
	}
}

// What literals mean counts, and not their text: in places, conditions, facets and orders.
func TestValues(t *testing.T) {
	v := turtle(t, `:a :n 4 ; :at "2024-03-01T10:00:00+02:00"^^xsd:dateTime ; :l "x"@en ; :big 18446744073709551616 ; :f "0.1"^^xsd:float ; :on true ; :long "P1M"^^xsd:duration .
:b :n "4"^^xsd:int ; :at "2024-03-01T08:00:00Z"^^xsd:dateTime ; :l "x"@EN ; :big 18446744073709551617 ; :f 0.1e0 ; :on "1"^^xsd:boolean ; :long "P30D"^^xsd:duration .
:c :n 4.0 ; :at "2024-03-01T12:00:00"^^xsd:dateTime ; :l "x" ; :big 18446744073709551615 ; :f 0.1 ; :on false ; :long "P29D"^^xsd:duration .
:d :n "4" ; :at "2024-02-29"^^xsd:date ; :l "X"^^xsd:string ; :big 1.8446744073709551616e19 ; :f "NaN"^^xsd:double ; :long "P32D"^^xsd:duration .
:e :n "4 mugs" .`)
	for text, want := range map[string]string{
		`?x n 4`:                            "a, b, c, d",
		`?x n "4"^^xsd:short`:               "a, b, c",
		`?x n "4"`:                          "a, b, d",
		`?x n 4; mode plain`:                "a, b, c, d",
		`?x n ?n; where ?n == 4; select ?x`: "a, b, c, d",
		`?x n ?n; where ?n in [3, 4.0]; select ?x`:                           "a, b, c, d",
		`?x n ?n; where ?n != 4; select ?x`:                                  "e",
		`?x n ?n; where ?n > 3.9999; select ?x`:                              "a, b, c, d",
		`?x n ?n; ?y n ?m; where ?n == ?m && ?x != ?y; select ?x; distinct`:  "a, b, c, d",
		`?x at "2024-03-01T09:00:00+01:00"^^xsd:dateTime`:                    "a, b",
		`?x at ?t; where ?t == timestamp("2024-03-01T08:00:00Z"); select ?x`: "a, b",
		`?x at ?t; where ?t < timestamp("2024-03-02T00:00:00Z"); select ?x`:  "a, b, d",
		`?x at ?t; where ?t < timestamp("2024-03-02T02:00:01Z"); select ?x`:  "a, b, c, d",
		`?x at ?t; ?y at ?u; where ?t < ?u; select ?x, ?y`:                   "d a, d b, d c",
		`?x l "x"@En`:                         "a, b",
		`?x l "x"^^xsd:string`:                "c",
		`?x l ?l; where ?l == "x"; select ?x`: "a, b, c",
		`?x l ?l; ?y l ?m; where ?l == ?m && ?x < ?y; select ?x, ?y`: "a b",
		`?x big ?m; ?y big ?n; where ?m < ?n; select ?x, ?y`:         "a b, c a, c b",
		`?x big 18446744073709551617`:                                "b, d",
		`?x big ?m; where ?m >= 18446744073709551615u; select ?x`:    "a, b, c, d",
		`?x f 0.1`:                            "a, b, c",
		`?x f ?f; where ?f == 0.1; select ?x`: "a, b, c",
		`?x f ?f; ?y f ?g; where ?f == ?g && ?x < ?y; select ?x, ?y`:                "a c, b c",
		`?x f "NaN"^^xsd:double`:                                                    "d",
		`?x f ?f; where ?f != ?f; select ?x`:                                        "d",
		`?x on true`:                                                                "a, b",
		`?x on ?o; ?y on ?p; where ?o == ?p && ?x < ?y; select ?x, ?y`:              "a b",
		`?x long ?s; where ?s > duration("696h"); select ?x`:                        "b, d",
		`?x long ?s; ?y long ?t; where ?s < ?t; select ?x, ?y`:                      "a d, b d, c b, c d",
		`?x a (n value "4"^^xsd:byte)`:                                              "a, b, c",
		`?x a (at some xsd:dateTime[>= "2024-03-01T09:00:00+01:00"^^xsd:dateTime])`: "a, b",
		`?x a (big some xsd:integer[> 18446744073709551616])`:                       "b",
		`?x a (n some {"4"^^xsd:long})`:                                             "a, b, c",
		`?x big ?m; order by ?m; select ?x, ?m`:                                     "c 18446744073709551615, a 18446744073709551616, b 18446744073709551617, d 1.8446744073709551616e19",
		`?x at ?t; order by ?t; select ?t`:                                          "2024-02-29, 2024-03-01T08:00:00Z, 2024-03-01T10:00:00+02:00, 2024-03-01T12:00:00",
	} {
		got := rows(t, v, text)
		if !strings.Contains(text, "order by") {
			slices.Sort(got)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, ", "), want)
		}
	}
}

// The reports' files.
func TestReportedValues(t *testing.T) {
	read := func(format rdf.Format, path ...string) *knowledge.View {
		g := knowledge.NewGraph()
		for _, file := range path {
			in, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if _, err := rdf.Read(in, format, rdf.ReadOptions{Name: file}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		return &knowledge.View{Graph: g}
	}
	wheels := read(rdf.Turtle, testkit.Shared(t, "reports", "wheels.ttl"))
	times := read(rdf.Turtle, testkit.Shared(t, "reports", "times.ttl"))
	decimals := read(rdf.RDFXML, testkit.Shared(t, "reports", "decimals.owl"), testkit.Shared(t, "knowledge", "maps", "owl.owl"))
	for _, it := range []struct {
		v          *knowledge.View
		text, want string
	}{
		{wheels, `?x wheels 4`, "v1, v2, v3"},
		{wheels, `?x mass ?m; ?y mass ?n; where ?m < ?n; select ?x, ?y`, "v1 v2, v3 v1, v3 v2, v4 v1, v4 v2, v4 v3"},
		{wheels, `?x mass ?m; order by ?m desc; limit 2`, "v2 18446744073709551617, v1 18446744073709551616"},
		{times, `?x begin ?b; ?x end ?e; where ?e < ?b; select ?x`, "b"},
		{times, `?x begin ?b; ?x end ?e; where ?e == ?b; select ?x`, "d"},
		{decimals, `?x a Narrow`, "board1, plank1"},
		{decimals, `?x width 1.4`, "board1, board2, plank1"},
	} {
		got := rows(t, it.v, it.text)
		if !strings.Contains(it.text, "order by") {
			slices.Sort(got)
		}
		if strings.Join(got, ", ") != it.want {
			t.Errorf("%s\n got %s\nwant %s", it.text, strings.Join(got, ", "), it.want)
		}
	}
}

// Mistakes are told with their column and what may be meant.
func TestErrors(t *testing.T) {
	v := turtle(t, kitchen+` @prefix o: <http://other/> . :a o:parts :b .  :a o:weight 1 . :a :weight 2 .`)
	for text, want := range map[string]string{
		``:                               "the question, column 1: a question has a triple at least, such as ?x type Door",
		`?x`:                             "the question, column 3: a variable, a name, an IRI, a text or a number is wanted here, not the end",
		`?x parts`:                       "column 9: a variable",
		`? parts ?y`:                     "column 1: a variable is ? and a name",
		`?x weight ?y`:                   "column 4: several have the name weight: http://other/weight, http://x#weight; give one as <iri> or prefix:weight",
		`?x haight ?y`:                   "column 4: there is no property haight; did you mean height?",
		`?x a Cupbord`:                   "there is no class Cupbord; did you mean Cupboard?",
		`?x a Dor`:                       "column 6: there is no class Dor; did you mean Door?",
		`?x :parts kitchn`:               "column 4: there is no default prefix",
		`?x knwrob:parts ?y`:             "column 4: there is no prefix knwrob; did you mean knowrob?",
		`?x height ?h; where ?z > 1.0`:   "column 21: no triple has the variable ?z",
		`?x height ?h; where ?h + > 1.0`: "column 26: Syntax error",
		`?x height ?h; where ?h.nope()`:  "column 28: there is no function nope()",
		`?x height ?h; where h > 1.0`:    "column 21: there is no h here; a variable is ?h",
		`?x height ?h; where 1`:          "column 21: 1 is a int; a condition says true or false",
		`?x height ?h; where ?h.startsWith("x") && "%s".format([?h]) == ""`: "format() is not offered in conditions",
		`?x height ?h; select ?g`:              "no triple has the variable ?g",
		`?x height ?h; select ?x; order by ?h`: "rows are ordered by what they have; select ?h, too",
		`?x height ?h ?z`:                      "column 14: ; is wanted here, not ?z",
		`"x" parts ?y`:                         "column 1: a literal has no properties",
		`?x label "x`:                          `column 10: the quote " is not closed`,
		`?x label ~"("`:                        "column 10: error parsing regexp",
		`?x label ~"(?:a{100}){100}"`:          "column 10: error parsing regexp: invalid repeat count",
		`?x label ~"(?:abcdefghijkl){1000}"`:   "column 10: ",
		`?x label ?l; where ?l.matches("(?:abcdefghijkl){1000}")`: "are too large",
		`?x label ?l; where ?l.matches(?l)`:                       "must be a text in quotes",
		`?x label "\q"`:                                           `column 11: \q is not known`,
		`?x ?p+ ?y`:                                               "column 4: a variable stands for one step",
		`not { ?x a Door`:                                         "column 16: } is wanted here, not the end",
		`not { }`:                                                 "column 5: there is nothing in the braces",
		`?x a Door; limit 0`:                                      "column 18: a number of rows is wanted here, not 0",
		`?x a Door; mode fast`:                                    "column 17: owl, rdfs or plain is wanted here, not fast",
		`?x a Door; certain >= 2`:                                 "column 23: a probability from 0 to 1",
		`?x a (Door and )`:                                        "column 16: a class or a property is wanted here, not )",
		`?x a (Door[> 1])`:                                        "is no datatype",
		"?x a Door;\n?x a Dor":                                    "line 2, column 6: there is no class Dor",
		strings.Repeat("not {", 200):                              "nested more than 100 deep",
		"?x a " + strings.Repeat("(", 200):                        "nested more than 100 deep",
		"?x a Door; & ":                                           "column 12: '&' has no meaning here",
	} {
		_, err := pattern.CompileText(v, text)
		if err == nil || !strings.Contains(err.Error(), want) || engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	_, err := pattern.CompileText(v, `?x weight ?y`)
	var name *pattern.NameError
	if !errors.As(err, &name) || len(name.Candidates) != 2 {
		t.Errorf("the cause of %v is %+v", err, name)
	}
	if _, err := pattern.Parse(strings.Repeat("x", 1<<20)); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("a long question: %v", err)
	}
	for text, want := range map[string]string{
		`{"patterns": []}`: "there are no patterns",
		`{"patterns": [{"s": "?x", "p": "a"}], "x": 1}`:         "unknown field",
		`{"patterns": [{"s": "?x", "not": [{}]}]}`:              "a pattern is",
		`{"patterns": [{"s": "?x", "p": "a b", "o": "?y"}]}`:    "p a b, column 3: the end is wanted here, not b",
		`{"patterns": [{"s": "?x", "p": "a"}], "mode": "x"}`:    "mode is owl, rdfs or plain",
		`{"patterns": [{"s": "?x", "p": "a"}], "limit": -1}`:    "limit is not negative",
		`{"patterns": [{"s": "?x", "p": "a"}], "order": ["x"]}`: "order, x, column 1: a variable or count is wanted here",
	} {
		var q pattern.Question
		if err := json.Unmarshal([]byte(text), &q); err == nil || !strings.Contains(err.Error(), want) || engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// A condition that fails on all rows is a mistake; one that fails on some is not.
func TestConditionsThatFail(t *testing.T) {
	v := turtle(t, kitchen)
	c, err := pattern.CompileText(v, `?x label ?l; where ?l + 1 > 1`)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Ask(t.Context(), v, knowledge.DefaultLimits) {
		if err == nil || !strings.Contains(err.Error(), "column 20: the condition ?l + 1 > 1 fails on all 3 rows: no such overload") {
			t.Errorf("%v", err)
		}
	}
	if got := rows(t, v, `?x height ?l; where ?l + 1.0 > 2.0`); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// What is in no order fulfils no <, also if it is so on all rows. Integers have any size.
func TestConditionsOfNoOrder(t *testing.T) {
	v := turtle(t, `:a :n 9223372036854775808 , 1180591620717411303423 , -9223372036854775809, 4, 4.5e0, "x", :b, true, "NaN"^^xsd:double, "4"@en . :b :to :a .`)
	for question, want := range map[string]int{
		`?x n ?v; where ?v > 5`: 2, `?x n ?v; where ?v <= 5`: 3, `?x to ?v; where ?v > 5`: 0, `?x to ?v; where 5 >= ?v`: 0, `?x to ?v; where !(?v > 5)`: 1,
		`?x n ?v; where ?v < 1180591620717411303423`: 4, `?x n ?v; where ?v <= 1180591620717411303423`: 5, `?x n ?v; where 1180591620717411303424 > ?v && ?v>=1180591620717411303423`: 1,
		`?x n ?v; where ?v == 1180591620717411303423`: 1, `?x n ?v; where ?v != 1180591620717411303423`: 9, `?x n ?v; where ?v in [4, 1180591620717411303423, -9223372036854775809]`: 3,
		`?x n ?v; where ?v < -9223372036854775808`: 1, `?x n ?v; where int(?v) + 1 > -9223372036854775808`: 3, `?x n ?v; where ?v == -9223372036854775809`: 1, `?x n ?v; where ?v == - 9223372036854775809`: 1, `?x n ?v; where ?v == 9223372036854775808`: 1,
		`?x n ?v; where ?v > 4.1234567890123456789012 && ?v < 1000000000000000000000.0e0`: 2, `?x n ?v; where ?v == "1180591620717411303423"`: 1, `?x n ?v; where string(?v) == "9223372036854775808888"`: 0,
	} {
		if got := rows(t, v, question); len(got) != want {
			t.Errorf("%s: %v, not %d", question, got, want)
		}
	}
	for question, want := range map[string]string{
		`?x n ?v; where ?v == 0x1FFFFFFFFFFFFFFFF`: "column 22: an integer written so has 64 bits at most", `?x n ?v; where ?v == 18446744073709551616u`: "column 22: an integer written so has 64 bits at most",
		`?x n ?v; where ?v + 1180591620717411303423 > 5`: "column 21: the integer 1180591620717411303423 does not fit 64 bits",
	} {
		if _, err := pattern.CompileText(v, question); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", question, err)
		}
	}
}

// Questions end at limits and when they are given up; the first rows come at once.
func TestLimits(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, ":n%d :to :n%d . ", i, (i+1)%300)
	}
	v := turtle(t, text.String())
	c, err := pattern.CompileText(v, `?a to+ ?b; ?c to+ ?d; ?e to+ ?f`)
	if err != nil {
		t.Fatal(err)
	}
	last := func(c *pattern.Compiled, ctx context.Context, limits knowledge.Limits) (n int, last error) {
		for _, err := range c.Ask(ctx, v, limits) {
			n++
			last = err
		}
		return n, last
	}
	if _, err := last(c, t.Context(), knowledge.Limits{Steps: 100_000}); engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), "100000 steps") {
		t.Errorf("%v", err)
	}
	// What is matched counts by its length, and does not go on beyond what a moment is.
	long := turtle(t, `:a :says "`+strings.Repeat("ab", 50_000)+`" .`)
	for _, text := range []string{
		`?x says ~"(?:a|b|ab){0,200}(?:a|b|ab){0,200}c"`, `?x says ?t; where ?t.matches("(?:a|b|ab){0,200}(?:a|b|ab){0,200}c")`,
		`?x says ?t; where ` + strings.Repeat(`?t.lowerAscii() == "x" || `, 100) + "false", `?x says _; ?x a (says some xsd:string[pattern "(?:a|b|ab){0,500}c"])`,
	} {
		c, err := pattern.CompileText(long, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range c.Ask(t.Context(), long, knowledge.Limits{Steps: 100_000}) {
		}
		if engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("%s: %v", text, err)
		}
	}
	ordered, err := pattern.CompileText(v, `?a to+ ?b; ?c to+ ?d; order by ?a`)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := last(ordered, t.Context(), knowledge.Limits{Memory: 1 << 20}); engram.CodeOf(err) != engram.Exhausted || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n := 0
		for _, err := range c.Ask(ctx, v, knowledge.Limits{Time: time.Hour}) {
			if n++; n == 10 {
				time.Sleep(2 * time.Second)
			}
			if err != nil && engram.CodeOf(err) != engram.Canceled {
				t.Errorf("%v", err)
			}
		}
		if n < 10 || n > 5000 {
			t.Errorf("%d rows before it is given up", n)
		}
		n = 0
		for _, err := range c.Ask(t.Context(), v, knowledge.Limits{Time: time.Second}) {
			if n++; n == 10 {
				time.Sleep(2 * time.Second)
			}
			if err != nil && engram.CodeOf(err) != engram.Exhausted {
				t.Errorf("%v", err)
			}
		}
	})
	for range c.Ask(t.Context(), v, knowledge.Limits{}) {
		break
	}
}

// A compiled question is asked by many at once, and of views of other sizes.
func TestQuestionsAtOnce(t *testing.T) {
	v := turtle(t, kitchen)
	c, err := pattern.CompileText(v, `?x parts+ ?y; ?y a (Furniture or Door); not { ?y open true }; optional { ?y height ?h }; where ?h == null || ?h != 7.0`)
	if err != nil {
		t.Fatal(err)
	}
	larger := &knowledge.View{Graph: v.Fork()}
	for i := range 300 {
		larger.Add(rdf.Triple{S: rdf.NewIRI(fmt.Sprint("http://x#", i)), P: rdf.NewIRI("http://x#parts"), O: rdf.NewIRI(fmt.Sprint("http://x#", i+1))})
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				view := v
				if i%2 == 0 {
					view = larger
				}
				if got := rowsOf(t, view, c); len(got) != 3 {
					t.Errorf("%v", got)
				}
			}
		})
	}
	wg.Wait()
}

// scene computes what stands on what.
type scene map[[2]string]float64

func (s scene) Properties() iter.Seq[string] { return slices.Values([]string{"http://x#on"}) }

func (s scene) Compute(from rdf.Term, property string, to rdf.Term) (iter.Seq[knowledge.Derived], bool) {
	return func(yield func(knowledge.Derived) bool) {
		for pair, p := range s {
			it := rdf.Triple{S: rdf.NewIRI("http://x#" + pair[0]), P: rdf.NewIRI(property), O: rdf.NewIRI("http://x#" + pair[1])}
			if (from.IsZero() || from == it.S) && (to.IsZero() || to == it.O) && !yield(knowledge.Derived{Triple: it, Probability: p}) {
				return
			}
		}
	}, property == "http://x#on"
}

// Computed properties are used like others; a row is as probable as what it rests on.
func TestComputed(t *testing.T) {
	v := turtle(t, kitchen+` :plate :on :table . :on rdfs:subPropertyOf :touches . :lamp :touches :wall .`)
	v.Computed = scene{{"cup", "plate"}: 0.8, {"plate", "table"}: 0.7, {"spoon", "cup"}: 0.5, {"fork", "table"}: 0.95}
	for text, want := range map[string]string{
		`?x on table`:                               "fork 0.95, plate",
		`?x on table; certain >= 0.96`:              "plate",
		`?x on ?y; ?y on ?z`:                        "cup plate table 0.8, spoon cup plate 0.4",
		`?x on+ table`:                              "cup 0.8, fork 0.95, plate, spoon 0.4",
		`?x on* table; certain >= 0.9`:              "fork 0.95, plate, table",
		`<http://x#spoon> on+ ?y`:                   "cup 0.5, plate 0.4, table 0.4",
		`?x on+ ?y; ?y a Plate`:                     "cup plate 0.8, spoon plate 0.4",
		`?x touches ?y; certain >= 0.75`:            "cup plate 0.8, fork table 0.95, lamp wall, plate table",
		`table ^on ?x`:                              "fork 0.95, plate",
		`?x a Cup; not { ?x on plate }`:             "",
		`?x on ?y; not { ?y on _ }; certain >= 0.6`: "fork table 0.95, plate table",
		`?x a (on some Plate)`:                      "cup",
		`?x on _; count`:                            "4",
	} {
		got := rows(t, v, text)
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, ", "), want)
		}
	}
	c, err := pattern.CompileText(v, `cup on+ ?y; ?y a Table`)
	if err != nil {
		t.Fatal(err)
	}
	for row := range c.Ask(t.Context(), v, knowledge.DefaultLimits) {
		if got := facts(row.Why()[0].Facts); got != "cup on plate, plate on table" {
			t.Errorf("it rests on %s", got)
		}
		if b, _ := json.Marshal(row); string(b) != `{"y":"http://x#table","probability":0.8}` {
			t.Errorf("%s", b)
		}
	}
}

func FuzzQuestion(f *testing.F) {
	v := &knowledge.View{Graph: knowledge.NewGraph()}
	for _, seed := range []string{
		`?room roomNumber "3001"; ?s properPhysicalParts+ ?room; ?s label ~"Karlstr.*"`,
		`prefix a: <http://x#>; ?x ^a:b* ?y; not { ?x a:'c d' "t"@en }; optional ?y a:z 1.5e3; where ?x != ?y; select ?x, count(?y); order by count desc; limit 3`,
		`?x a (A and inverse b some {c, "d"^^xsd:string} or x some double[>= 2, pattern "a"]); distinct; mode plain; certain >= 0.5`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := pattern.Parse(text)
		if err != nil {
			if engram.CodeOf(err) == engram.Internal {
				t.Fatal(err)
			}
			return
		}
		again, err := pattern.Parse(q.String())
		if err != nil || again.String() != q.String() {
			t.Fatalf("%q is written as %q: %v\n%v", text, q, err, again)
		}
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var from pattern.Question
		if err := json.Unmarshal(b, &from); err != nil || from.String() != q.String() {
			t.Fatalf("%q is %s in JSON: %v\n%q\n%q", text, b, err, q, &from)
		}
		if c, err := pattern.CompileText(v, text); err == nil {
			for _, err := range c.Ask(t.Context(), v, knowledge.Limits{Steps: 10_000}) {
				if engram.CodeOf(err) == engram.Internal {
					t.Fatal(err)
				}
			}
		} else if engram.CodeOf(err) == engram.Internal {
			t.Fatal(err)
		}
	})
}

func FuzzClass(f *testing.F) {
	for _, seed := range []string{
		`RoomInAConstruction and (roomNumber value "3006") and (inverse properPhysicalParts some (Building and label value "K"))`,
		`not A or b only (c min 2 D) that e exactly 1 or f Self and g max 0 {h, i} or double[< 1, langRange "de"]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := pattern.ParseClass(text)
		if err != nil {
			if engram.CodeOf(err) == engram.Internal {
				t.Fatal(err)
			}
			return
		}
		again, err := pattern.ParseClass(c.String())
		if err != nil || again.String() != c.String() {
			t.Fatalf("%q is written as %q: %v", text, c, err)
		}
	})
}

// Of names that nothing is known of ten are told, each once.
func TestUnheardNames(t *testing.T) {
	v := &knowledge.View{Graph: knowledge.NewGraph()}
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "v:n%d v:p ?x%d; ", i%20, i)
	}
	c, err := pattern.CompileText(v, strings.TrimSuffix(text.String(), "; "), pattern.Options{Prefixes: map[string]string{"v": "http://v/"}})
	if err != nil {
		t.Fatal(err)
	}
	notes := c.Unheard(v)
	if len(notes) != 10 || len(slices.Compact(slices.Sorted(slices.Values(notes)))) != 10 || !strings.HasPrefix(notes[0], "nothing is known of v:") {
		t.Errorf("notes %q", notes)
	}
}
