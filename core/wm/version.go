package wm

import (
	"sync/atomic"

	"github.com/seed-301d4374/engram"
)

// version is one stored state of an entity at one time: a snapshot, or a
// superseded version of one. It is one allocation together with its instance, if
// there is only one.
type version struct {
	engram.Snapshot
	older  atomic.Pointer[version] // the version it superseded; evictedVersion if that is gone
	entity *entity

	holders atomic.Int32 // how many queues it waits in, and whether the memory left it; see pins

	// The WM's lock protects what follows.
	newer         *version // the version that superseded it
	oldest        *version // of the current version: the oldest retained one it superseded
	before, after *version // neighbours in its versionList

	inline [1]engram.Instance
}

// evictedVersion stands where a superseded version was and was evicted.
var evictedVersion = &version{}

// newVersion copies what an entity update holds; payloads' bytes are kept, not
// copied. The types are set by the caller.
func newVersion(u *engram.EntityUpdate) *version {
	v := &version{}
	v.Time = u.Time
	if len(u.Instances) == 1 {
		v.inline[0] = u.Instances[0]
		v.Instances = v.inline[:]
	} else {
		v.Instances = append([]engram.Instance(nil), u.Instances...)
	}
	return v
}

// counted returns what the version counts for as a snapshot's only one.
func (v *version) counted() *counters {
	return &counters{snapshots: 1, instances: uint64(len(v.Instances)), bytes: int64(v.Size()), cost: versionCost(v.Size(), len(v.Instances))}
}

// versionList is a doubly linked list of versions.
type versionList struct{ first, last *version }

func (l *versionList) push(v *version) {
	v.before, v.after = l.last, nil
	if l.last == nil {
		l.first = v
	} else {
		l.last.after = v
	}
	l.last = v
}

func (l *versionList) remove(v *version) {
	if v.before == nil {
		l.first = v.after
	} else {
		v.before.after = v.after
	}
	if v.after == nil {
		l.last = v.before
	} else {
		v.after.before = v.before
	}
	v.before, v.after = nil, nil
}
