package source

import (
	"cmp"
	"time"

	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// A message costs some 120 bytes on a link beside its data: the headers of packets and
// of what they carry, and an acknowledgement. So the updates of a fast stream wait for
// each other until that is little of a message, but not long; those of slow streams
// do not wait for others, nor does what comes first after a pause. Only where a very
// fast stream is pulled beside them is there a nap between looks at what has come.
const (
	fast         = 400                   // updates per second from which on a stream is one whose updates wait
	gatherBytes  = 2800                  // payload bytes, two packets: for more nobody waits
	explicitMost = 32 << 10              // the same where a rule says how long to wait
	restless     = 50 * time.Millisecond // a longer pause between updates counts as one so long
	nap          = 500 * time.Microsecond
)

// gather decides how long what a share has to tell waits for what comes.
type gather struct {
	most  time.Duration // 0 is no waiting
	fixed bool          // most is by a rule: it holds for slower streams, too
	bytes int64         // what is enough for a message
	cut   bool          // only some fields travel: sizes are those of what was told

	last  time.Time     // when updates were told last
	gap   time.Duration // about, between two updates
	size  int64         // about, of an update
	until time.Time

	upTo    uint64 // what came since and was looked at …
	pending int64  // … and its payload bytes
	buffer  []wm.Change
}

func newGather(r *contract.Rules) gather {
	g := gather{most: cmp.Or(r.Gather, contract.DefaultGather), fixed: r.Gather != 0, bytes: gatherBytes, cut: len(r.Fields) > 0, gap: restless}
	if g.fixed {
		g.bytes = explicitMost
	}
	if g.most <= contract.NoGather {
		g.most = 0
	}
	return g
}

// told notes that updates were told, and decides whether the next ones wait. more says
// that some have come that are not told yet because there are so many.
func (g *gather) told(now time.Time, updates int, bytes int64, more bool) {
	g.until = time.Time{}
	if g.most == 0 || updates == 0 {
		return
	}
	pause := contract.MaxGather * 4
	if !g.last.IsZero() {
		pause = now.Sub(g.last)
	}
	g.gap += (min(pause, restless)/time.Duration(updates) - g.gap) / 16
	g.size += (bytes/int64(updates) - g.size) / 4
	g.last = now
	steady := g.gap < time.Second/fast
	if g.fixed {
		steady = pause < 4*g.most
	}
	if steady && !more && g.size < g.bytes {
		g.until, g.upTo, g.pending = now.Add(g.most), 0, 0
	}
}

// wait returns how long what the share has to tell waits yet.
func (g *gather) wait(sh *share, now time.Time) time.Duration {
	if g.until.IsZero() {
		return 0
	}
	if wait := g.until.Sub(now); wait > 0 && !g.enough(sh) {
		return wait
	}
	g.until = time.Time{}
	return 0
}

// enough reports whether so much has come that nobody waits for more. What where and
// rate will leave out counts as if it travelled: that is decided when it is told.
func (g *gather) enough(sh *share) bool {
	if g.buffer == nil {
		g.buffer = make([]wm.Change, 0, chunkOfChanges)
	}
	for g.pending < g.bytes {
		after := max(g.upTo, sh.at.Number)
		list, upTo, _, ok := sh.p.wm.Feed().Changes(after, g.buffer[:0])
		if !ok {
			return true
		}
		if upTo == after {
			return false
		}
		g.upTo = upTo
		for i := range list {
			if c := &list[i]; sh.entityOf(c).matches {
				if s, _ := c.Find(); s != nil {
					size := int64(s.Size())
					if g.cut {
						size = min(size, g.size)
					}
					g.pending += size
				}
			}
		}
	}
	return true
}

// rest lets some more updates come where a share gathers a stream that is so fast that
// waking up for each would be a waste.
func (p *pull) rest() {
	for _, sh := range p.shares {
		if g := &sh.gather; !g.until.IsZero() && g.gap < nap {
			time.Sleep(nap)
			return
		}
	}
}
