package knowledge

import (
	"iter"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Derive yields what holds of a property: the answers of OWLHas, whose probability is 1, and what
// is computed of the property, of those below it and, with subject and object exchanged, of their
// inverses. A zero term is unbound. A triple that is both comes once, as it is stated.
func (v *View) Derive(s, p, o rdf.Term) iter.Seq[Derived] {
	return v.derive(s, p, o, v.OWLHas(s, p, o), func(rdf.Term) bool { return true })
}

// DeriveLiteral is Derive with a condition on a literal as the object.
func (v *View) DeriveLiteral(s, p rdf.Term, o Pattern) iter.Seq[Derived] {
	return v.derive(s, p, rdf.Term{}, v.OWLHasLiteral(s, p, o), o.Matches)
}

func (v *View) derive(s, p, o rdf.Term, stated iter.Seq[rdf.Triple], is func(o rdf.Term) bool) iter.Seq[Derived] {
	return func(yield func(Derived) bool) {
		told := map[rdf.Triple]bool{}
		give := func(d Derived) bool {
			if v.Computed != nil {
				if told[d.Triple] {
					return true
				}
				told[d.Triple] = true
			}
			return yield(d)
		}
		for t := range stated {
			if !give(Derived{t, 1}) {
				return
			}
		}
		if v.Computed == nil {
			return
		}
		if !p.IsZero() {
			v.compute(s, p, o, is, give)
			return
		}
		for property := range v.Computed.Properties() {
			if !v.compute(s, rdf.NewIRI(property), o, is, give) {
				return
			}
		}
	}
}

// compute gives what is computed of a property, with the property as the predicate.
func (v *View) compute(s, p, o rdf.Term, is func(o rdf.Term) bool, give func(Derived) bool) bool {
	goOn := true
	along := func(s, property, o rdf.Term, exchanged bool) bool {
		answers, ok := v.Computed.Compute(s, property.Value, o)
		if !ok {
			return true
		}
		for d := range answers {
			if d.P = p; exchanged {
				d.S, d.O = d.O, d.S
			}
			if d.S.Kind != rdf.Literal && is(d.O) {
				if goOn = give(d); !goOn {
					break
				}
			}
		}
		return goOn
	}
	inverse := rdf.NewIRI(rdf.NSOWL + "inverseOf")
	for sub := range v.RDFSSubpropertyOf(rdf.Term{}, p) {
		if !along(s, sub, o, false) {
			return false
		}
		for t := range v.Has(rdf.Term{}, inverse, sub) {
			if !along(o, t.S, s, true) {
				return false
			}
		}
		for t := range v.Has(sub, inverse, rdf.Term{}) {
			if !along(o, t.O, s, true) {
				return false
			}
		}
	}
	return goOn
}
