package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/edge/web"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// putItem states an item at a time, and puts it over what was stated at that time before.
func putItem(t *testing.T, svc engram.Service, name string, at engram.Time, it world.Item) {
	t.Helper()
	codec, err := world.NewCodec(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	it.Source = world.Operator
	if it.Placement != nil {
		it.Placement.Time = at
	}
	if it.Structure != nil {
		it.Structure.Time = at
	}
	if it.Description != nil {
		it.Description.Time = at
	}
	p, err := codec.EncodeItem(&it)
	if err != nil {
		t.Fatal(err)
	}
	put(t, svc, "World/Item/tester/"+name, at, p)
}

func nearly(t *testing.T, what string, got, want []float64) {
	t.Helper()
	same := len(got) == len(want)
	for i := range got {
		same = same && math.Abs(got[i]-want[i]) < 1e-9
	}
	if !same {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// A cup on a table on a map is where both poses together put it, as uncertain as both make it, and
// as opaque as it is believed to be there.
func TestItemsAreComposed(t *testing.T) {
	svc := robot(t)
	at := engram.Now().Add(-2 * time.Hour)
	quarter := pose.AxisAngle(pose.Vec3{Z: 1}, math.Pi/2)
	placed := func(x, y, z float64, sigmas [3]float64) *world.Placement {
		var m [6][6]float64
		for i, s := range sigmas {
			m[i][i] = s * s
		}
		cov, err := pose.NewCov(&m)
		if err != nil {
			t.Fatal(err)
		}
		return &world.Placement{Pose: pose.Pose{T: pose.Vec3{X: x, Y: y, Z: z}, R: quarter}, Cov: cov}
	}
	putItem(t, svc, "map", at, world.Item{Description: &world.Description{Kinds: []string{world.KindMap}}})
	putItem(t, svc, "table", at, world.Item{Structure: &world.Structure{Parent: "map"}, Placement: placed(1, 2, 0.7, [3]float64{0.3, 0, 0})})
	putItem(t, svc, "cup", at, world.Item{
		Structure: &world.Structure{Parent: "table"}, Placement: placed(0.1, 0, 0.05, [3]float64{0.2, 0.1, 0}),
		Description: &world.Description{Kinds: []string{"cup"}, Box: &world.Box{Pose: pose.Translation(0, 0, 0.02), Size: pose.Vec3{X: 0.1, Y: 0.1, Z: 0.04}}},
	})
	l := look(t, svc, web.Options{})
	text := func(t engram.Time) string { return fmt.Sprint(int64(t)) }
	cup := l.scene("t", text(at)).thing("item cup")
	if cup == nil || cup.Frame != "map" || cup.ID != "World/Item/tester/cup" || len(cup.Entities) != 1 || len(cup.Entities[0].Cubes) != 1 {
		t.Fatalf("the cup is %+v", cup)
	}
	// Half a turn, as a quaternion of either sign.
	if cup.Pose[5] < 0 {
		for i := 3; i < 7; i++ {
			cup.Pose[i] = -cup.Pose[i]
		}
	}
	nearly(t, "the cup's pose", cup.Pose[:], []float64{1, 2.1, 0.75, 0, 0, 1, 0})
	// The table's x is the cup's -y.
	nearly(t, "its covariance", cup.Cov, []float64{0.04, 0, 0, 0.01 + 0.09, 0, 0})
	box := cup.Entities[0].Cubes[0].Pose.Position
	nearly(t, "its box", []float64{box.X, box.Y, box.Z}, []float64{1, 2.1, 0.77})
	then := cup.Entities[0].Cubes[0].Color.A
	later := l.scene("t", text(at.Add(time.Hour))).thing("item cup").Entities[0].Cubes[0].Color.A // the half-life of cups
	if then < 0.95 || math.Abs(later-then/2) > 0.011 {
		t.Errorf("it is as opaque as %v, and an hour later as %v", then, later)
	}
}

// A mesh is as opaque as what is believed of its item, which its own colours do not say.
func TestSceneMesh(t *testing.T) {
	svc := robot(t)
	at := engram.Now()
	putItem(t, svc, "jug", at, world.Item{
		Placement:   &world.Placement{Frame: "map", Pose: pose.Identity()},
		Description: &world.Description{Kinds: []string{"jug"}, Shape: &world.Shape{Kind: world.ShapeMesh, Mesh: "package://things/jug.stl"}},
	})
	jug := look(t, svc, web.Options{}).scene("t", fmt.Sprint(int64(at))).thing("item jug")
	if jug == nil || len(jug.Entities) != 1 || len(jug.Entities[0].Models) != 1 || !jug.Entities[0].Models[0].OverrideColor {
		t.Errorf("the jug is %+v", jug)
	}
}

// What was believed of an item, of a frame and of a grid is seen as of then.
func TestSceneAsOf(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	at := engram.Now().Add(-time.Minute)
	state := func(x float64) {
		putItem(t, svc, "cup", at, world.Item{Placement: &world.Placement{Frame: "map", Pose: pose.Translation(x, 0, 0)}, Description: &world.Description{Kinds: []string{"cup"}}})
		putMessage(t, svc, "Navigation/Costmap/arm/floor", at, &foxglovepb.Grid{
			FrameId: "map", Pose: &foxglovepb.Pose{Position: &foxglovepb.Vector3{X: x}}, ColumnCount: 1, RowStride: 1, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 1, Y: 1},
			Fields: []*foxglovepb.PackedElementField{{Name: "cost", Type: foxglovepb.PackedElementField_UINT8}}, Data: []byte{byte(x)}})
	}
	state(1)
	before := engram.Now()
	for engram.Now() == before { // what comes next arrives later
	}
	state(2)
	grid := engram.MustID("Navigation/Costmap/arm/floor").At(at).String()
	var tiles []string
	for asof, x := range map[string]float64{fmt.Sprint(int64(before)): 1, "": 2} {
		s := l.scene("t", fmt.Sprint(int64(at)), "asof", asof)
		if cup := s.thing("item cup"); cup == nil || cup.Pose[0] != x {
			t.Errorf("as of %q the cup is %+v", asof, cup)
		}
		if g := s.thing("Navigation/Costmap/arm/floor"); g == nil || g.Pose[0] != x || g.ID != grid {
			t.Errorf("as of %q the grid is %+v", asof, g)
		}
		var all struct {
			Items []struct {
				Name string
				Pose []float64
			}
		}
		l.read(&all, "/view/world", "t", fmt.Sprint(int64(at)), "asof", asof)
		if len(all.Items) != 1 || all.Items[0].Pose[0] != x {
			t.Errorf("as of %q the world is %+v", asof, all)
		}
		tiles = append(tiles, string(l.ok("/view/grid", "id", grid, "asof", asof)))
	}
	if tiles[0] == tiles[1] {
		t.Error("the grid is as it was before it was corrected")
	}
}

// rights returns what an anonymous guest may see.
func rights(t *testing.T, svc feature.Server, rules string) looker {
	t.Helper()
	policy, err := access.Parse([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	c := access.New(access.Options{})
	if err := c.Set(policy); err != nil {
		t.Fatal(err)
	}
	return look(t, feature.Guard(svc, c), web.Options{})
}

// A guest sees what a guest may read, and of all else not even the name.
func TestSceneIsWithinRights(t *testing.T) {
	srv := robot(t)
	now := engram.Now()
	describe(t, srv, now.Add(-time.Second))
	lift(t, srv, now.Add(-time.Second), 0, 0)
	lift(t, srv, now, 1, 0)
	scan := &foxglovepb.LaserScan{FrameId: "eye", Ranges: []float64{1}}
	cloud := &foxglovepb.PointCloud{FrameId: "eye", PointStride: 8, Fields: []*foxglovepb.PackedElementField{{Name: "x", Type: 7}, {Name: "y", Offset: 4, Type: 7}}}
	putMessage(t, srv, "Vision/LaserScan/arm/laser", now, scan)
	putMessage(t, srv, "Vision/PointCloud/arm/depth", now, cloud)
	putItem(t, srv, "vase", now, world.Item{Placement: &world.Placement{Frame: "hall", Pose: pose.Identity()}, Description: &world.Description{Kinds: []string{world.KindObject}}})
	for _, c := range []struct {
		rules string
		sees  []string // keys of things
		hides []string // what stands in no answer
		ok    map[string]int
	}{
		{"rules: [{allow: [read, subscribe], to: anonymous, on: Vision/LaserScan}]", []string{"Vision/LaserScan/arm/laser"}, []string{"depth", "vase", "hall", "lift", `"robot`},
			map[string]int{"points": 404, "robot": 404, "world": 200, "trails": 403}},
		{"rules: [{allow: [read, subscribe], to: anonymous, on: ['World/*', Vision/PointCloud]}]", []string{"item vase", "Vision/PointCloud/arm/depth"}, []string{"laser", "lift", `"robot`},
			map[string]int{"points": 200, "robot": 404, "world": 200, "trails": 403}},
		{"rules: [{allow: [read, subscribe], to: anonymous, on: 'RobotState/*'}]", []string{"robot arm"}, []string{"laser", "depth"},
			map[string]int{"points": 404, "robot": 200, "world": 200, "trails": 200}},
		{"rules: [{allow: [read, subscribe], to: somebody, on: '*'}]", nil, []string{"laser", "depth", "vase", "hall", "lift", `"robot`},
			map[string]int{"points": 404, "robot": 404, "world": 200, "trails": 403}},
	} {
		l := rights(t, srv, c.rules)
		var all []byte
		for piece, want := range c.ok {
			id := "Vision/PointCloud/arm/depth"
			status, b, _ := l.get("/view/"+piece, "id", id, "name", "arm", "fixed", "map")
			if status != want {
				t.Errorf("%s: %s: %d %s", c.rules, piece, status, b)
			}
			all = append(all, strings.ReplaceAll(string(b), id, "")...) // what was asked for
		}
		raw := l.ok("/view/scene")
		all = append(append(all, raw...), l.ok("/view/missing")...)
		var s sceneAnswer
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		for _, key := range c.sees {
			if s.thing(key) == nil {
				t.Errorf("%s: no %s in %s", c.rules, key, raw)
			}
		}
		if s.size() != len(c.sees) {
			t.Errorf("%s: %d things in %s", c.rules, s.size(), raw)
		}
		for _, name := range c.hides {
			if strings.Contains(string(all), name) {
				t.Errorf("%s: %q is told: %s", c.rules, name, all)
			}
		}
	}
}

// What nobody can draw is left out, and harms nothing.
func TestSceneOfBadData(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	putMessage(t, svc, "Vision/LaserScan/arm/laser", now, &foxglovepb.LaserScan{FrameId: "eye", StartAngle: math.NaN(), Ranges: []float64{1}})
	putMessage(t, svc, "Vision/LaserScan/arm/good", now, &foxglovepb.LaserScan{FrameId: "eye", Ranges: []float64{1}, Pose: &foxglovepb.Pose{Position: &foxglovepb.Vector3{X: math.Inf(1)}}})
	putMessage(t, svc, "Navigation/Costmap/arm/floor", now, &foxglovepb.Grid{ColumnCount: math.MaxUint32, RowStride: 4, CellStride: math.MaxUint32, Data: make([]byte, 8)})
	putMessage(t, svc, "Painter/Any/painter/picture", now, &foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{
		{Id: "nan", Cubes: []*foxglovepb.CubePrimitive{{Size: &foxglovepb.Vector3{X: math.NaN()}}}}}})
	putMessage(t, svc, "Painter/Any/painter/huge", now, &foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{
		{Id: "huge", Triangles: []*foxglovepb.TriangleListPrimitive{{Indices: make([]uint32, 9<<20)}}}}})
	var s struct{ LeftOut int }
	l.read(&s, "/view/scene")
	all := l.scene()
	if all.thing("Vision/LaserScan/arm/good") == nil || all.thing("Painter/Any/painter/picture") == nil || all.size() != 2 || s.LeftOut != 1 {
		t.Errorf("there are %d things, and %d left out", all.size(), s.LeftOut)
	}
	for _, pairs := range [][]string{{"t", "tomorrow"}, {"asof", "x"}} {
		for _, piece := range []string{"scene", "missing", "trails", "world"} {
			if status, b, _ := l.get("/view/"+piece, pairs...); status != http.StatusBadRequest {
				t.Errorf("%s of %v: %d %s", piece, pairs, status, b)
			}
		}
	}
}
