package wal

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// Unwritten is what was acknowledged as logged and the disk refuses: it is in RAM alone. It
// is by provider segment.
type Unwritten map[engram.ID]wm.Loss

// Versions returns how many versions it is.
func (u Unwritten) Versions() (n uint64) {
	for _, of := range u {
		n += of.Snapshots
	}
	return n
}

// unwrittenOf returns what records hold that are in no file. after is when the last one
// arrived that is on the disk: those of a commit arrive at once, and who finds one of that
// time later does not know whether it is of these.
func unwrittenOf(memory string, records []*Entry, after engram.Time) Unwritten {
	var all Unwritten
	known := newNames(memory)
	for _, e := range records {
		meta := e.meta[frameSize:]
		if e.again || Kind(meta[0]) != KindSnapshot {
			continue
		}
		p := &parser{b: meta[1:]}
		at, arrived := engram.Time(p.uint64()), max(engram.Time(p.uint64()), after+1)
		raw := p.b
		parts := [3][]byte{p.text(), p.text(), p.text()}
		id, err := known.entity(raw[:len(raw)-len(p.b)], parts)
		if err != nil {
			continue // it was made of an ID
		}
		if all == nil {
			all = Unwritten{}
		}
		provider := id.Truncate(engram.LevelProviderSegment)
		of, before := all[provider]
		if !before {
			of = wm.Loss{First: at, Last: at, Arrived: arrived}
		}
		of.Evictions, of.Snapshots = of.Evictions+1, of.Snapshots+1
		of.First, of.Last, of.Arrived = min(of.First, at), max(of.Last, at), min(of.Arrived, arrived)
		all[provider] = of
	}
	return all
}

// Unwritten returns what was acknowledged as logged and is in no file of the log: what the
// disk refuses, and what Close could not write.
func (l *Log) Unwritten() Unwritten {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.unwritten
}
