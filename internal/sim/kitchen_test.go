package sim

import (
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// TestKitchen lives half a cycle and then a whole one: the world tells of it.
func TestKitchen(t *testing.T) {
	srv, err := server.New(server.Config{Memories: memories.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	r := small(t, 1)
	view := func(ticks int) (*world.Forest, []world.Look) {
		t.Helper()
		if report, err := r.RunTicks(t.Context(), srv, 0, ticks); err != nil || report.Refused > 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		w, err := world.Over(t.Context(), srv, "test", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		f, err := w.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		looks, err := w.Looks(t.Context(), engram.Always(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range f.Notes() {
			t.Errorf("%+v", n)
		}
		for w := range f.Waiting() {
			t.Errorf("%s waits for %s", w.Item.Name, w.Parent)
		}
		return f, looks
	}
	parent := func(f *world.Forest, name, want string) {
		t.Helper()
		if path, err := f.PathToRoot(name); err != nil || len(path) < 2 || path[1].Name != want {
			t.Errorf("the parent of %s is not %s: %+v, %v", name, want, path, err)
		}
	}

	f, looks := view(600)
	parent(f, "cup", "Simulation") // it is held
	parent(f, "can", tableItem)
	parent(f, door, cupboard)
	if j, err := f.Joint(door); err != nil || j.Value == nil || math.Abs(*j.Value-doorAngle) > 1e-9 {
		t.Errorf("the door is at %+v, %v", j, err)
	}
	if at, err := f.Pose(cupboard, door); err != nil || at.Pose.T.X > -0.7 {
		t.Errorf("the open door is at %+v, %v", at, err)
	}
	if a, err := f.Account("can", r.Time(600), looks); err != nil || !a.Present() || len(looks) != 12 {
		t.Errorf("of the can: %v, %v, after %d looks", &a, err, len(looks))
	}

	f, looks = view(int(cycle)*100 - 600)
	// What the localiser cannot name stays; so does what it was seen on.
	for _, name := range []string{tableItem, cupboard, door, drawer, "can"} {
		if a, err := f.Account(name, r.Time(int(cycle)*100), looks); err != nil || !a.Present() {
			t.Errorf("of %s: %v, %v", name, &a, err)
		}
	}
	parent(f, "cup", tableItem)
	if near, err := f.Near(tableItem, pose.Vec3{}, 1.1); err != nil || len(near) < 1+len(objects) {
		t.Errorf("near the table: %+v, %v", near, err)
	}
	if j, err := f.Joint(door); err != nil || *j.Value != 0 {
		t.Errorf("the shut door is at %+v, %v", j, err)
	}
}
