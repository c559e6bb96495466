package prolog

import (
	"iter"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// factPredicates are the predicates over facts. Prefixes in their arguments are expanded when
// they are called.
func factPredicates() map[indicator]builtin {
	none := func(f *knowledge.Graph) literalQuestion { return nil }
	return map[indicator]builtin{
		{"rdf", 3}:           triples((*knowledge.Graph).Match, func(f *knowledge.Graph) literalQuestion { return f.MatchLiteral }),
		{"rdf_has", 3}:       triples((*knowledge.Graph).HasEach, func(f *knowledge.Graph) literalQuestion { return f.HasLiteral }),
		{"rdf_reachable", 3}: triples((*knowledge.Graph).Reachable, none),
		{"owl_has", 3}:       triples((*knowledge.Graph).OWLHas, func(f *knowledge.Graph) literalQuestion { return f.OWLHasLiteral }),
		{"class_properties", 3}: triples(func(f *knowledge.Graph, s, p, _ rdf.Term) iter.Seq[rdf.Triple] {
			return f.ClassProperties(s, p)
		}, none),
		{"rdfs_individual_of", 2}:     individuals((*knowledge.Graph).RDFSIndividualOf),
		{"rdfs_subclass_of", 2}:       pairs(rdf.NSRDFS+"subClassOf", (*knowledge.Graph).RDFSSubclassOf),
		{"rdfs_subproperty_of", 2}:    pairs(rdf.NSRDFS+"subPropertyOf", (*knowledge.Graph).RDFSSubpropertyOf),
		{"owl_individual_of", 2}:      described("$individual_of", individuals((*knowledge.Graph).IndividualOf)),
		{"owl_subclass_of", 2}:        described("$subclass_of", pairs(rdf.NSRDFS+"subClassOf", (*knowledge.Graph).SubclassOf)),
		{"owl_direct_subclass_of", 2}: pairs(rdf.NSRDFS+"subClassOf", (*knowledge.Graph).DirectSubclassOf),
		{"owl_restriction_on", 2}:     restrictionOn,
		{"rdf_subject", 1}:            rdfSubject,
		{"rdf_assert", 3}:             expanding(rdfAssert),
		{"rdf_assert", 4}:             expanding(rdfAssert),
		{"rdf_retractall", 3}:         expanding(rdfRetractAll),
		{"rdf_retractall", 4}:         expanding(rdfRetractAll),
		{"rdf_current_predicate", 1}:  currentPredicate,
		{"rdf_match_label", 3}:        matchLabel,
		{"rdf_equal", 2}:              expanding(func(m *machine, args []Term) (bool, error) { return m.unify(args[0], args[1]) }),
		{"rdf_is_resource", 1}: expanding(func(_ *machine, args []Term) (bool, error) {
			_, ok := args[0].(Atom)
			return ok, nil
		}),
		{"rdf_is_bnode", 1}: expanding(func(_ *machine, args []Term) (bool, error) {
			a, ok := args[0].(Atom)
			return ok && (strings.HasPrefix(string(a), "_:") || strings.HasPrefix(string(a), "__")), nil
		}),
		{"rdf_is_literal", 1}: expanding(func(_ *machine, args []Term) (bool, error) {
			_, ok := isFunctor(args[0], "literal", 1)
			return ok, nil
		}),
		{"rdf_global_term", 2}:   expanding(func(m *machine, args []Term) (bool, error) { return m.unify(args[0], args[1]) }),
		{"rdf_global_object", 2}: expanding(func(m *machine, args []Term) (bool, error) { return m.unify(args[0], args[1]) }),
		{"rdf_global_id", 2}:     globalID,
		{"rdf_split_url", 3}:     splitURL,
		{"rdf_url_namespace", 2}: func(m *machine, args []Term) (bool, error) {
			iri, ok := deref(args[0]).(Atom)
			if !ok {
				return false, wanted("atom", deref(args[0]))
			}
			name, _ := m.program.prefixes.Shorten(string(iri))
			if name == "" {
				return false, nil
			}
			return m.unify(args[1], Atom(name))
		},
		{"rdf_current_ns", 2}:     currentPrefix,
		{"rdf_current_prefix", 2}: currentPrefix,
	}
}

type (
	question        func(f *knowledge.Graph, s, p, o rdf.Term) iter.Seq[rdf.Triple]
	literalQuestion func(s, p rdf.Term, o knowledge.Pattern) iter.Seq[rdf.Triple]
)

// expanding has a predicate see its arguments with prefixes expanded.
func expanding(do builtin) builtin {
	return func(m *machine, args []Term) (bool, error) {
		expanded, err := m.expandArgs(args)
		if err != nil {
			return false, err
		}
		return do(m, expanded)
	}
}

// triples is a predicate over subject, predicate and object.
func triples(ask question, askLiteral func(*knowledge.Graph) literalQuestion) builtin {
	return expanding(func(m *machine, args []Term) (bool, error) {
		s, ok, err := resource(args[0])
		if !ok {
			return false, err
		}
		p, ok, err := resource(args[1])
		if !ok {
			return false, err
		}
		o, err := m.objectOf(args[2])
		if err != nil || o.none {
			return false, err
		}
		var answers iter.Seq[rdf.Triple]
		by := askLiteral(m.view.Graph)
		if o.isLiteral && by != nil {
			answers = by(s, p, o.pattern)
		} else {
			answers = ask(m.view.Graph, s, p, o.term)
			by = nil
		}
		return answer(m, answers, func(t rdf.Triple) (bool, error) {
			if o.isLiteral && (t.O.Kind != rdf.Literal || by == nil && !o.pattern.Matches(t.O) || o.keep != nil && !o.keep(t.O)) {
				return false, nil
			}
			if s.IsZero() {
				if ok, err := m.unify(args[0], termOf(t.S)); !ok {
					return false, err
				}
			}
			if p.IsZero() {
				if ok, err := m.unify(args[1], termOf(t.P)); !ok {
					return false, err
				}
			}
			ok, err := o.unify(m, t.O)
			if ok {
				m.rests(t)
			}
			return ok, err
		})
	})
}

type pair struct{ a, b rdf.Term }

// descriptions are the functors of class descriptions, as owl_description/2 returns them.
var descriptions = map[indicator]bool{
	{"class", 1}: true, {"union_of", 1}: true, {"intersection_of", 1}: true, {"complement_of", 1}: true, {"one_of", 1}: true, {"restriction", 2}: true,
}

// described has a predicate of the library answer where the class is a description.
func described(name Atom, do builtin) builtin {
	return func(m *machine, args []Term) (bool, error) {
		if c, ok := deref(args[1]).(*Compound); ok && descriptions[indicator{c.name, len(c.args)}] {
			return m.callGoal(newTerm(name, args...))
		}
		return do(m, args)
	}
}

type relation func(g *knowledge.Graph, a, b rdf.Term) iter.Seq2[rdf.Term, rdf.Term]

// pairs is a predicate over two resources, between which a property is where it holds.
func pairs(property string, ask relation) builtin {
	return related(func(_ *heap, t Term) (rdf.Term, bool, error) { return resource(t) }, property, ask)
}

// individuals is a predicate over a resource or a literal, and a class.
func individuals(ask relation) builtin {
	return related(func(h *heap, t Term) (rdf.Term, bool, error) {
		if c, ok := isFunctor(t, "literal", 1); ok {
			return h.literalOf(c.args[0])
		}
		return resource(t)
	}, rdf.NS+"type", ask)
}

// related is a predicate over two terms, the first of which is read as left says. Where it holds, the
// property is between them.
func related(left func(*heap, Term) (rdf.Term, bool, error), property string, ask relation) builtin {
	return expanding(func(m *machine, args []Term) (bool, error) {
		a, ok, err := left(m.heap, args[0])
		if !ok {
			return false, err
		}
		b, ok, err := resource(args[1])
		if !ok {
			return false, err
		}
		found := func(yield func(pair) bool) {
			for a, b := range ask(m.view.Graph, a, b) {
				if !yield(pair{a, b}) {
					return
				}
			}
		}
		return answer(m, found, func(p pair) (bool, error) {
			if a.IsZero() {
				if ok, err := m.unify(args[0], termOf(p.a)); !ok {
					return false, err
				}
			}
			if b.IsZero() {
				if ok, err := m.unify(args[1], termOf(p.b)); !ok {
					return false, err
				}
			}
			m.rests(rdf.Triple{S: p.a, P: rdf.NewIRI(property), O: p.b})
			return true, nil
		})
	})
}

// rdfSubject is rdf_subject/1: the subjects of triples, each once.
func rdfSubject(m *machine, args []Term) (bool, error) {
	return oneOf(m, args[0], func(x rdf.Term) iter.Seq[rdf.Term] {
		return func(yield func(rdf.Term) bool) {
			if !x.IsZero() {
				for range m.view.Match(x, rdf.Term{}, rdf.Term{}) {
					yield(x)
					return
				}
				return
			}
			for s := range m.view.RDFSIndividualOf(x, rdf.NewIRI(rdf.NSRDFS+"Resource")) {
				if !yield(s) {
					return
				}
			}
		}
	})
}

// currentPredicate is rdf_current_predicate/1.
func currentPredicate(m *machine, args []Term) (bool, error) {
	return oneOf(m, args[0], func(rdf.Term) iter.Seq[rdf.Term] { return m.view.Predicates() })
}

// oneOf is a predicate over resources: those of all that an argument is, or may be.
func oneOf(m *machine, arg Term, all func(x rdf.Term) iter.Seq[rdf.Term]) (bool, error) {
	args, err := m.expandArgs([]Term{arg})
	if err != nil {
		return false, err
	}
	x, ok, err := resource(args[0])
	if !ok {
		return false, err
	}
	found := all(x)
	if !x.IsZero() {
		for t := range found {
			if t == x {
				return true, nil
			}
			if err := m.spend(1); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	return answer(m, found, func(t rdf.Term) (bool, error) { return m.unify(args[0], termOf(t)) })
}

// matchLabel is rdf_match_label/3: a condition, such as prefix, of a text holds for a label.
func matchLabel(m *machine, args []Term) (bool, error) {
	how, ok := deref(args[0]).(Atom)
	if !ok {
		return false, wanted("atom", deref(args[0]))
	}
	if _, ok := matches[how]; !ok {
		return false, domainError("search_method", how)
	}
	var o object
	if err := o.condition(m.heap, newTerm(how, args[1])); err != nil {
		return false, err
	}
	label, err := m.textArg(args[2])
	return err == nil && o.pattern.Matches(rdf.NewText(label)), err
}

// atOnce is how many answers of facts are taken at once; of more one is taken when it is asked
// for.
const atOnce = 512

// answer gives the answers that use accepts, one by one.
func answer[T any](m *machine, from iter.Seq[T], use func(T) (bool, error)) (bool, error) {
	var first [1]T
	ready := first[:0]
	complete := true
	var failed error
	for t := range from {
		if failed = m.spend(1); failed != nil {
			break
		}
		if len(ready) == atOnce {
			complete = false
			break
		}
		ready = append(ready, t)
	}
	if failed != nil {
		return false, failed
	}
	switch {
	case len(ready) == 0:
		return false, nil
	case len(ready) == 1:
		return use(ready[0])
	}
	if err := m.charge(200 * len(ready)); err != nil {
		return false, err
	}
	if complete {
		return m.choose(alternatives{held: func(s *sizing) { s.bytes += 200 * int64(len(ready)) }, next: func() (bool, bool, error) {
			t := ready[0]
			ready = ready[1:]
			ok, err := use(t)
			return ok, len(ready) > 0, err
		}})
	}
	// None was given yet: they come again, one by one, and perhaps in another order. Meanwhile there is a
	// goroutine, and closures remember what they have been to.
	next, stop := iter.Pull(from)
	held := int64(8 << 10)
	return m.choose(alternatives{
		held: func(s *sizing) { s.bytes += held },
		next: func() (bool, bool, error) {
			t, ok := next()
			if !ok {
				return false, false, nil
			}
			held += 32
			ok, err := use(t)
			return ok, true, err
		},
		stop: stop,
	})
}

// termOf returns a term of the facts as an argument: an IRI is an atom, a blank node one that
// begins with _:, a literal literal(…).
func termOf(t rdf.Term) Term {
	switch t.Kind {
	case rdf.Blank:
		return Atom("_:" + t.Value)
	case rdf.Literal:
		return newTerm("literal", literalValue(t))
	}
	return Atom(t.Value)
}

// literalValue is type(T, V), lang(L, V) or V.
func literalValue(t rdf.Term) Term {
	switch {
	case t.Lang != "":
		return newTerm("lang", Atom(t.Lang), Atom(t.Value))
	case t.Type != "":
		return newTerm("type", Atom(t.Type), Atom(t.Value))
	}
	return Atom(t.Value)
}

// literalOf returns the literal of type(T, V), lang(L, V) or V; ok is false if it is not known.
func (h *heap) literalOf(value Term) (t rdf.Term, ok bool, err error) {
	value = deref(value)
	if c, isCompound := value.(*Compound); isCompound && len(c.args) == 2 && (c.name == "type" || c.name == "lang") {
		qualifier, ok1, err := h.textOf(c.args[0])
		if err != nil {
			return t, false, err
		}
		text, ok2, err := h.textOf(c.args[1])
		t = rdf.Term{Kind: rdf.Literal, Value: text, Type: qualifier}
		if c.name == "lang" {
			t.Type, t.Lang = "", qualifier
		}
		return t, ok1 && ok2 && err == nil, err
	}
	text, ok, err := h.textOf(value)
	return rdf.NewText(text), ok, err
}

// resource returns what an argument in the place of a resource asks for: nothing for a
// variable. ok is false for what is no resource.
func resource(t Term) (r rdf.Term, ok bool, err error) {
	switch t := t.(type) {
	case *Var:
		return rdf.Term{}, true, nil
	case Atom:
		if label, blank := strings.CutPrefix(string(t), "_:"); blank {
			return rdf.NewBlank(label), true, nil
		}
		return rdf.NewIRI(string(t)), true, nil
	case *Compound:
		if t.name == "literal" { // an object that is asked of further
			return rdf.Term{}, false, nil
		}
	}
	return rdf.Term{}, false, typeError("resource", t)
}

func restrictionOn(m *machine, args []Term) (bool, error) {
	args, err := m.expandArgs(args)
	if err != nil {
		return false, err
	}
	class, ok, err := resource(args[0])
	if !ok {
		return false, err
	}
	// What a property's domain says is found of a property that is asked for.
	var property rdf.Term
	if c, ok := isFunctor(args[1], "restriction", 2); ok {
		if property, ok, err = resource(deref(c.args[0])); !ok {
			return false, err
		}
	}
	found := func(yield func(knowledge.Restriction) bool) {
		for r := range m.view.Graph.RestrictionOn(class) {
			if !yield(r) {
				return
			}
		}
		for r := range m.view.Graph.DomainRestrictionOn(class, property) {
			if !yield(r) {
				return
			}
		}
	}
	return answer(m, found, func(r knowledge.Restriction) (bool, error) {
		if class.IsZero() {
			if ok, err := m.unify(args[0], termOf(r.Class)); !ok {
				return false, err
			}
		}
		var facet Term
		switch r.Facet {
		case knowledge.AllValuesFrom:
			facet = newTerm("all_values_from", termOf(r.Value))
		case knowledge.SomeValuesFrom:
			facet = newTerm("some_values_from", termOf(r.Value))
		case knowledge.HasValue:
			facet = newTerm("has_value", termOf(r.Value))
		default:
			var most Term = Atom("inf")
			if r.Max >= 0 {
				most = Int(r.Max)
			}
			facet = newTerm("cardinality", Int(r.Min), most)
		}
		return m.unify(args[1], newTerm("restriction", termOf(r.Property), facet))
	})
}

func splitURL(m *machine, args []Term) (bool, error) {
	if url := deref(args[2]); !isFree(url) {
		s, err := m.textArg(url)
		if err != nil {
			return false, err
		}
		at := strings.LastIndexAny(s, "#/") + 1
		if ok, err := m.unify(args[0], Atom(s[:at])); !ok {
			return false, err
		}
		return m.unify(args[1], Atom(s[at:]))
	}
	base, err := m.textArg(args[0])
	if err != nil {
		return false, err
	}
	local, err := m.textArg(args[1])
	if err != nil {
		return false, err
	}
	return m.unify(args[2], Atom(base+local))
}
