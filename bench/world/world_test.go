package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/transport/rpc"
	"github.com/seed-301d4374/engram/world"
)

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func item(parent string, at pose.Pose, kind string) *world.Item {
	return &world.Item{
		Structure:   &world.Structure{Parent: parent},
		Placement:   &world.Placement{Pose: at, Cov: pose.DiagonalCov(0.01, 0.01)},
		Description: &world.Description{Kinds: []string{kind}},
	}
}

func put(b *testing.B, to *world.Builder, name string, it *world.Item) {
	must(b, to.Put(world.Statement{Name: name, Said: world.Said{Provider: "plan", Time: 1, Confidence: 1}, Item: it}))
}

// chains is a forest of items in chains of a depth below a room.
func chains(b *testing.B, items, depth int) *world.Builder {
	to := world.NewBuilder(world.DefaultRules())
	put(b, to, "room", &world.Item{Structure: &world.Structure{}, Description: &world.Description{Kinds: []string{world.KindMap}}})
	for i := range items {
		parent := "room"
		if i%depth > 0 {
			parent = fmt.Sprint("item", i-1)
		}
		put(b, to, fmt.Sprint("item", i), item(parent, pose.Translation(0.1, 0, 0), world.KindObject))
	}
	return to
}

func BenchmarkNearestParent(b *testing.B) {
	f := chains(b, 10_000, 20).Forest()
	var names []string
	for i := 19; i < 10_000; i += 20 {
		names = append(names, fmt.Sprint("item", i))
	}
	for i := 0; b.Loop(); i++ {
		_, err := f.NearestParent(names[i%len(names)], world.KindMap)
		must(b, err)
	}
}

func BenchmarkPoseThroughSixEdges(b *testing.B) {
	b.Run("world", func(b *testing.B) {
		f := chains(b, 10_000, 6).Forest()
		for b.Loop() {
			_, err := f.Pose("room", "item5")
			must(b, err)
		}
	})
	b.Run("pose", func(b *testing.B) {
		s := pose.New(pose.Config{})
		names := []string{"room", "a", "b", "c", "d", "e", "f"}
		for i, name := range names[1:] {
			must(b, s.Fixed(names[i], name, pose.Translation(0.1, 0, 0), pose.DiagonalCov(0.01, 0.01)))
		}
		p, err := s.Path("room", "f")
		must(b, err)
		for b.Loop() {
			_, _, _, failure := p.AtCov(1)
			must(b, failure.Err())
		}
	})
}

func BenchmarkRegion(b *testing.B) {
	to := world.NewBuilder(world.DefaultRules())
	put(b, to, "site", &world.Item{Structure: &world.Structure{}})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		put(b, to, fmt.Sprint("item", i), item("site", pose.Translation(r.Float64()*200, r.Float64()*200, r.Float64()*3), world.KindObject))
	}
	f := to.Forest()
	found := 0
	for b.Loop() {
		near, err := f.Near("site", pose.Vec3{X: r.Float64() * 200, Y: r.Float64() * 200, Z: 1}, 3)
		must(b, err)
		found += len(near)
	}
	b.ReportMetric(float64(found)/float64(b.N), "items/op")
}

// A change of one item of 100,000, and the forest after it.
func BenchmarkChange(b *testing.B) {
	to := chains(b, 100_000, 20)
	to.Forest()
	for i := 0; b.Loop(); i++ {
		s := world.Statement{Name: "item19", Said: world.Said{Provider: "plan", Time: engram.Time(2 + i)}, Item: item("item18", pose.Translation(float64(i%100), 0, 0), world.KindObject)}
		must(b, to.Put(s))
		to.Forest()
	}
}

func BenchmarkRAM(b *testing.B) {
	const items = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		f := chains(b, items, 20).Forest()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/items, "B/item")
		runtime.KeepAlive(f)
	}
}

// over returns a world over a memory in this process that 10,000 items were stated in.
func over(b *testing.B, svc engram.Service) *world.Memory {
	m, err := world.Over(b.Context(), svc, "plan", world.DefaultRules())
	must(b, err)
	b.Cleanup(func() { must(b, m.Close()) })
	return m
}

func BenchmarkTree(b *testing.B) {
	srv := serving.New(b, memories.World())
	m := over(b, srv)
	state := func() world.Mark {
		var items []world.NamedItem
		for i := range 10_000 {
			items = append(items, world.NamedItem{Name: fmt.Sprint("item", i), Item: *item(fmt.Sprint("item", i-i%20), pose.Translation(1, 0, 0), world.KindObject)})
			if i%20 == 0 {
				items[i].Structure.Parent = ""
			}
		}
		_, mark, err := m.Update(b.Context(), items...)
		must(b, err)
		return mark
	}
	state()
	then := engram.Now()
	_, err := m.View(b.Context(), state())
	must(b, err)
	for _, at := range []struct {
		name string
		time engram.Time
	}{{"present", engram.MaxTime - 1}, {"past", then}} {
		b.Run(at.name, func(b *testing.B) {
			for b.Loop() {
				f, err := m.Past(b.Context(), at.time, nil)
				if must(b, err); f.Len() != 10_000 {
					b.Fatal(f.Len())
				}
			}
		})
	}
}

// A change until who follows has it, over gRPC: by a world, and by a plain subscription.
func BenchmarkFollow(b *testing.B) {
	srv := serving.New(b, memories.World())
	there := serving.Dial(b, serving.Serve(b, srv, nil, rpc.Options{}, "").Address, rpc.DialOptions{})
	codec, err := world.NewCodec(b.Context(), srv)
	must(b, err)
	p, err := codec.EncodeItem(item("", pose.Identity(), world.KindObject))
	must(b, err)
	commit := func(b *testing.B) {
		u := engram.EntityUpdate{Entity: engram.MustID("World/Item/eye/cup"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(p)}}
		r, err := srv.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{u}})
		must(b, err)
		must(b, engram.FirstError(r))
	}
	b.Run("subscriber", func(b *testing.B) {
		s, err := there.Subscribe(b.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("World/Item")}, WithData: true})
		must(b, err)
		defer s.Close()
		for b.Loop() {
			commit(b)
			_, err := s.Next(b.Context())
			must(b, err)
		}
	})
	b.Run("world", func(b *testing.B) {
		w, err := over(b, there).Watch(b.Context())
		must(b, err)
		defer w.Close()
		for b.Loop() {
			commit(b)
			_, err := w.Next(b.Context())
			must(b, err)
		}
	})
}
