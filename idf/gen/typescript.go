package gen

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

//go:embed support/payload.ts
var typeScriptLibrary []byte

// Names that a class of TypeScript cannot have.
const typeScriptWords = `break case catch class const continue debugger default delete do else enum export extends
	false finally for function if import in instanceof new null return super switch this throw true try typeof var
	void while with as implements interface let package private protected public static yield any boolean
	constructor declare get module require number set string symbol type from of namespace unknown never object
	bigint undefined Object Array Map Uint8Array Partial Omit
	BigInt64Array BigUint64Array Float32Array Float64Array Int16Array Int32Array Int8Array Uint16Array Uint32Array
	Duration Float32 Image Init Int32 Link Matrix MemberTable NDArray NumericType PackedElementField Payload
	PointCloud Pose Quaternion Time Value Vector3 fromPayload register registerEnum eval arguments async await
	String Number Boolean Symbol`

// Names that a property cannot have.
const typeScriptMembers = "constructor prototype __proto__ toPayload equals"

// typeScriptWriter writes the modules of a model.
type typeScriptWriter struct {
	writer
	modules map[*pkg]string
	names   map[any]string
	pkg     *pkg
	used    map[string]bool // what the module takes from the library
	others  map[*pkg]bool   // namespaces that it names
}

// writeTypeScript writes a module per namespace, and the library.
func writeTypeScript(m *model, _ Options) (map[string][]byte, error) {
	w := &typeScriptWriter{modules: map[*pkg]string{}, names: map[any]string{}}
	files := words("payload index")
	for _, k := range m.packages {
		w.modules[k] = files.free(strings.ReplaceAll(cmp.Or(k.name, "messages"), ".", "_"))
	}
	for _, k := range m.packages {
		names := words(typeScriptWords)
		for _, module := range w.modules {
			names[module] = true
		}
		for _, e := range k.enums {
			w.names[e] = names.free(e.short)
		}
		for _, o := range k.objects {
			w.names[o] = names.free(o.short)
		}
	}
	out := map[string][]byte{"payload.ts": typeScriptLibrary}
	index := writer{}
	index.line("/** Modules of types, written by engram gen: do not edit. */")
	for _, k := range m.packages {
		out[w.modules[k]+".ts"] = w.module(k, m)
		index.line(fmt.Sprintf("export * as %s from './%s.js'", typeScriptName(w.modules[k]), w.modules[k]))
	}
	index.line("export * as payload from './payload.js'")
	out["index.ts"] = []byte(index.String())
	return out, nil
}

// typeScriptName returns the name under which a module is imported.
func typeScriptName(module string) string { return words(typeScriptWords).free(module) }

func (w *typeScriptWriter) module(k *pkg, m *model) []byte {
	w.writer, w.pkg, w.used, w.others = writer{indent: "  "}, k, map[string]bool{}, map[*pkg]bool{}
	for _, e := range k.enums {
		w.enum(e)
	}
	for _, o := range m.objects { // each after its base
		if o.pkg == k {
			w.object(o)
		}
	}
	head := writer{indent: "  "}
	head.line("/** Types of " + cmp.Or(k.name, "no package") + ", written by engram gen: do not edit. */")
	var types, values []string
	for _, name := range slices.Sorted(maps.Keys(w.used)) {
		if slices.Contains([]string{"Payload", "register", "registerEnum", "NumericType"}, name) {
			values = append(values, name)
		} else {
			types = append(types, "type "+name)
		}
	}
	if all := append(values, types...); len(all) > 0 {
		line := "import { " + strings.Join(all, ", ") + " } from './payload.js'"
		if len(line) > 100 {
			line = "import {\n  " + strings.Join(all, ",\n  ") + ",\n} from './payload.js'"
		}
		head.line(line)
	}
	for _, u := range k.uses {
		if w.others[u] {
			head.line(fmt.Sprintf("import * as %s from './%s.js'", typeScriptName(w.modules[u]), w.modules[u]))
		}
		head.line(fmt.Sprintf("import './%s.js'", w.modules[u]))
	}
	return []byte(head.String() + w.String())
}

func (w *typeScriptWriter) doc(text string) {
	lines := wrapped(strings.ReplaceAll(text, "*/", "* /"), 94-2*w.depth)
	switch len(lines) {
	case 0:
	case 1:
		w.line("/** " + lines[0] + " */")
	default:
		w.line("/**")
		for _, l := range lines {
			w.line(strings.TrimRight(" * "+l, " "))
		}
		w.line(" */")
	}
}

func (w *typeScriptWriter) enum(e *enum) {
	w.used["registerEnum"] = true
	name := w.names[e]
	w.line("")
	w.doc(e.doc)
	w.line("export const " + name + " = {")
	w.depth++
	seen := map[string]bool{}
	for _, v := range e.values {
		if seen[v.key] {
			continue
		}
		seen[v.key] = true
		w.doc(v.doc)
		w.line(fmt.Sprintf("%s: %d,", typeScriptKey(v.key), v.number))
	}
	w.depth--
	w.line("} as const")
	w.line(fmt.Sprintf("export type %s = (typeof %[1]s)[keyof typeof %[1]s]", name))
	w.line(fmt.Sprintf("registerEnum('%s', %s)", e.name, name))
}

// typeScriptKey returns a key of an object literal.
func typeScriptKey(key string) string {
	if key[0] >= '0' && key[0] <= '9' || key == "__proto__" {
		return "['" + key + "']"
	}
	return key
}

func (w *typeScriptWriter) object(o *object) {
	for _, name := range []string{"Init", "MemberTable", "register"} {
		w.used[name] = true
	}
	name, base := w.names[o], "Payload"
	if o.base != nil {
		base = w.reference(o.base.pkg, w.names[o.base])
	} else {
		w.used["Payload"] = true
	}
	w.line("")
	w.doc(o.doc)
	w.line(fmt.Sprintf("export class %s extends %s {", name, base))
	w.depth++
	override := ""
	if o.base != nil {
		override = "override "
	}
	w.line(fmt.Sprintf("static %sreadonly type: string = '%s'", override, o.name))
	w.line(fmt.Sprintf("static %sreadonly members: MemberTable = [", override))
	w.depth++
	if o.base != nil {
		w.line("..." + base + ".members,")
	}
	taken := words(typeScriptMembers)
	properties := map[*member]string{}
	for _, m := range o.all() {
		properties[m] = taken.free(m.name)
	}
	for _, m := range o.members {
		more := ""
		if m.oneof != "" || properties[m] != m.name {
			more = ", '" + m.oneof + "'"
		}
		if properties[m] != m.name {
			more += ", '" + properties[m] + "'"
		}
		w.line(fmt.Sprintf("[%d, '%s', '%s'%s],", m.number, m.name, m.shape, more))
	}
	w.depth--
	w.line("]")
	for _, m := range o.members {
		doc := m.doc
		if m.unit != "" && !strings.Contains(doc, m.unit) {
			doc += " (" + m.unit + ")"
		}
		w.doc(doc)
		w.line(w.declaration(m, properties[m]))
	}
	w.lines("", fmt.Sprintf("constructor(init: Init<%s> = {}) {", name))
	w.line("  super()")
	w.lines("  Object.assign(this, init)", "}")
	w.depth--
	w.lines("}", "register("+name+")")
}

// declaration returns a member with its type and what it is before it is set.
func (w *typeScriptWriter) declaration(m *member, name string) string {
	if zero := w.zero(m.shape); m.shape.kind == scalar && m.shape.word != "bytes" {
		return name + " = " + zero
	} else {
		return name + ": " + w.hint(m.shape) + " = " + zero
	}
}

func (w *typeScriptWriter) zero(s *shape) string {
	switch s.kind {
	case list:
		return "[]"
	case dict:
		return "new Map()"
	case optional:
		return "undefined"
	case enums:
		return "0"
	}
	switch s.word {
	case "bool":
		return "false"
	case "string":
		return "''"
	case "bytes":
		return "new Uint8Array(0)"
	}
	if strings.HasSuffix(s.word, "64") {
		return "0n"
	}
	return "0"
}

func (w *typeScriptWriter) reference(k *pkg, name string) string {
	if k == w.pkg {
		return name
	}
	w.others[k] = true
	return typeScriptName(w.modules[k]) + "." + name
}

func (w *typeScriptWriter) library(name string) string {
	w.used[name] = true
	return name
}

// hint returns the type of a shape.
func (w *typeScriptWriter) hint(s *shape) string {
	switch s.kind {
	case objects:
		if s.object.library {
			return w.library(s.object.short)
		}
		return w.reference(s.object.pkg, w.names[s.object])
	case enums:
		name := s.enum.short
		if s.enum.pkg == nil {
			w.library(name)
		} else {
			name = w.reference(s.enum.pkg, w.names[s.enum])
		}
		if !slices.ContainsFunc(s.enum.values, func(v enumValue) bool { return v.number == 0 }) {
			return name + " | 0"
		}
		return name
	case list:
		if item := w.inner(s.item); strings.Contains(item, " ") {
			return "(" + item + ")[]"
		} else {
			return item + "[]"
		}
	case dict:
		return "Map<" + w.hint(s.key) + ", " + w.inner(s.item) + ">"
	case tuple:
		var parts []string
		for _, part := range s.parts {
			parts = append(parts, w.hint(part))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case optional:
		return w.hint(s.item) + " | undefined"
	case special:
		switch s.word {
		case "matrix", "ndarray":
			name := w.library(map[string]string{"matrix": "Matrix", "ndarray": "NDArray"}[s.word])
			if t := typeScriptArrays[s.limits.GetDtype()]; t != "" {
				return name + "<" + t + ">"
			}
			return name
		}
		return w.library(strings.ToUpper(s.word[:1]) + s.word[1:])
	}
	switch s.word {
	case "bool":
		return "boolean"
	case "string":
		return "string"
	case "bytes":
		return "Uint8Array"
	}
	if strings.HasSuffix(s.word, "64") {
		return "bigint"
	}
	return "number"
}

// inner returns the type of an item, which may be null where a member would be undefined.
func (w *typeScriptWriter) inner(s *shape) string {
	if s.kind == optional {
		return w.hint(s.item) + " | null"
	}
	return w.hint(s)
}

var typeScriptArrays = map[idfv1.DType]string{
	idfv1.DType_UINT8: "Uint8Array", idfv1.DType_INT8: "Int8Array", idfv1.DType_UINT16: "Uint16Array",
	idfv1.DType_INT16: "Int16Array", idfv1.DType_UINT32: "Uint32Array", idfv1.DType_INT32: "Int32Array",
	idfv1.DType_UINT64: "BigUint64Array", idfv1.DType_INT64: "BigInt64Array",
	idfv1.DType_FLOAT32: "Float32Array", idfv1.DType_FLOAT64: "Float64Array",
}
