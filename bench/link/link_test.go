package link

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
	"github.com/seed-301d4374/engram/wm"
)

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// taken returns the time that this process has taken of processors.
func taken(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpu begins to count the time that this process takes of processors, which does not depend on who
// else uses them; the function that it returns reports it per operation, beyond a part that is
// free, and per each of so many.
func cpu(b *testing.B) func(free time.Duration, each int) {
	before := taken(b)
	return func(free time.Duration, each int) {
		op := float64(taken(b)-before) / float64(b.N)
		b.ReportMetric(op, "cpu-ns/op")
		b.ReportMetric((op-float64(free))/float64(each), "cpu-ns/link")
		b.ReportMetric(float64(each), "links")
	}
}

// result is a snapshot with links, in a Value.
func result(b testing.TB, entity string, at engram.Time, links ...string) engram.EntityUpdate {
	members := map[string]any{"score": 0.5}
	for i, l := range links {
		members[fmt.Sprint("link", i)] = engram.MustID(l)
	}
	return testkit.Update(b, entity, at, members)
}

// back asks for what links to an entity, and returns how many.
func back(b testing.TB, s *server.Server, target string) (n int) {
	for _, err := range s.Links().BackLinks(b.Context(), service.BackQuery{Target: engram.MustID(target)}) {
		must(b, err)
		n++
	}
	return n
}

// BenchmarkBackLinks asks for what links to an entity, of 1,000,000 links in RAM. The target is
// 20 µs and 0.2 µs for each.
func BenchmarkBackLinks(b *testing.B) {
	const links = 1_000_000
	s := serving.New(b, serving.Memory("M", server.Hooks{}))
	// Of 1,000 sources with 1,000 snapshots each: to all, to 1 of 10 … to 1 of 100,000 in turn.
	for source := range 1_000 {
		updates := make([]engram.EntityUpdate, 0, 1_000)
		for k := range 1_000 {
			i := source*1_000 + k
			target := "M/Any/t/others" + fmt.Sprint(i%7)
			for _, n := range []int{100_000, 1_000, 10} {
				if i%n == n/2 {
					target = fmt.Sprint("M/Any/t/every", n)
					break
				}
			}
			updates = append(updates, result(b, fmt.Sprint("M/Any/p/source", source), engram.Time(i+1), target))
		}
		testkit.Commit(b, s, updates...)
	}
	began := time.Now()
	back(b, s, "M/Any/t/nothing")
	b.Logf("the index of %d links was filled within %v", links, time.Since(began).Round(time.Millisecond))
	for _, target := range []string{"every100000", "every1000", "every10", "others0"} {
		b.Run(target, func(b *testing.B) {
			n, report := 0, cpu(b)
			for b.Loop() {
				n = back(b, s, "M/Any/t/"+target)
			}
			report(20*time.Microsecond, n)
		})
	}
	b.Run("all", func(b *testing.B) { // 1,000,000 that link to one
		s := serving.New(b, serving.Memory("M", server.Hooks{}))
		for source := range 1_000 {
			updates := make([]engram.EntityUpdate, 0, 1_000)
			for k := range 1_000 {
				updates = append(updates, result(b, fmt.Sprint("M/Any/p/source", source), engram.Time(source*1_000+k+1), "M/Any/t/one"))
			}
			testkit.Commit(b, s, updates...)
		}
		back(b, s, "M/Any/t/one")
		n, report := 0, cpu(b)
		for b.Loop() {
			n = back(b, s, "M/Any/t/one")
		}
		report(20*time.Microsecond, n)
	})
}

// BenchmarkBackLinksOnDisk asks for what links to an entity out of 1,000 episodes, each with one
// link to it and 20 to others, none of which is in RAM. The target is 20 ms.
func BenchmarkBackLinksOnDisk(b *testing.B) {
	dir := b.TempDir()
	quiet := slog.New(slog.DiscardHandler)
	open := func() *server.Server {
		store, err := ltm.Open(b.Context(), ltm.Options{Dir: dir, Log: quiet, DiskLimit: 1})
		must(b, err)
		m := serving.Memory("M", server.Hooks{})
		m.Segments[0].History = engram.Bounds{MaxCount: 1}
		s, err := server.New(server.Config{Memories: []server.Memory{m}, Store: store, Log: quiet})
		must(b, err)
		return s
	}
	s := open()
	for e := range 1_000 {
		at := engram.Time(e+1) * 1_000_000_000
		updates := []engram.EntityUpdate{result(b, "M/Any/p/source", at, "M/Any/t/one")}
		for k := range 20 {
			updates = append(updates, result(b, fmt.Sprint("M/Any/p/other", k), at, fmt.Sprint("M/Any/t/other", k)))
		}
		testkit.Commit(b, s, updates...)
		must(b, s.LongTerm().Seal(b.Context(), "bench"))
	}
	must(b, s.Close())
	for range 5 {
		s = open()
		began, used := time.Now(), taken(b)
		if n := back(b, s, "M/Any/t/one"); n != 1_000 {
			b.Fatalf("%d links", n)
		}
		b.Logf("the first question after a start, which fills the index, took %.1f ms, and %.1f ms of processors",
			time.Since(began).Seconds()*1000, (taken(b)-used).Seconds()*1000)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	s = open()
	defer s.Close()
	back(b, s, "M/Any/t/one")
	for b.Loop() {
		if n := back(b, s, "M/Any/t/one"); n != 1_000 {
			b.Fatalf("%d links", n)
		}
	}
}

// BenchmarkTrace walks a trace of 1,000 nodes, 20 links deep, that goes to and fro between two
// servers, by RPC. The target is 30 ms.
func BenchmarkTrace(b *testing.B) {
	names := mns.NewLocal()
	defer names.Close()
	var servers []*server.Server
	address := ""
	for i, memory := range []string{"A", "B"} {
		s := serving.New(b, serving.Memory(memory, server.Hooks{}))
		own := mns.Registry(nil)
		if i == 0 {
			own = names
		}
		h := serving.Serve(b, s, own, rpc.Options{Server: memory}, serving.Socket(b))
		kept, err := mns.Keep(b.Context(), names, mns.Registration{Server: memory, Memories: s.Memories(), Addresses: []string{h.Address}})
		must(b, err)
		defer kept.Close()
		if servers = append(servers, s); i == 0 {
			address = h.Address
		}
	}
	c, err := client.Connect(b.Context(), client.Options{Address: address})
	must(b, err)
	defer c.Close()
	// Level by level: each of 50 links to two of the next level, which the other server has.
	name := func(level, k int) string {
		return fmt.Sprintf("%s/Any/p/l%d-%d", []string{"A", "B"}[level%2], level, k%50)
	}
	for level := 20; level >= 0; level-- {
		for k := range 50 {
			var links []string
			if level < 20 {
				links = []string{name(level+1, k), name(level+1, k+1)}
			}
			if level == 0 {
				for i := range 50 {
					links = append(links, name(1, i))
				}
			}
			testkit.Commit(b, servers[level%2], result(b, name(level, k), engram.Time(1000-level), links...))
		}
	}
	for _, x := range []struct {
		name  string
		start string
		d     service.Direction
	}{{"up", name(0, 0), service.Up}, {"down", name(20, 0), service.Down}} {
		b.Run(x.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				for p, err := range c.Links().Trace(b.Context(), service.TraceQuery{Start: engram.MustID(x.start), Direction: x.d}) {
					must(b, err)
					if p.Node != nil {
						n++
					}
				}
			}
			b.ReportMetric(float64(n), "nodes")
		})
	}
}

// BenchmarkCommit commits updates with three links at 10,000/s, with the index of links in use and
// without, ten runs in turn, and reports the medians of a commit, and their ratio. The target is
// 1.05.
func BenchmarkCommit(b *testing.B) {
	const rate, seconds = 10_000, 1
	testkit.InTurn(b, 10, func(on bool) time.Duration { return commitMedian(b, on, rate, rate*seconds) })
}

func commitMedian(b *testing.B, indexed bool, rate, n int) time.Duration {
	s, err := server.New(server.Config{Memories: []server.Memory{serving.Memory("M", server.Hooks{})}, Log: testkit.Quiet, Limits: wm.Limits{}})
	must(b, err)
	defer s.Close()
	if indexed {
		back(b, s, "M/Any/t/one") // from now on it follows
	}
	ctx := context.Background()
	updates := make([]engram.EntityUpdate, n)
	for i := range updates {
		updates[i] = result(b, fmt.Sprint("M/Any/p/e", i%100), engram.Time(i+1), fmt.Sprint("M/Any/t/a", i%1000), "M/Any/t/b", fmt.Sprint("M/Any/t/c", i%10))
	}
	return testkit.Paced(rate, n, func(i int) {
		_, err := s.Commit(ctx, engram.Commit{Updates: updates[i : i+1]})
		must(b, err)
	})
}
