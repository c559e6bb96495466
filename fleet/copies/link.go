package copies

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// How long a link waits before it tries again: what is away is back without a word,
// and is found soon; what refuses is not pestered.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = time.Second
	refusedPause = 5 * time.Second
)

// A connection that hangs, its packets lost, would be tried again by TCP after seconds;
// so another one is tried beside it.
const (
	dialAgain   = time.Second
	dialTimeout = 5 * time.Second
	maxDials    = 4 // at once
)

// link pulls all that is copied from one server, until it is stopped.
type link struct {
	h        *Holder
	server   string
	replicas []*replica
	begun    uint64        // the rules that it began with
	wake     chan struct{} // holds a token when trying at once may help
	heard    atomic.Int64  // when the owner was last heard, Unix nanoseconds
	cancel   context.CancelFunc
	done     chan struct{}
}

// linkShare is a replica in one pull.
type linkShare struct {
	*replica
	names *renamer
	rules uint64
}

func (h *Holder) newLink(server string, replicas []*replica) *link {
	l := &link{h: h, server: server, replicas: replicas, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.begun = l.rules()
	ctx, cancel := context.WithCancel(h.ctx)
	l.cancel = cancel
	go func() {
		defer close(l.done)
		l.run(ctx)
	}()
	return l
}

// rules counts the changes of the rules of what is copied, and of beginnings.
func (l *link) rules() (n uint64) {
	for _, r := range l.replicas {
		r.mu.Lock()
		n += r.rules
		r.mu.Unlock()
	}
	return n
}

// stop ends the link and waits for it.
func (l *link) stop() {
	l.cancel()
	<-l.done
}

func (l *link) hurry() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) run(ctx context.Context) {
	pause := firstPause
	failed := "" // what was logged last
	for ctx.Err() == nil {
		heard, err := l.pull(ctx)
		if ctx.Err() != nil {
			return
		}
		if heard {
			pause = firstPause
		}
		l.h.o.Log.Debug("a pull ended", "server", l.server, "heard", heard, "error", err)
		wait := pause + time.Duration(rand.Int64N(int64(pause/4)))
		state, wake := contract.StateWaiting, l.wake
		switch {
		case retried(err):
			pause = min(2*pause, longestPause)
			failed = ""
		case credentials.MayPass(err):
			// Another server is where the owner was, for now perhaps: it may be back, or the
			// names lead elsewhere, at any time. Until then that is what is wrong.
			pause = min(2*pause, longestPause)
			state = contract.StateFailed
		default:
			state, wait, wake = contract.StateFailed, refusedPause, nil
		}
		if state == contract.StateFailed && err.Error() != failed {
			failed = err.Error()
			l.h.o.Log.Warn("a copy's owner cannot be pulled from", "server", l.server, "error", err)
		}
		for _, r := range l.replicas {
			r.setState(state, l.server, err.Error())
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// pull connects and pulls until that breaks. heard reports whether the owner told
// anything.
func (l *link) pull(ctx context.Context) (heard bool, err error) {
	owner, err := l.dial(ctx)
	if err != nil {
		return false, err
	}
	l.h.o.Log.Debug("connected to the owner of what is copied", "server", l.server)
	defer owner.Close()
	request := contract.Request{Holder: l.h.o.Server}
	shares := make([]linkShare, len(l.replicas))
	for i, r := range l.replicas {
		shares[i] = linkShare{replica: r, names: newRenamer(r.memory)}
		var share contract.Share
		share, shares[i].rules = r.share(l.server, &l.heard)
		request.Shares = append(request.Shares, share)
	}
	err = owner.Pull(ctx, request, func(b *contract.Batch) error {
		if b.Share < 0 || b.Share >= len(l.replicas) {
			return engram.Errorf(engram.Corrupt, l.server, "the owner tells of share %d of %d", b.Share, len(l.replicas))
		}
		if !heard {
			heard = true
			for _, r := range l.replicas {
				r.setState(contract.StateCatching, l.server, "")
			}
		}
		l.heard.Store(int64(engram.Now()))
		if b.Empty() && b.Behind.Updates == 0 {
			for i := range shares {
				shares[i].idle(l.server, shares[i].rules, b.Behind.Now)
			}
		}
		return l.apply(ctx, &shares[b.Share], b)
	})
	if err == nil {
		err = engram.Errorf(engram.Unavailable, l.server, "the owner ended the pull")
	}
	return heard, err
}

// dial connects to the server, by another attempt beside the first if that takes long.
func (l *link) dial(ctx context.Context) (Owner, error) {
	type outcome struct {
		owner Owner
		err   error
	}
	attempts, cancel := context.WithTimeout(ctx, dialTimeout)
	outcomes := make(chan outcome, maxDials)
	var pending sync.WaitGroup
	begin := func() {
		pending.Go(func() {
			owner, err := l.h.o.Owners.Dial(attempts, l.replicas[0].memory, l.server)
			outcomes <- outcome{owner, err}
		})
	}
	defer func() {
		cancel()
		pending.Wait()
		close(outcomes)
		for o := range outcomes { // those that came too late
			if o.err == nil {
				o.owner.Close()
			}
		}
	}()
	begin()
	again := time.NewTicker(dialAgain)
	defer again.Stop()
	for begun, failed := 1, 0; ; {
		select {
		case o := <-outcomes:
			if o.err == nil {
				return o.owner, nil
			}
			if failed++; failed == begun {
				return nil, o.err
			}
		case <-again.C:
			if begun < maxDials {
				begin()
				begun++
			}
		}
	}
}

// apply puts a batch into the memory, and then notes that it is there.
func (l *link) apply(ctx context.Context, share *linkShare, b *contract.Batch) error {
	r, names := share.replica, share.names
	segments, err := names.segments(b.Segments)
	if err != nil {
		return err
	}
	changes, err := names.changes(b)
	if err != nil {
		return err
	}
	for i := range changes.Versions {
		if !r.matcher.Match(changes.Versions[i].Entity) {
			return engram.Errorf(engram.Corrupt, changes.Versions[i].Entity.String(), "the owner tells of what was not asked for")
		}
	}
	left := slices.Clone(b.LeftOut)
	for i := range left {
		x := &left[i]
		if x.Entity, err = names.id(x.Entity); err != nil {
			return err
		}
		if err := checkReason(x.Reason); err != nil {
			return err
		}
		if x.Entity.Level() != engram.LevelEntity || !r.matcher.Match(x.Entity) || x.Bytes < 0 {
			return engram.Errorf(engram.Corrupt, x.Entity.String(), "the owner says that %d bytes were left out of what was not asked for", x.Bytes)
		}
	}
	var lost []engram.Missing
	for _, m := range b.Lost {
		if m.ID.IsRoot() {
			m.ID = r.id
		} else if m.ID, err = names.id(m.ID.Truncate(engram.LevelEntity)); err != nil {
			return err
		}
		if err := checkReason(m.Reason); err != nil {
			return err
		}
		if !r.touches(m.ID) {
			return engram.Errorf(engram.Corrupt, m.ID.String(), "the owner tells of the loss of what was not asked for")
		}
		lost = append(lost, m)
	}
	defer l.h.turn(r.memory)()
	if err := l.h.noteRemovals(r.memory, changes.Removed); err != nil {
		return err
	}
	applied, err := l.store(context.WithoutCancel(ctx), segments, &changes) // not given up halfway: what is stored is noted
	if err != nil {
		return err
	}
	if applied.Refused > 0 {
		l.h.o.Log.Warn("a copy cannot take some of what its owner has", "copy", r.memory, "versions", applied.Refused, "error", applied.Reason)
	}
	r.took(l.server, share.rules, b, &changes, applied, left, lost)
	return nil
}

// maxReason bounds a reason that an owner gives, in bytes.
const maxReason = 64

// checkReason returns an error if what an owner gives as a reason is none.
func checkReason(reason string) error {
	if reason == "" || len(reason) > maxReason || !utf8.ValidString(reason) {
		return engram.Errorf(engram.Corrupt, "", "the owner says why something is missing by %d bytes, %.*q; that is a text of at most %d", len(reason), maxReason, reason, maxReason)
	}
	return nil
}

// store has the memory carry out what is removed, then know the segments, which may be
// others of the same names, then store the versions.
func (l *link) store(ctx context.Context, segments []contract.Segment, c *contract.Changes) (all contract.Applied, err error) {
	if len(c.Removed) > 0 {
		if all, err = l.h.o.Memory.ApplyCopy(ctx, contract.Changes{Removed: c.Removed}); err != nil {
			return all, err
		}
	}
	if len(segments) > 0 {
		if err := l.h.o.Memory.PrepareCopy(ctx, segments); err != nil {
			return all, err
		}
		l.h.tell()
	}
	if len(c.Versions) > 0 {
		removed := all.Removed
		all, err = l.h.o.Memory.ApplyCopy(ctx, contract.Changes{Versions: c.Versions})
		all.Removed = removed
	}
	return all, err
}

// retried reports whether an error is one that passes by itself.
func retried(err error) bool {
	return errors.Is(err, engram.Unavailable) || errors.Is(err, engram.NotFound) || errors.Is(err, engram.Canceled)
}
