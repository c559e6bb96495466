package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is a terminal that answers are printed on. A robot stores what it is told, and
// names and texts may hold sequences that would clear the screen, rename the window or
// type commands. Every command writes its answers through it, so that those that print
// raw values (CSV) or whole documents need not think of it.
type screen struct {
	*os.File
	colour bool
	rest   []byte // the beginning of a character whose end is not written yet
}

// newScreen returns where answers go: to a terminal through a screen, else to the file
// itself, byte for byte.
func newScreen(f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) {
		return f
	}
	return &screen{File: f, colour: inColour(f)}
}

func (s *screen) Write(p []byte) (int, error) {
	text := append(s.rest, p...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if start := len(text) - n; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				whole = start
			}
			break
		}
	}
	s.rest = append([]byte(nil), text[whole:]...)
	if _, err := s.File.Write(appendVisible(nil, string(text[:whole]), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString is Write, since that of os.File would go past it.
func (s *screen) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

// ReadFrom is a copy through Write, since that of os.File would go past it.
func (s *screen) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{s}, r)
}

func (s *screen) layout() layout {
	width, _, err := term.GetSize(int(s.Fd()))
	if err != nil {
		width = 0
	}
	return layout{width, s.colour}
}

// writeLine writes spans, which are visible, in their styles.
func (s *screen) writeLine(spans []span) error {
	var b strings.Builder
	for _, p := range spans {
		text := p.text
		if s.colour {
			text = p.style.of(text)
		}
		b.WriteString(text)
	}
	b.WriteByte('\n')
	_, err := s.File.WriteString(b.String())
	return err
}

// unprintable tells the characters that cannot be seen: controls, overrides of the
// direction, private ones.
func unprintable(r rune) bool { return !oneCell(r) && !strconv.IsPrint(r) }

// oneCell tells the characters of which most lines are: those of ASCII that can be seen, and lines of a tree. Each takes
// one cell of a terminal.
func oneCell(r rune) bool { return r >= ' ' && r <= '~' || r >= '─' && r <= '╿' }

// visible writes control characters, and others that cannot be seen, as escapes
// such as \x1b: what a robot stored must not steer the terminal it is shown on.
func visible(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || unprintable(r) {
			return string(appendVisible(make([]byte, 0, len(s)+8), s, ""))
		}
	}
	return s
}

// appendVisible appends s with escapes for what cannot be seen, but for the characters
// in keep.
func appendVisible(b []byte, s, keep string) []byte {
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = fmt.Appendf(b, `\x%02x`, s[i])
		case strconv.IsPrint(r) || strings.ContainsRune(keep, r):
			b = append(b, s[i:i+size]...)
		default:
			q := strconv.QuoteRune(r)
			b = append(b, q[1:len(q)-1]...)
		}
	}
	return b
}
