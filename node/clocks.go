package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/ops/clock"
	"github.com/seed-301d4374/engram/ops/health"
)

// farClock is from which difference on clocks are a trouble, and how far ahead of a clock something
// is of the future.
const farClock = time.Second

// clocksHealth tells whose clocks are far from this server's.
func clocksHealth(skews []clock.Skew) (health.Status, string) {
	const most = 5
	var far []string
	for _, s := range skews {
		if off := max(s.Offset, -s.Offset); !s.Known() || off-s.Uncertainty() <= farClock {
			continue
		}
		how := "ahead of"
		if s.Offset < 0 {
			how = "behind"
		}
		far = append(far, fmt.Sprintf("the clock of %q is %v %s this one", s.Server, max(s.Offset, -s.Offset).Round(10*time.Millisecond), how))
	}
	if len(far) == 0 {
		return health.OK, ""
	}
	if n := len(far) - most; n > 0 {
		far = append(far[:most], fmt.Sprintf("and so for %d others", n))
	}
	return health.Degraded, strings.Join(far, "; ") + "; set all by NTP or PTP. Worlds compare times with these differences taken off; in the data they stay"
}

// stated matches what providers say in the memory World.
var stated = engram.MustPattern("World/~Item|Articulation|State|Map|Component")

// futureHealth tells of statements in the memory World, and in copies of others', that are said to
// be of the future: by this server's clock and, of robots whose clocks were measured, by theirs.
func (n *Node) futureHealth(ctx context.Context) (health.Status, string) {
	skews := map[string]time.Duration{}
	if n.ops.clocks != nil {
		for _, s := range n.ops.clocks.Skews() {
			if s.Known() && s.Robot != "" {
				skews[s.Robot] = s.Offset
			}
		}
	}
	count := 0
	var furthest engram.ID
	var by time.Duration
	for _, memory := range slices.Concat(n.srv.Memories(), n.srv.Copies()) {
		robot, name := mns.SplitName(memory)
		if name != "World" {
			continue
		}
		now := n.now().Add(skews[robot])
		q := engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(memory), stated.Levels[1]}}.Select(engram.In(engram.Interval{Start: now.Add(farClock), End: engram.MaxTime}))
		q.Target, q.WithoutPayload = engram.TargetWM, true
		r, err := n.srv.Query(ctx, q)
		if err != nil {
			return health.Degraded, "whether statements are of the future is not known: " + err.Error()
		}
		for it := range r.All() {
			count++
			if ahead := it.Snapshot.Time.Sub(now); ahead > by {
				furthest, by = it.ID.Truncate(engram.LevelEntity), ahead
			}
		}
	}
	if count == 0 {
		return health.OK, ""
	}
	are := "statements are"
	if count == 1 {
		are = "statement is"
	}
	return health.Degraded, fmt.Sprintf("World: %d %s of the future, the furthest by %v, %s: who said them has, or had, a clock that is ahead, and until then they count before all that is said elsewhere. "+
		"Set that clock; say them again, or forget them (engram ltm forget)", count, are, by.Round(time.Second), furthest)
}

// now is the node's clock.
func (n *Node) now() engram.Time {
	if n.options.Now != nil {
		return n.options.Now()
	}
	return engram.Now()
}
