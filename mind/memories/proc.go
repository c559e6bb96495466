package memories

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// procFS reads Linux's /proc (proc(5)). What is not there or cannot be read is 0 or
// empty.
type procFS struct{ fs.FS }

// clockTick is the unit of times in /proc: USER_HZ, 100 on every Linux.
const clockTick = time.Second / 100

// cpuTimes are times since the computer started.
type cpuTimes struct {
	all     coreTimes
	cores   []coreTimes
	process time.Duration // of this process, all its threads
}

// coreTimes are in clock ticks.
type coreTimes struct{ busy, total uint64 }

// loadSince returns the part of the time since before that was busy, from 0 to 1.
func (c coreTimes) loadSince(before coreTimes) float64 {
	if c.total <= before.total || c.busy < before.busy {
		return 0
	}
	return min(float64(c.busy-before.busy)/float64(c.total-before.total), 1)
}

func (p procFS) cpuTimes() (t cpuTimes) {
	for line := range p.lines("stat") {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		var c coreTimes
		for i, text := range f[1:min(len(f), 9)] { // guest times, after these, are in user time already
			n, _ := strconv.ParseUint(text, 10, 64)
			c.total += n
			if i != 3 && i != 4 { // idle, iowait
				c.busy += n
			}
		}
		if f[0] == "cpu" {
			t.all = c
		} else {
			t.cores = append(t.cores, c)
		}
	}
	for line := range p.lines("self/stat") {
		// The command's name, in brackets, may hold anything.
		f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
		if len(f) > 12 {
			user, _ := strconv.ParseInt(f[11], 10, 64)
			system, _ := strconv.ParseInt(f[12], 10, 64)
			t.process = time.Duration(user+system) * clockTick
		}
	}
	return t
}

// loadAverage returns the mean number of running tasks over 1, 5 and 15 minutes.
func (p procFS) loadAverage() (means []float64) {
	for line := range p.lines("loadavg") {
		for _, text := range strings.Fields(line)[:min(3, len(strings.Fields(line)))] {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				means = append(means, v)
			}
		}
	}
	return means
}

// memoryInfo returns the sizes of /proc/meminfo in bytes, by name.
func (p procFS) memoryInfo() map[string]int64 {
	info := map[string]int64{}
	for line := range p.lines("meminfo") {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); len(f) == 2 && f[1] == "kB" {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			info[name] = n * kib
		}
	}
	return info
}

// resident returns the resident set of this process, in bytes.
func (p procFS) resident() int64 {
	for line := range p.lines("self/statm") {
		if f := strings.Fields(line); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			return pages * int64(os.Getpagesize())
		}
	}
	return 0
}

// lines yields a file's lines.
func (p procFS) lines(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		b, err := fs.ReadFile(p, name)
		if err != nil {
			return
		}
		for line := range bytes.Lines(b) {
			if !yield(string(bytes.TrimSpace(line))) {
				return
			}
		}
	}
}
