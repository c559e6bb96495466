package link

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Linking says how what a provider segment holds links to what it was made from.
type Linking struct {
	Segment   engram.ID // a provider segment
	Type      string
	Snapshots int // that were looked at
	// Unlinked have no link at all, Vague links to entities or segments only, which do not say which snapshot was used.
	Unlinked, Vague int
	Example         engram.ID // the last unlinked snapshot, else the last vague one; the root if there is none
}

// Describer describes segments.
type Describer interface {
	Memory
	engram.PartReader
	Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error)
}

// Check counts in the provider segments that a pattern matches, of their entities' newest snapshots at most so many of each,
// which have links. Segments whose type cannot hold links, such as sensors have, and empty ones are left out. Sorted by ID.
func (t *Tracer) Check(ctx context.Context, m Describer, p engram.Pattern, latest int) (all []Linking, err error) {
	segments, err := m.Describe(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, d := range segments {
		if d.ID.Level() != engram.LevelProviderSegment {
			continue
		}
		of, err := t.Type(ctx, d.Type)
		if err != nil {
			return nil, err
		}
		if of == nil || !of.Has(idf.KindLink) {
			continue
		}
		l := Linking{Segment: d.ID, Type: d.Type}
		var vague engram.ID
		err = m.QueryParts(ctx, engram.PatternOf(d.ID).Select(engram.Latest(latest)), func(r *engram.Result) error {
			for item := range r.All() {
				l.Snapshots++
				linked, exactly, err := t.linked(ctx, item.Snapshot)
				switch {
				case err != nil:
					return err
				case !linked:
					l.Unlinked++
					l.Example = item.ID
				case !exactly:
					l.Vague++
					vague = item.ID
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if l.Unlinked == 0 {
			l.Example = vague
		}
		if l.Snapshots > 0 {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Linking) int { return a.Segment.Compare(b.Segment) })
	return all, nil
}

// linked reports whether a snapshot has links, and one that is to a snapshot or instance.
func (t *Tracer) linked(ctx context.Context, s *engram.Snapshot) (linked, exactly bool, err error) {
	for i := range s.Instances {
		links, err := t.linksIn(ctx, &s.Instances[i].Payload)
		if err != nil {
			return linked, exactly, err
		}
		linked = linked || len(links) > 0
		exactly = exactly || slices.ContainsFunc(links, func(l idf.Link) bool { return l.ID.Level() >= engram.LevelSnapshot })
	}
	return linked, exactly, nil
}
