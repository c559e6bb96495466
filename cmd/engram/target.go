package main

import (
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// target is what an ID argument names: entities by a pattern, and maybe one
// snapshot and instance of each.
type target struct {
	text    string
	pattern engram.Pattern
	time    *timeArg
	index   int // -1 is all instances
}

var errEmptyID = usagef("an ID is empty; '*' stands for every memory")

// parseTarget reads an ID in which names may be patterns and the time relative.
func parseTarget(text string) (target, error) {
	t := target{text: text, index: -1}
	if text == "" {
		return t, errEmptyID
	}
	names, rest := splitNames(text)
	var err error
	if t.pattern, err = engram.ParsePattern(names); err != nil {
		return t, &usageError{err}
	}
	if rest == "" {
		return t, nil
	}
	at, index, hasIndex := strings.Cut(rest, "/")
	when, err := parseTimeArg(at)
	if err != nil {
		return t, err
	}
	t.time = &when
	if hasIndex {
		if t.index, err = strconv.Atoi(index); err != nil || t.index < 0 {
			return t, usagef("%q is not an instance's index", index)
		}
	}
	return t, nil
}

// parseOneID reads an ID that something is written to: as in all IDs on the command line
// '*' and '~' at the beginning of a name would stand for several names, and a backslash
// takes that from them.
func parseOneID(text string) (engram.ID, error) {
	p, err := engram.ParsePattern(text)
	if err != nil {
		return engram.ID{}, &usageError{err}
	}
	id := p.Enclosing()
	if int(id.Level()) != len(p.Levels) {
		return id, usagef(`%s may stand for several names, and one is to be named here; a name that itself begins with "*" or "~" is written with a backslash before it`, text)
	}
	return id, nil
}

// splitNames cuts an ID's text after its four names, at unescaped slashes.
func splitNames(text string) (names, rest string) {
	slashes := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			if slashes++; slashes == 4 {
				return text[:i], text[i+1:]
			}
		}
	}
	return text, ""
}
