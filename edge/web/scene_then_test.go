package web_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/web"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// What was measured, and a picture that is not locked to its frame, are where the robot was then, not
// where it is now; also at a time of which the pose store has nothing any more, and as was known then.
func TestSceneShowsMeasurementsWhereTheyWereMade(t *testing.T) {
	for name, keep := range map[string]pose.Retention{"in the store": {}, "forgotten by the store": {MaxCount: 2}} {
		t.Run(name, func(t *testing.T) {
			svc := serving.New(t, memories.All(memories.WithPoseRetention(keep))...)
			l := look(t, svc, web.Options{})
			now := engram.Now()
			measured, moved := now.Add(-20*time.Second), now.Add(-5*time.Second)
			describe(t, svc, measured.Add(-time.Second))
			lift(t, svc, measured, 0, 0)
			for i := range 5 {
				lift(t, svc, moved.Add(time.Duration(i)*time.Millisecond), 5, 0)
			}
			putMessage(t, svc, "Vision/LaserScan/arm/laser", measured, &foxglovepb.LaserScan{FrameId: "base", Ranges: []float64{1}})
			putMessage(t, svc, "Navigation/Costmap/arm/local", measured, &foxglovepb.Grid{FrameId: "base", ColumnCount: 1, RowStride: 1, CellStride: 1,
				Pose: &foxglovepb.Pose{Position: &foxglovepb.Vector3{Y: 3}}, CellSize: &foxglovepb.Vector2{X: 1, Y: 1}, Data: []byte{1}})
			known := engram.Now()
			for _, pairs := range [][]string{{}, {"t", fmt.Sprint(int64(moved.Add(time.Second)))}, {"t", fmt.Sprint(int64(moved.Add(time.Second))), "asof", fmt.Sprint(int64(known))}} {
				if len(pairs) == 0 && keep.MaxCount > 0 {
					continue // what is seen now costs no look into the memory
				}
				s := l.scene(pairs...)
				if f := s.frame("arm/base"); f == nil || f.Pose[0] != 5 {
					t.Errorf("%v: the base is at %+v", pairs, f)
				}
				if scan := s.thing("Vision/LaserScan/arm/laser"); scan == nil || scan.Frame != "arm/map" || scan.Pose[0] != 0 {
					t.Errorf("%v: the scan is %+v", pairs, scan)
				}
				if g := s.thing("Navigation/Costmap/arm/local"); g == nil || g.Frame != "arm/map" || g.Pose[0] != 0 || g.Pose[1] != 3 {
					t.Errorf("%v: the grid is %+v", pairs, g)
				}
			}
		})
	}
}

// A covariance is the same in the pose store and in the memory, also beside a rotation that was rounded.
func TestSceneReadsCovariancesAsTheStoreDoes(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	numbers := slices.Repeat([]any{0.0}, 36)
	for i := range 6 {
		numbers[7*i] = 0.01 * float64(i+1)
	}
	putValues(t, svc, "RobotState/Localization/arm/base", "engram.robot_state.Localization", now, map[string]any{
		"parent_frame_id": "map", "child_frame_id": "base", "rotation": map[string]any{"z": 0.6024, "w": 0.8032}, "pose_covariance": numbers})
	at := fmt.Sprint(int64(now))
	store, memory := l.scene("t", at).frame("arm/base"), l.scene("t", at, "asof", fmt.Sprint(int64(engram.Now()))).frame("arm/base")
	if store == nil || memory == nil || len(store.Cov) != 6 || len(memory.Cov) != 6 {
		t.Fatalf("in the store it is %+v, in the memory %+v", store, memory)
	}
	for i := range store.Cov {
		if math.Abs(store.Cov[i]-memory.Cov[i]) > 1e-9 {
			t.Fatalf("in the store it is %v, in the memory %v", store.Cov, memory.Cov)
		}
	}
}

// What is locked to its frame moves with it; what is too far away to be told is no reason to tell nothing.
func TestSceneMovesPicturesThatAreLocked(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	then := now.Add(-10 * time.Second)
	describe(t, svc, then)
	lift(t, svc, then, 1, 0)
	lift(t, svc, now, 2, 0)
	putMessage(t, svc, "Painter/Any/painter/picture", then, &foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{
		{FrameId: "base", FrameLocked: true, Cubes: []*foxglovepb.CubePrimitive{{}}},
		{FrameId: "base", Texts: []*foxglovepb.TextPrimitive{{Text: "here"}}, Cubes: []*foxglovepb.CubePrimitive{{}}},
	}})
	putValues(t, svc, "RobotState/Localization/arm/turned", "engram.robot_state.Localization", then, map[string]any{
		"parent_frame_id": "map", "child_frame_id": "turned", "translation": map[string]any{"x": 1.0}, "rotation": map[string]any{"z": math.Sqrt2 / 2, "w": math.Sqrt2 / 2}})
	putMessage(t, svc, "Vision/LaserScan/arm/far", then, &foxglovepb.LaserScan{FrameId: "turned", Ranges: []float64{1},
		Pose: &foxglovepb.Pose{Position: &foxglovepb.Vector3{X: math.MaxFloat64, Y: math.MaxFloat64}}})
	p := l.scene().thing("Painter/Any/painter/picture")
	if p == nil || len(p.Entities) != 2 || p.Entities[0].FrameID != "arm/base" || p.Entities[0].Cubes[0].Pose.Position.X != 0 ||
		p.Entities[1].FrameID != "arm/map" || p.Entities[1].Cubes[0].Pose.Position.X != 1 {
		t.Errorf("the picture is %+v", p)
	}
}

// A grid that is corrected, or seen as of another time, is another thing of the same ID.
func TestSceneTellsVersionsApart(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	at := engram.Now().Add(-time.Minute)
	state := func(cell byte) {
		putMessage(t, svc, "Navigation/Costmap/arm/floor", at, &foxglovepb.Grid{
			FrameId: "map", ColumnCount: 1, RowStride: 1, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 1, Y: 1},
			Fields: []*foxglovepb.PackedElementField{{Name: "cost", Type: foxglovepb.PackedElementField_UINT8}}, Data: []byte{cell}})
	}
	state(1)
	before := engram.Now()
	for engram.Now() == before { // what comes next arrives later
	}
	state(254)
	when := fmt.Sprint(int64(at))
	was := l.scene("t", when, "asof", fmt.Sprint(int64(before)))
	is := l.scene("t", when, "since", was.Tag)
	g, h := was.thing("Navigation/Costmap/arm/floor"), is.thing("Navigation/Costmap/arm/floor")
	if g == nil || h == nil || g.Version == "" || g.Version == h.Version || g.ID != h.ID {
		t.Errorf("before it was corrected the grid was %+v, and then %+v", g, h)
	}
	for asof, want := range map[engram.Time]string{before: "private, max-age=3600, immutable", engram.Now().Add(time.Hour): "private, no-cache"} {
		_, _, head := l.get("/view/grid", "id", g.ID, "asof", fmt.Sprint(int64(asof)))
		if got := head.Get("Cache-Control"); got != want {
			t.Errorf("as of %v a tile is %q, not %q", asof, got, want)
		}
	}
}

// Of a snapshot of two clouds, or two grids, each is fetched for itself.
func TestSceneOfSeveralInstances(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	at := engram.Now()
	field := func(name string, offset uint32) *foxglovepb.PackedElementField {
		return &foxglovepb.PackedElementField{Name: name, Offset: offset, Type: foxglovepb.PackedElementField_UINT8}
	}
	cloud := func(x byte) proto.Message {
		return &foxglovepb.PointCloud{FrameId: "map", PointStride: 2, Data: []byte{x, 0}, Fields: []*foxglovepb.PackedElementField{field("x", 0), field("y", 1)}}
	}
	floor := func(cost byte) proto.Message {
		return &foxglovepb.Grid{FrameId: "map", ColumnCount: 1, RowStride: 1, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 1, Y: 1},
			Fields: []*foxglovepb.PackedElementField{field("cost", 0)}, Data: []byte{cost}}
	}
	testkit.Commit(t, svc, message(t, "Vision/PointCloud/arm/depth", at, cloud(0), cloud(1)), message(t, "Navigation/Costmap/arm/floor", at, floor(0), floor(254)))
	s := l.scene()
	for piece, entity := range map[string]string{"points": "Vision/PointCloud/arm/depth", "grid": "Navigation/Costmap/arm/floor"} {
		first, second := s.thing(entity+"/0"), s.thing(entity+"/1")
		if first == nil || second == nil {
			t.Fatalf("%s: %+v, %+v", entity, first, second)
		}
		if a, b := l.ok("/view/"+piece, "id", first.ID), l.ok("/view/"+piece, "id", second.ID); string(a) == string(b) {
			t.Errorf("%s and %s are one", first.ID, second.ID)
		}
	}
}

// Data of a map that are corrected make another map of the same statement.
func TestMapsWithCorrectedData(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	stated, content := floorMap(t, "[0, 0, 0]", "P5 2 1 255\n\xfe\x00")
	stated.SHA256 = ""
	was := l.setFloor(svc, stated, content)
	id := was.thing("map floor").ID
	_, tile, head := l.get("/view/grid", "id", id)

	data := engram.MustID("World/MapData/tester/floor")
	snap, err := svc.Latest(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := world.NewCodec(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := codec.MapData(data, snap)
	if err != nil {
		t.Fatal(err)
	}
	other := append([]byte{}, bytes...)
	other[len(other)-1] = 0xfe
	payload, err := codec.EncodeMapData(other)
	if err != nil {
		t.Fatal(err)
	}
	for engram.Now() == snap.Arrived { // what comes next arrives later
	}
	put(t, svc, data.String(), snap.Time, payload)

	status, corrected, now := l.get("/view/grid", "id", id)
	if status != http.StatusOK || string(corrected) == string(tile) || now.Get("ETag") == head.Get("ETag") {
		t.Errorf("the corrected map's tile is %d, other bytes %v, ETag %s after %s", status, string(corrected) != string(tile), now.Get("ETag"), head.Get("ETag"))
	}
	if m := l.scene("since", was.Tag).thing("map floor"); m == nil || m.ID != id || m.Version == was.thing("map floor").Version {
		t.Errorf("the corrected map is %+v after %+v", m, was.thing("map floor"))
	}
}

// Points are seen also where all are of one intensity, or it is no number.
func TestPointsOfOneIntensity(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	at := engram.Now()
	field := func(name string, offset uint32) *foxglovepb.PackedElementField {
		return &foxglovepb.PackedElementField{Name: name, Offset: offset, Type: foxglovepb.PackedElementField_FLOAT32}
	}
	nan := float32(math.NaN())
	for i, c := range []struct {
		intensities [3]float32
		want        [3]byte
	}{{[3]float32{7, 7, 7}, [3]byte{255, 255, 255}}, {[3]float32{1, 3, nan}, [3]byte{40, 255, 40}}, {[3]float32{nan, nan, nan}, [3]byte{255, 255, 255}}} {
		var data []byte
		for n, v := range c.intensities {
			for _, f := range []float32{float32(n), 0, 0, v} {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
			}
		}
		then := at.Add(time.Duration(i))
		putMessage(t, svc, "Vision/PointCloud/arm/depth", then, &foxglovepb.PointCloud{FrameId: "eye", PointStride: 16, Data: data,
			Fields: []*foxglovepb.PackedElementField{field("x", 0), field("y", 4), field("z", 8), field("intensity", 12)}})
		b := l.ok("/view/points", "id", engram.MustID("Vision/PointCloud/arm/depth").At(then).String())
		if len(b) != 48 || b[12] != c.want[0] || b[28] != c.want[1] || b[44] != c.want[2] {
			t.Errorf("%v are %v", c.intensities, b)
		}
	}
}
