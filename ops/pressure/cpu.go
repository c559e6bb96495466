package pressure

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram/internal/procfs"
)

// CPU measures how much the CPU is wanted, of the computer and of the control groups that the
// process is in (version 2, whose bounds count as well). Make one with [NewCPU]; it is used by
// one goroutine.
type CPU struct {
	proc, groups fs.FS
	own          []string // the files of the groups
	waited       map[string]time.Duration
	at           time.Time
	share        float64
}

// NewCPU returns what reads /proc and /sys/fs/cgroup.
func NewCPU(proc, groups fs.FS) *CPU {
	c := &CPU{proc: proc, groups: groups, waited: map[string]time.Duration{}}
	for line := range procfs.Lines(proc, "self/cgroup") {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 && f[0] == "0" && f[1] == "" {
			for name := path.Join("/", f[2]); ; name = path.Dir(name) {
				file := path.Join(name, "cpu.pressure")[1:]
				if _, err := fs.Stat(groups, file); err == nil {
					c.own = append(c.own, file)
				}
				if name == "/" {
					break
				}
			}
		}
	}
	return c
}

// Wait returns the share of the time since it was measured before in which some task waited for
// the CPU, 0 to 1: where that is most. It is measured every [Every] at most; before it was
// measured twice, and where it cannot be, it is 0.
func (c *CPU) Wait(now time.Time) float64 {
	elapsed := now.Sub(c.at)
	if elapsed >= 0 && elapsed < Every {
		return c.share
	}
	first := c.at.IsZero() || elapsed < 0
	c.share, c.at = 0, now
	measure := func(files fs.FS, name string) {
		waited := stalled(files, name)
		if more := waited - c.waited[name]; !first && more > 0 {
			c.share = max(c.share, min(float64(more)/float64(elapsed), 1))
		}
		c.waited[name] = waited
	}
	measure(c.proc, "pressure/cpu")
	for _, name := range c.own {
		measure(c.groups, name)
	}
	return c.share
}

// stalled returns for how long in all some task has waited, by a file of PSI.
func stalled(files fs.FS, name string) time.Duration {
	for line := range procfs.Lines(files, name) {
		kind, rest, _ := strings.Cut(line, " ")
		if _, total, ok := strings.Cut(rest, "total="); ok && kind == "some" {
			us, _ := strconv.ParseInt(total, 10, 64)
			return time.Duration(us) * time.Microsecond
		}
	}
	return 0
}
