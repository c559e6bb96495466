package record

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// All is the pattern of everything in the memory Knowledge.
func All() engram.Pattern {
	return engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(Memory), engram.OneOf(kindNames[:]...)}}
}

// By is the pattern of what providers say.
func By(providers ...string) engram.Pattern {
	return engram.Pattern{Levels: append(All().Levels, engram.OneOf(providers...))}
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
	found, missing, err := find(ctx, r, patterns, at, asOf)
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

// find returns the snapshots in force at a time that patterns match and, where these do not match all that a provider says, those
// that begin an import of one of these providers.
func find(ctx context.Context, r engram.Reader, patterns []engram.Pattern, at engram.Time, asOf *engram.Time) (found []engram.Item, missing []engram.Missing, err error) {
	for {
		found, missing, err = query(ctx, r, patterns, at, asOf)
		if err != nil || len(found) == 0 || !slices.ContainsFunc(patterns, narrow) {
			return found, missing, err
		}
		providers := map[string]bool{}
		known := engram.MinTime
		for _, it := range found {
			if it.ID.Memory() == Memory {
				providers[it.ID.ProviderSegment()] = true
				known = max(known, it.Arrived)
			}
		}
		begun, err := beginnings(ctx, r, slices.Collect(maps.Keys(providers)), engram.AtOrBefore(at), asOf)
		if err != nil {
			return nil, missing, err
		}
		if asOf == nil { // whether what was found was still so then: an import may have come to its end in between
			now, err := lastArrival(ctx, r, patterns, at)
			if err != nil {
				return nil, missing, err
			}
			if now > known {
				continue
			}
		}
		return append(found, begun...), missing, nil
	}
}

// narrow reports whether a pattern matches some of what a provider says and other things not.
func narrow(p engram.Pattern) bool {
	if len(p.Levels) <= 1 {
		return false
	}
	kinds := p.Levels[1]
	return len(p.Levels) > 3 || kinds.Kind != engram.NameAll && (kinds.Kind != engram.NameOneOf || slices.ContainsFunc(kindNames[:], func(k string) bool { return !slices.Contains(kinds.Names, k) }))
}

// lastArrival returns when the last of what patterns match at a time arrived.
func lastArrival(ctx context.Context, r engram.Reader, patterns []engram.Pattern, at engram.Time) (engram.Time, error) {
	q := selected(patterns, engram.AtOrBefore(at), nil)
	q.WithoutPayload = true
	res, err := r.Query(ctx, q)
	if err != nil {
		return 0, err
	}
	last := engram.MinTime
	for it := range res.All() {
		if it.ID.Memory() == Memory {
			last = max(last, it.Arrived)
		}
	}
	return last, nil
}

// selected is the query for what a selector finds by patterns, as of a belief.
func selected(patterns []engram.Pattern, s engram.SnapshotSelector, asOf *engram.Time) engram.Query {
	q := engram.Query{AsOf: asOf}
	for _, p := range patterns {
		q.Memories = append(q.Memories, p.Select(s).Memories...)
	}
	return q
}

// query returns the snapshots in force at a time; it takes them in parts, where the reader has them.
func query(ctx context.Context, r engram.Reader, patterns []engram.Pattern, at engram.Time, asOf *engram.Time) (found []engram.Item, missing []engram.Missing, err error) {
	q := selected(patterns, engram.AtOrBefore(at), asOf)
	part := func(res *engram.Result) error {
		missing = append(missing, res.Missing...)
		found = slices.AppendSeq(found, res.All())
		return nil
	}
	if parts, ok := r.(engram.PartReader); ok {
		err = parts.QueryParts(ctx, q, part)
		return found, missing, err
	}
	res, err := r.Query(ctx, q)
	if err == nil {
		err = part(res)
	}
	return found, missing, err
}
