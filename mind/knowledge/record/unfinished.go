package record

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// An import commits many updates, and counts as a whole. The entity that comes first by name is committed twice: before all
// others with the confidence 0, and after them, for the same time, as it is. In between, and if the import never comes to its
// end, its provider is taken to say what it said before.

// Begins reports whether a snapshot begins an import, or stands for one that has not come to its end.
func Begins(s *engram.Snapshot) bool { return len(s.Instances) > 0 && s.Instances[0].Confidence == 0 }

// begin returns the update that begins an import, of which u is the last.
func begin(u engram.EntityUpdate) engram.EntityUpdate {
	in := u.Instances[0]
	in.Confidence = 0
	u.Instances = []engram.Instance{in}
	return u
}

// Unfinished is an import of a provider that has begun.
type Unfinished struct {
	First engram.ID     // the entity that ends it
	Time  engram.Time   // of what it says
	Since engram.Time   // when it arrived, or an earlier one of the provider that was given up
	Said  []engram.Item // what has come of it

	begun engram.Time // when First arrived
}

// Begin takes the snapshot that begins an import; u is nil, or another one of the provider, which was given up.
func (u *Unfinished) Begin(entity engram.ID, s *engram.Snapshot) *Unfinished {
	if u == nil {
		u = &Unfinished{Since: s.Arrived}
	}
	u.Since = min(u.Since, s.Arrived)
	if s.Arrived >= u.begun {
		u.First, u.Time, u.begun = entity, s.Time, s.Arrived
	}
	return u
}

// Say takes what comes after the beginning, and reports whether it is the end.
func (u *Unfinished) Say(it engram.Item) (end bool) {
	u.Said = append(u.Said, it)
	return it.ID.Truncate(engram.LevelEntity) == u.First && it.Snapshot.Time >= u.Time
}

// Settle returns what a selector finds by patterns in the memory Knowledge, as of a belief, without what imports say that have not
// come to their end: of their providers what was known before. Of these it returns the imports. found is what a query
// without regard of imports has found; where patterns do not match all of a provider, with the snapshots that begin its imports.
func Settle(ctx context.Context, r engram.Reader, patterns []engram.Pattern, s engram.SnapshotSelector, asOf *engram.Time, found []engram.Item) ([]engram.Item, map[string]*Unfinished, error) {
	open := map[string]*Unfinished{}
	provider := func(it engram.Item) *Unfinished {
		if it.ID.Memory() != Memory {
			return nil
		}
		return open[it.ID.ProviderSegment()]
	}
	for _, it := range found {
		if it.ID.Memory() == Memory && Begins(it.Snapshot) {
			open[it.ID.ProviderSegment()] = provider(it).Begin(it.ID.Truncate(engram.LevelEntity), it.Snapshot)
		}
	}
	if len(open) == 0 {
		return found, nil, nil
	}
	settled := make([]engram.Item, 0, len(found))
	for _, it := range found {
		switch u := provider(it); {
		case u == nil:
			settled = append(settled, it)
		case !Begins(it.Snapshot):
			u.Say(it)
		}
	}
	for name, u := range open {
		known, err := before(ctx, r, patterns, s, asOf, name, u.Since)
		if err != nil {
			return nil, nil, err
		}
		settled = append(settled, known...)
	}
	return settled, open, nil
}

// before returns what was known of a provider before an import of it began, and before those that were given up earlier.
func before(ctx context.Context, r engram.Reader, patterns []engram.Pattern, s engram.SnapshotSelector, asOf *engram.Time, provider string, since engram.Time) ([]engram.Item, error) {
	var until engram.Time
	for {
		until = since - 1
		if asOf != nil {
			until = min(until, *asOf)
		}
		begun, err := beginnings(ctx, r, []string{provider}, s, &until)
		if err != nil {
			return nil, err
		}
		if len(begun) == 0 {
			break
		}
		for _, it := range begun {
			since = min(since, it.Arrived)
		}
	}
	res, err := r.Query(ctx, selected(patterns, s, &until))
	if err != nil {
		return nil, err
	}
	var known []engram.Item
	for it := range res.All() {
		if it.ID.Memory() == Memory && it.ID.ProviderSegment() == provider {
			known = append(known, it)
		}
	}
	return known, nil
}

// beginnings returns, of what a selector finds of providers as of a belief, the snapshots that begin an import, without payloads.
func beginnings(ctx context.Context, r engram.Reader, providers []string, s engram.SnapshotSelector, asOf *engram.Time) (begun []engram.Item, err error) {
	for some := range slices.Chunk(providers, 1_000) { // a query has bounds
		q := By(some...).Select(s)
		q.AsOf, q.Where, q.FilterOrder, q.WithoutPayload = asOf, "confidence == 0.0", engram.SelectThenFilter, true
		res, err := r.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		begun = append(begun, res.Items()...)
	}
	return begun, nil
}
