// Package doctor looks for the usual mistakes in how memory servers are run, and says
// what to do: addresses where nothing answers, sockets and folders that may not be used,
// ports that are taken, disks that are full or slow, clocks that differ, servers of
// different releases or of one name.
//
// It changes nothing, but for a small file that it writes and removes where it measures a
// disk. Every look is bounded in time, so that a doctor always comes to an end.
package doctor

import (
	"errors"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// Level says how bad a finding is.
type Level string

// The levels. A warning is something that works and should not stay so.
const (
	OK      Level = "ok"
	Warn    Level = "warn"
	Problem Level = "problem"
)

// Finding is what the doctor found.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"`        // what was looked at, such as "clock"
	What  string `json:"what"`         // what is there
	Do    string `json:"do,omitempty"` // what to do; empty if it is ok
}

// Findings are all that was found.
type Findings []Finding

// Problems returns how many there are.
func (f Findings) Problems() int {
	n := 0
	for _, one := range f {
		if one.Level == Problem {
			n++
		}
	}
	return n
}

func (f *Findings) ok(check, what string)       { *f = append(*f, Finding{OK, check, what, ""}) }
func (f *Findings) warn(check, what, do string) { *f = append(*f, Finding{Warn, check, what, do}) }
func (f *Findings) problem(check, what, do string) {
	*f = append(*f, Finding{Problem, check, what, do})
}

// Options say how the doctor looks.
type Options struct {
	Dial    rpc.DialOptions    // how servers are reached
	Version string             // of this program
	Now     func() engram.Time // nil means the wall clock
	Timeout time.Duration      // of each look at another process; default 3 s
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = engram.Now
	}
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Second
	}
	return o
}

// cause returns the last line of an error's reasons: what the system said.
func cause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
