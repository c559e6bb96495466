package condition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seed-301d4374/engram"
)

// Parse reads a condition's text:
//
//	on PATTERN [where CEL] [while CLAUSE {and CLAUSE}] run SKILL [with NAME=VALUE …]
//	    [edge|level|update] [debounce DURATION] [once per entity|MEMBER] [priority N]
//
// Where a word such as run, and or while stands in an expression, the expression is put in parentheses.
// The condition is enabled. The error is Invalid, or of what is wrong in a part.
func Parse(text string) (*Condition, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	c := &Condition{Trigger: Edge, Enabled: true}
	p := parser{text: text, words: words}
	if !p.take("on") {
		return nil, p.errorf("it begins with on PATTERN")
	}
	c.On = unquoted(p.until("where", "while", "run"))
	if p.take("where") {
		c.Where = p.until("while", "run")
	}
	if p.take("while") {
		for more := true; more; more = p.take("and") {
			c.While = append(c.While, p.until("and", "run"))
		}
	}
	if !p.take("run") {
		return nil, p.errorf("run SKILL is missing")
	}
	options := []string{"with", "edge", "level", "update", "debounce", "once", "priority"}
	c.Skill = unquoted(p.until(options...))
	for !p.done() {
		switch word := p.word(); word {
		case "edge", "level", "update":
			c.Trigger = Trigger(word)
		case "debounce":
			if c.Debounce, err = time.ParseDuration(p.word()); err != nil {
				return nil, p.errorf("after debounce a duration stands, such as 500ms")
			}
		case "once":
			if !p.take("per") || p.done() {
				return nil, p.errorf("it is once per entity, or once per a member of the payload")
			}
			c.OncePer = p.word()
		case "priority":
			n, err := strconv.ParseInt(p.word(), 10, 32)
			if err != nil {
				return nil, p.errorf("after priority a whole number stands")
			}
			priority := int32(n)
			c.Priority = &priority
		case "with":
			for _, pair := range p.upTo(options...) {
				name, value, ok := strings.Cut(strings.TrimSuffix(pair, ","), "=")
				if !ok || name == "" {
					return nil, p.errorf("after with stands NAME=VALUE, not %s", pair)
				}
				if c.Parameters == nil {
					c.Parameters = map[string]any{}
				}
				c.Parameters[name] = Literal(value)
			}
		default:
			return nil, p.errorf("%q is not known here", word)
		}
	}
	return c, c.Check()
}

// String returns the condition's text, which [Parse] reads.
func (c *Condition) String() string {
	var b strings.Builder
	b.WriteString("on " + quotedIf(c.On))
	if c.Where != "" {
		b.WriteString(" where " + guarded(c.Where, "while", "run"))
	}
	for i, s := range c.While {
		b.WriteString([]string{" while ", " and "}[min(i, 1)] + s)
	}
	b.WriteString(" run " + quotedIf(c.Skill))
	for i, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		b.WriteString([]string{" with ", " "}[min(i, 1)] + name + "=" + literalText(c.Parameters[name]))
	}
	if c.Trigger != Edge && c.Trigger != "" {
		b.WriteString(" " + string(c.Trigger))
	}
	if c.Debounce != 0 {
		b.WriteString(" debounce " + c.Debounce.String())
	}
	if c.OncePer != "" {
		b.WriteString(" once per " + c.OncePer)
	}
	if c.Priority != nil {
		fmt.Fprintf(&b, " priority %d", *c.Priority)
	}
	return b.String()
}

// Literal returns the value that a text stands for: JSON where it is such, else the text.
func Literal(text string) any {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	return plain(v)
}

// plain returns what JSON has as IDF has it: whole numbers are such.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // beyond what a double holds, it is infinite
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func literalText(v any) string {
	if s, ok := v.(string); ok {
		if again, isText := Literal(s).(string); isText && again == s && s != "" && !strings.ContainsFunc(s, special) {
			return s
		}
	}
	j, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(j)
}

func special(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'(){}[],`, r) }

// quotedIf puts a name with spaces into quotes.
func quotedIf(s string) string {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return strconv.Quote(s)
	}
	return s
}

func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil && strings.HasPrefix(s, `"`) {
		return u
	}
	return s
}

// guarded puts an expression in parentheses if one of the words would end it.
func guarded(expr string, stops ...string) string {
	words, err := split(expr)
	if err != nil || slices.ContainsFunc(words, func(w span) bool { return slices.Contains(stops, w.in(expr)) }) {
		return "(" + expr + ")"
	}
	return expr
}

// span is a word of a text.
type span struct{ from, to int }

func (s span) in(text string) string { return text[s.from:s.to] }

// split returns the words of a text; what is in quotes or brackets has no end of a word.
func split(text string) (words []span, err error) {
	depth, quote, from := 0, byte(0), -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
			continue
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth <= 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if from >= 0 {
				words = append(words, span{from, i})
			}
			from = -1
			continue
		}
		if from < 0 {
			from = i
		}
	}
	if quote != 0 || depth > 0 {
		return nil, engram.Errorf(engram.Invalid, "condition", "a quote or bracket is not closed: %s", text)
	}
	if from >= 0 {
		words = append(words, span{from, len(text)})
	}
	return words, nil
}

// parser goes through the words of a text.
type parser struct {
	text  string
	words []span
	at    int
}

func (p *parser) done() bool { return p.at >= len(p.words) }

// word takes the next word; "" at the end.
func (p *parser) word() string {
	if p.done() {
		return ""
	}
	p.at++
	return p.words[p.at-1].in(p.text)
}

// take takes a word if it comes next.
func (p *parser) take(word string) bool {
	if p.done() || p.words[p.at].in(p.text) != word {
		return false
	}
	p.at++
	return true
}

// upTo takes the words up to one of the stops.
func (p *parser) upTo(stops ...string) (taken []string) {
	for !p.done() && !slices.Contains(stops, p.words[p.at].in(p.text)) {
		taken = append(taken, p.word())
	}
	return taken
}

// until takes the text up to one of the stops.
func (p *parser) until(stops ...string) string {
	from := p.at
	if len(p.upTo(stops...)) == 0 {
		return ""
	}
	return p.text[p.words[from].from:p.words[p.at-1].to]
}

func (p *parser) errorf(format string, args ...any) error {
	return engram.Errorf(engram.Invalid, "condition", "%s: %s", fmt.Sprintf(format, args...), p.text)
}
