package world_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// described is all that a world says, but for what the test states to know how far it is.
func described(f *world.Forest) string {
	var w strings.Builder
	for _, name := range slices.Sorted(f.Spoken()) {
		if name == "tick" {
			continue
		}
		fmt.Fprintf(&w, "%s:", name)
		for _, s := range f.Statements(name) {
			fmt.Fprintf(&w, " %s in %d at %d", s.Who(), s.Home, s.Time)
		}
		if m, err := f.Get(name); err == nil {
			if m.Structure != nil {
				fmt.Fprintf(&w, ", in %q", m.Structure.Parent)
			}
			states, _ := f.States(name)
			for _, s := range states {
				fmt.Fprintf(&w, ", %s %v", s.State.Name, s.State.Value)
			}
		}
		e, _ := f.Edge(name)
		fmt.Fprintln(&w, ", at", e.Time, e.Frame, e.Pose.T)
	}
	for j := range f.Joints().All() {
		fmt.Fprint(&w, j.Name, " moves ", j.Moved)
		if j.Value != nil {
			fmt.Fprint(&w, " to ", *j.Value)
		}
		fmt.Fprintln(&w)
	}
	for m := range f.Maps().All() {
		fmt.Fprintln(&w, "map", m.Name)
	}
	for c := range f.Components().All() {
		fmt.Fprintln(&w, "component", c.Name, c.Component.Kind)
	}
	for n := range f.Notes() {
		fmt.Fprintln(&w, n.Name, n.Text)
	}
	return w.String()
}

// deed is a snapshot that somebody commits.
type deed struct {
	entity  engram.ID
	at      engram.Time
	payload engram.Payload
}

// deeds draws snapshots: what hands hold, one thing after another, where localisers see things, the states, joints,
// maps and components of things, and what nobody can read, late and again at the same time, too.
func deeds(t *rapid.T, codec *world.Codec, start engram.Time) (all []deed) {
	thing := rapid.SampledFrom([]string{"cup", "plate"})
	must := func(p engram.Payload, err error) engram.Payload {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	object := func(typ string, v map[string]any) engram.Payload {
		of, _ := memories.Type(typ)
		b, err := of.Encode(v)
		return must(engram.Payload{Type: typ, Bytes: b}, err)
	}
	for range rapid.IntRange(1, 12).Draw(t, "deeds") {
		d := deed{at: start + engram.Time(rapid.IntRange(1, 6).Draw(t, "at"))}
		x := float64(rapid.IntRange(0, 9).Draw(t, "x"))
		id := func(segment string, names ...string) {
			d.entity, _ = engram.MustID(segment + "/eye").Child(rapid.SampledFrom(names).Draw(t, "entity"))
		}
		name := thing.Draw(t, "thing")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1:
			id("Object/Attachments", "left", "right", "cup")
			v := posed(rapid.SampledFrom([]string{"hand", "map"}).Draw(t, "frame"), x, "active", rapid.Bool().Draw(t, "active"),
				"agent", engram.MustID("RobotState/Description/rover/rover"))
			if rapid.Bool().Draw(t, "linked") {
				v["object"] = engram.MustID("Object/Instance/eye/" + name)
			}
			if rapid.Bool().Draw(t, "stamped") {
				v["timestamp"] = start + engram.Time(rapid.IntRange(1, 6).Draw(t, "stamp"))
			}
			d.payload = object("engram.object.Attachment", v)
		case 2:
			id("Object/ArticulatedAttachments", "left", "right")
			d.payload = object("engram.object.ArticulatedAttachment", map[string]any{"object": engram.MustID("Object/Instance/eye/" + name),
				"joint_values": map[string]float64{"slide": x}})
		case 3:
			id("Object/Instance", "cup", "plate")
			v := posed("map", x)
			if rapid.Bool().Draw(t, "stamped") {
				v["timestamp"] = start + engram.Time(rapid.IntRange(1, 6).Draw(t, "stamp"))
			}
			d.payload = object("engram.object.Instance", v)
		case 4:
			id("World/State", "first", "second")
			d.payload = must(codec.EncodeState(&world.State{Item: name, Name: rapid.SampledFrom([]string{"full", "clean"}).Draw(t, "state"), Value: x, Source: world.Perception}))
		case 5:
			id("World/Articulation", "cup/slide", "plate/slide")
			base := rapid.SampledFrom([]string{"cup", "plate"}).Draw(t, "base")
			d.payload = must(codec.EncodeJoint(&world.Articulation{Base: base, Moved: "lid", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Source: world.Perception}))
		case 6:
			id("World/Component", "camera")
			d.payload = must(codec.EncodeComponent(&world.Component{Kind: fmt.Sprint("camera", x)}))
		}
		all = append(all, d)
	}
	return all
}

// What a world says depends on what was stated, and not on when one began to look: one that has watched all
// along, one that is opened at any instant, and the past of both.
func TestWorldsAreEqualWheneverOneLooks(t *testing.T) {
	start := engram.Now().Add(-time.Hour)
	make := func() *server.Server { return serving.New(t, memories.World(), memories.Object()) }
	blank := make()
	codec, err := world.NewCodec(t.Context(), blank)
	if err != nil {
		t.Fatal(err)
	}
	ctx := testkit.Context(t)
	drawn := rapid.Custom(func(t *rapid.T) []deed { return deeds(t, codec, start) })
	for seed := range testkit.Repeats(30, 500) {
		open := func(s *server.Server) *world.Memory {
			m, err := world.Over(ctx, s, "test", world.DefaultRules(), world.FromSource(world.Perception))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			return m
		}
		same := func(what string, f *world.Forest, than *world.Forest) {
			if got, want := described(f), described(than); got != want {
				t.Fatalf("seed %d: %s:\n%sother than\n%s", seed, what, got, want)
			}
		}
		commit := func(s *server.Server, d deed) {
			u := engram.EntityUpdate{Entity: d.entity, Time: d.at, Instances: []engram.Instance{engram.NewInstance(d.payload)}}
			if r, err := s.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
		}
		svc := make()
		watched := open(svc)
		all := drawn.Example(seed)
		for i, d := range all {
			commit(svc, d)
			refused, mark, err := watched.Update(ctx, item("tick", "", float64(i)))
			if err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
			late, err := open(svc).View(ctx, mark)
			if err != nil {
				t.Fatal(err)
			}
			f, err := watched.View(ctx, mark)
			if err != nil {
				t.Fatal(err)
			}
			same(fmt.Sprint("after ", i+1, " deeds a world that watched says"), f, late)
		}
		past := make()
		slices.SortStableFunc(all, func(a, b deed) int { return int(a.at - b.at) })
		for at := start; at < start+8; at++ {
			for ; len(all) > 0 && all[0].at <= at; all = all[1:] {
				commit(past, all[0])
			}
			then, err := open(past).View(ctx)
			if err != nil {
				t.Fatal(err)
			}
			f, err := watched.Past(ctx, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			same(fmt.Sprint("the past of ", at-start, " says"), f, then)
		}
	}
}

// A hand lets the cup go and takes the plate: the cup stays where it was let go, in worlds that are opened
// then, and in the past.
func TestOneHandHoldsOneThingAfterAnother(t *testing.T) {
	svc := serving.New(t, memories.World(), memories.Object())
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	now := engram.Now().Add(-3 * time.Hour)
	k.put(item("kitchen", "", 0, "map"))
	k.tell(svc, "Object/Instance/eye/cup", "engram.object.Instance", now-1, posed("kitchen", 2.5))
	hold := func(at engram.Time, frame string, x float64, thing string, active bool) {
		k.tell(svc, "Object/Attachments/rover/gripper", "engram.object.Attachment", at, posed(frame, x, "object", engram.MustID("Object/Instance/eye/"+thing),
			"agent", engram.MustID("RobotState/Description/rover/rover"), "active", active))
	}
	hold(now, "hand", 0.1, "cup", true)
	hold(now+1, "kitchen", 7, "cup", false)
	hold(now+engram.Time(time.Hour), "hand", 0.1, "plate", true) // more than a quarter of an hour later
	f := k.await(func(f *world.Forest) bool { return f.Has("plate") })
	k.at(f, "kitchen", "cup", 7)
	late := over(t, svc, "late")
	before, err := late.Past(k.ctx, now-1, nil)
	if m, _ := before.Get("cup"); err != nil || m.Placement.Pose.T.X != 2.5 {
		t.Error("before it was taken:", m, err)
	}
	if f, err := late.View(k.ctx); err != nil {
		t.Error(err)
	} else {
		k.at(f, "kitchen", "cup", 7)
	}
	for _, at := range []engram.Time{now + 1, now + engram.Time(2*time.Hour)} {
		if f, err := late.Past(k.ctx, at, nil); err != nil {
			t.Error(err)
		} else {
			e, _ := f.Edge("cup")
			if e.Frame != "kitchen" || e.Pose.T.X != 7 {
				t.Errorf("at %v the cup is at %v", at, e)
			}
		}
	}
	track, err := late.Track(k.ctx, f, "cup", now+engram.Time(90*time.Minute))
	if err != nil || len(track) != 1 || math.Abs(track[0].Pose.T.X-7) > 1e-9 {
		t.Errorf("the cup was at %v, %v", track, err)
	}
}
