package engram

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// NameKind is the kind of a [NameSelector].
type NameKind uint8

// The kinds of name selectors; the zero value selects all names.
const (
	NameAll NameKind = iota
	NameOneOf
	NameRegex
)

// MaxRegexLen is the longest regular expression accepted in a selector, in bytes.
const MaxRegexLen = 1024

// maxRegexSize is the largest compiled form of a regular expression in a selector, in
// instructions and ranges of characters: as much as 2,000 letters, or \pL three times.
const maxRegexSize = 2000

// largeRegex matches what makes the compiled form larger than twice the text.
var largeRegex = regexp.MustCompile(`[\[{(]|\\[pP]`)

// regexPerName is how much of a compiled regular expression counts as one more name.
const regexPerName = 32

// What compiled selectors take, in bytes, about.
const (
	nameBytes      = 32   // a listed name, beside its text
	regexBytes     = 1024 // a regular expression
	regexStepBytes = 192  // each of its instructions and ranges of characters, at most
	matcherBytes   = 64   // a level of a pattern
)

// NameSelector selects names at one level.
type NameSelector struct {
	Kind  NameKind
	Names []string // NameOneOf
	Regex string   // NameRegex: RE2, matched against the whole name
}

// AllNames selects every name.
func AllNames() NameSelector { return NameSelector{} }

// OneOf selects the given names.
func OneOf(names ...string) NameSelector { return NameSelector{Kind: NameOneOf, Names: names} }

// MatchRegex selects the names that the RE2 expression matches as a whole.
func MatchRegex(expr string) NameSelector { return NameSelector{Kind: NameRegex, Regex: expr} }

// String returns the selector as it stands in a pattern's text.
func (s NameSelector) String() string {
	switch s.Kind {
	case NameOneOf:
		if len(s.Names) == 1 && !strings.HasSuffix(s.Names[0], ":*") {
			return escapePatternName(s.Names[0])
		}
		quoted := make([]string, len(s.Names))
		for i, n := range s.Names {
			quoted[i] = regexp.QuoteMeta(n)
		}
		return "~" + escapeSlashes(strings.Join(quoted, "|"))
	case NameRegex:
		return "~" + escapeSlashes(s.Regex)
	}
	return "*"
}

// Matcher returns the compiled form of the selector, safe for concurrent use. The
// error is Invalid for a regex that does not compile and Exhausted for one that
// is too long.
func (s NameSelector) Matcher() (NameMatcher, error) {
	switch s.Kind {
	case NameAll:
		return NameMatcher{all: true}, nil
	case NameOneOf:
		m := NameMatcher{names: s.Names}
		for _, n := range s.Names {
			m.size += nameBytes + len(n)
		}
		return m, nil
	case NameRegex:
		n, err := s.regexSize()
		if err != nil {
			return NameMatcher{}, err
		}
		return NameMatcher{re: regexp.MustCompile(`^(?:` + s.Regex + `)$`), size: regexBytes + n*regexStepBytes + 2*len(s.Regex), insts: n}, nil
	}
	return NameMatcher{}, Errorf(Invalid, "", "a name selector of unknown kind %d", s.Kind)
}

// regexSize returns how large the selector's regular expression is when it is compiled,
// from its syntax alone. The error is Invalid or Exhausted.
func (s NameSelector) regexSize() (int, error) {
	if len(s.Regex) > MaxRegexLen {
		return 0, Errorf(Exhausted, quoteShort(s.Regex), "the regex is %d bytes long; at most %d are allowed", len(s.Regex), MaxRegexLen)
	}
	_, err := syntax.Parse(s.Regex, syntax.Perl) // an error names what was written
	var re *syntax.Regexp
	if err == nil {
		re, err = syntax.Parse(`^(?:`+s.Regex+`)$`, syntax.Perl)
	}
	if err != nil {
		return 0, Errorf(Invalid, quoteShort(s.Regex), "the regex does not compile (RE2 syntax): %w", err)
	}
	n := RegexSize(re, maxRegexSize)
	if n > maxRegexSize {
		return 0, Errorf(Exhausted, quoteShort(s.Regex), "the regex is too large when it is compiled; repeat fewer times, and smaller classes of characters")
	}
	return n, nil
}

// RegexSize returns how large a regular expression is when it is compiled, in instructions and ranges of
// characters, from its syntax alone; most+1 if it is larger than most. To match a text may take all of
// them for each of its bytes, of about 13 ns each.
func RegexSize(re *syntax.Regexp, most int) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n = 1 + len(re.Rune)/2
	case syntax.OpConcat, syntax.OpRepeat:
		n = 0
	case syntax.OpAlternate, syntax.OpCapture:
		n = 2 * len(re.Sub)
	}
	for _, sub := range re.Sub {
		if n += RegexSize(sub, most); n > most {
			break
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, most+1)
}

// breadth returns for how many names the selector counts where these are bounded. The
// error is that of its regular expression.
func (s NameSelector) breadth() (int, error) {
	switch {
	case s.Kind != NameRegex:
		return len(s.Names), nil
	case len(s.Regex) < regexPerName/2 && !largeRegex.MatchString(s.Regex): // small, whatever it says
		return 0, nil
	}
	n, err := s.regexSize()
	return n / regexPerName, err
}

// NameMatcher is a compiled [NameSelector]. Its zero value matches nothing.
type NameMatcher struct {
	all   bool
	names []string
	re    *regexp.Regexp
	size  int // of what is listed or compiled, in bytes, about
	insts int // of the regular expression, when it is compiled
}

// Instructions returns how many instructions and ranges of characters the selector's regular expression has; 0 if there
// is none. To match a name may take them all for each of its bytes.
func (m *NameMatcher) Instructions() int { return m.insts }

// Match reports whether the name is selected.
func (m *NameMatcher) Match(name string) bool {
	if m.all {
		return true
	}
	if m.re != nil {
		return m.re.MatchString(name)
	}
	return slices.Contains(m.names, name)
}

// Exact returns the selected names if the selector lists them, so that they can
// be looked up instead of matched.
func (m *NameMatcher) Exact() (names []string, ok bool) { return m.names, !m.all && m.re == nil }

// Pattern selects what lies in the hierarchy by one name selector per level, from
// the memory down. What lies below a matched name is matched too, so the empty
// pattern matches everything. Its text looks like an ID's:
//
//	Object/Instance            everything in one core segment
//	Object/*/Vision/~cup-\d+   * is any name, ~ begins a regex
//
// A name that begins with "*" or "~" is written with a backslash before it. In a
// regex "/" is written `\/`; other backslashes stand for themselves.
//
// The memory of another robot is written "robot1:Object". "*:Object" is Object of
// every robot, this one included, and "robot1:*" every memory of robot1. "*", and a
// regex that does not mention a colon, are meant for this robot's own memories.
type Pattern struct {
	Levels []NameSelector // at most 4
}

// PatternOf returns the pattern that matches id and all below it, as far down as
// the level of entities.
func PatternOf(id ID) Pattern {
	var p Pattern
	for _, n := range id.names[:min(id.level, LevelEntity)] {
		p.Levels = append(p.Levels, OneOf(n))
	}
	return p
}

// ParsePattern reads a pattern's text. The error is Invalid or Exhausted.
func ParsePattern(text string) (Pattern, error) {
	var p Pattern
	for rest, more := text, text != ""; more; {
		if len(p.Levels) == 4 {
			return Pattern{}, Errorf(Invalid, quoteShort(text), "a pattern has at most 4 levels: memory, core segment, provider segment, entity")
		}
		var sel NameSelector
		var part string
		var err error
		switch {
		case strings.HasPrefix(rest, "~"):
			part, rest, more = cutRegex(rest[1:])
			sel = MatchRegex(part)
			_, err = sel.Matcher()
		case strings.HasPrefix(rest, `\*`), strings.HasPrefix(rest, `\~`):
			first := rest[1:2]
			part, rest, more, err = cutName(rest[2:])
			sel = OneOf(first + part)
		default:
			part, rest, more, err = cutName(rest)
			if sel = OneOf(part); part == "*" {
				sel = AllNames()
			} else if some, ok := ofRobots(part); ok && len(p.Levels) == 0 {
				sel = some
			}
		}
		if err == nil && sel.Kind == NameOneOf {
			err = CheckName(sel.Names[0])
		}
		if err != nil {
			return Pattern{}, Errorf(CodeOf(err), quoteShort(text), "not a pattern: %w", err)
		}
		p.Levels = append(p.Levels, sel)
	}
	return p, nil
}

const (
	everyRobot  = "(?:[^:]+:)?" // the own ones need no robot's name
	everyMemory = "(?s:.+)"
)

// asOfRobots returns the text of a selector that [ofRobots] returned.
func (s NameSelector) asOfRobots() (text string, ok bool) {
	if s.Kind != NameRegex {
		return "", false
	}
	robot, memory := "*", ""
	if rest, every := strings.CutPrefix(s.Regex, everyRobot); every {
		memory = rest
	} else if robot, memory, ok = strings.Cut(s.Regex, ":"); !ok {
		return "", false
	}
	if memory == everyMemory {
		memory = "*"
	}
	text = unquoteMeta(robot) + ":" + unquoteMeta(memory)
	again, ok := ofRobots(text)
	return EscapeName(text), ok && again.Regex == s.Regex
}

// unquoteMeta is the inverse of regexp.QuoteMeta.
func unquoteMeta(expr string) string {
	b := make([]byte, 0, len(expr))
	for i := 0; i < len(expr); i++ {
		if expr[i] == '\\' && i+1 < len(expr) {
			i++
		}
		b = append(b, expr[i])
	}
	return string(b)
}

// ofRobots returns the selector of memories that is written with "*" before or after
// a colon.
func ofRobots(text string) (NameSelector, bool) {
	robot, memory, ok := strings.Cut(text, ":")
	if !ok || robot != "*" && memory != "*" {
		return NameSelector{}, false
	}
	expr := regexp.QuoteMeta(robot) + ":"
	if robot == "*" {
		expr = everyRobot
	}
	if memory == "*" {
		return MatchRegex(expr + everyMemory), true
	}
	return MatchRegex(expr + regexp.QuoteMeta(memory)), true
}

// MustPattern is [ParsePattern] for texts known to be right; it panics on an error.
func MustPattern(text string) Pattern {
	p, err := ParsePattern(text)
	if err != nil {
		panic(err)
	}
	return p
}

// String returns the pattern's text.
func (p Pattern) String() string {
	parts := make([]string, len(p.Levels))
	for i, s := range p.Levels {
		text, ok := "", false
		if i == 0 {
			text, ok = s.asOfRobots()
		}
		if !ok {
			text = s.String()
		}
		parts[i] = text
	}
	return strings.Join(parts, "/")
}

// Breadth returns for how many the pattern counts where patterns are bounded: one, and
// more if it lists names or has large regular expressions. The error is that of a
// regular expression, Invalid or Exhausted.
func (p Pattern) Breadth() (int, error) {
	n := 1
	for _, s := range p.Levels {
		b, err := s.breadth()
		if err != nil {
			return 0, err
		}
		n += max(b-1, 0)
	}
	return n, nil
}

// Enclosing returns the deepest node in which everything lies that the pattern matches. Its
// level is the number of the pattern's levels if each of these lists one name.
func (p Pattern) Enclosing() ID {
	var id ID
	for _, l := range p.Levels {
		if l.Kind != NameOneOf || len(l.Names) != 1 {
			break
		}
		below, err := id.Child(l.Names[0])
		if err != nil {
			break
		}
		id = below
	}
	return id
}

// selector returns the selector of level i, counted from the memory at 0.
func (p Pattern) selector(i int) NameSelector {
	if i < len(p.Levels) {
		return p.Levels[i]
	}
	return AllNames()
}

// Matcher returns the compiled form of the pattern, safe for concurrent use.
func (p Pattern) Matcher() (*PatternMatcher, error) {
	if len(p.Levels) > 4 {
		return nil, Errorf(Invalid, "", "a pattern has %d levels; at most 4 are allowed", len(p.Levels))
	}
	m := &PatternMatcher{levels: make([]NameMatcher, len(p.Levels))}
	for i, s := range p.Levels {
		var err error
		if m.levels[i], err = s.Matcher(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// PatternMatcher is a compiled [Pattern].
type PatternMatcher struct{ levels []NameMatcher }

// Match reports whether the pattern matches id or something that contains it.
func (m *PatternMatcher) Match(id ID) bool {
	if int(min(id.level, LevelEntity)) < len(m.levels) {
		return false
	}
	for i := range m.levels {
		if !m.levels[i].Match(id.names[i]) {
			return false
		}
	}
	return true
}

// Size returns how many bytes of memory the compiled pattern takes, about.
func (m *PatternMatcher) Size() int {
	n := matcherBytes
	for i := range m.levels {
		n += matcherBytes + m.levels[i].size
	}
	return n
}

// Exact returns what the pattern names if it lists one name at each of its levels.
func (m *PatternMatcher) Exact() (id ID, ok bool) {
	for i := range m.levels {
		names, lists := m.levels[i].Exact()
		if !lists || len(names) != 1 {
			return ID{}, false
		}
		var err error
		if id, err = id.Child(names[0]); err != nil {
			return ID{}, false // no ID has such a name
		}
	}
	return id, true
}

// Level returns the matcher of the names at level l, from LevelMemory to
// LevelEntity; below the pattern's own levels it matches every name.
func (m *PatternMatcher) Level(l Level) *NameMatcher {
	if i := int(l) - 1; i < len(m.levels) {
		return &m.levels[i]
	}
	return &NameMatcher{all: true}
}

func escapePatternName(name string) string {
	s := EscapeName(name)
	if s[:min(1, len(s))] == "*" || s[:min(1, len(s))] == "~" {
		return `\` + s
	}
	return s
}

// escapeSlashes writes "/" in a regex as `\/`, which RE2 reads as a slash too.
func escapeSlashes(expr string) string {
	var b strings.Builder
	escaped := false
	for i := range len(expr) {
		if expr[i] == '/' && !escaped {
			b.WriteByte('\\')
		}
		escaped = expr[i] == '\\' && !escaped
		b.WriteByte(expr[i])
	}
	return b.String()
}

// cutRegex takes a regex up to the next slash without a backslash before it.
func cutRegex(s string) (expr, rest string, more bool) {
	escaped := false
	for i := range len(s) {
		switch {
		case escaped:
			escaped = false
		case s[i] == '\\':
			escaped = true
		case s[i] == '/':
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}
