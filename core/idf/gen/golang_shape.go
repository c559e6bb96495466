package gen

import "strings"

var goScalars = map[string]string{
	"bool": "bool", "string": "string", "bytes": "[]byte", "float": "float32", "double": "float64",
	"int32": "int32", "sint32": "int32", "sfixed32": "int32", "int64": "int64", "sint64": "int64", "sfixed64": "int64",
	"uint32": "uint32", "fixed32": "uint32", "uint64": "uint64", "fixed64": "uint64",
}

// typeOf returns the Go type of a shape.
func (g *goWriter) typeOf(s *shape) string {
	switch s.kind {
	case objects:
		return g.names[s.object]
	case enums:
		return g.names[s.enum]
	case list:
		return "[]" + g.typeOf(s.item)
	case dict:
		return "map[" + g.typeOf(s.key) + "]" + g.typeOf(s.item)
	case optional:
		if nilable(s.item) {
			return g.typeOf(s.item)
		}
		return "*" + g.typeOf(s.item)
	case special:
		switch s.word {
		case "time":
			g.imports[goModule] = true
			return "engram.Time"
		case "duration":
			g.imports["time"] = true
			return "time.Duration"
		case "link":
			g.imports[goModule] = true
			return "engram.ID"
		case "value":
			return "any"
		}
		g.imports[goModule+"/core/idf"] = true
		return "*idf.NDArray"
	}
	return goScalars[s.word]
}

// nilable reports whether a shape's Go type has a nil that means unset.
func nilable(s *shape) bool {
	return s.kind == special && (s.word == "value" || s.word == "matrix" || s.word == "ndarray")
}

// shape returns the variable that says how a shape is written and read, which is made once.
func (g *goWriter) shape(s *shape) string {
	text := g.expression(s)
	if !strings.Contains(text, "(") {
		return text
	}
	if g.shapes[text] == "" {
		g.shapes[text] = g.taken.free(goVariable(s.String()))
		g.vars.line("\t" + g.shapes[text] + " = " + text)
	}
	return g.shapes[text]
}

// goVariable makes a name of a shape: "list<.lab.Cup>" is asListLabCup.
func goVariable(text string) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("<>,. _", r) })
	for i := range parts {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return "as" + strings.Join(parts, "")
}

// expression returns the shape of a member.
func (g *goWriter) expression(s *shape) string {
	switch s.kind {
	case list:
		return "object.List(" + g.codec(s.item) + ")"
	case dict:
		if s.key.word == "bool" {
			return "object.BoolDict(" + g.codec(s.item) + ")"
		}
		return "object.Dict(" + g.codec(s.key) + ", " + g.codec(s.item) + ")"
	case optional:
		if nilable(s.item) {
			return "object.Nilable(" + g.codec(s.item) + ")"
		}
		return "object.Optional(" + g.codec(s.item) + ")"
	}
	return "object.Plain(" + g.codec(s) + ")"
}

// codec returns the codec of a single value.
func (g *goWriter) codec(s *shape) string {
	switch s.kind {
	case objects:
		return "object.Message[" + g.names[s.object] + "]()"
	case enums:
		return "object.Enum[" + g.names[s.enum] + "]()"
	case list, dict, optional:
		return "object.Wrapped(" + g.expression(s) + ")"
	case special:
		return "object." + map[string]string{"time": "Time", "duration": "Duration", "link": "Link", "matrix": "Matrix", "ndarray": "Array", "value": "Any"}[s.word]
	}
	return "object." + strings.ToUpper(s.word[:1]) + s.word[1:]
}
