package web

import (
	"context"
	"encoding/binary"
	"math"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
)

// points answers with the points of a cloud, thinned to at most so many:
//
//	id       of the snapshot, or of an entity
//	t, asof  as of scene, of an entity
//	max      how many points
//
// A point is 16 bytes: x, y, z as float32, little-endian, metres in the cloud's own axes,
// then red, green, blue and alpha. An alpha of 0 says that it has no colour. Of more points
// every n-th is given. Points that are not finite are left out.
func (p *scenes) points(w http.ResponseWriter, r *http.Request, q query) error {
	most, err := q.number("max", 1, 5_000_000, 200_000)
	if err != nil {
		return err
	}
	b, err := p.cloud(w, r, q, most)
	if err != nil || b == nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, err = w.Write(b)
	return err
}

// cloud returns the points of a cloud; nil if the browser has them already.
func (p *scenes) cloud(w http.ResponseWriter, r *http.Request, q query, most int) ([]byte, error) {
	done, err := p.large.turn(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	payload, m, s, err := p.payload(r.Context(), q)
	if err != nil || p.unchanged(w, r, m, s) {
		return nil, err
	}
	b, err := thin(payload, most)
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), q.Get("id"), "%w", err)
	}
	return b, nil
}

// payload returns what is there of what the address names.
func (p *scenes) payload(ctx context.Context, q query) (payload engram.Payload, m asked, s *engram.Snapshot, err error) {
	if m, err = q.asked(); err != nil {
		return payload, m, nil, err
	}
	if s, err = p.snapshot(ctx, m, true); err != nil {
		return payload, m, nil, err
	}
	if index := max(m.instance, 0); index < len(s.Instances) {
		return s.Instances[index].Payload, m, s, nil
	}
	return payload, m, s, engram.Errorf(engram.NotFound, q.Get("id"), "there are %d instances", len(s.Instances))
}

// cut returns a message without the bytes of a member, and these, which are not copied: they may be many.
func cut(message []byte, member protowire.Number) (rest, data []byte, err error) {
	for b := message; len(b) > 0; {
		num, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, nil, engram.Errorf(engram.Corrupt, "", "it is no message: %w", protowire.ParseError(n))
		}
		if num != member {
			rest = append(rest, b[:n]...)
		} else if _, _, t := protowire.ConsumeTag(b); t > 0 {
			if data, t = protowire.ConsumeBytes(b[t:]); t < 0 {
				return nil, nil, engram.Errorf(engram.Corrupt, "", "it is no message: %w", protowire.ParseError(t))
			}
		}
		b = b[n:]
	}
	return rest, data, nil
}

// cloudData is the member of foxglove.PointCloud that has the points.
const cloudData = 6

// thin returns at most so many points of a cloud, as a browser takes them.
func thin(payload engram.Payload, most int) ([]byte, error) {
	if payload.Type != "foxglove.PointCloud" {
		return nil, engram.Errorf(engram.TypeMismatch, payload.Type, "it is no foxglove.PointCloud")
	}
	rest, data, err := cut(payload.Bytes, cloudData)
	if err != nil {
		return nil, err
	}
	var m foxglovepb.PointCloud
	if err := proto.Unmarshal(rest, &m); err != nil {
		return nil, engram.Errorf(engram.Corrupt, payload.Type, "%w", err)
	}
	f := fieldsOf(m.GetFields())
	stride := int(m.GetPointStride())
	if f["x"] == nil || f["y"] == nil || stride == 0 || f.end() > stride {
		return nil, engram.Errorf(engram.Invalid, payload.Type, "a point has %d bytes, and no x and y in them", stride)
	}
	n := len(data) / stride
	step := (n + most - 1) / most
	colour := f.colour(data, stride, n)
	out := make([]byte, 0, 16*min(n, most))
	for i := 0; i < n; i += step {
		point := data[i*stride : (i+1)*stride]
		x, y, z := f.value("x", point), f.value("y", point), f.value("z", point)
		if !finite(x, y, z) {
			continue
		}
		for _, v := range [...]float64{x, y, z} {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
		}
		c := colour(point)
		out = append(out, c[:]...)
	}
	return out, nil
}

// packed are the fields of a point or a cell, by name.
type packed map[string]*foxglovepb.PackedElementField

func fieldsOf(list []*foxglovepb.PackedElementField) packed {
	f := packed{}
	for _, field := range list {
		f[field.GetName()] = field
	}
	return f
}

var packedSizes = map[foxglovepb.PackedElementField_NumericType]int{
	foxglovepb.PackedElementField_UINT8: 1, foxglovepb.PackedElementField_INT8: 1,
	foxglovepb.PackedElementField_UINT16: 2, foxglovepb.PackedElementField_INT16: 2,
	foxglovepb.PackedElementField_UINT32: 4, foxglovepb.PackedElementField_INT32: 4,
	foxglovepb.PackedElementField_FLOAT32: 4, foxglovepb.PackedElementField_FLOAT64: 8,
}

// end returns how many bytes all fields take.
func (f packed) end() int {
	end := 0
	for _, field := range f {
		end = max(end, int(field.GetOffset())+packedSizes[field.GetType()])
	}
	return end
}

// value returns a field; 0 if there is none.
func (f packed) value(name string, b []byte) float64 {
	field := f[name]
	if field == nil {
		return 0
	}
	b = b[field.GetOffset():]
	le := binary.LittleEndian
	switch field.GetType() {
	case foxglovepb.PackedElementField_UINT8:
		return float64(b[0])
	case foxglovepb.PackedElementField_INT8:
		return float64(int8(b[0]))
	case foxglovepb.PackedElementField_UINT16:
		return float64(le.Uint16(b))
	case foxglovepb.PackedElementField_INT16:
		return float64(int16(le.Uint16(b)))
	case foxglovepb.PackedElementField_UINT32:
		return float64(le.Uint32(b))
	case foxglovepb.PackedElementField_INT32:
		return float64(int32(le.Uint32(b)))
	case foxglovepb.PackedElementField_FLOAT32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case foxglovepb.PackedElementField_FLOAT64:
		return math.Float64frombits(le.Uint64(b))
	}
	return 0
}

// byte returns a part of a colour: a number from 0 to 255, or, of floats, from 0 to 1.
func (f packed) byte(name string, b []byte) byte {
	v := f.value(name, b)
	switch f[name].GetType() {
	case foxglovepb.PackedElementField_FLOAT32, foxglovepb.PackedElementField_FLOAT64:
		v *= 255
	}
	if !(v >= 0) {
		v = 0 // also what is no number
	}
	return byte(min(v, 255))
}

// colour returns what gives points their colours: the viewers' red, green and blue, ROS's packed rgb, or the intensity
// between the least and the most that there is.
func (f packed) colour(data []byte, stride, n int) func(point []byte) [4]byte {
	rgb := f["rgb"]
	if rgb == nil {
		rgb = f["rgba"]
	}
	switch {
	case f["red"] != nil && f["green"] != nil && f["blue"] != nil:
		return func(b []byte) [4]byte { return [4]byte{f.byte("red", b), f.byte("green", b), f.byte("blue", b), 255} }
	case rgb != nil && packedSizes[rgb.GetType()] == 4: // its bits count, also where it is called a float
		return func(b []byte) [4]byte { b = b[rgb.GetOffset():]; return [4]byte{b[2], b[1], b[0], 255} }
	case f["intensity"] != nil:
		least, most := math.Inf(1), math.Inf(-1)
		for i := range n {
			if v := f.value("intensity", data[i*stride:(i+1)*stride]); finite(v) {
				least, most = min(least, v), max(most, v)
			}
		}
		return func(b []byte) [4]byte {
			u := 1.0 // where all are alike
			if most > least {
				u = (f.value("intensity", b) - least) / (most - least)
			}
			if !(u >= 0) {
				u = 0 // also what is no number
			}
			v := byte(40 + 215*min(u, 1))
			return [4]byte{v, v, v, 255}
		}
	}
	return func([]byte) [4]byte { return [4]byte{} }
}
