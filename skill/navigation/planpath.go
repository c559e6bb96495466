package navigation

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// PlanPath is the name of the skill that finds a path. [Offer] offers it with the navigator's
// planner. MoveTo prefers a PlanPath of another provider.
const PlanPath = "PlanPath"

// PlanPathParameters are what PlanPath takes.
type PlanPathParameters struct {
	From, To Point  // metres, in the frame of the floor
	Frame    string // the name of that frame; "" is the floor's
}

// PlanPathResult is what PlanPath gives. A failure has one of the codes of [Reason].
type PlanPathResult struct {
	Path   []Point // from the start to the goal
	Length float64 // metres
}

func (n *Navigator) planPath(c *skill.Call, in PlanPathParameters) (out PlanPathResult, err error) {
	if in.Frame != "" && in.Frame != n.o.Floor.frame {
		return out, skill.Errorf(skill.CodeParameters, skill.RetryNo, nil, "the frame is %q here, not %q", n.o.Floor.frame, in.Frame)
	}
	path, err := n.o.Floor.Plan(c, n.o.Planner, in.From, in.To)
	if err != nil {
		return out, failureOf(err, Result{})
	}
	return PlanPathResult{path, path.Length()}, nil
}

// callKey is the key of the execution of MoveTo in the context of a drive.
type callKey struct{}

// askedPath asks the skill PlanPath of another provider for a path; asked is false if there is
// none.
func (d *drive) askedPath(ctx context.Context, from, to Point) (path Path, asked bool, err error) {
	call, _ := ctx.Value(callKey{}).(*skill.Call)
	if call == nil {
		return nil, false, nil
	}
	memory := call.Execution.Memory()
	id, err := engram.NewID(memory, "Description")
	if err != nil {
		return nil, false, err
	}
	offers := engram.PatternOf(id)
	offers.Levels = append(offers.Levels, engram.AllNames(), engram.OneOf(PlanPath))
	q := offers.Select(engram.Latest(1))
	q.WithoutPayload = true
	r, err := call.Service().Query(ctx, q)
	if err != nil || len(r.Items()) < 2 { // one is the navigator's own
		return nil, false, nil
	}
	answer, err := call.Run(PlanPath, PlanPathParameters{from, to, d.o.Floor.frame})
	if failed, ok := errors.AsType[*skill.Failure](err); ok {
		reason := Reason(strings.ReplaceAll(failed.Code, "_", " "))
		switch reason {
		case Unreachable, StartBlocked, GoalBlocked, StartOutside, GoalOutside, NoFreeCell:
			return nil, true, fail(reason, to, "%s", failed.Message)
		}
		return nil, true, engram.Errorf(engram.Unavailable, PlanPath, "%w", failed)
	}
	if err != nil {
		return nil, true, err
	}
	m, _ := answer.(map[string]any)
	list, _ := m["path"].([]any)
	for _, v := range list {
		p, _ := v.(map[string]any)
		x, okX := p["x"].(float64)
		y, okY := p["y"].(float64)
		if !okX || !okY {
			return nil, true, engram.Errorf(engram.Invalid, PlanPath, "its path has something without x and y in it: %v", v)
		}
		path = append(path, Point{x, y})
	}
	if len(path) < 2 || path[0].Distance(from) > reached || path[len(path)-1].Distance(to) > reached {
		return nil, true, engram.Errorf(engram.Invalid, PlanPath, "its path of %d points does not lead from (%.3f, %.3f) to (%.3f, %.3f)", len(path), from.X, from.Y, to.X, to.Y)
	}
	return path, true, nil
}
