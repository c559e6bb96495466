package world_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// robotServer is a server of a robot that has another one's world beside its own.
func robotServer(t *testing.T, robot, other string) *server.Server {
	t.Helper()
	theirs := memories.World()
	theirs.Name, theirs.Features = other+":World", nil // the own one answers questions
	theirs.Segments = slices.Clone(theirs.Segments)
	for i := range theirs.Segments {
		id, err := theirs.Segments[i].ID.InMemory(theirs.Name)
		if err != nil {
			t.Fatal(err)
		}
		theirs.Segments[i].ID = id
	}
	s, err := server.New(server.Config{Robot: robot, Memories: []server.Memory{memories.World(), theirs}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// copyTo commits to a server what another one's own memory World has, as a copy of it.
func copyTo(t *testing.T, to, from *server.Server) {
	t.Helper()
	r, err := from.Query(t.Context(), engram.MustPattern("World").Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.All() {
		id, err := it.ID.Truncate(engram.LevelEntity).InMemory(from.Robot() + ":World")
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, to, engram.EntityUpdate{Entity: id, Time: it.Snapshot.Time, Instances: it.Snapshot.Instances})
	}
}

// What was said up to a time, and seen within one, is told by the clock of this robot.
func TestPastOfClocksThatAreApart(t *testing.T) {
	svc := robotServer(t, "rover", "tug")
	rules := world.DefaultRules()
	rules.Offsets = map[string]time.Duration{"tug": -10 * time.Second}
	m, err := world.Over(t.Context(), svc, "plan", rules, world.Robots("*"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c, err := world.NewCodec(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	const now = engram.Time(1e18)
	for seconds, parent := range map[time.Duration]string{-2: "table", 2: "shelf"} {
		at := now.Add((seconds + 10) * time.Second)
		stated, err := c.EncodeItem(&world.Item{Structure: &world.Structure{Parent: parent}})
		if err != nil {
			t.Fatal(err)
		}
		looked, err := c.EncodeLook(&world.Look{Frame: "map", Pose: pose.Identity(), View: world.View{Horizontal: 1, Vertical: 1, MaxRange: 1}, Seen: []string{parent}})
		if err != nil {
			t.Fatal(err)
		}
		for entity, p := range map[string]engram.Payload{"tug:World/Item/eye/cup": stated, "tug:World/Observation/eye/camera": looked} {
			testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}})
		}
	}
	f, err := m.Past(t.Context(), now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cup, err := f.Get("cup"); err != nil || cup.Structure.Parent != "table" {
		t.Errorf("%+v, %v", cup, err)
	}
	looks, err := m.Looks(t.Context(), engram.Interval{Start: now.Add(-time.Minute), End: now}, nil)
	if err != nil || len(looks) != 1 || looks[0].Seen[0] != "table" {
		t.Errorf("%+v, %v", looks, err)
	}
}

// Two robots that have what both say have the same world, in which each is named alike, and
// places itself only.
func TestRobotsAreNamedAlike(t *testing.T) {
	servers := []*server.Server{robotServer(t, "robot1", "robot2"), robotServer(t, "robot2", "robot1")}
	var views []kit
	for i, s := range servers {
		w, err := world.Over(t.Context(), s, "plan", world.DefaultRules(), world.Robots("*"), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		k := kit{t, w, testkit.Context(t)}
		all := []world.NamedItem{item("room", "", 0, world.KindMap), item("robot1", "room", float64(1+10*i), world.KindRobot),
			item("robot2", "room", float64(2+10*i), world.KindRobot), item(s.Robot()+"/camera", s.Robot(), 0.5, world.KindComponent)}
		other := all[2-i] // which has no say in where the other one is, and whose statement does not count where it is committed all the same
		refused, _, err := w.Update(k.ctx, all...)
		if err != nil || len(refused) != 1 || refused[0].Name != other.Name || !errors.Is(refused[0].Err, engram.Conflict) {
			t.Fatal(refused, err)
		}
		codec, err := world.NewCodec(k.ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		p, err := codec.EncodeItem(&other.Item)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, s, engram.EntityUpdate{Entity: engram.MustID("World/Item/plan/" + other.Name), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(p)}})
		views = append(views, k)
	}
	copyTo(t, servers[0], servers[1])
	copyTo(t, servers[1], servers[0])
	var said [2]string
	for i, k := range views {
		f, err := k.View(k.ctx)
		testkit.Until(t, func() (string, bool) {
			if f, err = k.View(k.ctx); err != nil {
				t.Fatal(err)
			}
			n := 0
			for m := range f.All() {
				n += len(f.Statements(m.Name))
			}
			return fmt.Sprintf("%d statements", n), n == 8
		})
		k.at(f, "room", "robot1", 1)
		k.at(f, "room", "robot2", 12)
		k.at(f, "room", "robot2/camera", 12.5)
		for m := range f.All() {
			for _, s := range f.Statements(m.Name) {
				said[i] += strings.Join([]string{m.Name, s.Robot, s.Provider, "\n"}, " ")
			}
		}
	}
	if said[0] != said[1] || strings.Contains(said[0], "  ") {
		t.Errorf("robot1 knows\n%s\nand robot2\n%s", said[0], said[1])
	}
	// Who did not ask for other robots has none.
	own := kit{t, over(t, servers[0], "arm"), views[0].ctx}
	if f, err := own.View(own.ctx); err != nil || f.Has("robot2/camera") {
		t.Error("another robot's camera is there", err)
	}
	// What this provider says is its own, whoever is called alike elsewhere.
	f := views[0].see(views[0].UpdatePose(own.ctx, "robot1", "room", pose.Translation(3, 0, 0), pose.Cov{}))
	own.at(f, "room", "robot1", 3)
	for _, bad := range []string{"~(", "a/b"} {
		if _, err := world.Over(t.Context(), servers[0], "plan", world.DefaultRules(), world.Robots(bad)); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("robots %q: %v", bad, err)
		}
	}
}

// deaf is a service whose news never come.
type deaf struct{ engram.Service }

type silence struct{ engram.UpdateStream }

func (d deaf) Subscribe(ctx context.Context, s engram.Subscription) (engram.UpdateStream, error) {
	stream, err := d.Service.Subscribe(ctx, s)
	return silence{stream}, err
}

func (silence) Next(ctx context.Context) ([]engram.Update, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Who places a robot is refused from when on it was acknowledged that it is one, whether the news of that have come or not; what is
// committed all the same has a note.
func TestPlaceOfARobotThatWasJustStated(t *testing.T) {
	svc := serverOf(t, memories.World())
	own, plan := kit{t, over(t, svc, "own"), testkit.Context(t)}, over(t, deaf{svc}, "plan")
	own.put(item("room", "", 0, world.KindMap))
	own.put(world.NamedItem{Name: "rover", Item: world.Item{Description: &world.Description{Kinds: []string{world.KindRobot}}, Structure: &world.Structure{}}})
	placed := item("rover", "room", 1)
	refused, _, err := plan.Update(own.ctx, placed)
	if err != nil || len(refused) != 1 || !errors.Is(refused[0].Err, engram.Conflict) {
		t.Errorf("a pose: %v, %v", refused, err)
	}
	if _, err := plan.UpdatePose(own.ctx, "rover", "room", pose.Identity(), pose.Cov{}); engram.CodeOf(err) != engram.Conflict {
		t.Error("another pose:", err)
	}
	if _, err := plan.Attach(own.ctx, "rover", "room", nil); engram.CodeOf(err) != engram.Conflict || !strings.Contains(err.Error(), "counts from itself only") {
		t.Error("a parent:", err)
	}
	failed, _, err := plan.StateAll(own.ctx, false, world.Stated{Name: "rover", What: placed.Item})
	if err != nil || len(failed) != 1 || engram.CodeOf(failed[0]) != engram.Conflict {
		t.Errorf("all: %v, %v", failed, err)
	}
	codec, err := world.NewCodec(own.ctx, svc)
	if err != nil {
		t.Fatal(err)
	}
	p, err := codec.EncodeItem(&placed.Item)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID("World/Item/sneak/rover"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(p)}})
	f, err := over(t, svc, "reader").View(own.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for n := range f.Notes() {
		notes = append(notes, n.Name+": "+n.Text)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "rover: where it is counts from itself only, and not from sneak") {
		t.Errorf("%q", notes)
	}
}
