package web

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/world"
)

// drawing makes things of payloads of a type, and of types that extend it.
type drawing struct {
	typ    string
	fields []string // those that are needed; nil means all
	// draw reports whether there is something to draw.
	draw func(it engram.Item, payload engram.Payload, t *thing, at engram.Time) bool
}

// message is a pointer to a message of the viewers.
type message[M any] interface {
	*M
	proto.Message
}

// drawn is a drawing of a type of the viewers. What is no such message is not drawn.
func drawn[M any, P message[M]](fields []string, draw func(m P, t *thing, at engram.Time) bool) drawing {
	return drawing{string(P(new(M)).ProtoReflect().Descriptor().FullName()), fields,
		func(it engram.Item, payload engram.Payload, t *thing, at engram.Time) bool {
			if it.ID.Memory() == "Object" && it.ID.CoreSegment() == "Instance" {
				return false // it is an item of the world
			}
			m := P(new(M))
			return proto.Unmarshal(payload.Bytes, m) == nil && draw(m, t, at)
		}}
}

// drawings are in the order in which a scene that is too large loses things, from the end.
var drawings = []drawing{
	{"engram.robot_state.Description", []string{"name"}, drawRobot},
	drawn([]string{"entities"}, drawScene),
	drawn([]string{"frame_id", "pose", "start_angle", "end_angle", "ranges"}, drawScan),
	drawn([]string{"frame_id", "pose"}, drawPoints),
	{"foxglove.Grid", nil, drawGrid}, // how many rows it has, its data say
	drawn([]string{"frame_id", "pose"}, func(m *foxglovepb.PoseInFrame, t *thing, _ engram.Time) bool {
		return drawPoses(t, m.GetFrameId(), m.GetPose())
	}),
	drawn([]string{"frame_id", "poses"}, func(m *foxglovepb.PosesInFrame, t *thing, _ engram.Time) bool {
		return drawPoses(t, m.GetFrameId(), m.GetPoses()...)
	}),
}

func drawRobot(it engram.Item, _ engram.Payload, t *thing, _ engram.Time) bool {
	t.Kind, t.Name = "robot", lookup.RobotOf(it.ID)
	t.Key = "robot " + t.Name // a robot with two descriptions is one
	return true
}

// drawScene shows the picture that a memory brings, but for what has had its time.
func drawScene(m *foxglovepb.SceneUpdate, t *thing, at engram.Time) bool {
	t.Kind = "scene"
	for _, e := range m.GetEntities() {
		if life := e.GetLifetime().AsDuration(); life > 0 && engram.TimeOf(e.GetTimestamp().AsTime()).Add(life) < at {
			continue
		}
		t.drawn = append(t.drawn, e)
	}
	return len(t.drawn) > 0
}

func drawScan(m *foxglovepb.LaserScan, t *thing, _ engram.Time) bool {
	t.Kind, t.Frame, t.Pose = "scan", m.GetFrameId(), poseOf(m.GetPose())
	if t.Start, t.End = m.GetStartAngle(), m.GetEndAngle(); !finite(t.Start, t.End) {
		return false
	}
	t.Ranges = make([]float32, len(m.GetRanges()))
	for i, r := range m.GetRanges() {
		if finite(r) && r > 0 && r < 1e6 {
			t.Ranges[i] = float32(math.Round(r*1e3) / 1e3)
		}
	}
	return true
}

func drawPoints(m *foxglovepb.PointCloud, t *thing, _ engram.Time) bool {
	t.Kind, t.Frame, t.Pose = "points", m.GetFrameId(), poseOf(m.GetPose())
	return true
}

func drawGrid(_ engram.Item, payload engram.Payload, t *thing, _ engram.Time) bool {
	rest, data, err := cut(payload.Bytes, gridData)
	var m foxglovepb.Grid
	if err != nil || proto.Unmarshal(rest, &m) != nil || m.GetRowStride() == 0 {
		return false
	}
	t.Kind, t.Frame, t.Pose = "grid", m.GetFrameId(), poseOf(m.GetPose())
	t.Columns, t.Rows = int(m.GetColumnCount()), len(data)/int(m.GetRowStride())
	t.Cell = [2]float64{m.GetCellSize().GetX(), m.GetCellSize().GetY()}
	return finite(t.Cell[:]...) && t.Columns > 0 && t.Rows > 0 && t.Columns <= maxCells && t.Rows <= maxCells
}

func drawPoses(t *thing, frame string, poses ...*foxglovepb.Pose) bool {
	t.Kind, t.Frame = "poses", frame
	for _, p := range poses {
		t.Poses = append(t.Poses, *poseOf(p))
	}
	return len(t.Poses) > 0
}

// itemKey begins the keys of items.
const itemKey = "item "

// items returns the items of the world and its maps.
func (p *scenes) items(ctx context.Context, when moment) ([]thing, error) {
	f, err := p.forest(ctx, when)
	if err != nil || f == nil {
		return nil, err
	}
	c, err := p.classes(ctx, when, f)
	if err != nil {
		return nil, err
	}
	var all []thing
	for it := range f.All() {
		e, at, ok := drawItem(f, c, it, when.at)
		if !ok {
			continue
		}
		t := thing{
			Key: itemKey + it.Name, Kind: "scene", Frame: e.GetFrameId(), Pose: jsonPose(at),
			Cov: itemCov(f, e.GetFrameId(), it), ID: p.saidOf(it), drawn: []*foxglovepb.SceneEntity{e},
		}
		all = append(all, t)
	}
	return append(all, p.drawMaps(ctx, when, f)...), nil
}

// homes are the memories and core segments in which things are said of items.
var homes = map[world.Home][2]string{
	world.InWorld: {"World", "Item"}, world.InInstance: {"Object", "Instance"}, world.InAttachment: {"Object", "Attachments"},
}

// saidOf returns the entity in which most is said of an item; "" if there is none.
func (p *scenes) saidOf(it *world.Merged) string {
	for _, s := range []*world.Statement{it.Placed, it.Described, it.Structured} {
		if s != nil {
			segment := homes[s.Home]
			return p.idOf(segment[0], segment[1], &s.Said, s.Name).String()
		}
	}
	return ""
}

// idOf returns the entity in which a thing of a name is said something of.
func (p *scenes) idOf(memory, segment string, s *world.Said, name string) engram.ID {
	if s.Robot != "" && s.Robot != p.o.Robot {
		memory = s.Robot + ":" + memory
	}
	id, _ := engram.NewID(memory, segment, s.Provider, name) // they are of one
	return id
}

// drawMaps shows the occupancy grids of the world.
func (p *scenes) drawMaps(ctx context.Context, when moment, f *world.Forest) (all []thing) {
	for m := range f.Maps().All() {
		if t, ok := p.drawMap(ctx, when, f, m); ok {
			all = append(all, t)
		}
	}
	return all
}

// maxCells bounds the columns and rows of a grid.
const maxCells = 1 << 24

// drawMap shows an occupancy grid of the world, whose cells are fetched apart.
func (p *scenes) drawMap(ctx context.Context, when moment, f *world.Forest, m *world.MapStatement) (thing, bool) {
	c := cornerOf(m.Map)
	if m.Map.Kind != world.OccupancyGrid || c == nil {
		return thing{}, false
	}
	frame, at, ok := world.Root(f, m.Map.Frame)
	if !ok {
		frame, at = m.Map.Frame, pose.Identity()
	}
	lower, resolution := jsonPose(at.Mul(*c)), m.Map.Resolution
	columns, rows := math.Round(m.Map.Extent.Size.X/resolution), math.Round(m.Map.Extent.Size.Y/resolution)
	if !finite(lower[:]...) || !(columns >= 1 && columns <= maxCells && rows >= 1 && rows <= maxCells) {
		return thing{}, false
	}
	entity := p.idOf("World", "Map", &m.Said, m.Name)
	return thing{
		Key: "map " + m.Name, Kind: "grid", ID: entity.At(m.Time).String(), Version: p.mapVersion(ctx, when.asOf, entity, m), Frame: frame, Pose: lower,
		Columns: int(columns), Rows: int(rows), Cell: [2]float64{resolution, resolution},
	}, true
}

// cornerOf returns where the lower left corner of a map is in its frame; nil if nobody says.
func cornerOf(m *world.Map) *pose.Pose {
	if m.Extent == nil || !(m.Resolution > 0) {
		return nil
	}
	c := m.Extent.Pose.Mul(pose.Translation(-m.Extent.Size.X/2, -m.Extent.Size.Y/2, 0))
	return &c
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// poseOf reads a pose; what is none, or left out, is as in the identity.
func poseOf(m *foxglovepb.Pose) *poseJSON { return jsonPose(readPose(m)) }

func readPose(m *foxglovepb.Pose) pose.Pose {
	t, r := m.GetPosition(), m.GetOrientation()
	p := pose.Pose{T: pose.Vec3{X: t.GetX(), Y: t.GetY(), Z: t.GetZ()}, R: pose.Quat{X: r.GetX(), Y: r.GetY(), Z: r.GetZ(), W: r.GetW()}}
	if p.R == (pose.Quat{}) {
		p.R = pose.Identity().R
	}
	p, err := p.Checked()
	if err != nil {
		p = pose.Identity()
	}
	return p
}

func jsonPose(p pose.Pose) *poseJSON {
	return &poseJSON{p.T.X, p.T.Y, p.T.Z, p.R.X, p.R.Y, p.R.Z, p.R.W}
}
