package prolog

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func formatInt(i Int) string { return strconv.FormatInt(int64(i), 10) }

func formatFloat(f Float) string {
	switch {
	case math.IsInf(float64(f), 1):
		return "inf"
	case math.IsInf(float64(f), -1):
		return "-inf"
	case math.IsNaN(float64(f)):
		return "nan"
	}
	s := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if exp := strings.IndexByte(s, 'e'); exp >= 0 {
		e, _ := strconv.Atoi(s[exp+1:])
		if -5 < e && e < 15 {
			s = strconv.FormatFloat(float64(f), 'f', -1, 64)
		} else {
			if !strings.Contains(s[:exp], ".") {
				s = s[:exp] + ".0" + s[exp:]
			}
			return s
		}
	} else if e := len(strings.TrimPrefix(s, "-")); e > 15 && !strings.Contains(s, ".") {
		s = strconv.FormatFloat(float64(f), 'e', -1, 64)
		mantissa, exp, _ := strings.Cut(s, "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + "e" + exp
	}
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// show writes a term for people: quoted as it would be read, cut where it is long.
func show(t Term) string {
	w := writer{quoted: true, most: 200}
	w.term(t, 999, 0)
	return w.String()
}

// text returns a term as it would be read again, or without quotes, its variables as _1, _2 …
func (h *heap) text(t Term, quoted bool) (string, error) {
	if text, ok := textOf(deref(t)); ok && !quoted {
		return text, nil
	}
	w := writer{quoted: quoted, most: math.MaxInt, h: h}
	w.term(t, 1200, 0)
	return w.String(), w.err
}

// writer writes terms, with operators where their names are some.
type writer struct {
	strings.Builder
	quoted bool
	most   int   // after so many bytes an ellipsis ends it
	h      *heap // who pays, nil for nobody
	err    error
	vars   map[*Var]int
}

func (w *writer) full() bool {
	if w.err != nil {
		return true
	}
	if w.h != nil {
		w.err = w.h.charge(16)
	}
	if w.Len() > w.most {
		if !strings.HasSuffix(w.String(), "…") {
			w.WriteString("…")
		}
		return true
	}
	return w.err != nil
}

// put writes a token, apart from the one before where they would be read as one.
func (w *writer) put(s string) {
	if s == "" {
		return
	}
	if w.Len() > 0 {
		before, _ := utf8.DecodeLastRuneInString(w.String()[max(0, w.Len()-4):])
		first, _ := utf8.DecodeRuneInString(s)
		if isAlnum(before) && isAlnum(first) || isSymbol(before) && isSymbol(first) {
			w.WriteByte(' ')
		}
	}
	w.WriteString(s)
}

func (w *writer) atom(a Atom) {
	if w.quoted {
		w.put(quoteAtom(string(a)))
		return
	}
	w.put(string(a))
}

func (w *writer) term(t Term, prec, depth int) {
	if w.full() {
		return
	}
	if depth > 1000 {
		w.put("…")
		return
	}
	switch t := deref(t).(type) {
	case *Var:
		if w.vars == nil {
			w.vars = map[*Var]int{}
		}
		n, ok := w.vars[t]
		if !ok {
			n = len(w.vars) + 1
			w.vars[t] = n
		}
		w.put("_" + strconv.Itoa(n))
	case Int:
		w.put(formatInt(t))
	case *big.Int:
		w.put(t.String())
	case Float:
		w.put(formatFloat(t))
	case String:
		if w.quoted {
			w.put(quoteText(string(t), '"'))
		} else {
			w.put(string(t))
		}
	case Atom:
		if _, isOp := operators[string(t)]; isOp && prec < 1200 && depth > 0 && prec < 999 {
			w.put("(")
			w.atom(t)
			w.WriteString(")")
			return
		}
		w.atom(t)
	case *Compound:
		w.compound(t, prec, depth)
	}
}

func (w *writer) compound(c *Compound, prec, depth int) {
	switch {
	case c.name == atomDot && len(c.args) == 2:
		w.list(c, depth)
		return
	case c.name == atomCurly && len(c.args) == 1:
		w.put("{")
		w.term(c.args[0], 1200, depth+1)
		w.WriteString("}")
		return
	}
	ops := operators[string(c.name)]
	if len(c.args) == 2 && ops.infix.prec > 0 {
		op := ops.infix
		if op.prec > prec {
			w.put("(")
			defer w.WriteString(")")
		}
		left, right := op.sides()
		w.term(c.args[0], left, depth+1)
		switch c.name {
		case ",":
			w.WriteString(",")
		default:
			if first, _ := utf8.DecodeRuneInString(string(c.name)); isAlnum(first) {
				w.WriteString(" ")
				w.atom(c.name)
				w.WriteString(" ")
			} else {
				w.atom(c.name)
			}
		}
		w.term(c.args[1], right, depth+1)
		return
	}
	if len(c.args) == 1 && ops.prefix.prec > 0 {
		op := ops.prefix
		if op.prec > prec {
			w.put("(")
			defer w.WriteString(")")
		}
		w.atom(c.name)
		switch x := deref(c.args[0]).(type) {
		case Int, Float, *big.Int:
			w.WriteString(" ") // - 1 is not -1
		case Atom:
			if _, isOp := operators[string(x)]; isOp {
				w.WriteString(" ")
			}
		}
		_, right := op.sides()
		w.term(c.args[0], right, depth+1)
		return
	}
	w.atom(c.name)
	w.WriteString("(")
	for i, arg := range c.args {
		if i > 0 {
			w.WriteString(",")
		}
		w.term(arg, 999, depth+1)
	}
	w.WriteString(")")
}

func (w *writer) list(c *Compound, depth int) {
	w.put("[")
	w.term(c.args[0], 999, depth+1)
	for rest := deref(c.args[1]); rest != Term(atomNil) && !w.full(); {
		next, ok := isFunctor(rest, atomDot, 2)
		if !ok {
			w.WriteString("|")
			w.term(rest, 999, depth+1)
			break
		}
		w.WriteString(",")
		w.term(next.args[0], 999, depth+1)
		rest = deref(next.args[1])
	}
	w.WriteString("]")
}

// quoteAtom returns an atom as it is read, in quotes if it needs them.
func quoteAtom(s string) string {
	switch s {
	case "[]", "!", ";", "{}", ",", "|":
		if s == "," || s == "|" {
			return "'" + s + "'"
		}
		return s
	}
	first, _ := utf8.DecodeRuneInString(s)
	plain := s != "" && unicode.IsLower(first)
	symbols := s != ""
	for _, r := range s {
		plain = plain && isAlnum(r)
		symbols = symbols && isSymbol(r)
	}
	if plain || symbols {
		return s
	}
	return quoteText(s, '\'')
}

func quoteText(s string, quote rune) string {
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\x` + strconv.FormatInt(int64(r), 16) + `\`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
