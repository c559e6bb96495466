package skill

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
)

// Parameters returns parameters as an execution gets them: those given over the description's
// defaults, checked against its type. A member that the description calls symbolic may be a
// name instead of what its type says. The error names the member: TypeMismatch or OutOfRange
// of one that does not fit or does not exist, Invalid of one that is missing.
func (t *Types) Parameters(d *Description, given any) (any, error) {
	defaults, _ := d.DefaultParameters.(map[string]any)
	members, isMap := given.(map[string]any)
	switch {
	case given == nil && (d.ParameterType == "" || d.ParameterType == engram.ValueType):
		return d.DefaultParameters, nil
	case given == nil:
		isMap = true
	case isMap:
	case d.ParameterType == "" && defaults == nil || d.ParameterType == engram.ValueType:
		return given, nil
	}
	if !isMap {
		return nil, engram.Errorf(engram.TypeMismatch, "parameters", "the skill %s takes an object of members, such as {\"%s\": …}", d.Name, "name")
	}
	all := maps.Clone(defaults)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, members)
	if d.ParameterType == "" || d.ParameterType == engram.ValueType {
		return all, nil
	}
	typ, err := t.Type(d.ParameterType)
	if engram.CodeOf(err) == engram.NotFound {
		return all, nil // a description may name a type of which nobody told the memory
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range typ.Members() {
		names = append(names, m.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(names, name) {
			return nil, engram.Errorf(engram.TypeMismatch, name, "the skill %s has no parameter %s; %s", d.Name, name, nearest(name, names))
		}
	}
	for _, m := range typ.Members() {
		v, given := all[m.Name]
		if (!given || v == nil) && !m.Optional && !strings.HasPrefix(m.Type, "List<") && !strings.HasPrefix(m.Type, "Dict<") {
			return nil, engram.Errorf(engram.Invalid, m.Name, "the skill %s needs the parameter %s (%s), which has no default", d.Name, m.Name, m.Type)
		}
	}
	symbols := map[string]any{}
	for name, v := range all {
		_, isName := v.(string)
		_, isPlace := v.(map[string]any)
		if isName && d.Symbolic[name] != "" || isPlace && strings.HasSuffix(d.Symbolic[name], "_name") {
			symbols[name] = v
			delete(all, name)
		}
	}
	b, err := typ.Encode(all)
	if err != nil {
		return nil, err
	}
	decoded, err := typ.Decode(b)
	if err != nil {
		return nil, err
	}
	all = decoded.(map[string]any)
	maps.Copy(all, symbols)
	return all, nil
}

// nearest says what there is instead of a name.
func nearest(name string, names []string) string {
	slices.Sort(names)
	switch near := spelling.Nearest(name, names); {
	case near != "":
		return "did you mean " + near + "?"
	case len(names) == 0:
		return "there is none"
	case len(names) <= 8:
		return "there are " + strings.Join(names, ", ")
	default:
		return "there are " + strings.Join(names[:8], ", ") + " and others"
	}
}

// Unknown is the error about a skill that nobody offers; names are those there are.
func Unknown(name string, names []string) error {
	return engram.Errorf(engram.NotFound, name, "no skill of this name is known; %s", nearest(name, names))
}
