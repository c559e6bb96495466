package idf

import (
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
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
	folds   bool
	steps   int      // that loops may take: maxFilterSteps
	members []string // that it mentions
}

// Bounds of filters.
const (
	// MaxFilterLen is the longest filter expression accepted, in bytes.
	MaxFilterLen = 4096

	maxFilterFolds  = 3         // macros such as all() within each other
	maxFilterSums   = 64        // additions, which may join strings
	maxFilterRegex  = 1000      // instructions of a compiled regex
	maxFilterParse  = 100       // nesting
	maxFilterSteps  = 1_000_000 // of loops: about 50 ms
	maxFilterString = 1 << 16   // bytes of a string that is looked at in loops
	charsPerStep    = 16        // of a string that is made or compared
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
	use := filterUse{members: map[string]bool{}, steps: map[int64]int{}, charged: map[int64]func(ref.Val) int{}}
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
		opts = append(opts, cel.CustomDecoratorV2(use.charge))
	}
	program, err := env.Program(checked, opts...)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "filter", "%s: %w", shorten(expr), err)
	}
	return &Filter{expr: expr, program: program, folds: use.folds, steps: maxFilterSteps, members: use.mentioned()}, nil
}

// filterError gives the first of CEL's messages with the caret below its place.
func filterError(issues *cel.Issues) error {
	msg := strings.TrimPrefix(issues.Err().Error(), "ERROR: <input>:")
	if i := strings.Index(msg, "\nERROR: "); i >= 0 {
		msg = msg[:i]
	}
	return engram.Errorf(engram.Invalid, "filter", "%s", msg)
}

// String returns the expression.
func (f *Filter) String() string { return f.expr }

// Members returns the members of payloads that the expression mentions, sorted.
func (f *Filter) Members() []string { return f.members }

// Match evaluates the filter on instance i of s, whose payload is of type t; t may
// be nil if the type is not known, and the payload then has no members. Only members
// that the expression mentions are decoded. Evaluation is bounded in cost; an
// expression that fails on this payload's values does not match. Safe for
// concurrent use.
func (f *Filter) Match(t *Type, s *engram.Snapshot, i int) bool {
	v := filterVars.Get().(*filterInput)
	v.snapshot, v.instance, v.steps = s, &s.Instances[i], f.steps
	if t != nil {
		v.payload = filterMap{layout: t.layout(), b: v.instance.Payload.Bytes, depth: 1, loops: f.folds}
	}
	out, _, err := f.program.Eval(v)
	*v = filterInput{}
	filterVars.Put(v)
	return err == nil && out == types.True
}
