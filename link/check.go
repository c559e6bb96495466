package link

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/link/service"
)

const (
	maxChecked = 10_000  // provider segments and types
	maxLooked  = 100_000 // things that links lead to and that are looked for
)

// checking counts results that link to no input.
type checking struct {
	l      Local
	q      *service.CheckQuery
	groups map[checkKey]*checked
	looked map[service.Ref]string // why what a link leads to is not there
	timed  map[engram.ID]bool     // entities whose newest snapshot has a time, or is not there
}

type checkKey struct {
	provider engram.ID
	typ      string
}

type checked struct {
	service.Checked
	last   engram.ID // entity
	events bool      // its type says when, or an entity has several snapshots
	// usual says that results of the type need no input. Those of a provider count if most of
	// its results have one.
	usual bool
}

// Check implements [service.Service]. What is known before the robot starts is no result and
// no input; what is of a type without time and is said once is no result either. A person may
// be where a sentence or a request comes from, and a Value may be anything: of such types only
// providers count whose results usually link to an input.
func (l Local) Check(ctx context.Context, q service.CheckQuery) ([]service.Checked, error) {
	if q.Span == (engram.Interval{}) {
		q.Span = engram.Interval{Start: 1, End: engram.MaxTime}
	}
	c := &checking{l: l, q: &q, groups: map[checkKey]*checked{}, looked: map[service.Ref]string{}, timed: map[engram.ID]bool{}}
	err := l.Reader.QueryParts(ctx, q.Of.Select(engram.In(q.Span)), func(r *engram.Result) error {
		for s := range r.All() {
			if err := c.add(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []service.Checked
	for _, g := range c.groups {
		if g.CanLink = g.CanLink && g.events && !(g.usual && 2*g.Unlinked >= g.Results); g.CanLink || g.Links > 0 {
			all = append(all, g.Checked)
		}
	}
	slices.SortFunc(all, func(a, b service.Checked) int {
		if n := a.Provider.Compare(b.Provider); n != 0 {
			return n
		}
		if a.Type < b.Type {
			return -1
		}
		return 1
	})
	return all, nil
}

func (c *checking) add(ctx context.Context, s engram.Item) error {
	entity := s.ID.Truncate(engram.LevelEntity)
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		t, ok := c.l.Types.Get(p.Type)
		if !ok {
			continue
		}
		key := checkKey{entity.Parent(), p.Type}
		g := c.groups[key]
		if g == nil {
			if len(c.groups) == maxChecked {
				return engram.Errorf(engram.Exhausted, "", "there are results of more than %d providers and types; check a part of them", maxChecked)
			}
			g = &checked{Checked: service.Checked{Provider: key.provider, Type: p.Type}}
			// What a server says of itself is made from nothing.
			g.CanLink = t.Has(idf.KindLink) && !strings.HasPrefix(p.Type, "engram.system_state.")
			g.events, g.usual = hasTime(t), p.Type == engram.ValueType || saysWho(t)
			c.groups[key] = g
		}
		g.events = g.events || g.last == entity && i == 0
		g.last = entity
		g.Results++
		id := s.ID.Instance(i)
		var refs []service.Ref
		err := t.Walk(p.Bytes, idf.KindLink, func(f *idf.Found) bool {
			if to, ok := linked(c.l.Robot, entity, f.Bytes); ok {
				refs = append(refs, service.Ref{ID: to, At: s.Time})
			}
			return true
		})
		if err != nil {
			return err
		}
		g.Links += uint64(len(refs))
		input, err := c.hasInput(ctx, entity, refs)
		if err != nil {
			return err
		}
		if !input {
			g.Unlinked++
			if at, _ := g.Example.Time(); g.Example.IsRoot() || s.Time >= at {
				g.Example = id
			}
		}
		if c.q.Dangling {
			if err := c.look(ctx, g, id, refs); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasInput reports whether one of an entity's links leads to what came with a time, of another
// entity. What cannot be found may have.
func (c *checking) hasInput(ctx context.Context, source engram.ID, refs []service.Ref) (bool, error) {
	for _, ref := range refs {
		of := ref.ID.Truncate(engram.LevelEntity)
		if of == source {
			continue
		}
		if t, ok := ref.ID.Time(); ok {
			if t > 0 {
				return true, nil
			}
			continue
		}
		timed, ok := c.timed[of]
		if !ok {
			s, _, err := c.l.find(ctx, service.Ref{ID: of, At: engram.MaxTime}, nil, true)
			if err != nil {
				return false, err
			}
			if len(c.timed) == maxLooked {
				clear(c.timed)
			}
			timed = s == nil || s.Time > 0
			c.timed[of] = timed
		}
		if timed {
			return true, nil
		}
	}
	return false, nil
}

// saysWho reports whether a type says which person or program something comes from.
func saysWho(t *idf.Type) bool {
	f := t.Descriptor().Fields()
	return f.ByName("speaker") != nil || f.ByName("caller") != nil
}

// look counts links that lead to what is not there.
func (c *checking) look(ctx context.Context, g *checked, source engram.ID, refs []service.Ref) error {
	for _, ref := range refs {
		key := ref
		if _, ok := ref.ID.Time(); ok {
			key.At = 0
		}
		missing, ok := c.looked[key]
		if !ok {
			if len(c.looked) == maxLooked {
				clear(c.looked)
			}
			_, why, err := c.l.find(ctx, ref, nil, true)
			if err != nil {
				return err
			}
			missing, c.looked[key] = why, why
		}
		if missing == "" {
			continue
		}
		if g.Dangling == nil {
			g.Dangling = map[string]uint64{}
		}
		g.Dangling[missing]++
		g.DanglingExample = [2]engram.ID{source, ref.ID}
	}
	return nil
}

// hasTime reports whether a type says when something was so.
func hasTime(t *idf.Type) bool {
	fields := t.Descriptor().Fields()
	for i := range fields.Len() {
		if m := fields.Get(i).Message(); m != nil && m.FullName() == "google.protobuf.Timestamp" {
			return true
		}
	}
	return false
}
