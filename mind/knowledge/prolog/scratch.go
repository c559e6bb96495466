package prolog

import (
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// tripleBytes is about what a triple takes in a graph of a question's own, beside its texts.
const tripleBytes = 300

// ownGraph gives the question a graph of its own, with what its view has, before its first change.
func ownGraph(m *machine) error {
	m.kept += tripleBytes * int64(m.asked.Len())
	if err := m.charge(tripleBytes * m.asked.Len()); err != nil {
		return err
	}
	own := knowledge.NewGraph() // its names are none of the graphs that others ask
	for t := range m.asked.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		if err := m.spend(1); err != nil {
			return err
		}
		own.Add(t)
	}
	m.asked.Graph, m.graphOwn = own, true
	return nil
}

// change changes the question's own graph. Answers that are being given go on with what there was. What is computed from poses, and
// the views of other times, do not have the changes.
func change(m *machine, do func(g *knowledge.Graph)) (bool, error) {
	if !m.graphOwn {
		if err := ownGraph(m); err != nil {
			return false, err
		}
	}
	m.kept += tripleBytes
	if err := m.charge(16 * tripleBytes); err != nil { // with what a change copies
		return false, err
	}
	g := m.asked.Graph.Fork()
	do(g)
	m.asked.Graph = g
	return true, nil
}

// tripleArgs returns the triple that arguments say.
func tripleArgs(m *machine, args []Term) (t rdf.Triple, err error) {
	for i, to := range []*rdf.Term{&t.S, &t.P} {
		term, ok, err := resource(args[i])
		if err != nil {
			return t, err
		}
		if !ok || term.IsZero() {
			return t, wanted("resource", deref(args[i]))
		}
		*to = term
	}
	o, err := m.objectOf(args[2])
	if err != nil {
		return t, err
	}
	switch {
	case !o.isLiteral && !o.none && !o.term.IsZero():
		t.O = o.term
	case o.isLiteral && o.pattern.Match == knowledge.Same:
		t.O = rdf.Term{Kind: rdf.Literal, Value: o.pattern.Text, Type: o.pattern.Type, Lang: o.pattern.Lang}
	default:
		return t, instantiationError()
	}
	m.kept += int64(len(t.S.Value) + len(t.P.Value) + len(t.O.Value))
	return t, m.charge(len(t.S.Value) + len(t.P.Value) + len(t.O.Value))
}

// rdfAssert is rdf_assert/3 and rdf_assert/4, whose graph is not kept.
func rdfAssert(m *machine, args []Term) (bool, error) {
	t, err := tripleArgs(m, args)
	if err != nil {
		return false, err
	}
	return change(m, func(g *knowledge.Graph) { g.Add(t) })
}

// rdfRetractAll is rdf_retractall/3 and rdf_retractall/4.
func rdfRetractAll(m *machine, args []Term) (bool, error) {
	s, _, err := resource(args[0])
	if err != nil {
		return false, err
	}
	p, _, err := resource(args[1])
	if err != nil {
		return false, err
	}
	o, err := m.objectOf(args[2])
	if err != nil || o.none {
		return err == nil, err
	}
	var gone []rdf.Triple
	for t := range m.asked.Match(s, p, o.term) {
		if err := m.charge(200); err != nil {
			return false, err
		}
		if !o.isLiteral || t.O.Kind == rdf.Literal && o.pattern.Matches(t.O) && (o.keep == nil || o.keep(t.O)) {
			gone = append(gone, t)
		}
	}
	return change(m, func(g *knowledge.Graph) {
		for _, t := range gone {
			g.Remove(t)
		}
	})
}
