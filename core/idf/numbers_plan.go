package idf

import (
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// pick is what is read at a place of a payload, and below it.
type pick struct {
	out     []int            // where the number goes that stands here
	members []*pick          // of a message, by the member's index; nil for what is skipped
	fields  []*pick          // of a message: the same, in order, without nil
	m       *member          // of a message's member
	zeros   []int            // of a message: where zero goes if it is not written
	items   []item           // of a list, and of one in a Value, by index
	seen    int              // elements of the list so far
	keys    map[string]*pick // of a dict, and of one in a Value; of a list, by the names beside it
	names   *member          // of a message with lists whose elements are read by names: the list of these
	called  []item           // of such a list: where those with the names stand in this payload
	beside  int              // of such a list in a Value: how many names there are in this payload
}

type item struct {
	index int
	*pick
}

// into adds what the rest of a path leads to in a message.
func (p *pick) into(l *layout, steps []step, out int) error {
	switch l.special {
	case isList, isDict, isOptional:
		return p.member(l, 0).slot(steps, out)
	case isTime, isDuration, isValue:
		if len(steps) == 0 {
			p.out = append(p.out, out)
			return nil
		}
		if l.special == isValue {
			if steps[0].index {
				return p.item(steps[0].name).into(l, steps[1:], out)
			}
			return p.key(steps[0].name).into(l, steps[1:], out)
		}
	case isTuple:
		if len(steps) > 0 {
			i, err := strconv.Atoi(steps[0].name)
			if err != nil || i < 0 || i >= len(l.members) {
				return memberErrorf(engram.NotFound, "a tuple of %d items has no item %s", len(l.members), shorten(steps[0].name))
			}
			return p.member(l, i).slot(steps[1:], out)
		}
	case isObject:
		if len(steps) > 0 {
			m := l.byName[steps[0].name]
			if m == nil || steps[0].index || steps[0].quoted {
				return l.unknownMember(engram.NotFound, steps[0].name)
			}
			if m.list && len(steps) > 1 && steps[1].quoted {
				return p.element(l, m, steps[1:], out)
			}
			return p.member(l, m.index).slot(steps[1:], out)
		}
	}
	return noNumber(l.words(), steps)
}

// slot adds what the rest of a path leads to in a member.
func (p *pick) slot(steps []step, out int) error {
	m := p.m
	switch {
	case m.list && (len(steps) == 0 || !steps[0].index):
		return memberErrorf(engram.TypeMismatch, "is a list; say which element, such as [0]")
	case m.list:
		return p.item(steps[0].name).value(m, steps[1:], out)
	case m.dict && len(steps) == 0:
		return memberErrorf(engram.TypeMismatch, `is a dict; say which key, such as ["a"]`)
	case m.dict:
		key := dictKey{text: steps[0].name}
		if err := m.key().parseKey(&key); err != nil {
			return memberErrorf(engram.Invalid, "key %s: %v", shorten(key.text), err)
		}
		if m.key().kind != protoreflect.StringKind {
			key.text = m.key().keyText(key.num)
		}
		return p.key(key.text).value(m.elem(), steps[1:], out)
	}
	return p.value(m, steps, out)
}

// element adds what the rest of a path leads to in the element of a list that is called so by the list of names beside it.
func (p *pick) element(l *layout, m *member, steps []step, out int) error {
	beside := l.byName[names]
	if beside == nil || !beside.list || beside.kind != protoreflect.StringKind || beside == m {
		return memberErrorf(engram.NotFound, "%s is a list without a list %q beside it; say which element, such as [0]", m.name, names)
	}
	p.names = beside
	return p.member(l, m.index).key(steps[0].name).value(m, steps[1:], out)
}

// value adds what the rest of a path leads to in a single value of a member.
func (p *pick) value(m *member, steps []step, out int) error {
	switch {
	case m.msg != nil:
		return p.into(m.msg, steps, out)
	case len(steps) > 0 || m.scalarKind()&(KindNumber|KindFlag) == 0:
		return noNumber(m.words(), steps)
	}
	p.out = append(p.out, out)
	return nil
}

func noNumber(words string, steps []step) error {
	if len(steps) > 0 {
		return memberErrorf(engram.NotFound, "%s has no member %s", words, shorten(steps[0].name))
	}
	return memberErrorf(engram.TypeMismatch, "is %s and no number", words)
}

// member, item and key return what is read of a part, made if need be.
func (p *pick) member(l *layout, i int) *pick {
	if p.members == nil {
		p.members = make([]*pick, len(l.members))
	}
	if p.members[i] == nil {
		p.members[i] = &pick{m: l.members[i]}
	}
	return p.members[i]
}

func (p *pick) item(text string) *pick {
	index, _ := strconv.Atoi(text) // an index in a path is a number of 31 bits
	for _, it := range p.items {
		if it.index == index {
			return it.pick
		}
	}
	it := item{index, &pick{}}
	p.items = append(p.items, it)
	return it.pick
}

func (p *pick) key(text string) *pick {
	if p.keys[text] == nil {
		if p.keys == nil {
			p.keys = map[string]*pick{}
		}
		p.keys[text] = &pick{}
	}
	return p.keys[text]
}

// finish puts in order what was picked.
func (p *pick) finish() {
	for _, f := range p.members {
		if f == nil {
			continue
		}
		f.finish()
		p.fields = append(p.fields, f)
		if m := f.m; !m.list && !m.dict && !m.presence && m.msg == nil {
			p.zeros = append(p.zeros, f.out...)
		}
	}
	slices.SortFunc(p.items, func(a, b item) int { return cmp.Compare(a.index, b.index) })
	for _, it := range p.items {
		it.finish()
	}
	for _, k := range p.keys {
		k.finish()
	}
}
