package idf

import "google.golang.org/protobuf/encoding/protowire"

// Kept is what a projection may keep at a place of a payload, for who reads payloads member by member: what
// it does not keep need not be read. The zero Kept keeps nothing. Safe for concurrent use.
type Kept struct {
	whole bool
	c     *choice
	l     *layout
}

// KeptWhole keeps all that stands at a place.
func KeptWhole() Kept { return Kept{whole: true} }

// Kept returns what is kept of a payload.
func (p *Projection) Kept() Kept { return keptOf(p.root, layoutOf(p.t)) }

func keptOf(c *choice, l *layout) Kept {
	switch {
	case c == nil:
		return Kept{}
	case c.all || l == nil || l.special == isValue:
		return KeptWhole()
	}
	return Kept{c: c, l: l}
}

// choiceOf returns the choice of what numbers of a type stand in, nil for nothing: of a list that goes by names, all of it and
// all names.
func choiceOf(l *layout, places []*NumberPlace) (c *choice) {
	for _, p := range places {
		if p == nil {
			continue
		}
		if c == nil {
			c = &choice{}
		}
		c.keep(l, p.Steps)
	}
	return c
}

func (c *choice) keep(l *layout, steps []NumberStep) {
	if len(steps) == 0 {
		c.all = true
		return
	}
	s := steps[0]
	m := l.find(s.Member)
	of := c.sub(m)
	switch {
	case s.Names != 0:
		of.all, c.sub(l.find(s.Names)).all = true, true
	case s.List:
		of.item(s.Item).keep(m.msg, steps[1:])
	default:
		of.keep(m.msg, steps[1:])
	}
}

// Any reports whether anything is kept.
func (k Kept) Any() bool { return k.whole || k.c != nil }

// Member returns what is kept of a member of a message, or of a list that is one.
func (k Kept) Member(number protowire.Number) Kept {
	if k.c == nil {
		return k
	}
	m := k.l.find(number)
	switch c := k.c.members[m]; {
	case m == nil || c == nil:
		return Kept{}
	case m.dict || c.all:
		return KeptWhole()
	case c.items != nil:
		return Kept{c: c, l: m.msg}
	default:
		return keptOf(c, m.msg)
	}
}

// Item returns what is kept of an element of a list that [Kept.Member] returned.
func (k Kept) Item(i int) Kept {
	if k.c == nil || k.c.items == nil {
		return k
	}
	return keptOf(k.c.at(i), k.l)
}

// Beyond reports whether anything is kept of the elements of a list from an index on.
func (k Kept) Beyond(i int) bool {
	if k.c == nil || k.c.items == nil || k.c.layout != nil {
		return k.Any()
	}
	for at := range k.c.items {
		if at >= i {
			return true
		}
	}
	return false
}
