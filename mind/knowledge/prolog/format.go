package prolog

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formatTo is format/3, into a text: atom(A), string(S), codes(C) or chars(C); or into the notes of the answer.
func formatTo(m *machine, args []Term) (bool, error) {
	sink, isText := deref(args[0]).(*Compound)
	if !isText {
		if err := streamArg(args[0]); err != nil {
			return false, err
		}
		return printFormat(m, args[1:])
	}
	if len(sink.args) != 1 || sink.name != "atom" && sink.name != "string" && sink.name != "codes" && sink.name != "chars" {
		return false, domainError("output_sink", sink)
	}
	s, err := formatArgs(m.heap, args[1], args[2])
	if err != nil {
		return false, err
	}
	switch sink.name {
	case "atom":
		return m.unify(sink.args[0], Atom(s))
	case "string":
		return m.unify(sink.args[0], String(s))
	}
	if err := m.charge(120 * len(s)); err != nil {
		return false, err
	}
	if sink.name == "chars" {
		return m.unify(sink.args[0], chars(s))
	}
	return m.unify(sink.args[0], codes(s))
}

// formatArgs carries out a format with a list of values, or with one.
func formatArgs(h *heap, format, args Term) (string, error) {
	text, err := h.textArg(format)
	if err != nil {
		return "", err
	}
	values, partial, isList, err := h.listTerms(args)
	if err != nil {
		return "", err
	}
	if !isList || partial {
		values = []Term{args}
	}
	return h.formatted(text, values)
}

func formatError(format string, args ...any) error {
	return thrown(newTerm("format", Atom(fmt.Sprintf(format, args...))), format, args...)
}

// formatting is a text that is being made, with the columns of its last line.
type formatting struct {
	*heap
	values []Term
	text   []rune
	line   int   // where the last line begins
	column int   // where the column begins that is being filled
	fills  []int // where white space is put to fill it,
	with   []rune
}

func (f *formatting) put(s string) error {
	if err := f.charge(5*len(s) + 16); err != nil { // with the text that is made of it
		return err
	}
	f.text = append(f.text, []rune(s)...)
	if at := strings.LastIndexByte(s, '\n'); at >= 0 {
		f.line = len(f.text) - utf8.RuneCountInString(s[at+1:])
		f.column, f.fills, f.with = f.line, nil, nil
	}
	return nil
}

// stop ends a column at a place in the line.
func (f *formatting) stop(at int) error {
	pad := at - (len(f.text) - f.line)
	if pad > maxColumn {
		return formatError("a column of more than %d characters", maxColumn)
	}
	if err := f.charge(4 * max(pad, 0)); err != nil {
		return err
	}
	if len(f.fills) == 0 {
		f.fills, f.with = []int{len(f.text)}, []rune{' '}
	}
	for i := len(f.fills) - 1; i >= 0 && pad > 0; i-- {
		n := pad / len(f.fills)
		if i == len(f.fills)-1 {
			n += pad % len(f.fills)
		}
		f.text = slices.Insert(f.text, f.fills[i], slices.Repeat([]rune{f.with[i]}, n)...)
	}
	f.column, f.fills, f.with = len(f.text), nil, nil
	return nil
}

// maxColumn bounds the numbers of directives; what they make is counted before it is made.
const maxColumn = 1 << 28

// next takes the value of a directive.
func (f *formatting) next(directive rune) (Term, error) {
	if len(f.values) == 0 {
		return nil, formatError("format/3 has no argument for ~%c", directive)
	}
	value := deref(f.values[0])
	f.values = f.values[1:]
	return value, nil
}

func (f *formatting) integer(directive rune) (Int, error) {
	value, err := f.next(directive)
	if err != nil {
		return 0, err
	}
	return integerArg(value)
}

// formatted carries out the directives of a format.
func (h *heap) formatted(text string, values []Term) (string, error) {
	f := &formatting{heap: h, values: values}
	for {
		plain, rest, found := strings.Cut(text, "~")
		if err := f.put(plain); err != nil {
			return "", err
		}
		if !found {
			if len(f.values) > 0 {
				return "", formatError("format/3 has %d arguments too many", len(f.values))
			}
			return string(f.text), nil
		}
		n, digits := -1, 0
		switch {
		case strings.HasPrefix(rest, "*"):
			i, err := f.integer('*')
			if err != nil {
				return "", err
			}
			if i < 0 || i > maxColumn {
				return "", formatError("~*: a number from 0 to %d is wanted, not %d", maxColumn, i)
			}
			n, digits = int(i), 1
		case strings.HasPrefix(rest, "`") && len(rest) > 1:
			r, size := utf8.DecodeRuneInString(rest[1:])
			n, digits = int(r), 1+size
		default:
			for digits < len(rest) && isDecimal(rune(rest[digits])) {
				digits++
			}
			if digits > 0 {
				var err error
				if n, err = strconv.Atoi(rest[:digits]); err != nil || n > maxColumn {
					return "", formatError("~%s: a number of at most %d is wanted", rest[:digits], maxColumn)
				}
			}
		}
		if rest = rest[digits:]; rest == "" {
			return "", formatError("the format ends after ~")
		}
		directive, size := utf8.DecodeRuneInString(rest)
		text = rest[size:]
		if err := f.directive(directive, n); err != nil {
			return "", err
		}
	}
}

// directive carries out one; n is its number, -1 for none.
func (f *formatting) directive(directive rune, n int) error {
	if directive != 't' && directive != '|' && directive != '+' { // of these it is no length, or counted
		if err := f.charge(max(n, 0)); err != nil {
			return err
		}
	}
	switch directive {
	case '~':
		return f.put("~")
	case 'n':
		return f.put(strings.Repeat("\n", max(n, 1)))
	case 't':
		f.fills, f.with = append(f.fills, len(f.text)), append(f.with, ' ')
		if n >= 0 {
			f.with[len(f.with)-1] = rune(n)
		}
		return f.charge(16)
	case '|':
		if n < 0 {
			n = len(f.text) - f.line
		}
		return f.stop(n)
	case '+':
		if n < 0 {
			n = 8
		}
		return f.stop(f.column - f.line + n)
	case 'c':
		c, err := f.integer(directive)
		if err != nil {
			return err
		}
		if c < 0 || c > unicode.MaxRune {
			return typeError("character_code", c)
		}
		if n < 0 {
			n = 1
		}
		if err := f.charge(5 * utf8.UTFMax * n); err != nil {
			return err
		}
		return f.put(strings.Repeat(string(rune(c)), n))
	case 'd', 'D':
		value, err := f.next(directive)
		if err != nil {
			return err
		}
		z := bigOf(value)
		if z == nil {
			return wanted("integer", value)
		}
		if err := f.charge(2 * z.BitLen()); err != nil {
			return err
		}
		return f.put(groupedInt(z, max(n, 0), directive == 'D'))
	case 'r', 'R':
		value, err := f.next(directive)
		if err != nil {
			return err
		}
		z := bigOf(value)
		if z == nil {
			return wanted("integer", value)
		}
		if n < 0 {
			return formatError("~%c has no base: ~8%c is of base 8", directive, directive)
		}
		if n < 2 || n > 36 {
			return formatError("~%dr: a base from 2 to 36 is wanted", n)
		}
		if err := f.charge(2 * z.BitLen()); err != nil {
			return err
		}
		s := z.Text(n)
		if directive == 'R' {
			s = strings.ToUpper(s)
		}
		return f.put(s)
	}
	value, err := f.next(directive)
	if err != nil {
		return err
	}
	s := ""
	switch directive {
	case 'w':
		s, err = f.heap.text(value, writer{numbered: true})
	case 'q', 'p':
		s, err = f.heap.text(value, writer{numbered: true, quoted: true})
	case 'a':
		s, err = f.atomicText(value)
	case 's':
		s, err = f.textArg(value)
	case 'e', 'f', 'g':
		x, evalErr := f.eval(value)
		if evalErr != nil {
			return evalErr
		}
		if n < 0 {
			n = 6
		}
		z := bigOf(x)
		switch {
		case directive == 'g':
			s = strconv.FormatFloat(toFloat(x), 'g', max(n, 1), 64)
		case directive == 'f' && z != nil: // exactly
			if s = z.String(); n > 0 {
				s += "." + strings.Repeat("0", n)
			}
		default:
			s = strconv.FormatFloat(toFloat(x), byte(directive), n, 64)
		}
	case 'i':
	default:
		return formatError("there is no directive ~%c", directive)
	}
	if err != nil {
		return err
	}
	return f.put(s)
}

// groupedInt writes an integer with so many digits behind a point, and commas between thousands.
func groupedInt(z *big.Int, decimals int, grouped bool) string {
	s := strings.TrimPrefix(z.String(), "-")
	s = strings.Repeat("0", max(0, decimals+1-len(s))) + s
	whole, part := s[:len(s)-decimals], s[len(s)-decimals:]
	if grouped {
		var b strings.Builder
		for i := range len(whole) {
			if i > 0 && (len(whole)-i)%3 == 0 {
				b.WriteByte(',')
			}
			b.WriteByte(whole[i])
		}
		whole = b.String()
	}
	if part != "" {
		whole += "." + part
	}
	if z.Sign() < 0 {
		whole = "-" + whole
	}
	return whole
}
