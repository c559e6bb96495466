package idf

import (
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Doubts returns why the filter matches no payload of the types, as far as its
// expression tells: no type has a member that it cannot be true without, or it says
// something else than true or false of all of them. Nil does not say that it ever matches.
func (f *Filter) Doubts(types []*Type) error {
	if len(types) == 0 {
		return nil
	}
	parsed, ok := parse(f)
	if !ok {
		return nil
	}
	e := parsed.NativeRep().Expr()
	may := filterMay{filter: f, types: types, absent: map[string]bool{}, known: map[int64]outcome{}}
	if may.say(e, nil)&mayTrue == 0 && len(may.paths) > 0 {
		var names []string
		for _, t := range types {
			names = append(names, t.Name())
		}
		return engram.Errorf(engram.Invalid, "filter", "%s: %s has no member %s, nor has any other type that it is asked of%s", shorten(f.expr), shorten(strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")), strings.Join(may.paths, ", "), near(may.paths[0], may.absent[may.paths[0]], types))
	}
	said := ""
	for _, t := range types {
		if said = saysOf(f, t, parsed); said == "" {
			return nil
		}
	}
	return engram.Errorf(engram.Invalid, "filter", "%s is a %s; a filter says true or false", shorten(f.expr), said)
}

// near proposes the member that somebody may have meant who wrote a path, or what else has a name, unless the path stood
// below payload.
func near(path string, below bool, types []*Type) string {
	steps := strings.Split(path, ".")
	last := len(steps) - 1
	names := map[string]bool{}
	if last == 0 && !below {
		for name := range filterNames {
			names[name] = true
		}
	}
	for _, t := range types {
		l := layoutOf(t)
		if last > 0 {
			m, _ := follow(t, steps[:last])
			if m == nil || m.msg == nil {
				continue
			}
			l = m.msg
		}
		for _, name := range l.memberNames() {
			names[name] = true
		}
	}
	return meant(steps[last], slices.Sorted(maps.Keys(names)))
}

// parse returns the tree of a filter's expression.
func parse(f *Filter) (*cel.Ast, bool) {
	env, err := filterEnv()
	if err != nil {
		return nil, false
	}
	parsed, issues := env.Parse(f.expr)
	return parsed, issues.Err() == nil
}

// saysOf returns what a filter says of a payload of that type, if that is known not to
// be true or false.
func saysOf(f *Filter, t *Type, parsed *cel.Ast) string {
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
	if path := pathOf(f, parsed.NativeRep().Expr()); len(path) > 0 {
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
