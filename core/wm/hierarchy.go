package wm

import (
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// counters tell what a node holds and what it ever did. The WM's lock protects them.
type counters struct {
	snapshots  uint64 // retained, without superseded versions
	superseded uint64 // retained superseded versions
	instances  uint64
	bytes      int64  // of payloads
	cost       int64  // bytes of RAM, see cost.go
	committed  uint64 // ever
	written    int64  // payload bytes ever
	evicted    uint64 // ever, snapshots and versions
}

// versions returns how many snapshots and superseded versions are retained.
func (c *counters) versions() uint64 { return c.snapshots + c.superseded }

// addPast adds the counters of past events; they stay when the content of o is removed.
func (c *counters) addPast(o *counters) {
	c.committed += o.committed
	c.written += o.written
	c.evicted += o.evicted
}

func (c *counters) addHeld(o *counters) {
	c.snapshots += o.snapshots
	c.superseded += o.superseded
	c.instances += o.instances
	c.bytes += o.bytes
	c.cost += o.cost
}

func (c *counters) subHeld(o *counters) {
	c.snapshots -= o.snapshots
	c.superseded -= o.superseded
	c.instances -= o.instances
	c.bytes -= o.bytes
	c.cost -= o.cost
}

// memory is a node of the first level.
type memory struct {
	id      engram.ID
	bounds  engram.Bounds
	pool    *Pool // nil without one
	copied  bool  // it is a copy of another server's
	cores   table[*core]
	refused atomic.Uint64 // updates to no known core segment, and those of removed ones
	feed    *feed         // under the WM's lock, but for its pins

	// The WM's lock protects what follows.
	held    counters    // of all segments, with what removed ones did
	made    int         // provider segments that are there
	newest  engram.Time // the newest time of all versions ever stored, if held.committed > 0
	second  engram.Time // the second newest; MinTime if there is none
	history versionList // what is not its entity's newest state, in the order it ceased to be
	current versionList // the newest states of all entities, in the order of their arrival
	byAge   ageHeap     // entities that have something old to evict
	syncing []*syncing  // updates on their way to the disk, in the order of the journal

	keepsNewest bool // see KeepNewest
}

// bounded reports whether the memory as a whole has bounds that need its lists.
func (m *memory) bounded() bool { return m.bounds.MaxCount > 0 || m.bounds.MaxBytes > 0 }

// core is a core segment.
type core struct {
	id        engram.ID
	def       engram.CoreSegment
	memory    *memory
	rule      *typeRule
	providers table[*provider]
	refused   atomic.Uint64 // updates to no known provider segment, and those of removed ones

	// The WM's lock protects what follows.
	past    counters    // what removed provider segments did
	highest engram.Time // no version that is held has a higher time
	leaving bool        // it is about to be removed, and takes nothing any more
	removed bool
}

// provider is a provider segment.
type provider struct {
	id       engram.ID
	core     *core
	typ      string    // as it was added; "" if by a commit or without a type
	rule     *typeRule // the core segment's if typ is ""
	entities table[*entity]
	refused  atomic.Uint64
	gone     losses        // of entities that were evicted as a whole
	evicted  atomic.Bool   // something of it was evicted
	goneFrom atomic.Uint64 // no entity with a first update up to this was one of them before; 0 if none is gone
	arrived  atomic.Int64  // of a copy: the latest arrival

	// The WM's lock protects what follows.
	held    counters // with what evicted entities did
	leaving bool     // it is about to be removed, and takes nothing any more
	removed bool
}

// entity is one thing with its timeline.
type entity struct {
	id       engram.ID
	provider *provider
	timeline timeline
	// newest is the current version of the newest snapshot, by the clock when the entity was
	// last written; ahead says that there are later ones, which were beyond the present then.
	// Who reads both without the lock reads ahead first.
	newest atomic.Pointer[version]
	ahead  atomic.Bool
	lost   losses

	firstNumber atomic.Uint64 // of the first update ever
	lastNumber  atomic.Uint64
	arrived     atomic.Int64 // of a copy: the latest arrival

	// The WM's lock protects what follows.
	held    counters
	removed bool
	matches matches // the subscriptions that match it
	ageKey  ageKey  // its place among the entities with something old
}

// core returns the core segment that id lies in.
func (w *writer) core(id engram.ID) (*core, error) {
	m, ok := w.memories.Get(id.Memory())
	if !ok {
		return nil, noMemory(id)
	}
	c, ok := m.cores.Get(id.CoreSegment())
	if !ok {
		return nil, noCore(id)
	}
	return c, nil
}

func noMemory(id engram.ID) error {
	return engram.Errorf(engram.NotFound, id.String(), "there is no memory %q here", id.Memory())
}

func noCore(id engram.ID) error {
	return engram.Errorf(engram.NotFound, id.String(), "there is no core segment %s; add it first", id.Truncate(engram.LevelCoreSegment))
}

// entity returns the entity of that ID, or nil.
func (w *writer) entity(id engram.ID) *entity {
	m, ok := w.memories.Get(id.Memory())
	if !ok {
		return nil
	}
	c, ok := m.cores.Get(id.CoreSegment())
	if !ok {
		return nil
	}
	p, ok := c.providers.Get(id.ProviderSegment())
	if !ok {
		return nil
	}
	e, _ := p.entities.Get(id.Entity())
	return e
}

// addProviderLocked adds a provider segment that is not there.
func (c *core) addProviderLocked(name, typ string, rule *typeRule) *provider {
	p := &provider{id: child(c.id, name), core: c, typ: typ, rule: rule}
	p.arrived.Store(int64(engram.MinTime))
	c.providers.add(p.id.ProviderSegment(), p)
	c.memory.made++
	p.chargeLocked(providerCost(p.id))
	return p
}

// addEntityLocked adds an entity that is not there.
func (p *provider) addEntityLocked(name string) *entity {
	e := &entity{id: child(p.id, name), provider: p}
	e.arrived.Store(int64(engram.MinTime))
	p.entities.add(e.id.Entity(), e)
	p.chargeLocked(entityCost(e.id))
	return e
}

// chargeLocked counts what an entity or the segment itself costs; less than 0 if it is
// there no more.
func (p *provider) chargeLocked(cost int64) {
	p.held.cost += cost
	if !p.removed {
		p.core.memory.held.cost += cost
	}
}

// child returns the ID of a child whose name was checked when the ID it was taken
// from was made. The name is copied, so that it keeps nothing else in memory.
func child(parent engram.ID, name string) engram.ID {
	id, err := parent.Child(strings.Clone(name))
	if err != nil {
		panic(err) // a name out of an ID is always a name
	}
	return id
}
