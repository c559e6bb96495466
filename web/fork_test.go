package web_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/web"
)

const (
	person    = "GeneralPurpose/Person/Eyes/Ada"
	walkSteps = 50 // 5 s
	walkStep  = 100 * time.Millisecond
)

// walking is a server with a segment for a person.
func walking(t *testing.T) *server.Server {
	t.Helper()
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	err := svc.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Person"), Type: "foxglove.PoseInFrame", History: engram.Bounds{MaxCount: 4000}})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// walk puts a step of somebody who walks along x to 3, then to one side, to the left in 6 of 10 walks, and begins anew.
func walk(t *testing.T, svc engram.Writer, i int, at engram.Time) (x, y float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(i)))
	x = min(0.1*float64(i%walkSteps), 3)
	if y = max(0.1*float64(i%walkSteps)-3, 0); i/walkSteps%5 >= 3 {
		y = -y
	}
	x, y = x+0.01*r.NormFloat64(), y+0.01*r.NormFloat64()
	putMessage(t, svc, person, at, &foxglovepb.PoseInFrame{FrameId: "map", Pose: &foxglovepb.Pose{
		Position: &foxglovepb.Vector3{X: x, Y: y}, Orientation: &foxglovepb.Quaternion{W: 1},
	}})
	return x, y
}

// A person and a robot at a fork have a ghost on each way, the less probable the paler, each with the covariance of its own.
func TestGhostsAtAFork(t *testing.T) {
	svc := walking(t)
	now := engram.Now()
	l := look(t, svc, web.Options{Now: func() engram.Time { return now }})
	const steps = 50*walkSteps + 30
	for i := range steps {
		at := now.Add(-walkStep * time.Duration(steps-1-i))
		x, y := walk(t, svc, i, at)
		putValues(t, svc, "RobotState/Localization/arm/base", "engram.robot_state.Localization", at, map[string]any{
			"parent_frame_id": "map", "child_frame_id": "base", "translation": map[string]any{"x": x, "y": y}, "rotation": map[string]any{"w": 1.0},
		})
	}
	describe(t, svc, now)
	var s sceneAnswer
	if err := json.Unmarshal(l.ok("/view/ghosts", "fixed", "arm/map", "ahead", "1000"), &s); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{person, "RobotState/Localization/arm/base"} {
		left, right := s.thing("ghost "+of), s.thing("ghost "+of+" 1")
		if left == nil || right == nil || s.thing("ghost "+of+" 2") != nil {
			t.Fatalf("%s has the ghosts %+v", of, s.Parts)
		}
		a, b := left.Entities[0].Cubes[0], right.Entities[0].Cubes[0]
		if a.Pose.Position.Y < 0.7 || b.Pose.Position.Y > -0.7 || math.Abs(a.Color.A/b.Color.A-1.5) > 0.4 {
			t.Errorf("%s may be at %+v and at %+v", of, a, b)
		}
		if text := left.Entities[0].Texts[0].Text; text[0] != '5' && text[0] != '6' {
			t.Errorf("%s goes left with %q", of, text)
		}
		// Together they are more than 0.7 m apart from their mean; each alone is as sure as a walker.
		for _, way := range []*thingAnswer{left, right} {
			if len(way.Cov) != 6 || !(way.Cov[3] > 1e-6 && way.Cov[3] < 0.05) {
				t.Errorf("%s has the covariance %v", way.Key, way.Cov)
			}
		}
	}
	if robots := s.thing("ghost robots"); robots == nil || len(robots.Entities[0].Lines) != 2 {
		t.Errorf("the lines of the robot are %+v", robots)
	}
}

// Where a person comes to a fork, the plot has a line for each hypothesis, with its probability, and 3D a ghost and an
// ellipsoid.
func TestForkPanels(t *testing.T) {
	testkit.Node(t, "app", "playwright-core")
	svc := walking(t)
	const before = 40 * walkSteps
	begin := engram.Now().Add(-before * walkStep)
	for i := range before {
		walk(t, svc, i, begin.Add(walkStep*time.Duration(i)))
	}
	serving.Until(t, func(ctx context.Context) error {
		for {
			now := engram.Now()
			walk(t, svc, int(now.Sub(begin)/walkStep), now)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(walkStep):
			}
		}
	})
	url, _ := serve(t, svc, serving.AnyPort)
	browser(t, "fork.mjs", url, nil)
}
