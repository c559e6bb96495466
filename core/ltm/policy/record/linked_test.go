package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// What waits for links is bounded for all entities together, and what is given up is
// not counted any more.
func TestHeldForLinksIsBounded(t *testing.T) {
	core := engram.MustID("A/Image")
	table, err := policy.NewTable(map[engram.ID]policy.Policy{core: {Record: policy.Linked, Linking: policy.Linking{Within: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFilters(table, idf.NewRegistry())
	keep := func(engram.ID, *engram.Snapshot) error { return nil }
	const size, entities = 1 << 20, 20
	payload := make([]byte, size)
	id := func(i int) engram.ID { return engram.MustID(fmt.Sprintf("A/Image/p/e%d", i)) }
	for n := range 15 {
		for i := range entities {
			s := &engram.Snapshot{Time: engram.Time(n), Arrived: engram.Time(n), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType, Bytes: payload})}}
			if d, err := f.Offer(id(i), s, keep); err != nil || d.Verdict != Hold {
				t.Fatal(d, err)
			}
		}
	}
	held := f.Counts()[core].Held
	if f.held > maxHeldBytes+entities*size || f.held < maxHeldBytes-size || int64(held)*size != f.held {
		t.Errorf("%d snapshots of %d bytes are held, and counted as %d bytes", held, size, f.held)
	}
	if err := table.Override(policy.Override{Pattern: engram.MustPattern("A"), Settings: map[string]string{"linked.max_bytes": "1 MiB"}}); err != nil {
		t.Fatal(err)
	}
	f.Changed()
	if f.held != 0 {
		t.Errorf("%d bytes are held when the policy has changed", f.held)
	}
	f.Offer(id(0), &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType, Bytes: payload})}}, keep)
	f.Forget(id(0))
	if f.held != 0 {
		t.Errorf("%d bytes are held of an entity that was forgotten", f.held)
	}
}
