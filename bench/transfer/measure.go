package main

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is a clock that all processes share, in nanoseconds; the peers take
// the same.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// processCPU returns the CPU time that a process took.
func processCPU(pid int) time.Duration {
	var ts unix.Timespec
	// The kernel's CPU clock of another process: the complement of its number, and
	// the kind of clock, as clock_getcpuclockid(3) makes it.
	if err := unix.ClockGettime(int32(^pid)<<3|2, &ts); err != nil {
		return 0 // it has ended
	}
	return time.Duration(ts.Nano())
}

// load is how busy the machine was until a moment.
type load struct {
	at        int64
	idle, own time.Duration
}

// loadNow counts the CPU time of the processes pids, and of this one, as our own.
func loadNow(pids []int) load {
	l := load{at: monotonic(), own: processCPU(os.Getpid())}
	for _, pid := range pids {
		l.own += processCPU(pid)
	}
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		for i, f := range bytes.Fields(line) {
			if n, err := strconv.Atoi(string(f)); err == nil && (i == 4 || i == 5) { // idle, iowait, in ticks of 10 ms
				l.idle += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return l
}

// foreignSince returns how much of the machine others have used since a, in per cent.
func (l load) foreignSince(a load) float64 {
	all := float64(runtime.NumCPU()) * float64(l.at-a.at)
	if all <= 0 {
		return 0
	}
	return max(0, 100*(all-float64(l.idle-a.idle)-float64(l.own-a.own))/all)
}

// figures sums a cell's samples up, in microseconds.
type figures struct {
	n                             int
	mean, min, p50, p90, p99, max float64
	foreign                       float64 // per cent of the machine
}

func summarise(nanoseconds []int64) figures {
	if len(nanoseconds) == 0 {
		return figures{}
	}
	slices.Sort(nanoseconds)
	sum := 0.0
	for _, ns := range nanoseconds {
		sum += float64(ns)
	}
	n := len(nanoseconds)
	at := func(f float64) float64 { return float64(nanoseconds[min(n-1, int(f*float64(n)))]) / 1e3 }
	return figures{n: n, mean: sum / float64(n) / 1e3, min: at(0), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1)}
}

// extent says how much is measured.
type extent struct {
	samples    int           // of each cell, at most
	cell       time.Duration // of each cell, at most, but for one sample
	mix        time.Duration // of each of the rows that are about rates
	batches    []int
	transports []string
	warm       bool     // before a cell, as the peers do
	measures   []string // nil means all
}

// What can be measured: the ways of the cells, and the rates.
const (
	measureAlone = "alone" // the conversions, and the memory in one process
	// The ways of a subscription and a notification have their own names.
	measureCommit = "commit"
	measureQuery  = "query"

	measureMixed   = "mixed"
	measurePolling = byPolling
	measureStream  = "stream"
	measureCamera  = "camera"
)

var (
	rateMeasures = []string{measureMixed, measurePolling, measureStream, measureCamera}
	measures     = append([]string{measureAlone, bySubscription, byNotification, measureCommit, measureQuery}, rateMeasures...)
)

// wants reports whether something is to be measured.
func (e extent) wants(measure string) bool {
	return e.measures == nil || slices.Contains(e.measures, measure)
}

// warmUps is as many as the peers make for so many bytes of information.
func warmUps(total int) int {
	switch {
	case total > 1_000_000:
		return 10
	case total > 40_000:
		return 50
	}
	return 200
}

// measure takes samples, one after the other. A sample returns the nanoseconds
// that count.
func (e extent) measure(total int, pids []int, sample func() (int64, error)) (figures, error) {
	end := monotonic() + int64(e.cell)
	if e.warm {
		for i := 0; i < warmUps(total) && (i < 3 || monotonic() < end); i++ {
			if _, err := sample(); err != nil {
				return figures{}, err
			}
		}
		runtime.GC() // what an earlier cell left behind is not this one's
	}
	before := loadNow(pids)
	end = monotonic() + int64(e.cell)
	took := make([]int64, 0, e.samples)
	for len(took) < e.samples && (len(took) == 0 || monotonic() < end) {
		ns, err := sample()
		if err != nil {
			return figures{}, err
		}
		took = append(took, ns)
	}
	f := summarise(took)
	f.foreign = loadNow(pids).foreignSince(before)
	return f, nil
}
