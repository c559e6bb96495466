package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// maxCondition is the longest condition, in bytes.
const maxCondition = 4096

// condition is a compiled condition in CEL. There are no loops in it, so that it takes no longer
// than its length and the texts it is about.
type condition struct {
	text    string
	pos     int
	program cel.Program
	slots   []int
	insts   int            // that it may take for each byte of what it is about, regular expressions included
	names   map[string]int // what stands for variables to their slots
}

var conditions = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(slices.Concat([]cel.EnvOption{
		cel.ClearMacros(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserErrorRecoveryLimit(4),
		ext.Strings(),
		ext.Math(),
	}, comparisons())...)
})

// growing are functions whose result can be far larger than what they are given.
var growing = map[string]bool{"format": true, "join": true, "quote": true, "replace": true, "strings.quote": true}

// condition compiles what follows where. In CEL's text ?x is _x: its columns stay as they are.
func (c *compiler) condition(clause Clause, bound map[int]bool) *condition {
	out := &condition{text: clause.Where, pos: clause.pos, names: map[string]int{}}
	defer func() { // CEL has panicked at compiling what fuzzing found
		if r := recover(); r != nil {
			if _, ok := r.(failed); ok {
				panic(r)
			}
			c.fail(clause.pos, "the condition cannot be compiled: %v", r)
		}
	}()
	if len(clause.Where) > maxCondition {
		c.fail(clause.pos, "the condition has %d bytes; %d are the most", len(clause.Where), maxCondition)
	}
	env, err := conditions()
	if err != nil {
		panic(err)
	}
	var variables []cel.EnvOption
	text, used := variablesAsNames(clause.Where)
	for _, u := range used {
		slot, ok := c.slots[u.name]
		if !ok || !bound[slot] {
			var all []string
			for slot := range bound {
				all = append(all, c.out.slots[slot])
			}
			slices.Sort(all)
			hint := ""
			if near := spelling.Nearest(u.name, all); near != "" {
				hint = "; did you mean ?" + near + "?"
			}
			c.fail(clause.pos+u.at, "no triple has the variable ?%s%s", u.name, hint)
		}
		if _, known := out.names["_"+u.name]; known {
			continue
		}
		out.names["_"+u.name] = slot
		out.slots = append(out.slots, slot)
		out.names[compared+"_"+u.name] = slot
		variables = append(variables, cel.Variable("_"+u.name, cel.DynType), cel.Variable(compared+"_"+u.name, cel.DynType))
	}
	if env, err = env.Extend(variables...); err != nil {
		c.fail(clause.pos, "%v", err)
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		at, msg := clause.pos+offset(text, first.Location.Line(), first.Location.Column()), first.Message
		if name, _, ok := strings.Cut(strings.TrimPrefix(msg, "undeclared reference to '"), "'"); ok && strings.HasPrefix(msg, "undeclared") {
			name = strings.TrimPrefix(name, compared)
			if largeName.MatchString(name) {
				c.fail(at, "the integer %s does not fit 64 bits; beyond them it can be compared, and not be computed with", digitsOf(name))
			}
			msg = "there is no " + name + " here; a variable is ?" + name
			if i := at - clause.pos; i < len(text) && text[i] == '(' {
				msg = "there is no function " + name + "()"
			}
		}
		if msg == "invalid int literal" || msg == "invalid uint literal" {
			msg = "an integer written so has 64 bits at most; write a larger one in decimal, without a u"
		}
		c.fail(at, "%s", msg)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		c.fail(clause.pos, "%s is a %s; a condition says true or false", clause.Where, t)
	}
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		if growing[call.FunctionName()] {
			c.fail(clause.pos, "%s() is not offered in conditions: what it returns can be far larger than what it is given", call.FunctionName())
		}
		out.insts++
		if args := call.Args(); call.FunctionName() == "matches" && len(args) > 0 {
			pattern, ok := args[len(args)-1].AsLiteral().(types.String)
			if !ok {
				c.fail(clause.pos, "the regular expression of matches() must be a text in quotes")
			}
			_, insts, err := bounded(string(pattern))
			if out.insts += insts; err != nil || out.insts > maxRegexp {
				c.fail(clause.pos, "the regular expressions of matches() do not compile, or are too large: %.100s", string(pattern))
			}
		}
	}))
	if out.program, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(constants)); err != nil {
		c.fail(clause.pos, "%v", err)
	}
	return out
}

// offset returns the byte of a line, from 1, and a column, in characters from 0.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	for i := range text[at:] {
		if column == 0 {
			return at + i
		}
		column--
	}
	return len(text)
}

type usedVariable struct {
	name string
	at   int
}

// variablesAsNames writes _ for the ? of variables, and a letter for the first digit of integers beyond 64 bits. A ? after an operand is CEL's own, unless the
// name follows it at once and blank space stands before.
func variablesAsNames(s string) (string, []usedVariable) {
	b := []byte(s)
	var used []usedVariable
	operand := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			operand = true
		case c == '?':
			name := identifier(s[i+1:])
			if name == "" || operand {
				operand = false
				continue
			}
			b[i] = '_'
			used = append(used, usedVariable{name, i})
			i += len(name)
			operand = true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case c >= '0' && c <= '9':
			end := i + 1
			for end < len(s) && s[end] >= '0' && s[end] <= '9' {
				end++
			}
			sign := ""
			if strings.HasSuffix(strings.TrimRight(s[:i], " \t\r\n"), "-") {
				sign = "-"
			}
			_, err := strconv.ParseInt(sign+s[i:end], 10, 64)
			if err != nil && (i == 0 || s[i-1] != '.') && (end == len(s) || s[end] != '.' && identifier(s[end:]) == "") {
				b[i] += 'A' - '0'
			}
			i, operand = end-1, true
		case c == ')' || c == ']' || c == '}':
			operand = true
		default:
			if word := identifier(s[i:]); word != "" {
				operand = word != "in"
				i += len(word) - 1
				continue
			}
			operand = false
		}
	}
	return string(b), used
}

// evaluation is a condition at work.
type evaluation struct {
	run    *run
	c      *condition
	asked  int
	failed int
	err    error // the first
}

// ResolveName implements cel.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	slot, ok := e.c.names[name]
	if !ok {
		return nil, false
	}
	id := e.run.regs[slot]
	if id == 0 {
		return types.NullValue, true
	}
	if t := e.run.cursor.Term(id); strings.HasPrefix(name, compared) {
		return newOperand(t), true
	} else {
		return valueOf(t), true
	}
}

// Parent implements cel.Activation.
func (e *evaluation) Parent() cel.Activation { return nil }

// valueOf returns a term as a value of CEL.
func valueOf(t rdf.Term) ref.Val {
	if t.Kind == rdf.Literal && strings.HasPrefix(t.Type, rdf.NSXSD) {
		local := t.Type[len(rdf.NSXSD):]
		switch {
		case rdf.IsInteger(t.Type):
			if v := types.String(strings.TrimPrefix(strings.TrimSpace(t.Value), "+")).ConvertToType(types.IntType); !types.IsError(v) {
				return v
			}
			if v, ok := numberOf(t); ok {
				return types.Double(v)
			}
		case local == "decimal" || local == "double" || local == "float":
			if v, ok := numberOf(t); ok {
				return types.Double(v)
			}
		case local == "boolean":
			if v, ok := boolOf(t); ok {
				return types.Bool(v)
			}
		default:
			if v, ok := timeOf(t); ok {
				return types.Timestamp{Time: v}
			}
		}
	}
	if t.Kind == rdf.Blank {
		return types.String("_:" + t.Value)
	}
	return types.String(t.Value)
}

// fulfils says whether a condition holds of what is bound.
func (r *run) fulfils(c *condition) bool {
	e := r.conditions[c]
	if e == nil {
		e = &evaluation{run: r, c: c}
		if r.conditions == nil {
			r.conditions = map[*condition]*evaluation{}
		}
		r.conditions[c] = e
	}
	length := 0
	for _, slot := range c.slots {
		if id := r.regs[slot]; id != 0 {
			length += len(r.cursor.Term(id).Value)
		}
	}
	if !r.matching(c.insts, length) {
		return false
	}
	e.asked++
	out, _, err := c.program.Eval(e)
	switch {
	case err != nil:
	case out == types.True, out == types.False:
		return out == types.True
	default:
		err = fmt.Errorf("it is a %s, not true or false", out.Type().TypeName())
	}
	if e.failed++; e.err == nil {
		e.err = err
	}
	return false
}
