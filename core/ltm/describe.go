package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/query"
)

// Describe adds to what the working memory describes for a pattern the segments that
// are known only from disk: provider segments of earlier epochs that nobody has
// committed to yet, and core segments that are defined no more. Of the latter only the
// type of what was recorded is known.
func (s *reader) Describe(ctx context.Context, p engram.Pattern, known []engram.Description) ([]engram.Description, error) {
	if !s.disk.earlier {
		return known, nil // the working memory knows all there is
	}
	if s.wm == nil {
		return nil, errNotBegun
	}
	names, err := s.wm.Compiler().Names(ctx, p, s.wm.Limits().MaxFilterSteps)
	if err != nil {
		return nil, err
	}
	v := s.disk.episodes.pin()
	defer v.release()
	d := &describing{s: s, version: v, ctx: ctx, scope: engram.ScopeOf(ctx), names: names, levels: len(p.Levels), out: known}
	if err := d.memories(); err != nil {
		return nil, err
	}
	if err := names.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(d.out, func(a, b engram.Description) int { return a.ID.Compare(b.ID) })
	return d.out, nil
}

// describing is a description at work.
type describing struct {
	s       *reader
	version *version // pinned
	ctx     context.Context
	scope   engram.Scope
	names   *query.Names
	levels  int
	out     []engram.Description
}

// each calls visit with the children of parent on disk that the pattern matches.
func (d *describing) each(parent engram.ID, visit func(engram.ID) error) error {
	names, err := d.s.disk.names(d.ctx, d.version, parent)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, err := parent.Child(name)
		if err != nil || !d.names.Match(id.Level(), name) || engram.VisibilityIn(d.scope, id) == engram.Hidden {
			continue
		}
		if err := visit(id); err != nil {
			return err
		}
	}
	return nil
}

func (d *describing) find(id engram.ID) (engram.Description, bool) {
	i := slices.IndexFunc(d.out, func(k engram.Description) bool { return k.ID == id })
	if i < 0 {
		return engram.Description{ID: id}, false
	}
	return d.out[i], true
}

func (d *describing) memories() error {
	return d.each(engram.ID{}, func(memory engram.ID) error {
		return d.each(memory, d.core)
	})
}

// core adds a core segment and the provider segments in it that are not known.
func (d *describing) core(id engram.ID) error {
	core, known := d.find(id)
	if !known { // the pattern may have left it out for want of a provider segment in it
		if defined, err := d.s.wm.Describe(d.ctx, engram.PatternOf(id)); err == nil && len(defined) > 0 {
			core = defined[0]
		}
	}
	found := d.levels <= int(engram.LevelCoreSegment) && engram.VisibilityIn(d.scope, id) == engram.Visible
	err := d.each(id, func(provider engram.ID) error {
		typ, err := d.typeOf(provider)
		if err != nil || typ == "" {
			return err
		}
		found = true
		if core.Type == "" {
			core.Type = typ
		}
		if _, known := d.find(provider); !known {
			described := core
			described.ID, described.Type = provider, typ
			d.out = append(d.out, described)
		}
		return nil
	})
	if err == nil && !known && found && core.Type != "" {
		d.out = append(d.out, core)
	}
	return err
}

// typeOf returns the type of what was recorded of a provider segment, "" if the
// pattern matches no entity of it.
func (d *describing) typeOf(provider engram.ID) (typ string, err error) {
	err = d.each(provider, func(entity engram.ID) error {
		if typ != "" {
			return nil
		}
		return d.s.disk.eachHolding(d.ctx, d.version, entity, func(_ *handle, held *episode.Entity) { typ = held.Type })
	})
	return typ, err
}
