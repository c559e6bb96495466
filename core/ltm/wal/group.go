package wal

import "time"

// group is who shares a sync. Writers that wait for each sync before they write again
// fall into two halves, one written while the other is synced, and each sync serves one
// half. So a sync waits a little for those whom the last one served and those who came
// meanwhile: then it serves all. Where they do not come, it is seldom tried again. The
// log's lock protects it.
type group struct {
	pending int       // records that are to be synced and were not taken yet
	size    int       // how many there will soon be, by what the last sync saw; 0 for no wait
	until   time.Time // no longer than this is waited for them
	waits   bool      // somebody waits for them
	pause   int       // syncs to come that do not wait
	doubt   int       // how many will not, beyond minPause, after the next wait in vain
}

const (
	// maxGather bounds how long a sync waits; if the last one took less, so long. A
	// timer may add a millisecond to it.
	maxGather = 2 * time.Millisecond
	// minPause and maxPause are how many syncs do not wait after one that waited in
	// vain: twice as many each time, and one less after each that did not.
	minPause, maxPause = 16, 2048
)

// wait returns how long a sync waits for others.
func (g *group) wait(now time.Time) time.Duration {
	if g.pending == 0 || g.pending >= g.size {
		return 0
	}
	left := g.until.Sub(now)
	g.waits = g.waits || left > 0
	return left
}

// add counts a record that is to be synced, and reports whether the group is complete
// with it.
func (g *group) add() bool {
	g.pending++
	return g.pending == g.size
}

// take lets those go that are pending.
func (g *group) take() {
	switch {
	case g.size > 0 && g.pending >= g.size:
		g.doubt = max(g.doubt-1, 0)
	case g.waits:
		g.pause = minPause + g.doubt
		g.doubt = min(g.pause, maxPause-minPause)
	}
	g.pending, g.size, g.waits = 0, 0, false
}

// synced tells that a sync that took so long served so many.
func (g *group) synced(served int, took time.Duration, now time.Time) {
	if g.pause > 0 {
		g.pause--
		return
	}
	if n := served + g.pending; n > 1 {
		g.size, g.until = n, now.Add(min(took, maxGather))
	}
}
