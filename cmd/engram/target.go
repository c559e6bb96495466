package main

import (
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
)

// target is what an ID argument names: entities by a pattern, and maybe one
// snapshot and instance of each.
type target struct {
	text    string
	pattern engram.Pattern
	time    *timeArg
	index   int // -1 is all instances
}

// parsePattern reads an ID in which names may be patterns, or a topic.
func parsePattern(text string) (engram.Pattern, error) {
	p, err := engram.ParsePattern(spelling.Topic(text))
	if err != nil {
		return p, &usageError{err}
	}
	return p, nil
}

var errEmptyID = usagef("an ID is empty; '*' stands for every memory")

// parseTarget reads an ID in which names may be patterns and the time relative.
func parseTarget(text string) (target, error) {
	t := target{text: text, index: -1}
	if text == "" {
		return t, errEmptyID
	}
	names, rest := spelling.SplitNames(spelling.Topic(text))
	var err error
	if t.pattern, err = parsePattern(names); err != nil {
		return t, err
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

// parseDatum reads the ID of a datum: what parseOneID reads, or a snapshot or instance of an entity.
func parseDatum(text string) (engram.ID, error) {
	names, rest := spelling.SplitNames(text)
	id, err := parseOneID(names)
	if err != nil || rest == "" {
		return id, err
	}
	if id, err = engram.Parse(id.String() + "/" + rest); err != nil {
		return id, &usageError{err}
	}
	return id, nil
}
