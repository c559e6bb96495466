package web_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// Whatever was read before, members that are asked for of what is on disk are those of the whole payloads.
func TestFieldsFromDisk(t *testing.T) {
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet, Store: store})
	from := engram.Now().Add(-time.Hour)
	r, err := sim.New(sim.Config{Robot: "Test", Start: from})
	if err != nil {
		t.Fatal(err)
	}
	const ticks = 1500
	var joints engram.ID
	var whole []engram.Payload
	for tick := range ticks {
		for _, u := range r.State(tick).Updates {
			if u.Entity.CoreSegment() == "Proprioception" {
				joints = u.Entity
				testkit.Commit(t, svc, u)
				whole = append(whole, u.Instances[0].Payload)
			}
		}
	}
	if err := store.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	def, err := svc.Type(t.Context(), whole[0].Type)
	if err != nil {
		t.Fatal(err)
	}
	types := idf.NewRegistry()
	typ, err := types.Add(def)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"position", "position[3]", "position[42]", "velocity[0]", "effort", "name", "name[1]"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var fields []string
		for range rng.IntN(4) {
			fields = append(fields, paths[rng.IntN(len(paths))])
		}
		first := rng.IntN(ticks)
		last := min(ticks, first+1+rng.IntN(ticks))
		q := engram.SelectID(joints, engram.In(engram.Interval{Start: r.Time(first), End: r.Time(last)}))
		q.Target, q.Fields = engram.TargetLTM, fields
		found, err := svc.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		p, err := typ.Project(fields)
		if err != nil {
			t.Fatal(err)
		}
		at := first
		for it := range found.All() {
			want := whole[at].Bytes
			if fields != nil {
				if want, err = p.Apply(want); err != nil {
					t.Fatal(err)
				}
			}
			if got := it.Snapshot.Instances[0].Payload.Bytes; it.Snapshot.Time != r.Time(at) || !bytes.Equal(got, want) {
				t.Fatalf("%q at %v: %x, not %x at %v", fields, it.Snapshot.Time, got, want, r.Time(at))
			}
			at++
		}
		if at != last {
			t.Fatalf("%d snapshots of %d to %d", at-first, first, last)
		}
	}
}
