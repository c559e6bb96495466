package foxglove

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// treeTopic is the channel of the transform tree.
const treeTopic = "/tf"

// tree sends the transform tree: all edges when the subscription begins, then those that
// have newer samples. It asks the pose store, so that joints, revisions of the past and the
// items of the world are in it.
type tree struct {
	s    *session
	wake signal
	transforms
}

// transforms makes messages of the transform tree, of edges that have newer samples than those
// before.
type transforms struct {
	poses service.Service
	told  map[string]told // what was told of each edge, by its child
	// changes has an edge without newer samples be told again only where it is another.
	changes bool
}

// told is the time of a sample that was told, when, and the pose.
type told struct {
	sample, sent engram.Time
	pose         pose.Pose
}

// An edge without newer samples is sent again as often as this: a revision may have changed
// it.
const edgeAgain = 2 * time.Second

// The tree is looked at as often as this, unless that takes more than a tenth of the time.
const treeEvery = 40 * time.Millisecond

func newTree(s *session) *tree {
	return &tree{s: s, wake: make(signal, 1), transforms: transforms{poses: s.door.poses}}
}

// again has all edges sent. The session's mu is held.
func (t *tree) again() {
	t.told = map[string]told{}
	t.step()
}

// step has the edges sent that are others at the time of a playback.
func (t *tree) step() { t.wake.give() }

// run sends the tree while it is subscribed.
func (t *tree) run(ctx context.Context) error {
	for {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return nil
		}
		for {
			begun := time.Now()
			subscribed, err := t.send(ctx)
			if err != nil {
				return err
			}
			if !subscribed || t.s.playback != nil {
				break // in a playback it is woken at each step
			}
			select {
			case <-time.After(max(treeEvery, 9*time.Since(begun))):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// send sends the edges that have newer samples; subscribed says whether somebody wants them.
func (t *tree) send(ctx context.Context) (subscribed bool, err error) {
	s := t.s
	edges, failed := s.door.poses.Tree(ctx, nil)
	if failed != nil {
		edges = nil // it may not be asked, or is away
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.topics[treeTopic]
	if c == nil || !c.subscribed {
		return false, nil
	}
	m, newest := t.next(ctx, edges, s.now(), s.playback != nil)
	if m == nil {
		return true, nil
	}
	payload, err := proto.Marshal(m)
	if err != nil {
		return true, err
	}
	timed := false
	return true, s.message(ctx, c.subscription, newest, payload, &timed)
}

// next returns the transforms of edges that have newer samples than those before, and the time
// of the newest; nil if there are none. Those of the past are of that time, others the newest.
func (t *transforms) next(ctx context.Context, edges []pose.EdgeInfo, now engram.Time, past bool) (m *foxglovepb.FrameTransforms, newest engram.Time) {
	var questions []service.Question
	var before []told
	for _, e := range edges {
		if !e.Valid.Contains(now) {
			continue // it hung elsewhere
		}
		q := service.Question{Target: e.Parent, Source: e.Child, When: service.At, Time: e.Last}
		sample := e.Last
		switch {
		case e.Kind == pose.KindFixed:
			q.Time, sample = now, 0
		case e.Samples == 0:
			continue
		case past:
			if q.Time = min(e.Last, now); q.Time < e.First {
				continue
			}
			sample = q.Time
		}
		was, again := t.told[e.Child]
		if since := now.Sub(was.sent); again && was.sample == sample && since >= 0 && since < edgeAgain {
			continue
		}
		if !again {
			was.sample = -1
		}
		t.told[e.Child] = told{sample, now, was.pose}
		questions, before = append(questions, q), append(before, was)
	}
	if len(questions) == 0 {
		return nil, 0
	}
	answers, err := t.poses.LookUp(ctx, questions)
	if err != nil {
		return nil, 0
	}
	m = &foxglovepb.FrameTransforms{}
	for i, a := range answers {
		if a.Err != nil {
			continue // it was forgotten meanwhile
		}
		at, is := questions[i].Time, t.told[questions[i].Source]
		is.pose = a.Pose
		t.told[questions[i].Source] = is
		if t.changes && before[i].sample == is.sample && before[i].pose == a.Pose {
			continue
		}
		newest = max(newest, at)
		p := poseMessage(a.Pose)
		m.Transforms = append(m.Transforms, &foxglovepb.FrameTransform{
			Timestamp: stamp(at), ParentFrameId: a.Target, ChildFrameId: a.Source, Translation: p.Position, Rotation: p.Orientation,
		})
	}
	if len(m.Transforms) == 0 {
		return nil, 0
	}
	return m, newest
}
