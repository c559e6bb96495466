package idf

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// Numbers reads numbers at some paths of encoded payloads of one type, without decoding
// the rest. It is used by one goroutine.
type Numbers struct {
	t    *Type
	root pick
	n    int
}

// Numbers compiles a reader of numbers at paths as [Found.Path] has them, such as
// position[3], limits["knee"].max, or limits.knee.max; the empty path is that of a payload
// that is a number itself. In a list beside a list "name" of as many texts ([ElementLabels])
// position["knee"] is the first element of that name, wherever it stands.
//
// The error is NotFound and names the path and the nearest member there is, TypeMismatch
// if there is no number at the path, Invalid for a path that cannot be one, and Exhausted
// for too many or too long paths.
func (t *Type) Numbers(paths []string) (*Numbers, error) {
	if len(paths) > maxProjectPaths {
		return nil, engram.Errorf(engram.Exhausted, t.Name(), "%d paths to read; at most %d are allowed", len(paths), maxProjectPaths)
	}
	r := &Numbers{t: t, n: len(paths)}
	for i, path := range paths {
		var steps []step
		var err error
		if path != "" {
			steps, err = parsePath(path)
		}
		if err == nil {
			err = r.root.into(layoutOf(t), steps, i)
		}
		if err != nil {
			e := err.(*memberError)
			return nil, engram.Errorf(e.code, t.Name(), "member path %s: %s", shorten(path), e.msg)
		}
	}
	r.root.finish()
	return r, nil
}

// Read sets out[i] to the number at path i: NaN where the payload has none. Bools are 0
// and 1, enumerations their numbers, durations and times seconds, times since the Unix
// epoch. A member that cannot be unset is zero if it is not written. What goes by a name
// that the payload does not have is a NaN that [IsUnnamed] knows. The error is Corrupt.
func (r *Numbers) Read(b []byte, out []float64) error { return r.read(b, &sink{numbers: out}) }

// ReadExactly reads as [Numbers.Read] does, and sets texts[i] to the number at path i if it is a whole one, with all its
// digits: a float64 has not all of those above 2⁵³. Of others, and of a zero that is not written, it is "".
func (r *Numbers) ReadExactly(b []byte, out []float64, texts []string) error {
	clear(texts)
	return r.read(b, &sink{out, texts})
}

func (r *Numbers) read(b []byte, out *sink) error {
	for i := range out.numbers[:r.n] {
		out.numbers[i] = math.NaN()
	}
	if r.n == 0 {
		return nil
	}
	if err := r.root.message(layoutOf(r.t), b, out); err != nil {
		return r.t.fail(err)
	}
	return nil
}

// sink is where numbers go: texts, if they are asked for, has those that are whole.
type sink struct {
	numbers []float64
	texts   []string
}

func (p *pick) set(out *sink, v float64) {
	for _, i := range p.out {
		out.numbers[i] = v
	}
	if out.texts != nil {
		p.tell(out, "")
	}
}

func (p *pick) tell(out *sink, text string) {
	for _, i := range p.out {
		out.texts[i] = text
	}
}

func (p *pick) integer(out *sink, v int64) {
	p.set(out, float64(v))
	if out.texts != nil {
		p.tell(out, strconv.FormatInt(v, 10))
	}
}

func (p *pick) unsigned(out *sink, v uint64) {
	p.set(out, float64(v))
	if out.texts != nil {
		p.tell(out, strconv.FormatUint(v, 10))
	}
}

// scalar sets a scalar of a member.
func (p *pick) scalar(m *member, num uint64, out *sink) {
	switch m.kind {
	case protoreflect.DoubleKind:
		p.set(out, math.Float64frombits(num))
	case protoreflect.FloatKind:
		p.set(out, float64(math.Float32frombits(uint32(num))))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		p.unsigned(out, num)
	default:
		p.integer(out, integer(m.kind, num))
	}
}

// forget takes back what was read at a place and below it.
func (p *pick) forget(out *sink) { p.setAll(out, math.NaN()) }

// setAll sets what is read at a place and below it.
func (p *pick) setAll(out *sink, v float64) {
	p.set(out, v)
	for _, f := range p.fields {
		f.setAll(out, v)
	}
	for _, it := range p.items {
		it.setAll(out, v)
	}
	for _, k := range p.keys {
		k.setAll(out, v)
	}
}

// message reads a message.
func (p *pick) message(l *layout, b []byte, out *sink) error {
	switch l.special {
	case isValue:
		return p.variant(b, out)
	case isTime, isDuration:
		sec, nanos, err := readSeconds(b)
		p.set(out, float64(sec)+float64(nanos)/1e9)
		return err
	}
	for _, f := range p.fields {
		f.seen = 0
	}
	count, err := p.nameLists(l, b)
	if err != nil {
		return err
	}
	for _, i := range p.zeros {
		if math.IsNaN(out.numbers[i]) { // another record of the same message may have set it
			out.numbers[i] = 0
		}
	}
	for len(b) > 0 {
		num, wire, n := consumeTag(b)
		if n < 0 {
			return errWire(n)
		}
		m := l.find(num)
		if m == nil || p.members[m.index] == nil && m.oneof == 0 {
			v := skipValue(num, wire, b[n:])
			if v < 0 {
				return errWire(v)
			}
			b = b[n+v:]
			continue
		}
		o, n, err := l.next(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if m.oneof > 0 {
			p.override(m, out)
		}
		if f := p.members[m.index]; f != nil {
			if err := f.record(&o, out); err != nil {
				return under(m.name, err)
			}
		}
	}
	if p.names != nil {
		for _, f := range p.fields {
			if f.m.list {
				f.endNamed(count, f.seen, out)
			}
		}
	}
	return nil
}

// skipValue is protowire.ConsumeFieldValue with a short way for what is short.
func skipValue(num protowire.Number, wire protowire.Type, b []byte) int {
	if wire == protowire.BytesType && len(b) > 0 && b[0] < 0x80 && int(b[0]) < len(b) {
		return 1 + int(b[0])
	}
	return protowire.ConsumeFieldValue(num, wire, b)
}

// override takes back what was read of other members of a oneof.
func (p *pick) override(m *member, out *sink) {
	for _, f := range p.fields {
		if f.m != m && f.m.oneof == m.oneof {
			f.forget(out)
		}
	}
}

// record reads one record of a member.
func (p *pick) record(o *occurrence, out *sink) error {
	m := p.m
	switch {
	case m.dict:
		return p.entry(o.b, out)
	case !m.list:
		return p.one(m, o, out)
	case o.isPacked():
		first := p.seen
		p.seen += m.packedLen(o.b)
		if err := p.packed(p.items, first, o.b, out); err != nil {
			return err
		}
		return p.packed(p.called, first, o.b, out)
	}
	index := p.seen
	p.seen++
	for _, items := range [2][]item{p.items, p.called} {
		if it := at(items, index); it != nil {
			if err := it.one(m, o, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// at returns what is read of a list's element, nil for nothing.
func at(items []item, index int) *pick {
	i, found := slices.BinarySearchFunc(items, index, func(it item, index int) int { return cmp.Compare(it.index, index) })
	if !found {
		return nil
	}
	return items[i].pick
}

// packed reads elements of a list of scalars, of which b has those from first on.
func (p *pick) packed(items []item, first int, b []byte, out *sink) error {
	m, count := p.m, p.seen-first
	at := 0 // the element that b begins with
	for _, it := range items {
		i := it.index - first
		if i < 0 {
			continue
		}
		if i >= count {
			break
		}
		switch m.wire {
		case protowire.Fixed32Type:
			b = b[4*(i-at):]
		case protowire.Fixed64Type:
			b = b[8*(i-at):]
		default:
			for range i - at {
				_, n := consumeVarint(b)
				if n < 0 {
					return errWire(n)
				}
				b = b[n:]
			}
		}
		num, _, err := m.consumeScalar(b)
		if err != nil {
			return err
		}
		at = i
		it.scalar(m, num, out)
	}
	return nil
}

// entry reads an entry of a dict.
func (p *pick) entry(b []byte, out *sink) error {
	var key, value occurrence
	var content parts
	for rest := b; len(rest) > 0; {
		o, n, err := p.m.msg.next(rest)
		if err != nil {
			return err
		}
		switch rest = rest[n:]; {
		case o.m == nil:
		case o.m == p.m.key():
			key = o
		default:
			content.add(o.b)
			value = o
		}
	}
	text := string(key.b)
	if p.m.key().kind != protoreflect.StringKind {
		text = p.m.key().keyText(key.num)
	}
	k := p.keys[text]
	if k == nil {
		return nil
	}
	k.forget(out) // of equal keys the last one counts
	value.b = content.b
	return k.one(p.m.elem(), &value, out)
}

// one reads a single value of a member.
func (p *pick) one(m *member, o *occurrence, out *sink) error {
	if m.msg != nil {
		return p.message(m.msg, o.b, out)
	}
	p.scalar(m, o.num, out)
	return nil
}

// variant reads a Value.
func (p *pick) variant(b []byte, out *sink) error {
	v, err := readVariant(b)
	if err != nil {
		return err
	}
	switch v.kind {
	case variantBool:
		p.integer(out, int64(v.num&1))
	case variantInt32:
		p.integer(out, int64(v.int32()))
	case variantInt64:
		p.integer(out, protowire.DecodeZigZag(v.num))
	case variantUint64:
		p.unsigned(out, v.num)
	case variantFloat:
		p.set(out, float64(math.Float32frombits(uint32(v.num))))
	case variantDouble:
		p.set(out, math.Float64frombits(v.num))
	case variantTime, variantDuration:
		sec, nanos, err := readSeconds(v.b)
		p.set(out, float64(sec)+float64(nanos)/1e9)
		return err
	case variantList, variantDict:
		return p.variants(v, out)
	}
	return nil
}

// variants reads the content of a list or a dict in a Value.
func (p *pick) variants(v variant, out *sink) error {
	if v.kind == variantList && len(p.items)+len(p.keys) == 0 || v.kind == variantDict && len(p.keys) == 0 {
		return nil
	}
	if v.kind == variantDict {
		if err := p.nameVariants(v.b); err != nil {
			return err
		}
	}
	for i := 0; ; i++ {
		content, rest, found, err := nextRecord(v.b, 1)
		if err != nil {
			return err
		}
		if !found {
			if v.kind == variantList {
				p.endNamed(p.beside, i, out)
			}
			return nil
		}
		v.b = rest
		k := at(p.items, i)
		if v.kind == variantDict {
			var key []byte
			if key, content, err = dictEntry(content); err != nil {
				return err
			}
			k = p.keys[string(key)]
		} else if named := at(p.called, i); named != nil {
			if err := named.variant(content, out); err != nil {
				return err
			}
		}
		if k == nil {
			continue
		}
		k.forget(out) // of equal keys the last one counts
		if err := k.variant(content, out); err != nil {
			return err
		}
	}
}
