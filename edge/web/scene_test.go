package web_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/web"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	worldfiles "github.com/seed-301d4374/engram/mind/world/files"
)

// looker asks a page as a browser does.
type looker struct {
	testing.TB
	url string
}

func look(t testing.TB, svc feature.Server, o web.Options) looker {
	t.Helper()
	o.Log = testkit.Quiet
	s := httptest.NewServer(web.New(svc, o))
	t.Cleanup(s.Close)
	return looker{t, s.URL}
}

// robot returns a server with all memories, and one more that brings pictures.
func robot(t testing.TB) *server.Server {
	svc := serving.New(t, append(memories.All(), serving.Memory("Painter", server.Hooks{}))...)
	picture, err := idf.TypeOf((&foxglovepb.SceneUpdate{}).ProtoReflect().Descriptor(), "", "")
	if err == nil {
		err = svc.AddType(t.Context(), picture.Def())
	}
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func (l looker) get(path string, pairs ...string) (int, []byte, http.Header) {
	l.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	r, err := http.Get(l.url + path + "?" + q.Encode())
	if err != nil {
		l.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		l.Fatal(err)
	}
	return r.StatusCode, b, r.Header
}

func (l looker) ok(path string, pairs ...string) []byte {
	l.Helper()
	status, b, _ := l.get(path, pairs...)
	if status != http.StatusOK {
		l.Fatalf("%s %v: %d %s", path, pairs, status, b)
	}
	return b
}

type sceneAnswer struct {
	At     string
	Tag    string
	Frames *struct {
		Fixed   string
		List    []frameAnswer
		Missing []struct{ Frame, Why string }
	}
	Parts map[string][]thingAnswer
}

type frameAnswer struct {
	Name, Parent, Time string
	Pose               [7]float64
	Cov                []float64
}

type thingAnswer struct {
	Key, Kind, ID, Frame, Name string
	Version                    string
	Pose                       [7]float64
	Poses                      [][7]float64
	Columns, Rows              int
	Ranges, Cov                []float64
	Entities                   []struct {
		FrameID string `json:"frameId"`
		ID      string
		Cubes   []struct {
			Color struct{ A float64 }
			Pose  struct{ Position struct{ X, Y, Z float64 } }
		}
		Lines  []struct{ Points []struct{ X, Y float64 } }
		Models []struct {
			Color         struct{ A float64 }
			OverrideColor bool
		}
		Texts []struct{ Text string }
	}
}

// read reads an answer of JSON.
func (l looker) read(into any, path string, pairs ...string) {
	l.Helper()
	if err := json.Unmarshal(l.ok(path, pairs...), into); err != nil {
		l.Fatal(err)
	}
}

func (l looker) scene(pairs ...string) *sceneAnswer {
	l.Helper()
	s := new(sceneAnswer)
	l.read(s, "/view/scene", pairs...)
	return s
}

func (s *sceneAnswer) thing(key string) *thingAnswer {
	for _, list := range s.Parts {
		for i := range list {
			if list[i].Key == key {
				return &list[i]
			}
		}
	}
	return nil
}

func (s *sceneAnswer) frame(name string) *frameAnswer {
	if s.Frames != nil {
		for i := range s.Frames.List {
			if s.Frames.List[i].Name == name {
				return &s.Frames.List[i]
			}
		}
	}
	return nil
}

func (s *sceneAnswer) size() (n int) {
	for _, list := range s.Parts {
		n += len(list)
	}
	return n
}

// put commits a payload at a time.
func put(t testing.TB, svc engram.Writer, entity string, at engram.Time, p engram.Payload) {
	t.Helper()
	testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}})
}

func putMessage(t testing.TB, svc engram.Writer, entity string, at engram.Time, m proto.Message) {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	put(t, svc, entity, at, engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b})
}

func putValues(t testing.TB, svc engram.Writer, entity, typ string, at engram.Time, v map[string]any) {
	t.Helper()
	of, ok := memories.Type(typ)
	if !ok {
		t.Fatalf("there is no type %s", typ)
	}
	b, err := of.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	put(t, svc, entity, at, engram.Payload{Type: typ, Bytes: b})
}

const arm = `<robot name="arm"><link name="base"/><link name="hand"/><link name="eye"/>
<joint name="lift" type="prismatic"><parent link="base"/><child link="hand"/><axis xyz="0 0 1"/><limit lower="0" upper="9" effort="1" velocity="1"/></joint>
<joint name="mount" type="fixed"><parent link="hand"/><child link="eye"/><origin xyz="0.1 0 0"/></joint></robot>`

// lift has the arm at a place with its hand at a height.
func lift(t *testing.T, svc engram.Writer, at engram.Time, x, height float64) {
	t.Helper()
	putValues(t, svc, "RobotState/Proprioception/arm/joints", "engram.robot_state.Proprioception", at,
		map[string]any{"name": []any{"lift"}, "position": []any{height}})
	putValues(t, svc, "RobotState/Localization/arm/base", "engram.robot_state.Localization", at, map[string]any{
		"parent_frame_id": "map", "child_frame_id": "base", "translation": map[string]any{"x": x}, "rotation": map[string]any{"w": 1.0},
		"pose_covariance": slices.Concat([]any{0.04, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01}, slices.Repeat([]any{0.0}, 6), []any{0.01},
			slices.Repeat([]any{0.0}, 6), []any{0.01}, slices.Repeat([]any{0.0}, 6), []any{0.01}, slices.Repeat([]any{0.0}, 6), []any{0.01}),
	})
}

func describe(t *testing.T, svc engram.Writer, at engram.Time) {
	t.Helper()
	putValues(t, svc, "RobotState/Description/arm/arm", "engram.robot_state.Description", at, map[string]any{"name": "arm", "urdf": arm})
}

// A robot, a scan in one of its frames and a picture that a memory brings are seen at two times.
func TestSceneShowsWhatIsWhereNowAndBefore(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	then := now.Add(-10 * time.Second)
	describe(t, svc, then)
	lift(t, svc, then, 1, 0.5)
	lift(t, svc, now, 2, 0.75)
	putMessage(t, svc, "Vision/LaserScan/arm/laser", then, &foxglovepb.LaserScan{
		FrameId: "eye", StartAngle: -1, EndAngle: 1, Ranges: []float64{1.2345, math.Inf(1), math.NaN(), 3}})
	putMessage(t, svc, "Painter/Any/painter/picture", then, &foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{
		{FrameId: "eye", Id: "mark", Cubes: []*foxglovepb.CubePrimitive{{Color: &foxglovepb.Color{A: 0.5}}}},
		{FrameId: "eye", Id: "old", Timestamp: timestamppb.New(then.Std()), Lifetime: durationpb.New(time.Second)},
	}})
	s := l.scene()
	if f := s.frame("arm/hand"); f == nil || f.Parent != "arm/base" || f.Pose != [7]float64{0, 0, 0.75, 0, 0, 0, 1} {
		t.Errorf("the hand is at %+v", f)
	}
	if f := s.frame("arm/base"); f == nil || f.Pose[0] != 2 || len(f.Cov) != 6 || f.Cov[0] != 0.04 || f.Time != fmt.Sprint(int64(now)) {
		t.Errorf("the base is at %+v", f)
	}
	if s.Frames.Fixed != "arm/map" || len(s.Frames.Missing) > 0 {
		t.Errorf("the scene is shown in %s without %v", s.Frames.Fixed, s.Frames.Missing)
	}
	if r := s.thing("robot arm"); r == nil || r.Name != "arm" {
		t.Errorf("the robot is %+v", r)
	}
	if scan := s.thing("Vision/LaserScan/arm/laser"); scan == nil || scan.Frame != "arm/map" || scan.Pose != [7]float64{1.1, 0, 0.5, 0, 0, 0, 1} || !slices.Equal(scan.Ranges, []float64{1.234, 0, 0, 3}) && !slices.Equal(scan.Ranges, []float64{1.235, 0, 0, 3}) {
		t.Errorf("the scan is %+v", scan)
	}
	if n := s.size(); n != 3 {
		t.Errorf("there are %d things: %+v", n, s.Parts)
	}
	if p := s.thing("Painter/Any/painter/picture"); p == nil || len(p.Entities) != 1 || p.Entities[0].FrameID != "arm/map" || p.Entities[0].Cubes[0].Pose.Position.X != 1.1 || p.Entities[0].Cubes[0].Color.A != 0.5 {
		t.Errorf("the picture is %+v", p)
	}

	before := l.scene("t", fmt.Sprint(int64(then)))
	if f := before.frame("arm/hand"); f == nil || f.Pose[2] != 0.5 {
		t.Errorf("before, the hand was at %+v", f)
	}
	if p := before.thing("Painter/Any/painter/picture"); p == nil || len(p.Entities) != 2 {
		t.Errorf("before, the picture was %+v", p)
	}
	if s := l.scene("t", fmt.Sprint(int64(then)-1)); s.size() != 0 {
		t.Errorf("before there was anything there were %+v", s.Parts)
	}
}

// At a time of which the pose store has nothing any more, poses and their covariances are those
// that the memory has.
func TestSceneRemembersPosesThatTheStoreForgot(t *testing.T) {
	svc := serving.New(t, memories.All(memories.WithPoseRetention(pose.Retention{MaxCount: 2}))...)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	describe(t, svc, now.Add(-time.Minute))
	for i := range 20 {
		lift(t, svc, now.Add(time.Duration(i-20)*time.Second), float64(i), float64(i)/10)
	}
	// Between the fifth and the sixth: what was in force then.
	s := l.scene("t", fmt.Sprint(int64(now.Add(-15*time.Second-time.Millisecond))))
	base, hand := s.frame("arm/base"), s.frame("arm/hand")
	if base == nil || hand == nil || base.Pose[0] != 4 || math.Abs(hand.Pose[2]-0.4) > 1e-9 || len(base.Cov) != 6 || base.Cov[0] != 0.04 || len(s.Frames.Missing) > 0 {
		t.Errorf("the base was at %+v, the hand at %+v, and missing are %+v", base, hand, s.Frames.Missing)
	}
}

// Where the robot's map is, is revised twice; what was believed between is seen, too, also at a
// time of which the pose store has nothing any more.
func TestSceneShowsWhatWasBelieved(t *testing.T) {
	for name, keep := range map[string]pose.Retention{"in the store": {}, "forgotten by the store": {MaxCount: 2}} {
		t.Run(name, func(t *testing.T) {
			svc := serving.New(t, memories.All(memories.WithPoseRetention(keep))...)
			l := look(t, svc, web.Options{})
			now := engram.Now()
			then := now.Add(-20 * time.Second)
			describe(t, svc, then)
			for i := range 20 {
				lift(t, svc, then.Add(time.Duration(i)*time.Second), 1, float64(i)/10)
			}
			believed := map[string]float64{}
			for _, x := range []float64{10, 20} {
				putValues(t, svc, "RobotState/Revision/arm/slam", "engram.robot_state.Revision", engram.Now(), map[string]any{"keys": []any{map[string]any{
					"parent_frame_id": "site", "child_frame_id": "map", "timestamp": then, "translation": map[string]any{"x": x}, "rotation": map[string]any{"w": 1.0}}}})
				snap, err := svc.Latest(t.Context(), engram.MustID("RobotState/Revision/arm/slam"))
				if err != nil {
					t.Fatal(err)
				}
				believed[fmt.Sprint(int64(snap.Arrived))] = x
				for engram.Now() <= snap.Arrived { // what comes next arrives later
				}
			}
			at := fmt.Sprint(int64(then.Add(5 * time.Second)))
			for asof, x := range believed {
				s := l.scene("t", at, "asof", asof)
				if f := s.frame("arm/map"); f == nil || f.Parent != "arm/site" || f.Pose[0] != x {
					t.Errorf("the map was believed to be at %+v instead of %v", f, x)
				}
				if f := s.frame("arm/hand"); f == nil || math.Abs(f.Pose[2]-0.5) > 1e-9 {
					t.Errorf("the hand was at %+v", f)
				}
			}
			if f := l.scene("t", at).frame("arm/map"); f == nil || f.Pose[0] != 20 {
				t.Errorf("the map is at %+v", f)
			}
		})
	}
}

// operated opens the world in a server, as its operator states it. Who calls closes it.
func operated(t testing.TB, svc engram.Service) *world.Memory {
	t.Helper()
	model, err := world.Over(t.Context(), svc, "tester", world.DefaultRules(), world.FromSource(world.Operator))
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// Only what is another thing than in the browser's scene is sent.
func TestSceneLeavesOutWhatIsAsItWas(t *testing.T) {
	svc := robot(t)
	at := engram.Now()
	l := look(t, svc, web.Options{Now: func() engram.Time { return at }})
	model := operated(t, svc)
	defer model.Close()
	items := []world.NamedItem{{Name: "room", Item: world.Item{Description: &world.Description{Kinds: []string{"place"}, Time: at}}}}
	const many = 300
	for i := range many {
		items = append(items, world.NamedItem{Name: fmt.Sprint("cup ", i), Item: world.Item{
			Structure:   &world.Structure{Parent: "room", Time: at},
			Placement:   &world.Placement{Pose: pose.Translation(float64(i), 0, 0), Cov: pose.DiagonalCov(0.1, 0.2), Time: at},
			Description: &world.Description{Kinds: []string{"cup"}, Box: &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}}, Time: at},
		}})
	}
	refused, mark, err := model.Update(t.Context(), items...)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if _, err := model.View(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	var first *sceneAnswer
	testkit.Until(t, func() (string, bool) {
		first = l.scene()
		return fmt.Sprint(first.size()), first.thing("item cup 7") != nil && first.size() >= many
	})
	if c := first.thing("item cup 7"); c.ID != "World/Item/tester/cup 7" || len(c.Entities) != 1 || len(c.Entities[0].Cubes) != 1 || len(c.Cov) != 6 {
		t.Errorf("a cup is %+v", c)
	}
	same := l.scene("since", first.Tag)
	if same.size() != 0 || len(same.Parts) != 0 || same.Frames != nil || same.Tag != first.Tag {
		t.Errorf("nothing is another, and %d things in %d parts came, and frames %v", same.size(), len(same.Parts), same.Frames)
	}
	if _, err := model.UpdatePose(t.Context(), "cup 7", "room", pose.Translation(0, 1, 0), pose.Cov{}); err != nil {
		t.Fatal(err)
	}
	var moved *sceneAnswer
	testkit.Until(t, func() (string, bool) {
		moved = l.scene("since", first.Tag)
		return fmt.Sprint(moved.size()), moved.thing("item cup 7") != nil
	})
	if n := moved.size(); n > many/10 {
		t.Errorf("one is another, and %d came", n)
	}
	if _, err := model.Remove(t.Context(), "cup 7", "gone", world.RefuseChildren); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, func() (string, bool) {
		s := l.scene("since", moved.Tag)
		return fmt.Sprint(s.Parts), len(s.Parts) > 0 && s.thing("item cup 7") == nil
	})
	if s := l.scene("since", "nonsense"); s.size() < many-1 {
		t.Errorf("for a tag of nobody %d came", s.size())
	}
}

// IDs may have the name of the server's robot or not; a robot may have no URDF.
func TestRobotOfTheServer(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{Robot: "arm"})
	now := engram.Now()
	describe(t, svc, now)
	putMessage(t, svc, "Vision/PointCloud/arm/eye", now, &foxglovepb.PointCloud{
		FrameId: "eye", PointStride: 8, Fields: []*foxglovepb.PackedElementField{{Name: "x", Type: 7}, {Name: "y", Offset: 4, Type: 7}},
	})
	putValues(t, svc, "RobotState/Description/bare/bare", "engram.robot_state.Description", now, map[string]any{"name": "bare"})
	for id, want := range map[string]int{
		"Vision/PointCloud/arm/eye": http.StatusOK, "arm:Vision/PointCloud/arm/eye": http.StatusOK, "leg:Vision/PointCloud/arm/eye": http.StatusNotFound,
	} {
		if status, b, _ := l.get("/view/points", "id", id); status != want {
			t.Errorf("points of %s: %d %s", id, status, b)
		}
	}
	for name, want := range map[string]int{"arm": http.StatusOK, "bare": http.StatusNoContent, "nobody": http.StatusNotFound} {
		if status, b, _ := l.get("/view/robot", "name", name); status != want {
			t.Errorf("robot %s: %d %s", name, status, b)
		}
	}
}

// Of a frame that hangs on nothing is said why it is missing.
func TestSceneSaysWhyFramesAreMissing(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	describe(t, svc, now)
	lift(t, svc, now, 1, 0)
	putMessage(t, svc, "Vision/LaserScan/arm/laser", now, &foxglovepb.LaserScan{FrameId: "nowhere", Ranges: []float64{1}})
	s := l.scene("fixed", "map")
	if s.Frames.Fixed != "arm/map" || len(s.Frames.Missing) != 1 || s.Frames.Missing[0].Frame != "nowhere" || s.Frames.Missing[0].Why == "" {
		t.Errorf("in %s: %+v", s.Frames.Fixed, s.Frames.Missing)
	}
	var told []struct{ Frame, Why string }
	l.read(&told, "/view/missing")
	if len(told) != 1 || told[0] != s.Frames.Missing[0] {
		t.Errorf("told without the scene: %+v", told)
	}
}

func TestPointsAreThinned(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	at := engram.Now()
	var data []byte
	for i := range 1000 {
		for _, v := range []float32{float32(i), 2, float32(math.NaN())} {
			if i != 10 {
				v = max(v, 0)
			}
			if v != v {
				v = 3
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		data = append(data, 1, 2, 3, 0) // blue, green, red as in a uint32
	}
	copy(data[16*500:], []byte{0, 0, 0xc0, 0x7f}) // no number
	field := func(name string, offset uint32, typ foxglovepb.PackedElementField_NumericType) *foxglovepb.PackedElementField {
		return &foxglovepb.PackedElementField{Name: name, Offset: offset, Type: typ}
	}
	cloud := &foxglovepb.PointCloud{FrameId: "eye", PointStride: 16, Data: data, Fields: []*foxglovepb.PackedElementField{
		field("x", 0, foxglovepb.PackedElementField_FLOAT32), field("y", 4, foxglovepb.PackedElementField_FLOAT32),
		field("z", 8, foxglovepb.PackedElementField_FLOAT32), field("rgb", 12, foxglovepb.PackedElementField_UINT32)}}
	putMessage(t, svc, "Vision/PointCloud/arm/depth", at, cloud)
	id := engram.MustID("Vision/PointCloud/arm/depth").At(at).String()
	if s := l.scene(); s.thing("Vision/PointCloud/arm/depth").ID != id {
		t.Errorf("the scene names %+v", s.Parts)
	}
	all := l.ok("/view/points", "id", id)
	if len(all) != 999*16 || math.Float32frombits(binary.LittleEndian.Uint32(all[16:])) != 1 || !bytes.Equal(all[12:16], []byte{3, 2, 1, 255}) {
		t.Errorf("all are %d bytes: %v", len(all), all[:32])
	}
	if few := l.ok("/view/points", "id", id, "max", "100"); len(few) != 99*16 {
		t.Errorf("100 of 1000, of which one is no number, are %d", len(few)/16)
	}
	cloud.PointStride = 8
	putMessage(t, svc, "Vision/PointCloud/arm/depth", at+1, cloud)
	for id, want := range map[string]int{
		engram.MustID("Vision/PointCloud/arm/depth").At(at + 1).String(): http.StatusBadRequest,
		engram.MustID("Vision/PointCloud/arm/depth").At(at + 2).String(): http.StatusNotFound,
		"Vision/PointCloud/arm/depth":                                    http.StatusBadRequest,
		"":                                                               http.StatusBadRequest,
	} {
		if status, b, _ := l.get("/view/points", "id", id); status != want {
			t.Errorf("%q: %d %s, not %d", id, status, b, want)
		}
	}
}

func TestGridsComeInTiles(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	at := engram.Now()
	const columns, rows = 3000, 2000
	data := make([]byte, columns*rows)
	data[5*columns+7] = 254 // one occupied cell
	for i := range columns {
		data[1999*columns+i] = 255 // unknown
	}
	putMessage(t, svc, "Navigation/Costmap/arm/floor", at, &foxglovepb.Grid{
		FrameId: "map", ColumnCount: columns, RowStride: columns, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 0.05, Y: 0.05},
		Fields: []*foxglovepb.PackedElementField{{Name: "cost", Type: foxglovepb.PackedElementField_UINT8}}, Data: data,
	})
	id := engram.MustID("Navigation/Costmap/arm/floor").At(at).String()
	g := l.scene().thing("Navigation/Costmap/arm/floor")
	if g == nil || g.ID != id || g.Columns != columns || g.Rows != rows {
		t.Fatalf("the grid is %+v", g)
	}
	img, err := png.Decode(bytes.NewReader(l.ok("/view/grid", "id", id, "scale", "4")))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 750 || b.Dy() != 500 {
		t.Errorf("it is %v", b)
	}
	occupied := func(x, y int) bool { _, _, _, a := img.At(x, y).RGBA(); return a>>8 == 230 }
	if !occupied(1, 498) || occupied(2, 498) || occupied(1, 497) {
		t.Error("the occupied cell is not where it is")
	}
	tile, err := png.Decode(bytes.NewReader(l.ok("/view/grid", "id", id, "x0", "2500", "y0", "1990", "x1", "3524", "y1", "3014")))
	if err != nil {
		t.Fatal(err)
	}
	if b := tile.Bounds(); b.Dx() != 500 || b.Dy() != 10 {
		t.Errorf("the tile at the edge is %v", b)
	}
	if _, _, _, a := tile.At(0, 0).RGBA(); a != 0 {
		t.Error("what is unknown is not transparent")
	}
	for _, pairs := range [][]string{{}, {"x0", "3000"}, {"x0", "10", "x1", "5"}, {"scale", "two"}} {
		if status, b, _ := l.get("/view/grid", append([]string{"id", id}, pairs...)...); status != http.StatusBadRequest {
			t.Errorf("%v: %d %s", pairs, status, b)
		}
	}
}

// floorMap returns an occupancy grid of cells of half a metre, of an origin and an image as ROS has them.
func floorMap(t *testing.T, origin, pgm string) (world.Map, []byte) {
	t.Helper()
	g, err := worldfiles.ReadGrid([]byte("image: m.pgm\nresolution: 0.5\norigin: "+origin+"\n"), "m.yaml",
		func(string) ([]byte, error) { return []byte(pgm), nil })
	if err != nil {
		t.Fatal(err)
	}
	return g.Map(nil, "map"), g.Data
}

// setFloor states the map "floor", and returns a scene that has it.
func (l looker) setFloor(svc engram.Service, m world.Map, data []byte) (s *sceneAnswer) {
	l.Helper()
	model := operated(l, svc)
	defer model.Close()
	if _, err := model.SetMap(l.Context(), "floor", m, data); err != nil {
		l.Fatal(err)
	}
	testkit.Until(l, func() (string, bool) {
		s = l.scene()
		return fmt.Sprint(s.Parts), s.thing("map floor") != nil
	})
	return s
}

// Occupancy grids as ROS has them are drawn as they were at a time.
func TestMapsOfTheWorldAreGrids(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	stated, data := floorMap(t, "[-1, -2, 0]", "P5 3 2 255\n\xfe\xfe\x00\xcd\xfe\xfe")
	m := l.setFloor(svc, stated, data).thing("map floor")
	if m.Columns != 3 || m.Rows != 2 || m.Pose != [7]float64{-1, -2, 0, 0, 0, 0, 1} {
		t.Errorf("the map is %+v", m)
	}
	img, err := png.Decode(bytes.NewReader(l.ok("/view/grid", "id", m.ID)))
	if err != nil {
		t.Fatal(err)
	}
	shade := func(x, y int) (uint32, uint32) { r, _, _, a := img.At(x, y).RGBA(); return r >> 8, a >> 8 }
	if r, a := shade(2, 0); r != 112 || a != 255 {
		t.Errorf("what is occupied is %d, %d", r, a)
	}
	if _, a := shade(0, 1); a != 0 {
		t.Errorf("what is unknown is %d", a)
	}
	if _, a := shade(1, 1); a != 48 {
		t.Errorf("what is free is %d", a)
	}
}

func TestRobotAndAssets(t *testing.T) {
	svc := robot(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "arms", "arm"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"arms/arm/hand.stl": "solid", "secret": "nobody's", "arms/arm/page.html": "<script>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../secret", filepath.Join(dir, "arms/arm/link.stl")); err != nil {
		t.Fatal(err)
	}
	l := look(t, svc, web.Options{Assets: []string{filepath.Join(dir, "arms")}})
	describe(t, svc, engram.Now())
	if b := l.ok("/view/robot", "name", "arm"); string(b) != arm {
		t.Errorf("the robot is %s", b)
	}
	if status, b, _ := l.get("/view/robot", "name", "leg"); status != http.StatusNotFound {
		t.Errorf("of no robot there is %d %s", status, b)
	}
	if b := l.ok("/view/asset", "uri", "package://arm/hand.stl"); string(b) != "solid" {
		t.Errorf("the mesh is %s", b)
	}
	_, _, h := l.get("/view/asset", "uri", "package://arm/page.html")
	if h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != "attachment" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a document is given as %v", h)
	}
	for _, uri := range []string{"package://../secret", "package://arm/../../secret", "package://arm/link.stl", "package:///etc/passwd", "package://arm", "file:///etc/passwd", ""} {
		if status, b, _ := l.get("/view/asset", "uri", uri); status == http.StatusOK || strings.Contains(string(b), "nobody") {
			t.Errorf("%s: %d %s", uri, status, b)
		}
	}
}
