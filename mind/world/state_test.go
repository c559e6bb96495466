package world_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/world"
)

// What an entity of another name says of a state is taken back, too: by its provider's withdrawal, and by what he
// states of that state. Of others, and of other states, it stays.
func TestStateOfAnEntityOfAnotherName(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(k kit) (world.Mark, error)
		full []any // what is said of full then, if anything
		also bool  // clean is said still
	}{
		{"withdrawn", func(k kit) (world.Mark, error) { return k.Withdraw(k.ctx, "cup") }, nil, false},
		{"stated as nothing", func(k kit) (world.Mark, error) {
			return k.SetState(k.ctx, world.State{Item: "cup", Name: "full"}, 1)
		}, nil, true},
		{"stated anew", func(k kit) (world.Mark, error) {
			return k.SetState(k.ctx, world.State{Item: "cup", Name: "full", Value: false, Source: world.Perception}, 1)
		}, []any{false}, true},
	} {
		svc := serving.New(t, memories.World(), memories.Object())
		k := kit{t, over(t, svc, "plan"), testkit.Context(t)}
		codec, err := world.NewCodec(k.ctx, svc)
		if err != nil {
			t.Fatal(err)
		}
		eye := kit{t, over(t, svc, "eye"), k.ctx}
		k.see(eye.put(item("cup", "", 0, "object")), nil)
		k.put(item("plate", "", 0, "object"))
		now := engram.Now()
		for entity, s := range map[string]world.State{
			"first":  {Item: "cup", Name: "full", Value: true, Source: world.Operator},
			"second": {Item: "cup", Name: "clean", Value: true, Source: world.Operator},
			"third":  {Item: "plate", Name: "full", Value: true, Source: world.Operator},
		} {
			p, err := codec.EncodeState(&s)
			if err != nil {
				t.Fatal(err)
			}
			id := engram.MustID("World/State/plan/" + entity)
			u := engram.EntityUpdate{Entity: id, Time: now, Instances: []engram.Instance{engram.NewInstance(p)}}
			if r, err := svc.Commit(k.ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
		}
		k.await(func(f *world.Forest) bool {
			cup, _ := f.States("cup")
			plate, _ := f.States("plate")
			return len(cup) == 2 && len(plate) == 1
		})
		f := k.see(c.do(k))
		states, err := f.States("cup")
		var full []any
		also := false
		for _, s := range states {
			if also = also || s.State.Name == "clean"; s.State.Name == "full" {
				full = append(full, s.State.Value)
			}
		}
		if err != nil || len(full) != len(c.full) || len(full) > 0 && full[0] != c.full[0] || also != c.also {
			t.Errorf("%s: %v, %v", c.what, states, err)
		}
		if states, err := f.States("plate"); err != nil || len(states) != 1 {
			t.Errorf("%s: of the plate %v, %v", c.what, states, err)
		}
	}
}
