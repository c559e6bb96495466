package web

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

const (
	maxAhead   = 60_000 // ms
	maxGhosts  = 200    // entities that are predicted
	maxWays    = 8      // hypotheses of robots beside the most probable
	ghostSize  = 0.05   // of an object, m
	ghostMoves = 3e-3   // what moves less has no ghost, m
	ghostLives = 10 * time.Second
)

// ghosts is where things will be.
type ghosts struct{ *Page }

// serve answers where things will be, as a scene has things, drawn pale:
//
//	/view/ghosts?fixed=FRAME&ahead=500&since=TAG
//
// ahead is in ms from now. Robots are drawn as lines between their frames, by the predicted poses and joints of
// RobotState; objects, and all that is a pose in a frame, by their predictions, with a line from where they are. The ellipsoid
// is that of the predicted pose's covariance. Of several hypotheses each is drawn, the less probable the paler. What does not
// move, what was not told of for 10 s, and what cannot be predicted has no ghost.
func (g ghosts) serve(w http.ResponseWriter, r *http.Request, q query) error {
	ctx := r.Context()
	ahead, err := q.number("ahead", 1, maxAhead, 500)
	if err != nil {
		return err
	}
	now := g.o.Now()
	edges, t, err := treeAt(ctx, g.poses, now)
	if err != nil {
		return err
	}
	fixed := t.full(q.Get("fixed"), "")
	at := now.Add(time.Duration(ahead) * time.Millisecond)
	robots, err := g.robots(ctx, t, edges, fixed, now, at)
	if err != nil {
		return err
	}
	things, err := g.things(ctx, t, fixed, now, at)
	if err != nil {
		return err
	}
	return answer(w, compare(now, nil, append(robots, things...), q.Get("since")))
}

// future is what an entity may be.
type future struct {
	probability float64 // 1 of the only one
	payload     map[string]any
	poses       []engram.PredictedPose
}

// cov returns the covariance of the position of the pose at a path, in the axes of the pose; nil if it is not known.
func (f *future) cov(path string, p pose.Pose) []float64 {
	for i := range f.poses {
		if f.poses[i].Path == path {
			c, err := pose.CovFromROS(p, &f.poses[i].Covariance)
			if err != nil {
				return nil
			}
			return positionCov(&c)
		}
	}
	c := posevalue.Cov(f.payload["pose_covariance"], p) // as the memory Object says it
	return positionCov(&c)
}

// futures are the hypotheses of a prediction, the most probable first.
func (g ghosts) futures(ctx context.Context, p *engram.Prediction) (all []future) {
	hypotheses := p.Hypotheses
	if len(hypotheses) == 0 {
		hypotheses = []engram.Hypothesis{{Probability: 1, Snapshot: p.Snapshot, Poses: p.Poses}}
	}
	for _, h := range hypotheses {
		if h.Snapshot == nil || len(h.Snapshot.Instances) == 0 {
			continue
		}
		if payload, err := g.types.Decode(ctx, h.Snapshot.Instances[0].Payload); err == nil {
			all = append(all, future{h.Probability, payload, h.Poses})
		}
	}
	return all
}

// predicted calls f with the newest state of each entity that was told of lately, and with what it may be, at least one.
func (g ghosts) predicted(ctx context.Context, q engram.Query, now, at engram.Time, f func(entity engram.ID, last map[string]any, next []future)) error {
	found, err := g.svc.Query(ctx, q)
	if err != nil {
		return skipMissing(err)
	}
	var items []engram.Item
	var ids []engram.ID
	for it := range found.All() {
		if it.Time >= now.Add(-ghostLives) && it.Time < at && len(items) < maxGhosts {
			items = append(items, it)
			ids = append(ids, it.ID.Truncate(engram.LevelEntity).At(at))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	answers, err := g.svc.Predict(ctx, ids)
	if err != nil {
		return skipMissing(err)
	}
	for i := range answers {
		if answers[i].Err != nil {
			continue
		}
		last, err := g.types.Decode(ctx, items[i].Instances[0].Payload)
		if err != nil {
			continue // it has no ghost, and the scene tells of it
		}
		if next := g.futures(ctx, &answers[i]); len(next) > 0 {
			f(ids[i].Truncate(engram.LevelEntity), last, next)
		}
	}
	return nil
}

// robots draws the edges of the transform tree that will have moved as lines in the fixed frame, and what moves by itself with
// how uncertain that is. Of several hypotheses of an entity each is drawn, with all else as is most probable.
func (g ghosts) robots(ctx context.Context, t *tree, edges []pose.EdgeInfo, fixed string, now, at engram.Time) ([]thing, error) {
	will := map[engram.ID][]future{}
	first := map[engram.ID]map[string]any{}
	for _, segment := range []string{"Localization", "Proprioception"} {
		q := engram.MustPattern("RobotState/" + segment).Select(engram.Latest(1))
		err := g.predicted(ctx, q, now, at, func(id engram.ID, _ map[string]any, next []future) { will[id], first[id] = next, next[0].payload })
		if err != nil {
			return nil, err
		}
	}
	if len(will) == 0 {
		return nil, nil
	}
	last, err := g.places(ctx, t, edges, fixed, now, nil)
	if err != nil {
		return nil, err
	}
	next, err := g.places(ctx, t, edges, fixed, at, first)
	if err != nil {
		return nil, err
	}
	moved := func(child string, to, was map[string]pose.Pose) bool {
		a, ok := to[child]
		b, known := was[child]
		return ok && known && apart(a.T, b.T) > ghostMoves
	}
	robots := &foxglovepb.SceneEntity{FrameId: fixed, Id: "ghost robots"}
	draw := func(to map[string]pose.Pose, of map[string]float64, probability float64) {
		line := &foxglovepb.LinePrimitive{Type: foxglovepb.LinePrimitive_LINE_LIST, Thickness: 4, ScaleInvariant: true, Color: ghostColour(probability)}
		for _, e := range edges {
			if cmp.Or(of[e.Child], 1) != probability || !moved(e.Child, to, last) {
				continue
			}
			from, ok := to[e.Parent]
			if !ok || e.Kind == pose.KindFree {
				from = last[e.Child] // from where it is
			}
			line.Points = append(line.Points, point(from.T), point(to[e.Child].T))
		}
		if len(line.Points) > 0 {
			robots.Lines = append(robots.Lines, line)
		}
	}
	var things []thing
	mark := func(id engram.ID, way int, f *future, to map[string]pose.Pose) {
		child, _ := f.payload["child_frame_id"].(string)
		child = service.Absolute(service.RobotOf(id), child)
		if moved(child, to, last) {
			things = append(things, ghost(id, way, f, fixed, to[child], f.cov("", transformOf(f.payload))))
		}
	}
	ids := slices.SortedFunc(maps.Keys(will), engram.ID.Compare)
	chances := map[string]float64{} // of frames of which it is not certain where they will be
	ways := 0
	for _, id := range ids {
		of := will[id]
		mark(id, 0, &of[0], next)
		for k := 1; k < len(of) && ways < maxWays; k++ {
			ways++
			instead := maps.Clone(first)
			instead[id] = of[k].payload
			other, err := g.places(ctx, t, edges, fixed, at, instead)
			if err != nil {
				return nil, err
			}
			only := map[string]float64{}
			for _, e := range edges {
				if moved(e.Child, other, next) {
					only[e.Child], chances[e.Child] = of[k].probability, of[0].probability
				}
			}
			if len(only) > 0 {
				draw(other, only, of[k].probability)
				mark(id, k, &of[k], other)
			}
		}
	}
	draw(next, chances, 1)
	for _, p := range slices.Compact(slices.Sorted(maps.Values(chances))) {
		draw(next, chances, p)
	}
	if len(robots.Lines) > 0 {
		things = append(things, thing{Key: robots.Id, Kind: "scene", Frame: fixed, drawn: []*foxglovepb.SceneEntity{robots}})
	}
	return things, nil
}

// places returns where frames are in the fixed one at a time, with other payloads in the place of what some entities said.
func (g ghosts) places(ctx context.Context, t *tree, edges []pose.EdgeInfo, fixed string, at engram.Time, instead map[engram.ID]map[string]any) (map[string]pose.Pose, error) {
	poses, err := g.posesWith(ctx, moment{at: at}, instead)
	if err != nil {
		return nil, err
	}
	root := t.root(fixed)
	var questions []service.Question
	for _, e := range edges {
		if t.root(e.Child) == root {
			questions = append(questions, service.Question{Target: fixed, Source: e.Child, Time: at})
		}
	}
	answers, err := poses.LookUp(ctx, questions)
	if err != nil {
		return nil, err
	}
	out := map[string]pose.Pose{}
	for i, a := range answers {
		if a.Err == nil {
			out[questions[i].Source] = a.Pose
		}
	}
	return out, nil
}

// things draws the objects, and what else is a pose in a frame, that will have moved.
func (g ghosts) things(ctx context.Context, t *tree, fixed string, now, at engram.Time) (things []thing, err error) {
	drawn := map[engram.ID]bool{}
	draw := func(id engram.ID, last map[string]any, next []future) {
		was, ok := posevalue.OrIdentity(last["pose"])
		in, _ := last["frame_id"].(string)
		frame := t.full(in, service.RobotOf(id))
		if !ok || drawn[id] || t.root(frame) != t.root(fixed) {
			return
		}
		var ways []thing
		moves := false
		for k := range next {
			will, there := posevalue.OrIdentity(next[k].payload["pose"])
			if !there || next[k].payload["frame_id"] != last["frame_id"] {
				continue
			}
			moves = moves || apart(was.T, will.T) > ghostMoves
			way := ghost(id, k, &next[k], frame, will, next[k].cov("pose", will))
			way.drawn[0].Lines = []*foxglovepb.LinePrimitive{{
				Type: foxglovepb.LinePrimitive_LINE_STRIP, Thickness: 2, ScaleInvariant: true, Color: ghostColour(next[k].probability),
				Points: []*foxglovepb.Point3{point(was.T), point(will.T)},
			}}
			ways = append(ways, way)
		}
		if moves {
			drawn[id] = true
			things = append(things, ways...)
		}
	}
	poses := engram.Pattern{}.Select(engram.Latest(1))
	poses.Type = "foxglove.PoseInFrame"
	for _, q := range []engram.Query{engram.MustPattern("Object/Instance").Select(engram.Latest(1)), poses} {
		if err := g.predicted(ctx, q, now, at, draw); err != nil {
			return nil, err
		}
	}
	return things, nil
}

// ghost is what an entity may be, in a frame: the hypothesis at an index.
func ghost(id engram.ID, way int, f *future, frame string, at pose.Pose, cov []float64) thing {
	t := thing{Key: "ghost " + id.String(), Kind: "scene", ID: id.String(), Frame: frame, Cov: cov}
	if way > 0 {
		t.Key += " " + strconv.Itoa(way)
	}
	where := &foxglovepb.Pose{
		Position:    &foxglovepb.Vector3{X: at.T.X, Y: at.T.Y, Z: at.T.Z},
		Orientation: &foxglovepb.Quaternion{X: at.R.X, Y: at.R.Y, Z: at.R.Z, W: at.R.W},
	}
	e := &foxglovepb.SceneEntity{FrameId: frame, Id: id.String(), Cubes: []*foxglovepb.CubePrimitive{{
		Pose: where, Size: &foxglovepb.Vector3{X: ghostSize, Y: ghostSize, Z: ghostSize}, Color: ghostColour(f.probability),
	}}}
	if f.probability < 1 {
		e.Texts = []*foxglovepb.TextPrimitive{{Pose: where, Text: strconv.Itoa(int(math.Round(100*f.probability))) + " %"}}
	}
	t.drawn = []*foxglovepb.SceneEntity{e}
	return t
}

// ghostColour is the paler the less probable something is.
func ghostColour(probability float64) *foxglovepb.Color {
	return &foxglovepb.Color{R: 0.3, G: 0.7, B: 1, A: max(0.45*probability, 0.05)}
}

func point(v pose.Vec3) *foxglovepb.Point3 { return &foxglovepb.Point3{X: v.X, Y: v.Y, Z: v.Z} }
