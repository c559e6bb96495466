// Package procfs reads Linux's proc file system (proc(5)), and files like its. What is not
// there or cannot be read has no lines and no sizes.
package procfs

import (
	"bytes"
	"io/fs"
	"iter"
	"strconv"
	"strings"
)

// Lines yields a file's lines, without white space around them.
func Lines(f fs.FS, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		b, err := fs.ReadFile(f, name)
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

// MemoryInfo returns the sizes of /proc/meminfo in bytes, by name, such as "MemAvailable".
func MemoryInfo(proc fs.FS) map[string]int64 {
	info := map[string]int64{}
	for line := range Lines(proc, "meminfo") {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); len(f) == 2 && f[1] == "kB" {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			info[name] = n << 10
		}
	}
	return info
}
