package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// Vision is what cameras, depth cameras and range finders see. An entity is a
// device; a stereo pair is one entity with an instance for each eye, left first.
//
// Images are foxglove.RawImage or foxglove.CompressedImage, which both extend the
// segments' type. Scans are foxglove.LaserScan or engram.vision.LaserScan, which
// extends it.
func Vision() server.Memory {
	const name = "Vision"
	// 256 MiB are 7 s of raw 640x480 stereo at 20 Hz, or 3 min of JPEG at 30 Hz.
	images := engram.Bounds{MaxCount: 10_000, MaxAge: 5 * time.Minute, MaxBytes: 256 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "images, depth images, point clouds and laser scans",
		Types: typesIn("vision"),
		Segments: []engram.CoreSegment{
			segment(name, "ImageRGB", "engram.vision.Image", images),
			segment(name, "ImageDepth", "engram.vision.Image", images),
			segment(name, "PointCloud", "foxglove.PointCloud",
				engram.Bounds{MaxCount: 10_000, MaxAge: 5 * time.Minute, MaxBytes: 192 * mib}),
			segment(name, "LaserScan", "foxglove.LaserScan",
				engram.Bounds{MaxCount: 20_000, MaxAge: 10 * time.Minute, MaxBytes: 64 * mib}),
		},
		Bounds: engram.Bounds{MaxBytes: 640 * mib, MaxCount: 200_000},
	}
}
