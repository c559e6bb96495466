package episode

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Cache holds decoded chunks, indices and video frames of any number of episodes,
// bounded in bytes: what was used longest ago goes first. Safe for concurrent use.
// A nil Cache holds nothing.
type Cache struct {
	max int64

	mu struct {
		sync.Mutex
		bytes   int64
		order   list.List // of *cached, the most recently used first
		entries map[cacheKey]*list.Element
		// Of each source, so that a closed one can be let go of.
		sources map[uint64]map[cacheKey]struct{}
	}
}

// cacheKey names a datum: the kind of a source's, and where it lies.
type cacheKey struct {
	source uint64
	kind   cacheKind
	offset int64
	at     int64
	// members are those that payloads have, as far as they were read, "" for all; or which numbers were read.
	members string
}

type cacheKind uint8

const (
	cacheChunk   cacheKind = iota // []byte: a chunk's records
	cacheIndex                    // *blockIndex
	cacheTable                    // *blockTable
	cacheDecoded                  // []*engram.Snapshot: what a message completes
	cachePlaces                   // []codedMessage: the messages of a run, without their bytes and the run
	cacheNumbers                  // [][]float64: numbers of what a message completes
)

type cached struct {
	key   cacheKey
	value any
	bytes int64
}

// entryBytes is about what an entry costs beside its value.
const entryBytes = 200

var lastSource atomic.Uint64

// NewCache returns a cache of at most maxBytes.
func NewCache(maxBytes int64) *Cache {
	c := &Cache{max: maxBytes}
	c.mu.entries = map[cacheKey]*list.Element{}
	c.mu.sources = map[uint64]map[cacheKey]struct{}{}
	return c
}

// Bytes returns how much the cache holds, and how much it may.
func (c *Cache) Bytes() (held, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.bytes, c.max
}

func (c *Cache) get(k cacheKey) (any, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.entries[k]
	if !ok {
		return nil, false
	}
	c.mu.order.MoveToFront(e)
	return e.Value.(*cached).value, true
}

// put holds a value of so many bytes; one that is larger than half the cache is
// not held, as it would drive out all others.
func (c *Cache) put(k cacheKey, value any, bytes int64) {
	bytes += entryBytes + int64(len(k.members))
	if c == nil || bytes > c.max/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.mu.entries[k]; ok {
		c.dropLocked(e)
	}
	c.mu.entries[k] = c.mu.order.PushFront(&cached{k, value, bytes})
	of := c.mu.sources[k.source]
	if of == nil {
		of = map[cacheKey]struct{}{}
		c.mu.sources[k.source] = of
	}
	of[k] = struct{}{}
	c.mu.bytes += bytes
	for c.mu.bytes > c.max {
		c.dropLocked(c.mu.order.Back())
	}
}

// spend says that a value will hardly be asked for again: it goes first.
func (c *Cache) spend(k cacheKey) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.mu.entries[k]; ok {
		c.mu.order.MoveToBack(e)
	}
}

// forget lets go of all of a source.
func (c *Cache) forget(source uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.mu.sources[source] {
		c.dropLocked(c.mu.entries[k])
	}
}

func (c *Cache) dropLocked(e *list.Element) {
	v := c.mu.order.Remove(e).(*cached)
	delete(c.mu.entries, v.key)
	c.mu.bytes -= v.bytes
	of := c.mu.sources[v.key.source]
	if delete(of, v.key); len(of) == 0 {
		delete(c.mu.sources, v.key.source)
	}
}
