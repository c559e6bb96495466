package access

import (
	"maps"
	"sync"
	"sync/atomic"
)

// cache remembers answers. Reading one that has been there for a while takes no lock.
// Its zero value is empty.
type cache[K comparable, V any] struct {
	read atomic.Pointer[map[K]V]

	mu    sync.Mutex
	dirty map[K]V // all of read, and what came since
}

func (c *cache[K, V]) get(k K) (v V, ok bool) {
	m := c.read.Load()
	if m == nil {
		return v, false
	}
	if v, ok = (*m)[k]; ok {
		return v, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok = c.dirty[k]
	return v, ok
}

// put adds an answer. A cache that has most of them begins anew.
func (c *cache[K, V]) put(k K, v V, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirty == nil || len(c.dirty) >= most {
		c.dirty = map[K]V{}
	}
	c.dirty[k] = v
	m := c.read.Load()
	// Copied when it has grown by half, so that copying costs little in all.
	if m == nil || len(c.dirty) < len(*m) || 2*len(c.dirty) >= 3*len(*m) {
		read := maps.Clone(c.dirty)
		c.read.Store(&read)
	}
}

// len returns how many answers are remembered.
func (c *cache[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.dirty)
}
