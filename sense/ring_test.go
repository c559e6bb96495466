package sense

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// Whatever comes, a ring takes no more memory than it may, and holds the newest snapshots as they came.
func TestRingHoldsTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRing(MinRing)
		s := &sensor{id: engram.MustID("A/B/c/d")}
		if memory := len(r.bytes) + len(r.slots)*bytesOfSlot; memory > MinRing {
			t.Fatalf("it takes %d bytes", memory)
		}
		largest := rapid.SampledFrom([]int{0, 10, 1_000, 30_000, 70_000}).Draw(t, "largest")
		var model []engram.EntityUpdate
		for i := range rapid.IntRange(1, 300).Draw(t, "n") {
			u := engram.EntityUpdate{Entity: s.id, Time: engram.Time(i)}
			for k := range rapid.IntRange(1, 3).Draw(t, "instances") {
				b := bytes.Repeat([]byte{byte(i), byte(k)}, rapid.IntRange(0, largest).Draw(t, "size")/2)
				u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: "T", Bytes: b}))
			}
			gone := 0
			if _, ok := r.put(s, &u, false, func(*slot) { gone++ }); !ok {
				if gone > 0 {
					t.Fatalf("for what is too large %d others went", gone)
				}
				continue
			}
			model = append(model, u)
			held, size := r.next-r.held, int64(0)
			if held == 0 || held > uint64(len(r.slots)) || r.next-r.known > uint64(len(r.slots)) {
				t.Fatalf("it holds %d of %d slots", held, len(r.slots))
			}
			for k, want := range model[uint64(len(model))-held:] {
				got := r.slot(r.held + uint64(k)).snapshot
				if got.Time != want.Time || len(got.Instances) != len(want.Instances) {
					t.Fatalf("in the place of %v there is %v", want, got)
				}
				for n := range want.Instances {
					if !bytes.Equal(got.Instances[n].Payload.Bytes, want.Instances[n].Payload.Bytes) {
						t.Fatalf("snapshot %d, instance %d has other bytes", k, n)
					}
					size += int64(len(want.Instances[n].Payload.Bytes))
				}
			}
			if size != r.size || size > int64(len(r.bytes)) {
				t.Fatalf("it counts %d bytes and holds %d of %d", r.size, size, len(r.bytes))
			}
		}
	})
}

// stereo is a pair of images of 640x480, as they come at 20 Hz.
func stereo() *engram.EntityUpdate {
	u := &engram.EntityUpdate{Entity: engram.MustID("Vision/ImageRGB/head/stereo")}
	for range 2 {
		u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: "foxglove.RawImage", Bytes: make([]byte, 640*480*3)}))
	}
	return u
}

func TestRingAllocatesNothing(t *testing.T) {
	g, _ := idleGate()
	u := stereo()
	offer := func() {
		u.Time += engram.Time(5e7)
		if _, pass := g.Offer(u, false); pass {
			t.Error("it passes")
		}
	}
	for range 100 {
		offer()
	}
	if n := testing.AllocsPerRun(100, offer); n > 0 {
		t.Errorf("a pair of images allocates %v times", n)
	}
}

// BenchmarkStereo is what a pair of images at the edge takes that is not passed on: it comes 20 times a second, and
// may take 1.5 ms, 3 % of a core.
func BenchmarkStereo(b *testing.B) {
	g, _ := idleGate()
	u := stereo()
	for range 100 { // memory that is touched for the first time takes longer
		g.Offer(u, false)
	}
	b.ReportAllocs()
	b.SetBytes(int64(2 * 640 * 480 * 3))
	for b.Loop() {
		u.Time += engram.Time(5e7)
		g.Offer(u, false)
	}
	b.ReportMetric(100*20*b.Elapsed().Seconds()/float64(b.N), "%core")
}
