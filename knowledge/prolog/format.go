package prolog

import (
	"strconv"
	"strings"
)

// formatTo is format/3, into a text: atom(A), string(S) or codes(C).
func formatTo(m *machine, args []Term) (bool, error) {
	sink, ok := deref(args[0]).(*Compound)
	if !ok || len(sink.args) != 1 || sink.name != "atom" && sink.name != "string" && sink.name != "codes" {
		return false, thrown(newTerm("permission_error", Atom("output"), Atom("stream"), deref(args[0])), "questions print nothing; format(atom(A), …) makes a text")
	}
	text, err := m.textArg(args[1])
	if err != nil {
		return false, err
	}
	values, partial, isList, err := m.listTerms(args[2])
	if err != nil {
		return false, err
	}
	if !isList || partial {
		values = []Term{args[2]}
	}
	s, err := m.formatted(text, values)
	if err != nil {
		return false, err
	}
	switch sink.name {
	case "atom":
		return m.unify(sink.args[0], Atom(s))
	case "string":
		return m.unify(sink.args[0], String(s))
	}
	return m.unify(sink.args[0], codes(s))
}

func formatError(format string, args ...any) error {
	return thrown(newTerm("format", Atom(format)), format, args...)
}

// formatted carries out the directives of a format.
func (h *heap) formatted(text string, values []Term) (string, error) {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(text, "~")
		b.WriteString(plain)
		if err := h.charge(len(plain) + 16); err != nil {
			return "", err
		}
		if !found {
			if len(values) > 0 {
				return "", formatError("format/3 has %d arguments too many", len(values))
			}
			return b.String(), nil
		}
		digits := 0
		for digits < len(rest) && isDecimal(rune(rest[digits])) {
			digits++
		}
		n, hasN := 0, digits > 0
		if hasN {
			n, _ = strconv.Atoi(rest[:min(digits, 4)])
		}
		rest = rest[digits:]
		if rest == "" {
			return "", formatError("the format ends after ~")
		}
		directive := rest[0]
		text = rest[1:]
		switch directive {
		case '~':
			b.WriteByte('~')
			continue
		case 'n':
			b.WriteString(strings.Repeat("\n", max(n, 1)))
			continue
		}
		if len(values) == 0 {
			return "", formatError("format/3 has no argument for ~%c", directive)
		}
		value := deref(values[0])
		values = values[1:]
		s := ""
		var err error
		switch directive {
		case 'w', 'p':
			s, err = h.text(value, false)
		case 'q':
			s, err = h.text(value, true)
		case 'a', 's':
			s, err = h.textArg(value)
		case 'd':
			i, isInt := value.(Int)
			if !isInt {
				return "", wanted("integer", value)
			}
			s = formatInt(i)
			if n > 0 {
				s = strings.TrimPrefix(s, "-")
				s = strings.Repeat("0", max(0, n+1-len(s))) + s
				s = s[:len(s)-n] + "." + s[len(s)-n:]
				if i < 0 {
					s = "-" + s
				}
			}
		case 'e', 'f', 'g':
			x, evalErr := h.eval(value)
			if evalErr != nil {
				return "", evalErr
			}
			if !hasN {
				n = 6
			}
			s = strconv.FormatFloat(toFloat(x), directive, min(n, 300), 64)
		case 'i':
		default:
			return "", formatError("there is no directive ~%c", directive)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(s)
		if err := h.charge(len(s)); err != nil {
			return "", err
		}
	}
}
