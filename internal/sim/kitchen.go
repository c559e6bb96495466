package sim

import (
	"context"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Items of the kitchen beside the objects.
const (
	kitchenItem = "kitchen"
	tableItem   = "table"
	cupboard    = "cupboard"
	door        = "cupboard_door"
	hinge       = cupboard + "/hinge" // the joint that moves the door
	drawer      = "drawer"
)

// The cupboard stands at the wall, with its front to the table; sizes in metres.
const (
	cupboardX, cupboardY                          = wallX - 0.3, 1.8
	cupboardDepth, cupboardWidth, cupboardHeight  = 0.6, 0.9, 2.0
	doorOpens, doorIsOpen, doorCloses, doorIsShut = 0.8, 2.4, 9.0, 10.6 // seconds of a cycle
	doorAngle                                     = 1.4                 // rad
	lookTicks                                     = 5 * objectTicks     // 2 Hz
)

// worldCodec returns the codec of the types that the memories have.
func worldCodec() (*world.Codec, error) { return world.NewCodec(context.Background(), ownTypes{}) }

// ownTypes are the types that the memories have.
type ownTypes struct{ engram.Types }

func (ownTypes) Type(_ context.Context, name string) (engram.TypeDef, error) {
	t, ok := memories.Type(name)
	if !ok {
		return engram.TypeDef{}, engram.Errorf(engram.NotFound, name, "the memories do not have this type")
	}
	return t.Def(), nil
}

// fits returns what was encoded; it is the robot's own, so it fits the type.
func fits(p engram.Payload, err error) engram.Payload {
	if err != nil {
		panic(err)
	}
	return p
}

func (r *Robot) item(name string, t engram.Time, it world.Item) engram.EntityUpdate {
	return update(r.id("World", "Item", name), t, fits(r.codec.EncodeItem(&it)))
}

// kitchen returns what is known of the world from the beginning. Where the objects are is
// what the localiser says; that they belong on the table is known.
func (r *Robot) kitchen(t engram.Time) (updates []engram.EntityUpdate) {
	add := func(name, parent string, at pose.Pose, size vec3, kinds ...string) {
		it := world.Item{
			Structure:   &world.Structure{Parent: parent},
			Placement:   &world.Placement{Pose: at, Cov: pose.ExactCov()},
			Description: &world.Description{Kinds: kinds, Box: &world.Box{Pose: pose.Translation(0, 0, size.Z/2), Size: size}},
			Source:      world.PriorKnowledge,
		}
		if parent == "" {
			it.Placement.Frame = mapFrame
			it.Description.Place = &world.Place{Level: "room"}
		}
		updates = append(updates, r.item(name, t, it))
	}
	at := pose.Translation
	add(kitchenItem, "", at(1.5, 0, 0), xyz(2*(wallX-1.5), 8, 3), world.KindMap)
	add(tableItem, kitchenItem, at(tableX-1.5, tableY, 0), xyz(tableDepth, tableWidth, tableZ), world.KindObject, "furniture")
	add(cupboard, kitchenItem, at(cupboardX-1.5, cupboardY, 0), xyz(cupboardDepth, cupboardWidth, cupboardHeight), world.KindObject, "furniture")
	add(door, cupboard, at(-cupboardDepth/2, 0, cupboardHeight/2), xyz(0.02, cupboardWidth, cupboardHeight/2), world.KindObject)
	add(drawer, cupboard, at(0, 0, 0.5), xyz(cupboardDepth-0.04, cupboardWidth-0.04, 0.2), world.KindObject)
	for i := range objects {
		updates = append(updates, r.item(objects[i].name, t, world.Item{Structure: &world.Structure{Parent: tableItem}, Source: world.PriorKnowledge}))
	}
	// A robot is called as the provider of what it says.
	updates = append(updates, r.item(r.config.Provider, t, world.Item{
		Structure: &world.Structure{Parent: kitchenItem}, Source: world.PriorKnowledge,
		Description: &world.Description{Kinds: []string{world.KindRobot}, Label: r.config.Robot, Robot: &world.RobotFrames{Odom: odomFrame, Base: baseFrame}},
	}))
	slide := world.Articulation{
		Base: cupboard, Moved: drawer, Kind: world.Prismatic, Pose: at(0, 0, 0.5), Direction: xyz(-1, 0, 0),
		Limits: &world.Limits{Upper: 0.4}, Value: new(0.0), Source: world.PriorKnowledge,
	}
	return append(updates, r.hinge(0, t), update(r.id("World", "Articulation", cupboard+"/slide"), t, fits(r.codec.EncodeJoint(&slide))))
}

// hinge returns the joint of the cupboard's door, with its value at a time of the world in
// seconds.
func (r *Robot) hinge(s float64, t engram.Time) engram.EntityUpdate {
	joint := world.Articulation{
		Base: cupboard, Moved: door, Kind: world.Revolute, Pose: pose.Translation(-cupboardDepth/2, -cupboardWidth/2, cupboardHeight/2),
		Limits: &world.Limits{Upper: 2}, Radius: cupboardWidth - 0.05, Value: new(doorAt(s)), Sigma: 0.02, Source: world.PriorKnowledge,
	}
	return update(r.id("World", "Articulation", hinge), t, fits(r.codec.EncodeJoint(&joint)))
}

// doorAt returns how far the door is open, rad.
func doorAt(s float64) float64 {
	_, tau := inCycle(s)
	return doorAngle * (ramp(tau, doorOpens, doorIsOpen) - ramp(tau, doorCloses, doorIsShut))
}

// Kitchen returns what has changed in the kitchen since the tick before: the door ten times a
// second while it moves.
func (r *Robot) Kitchen(tick int) (c engram.Commit) {
	t, s := r.Time(tick), seconds(tick)
	if tick%objectTicks == 0 && doorAt(s) != doorAt(seconds(tick-objectTicks)) {
		c.Updates = append(c.Updates, r.hinge(s, t))
	}
	return c
}

// look returns where the left camera looked, and what the localiser has found there.
func (r *Robot) look(s *state, t engram.Time, seen []string) engram.EntityUpdate {
	// What is near the border of the image is not found; the angles are those within it.
	f := focalLength(r.config.Width)
	half := math.Atan(0.97 * float64(r.config.Width) / 2 / f)
	l := world.Look{
		Frame: mapFrame, Pose: s.camera(left), Seen: seen,
		View: world.View{
			Horizontal: 2 * half, Vertical: 2 * math.Atan(0.97*float64(r.config.Height)/2/f*math.Cos(half)),
			MinRange: 0.3, MaxRange: 4,
		},
	}
	for i := range objects {
		l.LookedFor.Classes = append(l.LookedFor.Classes, objects[i].class)
	}
	return update(r.id("World", "Observation", "head_camera"), t, fits(r.codec.EncodeLook(&l)))
}
