package main

import (
	"github.com/seed-301d4374/engram/mind/pose"
)

// benchCase is one row of the table: an operation, what libtf2's benchmark calls it
// (with the depth), and what issue 5 asks for in nanoseconds.
type benchCase struct {
	name   string
	peer   string // bench,depth in the peer's CSV; "" if libtf2 cannot do it
	target float64
	// beyond is the case whose time is subtracted, if the target is for what this
	// one takes beyond it.
	beyond string
	setup  func() (op func(n int))
}

// cases lists the rows in the order in which they are printed.
func cases() []benchCase {
	moving := func(depth int) func() *pose.Path {
		var p *pose.Path
		return func() *pose.Path {
			if p == nil {
				p = path(chain(depth, samples, 0), depth)
			}
			return p
		}
	}
	ten, hundred := moving(10), moving(100)
	var rover *pose.Store
	anchored := func(target, source string) *pose.Path {
		if rover == nil {
			rover = anchoredHour()
		}
		return get(rover.Path(target, source))
	}
	return []benchCase{
		{name: "depth 10, latest", peer: "lookup_latest,10", target: 170, setup: func() func(int) {
			p := ten()
			return func(n int) {
				for range n {
					T, _, fail := p.LatestCommon()
					keep(&T, fail.Code)
				}
			}
		}},
		{name: "depth 10, 5 ms ago", peer: "lookup_interp_newest,10", target: 300, setup: func() func(int) { return at(ten(), tick(samples-1.5)) }},
		{name: "depth 10, 5 s ago", peer: "lookup_interp_5s,10", target: 400, setup: func() func(int) { return at(ten(), tick(samples-500.5)) }},
		{name: "depth 10, random in 10 s", peer: "lookup_interp_random,10", target: 450, setup: func() func(int) { return at(ten(), randomTimes(samples)...) }},
		{name: "depth 10, by names, 5 ms ago", peer: "lookup_interp_newest,10", target: 320, setup: func() func(int) {
			s := chain(10, samples, 0)
			target, source, t := frame(0), frame(10), tick(samples-1.5)
			return func(n int) {
				for range n {
					T, _, fail := s.Lookup(target, source, t)
					keep(&T, fail.Code)
				}
			}
		}},
		{name: "9 static + 1 moving, 5 s ago", peer: "lookup_interp_5s_mostly_static,10", target: 70, setup: func() func(int) {
			return at(path(chain(10, samples, 9), 10), tick(samples-500.5))
		}},
		{name: "depth 100, 5 s ago", peer: "lookup_interp_5s,100", target: 4500, setup: func() func(int) { return at(hundred(), tick(samples-500.5)) }},
		{name: "depth 10, covariance of each edge's model", target: 1500, setup: func() func(int) {
			noise := pose.Uncertain(pose.ConstantNoise(pose.DiagonalCov(0.01, 0.002)))
			return atCov(path(chain(10, samples, 0, noise), 10), tick(samples-500.5))
		}},
		{name: "depth 10, covariance of each sample", target: 1500, setup: func() func(int) {
			return atCov(path(covChain(), 10), tick(samples-501))
		}},
		{name: "depth 10, covariance between two samples", target: 1500, setup: func() func(int) {
			return atCov(path(covChain(), 10), tick(samples-500.5))
		}},
		{name: "odometry of 1 h, recent", setup: func() func(int) { return at(anchored("odom", "base"), tick(hour-1.5)) }},
		{name: "through an anchor, recent", beyond: "odometry of 1 h, recent", target: 80, setup: func() func(int) {
			return at(anchored("site", "base"), tick(hour-1.5))
		}},
		{name: "through an anchor, between two keys", beyond: "odometry of 1 h, recent", target: 80, setup: func() func(int) {
			return at(anchored("site", "base"), tick(hour-150.5))
		}},
		{name: "odometry of 1 h, random", peer: "", target: 120, setup: func() func(int) {
			return at(anchored("odom", "base"), randomTimes(hour)...)
		}},
		{name: "through an anchor, random", beyond: "odometry of 1 h, random", target: 120, setup: func() func(int) {
			return at(anchored("site", "base"), randomTimes(hour)...)
		}},
		{name: "write one pose", peer: "set_inorder,1", target: 60, setup: func() func(int) {
			s := pose.New(pose.Config{})
			e := get(s.Free("a", "b", pose.Keep(pose.Retention{MaxCount: samples})))
			poses := make([]pose.Pose, 1024)
			for i := range poses {
				poses[i] = samplePose(1, float64(i))
			}
			t := tick(0)
			return func(n int) {
				for i := range n {
					t += 1e9 / hz
					must(e.Set(t, poses[i&1023]))
				}
			}
		}},
		{name: "write one joint value", target: 60, setup: func() func(int) {
			j := panJoint(pose.New(pose.Config{}), pose.Keep(pose.Retention{MaxCount: samples}))
			t := tick(0)
			return func(n int) {
				for range n {
					t += 1e9 / hz
					must(j.Set(t, 0.5, 0))
				}
			}
		}},
		{name: "failure, time in the future", peer: "lookup_throw_future,10", target: 20, setup: func() func(int) {
			p, t := ten(), tick(samples+5)
			return func(n int) {
				for range n {
					if _, _, fail := p.At(t); fail.Code != pose.TooNew {
						panic("not in the future: " + fail.Error())
					}
				}
			}
		}},
		{name: "commit 3600 keys over 360,000 samples", target: 2e6, setup: func() func(int) {
			s := anchoredHour()
			bend := 0.0
			return func(n int) {
				for range n {
					bend++
					get(hourKeys(s, bend).Commit())
				}
			}
		}},
		{name: "diff of two such revisions", target: 1e6, setup: func() func(int) {
			s := anchoredHour()
			rev := get(hourKeys(s, 1).Commit())
			return func(n int) {
				for range n {
					if len(get(s.Diff("site", "base", rev-1, rev, pose.DefaultThreshold()))) == 0 {
						panic("nothing moved")
					}
				}
			}
		}},
	}
}
