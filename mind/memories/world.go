package memories

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/world"
	questions "github.com/seed-301d4374/engram/mind/world/api"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// World is what is around robots and how it hangs together. An entity of Item is an
// item, of Map a map, of Articulation a joint, of Component a component, of State a
// state of an item, of Observation a sensor, of Clock a robot whose clock was measured ([Clocks]).
// Package mind/world merges what all providers say. Its server answers questions about that; package mind/world/view has how.
func World() server.Memory {
	const name = "World"
	var seen views
	answers := view.NewLocal()
	return server.Memory{
		Name:  name,
		Doc:   "places, things and robots, their joints and states, maps and sensors",
		Types: append(typesIn("world"), clockDef()),
		Segments: []engram.CoreSegment{
			// Where a thing was at some time is asked long after it was moved.
			logged(segment(name, "Item", "engram.world.Item", engram.Bounds{MaxCount: 1_000, MaxBytes: 2 * mib})),
			logged(segment(name, "Map", "engram.world.Map", engram.Bounds{MaxCount: 16, MaxBytes: 32 * mib})),
			// Who has a view of the world has the maps, and asks for their data when they are
			// needed. A grid of 4000 x 4000 cells of a byte is 16 MB.
			logged(segment(name, "MapData", "engram.world.MapData", engram.Bounds{MaxCount: 16, MaxBytes: 32 * mib})),
			logged(segment(name, "Articulation", "engram.world.Articulation", engram.Bounds{MaxCount: 1_000, MaxBytes: 2 * mib})),
			logged(segment(name, "Component", "engram.world.Component", forever(16))),
			logged(segment(name, "State", "engram.world.State", engram.Bounds{MaxCount: 1_000, MaxBytes: 2 * mib})),
			logged(segment(name, "Observation", "engram.world.Observation",
				engram.Bounds{MaxCount: 10_000, MaxAge: 12 * time.Hour, MaxBytes: 8 * mib})),
			clockSegment(name),
		},
		Bounds: engram.Bounds{MaxBytes: 128 * mib, MaxCount: 500_000},
		// What nobody has touched for long, such as a wall, is there still.
		KeepNewest: true,
		Hooks: server.Hooks{
			Start: func(ctx context.Context, svc engram.Service) error {
				return errors.Join(seen.start(ctx, svc), answers.Start(ctx, svc))
			},
			Run:    answers.Run,
			Commit: seen.committed,
		},
		Features: []feature.Feature{questions.Feature(answers)},
	}
}

// views refuses looks, components and joints that there cannot be: of what no world could make anything nobody would be told.
type views struct {
	codec atomic.Pointer[func() (*world.Codec, error)]
}

// start is the Start hook of the memory World. The types are parsed when something is to be read by them.
func (v *views) start(_ context.Context, svc engram.Service) error {
	codec := sync.OnceValues(func() (*world.Codec, error) { return world.NewCodec(context.Background(), svc) })
	v.codec.Store(&codec)
	return nil
}

// committed is the Commit hook of the memory World. It refuses an observation with a pose or a field of view that there cannot
// be, such a field of view of a component, and such a joint.
func (v *views) committed(_ context.Context, u *engram.EntityUpdate) error {
	codec, segment := v.codec.Load(), u.Entity.CoreSegment()
	if codec == nil || segment != "Observation" && segment != "Component" && segment != "Articulation" {
		return nil
	}
	c, err := (*codec)()
	if err != nil {
		return err
	}
	for i := range u.Instances {
		one := &engram.Snapshot{Time: u.Time, Instances: u.Instances[i : i+1]}
		var wrong error
		switch segment { // what is no message, the memory says best
		case "Observation":
			if l, err := c.Look(u.Entity, one); err == nil {
				wrong = l.Check()
			}
		case "Component":
			if s, err := c.Component(u.Entity, one); err == nil && s.Component.View != nil && s.Component.Kind != "" {
				wrong = s.Component.Check(s.Name)
			}
		case "Articulation":
			_, err := c.Joint(u.Entity, one)
			if none, ok := errors.AsType[*engram.Error](errors.Unwrap(err)); ok && none.Code == engram.Invalid {
				wrong = none
			}
		}
		if wrong != nil {
			return wrong
		}
	}
	return nil
}
