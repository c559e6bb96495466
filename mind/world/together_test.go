package world_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// What is stated together is stated as a whole: whatever is wrong with any part of it, nothing is, and a dry run says the
// same.
func TestStateAllIsWhole(t *testing.T) {
	good := func() []world.Stated {
		return []world.Stated{
			{Name: "box", What: item("box", "shelf", 1, "object").Item}, // before its parent
			{Name: "shelf", What: item("shelf", "", 0, "object").Item},
			{What: world.State{Item: "box", Name: "full", Value: true, Source: world.Perception}, Confidence: 0.5},
			{Name: "slide", What: world.Articulation{Base: "shelf", Moved: "box", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}}},
			{Name: "plan", What: world.Map{Describes: []string{"shelf"}}, Data: []byte{1, 2}},
			{Name: "eye", What: world.Component{Kind: "camera"}},
		}
	}
	wide := item("wide", "", 0).Item
	wide.Description.Shape = &world.Shape{Kind: world.ShapePolygon, Outline: slices.Repeat([]pose.Vec3{{X: 1, Y: 2, Z: 3}}, 80_000)}
	robot := item("tug", "shelf", 0, world.KindRobot).Item
	for name, c := range map[string]struct {
		bad        world.Stated
		code       engram.Code
		memoryOnly bool
	}{
		"NaN":             {world.Stated{Name: "nan", What: item("nan", "shelf", math.NaN()).Item}, engram.Invalid, false},
		"loop":            {world.Stated{Name: "shelf2", What: item("shelf2", "shelf2", 0).Item}, engram.Invalid, false},
		"another robot":   {world.Stated{Name: "tug", What: robot}, engram.Conflict, false},
		"twice":           {world.Stated{Name: "eye", What: world.Component{Kind: "lidar"}}, engram.AlreadyExists, false},
		"state of nobody": {world.Stated{What: world.State{Item: "moon", Name: "full", Value: true}, Confidence: 1}, engram.NotFound, false},
		"confidence":      {world.Stated{What: world.State{Item: "box", Name: "new", Value: true}, Confidence: 2}, engram.Invalid, false},
		"joint":           {world.Stated{Name: "j", What: world.Articulation{Base: "box", Moved: "box"}}, engram.Invalid, false},
		"map":             {world.Stated{Name: "m", What: world.Map{}}, engram.Invalid, false},
		"view":            {world.Stated{Name: "c", What: world.Component{Kind: "camera", View: &world.View{Horizontal: -1, MaxRange: 1}}}, engram.Invalid, false},
		"anything":        {world.Stated{Name: "x", What: 5}, engram.Invalid, false},
		"no name":         {world.Stated{What: world.Withdrawal{Item: true}}, engram.Invalid, false},
		"large":           {world.Stated{Name: "wide", What: wide}, engram.Exhausted, true},
		"large data":      {world.Stated{Name: "m", What: world.Map{Format: "own"}, Data: make([]byte, 33<<20)}, engram.Exhausted, true},
		"no payload":      {world.Stated{Name: "odd", What: world.Item{Description: &world.Description{Properties: map[string]any{"c": make(chan int)}}}}, engram.TypeMismatch, true},
	} {
		t.Run(name, func(t *testing.T) {
			eachModel(t, func(k kit) {
				if c.memoryOnly && !strings.Contains(t.Name()+k.Name(), "memory") {
					return
				}
				before := k.see(k.put(item("wall", "", 0)), nil)
				for at := range 3 { // where the bad one stands does not matter
					if c.memoryOnly && at != 1 { // these are large
						continue
					}
					all := good()
					all = slices.Insert(all, at*len(all)/2, c.bad)
					for _, dry := range []bool{true, false} {
						failed, mark, err := k.StateAll(k.ctx, dry, all...)
						if err != nil || mark != (world.Mark{}) || len(failed) != len(all) {
							k.Fatal(failed, mark, err)
						}
						wrong := 0
						for _, err := range failed {
							if err != nil {
								wrong++
								k.code(name, err, c.code)
							}
						}
						if wrong != 1 {
							k.Errorf("%d are wrong: %v", wrong, failed)
						}
					}
				}
				after, err := k.View(k.ctx)
				if err != nil || len(world.Diff(before, after, pose.Threshold{})) > 0 || len(slices.Collect(after.Maps().All()))+len(slices.Collect(after.Components().All())) > 0 {
					k.Errorf("%q are there, %v", names(after.All()), err)
				}
				if failed, mark, err := k.StateAll(k.ctx, true, good()...); failed != nil || err != nil || mark != (world.Mark{}) {
					k.Error("a dry run of what can be:", failed, mark, err)
				}
				failed, mark, err := k.StateAll(k.ctx, false, good()...)
				if failed != nil {
					k.Fatal(failed)
				}
				f := k.see(mark, err)
				k.at(f, "shelf", "box", 1)
				states, _ := f.States("box")
				if _, err := f.Joint("box"); err != nil || len(states) != 1 || len(slices.Collect(f.Maps().All())) != 1 || len(slices.Collect(f.Components().All())) != 1 {
					k.Errorf("not all is there: %v", err)
				}
			})
		})
	}
}

// Items that only together are no loop are stated together, and a loop is refused, whichever way it goes through the world.
func TestStateAllTurnsATree(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		failed, mark, err := k.StateAll(k.ctx, false, world.Stated{Name: "table", What: item("table", "cup", 1).Item}, world.Stated{Name: "cup", What: item("cup", "kitchen", 1).Item})
		if failed != nil {
			k.Fatal(failed)
		}
		k.at(k.see(mark, err), "kitchen", "table", 2)
		failed, _, err = k.StateAll(k.ctx, false, world.Stated{Name: "kitchen", What: item("kitchen", "box", 1).Item}, world.Stated{Name: "box", What: item("box", "table", 1).Item})
		if err != nil || len(failed) != 2 {
			k.Fatal(failed, err)
		}
		k.code("a loop", failed[0], engram.Conflict)
		// An item that waits is on the way, too.
		k.put(item("a", "x", 1), item("b", "a", 1))
		for _, parent := range []string{"a", "b"} {
			x := item("x", parent, 1)
			refused, _, err := k.Update(k.ctx, x)
			if err != nil || len(refused) != 1 {
				k.Fatal(refused, err)
			}
			k.code("x in "+parent, refused[0].Err, engram.Conflict)
			if failed, _, err = k.StateAll(k.ctx, false, world.Stated{Name: "x", What: x.Item}); err != nil || len(failed) != 1 {
				k.Fatal(failed, err)
			}
			k.code("x in "+parent+" of all", failed[0], engram.Conflict)
		}
	})
	// A loop of two writers may be stated again, as by the import of what was exported; no other one is made of it.
	svc := newServer(t)
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	k.put(item("b", "", 0), item("d", "", 0))
	mark := k.put(item("c", "b", 1))
	codec, err := world.NewCodec(k.ctx, svc)
	if err != nil {
		t.Fatal(err)
	}
	p, err := codec.EncodeItem(&world.Item{Structure: &world.Structure{Parent: "c"}, Source: world.Operator})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID("World/Item/bob/b"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(p)}})
	k.see(mark, nil)
	k.await(func(f *world.Forest) bool { b, err := f.Get("b"); return err == nil && b.Structure.Parent == "c" })
	for _, c := range []struct {
		name, parent string
		code         engram.Code
	}{{"b", "c", 0}, {"c", "b", 0}, {"d", "c", 0}, {"b", "d", engram.Conflict}} {
		failed, mark, err := k.StateAll(k.ctx, false, world.Stated{Name: c.name, What: world.Item{Structure: &world.Structure{Parent: c.parent}, Source: world.Operator}})
		if got := engram.CodeOf(cmp.Or(failed...)); err != nil || got != c.code {
			t.Errorf("%s in %s: %v, %v", c.name, c.parent, failed, err)
		}
		if failed == nil {
			k.see(mark, nil)
		}
	}
}

// fullServer refuses all of a name, as a server does that has no room for it.
type fullServer struct {
	engram.Service
	name  string
	parts int         // commits that it takes as a whole before it is away; 0 is all
	why   engram.Code // of a commit that it does not take
}

func (s *fullServer) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if s.parts--; s.parts == 0 {
		return nil, engram.Errorf(s.why, "", "no more commits")
	}
	var rest engram.Commit
	for _, u := range c.Updates {
		if u.Entity.Entity() != s.name {
			rest.Updates = append(rest.Updates, u)
		}
	}
	taken, err := s.Service.Commit(ctx, rest)
	var all []engram.UpdateResult
	for _, u := range c.Updates {
		if u.Entity.Entity() == s.name {
			all = append(all, engram.UpdateResult{ID: u.Entity, Err: engram.Errorf(engram.Exhausted, s.name, "no room")})
			continue
		}
		all, taken = append(all, taken[0]), taken[1:]
	}
	return all, err
}

// What no check foresees is told beside a mark of what was stated.
func TestStateAllThatAServerRefuses(t *testing.T) {
	k := kit{t, over(t, &fullServer{newServer(t), "b", 0, 0}, "rover"), testkit.Context(t)}
	failed, mark, err := k.StateAll(k.ctx, false, world.Stated{Name: "a", What: item("a", "", 0).Item}, world.Stated{Name: "b", What: item("b", "", 0).Item},
		world.Stated{Name: "c", What: item("c", "", 0).Item})
	if len(failed) != 3 || failed[0] != nil || failed[2] != nil || !errors.Is(failed[1], engram.Exhausted) {
		t.Fatal(failed)
	}
	if got := names(k.see(mark, err).All()); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("stated are %q", got)
	}
	// Of several commits the first is taken, and whether the second is, nobody knows if its answer was lost.
	var all []world.Stated
	for i := range 4001 {
		name := fmt.Sprintf("box%04d", i)
		all = append(all, world.Stated{Name: name, What: item(name, "", 0).Item})
	}
	const not, unknown = "it was not stated: ", "whether it was stated is not known: "
	for why, says := range map[engram.Code]string{engram.Exhausted: not, engram.Canceled: unknown} {
		k.Model = over(t, &fullServer{newServer(t), "", 2, why}, "rover")
		failed, mark, err = k.StateAll(k.ctx, false, all...)
		if len(failed) != 4001 || failed[1999] != nil || engram.CodeOf(failed[2000]) != why {
			t.Fatal(len(failed), err)
		}
		if !strings.Contains(failed[2000].Error(), says) || !strings.Contains(failed[3999].Error(), says) || !strings.Contains(failed[4000].Error(), not) {
			t.Errorf("%v: %v, %v, %v", why, failed[2000], failed[3999], failed[4000])
		}
		if f := k.see(mark, err); f.Len() != 2000 {
			t.Errorf("%d are stated", f.Len())
		}
	}
}

// What is taken back and stated by one call is as it is stated then, and nothing of before; also where the last statement has
// a time that is still to come.
func TestTakenBackAndStated(t *testing.T) {
	for _, ahead := range []time.Duration{0, 30 * time.Second} {
		svc, ctx := newServer(t), testkit.Context(t)
		var off atomic.Int64
		now := func() engram.Time { return engram.Now().Add(time.Duration(off.Load())) }
		w, err := world.Over(ctx, svc, "plan", world.DefaultRules(), world.FromSource(world.Perception), world.Clock(now))
		if err != nil {
			t.Fatal(err)
		}
		k := kit{t, w, ctx}
		off.Store(int64(ahead))
		k.put(item("shelf", "", 0), item("box", "shelf", 1, "object"))
		slide := world.Articulation{Base: "shelf", Moved: "box", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: new(0.5)}
		k.see(k.Articulate(ctx, "slide", slide))
		k.see(k.SetState(ctx, world.State{Item: "box", Name: "full", Value: true}, 1))
		k.see(k.SetMap(ctx, "plan", world.Map{Describes: []string{"box"}}, []byte{1}))
		off.Store(0)
		slide.Value = nil
		failed, mark, err := w.StateAll(ctx, false, world.Stated{Name: "box", What: world.Withdrawal{Item: true, States: true, Joints: true, Maps: true}},
			world.Stated{Name: "new", What: item("new", "shelf", 0).Item},
			world.Stated{Name: "box", What: world.Item{Structure: &world.Structure{Parent: "shelf"}}}, world.Stated{Name: "slide", What: slide},
			world.Stated{What: world.State{Item: "box", Name: "full", Value: false}, Confidence: 1}, world.Stated{Name: "plan", What: world.Map{Format: "own"}, Data: []byte{2}})
		if failed != nil {
			t.Fatal(failed)
		}
		f := k.see(mark, err)
		box, err := f.Get("box")
		states, _ := f.States("box")
		joint, jerr := f.Joint("box")
		data, derr := w.MapData(ctx, "plan")
		if err != nil || box.Placement != nil || box.Description != nil || jerr != nil || joint.Value != nil || len(states) != 1 || states[0].State.Value != false || derr != nil || data[0] != 2 {
			t.Errorf("%v ahead: %+v, %v, joint %+v, %v, states %v, data %v, %v", ahead, box, err, joint, jerr, states, data, derr)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The data of a map that is taken back, or has no data any more, are not kept, unless another map has them.
func TestDataGoWithTheMap(t *testing.T) {
	svc := newServer(t)
	k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
	held := func(name string) int {
		k.Helper()
		r, err := svc.Query(k.ctx, engram.PatternOf(engram.MustID("World/MapData/plan/"+name)).Select(engram.Latest(1)))
		if err != nil {
			k.Fatal(err)
		}
		codec, err := world.NewCodec(k.ctx, svc)
		if err != nil {
			k.Fatal(err)
		}
		for it := range r.All() {
			data, err := codec.MapData(it.ID, it.Snapshot)
			if err != nil {
				k.Fatal(err)
			}
			return len(data)
		}
		return 0
	}
	data := []byte{1, 2, 3}
	k.put(item("kitchen", "", 0))
	for name, c := range map[string]struct {
		back func(name string) (world.Mark, error)
		left int
	}{
		"withdrawn": {func(name string) (world.Mark, error) { return k.Withdraw(k.ctx, name) }, 0},
		"no map":    {func(name string) (world.Mark, error) { return k.SetMap(k.ctx, name, world.Map{}, nil) }, 0},
		"of another": {func(name string) (world.Mark, error) {
			return k.SetMap(k.ctx, name, world.Map{URL: "file:///x", Format: "own"}, nil)
		}, 0},
		"by item": {func(string) (world.Mark, error) {
			_, mark, err := k.StateAll(k.ctx, false, world.Stated{Name: "kitchen", What: world.Withdrawal{Maps: true}})
			return mark, err
		}, 0},
		"said again": {func(name string) (world.Mark, error) {
			f, err := k.View(k.ctx)
			if err != nil {
				return world.Mark{}, err
			}
			is, err := f.Maps().Get(name)
			if err != nil {
				return world.Mark{}, err
			}
			_, mark, err := k.StateAll(k.ctx, false, world.Stated{Name: "kitchen", What: world.Withdrawal{Maps: true}}, world.Stated{Name: name, What: *is.Map})
			return mark, err
		}, 3},
		"in another map": {func(name string) (world.Mark, error) {
			other := world.Map{Format: "own", Link: engram.MustID("World/MapData/plan/" + name)}
			k.see(k.SetMap(k.ctx, "copy", other, nil))
			return k.Withdraw(k.ctx, name)
		}, 3},
	} {
		k.see(k.SetMap(k.ctx, name, world.Map{Describes: []string{"kitchen"}, Format: "own"}, data))
		if held(name) != 3 {
			k.Fatal("there are no data")
		}
		k.see(c.back(name))
		if got := held(name); got != c.left {
			k.Errorf("%s: %d bytes are left", name, got)
		}
		k.see(k.SetMap(k.ctx, name, world.Map{Format: "own"}, data)) // and they are there again
		if got, err := k.MapData(k.ctx, name); err != nil || !slices.Equal(got, data) {
			k.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Joints, maps and components can be taken back, by their names and with the item, by who stated them only.
func TestWithdraw(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		state := func() *world.Forest {
			k.Helper()
			failed, mark, err := k.StateAll(k.ctx, false,
				world.Stated{Name: "slide", What: world.Articulation{Base: "table", Moved: "cup", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: new(0.25), Source: world.Operator}},
				world.Stated{What: world.State{Item: "cup", Name: "full", Value: true, Source: world.Operator}, Confidence: 1},
				world.Stated{Name: "floor", What: world.Map{Describes: []string{"kitchen"}}}, world.Stated{Name: "cup", What: world.Component{Kind: "tag"}})
			if failed != nil {
				k.Fatal(failed)
			}
			f := k.see(mark, err)
			k.at(f, "table", "cup", 0.75)
			return f
		}
		left := func(f *world.Forest, joints, states, maps, components int) {
			k.Helper()
			said, _ := f.States("cup")
			got := []int{len(slices.Collect(f.Joints().All())), len(said), len(slices.Collect(f.Maps().All())), len(slices.Collect(f.Components().All()))}
			if want := []int{joints, states, maps, components}; !slices.Equal(got, want) {
				k.Errorf("joints, states, maps, components: %d, not %d", got, want)
			}
		}
		for range 2 { // what was taken back is stated again, and counts
			left(state(), 1, 1, 1, 1)
			f := k.see(k.Withdraw(k.ctx, "slide"))
			left(f, 0, 1, 1, 1)
			k.at(f, "table", "cup", 0.5)
		}
		left(state(), 1, 1, 1, 1)
		left(k.see(k.Withdraw(k.ctx, "floor")), 1, 1, 0, 1)
		left(state(), 1, 1, 1, 1)
		left(k.see(k.SetMap(k.ctx, "floor", world.Map{}, nil)), 1, 1, 0, 1)
		left(state(), 1, 1, 1, 1)
		f := k.see(k.Withdraw(k.ctx, "cup")) // with all beside it
		if left(f, 0, 0, 1, 0); f.Has("cup") {
			k.Error("the cup is there")
		}
		left(k.see(k.put(item("cup", "table", 0.5)), nil), 0, 0, 1, 0)
		left(state(), 1, 1, 1, 1)
		failed, mark, err := k.StateAll(k.ctx, false, world.Stated{Name: "cup", What: world.Withdrawal{States: true, Joints: true, Component: true}},
			world.Stated{Name: "kitchen", What: world.Withdrawal{Maps: true}})
		if failed != nil {
			k.Fatal(failed)
		}
		f = k.see(mark, err)
		if left(f, 0, 0, 0, 0); !f.Has("cup") || !f.Has("kitchen") {
			k.Error("the items are gone")
		}
	})
}

// What somebody else states stays.
func TestWithdrawOnlyOnesOwn(t *testing.T) {
	svc := newServer(t)
	plan, eye := kit{t, over(t, svc, "plan"), testkit.Context(t)}, kit{t, over(t, svc, "eye"), testkit.Context(t)}
	mark := plan.put(item("shelf", "", 0), item("box", "shelf", 1))
	joint := world.Articulation{Base: "shelf", Moved: "box", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}}
	plan.see(plan.Articulate(plan.ctx, "slide", joint))
	eye.see(mark, nil)
	joint.Value = new(0.5)
	f := eye.see(eye.Articulate(eye.ctx, "slide", joint))
	eye.at(f, "shelf", "box", 1.5)
	f = eye.see(eye.Withdraw(eye.ctx, "slide"))
	if j, err := f.Joints().Get("slide"); err != nil || j.Described.Provider != "plan" || j.Value != nil {
		t.Errorf("%+v, %v", j, err)
	}
}

// What was said of an item's states and joints before it was removed does not count when it is there again.
func TestStatesGoWithTheItem(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		slide := world.Articulation{Base: "table", Moved: "cup", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: new(0.25)}
		k.see(k.Articulate(k.ctx, "slide", slide))
		k.see(k.SetState(k.ctx, world.State{Item: "cup", Name: "full", Value: true}, 1))
		k.see(k.Remove(k.ctx, "cup", "broken", world.RefuseChildren))
		f := k.see(k.put(item("cup", "table", 0.5)), nil)
		if s, err := f.States("cup"); err != nil || len(s) > 0 {
			k.Errorf("its states are %v, %v", s, err)
		}
		if j, err := f.Joint("cup"); err == nil {
			k.Errorf("it is moved by %+v", j)
		}
		k.at(f, "table", "cup", 0.5)
		slide.Value = nil
		f = k.see(k.Articulate(k.ctx, "slide", slide))
		if k.at(f, "table", "cup", 0.5); f.Len() != 4 {
			k.Errorf("there are %d items", f.Len())
		}
		if s, err := k.see(k.SetState(k.ctx, world.State{Item: "cup", Name: "full", Value: false}, 1)).States("cup"); err != nil || len(s) != 1 || s[0].State.Value != false {
			k.Errorf("%v, %v", s, err)
		}
	})
	// An operator who removed an item and stated it again has said nothing of its states and joints: what is perceived of
	// them since counts, and what was before does not.
	eachModel(t, func(k kit) {
		k.kitchen()
		cup := item("cup", "table", 0.5)
		cup.Source = world.Operator
		slide := world.Articulation{Base: "table", Moved: "cup", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Source: world.Perception}
		perceive := func(value float64) *world.Forest {
			slide.Value = &value
			k.see(k.Articulate(k.ctx, "slide", slide))
			return k.see(k.SetState(k.ctx, world.State{Item: "cup", Name: "full", Value: value, Source: world.Perception}, 1))
		}
		for i := range 3 { // the second and the third time he has removed it before
			k.put(cup)
			value := float64(i)
			f := perceive(value)
			s, err := f.States("cup")
			if j, jerr := f.Joint("cup"); err != nil || jerr != nil || len(s) != 1 || s[0].State.Value != value || *j.Value != value {
				k.Errorf("perceived %d times: %v, %v, %+v, %v", i+1, s, err, j, jerr)
			}
			k.see(k.Remove(k.ctx, "cup", "oops", world.RefuseChildren))
			f = k.see(k.put(cup), nil)
			s, err = f.States("cup")
			if j, jerr := f.Joint("cup"); err != nil || len(s) > 0 || jerr == nil {
				k.Errorf("stated again: %v, %v, %+v", s, err, j)
			}
		}
	})
	// An operator's item stays where a camera says that it is gone, and its state and joint with it.
	svc := newServer(t)
	plan, eye := kit{t, over(t, svc, "plan"), testkit.Context(t)}, kit{t, over(t, svc, "eye"), testkit.Context(t)}
	box := item("box", "shelf", 1)
	box.Source = world.Operator
	plan.put(item("shelf", "", 0), box)
	plan.see(plan.Articulate(plan.ctx, "slide", world.Articulation{Base: "shelf", Moved: "box", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: new(0.5), Source: world.Operator}))
	mark, err := plan.SetState(plan.ctx, world.State{Item: "box", Name: "full", Value: true, Source: world.Operator}, 1)
	eye.see(mark, err)
	f := plan.see(eye.Remove(eye.ctx, "box", "not seen", world.RefuseChildren))
	if s, err := f.States("box"); err != nil || len(s) != 1 {
		t.Errorf("%v, %v", s, err)
	}
	plan.at(f, "shelf", "box", 1.5)
}

// Where a robot is is stated by itself, or in its own memory World; others are told so.
func TestPlaceOfAnotherRobot(t *testing.T) {
	eachModel(t, func(k kit) { // of the provider rover
		k.kitchen()
		k.put(item("rover", "kitchen", 1, world.KindRobot))
		tug := item("tug", "kitchen", 1, world.KindRobot)
		refused := func(what string, items ...world.NamedItem) {
			k.Helper()
			all, mark, err := k.Update(k.ctx, items...)
			if err != nil || mark != (world.Mark{}) || len(all) != 1 {
				k.Fatal(what, all, mark, err)
			}
			k.code(what, all[0].Err, engram.Conflict)
		}
		refused("all of it", tug)
		f := k.see(k.put(item("tug", "", 0, world.KindRobot)), nil)
		if !f.Has("tug") {
			k.Error("what it is counts")
		}
		refused("its pose", world.NamedItem{Name: "tug", Item: world.Item{Placement: tug.Placement}})
		refused("its parent", world.NamedItem{Name: "tug", Item: world.Item{Structure: tug.Structure}})
		_, err := k.UpdatePose(k.ctx, "tug", "kitchen", pose.Identity(), pose.Cov{})
		k.code("its pose alone", err, engram.Conflict)
		_, err = k.Attach(k.ctx, "tug", "kitchen", &tug.Placement.Pose)
		k.code("attached", err, engram.Conflict)
		if !strings.Contains(err.Error(), `from the provider "tug"`) {
			k.Error(err)
		}
		// What it is may be said first, with the same call, or last.
		kind := func(name string) world.NamedItem {
			return world.NamedItem{Name: name, Item: world.Item{Description: &world.Description{Kinds: []string{world.KindRobot}}, Source: world.Perception}}
		}
		placed := func(name string) world.NamedItem {
			return world.NamedItem{Name: name, Item: world.Item{Placement: &world.Placement{Frame: "kitchen", Pose: pose.Identity()}, Source: world.Perception}}
		}
		all, mark, err := k.Update(k.ctx, kind("new"), placed("new"))
		if len(all) != 1 {
			k.Fatal(all, err)
		}
		k.code("placed with the same call", all[0].Err, engram.Conflict)
		if f := k.see(mark, err); !f.Has("new") {
			k.Error("what it is counts")
		}
		k.put(placed("late"))
		refused("what it is, once placed", kind("late"))
		failed, _, err := k.StateAll(k.ctx, true, world.Stated{Name: "late", What: kind("late").Item})
		if err != nil || len(failed) != 1 {
			k.Fatal(failed, err)
		}
		k.code("of all", failed[0], engram.Conflict)
		k.see(k.Withdraw(k.ctx, "late"))
		k.put(kind("late"), kind("late"))
		k.put(placed("rover"), kind("rover"))
	})
}

// Who removed a robot, as an operator does over its head, has no say in its place: to state that takes the removal back.
func TestPlaceOfARobotThatWasRemoved(t *testing.T) {
	svc := newServer(t)
	operator, err := world.Over(t.Context(), svc, "plan", world.DefaultRules(), world.FromSource(world.Operator))
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	plan, tug := kit{t, operator, testkit.Context(t)}, kit{t, over(t, svc, "tug"), testkit.Context(t)}
	plan.kitchen()
	plan.see(tug.put(item("tug", "kitchen", 1, world.KindRobot)), nil) // by prior knowledge
	if f := plan.see(plan.Remove(plan.ctx, "tug", "gone", world.OrphanChildren)); f.Has("tug") {
		t.Fatal("the robot's own statement counts")
	}
	place := item("tug", "kitchen", 9)
	place.Description = nil
	all, mark, err := plan.Update(plan.ctx, place)
	if err != nil || len(all) != 1 || mark != (world.Mark{}) {
		t.Fatal(all, mark, err)
	}
	plan.code("its place", all[0].Err, engram.Conflict)
	if f, err := operator.View(t.Context()); err != nil || f.Has("tug") {
		t.Error("the refusal took the removal back", err)
	}
}

// A robot whose parent is removed waits for it, since nobody else can give it another one; other children have none.
func TestRobotWaitsForItsParent(t *testing.T) {
	svc := newServer(t)
	plan, tug := kit{t, over(t, svc, "plan"), testkit.Context(t)}, kit{t, over(t, svc, "tug"), testkit.Context(t)}
	plan.kitchen()
	plan.see(tug.put(item("tug", "kitchen", 1, world.KindRobot)), nil)
	f := plan.see(plan.Remove(plan.ctx, "kitchen", "burnt", world.OrphanChildren))
	var waiting []string
	for w := range f.Waiting() {
		waiting = append(waiting, w.Item.Name+" for "+w.Parent)
	}
	if !slices.Equal(waiting, []string{"tug for kitchen"}) || !slices.Equal(names(f.Roots()), []string{"shelf", "table"}) || len(f.Statements("tug")) != 1 {
		t.Errorf("%q wait, roots are %q, and %d speak of the robot", waiting, names(f.Roots()), len(f.Statements("tug")))
	}
}

// A check says of something large what is said when it is stated, whatever the time is then.
func TestSizeDoesNotDependOnTheTime(t *testing.T) {
	now := engram.Time(1e18)
	svc := serverOf(t, memories.World())
	w, err := world.Over(t.Context(), svc, "plan", world.DefaultRules(), world.FromSource(world.Perception), world.Clock(func() engram.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	wide := item("wide", "room", 0).Item
	wide.Description.Shape = &world.Shape{Kind: world.ShapePolygon, Outline: slices.Repeat([]pose.Vec3{{X: 1, Y: 2, Z: 3}}, 80_000)}
	var told []string
	for i, nanos := range []engram.Time{1, 999_999_999} {
		now = 1e18 + nanos
		failed, _, err := w.StateAll(t.Context(), i == 0, world.Stated{Name: "wide", What: wide})
		if err != nil || len(failed) != 1 || engram.CodeOf(failed[0]) != engram.Exhausted {
			t.Fatal(failed, err)
		}
		told = append(told, failed[0].Error())
	}
	if told[0] != told[1] {
		t.Errorf("%s\nis not\n%s", told[1], told[0])
	}
}
