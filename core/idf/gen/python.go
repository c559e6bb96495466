package gen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

const pythonKeywords = `False None True and as assert async await break class continue def del elif else
	except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`

// Names that a member or a class of Python cannot have: keywords, what the classes have,
// and what their modules use.
const pythonWords = pythonKeywords + ` TYPE from_payload to_payload
	bool bytes dict float int list str tuple annotations dataclass ClassVar TYPE_CHECKING member np npt
	Array Duration Enumeration Image Link NumericType PackedElementField Payload PointCloud Pose Quaternion Time Value Vector3`

// Names that a value of an enumeration cannot have, beside keywords.
const pythonEnumWords = ` mro name value numerator denominator real imag conjugate bit_length bit_count
	to_bytes from_bytes as_integer_ratio keys make is_integer`

// pythonWriter writes the modules of a model.
type pythonWriter struct {
	writer
	modules    map[*pkg]string
	names      map[any]string // of objects and enums, in their modules
	taken      map[*pkg]namer // names that members of a module's classes cannot have
	attributes map[*object]map[*member]string
	pkg        *pkg
	used       map[string]bool // what the module takes from the library, numpy and dataclasses
}

// writePython writes a package with a module per namespace.
func writePython(m *model, o Options) (map[string][]byte, error) {
	if first := (o.Package + "_")[0]; identifier(o.Package) != o.Package || first >= '0' && first <= '9' || words(pythonKeywords)[o.Package] {
		return nil, engram.Errorf(engram.Invalid, o.Package, "Python cannot import a package of this name; one of letters, digits and _ that is no keyword is wanted")
	}
	p := &pythonWriter{modules: map[*pkg]string{}, names: map[any]string{}, taken: map[*pkg]namer{}, attributes: map[*object]map[*member]string{}}
	p.flatten(m)
	files, shorts := words(pythonWords+" __init__ __main__"), map[string]int{}
	for _, k := range m.packages {
		name := strings.ReplaceAll(k.name, ".", "_")
		if name == "" {
			name = "messages"
		}
		p.modules[k] = files.free(name)
	}
	for _, k := range m.packages {
		names := words(pythonWords)
		for _, module := range p.modules {
			names[module] = true
		}
		for v, short := range k.types() {
			p.names[v] = names.free(pythonClass(short))
			shorts[p.names[v]]++
		}
		p.taken[k] = names
	}
	out := map[string][]byte{}
	index, all := "", []string(nil)
	for _, k := range m.packages {
		out[p.modules[k]+".py"] = p.module(k)
		var names []string // that no other module has
		for v := range k.types() {
			if name := p.names[v]; shorts[name] == 1 && !strings.HasPrefix(name, "_") {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			all = append(all, names...)
			index += pythonImport("."+p.modules[k], names) + "\n"
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(isortRank(a), isortRank(b)), cmp.Compare(a, b)) })
	text := `"""Classes of types, written by engram gen: do not edit."""` + "\n"
	if len(all) > 0 {
		text += "\n" + index + "\n__all__ = [\n    \"" + strings.Join(all, "\",\n    \"") + "\",\n]\n"
	}
	out["__init__.py"] = []byte(text)
	out["py.typed"] = nil
	return out, nil
}

// pythonClass returns the name of a class: one like __name__ would be the module's own.
func pythonClass(short string) string {
	if strings.HasPrefix(short, "__") {
		return "M" + short
	}
	return short
}

// flatten gives those objects the members of their bases that cannot be subclasses, as
// the modules of both would need each other before they are read.
func (p *pythonWriter) flatten(m *model) {
	needs := map[*pkg][]*pkg{}
	each := func(f func(o *object)) {
		for _, k := range m.packages {
			for _, o := range k.objects {
				if o.base != nil && o.base.pkg != k {
					f(o)
				}
			}
		}
	}
	each(func(o *object) { needs[o.pkg] = append(needs[o.pkg], o.base.pkg) })
	var reaches func(from, to *pkg, seen map[*pkg]bool) bool
	reaches = func(from, to *pkg, seen map[*pkg]bool) bool {
		if from == to || seen[from] {
			return from == to
		}
		seen[from] = true
		return slices.ContainsFunc(needs[from], func(k *pkg) bool { return reaches(k, to, seen) })
	}
	each(func(o *object) {
		if reaches(o.base.pkg, o.pkg, map[*pkg]bool{}) {
			o.members, o.base = o.all(), nil
		}
	})
}

func (p *pythonWriter) module(k *pkg) []byte {
	p.writer, p.pkg, p.used = writer{indent: "    "}, k, map[string]bool{}
	for _, e := range k.enums {
		p.enum(e)
	}
	for _, o := range k.objects {
		p.object(o)
	}
	body := p.String()
	head := writer{indent: "    "}
	title := k.name
	if title == "" {
		title = "no package"
	}
	head.line(`"""Types of ` + title + `, written by engram gen: do not edit."""`)
	if p.used["member"] {
		head.lines("", "# ruff: noqa: RUF009, RUF100 - member() is as dataclasses.field()")
	}
	head.lines("", "from __future__ import annotations", "")
	var bases, others []string // modules that are needed when this one is read, and for type hints only
	for _, u := range k.uses() {
		if slices.ContainsFunc(k.objects, func(o *object) bool { return o.base != nil && o.base.pkg == u }) {
			bases = append(bases, p.modules[u])
		} else {
			others = append(others, p.modules[u])
		}
	}
	if p.used["dataclass"] {
		typing := "ClassVar"
		if len(others) > 0 {
			typing = "TYPE_CHECKING, ClassVar"
		}
		head.lines("from dataclasses import dataclass", "from typing import "+typing, "")
	}
	if p.used["np"] {
		head.lines("import numpy as np", "import numpy.typing as npt")
	}
	delete(p.used, "dataclass")
	delete(p.used, "np")
	head.line(pythonImport("engram.payload", slices.Collect(maps.Keys(p.used))))
	if len(bases) > 0 {
		head.lines("", pythonImport(".", bases))
	}
	if len(others) > 0 {
		head.lines("", "if TYPE_CHECKING:")
		for line := range strings.SplitSeq(pythonImport(".", others), "\n") {
			head.line("    " + line)
		}
	}
	return []byte(head.String() + body)
}

// pythonImport returns an import as ruff sorts and formats it.
func pythonImport(from string, names []string) string {
	names = slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(isortRank(a), isortRank(b)), cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	w := writer{indent: "    "}
	if line := "from " + from + " import " + strings.Join(names, ", "); len(line) <= pythonWidth {
		return line
	}
	w.lines("from "+from+" import (", "    "+strings.Join(names, ",\n    ")+",")
	return w.String() + ")"
}

// isortRank orders names as isort and ruff do: constants before classes before functions.
func isortRank(name string) int {
	switch {
	case len(name) > 1 && strings.ToUpper(name) == name:
		return 0
	case strings.ToUpper(name[:1]) == name[:1]:
		return 1
	}
	return 2
}

const pythonWidth = 88 // columns, as ruff and black have it

// call writes a call as ruff formats it: on one line if it fits, else with the arguments
// on a line of their own, else with each on its own line.
func (p *pythonWriter) call(before string, args []string, after string) {
	width := pythonWidth - 4*p.depth
	all := strings.Join(args, ", ")
	if len(before)+len(all)+len(after)+2 <= width {
		p.line(before + "(" + all + ")" + after)
		return
	}
	p.line(before + "(")
	p.depth++
	if len(all)+4 <= width {
		p.line(all)
	} else {
		for _, arg := range args {
			p.line(arg + ",")
		}
	}
	p.depth--
	p.line(")" + after)
}

// doc writes a docstring, if there is something to say.
func (p *pythonWriter) doc(text string) {
	lines := wrapped(text, 84-4*p.depth-6)
	if lines == nil {
		return
	}
	last := len(lines) - 1
	text, quoted := strings.CutSuffix(lines[last], `"`)
	lines[last] = text
	for i := range lines {
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(lines[i], `\`, `\\`), `"""`, `\"\"\"`)
	}
	if quoted {
		lines[last] += `\"`
	}
	if strings.HasPrefix(lines[0], `"`) { // ruff wants a blank before it
		lines[0] = " " + lines[0]
	}
	lines[0] = `"""` + lines[0]
	if last == 0 {
		p.line(lines[0] + `"""`)
		return
	}
	p.lines(lines...)
	p.line(`"""`)
}

func (p *pythonWriter) enum(e *enum) {
	p.used["Enumeration"] = true
	names, renamed, keys := words(pythonWords+pythonEnumWords), []string{}, []string{}
	seen := map[string]bool{}
	for _, v := range e.values {
		name := identifier(v.key)
		if seen[v.key] || name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "_") {
			name = "K" + name
		}
		seen[v.key] = true
		name = names.free(name)
		keys = append(keys, name)
		if name != v.key {
			renamed = append(renamed, fmt.Sprintf("%q: %q", name, v.key))
		}
	}
	p.lines("", "")
	args := []string{"Enumeration", fmt.Sprintf("type=%q", e.name)}
	if len(renamed) > 0 {
		keys := "keys={" + strings.Join(renamed, ", ") + "}"
		if len(keys)+5 > pythonWidth {
			keys = "keys={\n        " + strings.Join(renamed, ",\n        ") + ",\n    }"
		}
		args = append(args, keys)
	}
	p.call("class "+p.names[e], args, ":")
	p.depth++
	if e.doc != "" {
		p.doc(e.doc)
		p.line("")
	}
	for i, v := range e.values {
		p.line(fmt.Sprintf("%s = %d", keys[i], v.number))
		p.doc(v.doc)
	}
	p.depth--
}

func (p *pythonWriter) object(o *object) {
	p.used["dataclass"] = true
	base := "Payload"
	if o.base == nil {
		p.used[base] = true
	} else {
		base = p.reference(o.base.pkg, p.names[o.base])
	}
	p.lines("", "", "@dataclass(kw_only=True, eq=False)", fmt.Sprintf("class %s(%s):", p.names[o], base))
	p.depth++
	if o.doc != "" {
		p.doc(o.doc)
		p.line("")
	}
	p.line(fmt.Sprintf("TYPE: ClassVar[str] = %q", o.name))
	if len(o.members) > 0 {
		p.line("")
	}
	attributes := p.attributesOf(o)
	for _, m := range o.members {
		p.used["member"] = true
		name := attributes[m]
		args := []string{strconv.Itoa(m.number), strconv.Quote(m.shape.String())}
		if name != m.name {
			args = append(args, "name="+strconv.Quote(m.name))
		}
		if m.unit != "" {
			args = append(args, "unit="+strconv.Quote(m.unit))
		}
		if m.oneof != "" {
			args = append(args, "oneof="+strconv.Quote(m.oneof))
		}
		p.call(name+": "+p.hint(m.shape)+" = member", args, "")
		p.doc(m.doc)
	}
	p.depth--
}

// attributesOf returns the names of the attributes of an object's members, with those of
// its base.
func (p *pythonWriter) attributesOf(o *object) map[*member]string {
	if made := p.attributes[o]; made != nil {
		return made
	}
	made, taken := map[*member]string{}, maps.Clone(p.taken[o.pkg])
	if o.base != nil {
		maps.Copy(made, p.attributesOf(o.base))
		for _, name := range made {
			taken[name] = true
		}
	}
	for _, m := range o.members {
		name := m.name
		if strings.HasPrefix(name, "_") { // the class would have it as its own
			name = "m" + name
		}
		made[m] = taken.free(name)
	}
	p.attributes[o] = made
	return made
}

func (p *pythonWriter) reference(k *pkg, name string) string {
	if k == p.pkg {
		return name
	}
	return p.modules[k] + "." + name
}

var pythonHints = map[string]string{
	"time": "Time", "duration": "Duration", "link": "Link", "value": "Value",
	"bool": "bool", "string": "str", "bytes": "bytes", "float": "float", "double": "float",
}

// hint returns the type hint of a shape.
func (p *pythonWriter) hint(s *shape) string {
	switch s.kind {
	case objects:
		if s.object.library {
			p.used[s.object.short] = true
			return s.object.short
		}
		return p.reference(s.object.pkg, p.names[s.object])
	case enums:
		if s.enum.pkg == nil {
			p.used[s.enum.short] = true
			return s.enum.short
		}
		return p.reference(s.enum.pkg, p.names[s.enum])
	case list:
		return "list[" + p.hint(s.item) + "]"
	case dict:
		return "dict[" + p.hint(s.key) + ", " + p.hint(s.item) + "]"
	case tuple:
		var parts []string
		for _, part := range s.parts {
			parts = append(parts, p.hint(part))
		}
		return "tuple[" + strings.Join(parts, ", ") + "]"
	case optional:
		return p.hint(s.item) + " | None"
	case special:
		if s.word == "matrix" || s.word == "ndarray" {
			if t := s.limits.GetDtype(); t != idfv1.DType_DTYPE_UNSPECIFIED {
				p.used["np"] = true
				return "npt.NDArray[np." + strings.ToLower(t.String()) + "]"
			}
			p.used["Array"] = true
			return "Array"
		}
		p.used[pythonHints[s.word]] = true
		return pythonHints[s.word]
	}
	if hint := pythonHints[s.word]; hint != "" {
		return hint
	}
	return "int"
}
