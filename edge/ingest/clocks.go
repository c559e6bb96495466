package ingest

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/stamps"
)

// TimeRule says which times the messages of some topics get.
type TimeRule struct {
	Topic string // a glob, as in a [Rule]
	// Log takes the log times, whatever the stamps are.
	Log    bool
	Offset time.Duration // is added
}

// timesOf returns what the rules say of a topic, all that fit taken together, and notes
// which fit.
func timesOf(rules []TimeRule, used []bool, topic string) (t TimeRule) {
	for i, r := range rules {
		if glob(r.Topic, topic) {
			used[i] = true
			t.Log = t.Log || r.Log
			t.Offset += r.Offset
		}
	}
	return t
}

// How far the times of a topic may lie from those of the others, measured by the log times,
// before their clocks are taken to differ. Nothing makes stamps later but another clock;
// the sweep of a sensor, processing and transport make them earlier.
const (
	ClockTolerance = 100 * time.Millisecond
	DelayTolerance = 250 * time.Millisecond
)

// Of clocks.
const (
	// Publishers of transforms stamp them ahead on purpose, so that they are there in time.
	maxAheadOfTransforms = time.Second
	maxScatter           = time.Second // of stamps about the median of their topic
	maxBack              = time.Second // of log times, by the caches of recorders
	minStamps            = 3           // of fewer messages nothing is said
	maxStampStreams      = 4096        // more are not looked at
	maxStampSamples      = 1024        // of each
	minScattered         = 3           // stamps, and one of
	scatteredShare       = 20
)

// ClockFault is a way in which the times of topics do not fit the others.
type ClockFault int

// The faults of clocks.
const (
	// ClockOff: the times lie By after the others', before them if it is negative.
	ClockOff ClockFault = iota
	// ClockDrifts: the times move by By against the log times in the course of the recording.
	ClockDrifts
	// ClockScatters: many stamps lie more than a second from most of their topic; By is
	// how far the farthest does.
	ClockScatters
	// ClockZero: Count stamps are zero; these messages have their log times.
	ClockZero
	// ClockLogBack: the log times of the recording go back, by up to By.
	ClockLogBack
	// ClockBack: the stamps go back by up to By, from From, the first time at the log time At,
	// and go on from there, as those of a simulation that begins anew. Times that are there already
	// would be those of two runs, so Count updates from there on stand later than their stamps,
	// by Shifts, one for each time: the runs follow each other.
	//
	// Without Shifts they go back by less than a second with no pause before, and all stand as they are:
	// two moments have one time.
	ClockBack
)

var clockFaults = [...]string{"off", "drifts", "scatters", "zero stamps", "log times go back", "stamps go back"}

func (f ClockFault) String() string { return clockFaults[f] }

// ClockFinding tells of topics whose times do not fit those of the others.
type ClockFinding struct {
	Fault   ClockFault
	Topics  []string // of an edge of the transform tree "topic (parent,child)"
	By      time.Duration
	Count   uint64 // of zero stamps, or of updates that stand later than their stamps
	From    engram.Time
	At      engram.Time
	Shifts  []time.Duration
	LogTime bool // the topics have log times, for want of stamps or as they were asked for
	// Edges says that these are some of the transforms of a topic, others of which fit.
	Edges bool
	// Mend is the [TimeRule.Offset] with which they would fit, together with TimeRule.Log
	// unless the fault is ClockOff and not of Edges.
	Mend time.Duration
}

// stampKey is what has stamps of one clock: a topic, an edge of the transform tree.
type stampKey struct {
	topic *TopicReport
	edge  engram.ID
}

// stampStream is what is known of the stamps of one of them.
type stampStream struct {
	topic   *TopicReport
	edge    string
	pose    bool
	static  bool // its transforms hold until others are said: they are stamped at any time
	rule    TimeRule
	logged  uint64 // messages without stamps
	stamped uint64
	course  stamps.Course
	reset   uint64 // messages whose clock went back
	samples []stampSample
	every   uint64        // which of the stamps are sampled
	middle  time.Duration // how far the times lie from their log times, once all are known
}

// stampSample is how far a time lies from its log time.
type stampSample struct {
	log engram.Time
	off time.Duration
}

// clocks compares the times that messages get with their log times: the recorder's clock
// is the one that all topics have in common.
type clocks struct {
	streams map[stampKey]*stampStream
	order   []*stampStream
	latest  engram.Time   // log time
	logBack time.Duration // how far log times went back
}

// log notes the log time of a message.
func (c *clocks) log(t engram.Time) {
	c.latest = max(c.latest, t)
	c.logBack = max(c.logBack, c.latest.Sub(t))
}

// stream returns what is known of the stamps that entities of a route get; nil if nothing
// is said of them.
func (c *clocks) stream(ch *channel, rt *route, entity engram.ID) *stampStream {
	key := stampKey{topic: ch.report}
	if rt.edge {
		key.edge = entity
	}
	s := c.streams[key]
	if s == nil {
		if len(c.order) >= maxStampStreams {
			return nil
		}
		s = &stampStream{topic: ch.report, edge: key.edge.Entity(), pose: rt.core.Memory() == poseMemory, static: rt.rule.Set["is_static"] == true, rule: ch.times, every: 1}
		if c.streams == nil {
			c.streams = map[stampKey]*stampStream{}
		}
		c.streams[key] = s
		c.order = append(c.order, s)
	}
	return s
}

func (s *stampStream) name() streamName { return streamName{s.topic.Topic, s.edge} }

// follow follows the clock of a stamp, unless stamps at any time are right.
func (s *stampStream) follow(stamp, log engram.Time) {
	if !s.static {
		s.course.Follow(stamp, log)
	}
}

// note notes a stamp, and the time that stands for it.
func (s *stampStream) note(at, log engram.Time) {
	if s.stamped%s.every == 0 {
		if len(s.samples) == maxStampSamples {
			for i := range maxStampSamples / 2 {
				s.samples[i] = s.samples[2*i]
			}
			s.samples, s.every = s.samples[:maxStampSamples/2], 2*s.every
		}
		if s.stamped%s.every == 0 {
			s.samples = append(s.samples, stampSample{log, at.Sub(log)})
		}
	}
	s.stamped++
}

// poseMemory is what the other topics are compared with, if the recording has of it: the
// poses of their data are looked up there.
const poseMemory = "RobotState"

func medianOf(samples []stampSample) time.Duration {
	off := make([]time.Duration, len(samples))
	for i, x := range samples {
		off[i] = x.off
	}
	slices.Sort(off)
	return off[len(off)/2]
}

// drift returns how far the stamps move against the log times, from the first quarter to
// the last.
func (s *stampStream) drift() time.Duration {
	n := len(s.samples) / 4
	if n < minStamps {
		return 0
	}
	return medianOf(s.samples[len(s.samples)-n:]) - medianOf(s.samples[:n])
}

// scatter returns how far the farthest stamp lies from the median, if many lie far.
func (s *stampStream) scatter() (farthest time.Duration) {
	m, far := s.middle, 0
	for _, x := range s.samples {
		if d := x.off - m; d.Abs() > maxScatter {
			far++
			if d.Abs() > farthest.Abs() {
				farthest = d
			}
		}
	}
	if far < minScattered || far*scatteredShare < len(s.samples) {
		return 0
	}
	return farthest
}

// find returns what does not fit, and how far the times of most lie from the log times.
func (c *clocks) find(r *restarts) (findings []ClockFinding, reference time.Duration) {
	if c.logBack > maxBack {
		findings = append(findings, ClockFinding{Fault: ClockLogBack, By: c.logBack})
	}
	if f, ok := c.back(r); ok {
		findings = append(findings, f)
	}
	if f, ok := c.steps(); ok {
		findings = append(findings, f)
	}
	var judged []*stampStream
	for _, s := range c.order {
		if s.middle = s.rule.Offset; s.stamped > 0 {
			s.middle = medianOf(s.samples)
		}
		if !s.static && s.stamped+s.logged+s.reset >= minStamps {
			judged = append(judged, s)
		}
	}
	reference, ok := referenceOf(judged)
	if !ok {
		return findings, 0
	}
	type found struct {
		stream *stampStream
		ClockFinding
	}
	var all []found
	add := func(s *stampStream, f ClockFinding) { all = append(all, found{s, f}) }
	for _, s := range judged {
		if s.stamped > 0 && s.logged > 0 {
			add(s, ClockFinding{Fault: ClockZero, Count: s.logged, LogTime: true})
		}
		if far := s.scatter(); far != 0 {
			add(s, ClockFinding{Fault: ClockScatters, By: far, Mend: reference})
			continue
		}
		if d := s.drift(); d.Abs() > ClockTolerance {
			add(s, ClockFinding{Fault: ClockDrifts, By: d, Mend: reference})
			continue
		}
		switch by := s.middle - reference; {
		case by.Abs() <= ClockTolerance, by < 0 && by >= -DelayTolerance && s.stamped > 0:
		case by > 0 && by <= maxAheadOfTransforms && s.edge != "":
		default:
			add(s, ClockFinding{Fault: ClockOff, By: by, LogTime: s.stamped == 0, Mend: s.rule.Offset - by})
		}
	}
	// What differs by as much is told together.
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), compareBool(a.LogTime, b.LogTime), cmp.Compare(a.By, b.By))
	})
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].Fault == all[i].Fault && all[j].LogTime == all[i].LogTime &&
			(all[i].Fault != ClockOff || all[j].By-all[i].By <= ClockTolerance) {
			j++
		}
		group := all[i:j]
		slices.SortStableFunc(group, func(a, b found) int { return cmp.Compare(a.By.Abs(), b.By.Abs()) })
		typical := group[len(group)/2].ClockFinding // or the farthest
		if typical.Fault != ClockOff {
			typical = group[len(group)-1].ClockFinding
		}
		typical.Count = 0
		in := map[*stampStream]bool{}
		for _, f := range group {
			typical.Count += f.Count
			in[f.stream] = true
		}
		typical.Topics, typical.Edges = namesOf(in, judged)
		if typical.Edges {
			typical.Mend = reference
		}
		findings = append(findings, typical)
		i = j
	}
	return findings, reference
}

// back tells where clocks went back.
func (c *clocks) back(r *restarts) (f ClockFinding, ok bool) {
	f = ClockFinding{Fault: ClockBack, At: engram.MaxTime}
	in := map[*stampStream]bool{}
	for _, s := range c.order {
		if s.reset > 0 {
			in[s], f.Count = true, f.Count+s.reset
		}
	}
	if len(in) == 0 {
		return f, false
	}
	for _, x := range r.all {
		if f.At = min(f.At, x.at); x.by > f.By {
			f.By, f.From = x.by, x.top
		}
		f.Shifts = append(f.Shifts, x.shift)
	}
	f.Topics, f.Edges = namesOf(in, c.order)
	return f, true
}

// steps tells where clocks went back by so little that no run is told from late messages.
func (c *clocks) steps() (f ClockFinding, ok bool) {
	f = ClockFinding{Fault: ClockBack}
	in := map[*stampStream]bool{}
	for _, s := range c.order {
		step, ok := s.course.Step()
		if !ok || step.By() <= ClockTolerance {
			continue
		}
		if in[s] = true; step.By() > f.By {
			f.By, f.From, f.At = step.By(), step.Top, step.At
		}
	}
	if len(in) == 0 {
		return f, false
	}
	f.Topics, f.Edges = namesOf(in, c.order)
	return f, true
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// namesOf returns the names of streams: of a topic of which all are in, the topic's; and
// whether there are others.
func namesOf(in map[*stampStream]bool, judged []*stampStream) (names []string, edges bool) {
	for _, s := range judged {
		whole := !slices.ContainsFunc(judged, func(o *stampStream) bool { return o.topic == s.topic && !in[o] })
		switch {
		case !in[s]:
		case whole || s.edge == "":
			names = append(names, s.topic.Topic)
		default:
			names, edges = append(names, s.topic.Topic+" ("+s.edge+")"), true
		}
	}
	slices.Sort(names)
	return slices.Compact(names), edges
}

// referenceOf returns how far the times of most topics lie from their log times: of those
// with poses, if there are any, else of those with stamps. The edges of a transform tree
// count together as one topic.
func referenceOf(streams []*stampStream) (offset time.Duration, ok bool) {
	for _, fits := range []func(*stampStream) bool{
		func(s *stampStream) bool { return s.pose },
		func(s *stampStream) bool { return s.stamped > 0 },
	} {
		var of []*stampStream
		edges := map[*TopicReport]int{}
		for _, s := range streams {
			if fits(s) && s.scatter() == 0 {
				of = append(of, s)
				edges[s.topic]++
			}
		}
		slices.SortStableFunc(of, func(a, b *stampStream) int { return cmp.Compare(a.middle, b.middle) })
		best := 0.0
		for i, s := range of { // of equal votes the earliest, since transforms may be stamped ahead
			near, votes := of[i:], 0.0
			for j, o := range near {
				if o.middle-s.middle > 2*ClockTolerance {
					near = near[:j]
					break
				}
				votes += 1 / float64(edges[o.topic])
			}
			if votes > best+1e-9 {
				best, offset = votes, near[0].middle
				half := 0.0
				for _, o := range near {
					if half += 1 / float64(edges[o.topic]); half >= votes/2-1e-9 {
						offset = o.middle
						break
					}
				}
			}
		}
		if len(of) > 0 {
			return offset, true
		}
	}
	return 0, false
}
