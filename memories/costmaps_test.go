package memories_test

import (
	"context"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/world"
	"github.com/seed-301d4374/engram/world/files"
)

func readGrid(t testing.TB, file string) *files.Grid {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := files.ReadGrid(text, file, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// withDepot returns a server and a world in it that has the map of a depot and a cart.
func withDepot(t testing.TB) (*server.Server, *world.Memory) {
	t.Helper()
	g := readGrid(t, testkit.Shared(t, "maps", "depot.yaml"))
	srv := newServer(t, memories.Navigation(memories.WithRobotRadius(0.25)), memories.Object(), memories.World())
	w, err := world.Over(t.Context(), srv, "anna", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if _, err := w.SetMap(t.Context(), "depot", g.Map(nil, "map"), g.Data); err != nil {
		t.Fatal(err)
	}
	refused, _, err := w.Update(t.Context(), world.NamedItem{Name: "cart", Item: world.Item{
		Placement:   &world.Placement{Frame: "map", Pose: pose.Translation(5, 0, 0)},
		Description: &world.Description{Kinds: []string{world.KindObject}, Box: &world.Box{Pose: pose.Translation(0, 0, 0.5), Size: pose.Vec3{X: 1, Y: 0.6, Z: 1}}},
	}})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	return srv, w
}

const depotCosts = "Navigation/Costmap/" + memories.CostmapProvider + "/depot"

func costsOf(t testing.TB, s *engram.Snapshot) *foxglove.Grid {
	t.Helper()
	var g foxglove.Grid
	if err := proto.Unmarshal(s.Instances[0].Payload.Bytes, &g); err != nil {
		t.Fatal(err)
	}
	return &g
}

// costAt returns the cost of the cell at a point of a cost map that is not turned.
func costAt(g *foxglove.Grid, x, y float64) byte {
	cx, cy := int((x-g.Pose.Position.X)/g.CellSize.X), int((y-g.Pose.Position.Y)/g.CellSize.Y)
	return g.Data[cy*int(g.RowStride)+cx]
}

// The first question for cost maps begins them; from then on they follow the world by themselves.
func TestCostmapsFollowTheWorld(t *testing.T) {
	srv, w := withDepot(t)
	ctx := t.Context()
	// Nobody has asked yet, and who asks for everything does not.
	if _, err := srv.Query(ctx, engram.MustPattern("*/*/*/*").Select(engram.Latest(1))); err != nil {
		t.Fatal(err)
	}
	if stats, err := srv.Stats(ctx, engram.MustPattern("Navigation"), engram.LevelMemory); err != nil || stats[0].Snapshots != 0 {
		t.Errorf("there are cost maps that nobody wants: %v, %v", stats, err)
	}
	first, err := srv.Latest(ctx, engram.MustID(depotCosts))
	if err != nil {
		t.Fatal(err)
	}
	g := costsOf(t, first)
	if at, near, free := costAt(g, 5, 0), costAt(g, 5.7, 0), costAt(g, 6.5, 0); at != 254 || near != 253 || free != 0 || g.FrameId != "map" {
		t.Errorf("in the cart %d, beside it %d, away from it %d, in %s", at, near, free, g.FrameId)
	}
	stream, err := srv.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern(depotCosts)}, WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := w.UpdatePose(ctx, "cart", "map", pose.Translation(6.5, 0, 0), pose.ExactCov()); err != nil {
		t.Fatal(err)
	}
	for moved := false; !moved; {
		updates, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range updates {
			g := costsOf(t, u.Snapshot)
			moved = costAt(g, 5, 0) == 0 && costAt(g, 6.5, 0) == 254
		}
	}
	// What is far away has no new one committed: the next that comes is of the cart.
	for range 20 {
		if _, err := w.UpdatePose(ctx, "cart", "map", pose.Translation(1000, 0, 0), pose.ExactCov()); err != nil {
			t.Fatal(err)
		}
	}
	for g := costsOf(t, first); costAt(g, 6.5, 0) != 0; {
		updates, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		g = costsOf(t, updates[len(updates)-1].Snapshot)
	}
	// A new map of the name has a new cost map.
	small := readGrid(t, testkit.Shared(t, "maps", "TenByTen.yaml"))
	if _, err := w.SetMap(ctx, "depot", small.Map(nil, "map"), small.Data); err != nil {
		t.Fatal(err)
	}
	for width := uint32(0); width != 10; {
		updates, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		width = costsOf(t, updates[len(updates)-1].Snapshot).ColumnCount
	}
}

// A subscription begins them as well: the first comes over it, and nothing that moves meanwhile is missed.
func TestCostmapsBeginWithASubscription(t *testing.T) {
	srv, w := withDepot(t)
	ctx := t.Context()
	moved := make(chan error, 1)
	go func() {
		_, err := w.UpdatePose(ctx, "cart", "map", pose.Translation(6.5, 0, 0), pose.ExactCov())
		moved <- err
	}()
	stream, err := srv.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern(depotCosts)}, WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for there := false; !there; {
		updates, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		g := costsOf(t, updates[len(updates)-1].Snapshot)
		there = costAt(g, 5, 0) == 0 && costAt(g, 6.5, 0) == 254
	}
	if err := <-moved; err != nil {
		t.Error(err)
	}
}

// Without a map, or without the memory World, the first question is answered, too.
func TestNoCostmaps(t *testing.T) {
	for _, all := range [][]server.Memory{{memories.Navigation()}, {memories.Navigation(), memories.World()}} {
		if _, err := newServer(t, all...).Latest(t.Context(), engram.MustID(depotCosts)); engram.CodeOf(err) != engram.NotFound {
			t.Error(err)
		}
	}
}

// BenchmarkCostmap measures from the move of a thing to the cost map at a subscriber.
func BenchmarkCostmap(b *testing.B) {
	srv, w := withDepot(b)
	ctx := context.Background()
	if _, err := srv.Latest(ctx, engram.MustID(depotCosts)); err != nil {
		b.Fatal(err)
	}
	stream, err := srv.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern(depotCosts)}})
	if err != nil {
		b.Fatal(err)
	}
	defer stream.Close()
	for k := 0; b.Loop(); k++ {
		if _, err := w.UpdatePose(ctx, "cart", "map", pose.Translation(3+float64(k%2), 0, 0), pose.ExactCov()); err != nil {
			b.Fatal(err)
		}
		if _, err := stream.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
