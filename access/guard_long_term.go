package access

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
	longterm "github.com/seed-301d4374/engram/ltm/service"
)

// LongTerm returns the server's long-term memory behind the guard, nil if it has none.
// Episodes hold what all identities wrote, so who may read everything, or administer
// everything, may look at them; changing them needs the right to administer what is
// changed.
func (g *Guard) LongTerm() longterm.Service {
	if inner := g.svc.LongTerm(); inner != nil {
		return &guardedLongTerm{g, inner}
	}
	return nil
}

type guardedLongTerm struct {
	g     *Guard
	inner longterm.Service
}

func (l *guardedLongTerm) look(ctx context.Context) error {
	gr := l.g.grant(ctx)
	if gr.may(Read, engram.ID{}) || gr.may(Admin, engram.ID{}) {
		return nil
	}
	return l.g.c.forbidden(gr.id, Read, "the whole long-term memory")
}

func (l *guardedLongTerm) change(ctx context.Context, what string) error {
	return l.g.administer(ctx, engram.ID{}, what)
}

// within reports, as an error, whether the identity may administer all that the
// patterns can match.
func (l *guardedLongTerm) within(ctx context.Context, patterns []engram.Pattern, what string) error {
	if len(patterns) == 0 {
		return l.change(ctx, what)
	}
	for _, p := range patterns {
		if err := l.g.administer(ctx, prefix(p), what+" "+p.String()); err != nil {
			return err
		}
	}
	return nil
}

// prefix returns the deepest node in which everything lies that a pattern matches.
func prefix(p engram.Pattern) engram.ID {
	var id engram.ID
	for _, l := range p.Levels {
		if l.Kind != engram.NameOneOf || len(l.Names) != 1 {
			break
		}
		below, err := id.Child(l.Names[0])
		if err != nil {
			break
		}
		id = below
	}
	return id
}

func (l *guardedLongTerm) Episodes(ctx context.Context, iv engram.Interval) ([]longterm.EpisodeInfo, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	return l.inner.Episodes(ctx, iv)
}

func (l *guardedLongTerm) Episode(ctx context.Context, name string) (longterm.EpisodeInfo, []episode.Entity, error) {
	if err := l.look(ctx); err != nil {
		return longterm.EpisodeInfo{}, nil, err
	}
	return l.inner.Episode(ctx, name)
}

func (l *guardedLongTerm) Verify(ctx context.Context, name string) ([]episode.Problem, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	return l.inner.Verify(ctx, name)
}

func (l *guardedLongTerm) Damaged(ctx context.Context) ([]longterm.Damaged, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	return l.inner.Damaged(ctx)
}

func (l *guardedLongTerm) Repair(ctx context.Context, name string) (longterm.EpisodeInfo, []episode.Problem, error) {
	if err := l.change(ctx, "repair episode "+name); err != nil {
		return longterm.EpisodeInfo{}, nil, err
	}
	return l.inner.Repair(ctx, name)
}

func (l *guardedLongTerm) Seal(ctx context.Context, why string) error {
	if err := l.change(ctx, "seal the open episode"); err != nil {
		return err
	}
	return l.inner.Seal(ctx, why)
}

func (l *guardedLongTerm) Mark(ctx context.Context, m episode.Mark) error {
	if err := l.change(ctx, "mark "+m.Label); err != nil {
		return err
	}
	return l.inner.Mark(ctx, m)
}

func (l *guardedLongTerm) Unmark(ctx context.Context, label string, iv engram.Interval) (int, error) {
	if err := l.change(ctx, "unmark "+label); err != nil {
		return 0, err
	}
	return l.inner.Unmark(ctx, label, iv)
}

func (l *guardedLongTerm) Marks(ctx context.Context, iv engram.Interval) ([]episode.Mark, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	return l.inner.Marks(ctx, iv)
}

func (l *guardedLongTerm) KeepEpisode(ctx context.Context, name string, keep bool) error {
	if err := l.change(ctx, "keep or unkeep episode "+name); err != nil {
		return err
	}
	return l.inner.KeepEpisode(ctx, name, keep)
}

func (l *guardedLongTerm) DropEpisode(ctx context.Context, name, why, by string) error {
	if err := l.change(ctx, "drop episode "+name); err != nil {
		return err
	}
	return l.inner.DropEpisode(ctx, name, why, by)
}

func (l *guardedLongTerm) Rules(ctx context.Context) ([]longterm.Rule, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	return l.inner.Rules(ctx)
}

func (l *guardedLongTerm) SetRule(ctx context.Context, r longterm.Rule) error {
	if err := l.change(ctx, "set rule "+r.Name); err != nil {
		return err
	}
	return l.inner.SetRule(ctx, r)
}

func (l *guardedLongTerm) RemoveRule(ctx context.Context, name string) error {
	if err := l.change(ctx, "remove rule "+name); err != nil {
		return err
	}
	return l.inner.RemoveRule(ctx, name)
}

func (l *guardedLongTerm) Policies(ctx context.Context) ([]longterm.SegmentPolicy, error) {
	if err := l.look(ctx); err != nil {
		return nil, err
	}
	return l.inner.Policies(ctx)
}

func (l *guardedLongTerm) SetPolicy(ctx context.Context, o policy.Override) error {
	if err := l.within(ctx, []engram.Pattern{o.Pattern}, "set the policy of"); err != nil {
		return err
	}
	return l.inner.SetPolicy(ctx, o)
}

func (l *guardedLongTerm) Recall(ctx context.Context, q engram.Query) (uint64, error) {
	if err := l.change(ctx, "recall"); err != nil {
		return 0, err
	}
	return l.inner.Recall(ctx, q)
}

func (l *guardedLongTerm) Forget(ctx context.Context, f longterm.Forgetting, progress longterm.Progress) (longterm.Forgotten, error) {
	var err error
	switch {
	case f.Due || len(f.Patterns) == 0 && len(f.IDs) == 0:
		err = l.change(ctx, "forget what is due")
	default:
		patterns := append([]engram.Pattern(nil), f.Patterns...)
		for _, id := range f.IDs {
			patterns = append(patterns, engram.PatternOf(id))
		}
		err = l.within(ctx, patterns, "forget")
	}
	if err != nil {
		return longterm.Forgotten{}, err
	}
	return l.inner.Forget(ctx, f, progress)
}

func (l *guardedLongTerm) Compact(ctx context.Context, dryRun bool, progress longterm.Progress) (longterm.Compacted, error) {
	if err := l.change(ctx, "compact"); err != nil {
		return longterm.Compacted{}, err
	}
	return l.inner.Compact(ctx, dryRun, progress)
}

func (l *guardedLongTerm) LTMStats(ctx context.Context) (longterm.Stats, error) {
	if err := l.look(ctx); err != nil {
		return longterm.Stats{}, err
	}
	return l.inner.LTMStats(ctx)
}
