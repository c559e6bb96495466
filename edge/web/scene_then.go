package web

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// maxPasts bounds the times at which the memory is asked where sensors were: each takes several queries.
const maxPasts = 8

// settle puts what sensors measured, and pictures that do not move with their frames, where their frames were in the fixed
// one when it was measured. Of what nobody knows that stays where its frame is.
func (p *scenes) settle(ctx context.Context, when moment, t *tree, fixed string, things []thing) error {
	type where struct {
		frame string
		at    engram.Time
	}
	numbers := map[where]int{}
	var questions []lookup.Question
	var moves [][]func(there pose.Pose) // that each answer makes
	root := t.root(fixed)
	then := func(th *thing, frame string, move func(there pose.Pose)) {
		if th.at == 0 || frame == fixed || t.root(frame) != root {
			return
		}
		w := where{frame, th.at}
		n, ok := numbers[w]
		if !ok {
			n = len(questions)
			numbers[w] = n
			questions, moves = append(questions, lookup.Question{Target: fixed, Source: frame, Time: th.at}), append(moves, nil)
		}
		moves[n] = append(moves[n], move)
	}
	for i := range things {
		th := &things[i]
		switch th.Kind {
		case "scan", "points", "grid", "poses":
			then(th, th.Frame, func(there pose.Pose) { th.move(fixed, there) })
		case "scene":
			for _, e := range th.drawn {
				if !e.GetFrameLocked() {
					then(th, e.GetFrameId(), func(there pose.Pose) { moveEntity(e, fixed, there) })
				}
			}
		}
	}
	if len(questions) == 0 {
		return nil
	}
	answers, err := p.poses.LookUp(ctx, questions)
	if err != nil {
		return ctx.Err() // who may not ask for poses sees things in their frames
	}
	pasts := map[engram.Time]lookup.Service{}
	for i, a := range answers {
		q := questions[i]
		// What was known at another time, and what the poses have no more, the memory knows.
		if when.asOf != nil || !when.now && a.Err != nil {
			past := pasts[q.Time]
			if past == nil {
				if len(pasts) == maxPasts {
					continue
				}
				if past, err = p.pastPoses(ctx, moment{at: q.Time, asOf: when.asOf}); err != nil {
					return err
				}
				pasts[q.Time] = past
			}
			found, err := past.LookUp(ctx, []lookup.Question{q})
			if err != nil {
				return err
			}
			a = found[0]
		}
		if a.Err != nil {
			continue
		}
		for _, move := range moves[i] {
			move(a.Pose)
		}
	}
	return nil
}

// move puts what a sensor measured in another frame, in which its own is at a pose.
func (t *thing) move(into string, there pose.Pose) {
	t.Frame = into
	if t.Pose != nil {
		t.Pose = jsonPose(moved(there, t.Pose.pose()))
	}
	for i := range t.Poses {
		t.Poses[i] = *jsonPose(moved(there, t.Poses[i].pose()))
	}
}

// moved returns a pose in a frame that is there. One that is too far away is as the frame.
func moved(there, p pose.Pose) pose.Pose {
	if q, err := there.Mul(p).Checked(); err == nil {
		return q
	}
	return there
}

func (p *poseJSON) pose() pose.Pose {
	return pose.Pose{T: pose.Vec3{X: p[0], Y: p[1], Z: p[2]}, R: pose.Quat{X: p[3], Y: p[4], Z: p[5], W: p[6]}}
}

// moveEntity puts all that a picture consists of in another frame, in which its own is at a pose.
func moveEntity(e *foxglovepb.SceneEntity, into string, there pose.Pose) {
	e.FrameId = into
	e.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !f.IsList() || f.Message() == nil {
			return true
		}
		at := f.Message().Fields().ByName("pose")
		if at == nil {
			return true
		}
		for i := range v.List().Len() {
			m := v.List().Get(i).Message()
			was, _ := m.Get(at).Message().Interface().(*foxglovepb.Pose)
			m.Set(at, protoreflect.ValueOfMessage(poseMessage(moved(there, readPose(was))).ProtoReflect()))
		}
		return true
	})
}
