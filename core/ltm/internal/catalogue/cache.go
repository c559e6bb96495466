package catalogue

import (
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// holdingsCache holds what was looked up, until the catalogue changes.
type holdingsCache struct {
	max int64

	mu       sync.Mutex
	changes  uint64 // odd while one is being made
	bytes    int64
	holdings map[engram.ID]*Holdings
	held     map[engram.ID][]Held   // by provider segment
	episodes []string               // that there are, once anything is held
	names    map[engram.ID][]string // by parent
	ahead    readAhead
}

// readAhead is what was read last of the holdings of entities that follow one another.
type readAhead struct {
	provider       engram.ID
	after, next    string // the names of the last one that was kept, and of the one behind it
	entities, rows int    // that were read
}

const (
	maxAhead     = 512 // entities
	maxAheadRows = 4096
)

// next returns how many entities from one on are to be read, and the age of what is read
// now.
func (c *holdingsCache) next(entity engram.ID) (entities int, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, name := &c.ahead, entity.Entity()
	if name <= a.after || name > a.next || entity.Parent() != a.provider {
		return 1, c.changes
	}
	if a.rows >= maxAheadRows {
		return a.entities, c.changes
	}
	return min(2*a.entities, maxAhead), c.changes
}

// read notes what was read.
func (c *holdingsCache) read(a readAhead) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = a
}

func (c *holdingsCache) get(id engram.ID) *Holdings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holdings[id]
}

// age identifies the state of the catalogue; what is read then may be put while it
// is the same.
func (c *holdingsCache) age() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

func (c *holdingsCache) put(id engram.ID, h *Holdings, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.holdings[id]; !ok && c.roomLocked(h.size(), age) {
		c.holdings[id] = h
	}
}

// roomLocked makes room for something of a size that was read at an age; false if it
// is not to be kept.
func (c *holdingsCache) roomLocked(size int64, age uint64) bool {
	if c.changes != age || age%2 == 1 || size > c.max/2 {
		return false
	}
	if c.bytes+size > c.max || c.holdings == nil {
		c.holdings, c.held, c.names, c.bytes = map[engram.ID]*Holdings{}, map[engram.ID][]Held{}, map[engram.ID][]string{}, 0
	}
	c.bytes += size
	return true
}

func (c *holdingsCache) getNames(parent engram.ID) ([]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := c.names[parent]
	return list, ok
}

func (c *holdingsCache) putNames(parent engram.ID, list []string, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.names[parent]; !ok && c.roomLocked(100+50*int64(len(list)), age) {
		c.names[parent] = list
	}
}

// getHeld returns what is held of a provider segment, if all episodes count.
func (c *holdingsCache) getHeld(provider engram.ID, counting Counting) ([]Held, bool) {
	c.mu.Lock()
	list, ok := c.held[provider]
	episodes := c.episodes
	c.mu.Unlock()
	if !ok {
		return nil, false
	}
	counts := counting()
	return list, !slices.ContainsFunc(episodes, func(name string) bool { return !counts(name) })
}

func (c *holdingsCache) putHeld(provider engram.ID, list []Held, episodes []string, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.held[provider]; !ok && c.roomLocked(100+120*int64(len(list)), age) {
		c.held[provider], c.episodes = list, episodes
	}
}

// begin says that a change is about to be seen, end that it is.
func (c *holdingsCache) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.holdings, c.held, c.names, c.bytes = nil, nil, nil, 0
}

func (c *holdingsCache) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
}
