package world_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/world"
)

// copyOf pulls all that a server has of its memories into another one, which has copies of them by the
// same names.
func copyOf(t testkit.T, to, from *server.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all service.Share
	for _, memory := range from.Memories() {
		all.Patterns = append(all.Patterns, engram.MustPattern(memory))
	}
	err := from.Pull(ctx, service.Request{Holder: "test", Shares: []service.Share{all}}, func(b *service.Batch) error {
		if err := to.PrepareCopy(ctx, b.Segments); err != nil {
			return err
		}
		_, err := to.ApplyCopy(ctx, service.Changes{Removed: b.Removed, Versions: slices.Clone(b.Items)})
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
	new := func(m ...server.Memory) *server.Server { return serverOf(t, m...) }
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
		before, after, holders := new(memories.World(), memories.Object(), memories.Navigation()), new(memories.World(), memories.Object(), memories.Navigation()), []*server.Server{new(), new()}
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
		say := func(s *server.Server) {
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
	copyOf(t, holder, own)
	fresh := serverOf(t, memories.World())
	testkit.Commit(t, fresh, engram.EntityUpdate{Entity: engram.MustID("World/Item/eye/cup"), Time: before.Time, Instances: before.Instances})
	r, err := world.Recover(t.Context(), world.RecoverOptions{Memory: "World", Own: fresh, Copy: holder, Name: "World", Since: before.Arrived + 1})
	if err != nil || len(r.Statements) != 2 {
		t.Errorf("%v, %+v", err, r)
	}
	for entity, is := range map[string]bool{"old": false, "plate": true} {
		if _, err := fresh.Latest(t.Context(), engram.MustID("World/Item/eye/"+entity)); (err == nil) != is {
			t.Errorf("%s: %v", entity, err)
		}
	}
	if s, err := fresh.Latest(t.Context(), engram.MustID("World/Item/eye/cup")); err != nil || s.Time != now {
		t.Error(s, err)
	}
}

func serverOf(t *testing.T, m ...server.Memory) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Memories: m, Log: testkit.Quiet})
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
		r, err := world.Recover(t.Context(), world.RecoverOptions{How: world.RecoverWithdraw, Memory: "World", Own: fresh, Copy: holder, Name: "World", Since: engram.MinTime, Now: func() engram.Time { return later }})
		if err != nil || len(r.Statements) != want || r.Refused != 0 {
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
