package idf

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// outcome is what an expression may be of some payload, as far as that is known beforehand. None of it means that it fails.
type outcome uint8

const (
	mayTrue outcome = 1 << iota
	mayFalse
	mayOther // a number, a text, …

	mayAll = mayTrue | mayFalse | mayOther
)

// filterMay finds what an expression may be of payloads of some types: who asks for a member that no type has fails, except
// where CEL decides without it, as in ok || colour == "red".
type filterMay struct {
	filter *Filter
	types  []*Type
	paths  []string          // of the members that no type has
	absent map[string]bool   // these, and whether they are asked for below payload
	known  map[int64]outcome // of members, by the expression's ID: loops ask again
}

// say returns what an expression may be, where variables of loops may be what they are said to be.
func (m *filterMay) say(e ast.Expr, vars map[string]outcome) outcome {
	switch e.Kind() {
	case ast.LiteralKind:
		switch e.AsLiteral() {
		case types.True:
			return mayTrue
		case types.False:
			return mayFalse
		}
		return mayOther
	case ast.IdentKind:
		if out, ok := vars[e.AsIdent()]; ok {
			return out
		}
		return m.member(e)
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() || m.isOfLoop(s.Operand(), vars) || pathOf(m.filter, e) == nil {
			return m.strict(vars, s.Operand())
		}
		return m.member(e)
	case ast.ListKind:
		return m.strict(vars, e.AsList().Elements()...)
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return m.strict(vars, all...)
	case ast.ComprehensionKind:
		return m.fold(e.AsComprehension(), vars)
	case ast.CallKind:
		return m.call(e.AsCall(), vars)
	}
	return mayAll
}

// strict returns what may be made of all of some expressions: nothing, if one fails.
func (m *filterMay) strict(vars map[string]outcome, all ...ast.Expr) outcome {
	out := mayAll
	for _, e := range all {
		if m.say(e, vars) == 0 {
			out = 0
		}
	}
	return out
}

func (m *filterMay) call(c ast.CallExpr, vars map[string]outcome) outcome {
	args := c.Args()
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	switch c.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		a, b := m.say(args[0], vars), m.say(args[1], vars)
		if c.FunctionName() == operators.LogicalAnd {
			return a&b&mayTrue | (a|b)&mayFalse
		}
		return (a|b)&mayTrue | a&b&mayFalse
	case operators.LogicalNot:
		a := m.say(args[0], vars)
		return a&mayTrue<<1 | a&mayFalse>>1
	case operators.Conditional:
		is, a, b := m.say(args[0], vars), m.say(args[1], vars), m.say(args[2], vars)
		var out outcome
		if is&mayTrue != 0 {
			out |= a
		}
		if is&mayFalse != 0 {
			out |= b
		}
		return out
	case operators.NotStrictlyFalse:
		return mayAll
	}
	return m.strict(vars, args...)
}

// fold returns what a loop may come to: its result of what it begins with, and of what its steps make of that.
func (m *filterMay) fold(c ast.ComprehensionExpr, vars map[string]outcome) outcome {
	if m.say(c.IterRange(), vars) == 0 {
		return 0
	}
	within := map[string]outcome{}
	for name, out := range vars {
		within[name] = out
	}
	accu := m.say(c.AccuInit(), vars)
	for {
		within[c.AccuVar()] = accu
		result := m.say(c.Result(), within)
		within[c.IterVar()] = mayAll
		if c.HasIterVar2() {
			within[c.IterVar2()] = mayAll
		}
		next := accu | m.say(c.LoopStep(), within)
		if next == accu {
			return result
		}
		accu = next
	}
}

// isOfLoop reports whether an expression is a variable of a loop, or a member of one.
func (m *filterMay) isOfLoop(e ast.Expr, vars map[string]outcome) bool {
	for e.Kind() == ast.SelectKind {
		e = e.AsSelect().Operand()
	}
	if e.Kind() != ast.IdentKind {
		return false
	}
	_, ok := vars[e.AsIdent()]
	return ok
}

// member returns what a member may be: nothing, if no type has it.
func (m *filterMay) member(e ast.Expr) outcome {
	if out, ok := m.known[e.ID()]; ok {
		return out
	}
	m.known[e.ID()] = mayAll
	path := pathOf(m.filter, e)
	if len(path) == 0 {
		return mayAll
	}
	longest := ""
	for _, t := range m.types {
		_, absent := follow(t, path)
		if absent == "" {
			return mayAll
		}
		if len(absent) > len(longest) {
			longest = absent
		}
	}
	if !slices.Contains(m.paths, longest) {
		m.paths = append(m.paths, longest)
	}
	m.absent[longest] = m.absent[longest] || isBelowPayload(e)
	m.known[e.ID()] = 0
	return 0
}

// isBelowPayload reports whether a member is written with payload before it.
func isBelowPayload(e ast.Expr) bool {
	for e.Kind() == ast.SelectKind {
		e = e.AsSelect().Operand()
	}
	return e.Kind() == ast.IdentKind && e.AsIdent() == "payload"
}
