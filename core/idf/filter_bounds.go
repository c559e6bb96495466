package idf

import (
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/seed-301d4374/engram"
)

// How filters are kept from running away. An evaluation is charged for the expression's
// length, for each step of its loops by that one's length, for the records that it passes
// over to find a member, and for each string it reads, makes or goes through, list it
// decodes or searches and object it compares by their sizes; beyond maxFilterSteps it ends.
// (CEL's own cost tracking is not used: it takes longer with every step.)

// stringFunctions return strings as long as what they are given together. (A list
// that is added to another is not copied.)
var stringFunctions = map[string]bool{
	operators.Add: true, "lowerAscii": true, "upperAscii": true, "reverse": true,
	"substring": true, "trim": true, "string": true, "bytes": true,
}

// wholeOperands are the operators that do not go through the strings that they are given.
// (What an addition goes through is what it makes.)
var wholeOperands = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true,
	operators.NotStrictlyFalse: true, operators.Index: true, operators.Add: true,
}

// slowFunctions go through strings character by character.
var slowFunctions = map[string]bool{
	"charAt": true, "indexOf": true, "lastIndexOf": true, "lowerAscii": true, "upperAscii": true, "reverse": true,
	"substring": true, "trim": true, "split": true, "timestamp": true, "duration": true, "int": true, "uint": true, "double": true,
}

// filterUse is what an expression uses.
type filterUse struct {
	members  map[string]bool // names that may be members
	taken    string          // a name that CEL takes for itself
	loops    []string        // variables of folds
	folds    bool
	sums     int
	patterns int                         // instructions of all regular expressions
	nodes    int                         // seen so far
	steps    map[int64]int               // by the ID of a fold's step: its nodes
	charged  map[int64]func(ref.Val) int // by the ID of a value: the steps it is charged
}

// celTypes are names that stand for types in CEL.
var celTypes = map[string]bool{
	"bool": true, "bytes": true, "double": true, "dyn": true, "duration": true, "int": true, "list": true,
	"map": true, "null_type": true, "string": true, "timestamp": true, "uint": true, "google": true,
	"math": true, "strings": true,
}

// mentioned returns the names of members, sorted, without the variables of folds.
func (u *filterUse) mentioned() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(u.members)), func(name string) bool { return slices.Contains(u.loops, name) })
}

// visit goes through an expression within so many folds.
func (u *filterUse) visit(e ast.Expr, folds int) error {
	u.nodes++
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if celTypes[name] {
			u.taken = name
		}
		if _, ok := filterNames[name]; !ok && !celTypes[name] && !strings.HasPrefix(name, "@") {
			u.members[name] = true
		}
	case ast.SelectKind:
		return u.visit(e.AsSelect().Operand(), folds)
	case ast.ListKind:
		return u.visitAll(e.AsList().Elements(), folds)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if err := u.visitAll([]ast.Expr{entry.AsMapEntry().Key(), entry.AsMapEntry().Value()}, folds); err != nil {
				return err
			}
		}
	case ast.StructKind:
		for _, f := range e.AsStruct().Fields() {
			if err := u.visit(f.AsStructField().Value(), folds); err != nil {
				return err
			}
		}
	case ast.ComprehensionKind:
		return u.visitFold(e.AsComprehension(), folds)
	case ast.CallKind:
		u.chargeSizes(e)
		return u.visitCall(e.AsCall(), folds)
	}
	return nil
}

// visitFold goes through a fold that stands within so many others. What it goes
// through does not stand within it.
func (u *filterUse) visitFold(c ast.ComprehensionExpr, folds int) error {
	u.folds = true
	u.loops = append(u.loops, c.IterVar(), c.IterVar2())
	if err := u.visitAll([]ast.Expr{c.IterRange(), c.AccuInit(), c.Result()}, folds); err != nil {
		return err
	}
	if folds++; folds > maxFilterFolds {
		return engram.Errorf(engram.Exhausted, "filter", "all(), exists(), map() and the like stand more than %d deep within each other", maxFilterFolds)
	}
	before := u.nodes
	if err := u.visitAll([]ast.Expr{c.LoopCondition(), c.LoopStep()}, folds); err != nil {
		return err
	}
	u.steps[c.LoopStep().ID()] = u.nodes - before
	return nil
}

func (u *filterUse) visitAll(exprs []ast.Expr, folds int) error {
	for _, e := range exprs {
		if err := u.visit(e, folds); err != nil {
			return err
		}
	}
	return nil
}

func (u *filterUse) visitCall(c ast.CallExpr, folds int) error {
	switch name := c.FunctionName(); {
	case unboundedFunctions[name]:
		return engram.Errorf(engram.Invalid, "filter", "%s() is not offered in filters: what it returns can be far larger than what it is given", name)
	case name == "matches":
		size, err := patternSize(c.Args())
		if err != nil {
			return err
		}
		u.nodes += size
		if u.patterns += size; u.patterns > maxFilterRegexes {
			return engram.Errorf(engram.Exhausted, "filter", "the patterns of matches() are too large together")
		}
		text := c.Args()[0] // matches(text, pattern) or text.matches(pattern)
		if c.IsMemberFunction() {
			text = c.Target()
		}
		u.chargeValue(text.ID(), func(v ref.Val) int { return stringLen(v) * size / instsPerStep })
	case strings.HasPrefix(name, "get") && len(c.Args()) > 0:
		u.nodes += zoneSteps
	case name == operators.Add:
		if u.sums++; u.sums > maxFilterSums {
			return engram.Errorf(engram.Exhausted, "filter", "more than %d additions", maxFilterSums)
		}
	}
	if c.IsMemberFunction() {
		if err := u.visit(c.Target(), folds); err != nil {
			return err
		}
	}
	return u.visitAll(c.Args(), folds)
}

// patternSize checks the pattern of matches(), the last of its arguments: that it is
// a literal, so that it is compiled once, and of bounded size, which it returns.
func patternSize(args []ast.Expr) (int, error) {
	var pattern types.String
	ok := false
	if n := len(args); n > 0 && args[n-1].Kind() == ast.LiteralKind {
		pattern, ok = args[n-1].AsLiteral().(types.String)
	}
	if !ok {
		return 0, engram.Errorf(engram.Invalid, "filter", "the pattern of matches() must be a string in quotes")
	}
	re, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return 0, engram.Errorf(engram.Invalid, "filter", "the pattern of matches() does not compile (RE2 syntax): %w", err)
	}
	size := maxFilterRegex + 1
	if most := maxFilterRanges * maxFilterRegex; engram.RegexSize(re, most) <= most { // before it is compiled
		program, err := syntax.Compile(re.Simplify())
		if err != nil {
			return 0, engram.Errorf(engram.Invalid, "filter", "the pattern of matches() does not compile (RE2 syntax): %w", err)
		}
		size = len(program.Inst)
	}
	if size > maxFilterRegex {
		return 0, engram.Errorf(engram.Exhausted, "filter", "the pattern %s of matches() is too large", shorten(string(pattern)))
	}
	return size, nil
}

// chargeSizes notes which values of a call are charged: what it makes, and what it
// goes through.
func (u *filterUse) chargeSizes(e ast.Expr) {
	c := e.AsCall()
	name := c.FunctionName()
	operand := stringSize
	switch {
	case wholeOperands[name]:
		operand = nil
	case name == operators.Equals, name == operators.NotEquals, name == operators.In, strings.HasPrefix(name, "math.@"):
		operand = deepSize
	case slowFunctions[name]:
		operand = func(v ref.Val) int { return stringLen(v) / slowCharsPerStep }
	}
	operands := c.Args()
	if c.IsMemberFunction() {
		operands = append([]ast.Expr{c.Target()}, operands...)
	}
	for _, o := range operands {
		if operand != nil && o.Kind() != ast.LiteralKind {
			u.chargeValue(o.ID(), operand)
		}
	}
	switch {
	case stringFunctions[name]:
		u.chargeValue(e.ID(), stringSize)
	case name == "split":
		u.chargeValue(e.ID(), func(v ref.Val) int { return 2 * deepSize(v) })
	}
}

// chargeValue has a value charged, beside what it is charged already.
func (u *filterUse) chargeValue(id int64, size func(ref.Val) int) {
	if other := u.charged[id]; other != nil {
		one := size
		size = func(v ref.Val) int { return other(v) + one(v) }
	}
	u.charged[id] = size
}

// charge decorates the steps of loops and the values that are charged.
func (u *filterUse) charge(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if _, ok := i.(interpreter.InterpretableConst); ok {
		return i, nil
	}
	id := i.ID()
	if size := u.charged[id]; size != nil {
		i = &chargedValue{i, size}
	}
	if n, ok := u.steps[id]; ok {
		i = &chargedStep{i, n}
	}
	return i, nil
}

// chargedStep is the step of a loop.
type chargedStep struct {
	interpreter.InterpretableV2
	nodes int
}

// Exec implements interpreter.InterpretableV2.
func (s *chargedStep) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	inputOf(frame).charge(s.nodes)
	return s.InterpretableV2.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (s *chargedStep) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

// chargedValue is an expression whose result is charged by its size.
type chargedValue struct {
	interpreter.InterpretableV2
	size func(ref.Val) int
}

// Exec implements interpreter.InterpretableV2.
func (c *chargedValue) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableV2.Exec(frame)
	if n := c.size(v); n > 0 {
		inputOf(frame).charge(n)
	}
	return v
}

// Eval implements interpreter.Interpretable.
func (c *chargedValue) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// stringSize returns the steps it takes to go through a string, none for all else.
func stringSize(v ref.Val) int { return stringLen(v) / charsPerStep }

// stringLen returns the bytes of a string, none for all else.
func stringLen(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// deepSize returns the steps it takes to go through a value: none for a number.
func deepSize(v ref.Val) int {
	switch v := v.(type) {
	case *filterMap:
		n := 1 + len(v.b)/charsPerStep
		if !v.isDict {
			n += len(v.layout.members)
		}
		return n
	case traits.Lister:
		n := 1
		for it := v.Iterator(); it.HasNext() == types.True; {
			n += 1 + deepSize(it.Next())
		}
		return n
	case traits.Mapper:
		n := 1
		for it := v.Iterator(); it.HasNext() == types.True; {
			n += 1 + deepSize(v.Get(it.Next()))
		}
		return n
	}
	return stringSize(v)
}

// inputOf returns the input of the evaluation that the frame belongs to.
func inputOf(frame *interpreter.ExecutionFrame) *filterInput {
	v, _ := frame.ResolveName(inputName)
	return v.(*filterInput)
}

// inputName resolves to the input itself. No expression can write it.
const inputName = "@input"
