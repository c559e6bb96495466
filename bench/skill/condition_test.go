package skill

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// seen returns an update of Object/Instance.
func seen(b *testing.B, name string) engram.EntityUpdate {
	b.Helper()
	typ, _ := memories.Type("engram.object.Instance")
	bytes, err := typ.Encode(map[string]any{"frame_id": "map"})
	must(b, err)
	in := engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: bytes})
	return engram.EntityUpdate{Entity: engram.MustID("Object/Instance/bench/" + name), Time: engram.Now(), Instances: []engram.Instance{in}}
}

// BenchmarkCondition commits an update that fulfils a condition 100 times a second: from before it is
// committed until the handler of the provider is called. This process, the server and the provider are three.
func BenchmarkCondition(b *testing.B) {
	for _, with := range []string{"", "log"} {
		b.Run(map[string]string{"": "ram", "log": "log"}[with], func(b *testing.B) {
			dir := b.TempDir()
			begin(b, dir, "server", with)
			ctx := b.Context()
			c, err := connect(ctx, dir)
			must(b, err)
			b.Cleanup(func() { c.Close() })
			begin(b, dir, "provider", "")
			for {
				if checked, err := skill.Check(ctx, c, skill.Request{Skill: "Note"}); err == nil && len(checked.Findings) == 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			must(b, condition.When(ctx, c, "bench", "note", "on Object/Instance/bench where frame_id == 'map' run Note update"))
			stream, err := c.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Skill/Execution/Conditions")}, WithData: true})
			must(b, err)
			defer stream.Close()
			types, err := skill.LoadTypes(ctx, c)
			must(b, err)
			const n, first = 1000, 100
			ages := make(chan time.Duration, n+first)
			go func() {
				defer close(ages)
				got := 0
				for u, err := range engram.Updates(ctx, stream) {
					if err != nil {
						return
					}
					e := &skill.Execution{}
					if types.Decode(u.Snapshot.Instances[0].Payload, e) != nil || e.Status != skill.Succeeded {
						continue
					}
					at, _ := e.Result.(map[string]any)["at"].(int64)
					asked, _ := e.Cause.Time()
					ages <- time.Duration(at - int64(asked))
					if got++; got == n+first {
						return
					}
				}
			}()
			u := seen(b, "cup")
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range n + first {
				<-tick.C
				u.Time = engram.Now()
				r, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
				must(b, err)
				must(b, engram.FirstError(r))
			}
			var all []time.Duration
			for age := range ages {
				all = append(all, age)
			}
			if all = all[min(first, len(all)):]; len(all) < n {
				b.Fatalf("%d of %d executions", len(all), n)
			}
			slices.Sort(all)
			for b.Loop() { // it was measured once; what is reported before is forgotten
			}
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs/p50")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs/p99")
			b.ReportMetric(float64(all[len(all)-1].Microseconds()), "µs/max")
		})
	}
}

// BenchmarkCommitThatConcernsNone commits an update that concerns none of 10,000 conditions, and one where there are
// none, in turn.
func BenchmarkCommitThatConcernsNone(b *testing.B) {
	ctx := b.Context()
	servers := map[string]*server.Server{}
	for _, conditions := range []int{0, 10_000} {
		s := serving.New(b, memories.All()...)
		for i := range conditions {
			must(b, condition.When(ctx, s, "bench", fmt.Sprint("c", i), fmt.Sprintf("on Object/Instance/*/thing-%d where frame_id == 'map' run Look", i)))
		}
		servers[strconv.Itoa(conditions)] = s
	}
	took := map[string][]float64{}
	const block = 5000
	for b.Loop() {
		for range 20 {
			for name, s := range servers {
				u := seen(b, "cup")
				begin := time.Now()
				for i := range block {
					u.Entity, u.Time = engram.MustID("Object/Instance/bench/cup-"+strconv.Itoa(i%100)), engram.Now()
					r, err := s.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
					must(b, err)
					must(b, engram.FirstError(r))
				}
				took[name] = append(took[name], float64(time.Since(begin).Nanoseconds())/block)
			}
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], "ns/commit-"+name)
	}
}
