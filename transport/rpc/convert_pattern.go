package rpc

import (
	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func nameSelectorMessage(s engram.NameSelector) (*engramv1.NameSelector, error) {
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

func patternMessage(p engram.Pattern) (*engramv1.Pattern, error) {
	m := &engramv1.Pattern{Levels: make([]*engramv1.NameSelector, len(p.Levels))}
	for i, s := range p.Levels {
		var err error
		if m.Levels[i], err = nameSelectorMessage(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// limits bounds what a request may hold; see [Options].
type limits struct{ pattern, regex, nodes int }

func (l limits) breadth(what string, n int) error {
	if n > l.nodes {
		return engram.Errorf(engram.Exhausted, "", "the request has %d %s; at most %d are allowed; split it, or use a regex", n, what, l.nodes)
	}
	return nil
}

func (l limits) regexLen(expr string) error {
	if len(expr) > l.regex {
		return engram.Errorf(engram.Exhausted, "", "the regex %.32q… is %d bytes long; at most %d are allowed", expr, len(expr), l.regex)
	}
	return nil
}

// nameSelector converts a selector; none selects all names.
func (l limits) nameSelector(m *engramv1.NameSelector) (engram.NameSelector, error) {
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

// onePattern converts a request's pattern, given as text or by its selectors.
func (l limits) onePattern(text string, m *engramv1.Pattern) (engram.Pattern, error) {
	if m == nil {
		return l.parsePattern(text)
	}
	if text != "" {
		return engram.Pattern{}, engram.Errorf(engram.Invalid, "", "the request has both a pattern and a selector; give one of them")
	}
	return l.structuredPattern(m)
}

func (l limits) structuredPattern(m *engramv1.Pattern) (engram.Pattern, error) {
	var p engram.Pattern
	n := 0
	for _, lm := range m.GetLevels() {
		n += 1 + len(lm.GetNames().GetNames())
		if err := l.breadth("names", n); err != nil {
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

func (l limits) parsePattern(text string) (engram.Pattern, error) {
	if len(text) > l.pattern {
		return engram.Pattern{}, engram.Errorf(engram.Exhausted, "", "the pattern %.32q… is %d bytes long; at most %d are allowed", text, len(text), l.pattern)
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
