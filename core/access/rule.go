package access

import (
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Actions is a set of what can be done.
type Actions uint8

// What can be done. Subscribe is to be told of updates from now on; with their data,
// or from an earlier time on, Read is needed as well. Copying needs both.
const (
	Read      Actions = 1 << iota // query
	Write                         // commit
	Subscribe                     // be told of updates
	Admin                         // segments, types, registering memories, the long-term memory
	// Forward is to hand on calls that other identities make, and to be believed who
	// they are: for servers. It is not about an ID.
	Forward

	// All is everything that is about an ID.
	All = Read | Write | Subscribe | Admin
)

var actionNames = []struct {
	action Actions
	name   string
}{{Read, "read"}, {Write, "write"}, {Subscribe, "subscribe"}, {Admin, "admin"}, {Forward, "forward"}}

// ParseAction reads one action; "all" is [All].
func ParseAction(text string) (Actions, error) {
	if text == "all" {
		return All, nil
	}
	for _, a := range actionNames {
		if a.name == text {
			return a.action, nil
		}
	}
	return 0, engram.Errorf(engram.Invalid, fmt.Sprintf("%.64q", text), "no action; there are read, write, subscribe, admin, forward and all")
}

// String returns the actions' names, separated by commas.
func (a Actions) String() string {
	if a == All {
		return "all"
	}
	var names []string
	for _, n := range actionNames {
		if a&n.action != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// Rule allows identities some actions on what patterns match and on all below it, or
// denies them. What no rule allows is denied, and what one denies is denied whatever
// others allow: the order of rules does not matter.
type Rule struct {
	Deny    bool
	Actions Actions
	To      []string         // identities; "*" in them stands for any characters
	On      []engram.Pattern // none with Forward
	Line    int              // where it begins in its file; 0 is unknown
}

// Effect returns "allow" or "deny".
func (r Rule) Effect() string {
	if r.Deny {
		return "deny"
	}
	return "allow"
}

// Patterns returns the texts of On.
func (r Rule) Patterns() []string {
	var texts []string
	for _, p := range r.On {
		texts = append(texts, p.String())
	}
	return texts
}

// String returns the rule in words.
func (r Rule) String() string {
	text := fmt.Sprintf("%s %s to %s", r.Effect(), r.Actions, strings.Join(r.To, ", "))
	if len(r.On) == 0 {
		return text
	}
	return text + " on " + strings.Join(r.Patterns(), ", ")
}

// Bounds of what rules may hold.
const (
	MaxRules       = 10_000
	MaxRevocations = 100_000
	maxRuleLists   = 1000 // identities or patterns of one rule
)

// Check returns an Invalid error that says what is wrong with the rule.
func (r Rule) Check() error {
	switch {
	case r.Actions == 0:
		return engram.Errorf(engram.Invalid, "", "the rule has no action")
	case len(r.To) == 0:
		return engram.Errorf(engram.Invalid, "", "the rule says not to whom; write \"to: NAME\", or \"to: '*'\" for everyone")
	case r.Actions&Forward != 0 && r.Actions != Forward:
		return engram.Errorf(engram.Invalid, "", "forward is about no ID; give it a rule of its own")
	case r.Actions == Forward && len(r.On) > 0:
		return engram.Errorf(engram.Invalid, "", "forward is about no ID; leave \"on\" away")
	case r.Actions != Forward && len(r.On) == 0:
		return engram.Errorf(engram.Invalid, "", "the rule says not on what; write \"on: PATTERN\", or \"on: '*'\" for everything")
	case len(r.To) > maxRuleLists || len(r.On) > maxRuleLists:
		return engram.Errorf(engram.Exhausted, "", "the rule has more than %d identities or patterns; split it", maxRuleLists)
	}
	for _, to := range r.To {
		if err := checkIdentityPattern(to); err != nil {
			return err
		}
	}
	for _, p := range r.On {
		if _, err := p.Matcher(); err != nil {
			return err
		}
	}
	return nil
}

// checkIdentityPattern refuses what can match no identity.
func checkIdentityPattern(p string) error {
	switch id := Identity(p); {
	case id == Owner:
		return engram.Errorf(engram.Invalid, p, "the user whom the server runs as may always do everything; rules are about others")
	case id == Anonymous:
		return nil
	}
	bare := strings.ReplaceAll(strings.TrimPrefix(p, UserPrefix), "*", "")
	if p == "" || bare != "" && CheckIdentity(bare) != nil || len(p) > MaxIdentityLen {
		return engram.Errorf(engram.Invalid, fmt.Sprintf("%.64q", p), "no pattern of identities; it has letters, digits, \".\", \"_\", \"-\", \"@\", and \"*\" for any characters; or \"anonymous\", or \"uid:N\"")
	}
	return nil
}

// MatchWildcards reports whether a pattern matches a text: "*" stands for any characters.
func MatchWildcards(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest := text
	if len(parts) == 1 {
		return rest == pattern
	}
	rest, ok := strings.CutPrefix(rest, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}

// Revocation takes all rights from an identity, or from one of its certificates.
type Revocation struct {
	Identity Identity // or
	Serial   string   // of a certificate, hexadecimal
	At       string   // when; for people
	Why      string
	Line     int
}

// Policy is what a file of access rules says.
type Policy struct {
	Rules   []Rule
	Revoked []Revocation
}
