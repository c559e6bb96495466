package sim

import "math"

// noise gives measurement noise as a pure function of what is measured: the same
// seed, source and tick give the same value, in whatever order they are asked for.
type noise uint64

// The sources of noise, so that no two share their values.
const (
	noiseJoint uint64 = iota + 1
	noiseLocalization
	noiseObject
	noisePixel
	noiseDepth
)

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// gauss returns a value of mean 0 and standard deviation 1: the sum of four
// uniform ones, which is close enough to a normal distribution and never beyond
// 3.5.
func (n noise) gauss(source uint64, tick, i int) float64 {
	h := mix(uint64(n) ^ mix(source<<56^uint64(tick)<<16^uint64(i)))
	sum := float64(h&0xffff) + float64(h>>16&0xffff) + float64(h>>32&0xffff) + float64(h>>48)
	return (sum/65535 - 2) * math.Sqrt(3)
}
