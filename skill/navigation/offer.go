package navigation

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// MoveTo is the name of the skill that [Offer] offers.
const MoveTo = "MoveTo"

// MoveToParameters are what MoveTo takes.
type MoveToParameters struct {
	Goal string // as [Places.Resolve] takes it: "table", "the cup", "3.5,2", "3.5,2,1.57", an ID
}

// MoveToResult is what MoveTo gives.
type MoveToResult struct {
	X, Y   float64   // where the robot is, metres in the frame of the floor
	Yaw    float64   // rad
	Length float64   // of the way that was driven, metres
	Result engram.ID // the snapshot of Navigation/Result
	Plan   engram.ID // that of the last Navigation/Plan
}

// Offer has a provider offer the skills MoveTo and [PlanPath]: MoveTo drives the navigator's platform, which it has for itself alone as
// the resource "platform", to what a text means. What is recorded of a drive links to the request and to the
// execution. A platform or a planner of one's own is one of the navigator's; a skill of the same name by another
// provider takes the place of each of these.
//
// Failures have the codes of [Reason] such as "goal_blocked", "blocked" and "unknown_goal", and the last event as what was in the way.
func Offer(p *skill.Provider, n *Navigator, places *Places) {
	skill.Handle(p, skill.Spec{Name: PlanPath, Description: "Finds a path over the floor that the robot can drive."}, n.planPath)
	skill.Handle(p, skill.Spec{
		Name: MoveTo, Description: "Drives to a place, an item or a pose.", Resources: []string{"platform"},
		StopTimeout: 2 * time.Second, Preemptible: true,
	}, func(c *skill.Call, in MoveToParameters) (out MoveToResult, err error) {
		at, err := n.o.Platform.Pose(c)
		if err != nil {
			return out, err
		}
		goal, err := places.Resolve(c, in.Goal, at.Point)
		if err != nil {
			return out, failureOf(err, Result{})
		}
		goal.Execution, goal.Request = c.Execution, c.Request()
		r, err := n.Go(context.WithValue(c, callKey{}, c), goal)
		if err != nil && c.Err() == nil {
			err = failureOf(err, r)
		}
		return MoveToResult{r.Final.X, r.Final.Y, r.Final.Yaw, r.Length, r.ID, r.Plan}, err
	})
}

// failureOf says an error as the failure of a skill.
func failureOf(err error, r Result) error {
	var f *Failure
	code, retry := "", skill.RetryNo
	switch {
	case errors.As(err, &f):
		code = strings.ReplaceAll(string(f.Reason), " ", "_")
	case engram.CodeOf(err) == engram.NotFound:
		code = "unknown_goal"
	case engram.CodeOf(err) == engram.Unavailable:
		code, retry = "blocked", skill.RetryLater
	default:
		return err
	}
	var by []engram.ID
	if len(r.Events) > 0 {
		by = r.Events[len(r.Events)-1:]
	}
	return skill.Errorf(code, retry, by, "%s", err)
}
