package web_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Of what is on disk only the members that are asked for are read: whatever was asked for before, they are those of the
// whole payloads.
func TestSeriesFromDisk(t *testing.T) {
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet, Store: store})
	const ticks = 700
	robot, err := sim.New(sim.Config{Start: engram.Now().Add(-time.Hour)}) // before what the working memory keeps
	if err != nil {
		t.Fatal(err)
	}
	var joints engram.ID
	for tick := range ticks {
		for _, u := range robot.State(tick).Updates {
			if u.Entity.CoreSegment() == "Proprioception" {
				joints = u.Entity
				testkit.Commit(t, svc, u)
			}
		}
	}
	if err := store.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	typ, _ := memories.Type("engram.robot_state.Proprioception")
	ask := func(fields ...string) (all []*engram.Snapshot) {
		t.Helper()
		q := engram.SelectID(joints, engram.In(engram.Interval{Start: robot.Time(0), End: robot.Time(ticks)}))
		q.Target, q.Fields = engram.TargetLTM, fields
		r, err := svc.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for it := range r.All() {
			all = append(all, it.Snapshot)
		}
		if len(all) != ticks {
			t.Fatalf("%d snapshots are on disk", len(all))
		}
		return all
	}
	asked := [][]string{{"position[3]"}, {"velocity[40]", "position[3]"}, {"position"}, {"battery_charge"}, {"position[3]"}, {"effort[42]", "name[1]"}, {"position[43]"}}
	some := make([][]*engram.Snapshot, len(asked))
	for i, fields := range asked {
		some[i] = ask(fields...)
	}
	whole := ask()
	for i, fields := range asked {
		p, err := typ.Project(fields)
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range some[i] {
			want, err := p.Apply(whole[k].Instances[0].Payload.Bytes)
			if err != nil || !bytes.Equal(s.Instances[0].Payload.Bytes, want) {
				t.Fatalf("%v of snapshot %d is %x, not %x: %v", fields, k, s.Instances[0].Payload.Bytes, want, err)
			}
		}
	}
	paths := []string{"position[3]", "velocity[40]"}
	members, err := typ.NumberMembers(whole[0].Instances[0].Payload.Bytes, 1000)
	if err == nil {
		err = typ.NameNumbers(whole[0].Instances[0].Payload.Bytes, members)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members { // also by name, of a few joints
		if m.Name != "" && len(paths) < 8 {
			paths = append(paths, m.Path)
		}
	}
	if len(paths) != 8 {
		t.Fatalf("only %q are numbers", paths)
	}
	p := open(t, svc)
	query := []string{"id", joints.String(), "from", text(robot.Time(0)), "to", text(robot.Time(ticks)), "n", fmt.Sprint(ticks)}
	for _, path := range paths {
		query = append(query, "path", path)
	}
	got := read[series](p, "series", query...)
	for i, path := range paths {
		of, err := typ.Numbers([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, 1)
		s := got.Series[i]
		if len(s.First) != ticks {
			t.Fatalf("%s has %d values", path, len(s.First))
		}
		for k, v := range s.First {
			if err := of.Read(whole[k].Instances[0].Payload.Bytes, out); err != nil || v != out[0] {
				t.Fatalf("%s of snapshot %d is %v, not %v: %v", path, k, v, out[0], err)
			}
		}
	}
}
