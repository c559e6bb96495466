package navigation

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/pose"
)

// Recorder is the memory to which plans, events, results and cost maps are committed; every
// [engram.Service] is one.
type Recorder interface {
	engram.Writer
	Type(ctx context.Context, name string) (engram.TypeDef, error)
}

// EventKind is what can happen on the way.
type EventKind uint8

// The kinds of events, as Navigation/Event has them.
const (
	Started EventKind = iota
	GlobalPlanned
	WaypointReached
	GoalReached
	GlobalPlanningFailed
	LocalPlanningFailed
	SafetySlowdown
	SafetyStop
	Aborted
	InternalError
	Replanned
	Trapped
)

var eventNames = [...]string{
	"Started", "GlobalPlanned", "WaypointReached", "GoalReached", "GlobalPlanningFailed", "LocalPlanningFailed",
	"SafetySlowdown", "SafetyStop", "Aborted", "InternalError", "Replanned", "Trapped",
}

// String returns the kind as Navigation/Event calls it.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown event"
}

// record writes snapshots of one navigator.
type record struct {
	to                  Recorder
	clock               Clock
	plan, event, result *idf.Type
	provider, name      string
	last                engram.Time
}

func newRecord(ctx context.Context, to Recorder, clock Clock, provider, name string) (*record, error) {
	r := &record{to: to, clock: clock, provider: provider, name: name}
	for typ, into := range map[string]**idf.Type{"Plan": &r.plan, "Event": &r.event, "Result": &r.result} {
		def, err := to.Type(ctx, "engram.navigation."+typ)
		if err != nil {
			return nil, err
		}
		if *into, err = idf.ParseType(def); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{provider, name} {
		if err := engram.CheckName(name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// now returns a time after all before: equal ones would replace each other.
func (r *record) now() engram.Time {
	r.last = max(r.clock.Now(), r.last+1)
	return r.last
}

// commit writes a snapshot at a time and returns its ID.
func (r *record) commit(ctx context.Context, t *idf.Type, segment string, at engram.Time, v map[string]any) (engram.ID, error) {
	b, err := t.Encode(v)
	if err != nil {
		return engram.ID{}, err
	}
	return commitOne(ctx, r.to, segment, r.provider, r.name, at, engram.Payload{Type: t.Name(), Bytes: b})
}

func commitOne(ctx context.Context, to engram.Writer, segment, provider, name string, at engram.Time, p engram.Payload) (engram.ID, error) {
	entity, err := engram.NewID("Navigation", segment, provider, name)
	if err != nil {
		return engram.ID{}, err
	}
	results, err := to.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		return engram.ID{}, err
	}
	return results[0].ID, nil
}

func poseValue(p Pose2D) map[string]any {
	return posevalue.To(pose.Pose{T: pose.Vec3{X: p.X, Y: p.Y}, R: pose.AxisAngle(pose.Vec3{Z: 1}, p.Yaw)})
}

// link adds a link, unless it leads nowhere.
func link(v map[string]any, key string, id engram.ID) {
	if !id.IsRoot() {
		v[key] = id
	}
}

// Costs of cells in a cost map of the memory.
const (
	costNear     = 253 // nearer to what is not free than the robot may come
	costTight    = 252 // at least this near the robot fits in some directions only; less, farther away
	costOccupied = 254
	costUnknown  = 255
)

// Costs returns the cost map as Navigation/Costmap has it, a byte per cell.
func (c *Costmap) Costs() []byte {
	costs := make([]byte, len(c.Cells))
	for y := range c.Height {
		enter := c.enter[c.padded(0, y):c.padded(c.Width, y)]
		states, out := c.Cells[y*c.Width:(y+1)*c.Width], costs[y*c.Width:(y+1)*c.Width]
		for x, s := range states {
			switch {
			case s == Occupied:
				out[x] = costOccupied
			case s == Unknown:
				out[x] = costUnknown
			case enter[x]&enterable == 0:
				out[x] = costNear
			case enter[x]&tight != 0:
				// As far as it is from the inscribed to the circumscribed circle.
				near, least, wide := float64(c.near2[y*c.Width+x]), math.Sqrt(float64(c.least2)), math.Sqrt(float64(c.wide2))
				out[x] = byte(costTight * (1 - (math.Sqrt(near)-least)/(wide-least)))
			}
		}
	}
	return costs
}

// CommitCostmap writes the cost map of a floor at a time, to the entity of its map, and returns the
// snapshot and the version of the floor that it is.
func (f *Floor) CommitCostmap(ctx context.Context, to engram.Writer, provider string, at engram.Time) (engram.ID, uint64, error) {
	var costs []byte
	f.mu.Lock()
	c, version := f.mu.cost, f.mu.version
	costs = c.Costs()
	f.mu.Unlock()
	sin, cos := math.Sincos(c.Origin.Yaw / 2)
	b, err := proto.Marshal(&foxglove.Grid{
		Timestamp: timestamppb.New(at.Std()), FrameId: f.frame,
		Pose: &foxglove.Pose{
			Position:    &foxglove.Vector3{X: c.Origin.X, Y: c.Origin.Y},
			Orientation: &foxglove.Quaternion{Z: sin, W: cos},
		},
		ColumnCount: uint32(c.Width), CellSize: &foxglove.Vector2{X: c.Resolution, Y: c.Resolution},
		RowStride: uint32(c.Width), CellStride: 1,
		Fields: []*foxglove.PackedElementField{{Name: "cost", Type: foxglove.PackedElementField_UINT8}},
		Data:   costs,
	})
	if err != nil {
		return engram.ID{}, 0, err
	}
	id, err := commitOne(ctx, to, "Costmap", provider, f.name, at, engram.Payload{Type: "foxglove.Grid", Bytes: b})
	return id, version, err
}
