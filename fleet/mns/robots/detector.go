package robots

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// sign is what the failure detector knows of a server, from turn to turn. Missed turns are
// those of this process: a process that did not get to run suspects nobody.
type sign struct {
	robot, server string
	addresses     []string
	heard         engram.Time // by this clock
	missed        int         // turns since it was heard
	pause         int         // turns unheard before it was heard last
	suspected     bool
	announced     bool // it is heard because it announces itself
	asking        bool // whether it is up, which is under way
}

// signKey tells servers apart.
type signKey struct{ robot, server string }

// listen is a turn of listening for other servers, and for the backbone.
func (f *others) listen() {
	bytes := f.nc.Stats().InBytes
	var counts map[string]uint64
	if f.o.Heard != nil {
		counts = f.o.Heard()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.countedLocked(counts)
	if bytes != f.fabric.bytes { // it speaks, however slowly
		f.fabric.bytes = bytes
		f.fabricHeardLocked()
	}
	f.turnLocked()
}

// fabric is what is known of whether the backbone is there.
type fabric struct {
	bytes  uint64 // that came from it
	heard  engram.Time
	missed int // turns since it was heard
	cut    bool
}

func (f *others) fabricHeardLocked() {
	f.fabric.heard, f.fabric.missed = engram.Now(), 0
	if f.fabric.cut {
		f.fabric.cut = false
		f.turnedLocked()
		f.wakeWatchesLocked()
	}
}

// echo asks the backbone whether it is there, turn by turn, until ctx ends.
func (f *others) echo(ctx context.Context) {
	turn := time.NewTicker(f.o.Every)
	defer turn.Stop()
	for {
		if f.nc.IsConnected() {
			wait, cancel := context.WithTimeout(ctx, f.o.Lease)
			err := f.nc.FlushWithContext(wait)
			cancel()
			if err == nil {
				f.mu.Lock()
				f.fabricHeardLocked()
				f.mu.Unlock()
			}
		}
		select {
		case <-turn.C:
		case <-ctx.Done():
			return
		}
	}
}

// turnsOf returns how many turns make a duration.
func (f *others) turnsOf(d time.Duration) int { return max(int((d+f.o.Every-1)/f.o.Every), 1) }

// turnLocked is a turn of listening.
func (f *others) turnLocked() {
	changed := false
	if f.fabric.missed++; f.fabric.missed > f.turnsOf(f.o.DetectionTimeout) && !f.fabric.cut {
		f.fabric.cut, changed = true, true
		f.turnedLocked()
	}
	f.expectLocked()
	const most = 64 // are asked at the same time: where a link of many robots is cut, all are suspected
	asking := 0
	for _, s := range f.signs {
		if s.asking {
			asking++
		}
	}
	for key, s := range f.signs {
		if s.robot == f.o.Robot && !s.announced && f.fabric.missed <= 1 && !f.awayLocked() {
			f.heardLocked(key) // a robot without a name announces none: that it is registered is all there is
			continue
		}
		s.missed++
		// One that has a reason to be heard late, such as a link that loses much, is given
		// longer.
		suspected := s.missed > max(f.turnsOf(f.o.DetectionTimeout), 2*s.pause)
		if suspected != s.suspected {
			s.suspected, changed = suspected, true
		}
		if s.missed > f.turnsOf(f.o.DetectionTimeout)/2 && f.o.Alive != nil && !s.asking && asking < most {
			s.asking = true
			asking++
			addresses := s.addresses
			f.done.Go(func() { f.askWhether(key, addresses) })
		}
	}
	if changed {
		f.changedLocked()
	}
}

// expectLocked makes the servers that are listened for those that the names tell of.
func (f *others) expectLocked() {
	expected := map[signKey][]string{}
	for _, p := range f.peers {
		if p.Robot != f.o.Robot {
			expected[signKey{p.Robot, p.Server}] = p.Addresses
		}
	}
	for _, e := range f.following.entries {
		if e.Server != "" {
			expected[signKey{f.o.Robot, e.Server}] = e.Addresses
		}
		for _, c := range e.Copies {
			expected[signKey{f.o.Robot, c.Server}] = c.Addresses
		}
	}
	for server := range f.hosted { // by this process
		delete(expected, signKey{f.o.Robot, server})
	}
	for key := range f.signs {
		if _, ok := expected[key]; !ok {
			delete(f.signs, key)
		}
	}
	for key, addresses := range expected {
		if s := f.signs[key]; s != nil {
			s.addresses = addresses
		} else {
			f.signs[key] = &sign{robot: key.robot, server: key.server, addresses: addresses, heard: engram.Now()}
		}
	}
}

// askWhether asks a server that is not heard whether it is up: the backbone may be what is
// away, and not the server.
func (f *others) askWhether(key signKey, addresses []string) {
	ctx, cancel := context.WithTimeout(f.ctx, f.o.DetectionTimeout)
	err := f.o.Alive(ctx, key.server, addresses)
	cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.signs[key]
	if s == nil {
		return
	}
	if s.asking = false; err == nil {
		f.heardLocked(key)
	}
}

// heardLocked notes that a server was heard.
func (f *others) heardLocked(key signKey) {
	s := f.signs[key]
	if s == nil {
		return
	}
	s.pause = min(s.missed, f.turnsOf(f.o.Lease)/2)
	s.heard, s.missed = engram.Now(), 0
	if s.suspected {
		s.suspected = false
		f.changedLocked()
	}
}

// suspectedSinceLocked returns when a suspected server was heard last; 0 if it is not
// suspected.
func (f *others) suspectedSinceLocked(robot, server string) engram.Time {
	if s := f.signs[signKey{robot, server}]; s != nil && s.suspected {
		return s.heard
	}
	return 0
}
