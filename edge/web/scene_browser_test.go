package web_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// One sees in 3D what is where, selects it by a click, and finds it in the tree of the world and on
// its floor plan.
func TestScene(t *testing.T) {
	srv, _ := living(t, 300)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "scene-smoke.mjs", url, nil)
}

// In 3D one follows, measures, sees trails, chooses what is shown, is told what cannot be shown, and
// shares what one sees; with 10,000 items, too, of which the world has a tree and a plan.
func TestSceneInFull(t *testing.T) {
	testkit.Long(t)
	srv, _ := living(t, 300)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "scene.mjs", url, map[string]func() string{
		"many": func() string { many(t, srv, 10_000); return "there" },
		"lose": func() string {
			putMessage(t, srv, "Vision/LaserScan/Simulation/laser", engram.Now(), &foxglovepb.LaserScan{FrameId: "nowhere", Ranges: []float64{1}})
			return "lost"
		},
	})
}

// In 3D one sees clouds and grids that change faster than they can be fetched, boxes that have no height, and meshes as they
// are in their files.
func TestSceneLive(t *testing.T) {
	testkit.Long(t)
	srv := robot(t)
	url, _ := serve(t, srv, serving.AnyPort)
	number := func(name string, offset uint32, typ foxglovepb.PackedElementField_NumericType) *foxglovepb.PackedElementField {
		return &foxglovepb.PackedElementField{Name: name, Offset: offset, Type: typ}
	}
	const float, points, edge = foxglovepb.PackedElementField_FLOAT32, 500, 100
	cloud := &foxglovepb.PointCloud{FrameId: "map", PointStride: 12, Data: make([]byte, 12*points), Fields: []*foxglovepb.PackedElementField{number("x", 0, float), number("y", 4, float), number("z", 8, float)}}
	floor := &foxglovepb.Grid{
		FrameId: "map", ColumnCount: edge, RowStride: edge, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 0.05, Y: 0.05}, Data: bytes.Repeat([]byte{90}, edge*edge),
		Pose: &foxglovepb.Pose{Position: &foxglovepb.Vector3{}, Orientation: &foxglovepb.Quaternion{W: 1}}, Fields: []*foxglovepb.PackedElementField{number("cost", 0, foxglovepb.PackedElementField_UINT8)},
	}
	for i := range points {
		for axis, v := range [...]float64{float64(i%25) / 5, float64(i) / 100, 1} {
			binary.LittleEndian.PutUint32(cloud.Data[12*i+4*axis:], math.Float32bits(float32(v)))
		}
	}
	// The grid goes along with the robot.
	state := func() {
		now := engram.Now()
		floor.Pose.Position.X = float64(now/engram.Time(time.Millisecond)%500) / 1000
		putMessage(t, srv, "Vision/PointCloud/arm/depth", now, cloud)
		putMessage(t, srv, "Navigation/Costmap/arm/floor", now, floor)
	}
	browser(t, "scene-live.mjs", url, map[string]func() string{
		"change": func() string {
			state()
			serving.Until(t, func(ctx context.Context) error {
				for range time.Tick(30 * time.Millisecond) {
					if ctx.Err() != nil {
						break
					}
					state()
				}
				return nil
			})
			return "changing"
		},
		"plate": func() string {
			putMessage(t, srv, "Painter/Any/painter/plate", engram.Now(), &foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{{
				Id: "plate", FrameId: "map", Cubes: []*foxglovepb.CubePrimitive{{
					Pose: &foxglovepb.Pose{Position: &foxglovepb.Vector3{X: 2.5, Y: 2.5, Z: 1.5}, Orientation: &foxglovepb.Quaternion{W: 1}},
					Size: &foxglovepb.Vector3{X: 4, Y: 4}, Color: &foxglovepb.Color{G: 1, A: 1},
				}},
			}}})
			return "painted"
		},
		"tower": func() string {
			putMessage(t, srv, "Painter/Any/painter/tower", engram.Now(), &foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{{
				Id: "tower", FrameId: "map", Models: []*foxglovepb.ModelPrimitive{{
					Pose:  &foxglovepb.Pose{Position: &foxglovepb.Vector3{X: 2.5, Y: 2.5}, Orientation: &foxglovepb.Quaternion{W: 1}},
					Scale: &foxglovepb.Vector3{X: 1, Y: 1, Z: 1}, Url: "package://towers/tower.dae",
				}},
			}}})
			return "built"
		},
	})
}

// One plots more members at once than the server tells of at once.
func TestPlotMany(t *testing.T) {
	srv := robot(t)
	begin := engram.Now().Add(-10 * time.Second)
	for i := range 10 {
		putMessage(t, srv, "Vision/LaserScan/arm/laser", begin.Add(time.Duration(i)*time.Second), &foxglovepb.LaserScan{FrameId: "map", Ranges: make([]float64, 100)})
	}
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "plot-many.mjs", url, map[string]func() string{"time": func() string { return begin.Add(5 * time.Second).String() }})
}

// many states boxes, on the map.
func many(t testing.TB, svc engram.Service, n int) {
	t.Helper()
	model := operated(t, svc)
	defer model.Close()
	var items []world.NamedItem
	for i := range n {
		items = append(items, world.NamedItem{Name: fmt.Sprint("box ", i), Item: world.Item{
			Placement:   &world.Placement{Frame: "map", Pose: pose.Translation(float64(i%100)/2, float64(i/100)/2, 0)},
			Description: &world.Description{Kinds: []string{fmt.Sprint("kind ", i%7)}, Box: &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.2, Y: 0.3, Z: 0.1}}},
		}})
	}
	refused, mark, err := model.Update(t.Context(), items...)
	if err == nil && len(refused) == 0 {
		_, err = model.View(t.Context(), mark)
	}
	if err != nil || len(refused) > 0 {
		t.Fatal(err, len(refused))
	}
}
