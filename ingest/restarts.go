package ingest

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/internal/stamps"
	"github.com/seed-301d4374/engram/ltm/episode"
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
	newOff  time.Duration // of the first stamp after it from its log time
	goesOn  time.Duration // what takes the stamps to where the clock would be, had it gone on
	top, to engram.Time   // of all streams: the latest stamp before, the earliest first one after it
	shift   time.Duration // is added to the stamps since: the runs follow each other
	streams map[streamName]bool
	lead    []stampSample // until the next restart: what the clock reads
}

// restarts are where clocks of a recording went back, in the order of log times.
type restarts struct{ all []*restart }

// streamName names a stream in whichever reader: a topic, or an edge of it.
type streamName struct{ topic, edge string }

// off returns how far stamps of the clock lie after their log times at a log time.
func (r *restart) off(log engram.Time) time.Duration {
	i := sort.Search(len(r.lead), func(i int) bool { return r.lead[i].log >= log })
	if i == len(r.lead) || i > 0 && r.lead[i].log-log > log-r.lead[i-1].log {
		i--
	}
	return r.lead[i].off
}

// shift returns what to add to a stamp of a clock that went back before; ok is false of others.
//
// A clock that went back in one stream did so in all: those with too few messages to tell,
// and those that only began then, are of the clock that they are nearest to.
func (r *restarts) shift(s streamName, stamp, log engram.Time) (shift time.Duration, ok bool) {
	if r == nil {
		return 0, false
	}
	var own *restart
	for _, x := range slices.Backward(r.all) {
		if log < x.at {
			continue
		}
		if (stamp.Sub(log) - x.off(log)).Abs() <= x.by/2 {
			return x.shift, true
		}
		if own == nil && x.streams[s] {
			own = x
		}
	}
	if own == nil {
		return 0, false
	}
	return own.shift, true
}

// add notes that the clock of a stream went back. It did so together with that of others, if it
// reads the same after it.
func (r *restarts) add(s *stampStream, x stamps.Reset) {
	off := x.To.Sub(x.At)
	var of *restart
	for _, o := range r.all {
		if !o.streams[s.name()] && (o.newOff-off).Abs() <= min(o.by, x.By())/2 {
			of = o
		}
	}
	if of == nil {
		if len(r.all) >= maxRestarts {
			return
		}
		of = &restart{at: x.At, by: x.By(), newOff: off, top: x.Top, to: x.To, streams: map[streamName]bool{}}
		r.all = append(r.all, of)
	}
	of.streams[s.name()] = true
	of.at, of.by = min(of.at, x.At), min(of.by, x.By())
	of.top, of.to = max(of.top, x.Top), min(of.to, x.To)
	of.goesOn = max(of.goesOn, x.Before-off)
	if from := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].log >= x.At }); len(s.samples)-from > len(of.lead) {
		of.lead = s.samples[from:]
	}
}

// arrange finds out how far the runs are to be shifted.
func (r *restarts) arrange() {
	r.all = slices.DeleteFunc(r.all, func(x *restart) bool { return len(x.lead) == 0 })
	slices.SortFunc(r.all, func(a, b *restart) int { return cmp.Compare(a.at, b.at) })
	for i, x := range r.all {
		x.shift = max(x.goesOn, x.top.Sub(x.to)+betweenRuns)
		for _, before := range slices.Backward(r.all[:i]) {
			if sameStream(before, x) {
				x.shift += before.shift
				end := sort.Search(len(before.lead), func(i int) bool { return before.lead[i].log >= x.at })
				before.lead = before.lead[:max(end, 1)]
				break
			}
		}
	}
}

// sameStream reports whether two restarts are of one clock.
func sameStream(a, b *restart) bool {
	for s := range a.streams {
		if b.streams[s] {
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
		rt, outs, err := scan.outputs(ch, m.Data)
		if err != nil {
			if ctx.Err() != nil || engram.CodeOf(err) == engram.Unavailable {
				return err
			}
			continue
		}
		for i := range outs {
			if id, err := scan.router.entity(ch, rt, outs[i].fields); err == nil && outs[i].timed && !ch.times.Log {
				if s := scan.clocks.stream(ch, rt, id); s != nil {
					s.course.Follow(outs[i].time, m.LogTime)
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
	return r
}
