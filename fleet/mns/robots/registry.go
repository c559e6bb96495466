package robots

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Resolve implements mns.Registry. "robot1:Object" on robot1 is Object. While the robot's
// own name system is away, what it said last holds.
func (f *Fleet) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	memory = f.canonical(f.o.Robot, memory)
	robot, _ := engram.SplitName(memory)
	own, err := f.ask(ctx, func(ctx context.Context) ([]mns.Entry, error) {
		e, err := f.Registry.Resolve(ctx, memory)
		return []mns.Entry{e}, err
	})
	if _, left := mns.HasLeft(err); err != nil && robot == "" && !left && engram.CodeOf(err) != engram.NotFound {
		return mns.Entry{}, err
	}
	// Without the robot's own name system, what others told of themselves still holds.
	e, ok := f.entry(own, memory)
	switch {
	case ok:
		return e, nil
	case robot != "":
		return mns.Entry{}, f.unknown(memory, robot)
	case err == nil:
		err = engram.Errorf(engram.Unavailable, memory, "the name system is away, and did not know the memory when it was there last")
	case engram.CodeOf(err) == engram.NotFound:
		f.mu.Lock()
		defer f.mu.Unlock()
		if left := f.left.Of(memory); left != nil {
			err = left.Unavailable()
		}
	}
	return mns.Entry{}, err
}

// ask returns the answer of the robot's own name system, or its last known entries while
// it is away.
func (f *Fleet) ask(ctx context.Context, question func(context.Context) ([]mns.Entry, error)) (map[string]mns.Entry, error) {
	f.mu.Lock()
	last, away := f.rememberedLocked(), f.awayLocked()
	f.mu.Unlock()
	if last != nil {
		if away {
			return last, nil
		}
		call, cancel := context.WithTimeout(ctx, f.o.DetectionTimeout)
		defer cancel()
		entries, err := question(call)
		_, left := mns.HasLeft(err)
		if code := engram.CodeOf(err); ctx.Err() == nil && !left && (code == engram.Unavailable || code == engram.Canceled) {
			return last, nil
		}
		return byMemory(entries, err)
	}
	return byMemory(question(ctx))
}

func byMemory(entries []mns.Entry, err error) (map[string]mns.Entry, error) {
	if err != nil {
		return nil, err
	}
	m := make(map[string]mns.Entry, len(entries))
	for _, e := range entries {
		m[e.Memory] = e
	}
	return m, nil
}

// unknown says what is known of another robot.
func (f *Fleet) unknown(memory, robot string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	robots, memories := map[string]bool{}, map[string]bool{}
	for _, p := range f.peers {
		if p.Robot != f.o.Robot {
			robots[p.Robot] = true
		}
		if p.Robot == robot {
			for _, m := range p.Memories {
				memories[robot+":"+m] = true
			}
		}
	}
	if len(memories) > 0 {
		return f.left.Unknown(memory, slices.Sorted(maps.Keys(memories)))
	}
	within := "none is"
	if len(robots) > 0 {
		within = ""
		for _, r := range slices.Sorted(maps.Keys(robots)) {
			if len(within) > 200 {
				within += " …"
				break
			}
			within += " " + r
		}
		within = "those that are:" + within
	}
	code := engram.NotFound
	if f.left.Of(memory) != nil {
		code = engram.Unavailable
	}
	return engram.Errorf(code, memory, "robot %s is not within reach, and nobody who is holds a copy; %s", robot, within)
}

// Wait implements mns.Registry. Who waits goes on waiting while the robot's own name
// system goes away and comes back.
func (f *Fleet) Wait(ctx context.Context, memory string) (mns.Entry, error) {
	if err := engram.CheckName(memory); err != nil {
		return mns.Entry{}, err
	}
	memory = f.canonical(f.o.Robot, memory)
	for waiting := false; ; {
		v := f.view()
		if ctx.Err() != nil {
			return mns.Entry{}, engram.Errorf(engram.Canceled, memory, "given up waiting for the memory to be registered: %w", context.Cause(ctx))
		}
		if v.err != nil && (!waiting || f.ctx.Err() != nil) {
			return mns.Entry{}, v.err
		}
		if e, ok := v.entries[memory]; ok {
			return e, nil
		}
		waiting = waiting || v.entries != nil
		select {
		case <-v.changed:
		case <-ctx.Done():
		case <-f.ctx.Done():
		}
	}
}

// List implements mns.Registry: the robot's own memories by their names, those of
// others behind the robot's. While the robot's own name system is away, what it said
// last holds.
func (f *Fleet) List(ctx context.Context) ([]mns.Entry, error) {
	own, err := f.ask(ctx, f.Registry.List)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return mns.Sorted(f.allLocked(own)), nil
}

// entry returns one of [Fleet.allLocked].
func (f *Fleet) entry(own map[string]mns.Entry, memory string) (mns.Entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.mergeLocked(own).Entry(memory)
	return f.markedLocked(e), ok
}

// allLocked puts the entries of the own name system together with what others told.
func (f *Fleet) allLocked(own map[string]mns.Entry) map[string]mns.Entry {
	all := f.mergeLocked(own).All()
	for m, e := range all {
		all[m] = f.markedLocked(e)
	}
	return all
}

// markedLocked says of an entry of which only copies are known since when that is so.
func (f *Fleet) markedLocked(e mns.Entry) mns.Entry {
	if e.Server == "" {
		e.SuspectedSince = f.departed[e.Robot]
	}
	return e
}

func (f *Fleet) mergeLocked(own map[string]mns.Entry) *mns.Table {
	t := f.tableLocked().Clone()
	held := map[string]map[string]mns.Copy{} // by server
	for _, e := range own {
		if e.Server != "" {
			e.Robot = f.o.Robot
			e.SuspectedSince = f.suspectedSinceLocked(e.Robot, e.Server)
			t.Host(e)
		}
		for _, c := range e.Copies {
			if held[c.Server] == nil {
				held[c.Server] = map[string]mns.Copy{}
			}
			c.Robot = f.o.Robot
			c.SuspectedSince = f.suspectedSinceLocked(c.Robot, c.Server)
			held[c.Server][f.canonical(f.o.Robot, e.Memory)] = c
		}
	}
	for server, copies := range held {
		t.Hold("\x00"+server, copies) // no peer's key begins so
	}
	return t
}

// Watch implements mns.Registry. It ends when the robot's own name system goes away, and
// when that is back: who watches will watch again. A watch that begins while it is away
// tells what was known last. All watches share one of the own name system, and what they
// tell.
func (f *Fleet) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		var known map[string]mns.Entry
		turn := 0
		for {
			v := f.view()
			err := v.err
			switch {
			case ctx.Err() != nil:
				err = engram.Errorf(engram.Canceled, "", "the watch of the name system was given up: %w", context.Cause(ctx))
			case err == nil && known != nil && v.turn != turn && v.away:
				err = engram.Errorf(engram.Unavailable, "", "the name system went away")
			case err == nil && known != nil && v.turn != turn:
				err = engram.Errorf(engram.Unavailable, "", "the name system was away, and is back")
			}
			if err != nil {
				yield(mns.Event{}, err)
				return
			}
			if v.entries != nil {
				for _, ev := range mns.Changes(known, v.entries) {
					if !yield(ev, nil) {
						return
					}
				}
				if known == nil && !yield(mns.Event{Synced: true}, nil) {
					return
				}
				known, turn = v.entries, v.turn
			}
			select {
			case <-v.changed:
			case <-ctx.Done():
			case <-f.ctx.Done():
			}
		}
	}
}

// following is what is known of the robot's own name system, which is watched all the
// time.
type following struct {
	entries map[string]mns.Entry // what it says, or said last
	synced  bool                 // it has said all
	lost    bool                 // it has gone since, or was not there from the beginning
	err     error                // why
	heard   engram.Time          // when it was there last
	turn    int                  // counts how often it went away or came back
}

// follow watches the robot's own name system until ctx ends.
func (f *Fleet) follow(ctx context.Context) {
	const firstPause, longestPause = 50 * time.Millisecond, time.Second
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		synced := false
		fresh := map[string]mns.Entry{}
		err := error(engram.Errorf(engram.Unavailable, "", "the name system ended the watch"))
		for ev, why := range f.Registry.Watch(ctx) {
			if why != nil {
				err = why
				break
			}
			f.mu.Lock()
			if ev.Removed {
				delete(fresh, ev.Entry.Memory)
			} else if !ev.Synced {
				fresh[ev.Entry.Memory] = ev.Entry
			}
			if synced = synced || ev.Synced; synced {
				f.backLocked(fresh)
				pause = firstPause
			}
			f.mu.Unlock()
		}
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		f.lostLocked(err)
		f.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// backLocked takes what the own name system says.
func (f *Fleet) backLocked(entries map[string]mns.Entry) {
	own := &f.following
	if own.lost {
		f.turnedLocked()
		for m, e := range own.entries { // it may have begun anew, and servers have to register
			if e.Server != "" && entries[m].Server == "" {
				f.left.Note(m, e.Server)
			}
		}
	}
	own.entries, own.synced, own.lost, own.err = entries, true, false, nil
	f.wakeWatchesLocked()
}

// lostLocked notes that the own name system has gone, and why.
func (f *Fleet) lostLocked(err error) {
	own := &f.following
	if !own.lost {
		own.lost, own.heard = true, engram.Now()
		f.turnedLocked()
	}
	own.err = err
	f.wakeWatchesLocked()
}

// turnedLocked notes that the own name system goes away, or comes back.
func (f *others) turnedLocked() {
	f.following.turn++
	for _, p := range f.peers {
		p.unknown = 0 // it may have begun anew, and servers have to register
	}
}

// Away returns when the robot's own name system was last there, if it is away; else 0.
func (f *Fleet) Away() engram.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.awayLocked() {
		return 0
	}
	return f.lastThereLocked()
}

// lastThereLocked returns when the own name system, which is away, was there last.
func (f *Fleet) lastThereLocked() engram.Time {
	if f.following.lost && !f.fabric.cut {
		return f.following.heard
	}
	return f.fabric.heard
}

// awayLocked reports whether the robot's own name system is away.
func (f *others) awayLocked() bool { return f.fabric.cut || f.following.lost }

// rememberedLocked returns the last known entries of the own name system, and those of this
// process. So programs on a computer without its robot's backbone find local memories. It
// is nil if nothing is known.
func (f *Fleet) rememberedLocked() map[string]mns.Entry {
	own := &f.following
	at := f.lastThereLocked()
	last := make(map[string]mns.Entry, len(own.entries))
	for m, e := range own.entries {
		e.LastKnown = at
		last[m] = e
	}
	for _, r := range f.hosted {
		for _, m := range r.Memories {
			last[m] = mns.Entry{Memory: m, Server: r.Server, Addresses: slices.Clone(r.Addresses), Copies: last[m].Copies}
		}
	}
	if len(last) == 0 {
		return nil
	}
	return last
}

// view is what watches tell.
type view struct {
	entries map[string]mns.Entry // nil until they are known; shared, and not to be changed
	away    bool
	turn    int
	changed <-chan struct{} // closed when the view changes
	err     error           // nothing is known, and will be for now
}

func (f *Fleet) view() view {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := view{away: f.awayLocked(), turn: f.following.turn, changed: f.changed}
	switch {
	case f.ctx.Err() != nil:
		v.err = engram.Errorf(engram.Unavailable, "", "the name system is closed")
	case f.merged != nil:
	case v.away:
		if last := f.rememberedLocked(); last != nil {
			f.merged = f.allLocked(last)
		} else if v.err = f.following.err; v.err == nil {
			v.err = engram.Errorf(engram.Unavailable, "", "the backbone, on which the name system is, does not answer")
		}
	case f.following.synced:
		f.merged = f.allLocked(f.following.entries)
	}
	v.entries = f.merged
	return v
}
