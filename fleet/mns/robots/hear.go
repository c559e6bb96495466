package robots

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// hear takes what is announced.
func (f *others) hear(m *nats.Msg) {
	a, err := parse(m.Subject, m.Data)
	if err != nil {
		f.mu.Lock()
		f.problemLocked("garbage", "what is announced on the backbone cannot be used; is another program using its subjects? %v", err)
		f.mu.Unlock()
		return
	}
	if f.take(a) {
		f.inquire(a.tokens())
	}
}

// take keeps an announcement. unknown reports that it is of something that was not
// announced in full.
func (f *others) take(a Announcement) (unknown bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tokens := a.tokens()
	if own := f.versions[tokens]; own != nil {
		// What another epoch of this server said before it ended may come late.
		if own.Epoch != a.Epoch && !a.Gone && time.Since(own.born) > f.o.Lease {
			f.problemLocked("own "+tokens, "a server elsewhere announces itself as %q of robot %s, like one of this process; give robots different names with --robot, and servers with --name", a.Server, a.Robot)
		}
		return false
	}
	f.heardLocked(signKey{a.Robot, a.Server})
	if s := f.signs[signKey{a.Robot, a.Server}]; s != nil {
		s.announced = true
	}
	p := f.peers[tokens]
	now := time.Now()
	if p != nil && p.earlier[a.Epoch] {
		if a.Gone || !f.overtakenLocked(p, a, now) {
			return false
		}
	}
	switch {
	case a.Gone:
		if p != nil && p.Epoch == a.Epoch {
			f.dropLocked(tokens)
		}
		return false
	case a.Heartbeat && (p == nil || p.Epoch != a.Epoch || p.Version != a.Version):
		// So many questions at most, whoever beats: nobody can have this side flood the
		// others.
		const most = 100
		if now.Sub(f.asked) > f.o.Every {
			f.asked, f.questions = now, 0
		}
		f.questions++
		return f.questions <= most
	case a.Heartbeat:
		p.deadline, p.told = now.Add(f.o.Lease), now
		return false
	}
	if p != nil && p.Epoch == a.Epoch && p.Version > a.Version {
		return false // late
	}
	own := a.Robot == f.o.Robot
	if own { // its own name system tells what it hosts
		a.Memories, a.Copies, a.Addresses = nil, nil, nil
	}
	size := 1 + len(a.Memories) + len(a.Copies)
	if p != nil {
		size -= 1 + len(p.Memories) + len(p.Copies)
	}
	if f.entries+size > mns.MaxEntries {
		f.problemLocked("full", "the names of %d memories of other robots are known; more are not taken, such as those of %q of %s", f.entries, a.Server, a.Robot)
		return false
	}
	fresh := &peer{Announcement: a, order: f.heard, deadline: now.Add(f.o.Lease), told: now, since: now}
	f.heard++
	if p != nil {
		fresh.order, fresh.earlier = p.order, p.earlier
		if p.Epoch == a.Epoch {
			fresh.since, fresh.known, fresh.unknown = p.since, p.known, p.unknown
		} else {
			fresh.after(p)
			f.restartedLocked(a.Server)
		}
	}
	if f.peers[tokens] = fresh; p != nil {
		f.gaveUpLocked(p, a.Memories)
	}
	delete(f.departed, a.Robot)
	f.entries += size
	if !own && (p == nil || p.Epoch != a.Epoch || p.Version != a.Version) {
		f.changedLocked()
	}
	return false
}

// after notes that a server began a new epoch after another.
func (p *peer) after(before *peer) {
	const most = 8 // who restarts more often is not told from its earlier epochs
	if p.earlier == nil || len(p.earlier) >= most {
		p.earlier = map[uint64]bool{}
	}
	delete(p.earlier, p.Epoch)
	p.earlier[before.Epoch] = true
}

// restartedLocked tells that a server has begun anew: of one at a time, and of what comes meanwhile once more.
func (f *others) restartedLocked(server string) {
	if f.o.Restarted == nil || f.ctx.Err() != nil { // Close waits for nothing that begins later
		return
	}
	if _, telling := f.restarts[server]; telling {
		f.restarts[server] = true
		return
	}
	f.restarts[server] = false
	f.done.Go(func() {
		for again := true; again && f.ctx.Err() == nil; {
			f.o.Restarted(f.ctx, server)
			f.mu.Lock()
			if again = f.restarts[server]; again {
				f.restarts[server] = false
			} else {
				delete(f.restarts, server)
			}
			f.mu.Unlock()
		}
	})
}

// overtakenLocked judges what comes from an epoch of a server after another one was heard.
// It may have been said before that one began. If it goes on for longer than names hold,
// two servers have one name. It counts only when the other one is suspected to be down.
func (f *others) overtakenLocked(p *peer, a Announcement, now time.Time) (counts bool) {
	if now.Sub(p.since) > f.o.Lease {
		f.problemLocked("twin "+p.tokens(), "two servers announce themselves as %q of robot %s; give robots different names with --robot, and servers with --name", a.Server, a.Robot)
	}
	return now.Sub(p.told) > f.o.DetectionTimeout
}

// countedLocked renews the leases of servers of which something else than announcements
// has come since the last turn.
func (f *others) countedLocked(counts map[string]uint64) {
	deadline := time.Now().Add(f.o.Lease)
	for _, p := range f.peers {
		if p.Robot != f.o.Robot && counts[p.Server] > f.counted[p.Server] {
			p.deadline = deadline
		}
	}
	for key := range f.signs {
		if counts[key.server] > f.counted[key.server] {
			f.heardLocked(key)
		}
	}
	f.counted = counts
}

func (f *others) dropLocked(tokens string) {
	p := f.peers[tokens]
	f.departLocked(p)
	f.gaveUpLocked(p, nil)
	delete(f.peers, tokens)
	f.entries -= 1 + len(p.Memories) + len(p.Copies)
	if p.Robot != f.o.Robot {
		f.changedLocked()
	}
}

// gaveUpLocked remembers what a server of another robot hosted, and does not any more.
func (f *others) gaveUpLocked(p *peer, has []string) {
	if slices.Equal(p.Memories, has) {
		return
	}
	for _, m := range p.Memories {
		if !slices.Contains(has, m) {
			f.left.Note(p.Robot+":"+m, p.Server)
		}
	}
}

// departLocked remembers when a robot was heard last whose last server goes.
func (f *others) departLocked(p *peer) {
	const most = 1000 // robots
	for _, other := range f.peers {
		if other != p && other.Robot == p.Robot {
			return
		}
	}
	heard := engram.TimeOf(p.deadline.Add(-f.o.Lease))
	if s := f.signs[signKey{p.Robot, p.Server}]; s != nil {
		heard = s.heard
	}
	if len(f.departed) < most {
		f.departed[p.Robot] = heard
	}
}

func (f *others) changedLocked() {
	f.table = nil
	f.wakeWatchesLocked()
}

// wakeWatchesLocked has watches look at what they are to tell.
func (f *others) wakeWatchesLocked() {
	f.merged = nil
	close(f.changed)
	f.changed = make(chan struct{})
}

// expire drops who was not heard within the lease, and looks for robots that share a
// name.
func (f *Fleet) expire(ctx context.Context) {
	now := time.Now()
	f.mu.Lock()
	suspect := false
	for tokens, p := range f.peers {
		if now.After(p.deadline) {
			f.dropLocked(tokens)
		} else if p.Robot == f.o.Robot && !p.known && now.Sub(p.since) > f.o.Lease {
			suspect = true
		}
	}
	if suspect = suspect && now.Sub(f.looked) > f.o.Lease; suspect {
		f.looked = now
	}
	if now.Sub(f.checked) > f.o.Lease { // what is wrong is said again
		f.checked, f.table = now, nil
	}
	f.tableLocked() // who has a suspected one's name has it from now on, whether anybody asks or not
	for lease, a := range f.own {
		if now.After(a.deadline) {
			f.leaveLocked(lease)
		}
	}
	f.mu.Unlock()
	if suspect {
		f.namesakes(ctx)
	}
}

// namesakes reports servers that call themselves this robot's and are not in its name
// system.
func (f *Fleet) namesakes(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, f.o.Every)
	defer cancel()
	entries, err := f.Registry.List(call)
	if err != nil {
		return // the name system is away, which is why they are not in it
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[e.Server] = true
		for _, c := range e.Copies {
			known[c.Server] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.awayLocked() {
		return // it may be about to begin anew
	}
	for _, p := range f.peers {
		if p.Robot != f.o.Robot || time.Since(p.since) <= f.o.Lease {
			continue
		}
		if p.known = known[p.Server]; p.known {
			p.unknown = 0
			continue
		}
		if p.unknown++; p.unknown > 1 { // one that has begun anew is not asked at once
			f.problemLocked("namesake", "server %q says that it belongs to robot %s, like this one, but is not in its name system: two robots have one name; give them different ones with --robot", p.Server, p.Robot)
		}
	}
}

// tableLocked returns what is known of other robots, by the names they have here.
// Of two servers that claim one name, the one that was heard first has it; one that is
// suspected yields to one that is not, for good: it has been succeeded.
func (f *others) tableLocked() *mns.Table {
	if f.table != nil {
		return f.table
	}
	t := &mns.Table{}
	suspected := make(map[*peer]engram.Time, len(f.peers))
	for _, p := range f.peers {
		suspected[p] = f.suspectedSinceLocked(p.Robot, p.Server)
	}
	peers := slices.SortedFunc(maps.Values(f.peers), func(a, b *peer) int {
		if (suspected[a] != 0) != (suspected[b] != 0) {
			if suspected[a] == 0 {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.order, b.order)
	})
	ours := map[string]bool{}
	for _, a := range f.versions {
		ours[a.Server] = true
	}
	for _, p := range peers {
		if p.Robot == f.o.Robot {
			continue // the robot's own name system tells
		}
		if ours[p.Server] {
			// Else this process could take itself, which it may read, for another robot.
			f.problemLocked("our "+p.tokens(), "robot %s announces a server of the name %q, which is this one's; give servers different names with --name", p.Robot, p.Server)
			continue
		}
		for _, m := range p.Memories {
			name := p.Robot + ":" + m
			held, taken := t.Hosted(name)
			switch {
			case taken && suspected[p] != 0:
				if held.SuspectedSince == 0 {
					p.order = f.heard // behind its successor
					f.heard++
				}
				continue
			case taken:
				f.problemLocked("claim "+name, "%s is claimed by two servers, %q and %q; if two robots are called %s, give them different names with --robot", name, held.Server, p.Server, p.Robot)
				continue
			}
			t.Host(mns.Entry{Memory: name, Robot: p.Robot, Server: p.Server, Epoch: p.Epoch, Addresses: p.Addresses, SuspectedSince: suspected[p]})
		}
		held := map[string]mns.Copy{}
		for _, m := range p.Copies {
			held[f.canonical(p.Robot, m)] = mns.Copy{Server: p.Server, Robot: p.Robot, Memory: m, Addresses: p.Addresses, SuspectedSince: suspected[p]}
		}
		t.Hold(p.tokens(), held)
	}
	f.table = t
	return t
}

// canonical returns the name that a memory has on this robot, from the one that it
// has on another.
func (f *others) canonical(robot, memory string) string {
	of, name := engram.SplitName(memory)
	if of == "" {
		of = robot
	}
	if of == f.o.Robot {
		return name
	}
	return of + ":" + name
}
