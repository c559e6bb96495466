package mission

import (
	"context"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/command"
	"github.com/seed-301d4374/engram/world"
	"github.com/seed-301d4374/engram/world/files"
)

// Parameters and results of the skills.
type (
	none     struct{}
	mapIn    struct{ Map string }
	mapOut   struct{ Free, Occupied int }
	objectIn struct{ Object string }
	foundOut struct {
		Object, FoundBy string
		X, Y            float64
	}
	moveIn struct {
		X, Y, Yaw float64
		Near      float64 // how far from it is near enough if it cannot be reached, metres
	}
	moveOut   struct{ Length float64 }
	deliverIn struct{ Object, To string }
	placeInto struct{ Object, Into string }
	visualIn  struct{ Object, To string }
	countOut  struct{ Items int }
	atOut     struct{ X, Y float64 }
)

// verbs are the ways to ask for the skills.
var verbs = []command.Verb{
	{Pattern: "read {map} map", Skill: "ReadMap"},
	{Pattern: "read configurations", Skill: "ReadConfigurations"},
	{Pattern: "read configuration", Skill: "ReadConfigurations"},
	{Pattern: "track location", Skill: "TrackLocation"},
	{Pattern: "track locations", Skill: "TrackLocation"},
	{Pattern: "find {object}", Skill: "FindObject"},
	{Pattern: "look for {object}", Skill: "FindObject"},
	{Pattern: "search for {object}", Skill: "FindObject"},
	{Pattern: "initialize visual navigation", Skill: "InitializeNavigation"},
	{Pattern: "initialise visual navigation", Skill: "InitializeNavigation"},
	{Pattern: "pick up {object}", Skill: "PickUp"},
	{Pattern: "stop", Skill: "Stop"},
	{Pattern: "take {object} to {to:object}", Skill: "Deliver"},
	{Pattern: "put {object} into {to:object}", Skill: "Deliver"},
	{Pattern: "drop {object} into {into:object}", Skill: "DropInto"},
}

// offerOperator are the skills of the operator's station.
func (b *member) offerOperator() {
	skill.Handle(b.provider, skill.Spec{Name: "ReadMap", Description: "Reads a map file, and puts it into the world."}, func(c *skill.Call, in mapIn) (mapOut, error) {
		return b.readMap(c, in.Map)
	})
	skill.Handle(b.provider, skill.Spec{Name: "ReadConfigurations", Description: "Reads which kinds of objects there are."}, func(c *skill.Call, _ none) (countOut, error) {
		return countOut{len(classes)}, b.stateClasses(c)
	})
}

// stateClasses states the kinds of objects that are known.
func (b *member) stateClasses(ctx context.Context) error {
	t := engram.Now()
	var updates []engram.EntityUpdate
	for i := range classes {
		c := &classes[i]
		properties := map[string]any{}
		var markers []any
		for side := range 4 {
			markers = append(markers, map[string]any{"family": family.String(), "id": c.first + side, "size": c.marker, "pose": posevalue.To(c.side(side))})
		}
		if c.name == hallway.Garbage {
			properties["belongs_in"] = hallway.Bin
		}
		updates = append(updates, update(b.id("Object", "Class", c.name), t, payload("engram.object.Class", map[string]any{
			"name": c.name, "spoken_names": []any{c.spoken}, "symmetry": []any{1, 1, 4},
			"oobb":    map[string]any{"pose": posevalue.To(pose.Translation(0, 0, c.size.Z/2)), "size": vector(c.size.X, c.size.Y, c.size.Z)},
			"markers": markers, "properties": properties,
		})))
	}
	return b.commit(ctx, updates...)
}

// readMap reads the map that the mission was given.
func (b *member) readMap(ctx context.Context, name string) (out mapOut, err error) {
	var g *files.Grid
	file := b.m.config.Map
	if file != "" {
		if g, err = readGrid(file); err != nil {
			return out, skill.Errorf("no_map", skill.RetryNo, nil, "the file of the map cannot be read: %v", err)
		}
	} else if g, err = b.m.grid.File(); err != nil {
		return out, err
	}
	_, mark, err := b.world.Update(ctx, world.NamedItem{Name: hallwayItem, Item: world.Item{
		Structure:   &world.Structure{},
		Description: &world.Description{Kinds: []string{world.KindMap}, SpokenNames: []string{"hallway"}, Place: &world.Place{Level: "floor"}},
	}})
	if err != nil {
		return out, err
	}
	if _, err := b.world.View(ctx, mark); err != nil {
		return out, err
	}
	if _, err = b.world.SetMap(ctx, name, g.Map([]string{hallwayItem}, hallwayItem), g.Data); err != nil {
		return out, err
	}
	out.Free, out.Occupied, _ = g.Count()
	b.say("reads the map %q: %d × %d cells of %.2f m, in everybody's world now", name, g.Width, g.Height, g.Resolution)
	return out, nil
}

// offerRobot are the skills that all robots have.
func (b *body) offerRobot() {
	skill.Handle(b.provider, skill.Spec{Name: "ReadConfigurations", Description: "Starts the drivers, and brings the robot into the world."}, func(c *skill.Call, _ none) (countOut, error) {
		return b.readConfiguration(c)
	})
	skill.Handle(b.provider, skill.Spec{Name: "TrackLocation", Description: "Starts the pipe depth camera | cloud processor | localiser."}, func(c *skill.Call, _ none) (none, error) {
		// The world may have the map a moment before its data.
		for tried := b.m.Clock.Now(); ; {
			err := b.loadMap(c)
			if err == nil {
				err = b.openFloor(c)
			}
			if err == nil {
				break
			}
			if engram.CodeOf(err) != engram.NotFound || b.m.Clock.Now().Sub(tried) > 20*time.Second {
				return none{}, err
			}
			if err := b.m.Clock.Sleep(c, 200*time.Millisecond); err != nil {
				return none{}, err
			}
		}
		b.startTracking()
		for b.Localized().IsRoot() {
			if err := b.m.Clock.Sleep(c, odometryPeriod); err != nil {
				return none{}, err
			}
		}
		b.say("tracks its location: depth camera | cloud processor | localiser")
		return none{}, nil
	})
	skill.Handle(b.provider, skill.Spec{Name: "Stop", Description: "Stops what the operator has asked the robot for."}, func(c *skill.Call, _ none) (countOut, error) {
		return b.stopAll(c)
	})
	skill.Handle(b.provider, skill.Spec{Name: "MoveTo", Description: "Drives to a pose in the hallway.", Resources: []string{"platform"}}, func(c *skill.Call, in moveIn) (moveOut, error) {
		return b.moveTo(c, in)
	})
}

// stopAll stops what the operator has asked the robot for, but for the call itself.
func (b *body) stopAll(c *skill.Call) (out countOut, err error) {
	r, err := b.svc.Query(c, engram.MustPattern("Skill/Execution").Select(engram.Latest(1)))
	if err != nil {
		return out, err
	}
	for it := range r.All() {
		id := it.ID.Truncate(engram.LevelEntity)
		x, err := skill.Find(c, b.svc, id)
		if err != nil || x.Status.Ended() || x.Caller != Operator || it.ID.Entity() == c.Execution.Entity() {
			continue
		}
		running, err := skill.Follow(b.svc, id)
		if err != nil {
			return out, err
		}
		if _, err := running.Abort(c, skill.ReasonOperator, "the operator said stop"); err != nil {
			return out, err
		}
		out.Items++
	}
	b.say("stops: %d of what it was asked for", out.Items)
	return out, nil
}

// readConfiguration brings the robot and its parts into the world.
func (b *body) readConfiguration(ctx context.Context) (out countOut, err error) {
	b.mu.Lock()
	running := b.drivers
	b.mu.Unlock()
	if running {
		b.say("has read its configuration, and its drivers run")
		return out, nil
	}
	start := b.m.truth.Truth(b.name) // where robots are put is a part of their configuration
	t := engram.Now()
	if err := b.commit(ctx, update(b.id("RobotState", "Description", b.name), t, payload("engram.robot_state.Description", map[string]any{
		"name": b.name, "root_frame_id": baseFrame, "model": "simulated differential drive",
	}))); err != nil {
		return out, err
	}
	items := []world.NamedItem{{Name: b.name, Item: world.Item{
		Structure:   &world.Structure{Parent: hallwayItem},
		Placement:   &world.Placement{Frame: hallwayItem, Pose: poseOf(start), Cov: pose.DiagonalCov(0.05, 0.05)},
		Description: &world.Description{Kinds: []string{world.KindRobot}, Box: &world.Box{Pose: pose.Translation(0, 0, 0.25), Size: pose.Vec3{X: 2 * hallway.Radius, Y: 2 * hallway.Radius, Z: 0.5}}, Maintainer: b.name, Robot: &world.RobotFrames{Odom: b.name + "/" + odomFrame, Base: b.name + "/" + baseFrame}, Properties: map[string]any{"groups": anys(b.groups)}},
	}}, {Name: b.name + "/" + cameraName, Item: world.Item{
		Structure:   &world.Structure{Parent: b.name},
		Placement:   &world.Placement{Frame: b.name, Pose: baseFromCamera, Cov: pose.ExactCov()},
		Description: &world.Description{Kinds: []string{world.KindComponent}, Maintainer: b.name},
	}}}
	if b.name == Worker {
		hand := poseOf(hallway.Hand)
		hand.T.Z = 0.3
		items = append(items, world.NamedItem{Name: b.name + "/" + gripperFrame, Item: world.Item{
			Structure:   &world.Structure{Parent: b.name},
			Placement:   &world.Placement{Frame: b.name, Pose: hand, Cov: pose.ExactCov()},
			Description: &world.Description{Kinds: []string{world.KindComponent}, Maintainer: b.name},
		}})
	}
	b.mu.Lock()
	b.item = items[0].Item
	b.mu.Unlock()
	refused, _, err := b.world.Update(ctx, items...)
	if err == nil && len(refused) > 0 {
		err = refused[0].Err
	}
	if err != nil {
		return out, err
	}
	_, err = b.world.SetComponent(ctx, b.name+"/"+cameraName, world.Component{
		Kind: "camera", Robot: b.name, Running: true, StartedBy: "ReadConfigurations",
		View: &world.View{Horizontal: hallway.CameraView, Vertical: 2 * math.Atan(imageHeight/2/focal), MaxRange: hallway.CameraRange},
	})
	b.startDrivers(start)
	b.say("starts its drivers and enters the world at (%.1f, %.1f)", start.X, start.Y)
	return countOut{len(items)}, err
}

func anys(texts []string) (out []any) {
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

const gripperFrame = "gripper"

// loadMap reads the map out of the world.
func (b *body) loadMap(ctx context.Context) error {
	if b.grid != nil {
		return nil
	}
	f, err := b.world.View(ctx)
	if err != nil {
		return err
	}
	for s := range f.Maps().All() {
		data, err := b.world.MapData(ctx, s.Name)
		if err != nil {
			return err
		}
		g, err := files.GridOf(s.Name, s.Map, data)
		if err != nil {
			return err
		}
		b.grid = hallway.OfFile(g)
		return nil
	}
	return engram.Errorf(engram.NotFound, hallwayItem, "there is no map in the world yet")
}

// ready returns an error if a robot cannot drive yet.
func (b *body) ready() error {
	if b.Localized().IsRoot() {
		return skill.Errorf("not_localised", skill.RetryLater, nil, "%s does not know where it is; \"track your location\" comes before", b.name)
	}
	return nil
}

// know returns the markers of the kinds of objects that the memories have, by number, and what
// belongs into what.
func (b *body) know(ctx context.Context) (known map[int]mark, belongs map[string]string, err error) {
	r, err := b.client.Query(ctx, nearby("*:Object/Class"))
	if err != nil {
		return nil, nil, err
	}
	known, belongs = map[int]mark{}, map[string]string{}
	for it := range r.All() {
		v, err := decode(it.Snapshot)
		if err != nil {
			continue
		}
		list, _ := v["markers"].([]any)
		for i := range list {
			m, _ := list[i].(map[string]any)
			id, _ := m["id"].(int32)
			size, _ := m["size"].(float64)
			if at, ok := posevalue.Of(m["pose"]); ok && m["family"] == family.String() && size > 0 {
				known[int(id)] = mark{it.ID.Entity(), size, at}
			}
		}
		p, _ := v["properties"].(map[string]any)
		if into, ok := p["belongs_in"].(string); ok {
			belongs[it.ID.Entity()] = into
		}
	}
	if len(known) == 0 {
		return nil, nil, skill.Errorf("unknown_objects", skill.RetryLater, nil, "no kind of object is known that has a marker; \"Everybody, read the configurations\" comes before")
	}
	return known, belongs, nil
}

// startEyes has the robot look for objects from now on.
func (b *body) startEyes(execution engram.ID, known map[int]mark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.looking {
		b.looking = true
		b.member.run(func(ctx context.Context) { b.eyes(ctx, execution, known) })
	}
}

// offerScout are the skills of scouts.
func (b *body) offerScout() {
	skill.Handle(b.provider, skill.Spec{Name: "FindObject", Description: "Looks for an object, and for what it belongs in, all over the hallway.", Resources: []string{"platform"}}, func(c *skill.Call, in objectIn) (foundOut, error) {
		if err := b.ready(); err != nil {
			return foundOut{}, err
		}
		known, belongs, err := b.know(c)
		if err != nil {
			return foundOut{}, err
		}
		objects := []string{in.Object}
		if into := belongs[in.Object]; into != "" {
			objects = append(objects, into)
		}
		b.say("knows %d markers of objects and begins to look for %v", len(known), objects)
		b.startEyes(c.Execution, known)
		if err := b.find(c, objects); err != nil {
			return foundOut{}, err
		}
		at, it, err := b.placeOf(c, in.Object)
		if err != nil {
			return foundOut{}, err
		}
		return foundOut{Object: in.Object, FoundBy: it.Placed.Provider, X: at.X, Y: at.Y}, nil
	})
}

// offerWorker are the skills of the worker.
func (b *body) offerWorker() {
	skill.Handle(b.provider, skill.Spec{Name: "InitializeNavigation", Description: "Shows the hallway, gets ready to drive, and then does the worker's part: takes what the scouts find to where it belongs.",
		Defaults: visualIn{Object: hallway.Garbage, To: hallway.Bin}}, func(c *skill.Call, in visualIn) (atOut, error) {
		if err := b.ready(); err != nil {
			return atOut{}, err
		}
		known, _, err := b.know(c)
		if err != nil {
			return atOut{}, err
		}
		b.startEyes(c.Execution, known)
		b.say("is ready to drive; this is what it sees of the world:")
		b.m.print(b.picture(c))
		if in.Object == "" {
			in = visualIn{Object: hallway.Garbage, To: hallway.Bin}
		}
		_, err = c.Run("Deliver", deliverIn(in))
		at := b.Pose()
		return atOut{at.X, at.Y}, err
	})
	skill.Handle(b.provider, skill.Spec{Name: "Deliver", Description: "Waits until an object and where it belongs are in the world, and brings the one to the other."}, func(c *skill.Call, in deliverIn) (atOut, error) {
		if err := b.ready(); err != nil {
			return atOut{}, err
		}
		b.say("waits for the %s and the %s", in.Object, in.To)
		for len(b.missing(c, []string{in.Object, in.To})) > 0 {
			if err := b.m.Clock.Sleep(c, 200*time.Millisecond); err != nil {
				return atOut{}, err
			}
		}
		b.say("knows where the %s and the %s are, and sets out", in.Object, in.To)
		err := b.deliver(c, in)
		at := b.Pose()
		return atOut{at.X, at.Y}, err
	})
	skill.Handle(b.provider, skill.Spec{Name: "PickUp", Description: "Drives to an object and takes it into the gripper.", Resources: []string{"arm"}}, func(c *skill.Call, in objectIn) (none, error) {
		return none{}, b.pickUp(c, in.Object)
	})
	skill.Handle(b.provider, skill.Spec{Name: "DropInto", Description: "Drives to a container and drops what the gripper holds into it.", Resources: []string{"arm"}}, func(c *skill.Call, in placeInto) (none, error) {
		return none{}, b.dropInto(c, in.Object, in.Into)
	})
}

// deliver brings an object to where it belongs; what falls beside that is picked up again.
func (b *body) deliver(c *skill.Call, in deliverIn) (err error) {
	for range 3 {
		if !b.holds(c, in.Object) {
			if _, err := c.Run("PickUp", objectIn{in.Object}); err != nil {
				return err
			}
		}
		if _, err = c.Run("DropInto", placeInto{in.Object, in.To}); err == nil || b.holds(c, in.Object) || c.Err() != nil {
			return err
		}
	}
	return err
}

// holds reports whether an object is in the robot's gripper, as the world has it.
func (b *body) holds(ctx context.Context, object string) bool {
	f, err := b.world.View(ctx)
	if err != nil {
		return false
	}
	it, err := f.Get(object)
	return err == nil && it.Structured != nil && it.Structured.Item.Structure.Parent == b.name
}

// approach drives near an object, looks at it, and then goes on until the hand is over it.
func (b *body) approach(c *skill.Call, object string, reach float64) error {
	b.think()
	defer b.act()
	at, _, err := b.placeOf(c, object)
	if err != nil {
		return err
	}
	// From the side that is nearest to the robot and has room.
	me := b.Pose()
	best, value := hallway.Pose{}, math.Inf(1)
	for i := range 24 {
		a := 2 * math.Pi * float64(i) / 24
		p := hallway.Point{X: at.X - 0.85*math.Cos(a), Y: at.Y - 0.85*math.Sin(a)}
		if b.grid.Clear(p) < hallway.Radius+0.12 || !b.straight(p, at.Point) || b.occupied(c, p, at.Point, object) {
			continue
		}
		if v := p.Dist(me.Point); v < value {
			best, value = hallway.Pose{Point: p, Yaw: a}, v
		}
	}
	if math.IsInf(value, 1) {
		return skill.Errorf("no_room", skill.RetryNo, nil, "there is no room before the %s", object)
	}
	if _, err := c.Run("MoveTo", moveIn{X: best.X, Y: best.Y, Yaw: best.Yaw, Near: 0.2}); err != nil {
		return err
	}
	b.act()
	_ = b.m.Clock.Sleep(c, 1200*time.Millisecond) // a look or more
	if at, _, err = b.placeOf(c, object); err != nil {
		return err
	}
	defer b.m.truth.Drive(b.name, 0, 0)
	ok, bumps, into := false, 0, ""
	b.m.Clock.Every(c, controlPeriod, func() bool {
		me := b.Pose()
		if p, seen := b.sees(object); seen {
			at.Point = p
		}
		hand := me.Mul(hallway.Hand)
		bearing := hallway.Wrap(math.Atan2(at.Y-me.Y, at.X-me.X) - me.Yaw)
		d := me.Dist(at.Point) - hallway.Hand.X
		if d < reach && math.Abs(bearing) < 0.1 || hand.Dist(at.Point) < reach {
			ok = true
			return false
		}
		v := 0.0
		if math.Abs(bearing) < 0.3 && d >= reach {
			v = min(0.4, 0.05+d)
		}
		b.m.truth.Drive(b.name, v, 2.5*bearing)
		if bumped := b.bumped(); bumped != "" {
			bumps++
			into = bumped
		}
		return bumps < 20
	})
	if !ok && c.Err() == nil {
		return skill.Errorf("blocked", skill.RetryYes, nil, "%s is before the %s", into, object)
	}
	return c.Err()
}

// straight reports whether the robot can drive from a place until an object is in its reach.
func (b *body) straight(from, to hallway.Point) bool {
	d := from.Dist(to)
	for s := 0.0; s < d-hallway.Hand.X; s += 0.05 {
		p := hallway.Point{X: from.X + (to.X-from.X)*s/d, Y: from.Y + (to.Y-from.Y)*s/d}
		if b.grid.Clear(p) < hallway.Radius+0.08 {
			return false
		}
	}
	return b.grid.Sees(from, to)
}

// occupied reports whether something else than an object is where the robot drives from a place until
// the object at to is in its reach, as the world has it.
func (b *body) occupied(ctx context.Context, from, to hallway.Point, object string) bool {
	f, err := b.world.View(ctx)
	if err != nil {
		return false
	}
	near, err := f.Near(hallwayItem, pose.Vec3{X: from.X, Y: from.Y}, from.Dist(to)+2.5*hallway.Radius)
	if err != nil {
		return false
	}
	for _, n := range near {
		if n.Name == b.name || n.Name == object || !n.Is(world.KindRobot) && !n.Is(world.KindObject) {
			continue
		}
		at, err := f.Pose(hallwayItem, n.Name)
		if err != nil {
			continue
		}
		// The point of the way that is nearest to it.
		dx, dy, d := to.X-from.X, to.Y-from.Y, from.Dist(to)
		p := floor(at.Pose).Point
		u := min(1-hallway.Hand.X/d, max(0, ((p.X-from.X)*dx+(p.Y-from.Y)*dy)/(d*d)))
		if p.Dist(hallway.Point{X: from.X + u*dx, Y: from.Y + u*dy}) < 2.5*hallway.Radius {
			return true
		}
	}
	return false
}

func (b *body) pickUp(c *skill.Call, object string) (err error) {
	if err := b.ready(); err != nil {
		return err
	}
	if len(b.missing(c, []string{object})) > 0 {
		return skill.Errorf("not_found", skill.RetryLater, nil, "nobody has seen the %s yet", object)
	}
	for range 4 {
		if err = b.approach(c, object, 0.05); err == nil {
			err = b.m.truth.Grip(b.name, object)
		}
		if err == nil || c.Err() != nil {
			break
		}
		b.say("did not get hold of the %s, and tries again: %v", object, err)
		b.backOff(c)
	}
	if err != nil {
		return skill.Errorf("grasp_failed", skill.RetryYes, nil, "the %s could not be picked up: %v", object, err)
	}
	_ = b.m.Clock.Sleep(c, 2*time.Second) // the arm moves
	if err := b.attach(c, object, b.id("RobotState", "Description", b.name), gripperFrame); err != nil {
		return err
	}
	b.say("has picked up the %s", object)
	b.backOff(c)
	return nil
}

func (b *body) dropInto(c *skill.Call, object, into string) (err error) {
	if err := b.ready(); err != nil {
		return err
	}
	if len(b.missing(c, []string{into})) > 0 {
		return skill.Errorf("not_found", skill.RetryLater, nil, "nobody has seen the %s yet", into)
	}
	for range 4 {
		if err = b.approach(c, into, 0.12); err == nil {
			break
		}
		if c.Err() != nil {
			return c.Err()
		}
		b.backOff(c)
	}
	if err != nil {
		return err
	}
	_ = b.m.Clock.Sleep(c, 1500*time.Millisecond)
	fell, where := b.m.truth.Release(b.name)
	if fell != object || where != into {
		err := skill.Errorf("missed", skill.RetryYes, nil, "the %s fell to the floor beside the %s", object, into)
		b.say("%v", err)
		if err := b.letGo(c, object); err != nil {
			return err
		}
		b.backOff(c)
		_ = b.m.Clock.Sleep(c, 1200*time.Millisecond) // a look or more
		return err
	}
	container, err := b.seenAs(c, into)
	if err != nil {
		return err
	}
	if err := b.attach(c, object, container, into); err != nil {
		return err
	}
	b.say("has dropped the %s into the %s", object, into)
	return nil
}

// seenAs returns the snapshot that says where an object is.
func (b *member) seenAs(ctx context.Context, object string) (engram.ID, error) {
	r, err := b.client.Query(ctx, nearby("Object/Instance/*/"+object, "*:Object/Instance/*/"+object))
	if err != nil {
		return engram.ID{}, err
	}
	var newest engram.ID
	var at engram.Time
	for it := range r.All() {
		if it.Snapshot.Time >= at {
			newest, at = it.ID.Truncate(engram.LevelEntity).At(it.Snapshot.Time).Instance(0), it.Snapshot.Time
		}
	}
	if newest.IsRoot() {
		return newest, engram.Errorf(engram.NotFound, object, "nobody has seen it")
	}
	return newest, nil
}

// letGo says that an object stays where the hand is.
func (b *body) letGo(c *skill.Call, object string) error {
	seen, err := b.seenAs(c, object)
	if err != nil {
		return err
	}
	t := engram.Now()
	return b.commit(c, update(b.id("Object", "Attachments", object), t, payload("engram.object.Attachment", map[string]any{
		"timestamp": t, "object": seen, "agent": b.id("RobotState", "Description", b.name), "frame_id": hallwayItem,
		"pose": posevalue.To(poseOf(b.Pose().Mul(hallway.Hand))), "active": false, "execution": c.Execution,
	})))
}

// attach says that an object moves with an agent's frame from now on.
func (b *body) attach(c *skill.Call, object string, agent engram.ID, frame string) error {
	seen, err := b.seenAs(c, object)
	if err != nil {
		return err
	}
	t, id := engram.Now(), b.id("Object", "Attachments", object)
	event := object + " held"
	if frame == hallway.Bin {
		event = object + " dropped"
		b.m.mu.Lock()
		b.m.dropped = b.abroad(id.At(t).Instance(0))
		b.m.mu.Unlock()
	}
	b.m.said(b.member, event, b.m.Clock.Passed())
	return b.commit(c, update(id, t, payload("engram.object.Attachment", map[string]any{
		"timestamp": t, "object": seen, "agent": agent, "frame_id": frame, "pose": posevalue.To(pose.Identity()), "active": true, "execution": c.Execution,
	})))
}
