package idf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// memberError is an error about a member. Its path grows from the inside out while
// the codecs return; at the edge of the package it becomes an [engram.Error].
type memberError struct {
	code engram.Code
	path string
	msg  string
}

func (e *memberError) Error() string { return e.msg }

func memberErrorf(code engram.Code, format string, args ...any) error {
	return &memberError{code: code, msg: fmt.Sprintf(format, args...)}
}

// under puts a segment, made by memberSegment, indexSegment or keySegment, before
// the path of err.
func under(segment string, err error) error {
	e, ok := err.(*memberError)
	if !ok {
		return err
	}
	switch {
	case segment == "":
	case e.path == "":
		e.path = segment
	case e.path[0] == '[':
		e.path = segment + e.path
	default:
		e.path = segment + "." + e.path
	}
	return e
}

func indexSegment(i int) string  { return "[" + strconv.Itoa(i) + "]" }
func keySegment(k string) string { return "[" + strconv.Quote(k) + "]" }
func shorten(s string) string {
	if len(s) > 60 {
		return strconv.Quote(strings.ToValidUTF8(s[:57], "") + "…")
	}
	return strconv.Quote(s)
}

// fail turns an error of a codec into the package's error about the type.
func (t *Type) fail(err error) error { return failAbout(t.Name(), err) }

func failAbout(thing string, err error) error {
	e, ok := err.(*memberError)
	if !ok {
		return err
	}
	if e.path == "" {
		return engram.Errorf(e.code, thing, "%s", e.msg)
	}
	return engram.Errorf(e.code, thing, "member %s: %s", e.path, e.msg)
}

// errNesting is the error about messages nested beyond maxDepth.
func errNesting(code engram.Code) error {
	return memberErrorf(code, "nested deeper than %d messages", maxDepth)
}

// nearest returns `; did you mean "x"?` with the name most like the given one, or
// "" if none is.
func nearest(name string, names []string) string {
	if len(name) > 100 { // no slip of the pen
		return ""
	}
	best, bestDist := "", 1+len(name)/3
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n), bestDist+1); d <= bestDist && (best == "" || d < bestDist) {
			best, bestDist = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance counts the insertions, deletions and replacements that turn a into
// b, and stops counting at limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d++
			}
			diag = row[j+1]
			row[j+1] = min(d, diag+1, row[j]+1)
		}
	}
	return min(row[len(b)], limit)
}

// memberNames returns the names of a message's members, as declared.
func (l *layout) memberNames() []string {
	names := make([]string, len(l.members))
	for i, m := range l.members {
		names[i] = m.name
	}
	return names
}

// unknownMember is the error about a name that the message has no member of.
func (l *layout) unknownMember(code engram.Code, name string) error {
	return memberErrorf(code, "%s has no member %s%s", l.name, shorten(name), nearest(name, l.memberNames()))
}
