package ingest

import (
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// SignalReport tells what resampling made of one signal in one episode.
type SignalReport struct {
	Episode int
	Feature string // of the data set
	Entity  engram.ID
	Samples int // there were, from the one in force at the beginning on
	Frames  int
	Held    int // frames that have the same sample as the frame before
	Dropped int // samples that no frame has
	Ahead   int // frames that have a sample of after their time
	// MaxError is the longest time between a frame and its sample.
	MaxError time.Duration
	// Gaps between samples are those of more than three usual intervals and of more than two frames.
	Gaps       int
	LongestGap time.Duration
}

// sameTime is how far apart times may be that count as one: LeRobot's tolerance for the times of frames.
const sameTime = 100 * time.Microsecond

// clock has the times of an episode's frames: so many in a second from the start on.
type clock struct {
	start engram.Time
	fps   int
}

func (c clock) tick(n int) engram.Time {
	return c.start.Add(time.Duration(n/c.fps)*time.Second + time.Duration(n%c.fps)*time.Second/time.Duration(c.fps))
}

func (c clock) period() time.Duration { return time.Second / time.Duration(c.fps) }

// lane is a signal on its way to the clock: it keeps the samples that the next frame may have.
type lane struct {
	feature string
	entity  engram.ID
	usual   time.Duration // interval between samples
	queue   []laneSample
	newest  engram.Time
	report  SignalReport
}

type laneSample struct {
	time    engram.Time
	payload engram.Payload
	taken   bool
}

// add takes a sample; next is the time of the next frame, which no earlier sample than the last before
// it can be for.
func (l *lane) add(s laneSample, next engram.Time, period time.Duration) {
	if l.report.Samples++; l.report.Samples > 1 {
		gap := s.time.Sub(l.newest)
		if gap > 3*l.usual && gap > 2*period {
			l.report.Gaps++
			l.report.LongestGap = max(l.report.LongestGap, gap)
		}
	}
	l.newest = s.time
	if s.time <= next.Add(sameTime) {
		l.drop(len(l.queue))
	}
	l.queue = append(l.queue, s)
}

// drop removes the first n samples.
func (l *lane) drop(n int) {
	for _, s := range l.queue[:n] {
		if !s.taken {
			l.report.Dropped++
		}
	}
	l.queue = slices.Delete(l.queue, 0, n)
}

// take returns the sample of a frame: the one in force or, if nearest, one that comes sooner after the
// frame than that one was before. fresh reports whether no earlier frame had it.
func (l *lane) take(at engram.Time, nearest bool) (s laneSample, fresh bool, err error) {
	i := -1
	for i+1 < len(l.queue) && l.queue[i+1].time <= at.Add(sameTime) {
		i++
	}
	if i < 0 {
		return s, false, engram.Errorf(engram.Internal, l.entity.String(), "has no sample at %s", at)
	}
	if nearest && i+1 < len(l.queue) && l.queue[i+1].time.Sub(at) < at.Sub(l.queue[i].time) {
		i++
	}
	l.drop(i)
	s = l.queue[0]
	fresh, l.queue[0].taken = !s.taken, true
	r := &l.report
	r.Frames++
	if !fresh {
		r.Held++
	}
	if s.time > at.Add(sameTime) {
		r.Ahead++
	}
	r.MaxError = max(r.MaxError, at.Sub(s.time), s.time.Sub(at))
	return s, fresh, nil
}

// medianInterval returns the usual interval between times, which are in order; 0 of fewer than two.
func medianInterval(times []engram.Time) time.Duration {
	var all []time.Duration
	for i := 1; i < len(times); i++ {
		all = append(all, times[i].Sub(times[i-1]))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
