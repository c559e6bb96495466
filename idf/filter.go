package idf

import (
	"context"
	"regexp/syntax"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/seed-301d4374/engram"
)

// Filter is a compiled CEL expression over an instance. Members of the payload
// stand by their names, and beside them: confidence (double), sent, arrived and
// time (timestamp), type (string), payload (the whole, where a member's name
// clashes). A member the payload does not have, or that is not set, makes the
// expression false, unless it asks with has(): has(payload.note).
//
// Objects and dicts are maps, lists and tuples lists, an array the list of its
// elements in row-major order. Times are timestamps and durations durations; links
// are strings and enumerations their keys. Integers are int, floats double, of a
// float the shortest decimal that it prints as, so that a confidence of 0.8 equals
// 0.8. Integers and doubles compare with each other. Beside CEL's own functions
// there are its string and math extensions, except those whose result can be far
// larger than what they are given: format, join, quote, replace.
//
// A filter is immutable and safe for concurrent use.
type Filter struct {
	expr    string
	program cel.Program
	// folds says that the expression goes through lists or dicts; only then can
	// its evaluation be long.
	folds bool
}

// Bounds of filters.
const (
	// MaxFilterLen is the longest filter expression accepted, in bytes.
	MaxFilterLen = 4096

	maxFilterFolds  = 3    // macros such as all() within each other
	maxFilterSums   = 64   // additions, which may join strings
	maxFilterRegex  = 1000 // instructions of a compiled regex
	maxFilterParse  = 100  // nesting
	maxFilterCost   = 1e6  // steps of an evaluation, roughly
	maxFilterTime   = time.Second
	checkFilterTime = 100 // iterations
)

// filterNames are the names that do not stand for members of the payload.
var filterNames = map[string]*cel.Type{
	"confidence": cel.DoubleType,
	"sent":       cel.TimestampType,
	"arrived":    cel.TimestampType,
	"time":       cel.TimestampType,
	"type":       cel.StringType,
	"payload":    cel.DynType,
}

// unboundedFunctions are those whose result can be far larger than what they are
// given, and by calling each other grow beyond all bounds.
var unboundedFunctions = map[string]bool{"format": true, "join": true, "quote": true, "replace": true, "strings.quote": true}

// filterEnv is what all filters share.
var filterEnv = sync.OnceValues(func() (*cel.Env, error) {
	opts := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(MaxFilterLen),
		cel.ParserRecursionLimit(maxFilterParse),
		cel.ParserErrorRecoveryLimit(4),
		ext.Strings(),
		ext.Math(),
	}
	for name, t := range filterNames {
		opts = append(opts, cel.Variable(name, t))
	}
	return cel.NewEnv(opts...)
})

// CompileFilter compiles an expression. The error is Invalid and points at the
// place; Exhausted if the expression is too long or too costly.
func CompileFilter(expr string) (f *Filter, err error) {
	defer func() { // CEL has panicked at compiling what fuzzing found
		if r := recover(); r != nil {
			f, err = nil, engram.Errorf(engram.Invalid, "filter", "%s cannot be compiled: %v", shorten(expr), r)
		}
	}()
	if len(expr) > MaxFilterLen {
		return nil, engram.Errorf(engram.Exhausted, "filter", "the expression is %d bytes long; at most %d are allowed", len(expr), MaxFilterLen)
	}
	env, err := filterEnv()
	if err != nil {
		return nil, engram.Errorf(engram.Internal, "filter", "the CEL environment: %w", err)
	}
	parsed, issues := env.Parse(expr)
	if issues.Err() != nil {
		return nil, filterError(issues)
	}
	use := filterUse{members: map[string]bool{}}
	if err := use.visit(parsed.NativeRep().Expr(), 0); err != nil {
		return nil, err
	}
	var members []cel.EnvOption
	for name := range use.members {
		members = append(members, cel.Variable(name, cel.DynType))
	}
	if env, err = env.Extend(members...); err != nil {
		return nil, engram.Errorf(engram.Invalid, "filter", "%w", err)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, filterError(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, engram.Errorf(engram.Invalid, "filter", "%s is a %s; a filter says true or false", shorten(expr), t)
	}
	opts := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if use.folds {
		opts = append(opts, cel.CostTracking(filterCost{}), cel.CostLimit(maxFilterCost), cel.InterruptCheckFrequency(checkFilterTime))
	}
	program, err := env.Program(checked, opts...)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "filter", "%s: %w", shorten(expr), err)
	}
	return &Filter{expr: expr, program: program, folds: use.folds}, nil
}

// filterError gives the first of CEL's messages with the caret below its place.
func filterError(issues *cel.Issues) error {
	msg := strings.TrimPrefix(issues.Err().Error(), "ERROR: <input>:")
	if i := strings.Index(msg, "\nERROR: "); i >= 0 {
		msg = msg[:i]
	}
	return engram.Errorf(engram.Invalid, "filter", "%s", msg)
}

// filterUse is what an expression uses.
type filterUse struct {
	members map[string]bool // names that may be members
	folds   bool
	sums    int
}

// celTypes are names that stand for types in CEL.
var celTypes = map[string]bool{
	"bool": true, "bytes": true, "double": true, "dyn": true, "duration": true, "int": true, "list": true,
	"map": true, "null_type": true, "string": true, "timestamp": true, "uint": true, "google": true,
	"math": true, "strings": true,
}

// visit goes through an expression within so many folds.
func (u *filterUse) visit(e ast.Expr, folds int) error {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
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
		u.folds = true
		if folds++; folds > maxFilterFolds {
			return engram.Errorf(engram.Exhausted, "filter", "all(), exists(), map() and the like stand more than %d deep within each other", maxFilterFolds)
		}
		c := e.AsComprehension()
		return u.visitAll([]ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}, folds)
	case ast.CallKind:
		return u.visitCall(e.AsCall(), folds)
	}
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
		if err := checkPattern(c.Args()); err != nil {
			return err
		}
	case name == "_+_":
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

// checkPattern checks the pattern of matches(), the last of its arguments: that it
// is a literal, so that it is compiled once, and of bounded size.
func checkPattern(args []ast.Expr) error {
	var pattern types.String
	ok := false
	if n := len(args); n > 0 && args[n-1].Kind() == ast.LiteralKind {
		pattern, ok = args[n-1].AsLiteral().(types.String)
	}
	if !ok {
		return engram.Errorf(engram.Invalid, "filter", "the pattern of matches() must be a string in quotes")
	}
	re, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return engram.Errorf(engram.Invalid, "filter", "the pattern of matches() does not compile (RE2 syntax): %w", err)
	}
	program, err := syntax.Compile(re.Simplify())
	if err != nil {
		return engram.Errorf(engram.Invalid, "filter", "the pattern of matches() does not compile (RE2 syntax): %w", err)
	}
	if len(program.Inst) > maxFilterRegex {
		return engram.Errorf(engram.Exhausted, "filter", "the pattern %s of matches() is too large", shorten(string(pattern)))
	}
	return nil
}

// filterCost counts what CEL itself takes for one step although it goes through
// strings or lists.
type filterCost struct{}

// CallCost implements interpreter.ActualCostEstimator.
func (filterCost) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := uint64(1)
	for _, v := range append(args[:len(args):len(args)], result) {
		switch v := v.(type) {
		case types.String:
			cost += uint64(len(v)) / 10
		case types.Bytes:
			cost += uint64(len(v)) / 10
		case interface{ Size() ref.Val }:
			if n, ok := v.Size().(types.Int); ok && function != "_[_]" && function != "size" {
				cost += uint64(n)
			}
		}
	}
	return &cost
}

// String returns the expression.
func (f *Filter) String() string { return f.expr }

// Match evaluates the filter on instance i of s, whose payload is of type t; t may
// be nil if the type is not known, and the payload then has no members. Only members
// that the expression mentions are decoded. Evaluation is bounded in cost; an
// expression that fails on this payload's values does not match. Safe for
// concurrent use.
func (f *Filter) Match(t *Type, s *engram.Snapshot, i int) bool {
	v := filterVars.Get().(*filterInput)
	v.snapshot, v.instance = s, &s.Instances[i]
	if t != nil {
		v.payload = filterMap{layout: t.layout(), b: v.instance.Payload.Bytes, depth: 1}
	}
	ok := f.eval(v)
	*v = filterInput{}
	filterVars.Put(v)
	return ok
}

func (f *Filter) eval(v *filterInput) bool {
	if !f.folds {
		out, _, err := f.program.Eval(v)
		return err == nil && out == types.True
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxFilterTime)
	defer cancel()
	out, _, err := f.program.ContextEval(ctx, v)
	return err == nil && out == types.True
}
