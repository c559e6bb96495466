package main

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// style is how a text stands out on a terminal with colours: the parameters of SGR (ECMA-48).
type style string

const (
	plain   style = ""
	faint   style = "2"
	bright  style = "1"
	good    style = "32"
	warning style = "33"
	bad     style = "31"
)

// of returns a text in the style, as a terminal with colours takes it.
func (s style) of(text string) string {
	if s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// span is a part of a line in one style.
type span struct {
	style style
	text  string
}

// layout is what lines for people have to fit. In a file or a pipe nothing is cut, shortened or
// coloured: the layout is zero.
type layout struct {
	width  int // in cells; 0 is no limit
	colour bool
}

// liner is a writer that lays out lines for people.
type liner interface {
	io.Writer
	layout() layout
	writeLine(spans []span) error
}

// layoutOf returns the layout of a writer.
func layoutOf(w io.Writer) layout {
	if l, ok := w.(liner); ok {
		return l.layout()
	}
	return layout{}
}

// inColour reports whether a file is a terminal that may be coloured: not where $NO_COLOR is set
// (no-color.org), or the terminal is a dumb one.
func inColour(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// printLine writes a line for people, cut to the width of a terminal. What is in it may come from
// a robot: what cannot be seen is escaped.
func printLine(w io.Writer, spans ...span) error {
	return writeSpans(w, cutSpans(spans, layoutOf(w).width))
}

// printWhole is printLine for a line that the terminal wraps.
func printWhole(w io.Writer, spans ...span) error {
	return writeSpans(w, cutSpans(spans, 0))
}

// writeSpans writes a line of visible spans.
func writeSpans(w io.Writer, line []span) error {
	if l, ok := w.(liner); ok {
		return l.writeLine(line)
	}
	var b strings.Builder
	for _, s := range line {
		b.WriteString(s.text)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n")
	return err
}

// printFolded writes a text behind the head of a line. On a terminal what has no room there stands
// on lines below, as far to the right.
func printFolded(w io.Writer, head []span, s span) error {
	indent, width := widthOf(cutSpans(append(head, span{text: "|"}), 0))-1, layoutOf(w).width
	if s.text = visible(s.text); width < indent+10 {
		return printWhole(w, append(head, s)...)
	}
	rest := wrapped(s.text, width-indent)
	for more := true; more; head = []span{{text: strings.Repeat(" ", indent)}} {
		s.text, rest, more = strings.Cut(rest, "\n")
		if err := printWhole(w, append(head, s)...); err != nil {
			return err
		}
	}
	return nil
}

// cutSpans makes spans visible, and cuts them to so many cells; 0 is no limit.
func cutSpans(spans []span, width int) []span {
	line := make([]span, 0, len(spans))
	for _, s := range spans {
		line = append(line, span{s.style, visible(s.text)})
	}
	for n := len(line) - 1; n >= 0; n-- {
		if line[n].text = strings.TrimRight(line[n].text, " "); line[n].text != "" {
			line = line[:n+1]
			break
		}
	}
	if width == 0 || widthOf(line) <= width {
		return line
	}
	for i, s := range line {
		w := uniseg.StringWidth(s.text)
		if w >= width { // the last cell is for the sign that there is more
			line[i].text = cutLine(s.text+" ", width)
			return line[:i+1]
		}
		width -= w
	}
	return line
}

// widthOf returns how many cells wide visible spans are.
func widthOf(spans []span) (n int) {
	for _, s := range spans {
		n += uniseg.StringWidth(s.text)
	}
	return n
}

// alignRight returns visible spans with a last one at the right edge of so many cells, those
// before it cut where they leave no room for it; 0 cells are no limit.
func alignRight(spans []span, last span, width int) []span {
	if last.text == "" {
		return spans
	}
	if width == 0 {
		return append(spans, span{text: "  "}, last)
	}
	room := width - uniseg.StringWidth(last.text) - 2
	if room < width/2 {
		return spans
	}
	spans = cutSpans(spans, room)
	return append(spans, span{text: strings.Repeat(" ", room+2-widthOf(spans))}, last)
}

// notes is a terminal that the program's own words are written to, in the style of warnings or
// errors. What else is written, such as the bar of an import, passes as it is.
type notes struct {
	*os.File
	style style
}

// newNotes returns where warnings go.
func newNotes(f *os.File) io.Writer {
	if !inColour(f) {
		return f
	}
	return notes{f, warning}
}

// failed returns where the words of a failure go: in the colour of errors, on a terminal.
func failed(w io.Writer) io.Writer {
	if n, ok := w.(notes); ok {
		n.style = bad
		return n
	}
	return w
}

// prefix begins the lines that the program says of itself.
const prefix = "engram: "

func (n notes) Write(p []byte) (int, error) {
	if !strings.HasPrefix(string(p), prefix) {
		return n.File.Write(p)
	}
	text, end := strings.CutSuffix(string(p), "\n")
	text = n.style.of(text)
	if end {
		text += "\n"
	}
	if _, err := n.File.WriteString(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString is Write, since that of os.File would go past it.
func (n notes) WriteString(text string) (int, error) { return n.Write([]byte(text)) }
