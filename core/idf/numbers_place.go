package idf

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// NumberPlace says where a number stands in payloads, for who has these member by member. Safe for concurrent use.
type NumberPlace struct {
	Steps []NumberStep // from the payload to the member that the number is
	kind  protoreflect.Kind
	form  special // isTime and isDuration of these
	wire  protowire.Type
}

// NumberStep leads into a member of a message and, if that is a list, on to one of its elements.
type NumberStep struct {
	Member protowire.Number
	Maybe  bool // it may be unset: then there is no number, and not zero
	List   bool
	Item   int              // of a list whose Names is 0: which element
	Names  protowire.Number // of a list: the list beside it that has the names of its elements; 0 if it goes by index
	Name   string           // of the element
}

// Unnamed is the number of what goes by a name that a payload does not have, see [IsUnnamed].
func Unnamed() float64 { return notNamed }

// Place returns where the i-th number stands. It is nil where that is not the same in all payloads but for names of
// elements: below keys of a dict, in a oneof, and in a Value.
func (r *Numbers) Place(i int) *NumberPlace { return r.root.place(layoutOf(r.t), nil, i) }

// InSeconds reports whether the number is a time or a duration.
func (p *NumberPlace) InSeconds() bool { return p.form == isTime || p.form == isDuration }

// Wire returns the wire type of the member that the number is.
func (p *NumberPlace) Wire() protowire.Type { return p.wire }

// Value returns the number whose value in the wire's form is num; of a time or a duration, num is nanoseconds.
func (p *NumberPlace) Value(num uint64) float64 {
	switch {
	case p.InSeconds():
		sec, nanos := int64(num)/1e9, int64(num)%1e9
		if p.form == isTime && nanos < 0 { // they count on from the second before
			sec, nanos = sec-1, nanos+1e9
		}
		return float64(sec) + float64(nanos)/1e9
	case p.kind == protoreflect.DoubleKind:
		return math.Float64frombits(num)
	case p.kind == protoreflect.FloatKind:
		return float64(math.Float32frombits(uint32(num)))
	case p.kind == protoreflect.Uint64Kind || p.kind == protoreflect.Fixed64Kind:
		return float64(num)
	}
	return float64(integer(p.kind, num))
}

// place finds number i in a message that steps lead to.
func (p *pick) place(l *layout, steps []NumberStep, i int) *NumberPlace {
	for _, f := range p.fields {
		m := f.m
		if m.dict || m.oneof > 0 || l.special == isValue {
			continue
		}
		step := NumberStep{Member: m.number, Maybe: m.presence, List: m.list}
		if !m.list {
			if found := f.leaf(m, append(steps, step), i); found != nil {
				return found
			}
			continue
		}
		for _, it := range f.items {
			step.Item = it.index
			if found := it.leaf(m, append(steps, step), i); found != nil {
				return found
			}
		}
		for name, k := range f.keys {
			step.Names, step.Name = p.names.number, name
			if found := k.leaf(m, append(steps, step), i); found != nil {
				return found
			}
		}
	}
	return nil
}

// leaf finds number i in a single value of a member, or below it.
func (p *pick) leaf(m *member, steps []NumberStep, i int) *NumberPlace {
	here := slices.Contains(p.out, i)
	switch {
	case m.msg == nil && here:
		return &NumberPlace{Steps: slices.Clone(steps), kind: m.kind, wire: m.wire}
	case m.msg == nil:
		return nil
	case here && (m.msg.special == isTime || m.msg.special == isDuration):
		return &NumberPlace{Steps: slices.Clone(steps), form: m.msg.special, wire: m.wire}
	}
	return p.place(m.msg, steps, i)
}
