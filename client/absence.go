package client

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// absences are what a subscription has told of servers that are away. Only the goroutine
// that follows the servers uses it.
type absences struct {
	known []state                       // what there was when it was looked at last
	gone  map[serverKey]*engram.Absence // of which was told that it is away
}

// state is how a server is whose memories are subscribed to.
type state struct {
	key       serverKey
	memories  []string    // as the subscription names them, sorted
	suspected engram.Time // when it was last heard, if the names suspect it to be down
	there     bool        // it is subscribed to
	heard     uint64      // how often updates came from it since
}

// states returns how the servers are that updates are expected from.
func (m *merged) states(concerned shares) []state {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []state
	for _, sh := range concerned {
		s := state{key: sh.conn.key(), suspected: sh.conn.suspectedSince()}
		for _, h := range sh.hosts {
			s.memories = append(s.memories, h.memory)
		}
		slices.Sort(s.memories)
		var src source
		if src, s.there = m.sources[sh.conn]; s.there {
			s.heard = src.heard.Load()
		}
		out = append(out, s)
	}
	return out
}

// look compares how servers are with how they were, and returns what is to be told, and
// whether it is to be looked again soon though nothing changes. heard returns when who
// hosted a memory was last heard, if that is known.
func (a *absences) look(now []state, at engram.Time, heard func(memory string) engram.Time) (told []engram.Update, again bool) {
	tell := func(b engram.Absence) { told = append(told, engram.Update{Absence: &b}) }
	away := func(s state, since engram.Time) {
		a.gone[s.key] = &engram.Absence{Memories: s.memories, Server: s.key.server, Since: since}
		tell(*a.gone[s.key])
	}
	back := func(over engram.Absence) {
		over.Until = at
		tell(over)
	}
	present := map[serverKey]bool{}
	for _, s := range now {
		present[s.key] = true
		gone := a.gone[s.key]
		before := slices.IndexFunc(a.known, func(o state) bool { return o.key == s.key })
		switch {
		case gone != nil && s.suspected == 0 && s.there:
			back(*gone)
			delete(a.gone, s.key)
		case gone == nil && s.suspected != 0 && s.there && before >= 0 && a.known[before].heard != s.heard:
			// Who tells the names does not hear it, but this client does; or did, until now.
			again = true
		case gone == nil && s.suspected != 0:
			away(s, s.suspected)
		}
	}
	for key, gone := range a.gone { // what of theirs is back elsewhere
		for _, o := range now {
			over := *gone
			over.Memories = slices.DeleteFunc(slices.Clone(gone.Memories), func(m string) bool { return !slices.Contains(o.memories, m) })
			if o.key == key || !o.there || o.suspected != 0 || len(over.Memories) == 0 {
				continue
			}
			gone.Memories = slices.DeleteFunc(slices.Clone(gone.Memories), func(m string) bool { return slices.Contains(over.Memories, m) })
			over.Server = o.key.server
			back(over)
		}
		if len(gone.Memories) == 0 {
			delete(a.gone, key)
		}
	}
	for _, s := range a.known {
		// One that the names do not tell of any more, and whose memories nobody else has.
		taken := slices.ContainsFunc(now, func(o state) bool {
			return slices.ContainsFunc(o.memories, func(m string) bool { return slices.Contains(s.memories, m) })
		})
		if !present[s.key] && !taken && a.gone[s.key] == nil {
			away(s, cmp.Or(s.suspected, heard(s.memories[0]), at))
		}
	}
	// Those that are away are kept, to be known when they are back.
	for _, s := range a.known {
		if !present[s.key] && a.gone[s.key] != nil {
			now = append(now, s)
		}
	}
	a.known = now
	slices.SortFunc(told, func(x, y engram.Update) int { return cmp.Compare(x.Absence.Server, y.Absence.Server) })
	return told, again
}

// noticeAbsences tells of servers that are away or back, if that is asked for; it reports
// whether the subscription goes on.
func (m *merged) noticeAbsences(concerned shares) bool {
	if m.absences == nil {
		return true
	}
	const pause = time.Second // in which a server that is not away has told something
	told, again := m.absences.look(m.states(concerned), engram.Now(), m.c.lastHeard)
	if again {
		m.goroutines.Go(func() { m.again(pause) })
	}
	if len(told) == 0 {
		return true
	}
	select {
	case m.batches <- batch{updates: told}:
		return true
	case <-m.ctx.Done():
		return false
	}
}
