package navigation_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
	"github.com/seed-301d4374/engram/world/files"
)

// hall is a map of 10 m x 10 m without walls, whose corner is the frame "hall".
var hall = func() *files.Grid {
	pgm := append([]byte("P5\n100 100\n255\n"), make([]byte, 100*100)...)
	for i := range 100 * 100 {
		pgm[len(pgm)-1-i] = 254
	}
	g, err := files.ReadGrid([]byte("image: hall.pgm\nresolution: 0.1\norigin: [0, 0, 0]\n"), "hall.yaml", func(string) ([]byte, error) { return pgm, nil })
	if err != nil {
		panic(err)
	}
	return g
}()

func thing(name, parent string, x, y float64, size pose.Vec3, kinds ...string) world.NamedItem {
	return world.NamedItem{Name: name, Item: world.Item{
		Structure:   &world.Structure{Parent: parent},
		Placement:   &world.Placement{Pose: pose.Translation(x, y, 0)},
		Description: &world.Description{Kinds: kinds, Box: &world.Box{Pose: pose.Translation(0, 0, size.Z/2), Size: size}},
	}}
}

func state(t testing.TB, m world.Model, items ...world.NamedItem) {
	t.Helper()
	refused, _, err := m.Update(context.Background(), items...)
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
}

// furnished is a world with a hall, a table in it and a robot.
func furnished(t testing.TB) *world.Local {
	t.Helper()
	m := world.NewLocal("anna", world.DefaultRules())
	state(t, m,
		thing("hall", "", 0, 0, pose.Vec3{X: 10, Y: 10, Z: 3}, world.KindMap),
		thing("table", "hall", 5, 5, pose.Vec3{X: 1.6, Y: 0.8, Z: 0.7}, world.KindObject),
		thing("lamp", "hall", 2, 2, pose.Vec3{X: 1, Y: 1, Z: 0.3}, world.KindObject),
		thing("rug", "hall", 8, 8, pose.Vec3{X: 2, Y: 2, Z: 0.01}, world.KindObject),
		thing("rover", "hall", 1, 5, pose.Vec3{X: 0.6, Y: 0.6, Z: 1}, world.KindObject),
		thing("arm", "rover", 0.3, 0, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.4}, world.KindComponent),
		thing("other", "hall", 1, 8, pose.Vec3{X: 0.5, Y: 0.5, Z: 1}, "person"))
	if _, err := m.UpdatePose(context.Background(), "lamp", "hall", pose.Translation(2, 2, 2.5), pose.ExactCov()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.SetMap(context.Background(), "floorplan", hall.Map([]string{"hall"}, "hall"), hall.Data); err != nil {
		t.Fatal(err)
	}
	return m
}

func openFloor(t testing.TB, m world.Model) *navigation.Floor {
	t.Helper()
	f, err := navigation.OpenFloor(context.Background(), m, "", navigation.FloorOptions{Robot: "rover"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func enterable(f *navigation.Floor, x, y float64) (ok bool) {
	f.Read(func(c *navigation.Costmap) { ok = c.Enterable(navigation.Point{X: x, Y: y}) })
	return ok
}

// Items stand on the floor of a map: not places, not the robot itself and what it has on it, not what is above
// it or flat. The cost map follows the world, and only what is near counts.
func TestFloorFollowsTheWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := furnished(t)
		f := openFloor(t, m)
		if f.Name() != "floorplan" || f.Frame() != "hall" || f.Map().String() != "World/Map/anna/floorplan" {
			t.Errorf("the floor is %s in %s of %v", f.Name(), f.Frame(), f.Map())
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- f.Follow(ctx) }()
		for _, c := range []struct {
			x, y float64
			free bool
		}{{5, 5, false}, {5.7, 5.5, false}, {5, 6, true}, {2, 2, true}, {8, 8, true}, {1, 5, true}, {1, 8, false}} {
			if enterable(f, c.x, c.y) != c.free {
				t.Errorf("at %g,%g: free is %t", c.x, c.y, !c.free)
			}
		}
		move := func(name, frame string, x, y float64) {
			t.Helper()
			if _, err := m.UpdatePose(ctx, name, frame, pose.Translation(x, y, 0), pose.ExactCov()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		changed := f.Changed()
		move("table", "hall", 5, 2)
		select {
		case <-changed:
		default:
			t.Error("nobody is told that the table moved")
		}
		if !enterable(f, 5, 5) || enterable(f, 5, 2) {
			t.Error("the table stands where it was")
		}
		// What is in the frame of something moves with it.
		state(t, m, thing("cart", "hall", 3, 7, pose.Vec3{X: 0.2, Y: 0.2, Z: 0.2}, world.KindObject),
			thing("crate", "hall", 3, 7, pose.Vec3{X: 0.3, Y: 0.3, Z: 1}, world.KindObject))
		move("crate", "cart", 0, 1)
		if enterable(f, 3, 8) {
			t.Error("the crate does not stand beside the cart")
		}
		move("cart", "hall", 7, 7)
		if !enterable(f, 3, 8) || enterable(f, 7, 8) {
			t.Error("the crate did not move with the cart")
		}
		// Nothing that is far away, or moves away further, changes anything.
		version := f.Version()
		for i := range 200 {
			state(t, m, thing(fmt.Sprint("far", i), "hall", 100+float64(i), 0, pose.Vec3{X: 1, Y: 1, Z: 1}, world.KindObject))
			move(fmt.Sprint("far", i), "hall", 200, 0)
		}
		if f.Version() != version {
			t.Error("what is far away changed the cost map")
		}
		if _, err := m.Remove(ctx, "table", "sold", world.OrphanChildren); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !enterable(f, 5, 2) {
			t.Error("the table is there although it was removed")
		}
		// What is no place any more but a thing, and the other way round.
		move("rug", "hall", 9, 1)
		cancel()
		if err := <-ended; !errors.Is(err, engram.Canceled) {
			t.Error(err)
		}
	})
}

func TestFloorOfNoMap(t *testing.T) {
	m := world.NewLocal("anna", world.DefaultRules())
	open := func(name string) error {
		_, err := navigation.OpenFloor(t.Context(), m, name, navigation.FloorOptions{})
		return err
	}
	if err := open(""); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
	if err := open("cellar"); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := m.SetMap(t.Context(), name, hall.Map(nil, "map"), hall.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(""); !errors.Is(err, engram.Invalid) {
		t.Error(err)
	}
	if err := open("b"); err != nil {
		t.Error(err)
	}
	if _, err := m.SetMap(t.Context(), "words", world.Map{Kind: world.SemanticMap, Describes: []string{"hall"}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := open("words"); !errors.Is(err, engram.Unsupported) {
		t.Error(err)
	}
}

// depot is a world with the map of a depot and a cart in it.
func depot(b testing.TB) *world.Local {
	file := filepath.Join(shared, "maps", "depot.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		b.Skip(err)
	}
	g, err := files.ReadGrid(text, file, os.ReadFile)
	if err != nil {
		b.Fatal(err)
	}
	m := world.NewLocal("anna", world.DefaultRules())
	if _, err := m.SetMap(b.Context(), "depot", g.Map(nil, "map"), g.Data); err != nil {
		b.Fatal(err)
	}
	state(b, m, thing("cart", "", 5, 0, pose.Vec3{X: 1, Y: 0.6, Z: 1}, world.KindObject))
	return m
}

// BenchmarkFloor moves a thing, and things that are far away.
func BenchmarkFloor(b *testing.B) {
	m := depot(b)
	f, err := navigation.OpenFloor(b.Context(), m, "", navigation.FloorOptions{Inflation: navigation.Inflation{Radius: 0.25}})
	if err != nil {
		b.Fatal(err)
	}
	w, err := m.Watch(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var far []world.NamedItem
	for i := range 1000 {
		far = append(far, thing(fmt.Sprint("far", i), "", 1000+float64(i), 0, pose.Vec3{X: 1, Y: 1, Z: 1}, world.KindObject))
	}
	state(b, m, far...)
	if _, err := m.UpdatePose(b.Context(), "cart", "map", pose.Translation(5, 0, 0), pose.ExactCov()); err != nil {
		b.Fatal(err)
	}
	c, err := w.Next(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	f.Apply(c)
	b.Run("far-1000", func(b *testing.B) {
		c := c
		c.Names = nil
		for _, it := range far {
			c.Names = append(c.Names, it.Name)
		}
		for b.Loop() {
			if f.Apply(c) {
				b.Fatal("it changed something")
			}
		}
	})
	b.Run("commit", func(b *testing.B) {
		notes := &notebook{}
		for k := 0; b.Loop(); k++ {
			notes.commits = notes.commits[:0]
			if _, _, err := f.CommitCostmap(b.Context(), notes, "Navigation", engram.Time(k)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
