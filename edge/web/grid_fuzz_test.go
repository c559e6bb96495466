package web

import (
	"image"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
)

// FuzzGeometry reads clouds and grids that anybody may have written.
func FuzzGeometry(f *testing.F) {
	for _, m := range []proto.Message{
		&foxglovepb.PointCloud{PointStride: 13, Data: make([]byte, 40), Fields: []*foxglovepb.PackedElementField{
			{Name: "x", Type: 7}, {Name: "y", Offset: 4, Type: 7}, {Name: "z", Offset: 8, Type: 7}, {Name: "intensity", Offset: 12, Type: 1}}},
		&foxglovepb.Grid{ColumnCount: 2, RowStride: 4, CellStride: 2, Data: make([]byte, 9), Fields: []*foxglovepb.PackedElementField{
			{Name: "cost", Offset: 9, Type: 1}, {Name: "cost", Offset: 1, Type: 2}}},
		&foxglovepb.Grid{ColumnCount: math.MaxUint32, RowStride: 4, CellStride: math.MaxUint32, Data: make([]byte, 9), Fields: []*foxglovepb.PackedElementField{
			{Name: "cost", Type: 1}}},
		&foxglovepb.Grid{ColumnCount: 1, RowStride: 4, CellStride: 4, Data: make([]byte, 8), Fields: []*foxglovepb.PackedElementField{
			{Name: "red", Type: 1}, {Name: "green", Offset: 1, Type: 1}, {Name: "blue", Offset: 2, Type: 1}, {Name: "alpha", Offset: 3, Type: 1}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if points, err := thin(engram.Payload{Type: "foxglove.PointCloud", Bytes: b}, 3); err == nil && len(points) > 3*16 {
			t.Errorf("3 points have %d bytes", len(points))
		}
		if c, err := gridCells(engram.Payload{Type: "foxglove.Grid", Bytes: b}); err == nil {
			of := image.Rect(0, 0, min(c.columns, 8), min(c.rows, 8))
			tile, err := c.tile(t.Context(), of, 3)
			if err != nil {
				t.Fatal(err)
			}
			if size := tile.Bounds().Size(); size.X > 3 || size.Y > 3 {
				t.Errorf("%v cells are %v pixels", of, size)
			}
		}
	})
}
