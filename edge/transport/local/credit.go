package local

import (
	"context"
	"sync"
)

// credit is how many bytes of a call's frames the client has room for. A frame is
// sent while there is any, so one may go beyond it.
type credit struct {
	more chan struct{} // holds one token after credit came
	mu   struct {
		sync.Mutex
		left int64
	}
}

func newCredit(window uint32) *credit {
	c := &credit{more: make(chan struct{}, 1)}
	c.mu.left = int64(window)
	return c
}

// add grants n more bytes.
func (c *credit) add(n uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.left += int64(n); c.mu.left > 1<<40 {
		return corrupt("a client grants a call %d bytes", c.mu.left)
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
	return nil
}

// wait waits until something may be sent.
func (c *credit) wait(ctx context.Context) error {
	for {
		if c.has() {
			return nil
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// has reports whether something may be sent.
func (c *credit) has() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.left > 0
}

// use takes what a frame of n bytes costs.
func (c *credit) use(n int) {
	c.mu.Lock()
	c.mu.left -= int64(n)
	c.mu.Unlock()
}
