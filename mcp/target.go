package mcp

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
)

// target is what an ID of an agent names: entities by a pattern, and maybe one snapshot and one
// instance of them.
type target struct {
	text    string
	pattern engram.Pattern
	time    *engram.Time
	index   int // -1 is all instances
}

// parseTarget reads an ID. What is empty names everything.
func parseTarget(text string) (t target, err error) {
	t = target{text: text, index: -1}
	if strings.HasPrefix(text, scheme) {
		if text, err = idOf(text); err != nil {
			return t, err
		}
	}
	names, rest := spelling.SplitNames(spelling.Topic(text))
	if names != "" {
		if t.pattern, err = engram.ParsePattern(names); err != nil {
			return t, err
		}
	}
	if rest == "" {
		return t, nil
	}
	when, index, hasIndex := strings.Cut(rest, "/")
	at, err := parseTime(when)
	if err != nil {
		return t, err
	}
	t.time = &at
	if hasIndex {
		if t.index, err = strconv.Atoi(index); err != nil || t.index < 0 {
			return t, engram.Errorf(engram.Invalid, text, "%q is not the index of an instance, such as 0", index)
		}
	}
	return t, nil
}

// id returns the one datum that a target names.
func (t target) id() (engram.ID, error) {
	id := t.pattern.Enclosing()
	switch {
	case id.Level() < engram.LevelEntity:
		return id, engram.Errorf(engram.Invalid, t.text, "one entity, snapshot or instance is to be named, such as Object/Instance/Simulation/cup; list shows the entities")
	case t.time == nil:
		return id, nil
	case t.index < 0:
		return id.At(*t.time), nil
	}
	return id.At(*t.time).Instance(t.index), nil
}

// parseTime reads a time: absolute, "now", or relative to now.
func parseTime(text string) (engram.Time, error) {
	now := engram.Now()
	if text == "now" {
		return now, nil
	}
	relative := strings.TrimPrefix(text, "now")
	if strings.HasPrefix(relative, "-") || strings.HasPrefix(relative, "+") {
		if d, err := time.ParseDuration(relative); err == nil {
			return now.Add(d), nil
		}
	}
	t, err := engram.ParseTime(text)
	if err != nil {
		return 0, engram.Errorf(engram.Invalid, text, "this is no time; write one as 2026-03-04T14:03:01Z, now, or relative to now: -10s, -5m, -2h")
	}
	return t, nil
}

// optionalTime reads a time that may be left out; nil then.
func optionalTime(text string) (*engram.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := parseTime(text)
	return &t, err
}

// times reads when something was so, and when it was known; each may be left out.
func times(at, asOf string) (when, known *engram.Time, err error) {
	if when, err = optionalTime(at); err != nil {
		return nil, nil, err
	}
	known, err = optionalTime(asOf)
	return when, known, err
}

// span reads a range of times of which either end may be left out.
func span(from, to string) (iv engram.Interval, err error) {
	iv = engram.Always()
	if from != "" {
		if iv.Start, err = parseTime(from); err != nil {
			return iv, err
		}
	}
	if to != "" {
		if iv.End, err = parseTime(to); err != nil {
			return iv, err
		}
	}
	if iv.Empty() {
		return iv, engram.Errorf(engram.Invalid, from+".."+to, "from is not before to")
	}
	return iv, nil
}

// timeText returns a time as agents read it: RFC 3339 in UTC.
func timeText(t engram.Time) string { return string(t.AppendRFC3339(nil)) }

// scheme begins the URIs of resources. Behind it come the names, then the time and the index,
// each percent-encoded, with slashes between.
const scheme = "engram:///"

// uriOf returns the URI of what an ID names.
func uriOf(id engram.ID) string {
	parts := id.Names()
	if t, ok := id.Time(); ok {
		parts = append(parts[:len(parts):len(parts)], timeText(t))
	}
	if i, ok := id.Index(); ok {
		parts = append(parts, strconv.Itoa(i))
	}
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
	}
	return scheme + strings.Join(parts, "/")
}

// idOf returns the text of the ID that a URI names.
func idOf(uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", engram.Errorf(engram.Invalid, uri, "URIs of the memory begin with %s, such as %sObject/Instance", scheme, scheme)
	}
	if rest == "" {
		return "", nil
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		name, err := url.PathUnescape(p)
		if err != nil {
			return "", engram.Errorf(engram.Invalid, uri, "this is no URI: %w", err)
		}
		if i < int(engram.LevelEntity) {
			if name = engram.EscapeName(name); strings.HasPrefix(name, "*") || strings.HasPrefix(name, "~") {
				name = `\` + name // of this very name
			}
		}
		parts[i] = name
	}
	return strings.Join(parts, "/"), nil
}

// memoryOf returns a memory of a robot; of the one whose memory it is without a name.
func memoryOf(robot, memory string) string {
	if robot == "" {
		return memory
	}
	return robot + ":" + memory
}
