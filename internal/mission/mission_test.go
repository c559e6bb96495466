package mission

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/link/service"
)

// depot is the map that the mission is measured on; "" where there is no shared data.
func depot() string {
	const file = "../../../shared/data/maps/depot.yaml"
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// run runs a mission from the first sentence to the drop, 10 times as fast as real time.
func run(t *testing.T, c Config) *Report {
	t.Helper()
	c.Dir, c.Out, c.Speed = t.TempDir(), t.Output(), 10
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	m, err := Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := m.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if *missions && r.Took > 5*time.Minute { // on a busy machine robots think long
		t.Errorf("it took %v of simulated time", r.Took)
	}
	for _, name := range []string{GarbageSeen, BinSeen, GarbageHeld, GarbageDropped} {
		for _, b := range m.members {
			if _, ok := r.Event[name].In[b.name]; !ok && !b.killed {
				t.Errorf("%s is not in the world of %s", name, b.name)
			}
		}
	}
	explain(ctx, t, m, r)
	return r
}

// explain follows the links from what says that the garbage is in the bin.
func explain(ctx context.Context, t *testing.T, m *Mission, r *Report) {
	t.Helper()
	// What the others have is copied a moment after their worlds have it.
	testkit.Until(t, func() (said string, yes bool) {
		seen := map[string]bool{}
		for part, err := range m.members[0].client.Links().Trace(ctx, service.TraceQuery{Start: r.Dropped}) {
			if err != nil {
				return err.Error(), false
			}
			if part.Node != nil {
				seen[part.Node.Type] = true
			}
		}
		for _, typ := range []string{
			"engram.object.Attachment", "engram.object.Instance", "foxglove.CompressedImage", "engram.robot_state.Localization",
			"engram.skill.Execution", "engram.skill.Request", "engram.speech.Command", "engram.speech.Text",
		} {
			if !seen[typ] {
				return fmt.Sprintf("the trace of %s has no %s", r.Dropped, typ), false
			}
		}
		return "", true
	})
}

var missions = flag.Bool("missions", false, "run the missions that take minutes, too")

// whole skips the test unless the flag -missions is given.
func whole(t *testing.T) {
	if !*missions {
		t.Skip("takes minutes; run it with -missions")
	}
}

// A mission in the small hallway, from the sentences to the drop, and the trace back.
func TestMission(t *testing.T) {
	run(t, Config{Seed: 1})
}

// When a scout dies the other finds what is left.
func TestScoutIsKilled(t *testing.T) {
	whole(t)
	if r := run(t, Config{Seed: 2, KillScout: true}); len(r.Lost) == 0 {
		t.Error("nobody was killed")
	}
}

// A scout that is cut off goes on alone; what it saw is in the worlds of all afterwards.
func TestLinkIsCut(t *testing.T) {
	whole(t)
	run(t, Config{Seed: 3, CutLink: 20 * time.Second})
}

// The same with a host and a process for each, with packets lost and a process killed.
func TestNamespaces(t *testing.T) {
	whole(t)
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	program := filepath.Join(t.TempDir(), "engram")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/engram").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := run(t, Config{Seed: 1, Namespaces: true, Program: program, KillScout: true, CutLink: 20 * time.Second}); len(r.Lost) == 0 {
		t.Error("nobody was killed")
	}
}

// Found and dropped within 5 minutes, wherever things lie.
func TestSeeds(t *testing.T) {
	whole(t)
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed+1), func(t *testing.T) { run(t, Config{Map: depot(), Seed: seed + 1}) })
	}
}

// A mission that cannot be is refused.
func TestBadConfig(t *testing.T) {
	for _, c := range []Config{{Speed: 0}, {Speed: 1e6}, {Speed: 1, Map: "no-such-map.yaml"}} {
		c.Dir = t.TempDir()
		if m, err := Start(t.Context(), c); err == nil {
			m.Close()
			t.Errorf("%+v is taken", c)
		} else if engram.CodeOf(err) == engram.Internal && c.Map == "" {
			t.Error(err)
		}
	}
}
