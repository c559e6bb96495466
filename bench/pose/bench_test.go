package main

import (
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// BenchmarkPose runs the rows of the table; the command beside it runs libtf2 as
// well and prints the ratios.
func BenchmarkPose(b *testing.B) {
	for _, c := range cases() {
		b.Run(c.name, func(b *testing.B) {
			op := c.setup()
			b.ReportAllocs()
			b.ResetTimer()
			op(b.N)
		})
	}
}

// The rows run at all, and those that must not allocate do not.
func TestCases(t *testing.T) {
	testkit.Long(t) // the workloads take some seconds to build
	for _, c := range cases() {
		op := c.setup()
		op(1)
		allocates := c.target >= 1e6
		if n := testing.AllocsPerRun(100, func() { op(1) }); n > 0 && !allocates {
			t.Errorf("%s: %g allocations", c.name, n)
		}
	}
}
