package memories

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/predict/chain"
)

// foreseen predicts where objects are: where they were last, with the hand that holds
// them, or as far on as they moved between the last two times, and with a covariance that
// grows with the time since.
type foreseen struct {
	svc  atomic.Pointer[engram.Service]
	held *released // knows the server's poses
}

// How predictions of objects go.
const (
	// movedWithin is how far apart two snapshots tell a velocity, and how long that holds.
	movedWithin = 2 * time.Second
	// Standard deviations of an object of which no covariance is known, m and rad.
	unknownPlace, unknownTurn = 0.03, 0.2
	// How they grow: of an object that stays until somebody takes it, of one that moves by
	// itself, of one in a hand; m²/s and rad²/s.
	restSpread, restTurn = 1e-6, 1e-5
	moveSpread, moveTurn = 1e-2, 1e-1
	heldSpread, heldTurn = 1e-6, 1e-5
	// beliefLasts is the time in which the confidence falls to 1/e.
	beliefLasts = 30 * time.Minute
)

// predict is the Predict hook of the memory Object. It answers for Object/Instance, with
// snapshots of type engram.object.Instance without the links to images.
func (f *foreseen) predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	answers := make([]engram.Prediction, len(ids))
	for i, id := range ids {
		answers[i].ID = id
		answers[i].Snapshot, answers[i].Err = f.one(ctx, id)
	}
	return answers, nil
}

func (f *foreseen) one(ctx context.Context, id engram.ID) (*engram.Snapshot, error) {
	if id.CoreSegment() != "Instance" {
		return nil, engram.Errorf(engram.Unsupported, id.String(), "of the memory Object only the segment Instance predicts")
	}
	svc := f.svc.Load()
	if svc == nil {
		return nil, engram.Errorf(engram.Unavailable, id.String(), "the memory has not begun to serve")
	}
	entity := id.Truncate(engram.LevelEntity)
	at, _ := id.Time()
	last, err := (*svc).AtOrBefore(ctx, entity, at)
	if err != nil {
		return nil, err
	}
	typ, ok := Type("engram.object.Instance")
	if !ok || len(last.Instances) == 0 {
		return nil, engram.Errorf(engram.Internal, id.String(), "the snapshot has no instance that can be read")
	}
	now, err := typ.Decode(last.Instances[0].Payload.Bytes) // what extends the type reads as it
	if err != nil {
		return nil, err
	}
	o := now.(map[string]any)
	p, ok := posevalue.Of(o["pose"])
	if !ok {
		return nil, engram.Errorf(engram.Corrupt, id.String(), "its last pose is none")
	}
	elapsed := max(at.Sub(last.Time), 0)
	seconds := elapsed.Seconds()
	cov := covarianceOf(o["pose_covariance"], p)
	spread, turn := restSpread*seconds, restTurn*seconds
	if held, frame, in, way, ok := f.holder(ctx, entity, at, o); ok {
		if all := pose.ComposeCov(&way, pose.Identity(), &cov); all.State() == pose.Estimated {
			cov = all
		}
		o["frame_id"], p = frame, in
		o["attachment"] = held
		spread, turn = heldSpread*seconds, heldTurn*seconds
	} else if still, _ := o["is_static"].(bool); still {
		spread, turn = 0, 0
	} else if next, ok := f.moving(ctx, entity, last.Time, elapsed, o, p, cov); ok {
		p = next
		spread, turn = moveSpread*seconds, moveTurn*seconds
	}
	for i := range 3 {
		cov.S[diagonal[i]] += spread
		cov.S[diagonal[3+i]] += turn
	}
	ros := cov.ROS(p)
	o["timestamp"], o["pose"], o["pose_covariance"] = at, posevalue.To(p), ros[:]
	delete(o, "source_image")
	delete(o, "source_depth")
	delete(o, "robot_localization")
	b, err := typ.Encode(o)
	if err != nil {
		return nil, err
	}
	s := &engram.Snapshot{Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}}
	s.Instances[0].Confidence = last.Instances[0].Confidence * float32(math.Exp(-seconds/beliefLasts.Seconds()))
	return s, nil
}

// diagonal are the places of the variances in a covariance.
var diagonal = [6]int{0, 6, 11, 15, 18, 20}

// covarianceOf reads a covariance; one that is not known is that of a rough look.
func covarianceOf(v any, p pose.Pose) pose.Cov {
	if c := posevalue.Cov(v, p); c.State() == pose.Estimated {
		return c
	}
	return pose.DiagonalCov(unknownPlace, unknownTurn)
}

// holder returns the attachment of an object that is held then, and the object's pose: in
// the frame that the object was last seen in, or, where the poses do not tell that, in the
// frame that it moves with. The way to the hand is predicted where it is not known; cov is of that.
func (f *foreseen) holder(ctx context.Context, entity engram.ID, at engram.Time, o map[string]any) (link engram.ID, frame string, p pose.Pose, cov pose.Cov, ok bool) {
	cov = pose.ExactCov()
	attachments, err := engram.NewID(entity.Memory(), "Attachments", entity.ProviderSegment(), entity.Entity())
	if err != nil {
		return link, "", p, cov, false
	}
	held, err := (*f.svc.Load()).AtOrBefore(ctx, attachments, at)
	if err != nil || len(held.Instances) == 0 {
		return link, "", p, cov, false
	}
	typ, known := Type("engram.object.Attachment")
	if !known {
		return link, "", p, cov, false
	}
	v, err := typ.Decode(held.Instances[0].Payload.Bytes)
	a, _ := v.(map[string]any)
	if err != nil || a["active"] != true {
		return link, "", p, cov, false
	}
	if p, ok = posevalue.Of(a["pose"]); !ok {
		return link, "", p, cov, false
	}
	link = attachments.At(held.Time).Instance(0)
	frame, _ = a["frame_id"].(string)
	seenIn, _ := o["frame_id"].(string)
	if h := f.held.host.Load(); h != nil && frame != seenIn {
		if hand, err := chain.LookUp(ctx, h.poses, seenIn, frame, at); err == nil {
			// The way's covariance is in the hand; the object's place there is exact.
			exact := pose.ExactCov()
			return link, seenIn, hand.Pose.Mul(p), pose.ComposeCov(&hand.Cov, p, &exact), true
		}
	}
	return link, frame, p, cov, true
}

// moving returns where an object is after elapsed, if it moved between its last two
// snapshots by more than both are uncertain.
func (f *foreseen) moving(ctx context.Context, entity engram.ID, last engram.Time, elapsed time.Duration, o map[string]any, p pose.Pose, cov pose.Cov) (pose.Pose, bool) {
	before, err := (*f.svc.Load()).AtOrBefore(ctx, entity, last-1)
	if err != nil || len(before.Instances) == 0 {
		return p, false
	}
	between := last.Sub(before.Time)
	if between <= 0 || between > movedWithin {
		return p, false
	}
	typ, _ := Type("engram.object.Instance")
	v, err := typ.Decode(before.Instances[0].Payload.Bytes)
	b, _ := v.(map[string]any)
	q, ok := posevalue.Of(b["pose"])
	if err != nil || !ok || b["frame_id"] != o["frame_id"] {
		return p, false
	}
	way := p.T.Sub(q.T)
	earlier := covarianceOf(b["pose_covariance"], q)
	if way.Norm() < 3*math.Hypot(cov.SigmaTrans(), earlier.SigmaTrans()) {
		return p, false
	}
	p.T = p.T.Add(way.Scale(min(elapsed, movedWithin).Seconds() / between.Seconds()))
	return p, true
}
