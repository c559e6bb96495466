package knowledge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// checkedGraph reads Turtle with the usual prefixes.
func checkedGraph(t *testing.T, text string) *Graph {
	t.Helper()
	g := NewGraph()
	_, err := rdf.Read(strings.NewReader(`@prefix : <http://e#> . @prefix owl: <`+rdf.NSOWL+`> . @prefix rdfs: <`+rdf.NSRDFS+`> . @prefix xsd: <`+rdf.NSXSD+`> .
		:A a owl:Class . :B a owl:Class . :C a owl:Class . :p a owl:ObjectProperty . :d a owl:DatatypeProperty .
		`+text), rdf.Turtle, rdf.ReadOptions{Name: t.Name()}, func(q rdf.Quad) error {
		g.Add(q.Triple)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {`:a a :A ; :p :b ; :d 1 . :b a :B .`, ``},
		"a class": {`:a a :Aa .`, `undefined: http://e#Aa is used as a class and not declared; did you mean http://e#A?`},
		"a class of a restriction": {`:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :Unheard ] .`,
			`undefined: http://e#Unheard is used as a class and not declared`},
		"a property": {`:a a :A ; :q "x" .`, `undefined: http://e#q is used as a property and not declared`},
		"a file is missing": {`@prefix k: <http://k#> . :a a k:X ; k:y "z" ; :p k:b .`,
			`undefined: none of the 2 names of http://k# that are used is declared (X, y): is a file missing?`},
		"loops": {`:A rdfs:subClassOf :B . :B rdfs:subClassOf :C, :A . :C rdfs:subClassOf :C . :p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p .`,
			`class loop: 2 classes are below each other, so that they are one: http://e#A, http://e#B
			class loop: http://e#C is stated to be below itself
			property loop: 2 properties are below each other, so that they are one: http://e#p, http://e#q`},
		"functional": {`:p a owl:FunctionalProperty . :s rdfs:subPropertyOf :p . :a a :A ; :p :b ; :s :c . :b a :A . :c a :A .`,
			`functional: http://e#a has 2 values of http://e#p, which is functional: http://e#b and http://e#c`},
		"functional, but the same": {`:p a owl:FunctionalProperty . :a a :A ; :p :b, :c, [] . :b a :A . :c owl:sameAs [ owl:sameAs :b ] .`, ``},
		"functional literals": {`:d a owl:FunctionalProperty . :a :d 1, "1.0"^^xsd:double, "1e0"^^xsd:float, "01"^^xsd:int . :b :d "x"@en, "x"@EN . :c :d "1", 1 . :e :d "NaN"^^xsd:double .`,
			`functional: http://e#c has 2 values of http://e#d, which is functional: "1" and "1" (xsd:integer)`},
		"functional times": {`:d a owl:FunctionalProperty . :a :d "2024-03-01T10:00:00+02:00"^^xsd:dateTime, "2024-03-01T08:00:00Z"^^xsd:dateTime . :b :d "P1Y"^^xsd:duration, "P12M"^^xsd:duration .
			:c :d 18446744073709551616, 18446744073709551617 .`,
			`functional: http://e#c has 2 values of http://e#d, which is functional: "18446744073709551616" (xsd:integer) and "18446744073709551617" (xsd:integer)`},
		"inverse functional": {`:d a owl:InverseFunctionalProperty . :a :d 7 . :b :d "7.0"^^xsd:decimal . :c :d 8 .`,
			`inverse functional: "7" (xsd:integer) is the value of 2 things of http://e#d, which is inverse functional: http://e#a and http://e#b`},
		"disjoint": {`:A owl:disjointWith :B . :C rdfs:subClassOf :A . :a a :C, :B .`,
			`disjoint: http://e#a is of http://e#A and of http://e#B, which are disjoint`},
		"all disjoint": {`[] a owl:AllDisjointClasses ; owl:members ( :A :B :C ) . :a a :B, :C .`,
			`disjoint: http://e#a is of http://e#B and of http://e#C, which are disjoint`},
		"an impossible class": {`:A owl:disjointWith :B . :C rdfs:subClassOf :A, :B . :D rdfs:subClassOf :C .`,
			`disjoint: the class http://e#C can have no individual: it is below http://e#A and http://e#B, which are disjoint`},
		"dangling": {`:a a :A ; :p :bb ; rdfs:seeAlso :zz . :cc a :B ; :p :bb .`,
			`dangling: nothing is said of http://e#bb, which is a value of http://e#p of http://e#a and 1 more; did you mean http://e#B?`},
		"a misspelled name": {`:a a :A ; :p :cup13 . :cup12 a :B .`,
			`dangling: nothing is said of http://e#cup13, which is a value of http://e#p of http://e#a; did you mean http://e#cup12?`},
		"datatypes": {`:d rdfs:range xsd:double . :a :d "x"^^xsd:double, 1, 2.5, "3", "nine", "4"^^xsd:string . :b :d "n"^^xsd:double .`,
			`datatype: http://e#a has "4" (xsd:string) as a value of http://e#d, which is not an xsd:double
			datatype: http://e#a has "nine" as a value of http://e#d, which is not an xsd:double
			datatype: http://e#a has "x" as a value of http://e#d, which is not an xsd:double; so have 1 more`},
		"whole numbers": {`:d rdfs:range xsd:unsignedByte . :a :d 255, "2.0"^^xsd:double, "+7" . :b :d 256 . :c :d 1.5 . :e :d "-1"^^xsd:unsignedByte . :f :d "1e999999999"^^xsd:double .`,
			`datatype: http://e#b has "256" (xsd:integer) as a value of http://e#d, which is not an xsd:unsignedByte
			datatype: http://e#c has "1.5" (xsd:decimal) as a value of http://e#d, which is not an xsd:unsignedByte
			datatype: http://e#e has "-1" as a value of http://e#d, which is not an xsd:unsignedByte
			datatype: http://e#f has "1e999999999" (xsd:double) as a value of http://e#d, which is not an xsd:unsignedByte`},
		"a literal and an individual": {`:d rdfs:range xsd:string . :a a :A ; :p "text" ; :d :a .`,
			`datatype: http://e#a has http://e#a, an IRI, as a value of http://e#d, which is not an xsd:string
			datatype: http://e#a has "text" as a value of http://e#p, which is not an individual`},
		"times": {`:a :d "2026-02-31"^^xsd:date, "2026-13-01"^^xsd:date, "2026-01-01T24:00:00Z"^^xsd:dateTime, "P"^^xsd:duration, "P1DT2H"^^xsd:duration, "yes"^^xsd:boolean .`,
			`datatype: http://e#a has "2026-13-01" as a value of http://e#d, which is not an xsd:date
			datatype: http://e#a has "P" as a value of http://e#d, which is not an xsd:duration
			datatype: http://e#a has "yes" as a value of http://e#d, which is not an xsd:boolean`},
		"too many": {`:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:maxCardinality 1 ] . :B rdfs:subClassOf :A . :a a :B ; :p :b, :c, [] . :b a :A . :c a :A .`,
			`cardinality: http://e#a has 3 values of http://e#p, and as a http://e#B it has at most 1`},
		"too few": {`:A owl:equivalentClass [ a owl:Restriction ; owl:onProperty :d ; owl:cardinality "1"^^xsd:nonNegativeInteger ] . :a a :A . :b a :A ; :d 1, "1.0"^^xsd:double .`,
			`cardinality: http://e#a has 0 values of http://e#d, and as a http://e#A it has at least 1`},
		"of a class": {`:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :B ] . :a a :A ; :p :b, :c, :e . :b a :B . :c a :B . :e a :C . :f a :A ; :p :b, :e .`,
			`cardinality: http://e#a has 2 values of http://e#B of http://e#p, and as a http://e#A it has at most 1`},
	} {
		var got []string
		for _, p := range Check(checkedGraph(t, c.text)) {
			got = append(got, string(p.Kind)+": "+p.Text)
			if len(p.Triples) == 0 || p.Subject.IsZero() {
				t.Errorf("%s: %v rests on nothing", name, p)
			}
		}
		var want []string
		for line := range strings.Lines(c.want) {
			want = append(want, strings.TrimSpace(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the problems are\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// The published maps have these problems, each of which is one.
func TestCheckOfPublishedMaps(t *testing.T) {
	maps := testkit.Shared(t, "knowledge", "maps")
	files, err := filepath.Glob(filepath.Join(maps, "*.owl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files in %s: %v", maps, err)
	}
	g := NewGraph()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rdf.Read(f, rdf.RDFXML, rdf.ReadOptions{Name: file, Base: "file:///" + filepath.Base(file), Scope: filepath.Base(file)}, func(q rdf.Quad) error {
			g.Add(q.Triple)
			return nil
		})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"dangling ias_map_addons.owl#timepoint_1271159865.00",
		"dangling knowrob.owl#Plate",
		"datatype roboearth.owl#roboearthObjID",
		"property loop owl#sameAs",
		"undefined knowrob.owl#AgentGeneric",
		"undefined srdl2-cap.owl#Perceiving",
		"undefined roboearth.owl#IkeaExpedit2x4",
		"undefined roboearth.owl#IkeaExpeditDoor1",
	}
	var got []string
	for _, p := range Check(g) {
		got = append(got, string(p.Kind)+" "+p.Subject.Value[strings.LastIndexByte(p.Subject.Value, '/')+1:])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the problems are\n%s", strings.Join(got, "\n"))
	}
}
