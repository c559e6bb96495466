package gen

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// docOf returns the comments at a declaration.
func docOf(d protoreflect.Descriptor) string {
	loc := d.ParentFile().SourceLocations().ByDescriptor(d)
	var lines []string
	for _, text := range []string{loc.LeadingComments, loc.TrailingComments} {
		for line := range strings.Lines(text) {
			line = strings.Map(func(r rune) rune {
				if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == '\ufeff' {
					return ' ' // would end the comment, or have it look like code
				}
				return r
			}, strings.TrimSpace(line))
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

const unitWord = `(?:met(?:re|er)s?(?: per second)?|radians|seconds|degrees|pixels|bytes|rad/s|rad|m/s²?|m|N m|Nm|N|kg|Hz|ms|s|px|°C|%)`

// units finds the units that a comment says, as the page does (edge/web/app/src/lib/type.ts).
var units = regexp.MustCompile(`(?:^|[,;:(\[] ?| in )(` + unitWord + `(?: (?:or|and) ` + unitWord + `)?)(?:[.,;:)\]]|$| of | for )`)

var shortUnits = strings.NewReplacer("metres", "m", "meters", "m", "metre", "m", "meter", "m", "radians", "rad", "seconds", "s", "degrees", "°", "pixels", "px")

// unitOf returns the units that a comment says, such as "rad or m"; "" for none.
func unitOf(doc string) string {
	var found []string
	text := strings.ReplaceAll(doc, "\n", " ")
	for len(text) > 0 {
		m := units.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		unit := shortUnits.Replace(text[m[2]:m[3]])
		if !slices.Contains(found, unit) {
			found = append(found, unit)
		}
		text = text[m[3]:]
	}
	return strings.Join(found[:min(2, len(found))], " or ")
}

// namer gives out names that are free in a scope.
type namer map[string]bool

// free returns the name with as many "_" behind it as it needs to be free, and takes it.
func (n namer) free(name string) string {
	for n[name] {
		name += "_"
	}
	n[name] = true
	return name
}

func words(text string) namer {
	n := namer{}
	for _, w := range strings.Fields(text) {
		n[w] = true
	}
	return n
}

// identifier returns a key with "_" for what no language has in a name.
func identifier(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, key)
}

// camel returns a name in the way of Go: "joint_values" is "JointValues", "3d" is "X3d".
func camel(name string) string {
	s := joined(name)
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return "X" + s
	}
	return s
}

// joined returns a name in the way of Go, for behind another: "3d_map" is "3dMap".
func joined(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// wrapped breaks a text into lines of at most width, keeping the breaks between paragraphs.
func wrapped(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if lines != nil {
			lines = append(lines, "")
		}
		line := ""
		for _, w := range strings.Fields(paragraph) {
			if line != "" && len([]rune(line))+1+len([]rune(w)) > width {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += w
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// writer writes lines of source.
type writer struct {
	strings.Builder
	depth  int
	indent string
}

func (w *writer) line(text string) {
	if text != "" {
		w.WriteString(strings.Repeat(w.indent, w.depth))
		w.WriteString(text)
	}
	w.WriteByte('\n')
}

func (w *writer) lines(texts ...string) {
	for _, t := range texts {
		w.line(t)
	}
}
