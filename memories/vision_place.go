package memories

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/memories/vision"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/predict/chain"
)

// usualSize is the edge of the box of an object of which none is known, metres.
const usualSize = 0.2

// InImage implements sense.Places: the object's predicted pose, its box or that of its class, the camera's calibration, and
// the predicted way between their frames.
func (p *conditionPresent) InImage(ctx context.Context, object, camera engram.ID, at engram.Time) (x, y, width, height float64, err error) {
	fail := func(err error) (float64, float64, float64, float64, error) { return 0, 0, 0, 0, err }
	calibration, err := p.svc.AtOrBefore(ctx, camera, at)
	if err != nil {
		return fail(err)
	}
	if len(calibration.Instances) == 0 {
		return fail(engram.Errorf(engram.NotFound, camera.String(), "the calibration has no instance"))
	}
	var m foxglove.CameraCalibration
	if err := proto.Unmarshal(calibration.Instances[0].Payload.Bytes, &m); err != nil {
		return fail(engram.Errorf(engram.Corrupt, camera.String(), "no calibration: %w", err))
	}
	lens, err := vision.CameraOf(&m)
	if err != nil {
		return fail(err)
	}
	o, err := p.predicted(ctx, object, at)
	if err != nil {
		return fail(err)
	}
	in, ok := posevalue.Of(o["pose"])
	if !ok {
		return fail(engram.Errorf(engram.Corrupt, object.String(), "its pose is none"))
	}
	poses := p.poses(ctx)
	frame, _ := o["frame_id"].(string)
	if poses == nil {
		return fail(engram.Errorf(engram.NotFound, frame, "nobody keeps poses"))
	}
	way, err := chain.LookUp(ctx, poses, m.GetFrameId(), frame, at)
	if err != nil {
		return fail(err)
	}
	cov := covarianceOf(o["pose_covariance"], in)
	cov = pose.ComposeCov(&way.Cov, in, &cov)
	unsure := 0.0
	if cov.State() == pose.Estimated {
		unsure = 2 * cov.SigmaTrans()
	}
	return inView(&lens, way.Pose.Mul(in), p.boxOf(ctx, o), unsure)
}

// inView returns what part of a camera's image a box in an object's frame takes, larger by so much on each side.
func inView(lens *vision.Camera, at pose.Pose, b objectBox, unsure float64) (x, y, width, height float64, err error) {
	w, h := float64(lens.Width), float64(lens.Height)
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	before, behind := 0, 0
	for i := range 8 {
		half := func(bit int, size float64) float64 { return (float64(i>>bit&1) - 0.5) * (size + 2*unsure) }
		u, v, ok := lens.Project(at.Mul(b.at).Apply(pose.Vec3{X: half(0, b.size.X), Y: half(1, b.size.Y), Z: half(2, b.size.Z)}))
		if !ok {
			behind++
			continue
		}
		before++
		x0, y0, x1, y1 = min(x0, u), min(y0, v), max(x1, u), max(y1, v)
	}
	switch {
	case before == 0: // it is not seen
		return 2, 2, 0, 0, nil
	case behind > 0: // the camera is in it
		return 0, 0, 1, 1, nil
	}
	return x0 / w, y0 / h, (x1 - x0) / w, (y1 - y0) / h, nil
}

// objectBox is the box of an object, in its frame.
type objectBox struct {
	at   pose.Pose
	size pose.Vec3
}

// boxOf returns the box of an object: its own, that of its class, or a usual one.
func (p *conditionPresent) boxOf(ctx context.Context, o map[string]any) objectBox {
	read := func(v any) (b objectBox, ok bool) {
		m, _ := v.(map[string]any)
		size, _ := m["size"].(map[string]any)
		n := func(key string) float64 { x, _ := size[key].(float64); return x }
		b.size = pose.Vec3{X: n("x"), Y: n("y"), Z: n("z")}
		if b.at, ok = posevalue.Of(m["pose"]); !ok {
			b.at = pose.Identity()
		}
		return b, b.size.Norm() > 0
	}
	if b, ok := read(o["oobb"]); ok {
		return b
	}
	if class, ok := o["object_class"].(engram.ID); ok && class.Level() >= engram.LevelEntity {
		if s, err := p.svc.Latest(ctx, class.Truncate(engram.LevelEntity)); err == nil && len(s.Instances) > 0 {
			if m, err := p.decoded(ctx, &s.Instances[0].Payload); err == nil {
				if b, ok := read(m["oobb"]); ok {
					return b
				}
			}
		}
	}
	return objectBox{pose.Identity(), pose.Vec3{X: usualSize, Y: usualSize, Z: usualSize}}
}

// predicted returns what is predicted of an object.
func (p *conditionPresent) predicted(ctx context.Context, object engram.ID, at engram.Time) (map[string]any, error) {
	answers, err := p.svc.Predict(ctx, []engram.ID{object.At(at)})
	if err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, engram.Errorf(engram.Internal, object.String(), "it was asked for once, and there are %d answers", len(answers))
	}
	if answers[0].Err != nil {
		return nil, answers[0].Err
	}
	if len(answers[0].Snapshot.Instances) == 0 {
		return nil, engram.Errorf(engram.NotFound, object.String(), "what is predicted has no instance")
	}
	return p.decoded(ctx, &answers[0].Snapshot.Instances[0].Payload)
}

func (p *conditionPresent) decoded(ctx context.Context, payload *engram.Payload) (map[string]any, error) {
	t := p.Type(ctx, payload.Type)
	if t == nil {
		return nil, engram.Errorf(engram.NotFound, payload.Type, "the type is not known")
	}
	v, err := t.Decode(payload.Bytes)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, engram.Errorf(engram.TypeMismatch, payload.Type, "a payload that is no object")
	}
	return m, nil
}
