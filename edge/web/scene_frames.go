package web

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// framesJSON is the tree of frames, without items of the world on which nothing hangs.
type framesJSON struct {
	Fixed   string         `json:"fixed"` // in which the scene is shown
	List    []frameJSON    `json:"list"`
	Missing []missingFrame `json:"missing,omitempty"`
}

// frameJSON is where a frame is in its parent.
type frameJSON struct {
	Name   string    `json:"name"`
	Parent string    `json:"parent"`
	Pose   *poseJSON `json:"pose"`
	Time   int64     `json:"time,omitzero,string"` // of its sample; 0 if it is fixed
	Cov    []float64 `json:"cov,omitempty"`        // of its position, in its axes: xx xy xz yy yz zz, m²
}

// missingFrame is a frame that cannot be shown in the fixed one, and why.
type missingFrame struct {
	Frame string `json:"frame"`
	Why   string `json:"why"`
}

const (
	maxFrames  = 5_000 // that a scene has
	maxMissing = 20    // of which is told why
)

// frames returns the frames at a time, with the names that things have for frames made full. Who may not ask for them, or
// where nobody keeps them, has none.
func (p *scenes) frames(ctx context.Context, when moment, fixed string, things []thing) (*framesJSON, error) {
	f := &framesJSON{List: []frameJSON{}}
	_, t, err := treeAt(ctx, p.poses, when.at)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f.Missing = append(f.Missing, missingFrame{"", err.Error()})
	}
	used := t.use(things)
	if fixed != "" {
		fixed = t.full(fixed, "")
		used[fixed] = true
	}
	if err := p.place(ctx, when, t.needed(used, things), f); err != nil {
		return nil, err
	}
	f.Fixed = cmp.Or(fixed, t.largest(f.List, used))
	if err := p.settle(ctx, when, t, f.Fixed, things); err != nil {
		return nil, err
	}
	root := t.root(f.Fixed)
	var apart []string
	for name := range used {
		if t.root(name) != root {
			apart = append(apart, name)
		}
	}
	slices.Sort(apart)
	apart = apart[:min(len(apart), maxMissing)]
	questions := make([]lookup.Question, len(apart))
	for i, name := range apart {
		questions[i] = lookup.Question{Target: f.Fixed, Source: name, Time: when.at}
	}
	if len(apart) > 0 {
		answers, err := p.poses.LookUp(ctx, questions)
		for i, name := range apart {
			why := "nobody says where it is"
			if err == nil && answers[i].Err != nil {
				why = answers[i].Err.Error()
			}
			f.Missing = append(f.Missing, missingFrame{name, why})
		}
	}
	return f, nil
}

// place asks where edges are, and adds their frames. What the poses have no more, the memory has.
func (p *scenes) place(ctx context.Context, when moment, edges []pose.EdgeInfo, f *framesJSON) error {
	questions := make([]lookup.Question, len(edges))
	for i, e := range edges {
		q := &questions[i]
		*q = lookup.Question{Target: e.Parent, Source: e.Child, Time: when.at, Cov: e.Kind != pose.KindJoint}
		if e.Kind != pose.KindFixed && e.Samples > 0 {
			q.Time = min(e.Last, when.at)
			if when.now {
				q.Time = e.Last
			}
		}
	}
	answers := make([]lookup.Answer, len(edges))
	if len(edges) > 0 {
		var err error
		if answers, err = p.poses.LookUp(ctx, questions); err != nil {
			return err
		}
	}
	var past lookup.Service
	for i, a := range answers {
		e := &edges[i]
		// What was known at another time, the memory knows.
		if never := e.Samples+e.Pruned == 0 && e.Kind != pose.KindFixed; when.asOf != nil || a.Err != nil && !(never && when.now) {
			if past == nil {
				var err error
				if past, err = p.pastPoses(ctx, when); err != nil {
					return err
				}
			}
			q := questions[i]
			q.Time = when.at
			if found, err := past.LookUp(ctx, []lookup.Question{q}); err == nil && found[0].Err == nil {
				a = found[0]
			}
		}
		if a.Err != nil {
			if len(f.Missing) < maxMissing {
				f.Missing = append(f.Missing, missingFrame{e.Child, a.Err.Error()})
			}
			continue
		}
		j := frameJSON{Name: e.Child, Parent: e.Parent, Pose: jsonPose(a.Pose), Cov: positionCov(&a.Cov)}
		if e.Kind != pose.KindFixed {
			j.Time = int64(questions[i].Time)
		}
		f.List = append(f.List, j)
	}
	return nil
}

// positionCov returns the covariance of a position; nil if it is exact or unknown.
func positionCov(c *pose.Cov) []float64 {
	if c.State() != pose.Estimated {
		return nil
	}
	return []float64{c.At(0, 0), c.At(0, 1), c.At(0, 2), c.At(1, 1), c.At(1, 2), c.At(2, 2)}
}

// tree finds ways in the transform tree.
type tree struct {
	up    map[string]pose.EdgeInfo // by child
	names map[string][]string      // the full names of frames, by the part after the last slash
}

// treeAt returns the edges of the transform tree that hold at a time; none, and a tree without frames, with an error.
func treeAt(ctx context.Context, poses lookup.Service, at engram.Time) ([]pose.EdgeInfo, *tree, error) {
	edges, err := poses.Tree(ctx, nil)
	if err != nil {
		edges = nil
	}
	edges = slices.DeleteFunc(edges, func(e pose.EdgeInfo) bool { return !e.Valid.Contains(at) })
	return edges, treeOf(edges), err
}

func treeOf(edges []pose.EdgeInfo) *tree {
	t := &tree{up: map[string]pose.EdgeInfo{}, names: map[string][]string{}}
	for _, e := range edges {
		t.up[e.Child] = e
	}
	add := func(name string) {
		last := name[strings.LastIndexByte(name, '/')+1:]
		if !slices.Contains(t.names[last], name) {
			t.names[last] = append(t.names[last], name)
		}
	}
	for _, e := range edges {
		add(e.Child)
		if _, also := t.up[e.Parent]; !also {
			add(e.Parent)
		}
	}
	return t
}

// full returns the full name of a frame that data of a robot name, as the pose store reads it: that of the robot, or the
// only one that ends so.
func (t *tree) full(name, robot string) string {
	name = strings.TrimLeft(name, "/")
	known := t.names[name[strings.LastIndexByte(name, '/')+1:]]
	own := robot + "/" + name
	switch {
	case slices.Contains(known, name) || strings.Contains(name, "/"):
		return name
	case slices.Contains(known, own):
		return own
	case len(known) == 1:
		return known[0]
	}
	return name
}

// use makes the names of frames in things full, and returns them.
func (t *tree) use(things []thing) map[string]bool {
	used := map[string]bool{}
	for i := range things {
		th := &things[i]
		if th.Kind == "robot" {
			continue
		}
		robot := ""
		if id, err := engram.Parse(th.ID); err == nil {
			robot = lookup.RobotOf(id)
		}
		if len(th.drawn) == 0 {
			th.Frame = t.full(th.Frame, robot)
			used[th.Frame] = true
		}
		for _, e := range th.drawn {
			e.FrameId = t.full(e.GetFrameId(), robot)
			th.Frame = e.FrameId
			used[e.FrameId] = true
		}
	}
	return used
}

// needed returns the edges that a scene has: those that are no item's, and all above what is used.
func (t *tree) needed(used map[string]bool, things []thing) []pose.EdgeInfo {
	items := map[string]bool{}
	for i := range things {
		if name, is := strings.CutPrefix(things[i].Key, itemKey); is {
			items[name] = true
		}
	}
	need := map[string]bool{}
	above := func(frame string) {
		for !need[frame] {
			e, ok := t.up[frame]
			if !ok {
				return
			}
			need[frame] = true
			frame = e.Parent
		}
	}
	for child := range t.up {
		if !items[child] {
			above(child)
		}
	}
	for frame := range used {
		above(frame)
	}
	var edges []pose.EdgeInfo
	for child := range need {
		edges = append(edges, t.up[child])
	}
	slices.SortFunc(edges, func(a, b pose.EdgeInfo) int { return cmp.Compare(a.Child, b.Child) })
	return edges[:min(len(edges), maxFrames)]
}

// root returns the frame above all of a frame's.
func (t *tree) root(frame string) string {
	for range len(t.up) + 1 {
		e, ok := t.up[frame]
		if !ok {
			break
		}
		frame = e.Parent
	}
	return frame
}

// largest returns the root below which most is.
func (t *tree) largest(frames []frameJSON, used map[string]bool) string {
	below := map[string]int{}
	for i := range frames {
		below[t.root(frames[i].Name)]++
	}
	for name := range used {
		below[t.root(name)]++
	}
	best := ""
	for root, n := range below {
		if n > below[best] || n == below[best] && root < best {
			best = root
		}
	}
	return best
}
