package knowledge

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// distinct are different things among terms.
type distinct struct {
	sure  int // of those, so many have names or are literals
	terms []rdf.Term
}

// distinctOf returns the different things among terms: those that owl:sameAs joins are one, as are
// literals of one value.
func (c *checker) distinctOf(terms []rdf.Term) distinct {
	var d distinct
	seen := map[rdf.Term]bool{}
	values := values{}
	for _, t := range terms {
		if t.Kind == rdf.Literal {
			if values.first(t) == t {
				d.sure++
				d.terms = append(d.terms, t)
			}
			continue
		}
		if seen[t] {
			continue
		}
		left := []rdf.Term{t}
		for len(left) > 0 {
			n := left[len(left)-1]
			left = left[:len(left)-1]
			if seen[n] {
				continue
			}
			seen[n] = true
			for same := range c.g.Match(n, checked.sameAs, rdf.Term{}) {
				left = append(left, same.O)
			}
			for same := range c.g.Match(rdf.Term{}, checked.sameAs, n) {
				left = append(left, same.S)
			}
		}
		d.terms = append(d.terms, t)
		if t.Kind == rdf.IRI {
			d.sure++
		}
	}
	return d
}

// functional tells of several values, or several subjects, where there is one at most.
func (c *checker) functional() {
	for _, decl := range c.triples(rdf.Term{}, checked.typ, checked.functional) {
		values := map[rdf.Term][]rdf.Term{}
		for t := range c.g.Has(rdf.Term{}, decl.S, rdf.Term{}) {
			values[t.S] = append(values[t.S], t.O)
		}
		c.oneEach(values, func(s, o rdf.Term) rdf.Triple { return rdf.Triple{S: s, P: decl.S, O: o} }, decl, FunctionalConflict,
			"%s has %d values of %s, which is functional: %s and %s")
	}
	for _, decl := range c.triples(rdf.Term{}, checked.typ, checked.inverseFunctional) {
		subjects := map[rdf.Term][]rdf.Term{}
		values := values{}
		for t := range c.g.Has(rdf.Term{}, decl.S, rdf.Term{}) {
			o := t.O
			if o.Kind == rdf.Literal {
				o = values.first(o)
			}
			subjects[o] = append(subjects[o], t.S)
		}
		c.oneEach(subjects, func(o, s rdf.Term) rdf.Triple { return rdf.Triple{S: s, P: decl.S, O: o} }, decl, InverseConflict,
			"%s is the value of %d things of %s, which is inverse functional: %s and %s")
	}
}

// oneEach tells where there are several.
func (c *checker) oneEach(of map[rdf.Term][]rdf.Term, triple func(one, other rdf.Term) rdf.Triple, decl rdf.Triple, kind ProblemKind, format string) {
	for _, one := range slices.SortedFunc(maps.Keys(of), compareTerms) {
		others := of[one]
		slices.SortFunc(others, compareTerms)
		d := c.distinctOf(slices.DeleteFunc(others, func(t rdf.Term) bool { return t.Kind == rdf.Blank }))
		if d.sure < 2 {
			continue
		}
		triples := []rdf.Triple{decl}
		for _, other := range d.terms {
			triples = append(triples, triple(one, other))
		}
		c.tell(kind, one, triples, format, shown(one), d.sure, decl.S.Value, shown(d.terms[0]), shown(d.terms[1]))
	}
}

// values tells of values that their datatype or the range of their property does not have: for each property,
// and each datatype of values.
func (c *checker) values() {
	type group struct{ property, value, as string }
	groups := map[group][]rdf.Triple{}
	ranges := map[rdf.Term]string{} // of properties, where it is a datatype that is known here
	object := map[rdf.Term]bool{}
	for t := range c.g.Match(rdf.Term{}, checked.ranges, rdf.Term{}) {
		if _, known := lexical[t.O.Value]; known {
			ranges[t.S] = t.O.Value
		}
	}
	for t := range c.g.Match(rdf.Term{}, checked.typ, checked.objectProperty) {
		object[t.S] = true
	}
	for t := range c.g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		as := ranges[t.P]
		switch {
		case t.O.Kind == rdf.Literal && !valid(t.O.Value, t.O.Type):
			groups[group{t.P.Value, t.O.Type, t.O.Type}] = append(groups[group{t.P.Value, t.O.Type, t.O.Type}], t)
		case t.O.Kind == rdf.Literal && as != "" && !fits(t.O, as):
			groups[group{t.P.Value, t.O.Type, as}] = append(groups[group{t.P.Value, t.O.Type, as}], t)
		case t.O.Kind == rdf.IRI && as != "":
			groups[group{t.P.Value, "an IRI", as}] = append(groups[group{t.P.Value, "an IRI", as}], t)
		case t.O.Kind == rdf.Literal && as == "" && object[t.P]:
			groups[group{t.P.Value, t.O.Type, ""}] = append(groups[group{t.P.Value, t.O.Type, ""}], t)
		}
	}
	for g, triples := range groups {
		slices.SortFunc(triples, compareTriples)
		t := triples[0]
		value, is, want := t.O, "", "an "+shortType(g.as)
		switch {
		case g.as == "":
			want = "an individual"
		case g.value == "an IRI":
			is = ", an IRI,"
		case g.value != g.as && g.value != "":
			is = " (" + shortType(g.value) + ")"
		}
		value.Type = ""
		more := ""
		if len(triples) > 1 {
			more = fmt.Sprintf("; so have %d more", len(triples)-1)
		}
		c.tell(DatatypeConflict, rdf.NewIRI(g.property), triples, "%s has %s%s as a value of %s, which is not %s%s", shown(t.S), shown(value), is, g.property, want, more)
	}
}

func shortType(datatype string) string {
	if local, ok := strings.CutPrefix(datatype, rdf.NSXSD); ok {
		return "xsd:" + local
	}
	return datatype
}

// cardinalities tells of more or fewer values than restrictions allow.
func (c *checker) cardinalities() {
	restrictions := map[rdf.Term][]Restriction{} // by the node
	qualified := map[rdf.Term]rdf.Term{}
	for _, t := range c.triples(rdf.Term{}, checked.onProperty, rdf.Term{}) {
		r := Restriction{Node: t.S, Property: t.O, Facet: Cardinality, Max: -1}
		some := false
		for said := range c.g.Match(t.S, rdf.Term{}, rdf.Term{}) {
			name, ours := strings.CutPrefix(said.P.Value, rdf.NSOWL)
			n, err := strconv.Atoi(strings.TrimSpace(said.O.Value))
			switch {
			case said.P == checked.onClass:
				qualified[t.S] = said.O
				continue
			case !ours || err != nil || n < 0:
				continue
			case name == "cardinality" || name == "qualifiedCardinality":
				r.Min, r.Max = n, n
			case name == "minCardinality" || name == "minQualifiedCardinality":
				r.Min = n
			case name == "maxCardinality" || name == "maxQualifiedCardinality":
				r.Max = n
			default:
				continue
			}
			some = true
		}
		if some && t.O.Kind == rdf.IRI {
			restrictions[t.S] = append(restrictions[t.S], r)
		}
	}
	if len(restrictions) == 0 {
		return
	}
	told := map[string]bool{}
	for _, t := range c.triples(rdf.Term{}, checked.typ, rdf.Term{}) {
		if isStandard(t.O.Value) {
			continue
		}
		for _, class := range c.classesAbove(t.O) {
			for _, r := range restrictions[class] {
				c.counted(t, r, qualified[class], told)
			}
		}
	}
}

// counted tells if an individual has more or fewer values than a restriction allows.
func (c *checker) counted(of rdf.Triple, r Restriction, class rdf.Term, told map[string]bool) {
	var values []rdf.Term
	for t := range c.g.OWLHas(of.S, r.Property, rdf.Term{}) {
		if class.IsZero() || class == checked.thing || c.isOf(t.O, class) {
			values = append(values, t.O)
		}
	}
	slices.SortFunc(values, compareTerms)
	d := c.distinctOf(values)
	kind, most := "", 0
	switch {
	case r.Max >= 0 && d.sure > r.Max:
		kind, most = "at most", r.Max
	case len(d.terms) < r.Min:
		kind, most = "at least", r.Min
	default:
		return
	}
	what := ""
	if !class.IsZero() && class != checked.thing {
		what = " of " + shown(class)
	}
	text := fmt.Sprintf("%s has %d values%s of %s, and as a %s it has %s %d", shown(of.S), len(d.terms), what, r.Property.Value, shown(of.O), kind, most)
	if told[of.S.Value+" "+r.Property.Value+" "+kind] {
		return
	}
	told[of.S.Value+" "+r.Property.Value+" "+kind] = true
	triples := append([]rdf.Triple{of}, c.triples(r.Node, rdf.Term{}, rdf.Term{})...)
	for _, v := range d.terms {
		triples = append(triples, rdf.Triple{S: of.S, P: r.Property, O: v})
	}
	c.tell(CardinalityFault, of.S, triples, "%s", text)
}

// isOf reports whether an individual is declared to be of a class or one below it.
func (c *checker) isOf(i, class rdf.Term) bool {
	for t := range c.g.Match(i, checked.typ, rdf.Term{}) {
		if slices.Contains(c.classesAbove(t.O), class) {
			return true
		}
	}
	return false
}

// classesAbove returns a class and those that its individuals are of, too: above it, equivalent, and
// parts of intersections.
func (c *checker) classesAbove(class rdf.Term) []rdf.Term {
	if all, known := c.above[class]; known {
		return all
	}
	all := []rdf.Term{class}
	seen := map[rdf.Term]bool{class: true}
	add := func(t rdf.Term) {
		if t.Kind != rdf.Literal && !seen[t] {
			seen[t] = true
			all = append(all, t)
		}
	}
	for i := 0; i < len(all); i++ {
		for t := range c.g.Match(all[i], checked.subClassOf, rdf.Term{}) {
			add(t.O)
		}
		for t := range c.g.Match(all[i], checked.equivalentClass, rdf.Term{}) {
			add(t.O)
		}
		for t := range c.g.Match(rdf.Term{}, checked.equivalentClass, all[i]) {
			add(t.S)
		}
		for t := range c.g.Match(all[i], checked.intersectionOf, rdf.Term{}) {
			for _, part := range c.list(t.O) {
				add(part)
			}
		}
	}
	c.above[class] = all
	return all
}

// list returns the members of a collection.
func (c *checker) list(cell rdf.Term) (members []rdf.Term) {
	seen := map[rdf.Term]bool{}
	for !seen[cell] {
		seen[cell] = true
		for t := range c.g.Match(cell, checked.first, rdf.Term{}) {
			members = append(members, t.O)
		}
		for t := range c.g.Match(cell, checked.rest, rdf.Term{}) {
			cell = t.O
		}
	}
	return members
}

// disjoint tells of what is in two classes that have nothing in common: individuals, and classes below both.
func (c *checker) disjoint() {
	apart := map[rdf.Term]map[rdf.Term]rdf.Triple{}
	part := func(a, b rdf.Term, by rdf.Triple) {
		for _, pair := range [][2]rdf.Term{{a, b}, {b, a}} {
			if apart[pair[0]] == nil {
				apart[pair[0]] = map[rdf.Term]rdf.Triple{}
			}
			apart[pair[0]][pair[1]] = by
		}
	}
	among := func(list rdf.Term, by rdf.Triple) {
		members := c.list(list)
		for i, a := range members {
			for _, b := range members[i+1:] {
				part(a, b, by)
			}
		}
	}
	for _, t := range c.triples(rdf.Term{}, checked.disjointWith, rdf.Term{}) {
		part(t.S, t.O, t)
	}
	for _, t := range c.triples(rdf.Term{}, checked.disjointUnionOf, rdf.Term{}) {
		among(t.O, t)
	}
	for _, t := range c.triples(rdf.Term{}, checked.typ, checked.allDisjoint) {
		for _, list := range c.triples(t.S, checked.members, rdf.Term{}) {
			among(list.O, list)
		}
	}
	if len(apart) == 0 {
		return
	}
	// conflicts are the pairs of disjoint classes among classes.
	conflict := func(classes []rdf.Term) (a, b rdf.Term, by rdf.Triple, found bool) {
		for _, a := range classes {
			for _, b := range classes {
				if by, ok := apart[a][b]; ok {
					if compareTerms(a, b) > 0 {
						a, b = b, a
					}
					return a, b, by, true
				}
			}
		}
		return a, b, by, false
	}
	impossible := map[rdf.Term]bool{}
	classes := slices.SortedFunc(maps.Keys(c.classes), compareTerms)
	for _, class := range classes {
		_, _, _, impossible[class] = conflict(c.classesAbove(class))
	}
	for _, class := range classes {
		above := c.classesAbove(class)
		if !impossible[class] || class.Kind != rdf.IRI || slices.ContainsFunc(above[1:], func(up rdf.Term) bool { return impossible[up] }) {
			continue // it is below one that is told
		}
		a, b, by, _ := conflict(above)
		c.tell(DisjointConflict, class, append(c.triples(class, checked.subClassOf, rdf.Term{}), by),
			"the class %s can have no individual: it is below %s and %s, which are disjoint", class.Value, shown(a), shown(b))
	}
	types := map[rdf.Term][]rdf.Triple{}
	for _, t := range c.triples(rdf.Term{}, checked.typ, rdf.Term{}) {
		if !isStandard(t.O.Value) {
			types[t.S] = append(types[t.S], t)
		}
	}
	for _, i := range slices.SortedFunc(maps.Keys(types), compareTerms) {
		var all []rdf.Term
		for _, t := range types[i] {
			all = append(all, c.classesAbove(t.O)...)
		}
		if a, b, by, found := conflict(all); found {
			c.tell(DisjointConflict, i, append(slices.Clone(types[i]), by), "%s is of %s and of %s, which are disjoint", shown(i), shown(a), shown(b))
		}
	}
}

// values are literals by what they mean.
type values map[any][]rdf.Term

// first returns the literal that came first of those that mean the same.
func (v values) first(t rdf.Term) rdf.Term {
	value := rdf.ValueOf(t)
	key := value.Bucket()
	for _, known := range v[key] {
		if known == t || rdf.ValueOf(known).Equal(value) {
			return known
		}
	}
	v[key] = append(v[key], t)
	return t
}

// rational returns the number that a text is, as a float has it if it has an exponent or is long; nil if it is
// none.
func rational(text string) *big.Rat {
	const long = 400
	if len(text) < long && decimals.MatchString(text) {
		r, _ := new(big.Rat).SetString(text)
		return r
	}
	if !doubles.MatchString(text) {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return new(big.Rat).SetFloat64(f) // nil if it is infinite
}

// lexicalForm is how a datatype is written.
type lexicalForm uint8

const (
	anyText lexicalForm = iota + 1
	number
	whole
	truth
	other
)

// lexical are the datatypes that are known here.
var lexical = func() map[string]lexicalForm {
	forms := map[string]lexicalForm{rdf.NSRDFS + "Literal": anyText, rdf.NS + "PlainLiteral": anyText}
	for form, names := range map[lexicalForm]string{
		anyText: "string normalizedString token language Name NCName NMTOKEN anyURI anySimpleType",
		number:  "decimal double float",
		whole: "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger " +
			"unsignedLong unsignedInt unsignedShort unsignedByte",
		truth: "boolean",
		other: "dateTime date time gYear gYearMonth duration hexBinary base64Binary",
	} {
		for _, name := range strings.Fields(names) {
			forms[rdf.NSXSD+name] = form
		}
	}
	return forms
}()

var (
	decimals = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)$`)
	doubles  = regexp.MustCompile(`^([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN)$`)
	zones    = `(Z|[+-]\d\d:\d\d)?`
	days     = `-?\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
	hours    = `([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?|24:00:00(\.0+)?`
	dated    = map[string]*regexp.Regexp{
		"dateTime": regexp.MustCompile(`^` + days + `T(` + hours + `)` + zones + `$`), "date": regexp.MustCompile(`^` + days + zones + `$`),
		"time": regexp.MustCompile(`^(` + hours + `)` + zones + `$`), "gYear": regexp.MustCompile(`^-?\d{4,}` + zones + `$`),
		"gYearMonth": regexp.MustCompile(`^-?\d{4,}-(0[1-9]|1[0-2])` + zones + `$`),
		"duration":   regexp.MustCompile(`^-?P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$`),
	}
)

// valid reports whether a text is one of a datatype; of one that is not known here it is.
func valid(text, datatype string) bool {
	name, _ := strings.CutPrefix(datatype, rdf.NSXSD)
	form := lexical[datatype]
	if form != anyText {
		text = strings.TrimSpace(text)
	}
	switch form {
	case number:
		if name == "decimal" {
			return decimals.MatchString(text)
		}
		return doubles.MatchString(text)
	case whole:
		return rdf.ValueOf(rdf.NewTyped(text, datatype)).IsNumber()
	case truth:
		return text == "true" || text == "false" || text == "1" || text == "0"
	case other:
		switch name {
		case "hexBinary":
			_, err := hex.DecodeString(text)
			return err == nil
		case "base64Binary":
			_, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
			return err == nil
		}
		return dated[name].MatchString(text) && !strings.HasSuffix(text, "P") && !strings.HasSuffix(text, "T")
	}
	return true
}

// fits reports whether a literal is of a datatype that is known here. Numbers of any type are, if the datatype has
// them; plain texts are, if they are written so.
func fits(t rdf.Term, datatype string) bool {
	of, as := lexical[t.Type], lexical[datatype]
	switch {
	case as == anyText:
		return of == anyText || of == 0 || datatype == rdf.NSRDFS+"Literal"
	case t.Type == "" && t.Lang == "":
		return valid(t.Value, datatype)
	case of == number || of == whole:
		if as == whole {
			r := rational(strings.TrimSpace(t.Value))
			return r != nil && r.IsInt() && valid(r.Num().String(), datatype)
		}
		return as == number
	}
	return of == as && (as != other || t.Type == datatype) || of == 0 && t.Type != ""
}
