package client

import "github.com/seed-301d4374/engram/fleet/mns"

// news orders answers and notifications of the name system. An answer that was under way
// when a memory's notification came may be older than it, and nothing would correct it
// later. It is protected by the client's mu.
type news struct {
	count  uint64            // of what was told
	all    uint64            // count when all names were told last
	asking int               // questions under way
	of     map[string]uint64 // by memory: count when it was told of last, while there are questions
}

// heard notes that there are news of a memory, before the table has them.
func (c *router) heard(memory string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news.count++; c.news.asking > 0 {
		c.news.of[memory] = c.news.count
	}
}

// beginAsking is to be called before the name system is asked, done after its answer was
// learned. since tells what was known before.
func (c *router) beginAsking() (since uint64, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news.asking++; c.news.of == nil {
		c.news.of = map[string]uint64{}
	}
	return c.news.count, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.news.asking--; c.news.asking == 0 {
			c.news.of = nil
		}
	}
}

// answered stores the answers to a question that was asked after since. It returns false
// if it left out memories that had a notification meanwhile.
func (c *router) answered(since uint64, present []mns.Entry, absent ...string) (all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news.all > since {
		return false
	}
	all = true
	for _, e := range present {
		if c.news.of[e.Memory] > since {
			all = false
			continue
		}
		c.setLocked(e)
	}
	for _, memory := range absent {
		if c.news.of[memory] > since {
			all = false
			continue
		}
		c.removeLocked(memory)
	}
	return all
}
