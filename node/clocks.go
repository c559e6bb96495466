package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/mind/world"
)

// clocksHealth tells whose clocks are far from this server's.
func clocksHealth(skews []clock.Skew) (health.Status, string) {
	const most = 5
	var far []string
	for _, s := range skews {
		if s.Known() && s.Least() > clock.Far {
			far = append(far, fmt.Sprintf("the clock of %q is %s %s this one", s.Server, distance(s.Offset.Abs()), s.Side()))
		}
	}
	if len(far) == 0 {
		return health.OK, ""
	}
	if n := len(far) - most; n > 0 {
		far = append(far[:most], fmt.Sprintf("and so for %d others", n))
	}
	return health.Degraded, strings.Join(far, "; ") + "; set all by NTP or PTP. Worlds compare times with these differences taken off; in the data they stay"
}

// distance says how far apart two times are, with as much of it as matters: 25.35s, 6m35s, 1d11h, 365d.
func distance(d time.Duration) string {
	unit := time.Second
	switch {
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	case d >= 24*time.Hour:
		unit = time.Hour
	case d >= time.Hour:
		unit = time.Minute
	}
	return policy.PrintDuration(d.Round(unit))
}

// futureHealth tells of statements that worlds are made of, here and in copies of others', that are said to
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
	ahead := map[engram.ID]bool{} // entities: however often they are said, one statement of each counts
	var furthest engram.ID
	var by time.Duration
	for _, memory := range slices.Concat(n.srv.Memories(), n.srv.Copies()) {
		robot, _ := engram.SplitName(memory)
		now := n.now().Add(skews[robot])
		q := engram.Query{Target: engram.TargetWM, WithoutPayload: true}
		for _, p := range world.PatternsIn(memory) {
			q.Memories = append(q.Memories, p.Select(engram.In(engram.Interval{Start: now.Add(world.FutureFrom), End: engram.MaxTime})).Memories...)
		}
		if len(q.Memories) == 0 {
			continue
		}
		r, err := n.srv.Query(ctx, q)
		if err != nil {
			return health.Degraded, "whether statements are of the future is not known: " + err.Error()
		}
		for it := range r.All() {
			entity := it.ID.Truncate(engram.LevelEntity)
			ahead[entity] = true
			if d := it.Snapshot.Time.Sub(now); d > by {
				furthest, by = entity, d
			}
		}
	}
	count := len(ahead)
	if count == 0 {
		return health.OK, ""
	}
	are := "statements are"
	if count == 1 {
		are = "statement is"
	}
	return health.Degraded, fmt.Sprintf("%d %s of the future, the furthest by %s, %s: who said them has, or had, a clock that is ahead, and until then they count before all that is said elsewhere. "+
		"Set that clock; what is more than a minute ahead cannot be said again until then: wait, or forget it here and at the holders of copies (engram ltm forget; without --data begin anew with --recover off)", count, are, distance(by.Round(time.Second)), furthest)
}

// now is the node's clock.
func (n *Node) now() engram.Time {
	if n.options.Now != nil {
		return n.options.Now()
	}
	return engram.Now()
}
