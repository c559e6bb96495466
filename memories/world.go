package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/server"
)

// World is what is around robots and how it hangs together. An entity of Item is an
// item, of Map a map, of Articulation a joint, of Component a component, of State a
// state of an item, of Observation a sensor. Package world merges what all providers say.
func World() server.Memory {
	const name = "World"
	return server.Memory{
		Name:  name,
		Doc:   "places, things and robots, their joints and states, maps and sensors",
		Types: typesIn("world"),
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
		},
		Bounds: engram.Bounds{MaxBytes: 128 * mib, MaxCount: 500_000},
		// What nobody has touched for long, such as a wall, is there still.
		KeepNewest: true,
	}
}
