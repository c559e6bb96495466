package rpc_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// benchPayload is a payload of n bytes of any data.
func benchPayload(b *testing.B, n int) engram.Payload {
	for size := n; ; size-- {
		if p := testkit.Value(b, string(make([]byte, size))); len(p.Bytes) <= n {
			return p
		}
	}
}

// pipe is a commit stream and a subscription with data, each on a connection of
// its own.
func pipe(b *testing.B, address string, queue int) (engram.CommitStream, engram.UpdateStream) {
	s := serving.New(b, server.Memory{Name: "Test", Segments: []engram.CoreSegment{{
		ID: engram.MustID("Test/Any"), History: engram.Bounds{MaxCount: 1000},
	}}})
	at := serving.Serve(b, s, nil, rpc.Options{}, address)
	sub, err := serving.Dial(b, at.Address, rpc.DialOptions{}).Subscribe(b.Context(), engram.Subscription{WithData: true, Queue: queue})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { sub.Close() })
	stream, err := serving.Dial(b, at.Address, rpc.DialOptions{}).CommitStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stream.Close() })
	return stream, sub
}

func benchAddress(b *testing.B, network string) string {
	if network == "unix" {
		return serving.Socket(b)
	}
	return serving.AnyPort
}

// BenchmarkStreamLatency measures one way: from Send of a commit of 33 bytes to
// the subscriber that has it with its data, one at a time.
func BenchmarkStreamLatency(b *testing.B) {
	for _, network := range []string{"unix", "tcp"} {
		b.Run(network, func(b *testing.B) {
			stream, sub := pipe(b, benchAddress(b, network), 0)
			u := update(b, "e", 0, nil)
			u.Instances[0].Payload = benchPayload(b, 33)
			var took []time.Duration
			for b.Loop() {
				u.Time++
				began := time.Now()
				if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil {
					b.Fatal(err)
				}
				batch, err := sub.Next(b.Context())
				took = append(took, time.Since(began))
				if err != nil || len(batch) != 1 || batch[0].Snapshot == nil {
					b.Fatal(batch, err)
				}
				if _, err := stream.Recv(); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
		})
	}
}

// BenchmarkStreamThroughput sends as fast as the pipeline takes it, while a
// subscriber receives everything.
func BenchmarkStreamThroughput(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"33B", 33}, {"49KB", 49_000}, {"1MB", 1 << 20}} {
		b.Run(size.name, func(b *testing.B) {
			stream, sub := pipe(b, serving.Socket(b), 65_536)
			u := update(b, "e", 0, nil)
			u.Instances[0].Payload = benchPayload(b, size.bytes)
			b.SetBytes(int64(size.bytes))
			b.ResetTimer()
			failed := make(chan error, 2)
			go func() {
				for range b.N {
					u.Time++
					if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil {
						failed <- err
						return
					}
				}
				failed <- stream.CloseSend()
			}()
			go func() {
				for range b.N {
					if _, err := stream.Recv(); err != nil {
						failed <- err
						return
					}
				}
				failed <- nil
			}()
			dropped, seen := 0, 0
			for seen+dropped < b.N {
				batch, err := sub.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				for i := range batch {
					seen++
					dropped += int(batch[i].Dropped)
				}
			}
			for range 2 {
				if err := <-failed; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.ReportMetric(float64(dropped), "dropped")
		})
	}
}

// BenchmarkLatest reads one entity's newest snapshot, one call after the other.
func BenchmarkLatest(b *testing.B) {
	s := serving.New(b, testMemory(server.Hooks{}))
	c := serving.Dial(b, serving.Serve(b, s, nil, rpc.Options{}, serving.Socket(b)).Address, rpc.DialOptions{})
	u := update(b, "e", 1, "x")
	testkit.Commit(b, c, u)
	for b.Loop() {
		if _, err := c.Latest(b.Context(), u.Entity); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit commits 33 bytes, one call after the other.
func BenchmarkCommit(b *testing.B) {
	s := serving.New(b, testMemory(server.Hooks{}))
	c := serving.Dial(b, serving.Serve(b, s, nil, rpc.Options{}, serving.Socket(b)).Address, rpc.DialOptions{})
	u := update(b, "e", 1, nil)
	u.Instances[0].Payload = benchPayload(b, 33)
	for b.Loop() {
		u.Time++
		testkit.Commit(b, c, u)
	}
}
