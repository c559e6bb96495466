package world_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// tell commits a payload of a type of package memories.
func (k kit) tell(svc engram.Service, entity, typ string, at engram.Time, value map[string]any) {
	k.Helper()
	t, _ := memories.Type(typ)
	b, err := t.Encode(value)
	if err != nil {
		k.Fatal(err)
	}
	in := engram.NewInstance(engram.Payload{Type: typ, Bytes: b})
	in.Confidence = 0.8
	r, err := svc.Commit(k.ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{in}}}})
	if err != nil || r[0].Err != nil {
		k.Fatal(err, r)
	}
}

func posed(frame string, x float64, more ...any) map[string]any {
	v := map[string]any{"frame_id": frame, "pose": map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}}
	for i := 0; i < len(more); i += 2 {
		v[more[i].(string)] = more[i+1]
	}
	return v
}

// await returns the view that satisfies ok.
func (k kit) await(ok func(*world.Forest) bool) *world.Forest {
	k.Helper()
	w, err := k.Watch(k.ctx)
	if err != nil {
		k.Fatal(err)
	}
	defer w.Close()
	f, err := k.View(k.ctx)
	for err == nil && !ok(f) {
		var c world.Change
		c, err = w.Next(k.ctx)
		f = c.Forest
	}
	if err != nil {
		k.Fatal(err)
	}
	return f
}

// What the memory Object says is in the world without being written there: a localiser's poses, what
// holds an object, and the values of its joints.
func TestObjectsAreItems(t *testing.T) {
	svc := serving.New(t, memories.World(), memories.Object())
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	k.put(item("table", "kitchen", 2, "object"), item("kitchen", "", 0, "map"))
	started := engram.Now()
	class, image := engram.MustID("Object/Class/P/cup"), engram.MustID("Vision/ImageRGB/eye/front")
	k.tell(svc, "Object/Instance/eye/cup", "engram.object.Instance", started+1, posed("map", 3, "object_class", class, "source_image", image,
		"pose_covariance", slices.Repeat([]float64{0.01, 0, 0, 0, 0, 0, 0}, 6)[:36], "timestamp", started+1, "is_static", true))
	k.tell(svc, "Object/Instance/eye/plate", "engram.object.Instance", started+1, posed("map", 1))
	f := k.await(func(f *world.Forest) bool { return f.Has("plate") })
	k.at(f, "plate", "cup", 2)
	cup, err := f.Get("cup")
	if err != nil || !cup.Is("static") || *cup.Description.Class != class || *cup.SeenIn != image || cup.Placed.Confidence < 0.79 || cup.Placed.Home != world.InInstance {
		t.Errorf("%+v, %v", cup, err)
	}
	if got, _ := f.Pose("plate", "cup"); math.Abs(got.Cov.Matrix()[0][0]) > 1e-9 && got.Cov.Mask == pose.AllDims {
		t.Errorf("%+v", got.Cov) // the plate's is unknown
	}
	// An item's description stays beside what a localiser says, but for the class.
	mug := item("cup", "", 0, "object", "mug")
	mug.Description.Label = "my mug"
	f = k.see(k.put(mug), nil)
	if cup, _ = f.Get("cup"); cup.Label() != "my mug" || *cup.Description.Class != class || !cup.Is("mug") || cup.Placement.Frame != "map" {
		t.Errorf("%+v", cup.Item)
	}
	if f, err = k.Past(k.ctx, started, nil); err != nil || f.Has("cup") || f.Len() != 2 {
		t.Errorf("before it was seen: %v, %v", f, err)
	}
	// It is taken, moves with the hand, and is let go.
	held := engram.MustID("Object/Instance/eye/cup")
	later := engram.Now()
	k.tell(svc, "Object/Attachments/rover/grasp", "engram.object.Attachment", later, posed("hand", 0.1, "object", held, "active", true,
		"agent", engram.MustID("RobotState/Description/rover/urdf"), "timestamp", later))
	f = k.await(func(f *world.Forest) bool { m, _ := f.Get("cup"); return m.Structure.Parent == "rover" })
	k.at(f, "rover/hand", "cup", 0.1)
	k.tell(svc, "Object/Attachments/rover/grasp", "engram.object.Attachment", later+1, posed("table", 0.5, "object", held, "timestamp", later+1))
	f = k.await(func(f *world.Forest) bool { m, _ := f.Get("cup"); return m.Structure.Parent == "" })
	k.at(f, "kitchen", "cup", 2.5)
	// It is taken again, and nobody says where in the hand.
	k.tell(svc, "Object/Attachments/rover/grasp", "engram.object.Attachment", later+2, map[string]any{"frame_id": "hand", "object": held, "active": true,
		"agent": engram.MustID("RobotState/Description/rover/urdf"), "timestamp": later + 2})
	f = k.await(func(f *world.Forest) bool { m, _ := f.Get("cup"); return m.Structure.Parent == "rover" })
	k.at(f, "map", "cup", 3)
	notes := map[string]string{}
	for n := range f.Notes() {
		notes[n.Name] += n.Text
	}
	if want := `rover gives no pose in the frame "rover/hand"; what others say of its pose counts`; notes["cup"] != want {
		t.Errorf("%q, want %q", notes["cup"], want)
	}
}

// The values of joints that a localiser sees move what hangs on the joints of that name.
func TestJointValuesOfObjects(t *testing.T) {
	svc := serving.New(t, memories.World(), memories.Object())
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	k.put(item("fridge", "kitchen", 1, "object"), item("kitchen", "", 0, "map"), item("drawer", "fridge", 0.5, "object"))
	k.tell(svc, "Object/Instance/eye/fridge", "engram.object.Instance", engram.Now(), posed("kitchen", 1, "joint_values", map[string]float64{"slide": 0.2}))
	k.await(func(f *world.Forest) bool { return len(f.Statements("fridge")) == 2 })
	f := k.see(k.Articulate(k.ctx, "fridge/slide", world.Articulation{
		Base: "fridge", Moved: "drawer", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1},
	}))
	k.at(f, "kitchen", "drawer", 1.7)
	k.tell(svc, "Object/Instance/eye/fridge", "engram.object.Instance", engram.Now(), posed("kitchen", 1, "joint_values", map[string]float64{"slide": 0.3}))
	f = k.await(func(f *world.Forest) bool { got, _ := f.Pose("fridge", "drawer"); return got.Pose.T.X > 0.75 })
	k.at(f, "kitchen", "drawer", 1.8)
}

// Who holds an object and moves a part of it goes on holding it, and says the value of the part's joint.
func TestHeldPart(t *testing.T) {
	svc := serving.New(t, memories.World(), memories.Object())
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	k.put(item("kitchen", "", 0, "map"), item("bottle", "kitchen", 1, "object"), item("cap", "bottle", 0.5, "object"))
	now := engram.Now() + 1e9
	held := []any{"object", engram.MustID("Object/Instance/eye/bottle"), "agent", engram.MustID("RobotState/Description/rover/rover"), "active", true}
	k.tell(svc, "Object/Attachments/arm/grasp", "engram.object.Attachment", now, posed("hand", 0.1, append(held, "timestamp", now)...))
	k.await(func(f *world.Forest) bool { m, _ := f.Get("bottle"); return m.Structure.Parent == "rover" })
	k.tell(svc, "Object/ArticulatedAttachments/arm/cap", "engram.object.ArticulatedAttachment", now+1,
		posed("hand", 0.1, append(held, "timestamp", now+1, "joint_values", map[string]float64{"slide": 0.2})...))
	f := k.see(k.Articulate(k.ctx, "bottle/slide", world.Articulation{
		Base: "bottle", Moved: "cap", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1},
	}))
	if m, err := f.Get("bottle"); err != nil || m.Structure.Parent != "rover" {
		t.Error("nobody holds the bottle", err)
	}
	k.at(f, "bottle", "cap", 0.7)
	track, err := k.Model.(*world.Memory).Track(k.ctx, f, "cap", engram.MinTime)
	if err != nil || len(track) == 0 || math.Abs(track[len(track)-1].Pose.T.X-0.7) > 1e-9 {
		t.Errorf("the cap was at %v, %v", track, err)
	}
}

// A location is a goal that belongs to a place, with a pose in any frame.
func TestLocationsOfAPlace(t *testing.T) {
	svc := serving.New(t, memories.World(), memories.Navigation())
	w := over(t, svc, "plan")
	k := kit{t, w, testkit.Context(t)}
	f := k.see(k.put(item("flat", "", 0, "map"), item("kitchen", "flat", 5, "map"), item("table", "kitchen", 2, "object"), item("hall", "flat", -5, "map")), nil)
	part := engram.MustID("World/Item/plan/hall")
	k.tell(svc, "Navigation/Location/plan/at the table", "engram.navigation.Location", engram.Now(), posed("table", -1, "names", []string{"dinner"}))
	k.tell(svc, "Navigation/Location/plan/door", "engram.navigation.Location", engram.Now(), posed("flat", -3, "part_of", part))
	k.tell(svc, "Navigation/Location/plan/nowhere", "engram.navigation.Location", engram.Now(), map[string]any{"frame_id": "flat"})
	for place, want := range map[string][]string{"kitchen": {"at the table"}, "hall": {"door"}, "flat": {"at the table", "door"}, "": {"at the table", "door"}, "cellar": nil} {
		all, err := w.Locations(k.ctx, place)
		var got []string
		for _, l := range all {
			got = append(got, l.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("in %q: %q, %v", place, got, err)
		}
	}
	all, _ := w.Locations(k.ctx, "kitchen")
	if got, err := all[0].In(f, "flat"); err != nil || got.Pose.T.X != 6 || all[0].Names[0] != "dinner" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Of what is seen the snapshot's time decides, for one provider and for several, in a world that watched and in one that is
// opened later, whatever timestamps the payloads have.
func TestNewestSeenIsOfTheSnapshot(t *testing.T) {
	svc := serving.New(t, memories.World(), memories.Object())
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	k.put(item("kitchen", "", 0, "map"))
	now := engram.Now().Add(-time.Hour)
	see := func(provider string, at, timestamp time.Duration, x float64) {
		k.tell(svc, "Object/Instance/"+provider+"/cup", "engram.object.Instance", now.Add(at), posed("kitchen", x, "timestamp", now.Add(timestamp)))
	}
	see("eye", 3, 1, 3)
	see("eye", 2, 9, 2)
	see("other", 1, 10, 1)
	k.tell(svc, "Object/Instance/eye/end", "engram.object.Instance", now, posed("kitchen", 0))
	k.await(func(f *world.Forest) bool { return f.Has("end") })
	for _, w := range []*world.Memory{k.Model.(*world.Memory), over(t, svc, "late")} {
		f, err := w.View(k.ctx)
		if err != nil {
			t.Fatal(err)
		}
		k.at(f, "kitchen", "cup", 3)
		if m, err := f.Get("cup"); err != nil || m.Placed.Time != now.Add(3) {
			t.Errorf("it is of %v, %v", m.Placed.Time, err)
		}
		if a, err := f.Account("cup", now.Add(3), nil); err != nil || a.Seen != now.Add(3) {
			t.Errorf("it was seen at %v, %v", a.Seen, err)
		}
	}
}
