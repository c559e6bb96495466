package mainmem

import (
	"testing"
	"testing/fstest"
)

// The least of all bounds that hold counts, of either version of control groups, in a
// container too; what cannot be read bounds nothing.
func TestRead(t *testing.T) {
	const machine = "MemTotal:        8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		group uint64
		soft  uint64
	}{
		"no group":        {map[string]string{}, 0, 3 << 30},
		"no bound":        {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0, 3 << 30},
		"its own":         {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.max": "max"}, 2 << 30, 3 << 29},
		"one above":       {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.max": "1073741824"}, 1 << 30, 3 << 28},
		"the high mark":   {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.high": "1073741824"}, 1 << 30, 3 << 28},
		"a container":     {map[string]string{"proc/self/cgroup": "0::/../../docker/x\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30, 3 << 28},
		"version 1":       {map[string]string{"proc/self/cgroup": "4:memory:/a\n3:cpu:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, 1 << 30, 3 << 28},
		"version 1, none": {map[string]string{"proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 0, 3 << 30},
		"more than that":  {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "99999999999\n"}, 0, 3 << 30},
		"a small one":     {map[string]string{"proc/meminfo": "MemTotal: 2097152 kB\n"}, 0, 1 << 30},
		"damaged":         {map[string]string{"proc/meminfo": "MemTotal:\n", "proc/self/cgroup": "0\n::\n0::\n"}, 0, 3 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/meminfo": {Data: []byte(machine)}}
			for file, text := range c.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if i := read(root); i.Group != c.group || i.SoftLimit() != c.soft {
				t.Errorf("%+v, soft limit %d", i, i.SoftLimit())
			}
		})
	}
	if i := read(fstest.MapFS{}); i != (Info{}) || i.SoftLimit() != mostSoftLimit {
		t.Errorf("where nothing is known: %+v", i)
	}
}
