package query_test

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/query"
)

// FuzzLinkDigest adds any bytes as the digest of a version's links: they are added or refused as
// Corrupt, and those of a version come to the same as the version.
func FuzzLinkDigest(f *testing.F) {
	types := idf.NewRegistry()
	from := engram.MustID("Lab/Cups/p/cup")
	to := []engram.ID{engram.MustID("Lab/Cups/p/pan").At(3), engram.MustID("robot:Lab/Cups/p/cup")}
	p, err := idf.ValuePayload(map[string]any{"of": []any{to[0], to[1]}})
	if err != nil {
		f.Fatal(err)
	}
	s := &engram.Snapshot{Time: 5, Instances: []engram.Instance{engram.NewInstance(p)}}
	digest := query.NewLinkIndex("", types).(query.Digester).Digest([]byte("before"), s)
	f.Add(digest[len("before"):])
	f.Add(digest)
	whole, added := query.NewLinkIndex("", types), query.NewLinkIndex("", types).(query.Digester)
	whole.Add(from, s)
	if err := added.AddDigest(from, s.Time, digest[len("before"):]); err != nil {
		f.Fatal(err)
	}
	for _, id := range to {
		for _, x := range []query.Index{whole, added} {
			c := query.NewLinksTo([]engram.ID{id}, false, "", types)
			known := x.Candidates(query.Request{Condition: c, Span: engram.Always(), AsOf: engram.MaxTime}, func(entity engram.ID, times []engram.Time) bool {
				if entity != from || !slices.Equal(times, []engram.Time{5}) {
					f.Errorf("what links to %v is %v at %v", id, entity, times)
				}
				return true
			})
			if !known || x.Size() != whole.Size() || x.Size().Entries != 2 {
				f.Errorf("known %v, size %+v", known, x.Size())
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x := query.NewLinkIndex("", types).(query.Digester)
		if err := x.AddDigest(from, 1, b); err != nil && engram.CodeOf(err) != engram.Corrupt {
			t.Fatal(err)
		}
	})
}
