package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/seed-301d4374/engram"
)

// mend completes what was said of items and joints since the server began, by who did not know what he had said
// before: a group, or a member of a description, that he did not name stays as it was. What was said
// before is committed, too, so that it is done once.
func (o *RecoverOptions) mend(ctx context.Context, r *Recovered) error {
	segments := engram.MustPattern(ownMemory + "/~" + itemSegment + "|" + jointSegment)
	part := recoveredPart{segments: segments}
	since := map[engram.ID]map[engram.Time]engram.Time{} // statements of which something may be missing
	q := part.query(o.Memory, nil, engram.Indices(-1, -1))
	q.WithoutPayload = true
	err := o.each(ctx, o.Own, q, func(entity engram.ID, s *engram.Snapshot) error {
		if s.Arrived >= o.Began && s.Time >= o.Began.Add(-lateness) && len(s.Instances) > 0 {
			since[entity] = nil
		}
		return nil
	})
	if err != nil || len(since) == 0 {
		return err
	}
	all := engram.In(engram.Interval{Start: engram.MinTime, End: engram.MaxTime})
	before := map[engram.ID]map[engram.Time]engram.Time{} // the last of what was said before
	q = part.query(o.Name, since, all)
	q.WithoutPayload = true
	err = o.each(ctx, o.Copy, q, func(entity engram.ID, s *engram.Snapshot) error {
		if _, is := since[entity]; is && o.Mended[entity] == nil && s.Arrived < o.Began && s.Arrived >= o.Since && len(s.Instances) > 0 {
			before[entity] = map[engram.Time]engram.Time{s.Time: s.Arrived} // they come by their times
		}
		return nil
	})
	if err != nil || len(before)+len(o.Mended) == 0 {
		return err
	}
	if len(before) > 0 {
		q = part.query(o.Memory, before, all)
		q.WithoutPayload = true
		err = o.each(ctx, o.Own, q, func(entity engram.ID, s *engram.Snapshot) error {
			if _, has := before[entity][s.Time]; has {
				delete(before, entity)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	was, is := maps.Clone(o.Mended), map[engram.ID]*engram.Snapshot{}
	if was == nil {
		was = map[engram.ID]*engram.Snapshot{}
	}
	if len(before) > 0 {
		err = o.each(ctx, o.Copy, part.query(o.Name, before, all), func(entity engram.ID, s *engram.Snapshot) error {
			if _, last := before[entity][s.Time]; last {
				was[entity] = s
			}
			return nil
		})
	}
	if err != nil || len(was) == 0 {
		return err
	}
	err = o.each(ctx, o.Own, part.query(o.Memory, since, engram.Indices(-1, -1)), func(entity engram.ID, s *engram.Snapshot) error {
		if was[entity] != nil {
			is[entity] = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	codec, err := NewCodec(ctx, o.Own)
	if err != nil {
		return err
	}
	for entity := range was {
		if is[entity] == nil || is[entity].Time <= was[entity].Time {
			continue
		}
		p, more, err := codec.mended(entity, was[entity], is[entity])
		if err != nil || !more {
			delete(o.Mended, entity) // what cannot be read stays as it is
			continue
		}
		in := engram.NewInstance(p)
		in.Confidence = is[entity].Instances[0].Confidence
		updates := []engram.EntityUpdate{
			{Entity: entity, Time: was[entity].Time, Instances: was[entity].Instances},
			{Entity: entity, Time: is[entity].Time + 1, Instances: []engram.Instance{in}},
		}
		results, err := o.Own.Commit(ctx, engram.Commit{Updates: updates})
		if err != nil {
			return fmt.Errorf("the memory does not take it: %w", err)
		}
		if err := results[1].Err; err != nil {
			r.refuse(err)
			continue
		}
		if o.Mended != nil {
			o.Mended[entity] = was[entity]
		}
		r.Mended = append(r.Mended, entity.At(updates[1].Time))
	}
	return nil
}

// mended returns a statement on an item or a joint with what it lacks of an earlier one of its provider; false if that is
// nothing.
func (c *Codec) mended(entity engram.ID, was, is *engram.Snapshot) (p engram.Payload, more bool, err error) {
	if entity.CoreSegment() == jointSegment {
		before, err := c.Joint(entity, was)
		if err != nil {
			return p, false, err
		}
		now, err := c.Joint(entity, is)
		if err != nil {
			return p, false, err
		}
		a := *now.Joint
		if more = a.mend(&before, &now); more {
			p, err = c.EncodeJoint(&a)
		}
		return p, more, err
	}
	before, err := c.Statement(entity, was)
	if err != nil {
		return p, false, err
	}
	now, err := c.Statement(entity, is)
	if err != nil {
		return p, false, err
	}
	it := *now.Item
	if !it.says() || it.Removed != nil || !it.revised() {
		return p, false, nil
	}
	old := *before.Item
	old.pin(&before)
	if r := old.Removed; r != nil && before.newestGroup() <= r.Time {
		old = Item{Removed: r}
	}
	it.mend(&old)
	it.pin(&now)
	p, err = c.EncodeItem(&it)
	if err != nil {
		return p, false, err
	}
	same, err := c.EncodeItem(now.Item)
	return p, err == nil && string(p.Bytes) != string(same.Bytes), err
}

// revised reports whether each group has the time at which it was stated, as a [Model] writes it, which goes on
// saying what a call does not name. Others say with each statement all that they say.
func (it *Item) revised() bool {
	return (it.Structure == nil || it.Structure.Time != 0) && (it.Placement == nil || it.Placement.Time != 0) &&
		(it.Description == nil || it.Description.Time != 0)
}

// mend takes over what an item lacks of what its provider said before. An empty parent is what a new item has of which
// nobody says one.
func (it *Item) mend(was *Item) {
	if p := was.Placement; it.Placement == nil && p != nil {
		q := *p
		if q.Frame == "" && was.Structure != nil { // it stays where it is
			q.Frame = was.Structure.Parent
		}
		it.Placement = &q
	}
	if it.Structure == nil || it.Structure.Parent == "" {
		it.Structure = cmp.Or(was.Structure, it.Structure)
	}
	switch {
	case it.Description == nil:
		it.Description = was.Description
	case was.Description != nil:
		d := *it.Description
		d.complete(was.Description)
		it.Description = &d
	}
	if it.Views == 0 {
		it.Views = was.Views
	}
	if it.LabelEvidence == nil {
		it.LabelEvidence = was.LabelEvidence
	}
	it.SeenIn, it.Removed = cmp.Or(it.SeenIn, was.SeenIn), was.Removed
}

// mend takes over what a joint is, or its value, where only the other is said; false if nothing is missing.
func (a *Articulation) mend(was, now *JointStatement) bool {
	b := was.Joint
	switch {
	case a.Moved == "" || b.Moved != a.Moved:
	case !a.describes() && b.describes():
		value := *a
		*a = *b
		a.Time, a.ValueTime = was.at(b.Time), now.at(value.ValueTime)
		a.Value, a.Sigma, a.Source = value.Value, value.Sigma, value.Source
		return true
	case a.Value == nil && b.Value != nil && a.within(now.Name, *b.Value) == nil:
		a.Value, a.Sigma, a.ValueTime = b.Value, b.Sigma, was.at(b.ValueTime)
		return true
	}
	return false
}
