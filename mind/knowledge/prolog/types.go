package prolog

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// typePredicates are those over kinds of terms and characters, variants, and values that
// backtracking leaves.
func typePredicates() map[string]map[int]builtin {
	variants := func(want bool) map[int]builtin {
		return map[int]builtin{2: func(m *machine, args []Term) (bool, error) {
			is, err := m.variant(args[0], args[1], map[*Var]*Var{}, map[*Var]*Var{}, 0)
			return is == want && err == nil, err
		}}
	}
	return map[string]map[int]builtin{
		"=@=":        variants(true),
		"\\=@=":      variants(false),
		"numbervars": {1: numberVars, 3: numberVars},
		"must_be":    {2: mustBe},
		"is_of_type": {2: func(m *machine, args []Term) (bool, error) {
			is, _, err := m.ofType(args[0], args[1])
			return is, err
		}},
		"get_time": {1: func(m *machine, args []Term) (bool, error) {
			return m.unify(args[0], Float(float64(time.Now().UnixNano())/1e9))
		}},
		"char_type": {2: charType(func(r rune) Term { return Atom(string(r)) })},
		"code_type": {2: charType(func(r rune) Term { return Int(r) })},
		"nb_setval": {2: setGlobal},
		"nb_getval": {2: getGlobal},
	}
}

// variant tells whether two terms are the same but for the names of their variables.
func (h *heap) variant(a, b Term, to, from map[*Var]*Var, depth int) (bool, error) {
	if depth > maxNesting {
		return false, errNesting
	}
	for {
		if err := h.spend(1); err != nil {
			return false, err
		}
		a, b = deref(a), deref(b)
		if x, ok := a.(*Var); ok {
			y, ok := b.(*Var)
			if !ok || to[x] != nil && to[x] != y || from[y] != nil && from[y] != x {
				return false, nil
			}
			to[x], from[y] = y, x
			return true, nil
		}
		x, ok1 := a.(*Compound)
		y, ok2 := b.(*Compound)
		if !ok1 || !ok2 {
			if ok1 || ok2 || isFree(b) {
				return false, nil
			}
			c, err := h.compare(a, b, 0)
			return c == 0, err
		}
		if x.name != y.name || len(x.args) != len(y.args) {
			return false, nil
		}
		last := len(x.args) - 1
		for i := range last {
			if is, err := h.variant(x.args[i], y.args[i], to, from, depth+1); !is {
				return false, err
			}
		}
		a, b = x.args[last], y.args[last]
	}
}

// numberVars is numbervars/1 and numbervars/3: each variable becomes $VAR(N).
func numberVars(m *machine, args []Term) (bool, error) {
	n := Int(0)
	if len(args) == 3 {
		var err error
		if n, err = integerArg(args[1]); err != nil {
			return false, err
		}
	}
	var vars []Term
	if err := m.variables(args[0], map[*Var]bool{}, &vars); err != nil {
		return false, err
	}
	if err := m.charge(96 * len(vars)); err != nil {
		return false, err
	}
	for _, v := range vars {
		m.bind(v.(*Var), newTerm("$VAR", n))
		n++
	}
	if len(args) == 1 {
		return true, nil
	}
	return m.unify(args[2], n)
}

// ofType tells whether a term is of a type; known is false while it is too little known for that.
func (m *machine) ofType(kind, t Term) (is, known bool, err error) {
	t = deref(t)
	_, free := t.(*Var)
	isInt := isInteger(t)
	positive := isInt && compareNumbers(t, Int(0)) > 0
	_, isAtom := t.(Atom)
	_, isString := t.(String)
	_, isFloat := t.(Float)
	switch name := deref(kind).(type) {
	case Atom:
		switch name {
		case "any":
			return true, true, nil
		case "var":
			return free, true, nil
		case "integer":
			is = isInt
		case "nonneg":
			is = positive || t == Term(Int(0))
		case "positive_integer":
			is = positive
		case "float":
			is = isFloat
		case "number":
			is = isNumber(t)
		case "atom", "symbol":
			is = isAtom
		case "string":
			is = isString
		case "text":
			is = isAtom || isString
		case "atomic":
			is = isAtomic(t)
		case "compound":
			_, is = t.(*Compound)
		case "callable":
			_, compound := t.(*Compound)
			is = isAtom || compound
		case "boolean", "bool":
			is = t == Term(atomTrue) || t == Term(atomFalse)
		case "list", "proper_list":
			_, partial, ok, err := m.listTerms(t)
			return ok, !partial, err
		case "list_or_partial_list":
			_, partial, ok, err := m.listTerms(t)
			return ok || partial, true, err
		case "ground":
			var err error
			is = true
			m.walk(t, &err, func(*Var) { is = false })
			return is, true, err
		default:
			return false, true, thrown(newTerm("existence_error", Atom("type"), name), "there is no type %s", name)
		}
		return is, !free, nil
	case *Compound:
		if name.name == "oneof" && len(name.args) == 1 {
			among, err := m.listArg(name.args[0])
			for _, x := range among {
				if c, err := m.compare(x, t, 0); err != nil || c == 0 {
					return err == nil, true, err
				}
			}
			return false, !free, err
		}
		if name.name == "between" && len(name.args) == 2 {
			low, err := m.eval(name.args[0])
			if err != nil {
				return false, true, err
			}
			high, err := m.eval(name.args[1])
			if err != nil {
				return false, true, err
			}
			return isNumber(t) && compareNumbers(low, t) <= 0 && compareNumbers(t, high) <= 0, !free, nil
		}
	case *Var:
		return false, true, instantiationError()
	}
	return false, true, thrown(newTerm("existence_error", Atom("type"), deref(kind)), "there is no type %s", show(kind))
}

func mustBe(m *machine, args []Term) (bool, error) {
	is, known, err := m.ofType(args[0], args[1])
	switch {
	case err != nil || is:
		return is, err
	case !known:
		return false, instantiationError()
	}
	t, kind := deref(args[1]), deref(args[0])
	if i, ok := t.(Int); ok && (kind == Term(Atom("nonneg")) || kind == Term(Atom("positive_integer"))) {
		if kind == Term(Atom("nonneg")) {
			return false, typeError("nonneg", i)
		}
		return false, typeError("not_less_than_one", i)
	}
	if kind == Term(Atom("list_or_partial_list")) {
		return false, typeError("list", t)
	}
	if name, ok := kind.(Atom); ok {
		return false, typeError(name, t)
	}
	return false, domainError(Atom(show(kind)), t)
}

// charTypes are the kinds of characters.
var charTypes = map[Atom]func(r rune) bool{
	"alpha": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' },
	"alnum": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) },
	"digit": unicode.IsDigit,
	"space": unicode.IsSpace,
	"white": func(r rune) bool { return r == ' ' || r == '\t' },
	"upper": unicode.IsUpper,
	"lower": unicode.IsLower,
	"punct": func(r rune) bool {
		return r > ' ' && r != 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r) && unicode.IsGraphic(r)
	},
	"csym":    func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' },
	"csymf":   func(r rune) bool { return unicode.IsLetter(r) || r == '_' },
	"graph":   func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) },
	"print":   unicode.IsPrint,
	"ascii":   func(r rune) bool { return r < 0x80 },
	"cntrl":   unicode.IsControl,
	"newline": func(r rune) bool { return r == '\n' },
}

// charType is char_type/2 and code_type/2 of a known character.
func charType(as func(rune) Term) builtin {
	return func(m *machine, args []Term) (bool, error) {
		var r rune
		switch c := deref(args[0]).(type) {
		case Int:
			r = rune(c)
		case Atom:
			if utf8.RuneCountInString(string(c)) != 1 {
				return false, typeError("character", c)
			}
			r, _ = utf8.DecodeRuneInString(string(c))
		case *Var:
			// Only the character of a digit's weight is looked for.
			if kind, ok := isFunctor(deref(args[1]), "digit", 1); ok {
				if w, ok := deref(kind.args[0]).(Int); ok && w >= 0 && w <= 9 {
					return m.unify(c, as('0'+rune(w)))
				}
			}
			return false, instantiationError()
		default:
			return false, typeError("character", c)
		}
		switch kind := deref(args[1]).(type) {
		case Atom:
			if is, ok := charTypes[kind]; ok {
				return is(r), nil
			}
			return false, domainError("char_type", kind)
		case *Compound:
			if len(kind.args) == 1 {
				switch kind.name {
				case "digit":
					if r < '0' || r > '9' {
						return false, nil
					}
					return m.unify(kind.args[0], Int(r-'0'))
				case "lower":
					if !unicode.IsLower(r) {
						return false, nil
					}
					return m.unify(kind.args[0], as(unicode.ToUpper(r)))
				case "upper":
					if !unicode.IsUpper(r) {
						return false, nil
					}
					return m.unify(kind.args[0], as(unicode.ToLower(r)))
				case "to_lower":
					return m.unify(kind.args[0], as(unicode.ToUpper(r)))
				case "to_upper":
					return m.unify(kind.args[0], as(unicode.ToLower(r)))
				}
			}
			return false, domainError("char_type", kind)
		default:
			return false, wanted("char_type", kind)
		}
	}
}

// setGlobal is nb_setval/2: the value outlives backtracking, and ends with the question.
func setGlobal(m *machine, args []Term) (bool, error) {
	key, ok := deref(args[0]).(Atom)
	if !ok {
		return false, wanted("atom", deref(args[0]))
	}
	t, err := m.copyTerm(args[1], map[*Var]Term{}, 0)
	if err == nil {
		err = m.charge(len(key) + 64)
	}
	if err != nil {
		return false, err
	}
	if m.globals == nil {
		m.globals = map[Atom]Term{}
	}
	m.globals[key] = t
	return true, nil
}

func getGlobal(m *machine, args []Term) (bool, error) {
	key, ok := deref(args[0]).(Atom)
	if !ok {
		return false, wanted("atom", deref(args[0]))
	}
	value, ok := m.globals[key]
	if !ok {
		return false, thrown(newTerm("existence_error", Atom("variable"), key), "nothing was set as %s", key)
	}
	return m.unify(args[1], value)
}
