// Package release says what program this is: its version, and the commit and date it
// was built from. packaging/build stamps them; without it they are what the go command
// noted.
//
// It is no public API: several wings share it.
package release

import (
	"runtime/debug"
	"sync"
)

// Set by packaging/build with -ldflags -X.
var (
	version string
	commit  string
	date    string
)

// Info says what program this is.
type Info struct {
	Version string // such as "v0.3.0"; "devel" if it is none
	Commit  string // of the repository; "" if unknown
	Date    string // of the commit, as RFC 3339 writes it; "" if unknown
	Dirty   bool   // there were changes beside the commit
}

// Current returns what this program is.
var Current = sync.OnceValue(func() Info {
	i := Info{Version: version, Commit: commit, Date: date}
	b, ok := debug.ReadBuildInfo()
	if ok {
		if m := b.Main.Version; i.Version == "" && m != "(devel)" {
			i.Version = m
		}
		for _, s := range b.Settings {
			switch {
			case s.Key == "vcs.revision" && i.Commit == "":
				i.Commit = s.Value
			case s.Key == "vcs.time" && i.Date == "":
				i.Date = s.Value
			case s.Key == "vcs.modified" && commit == "":
				i.Dirty = s.Value == "true"
			}
		}
	}
	if i.Version == "" {
		i.Version = "devel"
	}
	return i
})
