package client_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/pose"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// poseMemory is a memory with poses of its own: base in odom at x, and an anchor
// above.
func poseMemory(t *testing.T, x float64) server.Memory {
	t.Helper()
	store := pose.New(pose.Config{})
	if err := store.Anchor("map", "r/odom"); err != nil {
		t.Fatal(err)
	}
	edge, err := store.Free("r/odom", "r/base")
	if err == nil {
		err = edge.Set(1, pose.Translation(x, 0, 0))
	}
	if err == nil {
		err = store.Fixed("r/base", "r/cam", pose.Identity(), pose.ExactCov())
	}
	if err != nil {
		t.Fatal(err)
	}
	m := memory(client.PoseMemory)
	m.Features = []feature.Feature{poses.Feature(lookup.New(store, lookup.Writes{}))}
	return m
}

func keyAt(y float64) lookup.Transaction {
	return lookup.Transaction{Author: "slam", Keys: []lookup.Key{{Parent: "map", Child: "r/odom", Time: 1, Pose: pose.Translation(0, y, 0)}}}
}

func whereIsBase(t *testing.T, p lookup.Service) float64 {
	t.Helper()
	a, err := p.LookUp(t.Context(), []lookup.Question{{Target: "odom", Source: "r/base", Time: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if a[0].Err != nil {
		t.Fatal(a[0].Err)
	}
	return a[0].Pose.T.X
}

// The memory that keeps the poses is not at the name system's server, and moves.
func TestPosesOfAnotherServer(t *testing.T) {
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	home := start(t, "home", names, names, serving.Socket(t), memory("A"))
	away := start(t, "away", names, nil, serving.Socket(t), poseMemory(t, 1))
	c := connect(t, home.address)
	p := c.Poses(client.PoseMemory)
	if x := whereIsBase(t, p); x != 1 {
		t.Errorf("base at %g", x)
	}
	// Beside it, the other calls take their own way.
	testkit.Commit(t, c, testkit.Update(t, entity(client.PoseMemory), 1, "x"))
	watch, err := p.Watch(t.Context(), pose.Changes{Target: "map", Source: "r/cam", OnlyAcquired: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if _, err := p.CommitRevision(t.Context(), keyAt(1)); err != nil {
		t.Fatal(err)
	}
	a, err := p.Acquire(t.Context(), lookup.Acquire{Sensor: "r/cam", Time: 1, Wait: true})
	if err != nil || a.Base != "r/base" {
		t.Fatal(a, err)
	}
	if _, err := p.CommitRevision(t.Context(), keyAt(3)); err != nil {
		t.Fatal(err)
	}
	ev, err := watch.Next(t.Context())
	if err != nil || len(ev.Moved) != 1 || ev.Moved[0].Trans != 2 {
		t.Fatalf("%+v, %v", ev, err)
	}
	if err := p.Release(t.Context(), a.ID); err != nil {
		t.Error(err)
	}
	if left, err := p.LeftOut(t.Context()); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	if _, err := c.Poses("A").Tree(t.Context(), nil); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a memory without poses: %v", err)
	}
	if _, err := c.Poses("Nowhere").Tree(t.Context(), nil); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("no such memory: %v", err)
	}

	// At another address and in another epoch: what reads is answered from there, a
	// watch says that it is over.
	away.stop()
	if _, err := watch.Next(t.Context()); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("the watch of a server that is gone: %v", err)
	}
	start(t, "away", names, nil, serving.Socket(t), poseMemory(t, 2))
	if _, err := c.Names().Wait(t.Context(), client.PoseMemory); err != nil {
		t.Fatal(err)
	}
	if x := whereIsBase(t, p); x != 2 {
		t.Errorf("base at %g", x)
	}
}

// Where a server is registered for this host's programs only, poses say what they
// need.
func TestPosesNeedRPC(t *testing.T) {
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	home := start(t, "home", names, names, serving.Socket(t), memory("A"))
	if _, err := names.Register(t.Context(), mns.Registration{Server: "away", Memories: []string{client.PoseMemory}, Addresses: []string{"local:/nowhere"}, TTL: mns.MaxTTL}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, home.address)
	if _, err := c.Poses(client.PoseMemory).Tree(t.Context(), nil); engram.CodeOf(err) != engram.Unsupported {
		t.Error(err)
	}
}
