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
	s := strconv.FormatFloat(float64(f), 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	digits := len(strings.TrimPrefix(strings.Replace(mantissa, ".", "", 1), "-"))
	if e < -4 || e > 14 && digits <= e+1 {
		if digits == 1 {
			mantissa += ".0"
		}
		sign := ""
		if e > 0 {
			sign = "+"
		}
		return mantissa + "e" + sign + strconv.Itoa(e)
	}
	s = strconv.FormatFloat(float64(f), 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// show writes a term for people: quoted as it would be read, cut where it is long.
func show(t Term) string {
	w := writer{quoted: true, most: 200}
	w.term(t, 999, 0, false)
	return w.String()
}

// text returns a term as a writer writes it, its variables as _1, _2 … What is quoted is read
// again as the same term, unless variables have been numbered.
func (h *heap) text(t Term, w writer) (string, error) {
	w.h, w.most = h, math.MaxInt
	w.term(t, 1200, 0, false)
	return w.String(), w.err
}

// writer writes terms as SWI-Prolog does, with operators where their names are some.
type writer struct {
	strings.Builder
	quoted   bool
	numbered bool  // $VAR(1) is written as the variable B, see numbervars/3
	most     int   // after so many bytes an ellipsis ends it
	h        *heap // who pays, nil for nobody
	err      error
	vars     map[*Var]int    // their numbers
	names    map[*Var]string // of those that have one
	after    position
}

// position is where a token comes.
type position uint8

const (
	afterToken  position = iota // of no special kind
	afterPrefix                 // after a prefix operator: an opening parenthesis would make it a functor,
	afterMinus                  // and a digit a negative number
	afterInfix
)

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

// put writes a token, apart from the one before where the two would be read otherwise.
func (w *writer) put(s string) (apart bool) {
	if s == "" || w.err != nil {
		return false
	}
	if w.h == nil && len(s) > w.most {
		s = strings.ToValidUTF8(s[:w.most], "") + "…"
	}
	if w.h != nil && len(s) > 16 {
		if w.err = w.h.charge(2 * len(s)); w.err != nil { // the text grows by more than it needs
			return false
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	before, _ := utf8.DecodeLastRuneInString(w.String())
	prefixed := w.after == afterPrefix || w.after == afterMinus
	apart = w.Len() > 0 && (isAlnum(before) && isAlnum(first) || isSymbol(before) && isSymbol(first) ||
		prefixed && (first == '(' || first == '{') || w.after == afterMinus && isDecimal(first))
	if apart {
		w.WriteByte(' ')
	}
	w.WriteString(s)
	w.after = afterToken
	return apart
}

func (w *writer) atom(a Atom) (apart bool) {
	if w.quoted {
		return w.put(quoteAtom(string(a)))
	}
	return w.put(string(a))
}

// term writes a term that may have a priority of at most prec; operand tells of one beside an operator.
func (w *writer) term(t Term, prec, depth int, operand bool) {
	if w.full() {
		return
	}
	if depth > 1000 && w.h == nil {
		w.put("…")
		return
	}
	if depth > maxDepth {
		w.err = errNesting
		return
	}
	switch t := deref(t).(type) {
	case *Var:
		if name := w.names[t]; name != "" {
			w.put(name)
			return
		}
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
		w.put(w.float(t))
	case String:
		if w.quoted {
			w.put(quoteText(string(t), '"'))
		} else {
			w.put(string(t))
		}
	case Atom:
		if _, isOp := operators[string(t)]; isOp && operand {
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

// float returns a float as it is read again, or as people call it.
func (w *writer) float(f Float) string {
	switch {
	case !w.quoted:
	case math.IsNaN(float64(f)):
		return "1.5NaN"
	case math.IsInf(float64(f), 1):
		return "1.0Inf"
	case math.IsInf(float64(f), -1):
		return "-1.0Inf"
	}
	return formatFloat(f)
}

func (w *writer) compound(c *Compound, prec, depth int) {
	if n, ok := deref(c.args[0]).(Int); ok && w.numbered && c.name == "$VAR" && len(c.args) == 1 && n >= 0 {
		name := string(rune('A' + n%26))
		if n >= 26 {
			name += formatInt(n / 26)
		}
		w.put(name)
		return
	}
	switch {
	case c.name == atomDot && len(c.args) == 2:
		w.list(c, depth)
		return
	case c.name == atomCurly && len(c.args) == 1:
		w.put("{")
		w.term(c.args[0], 1200, depth+1, false)
		w.WriteString("}")
		return
	}
	ops := operators[string(c.name)]
	switch {
	case len(c.args) == 2 && ops.infix.prec > 0:
		w.open(ops.infix, prec)
		left, right := ops.infix.sides()
		w.term(c.args[0], left, depth+1, true)
		if c.name == atomComma || c.name == "|" { // other than as atoms they need no quotes
			w.WriteString(string(c.name))
		} else if w.atom(c.name) {
			w.WriteString(" ")
		}
		w.after = afterInfix
		w.term(c.args[1], right, depth+1, true)
		w.close(ops.infix, prec)
		return
	case len(c.args) == 1 && ops.prefix.prec > 0:
		w.open(ops.prefix, prec)
		w.atom(c.name)
		w.after = afterPrefix
		if c.name == atomMinus {
			w.after = afterMinus
		}
		_, right := ops.prefix.sides()
		w.term(c.args[0], right, depth+1, true)
		w.close(ops.prefix, prec)
		return
	}
	w.atom(c.name)
	w.WriteString("(")
	for i, arg := range c.args {
		if i > 0 {
			w.WriteString(",")
		}
		w.term(arg, 999, depth+1, false)
	}
	w.WriteString(")")
}

// open and close put parentheses around a term of an operator that binds less than it may.
func (w *writer) open(o op, prec int) {
	if o.prec > prec {
		w.put("(")
	}
}

func (w *writer) close(o op, prec int) {
	if o.prec > prec {
		w.WriteString(")")
	}
}

func (w *writer) list(c *Compound, depth int) {
	w.put("[")
	w.term(c.args[0], 999, depth+1, false)
	for rest := deref(c.args[1]); rest != Term(atomNil) && !w.full(); {
		next, ok := isFunctor(rest, atomDot, 2)
		if !ok {
			w.WriteString("|")
			w.term(rest, 999, depth+1, false)
			break
		}
		w.WriteString(",")
		w.term(next.args[0], 999, depth+1, false)
		rest = deref(next.args[1])
	}
	w.WriteString("]")
}

// quoteAtom returns an atom as it is read, in quotes if it needs them.
func quoteAtom(s string) string {
	switch s {
	case "[]", "!", ";", "{}":
		return s
	}
	first, _ := utf8.DecodeRuneInString(s)
	plain := s != "" && unicode.IsLower(first)
	symbols := s != "" && s != "." && !strings.HasPrefix(s, "/*") // a full stop, a comment
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
