package knowledge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A ProblemKind says what is wrong with a graph.
type ProblemKind string

// The kinds of problems.
const (
	UndefinedName      ProblemKind = "undefined"          // used as a class or property, and never declared
	ClassLoop          ProblemKind = "class loop"         // classes below each other
	PropertyLoop       ProblemKind = "property loop"      // properties below each other
	FunctionalConflict ProblemKind = "functional"         // several values of a functional property
	InverseConflict    ProblemKind = "inverse functional" // several subjects of a value
	DisjointConflict   ProblemKind = "disjoint"           // in two classes that are disjoint
	Dangling           ProblemKind = "dangling"           // referred to, and nothing is said of it
	DatatypeConflict   ProblemKind = "datatype"           // a value that its datatype or the range does not have
	CardinalityFault   ProblemKind = "cardinality"        // more or fewer values than a restriction allows
)

// A Problem is something of a graph that is probably not meant so.
type Problem struct {
	Kind    ProblemKind
	Subject rdf.Term     // the name that it is about; a namespace of names that nothing declares
	Text    string       // what is wrong, in a sentence
	Triples []rdf.Triple // that it rests on, the first ones if there are many
}

// maxEvidence is how many triples a problem tells.
const maxEvidence = 20

// Check returns the problems of a graph, sorted by kind and subject.
//
// Names are taken for different things unless owl:sameAs says that they are one, blank nodes for nothing in
// particular. Literals are compared by value. Numbers of values are those of what is known:
// fewer than a restriction wants is a problem. Names of the vocabularies of RDF, OWL, SWRL, Dublin Core and SKOS
// are known. Where most names of a namespace are not declared, that is one problem: a file is missing.
func Check(g *Graph) []Problem {
	c := &checker{
		g: g, classes: map[rdf.Term]bool{}, properties: map[rdf.Term]bool{}, subjects: map[rdf.Term]bool{},
		datatypes: map[rdf.Term]bool{}, annotations: map[rdf.Term]bool{}, elsewhere: map[string]bool{}, above: map[rdf.Term][]rdf.Term{},
	}
	c.declared()
	c.undefined()
	c.loops(checked.subClassOf, ClassLoop, "classes")
	c.loops(checked.subPropertyOf, PropertyLoop, "properties")
	c.functional()
	c.disjoint()
	c.dangling()
	c.values()
	c.cardinalities()
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject.Value, b.Subject.Value), cmp.Compare(a.Text, b.Text))
	})
	return c.problems
}

// checked has the terms that checks ask for.
var checked = struct {
	typ, subClassOf, subPropertyOf, domain, ranges, equivalentClass, disjointWith, members, inverseOf, equivalentProperty, onProperty, someValuesFrom,
	allValuesFrom, onClass, hasValue, sameAs, unionOf, intersectionOf, complementOf, disjointUnionOf, first, rest, functional, inverseFunctional,
	allDisjoint, objectProperty, thing rdf.Term
}{
	typ: rdf.NewIRI(rdf.NS + "type"), first: rdf.NewIRI(rdf.NS + "first"), rest: rdf.NewIRI(rdf.NS + "rest"),
	subClassOf: rdf.NewIRI(rdf.NSRDFS + "subClassOf"), subPropertyOf: rdf.NewIRI(rdf.NSRDFS + "subPropertyOf"),
	domain: rdf.NewIRI(rdf.NSRDFS + "domain"), ranges: rdf.NewIRI(rdf.NSRDFS + "range"),
	equivalentClass: rdf.NewIRI(rdf.NSOWL + "equivalentClass"), disjointWith: rdf.NewIRI(rdf.NSOWL + "disjointWith"),
	members: rdf.NewIRI(rdf.NSOWL + "members"), inverseOf: rdf.NewIRI(rdf.NSOWL + "inverseOf"),
	equivalentProperty: rdf.NewIRI(rdf.NSOWL + "equivalentProperty"), onProperty: rdf.NewIRI(rdf.NSOWL + "onProperty"),
	someValuesFrom: rdf.NewIRI(rdf.NSOWL + "someValuesFrom"), allValuesFrom: rdf.NewIRI(rdf.NSOWL + "allValuesFrom"),
	onClass: rdf.NewIRI(rdf.NSOWL + "onClass"), hasValue: rdf.NewIRI(rdf.NSOWL + "hasValue"), sameAs: rdf.NewIRI(rdf.NSOWL + "sameAs"),
	unionOf: rdf.NewIRI(rdf.NSOWL + "unionOf"), intersectionOf: rdf.NewIRI(rdf.NSOWL + "intersectionOf"), complementOf: rdf.NewIRI(rdf.NSOWL + "complementOf"),
	disjointUnionOf: rdf.NewIRI(rdf.NSOWL + "disjointUnionOf"),
	functional:      rdf.NewIRI(rdf.NSOWL + "FunctionalProperty"), inverseFunctional: rdf.NewIRI(rdf.NSOWL + "InverseFunctionalProperty"),
	allDisjoint: rdf.NewIRI(rdf.NSOWL + "AllDisjointClasses"), objectProperty: rdf.NewIRI(rdf.NSOWL + "ObjectProperty"), thing: rdf.NewIRI(rdf.NSOWL + "Thing"),
}

// standard are the namespaces whose names are known.
var standard = []string{
	rdf.NS, rdf.NSRDFS, rdf.NSOWL, rdf.NSXSD, "http://www.w3.org/2003/11/swrl#", "http://www.w3.org/2003/11/swrlb#",
	"http://purl.org/dc/", "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/XML/1998/namespace", "http://protege.stanford.edu/",
	"http://swrl.stanford.edu/",
}

func isStandard(iri string) bool {
	return slices.ContainsFunc(standard, func(n string) bool { return strings.HasPrefix(iri, n) })
}

// checker gathers the problems of a graph.
type checker struct {
	g           *Graph
	classes     map[rdf.Term]bool // that are declared or defined
	properties  map[rdf.Term]bool
	datatypes   map[rdf.Term]bool
	annotations map[rdf.Term]bool // annotation properties
	subjects    map[rdf.Term]bool // of which anything is said
	elsewhere   map[string]bool   // namespaces most names of which nothing declares
	above       map[rdf.Term][]rdf.Term
	compared    int // names, to find the nearest ones
	problems    []Problem
}

// maxCompared bounds what is compared to find the nearest names: a hint is worth a second or two, not more.
const maxCompared = 2_000_000

func (c *checker) tell(kind ProblemKind, subject rdf.Term, triples []rdf.Triple, format string, args ...any) {
	c.problems = append(c.problems, Problem{kind, subject, fmt.Sprintf(format, args...), triples[:min(len(triples), maxEvidence)]})
}

// triples returns those that match, in an order that depends on them only.
func (c *checker) triples(s, p, o rdf.Term) []rdf.Triple {
	all := slices.Collect(c.g.Match(s, p, o))
	slices.SortFunc(all, compareTriples)
	return all
}

func compareTerms(a, b rdf.Term) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Lang, b.Lang))
}

func compareTriples(a, b rdf.Triple) int {
	return cmp.Or(compareTerms(a.S, b.S), compareTerms(a.P, b.P), compareTerms(a.O, b.O))
}

// declared finds what is declared.
func (c *checker) declared() {
	for t := range c.g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		c.subjects[t.S] = true
		switch t.P {
		case checked.typ:
			name, ours := strings.CutPrefix(t.O.Value, rdf.NSOWL)
			if !ours {
				if name, ours = strings.CutPrefix(t.O.Value, rdf.NSRDFS); !ours {
					name, ours = strings.CutPrefix(t.O.Value, rdf.NS)
				}
			}
			switch {
			case !ours:
			case name == "Datatype", name == "DataRange":
				c.datatypes[t.S] = true
			case name == "AnnotationProperty", name == "OntologyProperty":
				c.annotations[t.S], c.properties[t.S] = true, true
			case strings.HasSuffix(name, "Property"):
				c.properties[t.S] = true
			case strings.HasSuffix(name, "Class"), name == "Restriction":
				c.classes[t.S] = true
			}
		case checked.subClassOf, checked.equivalentClass, checked.unionOf, checked.intersectionOf, checked.complementOf:
			c.classes[t.S] = true
		case checked.subPropertyOf, checked.domain, checked.ranges, checked.inverseOf, checked.equivalentProperty:
			c.properties[t.S] = true
		}
	}
}

// use is a name that is used as what it is not declared as.
type use struct {
	as      string
	triples []rdf.Triple
}

func (c *checker) undefined() {
	missing := map[rdf.Term]*use{}
	used := map[string]map[rdf.Term]bool{} // by namespace
	note := func(name rdf.Term, as string, declared map[rdf.Term]bool, t rdf.Triple) {
		if name.Kind != rdf.IRI || isStandard(name.Value) {
			return
		}
		namespace, _ := splitName(name.Value)
		if used[namespace] == nil {
			used[namespace] = map[rdf.Term]bool{}
		}
		used[namespace][name] = true
		if declared[name] || as == "class" && c.datatypes[name] {
			return
		}
		if missing[name] == nil {
			missing[name] = &use{as: as}
		}
		missing[name].triples = append(missing[name].triples, t)
	}
	for t := range c.g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		note(t.P, "property", c.properties, t)
		switch t.P {
		case checked.typ, checked.subClassOf, checked.equivalentClass, checked.domain, checked.ranges, checked.disjointWith, checked.someValuesFrom, checked.allValuesFrom, checked.onClass, checked.complementOf:
			note(t.O, "class", c.classes, t)
		case checked.onProperty, checked.subPropertyOf, checked.inverseOf, checked.equivalentProperty:
			note(t.O, "property", c.properties, t)
		}
	}
	undeclared := map[string][]rdf.Term{}
	for name := range missing {
		namespace, _ := splitName(name.Value)
		undeclared[namespace] = append(undeclared[namespace], name)
	}
	for _, namespace := range slices.Sorted(maps.Keys(undeclared)) {
		names := undeclared[namespace]
		slices.SortFunc(names, compareTerms)
		if of := len(used[namespace]); len(names) > 1 && 2*len(names) > of && !c.hasOntology(namespace) {
			c.elsewhere[namespace] = true
			var examples []string
			var triples []rdf.Triple
			for _, name := range names {
				_, local := splitName(name.Value)
				examples = append(examples, local)
				triples = append(triples, missing[name].triples[0])
			}
			some := fmt.Sprintf("%d of the %d names of %s that are used are not declared", len(names), of, namespace)
			if len(names) == of {
				some = fmt.Sprintf("none of the %d names of %s that are used is declared", of, namespace)
			}
			c.tell(UndefinedName, rdf.NewIRI(namespace), triples, "%s (%s): is a file missing?", some, abbreviated(examples))
			continue
		}
		for _, name := range names {
			u := missing[name]
			slices.SortFunc(u.triples, compareTriples)
			declared := c.classes
			if u.as == "property" {
				declared = c.properties
			}
			hint := ""
			if near := c.nearest(name, declared); near != "" {
				hint = "; did you mean " + near + "?"
			}
			c.tell(UndefinedName, name, u.triples, "%s is used as a %s and not declared%s", name.Value, u.as, hint)
		}
	}
}

// hasOntology reports whether the ontology of a namespace is there.
func (c *checker) hasOntology(namespace string) bool {
	ontology := rdf.NewIRI(rdf.NSOWL + "Ontology")
	for _, iri := range []string{namespace, strings.TrimRight(namespace, "#/")} {
		for range c.g.Match(rdf.NewIRI(iri), checked.typ, ontology) {
			return true
		}
	}
	return false
}

// nearest returns the declared name that a name is nearest to, of its namespace first.
func (c *checker) nearest(name rdf.Term, declared map[rdf.Term]bool) string {
	if c.compared += len(declared); c.compared > maxCompared {
		return ""
	}
	namespace, local := splitName(name.Value)
	var same, other []string
	iris := map[string]string{}
	for k := range declared {
		if k.Kind != rdf.IRI || k == name {
			continue
		}
		of, l := splitName(k.Value)
		if of == namespace {
			same = append(same, l)
			iris[l] = k.Value
		} else if l == local {
			other = append(other, k.Value)
		}
	}
	slices.Sort(same)
	if near := spelling.Nearest(local, same); near != "" && local != "" {
		return iris[near]
	}
	if len(other) > 0 {
		return slices.Min(other)
	}
	return ""
}

// splitName returns the namespace and the local name of an IRI.
func splitName(iri string) (namespace, local string) {
	at := strings.LastIndexAny(iri, "#/:") + 1
	return iri[:at], iri[at:]
}

// abbreviated lists the first words.
func abbreviated(words []string) string {
	const most = 3
	if len(words) > most {
		return strings.Join(words[:most], ", ") + " …"
	}
	return strings.Join(words, ", ")
}

// loops tells what is below itself.
func (c *checker) loops(p rdf.Term, kind ProblemKind, what string) {
	up := map[rdf.Term][]rdf.Term{}
	for _, t := range c.triples(rdf.Term{}, p, rdf.Term{}) {
		if t.O.Kind == rdf.IRI && t.S.Kind == rdf.IRI {
			up[t.S] = append(up[t.S], t.O)
		}
	}
	for _, loop := range circles(up) {
		in := map[rdf.Term]bool{}
		var names []string
		for _, name := range loop {
			in[name] = true
			names = append(names, name.Value)
		}
		var triples []rdf.Triple
		for _, s := range loop {
			for _, o := range up[s] {
				if in[o] {
					triples = append(triples, rdf.Triple{S: s, P: p, O: o})
				}
			}
		}
		if len(loop) == 1 {
			c.tell(kind, loop[0], triples, "%s is stated to be below itself", names[0])
			continue
		}
		c.tell(kind, loop[0], triples, "%d %s are below each other, so that they are one: %s", len(loop), what, abbreviated(names))
	}
}

// circles returns names that lead to each other, or to themselves, each circle sorted.
func circles(up map[rdf.Term][]rdf.Term) (found [][]rdf.Term) {
	type visit struct {
		name rdf.Term
		next int
	}
	index, low := map[rdf.Term]int{}, map[rdf.Term]int{}
	on := map[rdf.Term]bool{}
	var stack []rdf.Term
	for _, start := range slices.SortedFunc(maps.Keys(up), compareTerms) {
		if index[start] != 0 {
			continue
		}
		enter := func(n rdf.Term) visit {
			index[n] = len(index) + 1
			low[n] = index[n]
			stack, on[n] = append(stack, n), true
			return visit{name: n}
		}
		way := []visit{enter(start)}
		for len(way) > 0 {
			v := &way[len(way)-1]
			if v.next < len(up[v.name]) {
				to := up[v.name][v.next]
				v.next++
				if index[to] == 0 {
					way = append(way, enter(to))
				} else if on[to] {
					low[v.name] = min(low[v.name], index[to])
				}
				continue
			}
			n := v.name
			way = way[:len(way)-1]
			if len(way) > 0 {
				before := way[len(way)-1].name
				low[before] = min(low[before], low[n])
			}
			if low[n] != index[n] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != n {
				at--
			}
			circle := slices.Clone(stack[at:])
			stack = stack[:at]
			for _, m := range circle {
				on[m] = false
			}
			if len(circle) > 1 || slices.Contains(up[n], n) {
				slices.SortFunc(circle, compareTerms)
				found = append(found, circle)
			}
		}
	}
	return found
}

// dangling tells of individuals of which nothing is said.
func (c *checker) dangling() {
	referred := map[rdf.Term][]rdf.Triple{}
	classes := map[rdf.Term]bool{} // used as classes
	for t := range c.g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		if t.O.Kind != rdf.IRI || c.subjects[t.O] || isStandard(t.O.Value) {
			continue
		}
		switch {
		case t.P == checked.hasValue:
		case t.P == checked.typ:
			classes[t.O] = true
			continue
		case isStandard(t.P.Value), c.annotations[t.P]:
			continue
		}
		referred[t.O] = append(referred[t.O], t)
	}
	for _, name := range slices.SortedFunc(maps.Keys(referred), compareTerms) {
		if namespace, _ := splitName(name.Value); classes[name] || c.elsewhere[namespace] {
			continue // it is undefined
		}
		triples := referred[name]
		slices.SortFunc(triples, compareTriples)
		more := ""
		if len(triples) > 1 {
			more = fmt.Sprintf(" and %d more", len(triples)-1)
		}
		hint := ""
		if near := c.nearest(name, c.subjects); near != "" {
			hint = "; did you mean " + near + "?"
		}
		c.tell(Dangling, name, triples, "nothing is said of %s, which is a value of %s of %s%s%s", name.Value, triples[0].P.Value, shown(triples[0].S), more, hint)
	}
}

// shown is a term in a sentence.
func shown(t rdf.Term) string {
	switch t.Kind {
	case rdf.Blank:
		return "a blank node"
	case rdf.Literal:
		text := fmt.Sprintf("%q", t.Value)
		switch {
		case t.Lang != "":
			text += "@" + t.Lang
		case t.Type != "":
			text += " (" + shortType(t.Type) + ")"
		}
		return text
	}
	return t.Value
}
