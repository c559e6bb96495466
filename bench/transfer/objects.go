package main

import (
	"embed"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

//go:embed types
var typeFiles embed.FS

// compileTypes returns the types of the objects.
func compileTypes() ([]engram.TypeDef, error) {
	root, err := fs.Sub(typeFiles, "types")
	if err != nil {
		return nil, err
	}
	return idf.CompileXML(idf.Source{root}, "engram/bench/Transfer.xml")
}

// The business objects: what a program works with. Their conversion to and from
// IDF is written by hand as a generator for the type would write it: fields in
// order, one pass, without reflection. Objects are used again and keep their
// memory: what is read back is taken out of the payload, an image too, and what is
// written goes into the memory of the payload before, once that was answered.
type (
	simple struct {
		V int64
	}
	moderate struct {
		V    int64
		S    string
		Link engram.ID
	}
	nested struct {
		V int64
		S string
	}
	complexObject struct {
		Link   engram.ID
		Nested nested
		Map    map[string]float32
		Image  image
	}
	image struct {
		Width, Height, Step uint32
		Encoding            string
		Data                []byte
	}
)

// converter is a business object that converts itself.
type converter interface {
	toIDF(b []byte) []byte // appends to b
	fromIDF(b []byte) error
	// number is what tells one object from the next.
	number() int64
	setNumber(int64)
}

var (
	_ converter = (*simple)(nil)
	_ converter = (*moderate)(nil)
	_ converter = (*complexObject)(nil)
)

// target is what the objects link to: the same six parts as in the peers' objects.
var target = engram.MustID("Ro/Pe/Pr/e1").At(1234567).Instance(1)

func newSimple() converter   { return &simple{} }
func newModerate() converter { return &moderate{S: "abcde", Link: target} }
func newComplex() converter {
	const side, depth = 128, 3
	o := &complexObject{
		Link: target, Nested: nested{S: "abcde"}, Map: map[string]float32{},
		Image: image{Width: side, Height: side, Step: side * depth, Encoding: "rgb8", Data: make([]byte, side*side*depth)},
	}
	for i := range 5 {
		o.Map[fmt.Sprintf("k%d", i)] = 1.5 * float32(i)
	}
	return o
}

func (o *simple) number() int64            { return o.V }
func (o *simple) setNumber(n int64)        { o.V = n }
func (o *moderate) number() int64          { return o.V }
func (o *moderate) setNumber(n int64)      { o.V = n }
func (o *complexObject) number() int64     { return o.Nested.V }
func (o *complexObject) setNumber(n int64) { o.Nested.V = n }
func (o *simple) toIDF(b []byte) []byte    { return appendLong(b, 1, o.V) }
func (o *simple) fromIDF(b []byte) error   { return fields(b, o.field) }
func (o *moderate) fromIDF(b []byte) error { return fields(b, o.field) }
func (o *nested) fromIDF(b []byte) error   { return fields(b, o.field) }
func (o *complexObject) fromIDF(b []byte) error {
	if o.Map == nil {
		o.Map = make(map[string]float32, 5)
	}
	clear(o.Map)
	return fields(b, o.field)
}

func (o *moderate) toIDF(b []byte) []byte {
	b = appendLong(b, 1, o.V)
	b = appendText(b, 2, o.S)
	return appendLink(b, 3, o.Link)
}

func (o *complexObject) toIDF(b []byte) []byte {
	b = appendLink(b, 1, o.Link)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = append(b, 0) // the length, one byte as it is below 128
	from := len(b)
	b = appendText(appendLong(b, 1, o.Nested.V), 2, o.Nested.S)
	b[from-1] = byte(len(b) - from)
	for key, v := range o.Map {
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(key))+7)
		b = appendText(b, 1, key)
		b = appendFixed(b, 2, math.Float32bits(v))
	}
	im := &o.Image
	b = protowire.AppendTag(b, 4, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(3*5+2+len(im.Encoding)+1+protowire.SizeBytes(len(im.Data))))
	b = appendFixed(b, 2, im.Width)
	b = appendFixed(b, 3, im.Height)
	b = appendText(b, 4, im.Encoding)
	b = appendFixed(b, 5, im.Step)
	b = protowire.AppendTag(b, 6, protowire.BytesType)
	return protowire.AppendBytes(b, im.Data)
}

func appendLong(b []byte, n protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
}

func appendText(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func appendFixed(b []byte, n protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), v)
}

func appendLink(b []byte, n protowire.Number, id engram.ID) []byte {
	var scratch [128]byte
	text := id.Append(scratch[:0])
	b = protowire.AppendTag(b, n, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(1+protowire.SizeBytes(len(text))))
	return protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), text)
}

// fields calls each with every field of a message: u holds numbers, v the rest.
func fields(b []byte, each func(n protowire.Number, u uint64, v []byte) error) error {
	for len(b) > 0 {
		n, kind, k := protowire.ConsumeTag(b)
		if k < 0 {
			return protowire.ParseError(k)
		}
		b = b[k:]
		var u uint64
		var v []byte
		switch kind {
		case protowire.VarintType:
			u, k = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			if k = 4; len(b) < 4 {
				return fmt.Errorf("field %d is cut", n)
			}
			u = uint64(binary.LittleEndian.Uint32(b))
		case protowire.BytesType:
			v, k = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("field %d has the wire type %d", n, kind)
		}
		if k < 0 {
			return protowire.ParseError(k)
		}
		b = b[k:]
		if err := each(n, u, v); err != nil {
			return err
		}
	}
	return nil
}

func (o *simple) field(n protowire.Number, u uint64, _ []byte) error {
	if n == 1 {
		o.V = int64(u)
	}
	return nil
}

func (o *moderate) field(n protowire.Number, u uint64, v []byte) (err error) {
	switch n {
	case 1:
		o.V = int64(u)
	case 2:
		o.S = string(v)
	case 3:
		o.Link, err = link(v)
	}
	return err
}

func (o *nested) field(n protowire.Number, u uint64, v []byte) error {
	switch n {
	case 1:
		o.V = int64(u)
	case 2:
		o.S = string(v)
	}
	return nil
}

func (o *complexObject) field(n protowire.Number, _ uint64, v []byte) (err error) {
	switch n {
	case 1:
		o.Link, err = link(v)
	case 2:
		err = o.Nested.fromIDF(v)
	case 3:
		var key string
		var value float32
		err = fields(v, func(n protowire.Number, u uint64, v []byte) error {
			if n == 1 {
				key = string(v)
			} else {
				value = math.Float32frombits(uint32(u))
			}
			return nil
		})
		o.Map[key] = value
	case 4:
		err = fields(v, o.Image.field)
	}
	return err
}

func (im *image) field(n protowire.Number, u uint64, v []byte) error {
	switch n {
	case 2:
		im.Width = uint32(u)
	case 3:
		im.Height = uint32(u)
	case 4:
		im.Encoding = string(v)
	case 5:
		im.Step = uint32(u)
	case 6:
		im.Data = append(im.Data[:0], v...)
	}
	return nil
}

func link(b []byte) (id engram.ID, err error) {
	err = fields(b, func(n protowire.Number, _ uint64, v []byte) error {
		if n == 1 {
			id, err = engram.Parse(string(v))
		}
		return err
	})
	return id, err
}

// kind is one of the paper's objects.
type kind struct {
	name   string
	info   int    // bytes of information, as the paper counts them
	typ    string // of the payload
	entity engram.ID
	make   func() converter
}

var kinds = []kind{
	{"simple", 8, "engram.bench.Simple", engram.MustID("Bench/Simple/Provider/entity"), newSimple},
	{"moderate", 33, "engram.bench.Moderate", engram.MustID("Bench/Moderate/Provider/entity"), newModerate},
	{"complex", 49225, "engram.bench.Complex", engram.MustID("Bench/Complex/Provider/entity"), newComplex},
}

// kindNamed returns the kind of that name, which there is.
func kindNamed(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	panic("no kind " + name)
}

// batch is what a producer hands over at once, or a consumer gets.
type batch struct {
	kind    *kind
	objects []converter
	// encoded are the payloads of the commit before, whose memory may be used again.
	encoded [][]byte
}

func newBatch(k *kind, n int) *batch {
	b := &batch{kind: k, objects: make([]converter, n), encoded: make([][]byte, n)}
	for i := range b.objects {
		b.objects[i] = k.make()
		b.objects[i].setNumber(int64(i))
	}
	return b
}

// commit converts the objects into updates of one entity, from a time on. The
// commit before must have been answered.
func (b *batch) commit(from engram.Time) engram.Commit {
	updates := make([]engram.EntityUpdate, len(b.objects))
	instances := make([]engram.Instance, len(b.objects))
	for i, o := range b.objects {
		if b.encoded[i] == nil {
			b.encoded[i] = make([]byte, 0, b.kind.info+128)
		}
		b.encoded[i] = o.toIDF(b.encoded[i][:0])
		instances[i] = engram.NewInstance(engram.Payload{Type: b.kind.typ, Bytes: b.encoded[i]})
		updates[i] = engram.EntityUpdate{Entity: b.kind.entity, Time: from + engram.Time(i), Instances: instances[i : i+1 : i+1]}
	}
	return engram.Commit{Updates: updates, Transient: true}
}

// forget has the next commit take memory of its own.
func (b *batch) forget() { clear(b.encoded) }

// take converts a snapshot back into the object at index i modulo the batch.
func (b *batch) take(i int, s *engram.Snapshot) error {
	return b.objects[i%len(b.objects)].fromIDF(s.Instances[0].Payload.Bytes)
}
