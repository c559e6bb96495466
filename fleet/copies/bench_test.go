package copies_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// pose is what a payload of a tracked object looks like: some numbers that change.
func pose(b testing.TB, n int) engram.Payload {
	return testkit.Value(b, map[string]any{"name": "cup", "x": 0.1 + float64(n%977)/977, "y": 1.5 - float64(n%613)/613, "z": 0.75, "confidence": 0.9})
}

func commitPoses(b testing.TB, owner *node, from, n int) (bytes int64) {
	for i := 0; i < n; i += 100 {
		var c engram.Commit
		for j := i; j < min(i+100, n); j++ {
			p := pose(b, from+j)
			bytes += int64(len(p.Bytes))
			c.Updates = append(c.Updates, engram.EntityUpdate{
				Entity: engram.MustID("Object/Instance/Vision/" + string(rune('a'+j%20))), Time: engram.Time(1e18 + (from+j)*1e6), Instances: []engram.Instance{engram.NewInstance(p)},
			})
		}
		results, err := owner.Commit(b.Context(), c)
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return bytes
}

// BenchmarkCatchUp is a copy that begins beside an owner with 60,000 snapshots of 20
// entities: what a cut of a minute at 1,000 per second leaves. Link bytes are those of
// TCP's payload, both ways.
func BenchmarkCatchUp(b *testing.B) {
	for name, dirs := range map[string][2]string{"ram": {}, "disk": {b.TempDir(), b.TempDir()}} {
		b.Run(name, func(b *testing.B) {
			const n = 60_000
			owner := startNode(b, "robot1", dirs[0], listen(b, "127.0.0.1:0"), object())
			payload := commitPoses(b, owner, 0, n)
			for b.Loop() {
				b.StopTimer()
				radio := newLink(b, owner.address[len("http://"):])
				base := startNode(b, "base", "", listen(b, "127.0.0.1:0"))
				b.StartTimer()
				begun := time.Now()
				h := hold(b, base, oneOwner{server: "robot1", address: "http://" + radio.Addr().String()}, dirs[1], "robot1:Object")
				for base.Number() < n {
					time.Sleep(time.Millisecond)
				}
				b.ReportMetric(n/time.Since(begun).Seconds(), "versions/s")
				b.ReportMetric(float64(radio.total())/float64(payload), "link-bytes/payload-byte")
				b.StopTimer()
				if err := h.Close(); err != nil {
					b.Error(err)
				}
				base.stop()
				b.StartTimer()
			}
			owner.stop()
		})
	}
}

// BenchmarkLag is how long after a commit at the owner a subscriber of the copy has it,
// at 100 and at 1,000 commits per second.
func BenchmarkLag(b *testing.B) {
	for name, pause := range map[string]time.Duration{"100Hz": 10 * time.Millisecond, "1000Hz": time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			owner := startNode(b, "robot1", "", listen(b, "127.0.0.1:0"), object())
			radio := newLink(b, owner.address[len("http://"):])
			base := startNode(b, "base", "", listen(b, "127.0.0.1:0"))
			h := hold(b, base, oneOwner{server: "robot1", address: "http://" + radio.Addr().String()}, "", "robot1:Object")
			commitPoses(b, owner, 0, 100)
			for base.Number() < 100 {
				time.Sleep(time.Millisecond)
			}
			sub, err := base.Subscribe(b.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}})
			if err != nil {
				b.Fatal(err)
			}
			const n = 500
			arrived := make(chan []time.Time)
			go func() {
				var times []time.Time
				for len(times) < n {
					batch, err := sub.Next(b.Context())
					if err != nil {
						break
					}
					for range batch {
						times = append(times, time.Now())
					}
				}
				arrived <- times
			}()
			before := radio.total()
			var sent []time.Time
			payload := int64(0)
			next := time.Now()
			for i := range n {
				next = next.Add(pause)
				time.Sleep(time.Until(next))
				payload += commitPoses(b, owner, 100+i, 1)
				sent = append(sent, time.Now())
			}
			times := <-arrived
			sub.Close()
			var lags []time.Duration
			for i := range times {
				lags = append(lags, times[i].Sub(sent[i]))
			}
			slices.Sort(lags)
			b.ReportMetric(lags[len(lags)/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(lags[len(lags)*99/100].Seconds()*1e3, "p99-ms")
			b.ReportMetric(float64(radio.total()-before)/float64(payload), "link-bytes/payload-byte")
			b.ReportMetric(float64(payload)/n, "payload-bytes")
			if err := h.Close(); err != nil {
				b.Error(err)
			}
			base.stop()
			owner.stop()
		})
	}
}
