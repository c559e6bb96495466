package world_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func over(t testing.TB, svc engram.Service, provider string) *world.Memory {
	t.Helper()
	m, err := world.Over(t.Context(), svc, provider, world.DefaultRules(), world.FromSource(world.Perception))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func local() *world.Local {
	return world.NewLocal("rover", world.DefaultRules(), world.FromSource(world.Perception))
}

// models are all that the behaviour is tested of.
var models = map[string]func(*testing.T) world.Model{
	"local":         func(*testing.T) world.Model { return local() },
	"memory":        func(t *testing.T) world.Model { return over(t, newServer(t), "rover") },
	"switch":        func(*testing.T) world.Model { return world.NewSwitch(local()) },
	"switch memory": func(t *testing.T) world.Model { return world.NewSwitch(over(t, newServer(t), "rover")) },
}

// kit is a model with what tests ask of it.
type kit struct {
	*testing.T
	world.Model
	ctx context.Context
}

func eachModel(t *testing.T, f func(kit)) {
	for name, make := range models {
		t.Run(name, func(t *testing.T) { f(kit{t, make(t), testkit.Context(t)}) })
	}
}

func item(name, parent string, x float64, kinds ...string) world.NamedItem {
	it := world.Item{Structure: &world.Structure{Parent: parent}, Description: &world.Description{Kinds: kinds}, Source: world.PriorKnowledge}
	if parent != "" {
		it.Placement = &world.Placement{Pose: pose.Translation(x, 0, 0)}
	}
	return world.NamedItem{Name: name, Item: it}
}

// put states items, all of which are taken.
func (k kit) put(items ...world.NamedItem) world.Mark {
	k.Helper()
	refused, mark, err := k.Update(k.ctx, items...)
	if err != nil || len(refused) > 0 {
		k.Fatal(refused, err)
	}
	return mark
}

// see returns the world after a write that succeeds.
func (k kit) see(mark world.Mark, err error) *world.Forest {
	k.Helper()
	if err != nil || mark == (world.Mark{}) {
		k.Fatal(mark, err)
	}
	f, err := k.View(k.ctx, mark)
	if err != nil {
		k.Fatal(err)
	}
	return f
}

func (k kit) kitchen() *world.Forest {
	return k.see(k.put(item("kitchen", "", 0, "map"), item("table", "kitchen", 2, "object"), item("shelf", "kitchen", -3, "object"),
		item("cup", "table", 0.5, "object")), nil)
}

func (k kit) at(f *world.Forest, target, source string, x float64) {
	k.Helper()
	if got, err := f.Pose(target, source); err != nil || math.Abs(got.Pose.T.X-x) > 1e-9 {
		k.Errorf("%s from %s: %v, %v, want %g", source, target, got.Pose, err, x)
	}
}

func (k kit) code(what string, err error, want engram.Code) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Errorf("%s: %v, want %v", what, err, want)
	}
}

func names(items iter.Seq[*world.Merged]) (names []string) {
	for m := range items {
		names = append(names, m.Name)
	}
	return names
}

// Who states again what he removed does not bring back what others said before.
func TestRemovalStaysWithItsProvider(t *testing.T) {
	k := kit{t, nil, testkit.Context(t)}
	svc := newServer(t)
	plan, eye := over(t, svc, "plan"), over(t, svc, "eye")
	k.Model = plan
	mark := k.put(item("cup", "shelf", 1, "object", "glass"))
	k.Model = eye
	k.see(mark, nil)
	f := k.see(k.Remove(k.ctx, "cup", "broken", world.RefuseChildren))
	if f.Has("cup") {
		t.Error("it is there")
	}
	f = k.see(k.put(world.NamedItem{Name: "cup", Item: world.Item{Structure: &world.Structure{Parent: "table"}}}), nil)
	if m, err := f.Get("cup"); err != nil || m.Structure.Parent != "table" || m.Description != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestUpdate(t *testing.T) {
	eachModel(t, func(k kit) {
		f := k.kitchen()
		if got := names(f.All()); !slices.Equal(got, []string{"kitchen", "shelf", "table", "cup"}) {
			k.Errorf("all: %q", got)
		}
		// What is not set stays as it was stated, with its time.
		before, _ := f.Get("cup")
		f = k.see(k.put(world.NamedItem{Name: "cup", Item: world.Item{Placement: &world.Placement{Pose: pose.Translation(0.7, 0, 0)}}}), nil)
		after, _ := f.Get("cup")
		k.at(f, "kitchen", "cup", 2.7)
		if !after.Is("object") || after.Description.Time != before.Description.Time || after.Placement.Time <= before.Placement.Time {
			k.Errorf("%+v became %+v", before, after)
		}
		// Those that are refused do not stop the others.
		bad := item("nan", "kitchen", math.NaN())
		gone := item("gone", "", 0)
		gone.Removed = &world.Removal{}
		refused, mark, err := k.Update(k.ctx, item("self", "self", 0), bad, item("plate", "table", 0), item("kitchen", "cup", 0), gone)
		var who []string
		for _, r := range refused {
			who = append(who, r.Name+" "+engram.CodeOf(r.Err).String())
		}
		if want := []string{"self invalid", "nan invalid", "kitchen conflict", "gone invalid"}; !slices.Equal(who, want) {
			k.Errorf("refused: %q", who)
		}
		if f := k.see(mark, err); !f.Has("plate") || f.Has("nan") {
			k.Error("the plate is not there, or what is nowhere is")
		}
		// A child may come before its parent.
		f = k.see(k.put(item("spoon", "drawer", 1)), nil)
		for w := range f.Waiting() {
			if w.Item.Name != "spoon" || w.Parent != "drawer" {
				k.Errorf("%s waits for %s", w.Item.Name, w.Parent)
			}
		}
		f = k.see(k.put(item("drawer", "table", 1)), nil)
		k.at(f, "kitchen", "spoon", 4)
	})
}

// What is named twice in one call is stated twice.
func TestUpdateTwice(t *testing.T) {
	eachModel(t, func(k kit) {
		mark := k.put(
			world.NamedItem{Name: "cup", Item: world.Item{Description: &world.Description{Kinds: []string{"object"}}}},
			world.NamedItem{Name: "cup", Item: world.Item{Placement: &world.Placement{Frame: "map", Pose: pose.Translation(1, 0, 0)}}})
		if m, err := k.see(mark, nil).Get("cup"); err != nil || !m.Is("object") || m.Placement == nil {
			k.Errorf("%+v, %v", m, err)
		}
	})
}

// A provider whose clock was put back is heard.
func TestClockIsPutBack(t *testing.T) {
	srv, ctx := newServer(t), testkit.Context(t)
	now := engram.Time(1e18)
	for i := range 2 {
		m, err := world.Over(ctx, srv, "rover", world.DefaultRules(), world.Clock(func() engram.Time { return now }), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		k := kit{t, m, ctx}
		k.put(item("cup", "", 0))
		f := k.see(k.SetState(ctx, world.State{Item: "cup", Name: "full", Value: int64(i)}, 1))
		if s, err := f.States("cup"); err != nil || s[0].State.Value != int64(i) {
			t.Error(s[0].State, err)
		}
		data := []byte{byte(i)}
		k.see(k.SetMap(ctx, "floor", world.Map{Kind: world.Octomap, Describes: []string{"cup"}}, data))
		if got, err := k.MapData(ctx, "floor"); err != nil || got[0] != data[0] {
			t.Error(got, err)
		}
		kind := fmt.Sprint("camera", i)
		f = k.see(k.SetComponent(ctx, "eye", world.Component{Kind: kind}))
		if c, err := f.Components().Get("eye"); err != nil || c.Component.Kind != kind {
			t.Error(c, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		now -= engram.Time(time.Hour)
	}
}

// Once a clock that was far ahead is set, the running program says what is new, and what it said with a later time is refused
// until then.
func TestClockThatWasAheadIsSet(t *testing.T) {
	var off atomic.Int64
	now := func() engram.Time { return engram.Now().Add(time.Duration(off.Load())) }
	svc, ctx := serving.NewOf(t, server.Config{Memories: []server.Memory{memories.World()}, Log: testkit.Quiet, Now: now}), testkit.Context(t)
	m, err := world.Over(ctx, svc, "plan", world.DefaultRules(), world.FromSource(world.Perception), world.Clock(now))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	k := kit{t, m, ctx}
	off.Store(int64(10 * time.Minute))
	k.put(item("cup", "", 0), item("room", "", 0))
	off.Store(0)
	refused, mark, err := m.Update(ctx, item("new", "", 0), item("cup", "room", 1), item("newer", "new", 1))
	if f := k.see(mark, err); len(refused) != 1 || !errors.Is(refused[0].Err, engram.OutOfRange) || !f.Has("new") || !f.Has("newer") {
		t.Errorf("%v; there are %q", refused, names(f.All()))
	}
	off.Store(int64(9*time.Minute + 30*time.Second)) // less ahead than a server allows
	k.put(item("cup", "room", 1))
}

func TestUpdatePose(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		f := k.see(k.UpdatePose(k.ctx, "cup", "", pose.Translation(0.1, 0, 0), pose.ExactCov()))
		k.at(f, "kitchen", "cup", 2.1)
		f = k.see(k.UpdatePose(k.ctx, "cup", "shelf", pose.Translation(0.1, 0, 0), pose.ExactCov()))
		k.at(f, "kitchen", "cup", -2.9)
		if got := names(f.Children("table")); !slices.Equal(got, []string{"cup"}) {
			k.Errorf("on the table: %q", got)
		}
		_, err := k.UpdatePose(k.ctx, "fork", "", pose.Identity(), pose.Cov{})
		k.code("a pose of nothing", err, engram.NotFound)
		_, err = k.UpdatePose(k.ctx, "cup", "", pose.Pose{}, pose.Cov{})
		k.code("no pose", err, engram.Invalid)
	})
}

func TestAttach(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		f := k.see(k.Attach(k.ctx, "cup", "shelf", nil)) // without a jump
		k.at(f, "kitchen", "cup", 2.5)
		k.at(f, "shelf", "cup", 5.5)
		if got := names(f.Children("shelf")); !slices.Equal(got, []string{"cup"}) {
			k.Errorf("on the shelf: %q", got)
		}
		in := pose.Translation(1, 0, 0)
		k.at(k.see(k.Attach(k.ctx, "cup", "table", &in)), "kitchen", "cup", 3)
		_, err := k.Attach(k.ctx, "kitchen", "cup", nil)
		k.code("below itself", err, engram.Conflict)
		_, err = k.Attach(k.ctx, "cup", "cup", nil)
		k.code("to itself", err, engram.Invalid)
		_, err = k.Attach(k.ctx, "cup", "moon", nil)
		k.code("to nothing", err, engram.NotFound)
		_, err = k.Attach(k.ctx, "moon", "cup", nil)
		k.code("nothing", err, engram.NotFound)
		k.put(item("island", "", 0, "map"))
		_, err = k.Attach(k.ctx, "cup", "island", nil)
		if _, ok := errors.AsType[world.NotAligned](err); !ok {
			k.Errorf("to where nobody knows: %v", err)
		}
	})
}

func TestRemove(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		_, err := k.Remove(k.ctx, "table", "sold", world.RefuseChildren)
		k.code("a table with a cup", err, engram.Conflict)
		_, err = k.Remove(k.ctx, "moon", "", world.RefuseChildren)
		k.code("nothing", err, engram.NotFound)
		f := k.see(k.Remove(k.ctx, "table", "sold", world.OrphanChildren))
		k.at(f, "kitchen", "cup", 2.5)
		if got := names(f.Roots()); f.Has("table") || !slices.Equal(got, []string{"cup", "kitchen"}) {
			k.Errorf("without a table the roots are %q", got)
		}
		f = k.see(k.Remove(k.ctx, "kitchen", "burnt", world.WithChildren))
		if got := names(f.All()); !slices.Equal(got, []string{"cup"}) {
			k.Errorf("left are %q", got)
		}
		k.put(item("box", "cup", 1))
		f = k.see(k.Remove(k.ctx, "cup", "broken", world.OrphanChildren))
		if m, err := f.Get("box"); err != nil || m.Placement != nil {
			k.Errorf("what lay in a root that went: %v, %v", m, err)
		}
		if f = k.see(k.Withdraw(k.ctx, "box")); f.Len() != 0 {
			k.Errorf("left are %q", names(f.All()))
		}
		if f = k.see(k.put(item("cup", "", 0)), nil); !f.Has("cup") {
			k.Error("what is stated after its removal is not there")
		}
	})
}

func TestJointsAndStates(t *testing.T) {
	eachModel(t, func(k kit) {
		k.kitchen()
		for value := range 3 {
			out := float64(value) / 10
			f := k.see(k.Articulate(k.ctx, "runner", world.Articulation{
				Base: "kitchen", Moved: "table", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Value: &out,
			}))
			k.at(f, "kitchen", "cup", 2.5+out)
		}
		_, err := k.Articulate(k.ctx, "runner", world.Articulation{Base: "cup", Moved: "cup"})
		k.code("a joint of one", err, engram.Invalid)
		f := k.see(k.SetState(k.ctx, world.State{Item: "cup", Name: "full", Value: true}, 0.75))
		if s, err := f.States("cup"); err != nil || len(s) != 1 || s[0].State.Value != true || s[0].Confidence != 0.75 {
			k.Errorf("%v, %v", s, err)
		}
		_, err = k.SetState(k.ctx, world.State{Item: "moon", Name: "full"}, 1)
		k.code("the moon", err, engram.NotFound)
		_, err = k.SetState(k.ctx, world.State{Item: "cup", Name: "full"}, math.NaN())
		k.code("no confidence", err, engram.Invalid)
	})
}

func TestWatch(t *testing.T) {
	eachModel(t, func(k kit) {
		w, err := k.Watch(k.ctx)
		if err != nil {
			k.Fatal(err)
		}
		k.kitchen()
		seen := map[string]bool{}
		for len(seen) < 4 {
			c, err := w.Next(k.ctx)
			if err != nil {
				k.Fatal(err)
			}
			for _, name := range c.Names {
				if seen[name] = true; !c.Forest.Has(name) {
					k.Errorf("%s is told and not there", name)
				}
			}
		}
		ended := make(chan error)
		go func() { _, err := w.Next(k.ctx); ended <- err }()
		w.Close()
		k.code("closed", <-ended, engram.Canceled)
		w.Close()
	})
}

func TestMarkThatDoesNotCome(t *testing.T) {
	eachModel(t, func(k kit) {
		mark := k.put(item("kitchen", "", 0))
		mark.Number += 100
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		_, err := k.View(ctx, mark)
		k.code("not yet", err, engram.TooNew)
	})
}

// Who holds the mark of an attach never sees the state before it, in another world of the same
// memory.
func TestNoPlanOnAStaleWorld(t *testing.T) {
	srv := newServer(t)
	writer, reader := kit{t, over(t, srv, "rover"), testkit.Context(t)}, over(t, srv, "arm")
	writer.kitchen()
	for i := range 500 {
		to := []string{"shelf", "table"}[i%2]
		at := pose.Translation(float64(i), 0, 0)
		mark, err := writer.Attach(writer.ctx, "cup", to, &at)
		if err != nil {
			t.Fatal(err)
		}
		f, err := reader.View(writer.ctx, mark)
		if err != nil {
			t.Fatal(err)
		}
		if m, _ := f.Get("cup"); m.Structure.Parent != to || m.Placement.Pose != at {
			t.Fatalf("attach %d to %s, and it is on %s at %v", i, to, m.Structure.Parent, m.Placement.Pose)
		}
	}
}

// What a payload cannot hold does not stop the others.
func TestWhatCannotBeStored(t *testing.T) {
	k := kit{t, over(t, newServer(t), "rover"), testkit.Context(t)}
	odd := item("odd", "", 0)
	odd.Description.Properties = map[string]any{"channel": make(chan int)}
	refused, mark, err := k.Update(k.ctx, odd, item("even", "", 0))
	if len(refused) != 1 || refused[0].Name != "odd" || !errors.Is(refused[0].Err, engram.TypeMismatch) {
		t.Errorf("refused: %v", refused)
	}
	if f := k.see(mark, err); !f.Has("even") || f.Has("odd") {
		t.Errorf("there are %q", names(f.All()))
	}
}

// A world has what was there before it, and marks from before; what others say, too.
func TestWorldOfSeveralProviders(t *testing.T) {
	srv := newServer(t)
	plan := kit{t, over(t, srv, "plan"), testkit.Context(t)}
	plan.kitchen()
	mark := plan.put(item("cup", "table", 1, "object"))
	eye := kit{t, over(t, srv, "eye"), plan.ctx}
	eye.at(eye.see(mark, nil), "kitchen", "cup", 3)
	mark, err := eye.UpdatePose(eye.ctx, "cup", "", pose.Translation(0.2, 0, 0), pose.Cov{})
	f := plan.see(mark, err)
	plan.at(f, "kitchen", "cup", 2.2)
	if m, _ := f.Get("cup"); m.Placed.Provider != "eye" || m.Described.Provider != "plan" {
		t.Errorf("%+v", m)
	}
	// What nobody can read is left out.
	c, err := srv.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("World/Item/mad/cup"), Time: engram.Now(),
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "engram.world.Item"})},
	}}})
	if err != nil || engram.FirstError(c) != nil {
		t.Fatal(c, err)
	}
	plan.at(plan.see(plan.put(item("fork", "table", 0)), nil), "kitchen", "cup", 2.2)
}

// The remote control was under the cushion; what came to be known later does not change what
// was known then.
func TestPast(t *testing.T) {
	srv := newServer(t)
	sw := world.NewSwitch(over(t, srv, "rover"))
	k := kit{t, sw, testkit.Context(t)}
	f := k.see(k.put(item("sofa", "", 0), item("cushion", "sofa", 1), item("remote", "cushion", 0)), nil)
	under, _ := f.Get("remote")
	k.see(k.Attach(k.ctx, "remote", "sofa", nil))
	then, err := k.Past(k.ctx, under.Placement.Time, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(then.Children("cushion")); !slices.Equal(got, []string{"remote"}) {
		t.Errorf("under the cushion: %q", got)
	}
	known := engram.Now()
	c := engram.EntityUpdate{Entity: engram.MustID("World/Item/eye/mouse"), Time: under.Placement.Time, Instances: []engram.Instance{mouse(t, srv)}}
	testkit.Commit(t, srv, c)
	now, err := k.Past(k.ctx, under.Placement.Time, nil)
	before, err2 := k.Past(k.ctx, under.Placement.Time, &known)
	if err != nil || err2 != nil || !now.Has("mouse") || before.Has("mouse") || !before.Has("remote") {
		t.Errorf("known now: %q, %v; before: %q, %v", names(now.All()), err, names(before.All()), err2)
	}
	if _, err := local().Past(k.ctx, 0, nil); !errors.Is(err, engram.Unsupported) {
		t.Error(err)
	}
}

// mouse is what somebody tells late of a mouse.
func mouse(t *testing.T, types engram.Types) engram.Instance {
	t.Helper()
	c, err := world.NewCodec(t.Context(), types)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.EncodeItem(&world.Item{Structure: &world.Structure{Parent: "sofa"}})
	if err != nil {
		t.Fatal(err)
	}
	return engram.NewInstance(p)
}

func TestOverNeedsTheMemory(t *testing.T) {
	if _, err := world.Over(t.Context(), newServer(t), "", world.DefaultRules()); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("without a name: %v", err)
	}
	m, err := world.Over(t.Context(), newServer(t), "rover", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.View(t.Context()); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("after the end: %v", err)
	}
}

// Calls go on while the model is exchanged, and watchers with them.
func TestSwitch(t *testing.T) {
	ctx := testkit.Context(t)
	s := world.NewSwitch(local())
	k := kit{t, s, ctx}
	mark := k.put(item("kitchen", "", 0, "map"), item("old", "kitchen", 0))
	w, err := s.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				refused, mark, err := s.Update(ctx, item(fmt.Sprint("cup", i), "", 0))
				if err != nil || len(refused) > 0 {
					t.Error(refused, err)
				}
				if _, err := s.View(ctx, mark); err != nil {
					t.Error(err)
				}
				time.Sleep(0)
			}
		})
	}
	for i := range 50 {
		next := local()
		if _, _, err := next.Update(ctx, item(fmt.Sprint("new", i), "", 0)); err != nil {
			t.Error(err)
		}
		if _, ok := s.Exchange(next).(*world.Local); !ok {
			t.Error("another model was behind the switch")
		}
	}
	close(stop)
	callers.Wait()
	f := k.see(mark, nil) // of a model that is away
	if !f.Has("new49") || f.Has("kitchen") {
		t.Errorf("behind the switch are %q", names(f.All()))
	}
	told := map[string]bool{}
	for !told["new49"] || !told["kitchen"] {
		c, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.Names {
			told[name] = true
			if name == "kitchen" && !c.Forest.Has(name) && c.Since(name) != engram.MinTime {
				t.Errorf("the kitchen differs since %v only", c.Since(name))
			}
		}
	}
}

// late is a service whose news wait.
type late struct {
	engram.Service
	open chan struct{}
}

func (l *late) Subscribe(ctx context.Context, s engram.Subscription) (engram.UpdateStream, error) {
	in, err := l.Service.Subscribe(ctx, s)
	return &lateStream{in, l}, err
}

type lateStream struct {
	engram.UpdateStream
	*late
}

func (s *lateStream) Next(ctx context.Context) ([]engram.Update, error) {
	select {
	case <-s.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.UpdateStream.Next(ctx)
}

// A mark is waited for after an exchange, too, if the model may come to have it.
func TestSwitchOverOneServer(t *testing.T) {
	srv := newServer(t)
	s := world.NewSwitch(over(t, srv, "rover"))
	k := kit{t, s, testkit.Context(t)}
	slow := &late{srv, make(chan struct{})}
	next := over(t, slow, "arm")
	mark := k.put(item("kitchen", "", 0, "map"))
	old := s.Exchange(next)
	ctx, cancel := context.WithTimeout(k.ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := s.View(ctx, mark); !errors.Is(err, engram.TooNew) {
		t.Errorf("before it came: %v", err)
	}
	close(slow.open)
	if f := k.see(mark, nil); !f.Has("kitchen") {
		t.Error("there is no kitchen after its mark")
	}
	s.Exchange(old)
	if f := k.see(k.put(item("cup", "kitchen", 1)), nil); !f.Has("cup") {
		t.Error("there is no cup after its mark")
	}
}
