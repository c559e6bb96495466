package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// The workload is that of libtf2's benchmark, ../shared/peers/tf2/bench.cpp: a chain
// f0 <- f1 <- … with edge i from frame i-1 to frame i, samples at 100 Hz from 100 s
// on.
const (
	hz      = 100
	samples = 1000
	hour    = 3600 * hz
	start   = engram.Time(100e9)
)

// tick returns the time of sample k, which need not be whole.
func tick(k float64) engram.Time { return start + engram.Time(math.Round(k*1e9/hz)) }

func samplePose(edge int, k float64) pose.Pose {
	i := float64(edge)
	a, b := 0.3*math.Sin(0.01*k+i), 0.2*math.Cos(0.013*k+2*i)
	n := math.Sqrt(1 + a*a + b*b)
	return pose.Pose{
		T: pose.Vec3{X: 1 + 0.01*math.Sin(0.02*k), Y: 0.1 * i, Z: 0.001 * k},
		R: pose.Quat{W: 1 / n, X: a / n, Y: b / n},
	}
}

func frame(i int) string { return fmt.Sprintf("frame_%d", i) }

// must ends the program: the workload has no errors.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func get[T any](v T, err error) T {
	must(err)
	return v
}

// chain makes a chain of depth edges with n samples on each, the first static of
// them constant.
func chain(depth, n, static int, opts ...pose.Option) *pose.Store {
	s := pose.New(pose.Config{})
	for i := 1; i <= depth; i++ {
		if i <= static {
			must(s.Fixed(frame(i-1), frame(i), samplePose(i, 0), pose.Cov{}))
			continue
		}
		e := get(s.Free(frame(i-1), frame(i), opts...))
		for k := range n {
			must(e.Set(tick(float64(k)), samplePose(i, float64(k))))
		}
	}
	return s
}

// covChain is a moving chain of ten edges whose samples bring their covariances.
func covChain() *pose.Store {
	s := pose.New(pose.Config{})
	for i := 1; i <= 10; i++ {
		e := get(s.Free(frame(i-1), frame(i)))
		for k := range samples {
			must(e.SetCov(tick(float64(k)), samplePose(i, float64(k)), pose.DiagonalCov(0.01, 0.002)))
		}
	}
	return s
}

func path(s *pose.Store, depth int) *pose.Path { return get(s.Path(frame(0), frame(depth))) }

// keep uses an answer, so that no part of the look-up is optimised away.
func keep(p *pose.Pose, code pose.FailureCode) {
	if code != pose.OK || p.R == (pose.Quat{}) {
		panic("no answer: " + code.String())
	}
}

// randomTimes returns 4096 times spread over the first n samples.
func randomTimes(n float64) []engram.Time {
	r := rand.New(rand.NewPCG(1, 1))
	times := make([]engram.Time, 4096)
	for i := range times {
		times[i] = tick(r.Float64() * (n - 1.0001))
	}
	return times
}

// at looks up at the times in turn; there must be a power of two of them.
func at(p *pose.Path, times ...engram.Time) func(int) {
	_, _, fail := p.At(times[0])
	must(fail.Err())
	return func(n int) {
		mask := len(times) - 1
		for i := range n {
			T, _, fail := p.At(times[i&mask])
			keep(&T, fail.Code)
		}
	}
}

func atCov(p *pose.Path, times ...engram.Time) func(int) {
	_, cov, _, fail := p.AtCov(times[0])
	must(fail.Err())
	if cov.State() != pose.Estimated {
		panic("no covariance")
	}
	return func(n int) {
		mask := len(times) - 1
		for i := range n {
			T, _, _, fail := p.AtCov(times[i&mask])
			keep(&T, fail.Code)
		}
	}
}

// anchoredHour makes an hour of odometry at 100 Hz below an anchor with a key each
// second.
func anchoredHour() *pose.Store {
	s := pose.New(pose.Config{})
	must(s.Anchor("site", "odom"))
	e := get(s.Free("odom", "base"))
	for k := range hour {
		must(e.Set(tick(float64(k)), samplePose(1, float64(k))))
	}
	get(hourKeys(s, 0).Commit())
	return s
}

// hourKeys sets all 3600 keys of that anchor; bend makes them differ.
func hourKeys(s *pose.Store, bend float64) *pose.Tx {
	tx := s.Begin("slam")
	for k := range 3600 {
		x := float64(k)
		tx.Key("site", "odom", tick(hz*x), pose.Pose{
			T: pose.Vec3{X: 0.001 * x, Y: bend * 0.0001 * x},
			R: pose.RPY(0, 0, (0.0001+bend*1e-5)*x),
		}, pose.Cov{})
	}
	return tx
}

// heapPer returns the bytes of heap that each of n things takes that build makes.
func heapPer(n int, build func() *pose.Store) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(s)
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
}

func panJoint(s *pose.Store, opts ...pose.Option) *pose.JointEdge {
	spec := pose.JointSpec{Name: "pan", Type: urdf.Revolute, Origin: pose.Identity(), Axis: pose.Vec3{Z: 1}}
	return get(s.Joint("mast", "head", spec, opts...))
}

func jointHour() *pose.Store {
	s := pose.New(pose.Config{})
	j := panJoint(s)
	for k := range hour {
		must(j.Set(tick(float64(k)), 0.5, 0))
	}
	return s
}
