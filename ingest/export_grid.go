package ingest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
)

// gridMaker returns what makes a nav_msgs/OccupancyGrid, whose definition is d, of a
// foxglove.Grid: of the first field of its cells.
func gridMaker(d *rosmsg.Definition, w rosmsg.Wire) (func([]byte) ([]byte, error), error) {
	md, err := d.Descriptor("")
	if err != nil {
		return nil, err
	}
	plan, err := rosmsg.Compile(d, md, rosmsg.Options{})
	if err != nil {
		return nil, err
	}
	var enc rosmsg.Encoder
	return func(payload []byte) ([]byte, error) {
		var g foxglovepb.Grid
		if err := proto.Unmarshal(payload, &g); err != nil {
			return nil, engram.Errorf(engram.Corrupt, "foxglove.Grid", "the payload cannot be read: %w", err)
		}
		m, err := occupancyGrid(md, &g)
		if err != nil {
			return nil, err
		}
		b, err := proto.Marshal(m)
		if err != nil {
			return nil, engram.Errorf(engram.Corrupt, "foxglove.Grid", "its frame is no text: %w", err)
		}
		return enc.Encode(plan, rosmsg.Form{Wire: w}, 0, b)
	}, nil
}

// occupancyGrid returns a grid as the protobuf mirror of an OccupancyGrid.
func occupancyGrid(md protoreflect.MessageDescriptor, g *foxglovepb.Grid) (proto.Message, error) {
	columns, row, cell := int(g.GetColumnCount()), int(g.GetRowStride()), int(g.GetCellStride())
	if columns == 0 || cell == 0 || row < columns*cell || len(g.GetFields()) == 0 {
		return nil, engram.Errorf(engram.Invalid, "foxglove.Grid", "%d columns of cells of %d bytes are not in rows of %d", columns, cell, row)
	}
	f := g.GetFields()[0]
	percent, size := percentOf(f.GetType())
	if percent == nil || int(f.GetOffset())+size > cell {
		return nil, engram.Errorf(engram.Unsupported, "foxglove.Grid", "cells of %v are no occupancy", f.GetType())
	}
	rows := len(g.GetData()) / row
	m := dynamicpb.NewMessage(md)
	at := func(m protoreflect.Message, path ...protoreflect.Name) protoreflect.Message {
		for _, name := range path {
			m = m.Mutable(m.Descriptor().Fields().ByName(name)).Message()
		}
		return m
	}
	set := func(m protoreflect.Message, name protoreflect.Name, v any) {
		m.Set(m.Descriptor().Fields().ByName(name), protoreflect.ValueOf(v))
	}
	set(at(m, "header"), "frame_id", g.GetFrameId())
	if t := g.GetTimestamp(); t != nil {
		set(at(m, "header", "stamp"), "seconds", t.Seconds)
		set(at(m, "header", "stamp"), "nanos", t.Nanos)
	}
	info := at(m, "info")
	set(info, "resolution", float32(g.GetCellSize().GetX()))
	set(info, "width", uint32(columns))
	set(info, "height", uint32(rows))
	p, q := g.GetPose().GetPosition(), g.GetPose().GetOrientation()
	for name, v := range map[protoreflect.Name]float64{"x": p.GetX(), "y": p.GetY(), "z": p.GetZ()} {
		set(at(info, "origin", "position"), name, v)
	}
	for name, v := range map[protoreflect.Name]float64{"x": q.GetX(), "y": q.GetY(), "z": q.GetZ(), "w": q.GetW()} {
		set(at(info, "origin", "orientation"), name, v)
	}
	data := m.Mutable(md.Fields().ByName("data")).List()
	for y := range rows {
		for x := range columns {
			b := g.GetData()[y*row+x*cell+int(f.GetOffset()):]
			data.Append(protoreflect.ValueOfInt32(int32(percent(b))))
		}
	}
	return m, nil
}

// percentOf returns what reads a cell as ROS's occupancy, 0 to 100 or -1 where it is unknown,
// and the bytes of a cell.
func percentOf(t foxglovepb.PackedElementField_NumericType) (percent func([]byte) int8, size int) {
	ratio := func(v float64) int8 {
		if !(v >= 0) {
			return -1
		}
		return int8(100 * min(v, 1))
	}
	switch t {
	case foxglovepb.PackedElementField_INT8:
		return func(b []byte) int8 { return int8(b[0]) }, 1
	case foxglovepb.PackedElementField_UINT8: // a cost map, translated as costmap_2d does
		return func(b []byte) int8 {
			switch v := int(b[0]); v {
			case 0:
				return 0
			case 253:
				return 99
			case 254:
				return 100
			case 255:
				return -1
			default:
				return int8(1 + 97*(v-1)/251)
			}
		}, 1
	case foxglovepb.PackedElementField_FLOAT32:
		return func(b []byte) int8 { return ratio(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))) }, 4
	case foxglovepb.PackedElementField_FLOAT64:
		return func(b []byte) int8 { return ratio(math.Float64frombits(binary.LittleEndian.Uint64(b))) }, 8
	}
	return nil, 0
}
