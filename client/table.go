package client

import (
	"time"

	"github.com/seed-301d4374/engram/fleet/mns"
)

// staleFor is how long names are kept that a name system which was away does not
// know when it is back: servers register again within their lease.
const staleFor = mns.DefaultTTL + 5*time.Second

// follow keeps the table as the name system tells it, until the client is closed.
// synced gets nil when all names are known for the first time, or why that failed.
func (c *router) follow(synced chan<- error) {
	const firstPause, longestPause = 50 * time.Millisecond, 2 * time.Second
	pause := firstPause
	for first := true; ; {
		fresh := map[string]mns.Entry{}
		complete := false
		for e, err := range c.home.names.Watch(c.ctx) {
			switch {
			case c.ctx.Err() != nil:
				return
			case err != nil:
				if first {
					synced <- err
					return
				}
			case e.Synced:
				c.replace(fresh)
				complete, pause = true, firstPause
				if first {
					synced <- nil
					first = false
				}
			case !complete:
				fresh[e.Entry.Memory] = e.Entry
			case e.Removed:
				c.heard(e.Entry.Memory)
				c.remove(e.Entry.Memory)
			default:
				c.heard(e.Entry.Memory)
				c.set(e.Entry)
			}
		}
		select {
		case <-time.After(pause):
		case <-c.ctx.Done():
			return
		}
		pause = min(2*pause, longestPause)
		c.dropStale()
	}
}

// set makes one entry known.
func (c *router) set(e mns.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(e)
}

func (c *router) setLocked(e mns.Entry) {
	delete(c.stale, e.Memory)
	if old, ok := c.table[e.Memory]; ok && old.Equal(e) {
		return
	}
	c.table[e.Memory] = e
	c.changedLocked()
}

// remove forgets an entry.
func (c *router) remove(memory string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(memory)
}

func (c *router) removeLocked(memory string) {
	delete(c.stale, memory)
	if _, ok := c.table[memory]; ok {
		delete(c.table, memory)
		c.changedLocked()
	}
}

// replace makes fresh the table. What was known and is not in fresh is stale.
func (c *router) replace(fresh map[string]mns.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news.count++
	c.news.all = c.news.count
	for m, e := range c.table {
		if _, ok := fresh[m]; ok {
			delete(c.stale, m)
			continue
		}
		fresh[m] = e
		if _, ok := c.stale[m]; !ok {
			c.stale[m] = time.Now().Add(staleFor)
			c.ownLocked(func() {
				select {
				case <-time.After(staleFor):
					c.dropStale()
				case <-c.ctx.Done():
				}
			})
		}
	}
	c.table = fresh
	c.changedLocked()
}

func (c *router) dropStale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for m, until := range c.stale {
		if !now.Before(until) {
			delete(c.stale, m)
			delete(c.table, m)
			c.changedLocked()
		}
	}
}

func (c *router) changedLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
	c.routed.Store(nil)
	used := map[string]bool{}
	for _, e := range c.table {
		used[connKey(e.Robot, e.Server, e.Addresses)] = true
		for _, held := range e.Copies {
			used[connKey(held.Robot, held.Server, held.Addresses)] = true
		}
		if e.Robot != "" && !e.Foreign() && e.Server != "" {
			c.robot = e.Robot
		}
	}
	for key, cn := range c.conns {
		if !used[key] {
			delete(c.conns, key)
			if !c.ownLocked(cn.close) {
				c.conns[key] = cn // for Close
			}
		}
	}
}
