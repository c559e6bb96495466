package copies

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Options configures a [Holder].
type Options struct {
	Memory contract.Memory
	Owners Owners
	// Server is the name of this server, Robot that of its robot, "" if it has none:
	// "robot1:Object" on robot1 is Object.
	Server, Robot string
	// Owned are the memories that this server owns and cannot hold copies of.
	Owned []string
	// Configured are the copies to hold whatever was added in earlier epochs.
	Configured []contract.Copy
	// Dir is the folder for what must outlive the server; "" keeps nothing: then copies
	// begin anew with each epoch.
	Dir string
	// Held, if not nil, is told the names of the memories that copies are held of: at
	// the beginning and when they change, by one goroutine at a time.
	Held func(memories []string)
	FS   vfs.FS       // nil means vfs.OS
	Log  *slog.Logger // nil means slog.Default()
}

// Holder holds copies in a memory server. It implements contract.Admin. Safe for
// concurrent use.
type Holder struct {
	o      Options
	ctx    context.Context // of the links; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	// problems are what was wrong with the files at the beginning.
	problems []string

	changed  chan struct{} // holds a token when links may have to change
	saving   sync.Mutex    // of files
	altering sync.Mutex    // of which copies there are: one change at a time

	telling sync.Mutex // of what is held
	told    []string

	sorted atomic.Pointer[[]*replica] // the replicas, for readers

	mu       sync.Mutex
	replicas map[string]*replica // by the text of their patterns
	rules    map[string]*rule    // by the text of their patterns
	idle     map[string]*replica // of earlier epochs, that nobody asks for now
	servers  map[string]string   // that own memories, as found last
	others   []string            // memories of other robots, as known last, sorted; nil before that
	links    map[string]*link    // by server; the manager begins them
	fetches  map[*fetch]bool     // those that run
	// turns hold a token, by memory, while something is put into that.
	turns map[string]chan struct{}
}

var _ contract.Admin = (*Holder)(nil)

// MaxCopies bounds the copies of a holder, the rules that make some included.
const MaxCopies = 1000

// saveInterval is how far the positions on disk may lie behind what is there: so much
// is pulled again after a crash. It is longer where much is known to be missing, so
// that no more than saveRate bytes per second are written, up to a minute.
const (
	saveInterval = time.Second
	saveRate     = 200_000
	saveLatest   = time.Minute
)

// Open begins to hold copies: those that are configured, and those that were added in
// earlier epochs. The error is Invalid for copies that make no sense, Conflict for
// those of memories that this server owns, and Unavailable if the folder cannot be
// read.
func Open(o Options) (*Holder, error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &Holder{
		o: o, changed: make(chan struct{}, 1),
		replicas: map[string]*replica{}, rules: map[string]*rule{}, idle: map[string]*replica{}, servers: map[string]string{}, links: map[string]*link{}, fetches: map[*fetch]bool{}, turns: map[string]chan struct{}{},
	}
	kept, rules, err := h.load()
	if err != nil {
		return nil, err
	}
	for _, c := range rules {
		if h.rules[c.Pattern.String()], err = newRule(c, false); err != nil {
			return nil, err
		}
	}
	configured := map[string]contract.Copy{}
	for _, c := range o.Configured {
		if c, err = h.normal(c); err != nil {
			return nil, err
		}
		pattern := c.Pattern.String()
		r := h.rules[pattern]
		if _, twice := configured[pattern]; twice || r != nil && r.configured {
			return nil, engram.Errorf(engram.Invalid, pattern, "it is to be copied twice; give one set of rules")
		}
		if !c.OfMany() {
			configured[pattern] = c
			continue
		}
		if h.rules[pattern], err = newRule(c, true); err != nil {
			return nil, err
		}
		if r != nil { // it was added: it is there by the configuration from now on, and ends with that
			if err := h.forget(pattern); err != nil {
				return nil, engram.Errorf(engram.Unavailable, pattern, "the file of the copy that is configured now cannot be removed: %w", err)
			}
		}
	}
	for _, r := range kept {
		h.keep(r, configured)
	}
	for pattern, c := range configured {
		r := newReplica(c, h.o.Memory.Present)
		r.configured = true
		h.replicas[pattern] = r
	}
	h.listLocked()
	h.ctx, h.cancel = context.WithCancel(context.Background())
	o.Memory.ExplainCopies(h.Explain)
	h.tell()
	h.work.Go(h.manage)
	h.work.Go(h.saveOften)
	h.work.Go(func() { o.Owners.Watch(h.ctx, h.namesChanged) })
	return h, nil
}

// keep takes up a copy of an earlier epoch, unless it is not to be held any more: then its
// file stays, should somebody ask for it again. What is configured and found is taken
// off that list.
func (h *Holder) keep(r *replica, configured map[string]contract.Copy) {
	c, ok := configured[r.pattern]
	by := h.rules[r.rule]
	was := r.configured
	switch own := h.own(r); {
	case ok:
		r.copy.Rules, r.configured, r.rule = c.Rules, true, ""
		delete(configured, r.pattern)
	case own == nil && by != nil:
		r.copy.Rules, r.configured = by.copy.Rules, by.configured
	case r.rule != "" || r.configured:
		h.idle[r.pattern] = r
		return
	case own != nil:
		h.o.Log.Warn("a copy that was added is not held any more", "copy", r.pattern, "error", own)
		h.idle[r.pattern] = r
		return
	}
	if r.configured != was {
		r.changes++
	}
	h.replicas[r.pattern] = r
}

// own returns why what was copied in an earlier epoch is not to be copied any more: it is
// this server's, or its robot's, now. Nil if it is another's.
func (h *Holder) own(r *replica) error {
	c, err := h.normal(r.copy)
	if pattern := c.Pattern.String(); err == nil && pattern != r.pattern {
		err = engram.Errorf(engram.Conflict, r.memory, "the server is of that robot now; its own memories are copied by their short names, 'engram copy add %s …'", pattern)
	}
	return err
}

// beginLocked begins a copy, where it was if it was held in an earlier epoch.
func (h *Holder) beginLocked(c contract.Copy, byRule string, configured bool) *replica {
	pattern := c.Pattern.String()
	r := h.idle[pattern]
	if r == nil {
		r = newReplica(c, h.o.Memory.Present)
	}
	delete(h.idle, pattern)
	r.copy.Rules, r.rule, r.configured = c.Rules, byRule, configured
	r.changes++
	h.replicas[pattern] = r
	return r
}

// Problems returns what was wrong with the files of earlier epochs.
func (h *Holder) Problems() []string { return h.problems }

// Close ends all pulls and writes how far the copies have come.
func (h *Holder) Close() error {
	list := h.list()
	h.cancel()
	h.work.Wait()
	h.o.Memory.ExplainCopies(nil)
	_, err := h.save(context.Background(), list)
	return err
}

// normal returns a copy under the name that it has here, checked.
func (h *Holder) normal(c contract.Copy) (contract.Copy, error) {
	if err := Check(&c); err != nil || c.OfMany() {
		return c, err
	}
	memory := c.Pattern.Levels[0].Names[0]
	if robot, name := engram.SplitName(memory); robot != "" && robot == h.o.Robot {
		memory = name
		c.Pattern = rename(c.Pattern, name)
	}
	if slices.Contains(h.o.Owned, memory) {
		return c, engram.Errorf(engram.Conflict, memory, "this server owns the memory; a copy is of another server's")
	}
	return c, nil
}

// list returns the replicas by their patterns. It must not be changed.
func (h *Holder) list() []*replica { return *h.sorted.Load() }

// listLocked makes list tell of what there is now.
func (h *Holder) listLocked() {
	out := make([]*replica, 0, len(h.replicas))
	for _, r := range h.replicas {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *replica) int {
		return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(a.pattern, b.pattern))
	})
	h.sorted.Store(&out)
}

func (h *Holder) change() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

func (h *Holder) saveOften() {
	timer := time.NewTimer(saveInterval)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-timer.C:
		case <-h.ctx.Done():
			return
		}
		written, err := h.save(h.ctx, h.list())
		timer.Reset(min(max(saveInterval, time.Duration(written)*time.Second/saveRate), saveLatest))
		if (err != nil) != failing && h.ctx.Err() == nil {
			if failing = err != nil; failing {
				h.o.Log.Error("how far copies have come cannot be written; they go on, and begin earlier after a restart", "error", err)
			}
		}
	}
}

// turn waits until nobody else puts anything into a copied memory, and has others wait
// until done is called.
func (h *Holder) turn(memory string) (done func()) {
	h.mu.Lock()
	turn := h.turns[memory]
	if turn == nil {
		turn = make(chan struct{}, 1)
		h.turns[memory] = turn
	}
	h.mu.Unlock()
	turn <- struct{}{}
	return func() { <-turn }
}

// tell tells which memories copies are held of if that has changed.
func (h *Holder) tell() {
	if h.o.Held == nil {
		return
	}
	h.telling.Lock()
	defer h.telling.Unlock()
	if held := h.o.Memory.Copies(); !slices.Equal(held, h.told) {
		h.told = held
		h.o.Held(slices.Clone(held))
	}
}
