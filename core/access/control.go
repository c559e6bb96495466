package access

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// Control holds the rules in force, and what is open under them: when they change, what
// they no longer allow is cut at once. Safe for concurrent use.
type Control struct {
	table atomic.Pointer[Table]
	audit Auditor
	log   *slog.Logger
	file  string // "" without one

	mu struct {
		sync.Mutex
		open    map[*open]struct{}
		closed  bool
		changed chan struct{} // closed and replaced when the rules change
	}
	repeats repeats

	stop func()
	done sync.WaitGroup
}

// open is a stream or connection that is cut when its identity's rights change.
type open struct {
	id     Identity
	serial string    // of the certificate, for connections
	until  time.Time // when the certificate expires; zero is never
	print  uint64    // of the rights under which it was opened; streams only
	// forward says that calls of others may come over the connection.
	forward bool
	cut     func(why error)
}

// Options configure a [Control].
type Options struct {
	Audit Auditor      // nil: nothing is noted
	Log   *slog.Logger // nil means slog.Default()
	// Every is how often a file of rules is looked at for changes; 0 means 250 ms.
	Every time.Duration
}

// New returns a control of no rules: everyone may do everything.
func New(o Options) *Control {
	c := &Control{audit: o.Audit, log: o.Log, stop: func() {}}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.mu.open = map[*open]struct{}{}
	c.mu.changed = make(chan struct{})
	t, err := Compile(Policy{})
	if err != nil {
		panic(err) // there is nothing in it
	}
	c.table.Store(t)
	return c
}

// Load returns a control of the rules in a file, which is read again when it changes,
// until [Control.Close]. A change that cannot be read is logged and noted, and the
// rules before it go on. Without a file ("") there are no rules. The error names file
// and line.
func Load(file string, o Options) (*Control, error) {
	c := New(o)
	c.file = file
	var text []byte
	if file != "" {
		var err error
		if text, err = readFile(file); err != nil {
			return nil, err
		}
		p, err := Parse(text)
		if err == nil {
			err = c.Set(p)
		}
		if err != nil {
			return nil, inFile(file, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	every := o.Every
	if every == 0 {
		every = 250 * time.Millisecond
	}
	c.done.Go(func() { c.follow(ctx, every, text) })
	return c, nil
}

func inFile(file string, err error) error {
	return engram.Errorf(engram.CodeOf(err), file, "%w", err)
}

func readFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > MaxFile {
		return nil, engram.Errorf(engram.Exhausted, file, "the rules have %d bytes; at most %d are allowed", info.Size(), MaxFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, engram.Errorf(engram.NotFound, file, "there is no such file of rules; make it with 'engram auth rule add'")
	case err != nil:
		return nil, engram.Errorf(engram.Unavailable, file, "the rules cannot be read: %w", err)
	}
	return text, nil
}

// follow reads the file again when it changes, and closes connections whose
// certificates have expired.
func (c *Control) follow(ctx context.Context, every time.Duration, text []byte) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := ""
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c.expire(time.Now())
		c.repeats.due(c.audit, time.Now())
		if c.file == "" {
			continue
		}
		now, err := readFile(c.file)
		if err == nil {
			if bytes.Equal(now, text) {
				continue
			}
			var p Policy
			if p, err = Parse(now); err == nil {
				err = c.Set(p)
			}
		}
		if err == nil {
			text, failed = now, ""
			c.log.Info("the access rules have changed", "file", c.file, "rules", len(c.table.Load().policy.Rules), "revoked", len(c.table.Load().policy.Revoked))
			continue
		}
		if err := inFile(c.file, err); err.Error() != failed { // once
			failed = err.Error()
			c.log.Error("the access rules have changed and cannot be read; those before go on", "error", err)
			c.note(Event{Kind: EventRulesRefused, Thing: c.file, Text: failed})
		}
	}
}

// Close stops following the file. What is open stays open.
func (c *Control) Close() error {
	c.stop()
	c.done.Wait()
	c.repeats.flush(c.audit)
	return nil
}

// Set puts other rules in force. The policy must not be changed afterwards.
func (c *Control) Set(p Policy) error {
	t, err := Compile(p)
	if err != nil {
		return err
	}
	before := c.table.Swap(t)
	c.noteChanges(before, t)
	c.mu.Lock()
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
	var cut []func()
	for o := range c.mu.open {
		if err := c.ends(o, t, time.Now()); err != nil {
			delete(c.mu.open, o)
			cut = append(cut, func() { o.cut(err) })
		}
	}
	c.mu.Unlock()
	for _, f := range cut {
		f()
	}
	return nil
}

// ErrRevoked is why a connection or stream ends, or may not begin, of an identity or a
// certificate that was revoked.
var ErrRevoked = engram.Errorf(engram.Forbidden, "", "the identity or its certificate was revoked")

var (
	errExpired = engram.Errorf(engram.Forbidden, "", "the certificate has expired")
	// Unavailable, so that clients begin again under the new rules, where they left off.
	errChanged = engram.Errorf(engram.Unavailable, "", "the access rules have changed; begin again")
)

// ends says why something may not stay open.
func (c *Control) ends(o *open, t *Table, now time.Time) error {
	switch {
	case t.Revoked(o.id, o.serial) != nil:
		return ErrRevoked
	case !o.until.IsZero() && now.After(o.until):
		return errExpired
	case o.print != 0 && t.fingerprint(o.id) != o.print, o.forward && !t.grant(o.id).forward:
		return errChanged
	}
	return nil
}

func (c *Control) expire(now time.Time) {
	t := c.table.Load()
	c.mu.Lock()
	var cut []func()
	for o := range c.mu.open {
		if !o.until.IsZero() && now.After(o.until) {
			err := c.ends(o, t, now)
			delete(c.mu.open, o)
			cut = append(cut, func() { o.cut(err) })
		}
	}
	c.mu.Unlock()
	for _, f := range cut {
		f()
	}
}

// Table returns the rules in force.
func (c *Control) Table() *Table { return c.table.Load() }

// Changed returns a channel that is closed when other rules are in force.
func (c *Control) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.changed
}

// Connection makes a connection known that an identity has opened, by a certificate of
// that serial which is valid until then (both zero without one), from the address.
// cut is called at most once, from another goroutine, when it must be closed.
// The error is Forbidden if it may not be opened. end says that it is closed.
func (c *Control) Connection(id Identity, serial string, until time.Time, from string, cut func(why error)) (end func(), err error) {
	o := &open{id: id, serial: serial, until: until, cut: cut, forward: c.MayForward(id)}
	if end, err = c.keep(o); err != nil {
		c.Refused(id, from, err)
		return nil, err
	}
	c.often(Event{Kind: EventSignIn, Identity: id, From: from})
	return end, nil
}

// Reached makes a connection known that was made to a server, as [Control.Connection]
// does of those that others make. It is not noted.
func (c *Control) Reached(server Identity, serial string, until time.Time, cut func(why error)) (end func(), err error) {
	return c.keep(&open{id: server, serial: serial, until: until, cut: cut})
}

// stream makes a stream known that is cut when the rights of its identity change.
func (c *Control) stream(id Identity, print uint64, cut func(why error)) (end func(), err error) {
	return c.keep(&open{id: id, print: print, cut: cut})
}

func (c *Control) keep(o *open) (end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Under the lock: rules that come after this look find it among what is open.
	if err := c.ends(o, c.table.Load(), time.Now()); err != nil {
		return nil, err
	}
	c.mu.open[o] = struct{}{}
	return func() {
		c.mu.Lock()
		delete(c.mu.open, o)
		c.mu.Unlock()
	}, nil
}

// Bound returns a context that ends when the rights of a call's identity change;
// [Cause] says so. end must be called.
func (c *Control) Bound(ctx context.Context) (bound context.Context, end func(), err error) {
	id := IdentityOf(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	end, err = c.stream(id, c.table.Load().fingerprint(id), func(why error) { cancel(why) })
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	unbind := end
	return ctx, func() { unbind(); cancel(nil) }, nil
}

// Cause returns why a context of [Control.Bound] has ended, if the rules are why, and
// err otherwise.
func Cause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if why := context.Cause(ctx); why == ErrRevoked || why == errExpired || why == errChanged {
		return why
	}
	return err
}

// MayForward reports whether the identity may hand on calls of others, and be
// believed who they are.
func (c *Control) MayForward(id Identity) bool {
	t := c.table.Load()
	return t.Revoked(id, "") == nil && t.grant(id).forward
}

// Refused notes that somebody at an address, whose identity may be unknown, was not
// let in.
func (c *Control) Refused(id Identity, from string, why error) {
	c.often(Event{Kind: EventRefused, Identity: id, From: from, Text: why.Error()})
}

// Somewhere returns nil if the identity of a call may do one of the actions with
// anything at all, and else the error of who may not do the first of them, which is
// noted. It is looked at before what a call carries is read.
func (c *Control) Somewhere(ctx context.Context, first, others Actions) error {
	gr := c.grant(ctx)
	if gr.might(first|others, engram.ID{}) {
		return nil
	}
	return c.forbidden(gr.id, first, "the whole server")
}

// Denied notes that the message fabric did not let an identity do something.
func (c *Control) Denied(id Identity, from, subject, what string) {
	c.often(Event{Kind: EventDenied, Identity: id, From: from, Thing: subject, Text: what})
}

// May reports whether the identity of a call may do all of the actions with id and
// all below it.
func (c *Control) May(ctx context.Context, a Actions, id engram.ID) bool {
	return c.Allows(IdentityOf(ctx), a, id)
}

// Knows reports whether the identity of a call may do anything at all in a memory, and so may
// know its name.
func (c *Control) Knows(ctx context.Context, memory string) bool {
	return c.grant(ctx).knowsMemory(memory)
}

// Administers notes that the identity of a call, which may do so, administers something.
func (c *Control) Administers(ctx context.Context, thing, what string) {
	c.note(Event{Kind: EventAdmin, Identity: IdentityOf(ctx), Action: Admin, Thing: thing, Text: what})
}

// Allows reports whether an identity may do all of the actions with on and all below it.
func (c *Control) Allows(id Identity, a Actions, on engram.ID) bool {
	return c.table.Load().grant(id).may(a, on)
}
