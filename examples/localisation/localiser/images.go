package localiser

import (
	"context"
	"image"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/boxes"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/memories/vision"
)

// frame is what a camera saw at a time.
type frame struct {
	time   engram.Time
	camera marker.Camera
	name   string // of the camera's frame
	rgb    image.Image
	depth  *boxes.Image // nil if there is none of that time
	// The instances of the images, for links.
	rgbID, depthID engram.ID
}

// skew is how far the times of an RGB and a depth image of one look may differ.
const skew = 20 * time.Millisecond

// newest returns the newest image with the depth image of its time, if there is one by
// now. The error is an awaited one if there is no image or no calibration yet.
func (l *Localiser) newest(ctx context.Context) (*frame, error) {
	rgb, err := l.svc.Latest(ctx, l.rgb)
	if engram.CodeOf(err) == engram.NotFound { // nor may its segments be there yet
		return nil, &awaited{"the first image of " + l.rgb.String()}
	}
	if err != nil {
		return nil, err
	}
	var depth *engram.Snapshot
	if l.depth.Level() == engram.LevelEntity {
		if depth, err = l.svc.AtOrBefore(ctx, l.depth, rgb.Time.Add(skew)); err != nil && engram.CodeOf(err) != engram.NotFound {
			return nil, err
		}
		// The newest depth image may still be on its way, and the pair before whole: a pair
		// is worth more than being newest by one image.
		if depth != nil && rgb.Time.Sub(depth.Time) > skew {
			before, err := l.svc.AtOrBefore(ctx, l.rgb, depth.Time.Add(skew))
			if err == nil && depth.Time.Sub(before.Time) <= skew && before.Time > l.last && rgb.Time.Sub(before.Time) < time.Second {
				rgb = before
			}
		}
	}
	f := &frame{time: rgb.Time, rgbID: l.rgb.At(rgb.Time).Instance(0)}
	if f.time <= l.last {
		return f, nil
	}
	info, err := vision.Describe(rgb.Instances[0].Payload)
	if err != nil {
		return nil, err
	}
	if f.rgb, err = vision.Decode(rgb.Instances[0].Payload); err != nil {
		return nil, err
	}
	f.name = info.FrameID
	if f.camera, err = l.calibration(ctx, f.time, f.rgb.Bounds()); err != nil {
		return nil, err
	}
	if depth == nil || absolute(rgb.Time.Sub(depth.Time)) > skew {
		return f, nil
	}
	img, err := vision.Decode(depth.Instances[0].Payload)
	if err != nil {
		return nil, err
	}
	grey, ok := img.(*image.Gray16)
	if !ok || grey.Rect.Size() != f.rgb.Bounds().Size() {
		return nil, engram.Errorf(engram.Invalid, l.depth.String(), "depth images must be of 16 bits or floats, registered to the RGB image of %d x %d pixels", f.camera.Width, f.camera.Height)
	}
	f.depthID = l.depth.At(depth.Time).Instance(0)
	f.depth = &boxes.Image{Camera: f.camera, Depth: make([]float32, f.camera.Width*f.camera.Height)}
	for y := range f.camera.Height {
		for x := range f.camera.Width {
			f.depth.Depth[y*f.camera.Width+x] = float32(grey.Gray16At(grey.Rect.Min.X+x, grey.Rect.Min.Y+y).Y) / 1000
		}
	}
	return f, nil
}

func absolute(d time.Duration) time.Duration { return max(d, -d) }

// calibration returns how the camera sees at a time: without a calibration there are no poses.
func (l *Localiser) calibration(ctx context.Context, at engram.Time, size image.Rectangle) (marker.Camera, error) {
	s, err := l.svc.AtOrBefore(ctx, l.lens, at)
	if engram.CodeOf(err) == engram.NotFound {
		// One that was measured later is better than none.
		s, err = l.svc.Latest(ctx, l.lens)
	}
	if engram.CodeOf(err) == engram.NotFound {
		return marker.Camera{}, &awaited{"the camera's calibration, " + l.lens.String()}
	}
	if err != nil {
		return marker.Camera{}, err
	}
	var m foxglovepb.CameraCalibration
	if err := proto.Unmarshal(s.Instances[0].Payload.Bytes, &m); err != nil {
		return marker.Camera{}, engram.Errorf(engram.Corrupt, l.lens.String(), "%w", err)
	}
	c, err := vision.CameraOf(&m)
	if err != nil {
		return c, engram.Errorf(engram.CodeOf(err), l.lens.String(), "%w", err)
	}
	if c.Width != size.Dx() || c.Height != size.Dy() {
		return c, engram.Errorf(engram.Invalid, l.lens.String(), "it is for images of %d x %d pixels, and these have %d x %d", c.Width, c.Height, size.Dx(), size.Dy())
	}
	return c, nil
}
