package prolog

import (
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// object is what an argument in the place of an object asks for.
type object struct {
	none      bool // nothing can answer it
	term      rdf.Term
	isLiteral bool
	pattern   knowledge.Pattern
	keep      func(rdf.Term) bool // a further condition
	// value is what the answer's literal is unified with; nil for none.
	value Term
	// whole is what the whole answer is unified with; nil for none.
	whole Term
}

func (o *object) unify(m *machine, t rdf.Term) (bool, error) {
	switch {
	case o.whole != nil:
		return m.unify(o.whole, termOf(t))
	case o.value == nil:
		return true, nil
	}
	return m.unifyLiteral(o.value, t)
}

// unifyLiteral unifies with type(T, V) or lang(L, V), or, if these do not fit, with V.
func (h *heap) unifyLiteral(value Term, t rdf.Term) (bool, error) {
	value = deref(value)
	if t.Type != "" || t.Lang != "" {
		if c, ok := value.(*Compound); ok && len(c.args) == 2 {
			qualifier := t.Type
			want := Atom("type")
			if t.Lang != "" {
				want, qualifier = "lang", t.Lang
			}
			if c.name != want {
				return false, nil
			}
			if ok, err := h.unify(c.args[0], Atom(qualifier)); !ok {
				return false, err
			}
			return h.unifyText(c.args[1], t.Value)
		}
		if isFree(value) {
			return h.unify(value, literalValue(t))
		}
	}
	return h.unifyText(value, t.Value)
}

// unifyText unifies a variable with the text as an atom, and compares other terms with it.
func (h *heap) unifyText(value Term, text string) (bool, error) {
	value = deref(value)
	if s, ok, err := h.textOf(value); ok || err != nil {
		return err == nil && s == text, err
	}
	return h.unify(value, Atom(text))
}

// objectOf reads an argument whose prefixes are expanded.
func (h *heap) objectOf(t Term) (o object, err error) {
	switch t := t.(type) {
	case *Var:
		o.whole = t
		return o, nil
	case *Compound:
		if t.name == "literal" && len(t.args) == 1 {
			o.isLiteral = true
			return o, o.literal(h, t.args[0])
		}
		if t.name == "literal" && len(t.args) == 2 {
			o.isLiteral, o.value = true, t.args[1]
			return o, o.condition(h, deref(t.args[0]))
		}
		return o, typeError("object", t)
	}
	r, ok, err := resource(t)
	o.term, o.none = r, !ok
	return o, err
}

// literal reads the argument of literal/1.
func (o *object) literal(h *heap, value Term) error {
	value = deref(value)
	if text, ok, err := h.textOf(value); ok || err != nil {
		o.pattern = knowledge.Pattern{Match: knowledge.Same, Text: text}
		return err
	}
	o.value = value
	c, ok := value.(*Compound)
	if !ok {
		return nil
	}
	if len(c.args) != 2 || c.name != "type" && c.name != "lang" {
		return typeError("literal", c)
	}
	qualifier, isText, err := h.textOf(c.args[0])
	if err != nil {
		return err
	}
	if !isText && !isFree(c.args[0]) {
		return typeError("atom", deref(c.args[0]))
	}
	if c.name == "type" {
		o.pattern.Qualifier, o.pattern.Type = knowledge.Typed, qualifier
	} else {
		o.pattern.Qualifier, o.pattern.Lang = knowledge.Tagged, qualifier
	}
	text, ok, err := h.textOf(c.args[1])
	if ok {
		o.pattern.Match, o.pattern.Text = knowledge.Same, text
	}
	return err
}

// matches are the conditions of literal/2 on a text.
var matches = map[Atom]knowledge.TextMatch{
	"exact": knowledge.Exact, "icase": knowledge.Exact, "prefix": knowledge.Prefix, "substring": knowledge.Substring,
	"word": knowledge.Word, "like": knowledge.Like, "plain": knowledge.Same,
}

// condition reads the first argument of literal/2.
func (o *object) condition(h *heap, t Term) error {
	c, ok := t.(*Compound)
	if !ok {
		return wanted("condition", t)
	}
	arg := deref(c.args[0])
	if match, ok := matches[c.name]; ok && len(c.args) == 1 {
		text, ok, err := h.textOf(arg)
		if err != nil {
			return err
		}
		if !ok {
			return wanted("text", arg)
		}
		o.pattern = knowledge.Pattern{Match: match, Text: text}
		if c.name == "plain" {
			o.pattern.Qualifier = knowledge.Plain
		}
		return nil
	}
	// Orders: by what literals mean.
	holds, ok := map[Atom]func(int) bool{
		"eq": func(c int) bool { return c == 0 }, "lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
		"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
	}[c.name]
	switch {
	case ok && len(c.args) == 1:
		compare, err := h.comparison(arg)
		if err != nil {
			return err
		}
		o.keep = func(t rdf.Term) bool {
			c, ok := compare(t)
			return ok && holds(c)
		}
		return nil
	case c.name == "between" && len(c.args) == 2:
		low, err := h.comparison(arg)
		if err != nil {
			return err
		}
		high, err := h.comparison(deref(c.args[1]))
		if err != nil {
			return err
		}
		o.keep = func(t rdf.Term) bool {
			a, ok1 := low(t)
			b, ok2 := high(t)
			return ok1 && ok2 && a >= 0 && b <= 0
		}
		return nil
	}
	return domainError("condition", c)
}

// comparison returns how literals compare with a bound: type(T, V), lang(L, V), a number, or a text, which is a number if it
// is written as one. A bound without a language is compared with the text of a literal that has one.
func (h *heap) comparison(bound Term) (func(t rdf.Term) (c int, ok bool), error) {
	limit, ok, err := h.literalOf(bound)
	if err == nil && !ok {
		err = wanted("number", bound)
	}
	if err != nil {
		return nil, err
	}
	if number, ok := rdf.NewNumber(limit.Value); ok && limit.Type == "" && limit.Lang == "" {
		limit = number
	}
	return func(t rdf.Term) (int, bool) {
		if limit.Type == "" && limit.Lang == "" && t.Lang != "" {
			t = rdf.NewText(t.Value)
		}
		return rdf.Compare(t, limit)
	}, nil
}
