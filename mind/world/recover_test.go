package world_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	copying "github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// copyOf pulls all that a server has of its memories into another one, which has copies of them by the
// same names.
func copyOf(t testkit.T, to, from *copying.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all contract.Share
	for _, memory := range from.Memories() {
		all.Patterns = append(all.Patterns, engram.MustPattern(memory))
	}
	err := from.Pull(ctx, contract.Request{Holder: "test", Shares: []contract.Share{all}}, func(b *contract.Batch) error {
		if err := to.PrepareCopy(ctx, b.Segments); err != nil {
			return err
		}
		_, err := to.ApplyCopy(ctx, contract.Changes{Removed: b.Removed, Versions: slices.Clone(b.Items)})
		if b.Behind.Updates == 0 {
			cancel()
		}
		return err
	})
	if engram.CodeOf(err) != engram.Canceled {
		t.Fatal(err)
	}
}

// recoverable are the core segments of which something is recovered, by how many snapshots of each entity.
var recoverable = map[string]int{
	"World/Item": 1, "World/Articulation": 1, "World/State": 1, "World/Map": 1, "World/MapData": 1, "World/Component": 1, "World/Observation": 10_000,
	"Object/Instance": 1, "Object/Attachments": 10_000, "Object/ArticulatedAttachments": 10_000, "Navigation/Location": 1,
}

// What a memory lost is there again, whatever it was told before, meanwhile and by more than one copy; what it
// says itself counts, and nothing is committed twice.
func TestRecover(t *testing.T) {
	const now = engram.Time(1e18)
	new := func(m ...server.Memory) *copying.Server { return serverOf(t, m...) }
	payloads := map[string]engram.Payload{} // that say nothing, where that is taken
	for _, m := range []server.Memory{memories.World(), memories.Object(), memories.Navigation()} {
		for _, s := range m.Segments {
			payloads[s.ID.String()] = engram.Payload{Type: s.Type}
		}
	}
	c, err := world.NewCodec(t.Context(), new(memories.World()))
	if err == nil {
		payloads["World/Observation"], err = c.EncodeLook(&world.Look{Frame: "map", Pose: pose.Identity(), View: world.View{Horizontal: 1, Vertical: 1, MaxRange: 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after, holders := new(memories.World(), memories.Object(), memories.Navigation()), new(memories.World(), memories.Object(), memories.Navigation()), []*copying.Server{new(), new()}
		defer func() {
			for _, s := range append(holders, before, after) {
				s.Close()
			}
		}()
		segments := make([]string, 0, len(recoverable))
		for s := range recoverable {
			segments = append(segments, s)
		}
		slices.Sort(segments)
		all := map[string]map[engram.Time]bool{} // by entity, all times that any server was told that counts
		say := func(s *copying.Server) {
			segment := rapid.SampledFrom(segments).Draw(t, "segment")
			entity := fmt.Sprintf("%s/%s/e%d", segment, rapid.SampledFrom([]string{"eye", "plan"}).Draw(t, "provider"), rapid.IntRange(0, 2).Draw(t, "entity"))
			at := now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "time")) * time.Second)
			id := engram.MustID(entity)
			results, err := s.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(payloads[segment])}}}})
			if err == nil {
				err = engram.FirstError(results)
			}
			if err != nil {
				t.Fatal(entity, err)
			}
			if all[entity] == nil {
				all[entity] = map[engram.Time]bool{}
			}
			all[entity][at] = true
		}
		for range rapid.IntRange(1, 8).Draw(t, "before the first copy") {
			say(before)
		}
		copyOf(t, holders[0], before)
		for range rapid.IntRange(0, 4).Draw(t, "before the second copy") {
			say(before)
		}
		copyOf(t, holders[1], before)
		for range rapid.IntRange(0, 4).Draw(t, "since") {
			say(after)
		}
		rounds := rapid.SampledFrom([][]int{{0, 1, 0, 1}, {1, 0, 1}}).Draw(t, "order")
		for i, h := range rounds {
			for _, memory := range after.Memories() {
				number := after.Number()
				r, err := world.Recover(context.Background(), world.RecoverOptions{Memory: memory, Own: after, Copy: holders[h], Name: memory, Since: engram.MinTime})
				if err != nil || r.Refused > 0 {
					t.Fatalf("%v, %+v", err, r)
				}
				if got := int(after.Number() - number); got != len(r.Statements)+r.Others {
					t.Errorf("%d updates were committed, and %+v told", got, r)
				}
				if i >= 2 && after.Number() != number || i == 1 && h == 0 && after.Number() != number {
					t.Errorf("%d updates were committed again", after.Number()-number)
				}
			}
		}
		for entity, times := range all {
			id := engram.MustID(entity)
			r, err := after.Query(context.Background(), engram.PatternOf(id).Select(engram.All()))
			if err != nil {
				t.Fatal(err)
			}
			has := map[engram.Time]bool{}
			newest := engram.MinTime
			for it := range r.All() {
				has[it.Snapshot.Time] = true
				newest = max(newest, it.Snapshot.Time)
			}
			for at := range times {
				if single := recoverable[id.Memory()+"/"+id.CoreSegment()] == 1; !single && !has[at] || at > newest {
					t.Errorf("%s: what was said at %v is not there", entity, at)
				}
			}
		}
	})
}

// A memory that is kept on disk has only the last of what it was told from copies, and nothing that it
// forgot.
func TestRecoverTheLast(t *testing.T) {
	now := engram.Now()
	own, holder := serverOf(t, memories.World()), serverOf(t)
	say := func(entity string, at engram.Time) {
		testkit.Commit(t, own, engram.EntityUpdate{Entity: engram.MustID("World/Item/eye/" + entity), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "engram.world.Item"})}})
	}
	say("old", now.Add(-time.Hour))
	say("cup", now.Add(-2*time.Second))
	before, err := own.Latest(t.Context(), engram.MustID("World/Item/eye/cup"))
	if err != nil {
		t.Fatal(err)
	}
	say("cup", now)
	say("plate", now)
	say("late", now.Add(-10*time.Minute)) // what was seen before is said late
	copyOf(t, holder, own)
	fresh := serverOf(t, memories.World())
	testkit.Commit(t, fresh, engram.EntityUpdate{Entity: engram.MustID("World/Item/eye/cup"), Time: before.Time, Instances: before.Instances})
	r, err := world.Recover(t.Context(), world.RecoverOptions{Memory: "World", Own: fresh, Copy: holder, Name: "World", Since: before.Arrived + 1})
	if err != nil || len(r.Statements) != 3 {
		t.Errorf("%v, %+v", err, r)
	}
	for entity, is := range map[string]bool{"old": false, "plate": true, "late": true} {
		if _, err := fresh.Latest(t.Context(), engram.MustID("World/Item/eye/"+entity)); (err == nil) != is {
			t.Errorf("%s: %v", entity, err)
		}
	}
	if s, err := fresh.Latest(t.Context(), engram.MustID("World/Item/eye/cup")); err != nil || s.Time != now {
		t.Error(s, err)
	}
}

func serverOf(t *testing.T, m ...server.Memory) *copying.Server {
	t.Helper()
	s, err := copying.New(server.Config{Memories: m, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What was lost is withdrawn wherever it is believed, of every kind, and what was withdrawn before stays as it is.
func TestRecoverByWithdrawing(t *testing.T) {
	own, holder := serverOf(t, memories.World()), serverOf(t)
	k := kit{t, over(t, own, "plan"), testkit.Context(t)}
	k.put(item("room", "", 0, world.KindMap), item("cup", "room", 1), item("door", "room", 2), item("gone", "room", 3))
	for _, say := range []func() (world.Mark, error){
		func() (world.Mark, error) {
			return k.SetState(k.ctx, world.State{Item: "cup", Name: "full", Value: true}, 1)
		},
		func() (world.Mark, error) {
			return k.Articulate(k.ctx, "hinge", world.Articulation{Moved: "door", Base: "cup", Kind: world.Revolute, Pose: pose.Identity()})
		},
		func() (world.Mark, error) { return k.Remove(k.ctx, "gone", "test", world.RefuseChildren) },
		func() (world.Mark, error) { return k.Withdraw(k.ctx, "room") },
	} {
		if _, err := say(); err != nil {
			t.Fatal(err)
		}
	}
	copyOf(t, holder, own)
	fresh := serverOf(t, memories.World())
	later := engram.Now().Add(time.Minute)
	for i, want := range []int{5, 0} {
		r, err := world.Recover(t.Context(), world.RecoverOptions{How: world.RecoverWithdraw, Memory: "World", Own: fresh, Copy: holder, Name: "World", Since: engram.MinTime, Began: later})
		if err != nil || len(r.Withdrawn) != want || len(r.Statements)+r.Others+r.Refused != 0 {
			t.Errorf("%d: %v, %+v", i, err, r)
		}
	}
	f, err := over(t, fresh, "plan").View(k.ctx)
	if err != nil || f.Len() != 0 {
		t.Errorf("%d items are there, %v", f.Len(), err)
	}
	if _, err := f.Joint("door"); engram.CodeOf(err) != engram.NotFound {
		t.Error("the joint is there", err)
	}
	said, err := fresh.Query(k.ctx, engram.MustPattern("World").Select(engram.Latest(1)))
	if err != nil || len(said.Items()) != 5 {
		t.Fatal(err, len(said.Items()))
	}
	for _, it := range said.Items() {
		if it.Snapshot.Time != later {
			t.Errorf("%v was withdrawn at %v", it.ID, it.Snapshot.Time)
		}
	}
}

// meanwhile is a server to which something is said after it was asked what it has.
type meanwhile struct {
	*copying.Server
	say func()
}

func (m *meanwhile) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	err := m.Server.QueryParts(ctx, q, part)
	m.say()
	m.say = func() {}
	return err
}

// What is said since the server began is not withdrawn, whenever it is said, and wherever the memory is kept.
func TestWithdrawingLeavesWhatIsSaidSince(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile bool
		since     engram.Time
	}{
		"before the recovery":         {false, engram.MinTime},
		"meanwhile":                   {true, engram.MinTime},
		"before, and there is a disk": {false, engram.Now().Add(-time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			own, holder, fresh := serverOf(t, memories.World()), serverOf(t), serverOf(t, memories.World())
			k := kit{t, over(t, own, "plan"), testkit.Context(t)}
			k.put(item("cup", "", 1), item("plate", "", 1))
			copyOf(t, holder, own)
			began := engram.Now()
			again := func() { kit{t, over(t, fresh, "plan"), k.ctx}.put(item("cup", "", 2)) }
			m := &meanwhile{fresh, func() {}}
			if test.meanwhile {
				m.say = again
			} else {
				again()
			}
			if _, err := world.Recover(t.Context(), world.RecoverOptions{How: world.RecoverWithdraw, Memory: "World", Own: m, Copy: holder, Name: "World", Since: test.since, Began: began}); err != nil {
				t.Fatal(err)
			}
			for entity, says := range map[string]bool{"cup": true, "plate": false} {
				s, err := fresh.Latest(t.Context(), engram.MustID("World/Item/plan/"+entity))
				if err != nil || (len(s.Instances[0].Payload.Bytes) > 0) != says {
					t.Errorf("%s: %v, %v; is anything said of it: %v", entity, s, err, says)
				}
			}
		})
	}
}

// What cannot be withdrawn is taken back instead, so that all have the same world.
func TestWithdrawingTakesTheRest(t *testing.T) {
	own, holder, fresh := serverOf(t, memories.World(), memories.Object()), serverOf(t), serverOf(t, memories.World(), memories.Object())
	for entity, typ := range map[string]string{"World/Item/eye/cup": "engram.world.Item", "Object/Instance/eye/plate": "engram.object.Instance"} {
		testkit.Commit(t, own, engram.EntityUpdate{Entity: engram.MustID(entity), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: []byte{0x0a, 0}})}})
	}
	copyOf(t, holder, own)
	o := world.RecoverOptions{How: world.RecoverWithdraw, Own: fresh, Copy: holder, Since: engram.MinTime, Began: engram.Now()}
	for memory, want := range map[string][2]int{"World": {0, 1}, "Object": {1, 0}} {
		o.Memory, o.Name = memory, memory
		if r, err := world.Recover(t.Context(), o); err != nil || [2]int{len(r.Statements), len(r.Withdrawn)} != want {
			t.Errorf("%s: %v, %+v; want %v taken and withdrawn", memory, err, r, want)
		}
	}
}

// What the bounds of a memory keep no more is not lost, and is not told.
func TestRecoverWithinTheBounds(t *testing.T) {
	c, err := world.NewCodec(t.Context(), serverOf(t, memories.World()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.EncodeLook(&world.Look{Frame: "map", Pose: pose.Identity(), View: world.View{Horizontal: 1, Vertical: 1, MaxRange: 1}})
	if err != nil {
		t.Fatal(err)
	}
	now := engram.Now()
	look := func(s *copying.Server, at ...time.Duration) {
		var updates []engram.EntityUpdate
		for _, d := range at {
			updates = append(updates, engram.EntityUpdate{Entity: engram.MustID("World/Observation/rover/eye"), Time: now.Add(d), Instances: []engram.Instance{engram.NewInstance(p)}})
		}
		testkit.Commit(t, s, updates...)
	}
	times := func(n int, first, step time.Duration) (at []time.Duration) {
		for i := range n {
			at = append(at, first+time.Duration(i)*step)
		}
		return at
	}
	for name, test := range map[string]struct{ before, since []time.Duration }{
		"a night": {times(100, -20*time.Hour, time.Minute), times(3, 0, 1)},
		"full":    {times(10_000, -time.Hour, time.Millisecond), times(5, 0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			own, holder, fresh := serverOf(t, memories.World()), serverOf(t), serverOf(t, memories.World())
			look(own, test.before...)
			copyOf(t, holder, own)
			look(fresh, test.since...)
			for range 2 {
				r, err := world.Recover(t.Context(), world.RecoverOptions{Memory: "World", Own: fresh, Copy: holder, Name: "World", Since: engram.MinTime})
				if err != nil || r.Refused > 0 {
					t.Errorf("%v, %d are refused: %v", err, r.Refused, r.Reason)
				}
			}
		})
	}
}

// What is said before it is known what was said earlier takes nothing of that away, of items and joints, also if it is said
// once more meanwhile; what says all that is said, or takes it back, stays as it is.
func TestRecoverCompletesWhatIsSaidSince(t *testing.T) {
	own, holder, fresh := serverOf(t, memories.World()), serverOf(t), serverOf(t, memories.World())
	k := kit{t, over(t, own, "plan"), testkit.Context(t)}
	k.put(item("table", "", 0, "object"), item("spoon", "table", 1, "object"), item("fork", "table", 1, "object"), item("knife", "table", 1, "object"), item("door", "table", 1, "object"))
	hinge := world.Articulation{Moved: "door", Base: "table", Kind: world.Revolute, Pose: pose.Identity()}
	if _, err := k.Articulate(k.ctx, "hinge", hinge); err != nil {
		t.Fatal(err)
	}
	copyOf(t, holder, own)
	began := engram.Now()
	say := func(f func(world.Model) error) {
		t.Helper()
		w := over(t, fresh, "plan")
		defer w.Close()
		if err := f(w); err != nil {
			t.Fatal(err)
		}
	}
	label := func(label string) func(world.Model) error {
		return func(m world.Model) error {
			_, _, err := m.Update(k.ctx, world.NamedItem{Name: "spoon", Item: world.Item{Structure: &world.Structure{}, Description: &world.Description{Label: label}}})
			return err
		}
	}
	say(label("L1"))
	say(func(m world.Model) error { _, err := m.Withdraw(k.ctx, "fork"); return err })
	codec, err := world.NewCodec(k.ctx, fresh)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := codec.EncodeItem(&world.Item{Description: &world.Description{Label: "all of it"}})
	if err != nil {
		t.Fatal(err)
	}
	one := 1.0
	value, err := codec.EncodeJoint(&world.Articulation{Moved: "door", Value: &one})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, fresh,
		engram.EntityUpdate{Entity: engram.MustID("World/Item/plan/knife"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(raw)}},
		engram.EntityUpdate{Entity: engram.MustID("World/Articulation/plan/hinge"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(value)}})
	late, err := codec.EncodeItem(&world.Item{Source: world.Perception, Description: &world.Description{Label: "L2", Time: engram.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	var taken world.Taken
	for i, want := range []int{2, 1, 0, 0} {
		r, err := world.Recover(k.ctx, world.RecoverOptions{Memory: "World", Own: fresh, Copy: holder, Name: "World", Since: engram.MinTime, Began: began, Taken: &taken})
		if err != nil || len(r.Completed) != want || r.Refused != 0 {
			t.Errorf("%d: %d were completed, want %d: %+v, %v", i, len(r.Completed), want, r, err)
		}
		if i == 0 { // it was on its way
			testkit.Commit(t, fresh, engram.EntityUpdate{Entity: engram.MustID("World/Item/plan/spoon"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(late)}})
		}
	}
	f, err := over(t, fresh, "plan").View(k.ctx)
	if err != nil {
		t.Fatal(err)
	}
	spoon, err := f.Get("spoon")
	if err != nil || !spoon.Is("object") || spoon.Description.Label != "L2" || spoon.Structure == nil || spoon.Structure.Parent != "table" || spoon.Placement == nil {
		t.Errorf("%+v, %v", spoon, err)
	}
	if knife, err := f.Get("knife"); err != nil || knife.Structure != nil || knife.Is("object") || f.Has("fork") {
		t.Errorf("%+v, %v; the fork is there: %v", knife, err, f.Has("fork"))
	}
	if j, err := f.Joint("door"); err != nil || j.Base != "table" || j.Value == nil || *j.Value != 1 {
		t.Errorf("%+v, %v", j, err)
	}
}

// What a provider took back stays so, however much a copy knows of what was said earlier, and in whatever order copies answer:
// what counts is what was said last.
func TestRecoverCompletesByWhatWasSaidLast(t *testing.T) {
	ctx := testkit.Context(t)
	label := func(label string) world.NamedItem {
		it := item("cup", "table", 1, "object")
		it.Description.Label = label
		return it
	}
	more := world.NamedItem{Name: "cup", Item: world.Item{Structure: &world.Structure{}, Description: &world.Description{Maintainer: "lab"}}}
	whole := func(label string) world.NamedItem {
		return world.NamedItem{Name: "cup", Item: world.Item{Description: &world.Description{Kinds: []string{"object"}, Label: label, Maintainer: "lab"}}}
	}
	for name, test := range map[string]struct {
		last, heard string                  // the label before the server ended, and what the second holder heard of
		since       func(world.Model) error // said at the beginning
		rounds      []int                   // of which holder a copy answers: 0 has all that was said, 1 not the last of it
		then        func(world.Model) error // said between
		want        string
	}{
		"taken back before":           {"", "L1", nil, []int{0, 1}, update(ctx, more), "lab"},
		"taken back, said at once":    {"", "L1", update(ctx, more), []int{0, 1}, nil, "lab"},
		"taken back, the other order": {"", "L1", update(ctx, more), []int{1, 0}, nil, "lab"},
		"changed":                     {"L2", "L1", update(ctx, more), []int{1, 0}, nil, "L2 lab"},
		"changed, heard before":       {"L2", "L1", nil, []int{1, 0}, update(ctx, whole("L1")), "L2 lab"},
		"taken back between":          {"L1", "L1", update(ctx, whole("L1")), []int{0, 1}, update(ctx, whole("")), "lab"},
		"withdrawn, and said again": {"L1", "L1", func(m world.Model) error {
			if err := update(ctx, more)(m); err != nil {
				return err
			}
			if _, err := m.Withdraw(ctx, "cup"); err != nil {
				return err
			}
			return update(ctx, more)(m)
		}, []int{0, 1}, nil, "lab nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			own, fresh, holders := serverOf(t, memories.World()), serverOf(t, memories.World()), []*copying.Server{serverOf(t), serverOf(t)}
			say := func(s *copying.Server, f func(world.Model) error) {
				t.Helper()
				if f == nil {
					return
				}
				w := over(t, s, "plan")
				defer w.Close()
				if err := f(w); err != nil {
					t.Fatal(err)
				}
			}
			say(own, update(ctx, label("L0")))
			say(own, update(ctx, label(test.heard)))
			copyOf(t, holders[1], own)
			say(own, update(ctx, label(test.last)))
			copyOf(t, holders[0], own)
			began := engram.Now()
			say(fresh, test.since)
			var taken world.Taken
			for i, h := range test.rounds {
				for range 2 {
					o := world.RecoverOptions{Memory: "World", Own: fresh, Copy: holders[h], Name: "World", Since: engram.MinTime, Began: began, Taken: &taken}
					if r, err := world.Recover(ctx, o); err != nil || r.Refused > 0 {
						t.Fatalf("%+v, %v", r, err)
					}
				}
				if i == 0 {
					say(fresh, test.then)
				}
			}
			f, err := over(t, fresh, "plan").View(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cup, err := f.Get("cup")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSpace(cup.Description.Label + " " + cup.Description.Maintainer)
			if cup.Placement == nil {
				got += " nowhere"
			}
			if got != test.want {
				t.Errorf("it is %q, want %q", got, test.want)
			}
		})
	}
}

func update(ctx context.Context, items ...world.NamedItem) func(world.Model) error {
	return func(m world.Model) error {
		refused, _, err := m.Update(ctx, items...)
		if err == nil && len(refused) > 0 {
			err = refused[0].Err
		}
		return err
	}
}
