package idf

import (
	"slices"
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
// clashes). A member that is not set makes the expression false, unless it asks with
// has(): has(payload.note). Of a payload that has no such member at all, the
// expression says nothing: evaluating it fails.
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
	eval    func(input any) (out any, err error) // of a *filterInput: a ref.Val
	folds   bool                                 // the expression goes through lists or dicts
	steps   int64                                // that one evaluation may take: maxFilterSteps
	nodes   int64                                // of the expression, with the instructions of its regular expressions
	members []string                             // that it mentions
}

// Bounds of filters.
const (
	// MaxFilterLen is the longest filter expression accepted, in bytes.
	MaxFilterLen = 4096

	maxFilterFolds   = 3         // macros such as all() within each other
	maxFilterSums    = 64        // additions, which may join strings
	maxFilterRegex   = 1000      // instructions of a compiled regex
	maxFilterRegexes = 4000      // of all
	maxFilterRanges  = 100       // of characters in an instruction, on average
	maxFilterParse   = 100       // nesting
	maxFilterSteps   = 1_000_000 // of one evaluation: about 50 ms
	maxFilterString  = 1 << 16   // bytes of a string that is looked at in loops
	charsPerStep     = 16        // of a string that is read, made or compared
	slowCharsPerStep = 4         // of a string that is gone through character by character
	instsPerStep     = 2         // of a regex, for each character
	zoneSteps        = 200       // of a time in a time zone, which is looked up by its name
	recordsPerStep   = 8         // of other members, that are passed over
	filterPause      = 20_000    // steps between two looks at the meter: about 1 ms
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
		return nil, filterError(issues, "")
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
		return nil, filterError(issues, use.taken)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, engram.Errorf(engram.Invalid, "filter", "%s is a %s; a filter says true or false", shorten(expr), t)
	}
	opts := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if len(use.steps)+len(use.charged) > 0 {
		opts = append(opts, cel.CustomDecoratorV2(use.charge))
	}
	program, err := env.Program(checked, opts...)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "filter", "%s: %w", shorten(expr), err)
	}
	return &Filter{expr: expr, eval: evalOf(program), folds: use.folds, steps: maxFilterSteps, nodes: int64(use.nodes), members: use.mentioned()}, nil
}

// filterError gives the first of CEL's messages with the caret below its place. It
// says how a member is asked for whose name CEL takes for itself, and what has() takes.
func filterError(issues *cel.Issues, taken string) error {
	msg := strings.TrimPrefix(issues.Err().Error(), "ERROR: <input>:")
	if i := strings.Index(msg, "\nERROR: "); i >= 0 {
		msg = msg[:i]
	}
	if i := strings.Index(msg, badHas); i >= 0 {
		i += len(badHas)
		msg = msg[:i] + "; it takes a member of something, such as has(payload.pose)" + msg[i:]
	}
	if taken != "" {
		what, place, _ := strings.Cut(msg, "\n")
		msg = what + "; " + taken + " is a name of CEL's own, a member is payload." + taken + "\n" + place
	}
	return engram.Errorf(engram.Invalid, "filter", "%s", msg)
}

const badHas = "invalid argument to has() macro"

// String returns the expression.
func (f *Filter) String() string { return f.expr }

// Members returns the members of payloads that the expression mentions, sorted.
func (f *Filter) Members() []string { return f.members }

// Match is [Filter.Evaluate] without a meter: an expression that fails on this
// payload's values does not match.
func (f *Filter) Match(t *Type, s *engram.Snapshot, i int) bool {
	match, _ := f.Evaluate(t, s, i, nil)
	return match
}

// Evaluate evaluates the filter on instance i of s, whose payload is of type t; t may
// be nil if the type is not known, and the payload then has no members. Only members
// that the expression mentions are decoded.
//
// An error says that the expression is neither true nor false of this instance: an index
// beyond a list, a value of another kind, a member that neither the payload nor its type
// has (Invalid), or a payload too large for the expression (Exhausted). A member that the
// type has and the payload leaves unset is none: the expression is false then. The meter
// counts what evaluation costs; nil bounds only the one instance. Safe for concurrent use.
func (f *Filter) Evaluate(t *Type, s *engram.Snapshot, i int, m *FilterMeter) (bool, error) {
	v := filterVars.Get().(*filterInput)
	v.snapshot, v.instance, v.loops, v.unset = s, &s.Instances[i], f.folds, v.unset[:0]
	v.begin(m, f.steps)
	if t != nil {
		v.payload = filterMap{layout: layoutOf(t), b: v.instance.Payload.Bytes, depth: 1, in: v}
	}
	out, err := run(f, v)
	if m != nil {
		v.settle()
	}
	switch {
	case err == nil && out != types.True && out != types.False:
		err = engram.Errorf(engram.Invalid, "filter", "%s is a %s here; a filter says true or false", shorten(f.expr), out.(ref.Val).Type().TypeName())
	case err != nil && v.steps < 0:
		err = engram.Errorf(engram.Exhausted, "filter", "%s takes more than %d steps on one instance", shorten(f.expr), f.steps)
	case err != nil && v.lacksUnset(err):
		err = nil
	case err != nil:
		err = engram.Errorf(engram.Invalid, "filter", "%s", failure(err))
	}
	*v = filterInput{unset: v.unset[:0]}
	filterVars.Put(v)
	return err == nil && out == types.True, err
}

// evalOf returns a program without its types: whoever imports Filter would compile them.
func evalOf(p cel.Program) func(input any) (out any, err error) {
	return func(input any) (any, error) {
		out, _, err := p.Eval(input)
		return out, err
	}
}

// run evaluates a filter's expression. Steps before it are charged for the expression's length.
func run(f *Filter, v *filterInput) (out any, err error) {
	if v.steps -= f.nodes; v.steps < v.due && !v.look() {
		return nil, errTooManySteps
	}
	return f.eval(v)
}

// failure says in plain words what CEL says of an evaluation that failed.
func failure(err error) string {
	msg := err.Error()
	for _, prefix := range []string{missingMember, missingKey} {
		if name, ok := strings.CutPrefix(msg, prefix); ok {
			return "there is no member " + shorten(name)
		}
	}
	if op, ok := strings.CutPrefix(msg, "no such overload"); ok {
		if op = strings.TrimPrefix(op, ": "); op != "" {
			op = " (" + shorten(op) + ")"
		}
		return "a value is of another kind than the expression asks for" + op
	}
	return shorten(msg)
}

// What CEL says where there is no such member, before its name.
const (
	missingMember = "no such attribute(s): "
	missingKey    = "no such key: "
)

// lacksUnset reports whether an evaluation failed for want of a member that the type has
// and the payload leaves unset.
func (v *filterInput) lacksUnset(err error) bool {
	if len(v.unset) == 0 {
		return false
	}
	msg := err.Error()
	name, ok := strings.CutPrefix(msg, missingKey)
	if !ok {
		name, ok = strings.CutPrefix(msg, missingMember)
	}
	return ok && slices.Contains(v.unset, name)
}
