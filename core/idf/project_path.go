package idf

import (
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// step is one step of a member path: a name, an index or a key.
type step struct {
	name   string
	index  bool // [3]
	quoted bool // ["key"]
}

// isEach reports whether the step stands for every key of a dict.
func (s step) isEach() bool { return s.name == "*" && !s.quoted }

// parsePath reads a member path as [Found.Path] and [Change.Path] write it:
// names with dots between them, [i] and ["key"]. The key of a dict may stand as a
// name too.
func parsePath(path string) ([]step, error) {
	if len(path) > maxPathLen {
		return nil, memberErrorf(engram.Exhausted, "%d bytes long; at most %d are allowed", len(path), maxPathLen)
	}
	var steps []step
	for rest := path; ; {
		if strings.HasPrefix(rest, "[") {
			s, after, err := cutBracket(rest)
			if err != nil {
				return nil, err
			}
			steps, rest = append(steps, s), after
		} else {
			i := strings.IndexAny(rest, ".[")
			if i < 0 {
				i = len(rest)
			}
			if i == 0 {
				return nil, memberErrorf(engram.Invalid, "a name is missing after %s", shorten(path[:len(path)-len(rest)]))
			}
			steps, rest = append(steps, step{name: rest[:i]}), rest[i:]
		}
		switch {
		case rest == "":
			return steps, nil
		case rest[0] == '.':
			rest = rest[1:]
			if strings.HasPrefix(rest, "[") {
				return nil, memberErrorf(engram.Invalid, `a name is missing between "." and "["`)
			}
		case rest[0] != '[':
			return nil, memberErrorf(engram.Invalid, `"." or "[" must stand before %s`, shorten(rest))
		}
	}
}

// cutBracket takes an [index] or ["key"] from the begin of s.
func cutBracket(s string) (st step, rest string, err error) {
	inner := s[1:]
	if quoted, err := strconv.QuotedPrefix(inner); err == nil && inner[0] == '"' {
		if key, err := strconv.Unquote(quoted); err == nil && strings.HasPrefix(inner[len(quoted):], "]") {
			return step{name: key, quoted: true}, inner[len(quoted)+1:], nil
		}
	}
	number, rest, ok := strings.Cut(inner, "]")
	if n, err := strconv.ParseUint(number, 10, 31); ok && err == nil {
		return step{name: strconv.FormatUint(n, 10), index: true}, rest, nil
	}
	return step{}, "", memberErrorf(engram.Invalid, `after "[" an index or a key in quotes and "]" must stand, not %s`, shorten(inner))
}

// CheckPath returns an Invalid error for what is no member path, whatever the type.
func CheckPath(path string) error {
	if _, err := parsePath(path); err != nil {
		return engram.Errorf(engram.Invalid, shorten(path), "is no path of a member: %w", err)
	}
	return nil
}
