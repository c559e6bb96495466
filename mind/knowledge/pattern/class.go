package pattern

import (
	"slices"
	"strconv"
)

// ParseClass reads a class expression in OWL's Manchester syntax
// (https://www.w3.org/TR/owl2-manchester-syntax/, section 2.4):
//
//	RoomInAConstruction and (roomNumber value "3006") and (inverse properPhysicalParts some Building)
//
// and, or, not, some, only, value, Self, min, max, exactly, inverse, { a, b }, and datatypes with
// facets such as xsd:double[>= 2.0, < 3]. What is not known is not so: "only" needs a value, as
// KnowRob has it, and max counts the values that are known.
func ParseClass(text string) (*Class, error) {
	var c *Class
	err := reading("the class expression", text, func(p *parser) { c = p.class() })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Ask returns the question whose rows are the individuals of a class, as ?individual.
func (c *Class) Ask() *Question {
	return &Question{Body: []Clause{Match(Var("individual"), A, In(c))}}
}

func (p *parser) class() *Class { return p.operands("or", classOr, p.conjunction) }

func (p *parser) conjunction() *Class { return p.operands("and", classAnd, p.primary) }

func (p *parser) operands(word string, kind classKind, operand func() *Class) *Class {
	p.deeper()
	defer func() { p.depth-- }()
	first := operand()
	if !p.is(word) && !(kind == classAnd && p.is("that")) {
		return first
	}
	all := &Class{kind: kind, of: []*Class{first}, pos: first.pos}
	for p.take(word) || kind == classAnd && p.take("that") {
		all.of = append(all.of, operand())
	}
	return all
}

var restrictionWords = []string{"some", "only", "value", "Self", "min", "max", "exactly"}

func (p *parser) primary() *Class {
	p.deeper()
	defer func() { p.depth-- }()
	if p.n++; p.n > maxClauses {
		p.fail(p.tok.pos, "there are more than %d parts", maxClauses)
	}
	pos := p.tok.pos
	switch {
	case p.take("not"):
		return &Class{kind: classNot, of: []*Class{p.primary()}, pos: pos}
	case p.take("("):
		c := p.class()
		p.want(")")
		return c
	case p.take("{"):
		c := &Class{kind: classOneOf, pos: pos}
		for {
			c.members = append(c.members, p.individual())
			if !p.take(",") {
				break
			}
		}
		p.want("}")
		return c
	case p.take("inverse"):
		c := &Class{inverse: true, pos: pos}
		parens := p.take("(")
		c.property = p.thing("a property")
		if parens {
			p.want(")")
		}
		return p.restriction(c)
	}
	name := p.thing("a class or a property")
	if p.tok.kind == tokenName && !p.tok.quoted && slices.Contains(restrictionWords, p.tok.text) {
		return p.restriction(&Class{property: name, pos: pos})
	}
	c := &Class{kind: classNamed, name: name, pos: pos}
	if p.take("[") {
		c.kind = classData
		for {
			c.facets = append(c.facets, p.facet())
			if !p.take(",") {
				break
			}
		}
		p.want("]")
	}
	return c
}

// thing reads a name or an IRI.
func (p *parser) thing(what string) Term {
	if p.tok.kind != tokenName && p.tok.kind != tokenIRI || p.is("_") || p.is("true") || p.is("false") {
		p.unexpected(what)
	}
	return p.simple()
}

func (p *parser) individual() Term {
	if t := p.tok.kind; t == tokenText || t == tokenNumber || p.is("true") || p.is("false") {
		return p.simple()
	}
	return p.thing("an individual or a literal")
}

func (p *parser) restriction(c *Class) *Class {
	word := p.tok.text
	if p.tok.kind != tokenName || !slices.Contains(restrictionWords, word) {
		p.unexpected("some, only, value, Self, min, max or exactly")
	}
	p.next()
	switch word {
	case "some", "only":
		c.kind = classSome
		if word == "only" {
			c.kind = classOnly
		}
		c.of = []*Class{p.primary()}
	case "value":
		c.kind = classValue
		if p.tok.kind == tokenRegexp {
			c.value = p.simple()
		} else {
			c.value = p.individual()
		}
	case "Self":
		c.kind = classSelf
	default:
		c.kind = map[string]classKind{"min": classMin, "max": classMax, "exactly": classExactly}[word]
		n, err := strconv.Atoi(p.tok.text)
		if p.tok.kind != tokenNumber || err != nil || n < 0 {
			p.unexpected("a number of values")
		}
		c.n = n
		p.next()
		begins := p.is("(") || p.is("{") || p.tok.kind == tokenIRI ||
			p.tok.kind == tokenName && (p.tok.quoted || !slices.Contains([]string{"and", "or", "that"}, p.tok.text))
		if begins {
			c.of = []*Class{p.primary()}
		}
	}
	return c
}

var facetWords = []string{"length", "minLength", "maxLength", "pattern", "langRange"}

func (p *parser) facet() facet {
	f := facet{name: p.tok.text}
	pos := p.tok.pos
	compares := slices.Contains([]string{">=", ">", "<=", "<"}, f.name) && p.tok.kind == tokenSign
	if !compares && (p.tok.kind != tokenName || !slices.Contains(facetWords, f.name)) {
		p.unexpected(">=, >, <=, <, length, minLength, maxLength, pattern or langRange")
	}
	p.next()
	if p.tok.kind != tokenText && p.tok.kind != tokenNumber {
		p.unexpected("a literal")
	}
	f.value = p.simple()
	if err := f.prepare(); err != nil {
		p.fail(pos, "%v", err)
	}
	return f
}
