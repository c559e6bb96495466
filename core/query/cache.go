package query

import (
	"container/list"
	"sync"
)

// cache keeps the most recently used of what is costly to compile from a text,
// such as regular expressions. Safe for concurrent use.
type cache[V any] struct {
	max int
	mu  struct {
		sync.Mutex
		byText map[string]*list.Element
		recent list.List // of *cached[V], the most recently used first
	}
}

type cached[V any] struct {
	text  string
	value V
}

// newCache returns a cache of at most max texts.
func newCache[V any](max int) *cache[V] {
	c := &cache[V]{max: max}
	c.mu.byText = make(map[string]*list.Element)
	return c
}

// Get returns what compile makes of text, from the cache if it is there. Errors
// are not kept.
func (c *cache[V]) Get(text string, compile func() (V, error)) (V, error) {
	c.mu.Lock()
	if e, ok := c.mu.byText[text]; ok {
		c.mu.recent.MoveToFront(e)
		v := e.Value.(*cached[V]).value
		c.mu.Unlock()
		return v, nil
	}
	c.mu.Unlock()
	v, err := compile()
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.byText[text]; !ok {
		c.mu.byText[text] = c.mu.recent.PushFront(&cached[V]{text, v})
		if c.mu.recent.Len() > c.max {
			last := c.mu.recent.Remove(c.mu.recent.Back()).(*cached[V])
			delete(c.mu.byText, last.text)
		}
	}
	return v, nil
}
