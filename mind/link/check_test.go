package link_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/link"
	"github.com/seed-301d4374/engram/mind/memories"
)

// What links to nothing, or says of what only, is counted by provider; of each entity its newest snapshots are looked at.
func TestCheck(t *testing.T) {
	s := serve(t)
	a, b := engram.MustID("Test/Any/p/a"), engram.MustID("Test/Any/q/b")
	write(t, s, a, 1, b)
	write(t, s, a, 2, b.At(1), b)
	write(t, s, a, 3)
	write(t, s, b, 1, a)
	of, _ := memories.Type("engram.skill.Transition")
	bytes, err := of.Encode(map[string]any{"execution": a.At(1)})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, s, engram.EntityUpdate{Entity: engram.MustID("Skill/Transition/r/x"), Time: 1, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: bytes})}})
	check := func(latest int) []link.Linking {
		all, err := link.New(s, "").Check(t.Context(), s, engram.MustPattern("*"), latest)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := []link.Linking{
		{Segment: engram.MustID("Skill/Transition/r"), Type: of.Name(), Snapshots: 1},
		{Segment: a.Parent(), Type: engram.ValueType, Snapshots: 3, Unlinked: 1, Vague: 1, Example: a.At(3)},
		{Segment: b.Parent(), Type: engram.ValueType, Snapshots: 1, Vague: 1, Example: b.At(1)},
	}
	got := check(10)
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if got := check(1); got[1].Snapshots != 1 || got[1].Unlinked != 1 || got[1].Vague != 0 {
		t.Errorf("of the newest: %+v", got[1])
	}
}
