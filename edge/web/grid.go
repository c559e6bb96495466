package web

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/world"
	worldfiles "github.com/seed-301d4374/engram/mind/world/files"
)

// maxTile is the longest edge of a tile of a grid, in pixels.
const maxTile = 1024

// grid answers with a tile of an occupancy grid or a cost map as a PNG, the cell with the highest y above:
//
//	id              of the snapshot, or of an entity
//	t, asof         as of scene, of an entity
//	x0, y0, x1, y1  the first cell and the one behind the last; otherwise all
//	scale           so many cells by so many are a pixel, which shows the most occupied of them
//
// A tile has at most 1024 x 1024 pixels. Unknown cells are transparent.
func (p *scenes) grid(w http.ResponseWriter, r *http.Request, q query) error {
	b, err := p.tile(w, r, q)
	if err != nil || b == nil {
		return err
	}
	w.Header().Set("Content-Type", "image/png")
	_, err = w.Write(b)
	return err
}

// tile returns a tile as PNG; nil if the browser has it already.
func (p *scenes) tile(w http.ResponseWriter, r *http.Request, q query) ([]byte, error) {
	ctx := r.Context()
	done, err := p.large.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	payload, m, s, err := p.payload(ctx, q)
	if err != nil {
		return nil, err
	}
	versions, read := []*engram.Snapshot{s}, func() (*cells, error) { return gridCells(payload) }
	switch payload.Type {
	case "foxglove.Grid":
	case "engram.world.Map":
		var data *mapData
		if data, err = p.mapData(ctx, m, s); err == nil {
			versions, read = append(versions, data.snapshot), func() (*cells, error) { return p.mapCells(m, s, data) }
		}
	default:
		err = engram.Errorf(engram.TypeMismatch, payload.Type, "it is no foxglove.Grid and no map of the world")
	}
	if err == nil && p.unchanged(w, r, m, versions...) {
		return nil, nil
	}
	var c *cells
	if err == nil {
		c, err = read()
	}
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), q.Get("id"), "%w", err)
	}
	var of [5]int
	for i, name := range [...]string{"x0", "y0", "x1", "y1", "scale"} {
		whole := [...]int{0, 0, c.columns, c.rows, 1}[i]
		if of[i], err = q.number(name, 0, 1<<30, whole); err != nil {
			return nil, err
		}
	}
	at := image.Rect(of[0], of[1], min(of[2], c.columns), min(of[3], c.rows))
	scale := max(of[4], 1)
	if of[0] >= at.Max.X || of[1] >= at.Max.Y {
		return nil, engram.Errorf(engram.OutOfRange, q.Get("id"), "the grid has %d x %d cells, and none of these", c.columns, c.rows)
	}
	if at.Dx() > maxTile*scale || at.Dy() > maxTile*scale {
		return nil, engram.Errorf(engram.OutOfRange, q.Get("id"), "%d x %d cells are more than %d x %d pixels; ask for fewer, or a larger scale than %d",
			at.Dx(), at.Dy(), maxTile, maxTile, scale)
	}
	img, err := c.tile(ctx, at, scale)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img); err != nil {
		return nil, engram.Errorf(engram.Internal, q.Get("id"), "%w", err)
	}
	return b.Bytes(), nil
}

// cells are those of a grid, rows from the lowest y.
type cells struct {
	columns, rows int
	// level is 0 for an unknown cell, else 1 for a free one to 255 for an occupied one; nil where cells have colours.
	level   func(x, y int) uint8
	colour  func(x, y int) color.NRGBA
	palette color.Palette
}

// tile draws a part, until ctx ends.
func (c *cells) tile(ctx context.Context, of image.Rectangle, scale int) (image.Image, error) {
	size := image.Rect(0, 0, (of.Dx()+scale-1)/scale, (of.Dy()+scale-1)/scale)
	if c.level == nil {
		img := image.NewNRGBA(size)
		for y := range size.Max.Y {
			for x := range size.Max.X {
				img.SetNRGBA(x, size.Max.Y-1-y, c.colour(of.Min.X+x*scale, of.Min.Y+y*scale))
			}
		}
		return img, nil
	}
	img := image.NewPaletted(size, c.palette)
	for y := range size.Max.Y {
		if err := ctx.Err(); err != nil {
			return nil, engram.Errorf(engram.Canceled, "", "nobody looks any more: %w", err)
		}
		row := img.Pix[(size.Max.Y-1-y)*img.Stride:]
		for v := of.Min.Y + y*scale; v < min(of.Min.Y+(y+1)*scale, of.Max.Y); v++ {
			for u := of.Min.X; u < of.Max.X; u++ {
				i := (u - of.Min.X) / scale
				row[i] = max(row[i], c.level(u, v))
			}
		}
	}
	return img, nil
}

// occupancyPalette goes from free, faint, to occupied, a grey that stands out on light and on dark;
// costPalette from free by blue and red to occupied.
var occupancyPalette, costPalette = palettes()

func palettes() (occupancy, cost color.Palette) {
	mix := func(a, b color.NRGBA, u float64) color.NRGBA {
		m := func(a, b uint8) uint8 { return uint8(float64(a) + u*(float64(b)-float64(a))) }
		return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), m(a.A, b.A)}
	}
	unknown := color.NRGBA{}
	occupancy, cost = color.Palette{unknown}, color.Palette{unknown}
	for i := range 255 {
		u := float64(i) / 254
		occupancy = append(occupancy, mix(color.NRGBA{128, 138, 150, 48}, color.NRGBA{112, 124, 140, 255}, u))
		low, high := color.NRGBA{60, 110, 255, 40}, color.NRGBA{255, 60, 60, 200}
		switch {
		case i == 0:
			cost = append(cost, color.NRGBA{60, 110, 255, 16})
		case i >= 254:
			cost = append(cost, color.NRGBA{190, 20, 160, 230})
		case i >= 253:
			cost = append(cost, color.NRGBA{30, 200, 200, 200})
		default:
			cost = append(cost, mix(low, high, u))
		}
	}
	return occupancy, cost
}

// gridData is the member of foxglove.Grid that has the cells.
const gridData = 9

// gridCells reads a grid of the viewers: of one field, or of colours.
func gridCells(payload engram.Payload) (*cells, error) {
	rest, data, err := cut(payload.Bytes, gridData)
	if err != nil {
		return nil, err
	}
	var m foxglovepb.Grid
	if err := proto.Unmarshal(rest, &m); err != nil {
		return nil, engram.Errorf(engram.Corrupt, payload.Type, "%w", err)
	}
	f := fieldsOf(m.GetFields())
	columns, row, cell := int(m.GetColumnCount()), int(m.GetRowStride()), int(m.GetCellStride())
	if columns == 0 || cell == 0 || columns > row/cell || len(f) == 0 || f.end() > cell {
		return nil, engram.Errorf(engram.Invalid, payload.Type, "%d columns of cells of %d bytes are not in rows of %d", columns, cell, row)
	}
	c := &cells{columns: columns, rows: len(data) / row, palette: occupancyPalette}
	at := func(x, y int) []byte { return data[y*row+x*cell:][:cell] }
	if f["red"] != nil && f["green"] != nil && f["blue"] != nil {
		c.colour = func(x, y int) color.NRGBA {
			b := at(x, y)
			alpha := uint8(255)
			if f["alpha"] != nil {
				alpha = f.byte("alpha", b)
			}
			return color.NRGBA{f.byte("red", b), f.byte("green", b), f.byte("blue", b), alpha}
		}
		return c, nil
	}
	name := m.GetFields()[0].GetName()
	field := f[name] // of several of a name, the one that was checked
	offset := int(field.GetOffset())
	switch field.GetType() {
	case foxglovepb.PackedElementField_UINT8: // as ROS's cost maps: 255 is unknown
		c.palette = costPalette
		c.level = func(x, y int) uint8 { return data[y*row+x*cell+offset] + 1 }
	case foxglovepb.PackedElementField_INT8: // as ROS's occupancy grids
		c.level = func(x, y int) uint8 { return occupancy(int8(data[y*row+x*cell+offset])) }
	case foxglovepb.PackedElementField_FLOAT32, foxglovepb.PackedElementField_FLOAT64: // from 0 to 1
		c.level = func(x, y int) uint8 {
			v := f.value(name, at(x, y))
			if !(v >= 0) {
				return 0
			}
			return 1 + uint8(254*min(v, 1))
		}
	default:
		c.level = func(x, y int) uint8 { return 1 + uint8(max(0, min(f.value(name, at(x, y)), 254))) }
	}
	return c, nil
}

// occupancy is the level of a cell of 0 to 100; less is unknown.
func occupancy(v int8) uint8 {
	if v < 0 {
		return 0
	}
	return 1 + uint8(int(min(v, 100))*254/100)
}

// lastMap is the map whose tile was drawn last: decoding one takes long, and tiles come
// together. Whoever is given it has read its data.
type lastMap struct {
	mu   sync.Mutex
	data []byte
	said string // which statement of the map
	*cells
}

// mapCells reads an occupancy grid of the world, whose data are apart.
func (p *scenes) mapCells(m asked, s *engram.Snapshot, of *mapData) (*cells, error) {
	l := &p.maps
	l.mu.Lock()
	defer l.mu.Unlock()
	key := m.entity.At(s.Time).String() + s.Arrived.String()
	if l.cells != nil && l.said == key && bytes.Equal(l.data, of.data) {
		return l.cells, nil
	}
	g, err := worldfiles.GridOf(of.said.Name, of.said.Map, of.data)
	if err != nil {
		return nil, err
	}
	occupied := g.Cells()
	l.data, l.said = of.data, key
	l.cells = &cells{columns: g.Width, rows: g.Height, palette: occupancyPalette,
		level: func(x, y int) uint8 { return occupancy(occupied[y*g.Width+x]) }}
	return l.cells, nil
}

// mapData are a map that is stated and its data, with the snapshot that has them.
type mapData struct {
	said     world.MapStatement
	data     []byte
	snapshot *engram.Snapshot
}

// mapData reads the data of a map that a snapshot states: where it links to, else where it is stated, as they were then,
// else the newest.
func (p *scenes) mapData(ctx context.Context, m asked, s *engram.Snapshot) (*mapData, error) {
	codec, err := world.NewCodec(ctx, p.svc)
	if err != nil {
		return nil, err
	}
	of := new(mapData)
	if of.said, err = codec.Map(m.entity, s); err != nil {
		return nil, err
	}
	from := []engram.ID{m.entity}
	if link, ok := linkOf(m.entity, of.said.Map); ok {
		from = []engram.ID{link, m.entity}
	}
	for _, id := range from {
		for _, selector := range dataThen(s.Time) {
			of.snapshot, err = p.snapshot(ctx, asked{entity: id, selector: selector, asOf: m.asOf}, true)
			if engram.CodeOf(err) == engram.NotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			if of.data, err = codec.MapData(id, of.snapshot); err != nil || of.data != nil {
				return of, err
			}
		}
	}
	return nil, engram.Errorf(engram.NotFound, m.entity.String(), "no memory has the data of this map")
}

// mapVersion tells versions of a map apart, and of the data that it links to.
func (p *scenes) mapVersion(ctx context.Context, asOf *engram.Time, entity engram.ID, said *world.MapStatement) string {
	version := versionOf(said.Arrived)
	link, ok := linkOf(entity, said.Map)
	if !ok {
		return version
	}
	for _, selector := range dataThen(said.Time) {
		// Why there are none is told to whoever asks for the cells.
		if s, err := p.snapshot(ctx, asked{entity: link, selector: selector, asOf: asOf}, false); err == nil {
			return version + "-" + versionOf(s.Arrived)
		}
	}
	return version
}

// dataThen selects the data of a map that is stated at a time.
func dataThen(at engram.Time) []engram.SnapshotSelector {
	return []engram.SnapshotSelector{engram.AtOrBefore(at), engram.Latest(1)}
}

// linkOf returns the entity that has the data of a map by its statement, which another entity has; ok is false if it has
// them itself.
func linkOf(entity engram.ID, m *world.Map) (link engram.ID, ok bool) {
	if m.Link.Level() < engram.LevelEntity {
		return link, false
	}
	link = m.Link.Truncate(engram.LevelEntity)
	// The memories of another robot have its name here.
	if robot, _, other := strings.Cut(entity.Memory(), ":"); other && !strings.Contains(link.Memory(), ":") {
		there, err := link.InMemory(robot + ":" + link.Memory())
		return there, err == nil
	}
	return link, true
}
