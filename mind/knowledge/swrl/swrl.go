// Package swrl reads the rules of SWRL in a graph (swrl:Imp) and adds what follows from them.
//
// A class atom holds as owl_individual_of/2 has it, a property atom as a pattern has it: a rule sees
// sub-properties, transitive and inverse ones, class definitions, and what other rules conclude. Literals are
// one if they mean the same ([rdf.Value]), and the built-ins compare what they mean ([rdf.Compare]). Rules are
// applied until nothing new follows, at most to a limit. What a rule concludes is a triple like
// any other; nothing is taken back when its reasons go.
//
// A rule with a part that is not supported is refused by name, and the others are used.
package swrl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// NS is the namespace of rules, NSBuiltin that of their built-in predicates.
const (
	NS        = "http://www.w3.org/2003/11/swrl#"
	NSBuiltin = "http://www.w3.org/2003/11/swrlb#"
)

// A Rule concludes its head from its body.
type Rule struct {
	Name       string // its IRI, its label, or its blank node
	head, body []atom
}

type atomKind uint8

const (
	classAtom atomKind = iota + 1
	propertyAtom
	sameAtom
	differentAtom
	rangeAtom
	builtinAtom
)

// atom is a condition or a conclusion.
type atom struct {
	kind atomKind
	of   rdf.Term // the class, property, datatype or builtin
	args []term
}

// term is a variable or a value.
type term struct {
	variable string
	value    rdf.Term
}

// Rules returns the rules of a graph by their names, and as an error those that are refused and why. Those that are turned
// off (swrla:isRuleEnabled false) are left out.
func Rules(g *knowledge.Graph) ([]Rule, error) {
	var rules []Rule
	var refused []error
	for t := range g.Match(rdf.Term{}, rdf.NewIRI(rdf.NS+"type"), rdf.NewIRI(NS+"Imp")) {
		r := reader{g}
		if r.disabled(t.S) {
			continue
		}
		name := t.S.Value
		if t.S.Kind == rdf.Blank {
			if label, ok := r.value(t.S, rdf.NSRDFS+"label"); ok {
				name = label.Value
			}
		}
		rule, err := r.rule(name, t.S)
		if err != nil {
			refused = append(refused, engram.Errorf(engram.Invalid, name, "the rule %s is not used: %w", name, err))
			continue
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return rules, errors.Join(refused...)
}

type reader struct{ g *knowledge.Graph }

func (r reader) value(of rdf.Term, property string) (rdf.Term, bool) {
	for t := range r.g.Match(of, rdf.NewIRI(property), rdf.Term{}) {
		return t.O, true
	}
	return rdf.Term{}, false
}

// nsEditor is of Protégé's editor of rules, which turns some off.
const nsEditor = "http://swrl.stanford.edu/ontologies/3.3/swrla.owl#"

// disabled reports whether swrla:isRuleEnabled says false of a rule.
func (r reader) disabled(rule rdf.Term) bool {
	for t := range r.g.Match(rule, rdf.NewIRI(nsEditor+"isRuleEnabled"), rdf.Term{}) {
		switch strings.TrimSpace(t.O.Value) {
		case "false", "0":
			return true
		}
	}
	return false
}

func (r reader) is(t rdf.Term, class string) bool {
	for range r.g.Match(t, rdf.NewIRI(rdf.NS+"type"), rdf.NewIRI(class)) {
		return true
	}
	return false
}

// list returns the elements of a collection.
func (r reader) list(of rdf.Term, property string) ([]rdf.Term, error) {
	cell, ok := r.value(of, property)
	var found []rdf.Term
	seen := map[rdf.Term]bool{}
	for ok && cell.Value != rdf.NS+"nil" {
		if seen[cell] {
			return nil, fmt.Errorf("its list %s runs in a circle", property)
		}
		seen[cell] = true
		first, ok := r.value(cell, rdf.NS+"first")
		if !ok {
			return nil, fmt.Errorf("its list %s has a cell without a value", property)
		}
		found = append(found, first)
		if cell, ok = r.value(cell, rdf.NS+"rest"); !ok {
			break
		}
	}
	return found, nil
}

func (r reader) rule(name string, node rdf.Term) (Rule, error) {
	rule := Rule{Name: name}
	bound := map[string]bool{}
	for _, part := range []struct {
		property string
		into     *[]atom
	}{{NS + "body", &rule.body}, {NS + "head", &rule.head}} {
		nodes, err := r.list(node, part.property)
		if err != nil {
			return rule, err
		}
		for _, n := range nodes {
			a, err := r.atom(n)
			if err != nil {
				return rule, err
			}
			*part.into = append(*part.into, a)
		}
	}
	for _, a := range rule.body {
		for _, arg := range a.args {
			bound[arg.variable] = bound[arg.variable] || a.binds(arg)
		}
	}
	for _, a := range rule.head {
		if a.kind == builtinAtom || a.kind == rangeAtom {
			return rule, fmt.Errorf("its head has %s, which can only be a condition", a.of.Value)
		}
		for _, arg := range a.args {
			if arg.variable != "" && !bound[arg.variable] {
				return rule, fmt.Errorf("its head has the variable %s, which its body gives no value", arg.variable)
			}
		}
	}
	if len(rule.head) == 0 {
		return rule, errors.New("it has no head")
	}
	return rule, nil
}

// binds says whether an argument may get its value from the atom.
func (a atom) binds(arg term) bool {
	switch a.kind {
	case classAtom, propertyAtom, sameAtom:
		return true
	case builtinAtom:
		return builtins[strings.TrimPrefix(a.of.Value, NSBuiltin)].value != nil && arg == a.args[0]
	}
	return false
}

func (r reader) atom(node rdf.Term) (atom, error) {
	for _, kind := range []struct {
		class, of string
		kind      atomKind
		arity     int
	}{
		{"ClassAtom", "classPredicate", classAtom, 1},
		{"IndividualPropertyAtom", "propertyPredicate", propertyAtom, 2},
		{"DatavaluedPropertyAtom", "propertyPredicate", propertyAtom, 2},
		{"SameIndividualAtom", "", sameAtom, 2},
		{"DifferentIndividualsAtom", "", differentAtom, 2},
		{"DataRangeAtom", "dataRange", rangeAtom, 1},
		{"BuiltinAtom", "builtin", builtinAtom, -1},
	} {
		if !r.is(node, NS+kind.class) {
			continue
		}
		a := atom{kind: kind.kind}
		if kind.of != "" {
			var ok bool
			if a.of, ok = r.value(node, NS+kind.of); !ok || a.of.Kind == rdf.Literal {
				return a, fmt.Errorf("a %s has no %s", kind.class, kind.of)
			}
		}
		if kind.kind == builtinAtom {
			args, err := r.list(node, NS+"arguments")
			if err != nil {
				return a, err
			}
			for _, arg := range args {
				a.args = append(a.args, r.term(arg))
			}
			return a, a.checkBuiltin()
		}
		for i := range kind.arity {
			arg, ok := r.value(node, fmt.Sprintf("%sargument%d", NS, i+1))
			if !ok {
				return a, fmt.Errorf("a %s has no argument%d", kind.class, i+1)
			}
			a.args = append(a.args, r.term(arg))
		}
		if kind.kind == rangeAtom && a.of.Kind != rdf.IRI {
			return a, errors.New("a data range that is no datatype is not supported")
		}
		return a, nil
	}
	class, _ := r.value(node, rdf.NS+"type")
	return atom{}, fmt.Errorf("its atom of the class %q is not supported", class.Value)
}

func (a atom) checkBuiltin() error {
	name, ok := strings.CutPrefix(a.of.Value, NSBuiltin)
	b, known := builtins[name]
	switch {
	case !ok || !known:
		return fmt.Errorf("the builtin %s is not supported", a.of.Value)
	case len(a.args) < b.least || b.most >= 0 && len(a.args) > b.most:
		return fmt.Errorf("the builtin %s has %d arguments", name, len(a.args))
	}
	return nil
}

func (r reader) term(t rdf.Term) term {
	if t.Kind != rdf.Literal && (r.is(t, NS+"Variable") || strings.HasPrefix(t.Value, "urn:swrl#") || strings.HasPrefix(t.Value, "urn:swrl:var#")) {
		return term{variable: t.Value}
	}
	return term{value: t}
}

// MaxTriples is how many triples Infer adds at most: rules that make new numbers may never end.
const MaxTriples = 1_000_000

// Infer adds to a graph what follows from rules, and returns how many triples that are. The
// graph must not be read meanwhile. More than [MaxTriples] are an error.
func Infer(ctx context.Context, g *knowledge.Graph, rules []Rule) (added int, err error) {
	return InferAtMost(ctx, g, rules, MaxTriples)
}

// InferAtMost is Infer with another limit.
func InferAtMost(ctx context.Context, g *knowledge.Graph, rules []Rule, most int) (added int, err error) {
	for more := len(rules) > 0; more; {
		more = false
		for _, rule := range rules {
			found, err := rule.apply(ctx, g, most, added)
			if err != nil {
				return added, err
			}
			for _, t := range found {
				if g.Add(t) {
					added++
					more = true
				}
			}
		}
	}
	return added, nil
}

// apply returns what a rule concludes and is not known.
func (rule *Rule) apply(ctx context.Context, g *knowledge.Graph, most, already int) (found []rdf.Triple, err error) {
	new := map[rdf.Triple]bool{}
	m := &match{ctx: ctx, g: g, rule: rule, values: map[string]rdf.Term{}, done: make([]bool, len(rule.body))}
	m.all(func() bool {
		for _, a := range rule.head {
			t, ok := m.conclusion(a)
			if !ok || new[t] {
				continue
			}
			known := false
			for range g.Match(t.S, t.P, t.O) {
				known = true
			}
			if known {
				continue
			}
			new[t] = true
			found = append(found, t)
		}
		if already+len(found) > most {
			m.err = engram.Errorf(engram.Exhausted, rule.Name, "the rule %s concludes more than %d triples: it may never end", rule.Name, most)
		}
		return m.err == nil
	})
	return found, m.err
}
