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

// A candidate of which all is looked at stays one, whatever else is said of it, and in whichever order.
func TestCandidatesTimes(t *testing.T) {
	a, b, c := engram.MustID("M/C/p/a"), engram.MustID("M/C/p/b"), engram.MustID("M/C/p/c")
	var found query.Candidates
	found.Add(a, nil)
	found.Add(a, nil)
	if found.Times(a) != nil {
		t.Error("of a some times only are looked at")
	}
	found.Add(b, []engram.Time{3, 5})
	found.Add(a, []engram.Time{1})
	found.Add(b, []engram.Time{1, 3})
	found.Add(c, []engram.Time{1})
	found.Add(c, nil)
	for entity, want := range map[engram.ID][]engram.Time{a: nil, b: {1, 3, 5}, c: nil} {
		if got := found.Times(entity); !slices.Equal(got, want) {
			t.Errorf("of %s %v are looked at, want %v", entity, got, want)
		}
	}
	if names := slices.Collect(found.Names(a.Parent(), nil)); !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("the names are %v", names)
	}
}
