package copies

import (
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// Parse reads a copy's text: the pattern of what is copied, then its rules, in any
// order. What holds spaces stands in single or double quotes, as in a shell.
//
//	robot1:Object/Instance/* rate=2 max-payload=64KB fields=pose,name where='confidence > 0.5' priority=5 max-bytes=200KB gather=20ms since=1h spare
//
// The error is Invalid and names what is wrong.
func Parse(text string) (contract.Copy, error) {
	words, err := split(text)
	if err != nil {
		return contract.Copy{}, engram.Errorf(engram.Invalid, text, "%w", err)
	}
	return ParseWords(words)
}

// ParseWords is [Parse] for a text that is in words already, as a shell hands it over.
func ParseWords(words []string) (c contract.Copy, err error) {
	if len(words) == 0 {
		return c, engram.Errorf(engram.Invalid, "", "a copy begins with a pattern, such as robot1:Object/Instance")
	}
	if c.Pattern, err = engram.ParsePattern(words[0]); err != nil {
		return c, err
	}
	seen := map[string]bool{}
	for _, word := range words[1:] {
		key, value, valued := strings.Cut(word, "=")
		if seen[key] {
			return c, engram.Errorf(engram.Invalid, word, "it is said twice")
		}
		seen[key] = true
		if err := setRule(&c.Rules, key, value, valued); err != nil {
			return c, engram.Errorf(engram.Invalid, word, "%w", err)
		}
	}
	return c, Check(&c)
}

func setRule(r *contract.Rules, key, value string, valued bool) (err error) {
	if key == "spare" {
		if valued {
			return engram.Errorf(engram.Invalid, "", "it takes no value")
		}
		r.Spare = true
		return nil
	}
	if !valued || value == "" {
		switch key {
		case "rate", "fields", "where", "max-payload", "max-bytes", "priority", "since", "gather":
			return engram.Errorf(engram.Invalid, "", "a value is missing: %s=…", key)
		}
	}
	switch key {
	case "rate":
		r.MaxRate, err = strconv.ParseFloat(strings.TrimSuffix(value, "Hz"), 64)
		if err != nil {
			err = engram.Errorf(engram.Invalid, "", "a rate is a number of snapshots per second, such as rate=2")
		}
	case "fields":
		r.Fields = strings.Split(value, ",")
	case "where":
		r.Where = value
	case "max-payload":
		r.MaxPayload, err = policy.ParseSize(value)
	case "max-bytes":
		r.MaxBytes, err = policy.ParseSize(strings.TrimSuffix(value, "/s"))
	case "priority":
		if r.Priority, err = strconv.Atoi(value); err != nil {
			err = engram.Errorf(engram.Invalid, "", "a priority is a whole number; higher ones come first")
		}
	case "since":
		r.Since, err = policy.ParseDuration(value)
	case "gather":
		if r.Gather, err = policy.ParseDuration(value); err == nil && r.Gather == 0 {
			r.Gather = contract.NoGather
		}
	default:
		err = engram.Errorf(engram.Invalid, "", "there is no such rule; there are rate=, fields=, where=, max-payload=, max-bytes=, priority=, since=, gather= and spare")
	}
	return err
}

// Check returns an Invalid error if a copy makes no sense by itself.
func Check(c *contract.Copy) error {
	if len(c.Pattern.Levels) == 0 {
		return engram.Errorf(engram.Invalid, "", "a copy begins with the name of a memory: Vision/Image, robot1:Object, *:Object")
	}
	switch l := c.Pattern.Levels[0]; {
	case !c.OfMany():
		if robot, name, found := strings.Cut(l.Names[0], ":"); found && (robot == "" || name == "" || robot == "*") {
			return engram.Errorf(engram.Invalid, l.Names[0], "a memory of another robot is named robot:memory")
		}
	case l.Kind == engram.NameOneOf || !strings.Contains(l.String(), ":"):
		return engram.Errorf(engram.Invalid, c.Pattern.String(), "a copy is of one memory, named at the beginning (Vision/Image, robot1:Object), or of those of other robots, named with a colon (*:Object, ~robot[12]:Object)")
	}
	if _, err := c.Pattern.Matcher(); err != nil {
		return err
	}
	r := &c.Rules
	if err := r.Check(c.Pattern.String()); err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return engram.Errorf(engram.Invalid, c.Pattern.String(), format, args...)
	}
	for _, field := range r.Fields {
		if field == "" || strings.ContainsAny(field, " ,'\"=") {
			return fail("fields=%s: members are dotted paths, separated by commas", strings.Join(r.Fields, ","))
		}
		if err := idf.CheckPath(field); err != nil {
			return fail("fields=%s: %w", strings.Join(r.Fields, ","), err)
		}
	}
	if r.Where != "" {
		if _, err := idf.CompileFilter(r.Where); err != nil {
			return fail("where=%q: %w", r.Where, err)
		}
	}
	return nil
}

// Format returns the text of a copy, which [Parse] reads as the same.
func Format(c *contract.Copy) string {
	words := []string{quote(c.Pattern.String())}
	r := &c.Rules
	add := func(set bool, key, value string) {
		if set {
			words = append(words, key+"="+quote(value))
		}
	}
	add(r.MaxRate != 0, "rate", strconv.FormatFloat(r.MaxRate, 'g', -1, 64))
	add(len(r.Fields) > 0, "fields", strings.Join(r.Fields, ","))
	add(r.Where != "", "where", r.Where)
	add(r.MaxPayload != 0, "max-payload", strings.ReplaceAll(policy.PrintSize(r.MaxPayload), " ", ""))
	add(r.MaxBytes != 0, "max-bytes", strings.ReplaceAll(policy.PrintSize(r.MaxBytes), " ", ""))
	add(r.Priority != 0, "priority", strconv.Itoa(r.Priority))
	add(r.Since > 0, "since", policy.PrintDuration(r.Since))
	add(r.Gather > contract.NoGather, "gather", r.Gather.String())
	add(r.Gather == contract.NoGather, "gather", "0")
	if r.Spare {
		words = append(words, "spare")
	}
	return strings.Join(words, " ")
}

// FormatRules returns the rules of a copy as they stand in its text.
func FormatRules(r *contract.Rules) string {
	_, rules, _ := strings.Cut(Format(&contract.Copy{Pattern: engram.MustPattern("x"), Rules: *r}), " ")
	return rules
}

// split cuts a text into words at spaces outside quotes.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	quoted := rune(0)
	for _, r := range text {
		switch {
		case quoted != 0:
			if r == quoted {
				quoted = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quoted, begun = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted != 0 {
		return nil, engram.Errorf(engram.Invalid, "", "the quote %c is not closed", quoted)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// quote quotes a word if that is needed.
func quote(word string) string {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\r\n'\""):
		return word
	case !strings.Contains(word, "'"):
		return "'" + word + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}
