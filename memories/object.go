package memories

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/server"
)

// Object is what objects there are, of which kinds, where, and what holds them. An
// entity is an object, of Class a kind of objects.
func Object() server.Memory {
	const name = "Object"
	let := &released{}
	foresee := &foreseen{held: let}
	minutes := engram.Bounds{MaxCount: 10_000, MaxAge: 15 * time.Minute, MaxBytes: 8 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "kinds of objects, their poses and attachments",
		Types: typesIn("geometry", "object"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Class", "engram.object.Class", forever(16))),
			logged(segment(name, "Instance", "engram.object.Instance", minutes)),
			logged(segment(name, "Attachments", "engram.object.Attachment", minutes)),
			logged(segment(name, "ArticulatedAttachments", "engram.object.ArticulatedAttachment", minutes)),
		},
		Bounds: engram.Bounds{MaxBytes: 96 * mib, MaxCount: 500_000},
		Hooks: server.Hooks{
			Start: func(ctx context.Context, svc engram.Service) error {
				foresee.svc.Store(&svc)
				return let.start(ctx, svc)
			},
			Commit: let.committed, Predict: foresee.predict,
		},
	}
}
