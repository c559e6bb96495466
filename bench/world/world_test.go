package world

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit/program"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
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
	defer cpu(b)()
	for i := 0; b.Loop(); i++ {
		_, err := f.NearestParent(names[i%len(names)], world.KindMap)
		must(b, err)
	}
}

func BenchmarkPoseThroughSixEdges(b *testing.B) {
	b.Run("world", func(b *testing.B) {
		f := chains(b, 10_000, 6).Forest()
		defer cpu(b)()
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
		defer cpu(b)()
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
	defer cpu(b)()
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
	defer cpu(b)()
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
		to := chains(b, items, 20)
		f := to.Forest()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/items, "B/item")
		runtime.KeepAlive(f)
		runtime.KeepAlive(to)
	}
}

// over returns a world over a memory in this process that 10,000 items were stated in.
func over(b *testing.B, svc engram.Service) *world.Memory {
	m, err := world.Over(b.Context(), svc, "plan", world.DefaultRules(), world.FromSource(world.Perception))
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
			defer cpu(b)()
			for b.Loop() {
				f, err := m.Past(b.Context(), at.time, nil)
				if must(b, err); f.Len() != 10_000 {
					b.Fatal(f.Len())
				}
			}
		})
	}
}

// followAddress has the test binary follow the server there.
const followAddress = "ENGRAM_BENCH_FOLLOW"

// TestMain has this binary be the other process of BenchmarkFollow, or the server of BenchmarkImport.
func TestMain(m *testing.M) {
	if address := os.Getenv(serveAddress); address != "" {
		if err := serveAsProgram(address, os.Getenv(serveData)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if address := os.Getenv(followAddress); address != "" {
		if err := follow(address, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	program.Remove()
	os.Exit(code)
}

// follow says a line for each change, with its age in nanoseconds: as a plain subscriber or a world.
func follow(address, as string) error {
	ctx := context.Background()
	c, err := rpc.Dial(ctx, address, rpc.DialOptions{})
	if err != nil {
		return err
	}
	var next func() (engram.Time, error)
	if as == "subscriber" {
		s, err := c.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("World/Item")}, WithData: true})
		if err != nil {
			return err
		}
		next = func() (engram.Time, error) {
			u, err := s.Next(ctx)
			if err != nil {
				return 0, err
			}
			return u[len(u)-1].Snapshot.Time, nil
		}
	} else {
		m, err := world.Over(ctx, c, "plan", world.DefaultRules(), world.FromSource(world.Perception))
		if err != nil {
			return err
		}
		w, err := m.Watch(ctx)
		if err != nil {
			return err
		}
		next = func() (engram.Time, error) {
			change, err := w.Next(ctx)
			if err != nil {
				return 0, err
			}
			cup, err := change.Forest.Get("cup")
			if err != nil {
				return 0, err
			}
			return cup.Placed.Time, nil
		}
	}
	fmt.Println("ready")
	for {
		t, err := next()
		if err != nil {
			return err
		}
		fmt.Println(int64(engram.Now() - t))
	}
}

// A change until who follows in another process has it: a plain subscriber, and a watcher of a world.
// They take turns, a block each, so that the ratio is of the same state of the machine.
func BenchmarkFollow(b *testing.B) {
	srv := serving.New(b, memories.World())
	address := serving.Serve(b, srv, nil, rpc.Options{}, "").Address
	codec, err := world.NewCodec(b.Context(), srv)
	must(b, err)
	p, err := codec.EncodeItem(item("", pose.Identity(), world.KindObject))
	must(b, err)
	start := func(as string) func() float64 {
		cmd := exec.CommandContext(b.Context(), os.Args[0], as)
		cmd.Env = append(os.Environ(), followAddress+"="+address)
		out, err := cmd.StdoutPipe()
		must(b, err)
		cmd.Stderr = os.Stderr
		must(b, cmd.Start())
		b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		lines := bufio.NewScanner(out)
		return func() float64 {
			if !lines.Scan() {
				b.Fatal("the other process ended")
			}
			age, _ := strconv.ParseFloat(lines.Text(), 64)
			return age
		}
	}
	medians := map[string][]float64{}
	const block, blocks = 500, 10
	for b.Loop() {
		for range blocks {
			for _, as := range []string{"subscriber", "world"} {
				next := start(as)
				next()
				var ages []float64
				for range block {
					u := engram.EntityUpdate{Entity: engram.MustID("World/Item/eye/cup"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(p)}}
					r, err := srv.Commit(context.Background(), engram.Commit{Updates: []engram.EntityUpdate{u}})
					must(b, err)
					must(b, engram.FirstError(r))
					ages = append(ages, next())
				}
				medians[as] = append(medians[as], median(ages[block/5:])) // after its first steps
			}
		}
	}
	ratios := make([]float64, len(medians["world"]))
	for i, w := range medians["world"] {
		ratios[i] = w / medians["subscriber"][i]
	}
	b.ReportMetric(median(medians["subscriber"]), "ns/subscriber")
	b.ReportMetric(median(medians["world"]), "ns/world")
	b.ReportMetric(median(ratios), "ratio")
}

// cpu begins to count the time that this process takes of processors, which does not depend on who
// else uses them; the function that it returns reports it per operation.
func cpu(b *testing.B) func() {
	taken := func() int64 {
		var u syscall.Rusage
		must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := taken()
	return func() { b.ReportMetric(float64(taken()-before)/float64(b.N), "cpu-ns/op") }
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// Belief of a cup that 20 of 1,000 looks since it was seen have covered, among 100 boxes. The
// others looked elsewhere: away, or at other rooms.
func BenchmarkBelief(b *testing.B) {
	rules := world.DefaultRules()
	rules.Correlation = 0 // so that each look counts
	to := world.NewBuilder(rules)
	put(b, to, "room", &world.Item{Structure: &world.Structure{}})
	put(b, to, "cup", item("room", pose.Translation(5, 0, 1), "cup"))
	for i := range 100 {
		box := item("room", pose.Translation(float64(i%10), 2+float64(i/10), 0), world.KindObject)
		box.Description.Box = &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.5, Y: 0.5, Z: 1}}
		put(b, to, fmt.Sprint("box", i), box)
	}
	f := to.Forest()
	r := rand.New(rand.NewPCG(1, 2))
	ahead := pose.Exp(pose.Twist{Phi: pose.Vec3{Y: math.Pi / 2}}).R // z of the camera along x of the room
	var looks []world.Look
	for i := range 1000 {
		l := world.Look{
			Sensor: "rover/camera", Said: world.Said{Provider: "rover", Time: engram.Time(2 + i)}, Frame: "room",
			Pose: pose.Pose{T: pose.Vec3{X: 2, Y: r.Float64()/5 - 0.1, Z: 1}, R: ahead},
			View: world.View{Horizontal: 1, Vertical: 0.8, MinRange: 0.3, MaxRange: 5},
			Seen: []string{"table", "plate", "lamp"}, LookedFor: world.LookedFor{Kinds: []string{"cup"}},
		}
		switch {
		case i%50 == 0:
		case i%2 == 0: // another room
			l.Pose.T.Y -= 20
		default: // turned away
			l.Pose.R = pose.Exp(pose.Twist{Phi: pose.Vec3{Z: r.Float64()*2 - 1}}).R
		}
		looks = append(looks, l)
	}
	defer cpu(b)()
	for b.Loop() {
		belief, err := f.Belief("cup", 2000, looks)
		if must(b, err); belief.Looked != 20 {
			b.Fatal(belief.Looked)
		}
	}
}
