package access

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Table is a compiled [Policy]. Safe for concurrent use.
type Table struct {
	policy  Policy
	rules   []*compiled
	banned  map[Identity]*Revocation
	serials map[string]*Revocation
	grants  cache[Identity, *grant]
}

// compiled is a rule about one pattern.
type compiled struct {
	rule    *Rule
	verdict verdict
	match   *engram.PatternMatcher
	// depth is the level from which on the pattern matches whatever lies below.
	depth engram.Level
}

// reaches reports whether the rule is about id, something that contains it, or
// something that may lie in it. id is at most as deep as a provider segment.
func (r *compiled) reaches(id engram.ID) bool {
	names := [...]string{id.Memory(), id.CoreSegment(), id.ProviderSegment()}
	for l := engram.LevelMemory; l <= min(id.Level(), r.depth, engram.LevelProviderSegment); l++ {
		if !r.match.Level(l).Match(names[l-1]) {
			return false
		}
	}
	return true
}

// maxGrants bounds the identities that a table remembers the rights of.
const maxGrants = 1024

// Compile compiles a policy, which must not be changed afterwards. The error names
// the line of what is wrong.
func Compile(p Policy) (*Table, error) {
	if len(p.Rules) > MaxRules {
		return nil, engram.Errorf(engram.Exhausted, "", "%d rules; at most %d are allowed", len(p.Rules), MaxRules)
	}
	if len(p.Revoked) > MaxRevocations {
		return nil, engram.Errorf(engram.Exhausted, "", "%d revocations; at most %d are allowed", len(p.Revoked), MaxRevocations)
	}
	t := &Table{policy: p, banned: map[Identity]*Revocation{}, serials: map[string]*Revocation{}}
	for i := range p.Rules {
		r := &p.Rules[i]
		if err := r.Check(); err != nil {
			return nil, atLine(r.Line, err)
		}
		v := verdict{allow: r.Actions}
		if r.Deny {
			v = verdict{deny: r.Actions}
		}
		if r.Actions == Forward {
			t.rules = append(t.rules, &compiled{rule: r, verdict: v, match: &engram.PatternMatcher{}})
		}
		for _, on := range r.On {
			m, err := on.Matcher()
			if err != nil {
				return nil, atLine(r.Line, err)
			}
			depth := len(on.Levels)
			for depth > 0 && on.Levels[depth-1].Kind == engram.NameAll {
				depth--
			}
			t.rules = append(t.rules, &compiled{rule: r, verdict: v, match: m, depth: engram.Level(depth)})
		}
	}
	for i := range p.Revoked {
		r := &p.Revoked[i]
		switch {
		case r.Identity != "" && r.Serial == "":
			t.banned[r.Identity] = r
		case r.Serial != "" && r.Identity == "":
			t.serials[normalSerial(r.Serial)] = r
		default:
			return nil, atLine(r.Line, engram.Errorf(engram.Invalid, "", "a revocation names an identity, or the serial of a certificate"))
		}
	}
	return t, nil
}

func atLine(line int, err error) error {
	if line == 0 {
		return err
	}
	return engram.Errorf(engram.CodeOf(err), fmt.Sprintf("line %d", line), "%w", err)
}

// normalSerial returns a serial as certificates' are compared.
func normalSerial(s string) string {
	s = strings.TrimLeft(strings.ToLower(strings.ReplaceAll(s, ":", "")), "0")
	return s
}

// Open reports whether there is no rule: then everyone who is not revoked may do
// everything.
func (t *Table) Open() bool { return len(t.rules) == 0 }

// Policy returns what was compiled. It must not be changed.
func (t *Table) Policy() Policy { return t.policy }

// grant returns what an identity may do.
func (t *Table) grant(id Identity) *grant {
	if g, ok := t.grants.get(id); ok {
		return g
	}
	g := &grant{id: id}
	_, banned := t.banned[id]
	switch {
	case id == Owner, t.Open() && !banned:
		g.all, g.forward = true, true
	case banned:
	default:
		g.rules, g.forward = t.about(id)
	}
	t.grants.put(id, g, maxGrants)
	return g
}

// about returns the rules about an identity, and whether it may forward.
func (t *Table) about(id Identity) (rules []*compiled, forward bool) {
	var forwards verdict
	for _, r := range t.rules {
		for _, to := range r.rule.To {
			if !MatchWildcards(to, string(id)) {
				continue
			}
			if r.rule.Actions == Forward {
				forwards = forwards.with(r.verdict)
			} else {
				rules = append(rules, r)
			}
			break
		}
	}
	return rules, forwards.granted() != 0
}

// Revoked returns why an identity, or its certificate of that serial (hexadecimal,
// may be empty), has no rights any more; nil if it has.
func (t *Table) Revoked(id Identity, serial string) *Revocation {
	if r := t.banned[id]; r != nil {
		return r
	}
	if serial == "" {
		return nil
	}
	return t.serials[normalSerial(serial)]
}

// fingerprint tells apart what two tables say about an identity.
func (t *Table) fingerprint(id Identity) uint64 {
	g := t.grant(id)
	h := fnv.New64a()
	fmt.Fprintf(h, "%v %v\n", g.all, g.forward)
	var last *Rule
	for _, r := range g.rules {
		if r.rule != last {
			fmt.Fprintln(h, r.rule)
			last = r.rule
		}
	}
	return h.Sum64()
}

// Decision answers whether an identity may do something, and why.
type Decision struct {
	Allowed bool
	// Rule is what decides: the first that denies, or else the first that allows; nil
	// if no rule is about it.
	Rule *Rule
	Why  string
}

// Decide says whether an identity may do all of the actions with id and all below it.
func (t *Table) Decide(id Identity, a Actions, on engram.ID) Decision {
	on = on.Truncate(engram.LevelEntity)
	if id == Owner {
		return Decision{Allowed: true, Why: "the user whom the server runs as may do everything"}
	}
	if r := t.banned[id]; r != nil {
		return Decision{Why: "the identity is revoked"}
	}
	if t.Open() {
		return Decision{Allowed: true, Why: "there are no rules: everyone may do everything"}
	}
	rules, forward := t.about(id)
	if a == Forward {
		return Decision{Allowed: forward, Why: "as the rules about forwarding say"}
	}
	var allows *Rule
	var missing = a
	upper := on.Truncate(engram.LevelProviderSegment)
	for _, r := range rules {
		if !r.reaches(upper) || r.rule.Actions&a == 0 || r.depth == engram.LevelEntity && on.Level() == engram.LevelEntity && !r.match.Match(on) {
			continue
		}
		whole := r.depth <= on.Level()
		switch {
		case r.rule.Deny && whole:
			return Decision{Rule: r.rule, Why: "a rule denies it"}
		case r.rule.Deny:
			return Decision{Rule: r.rule, Why: "a rule denies it for something below"}
		case whole:
			missing &^= r.rule.Actions
			if allows == nil {
				allows = r.rule
			}
		}
	}
	if missing != 0 {
		return Decision{Why: fmt.Sprintf("no rule allows it to %s this", missing)}
	}
	return Decision{Allowed: true, Rule: allows, Why: "a rule allows it"}
}
