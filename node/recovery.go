package node

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/mind/world"
)

// recovery has the node's memories say again what they said before the node began and have
// lost, as far as copies at other servers have it: at the beginning, and where a
// server that holds one comes into reach later. Each is asked once.
type recovery struct {
	n     *Node
	how   world.Recovery
	began engram.Time
	since map[string]engram.Time // by memory: the newest arrival that it has back from disk
	done  sync.WaitGroup
	stop  context.CancelFunc

	taking sync.Mutex              // one copy is taken from at a time, so that nothing is twice
	taken  map[string]*world.Taken // by memory; under taking

	mu      sync.Mutex
	from    map[string]*recoveredFrom // by memory
	trouble map[heldCopy]error        // why a copy cannot be used that is there
	heard   map[string]bool           // the memories of which a copy was used, or had nothing that was lost
	nobody  bool                      // others are in reach, and none of them holds a copy of World
}

// worldMemory is the memory of worlds.
const worldMemory = "World"

// heldCopy is a copy of a memory of this node.
type heldCopy struct{ memory, server string }

// recoveredFrom is what a memory has back from copies.
type recoveredFrom struct {
	holders []string
	// By entity, those that may still count; maxRecovered at most of each.
	statements, completed, withdrawn map[engram.ID]engram.Time
	refused                          int
	reason                           error
}

// maxRecovered bounds the statements of a memory of which it is known whether they count.
const maxRecovered = 10_000

// How long a copy waits for the next attempt that cannot be used yet.
const (
	firstLook   = 100 * time.Millisecond
	longestLook = time.Minute
)

// perRound is how many servers are asked at a time.
const perRound = 16

// recover begins to recover what the node's memories have lost.
func (n *Node) recover(ctx context.Context, how world.Recovery) error {
	if n.backbone == nil || how == world.RecoverNothing {
		return nil
	}
	r := &recovery{n: n, how: how, began: n.now(), since: map[string]engram.Time{}, taken: map[string]*world.Taken{}, from: map[string]*recoveredFrom{}, trouble: map[heldCopy]error{}, heard: map[string]bool{}}
	for _, memory := range n.srv.Memories() {
		if !world.Recoverable(memory) {
			continue
		}
		r.since[memory], r.taken[memory] = engram.MinTime, &world.Taken{}
		if n.store == nil {
			continue
		}
		q := engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(memory)}}.Select(engram.Latest(1))
		q.Target, q.WithoutPayload = engram.TargetWM, true
		err := n.srv.QueryParts(ctx, q, func(part *engram.Result) error {
			for it := range part.All() {
				r.since[memory] = max(r.since[memory], it.Snapshot.Arrived)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(r.since) == 0 {
		return nil
	}
	n.recovery = r
	ctx, r.stop = context.WithCancel(context.Background())
	r.done.Go(func() { r.run(ctx) })
	return nil
}

// rest ends the recovery.
func (r *recovery) rest() {
	if r != nil {
		r.stop()
		r.done.Wait()
	}
}

func (r *recovery) run(ctx context.Context) {
	select {
	case <-r.n.kept.Active():
	case <-ctx.Done(): // it stood by all the time
		return
	}
	changed := make(chan struct{}, 1)
	r.done.Go(func() {
		(&copyOwners{names: r.n.names}).Watch(ctx, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	})
	waits := map[heldCopy]*attempt{}
	for ctx.Err() == nil {
		select {
		case <-changed:
		case <-time.After(r.round(ctx, waits)):
		case <-ctx.Done():
			return
		}
		select { // names change several at a time
		case <-time.After(firstLook):
		case <-ctx.Done():
		}
	}
}

// attempt is how a copy is asked: whether that is done, or else when it is asked next.
type attempt struct {
	done  bool
	next  time.Time
	pause time.Duration
}

// round asks the copies that are due, and returns when the next one is.
func (r *recovery) round(ctx context.Context, waits map[heldCopy]*attempt) time.Duration {
	look, cancel := context.WithTimeout(ctx, 2*time.Second)
	entries, err := r.n.names.List(look)
	cancel()
	if err != nil {
		return time.Second // the name system is away
	}
	there := map[heldCopy]mns.Copy{}
	others, holders := false, false
	for _, e := range entries {
		others = others || e.Server != r.n.options.Server
		if _, is := r.since[e.Memory]; !is || e.Server != r.n.options.Server {
			continue
		}
		for _, c := range e.Copies {
			if c.Server != e.Server {
				there[heldCopy{e.Memory, c.Server}] = c
				holders = holders || e.Memory == worldMemory
			}
		}
	}
	r.mu.Lock()
	r.nobody = others && !holders
	r.mu.Unlock()
	r.forget(waits, there)
	due := map[string][]heldCopy{} // by server
	for key := range there {
		a := waits[key]
		if a == nil {
			a = &attempt{pause: firstLook}
			waits[key] = a
		}
		if !a.done && !time.Now().Before(a.next) {
			due[key.server] = append(due[key.server], key)
		}
	}
	// One that hangs is not waited for by the others, nor for each of its copies.
	var asked sync.WaitGroup
	places := make(chan struct{}, perRound)
	for _, keys := range due {
		asked.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			slices.SortFunc(keys, func(a, b heldCopy) int { return strings.Compare(a.memory, b.memory) })
			var away error
			for _, key := range keys {
				a, err := waits[key], away
				if err == nil {
					a.done, err = r.ask(ctx, key.memory, there[key])
					r.hear(key.memory, a.done)
				}
				if ctx.Err() != nil {
					return
				}
				switch r.note(key, err); engram.CodeOf(err) {
				case engram.Unavailable, engram.Canceled: // it does not answer in time
					away = err
				}
				a.next = time.Now().Add(a.pause)
				a.pause = min(2*a.pause, longestLook)
			}
		})
	}
	asked.Wait()
	next := longestLook
	for key := range there {
		if a := waits[key]; !a.done {
			next = min(next, max(time.Until(a.next), 0))
		}
	}
	return next
}

// hear notes whether a copy of a memory has answered.
func (r *recovery) hear(memory string, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done {
		r.heard[memory] = true
	}
}

// lost says that the node may have lost what it said before, where no copy has answered yet and there is no
// disk; "" if it has not, or nobody else can have a copy, or others are in reach and hold none. Who holds copies
// holds them of World; of the others there need not be any.
func (r *recovery) lost() string {
	b := r.n.backbone.settings
	alone := b.URL == "" && b.Embedded.Listen == "" && b.Embedded.LeafListen == "" && len(b.Embedded.LeafOf) == 0 && b.Embedded.Cluster == ""
	var lost []string
	for _, memory := range slices.Sorted(maps.Keys(r.since)) {
		if !r.heard[memory] && (len(r.heard) == 0 || memory == worldMemory) {
			lost = append(lost, memory)
		}
	}
	if _, hosts := r.since[worldMemory]; !hosts || len(lost) == 0 || r.nobody || r.n.store != nil || alone {
		return ""
	}
	return strings.Join(lost, ", ") + ": no holder of a copy is reached yet, and there is no disk: what was said before this server began is not here, if anything was, and others may still believe it. " +
		"Wait until one is reached before more is said; '--recover off' says that nobody holds one"
}

// forget forgets what is waited for of copies that are not there any more.
func (r *recovery) forget(waits map[heldCopy]*attempt, there map[heldCopy]mns.Copy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, a := range waits {
		if _, is := there[key]; !is {
			delete(r.trouble, key)
			if !a.done || len(waits) > mns.MaxEntries {
				delete(waits, key)
			}
		}
	}
}

// note notes why a copy cannot be used. One that is not reached is tried again.
func (r *recovery) note(key heldCopy, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch engram.CodeOf(err) {
	case 0, engram.Unavailable, engram.NotFound, engram.Canceled:
		delete(r.trouble, key)
		return
	}
	if r.trouble[key] == nil {
		slog.Warn("what was said before this server began is not back yet", "memory", key.memory, "server", key.server, "error", err)
	}
	r.trouble[key] = err
}

// ask recovers what a copy has. It is not done where the copy cannot be used yet: it must be
// whole, and must have come to this epoch of the memory. Then it has carried out all that was
// forgotten here, also if its server was away meanwhile.
func (r *recovery) ask(ctx context.Context, memory string, c mns.Copy) (done bool, err error) {
	dial, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	claims := []credentials.Claim{secure.ClaimOf(memory, r.n.robot, true)}
	holder, err := reach(dial, c.Addresses, rpc.DialOptions{
		Server: c.Server, Backbone: r.n.options.Backbone, MaxMessage: r.n.options.MaxMessage, Credentials: r.n.security.Credentials,
		Serves: func() []credentials.Claim { return claims },
	})
	if err != nil {
		return false, err
	}
	defer holder.Close()
	nothing := engram.OneOf("-")
	probe := engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(c.Memory), nothing, nothing, nothing}}
	result, err := holder.Query(dial, probe.Select(engram.Latest(1)))
	if err != nil {
		return false, err
	}
	epoch := r.n.srv.Epoch()
	if !slices.ContainsFunc(result.Copies, func(u engram.CopyUsed) bool { return u.Memory == c.Memory && u.Epoch == epoch }) {
		return false, nil
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	got, err := world.Recover(ctx, world.RecoverOptions{
		How: r.how, Memory: memory, Own: r.n.srv, Copy: patient{holder}, Name: c.Memory, Since: r.since[memory], Began: r.began, Taken: r.taken[memory],
	})
	r.add(memory, cmp.Or(c.Robot, c.Server), &got)
	return err == nil && len(got.Completed) == 0, err // who speaks may do so once more before he has heard it
}

// patient reads from a copy as long as that answers.
type patient struct{ engram.PartReader }

// patience is how long a copy may be silent.
const patience = 30 * time.Second

// QueryParts implements engram.PartReader.
func (p patient) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(patience, cancel)
	defer silent.Stop()
	return p.PartReader.QueryParts(ctx, q, func(r *engram.Result) error {
		silent.Stop() // what is done with it takes its time
		defer silent.Reset(patience)
		return part(r)
	})
}

// add notes what was recovered.
func (r *recovery) add(memory, holder string, got *world.Recovered) {
	if len(got.Statements)+len(got.Withdrawn)+got.Others+len(got.Completed)+got.Refused == 0 {
		return
	}
	slog.Info("a memory has from a copy what it lost when its server ended", "memory", memory, "copy at", holder, "statements", len(got.Statements),
		"withdrawn", len(got.Withdrawn), "others", got.Others, "completed", len(got.Completed), "refused", got.Refused)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.from[memory]
	if f == nil {
		f = &recoveredFrom{statements: map[engram.ID]engram.Time{}, completed: map[engram.ID]engram.Time{}, withdrawn: map[engram.ID]engram.Time{}}
		r.from[memory] = f
	}
	if !slices.Contains(f.holders, holder) {
		f.holders = append(f.holders, holder)
	}
	if f.refused += got.Refused; f.reason == nil {
		f.reason = got.Reason
	}
	keep := func(into map[engram.ID]engram.Time, ids []engram.ID) {
		for _, id := range ids[:min(len(ids), max(maxRecovered-len(into), 0))] {
			into[id.Truncate(engram.LevelEntity)], _ = id.Time()
		}
	}
	keep(f.statements, got.Statements)
	keep(f.completed, got.Completed)
	keep(f.withdrawn, got.Withdrawn)
}

// stands removes what was said anew since, and returns when the newest is of that was not.
func (r *recovery) stands(ctx context.Context, said map[engram.ID]engram.Time) (newest engram.Time) {
	newest = engram.MinTime
	for entity, t := range said {
		if s, err := r.n.srv.Latest(ctx, entity); err == nil && s.Time != t || engram.CodeOf(err) == engram.NotFound {
			delete(said, entity)
			continue
		}
		newest = max(newest, t)
	}
	return newest
}

// health tells what of the node's memories is as it was said before the node began.
func (r *recovery) health(ctx context.Context) (health.Status, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := health.OK
	var texts []string
	for _, memory := range slices.Sorted(maps.Keys(r.from)) {
		f := r.from[memory]
		by := strings.Join(f.holders, ", ")
		r.stands(ctx, f.withdrawn)
		if n := len(f.withdrawn); n > 0 {
			texts = append(texts, fmt.Sprintf("%s: what %s said before this server began was lost, and is withdrawn; the copy at %s had it", memory, entities(n), by))
		}
		newest := r.stands(ctx, f.statements)
		if n := len(f.statements); n > 0 {
			texts = append(texts, fmt.Sprintf("%s: %s as said before this server began, from the copy at %s; the newest is of %s", memory, entities(n), by, newest))
		}
		r.stands(ctx, f.completed)
		if n := len(f.completed); n > 0 {
			texts = append(texts, fmt.Sprintf("%s: what was said since this server began of %s did not name all that was said before, and has the rest from the copy at %s", memory, entities(n), by))
		}
		if f.refused > 0 {
			status = health.Degraded
			texts = append(texts, fmt.Sprintf("%s: %d statements and others that copies have cannot be taken back: %v", memory, f.refused, f.reason))
		}
	}
	if text := r.lost(); text != "" {
		status, texts = health.Degraded, append(texts, text)
	}
	for key, err := range r.trouble {
		if r.n.store == nil { // else hardly anything is lost
			status = health.Degraded
		}
		texts = append(texts, fmt.Sprintf("%s: what was said before this server began is not back from the copy at %s: %v", key.memory, key.server, err))
	}
	return status, strings.Join(texts, "; ")
}

func entities(n int) string {
	switch {
	case n == 1:
		return "1 entity"
	case n >= maxRecovered:
		return fmt.Sprintf("%d entities or more", n)
	}
	return fmt.Sprintf("%d entities", n)
}
