package navigation

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// Costs keeps the cost map of one map. All methods are safe for concurrent use; the goroutine of [Costs.Run] changes it.
type Costs struct {
	memory  engram.Service
	config  Config
	name    string    // of the map
	of      engram.ID // what is said of the map
	frame   string    // of the map
	watcher world.Watcher

	// Of who runs.
	builder *grid.Builder
	things  map[string]thing // what may stand on the map, by item
	grain   float64          // metres

	mu     sync.Mutex
	now    Map
	stands map[string]Obstacle // on the map, by item
	next   chan struct{}       // closed when there is another map
}

// thing is an item with a box, and where that was when its outline was made.
type thing struct {
	box  *world.Box
	at   pose.Pose
	laid bool
}

// isAt reports whether a thing was laid on the map where it is, but for what is less than a grain, metres: what is seen again and again
// seems to move a little each time.
func (t *thing) isAt(at pose.Pose, grain float64) bool {
	if !t.laid {
		return false
	}
	farthest := t.box.Pose.T.Norm() + t.box.Size.Norm()/2 // from the origin, of a corner
	return at.T.Sub(t.at.T).Norm()+t.at.R.Conj().Mul(at.R).Angle()*farthest < grain
}

// Map is a cost map as it was at a time.
type Map struct {
	*grid.Costmap
	Name  string    // of the map below it
	Frame string    // of all positions
	ID    engram.ID // the snapshot of Navigation/Costmap; the root before it was committed
	Of    engram.ID // that of World/Map
}

// OpenCosts makes the cost map of a robot, and commits it. [Costs.Run] keeps it as the world is; [Costs.Close] ends it. The error is
// NotFound if there is no such map, Unsupported if it is no occupancy grid, and those of [grid.NewBuilder].
func OpenCosts(ctx context.Context, memory engram.Service, w world.Model, c Config) (*Costs, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	watcher, err := w.Watch(ctx)
	if err != nil {
		return nil, err
	}
	k := &Costs{memory: memory, config: c, watcher: watcher, things: map[string]thing{}, stands: map[string]Obstacle{}, next: make(chan struct{})}
	if err := k.open(ctx, w); err != nil {
		watcher.Close()
		return nil, err
	}
	return k, nil
}

func (k *Costs) open(ctx context.Context, w world.Model) error {
	f, err := w.View(ctx)
	if err != nil {
		return err
	}
	s, err := k.choose(f)
	if err != nil {
		return err
	}
	data, err := w.MapData(ctx, s.Name)
	if err != nil {
		return err
	}
	file, err := files.GridOf(s.Name, s.Map, data)
	if err != nil {
		return err
	}
	if k.builder, err = grid.NewBuilder(grid.FromFile(file), k.config.Costs); err != nil {
		return err
	}
	k.name, k.frame, k.grain = s.Name, s.Map.Frame, file.Resolution/4
	if k.of, err = engram.NewID("World", "Map", s.Provider, s.Name); err != nil {
		return err
	}
	k.of = k.of.At(s.Time)
	var names []string
	for m := range f.All() {
		names = append(names, m.Name)
	}
	if err := k.update(f, names); err != nil {
		return err
	}
	return k.commit(ctx)
}

// choose returns the map of a robot.
func (k *Costs) choose(f *world.Forest) (*world.MapStatement, error) {
	if k.config.Map != "" {
		return f.Maps().Get(k.config.Map)
	}
	kind := world.OccupancyGrid
	q := world.MapQuery{Kind: &kind}
	if parent, err := f.NearestParent(k.config.Robot, world.KindMap); err == nil {
		q.Place = parent.Name
	}
	all, _, err := f.Maps().Choose(q)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, engram.Errorf(engram.NotFound, "map", "there is no occupancy grid of the place where the robot is; 'engram world import MAP.yaml' brings one")
	}
	return all[0].MapStatement, nil
}

// Run keeps the cost map as the world is until ctx ends, which is no error, or the world does.
func (k *Costs) Run(ctx context.Context) error {
	for {
		c, err := k.watcher.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		before := k.builder.Costmap()
		if err := k.update(c.Forest, c.Names); err != nil {
			return err
		}
		if k.builder.Costmap() == before {
			continue
		}
		if err := k.commit(ctx); err != nil && ctx.Err() == nil { // it counts all the same
			slog.Warn("a cost map cannot be committed", "map", k.name, "error", err)
			k.take(Map{Costmap: k.builder.Costmap(), Name: k.name, Frame: k.frame, Of: k.of})
		}
	}
}

// Close ends what [OpenCosts] began.
func (k *Costs) Close() { k.watcher.Close() }

// Now returns the cost map, and a channel that is closed when there is another one.
func (k *Costs) Now() (Map, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, k.next
}

// update lays on the map what there is in a world, in which something is said anew of some items.
func (k *Costs) update(f *world.Forest, names []string) error {
	for _, name := range names {
		m, err := f.Get(name)
		if err == nil && m.Description != nil && m.Description.Box != nil && !slices.Contains(m.Description.Kinds, world.KindMap) {
			k.things[name] = thing{box: m.Description.Box}
			continue
		}
		k.builder.Remove(name)
		k.stand(f, name, nil)
		delete(k.things, name)
	}
	root, rootFromMap, ok := world.Root(f, k.frame)
	if !ok {
		return nil // nothing is known to be in this frame
	}
	mapFromRoot := rootFromMap.Inverse()
	for name, t := range k.things { // what stands on another thing moves with that
		in, rootFromItem, ok := world.Root(f, name)
		at := mapFromRoot.Mul(rootFromItem)
		if ok && in == root && t.isAt(at, k.grain) {
			continue
		}
		var covers []grid.Point
		if ok && in == root && !k.carries(f, name) {
			covers = outline(at, t.box, k.config.Height)
		}
		k.things[name] = thing{t.box, at, ok && in == root}
		if k.stand(f, name, covers); covers == nil {
			k.builder.Remove(name)
			continue
		}
		if _, err := k.builder.Put(name, covers); err != nil {
			return err
		}
	}
	return nil
}

// carries reports whether an item is the robot, or a part of it, or held by it.
func (k *Costs) carries(f *world.Forest, item string) bool {
	if k.config.Robot == "" {
		return false
	}
	path, err := f.PathToRoot(item)
	return err == nil && slices.ContainsFunc(path, func(m *world.Merged) bool { return m.Name == k.config.Robot })
}

// costField is the only field of a cell.
var costField = []*foxglovepb.PackedElementField{{Name: "cost", Type: foxglovepb.PackedElementField_UINT8}}

// commit commits the cost map.
func (k *Costs) commit(ctx context.Context) error {
	m := k.builder.Costmap()
	g := m.Grid()
	id, err := engram.NewID("Navigation", "Costmap", k.config.Navigator, k.name)
	if err != nil {
		return err
	}
	t := engram.Now()
	turned := pose.RPY(0, 0, g.Yaw)
	message := &foxglovepb.Grid{
		Timestamp: timestamppb.New(t.Std()), FrameId: k.frame,
		Pose: &foxglovepb.Pose{
			Position:    &foxglovepb.Vector3{X: g.Origin.X, Y: g.Origin.Y},
			Orientation: &foxglovepb.Quaternion{X: turned.X, Y: turned.Y, Z: turned.Z, W: turned.W},
		},
		ColumnCount: uint32(g.Width), RowStride: uint32(g.Width), CellStride: 1, Fields: costField,
		CellSize: &foxglovepb.Vector2{X: g.Resolution, Y: g.Resolution},
		Data:     m.AppendCosts(make([]byte, 0, g.Width*g.Height), g.Whole()),
	}
	payload, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	u := engram.EntityUpdate{Entity: id, Time: t, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "foxglove.Grid", Bytes: payload})}}
	if err := commit(ctx, k.memory, u); err != nil {
		return err
	}
	k.take(Map{Costmap: m, Name: k.name, Frame: k.frame, ID: id.At(t).Instance(0), Of: k.of})
	return nil
}

// take has a cost map take the place of the last.
func (k *Costs) take(m Map) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = m
	close(k.next)
	k.next = make(chan struct{})
}

// commit commits one update.
func commit(ctx context.Context, memory engram.Writer, u engram.EntityUpdate) error {
	results, err := memory.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err == nil {
		err = engram.FirstError(results)
	}
	return err
}
