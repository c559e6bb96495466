package idf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
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

// meant proposes the name that somebody may have meant.
func meant(name string, names []string) string {
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
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
	return memberErrorf(code, "%s has no member %s%s", l.name, shorten(name), meant(name, l.memberNames()))
}
