package local

import (
	"math"
	"time"

	"github.com/seed-301d4374/engram"
)

// id reads an ID in full.
func (d *decoder) id() engram.ID {
	level := engram.Level(d.u8())
	if level > engram.LevelInstance {
		d.fail("an ID has the level %d", level)
		return engram.ID{}
	}
	var id engram.ID
	var err error
	for range idNames(level) {
		if id, err = id.Child(d.text()); err != nil {
			d.fail("not an ID: %w", err)
			return engram.ID{}
		}
	}
	if level >= engram.LevelSnapshot {
		id = id.At(engram.Time(d.u64()))
	}
	if level == engram.LevelInstance {
		i := d.u32()
		if i > engram.MaxIndex {
			d.fail("an ID has the index %d", i)
			return engram.ID{}
		}
		id = id.Instance(int(i))
	}
	return id
}

// idRef returns an ID that is given by its slot.
func (d *decoder) idRef() engram.ID {
	ref := d.u32()
	slot := ref &^ defined
	if ref&defined != 0 {
		if id := d.id(); d.bad == nil && !d.ids.define(slot, id) {
			d.fail("an ID is defined in slot %d, of %d that may be used", slot, d.ids.limit)
		}
	}
	if slot >= uint32(len(d.ids.names)) {
		d.fail("slot %d holds no ID", slot)
	}
	if d.bad != nil {
		return engram.ID{}
	}
	return d.ids.names[slot]
}

func (d *decoder) typeRef() string {
	ref := d.u32()
	slot := ref &^ defined
	if ref&defined != 0 {
		switch name := d.text(); {
		case d.bad != nil:
		case len(name) > maxTypeName:
			d.fail("a type name of %d bytes; at most %d are allowed", len(name), maxTypeName)
		case !d.types.define(slot, name):
			d.fail("a type is defined in slot %d, of %d that may be used", slot, d.types.limit)
		}
	}
	if slot >= uint32(len(d.types.names)) {
		d.fail("slot %d holds no type", slot)
	}
	if d.bad != nil {
		return ""
	}
	return d.types.names[slot]
}

// instances appends to list.
func (d *decoder) instances(list []engram.Instance, n int) []engram.Instance {
	for range n {
		var in engram.Instance
		in.Payload.Type = d.typeRef()
		size := d.u32()
		in.Sent = engram.Time(d.u64())
		in.Confidence = math.Float32frombits(d.u32())
		in.HasSent = d.u8()&instanceHasSent != 0
		in.Payload.Bytes = d.payload(size)
		if d.bad != nil {
			return list
		}
		list = append(list, in)
	}
	return list
}

// commit is the scratch that a commit is decoded into.
type commit struct {
	updates   []engram.EntityUpdate
	instances []engram.Instance
}

// decode reads a commit's records. The result is valid until the next call.
func (c *commit) decode(d *decoder) engram.Commit {
	c.clear()
	n := d.count(minUpdate)
	for range n {
		u := engram.EntityUpdate{Entity: d.idRef(), Time: engram.Time(d.u64())}
		k := d.count(instanceSize)
		from := len(c.instances)
		c.instances = d.instances(c.instances, k)
		// Where the array has to grow, earlier updates keep theirs.
		u.Instances = c.instances[from:len(c.instances):len(c.instances)]
		if d.bad != nil {
			return engram.Commit{}
		}
		c.updates = append(c.updates, u)
	}
	return engram.Commit{Updates: c.updates}
}

// keepRecords is how large the scratch may become that is kept.
const keepRecords = 4096

// clear forgets the payloads.
func (c *commit) clear() {
	clear(c.updates)
	clear(c.instances)
	if cap(c.instances) > keepRecords || cap(c.updates) > keepRecords {
		*c = commit{}
	}
	c.updates, c.instances = c.updates[:0], c.instances[:0]
}

// stored is a snapshot with the array of its instance, which most have one of.
type stored struct {
	engram.Snapshot
	one [1]engram.Instance
}

func (d *decoder) snapshot() *engram.Snapshot {
	var s *stored
	if d.lender != nil {
		s = d.lender.snapshot()
	} else {
		s = new(stored)
	}
	s.Time, s.Arrived, s.Number = engram.Time(d.u64()), engram.Time(d.u64()), d.u64()
	s.Recalled = s.Number&numberRecalled != 0
	s.Number &^= numberRecalled
	list := s.one[:0]
	n := d.count(instanceSize)
	if n > 1 {
		list = make([]engram.Instance, 0, n)
	}
	s.Instances = d.instances(list, n)
	return &s.Snapshot
}

// query reads what is asked of one entity.
func (d *decoder) query() engram.Query {
	target, flags, entity := engram.Target(d.u8()), d.u8(), d.idRef()
	selectors := make([]engram.SnapshotSelector, d.u8())
	for i := range selectors {
		selectors[i] = selector(engram.SnapshotKind(d.u8()), int64(d.u64()), int64(d.u64()))
	}
	if d.bad == nil && entity.Level() != engram.LevelEntity {
		d.fail("a query of %s, which is no entity", entity)
	}
	if d.bad != nil {
		return engram.Query{}
	}
	q := engram.SelectID(entity, selectors...)
	q.Target, q.WithoutPayload = target, flags&queryWithoutPayload != 0
	return q
}

// selector makes a selector of its kind and arguments; one of an unknown kind is
// refused by whoever answers the query.
func selector(k engram.SnapshotKind, a, b int64) engram.SnapshotSelector {
	switch k {
	case engram.KindLatest:
		return engram.Latest(int(a))
	case engram.KindNearest:
		return engram.Nearest(engram.Time(a), time.Duration(b))
	case engram.KindRange:
		return engram.In(engram.Interval{Start: engram.Time(a), End: engram.Time(b)})
	case engram.KindIndexRange:
		return engram.Indices(int(a), int(b))
	}
	return engram.SnapshotSelector{Kind: k, Time: engram.Time(a)}
}

// err reads an error.
func (d *decoder) err() error {
	e := &engram.Error{Code: engram.Code(d.u8()), Thing: d.text(), Msg: d.text()}
	if e.Code == 0 || e.Code > engram.Forbidden {
		e.Code = engram.Internal // of a newer peer
	}
	return e
}

// result reads the answer to an update; asked is the snapshot it asked for.
func (d *decoder) result(asked engram.ID) (r engram.UpdateResult) {
	switch status := d.u8(); status {
	case resultStored:
		r.ID, r.Number = asked, d.u64()
	case resultStoredOther:
		r.Number = d.u64()
		r.ID = d.id()
	case resultRefused:
		r.ID = d.id()
		r.Err = d.err()
	case resultNoted:
		r.Number = d.u64()
		r.ID = d.id()
		r.Note = d.err()
	default:
		d.fail("a result has the status %d", status)
	}
	return r
}

func (d *decoder) update() (u engram.Update) {
	flags := d.u8()
	entity := d.idRef()
	if flags&updateHasDropped != 0 {
		u.Dropped = d.u64()
	}
	if flags&updateHasFailed != 0 {
		m := engram.Missing{ID: d.id(), Reason: d.text(), Count: d.u64()}
		m.Interval = engram.Interval{Start: engram.Time(d.u64()), End: engram.Time(d.u64())}
		m.Example, m.Detail = d.id(), d.text()
		u.Failed = &m
	}
	var t engram.Time
	if flags&updateHasSnapshot != 0 {
		u.Snapshot = d.snapshot()
		t, u.Arrived, u.Number = u.Snapshot.Time, u.Snapshot.Arrived, u.Snapshot.Number
	} else {
		t, u.Arrived, u.Number = engram.Time(d.u64()), engram.Time(d.u64()), d.u64()
	}
	if d.bad == nil && entity.Level() != engram.LevelEntity {
		d.fail("an update of %s, which is no entity", entity)
	}
	if d.bad != nil {
		return engram.Update{}
	}
	u.Removed = flags&updateRemoved != 0
	if u.ID = entity; u.Failed == nil && !u.Removed {
		u.ID = entity.At(t)
	}
	u.Supersedes = flags&updateSupersedes != 0
	u.Restarted = flags&updateRestarted != 0
	return u
}

// updateSize is the least an update takes.
const updateSize = 1 + 4 + 3*8
