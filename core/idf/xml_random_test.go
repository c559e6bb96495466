package idf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// randomXMLType draws a type: its XML and its words.
func randomXMLType(t *rapid.T, depth int) (xml, words string, optional bool) {
	attr := ""
	if optional = rapid.IntRange(0, 3).Draw(t, "optional") == 0; optional {
		attr = " " + rapid.SampledFrom(optionalAttrs).Draw(t, "attribute") + "='true'"
	}
	element := func() (xml, words string) {
		xml, words, optional := randomXMLType(t, depth+1)
		if optional {
			words = "optional " + words
		}
		return xml, words
	}
	n := 12
	if depth > 3 {
		n = 7
	}
	switch rapid.IntRange(0, n).Draw(t, "type") {
	case 0:
		return "<Int" + attr + "/>", "Int", optional
	case 1:
		return "<string" + attr + "/>", "String", optional
	case 2:
		return "<Pose" + attr + "/>", "Pose", optional
	case 3:
		return "<Matrix rows='2' cols='-1' type='float64'" + attr + "/>", "Matrix(2xany, float64)", optional
	case 4:
		return "<n::O" + attr + "/>", "n.O", optional
	case 5:
		return "<n::E" + attr + "/>", "n.E", optional
	case 6:
		return "<engram::Link" + attr + "/>", "Link", optional
	case 7:
		return "<NDArray ndim='3' type='int8'" + attr + "/>", "NDArray(3D, int8)", optional
	case 8, 9:
		x, w := element()
		return "<List" + attr + ">" + x + "</List>", "List<" + w + ">", optional
	case 10, 11:
		x, w := element()
		return "<Dict" + attr + ">" + x + "</Dict>", "Dict<" + w + ">", optional
	}
	name, items := "Pair", 2
	if rapid.Bool().Draw(t, "tuple") {
		name, items = "Tuple", rapid.IntRange(3, 5).Draw(t, "items")
	}
	var xs, ws []string
	for range items {
		x, w := element()
		xs, ws = append(xs, x), append(ws, w)
	}
	return "<" + name + attr + ">" + strings.Join(xs, "") + "</" + name + ">", name + "<" + strings.Join(ws, ", ") + ">", optional
}

// Whatever is composed compiles, reads back as it was written, keeps its numbers
// when it is extended, and prints as a .proto file of the same type.
func TestXMLRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var base, own strings.Builder
		var words []string
		var optionals []bool
		nBase := rapid.IntRange(0, 4).Draw(rt, "base members")
		nOwn := rapid.IntRange(0, 4).Draw(rt, "own members")
		for i := range nBase + nOwn {
			x, w, o := randomXMLType(rt, 0)
			words, optionals = append(words, w), append(optionals, o)
			part := &base
			if i >= nBase {
				part = &own
			}
			fmt.Fprintf(part, "<ObjectChild key='m%d'>%s</ObjectChild>", i, x)
		}
		text := xmlHead + "<IntEnum name='n::E'><EnumValue key='a' value='3'/></IntEnum>" +
			"<Object name='n::O'>" + base.String() + "</Object>" +
			"<Object name='n::P' extends='n::O'>" + own.String() + "</Object>" + xmlTail
		defs, err := CompileXML(memSource(map[string]string{"o.xml": text}), "o.xml")
		if err != nil {
			rt.Fatal(err)
		}
		types := parseAll(t, defs)
		core, extended := types["n.O"], types["n.P"]
		for i, m := range extended.Members() {
			want := Member{Name: fmt.Sprintf("m%d", i), Number: int32(i + 1), Type: words[i], Optional: optionals[i]}
			if m != want && len(want.Type) < maxTypeWords {
				rt.Errorf("is %+v, want %+v\n%s", m, want, text)
			}
		}
		if err := extended.CheckExtends(core); err != nil {
			rt.Error(err)
		}
		if err := core.CheckExtends(extended); (err != nil) != (nOwn > 0) || err != nil && !errors.Is(err, engram.TypeMismatch) {
			rt.Errorf("%d own members, the core extends the extended type: %v", nOwn, err)
		}
		printsSame(t, extended, core)
	})
}
