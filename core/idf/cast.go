package idf

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Cast returns a payload of type from as a payload of type to: members are matched
// by name, numbers converted where the value fits, the rest stays unset. Enumerations
// are matched by key. A Value takes any member, and gives what it holds. A member
// of the same name and an unfit kind gives TypeMismatch with its path, whether it is
// set or not; a number that does not fit OutOfRange.
func Cast(from *Type, b []byte, to *Type) ([]byte, error) {
	if layoutOf(from).name == layoutOf(to).name && from.Same(to) {
		return append([]byte(nil), b...), nil
	}
	p := castPlanOf(from, to)
	if p.err != nil {
		return nil, to.fail(castError(from, p.err))
	}
	e := encoder{partial: true}
	if err := p.cast(&e, layoutOf(from), b, layoutOf(to)); err != nil {
		return nil, to.fail(castError(from, err))
	}
	return e.buf, nil
}

// castError says what was to be cast.
func castError(from *Type, err error) error {
	if e, ok := err.(*memberError); ok {
		e.msg = "cast from " + from.Name() + ": " + e.msg
	}
	return err
}

// castPlan says what each member of the target is made from.
type castPlan struct {
	err     error // the members that do not fit
	members []castMember
}

// castMember is a member of the target with the one of its name in the source.
type castMember struct {
	from, to *member
	same     bool // their records are the same bytes
}

// castKey is the key of a cast's plan in the cache of the target type.
type castKey struct{ from *Type }

func castPlanOf(from, to *Type) *castPlan {
	if p, ok := to.cache.Load(castKey{from}); ok {
		return p.(*castPlan)
	}
	p := &castPlan{}
	c := castCheck{seen: map[[2]*layout]bool{}}
	src, dst := layoutOf(from), layoutOf(to)
	if p.err = c.layouts(src, dst); p.err == nil && src.special == isObject && dst.special == isObject {
		for _, m := range dst.byNumber {
			if f := src.named(m.name); f != nil {
				p.members = append(p.members, castMember{f, m, sameRecords(f, m)})
			}
		}
	}
	cached, _ := to.cache.LoadOrStore(castKey{from}, p)
	return cached.(*castPlan)
}

// named returns the member of exactly that name, or nil.
func (l *layout) named(name string) *member {
	if m := l.byName[name]; m != nil && m.name == name {
		return m
	}
	return nil
}

// sameRecords reports whether every record of a is one of b too. Messages are taken
// apart: their members may differ.
func sameRecords(a, b *member) bool {
	return a.number == b.number && a.kind == b.kind && a.list == b.list && a.msg == nil && b.msg == nil &&
		a.presence == b.presence && a.packed == b.packed && a.oneof == 0 && b.oneof == 0 && a.enum == nil
}

// cast writes the target's members. What the source has not written stays unset.
func (p *castPlan) cast(e *encoder, from *layout, b []byte, to *layout) error {
	d := decoder{written: true}
	if from.special != isObject || to.special != isObject {
		v, err := d.message(from, b, 1)
		if err != nil {
			return err
		}
		return e.message(to, v, 1, Float64)
	}
	first, last, err := d.open(from, b)
	if err != nil {
		return err
	}
	starts := map[*member]int{}
	for i := last - 1; i >= first; i-- {
		starts[d.stack[i].m] = i
	}
	var chosen oneofs
	for _, c := range p.members {
		start, ok := starts[c.from]
		if !ok {
			continue
		}
		if err := chosen.choose(c.to); err != nil {
			return under(c.to.name, err)
		}
		end := d.group(start, last)
		if c.same {
			for i := start; i < end; i++ {
				if err := e.record(&d.stack[i]); err != nil {
					return under(c.to.name, err)
				}
			}
			continue
		}
		v, err := d.value(start, end, 1)
		if err == nil {
			err = e.member(c.to, v, 1)
		}
		if err != nil {
			return under(c.to.name, err)
		}
	}
	return nil
}

// record writes a record of a scalar as it was read.
func (e *encoder) record(o *occurrence) error {
	e.buf = protowire.AppendTag(e.buf, o.m.number, o.wire)
	if o.wire != protowire.BytesType {
		e.buf = o.m.appendNumeric(e.buf, o.num)
		return nil
	}
	if o.m.kind == protoreflect.StringKind {
		if err := validText(o.b); err != nil {
			return err
		}
	} else if o.isPacked() {
		for rest := o.b; len(rest) > 0; {
			var err error
			if _, rest, err = o.m.consumeScalar(rest); err != nil {
				return err
			}
		}
	}
	e.buf = protowire.AppendBytes(e.buf, o.b)
	return nil
}

// castCheck finds the members that no value could be cast between.
type castCheck struct {
	seen map[[2]*layout]bool
}

func (c *castCheck) layouts(from, to *layout) error {
	if c.seen[[2]*layout{from, to}] {
		return nil
	}
	c.seen[[2]*layout{from, to}] = true
	if from.special == isValue || to.special == isValue {
		return nil // shows when the value is there
	}
	switch {
	case from.special == to.special && (from.special == isList || from.special == isDict):
		return c.elements(from.members[0], to.members[0])
	case from.isArray() && to.isArray():
		return nil
	case from.special != to.special:
		return unfit(from.words(), to.words())
	case from.special == isTuple:
		return c.tuples(from, to)
	case from.special != isObject:
		return nil
	}
	for _, m := range to.members {
		f := from.named(m.name)
		if f == nil {
			continue
		}
		if err := c.members(f, m); err != nil {
			return under(m.name, err)
		}
	}
	return nil
}

func (c *castCheck) tuples(from, to *layout) error {
	if len(from.members) != len(to.members) {
		return unfit(from.words(), to.words())
	}
	for i, m := range to.members {
		if err := c.members(from.members[i], m); err != nil {
			return under(indexSegment(i), err)
		}
	}
	return nil
}

func (l *layout) isArray() bool { return l.special == isArray || l.special == isMatrix }

func unfit(from, to string) error {
	return memberErrorf(engram.TypeMismatch, "%s does not become %s", from, to)
}

// members checks two members of one name. A list may be a repeated field in one and
// a wrapper in the other, and so may a dict.
func (c *castCheck) members(from, to *member) error {
	from, to = from.unwrapped(), to.unwrapped()
	switch {
	case from.isVariant() || to.isVariant():
		return nil
	case from.dict != to.dict || from.list != to.list:
		return unfit(from.wholeWords(), to.wholeWords())
	}
	return c.elements(from, to)
}

// unwrapped returns the field that a member stands for if it is a wrapper of a list
// or dict.
func (m *member) unwrapped() *member {
	if m.isMessage() && !m.list && (m.msg.special == isList || m.msg.special == isDict) {
		return m.msg.members[0]
	}
	return m
}

// isNullable reports whether the member, or each element of a list, is the wrapper of
// an item that may be null.
func (m *member) isNullable() bool { return m.isMessage() && m.msg.special == isOptional }

// item returns what stands for a single value of the member, or for the item in it if
// it is nullable.
func (m *member) item() *member {
	if m.isNullable() {
		return m.msg.members[0]
	}
	single := *m
	single.list = false
	return &single
}

func (m *member) wholeWords() string {
	switch {
	case m.dict:
		return "a dict"
	case m.list:
		return "a list"
	}
	return m.words()
}

// elements checks the single values of two fields, or those of two dicts.
func (c *castCheck) elements(from, to *member) error {
	if from.dict {
		if from.key().kind != to.key().kind {
			return unfit("a dict whose key is "+from.key().words(), "one whose key is "+to.key().words())
		}
		return c.members(from.elem(), to.elem())
	}
	if from.isNullable() || to.isNullable() {
		return c.members(from.item(), to.item())
	}
	if from.msg != nil && to.msg != nil {
		return c.layouts(from.msg, to.msg)
	}
	if from.msg != nil && from.msg.special == isValue || to.msg != nil && to.msg.special == isValue {
		return nil
	}
	if !castable(from, to) {
		return unfit(from.words(), to.words())
	}
	return nil
}

// castable reports whether some value of a scalar can become one of another.
func castable(from, to *member) bool {
	switch {
	case from.isNumber() && to.isNumber():
		return true
	case to.enum != nil:
		return from.isNumber() || from.kind == protoreflect.StringKind || from.enum != nil
	case from.enum != nil:
		return to.isNumber() || to.kind == protoreflect.StringKind
	case to.msg != nil && to.msg.special == isLink:
		return from.kind == protoreflect.StringKind
	case from.msg != nil && from.msg.special == isLink:
		return to.kind == protoreflect.StringKind
	}
	return from.msg == nil && to.msg == nil && from.kind == to.kind
}

func (m *member) isNumber() bool { return m.scalarKind() == KindNumber }
