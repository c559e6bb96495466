package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// Skew is how far a robot's clock is from that of a robot that measured it.
type Skew struct {
	Robot       string        // whose clock was measured
	Offset      time.Duration // what must be added to the measurer's clock to have it
	Uncertainty time.Duration
}

// ClockStatement is what one server measured of another robot's clock last. Said.Robot is
// whose clock it measured with.
type ClockStatement struct {
	Said
	Skew Skew
}

// clockGrain is what offsets are rounded to.
const clockGrain = 10 * time.Millisecond

// Offsets returns, by robot, the duration that converts its times into times of the robot own: it is added
// to them. The result depends on the set of statements, not on their order. Another own robot changes
// all offsets by the same duration.
//
// Of each pair of robots one measurement counts: the one with the least uncertainty, then the newest, then
// the first by the provider's name. The pairs make a graph. In each of its connected components the offsets
// are sums along the paths of least total uncertainty from the first robot by name, rounded to 10 ms.
// A robot without any measurement has no offset.
func Offsets(statements []ClockStatement, own string) map[string]time.Duration {
	best := map[[2]string]*ClockStatement{}
	for i := range statements {
		s := &statements[i]
		if s.Robot == s.Skew.Robot || s.Skew.Uncertainty < 0 {
			continue
		}
		pair := [2]string{min(s.Robot, s.Skew.Robot), max(s.Robot, s.Skew.Robot)}
		if b := best[pair]; b == nil || s.surer(b) {
			best[pair] = s
		}
	}
	beside := map[string][]step{}
	for pair, s := range best {
		ahead := s.Skew.Offset // of the second of the pair
		if s.Robot != pair[0] {
			ahead = -ahead
		}
		beside[pair[0]] = append(beside[pair[0]], step{pair[1], ahead, s.Skew.Uncertainty})
		beside[pair[1]] = append(beside[pair[1]], step{pair[0], -ahead, s.Skew.Uncertainty})
	}
	offsets := map[string]time.Duration{}
	for _, first := range slices.Sorted(maps.Keys(beside)) {
		if _, known := offsets[first]; known {
			continue
		}
		joined := walk(beside, first)
		shift := joined[own].ahead.Round(clockGrain) // 0 if it is not among them
		for robot, s := range joined {
			offsets[robot] = shift - s.ahead.Round(clockGrain)
		}
	}
	return offsets
}

// surer reports whether a measurement of two robots counts before another one.
func (s *ClockStatement) surer(o *ClockStatement) bool {
	c := cmp.Or(cmp.Compare(s.Skew.Uncertainty, o.Skew.Uncertainty), -cmp.Compare(s.Time, o.Time), s.compare(&o.Said), -cmp.Compare(s.Arrived, o.Arrived),
		cmp.Compare(s.Skew.Offset, o.Skew.Offset))
	return c < 0
}

// step is the way from one robot's clock to another's.
type step struct {
	to          string
	ahead       time.Duration
	uncertainty time.Duration
}

// walk returns how far ahead of a robot's clock all are that measurements lead to, each on the surest
// way (Dijkstra); of equally sure ones that over the robot whose name comes first.
func walk(beside map[string][]step, first string) map[string]step {
	done, open := map[string]step{}, map[string]step{first: {to: first}}
	for len(open) > 0 {
		next := slices.MinFunc(slices.Collect(maps.Values(open)), func(a, b step) int {
			return cmp.Or(cmp.Compare(a.uncertainty, b.uncertainty), strings.Compare(a.to, b.to))
		})
		delete(open, next.to)
		done[next.to] = next
		for _, s := range beside[next.to] {
			if _, known := done[s.to]; known {
				continue
			}
			s.ahead, s.uncertainty = s.ahead+next.ahead, s.uncertainty+next.uncertainty
			if o, seen := open[s.to]; !seen || s.uncertainty < o.uncertainty {
				open[s.to] = s
			}
		}
	}
	return done
}

// putClock takes what a server measured.
func (b *Builder) putClock(s ClockStatement) {
	who := speaker{s.Skew.Robot, s.Provider, s.Robot}
	old := b.clocks[who]
	if old != nil && !s.newer(&old.Said) || old == nil && len(b.clocks) >= maxClocks {
		return
	}
	if b.clocks == nil {
		b.clocks = map[speaker]*ClockStatement{}
	}
	b.clocks[who] = &s
	b.untimed = true
}

// maxClocks bounds what is kept of measurements.
const maxClocks = 1 << 14

// correct merges all anew if clocks turned out to be otherwise.
func (b *Builder) correct() {
	if !b.untimed {
		return
	}
	b.untimed = false
	statements := make([]ClockStatement, 0, len(b.clocks))
	for _, s := range b.clocks {
		statements = append(statements, *s)
	}
	offsets := Offsets(statements, b.robot)
	for robot, d := range b.given.Offsets { // what the rules say outranks what was measured
		offsets[robot] = d
	}
	maps.DeleteFunc(offsets, func(_ string, d time.Duration) bool { return d == 0 })
	if maps.Equal(offsets, b.f.rules.Offsets) {
		return
	}
	b.f.rules.Offsets = offsets
	for id := range b.next {
		n := b.f.node(id)
		if len(n.said) == 0 {
			if len(n.joints) > 0 {
				b.touch(id, engram.MinTime)
			}
			continue
		}
		// The names that it refers to were all known before, so there is room for them.
		_ = b.merge(id, n.said)
		b.touch(id, engram.MinTime)
	}
}
