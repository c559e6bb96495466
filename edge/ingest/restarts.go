package ingest

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/stamps"
)

// Of runs of a clock that went back.
const (
	// So far the runs lie apart at least: poses further apart than a second are not interpolated.
	betweenRuns = time.Second + time.Millisecond
	maxRestarts = 1 << 12
)

// restart is where a clock went back, in all streams whose stamps are of it.
type restart struct {
	at      engram.Time
	by      time.Duration
	reach   time.Duration // how far a stamp may lie from what the clock reads: less is nearer to it than to the clock before
	newOff  time.Duration // of the first stamp after it from its log time
	top, to engram.Time   // of all streams: the latest stamp before, the earliest first one after it
	shift   time.Duration // is added to the stamps since: the runs follow each other
	streams map[streamName]reset
	before  []stampSample       // what the clock read before
	was     time.Duration       // at the end of that
	lead    []stampSample       // what it reads from the restart to the next one; never empty
	others  map[streamName]bool // of a clock that read the same already
}

// reset is where the clock of a stream went back.
type reset struct {
	stamps.Reset
	samples []stampSample // of the stream
}

// fell returns how far the stamps lie farther behind their log times than before: as far as they went back, and the pause.
func (x reset) fell() time.Duration { return x.Before - x.To.Sub(x.At) }

// reach returns half of how far the stamps went back. After a pause, less may tell.
func (x reset) reach() time.Duration {
	return max(x.By(), min(x.fell(), 2*stamps.MaxLate)) / 2
}

// restarts are where clocks of a recording went back, in the order of log times.
type restarts struct{ all []*restart }

// streamName names a stream in whichever reader: a topic, or an edge of it.
type streamName struct{ topic, edge string }

func (n streamName) compare(o streamName) int {
	return cmp.Or(cmp.Compare(n.topic, o.topic), cmp.Compare(n.edge, o.edge))
}

// off returns how far stamps of the clock lie after their log times at a log time.
func (r *restart) off(log engram.Time) time.Duration {
	i := since(r.lead, log)
	if i == len(r.lead) || i > 0 && r.lead[i].log-log > log-r.lead[i-1].log {
		i--
	}
	return r.lead[i].off
}

// since returns which sample is the first one from a log time on.
func since(samples []stampSample, log engram.Time) int {
	return sort.Search(len(samples), func(i int) bool { return samples[i].log >= log })
}

// has reports whether a stamp is one of the clock since it went back. One that is static may be of any
// moment since.
func (r *restart) has(static bool, stamp, log engram.Time) bool {
	ahead := stamp.Sub(log) - r.off(log)
	if static {
		return ahead <= r.reach && stamp >= r.to.Add(-stamps.MaxLate)
	}
	return ahead.Abs() <= r.reach
}

// hadBefore reports whether a stamp is rather one of the clock before it went back, of a message that is late.
func (r *restart) hadBefore(stamp, log engram.Time) bool {
	off := stamp.Sub(log)
	return stamp <= r.top.Add(stamps.MaxLate) && (off-r.was).Abs() < (off-r.off(log)).Abs()
}

// shift returns what to add to a stamp of a clock that went back before; ok is false of others.
//
// A clock that went back in one stream did so in all: those with too few messages to tell,
// and those that only began then, are of the clock that they are nearest to.
func (r *restarts) shift(s *stampStream, stamp, log engram.Time) (shift time.Duration, ok bool) {
	if r == nil {
		return 0, false
	}
	var own *restart
	for _, x := range slices.Backward(r.all) {
		if log < x.at || x.others[s.name()] {
			continue
		}
		if x.has(s.static, stamp, log) {
			return x.shift, true
		}
		if own == nil && x.in(s) && !x.hadBefore(stamp, log) {
			own = x
		}
	}
	if own == nil {
		return 0, false
	}
	return own.shift, true
}

// in reports whether the clock was seen to go back in a stream.
func (r *restart) in(s *stampStream) bool {
	_, ok := r.streams[s.name()]
	return ok
}

// add notes that the clock of a stream went back. It did so together with that of others, if it
// reads the same after it.
func (r *restarts) add(s *stampStream, at stamps.Reset) {
	x := reset{at, s.samples}
	off := x.To.Sub(x.At)
	var of *restart
	for _, o := range r.all {
		if (o.newOff-off).Abs() <= min(o.reach, x.reach()) && !o.in(s) {
			of = o
		}
	}
	if of == nil {
		if len(r.all) >= maxRestarts {
			return
		}
		of = &restart{at: x.At, by: x.By(), reach: x.reach(), newOff: off, to: x.To, streams: map[streamName]reset{}}
		r.all = append(r.all, of)
	}
	of.streams[s.name()] = x
	of.at, of.to = min(of.at, x.At), min(of.to, x.To)
	of.by, of.reach = min(of.by, x.By()), min(of.reach, x.reach())
}

// arrange finds out what the clocks read, and how far the runs are to be shifted.
func (r *restarts) arrange() {
	slices.SortFunc(r.all, func(a, b *restart) int { return cmp.Compare(a.at, b.at) })
	for i, x := range r.all {
		var last *restart
		for _, b := range slices.Backward(r.all[:i]) {
			if sameClock(b, x) {
				last = b
				break
			}
		}
		names := slices.SortedFunc(maps.Keys(x.streams), streamName.compare)
		if last != nil { // others have nothing of the run between
			names = slices.DeleteFunc(names, func(n streamName) bool { _, ok := last.streams[n]; return !ok })
		}
		x.top = x.streams[names[0]].Top
		var goesOn time.Duration // what takes the stamps to where the clock would be, had it gone on
		for _, n := range names {
			s := x.streams[n]
			x.top, goesOn = max(x.top, s.Top), max(goesOn, s.fell())
			if from := since(s.samples, s.At); x.lead == nil || len(s.samples)-from > len(x.lead) {
				x.before, x.was, x.lead = s.samples[:from], s.Before, s.samples[from:]
			}
		}
		if x.shift = max(goesOn, x.top.Sub(x.to)+betweenRuns); last != nil {
			x.shift += last.shift
			last.lead = last.lead[:since(last.lead, x.at)]
		}
	}
	for _, x := range r.all {
		x.lead = smooth(slices.Concat([]stampSample{{x.at, x.newOff}}, x.lead))
	}
}

// around is how many samples on each side tell what a clock reads; a late message does not.
const around = 2

// smooth returns the samples without those that stand alone.
func smooth(samples []stampSample) []stampSample {
	out := slices.Clone(samples)
	for i := range out {
		out[i].off = medianAround(samples, i)
	}
	return out
}

func medianAround(samples []stampSample, i int) time.Duration {
	return medianOf(samples[max(i-around, 0):min(i+around+1, len(samples))])
}

// readsOn reports whether a stream is of another clock, which went on as it was when this one came to read the same.
func (r *restart) readsOn(s *stampStream) bool {
	i := since(s.samples, r.at)
	if i == 0 || r.in(s) {
		return false
	}
	near := s.samples[max(i-2*around, 0):i]
	then, now := medianOf(near), r.newOff
	if after := s.samples[i:min(i+2*around, len(s.samples))]; len(after) > 0 {
		now = medianOf(after)
	}
	was := r.was
	if j := since(r.before, near[len(near)/2].log); j < len(r.before) {
		was = medianAround(r.before, j)
	}
	return (now-then).Abs() <= min(r.reach, stamps.MaxLate) && (then-was).Abs() > r.reach
}

// sameClock reports whether two restarts are of one clock.
func sameClock(a, b *restart) bool {
	for s := range a.streams {
		if _, ok := b.streams[s]; ok {
			return true
		}
	}
	return false
}

// findRestarts reads all stamps of the recording, once one goes back: only those after it
// tell whether a clock went back, or a message is late.
func (im *importer) findRestarts(ctx context.Context) error {
	rec, err := recording.Open(im.report.File)
	if err != nil {
		return err
	}
	defer rec.Close()
	scan := &importer{rec: rec, router: newRouter(ctx, im.router.dst, &im.o, im.report.File)}
	scan.router.probes = true
	for n := 0; ; n++ {
		if n%progressEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m, err := rec.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if im.own != nil {
			if _, own := episode.IdentityOf(m.Channel.Topic, m.Channel.Metadata); own || episode.IsEnvelopes(m.Channel.Topic, m.Channel.Type) {
				continue
			}
		}
		ch := scan.router.channel(m.Channel)
		rt, outs, err := scan.outputs(ch, &m)
		if err != nil {
			if ctx.Err() != nil || engram.CodeOf(err) == engram.Unavailable {
				return err
			}
			continue
		}
		for i := range outs {
			if id, err := scan.router.entity(ch, rt, outs[i].fields); err == nil && outs[i].timed && !ch.times.Log {
				if s := scan.clocks.stream(ch, rt, id); s != nil {
					s.follow(outs[i].time, m.LogTime)
					s.note(outs[i].time, m.LogTime)
				}
			}
		}
	}
	im.restarts = scan.clocks.restarts()
	return nil
}

// restarts returns where the clocks of the streams went back, once all stamps are known.
func (c *clocks) restarts() *restarts {
	r := &restarts{}
	for _, s := range c.order {
		for _, x := range s.course.End() {
			r.add(s, x)
		}
	}
	r.arrange()
	for _, x := range r.all {
		x.others = map[streamName]bool{}
		for _, s := range c.order {
			if x.readsOn(s) {
				x.others[s.name()] = true
			}
		}
	}
	return r
}
