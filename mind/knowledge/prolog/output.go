package prolog

import (
	"strings"
	"unicode/utf8"
)

// Notes has f told of each line that a question prints, in the order of its answers. f is called by who goes through the rows.
func Notes(f func(line string)) Option { return func(m *machine) { m.note = f } }

// output is what goals print.
type output struct {
	note     func(line string)  // nil where nobody reads it
	line     strings.Builder    // what is printed of the last line
	captures []*strings.Builder // what with_output_to/2 takes, the innermost last
}

// noteBytes is what a line that was printed takes, beside its text.
const noteBytes = 64

// maxNote is how long a note is, in bytes; a longer line is several.
const maxNote = 64 << 10

// print prints a text, which is kept until the answer is given.
func (m *machine) print(text string) error {
	m.kept += int64(len(text))
	if err := m.charge(len(text)); err != nil {
		return err
	}
	if n := len(m.captures); n > 0 {
		m.captures[n-1].WriteString(text)
		return nil
	}
	for {
		line, rest, whole := strings.Cut(text, "\n")
		for len(line) > maxNote-m.line.Len() {
			n := maxNote - m.line.Len()
			for n > 0 && !utf8.RuneStart(line[n]) {
				n--
			}
			m.line.WriteString(line[:n])
			line = line[n:]
			if err := m.endLine(); err != nil {
				return err
			}
		}
		m.line.WriteString(line)
		if !whole {
			return nil
		}
		if err := m.endLine(); err != nil {
			return err
		}
		text = rest
	}
}

// endLine tells the line that was printed, for which the question pays.
func (m *machine) endLine() error {
	m.kept += noteBytes
	if err := m.charge(noteBytes); err != nil {
		return err
	}
	m.flush()
	return nil
}

// flush tells the line that was printed.
func (o *output) flush() {
	if o.note != nil {
		o.note(o.line.String())
	}
	o.line.Reset()
}

// flushRest tells what was printed of a line without an end.
func (o *output) flushRest() {
	if o.line.Len() > 0 {
		o.flush()
	}
}

// streamArg checks that an argument is a stream that a question has.
func streamArg(t Term) error {
	switch t := deref(t).(type) {
	case *Var:
		return instantiationError()
	case Atom:
		if t == "user_output" || t == "user_error" || t == "current_output" {
			return nil
		}
	}
	return thrown(newTerm("existence_error", Atom("stream"), deref(t)), "a question has the streams user_output and user_error, which are notes of its answer, and not %s", show(t))
}

// outputPredicates print: to the notes of the answer, whatever stream is named.
func outputPredicates() map[string]map[int]builtin {
	printed := func(quoted bool, end string) map[int]builtin {
		show := func(m *machine, t Term) (bool, error) {
			text, err := m.text(t, writer{quoted: quoted, numbered: true})
			if err == nil {
				err = m.print(text + end)
			}
			return err == nil, err
		}
		return map[int]builtin{
			1: func(m *machine, args []Term) (bool, error) { return show(m, args[0]) },
			2: func(m *machine, args []Term) (bool, error) {
				if err := streamArg(args[0]); err != nil {
					return false, err
				}
				return show(m, args[1])
			},
		}
	}
	constant := func(text string) map[int]builtin {
		return map[int]builtin{
			0: func(m *machine, _ []Term) (bool, error) { err := m.print(text); return err == nil, err },
			1: func(m *machine, args []Term) (bool, error) {
				err := streamArg(args[0])
				if err == nil {
					err = m.print(text)
				}
				return err == nil, err
			},
		}
	}
	return map[string]map[int]builtin{
		"write": printed(false, ""), "writeln": printed(false, "\n"),
		"print": printed(true, ""), "writeq": printed(true, ""),
		"nl": constant("\n"), "flush_output": constant(""),
		"format": {1: printFormat, 2: printFormat, 3: formatTo},
		"$capture": {1: func(m *machine, args []Term) (bool, error) {
			m.captures = append(m.captures, &strings.Builder{})
			return m.unify(args[0], Int(len(m.captures)))
		}},
		"$captured": {2: func(m *machine, args []Term) (bool, error) {
			n := deref(args[0]).(Int)
			text := m.captures[n-1].String()
			m.captures = m.captures[:n-1]
			m.kept -= int64(len(text)) // it is a term, or nothing
			return m.unify(args[1], String(text))
		}},
	}
}

// printFormat is format/1 and format/2.
func printFormat(m *machine, args []Term) (bool, error) {
	var values Term = atomNil
	if len(args) == 2 {
		values = args[1]
	}
	s, err := formatArgs(m.heap, args[0], values)
	if err == nil {
		err = m.print(s)
	}
	return err == nil, err
}
