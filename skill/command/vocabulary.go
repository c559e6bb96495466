package command

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seed-301d4374/engram"
)

// Agent is somebody who can be spoken to.
type Agent struct {
	Name   string   // of the robot
	Spoken []string // other names by which people call it
	Groups []string // that it belongs to, such as "Scouts"
	// Skills that it has; nil if that is not known, then it may have any.
	Skills []string
}

// has reports whether the agent has a skill, as far as that is known.
func (a *Agent) has(skill string) bool { return a.Skills == nil || slices.Contains(a.Skills, skill) }

// Verb is a way to ask for a skill.
type Verb struct {
	// Pattern is the words, with slots in braces: "take {object} to {place}". A slot
	// "{object}" takes a [Thing] of that kind and becomes the skill's parameter of that name;
	// "{to:place}" is the parameter "to". Articles are not written.
	Pattern string
	Skill   string
	// Parameters that the words imply, beside those of the slots.
	Parameters map[string]string
}

// Thing is something that has a spoken name: an object, a place, a map.
type Thing struct {
	Kind   string   // the slots that it fits, such as "object"
	Name   string   // what the parameter becomes
	Spoken []string // names by which people call it; Name is one, too
	ID     engram.ID
}

// Vocabulary is what can be understood.
type Vocabulary struct {
	Agents []Agent
	Verbs  []Verb
	Things []Thing
}

// everybody are the words for all agents.
var everybody = []string{"everybody", "everyone", "all", "all robots"}

// ignored are words that say nothing to a robot.
var ignored = []string{"the", "a", "an", "your", "please", "now", "then", "of"}

// words splits a text at spaces and punctuation, in lower case and without those that are
// ignored. A comma and "and" stay, since they part what is listed.
func words(text string) (out []string) {
	var b strings.Builder
	flush := func() {
		if w := b.String(); w != "" && !slices.Contains(ignored, w) {
			out = append(out, w)
		}
		b.Reset()
	}
	runes := []rune(strings.ToLower(text))
	for i, r := range runes {
		inside := i > 0 && i+1 < len(runes) && isWord(runes[i-1]) && isWord(runes[i+1])
		switch {
		case isWord(r), (r == '\'' || r == '’' || r == '.') && inside:
			b.WriteRune(r)
		case r == ',' || r == ';':
			flush()
			out = append(out, ",")
		case r == '&':
			flush()
			out = append(out, "and")
		default:
			flush()
		}
	}
	flush()
	return out
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// spellings are the ways in which a name may be said: as it is, and with the digits at its
// end apart, "scout1" and "scout 1".
func spellings(names ...string) (out [][]string) {
	for _, n := range names {
		w := words(n)
		if len(w) == 0 {
			continue
		}
		out = append(out, w)
		last := w[len(w)-1]
		if stem := strings.TrimRightFunc(last, unicode.IsDigit); stem != "" && stem != last {
			out = append(out, append(slices.Clone(w[:len(w)-1]), stem, last[len(stem):]))
		}
	}
	return out
}

// starts returns how many words of text the longest of the spellings takes at its begin; 0 if
// none does.
func starts(text []string, spelled [][]string) (n int) {
	for _, s := range spelled {
		if len(s) > n && len(s) <= len(text) && slices.Equal(text[:len(s)], s) {
			n = len(s)
		}
	}
	return n
}
