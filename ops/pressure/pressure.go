// Package pressure keeps what the memories of a server take within what the computer can
// spare. A [Meter] measures how much main memory is left, of the computer and of the control
// groups that the process is in, and for how long tasks wait for it. A [Governor] moves the
// budgets of the memories by that: down at once when memory becomes short, taken from what is
// of little value, and slowly up again. Several servers on a computer need not know of each
// other: they look at the same time, see the same, and each gives its part a moment later. [CPU] measures how
// much the CPU is wanted.
//
// Linux only: proc(5), the kernel's documents on PSI (accounting/psi) and on control groups
// (admin-guide/cgroup-v1/memory, cgroup-v2). Elsewhere nothing is measured and nothing moves.
package pressure

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram/internal/procfs"
)

// Reading is how short the computer is of main memory.
type Reading struct {
	Total     int64   // bytes that may be used in all, of the computer, or of the control group in which least is left; 0 if unknown
	Available int64   // bytes of that that are free, or that the kernel takes back when it needs to
	Limit     string  // the control group that limits; "" for the computer
	Stall     float64 // the share of the time since the reading before in which a task waited for memory, 0 to 1
}

// Meter measures. Make one with [NewMeter]; it is used by one goroutine.
type Meter struct {
	proc, groups fs.FS
	own          []group
	stalled      time.Duration // up to the reading before
	at           time.Time
}

// group is a control group with a limit of memory, by the files that tell of it.
type group struct {
	name, limit, used, stat string
	cache                   string // before the members of stat that count file cache, which can be dropped
}

// NewMeter returns a meter that reads /proc and /sys/fs/cgroup.
func NewMeter(proc, groups fs.FS) *Meter {
	m := &Meter{proc: proc, groups: groups}
	for line := range procfs.Lines(proc, "self/cgroup") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[0] == "0" && f[1] == "":
			m.add(f[2], "", group{limit: "memory.max", used: "memory.current", stat: "memory.stat"})
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			m.add(f[2], "memory", group{limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", stat: "memory.stat", cache: "total_"})
		}
	}
	return m
}

// add adds a group and those above it. In a container its own may be mounted as the root, so
// what is not there by its whole path is left out.
func (m *Meter) add(name, root string, files group) {
	for name = path.Join("/", name); ; name = path.Dir(name) {
		g, dir := files, path.Join(root, name[1:])
		g.name, g.limit, g.used, g.stat = name, path.Join(dir, g.limit), path.Join(dir, g.used), path.Join(dir, g.stat)
		if _, err := fs.Stat(m.groups, g.limit); err == nil {
			m.own = append(m.own, g)
		}
		if name == "/" {
			return
		}
	}
}

// Read measures.
func (m *Meter) Read(now time.Time) Reading {
	info := procfs.MemoryInfo(m.proc)
	r := Reading{Total: info["MemTotal"], Available: info["MemAvailable"]}
	if r.Total == 0 {
		return Reading{}
	}
	for i := range m.own {
		total, available, ok := m.own[i].read(m.groups)
		if ok && total > 0 && total <= r.Total && float64(available)/float64(total) < float64(r.Available)/float64(r.Total) {
			r.Total, r.Available, r.Limit = total, available, m.own[i].name
		}
	}
	stalled := stalled(m.proc, "pressure/memory")
	if elapsed := now.Sub(m.at); !m.at.IsZero() && elapsed > 0 && stalled >= m.stalled {
		r.Stall = math.Min(float64(stalled-m.stalled)/float64(elapsed), 1)
	}
	m.stalled, m.at = stalled, now
	return r
}

// read returns the group's limit and what is left of it; ok is false if it has none.
func (g *group) read(groups fs.FS) (total, available int64, ok bool) {
	total, ok = number(groups, g.limit)
	used, there := number(groups, g.used)
	if !ok || !there {
		return 0, 0, false
	}
	for line := range procfs.Lines(groups, g.stat) {
		if name, n, _ := strings.Cut(line, " "); name == g.cache+"inactive_file" || name == g.cache+"active_file" {
			cache, _ := strconv.ParseInt(n, 10, 64)
			used -= cache
		}
	}
	return total, max(total-max(used, 0), 0), true
}

// number reads a file that holds one; ok is false for anything else, such as "max".
func number(f fs.FS, name string) (n int64, ok bool) {
	for line := range procfs.Lines(f, name) {
		n, err := strconv.ParseInt(line, 10, 64)
		return n, err == nil
	}
	return 0, false
}
