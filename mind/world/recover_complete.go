package world

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Taken is what a memory has back from copies, kept from one copy to the next. Its zero value is that nothing is. One
// goroutine uses it at a time.
type Taken struct {
	newest  map[engram.ID]engram.Time // by entity of an item or a joint, when the newest statement was that is back
	unheard map[engram.ID]completed   // what its provider may not have heard yet
}

// completed is how a statement on an entity was completed.
type completed struct {
	base, was *engram.Snapshot // base may be nil
	at        engram.Time      // of the completed statement
}

// take notes that a statement is back.
func (t *Taken) take(entity engram.ID, at engram.Time) {
	if s := entity.CoreSegment(); s != itemSegment && s != jointSegment {
		return
	}
	if newest, is := t.newest[entity]; is && newest >= at {
		return
	}
	if t.newest == nil {
		t.newest = map[engram.ID]engram.Time{}
	}
	t.newest[entity] = at
}

// complete completes what was said of items and joints since the server began, by who did not know what he had said last
// before: a group, or a member of a description, that he did not name stays as it was then. What was said before is committed, too.
func (o *RecoverOptions) complete(ctx context.Context, r *Recovered) error {
	part := recoveredPart{segments: engram.MustPattern(ownMemory + "/~" + itemSegment + "|" + jointSegment)}
	since := map[engram.ID]bool{} // statements of which something may be missing
	q := part.query(o.Memory, nil, engram.Indices(-1, -1))
	q.WithoutPayload = true
	err := o.each(ctx, o.Own, q, func(entity engram.ID, s *engram.Snapshot) error {
		if o.saidSince(entity, s) && len(s.Instances) > 0 {
			since[entity] = true
		}
		return nil
	})
	if err != nil || len(since) == 0 {
		return err
	}
	before, err := o.lastBefore(ctx, since)
	if err != nil || len(before)+len(o.Taken.unheard) == 0 {
		return err
	}
	missing := map[engram.ID]completed{}
	for entity, c := range o.Taken.unheard {
		if since[entity] {
			missing[entity] = c
		}
	}
	o.Taken.unheard = nil
	if len(before) > 0 {
		err = o.eachOf(ctx, o.Copy, o.Name, slices.Collect(maps.Keys(before)), true, o.lostSince(), func(entity engram.ID, s *engram.Snapshot) error {
			if s.Time == before[entity] {
				missing[entity] = completed{was: s}
			}
			return nil
		})
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	codec, err := NewCodec(ctx, o.Own)
	if err != nil {
		return err
	}
	is, err := o.said(ctx, codec, missing)
	if err != nil {
		return err
	}
	for entity, c := range missing {
		if is[entity] == nil || is[entity].Time <= c.was.Time {
			continue
		}
		o.Taken.take(entity, c.was.Time) // whatever comes of it: what is said from now on counts
		p, more, err := codec.completed(entity, &c, is[entity])
		if err != nil || !more {
			continue // what cannot be read stays as it is
		}
		in := engram.NewInstance(p)
		in.Confidence = is[entity].Instances[0].Confidence
		c.at = is[entity].Time + 1
		results, err := o.Own.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{
			{Entity: entity, Time: c.was.Time, Instances: c.was.Instances},
			{Entity: entity, Time: c.at, Instances: []engram.Instance{in}},
		}})
		if err != nil {
			return fmt.Errorf("the memory does not take it: %w", err)
		}
		if err := results[0].Err; err != nil && engram.CodeOf(err) != engram.TooOld {
			r.refuse(err)
		}
		if err := results[1].Err; err != nil {
			r.refuse(err)
			continue
		}
		if o.Taken.unheard == nil {
			o.Taken.unheard = map[engram.ID]completed{}
		}
		o.Taken.unheard[entity] = c
		r.Completed = append(r.Completed, entity.At(c.at))
	}
	return nil
}

// eachOf calls f with what a memory has of entities, of each by its times.
func (o *RecoverOptions) eachOf(ctx context.Context, from engram.PartReader, memory string, entities []engram.ID, payload bool, selector engram.SnapshotSelector,
	f func(engram.ID, *engram.Snapshot) error) error {
	for some := range slices.Chunk(entities, mostAsked) {
		q := engram.Query{WithoutPayload: !payload}
		for _, entity := range some {
			q.Memories = append(q.Memories, inMemory(engram.PatternOf(entity), engram.OneOf(memory)).Select(selector).Memories...)
		}
		if err := o.each(ctx, from, q, f); err != nil {
			return err
		}
	}
	return nil
}

// saidSince reports whether the memory's snapshot was said since the server began, and not taken back from a copy.
func (o *RecoverOptions) saidSince(entity engram.ID, s *engram.Snapshot) bool {
	taken, is := o.Taken.newest[entity]
	return s.Arrived >= o.Began && s.Time >= o.Began.Add(-lateness) && !(is && s.Time <= taken)
}

// lostSince selects what the memory may have lost.
func (o *RecoverOptions) lostSince() engram.SnapshotSelector {
	from := engram.MinTime
	if o.Since != engram.MinTime {
		from = o.Since.Add(-lateness)
	}
	return engram.In(engram.Interval{Start: from, End: engram.MaxTime})
}

// lastBefore returns, of entities, the time of what the copy has that was said last before the server began, where the memory
// has not what was said as late.
func (o *RecoverOptions) lastBefore(ctx context.Context, since map[engram.ID]bool) (map[engram.ID]engram.Time, error) {
	before := map[engram.ID]engram.Time{}
	err := o.eachOf(ctx, o.Copy, o.Name, slices.Collect(maps.Keys(since)), false, o.lostSince(), func(entity engram.ID, s *engram.Snapshot) error {
		taken, has := o.Taken.newest[entity]
		if since[entity] && !(has && taken >= s.Time) && s.Arrived < o.Began && s.Arrived >= o.Since && len(s.Instances) > 0 {
			before[entity] = s.Time // they come by their times
		}
		return nil
	})
	if err != nil || len(before) == 0 {
		return nil, err
	}
	err = o.eachOf(ctx, o.Own, o.Memory, slices.Collect(maps.Keys(before)), false, o.lostSince(), func(entity engram.ID, s *engram.Snapshot) error {
		if t, is := before[entity]; is && (s.Time == t || s.Time > t && s.Arrived < o.Began) {
			delete(before, entity)
		}
		return nil
	})
	return before, err
}

// said returns what the memory has that was said last of entities, where something may be missing, and gives these their bases.
func (o *RecoverOptions) said(ctx context.Context, codec *Codec, missing map[engram.ID]completed) (map[engram.ID]*engram.Snapshot, error) {
	is := map[engram.ID]*engram.Snapshot{}
	heard := map[engram.ID]engram.Time{} // when a provider has heard how his statement was completed
	err := o.eachOf(ctx, o.Own, o.Memory, slices.Collect(maps.Keys(missing)), true, engram.All(), func(entity engram.ID, s *engram.Snapshot) error {
		c, asked := missing[entity]
		switch {
		case !asked || len(s.Instances) == 0:
		case !o.saidSince(entity, s):
			if c.at == 0 && s.Time < c.was.Time {
				c.base = s
				missing[entity] = c
			}
		case s.Time < c.at: // that was completed
		case s.Time == c.at:
			heard[entity] = s.Arrived.Add(newsTimeout)
		case c.at != 0 && s.Arrived >= heard[entity] || codec.takesBack(entity, s):
			o.Taken.take(entity, c.was.Time)
			delete(missing, entity)
		default:
			is[entity] = s
		}
		return nil
	})
	return is, err
}

// takesBack reports whether a statement on an item or a joint takes back all that its provider said before.
func (c *Codec) takesBack(entity engram.ID, s *engram.Snapshot) bool {
	if entity.CoreSegment() == jointSegment {
		j, err := c.Joint(entity, s)
		return err == nil && j.Joint.Moved == ""
	}
	i, err := c.Statement(entity, s)
	return err == nil && !i.Item.says()
}

// completed returns a statement on an item or a joint with what it lacks of what its provider said last before, if he knew
// no more of that than a base; false if that is nothing.
func (c *Codec) completed(entity engram.ID, by *completed, is *engram.Snapshot) (p engram.Payload, more bool, err error) {
	var same engram.Payload
	if entity.CoreSegment() == jointSegment {
		before, err := c.Joint(entity, by.was)
		if err != nil {
			return p, false, err
		}
		now, err := c.Joint(entity, is)
		if err != nil {
			return p, false, err
		}
		a := *now.Joint
		a.Time, a.ValueTime = now.at(a.Time), now.at(a.ValueTime)
		if same, err = c.EncodeJoint(&a); err != nil {
			return p, false, err
		}
		a.complete(now.Name, &before)
		p, err = c.EncodeJoint(&a)
		return p, err == nil && !bytes.Equal(p.Bytes, same.Bytes), err
	}
	now, err := c.Statement(entity, is)
	if err != nil {
		return p, false, err
	}
	it := *now.Item
	if !it.revised() {
		return p, false, nil
	}
	before, err := c.Statement(entity, by.was)
	if err != nil {
		return p, false, err
	}
	was, base := before.stands(), Item{}
	if r := it.Removed; r != nil && (was.Removed == nil || now.at(r.Time) > was.Removed.Time) {
		return p, false, nil // removed since
	}
	if by.base != nil {
		if s, err := c.Statement(entity, by.base); err == nil {
			base = s.stands()
		}
	}
	it.pin(&now)
	if same, err = c.EncodeItem(&it); err != nil {
		return p, false, err
	}
	it.complete(&was, &base)
	p, err = c.EncodeItem(&it)
	return p, err == nil && !bytes.Equal(p.Bytes, same.Bytes), err
}

// revised reports whether each group has the time at which it was stated, as a [Model] writes it, which goes on
// saying what a call does not name. Others say with each statement all that they say.
func (it *Item) revised() bool {
	return (it.Structure == nil || it.Structure.Time != 0) && (it.Placement == nil || it.Placement.Time != 0) &&
		(it.Description == nil || it.Description.Time != 0)
}

// complete takes over what an item lacks of what its provider said last before, and what it has only of an earlier base.
// An empty parent is what a new item has of which nobody says one.
func (it *Item) complete(was, base *Item) {
	if p := was.Placement; p != nil && (it.Placement == nil || it.Placement.Time < p.Time) {
		q := *p
		if q.Frame == "" && was.Structure != nil { // it stays where it is
			q.Frame = was.Structure.Parent
		}
		it.Placement, it.SeenIn = &q, was.SeenIn
	}
	if s := was.Structure; s != nil && (it.Structure == nil || it.Structure.Parent == "" || it.Structure.Time < s.Time) {
		it.Structure = s
	}
	switch d := it.Description; {
	case was.Description == nil:
	case d == nil || d.Time < was.Description.Time:
		it.Description = was.Description
	default:
		own := d.beside(base.Description)
		own.complete(was.Description)
		it.Description = own
	}
	if it.Views == base.Views {
		it.Views = was.Views
	}
	if maps.Equal(it.LabelEvidence, base.LabelEvidence) {
		it.LabelEvidence = was.LabelEvidence
	}
	it.Removed = was.Removed
}

// beside returns the members of a description, and the properties, that another one does not say in the same way.
func (d *Description) beside(o *Description) *Description {
	own := *d
	if o == nil {
		return &own
	}
	is, other := reflect.ValueOf(&own).Elem(), reflect.ValueOf(o).Elem()
	for i := range is.NumField() {
		if reflect.DeepEqual(is.Field(i).Interface(), other.Field(i).Interface()) {
			is.Field(i).SetZero()
		}
	}
	own.Properties = maps.Clone(own.Properties)
	maps.DeleteFunc(own.Properties, func(name string, value any) bool {
		was, has := o.Properties[name]
		return has && reflect.DeepEqual(was, value)
	})
	own.Time = d.Time
	return &own
}

// complete takes over what a joint lacks, or says as of an earlier time, of what its provider said last before.
func (a *Articulation) complete(joint string, was *JointStatement) {
	b := was.Joint
	if b.Moved != a.Moved {
		return
	}
	if b.describes() && was.at(b.Time) > a.Time {
		a.Base = "" // only its value is left
	}
	if b.Value != nil && was.at(b.ValueTime) > a.ValueTime {
		a.Value = nil
	}
	for a.revise(joint, was) { // what it is first, then its value
	}
}
