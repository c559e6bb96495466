package rosmsg

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Member says to which member of the target a field goes. Fields that no Member
// names go to the member of the same name, if there is one and it fits.
type Member struct {
	From string // dotted path of the field, such as "pose.pose.position"
	// To is the target's member. Below a field that has a Member of its own, it is
	// a member of that one's message.
	To string
	// Optional leaves the field out where the target has no such member, instead
	// of failing.
	Optional bool
	// Values translates an integer: the value i becomes Values[i], any other 0.
	Values []uint32
	// Text rewrites a string. It must not keep or change its argument.
	Text func([]byte) []byte
}

// Options of a plan.
type Options struct {
	Members []Member
	// Split names a field of the root message that is an array of messages; each
	// element becomes an output of its own, and all paths count from the element.
	Split string
	// Taps are dotted paths of single strings and numbers whose values are reported
	// with each output.
	Taps []string
	// Append is added to each output: encoded members of the target.
	Append []byte
}

// Plan rewrites messages of one definition as one protobuf message. It is
// immutable and safe for concurrent use.
type Plan struct {
	name    string
	version Version
	body    *block
	split   bool
	wide    bool // wide strings occur
	taps    int
	append  []byte
}

// block is the compiled form of one message as it goes to one target.
type block struct {
	ops   []op
	min   int // no message takes fewer bytes, padding aside
	fills int // fields that go to a member of the target, times and default rules aside
}

type opcode uint8

const (
	opNumber opcode = iota
	opNumbers
	opString
	opStrings
	opTime
	opTimes
	opStruct  // nested in the target too
	opInline  // its fields go to the target of its owner
	opStructs // repeated
	opSplit
	opPad // the octet that CDR has for a message without fields
)

// conversion says how a number's bits are written.
type conversion uint8

const (
	toVarint conversion = iota
	toSignedVarint
	toZigzag
	toBool
	to32     // the same 32 bits
	to64     // the same 64 bits
	toFloat  // any number as float
	toDouble // any number as double
	toBytes  // an array of octets as bytes
)

type op struct {
	code    opcode
	kind    Kind
	conv    conversion
	array   Array
	size    uint8
	stamp   bool
	ntag    uint8 // 0: read and drop
	tag     [10]byte
	n       int // elements of a fixed array
	tap     int // index+1; 0 is none
	body    *block
	values  []uint32
	text    func([]byte) []byte
	oneSize int // encoded bytes of a packed element, 0 if they differ
}

// Compile makes the plan that rewrites messages of definition d as target. With
// d's own descriptor as the target and no options, every field goes to its mirror.
// The error is Invalid, or TypeMismatch for a member that does not fit.
func Compile(d *Definition, target protoreflect.MessageDescriptor, o Options) (*Plan, error) {
	c := &compiler{d: d, o: o, memo: map[memoKey]*block{}}
	p := &Plan{name: d.Root.Name, version: d.Version, split: o.Split != "", taps: len(o.Taps), append: o.Append}
	var err error
	if p.split {
		p.body, err = c.splitRoot(target)
	} else {
		p.body, err = c.root(d.Root, target)
	}
	if err != nil {
		return nil, err
	}
	p.wide = c.wide
	return p, nil
}

// Fills returns how many fields of the message, or of the element of a split one,
// go to a member of the target. Its time and a header's frame do not count, unless
// a Member names them: they fit nearly every target.
func (p *Plan) Fills() int { return p.body.fills }

type memoKey struct {
	message string
	target  protoreflect.FullName // "": dropped
}

type compiler struct {
	d       *Definition
	o       Options
	members []Member
	stamp   string // path of the header's stamp
	memo    map[memoKey]*block
	wide    bool
}

// root compiles the message whose fields the options' paths begin with.
func (c *compiler) root(m *Message, target protoreflect.MessageDescriptor) (*block, error) {
	c.members = slices.Clone(c.o.Members)
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Type.Kind != Struct || f.Type.Array != Single || f.Type.Message != "std_msgs/Header" {
			continue
		}
		c.stamp = f.Name + ".stamp"
		if target.Fields().ByName(protoreflect.Name(f.Name)) == nil {
			c.addDefault(Member{From: c.stamp, To: "timestamp", Optional: true})
			c.addDefault(Member{From: f.Name + ".frame_id", To: "frame_id", Optional: true})
		}
		break
	}
	for _, mem := range c.members {
		if c.field(m, mem.From) == nil && !mem.Optional {
			return nil, engram.Errorf(engram.Invalid, m.Name, "has no field %s", mem.From)
		}
	}
	return c.block(m, target, "", true)
}

// addDefault adds a rule unless there is one for its source.
func (c *compiler) addDefault(m Member) {
	if !slices.ContainsFunc(c.members, func(o Member) bool { return o.From == m.From || o.To == m.To }) {
		c.members = append(c.members, m)
	}
}

func (c *compiler) splitRoot(target protoreflect.MessageDescriptor) (*block, error) {
	b := &block{}
	found := false
	for i := range c.d.Root.Fields {
		f := &c.d.Root.Fields[i]
		if f.Name != c.o.Split {
			if err := c.add(b, f, nil, nil, f.Name); err != nil {
				return nil, err
			}
			continue
		}
		if f.Type.Kind != Struct || f.Type.Array == Single {
			return nil, engram.Errorf(engram.Invalid, c.d.Root.Name, "field %s is not an array of messages and cannot be split", f.Name)
		}
		sub, err := c.root(c.d.Messages[f.Type.Message], target)
		if err != nil {
			return nil, err
		}
		found = true
		b.ops = append(b.ops, op{code: opSplit, kind: Struct, array: f.Type.Array, n: f.Type.Len, body: sub})
		b.fills = sub.fills
		if err := c.addMin(b, f, sub.min); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, engram.Errorf(engram.Invalid, c.d.Root.Name, "has no field %s to split", c.o.Split)
	}
	return b, nil
}

// field finds a field by its dotted path below m.
func (c *compiler) field(m *Message, path string) *Field {
	name, rest, more := strings.Cut(path, ".")
	i := slices.IndexFunc(m.Fields, func(f Field) bool { return f.Name == name })
	switch {
	case i < 0:
		return nil
	case !more:
		return &m.Fields[i]
	case m.Fields[i].Type.Kind != Struct:
		return nil
	}
	return c.field(c.d.Messages[m.Fields[i].Type.Message], rest)
}

// touches reports whether a rule or a tap concerns something below path.
func (c *compiler) touches(path string) bool {
	below := func(s string) bool {
		return path == "" || len(s) > len(path) && s[len(path)] == '.' && s[:len(path)] == path
	}
	return below(c.stamp) || slices.ContainsFunc(c.members, func(m Member) bool { return below(m.From) }) ||
		slices.ContainsFunc(c.o.Taps, below)
}

// block compiles message m at path; a nil target drops all of it. Without byName
// only those fields go to the target that a rule names: then m itself goes
// nowhere, and target is its owner's.
func (c *compiler) block(m *Message, target protoreflect.MessageDescriptor, path string, byName bool) (*block, error) {
	key := memoKey{message: m.Name}
	if target != nil {
		key.target = target.FullName()
	}
	shared := !c.touches(path)
	if b, ok := c.memo[key]; ok && shared {
		return b, nil
	}
	b := &block{}
	names := fieldNames(m)
	for i := range m.Fields {
		f := &m.Fields[i]
		fpath := f.Name
		if path != "" {
			fpath = path + "." + f.Name
		}
		rule, fd, err := c.target(m, f, names[i], fpath, target, byName)
		if err != nil {
			return nil, err
		}
		if f.Type.Kind == Struct && f.Type.Array == Single && fd == nil && c.touches(fpath) {
			sub, err := c.block(c.d.Messages[f.Type.Message], target, fpath, false)
			if err != nil {
				return nil, err
			}
			b.ops = append(b.ops, op{code: opInline, kind: Struct, body: sub})
			b.min = addMin(b.min, sub.min)
			b.fills += sub.fills
			continue
		}
		if err := c.add(b, f, rule, fd, fpath); err != nil {
			return nil, err
		}
		if fd != nil && (rule == nil && fd.Name() != "timestamp" || rule != nil && !rule.Optional) {
			if body := b.ops[len(b.ops)-1].body; body == nil || body.fills > 0 {
				b.fills++
			}
		}
	}
	if len(m.Fields) == 0 && c.d.Version == ROS2 {
		b.ops = append(b.ops, op{code: opPad})
		b.min = 1
	}
	if shared {
		c.memo[key] = b
	}
	return b, nil
}

func (c *compiler) rule(path string) *Member {
	if i := slices.IndexFunc(c.members, func(m Member) bool { return m.From == path }); i >= 0 {
		return &c.members[i]
	}
	return nil
}

// target finds where field f goes: by its rule, else by its name if that fits.
func (c *compiler) target(m *Message, f *Field, name, path string, target protoreflect.MessageDescriptor, byName bool) (*Member, protoreflect.FieldDescriptor, error) {
	if target == nil {
		return nil, nil, nil
	}
	if rule := c.rule(path); rule != nil {
		fd, err := c.ruled(m, f, rule, target)
		return rule, fd, err
	}
	if !byName {
		return nil, nil, nil
	}
	fd := target.Fields().ByName(protoreflect.Name(name))
	if fd != nil && !c.fits(f, fd) {
		fd = nil
	}
	if fd != nil && path == f.Name && slices.ContainsFunc(c.members, func(m Member) bool { return m.To == name }) {
		fd = nil // a rule fills that member from elsewhere
	}
	return nil, fd, nil
}

func (c *compiler) ruled(m *Message, f *Field, rule *Member, target protoreflect.MessageDescriptor) (protoreflect.FieldDescriptor, error) {
	to := rule.To[strings.LastIndexByte(rule.To, '.')+1:]
	fd := target.Fields().ByName(protoreflect.Name(to))
	switch {
	case fd == nil && rule.Optional:
		return nil, nil
	case fd == nil:
		return nil, engram.Errorf(engram.TypeMismatch, string(target.FullName()), "has no member %s for the field %s of %s", to, f.Name, m.Name)
	case !c.fits(f, fd) && rule.Optional:
		return nil, nil
	case !c.fits(f, fd):
		return nil, engram.Errorf(engram.TypeMismatch, string(target.FullName()), "member %s does not fit the field %s of %s", to, f.Name, m.Name)
	}
	return fd, nil
}

func setTag(o *op, fd protoreflect.FieldDescriptor, wire protowire.Type) {
	b := protowire.AppendTag(o.tag[:0], fd.Number(), wire)
	o.ntag = uint8(len(b))
}
