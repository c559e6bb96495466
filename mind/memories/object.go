package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// Object is what objects there are, of which kinds, where, and what holds them. An
// entity is an object, of Class a kind of objects. Beside the memory RobotState (see [All]) it
// completes attachments that end by where the object was let go.
func Object() server.Memory { return object(nil) }

func object(p *poses) server.Memory {
	const name = "Object"
	let := &released{poses: p}
	// A hand's entity holds one object after another: each stays where it was let go, however long ago.
	grasps := engram.Bounds{MaxCount: 10_000, MaxBytes: 8 * mib}
	minutes := engram.Bounds{MaxCount: 10_000, MaxAge: 15 * time.Minute, MaxBytes: 8 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "kinds of objects, their poses and attachments",
		Types: typesIn("geometry", "object"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Class", "engram.object.Class", forever(16))),
			logged(segment(name, "Instance", "engram.object.Instance", minutes)),
			logged(segment(name, "Attachments", "engram.object.Attachment", grasps)),
			logged(segment(name, "ArticulatedAttachments", "engram.object.ArticulatedAttachment", grasps)),
		},
		Bounds: engram.Bounds{MaxBytes: 96 * mib, MaxCount: 500_000},
		Hooks:  server.Hooks{Start: let.start, Commit: let.committed},
	}
}
