// Package mainmem says how much main memory there is for this process: the computer's, or
// what its control group allows. It is Linux's; elsewhere nothing is known.
//
// It is no public API: several wings share it.
package mainmem

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Info is what is known of the main memory, in bytes; 0 is unknown.
type Info struct {
	Total     uint64 // of the computer
	Available uint64 // of the computer, that programs can still get
	Group     uint64 // that the control group of this process allows, or one above it
}

// Read looks at this computer.
func Read() Info { return read(os.DirFS("/")) }

func read(root fs.FS) (i Info) {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	i.Total, i.Available = meminfo(string(text), "MemTotal:"), meminfo(string(text), "MemAvailable:")
	text, _ = fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		switch f[1] {
		case "":
			i.bound(root, "sys/fs/cgroup", f[2], "memory.max", "memory.high")
		case "memory":
			i.bound(root, "sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes")
		}
	}
	return i
}

// bound takes the least bound of a group and of those above it. In a container the group's
// path may be that of the host, of which only the topmost can be seen.
func (i *Info) bound(root fs.FS, hierarchy, group string, files ...string) {
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		for _, name := range files {
			text, err := fs.ReadFile(root, path.Join(hierarchy, at, name))
			n, bad := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && bad == nil && n > 0 && (i.Total == 0 || n < i.Total) && (i.Group == 0 || n < i.Group) {
				i.Group = n
			}
		}
		if at == "/" {
			return
		}
	}
}

func meminfo(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// mostSoftLimit is the soft limit where there is plenty, in bytes.
const mostSoftLimit = 3 << 30

// SoftLimit returns from how many bytes on a memory server collects garbage harder: 3 GiB,
// half of the computer's memory, whose rest is others', or three quarters of what the
// control group allows, in which ffmpeg may run beside it, whatever is least.
func (i Info) SoftLimit() uint64 {
	limit := uint64(mostSoftLimit)
	if i.Total > 0 {
		limit = min(limit, i.Total/2)
	}
	if i.Group > 0 {
		limit = min(limit, i.Group/4*3)
	}
	return limit
}
