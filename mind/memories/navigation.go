package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// Navigation is where one can go and how going there went. An entity of Location
// is a place, of Graph and Costmap a map, of Plan a goal, of Event and Result a navigator.
func Navigation() server.Memory {
	const name = "Navigation"
	hours := engram.Bounds{MaxCount: 10_000, MaxAge: 12 * time.Hour, MaxBytes: 4 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "places, the ways between them, costmaps, planned paths, and how movements went",
		Types: typesIn("navigation"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Location", "engram.navigation.Location", forever(16))),
			logged(segment(name, "Graph", "engram.navigation.Graph", forever(16))),
			// 1000 x 1000 cells of a byte are 1 MB.
			segment(name, "Costmap", "foxglove.Grid",
				engram.Bounds{MaxCount: 1_000, MaxAge: 10 * time.Minute, MaxBytes: 32 * mib}),
			logged(segment(name, "Plan", "engram.navigation.Plan", hours)),
			logged(segment(name, "Event", "engram.navigation.Event", hours)),
			logged(segment(name, "Result", "engram.navigation.Result", hours)),
		},
		Bounds: engram.Bounds{MaxBytes: 96 * mib, MaxCount: 100_000},
	}
}
