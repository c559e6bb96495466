package pattern

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Parse reads a question. An error says at which column.
func Parse(text string) (*Question, error) {
	q := &Question{}
	err := reading("the question", text, func(p *parser) {
		q.Body = p.clauses(q)
		if len(q.Body) == 0 {
			p.fail(p.tok.pos, "a question has a triple at least, such as ?x type Door")
		}
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

type parser struct {
	lexer
	depth int
	n     int // clauses
}

func (p *parser) unexpected(wanted string) {
	found := "the end"
	if p.tok.kind != tokenEnd {
		found = p.text[p.tok.pos:p.tok.end]
	}
	if found == wanted {
		found = "more"
	}
	p.fail(p.tok.pos, "%s is wanted here, not %s", wanted, found)
}

// is says whether the token is a sign or keyword.
func (p *parser) is(word string) bool {
	return (p.tok.kind == tokenSign || p.tok.kind == tokenName && !p.tok.quoted) && p.tok.text == word
}

// take reads a sign or keyword, if it is there.
func (p *parser) take(word string) bool {
	if !p.is(word) {
		return false
	}
	p.next()
	return true
}

func (p *parser) want(word string) {
	if !p.take(word) {
		p.unexpected(word)
	}
}

func (p *parser) deeper() {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.tok.pos, "it is nested more than %d deep", maxNesting)
	}
}

// endings are the words that say something of the whole question.
var endings = []string{"select", "distinct", "limit", "order", "count", "certain", "mode", "prefix"}

// clauses reads what stands between separators. Of a part of a question q is nil.
func (p *parser) clauses(q *Question) []Clause {
	var all []Clause
	for {
		for p.take(";") || p.take(".") {
		}
		switch {
		case p.tok.kind == tokenEnd || p.is("}"):
			return all
		case p.tok.kind == tokenName && !p.tok.quoted && slices.Contains(endings, p.tok.text):
			if q == nil {
				p.fail(p.tok.pos, "%s stands outside of braces", p.tok.text)
			}
			p.ending(q)
		default:
			if p.n++; p.n > maxClauses {
				p.fail(p.tok.pos, "there are more than %d clauses", maxClauses)
			}
			all = append(all, p.clause())
		}
		ends := p.tok.kind == tokenEnd || p.is("}") || p.is(";") || p.is(".") || p.is("where") ||
			p.tok.kind == tokenName && !p.tok.quoted && slices.Contains(endings, p.tok.text)
		if !ends {
			p.unexpected(";")
		}
	}
}

func (p *parser) clause() Clause {
	pos := p.tok.pos
	switch {
	case p.take("!"):
		return Clause{Not: p.group(), pos: pos}
	case p.take("not"):
		return Clause{Not: p.group(), pos: pos}
	case p.take("optional"):
		return Clause{Optional: p.group(), pos: pos}
	case p.is("where"):
		c := Clause{pos: p.tok.end}
		from := p.tok.end
		to := conditionEnd(p.text, from)
		c.Where = strings.TrimSpace(p.text[from:to])
		c.pos += strings.Index(p.text[from:to], c.Where)
		if c.Where == "" {
			p.fail(pos, "where is followed by a condition, such as ?h > 2.0")
		}
		p.scan(to)
		return c
	}
	return p.triple()
}

// group reads clauses in braces, or a triple without.
func (p *parser) group() []Clause {
	p.deeper()
	defer func() { p.depth-- }()
	if !p.is("{") {
		return []Clause{p.triple()}
	}
	pos := p.tok.pos
	p.next()
	all := p.clauses(nil)
	p.want("}")
	if len(all) == 0 {
		p.fail(pos, "there is nothing in the braces")
	}
	return all
}

func (p *parser) triple() Clause {
	c := Clause{Triple: &Triple{}, pos: p.tok.pos}
	c.Triple.S = p.term()
	if c.Triple.S.isLiteral() {
		p.fail(c.pos, "a literal has no properties: the subject is a variable, a name or an IRI")
	}
	c.Triple.P = p.path()
	c.Triple.O = p.term()
	return c
}

func (p *parser) path() Path {
	var path Path
	path.Inverse = p.take("^")
	pos := p.tok.pos
	path.Property = p.simple()
	switch path.Property.kind {
	case variable, named:
	case exact:
		if path.Property.term.Kind != rdf.IRI {
			p.fail(pos, "a property is wanted here, not a literal")
		}
	default:
		p.fail(pos, "a property is wanted here: a name, an IRI or a variable")
	}
	switch {
	case p.take("+"):
		path.Repeat = OneOrMore
	case p.take("*"):
		path.Repeat = ZeroOrMore
	}
	if path.Repeat != Once && path.Property.kind == variable {
		p.fail(pos, "a variable stands for one step; + and * need a property")
	}
	return path
}

// term reads a place of a triple.
func (p *parser) term() Term {
	if p.is("(") {
		pos := p.tok.pos
		p.next()
		class := p.class()
		p.want(")")
		return Term{kind: ofClass, class: class, pos: pos}
	}
	return p.simple()
}

// simple reads a term that is not a class expression.
func (p *parser) simple() Term {
	t := p.tok
	it := Term{text: t.text, pos: t.pos}
	switch {
	case t.kind == tokenVar:
		it.kind = variable
	case t.kind == tokenName && !t.quoted && t.text == "_":
		it.kind, it.text = anything, ""
	case t.kind == tokenName && !t.quoted && (t.text == "true" || t.text == "false"):
		it.kind = boolean
	case t.kind == tokenName:
		it.kind = named
	case t.kind == tokenIRI:
		it.kind, it.text, it.term = exact, "", rdf.NewIRI(t.text)
	case t.kind == tokenNumber:
		it.kind = number
	case t.kind == tokenRegexp:
		if _, _, err := bounded(t.text); err != nil {
			p.fail(t.pos, "%v", err)
		}
		it.kind = expression
	case t.kind == tokenText:
		return p.literal()
	default:
		p.unexpected("a variable, a name, an IRI, a text or a number")
	}
	p.next()
	return it
}

func (p *parser) literal() Term {
	it := Term{kind: anyText, text: p.tok.text, pos: p.tok.pos}
	end := p.tok.end
	p.next()
	switch {
	case p.is("@") && p.tok.pos == end:
		p.next()
		if p.tok.kind != tokenName || strings.ContainsAny(p.tok.text, ":_.") || p.tok.pos != end+1 {
			p.unexpected("a language tag")
		}
		it.kind, it.term, it.text = exact, rdf.NewTagged(it.text, p.tok.text), ""
		p.next()
	case p.is("^^") && p.tok.pos == end:
		p.next()
		it.kind, it.term = exact, rdf.NewText(it.text)
		switch p.tok.kind {
		case tokenIRI:
			it.term.Type, it.text = p.tok.text, ""
		case tokenName:
			it.text = p.tok.text // resolved later
		case tokenSign: // ^^<> is a plain literal
			if !p.take("<") || !p.is(">") {
				p.unexpected("a datatype")
			}
			it.text = ""
		default:
			p.unexpected("a datatype")
		}
		p.next()
	}
	return it
}

// ending reads what is said of the whole question.
func (p *parser) ending(q *Question) {
	word := p.tok.text
	pos := p.tok.pos
	p.next()
	switch word {
	case "select":
		if p.take("distinct") {
			q.Distinct = true
		}
		if len(q.Select) > 0 {
			p.fail(pos, "select stands once")
		}
		for {
			q.Select = append(q.Select, p.item())
			if !p.take(",") && p.tok.kind != tokenVar && !p.is("count") {
				return
			}
		}
	case "distinct":
		q.Distinct = true
	case "count":
		if len(q.Select) > 0 {
			p.fail(pos, "select and count stand once; in select it is select ?x, count")
		}
		q.Select = []Item{{Count: true}}
	case "limit":
		n, err := strconv.Atoi(p.tok.text)
		if p.tok.kind != tokenNumber || err != nil || n < 1 {
			p.unexpected("a number of rows")
		}
		q.Limit = n
		p.next()
	case "order":
		p.want("by")
		p.order(q)
	case "certain":
		p.want(">=")
		n, err := strconv.ParseFloat(p.tok.text, 64)
		if p.tok.kind != tokenNumber || err != nil || n < 0 || n > 1 {
			p.unexpected("a probability from 0 to 1")
		}
		q.Certain = n
		p.next()
	case "mode":
		mode, ok := modes[p.tok.text]
		if p.tok.kind != tokenName || !ok {
			p.unexpected("owl, rdfs or plain")
		}
		q.Mode = mode
		p.next()
	case "prefix":
		name, ok := strings.CutSuffix(p.tok.text, ":")
		if p.tok.kind != tokenName || !ok {
			p.unexpected("a prefix with a colon")
		}
		p.next()
		if p.tok.kind != tokenIRI {
			p.unexpected("an IRI in < and >")
		}
		if q.Prefixes == nil {
			q.Prefixes = map[string]string{}
		}
		q.Prefixes[name] = p.tok.text
		p.next()
	}
}

// order reads the columns after order by.
func (p *parser) order(q *Question) {
	for {
		o := Order{Var: p.tok.text}
		if p.tok.kind != tokenVar && !p.is("count") {
			p.unexpected("a variable or count")
		}
		p.next()
		if o.Descending = p.take("desc"); !o.Descending {
			p.take("asc")
		}
		q.Order = append(q.Order, o)
		if !p.take(",") && p.tok.kind != tokenVar {
			return
		}
	}
}

var modes = map[string]knowledge.Mode{"owl": knowledge.AsOWL, "rdfs": knowledge.AsRDFS, "plain": knowledge.AsStated}

// item reads a column of select.
func (p *parser) item() Item {
	if p.tok.kind == tokenVar {
		it := Item{Var: p.tok.text}
		p.next()
		return it
	}
	if !p.take("count") {
		p.unexpected("a variable or count")
	}
	it := Item{Count: true}
	if p.take("(") {
		if p.tok.kind != tokenVar {
			p.unexpected("a variable")
		}
		it.Var = p.tok.text
		p.next()
		p.want(")")
	}
	return it
}

// conditionEnd returns where a condition in CEL ends that begins at a place: at a semicolon, a
// brace or a word that goes on with the question, outside of quotes and brackets.
func conditionEnd(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\'':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return i
			}
			depth--
		case ';':
			return i
		default:
			word := identifier(s[i:])
			if word == "" {
				continue
			}
			before := byte(' ')
			if i > 0 {
				before = s[i-1]
			}
			if depth == 0 && (before <= ' ' || before == ')') && (word == "where" || word == "not" || word == "optional" || slices.Contains(endings, word)) &&
				!strings.HasPrefix(strings.TrimLeft(s[i+len(word):], " "), "(") {
				return i
			}
			i += len(word) - 1
		}
	}
	return len(s)
}

func (t Term) isLiteral() bool {
	switch t.kind {
	case anyText, number, expression, boolean:
		return true
	case exact:
		return t.term.Kind == rdf.Literal
	}
	return false
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
