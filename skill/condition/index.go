package condition

import (
	"regexp"
	"slices"

	"github.com/seed-301d4374/engram"
)

// index finds which of many patterns match an entity. Names that patterns list are looked up; regular
// expressions are tried only where what they begin with fits. What it found of an entity it keeps.
// One goroutine uses it.
type index[V any] struct {
	root  place[V]
	found map[engram.ID][]V
}

// maxFound bounds of how many entities an index keeps what matches them.
const maxFound = 1 << 16

// place is a level of the hierarchy below certain names.
type place[V any] struct {
	values  []V // of the patterns that end here
	exact   map[string]*place[V]
	all     *place[V]
	regexes map[string][]*try[V] // by what they begin with
	begins  []int                // lengths of the keys of regexes
}

type try[V any] struct {
	expr string
	re   engram.NameMatcher
	to   *place[V]
}

// add adds a value for a pattern that compiles.
func (x *index[V]) add(p engram.Pattern, v V) {
	clear(x.found)
	x.root.add(p.Levels, v)
}

func (l *place[V]) add(levels []engram.NameSelector, v V) {
	if len(levels) == 0 {
		l.values = append(l.values, v)
		return
	}
	s := levels[0]
	switch s.Kind {
	case engram.NameOneOf:
		names := slices.Clone(s.Names)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if l.exact == nil {
				l.exact = map[string]*place[V]{}
			}
			if l.exact[name] == nil {
				l.exact[name] = &place[V]{}
			}
			l.exact[name].add(levels[1:], v)
		}
	case engram.NameRegex:
		l.regex(s).add(levels[1:], v)
	default:
		if l.all == nil {
			l.all = &place[V]{}
		}
		l.all.add(levels[1:], v)
	}
}

func (l *place[V]) regex(s engram.NameSelector) *place[V] {
	begin := ""
	if re, err := regexp.Compile(s.Regex); err == nil {
		begin, _ = re.LiteralPrefix()
	}
	for _, t := range l.regexes[begin] {
		if t.expr == s.Regex {
			return t.to
		}
	}
	m, err := s.Matcher()
	if err != nil {
		m = engram.NameMatcher{} // matches nothing; it was checked before
	}
	t := &try[V]{s.Regex, m, &place[V]{}}
	if l.regexes == nil {
		l.regexes = map[string][]*try[V]{}
	}
	if !slices.Contains(l.begins, len(begin)) {
		l.begins = append(l.begins, len(begin))
	}
	l.regexes[begin] = append(l.regexes[begin], t)
	return t.to
}

// match returns the values of the patterns that match the entity, in no order, some perhaps more
// than once. They are the index's.
func (x *index[V]) match(entity engram.ID) []V {
	if found, ok := x.found[entity]; ok {
		return found
	}
	names := [4]string{entity.Memory(), entity.CoreSegment(), entity.ProviderSegment(), entity.Entity()}
	found := x.root.match(names[:], nil)
	if len(x.found) >= maxFound || x.found == nil {
		x.found = map[engram.ID][]V{}
	}
	x.found[entity] = found
	return found
}

func (l *place[V]) match(names []string, found []V) []V {
	found = append(found, l.values...)
	if len(names) == 0 {
		return found
	}
	name := names[0]
	if to := l.exact[name]; to != nil {
		found = to.match(names[1:], found)
	}
	if l.all != nil {
		found = l.all.match(names[1:], found)
	}
	for _, n := range l.begins {
		if n > len(name) {
			continue
		}
		for _, t := range l.regexes[name[:n]] {
			if t.re.Match(name) {
				found = t.to.match(names[1:], found)
			}
		}
	}
	return found
}
