package idf

import (
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Doubts returns why the filter matches no payload of the types, as far as its
// expression tells: no type has a member that it mentions, or it says something else
// than true or false of all of them. Nil does not say that it ever matches.
func (f *Filter) Doubts(types []*Type) error {
	if len(types) == 0 {
		return nil
	}
	var unknown []string
	for _, name := range f.members {
		if !slices.ContainsFunc(types, func(t *Type) bool {
			return t.layout().special != isObject || t.desc.Fields().ByName(protoreflect.Name(name)) != nil
		}) {
			unknown = append(unknown, name)
		}
	}
	parsed, ok := f.parse()
	if len(unknown) == 0 && ok {
		unknown = f.absent(parsed.NativeRep().Expr(), types)
	}
	if len(unknown) > 0 {
		var names []string
		for _, t := range types {
			names = append(names, t.Name())
		}
		return engram.Errorf(engram.Invalid, "filter", "%s: %s has no member %s, nor has any other type that it is asked of%s", shorten(f.expr), shorten(strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")), strings.Join(unknown, ", "), near(unknown[0], types))
	}
	if !ok {
		return nil
	}
	said := ""
	for _, t := range types {
		if said = f.saysOf(t, parsed); said == "" {
			return nil
		}
	}
	return engram.Errorf(engram.Invalid, "filter", "%s is a %s; a filter says true or false", shorten(f.expr), said)
}

// near proposes the member that somebody may have meant who wrote a path.
func near(path string, types []*Type) string {
	steps := strings.Split(path, ".")
	last := len(steps) - 1
	var names []string
	if last == 0 {
		names = slices.Sorted(maps.Keys(filterNames))
	}
	for _, t := range types {
		l := t.layout()
		if last > 0 {
			m, _ := follow(t, steps[:last])
			if m == nil || m.msg == nil {
				continue
			}
			l = m.msg
		}
		names = append(names, l.memberNames()...)
	}
	return meant(steps[last], names)
}

// parse returns the expression's tree.
func (f *Filter) parse() (*cel.Ast, bool) {
	env, err := filterEnv()
	if err != nil {
		return nil, false
	}
	parsed, issues := env.Parse(f.expr)
	return parsed, issues.Err() == nil
}

// absent returns the members of members that the expression mentions and no payload of
// the types has.
func (f *Filter) absent(e ast.Expr, types []*Type) (out []string) {
	for _, path := range f.paths(e) {
		named := ""
		for _, t := range types {
			_, absent := follow(t, path)
			if named = absent; absent == "" {
				break
			}
		}
		if named != "" && !slices.Contains(out, named) {
			out = append(out, named)
		}
	}
	return out
}

// saysOf returns what the filter says of a payload of that type, if that is known not to
// be true or false.
func (f *Filter) saysOf(t *Type, parsed *cel.Ast) string {
	env, err := filterEnv()
	if err != nil {
		return ""
	}
	var members []cel.EnvOption
	for _, name := range f.members {
		members = append(members, cel.Variable(name, celTypeOf(t, []string{name})))
	}
	if env, err = env.Extend(members...); err != nil {
		return ""
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil { // it may be that numbers of several kinds are compared
		return ""
	}
	out := checked.OutputType()
	if path := f.pathOf(parsed.NativeRep().Expr()); len(path) > 0 {
		out = celTypeOf(t, path)
	}
	if !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return out.String()
	}
	return ""
}

// celTypeOf returns what a member is in an expression, DynType where that cannot be said
// in a word.
func celTypeOf(t *Type, path []string) *cel.Type {
	m, _ := follow(t, path)
	switch {
	case m == nil || m.dict:
		return cel.DynType
	case m.list:
		return cel.ListType(cel.DynType)
	case m.enum != nil:
		return cel.StringType
	}
	switch m.kind {
	case protoreflect.BoolKind:
		return cel.BoolType
	case protoreflect.StringKind:
		return cel.StringType
	case protoreflect.BytesKind:
		return cel.BytesType
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return cel.DoubleType
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return cel.DynType
	}
	return cel.IntType
}
