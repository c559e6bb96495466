package pattern

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// String returns the question as text that Parse reads.
func (q *Question) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q.Prefixes)) {
		parts = append(parts, fmt.Sprintf("prefix %s: <%s>", name, q.Prefixes[name]))
	}
	if q.Mode != knowledge.AsOWL {
		parts = append(parts, "mode "+modeName(q.Mode))
	}
	for _, c := range q.Body {
		parts = append(parts, c.String())
	}
	if q.Certain > 0 {
		parts = append(parts, "certain >= "+formatNumber(q.Certain))
	}
	if len(q.Select) > 0 {
		var items []string
		for _, it := range q.Select {
			items = append(items, it.String())
		}
		parts = append(parts, "select "+strings.Join(items, ", "))
	}
	if q.Distinct {
		parts = append(parts, "distinct")
	}
	if len(q.Order) > 0 {
		var orders []string
		for _, o := range q.Order {
			orders = append(orders, o.String())
		}
		parts = append(parts, "order by "+strings.Join(orders, ", "))
	}
	if q.Limit > 0 {
		parts = append(parts, fmt.Sprint("limit ", q.Limit))
	}
	return strings.Join(parts, "; ")
}

func modeName(m knowledge.Mode) string {
	for name, mode := range modes {
		if mode == m {
			return name
		}
	}
	return "owl"
}

// String returns the column as select has it.
func (it Item) String() string {
	switch {
	case !it.Count:
		return "?" + it.Var
	case it.Var != "":
		return "count(?" + it.Var + ")"
	}
	return "count"
}

// Column returns the name that rows have for it.
func (it Item) Column() string {
	if it.Count {
		return "count"
	}
	return it.Var
}

// String returns the order as text.
func (o Order) String() string {
	s := "?" + o.Var
	if o.Var == "count" {
		s = "count"
	}
	if o.Descending {
		s += " desc"
	}
	return s
}

// String returns the clause as text.
func (c Clause) String() string {
	switch {
	case c.Triple != nil:
		return c.Triple.String()
	case c.Not != nil:
		return "not { " + joined(c.Not) + " }"
	case c.Optional != nil:
		return "optional { " + joined(c.Optional) + " }"
	}
	return "where " + c.Where
}

func joined(clauses []Clause) string {
	var all []string
	for _, c := range clauses {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

// String returns the triple as text.
func (t *Triple) String() string {
	return t.S.String() + " " + t.P.String() + " " + t.O.String()
}

// String returns the path as text.
func (p Path) String() string {
	s := p.Property.String()
	if p.Inverse {
		s = "^" + s
	}
	return s + [...]string{"", "+", "*"}[p.Repeat]
}

// String returns the term as text.
func (t Term) String() string {
	switch t.kind {
	case variable:
		return "?" + t.text
	case named:
		return quoteName(t.text)
	case exact:
		return exactText(t.term, t.text)
	case anyText:
		return quote(t.text)
	case number, boolean:
		return t.text
	case expression:
		return quoteRegexp(t.text)
	case ofClass:
		return "(" + t.class.String() + ")"
	}
	return "_"
}

func exactText(t rdf.Term, datatype string) string {
	switch {
	case t.Kind != rdf.Literal:
		return "<" + t.Value + ">"
	case t.Lang != "":
		return quote(t.Value) + "@" + t.Lang
	case t.Type != "":
		return quote(t.Value) + "^^<" + t.Type + ">"
	case datatype != "":
		return quote(t.Value) + "^^" + quoteName(datatype)
	}
	return quote(t.Value) + "^^<>"
}

func quoteName(name string) string {
	prefix, local, ok := strings.Cut(name, ":")
	if !ok {
		prefix, local = "", name
	}
	plain := localSize(local) == len(local)
	if !ok {
		c, _ := utf8.DecodeRuneInString(local)
		plain = plain && isNameStart(c) && !reserved(local)
	}
	if !plain {
		local = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(local) + "'"
	}
	if ok {
		return prefix + ":" + local
	}
	return local
}

// reserved says whether a word is a keyword somewhere.
func reserved(word string) bool {
	return slices.Contains(endings, word) || slices.Contains(restrictionWords, word) || slices.Contains(facetWords, word) ||
		slices.Contains([]string{"_", "true", "false", "not", "optional", "where", "and", "or", "that", "inverse", "asc", "desc"}, word)
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text) + `"`
}

func quoteRegexp(text string) string {
	var b strings.Builder
	b.WriteString(`~"`)
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && text[i+1] != '"' {
			b.WriteByte('\\')
			i++
		} else if text[i] == '"' {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	b.WriteByte('"')
	return b.String()
}

// String returns the expression as text that ParseClass reads.
func (c *Class) String() string {
	property := c.property.String()
	if c.inverse {
		property = "inverse " + property
	}
	filler := func() string {
		if len(c.of) == 0 {
			return ""
		}
		return " " + c.of[0].inner()
	}
	switch c.kind {
	case classNamed:
		return c.name.String()
	case classData:
		var facets []string
		for _, f := range c.facets {
			facets = append(facets, f.name+" "+f.value.String())
		}
		return c.name.String() + "[" + strings.Join(facets, ", ") + "]"
	case classAnd, classOr:
		word := " and "
		if c.kind == classOr {
			word = " or "
		}
		var all []string
		for _, of := range c.of {
			all = append(all, of.inner())
		}
		return strings.Join(all, word)
	case classNot:
		return "not" + filler()
	case classSome:
		return property + " some" + filler()
	case classOnly:
		return property + " only" + filler()
	case classValue:
		return property + " value " + c.value.String()
	case classSelf:
		return property + " Self"
	case classMin, classMax, classExactly:
		word := map[classKind]string{classMin: "min", classMax: "max", classExactly: "exactly"}[c.kind]
		return fmt.Sprint(property, " ", word, " ", c.n) + filler()
	}
	var members []string
	for _, m := range c.members {
		members = append(members, m.String())
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// inner returns the expression as it stands in another.
func (c *Class) inner() string {
	switch c.kind {
	case classNamed, classData, classOneOf:
		return c.String()
	}
	return "(" + c.String() + ")"
}
