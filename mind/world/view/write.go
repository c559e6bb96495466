package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// writer is a world in which a provider states something.
type writer struct {
	world.Model
	in       *world.Memory
	provider string
}

// writing calls f with the world in which a provider states something.
func (s service) writing(ctx context.Context, by *answer.Provider, f func(*writer) error) error {
	if by.Source > answer.Operator {
		return engram.Errorf(engram.Invalid, by.Name, "there is no source %d", by.Source)
	}
	if err := engram.CheckName(by.Name); err != nil {
		return err
	}
	now := clockFrom(by.Now)
	return s.withMemory(ctx, &answer.Question{Robots: by.Robots, Opening: by.Opening}, func(m *world.Memory) error {
		as, err := m.As(by.Name, world.Source(by.Source), now)
		if err != nil {
			return err
		}
		return f(&writer{as, m, by.Name})
	})
}

// clockFrom returns a clock that goes on from a time; nil is this computer's.
func clockFrom(t *engram.Time) func() engram.Time {
	if t == nil {
		return nil
	}
	began := time.Now()
	return func() engram.Time { return t.Add(time.Since(began)) }
}

// wrote is writing of what returns a mark.
func (s service) wrote(ctx context.Context, by *answer.Provider, f func(*writer) (world.Mark, error)) (mark answer.Mark, err error) {
	err = s.writing(ctx, by, func(w *writer) error {
		m, err := f(w)
		mark = answer.Mark(m)
		return err
	})
	return mark, err
}

// Known implements [answer.Service].
func (s service) Known(ctx context.Context, by answer.Provider, names []string) (all []answer.Known, err error) {
	err = s.writing(ctx, &by, func(w *writer) error {
		f, err := w.View(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			k, err := w.known(f, name)
			if err != nil {
				return err
			}
			all = append(all, k)
		}
		return nil
	})
	return all, err
}

func (w *writer) known(f *world.Forest, name string) (k answer.Known, err error) {
	k = answer.Known{Name: name, Robot: world.SaidRobot(f, name, w.provider, w.in.Robot())}
	codec := w.in.Codec()
	if m, missing := f.Get(name); missing != nil {
		k.Missing = Missing(f, name)
	} else if k.Item, err = codec.Encode(m.Item); err != nil {
		return k, err
	}
	if own, said := world.Own(f, name, w.provider, w.in.Robot()); said != 0 {
		if k.Own, err = codec.Encode(own); err != nil {
			return k, err
		}
	}
	if j, none := f.Joints().Get(name); none == nil {
		k.Joint, err = codec.Encode(j.Articulation)
	}
	return k, err
}

// State implements [answer.Service].
func (s service) State(ctx context.Context, by answer.Provider, what answer.Stating) (o answer.Stated, err error) {
	err = s.writing(ctx, &by, func(w *writer) error {
		entries := make([]files.Entry, len(what.Things))
		failed := make([]error, len(entries))
		for i := range entries {
			entries[i], failed[i] = entryOf(w.in.Codec(), &what.Things[i])
			what.Things[i] = answer.Thing{} // many take much, and are there twice now
		}
		if unread := slices.DeleteFunc(slices.Clone(failed), func(err error) bool { return err == nil }); len(unread) > 0 {
			if o.Failed = failed; what.Content {
				o.Failed = unread
			}
			return nil
		}
		if what.Content {
			return w.content(ctx, entries, what.DryRun, &o)
		}
		all := make([]world.Stated, len(entries))
		for i := range entries {
			all[i] = entries[i].Stated
		}
		failed, mark, err := w.StateAll(ctx, what.DryRun, all...)
		o.Failed, o.Mark = failed, answer.Mark(mark)
		return err
	})
	return o, err
}

// content states what files say.
func (w *writer) content(ctx context.Context, entries []files.Entry, dryRun bool, o *answer.Stated) error {
	c, err := files.ContentOf(entries)
	if err != nil {
		return err
	}
	clear(entries)
	c.Robot = w.in.Robot()
	if err = c.CheckIn(ctx, w, w.provider); err == nil {
		if o.Notes = c.Notes; dryRun {
			err = c.DryRun(ctx, w)
		} else {
			var mark world.Mark
			mark, err = c.State(ctx, w)
			o.Mark = answer.Mark(mark)
		}
	}
	if partly, is := errors.AsType[*files.Partly](err); is {
		o.Stated, err = partly.Stated, partly.Err
	}
	if !files.Refused(err) {
		return err
	}
	o.Failed = files.Problems(err)
	return nil
}

// must returns the error of the first name of which there is no item.
func (w *writer) must(ctx context.Context, names ...string) error {
	f, err := w.View(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !f.Has(name) {
			return Unknown(f, name)
		}
	}
	return nil
}

// Move implements [answer.Service].
func (s service) Move(ctx context.Context, by answer.Provider, item, parent string, at *answer.Pose) (answer.Mark, error) {
	return s.wrote(ctx, &by, func(w *writer) (world.Mark, error) {
		if err := w.must(ctx, item, parent); err != nil {
			return world.Mark{}, err
		}
		if at == nil {
			mark, err := w.Attach(ctx, item, parent, nil)
			if _, apart := errors.AsType[world.NotAligned](err); apart {
				err = engram.Errorf(engram.CodeOf(err), "", "%w; or say with --pose where it is in %s", err, parent)
			}
			return mark, err
		}
		refused, mark, err := w.Update(ctx, world.NamedItem{Name: item, Item: world.Item{
			Structure: &world.Structure{Parent: parent}, Placement: &world.Placement{Frame: parent, Pose: at.Pose, Cov: at.Cov},
		}})
		if len(refused) > 0 {
			err = refused[0].Err
		}
		return mark, err
	})
}

// Remove implements [answer.Service].
func (s service) Remove(ctx context.Context, by answer.Provider, item, reason string, children answer.Children) (answer.Mark, error) {
	if children > answer.OrphanChildren {
		return answer.Mark{}, engram.Errorf(engram.Invalid, item, "nothing is known of children that become %d", children)
	}
	return s.wrote(ctx, &by, func(w *writer) (world.Mark, error) {
		if err := w.must(ctx, item); err != nil {
			return world.Mark{}, err
		}
		return w.Remove(ctx, item, reason, world.Children(children))
	})
}

// Withdraw implements [answer.Service].
func (s service) Withdraw(ctx context.Context, by answer.Provider, name string) (answer.Mark, error) {
	return s.wrote(ctx, &by, func(w *writer) (world.Mark, error) {
		f, err := w.View(ctx)
		if err != nil {
			return world.Mark{}, err
		}
		if err := saysSomething(f, name, world.Said{Provider: w.provider, Robot: w.in.Robot()}); err != nil {
			return world.Mark{}, err
		}
		return w.Withdraw(ctx, name)
	})
}

// saysSomething returns a NotFound error if there is nothing that the provider could take
// back.
func saysSomething(f *world.Forest, name string, who world.Said) error {
	var others []string
	mine := false
	hear := func(s *world.Said, says bool) {
		switch by := s.Who(); {
		case !says || s.Home != world.InWorld:
		case s.Provider == who.Provider && s.Robot == who.Robot:
			mine = true
		case !slices.Contains(others, by):
			others = append(others, by)
		}
	}
	for _, s := range f.Statements(name) {
		it := s.Item
		hear(&s.Said, it.Removed != nil || it.Structure != nil || it.Placement != nil || it.Description != nil)
	}
	for said := range world.SaidBeside(f, name) {
		hear(said, true)
	}
	switch {
	case mine:
		return nil
	case len(others) == 0:
		return nothingStated(f, name)
	}
	return engram.Errorf(engram.NotFound, name, "%q says nothing of it; it is stated by %s: --provider NAME says whose statement is meant, which is withdrawn at its own robot",
		who.Who(), listed(others))
}

// nothingStated says that nobody says anything under a name, or any more, and what was meant.
func nothingStated(f *world.Forest, name string) error {
	if len(f.Statements(name)) > 0 {
		return engram.Errorf(engram.NotFound, name, "nobody says anything of it any more, so there is nothing to withdraw")
	}
	var known []string
	for m := range f.All() {
		known = append(known, m.Name)
	}
	for s := range world.Stating(f, func(*world.Said) bool { return true }) {
		known = append(known, s.Name)
	}
	slices.Sort(known)
	hint := "'engram world tree', 'joints', 'maps' and 'components' list what there is"
	if near := spelling.Nearest(name, slices.Compact(known)); near != "" {
		hint = "did you mean " + near + "?"
	}
	return engram.Errorf(engram.NotFound, name, "there is no item, joint, map or component of this name; %s", hint)
}
