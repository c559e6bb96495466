package record

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// All is the pattern of everything in the memory Knowledge.
func All() engram.Pattern {
	return engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(Memory), engram.OneOf(kindNames[:]...)}}
}

// By is the pattern of what one provider says.
func By(provider string) engram.Pattern {
	return engram.Pattern{Levels: append(All().Levels, engram.OneOf(provider))}
}

// Of is the pattern of what anybody says of a name.
func Of(iri string) engram.Pattern {
	return engram.Pattern{Levels: append(All().Levels, engram.AllNames(), engram.OneOf(iri))}
}

// Read returns the records of entities that patterns match, those that hold at a time as of a
// belief, nil for now: the newest of each entity that is not after at, unless it is withdrawn. They are sorted by
// provider, kind and name. It reads under the rights of whoever asks r; missing is what the memory has no more, and the
// error Corrupt if one cannot be read.
func (c *Codec) Read(ctx context.Context, r engram.Reader, patterns []engram.Pattern, at engram.Time, asOf *engram.Time) (said []Statement, missing []engram.Missing, err error) {
	var found []engram.Item
	err = query(ctx, r, patterns, at, asOf, func(id engram.ID, s *engram.Snapshot) error {
		found = append(found, engram.Item{ID: id, Snapshot: s})
		return nil
	}, &missing)
	if err == nil {
		found, _, err = Settle(ctx, r, patterns, engram.AtOrBefore(at), asOf, found)
	}
	for _, it := range found {
		one, wrong := c.Decode(it.ID, it.Snapshot)
		if wrong != nil || err != nil {
			return nil, missing, cmp.Or(err, wrong)
		}
		if !one.Withdrawn() {
			said = append(said, one)
		}
	}
	slices.SortFunc(said, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(a.ID.Memory(), b.ID.Memory()), cmp.Compare(a.Provider(), b.Provider()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return said, missing, err
}

// query calls each with the snapshots in force at a time; in parts, where the reader has them.
func query(ctx context.Context, r engram.Reader, patterns []engram.Pattern, at engram.Time, asOf *engram.Time, each func(engram.ID, *engram.Snapshot) error, missing *[]engram.Missing) error {
	q := engram.Query{AsOf: asOf}
	for _, p := range patterns {
		q.Memories = append(q.Memories, p.Select(engram.AtOrBefore(at)).Memories...)
	}
	part := func(res *engram.Result) error {
		*missing = append(*missing, res.Missing...)
		for it := range res.All() {
			if err := each(it.ID, it.Snapshot); err != nil {
				return err
			}
		}
		return nil
	}
	if parts, ok := r.(engram.PartReader); ok {
		return parts.QueryParts(ctx, q, part)
	}
	res, err := r.Query(ctx, q)
	if err != nil {
		return err
	}
	return part(res)
}
