package copies_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Kept by nats-server for the life of the process.
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*ipQueue[...]).push"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

var errAway = engram.Errorf(engram.Unavailable, "", "the link is cut")

// fakeOwner is a server that owns memory Object. What it wrote it keeps, over all its
// lives.
type fakeOwner struct {
	name string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	away    bool
	life    uint64 // cuts links when it changes
	epoch   uint64
	number  uint64
	clock   engram.Time
	log     []fakeUpdate
	batch   int              // items per batch
	repeat  int              // a pull that resumes begins so many items earlier
	part    int              // snapshots in a part of what is fetched; 0 is all of an entity
	lacks   []engram.Missing // told when something is fetched
	between func()           // if not nil, is called after each part of what is fetched
}

type fakeUpdate struct {
	epoch uint64
	contract.Version
	removal *contract.Removal
	leftOut *contract.LeftOut
	lost    *engram.Missing
}

func newFakeOwner(name string) *fakeOwner {
	return &fakeOwner{name: name, changed: make(chan struct{}), epoch: 1, clock: 1000, batch: 3}
}

func (o *fakeOwner) changedLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// alter changes the owner.
func (o *fakeOwner) alter(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	o.changedLocked()
}

func (o *fakeOwner) cut(away bool) { o.alter(func() { o.away = away; o.life++ }) }

func (o *fakeOwner) restart() {
	o.alter(func() { o.epoch++; o.number = 0; o.life++ })
}

func (o *fakeOwner) write(entity string, at engram.Time) {
	o.alter(func() {
		o.number++
		o.clock += 10
		o.log = append(o.log, fakeUpdate{epoch: o.epoch, Version: contract.Version{
			Entity: engram.MustID("Object/Instance/P/" + entity),
			Snapshot: &engram.Snapshot{Time: at, Arrived: o.clock, Number: o.number, Instances: []engram.Instance{{
				Payload: engram.Payload{Type: "T", Bytes: fmt.Appendf(nil, "%s %d %d", o.name, o.epoch, o.number)}, Sent: o.clock, HasSent: true, Confidence: 1,
			}}},
		}})
	})
}

// other tells of something that is no version, at the place of the next update.
func (o *fakeOwner) other(u fakeUpdate) {
	o.alter(func() {
		o.number++
		o.clock += 10
		u.epoch = o.epoch
		u.Version = contract.Version{Snapshot: &engram.Snapshot{Number: o.number, Arrived: o.clock}}
		o.log = append(o.log, u)
	})
}

// Pull implements contract.Source as its contract says.
func (o *fakeOwner) Pull(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
	o.mu.Lock()
	life, next := o.life, make([]int, len(r.Shares))
	for i, s := range r.Shares {
		next[i] = slices.IndexFunc(o.log, func(u fakeUpdate) bool {
			if u.epoch == s.After.Epoch {
				return u.Snapshot.Number > s.After.Number && s.After.Epoch == o.epoch || s.After.Epoch != o.epoch && u.Snapshot.Arrived >= s.After.Arrived
			}
			return u.epoch == o.epoch || u.Snapshot.Arrived >= s.After.Arrived
		})
		if next[i] < 0 {
			next[i] = len(o.log)
		}
		next[i] = max(next[i]-o.repeat, 0)
	}
	described := false
	defer o.mu.Unlock()
	for {
		idle := true
		for i := range r.Shares {
			b := contract.Batch{Share: i, Position: contract.Position{Epoch: o.epoch, Number: o.number, Arrived: o.clock}}
			for len(b.Items) < o.batch && next[i] < len(o.log) {
				u := o.log[next[i]]
				if u.removal != nil && len(b.Items) > 0 {
					break
				}
				next[i]++
				switch {
				case u.removal != nil:
					b.Removed = append(b.Removed, *u.removal)
				case u.leftOut != nil:
					b.LeftOut = append(b.LeftOut, *u.leftOut)
				case u.lost != nil:
					b.Lost = append(b.Lost, *u.lost)
				default:
					b.Items = append(b.Items, u.Version)
				}
				b.Position = contract.Position{Epoch: u.epoch, Number: u.Snapshot.Number, Arrived: u.Snapshot.Arrived}
			}
			if next[i] == len(o.log) && len(b.Items) == 0 && described && len(b.Removed)+len(b.LeftOut)+len(b.Lost) == 0 {
				continue
			}
			idle = false
			if !described {
				b.Segments = []contract.Segment{{Core: engram.CoreSegment{ID: engram.MustID("Object/Instance"), Type: "T"},
					Provider: engram.ProviderSegment{ID: engram.MustID("Object/Instance/P"), Type: "T"}}}
				described = true
			}
			b.Behind = contract.Behind{Updates: uint64(len(o.log) - next[i]), Now: o.clock}
			o.mu.Unlock()
			err := f(&b)
			o.mu.Lock()
			if err != nil {
				return err
			}
			if o.life != life {
				return errAway
			}
		}
		if !idle {
			continue
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		o.mu.Lock()
		switch {
		case ctx.Err() != nil:
			return engram.Errorf(engram.Canceled, "", "ended")
		case o.life != life:
			return errAway
		}
	}
}

// fakeConn is a connection to a fakeOwner.
type fakeConn struct {
	*fakeOwner
	engram.Segments
	engram.Types
}

func (fakeConn) Close() error { return nil }

func (c fakeConn) Describe(context.Context, engram.Pattern) ([]engram.Description, error) {
	return []engram.Description{{ID: engram.MustID("Object/Instance"), Type: "T"}, {ID: engram.MustID("Object/Instance/P"), Type: "T"}}, nil
}

func (c fakeConn) Type(_ context.Context, name string) (engram.TypeDef, error) {
	return engram.TypeDef{Name: name}, nil
}

// QueryParts answers what Fetch asks.
func (c fakeConn) QueryParts(_ context.Context, q engram.Query, part func(*engram.Result) error) error {
	c.mu.Lock()
	byEntity := map[string][]*engram.Snapshot{}
	for _, u := range c.log {
		if sel := q.Memories[0].Children[0].Children[0].Children[0].Snapshots[0]; u.Entity.Level() == engram.LevelEntity && sel.Interval.Contains(u.Snapshot.Time) {
			byEntity[u.Entity.Entity()] = append(byEntity[u.Entity.Entity()], u.Snapshot)
		}
	}
	c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(byEntity)) {
		all := byEntity[name]
		size := c.part
		if size == 0 {
			size = len(all)
		}
		for some := range slices.Chunk(all, size) {
			provider := &engram.ResultNode{Name: "P", Children: []*engram.ResultNode{{Name: name, Snapshots: some}}}
			core := &engram.ResultNode{Name: "Instance", Children: []*engram.ResultNode{provider}}
			if err := part(&engram.Result{Memories: []*engram.ResultNode{{Name: "Object", Children: []*engram.ResultNode{core}}}}); err != nil {
				return err
			}
			if c.between != nil {
				c.between()
			}
		}
	}
	return part(&engram.Result{Missing: c.lacks})
}

// fakeOwners knows one owner, which may change, and those of other robots' memories.
type fakeOwners struct {
	mu      sync.Mutex
	owner   *fakeOwner            // nil: nobody
	robots  map[string]*fakeOwner // by memory
	changed func()
	finding func(memory string) // if not nil, is called first by Find
	unknown error               // of Memories
}

// ofLocked returns the owner of a memory, nil if nobody is.
func (o *fakeOwners) ofLocked(memory string) *fakeOwner {
	if owner := o.robots[memory]; owner != nil {
		return owner
	}
	return o.owner
}

// join has a robot's memory be known from now on, or no more if owner is nil.
func (o *fakeOwners) join(memory string, owner *fakeOwner) {
	o.mu.Lock()
	if o.robots == nil {
		o.robots = map[string]*fakeOwner{}
	}
	if o.robots[memory] = owner; owner == nil {
		delete(o.robots, memory)
	}
	changed := o.changed
	o.mu.Unlock()
	if changed != nil {
		changed()
	}
}

func (o *fakeOwners) Memories(context.Context) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.robots)), o.unknown
}

func (o *fakeOwners) set(owner *fakeOwner) {
	o.mu.Lock()
	o.owner = owner
	changed := o.changed
	o.mu.Unlock()
	if changed != nil {
		changed()
	}
}

func (o *fakeOwners) Find(_ context.Context, memory string) (string, error) {
	if o.finding != nil {
		o.finding(memory)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	owner := o.ofLocked(memory)
	if owner == nil {
		return "", engram.Errorf(engram.NotFound, memory, "nobody owns it")
	}
	return owner.name, nil
}

func (o *fakeOwners) Dial(_ context.Context, memory, server string) (copies.Owner, error) {
	o.mu.Lock()
	owner := o.ofLocked(memory)
	o.mu.Unlock()
	if owner == nil || owner.name != server {
		return nil, errAway
	}
	owner.mu.Lock()
	defer owner.mu.Unlock()
	if owner.away {
		return nil, errAway
	}
	return fakeConn{fakeOwner: owner}, nil
}

func (o *fakeOwners) Watch(ctx context.Context, changed func()) {
	o.mu.Lock()
	o.changed = changed
	o.mu.Unlock()
	changed()
	<-ctx.Done()
}

type versionKey struct {
	entity        engram.ID
	time, arrived engram.Time
}

// fakeMemory holds what it is given. A crash takes back what was not synced.
type fakeMemory struct {
	present engram.Time // of all segments; changes while no holder is open

	mu       sync.Mutex
	disk     bool
	held     map[versionKey]string
	order    []versionKey
	synced   int // how many of order are on disk
	segments map[engram.ID]bool
	explain  func(*engram.Query) ([]engram.Missing, []engram.CopyUsed)
	fail     error                   // of ApplyCopy
	dropping func()                  // if not nil, is called first by DropCopy
	applying func(*contract.Changes) // if not nil, is called first by ApplyCopy
	applied  contract.Applied
}

func newFakeMemory(disk bool) *fakeMemory {
	return &fakeMemory{disk: disk, present: engram.MaxTime, held: map[versionKey]string{}, segments: map[engram.ID]bool{}}
}

func (m *fakeMemory) PrepareCopy(_ context.Context, segments []contract.Segment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range segments {
		m.segments[s.Provider.ID] = true
	}
	return nil
}

func (m *fakeMemory) ApplyCopy(_ context.Context, c contract.Changes) (a contract.Applied, err error) {
	if m.applying != nil {
		m.applying(&c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		err, m.fail = m.fail, nil
		return a, err
	}
	for _, r := range c.Removed {
		matcher, _ := r.Pattern.Matcher()
		for key := range m.held {
			if matcher.Match(key.entity) && r.Span.Contains(key.time) && key.arrived <= r.Until {
				delete(m.held, key)
				a.Removed++
			}
		}
	}
	for _, v := range c.Versions {
		if !m.segments[v.Entity.Truncate(engram.LevelProviderSegment)] {
			return a, engram.Errorf(engram.NotFound, v.Entity.String(), "the segment was not prepared")
		}
		key := versionKey{v.Entity, v.Snapshot.Time, v.Snapshot.Arrived}
		if _, had := m.held[key]; had {
			a.Had++
			continue
		}
		m.held[key] = string(v.Snapshot.Instances[0].Payload.Bytes)
		m.order = append(m.order, key)
		a.Stored++
	}
	m.applied.Stored += a.Stored
	m.applied.Had += a.Had
	return a, nil
}

func (m *fakeMemory) SyncCopies(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = len(m.order)
	return m.disk, nil
}

func (m *fakeMemory) DropCopy(_ context.Context, p engram.Pattern) error {
	if m.dropping != nil {
		m.dropping()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	matcher, _ := p.Matcher()
	maps.DeleteFunc(m.held, func(key versionKey, _ string) bool { return matcher.Match(key.entity) })
	return nil
}

func (m *fakeMemory) Copies() []string { return nil }

func (m *fakeMemory) Present(engram.ID) engram.Time { return m.present }

func (m *fakeMemory) ExplainCopies(explain func(*engram.Query) ([]engram.Missing, []engram.CopyUsed)) {
	m.mu.Lock()
	m.explain = explain
	m.mu.Unlock()
}

// crash takes back what was not synced, or all without a disk.
func (m *fakeMemory) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.disk {
		m.synced = 0
		clear(m.segments)
	}
	for _, key := range m.order[m.synced:] {
		delete(m.held, key)
	}
	m.order = m.order[:m.synced]
}

func (m *fakeMemory) content() map[versionKey]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.held)
}
