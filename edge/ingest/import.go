package ingest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// Destination is what an import needs of a memory. Commits go through a pipeline
// if it is an engram.CommitStreamer too.
type Destination interface {
	engram.Writer
	engram.Segments
	engram.Types
}

// Options of an import.
type Options struct {
	// Source is the name of the provider segments; "" means the file's name without
	// extension, or the folder's.
	Source  string
	Mapping *Mapping // nil means [DefaultMapping]
	// Times say of which topics the times are not the stamps as they are.
	Times []TimeRule
	// Mark, if it is not nil, has a memory's long-term memory set a mark, whose label it
	// gives. It is called before something is committed that no mark of this import keeps,
	// for a new one or with one that keeps more; so all of the recording is on disk whatever
	// the policies say, but where they say never. An error ends the import.
	Mark func(ctx context.Context, memory string, m episode.Mark) error
	// Rate replays the recording at its own pace times this factor; 0 imports as
	// fast as possible.
	Rate float64
	// Progress is called every now and then with how much has been dealt with: bytes
	// of the recording, or with a Rate, where the recording's time span is known
	// beforehand, nanoseconds of it.
	Progress func(done, total int64)
}

// SourceName returns the provider segments' name for a recording that is given no
// other.
func SourceName(path string) string {
	path = filepath.Clean(path)
	if filepath.Base(path) == "metadata.yaml" {
		path = filepath.Dir(path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	base := recording.Unpacked(filepath.Base(path))
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

// Import reads the recording at path and commits it to dst. The report tells what
// became of each topic, and [Report.Lossy] whether something is missing; it is
// also returned with an error, with what was done until then, once the recording
// could be opened. The errors are those of [recording.Open], before anything is
// committed, of a destination that went away, and Canceled.
func Import(ctx context.Context, dst Destination, path string, o Options) (*Report, error) {
	return importWith(ctx, dst, path, o, nil, time.Now())
}

// importWith is Import, with what makes snapshots of the channels of episodes; nil if they
// are channels like others.
func importWith(ctx context.Context, dst Destination, path string, o Options, own *restorer, began time.Time) (*Report, error) {
	if o.Source == "" {
		o.Source = SourceName(path)
	}
	if err := engram.CheckName(o.Source); err != nil {
		return nil, engram.Errorf(engram.Invalid, path, "the recording's name cannot be the provider segment's; give another: %w", err)
	}
	if o.Rate < 0 || o.Rate != o.Rate {
		return nil, engram.Errorf(engram.Invalid, path, "the rate %v is not a positive number", o.Rate)
	}
	if o.Mapping == nil {
		o.Mapping = DefaultMapping()
	}
	rec, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	report := &Report{File: path, Source: o.Source}
	im := &importer{o: o, rec: rec, own: own, report: report, router: newRouter(ctx, dst, &o, path)}
	im.out, err = newSender(ctx, dst, marking{set: o.Mark, span: rec.Span()})
	if err == nil {
		if own != nil {
			own.out = im.out
		}
		err = im.run(ctx)
		err = errors.Join(err, im.out.finish(err == nil))
		report.Evictions, report.Displaced = im.out.keep.finish(dst)
	}
	for _, t := range im.router.topics {
		report.Topics = append(report.Topics, *t)
	}
	for _, t := range im.router.asides {
		report.Topics = append(report.Topics, *t)
	}
	if own != nil {
		if len(report.Topics) == 0 {
			report.Source = "" // all has an ID of its own
		}
		for _, e := range own.entities {
			report.Topics = append(report.Topics, *e.report)
		}
	}
	report.Loss = slices.Concat(rec.Loss(), im.router.damaged)
	im.clocks.logBack = max(im.clocks.logBack, recording.GoneBack(rec))
	report.Clocks, report.ClockOffset = im.clocks.find(im.restarts)
	for i, rule := range o.Times {
		if !im.router.timed[i] {
			report.Unmatched = append(report.Unmatched, rule.Topic)
		}
	}
	return report, report.finish(ctx, began, err)
}

// importer imports one recording.
type importer struct {
	o        Options
	rec      recording.Reader
	own      *restorer // nil: channels of episodes are like others
	router   *router
	report   *Report
	out      *sender
	pace     pace
	clocks   clocks
	restarts *restarts   // nil until a stamp goes back
	now      engram.Time // the latest log time
	span     engram.Interval
}

// progressEvery is after how many messages progress is told.
const progressEvery = 256

func (im *importer) run(ctx context.Context) error {
	im.pace.rate, im.span = im.o.Rate, im.rec.Span()
	for n := 0; ; n++ {
		if n%progressEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			im.progress()
		}
		m, err := im.rec.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		im.now = max(im.now, m.LogTime)
		if im.o.Rate > 0 {
			im.progress()
		}
		if err := im.pace.wait(ctx, m.LogTime, im.out.flush); err != nil {
			return err
		}
		if err := im.message(ctx, &m); err != nil {
			return err
		}
	}
	im.progress()
	if im.own != nil {
		if err := im.own.flush(); err != nil {
			return err
		}
	}
	return im.asides()
}

func (im *importer) progress() {
	if im.o.Progress == nil {
		return
	}
	if span := im.span; im.o.Rate > 0 && !span.Empty() {
		im.o.Progress(int64(min(max(im.now, span.Start), span.End).Sub(span.Start)), int64(span.End.Sub(span.Start)))
		return
	}
	im.o.Progress(im.rec.Progress())
}

// message sends one message on its way. The error ends the import.
func (im *importer) message(ctx context.Context, m *recording.Message) error {
	r := im.report
	im.clocks.log(m.LogTime)
	if r.Bytes += uint64(len(m.Data)); r.Span.Empty() {
		r.Span = engram.Interval{Start: m.LogTime, End: m.LogTime + 1}
	}
	r.Span.Start, r.Span.End = min(r.Span.Start, m.LogTime), max(r.Span.End, m.LogTime+1)

	if im.own != nil {
		if taken, err := im.own.take(m); taken || err != nil {
			return err
		}
	}
	ch := im.router.channel(m.Channel)
	ch.report.Messages++
	rt, outs, err := im.outputs(ch, m)
	if err != nil && !endsImport(err) && ch.keepsBytes() {
		why := err
		if rt, outs, err = im.router.unread(ch, m.Data); err == nil {
			im.out.note(ch.report, engram.Errorf(engram.CodeOf(why), "", "kept as bytes: %w", why))
		}
	}
	if err != nil {
		if endsImport(err) {
			return err
		}
		im.out.refuse(ch.report, err)
		return nil
	}
	if rt == nil {
		ch.report.Skipped++
		return nil
	}
	for i := range outs {
		o := &outs[i]
		id, err := im.router.entity(ch, rt, o.fields)
		if err != nil {
			im.out.refuse(ch.report, err)
			continue
		}
		if o.time, err = im.time(ctx, ch, rt, id, o, m.LogTime); err != nil {
			return err
		}
		if !o.owned {
			// The transcoder uses its buffer again; the memory keeps what it is given.
			o.bytes = append(make([]byte, 0, len(o.bytes)), o.bytes...)
		}
		if err := im.out.add(ch.report, id, o.time, m.LogTime, engram.Payload{Type: rt.payload, Bytes: o.bytes}); err != nil {
			return err
		}
	}
	return nil
}

// endsImport reports whether an error is of the memory or the caller, and not of the message.
func endsImport(err error) bool {
	code := engram.CodeOf(err)
	return code == engram.Unavailable || code == engram.Canceled
}

// outputs returns what is made of a message; without a route it is left out.
func (im *importer) outputs(ch *channel, m *recording.Message) (*route, []output, error) {
	rt, err := im.router.route(ch, m.Data)
	if err != nil && !endsImport(err) {
		err = cmp.Or(m.Damage, err)
	}
	if err != nil || rt == nil || rt.rule.Skip {
		return nil, nil, err
	}
	if m.Damage != nil && ch.source != nil { // else they are kept as they are anyway
		return nil, nil, m.Damage
	}
	outs, err := rt.convert.convert(m.Data)
	return rt, outs, err
}

// time returns the time at which an update of a message stands.
func (im *importer) time(ctx context.Context, ch *channel, rt *route, id engram.ID, o *output, log engram.Time) (engram.Time, error) {
	s := im.clocks.stream(ch, rt, id)
	if !o.timed || ch.times.Log {
		if s != nil {
			s.logged++
		}
		return log.Add(ch.times.Offset), nil
	}
	if s != nil {
		if s.follow(o.time, log); s.course.Doubtful() && im.restarts == nil {
			if err := im.findRestarts(ctx); err != nil {
				return 0, err
			}
		}
		if shift, ok := im.restarts.shift(s, o.time, log); ok {
			s.reset++
			return o.time.Add(shift).Add(ch.times.Offset), nil
		}
		s.note(o.time.Add(ch.times.Offset), log)
	}
	return o.time.Add(ch.times.Offset), nil
}

// pace holds a replay back to the recording's own time.
type pace struct {
	rate  float64 // 0: not at all
	began time.Time
	first engram.Time
	late  engram.Time // the latest log time waited for
}

// wait returns when a message of that log time is due. Before it sleeps, it calls
// flush.
func (p *pace) wait(ctx context.Context, t engram.Time, flush func() error) error {
	if p.rate == 0 || !p.began.IsZero() && t <= p.late {
		return nil
	}
	if p.began.IsZero() {
		p.began, p.first = time.Now(), t
	}
	p.late = t
	due := p.began.Add(time.Duration(float64(t.Sub(p.first)) / p.rate))
	left := time.Until(due)
	if left <= 0 {
		return nil
	}
	if err := flush(); err != nil {
		return err
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
