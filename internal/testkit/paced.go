package testkit

import (
	"slices"
	"testing"
	"time"
)

// Paced does something n times at a rate in 1/s, and returns the median of how long that took. Where it falls behind it does not
// wait.
func Paced(rate, n int, do func(i int)) time.Duration {
	took := make([]time.Duration, n)
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		for time.Now().Before(due) {
			time.Sleep(time.Until(due))
		}
		at := time.Now()
		do(i)
		took[i] = time.Since(at)
	}
	slices.Sort(took)
	return took[n/2]
}

// InTurn measures something without and with what it is about, as often as runs says and in turn, so that both meet the same
// machine. It reports the medians in ns, and their ratio.
func InTurn(b *testing.B, runs int, measure func(on bool) time.Duration) {
	var all [2][]time.Duration
	for b.Loop() {
		for run := range 2 * runs {
			all[run%2] = append(all[run%2], measure(run%2 == 1))
		}
	}
	var median [2]time.Duration
	for i := range all {
		slices.Sort(all[i])
		median[i] = all[i][len(all[i])/2]
	}
	b.ReportMetric(float64(median[0].Nanoseconds()), "off-p50-ns")
	b.ReportMetric(float64(median[1].Nanoseconds()), "on-p50-ns")
	b.ReportMetric(float64(median[1])/float64(median[0]), "on/off")
}
