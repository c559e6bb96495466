package wire

import (
	"context"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// NameSelectorMessage returns the message of a selector.
func NameSelectorMessage(s engram.NameSelector) (*engramv1.NameSelector, error) {
	m := &engramv1.NameSelector{}
	switch s.Kind {
	case engram.NameAll:
	case engram.NameOneOf:
		m.Kind = &engramv1.NameSelector_Names_{Names: &engramv1.NameSelector_Names{Names: s.Names}}
	case engram.NameRegex:
		m.Kind = &engramv1.NameSelector_Regex{Regex: s.Regex}
	default:
		_, err := s.Matcher()
		return nil, err
	}
	return m, nil
}

// PatternMessage returns the message of a pattern.
func PatternMessage(p engram.Pattern) (*engramv1.Pattern, error) {
	m := &engramv1.Pattern{Levels: make([]*engramv1.NameSelector, len(p.Levels))}
	for i, s := range p.Levels {
		var err error
		if m.Levels[i], err = NameSelectorMessage(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Limits bound what a request may hold.
type Limits struct {
	MaxPattern int // bytes of a pattern's text
	MaxRegex   int // bytes of one regex
	MaxNodes   int // nodes, names, selectors, patterns or IDs in one request
}

// DefaultLimits are those of a server that was not told otherwise.
var DefaultLimits = Limits{MaxPattern: 8192, MaxRegex: engram.MaxRegexLen, MaxNodes: 10_000}

type limitsKey struct{}

// WithLimits returns a context for calls within limits.
func WithLimits(ctx context.Context, l Limits) context.Context {
	return context.WithValue(ctx, limitsKey{}, l)
}

// LimitsOf returns the limits of a call.
func LimitsOf(ctx context.Context) Limits {
	if l, ok := ctx.Value(limitsKey{}).(Limits); ok {
		return l
	}
	return DefaultLimits
}

// Breadth returns an Exhausted error if a request has more than MaxNodes things of a
// kind.
func (l Limits) Breadth(what string, n int) error {
	if n > l.MaxNodes {
		return engram.Errorf(engram.Exhausted, "", "the request has %d %s; at most %d are allowed; split it, or use a regex", n, what, l.MaxNodes)
	}
	return nil
}

func (l Limits) regexLen(expr string) error {
	if len(expr) > l.MaxRegex {
		return engram.Errorf(engram.Exhausted, "", "the regex %.32q… is %d bytes long; at most %d are allowed", expr, len(expr), l.MaxRegex)
	}
	return nil
}

// nameSelector converts a selector; none selects all names.
func (l Limits) nameSelector(m *engramv1.NameSelector) (engram.NameSelector, error) {
	switch k := m.GetKind().(type) {
	case *engramv1.NameSelector_Name:
		return engram.OneOf(k.Name), nil
	case *engramv1.NameSelector_Names_:
		return engram.OneOf(k.Names.GetNames()...), nil
	case *engramv1.NameSelector_Regex:
		return engram.MatchRegex(k.Regex), l.regexLen(k.Regex)
	}
	return engram.AllNames(), nil
}

// OnePattern converts a request's pattern, given as text or by its selectors.
func (l Limits) OnePattern(text string, m *engramv1.Pattern) (engram.Pattern, error) {
	if m == nil {
		return l.Pattern(text)
	}
	if text != "" {
		return engram.Pattern{}, engram.Errorf(engram.Invalid, "", "the request has both a pattern and a selector; give one of them")
	}
	return l.Selectors(m)
}

// Selectors converts a pattern given by its selectors.
func (l Limits) Selectors(m *engramv1.Pattern) (engram.Pattern, error) {
	var p engram.Pattern
	n := 0
	for _, lm := range m.GetLevels() {
		n += 1 + len(lm.GetNames().GetNames())
		if err := l.Breadth("names", n); err != nil {
			return p, err
		}
		s, err := l.nameSelector(lm)
		if err != nil {
			return p, err
		}
		p.Levels = append(p.Levels, s)
	}
	_, err := p.Matcher()
	return p, err
}

// Pattern reads a pattern's text.
func (l Limits) Pattern(text string) (engram.Pattern, error) {
	if len(text) > l.MaxPattern {
		return engram.Pattern{}, engram.Errorf(engram.Exhausted, "", "the pattern %.32q… is %d bytes long; at most %d are allowed", text, len(text), l.MaxPattern)
	}
	p, err := engram.ParsePattern(text)
	if err != nil {
		return p, err
	}
	for _, s := range p.Levels {
		if err := l.regexLen(s.Regex); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Patterns converts a request's patterns, given as texts and by their selectors. Equal
// texts give one pattern.
func (l Limits) Patterns(texts []string, selectors ...*engramv1.Pattern) ([]engram.Pattern, error) {
	n := len(texts) + len(selectors)
	if err := l.Breadth("patterns", n); err != nil {
		return nil, err
	}
	var out []engram.Pattern
	add := func(p engram.Pattern, err error) error {
		if err != nil {
			return err
		}
		breadth, err := p.Breadth()
		if err != nil {
			return err
		}
		n += breadth - 1
		out = append(out, p)
		return l.Breadth("patterns, with their names and the size of their regexes", n)
	}
	seen := make(map[string]bool)
	for _, text := range texts {
		if seen[text] {
			n--
			continue
		}
		seen[text] = true
		if err := add(l.Pattern(text)); err != nil {
			return nil, err
		}
	}
	for _, m := range selectors {
		if err := add(l.Selectors(m)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
