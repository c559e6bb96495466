package mns

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-301d4374/engram"
)

// TakeoverTime is how long a takeover of a name may take on a busy computer: from when its
// server has left to when a standby, or that server after its restart, has registered it.
// So long the name is Unavailable to who asks for it; then it is NotFound.
const TakeoverTime = 15 * time.Second

// Left is the cause of the Unavailable error for a name that was hosted until a moment ago.
type Left struct {
	Memory string
	Server string    // that hosted it; "" if that is not known
	At     time.Time // when the server left; zero if that is not known
}

// HasLeft returns the [Left] that an error of a registry of this process is about.
func HasLeft(err error) (*Left, bool) { return errors.AsType[*Left](err) }

// Error implements error.
func (l *Left) Error() string {
	ago, server := "a moment ago", "a server"
	if since := time.Since(l.At).Round(time.Second); !l.At.IsZero() && since > 0 {
		ago = fmt.Sprintf("%d s ago", since/time.Second)
	}
	if l.Server != "" {
		server = fmt.Sprintf("server %q", short(l.Server))
	}
	return fmt.Sprintf("%s hosted the memory until %s, and no other has taken it over yet; try again, or wait for it", server, ago)
}

// Unavailable returns the error for the name.
func (l *Left) Unavailable() error {
	return engram.Errorf(engram.Unavailable, short(l.Memory), "%w", l)
}

// Departures remember for [TakeoverTime] which server hosted a name. There are at most
// [MaxEntries] of them; the oldest are forgotten first. The zero value has none. Not safe
// for concurrent use.
type Departures struct {
	latest map[string]*Left
	order  []*Left // the oldest first
}

// Note remembers that a server hosted a memory until now.
func (d *Departures) Note(memory, server string) {
	d.expire(MaxEntries - 1)
	if d.latest == nil {
		d.latest = map[string]*Left{}
	}
	l := &Left{Memory: memory, Server: server, At: time.Now()}
	d.latest[memory] = l
	d.order = append(d.order, l)
}

// Of returns who hosted a memory until a moment ago; nil if nobody did.
func (d *Departures) Of(memory string) *Left {
	d.expire(MaxEntries)
	return d.latest[memory]
}

// Unknown is the error for a name that is not registered: Unavailable if it was a moment
// ago, else that of [Unknown].
func (d *Departures) Unknown(memory string, known []string) error {
	if l := d.Of(memory); l != nil {
		return l.Unavailable()
	}
	return Unknown(memory, known)
}

// expire forgets what is too old, and the oldest beyond most.
func (d *Departures) expire(most int) {
	for len(d.order) > 0 && (len(d.order) > most || time.Since(d.order[0].At) >= TakeoverTime) {
		if l := d.order[0]; d.latest[l.Memory] == l {
			delete(d.latest, l.Memory)
		}
		d.order[0] = nil
		d.order = d.order[1:]
	}
}
