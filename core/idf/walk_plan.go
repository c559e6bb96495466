package idf

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// walkPlan says what a walk does with a message: stop at it, or look at some of
// its members and skip the others by their length.
type walkPlan struct {
	layout *layout
	stop   Kind
	fields []*walkField // by number, as far as they are low
	sparse map[protowire.Number]*walkField
	lists  int // members that are lists
}

type walkField struct {
	m    *member
	list int        // of a list: which one
	sub  *walkPlan  // of a message
	elem *walkField // of a dict: its values
}

func (p *walkPlan) field(n protowire.Number) *walkField {
	if int(n) < len(p.fields) {
		return p.fields[n]
	}
	return p.sparse[n]
}

// walkKey is the key of a walk's plan in its type's cache.
type walkKey struct{ kinds Kind }

// walkPlanOf returns the plan for a walk, nil if the type has no such members.
func walkPlanOf(t *Type, kinds Kind) *walkPlan {
	kinds &= allKinds
	if p, ok := t.cache.Load(walkKey{kinds}); ok {
		return p.(*walkPlan)
	}
	c := walkCompiler{kinds: kinds, plans: map[*layout]*walkPlan{}}
	root := layoutOf(t)
	c.collect(root)
	p, _ := t.cache.LoadOrStore(walkKey{kinds}, c.plan(root))
	return p.(*walkPlan)
}

// walkCompiler compiles the plans for one set of kinds.
type walkCompiler struct {
	kinds  Kind
	seen   map[*layout]bool
	wanted map[*layout]bool // has members of the kinds, itself or below
	above  map[*layout][]*layout
	plans  map[*layout]*walkPlan
}

// collect finds the messages that have members of the kinds, from root on down.
func (c *walkCompiler) collect(root *layout) {
	c.seen, c.wanted, c.above = map[*layout]bool{root: true}, map[*layout]bool{}, map[*layout][]*layout{}
	var wanted []*layout
	for todo := []*layout{root}; len(todo) > 0; {
		l := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if c.has(l) {
			wanted = append(wanted, l)
		}
		if !l.isWalked() || c.stop(l) != 0 {
			continue
		}
		for _, m := range l.members {
			if sub := m.below(); sub != nil {
				c.above[sub] = append(c.above[sub], l)
				if !c.seen[sub] {
					c.seen[sub] = true
					todo = append(todo, sub)
				}
			}
		}
	}
	for len(wanted) > 0 {
		l := wanted[len(wanted)-1]
		wanted = wanted[:len(wanted)-1]
		if !c.wanted[l] {
			c.wanted[l] = true
			wanted = append(wanted, c.above[l]...)
		}
	}
}

// below returns the message of a member or of a dict's values, or nil.
func (m *member) below() *layout {
	if m.dict {
		return m.elem().msg
	}
	return m.msg
}

// isWalked reports whether a walk looks at the members of such a message.
func (l *layout) isWalked() bool {
	switch l.special {
	case isTime, isDuration, isLink, isArray, isMatrix, isValue:
		return false
	}
	return true
}

// has reports whether the message is of one of the kinds or has a scalar that is.
func (c *walkCompiler) has(l *layout) bool {
	switch l.special {
	case isTime:
		return c.kinds&KindTime != 0
	case isLink:
		return c.kinds&KindLink != 0
	case isValue:
		return c.kinds&(KindNumber|KindString|KindTime|KindLink|KindFlag|KindBytes) != 0
	}
	if c.stop(l) != 0 {
		return true
	}
	if !l.isWalked() {
		return false
	}
	for _, m := range l.members {
		if m.dict {
			m = m.elem()
		}
		if c.kinds&m.scalarKind() != 0 {
			return true
		}
	}
	return false
}

// stop returns the kind that the message is as a whole, if the walk wants it.
func (c *walkCompiler) stop(l *layout) Kind {
	if l.special == isArray || l.special == isMatrix {
		return c.kinds & KindBytes
	}
	switch l.name {
	case "foxglove.Pose":
		return c.kinds & KindPose
	case "foxglove.RawImage", "foxglove.CompressedImage":
		return c.kinds & KindImage
	case "foxglove.Vector3", "foxglove.Point3":
		return c.kinds & KindVector
	case "foxglove.Quaternion":
		return c.kinds & KindOrientation
	}
	return 0
}

func (m *member) scalarKind() Kind {
	switch m.kind {
	case protoreflect.StringKind:
		return KindString
	case protoreflect.BytesKind:
		return KindBytes
	case protoreflect.BoolKind, protoreflect.EnumKind:
		return KindFlag
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return 0
	}
	return KindNumber
}

// plan returns the plan of a message, nil if nothing in it is wanted.
func (c *walkCompiler) plan(l *layout) *walkPlan {
	if p, ok := c.plans[l]; ok {
		return p
	}
	if !c.wanted[l] {
		return nil
	}
	p := &walkPlan{layout: l, stop: c.stop(l)}
	c.plans[l] = p
	if p.stop != 0 || !l.isWalked() {
		return p
	}
	for _, m := range l.members {
		f := c.field(m)
		if f == nil {
			continue
		}
		if m.list {
			f.list = p.lists
			p.lists++
		}
		if m.number >= denseLimit {
			if p.sparse == nil {
				p.sparse = map[protowire.Number]*walkField{}
			}
			p.sparse[m.number] = f
			continue
		}
		for len(p.fields) <= int(m.number) {
			p.fields = append(p.fields, nil)
		}
		p.fields[m.number] = f
	}
	return p
}

// field returns what is done with a member, nil if it is skipped.
func (c *walkCompiler) field(m *member) *walkField {
	if m.dict {
		if elem := c.field(m.elem()); elem != nil {
			return &walkField{m: m, elem: elem}
		}
		return nil
	}
	if m.msg != nil {
		if sub := c.plan(m.msg); sub != nil {
			return &walkField{m: m, sub: sub}
		}
		return nil
	}
	if c.kinds&m.scalarKind() == 0 {
		return nil
	}
	return &walkField{m: m}
}
