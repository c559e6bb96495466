package web_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// nowhere loses what is committed.
type nowhere struct{}

func (nowhere) Commit(_ context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	return make([]engram.UpdateResult, len(c.Updates)), nil
}

// One sees of each episode the first and the last image, what the robot did and what stands out, keeps it, trims it and
// drops it, and is asked before what cannot be undone.
func TestEpisodesPanel(t *testing.T) {
	testkit.Node(t, "app", "playwright-core")
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Store: store, Log: testkit.Quiet})
	const ticks, from, to = 600, 300, 400 // of which some are lost
	start := engram.Now().Add(-sim.Period * ticks)
	robot, err := sim.New(sim.Config{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		to    engram.Writer
		ticks int
	}{{srv, from}, {nowhere{}, to - from}, {srv, ticks - to}} {
		if _, err := robot.RunTicks(t.Context(), part.to, 0, part.ticks); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.LongTerm().Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	second := start.Add(time.Second)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "episodes.mjs", url, map[string]func() string{
		"second": func() string { return second.Std().UTC().Format("2006-01-02 15:04:05.000") },
		"trimmed": func() string {
			joints := engram.MustID("RobotState/Proprioception/Simulation/humanoid")
			before, err := srv.AtOrBefore(t.Context(), joints, second.Add(-time.Millisecond))
			if err == nil {
				return fmt.Sprintf("there are joints at %v", before.Time)
			}
			res, err := srv.Query(t.Context(), engram.MustPattern("RobotState/Description").Select(engram.AtOrBefore(second)))
			if err != nil || len(res.Items()) == 0 {
				return fmt.Sprintf("the description is gone: %v", err)
			}
			return "states are there, streams begin later"
		},
		"dropped": func() string {
			testkit.Until(t, func() (string, bool) { // the call is under way
				list, err := srv.LongTerm().Episodes(t.Context(), engram.Always())
				if err != nil {
					return err.Error(), false
				}
				n := 0
				for _, e := range list {
					if e.Sealed {
						n++
					}
				}
				return fmt.Sprintf("there are %d sealed episodes", n), n == 0
			})
			return "0"
		},
	})
}
