package idf

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// checkPlan is what [Type.Check] needs to know of one message.
type checkPlan struct {
	dense  []checkField           // by number; those without a member have no name
	sparse map[uint64]*checkField // members with numbers beyond dense
	shaped bool                   // a member in it or below has a shape
}

// checkField is what Check needs to know of one member.
type checkField struct {
	name     string
	wire     protowire.Type // of one value
	packable bool           // repeated; packed values are accepted too
	utf8     bool
	mapEntry bool       // sub is the entry of a map
	sub      *checkPlan // of a message or group
	shape    shape      // nil for none
}

// anyFields is the plan of unknown groups.
var anyFields checkPlan

func (p *checkPlan) field(num uint64) *checkField {
	if num < uint64(len(p.dense)) {
		if f := &p.dense[num]; f.name != "" {
			return f
		}
		return nil
	}
	if p.sparse == nil {
		return nil
	}
	return p.sparse[num]
}

// compileCheck compiles the plans of a message and all messages below it.
func compileCheck(md protoreflect.MessageDescriptor) *checkPlan {
	c := checkCompiler{plans: map[protoreflect.MessageDescriptor]*checkPlan{}}
	p := c.plan(md)
	for len(c.todo) > 0 {
		next := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		c.fill(next)
	}
	// A message is shaped if one below is: from those with a shape upwards.
	for len(c.shaped) > 0 {
		next := c.shaped[len(c.shaped)-1]
		c.shaped = c.shaped[:len(c.shaped)-1]
		if !next.shaped {
			next.shaped = true
			c.shaped = append(c.shaped, c.parents[next]...)
		}
	}
	return p
}

type checkCompiler struct {
	plans   map[protoreflect.MessageDescriptor]*checkPlan
	todo    []protoreflect.MessageDescriptor
	parents map[*checkPlan][]*checkPlan
	shaped  []*checkPlan // to be marked
}

// plan returns the plan of a message, which is filled later.
func (c *checkCompiler) plan(md protoreflect.MessageDescriptor) *checkPlan {
	p, ok := c.plans[md]
	if !ok {
		p = &checkPlan{}
		c.plans[md] = p
		c.todo = append(c.todo, md)
	}
	return p
}

func (c *checkCompiler) fill(md protoreflect.MessageDescriptor) {
	p := c.plans[md]
	fields := md.Fields()
	size := 0
	for i := range fields.Len() {
		// Numbers are small as a rule; a table may be three quarters empty.
		if n := int(fields.Get(i).Number()) + 1; n > size && n <= 4*fields.Len()+16 {
			size = n
		}
	}
	p.dense = make([]checkField, size)
	for i := range fields.Len() {
		fd := fields.Get(i)
		f := checkField{
			name:     string(fd.Name()),
			wire:     wireType(fd.Kind()),
			packable: fd.IsList() && fd.Message() == nil && fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind,
			utf8:     fd.Kind() == protoreflect.StringKind,
		}
		if m := fd.Message(); m != nil {
			f.sub, f.mapEntry = c.plan(m), m.IsMapEntry()
			if c.parents == nil {
				c.parents = map[*checkPlan][]*checkPlan{}
			}
			c.parents[f.sub] = append(c.parents[f.sub], p)
			if f.shape = newShape(fd); f.shape != nil {
				c.shaped = append(c.shaped, p)
			}
		}
		if n := int(fd.Number()); n < size {
			p.dense[n] = f
		} else {
			if p.sparse == nil {
				p.sparse = map[uint64]*checkField{}
			}
			p.sparse[uint64(n)] = &f
		}
	}
}

func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}
