package view

import (
	"context"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// Of returns who answers from a world that the caller has and closes. It is over what that is over, whatever
// questions say of robots.
func Of(m *world.Memory) answer.Service {
	return service{func(context.Context, *answer.Question) (*world.Memory, func(), error) { return m, func() {}, nil }}
}

// service answers from the world that take returns for a question, until it is released.
type service struct {
	take func(ctx context.Context, q *answer.Question) (m *world.Memory, release func(), err error)
}

// with calls f with the world that a question asks of.
func (s service) with(ctx context.Context, q *answer.Question, f func(*view) error) error {
	return s.withMemory(ctx, q, func(m *world.Memory) error {
		v, err := viewOf(ctx, m, q)
		if err != nil {
			return err
		}
		return f(v)
	})
}

// withForest calls f with the world that a question asks of, where nobody needs to say how sure it is.
func (s service) withForest(ctx context.Context, q *answer.Question, f func(*view) error) error {
	return s.withMemory(ctx, q, func(m *world.Memory) error {
		forest, at, err := forestOf(ctx, m, q)
		if err != nil {
			return err
		}
		return f(&view{Forest: forest, at: at})
	})
}

func (s service) withMemory(ctx context.Context, q *answer.Question, f func(*world.Memory) error) error {
	m, release, err := s.take(ctx, q)
	if err != nil {
		return err
	}
	defer release()
	return f(m)
}

// Tree implements [answer.Service].
func (s service) Tree(ctx context.Context, q answer.Question, of answer.Tree, part func([]answer.Row) error) error {
	if of.Item != "" && of.Place != "" {
		return engram.Errorf(engram.Invalid, of.Item, "an item and a place are given; give one of them")
	}
	return s.with(ctx, &q, func(v *view) (err error) {
		r := &rows{v: v, whole: of.Whole, part: part}
		var m *world.Merged
		switch {
		case of.Place != "":
			m, err = v.place(of.Place)
		case of.Item != "":
			m, err = v.must(of.Item)
		default:
			err = r.all()
		}
		if err == nil && m != nil {
			err = r.tree(m, 1, false)
		}
		if err != nil {
			return err
		}
		return r.flush()
	})
}

// Items implements [answer.Service].
func (s service) Items(ctx context.Context, q answer.Question, names []string, whole bool, part func([]answer.Row) error) error {
	return s.with(ctx, &q, func(v *view) error {
		r := &rows{v: v, whole: whole, part: part}
		for _, name := range names {
			m, err := v.must(name)
			if err != nil {
				return err
			}
			a := v.account(m)
			if _, err := r.item(m, &a); err != nil {
				return err
			}
		}
		return r.flush()
	})
}

// Near implements [answer.Service].
func (s service) Near(ctx context.Context, q answer.Question, n answer.Near, part func([]answer.Row) error) (left answer.LeftOut, err error) {
	if !(n.Radius >= 0) {
		return left, engram.Errorf(engram.Invalid, n.Around, "the radius is %v; it is in metres, 0 or more", n.Radius)
	}
	return s.list(ctx, &q, &n.Filter, part, func(v *view) ([]world.Neighbour, error) { return v.near(&n) })
}

// In implements [answer.Service].
func (s service) In(ctx context.Context, q answer.Question, in answer.In, part func([]answer.Row) error) (answer.LeftOut, error) {
	return s.list(ctx, &q, &in.Filter, part, func(v *view) ([]world.Neighbour, error) { return v.in(in.Place) })
}

func (s service) list(ctx context.Context, q *answer.Question, f *answer.Filter, part func([]answer.Row) error, find func(*view) ([]world.Neighbour, error)) (left answer.LeftOut, err error) {
	if f.Presence > answer.All {
		return left, engram.Errorf(engram.Invalid, "presence", "there is no presence %d", f.Presence)
	}
	err = s.with(ctx, q, func(v *view) error {
		found, err := find(v)
		if err != nil {
			return err
		}
		left, err = (&rows{v: v, whole: f.Whole, part: part}).list(found, f)
		return err
	})
	return left, err
}

// Names implements [answer.Service].
func (s service) Names(ctx context.Context, q answer.Question, prefix string) (names []string, err error) {
	err = s.withForest(ctx, &q, func(v *view) error {
		for m := range v.All() {
			if strings.HasPrefix(m.Name, prefix) {
				names = append(names, m.Name)
			}
		}
		return nil
	})
	return names, err
}

// Joints implements [answer.Service].
func (s service) Joints(ctx context.Context, q answer.Question) (joints []answer.Joint, err error) {
	err = s.withForest(ctx, &q, func(v *view) error {
		joints = Joints(v.Forest)
		return nil
	})
	return joints, err
}

// Maps implements [answer.Service].
func (s service) Maps(ctx context.Context, q answer.Question, of answer.Maps) (maps []answer.Map, err error) {
	err = s.withForest(ctx, &q, func(v *view) error {
		maps, err = v.chooseMaps(&of)
		return err
	})
	return maps, err
}

// MapData implements [answer.Service].
func (s service) MapData(ctx context.Context, q answer.Question, name string) (data []byte, err error) {
	err = s.withMemory(ctx, &q, func(m *world.Memory) error {
		data, err = m.MapData(ctx, name)
		return err
	})
	return data, err
}

// Components implements [answer.Service].
func (s service) Components(ctx context.Context, q answer.Question) (all []answer.Component, pipes []answer.Pipe, err error) {
	err = s.withForest(ctx, &q, func(v *view) error {
		all, pipes = v.components()
		return nil
	})
	return all, pipes, err
}

// Covers implements [answer.Service].
func (s service) Covers(ctx context.Context, q answer.Question, what string) (covers []answer.Cover, err error) {
	err = s.withForest(ctx, &q, func(v *view) error {
		covers, err = v.covers(what)
		return err
	})
	return covers, err
}

// Diff implements [answer.Service].
func (s service) Diff(ctx context.Context, q answer.Question, d answer.Diff) (all []answer.Difference, err error) {
	if q.At != nil || q.AsOf != nil {
		return nil, engram.Errorf(engram.Unsupported, "diff", "it compares two times as they are known now; the question has no other")
	}
	err = s.withMemory(ctx, &q, func(m *world.Memory) error {
		after, err := present(ctx, m, &q)
		if err != nil {
			return err
		}
		before, err := m.Past(ctx, d.From, nil)
		if err == nil && d.To != nil {
			after, err = m.Past(ctx, *d.To, nil)
		}
		if err != nil {
			return err
		}
		for _, one := range world.Diff(before, after, d.Threshold) {
			all = append(all, Difference(after, &one))
		}
		return nil
	})
	return all, err
}

// Export implements [answer.Service].
func (s service) Export(ctx context.Context, q answer.Question, e answer.Export) (text []byte, notes []string, err error) {
	err = s.withForest(ctx, &q, func(v *view) error {
		if e.Item != "" && !v.Has(e.Item) {
			return Unknown(v.Forest, e.Item)
		}
		text, notes, err = files.Write(v.Forest, files.Options{Item: e.Item, Nested: e.Nested, JSON: e.JSON})
		return err
	})
	return text, notes, err
}
