package condition

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

var near = regexp.MustCompile(`^(.*) near ([0-9]*\.?[0-9]+) ?m?(?: of (\S+))?$`)

// ParseTerm reads a term as [Term.String] writes one without a text:
//
//	[some|no] PATTERN [where CEL] [near METRES [of FRAME]] [within DURATION]
//
// The error is Invalid.
func ParseTerm(text string) (t Term, err error) {
	rest := strings.TrimSpace(text)
	if after, ok := strings.CutPrefix(rest, "no "); ok {
		t.None, rest = true, after
	} else {
		rest = strings.TrimPrefix(rest, "some ")
	}
	if i := strings.LastIndex(rest, " within "); i >= 0 {
		if d, err := time.ParseDuration(strings.TrimSpace(rest[i+len(" within "):])); err == nil {
			if t.Within, rest = d, rest[:i]; d <= 0 {
				return t, engram.Errorf(engram.Invalid, text, "within is more than 0")
			}
		}
	}
	if m := near.FindStringSubmatch(rest); m != nil {
		rest, t.NearTo = m[1], m[3]
		if t.Near, err = strconv.ParseFloat(m[2], 64); err != nil || t.Near == 0 {
			return t, engram.Errorf(engram.Invalid, text, "near is a distance in metres, more than 0")
		}
	}
	pattern, where, _ := strings.Cut(rest, " where ")
	t.Where = strings.TrimSpace(where)
	if strings.Contains(pattern, " near ") || strings.Contains(pattern, " within ") { // else it is about what there never is
		return t, engram.Errorf(engram.Invalid, text, "write distances and times as 'near 1.5 m', 'near 1.5 m of base_link', 'within 5s'")
	}
	if t.Of, err = engram.ParsePattern(strings.TrimSpace(pattern)); err != nil {
		return t, engram.Errorf(engram.Invalid, text, "write a term as '[some|no] PATTERN [where CEL] [near METRES [of FRAME]] [within DURATION]': %w", err)
	}
	return t, check(t.Of, t.Where)
}

// ParseTrigger reads a trigger as [Trigger.String] writes it, in letters of any case and with or without a hyphen. The error is
// Invalid.
func ParseTrigger(text string) (Trigger, error) {
	for i, name := range triggers {
		if strings.EqualFold(strings.ReplaceAll(text, "-", ""), name) {
			return Trigger(i), nil
		}
	}
	return 0, engram.Errorf(engram.Invalid, text, "the triggers are edge, each-update and level")
}
