package navigation

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
	"github.com/seed-301d4374/engram/world/files"
)

// FloorOptions say how a [Floor] is made.
type FloorOptions struct {
	// Inflation has the radius and the footprint of the robot; with neither they are those of the box or shape of the
	// item Robot, if it has one, else a circle of DefaultRadius.
	Inflation
	// Robot is the item that is no obstacle to itself, nor what hangs on it; "" if there is none.
	Robot string
	// Height is that of the robot, metres: what is higher above the floor is not in the way. 0 is 2 m.
	Height float64
	// PersonGap is what is left free around persons, metres; 0 is 0.5 m, as [Options.StopGap] is.
	PersonGap float64
	// Ignore says of items that are not in the way although they have a box or a shape; nil for none.
	Ignore func(*world.Merged) bool
}

const (
	defaultHeight, defaultGap = 2.0, 0.5
	// flat is how high something may be and be driven over, metres.
	flat = 0.02
	// personRadius is that of a person or robot of unknown form, metres.
	personRadius = 0.3
	// DefaultRadius is that of a robot of unknown form, metres.
	DefaultRadius = 0.3
	// MaxThings bounds the items that a floor follows; more are counted, and left out.
	MaxThings = 50_000
)

// Floor is the cost map of an occupancy grid of the world, on which stand the items of the world that
// have a box or a shape, and persons and robots in any case. Places are not in the way, nor is what lies flat on the floor or above the
// robot. It follows the world while [Floor.Follow] runs. It is safe for concurrent use.
type Floor struct {
	name    string
	frame   string
	link    engram.ID
	options FloorOptions
	watcher world.Watcher

	mu struct {
		sync.Mutex
		cost      *Costmap
		mapInRoot pose.Pose
		root      string
		stands    map[string]stand           // items that are on the grid
		hanging   map[string]map[string]bool // by what they hang on: the names of those
		leftOut   int
		version   uint64
		changed   chan struct{} // closed at the next version
	}
}

// stand is an item on the grid.
type stand struct {
	outlines []Outline
	person   bool
	id       engram.ID // of the statement that says where it is
	on       []string  // in whose frames it is
	at       Point     // of its origin
}

// NewFloor returns the floor of a grid alone, in a frame. The error is Invalid.
func NewFloor(name, frame string, g Grid, o FloorOptions) (*Floor, error) {
	c, err := NewCostmap(g, o.Inflation)
	if err != nil {
		return nil, err
	}
	o.Height, o.PersonGap = cmp.Or(o.Height, defaultHeight), cmp.Or(o.PersonGap, defaultGap)
	f := &Floor{name: name, frame: frame, options: o}
	f.mu.cost, f.mu.stands, f.mu.changed, f.mu.version = c, map[string]stand{}, make(chan struct{}), 1
	f.mu.hanging = map[string]map[string]bool{}
	return f, nil
}

// OpenFloor returns the floor of an occupancy grid of the world by its name; "" is the only one that
// there is. The error is NotFound without such a map, Unsupported for one of another kind or format,
// Corrupt or Invalid for its data.
func OpenFloor(ctx context.Context, model world.Model, name string, o FloorOptions) (*Floor, error) {
	watcher, err := model.Watch(ctx)
	if err != nil {
		return nil, err
	}
	var f *Floor
	forest, err := model.View(ctx)
	if err == nil {
		f, err = FloorOf(ctx, model, forest, name, o)
	}
	if err != nil {
		watcher.Close()
		return nil, err
	}
	f.watcher = watcher
	return f, nil
}

// FloorOf is [OpenFloor] for who follows the world and calls [Floor.Apply]: of the forest that the model
// had.
func FloorOf(ctx context.Context, model world.Model, forest *world.Forest, name string, o FloorOptions) (*Floor, error) {
	s, err := gridNamed(forest, name)
	if err != nil {
		return nil, err
	}
	data, err := model.MapData(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	g, err := files.GridOf(s.Name, s.Map, data)
	if err != nil {
		return nil, err
	}
	frame := s.Map.Frame
	if frame == "" {
		frame = "map"
	}
	if o.Radius == 0 && o.Footprint == nil {
		o.Footprint = footprintOf(forest, o.Robot)
	}
	o.Radius = cmp.Or(o.Radius, o.Footprint.Radius(), DefaultRadius)
	f, err := NewFloor(s.Name, frame, GridOf(g), o)
	if err != nil {
		return nil, err
	}
	f.link, _ = engram.NewID("World", "Map", s.Provider, s.Name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.placeAll(forest)
	f.update()
	return f, nil
}

// footprintOf returns what a robot covers, seen from its origin; nil if its form is not known or it is a line.
func footprintOf(f *world.Forest, robot string) Footprint {
	it, err := f.Get(robot)
	if err != nil || it.Description == nil {
		return nil
	}
	points, _, _ := corners(it.Description, pose.Identity())
	if hull := Hull(points); len(hull) > 2 {
		return Footprint(hull)
	}
	return nil
}

// gridNamed returns an occupancy grid of the world.
func gridNamed(f *world.Forest, name string) (*world.MapStatement, error) {
	if name != "" {
		s, err := f.Maps().Get(name)
		if err == nil && s.Map.Kind != world.OccupancyGrid {
			err = engram.Errorf(engram.Unsupported, name, "it is a map of the kind %s, and no occupancy grid", s.Map.Kind)
		}
		return s, err
	}
	var only *world.MapStatement
	for s := range f.Maps().All() {
		switch {
		case s.Map.Kind != world.OccupancyGrid || s.Map.Format != files.GridFormat:
		case only == nil:
			only = s
		case only.Name != s.Name:
			return nil, engram.Errorf(engram.Invalid, "", "the world has several occupancy grids, such as %s and %s; name one", only.Name, s.Name)
		}
	}
	if only == nil {
		return nil, engram.Errorf(engram.NotFound, "", "the world has no occupancy grid; 'engram world import --map FILE.yaml' states one")
	}
	return only, nil
}

// Name returns the name of the map, Frame the frame of its coordinates.
func (f *Floor) Name() string { return f.name }

// Frame returns the frame of all coordinates.
func (f *Floor) Frame() string { return f.frame }

// Map returns the entity of the map in the memory World; the zero ID for a grid alone.
func (f *Floor) Map() engram.ID { return f.link }

// Follow has the floor follow the world until ctx ends, whose error it returns, or that of the world.
func (f *Floor) Follow(ctx context.Context) error {
	if f.watcher == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	for {
		c, err := f.watcher.Next(ctx)
		if err != nil {
			return err
		}
		f.Apply(c)
	}
}

// Close ends following.
func (f *Floor) Close() {
	if f.watcher != nil {
		f.watcher.Close()
	}
}

// placeAll puts every item of a forest in its place. The lock is held.
func (f *Floor) placeAll(forest *world.Forest) {
	f.mu.root, f.mu.mapInRoot = f.origin(forest)
	for name := range f.mu.stands {
		f.place(forest, name)
	}
	for it := range forest.All() {
		f.place(forest, it.Name)
	}
}

// origin returns where the frame of the map is. A frame that nobody has stated is one of its own.
func (f *Floor) origin(forest *world.Forest) (string, pose.Pose) {
	root, at, ok := world.Root(forest, f.frame)
	if !ok {
		return f.frame, pose.Identity()
	}
	return root, at
}

// Apply takes a change of the world, and reports whether the cost map is another one. What moved away from
// the grid and is still not on it costs a look at where it is.
func (f *Floor) Apply(c world.Change) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if root, at := f.origin(c.Forest); root != f.mu.root || at != f.mu.mapInRoot {
		f.placeAll(c.Forest)
		return f.update()
	}
	moved := make(map[string]bool, len(c.Names))
	for _, name := range c.Names {
		moved[name] = true
	}
	for name := range moved {
		f.place(c.Forest, name)
		// What is in the frame of something that moved has moved, too.
		for _, on := range slices.Collect(maps.Keys(f.mu.hanging[name])) {
			f.place(c.Forest, on)
		}
		for below := range c.Forest.Subtree(name) {
			if below.Name != name && !moved[below.Name] {
				f.place(c.Forest, below.Name)
			}
		}
	}
	return f.update()
}

// place puts an item where it is, or takes it away. The lock is held.
func (f *Floor) place(forest *world.Forest, name string) {
	s, on := f.standing(forest, name)
	_, was := f.mu.stands[name]
	switch {
	case !on && was:
		f.keep(name, nil)
		f.mu.cost.Put(itemPrefix + name)
	case on && !was && len(f.mu.stands) >= MaxThings:
		f.mu.leftOut++
	case on:
		f.mu.cost.Put(itemPrefix+name, s.outlines...)
		if f.mu.cost.Covers(itemPrefix+name) == 0 {
			f.keep(name, nil)
			return
		}
		for e, ok := forest.Edge(name); ok && e.Frame != ""; e, ok = forest.Edge(e.Frame) {
			s.on = append(s.on, e.Frame)
		}
		f.keep(name, &s)
	}
}

// keep notes what stands on the grid; nil is nothing any more.
func (f *Floor) keep(name string, s *stand) {
	for _, on := range f.mu.stands[name].on {
		if delete(f.mu.hanging[on], name); len(f.mu.hanging[on]) == 0 {
			delete(f.mu.hanging, on)
		}
	}
	delete(f.mu.stands, name)
	if s == nil {
		return
	}
	f.mu.stands[name] = *s
	for _, on := range s.on {
		if f.mu.hanging[on] == nil {
			f.mu.hanging[on] = map[string]bool{}
		}
		f.mu.hanging[on][name] = true
	}
}

// What stands on a floor is either an item or was sensed.
const (
	itemPrefix   = "item/"
	sensedPrefix = "sensed/"
)

var personKinds = []string{"person", "human"}

func isPerson(it *world.Merged) bool {
	return slices.ContainsFunc(personKinds, it.Is)
}

// standing returns what an item covers; ok is false if it is not in the way.
func (f *Floor) standing(forest *world.Forest, name string) (s stand, ok bool) {
	it, err := forest.Get(name)
	if err != nil || it.Is(world.KindMap) {
		return s, false
	}
	s.person = isPerson(it)
	d := it.Description
	if d == nil || d.Box == nil && d.Shape == nil && !s.person && !it.Is(world.KindRobot) {
		return s, false
	}
	root, rootFromItem, ok := world.Root(forest, name)
	if !ok || root != f.mu.root {
		return s, false
	}
	mapFromItem := f.mu.mapInRoot.Inverse().Mul(rootFromItem)
	// Most of what moves is far away.
	s.at = Point{mapFromItem.T.X, mapFromItem.T.Y}
	if !f.mu.cost.near(s.at, reachOf(d)+f.options.PersonGap) || f.own(forest, it) || f.options.Ignore != nil && f.options.Ignore(it) {
		return s, false
	}
	points, low, high := corners(d, mapFromItem)
	if len(points) == 0 {
		points, low, high = Circle(s.at, personRadius), 0, f.options.Height
	}
	if s.person {
		points = Circle(s.at, personRadius+f.options.PersonGap)
	}
	if high <= flat || low >= f.options.Height {
		return s, false
	}
	s.outlines = []Outline{Hull(points)}
	s.id = entityOf(it)
	return s, true
}

// entityOf returns the entity in which somebody says where an item is; zero if nobody does.
func entityOf(it *world.Merged) engram.ID {
	s := it.Placed
	if s == nil {
		s = it.Structured
	}
	if s == nil {
		s = it.Described
	}
	if s == nil {
		return engram.ID{}
	}
	memory, segment := "World", "Item"
	switch s.Home {
	case world.InInstance:
		memory, segment = "Object", "Instance"
	case world.InAttachment:
		memory, segment = "Object", "Attachments"
	}
	id, _ := engram.NewID(memory, segment, s.Provider, it.Name)
	return id
}

// own reports whether an item is the robot or hangs on it.
func (f *Floor) own(forest *world.Forest, it *world.Merged) bool {
	if f.options.Robot == "" {
		return false
	}
	if it.Name == f.options.Robot {
		return true
	}
	path, err := forest.PathToRoot(it.Name)
	return err == nil && slices.ContainsFunc(path, func(m *world.Merged) bool { return m.Name == f.options.Robot })
}

// reachOf returns how far an item reaches from its origin, metres.
func reachOf(d *world.Description) float64 {
	r := personRadius
	if b := d.Box; b != nil {
		r = max(r, b.Pose.T.Norm()+b.Size.Norm()/2)
	}
	if s := d.Shape; s != nil && s.Kind != world.ShapeMesh {
		out := s.Size.Norm() / 2
		for _, p := range s.Outline {
			out = max(out, p.Norm()+s.Size.Z)
		}
		if s.Pose != nil {
			out += s.Pose.T.Norm()
		}
		r = max(r, out)
	}
	return r
}

// near reports whether something at a point, in cells or not, may reach into the grid.
func (c *Costmap) near(p Point, reach float64) bool {
	x, y := c.toCells(p)
	r := reach / c.Resolution
	return x > -r && y > -r && x < float64(c.Width)+r && y < float64(c.Height)+r
}

// corners returns points on the floor whose hull is what an item covers, and its heights; none if
// its form is not known.
func corners(d *world.Description, mapFromItem pose.Pose) (points []Point, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	see := func(at pose.Pose, x, y, z float64) {
		p := at.Apply(pose.Vec3{X: x, Y: y, Z: z})
		points = append(points, Point{p.X, p.Y})
		low, high = min(low, p.Z), max(high, p.Z)
	}
	box := func(at pose.Pose, size pose.Vec3) {
		for i := range 8 {
			see(at, size.X*(float64(i&1)-0.5), size.Y*(float64(i>>1&1)-0.5), size.Z*(float64(i>>2)-0.5))
		}
	}
	if s := d.Shape; s != nil && s.Kind != world.ShapeMesh {
		at := mapFromItem
		if s.Pose != nil {
			at = at.Mul(*s.Pose)
		}
		switch s.Kind {
		case world.ShapeBox:
			box(at, s.Size)
		case world.ShapeCylinder:
			for _, p := range Circle(Point{}, 0.5) {
				see(at, p.X*s.Size.X, p.Y*s.Size.Y, -s.Size.Z/2)
				see(at, p.X*s.Size.X, p.Y*s.Size.Y, s.Size.Z/2)
			}
		case world.ShapeSphere:
			r := s.Size.X / 2
			points = Circle(Point{at.T.X, at.T.Y}, r)
			low, high = at.T.Z-r, at.T.Z+r
		case world.ShapePolygon:
			for _, p := range s.Outline {
				see(at, p.X, p.Y, p.Z)
				see(at, p.X, p.Y, p.Z+s.Size.Z)
			}
		}
	}
	if len(points) == 0 && d.Box != nil {
		box(mapFromItem.Mul(d.Box.Pose), d.Box.Size)
	}
	return points, low, high
}

// update computes what changed, and tells who waits. The lock is held.
func (f *Floor) update() bool {
	if len(f.mu.cost.Update()) == 0 {
		return false
	}
	f.mu.version++
	close(f.mu.changed)
	f.mu.changed = make(chan struct{})
	return true
}

// Version counts the changes of the cost map.
func (f *Floor) Version() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.version
}

// Changed returns a channel that is closed at the next change of the cost map.
func (f *Floor) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.changed
}

// LeftOut returns how many items were not followed because there are too many on the grid.
func (f *Floor) LeftOut() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.leftOut
}

// Sense says what sensors see in the way: what they saw before is there no longer, unless it is
// among it. It reports whether the cost map is another one.
func (f *Floor) Sense(outlines map[string]Outline) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.mu.cost.things.spans {
		if seen, ok := strings.CutPrefix(name, sensedPrefix); ok {
			if _, still := outlines[seen]; !still {
				f.mu.cost.Put(name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(outlines)) {
		f.mu.cost.Put(sensedPrefix+name, outlines[name])
	}
	return f.update()
}

// Read calls look with the cost map, which must not be kept nor changed.
func (f *Floor) Read(look func(c *Costmap)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.mu.cost)
}

// Plan has a planner find a path.
func (f *Floor) Plan(ctx context.Context, p Planner, start, goal Point) (Path, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return p.Plan(ctx, f.mu.cost, start, goal)
}

// Blocking returns the name of an item that stands nearest to a line, within the radius of the
// robot; "" if there is none.
func (f *Floor) Blocking(path Path) (name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	nearest := f.options.Radius + 2*f.mu.cost.Resolution
	for _, n := range slices.Sorted(maps.Keys(f.mu.stands)) {
		for _, o := range f.mu.stands[n].outlines {
			middle, reach := o.middle(), 0.0
			for _, p := range o {
				reach = max(reach, middle.Distance(p))
			}
			for i := 1; i < len(path); i++ {
				if (Outline{path[i-1], path[i]}).Distance(middle) > reach+nearest {
					continue
				}
				steps := int(path[i-1].Distance(path[i])/f.mu.cost.Resolution) + 1
				for k := range steps + 1 {
					t := float64(k) / float64(steps)
					p := Point{path[i-1].X + t*(path[i].X-path[i-1].X), path[i-1].Y + t*(path[i].Y-path[i-1].Y)}
					if d := o.Distance(p); d < nearest {
						nearest, name = d, n
					}
				}
			}
		}
	}
	return name
}

// item returns the entity of an item of the world.
func (f *Floor) item(name string) engram.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.stands[name].id
}

// Persons returns where persons of the world are, by name.
func (f *Floor) Persons() map[string]Point {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := map[string]Point{}
	for name, s := range f.mu.stands {
		if s.person {
			at[name] = s.at
		}
	}
	return at
}
