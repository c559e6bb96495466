package prolog

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textOf is the function textOf within limits: what the digits of a big integer take is counted before.
func (h *heap) textOf(t Term) (s string, ok bool, err error) {
	t = deref(t)
	if z, isBig := t.(*big.Int); isBig {
		if err := h.charge(z.BitLen()); err != nil {
			return "", false, err
		}
	}
	s, ok = textOf(t)
	return s, ok, nil
}

// atomicText returns the text of an atomic term; that a term is none is an error.
func (h *heap) atomicText(t Term) (string, error) {
	s, ok, err := h.textOf(t)
	if err == nil && !ok {
		err = wanted("atomic", deref(t))
	}
	return s, err
}

// textArg returns the text of an argument: of an atomic term, or of a list of codes or
// characters.
func (h *heap) textArg(t Term) (string, error) {
	t = deref(t)
	if _, ok := isFunctor(t, atomDot, 2); ok || t == Term(atomNil) {
		terms, err := h.listArg(t)
		if err != nil {
			return "", err
		}
		if err := h.charge(4 * len(terms)); err != nil {
			return "", err
		}
		var b strings.Builder
		for _, t := range terms {
			switch t := deref(t).(type) {
			case Int:
				if t < 0 || t > unicode.MaxRune {
					return "", typeError("character_code", t)
				}
				b.WriteRune(rune(t))
			case Atom:
				if utf8.RuneCountInString(string(t)) != 1 {
					return "", typeError("character", t)
				}
				b.WriteString(string(t))
			default:
				return "", wanted("character", t)
			}
		}
		return b.String(), nil
	}
	return h.atomicText(t)
}

func isFree(t Term) bool {
	_, ok := deref(t).(*Var)
	return ok
}

// parseNumber reads a number as Prolog writes one, with a sign before it; nil if it is none.
func parseNumber(s string) Term {
	sign, rest := "", s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, rest = s[:1], s[1:]
	}
	if rest == "" || !isDecimal(rune(rest[0])) {
		return nil
	}
	l := lexer{text: s, at: len(sign)}
	n, err := l.number()
	if err != nil || l.at != len(s) {
		return nil
	}
	if sign == "-" {
		switch n := n.(type) {
		case Int, *big.Int:
			t, _ := unary("-", n)
			return t
		case Float:
			return -n
		}
	}
	return n
}

func codes(s string) Term {
	var out []Term
	for _, r := range s {
		out = append(out, Int(r))
	}
	return listOf(out, atomNil)
}

func chars(s string) Term {
	var out []Term
	for _, r := range s {
		out = append(out, Atom(string(r)))
	}
	return listOf(out, atomNil)
}

// converts is a predicate between a text and another form of it: from the first argument if
// it is known, and back from the second otherwise.
func converts(to func(string) Term, back func(string) Term) map[int]builtin {
	return map[int]builtin{2: func(m *machine, args []Term) (bool, error) {
		if !isFree(args[0]) {
			s, err := m.textArg(args[0])
			if err != nil {
				return false, err
			}
			if err := m.charge(120 * len(s)); err != nil {
				return false, err
			}
			t := to(s)
			if t == nil {
				return false, nil
			}
			return m.unify(args[1], t)
		}
		s, err := m.textArg(args[1])
		if err != nil {
			return false, err
		}
		t := back(s)
		if t == nil {
			return false, nil
		}
		return m.unify(args[0], t)
	}}
}

func asAtom(s string) Term   { return Atom(s) }
func asString(s string) Term { return String(s) }

// mapped is a predicate whose second argument is what f makes of the first one's text.
func mapped(f func(string) Term) map[int]builtin {
	return map[int]builtin{2: func(m *machine, args []Term) (bool, error) {
		s, err := m.textArg(args[0])
		if err != nil {
			return false, err
		}
		if err := m.charge(120 + 2*len(s)); err != nil {
			return false, err
		}
		return m.unify(args[1], f(s))
	}}
}

// orNumber reads a text as a number if it is one, as an atom otherwise.
func orNumber(s string) Term {
	if n := parseNumber(s); n != nil {
		return n
	}
	return Atom(s)
}

// textPredicates are those over texts.
func textPredicates() map[string]map[int]builtin {
	return map[string]map[int]builtin{
		"atom_number":   {2: atomNumber},
		"number_string": {2: numberString},
		"term_string":   {2: termToAtom(asString)},
		"term_to_atom":  {2: termToAtom(asAtom)},
		"atom_to_term":  {3: atomToTerm},
		"read_term_from_atom": {3: func(m *machine, args []Term) (bool, error) {
			return termToAtom(asAtom)(m, []Term{args[1], args[0]})
		}},
		"sformat":    {3: formatTo},
		"atom_codes": converts(codes, asAtom),
		"atom_chars": converts(chars, asAtom),
		"char_code": {2: func(m *machine, args []Term) (bool, error) {
			if a, ok := deref(args[0]).(Atom); ok {
				r, n := utf8.DecodeRuneInString(string(a))
				if n == 0 || n != len(a) {
					return false, typeError("character", a)
				}
				return m.unify(args[1], Int(r))
			}
			c, err := integerArg(args[1])
			if err != nil {
				return false, err
			}
			if c < 0 || c > unicode.MaxRune {
				return false, typeError("character_code", c)
			}
			return m.unify(args[0], Atom(string(rune(c))))
		}},
		"number_codes":       numberText(codes),
		"number_chars":       numberText(chars),
		"name":               converts(codes, orNumber),
		"atom_string":        converts(asString, asAtom),
		"string_chars":       converts(chars, asString),
		"string_codes":       converts(codes, asString),
		"string_to_atom":     converts(asAtom, asString),
		"text_to_string":     mapped(asString),
		"atom_length":        mapped(func(s string) Term { return Int(utf8.RuneCountInString(s)) }),
		"string_length":      mapped(func(s string) Term { return Int(utf8.RuneCountInString(s)) }),
		"upcase_atom":        mapped(func(s string) Term { return Atom(strings.ToUpper(s)) }),
		"downcase_atom":      mapped(func(s string) Term { return Atom(strings.ToLower(s)) }),
		"string_upper":       mapped(func(s string) Term { return String(strings.ToUpper(s)) }),
		"string_lower":       mapped(func(s string) Term { return String(strings.ToLower(s)) }),
		"atom_concat":        {3: concat(asAtom)},
		"string_concat":      {3: concat(asString)},
		"sub_atom":           {5: subText(asAtom)},
		"sub_string":         {5: subText(asString)},
		"atomic_list_concat": {2: func(m *machine, args []Term) (bool, error) { return joinList(m, args[0], "", nil, args[1]) }, 3: listConcat},
		"atomics_to_string":  {2: joinAtomics},
		"split_string":       {4: splitString},
	}
}

// numberText is number_codes/2 and number_chars/2.
func numberText(to func(string) Term) map[int]builtin {
	return map[int]builtin{2: func(m *machine, args []Term) (bool, error) {
		n := deref(args[0])
		if _, free := n.(*Var); !free {
			if !isNumber(n) {
				return false, typeError("number", n)
			}
			s, err := m.atomicText(n)
			if err != nil {
				return false, err
			}
			if err := m.charge(120 * len(s)); err != nil {
				return false, err
			}
			return m.unify(args[1], to(s))
		}
		s, err := m.textArg(args[1])
		if err != nil {
			return false, err
		}
		number := parseNumber(strings.TrimLeft(s, " \t\n"))
		if number == nil {
			return false, thrown(newTerm("syntax_error", Atom("illegal_number")), "%s is no number", show(Atom(s)))
		}
		return m.unify(n, number)
	}}
}

func atomNumber(m *machine, args []Term) (bool, error) {
	switch a := deref(args[0]).(type) {
	case Atom, String:
		s, _ := textOf(a)
		n := parseNumber(s)
		if n == nil {
			return false, nil
		}
		return m.unify(args[1], n)
	case *Var:
		n := deref(args[1])
		if !isNumber(n) {
			return false, wanted("number", n)
		}
		s, err := m.atomicText(n)
		if err != nil {
			return false, err
		}
		return m.unify(a, Atom(s))
	default:
		return false, typeError("atom", a)
	}
}

func numberString(m *machine, args []Term) (bool, error) {
	if !isFree(args[1]) {
		s, err := m.textArg(args[1])
		if err != nil {
			return false, err
		}
		n := parseNumber(strings.TrimSpace(s))
		if n == nil {
			return false, nil
		}
		return m.unify(args[0], n)
	}
	s, err := m.textArg(args[0])
	if err != nil {
		return false, err
	}
	return m.unify(args[1], String(s))
}

// termToAtom is term_to_atom/2 and term_string/2.
func termToAtom(as func(string) Term) builtin {
	return func(m *machine, args []Term) (bool, error) {
		if isFree(args[0]) {
			t, _, err := m.readText(args[1])
			if err != nil {
				return false, err
			}
			return m.unify(args[0], t)
		}
		s, err := m.text(args[0], writer{quoted: true})
		if err != nil {
			return false, err
		}
		return m.unify(args[1], as(s))
	}
}

func atomToTerm(m *machine, args []Term) (bool, error) {
	t, vars, err := m.readText(args[0])
	if err != nil {
		return false, err
	}
	var bindings []Term
	for _, n := range vars {
		bindings = append(bindings, newTerm("=", Atom(n.name), n.v))
	}
	if ok, err := m.unify(args[1], t); !ok {
		return false, err
	}
	return m.unify(args[2], listOf(bindings, atomNil))
}

// readText reads the term that a text is.
func (m *machine) readText(from Term) (Term, []namedVar, error) {
	s, err := m.textArg(from)
	if err != nil {
		return nil, nil, err
	}
	if err := m.charge(200 * len(s)); err != nil {
		return nil, nil, err
	}
	r := newReader(s, 0, false, m.newVar)
	r.ops = m.program.operators
	t, err := r.whole()
	if syntax, ok := err.(*syntaxError); ok {
		return nil, nil, thrown(newTerm("syntax_error", Atom(syntax.msg)), "the text %s is no term: %s: %s", show(Atom(s)), place(s, syntax.at, false), syntax.msg)
	}
	return t, r.vars, err
}

// concat is atom_concat/3 and string_concat/3.
func concat(as func(string) Term) builtin {
	return func(m *machine, args []Term) (bool, error) {
		if !isFree(args[0]) && !isFree(args[1]) {
			a, err := m.textArg(args[0])
			if err != nil {
				return false, err
			}
			b, err := m.textArg(args[1])
			if err != nil {
				return false, err
			}
			if err := m.charge(len(a) + len(b) + 16); err != nil {
				return false, err
			}
			if !isFree(args[2]) { // the third may be a number or a string
				c, err := m.textArg(args[2])
				return err == nil && c == a+b, err
			}
			return m.unify(args[2], as(a+b))
		}
		whole, err := m.textArg(args[2])
		if err != nil {
			return false, err
		}
		if !isFree(args[0]) {
			a, err := m.textArg(args[0])
			if err != nil || !strings.HasPrefix(whole, a) {
				return false, err
			}
			return m.unify(args[1], as(whole[len(a):]))
		}
		if !isFree(args[1]) {
			b, err := m.textArg(args[1])
			if err != nil || !strings.HasSuffix(whole, b) {
				return false, err
			}
			return m.unify(args[0], as(whole[:len(whole)-len(b)]))
		}
		at := 0
		return m.choose(alternatives{next: func() (bool, bool, error) {
			i := at
			_, n := utf8.DecodeRuneInString(whole[i:])
			at += n
			if err := m.charge(32); err != nil {
				return false, false, err
			}
			ok, err := m.unify(args[0], as(whole[:i]))
			if ok {
				ok, err = m.unify(args[1], as(whole[i:]))
			}
			return ok, i < len(whole), err
		}})
	}
}

// subText is sub_atom/5 and sub_string/5: text, before, length, after, part.
func subText(as func(string) Term) builtin {
	return func(m *machine, args []Term) (bool, error) {
		s, err := m.textArg(args[0])
		if err != nil {
			return false, err
		}
		if !isFree(args[4]) {
			return subKnown(m, s, args)
		}
		size := utf8.RuneCountInString(s)
		if err := m.charge(8 * size); err != nil {
			return false, err
		}
		offsets := make([]int, 0, size+1) // of each character
		for i := range s {
			offsets = append(offsets, i)
		}
		offsets = append(offsets, len(s))
		known := func(t Term) (int, bool, error) {
			if isFree(t) {
				return 0, false, nil
			}
			n, err := integerArg(t)
			return int(max(-1, min(n, Int(size)+1))), true, err
		}
		before, hasBefore, err := known(args[1])
		if err != nil {
			return false, err
		}
		length, hasLength, err := known(args[2])
		if err != nil {
			return false, err
		}
		after, hasAfter, err := known(args[3])
		if err != nil {
			return false, err
		}
		give := func(b, l int) (bool, error) {
			if b < 0 || l < 0 || b+l > size {
				return false, nil
			}
			if err := m.charge(64); err != nil {
				return false, err
			}
			for i, n := range []int{b, l, size - b - l} {
				if ok, err := m.unify(args[i+1], Int(n)); !ok {
					return false, err
				}
			}
			return m.unify(args[4], as(s[offsets[b]:offsets[b+l]]))
		}
		switch {
		case hasBefore && hasLength:
			return give(before, length)
		case hasBefore && hasAfter:
			return give(before, size-before-after)
		case hasLength && hasAfter:
			return give(size-length-after, length)
		}
		b, l := 0, 0
		switch {
		case hasBefore:
			b = before
		case hasLength:
			l = length
		case hasAfter:
			l = size - after
		}
		if b < 0 || l < 0 || b+l > size {
			return false, nil
		}
		return m.choose(alternatives{held: func(s *sizing) { s.bytes += 8 * int64(len(offsets)) }, next: func() (bool, bool, error) {
			atB, atL := b, l
			more := true
			switch {
			case hasBefore:
				l++
				more = b+l <= size
			case hasLength:
				b++
				more = b+l <= size
			case hasAfter:
				b, l = b+1, l-1
				more = l >= 0
			default:
				if l++; b+l > size {
					b, l = b+1, 0
				}
				more = b <= size
			}
			ok, err := give(atB, atL)
			return ok, more, err
		}})
	}
}

// subKnown finds a part in a text.
func subKnown(m *machine, s string, args []Term) (bool, error) {
	part, err := m.textArg(args[4])
	if err != nil {
		return false, err
	}
	at, chars := 0, 0 // where to look on, in bytes and in characters
	partChars := utf8.RuneCountInString(part)
	find := func() int {
		if at > len(s) {
			return -1
		}
		i := strings.Index(s[at:], part)
		if i < 0 {
			return -1
		}
		return at + i
	}
	if err := m.going(len(s)); err != nil {
		return false, err
	}
	next := find()
	if next < 0 {
		return false, nil
	}
	return m.choose(alternatives{next: func() (bool, bool, error) {
		i := next
		chars += utf8.RuneCountInString(s[at:i])
		before := chars
		_, n := utf8.DecodeRuneInString(s[i:])
		at = i + max(n, 1)
		chars++
		if err := m.charge(64); err != nil {
			return false, false, err
		}
		if err := m.going(len(s)); err != nil {
			return false, false, err
		}
		next = find()
		ok := true
		for j, n := range []int{before, partChars, utf8.RuneCountInString(s[i+len(part):])} {
			if ok, err = m.unify(args[j+1], Int(n)); !ok {
				break
			}
		}
		return ok, next >= 0, err
	}})
}

// listConcat is atomic_list_concat/3: it joins, or splits if the list is not known.
func listConcat(m *machine, args []Term) (bool, error) {
	separator, err := m.textArg(args[1])
	if err != nil {
		return false, err
	}
	return joinList(m, args[0], separator, args[1], args[2])
}

func joinList(m *machine, list Term, separator string, split, out Term) (bool, error) {
	terms, _, ok, err := m.listTerms(list)
	if err != nil {
		return false, err
	}
	if ok {
		var b strings.Builder
		for i, t := range terms {
			if isFree(t) {
				ok = false
				break
			}
			s, err := m.atomicText(t)
			if err != nil {
				return false, err
			}
			if err := m.charge(len(separator) + len(s)); err != nil {
				return false, err
			}
			if i > 0 {
				b.WriteString(separator)
			}
			b.WriteString(s)
		}
		if ok {
			if !isFree(out) {
				s, err := m.textArg(out)
				return err == nil && s == b.String(), err
			}
			return m.unify(out, Atom(b.String()))
		}
	}
	if split == nil || isFree(out) {
		return false, instantiationError()
	}
	if separator == "" {
		return false, domainError("non_empty_atom", Atom(""))
	}
	s, err := m.textArg(out)
	if err != nil {
		return false, err
	}
	var parts []Term
	for part := range strings.SplitSeq(s, separator) {
		if err := m.charge(112); err != nil {
			return false, err
		}
		parts = append(parts, Atom(part))
	}
	return m.unify(list, listOf(parts, atomNil))
}

func joinAtomics(m *machine, args []Term) (bool, error) {
	terms, err := m.listArg(args[0])
	if err != nil {
		return false, err
	}
	var b strings.Builder
	for _, t := range terms {
		s, err := m.textArg(t)
		if err == nil {
			err = m.charge(len(s))
		}
		if err != nil {
			return false, err
		}
		b.WriteString(s)
	}
	return m.unify(args[1], String(b.String()))
}

func splitString(m *machine, args []Term) (bool, error) {
	var texts [3]string
	for i := range texts {
		s, err := m.textArg(args[i])
		if err != nil {
			return false, err
		}
		texts[i] = s
	}
	if err := m.charge(16 * (len(texts[1]) + len(texts[2]))); err != nil {
		return false, err
	}
	separates, pads := runesOf(texts[1]), runesOf(texts[2])
	s := strings.TrimFunc(texts[0], pads) // so that separators in it are none at the ends
	var parts []Term
	for {
		s = strings.TrimLeftFunc(s, pads)
		end := strings.IndexFunc(s, separates)
		part := s
		if end >= 0 {
			part = s[:end]
		}
		if err := m.charge(112); err != nil {
			return false, err
		}
		if err := m.going(len(part)); err != nil {
			return false, err
		}
		parts = append(parts, String(strings.TrimFunc(part, pads)))
		if end < 0 {
			return m.unify(args[3], listOf(parts, atomNil))
		}
		_, n := utf8.DecodeRuneInString(s[end:])
		s = s[end+n:]
	}
}

// runesOf returns whether a character is one of a text.
func runesOf(text string) func(rune) bool {
	all := map[rune]bool{}
	for _, r := range text {
		all[r] = true
	}
	return func(r rune) bool { return all[r] }
}
