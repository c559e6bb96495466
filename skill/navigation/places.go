package navigation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// Places find the goals that words mean: named locations, items of the world, places, poses.
type Places struct {
	Floor *Floor
	World world.Model
	// Reach is how far from an item the robot may stand to be near it, metres from the edge of the
	// robot to what the item covers; 0 is 1 m.
	Reach float64
}

const defaultReach = 1.0

// locator knows named locations, as a [world.Memory] does.
type locator interface {
	Locations(ctx context.Context, item string) ([]world.Location, error)
}

// follow is where a goal is that may move: an item of the world, or a location in the frame of one.
type follow struct {
	places *Places
	item   string
	at     pose.Pose     // of the item on the map, when the goal was resolved
	seen   *world.Forest // in which it is there
	again  func(forest *world.Forest, from Point) (Goal, error)
}

// following has a goal follow an item, if that is on the map.
func (p *Places) following(g Goal, forest *world.Forest, item string, again func(forest *world.Forest, from Point) (Goal, error)) Goal {
	p.Floor.mu.Lock()
	defer p.Floor.mu.Unlock()
	if at, ok := p.Floor.where(forest, item); ok {
		g.follow = &follow{p, item, at, forest, again}
	}
	return g
}

// where returns where an item is on the map. The lock is held.
func (f *Floor) where(forest *world.Forest, item string) (at pose.Pose, ok bool) {
	root, rootFromItem, ok := world.Root(forest, item)
	if !ok || root != f.mu.root {
		return at, false
	}
	return f.mu.mapInRoot.Inverse().Mul(rootFromItem), true
}

// moved returns how far an item has moved since the goal was resolved, metres, if that or its turn is more
// than a tolerance; 0 if it has not, is on the robot itself, or nobody knows where it is.
func (w *follow) moved(ctx context.Context, tolerance float64) (float64, error) {
	forest, err := w.places.World.View(ctx)
	if err != nil || forest == w.seen {
		return 0, err
	}
	w.seen = forest
	f := w.places.Floor
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.where(forest, w.item)
	if !ok {
		return 0, nil
	}
	if it, err := forest.Get(w.item); err != nil || f.own(forest, it) {
		return 0, nil
	}
	from, to := onFloor(w.at), onFloor(at)
	if away := from.Distance(to.Point); away > tolerance || math.Abs(normal(to.Yaw-from.Yaw)) > tolerance {
		return max(away, tolerance), nil
	}
	return 0, nil
}

// Resolve returns the goal that a text means, for a robot that is at a pose: "X,Y" or "X,Y,YAW" in the
// frame of the floor; an ID such as Navigation/Location/operator/table or World/Item/eye/cup; else the
// name of a location, or a name by which people call it; else that of an item or place, with or without "the".
// The error is NotFound for what there is not, and a *[Failure] for an item that nothing leads near to. A drive
// to an item, or to a location in the frame of one, follows it when it is moved.
func (p *Places) Resolve(ctx context.Context, text string, from Point) (Goal, error) {
	text = strings.TrimSpace(text)
	if g, ok := parsePose(text); ok {
		return g, nil
	}
	forest, err := p.World.View(ctx)
	if err != nil {
		return Goal{}, err
	}
	if id, err := engram.Parse(text); err == nil && id.Level() >= engram.LevelEntity {
		return p.resolveID(ctx, forest, id, from)
	}
	locations, err := p.locations(ctx)
	if err != nil {
		return Goal{}, err
	}
	for _, called := range candidates(text) {
		if l := newestOf(locations, func(l *world.Location) bool { return l.Name == called }); l != nil {
			return p.location(forest, l)
		}
		if l := newestOf(locations, func(l *world.Location) bool {
			return slices.ContainsFunc(l.Names, func(n string) bool { return strings.EqualFold(n, called) })
		}); l != nil {
			return p.location(forest, l)
		}
		if g, found, err := p.called(forest, called, from); found {
			return g, err
		}
	}
	names := map[string]string{}
	for i := range locations {
		names[locations[i].Name] = locations[i].Name
	}
	for it := range forest.All() {
		names[it.Name] = it.Name
	}
	if near := spelling.Nearest(text, slices.Sorted(maps.Keys(names))); near != "" {
		return Goal{}, engram.Errorf(engram.NotFound, text, "there is no location or item of this name; did you mean %s?", near)
	}
	return Goal{}, engram.Errorf(engram.NotFound, text, "there is no location or item of this name")
}

// parsePose reads "X,Y" or "X,Y,YAW".
func parsePose(text string) (g Goal, ok bool) {
	parts := strings.Split(text, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return g, false
	}
	var v [3]float64
	for i, part := range parts {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return g, false
		}
		v[i] = x
	}
	return Goal{Pose2D: Pose2D{Point{v[0], v[1]}, v[2]}, AnyYaw: len(parts) == 2}, true
}

// candidates returns a text as it is, and without its article.
func candidates(text string) []string {
	for _, article := range []string{"the ", "a ", "an "} {
		if len(text) > len(article) && strings.EqualFold(text[:len(article)], article) {
			return []string{text, strings.TrimSpace(text[len(article):])}
		}
	}
	return []string{text}
}

func (p *Places) locations(ctx context.Context) ([]world.Location, error) {
	if l, ok := p.World.(locator); ok {
		return l.Locations(ctx, "")
	}
	return nil, nil
}

func newestOf(all []world.Location, is func(*world.Location) bool) (newest *world.Location) {
	for i := range all {
		if l := &all[i]; is(l) && (newest == nil || l.Time > newest.Time) {
			newest = l
		}
	}
	return newest
}

func (p *Places) resolveID(ctx context.Context, forest *world.Forest, id engram.ID, from Point) (Goal, error) {
	if strings.HasSuffix(id.Memory(), "Navigation") && id.CoreSegment() == "Location" {
		locations, err := p.locations(ctx)
		if err != nil {
			return Goal{}, err
		}
		l := newestOf(locations, func(l *world.Location) bool {
			return l.Name == id.Entity() && l.Provider == id.ProviderSegment()
		})
		if l == nil {
			return Goal{}, engram.Errorf(engram.NotFound, id.String(), "there is no such location")
		}
		return p.location(forest, l)
	}
	return p.Item(forest, id.Entity(), from)
}

// location returns the goal that a location is; where it is too near to something, what is no further away
// than the radius of the robot will do.
func (p *Places) location(forest *world.Forest, l *world.Location) (Goal, error) {
	at, err := l.In(forest, p.Floor.frame)
	if l.Frame == p.Floor.frame { // that nobody has stated, perhaps
		at, err = world.Located{Pose: l.Pose}, nil
	}
	if err != nil {
		return Goal{}, engram.Errorf(engram.CodeOf(err), l.Name, "where the location is on the map %s: %w", p.Floor.name, err)
	}
	id, err := engram.NewID("Navigation", "Location", l.Provider, l.Name)
	g := Goal{Pose2D: onFloor(at.Pose), Link: id, Near: p.Floor.options.Radius}
	return p.following(g, forest, l.Frame, func(forest *world.Forest, _ Point) (Goal, error) { return p.location(forest, l) }), err
}

// onFloor returns what of a pose is one on the floor.
func onFloor(p pose.Pose) Pose2D {
	ahead := p.R.Rotate(pose.Vec3{X: 1})
	return Pose2D{Point{p.T.X, p.T.Y}, math.Atan2(ahead.Y, ahead.X)}
}

// called returns the goal that an item or place of a name is; of several of one spoken name that which
// is nearest to where the robot is.
func (p *Places) called(forest *world.Forest, name string, from Point) (g Goal, found bool, err error) {
	if forest.Has(name) {
		g, err = p.Item(forest, name, from)
		return g, true, err
	}
	best := math.Inf(1)
	for it := range forest.All() {
		d := it.Description
		if d == nil || !strings.EqualFold(d.Label, name) && !strings.EqualFold(d.ClassName(), name) &&
			!slices.ContainsFunc(d.SpokenNames, func(n string) bool { return strings.EqualFold(n, name) }) {
			continue
		}
		other, failed := p.Item(forest, it.Name, from)
		switch away := from.Distance(other.Point); {
		case failed == nil && away < best:
			g, err, best = other, nil, away
		case failed != nil && !found:
			err = failed
		}
		found = true
	}
	return g, found, err
}

// Item returns a goal near an item, from which the robot faces it; in a place, the point in the middle of it
// that can be reached. from is where the robot is.
func (p *Places) Item(forest *world.Forest, name string, from Point) (Goal, error) {
	it, err := forest.Get(name)
	if err != nil {
		return Goal{}, err
	}
	g, err := p.near(forest, it, from)
	if err != nil {
		return g, err
	}
	return p.following(g, forest, name, func(forest *world.Forest, from Point) (Goal, error) { return p.Item(forest, name, from) }), nil
}

// near returns a goal near an item.
func (p *Places) near(forest *world.Forest, it *world.Merged, from Point) (g Goal, err error) {
	f, name := p.Floor, it.Name
	f.mu.Lock()
	defer f.mu.Unlock()
	mapFromItem, ok := f.where(forest, name)
	if !ok {
		return Goal{}, engram.Errorf(engram.NotFound, name, "nobody knows where it is on the map %s; state its pose in a frame that is joined with %s", f.name, f.frame)
	}
	covers := Outline{{mapFromItem.T.X, mapFromItem.T.Y}}
	if d := it.Description; d != nil {
		if points, _, _ := corners(d, mapFromItem); len(points) > 0 {
			covers = Hull(points)
		}
	}
	g.Link = entityOf(it)
	find := func(avoid uint8) (Point, error) { return f.mu.cost.inside(covers, from, avoid) }
	if g.AnyYaw = it.Is(world.KindMap); !g.AnyYaw {
		reach := cmp.Or(p.Reach, defaultReach)
		least := 0.0
		if _, inTheWay := f.standing(forest, name); inTheWay { // the cost map may not have it there yet
			least = f.options.Radius + f.mu.cost.Resolution*math.Sqrt2/2
		}
		find = func(avoid uint8) (Point, error) {
			return f.mu.cost.beside(covers, from, avoid, least, f.options.Radius+reach)
		}
	}
	// Rather without narrow passages.
	if g.Point, err = find(tight); err != nil && f.mu.cost.shape != nil {
		g.Point, err = find(0)
	}
	if failure, ok := errors.AsType[*Failure](err); ok {
		failure.Why = fmt.Sprintf("%s: %s", name, failure.Why)
	}
	if err != nil {
		return Goal{}, err
	}
	g.Yaw = direction(g.Point, covers.middle())
	return g, nil
}

// middle returns the middle of the corners.
func (o Outline) middle() (m Point) {
	for _, p := range o {
		m.X += p.X / float64(len(o))
		m.Y += p.Y / float64(len(o))
	}
	return m
}

// flood returns how many steps it is at least to each cell that can be reached from a point, of the padded
// grid without going through what is to be avoided; -1 for the others.
func (c *Costmap) flood(from Point, avoid uint8) ([]int32, error) {
	if away := c.Escape(from, c.inflation.Radius+1); len(away) > 0 {
		from = away[len(away)-1]
	}
	start, err := c.endOf(from, "robot", StartOutside, StartBlocked)
	if err != nil {
		return nil, err
	}
	far := make([]int32, len(c.enter))
	for i := range far {
		far[i] = -1
	}
	far[start] = 0
	queue := append(make([]int32, 0, c.free), int32(start))
	for len(queue) > 0 {
		at := int(queue[0])
		queue = queue[1:]
		for _, s := range steps[:4] {
			if to := at + s.y*(c.Width+2) + s.x; far[to] < 0 && c.enter[to]&(enterable|avoid) == enterable {
				far[to] = far[at] + 1
				queue = append(queue, int32(to))
			}
		}
	}
	return far, nil
}

// ripe is how much farther than need be from an item the robot may stand for a shorter way, metres.
const ripe = 0.15

// beside returns the cell from which something can be reached: as near to it as can be from a distance on, and of
// those the one with the shortest way.
func (c *Costmap) beside(o Outline, from Point, avoid uint8, least, within float64) (Point, error) {
	far, err := c.flood(from, avoid)
	if err != nil {
		return Point{}, err
	}
	low, high := o.Bounds()
	nearest := math.Inf(1)
	each := func(see func(p Point, d float64, steps int32)) {
		// The region is one of the map; it may lie turned in the grid.
		middle := Point{(low.X + high.X) / 2, (low.Y + high.Y) / 2}
		x, y := c.toCells(middle)
		r := (within+math.Hypot(high.X-low.X, high.Y-low.Y)/2)/c.Resolution + 1
		region := Rect{int(x - r), int(y - r), int(x + r + 1), int(y + r + 1)}.clip(c.Width, c.Height)
		for cy := region.Y0; cy < region.Y1; cy++ {
			for cx := region.X0; cx < region.X1; cx++ {
				at := c.padded(cx, cy)
				if steps := far[at]; steps >= 0 && c.enter[at]&tight == 0 {
					p := c.Center(cx, cy)
					if d := o.Distance(p); d >= least && d <= within {
						see(p, d, steps)
					}
				}
			}
		}
	}
	each(func(_ Point, d float64, _ int32) { nearest = min(nearest, d) })
	if math.IsInf(nearest, 1) {
		return Point{}, fail(Unreachable, o.middle(), "no place within %g m of it can be reached", within-c.inflation.Radius)
	}
	var best Point
	fewest := int32(math.MaxInt32)
	each(func(p Point, d float64, steps int32) {
		if d <= nearest+ripe && steps < fewest {
			best, fewest = p, steps
		}
	})
	return best, nil
}

// inside returns the cell within an outline that is nearest to its middle and can be reached.
func (c *Costmap) inside(o Outline, from Point, avoid uint8) (best Point, err error) {
	far, err := c.flood(from, avoid)
	if err != nil {
		return best, err
	}
	middle, nearest := o.middle(), math.Inf(1)
	for y := range c.Height {
		for x := range c.Width {
			if at := c.padded(x, y); far[at] < 0 || c.enter[at]&tight != 0 {
				continue
			}
			if p := c.Center(x, y); middle.Distance(p) < nearest && o.Distance(p) == 0 {
				best, nearest = p, middle.Distance(p)
			}
		}
	}
	if math.IsInf(nearest, 1) {
		return best, fail(Unreachable, middle, "no point in it can be reached")
	}
	return best, nil
}
