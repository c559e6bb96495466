package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

var errNotAlive = errors.New("the server shows no sign of life")

// looks is how many times in a detection timeout the client looks whether anything has
// come from a server that does not answer.
const looks = 6

// whileAlive calls f, and gives it up when nothing comes from the server within the
// detection timeout: then the error is Unavailable. A server that is alive may take as
// long as it needs, and so may its answer over a slow link.
func (c *router) whileAlive(ctx context.Context, cn *conn, s transport.Client, f func(context.Context, transport.Client) error) error {
	asked, ok := s.(*rpc.Client)
	if !ok {
		return f(ctx, s) // on this host: a process that ends closes its connections
	}
	call, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	had := asked.Received()
	var looking sync.WaitGroup
	looking.Add(1)
	first := time.AfterFunc(c.detectionTimeout(cn)/looks, func() {
		defer looking.Done()
		if c.detectFailure(call, cn, asked, had) {
			giveUp(errNotAlive)
		}
	})
	err := f(call, s)
	giveUp(nil)
	if first.Stop() {
		looking.Done()
	}
	looking.Wait()
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(call), errNotAlive) {
		err = engram.Errorf(engram.Unavailable, cn.server, "the memory server did not answer, and shows no sign of life since %v", c.o.DetectionTimeout)
	}
	return err
}

// detectFailure looks until ctx ends whether anything comes from the server, and reports
// that nothing came within the detection timeout. It sends a question of its own in time.
// Looks are counted and not the time between them: a machine that stood still itself has
// heard nobody.
func (c *router) detectFailure(ctx context.Context, cn *conn, s *rpc.Client, had uint64) bool {
	ctx, cancel := context.WithCancel(ctx)
	var answer chan error // to the least question; nil if it is not asked
	defer func() {
		if cancel(); answer != nil {
			<-answer
		}
	}()
	timeout, speaks := c.detectionTimeout(cn), false
	for missed := 1; ; {
		if now := s.Received(); now != had {
			had, missed, speaks = now, 0, true
		}
		if speaks { // whatever the names say
			timeout = c.o.DetectionTimeout
		} else {
			timeout = max(timeout, c.detectionTimeout(cn))
		}
		if missed == looks {
			return true
		}
		if missed == looks/3 && answer == nil {
			answer = make(chan error, 1)
			go func() {
				_, err := s.Info(ctx)
				answer <- err
			}()
		}
		select {
		case <-time.After(timeout / looks):
			missed++
		case err := <-answer:
			answer = nil
			// What fails without a word from the server, or with another's who is not
			// believed to be it, does so again: it is not asked forever.
			if errors.Is(err, credentials.ErrNotBelieved) || err != nil && s.Received() == had {
				return ctx.Err() == nil
			}
		case <-ctx.Done():
			return false
		}
	}
}

// lost notes that another robot's server, or a suspected one, was not reached, or is not
// believed: it is not tried by calls any more, which would have to wait, but in the
// background.
func (c *router) lost(cn *conn, err error) {
	if !cn.hurried() || !unanswered(err) {
		return
	}
	cn.doubts(err)
	if !cn.down.CompareAndSwap(false, true) {
		return
	}
	const firstPause, longestPause = 50 * time.Millisecond, 2 * time.Second
	began := c.own(func() {
		defer cn.down.Store(false)
		for pause := firstPause; ; pause = min(2*pause, longestPause) {
			select {
			case <-time.After(pause):
			case <-c.ctx.Done():
				return
			}
			if cn.isClosed() || c.reaches(cn) {
				return
			}
		}
	})
	if !began {
		cn.down.Store(false)
	}
}

// reaches reports whether a server answers.
func (c *router) reaches(cn *conn) bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.o.DetectionTimeout)
	defer cancel()
	s, err := c.get(ctx, cn)
	if err != nil {
		return false
	}
	if asked, ok := s.(*rpc.Client); ok {
		_, err = asked.Info(ctx)
	}
	return !unanswered(err) && engram.CodeOf(err) != engram.Canceled
}
