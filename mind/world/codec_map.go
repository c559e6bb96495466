package world

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// EncodeMap returns what is said of a map as a payload of World/Map.
func (c *Codec) EncodeMap(m *Map) (engram.Payload, error) { return c.encode(mapSegment, mapValue(m)) }

// EncodeMapData returns the data of a map as a payload of World/MapData.
func (c *Codec) EncodeMapData(data []byte) (engram.Payload, error) {
	return c.encode(dataSegment, map[string]any{"data": bytesValue(data)})
}

// EncodeComponent returns a component as a payload of World/Component.
func (c *Codec) EncodeComponent(p *Component) (engram.Payload, error) {
	return c.encode(partSegment, componentValue(p))
}

// Map reads a snapshot of World/Map, without data that it may have.
func (c *Codec) Map(id engram.ID, s *engram.Snapshot) (MapStatement, error) {
	v, err := c.decode(mapSegment, id, s)
	if err != nil {
		return MapStatement{}, err
	}
	return MapStatement{id.Entity(), c.said(id, s), mapOf(v)}, nil
}

// MapData reads the data in a snapshot of World/MapData, or of World/Map. It is nil if there
// are none.
func (c *Codec) MapData(id engram.ID, s *engram.Snapshot) ([]byte, error) {
	segment := dataSegment
	if id.CoreSegment() == mapSegment {
		segment = mapSegment
	}
	v, err := c.decode(segment, id, s)
	if err != nil {
		return nil, err
	}
	a, _ := v["data"].(*idf.NDArray)
	if a == nil || a.Len() == 0 {
		return nil, nil
	}
	return a.Data, nil
}

// Component reads a snapshot of World/Component.
func (c *Codec) Component(id engram.ID, s *engram.Snapshot) (ComponentStatement, error) {
	v, err := c.decode(partSegment, id, s)
	if err != nil {
		return ComponentStatement{}, err
	}
	return ComponentStatement{id.Entity(), c.said(id, s), componentOf(v)}, nil
}

func bytesValue(b []byte) *idf.NDArray {
	return &idf.NDArray{Shape: []int64{int64(len(b))}, DType: idf.Uint8, Data: b}
}

func mapValue(m *Map) map[string]any {
	v := map[string]any{
		"kind": int32(m.Kind), "describes": m.Describes, "frame_id": m.Frame, "resolution": m.Resolution, "format": m.Format,
		"url": m.URL, "sha256": m.SHA256, "sensors": m.Sensors, "algorithms": m.Algorithms, "author": m.Author,
		"quality": m.Quality, "properties": m.Properties,
	}
	present(v, "link", m.Link)
	present(v, "created", m.Created)
	if m.Extent != nil {
		v["extent"] = boxValue(m.Extent)
	}
	return v
}

func mapOf(v object) *Map {
	m := &Map{
		Kind: MapKind(v.number("kind")), Describes: v.texts("describes"), Frame: get[string](v, "frame_id"),
		Resolution: get[float64](v, "resolution"), Format: get[string](v, "format"), Link: v.link("link"),
		URL: get[string](v, "url"), SHA256: get[string](v, "sha256"), Sensors: v.texts("sensors"),
		Algorithms: v.texts("algorithms"), Author: get[string](v, "author"), Created: get[engram.Time](v, "created"),
		Quality: get[float64](v, "quality"), Properties: v.properties(),
	}
	if o, ok := v.sub("extent"); ok {
		m.Extent = &Box{o.pose("pose"), o.vector("size")}
	}
	return m
}

func componentValue(c *Component) map[string]any {
	v := map[string]any{
		"kind": c.Kind, "robot": c.Robot, "inputs": c.Inputs, "outputs": c.Outputs, "frame_id": c.Frame,
		"running": c.Running, "started_by": c.StartedBy, "properties": c.Properties,
	}
	if c.View != nil {
		v["field_of_view"] = viewValue(c.View)
	}
	return v
}

func componentOf(v object) *Component {
	c := &Component{
		Kind: get[string](v, "kind"), Robot: get[string](v, "robot"), Inputs: v.texts("inputs"), Outputs: v.texts("outputs"),
		Frame: get[string](v, "frame_id"), Running: get[bool](v, "running"), StartedBy: get[string](v, "started_by"),
		Properties: v.properties(),
	}
	if o, ok := v.sub("field_of_view"); ok {
		view := viewOf(o)
		c.View = &view
	}
	return c
}

// properties returns what is said beside the known members; nil for nothing.
func (o object) properties() map[string]any {
	p := get[map[string]any](o, "properties")
	if len(p) == 0 {
		return nil
	}
	return p
}
