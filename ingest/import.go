package ingest

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ltm/episode"
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
	// Joints are the names that joints of joint states get.
	Joints JointMap
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
	// Away is called when the memory went away while [Follow] commits to it, with why, and
	// with nil when it is back; nil tells nobody.
	Away func(err error)
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
	base := filepath.Base(path)
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
	if err := o.check(path); err != nil {
		return nil, err
	}
	rec, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	report := &Report{File: path, Source: o.Source}
	return report, importAll(ctx, dst, rec, o, own, report, began)
}

// check fills in what was left out of the options for a recording of that name.
func (o *Options) check(name string) error {
	if o.Source == "" {
		o.Source = SourceName(name)
	}
	if err := engram.CheckName(o.Source); err != nil {
		return engram.Errorf(engram.Invalid, name, "the recording's name cannot be the provider segment's; give another: %w", err)
	}
	if o.Rate < 0 || o.Rate != o.Rate {
		return engram.Errorf(engram.Invalid, name, "the rate %v is not a positive number", o.Rate)
	}
	if err := o.Joints.check(name); err != nil {
		return err
	}
	if o.Mapping == nil {
		o.Mapping = DefaultMapping()
	}
	return nil
}

// importAll commits what rec has, and fills the report. It does not close rec.
func importAll(ctx context.Context, dst Destination, rec recording.Reader, o Options, own *restorer, report *Report, began time.Time) error {
	im := &importer{o: o, rec: rec, own: own, report: report, router: newRouter(ctx, dst, &o, report.File)}
	return im.importAll(ctx, dst, began)
}

func (im *importer) importAll(ctx context.Context, dst Destination, began time.Time) error {
	o, rec, own, report := im.o, im.rec, im.own, im.report
	var err error
	im.out, err = newSender(ctx, dst, marking{set: o.Mark, span: rec.Span()})
	im.notes.im = im
	if err == nil {
		if im.live != nil {
			im.out.maxRuns = liveTimeRuns
		}
		if own != nil {
			own.out = im.out
		}
		err = im.run(ctx)
		for im.live != nil && im.again(ctx, dst, err) {
			err = im.run(ctx)
		}
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
	im.clocks.back = max(im.clocks.back, recording.GoneBack(rec))
	report.Clocks, report.ClockOffset = im.clocks.find()
	for i, rule := range o.Times {
		if !im.router.timed[i] {
			report.Unmatched = append(report.Unmatched, rule.Topic)
		}
	}
	report.Unnoted = im.notes.report.Refused + im.notes.report.Evicted
	report.UnmatchedJoints = im.router.joints.unmatched()
	return report.finish(ctx, began, err)
}

// importer imports one recording.
type importer struct {
	o      Options
	rec    recording.Reader
	own    *restorer          // nil: channels of episodes are like others
	live   Live               // rec, if its messages come as they happen
	ended  context.Context    // of live: nothing is waited for any more
	held   *recording.Message // of live: the next one
	router *router
	report *Report
	out    *sender
	notes  noter
	pace   pace
	clocks clocks
	now    engram.Time // the latest log time
	span   engram.Interval
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
		if im.live != nil && im.live.Buffered() == 0 {
			if err := im.out.flush(); err != nil {
				return err
			}
		}
		m, err := im.next()
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
		if err := im.message(&m); err != nil {
			return err
		}
	}
	im.progress()
	if err := im.notes.flushAll(); err != nil {
		return err
	}
	if im.own != nil {
		if err := im.own.flush(); err != nil {
			return err
		}
	}
	return im.asides()
}

// next returns the next message. Of a live source it is held back for later where the memory
// has gone away.
func (im *importer) next() (recording.Message, error) {
	if im.held != nil {
		m := *im.held
		im.held = nil
		return m, nil
	}
	m, err := im.rec.Next()
	if err == nil && im.live != nil {
		if err = im.out.failed(); err != nil {
			im.held = &m
		}
	}
	return m, err
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
func (im *importer) message(m *recording.Message) error {
	r := im.report
	if im.live == nil {
		im.clocks.log(m.LogTime)
	}
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
	if im.live != nil && ch.report.Messages > 0 { // the first may be an old one, sent to who subscribes
		im.clocks.log(m.LogTime)
	}
	ch.report.Messages++
	if episode.IsDerived(m.Channel.Metadata) {
		ch.report.Skipped++
		ch.report.note("it was made from the other topics when they were exported")
		return nil
	}
	im.notes.begin()
	rt, err := im.router.route(ch, m.Data)
	if err != nil {
		im.out.refuse(ch.report, err)
		if code := engram.CodeOf(err); code == engram.Unavailable || code == engram.Canceled {
			return err
		}
		return im.notes.end(im.router.ctx, ch, nil, m)
	}
	if rt == nil || rt.rule.Skip {
		ch.report.Skipped++
		return nil
	}
	outs, err := rt.convert.convert(m.Data)
	if err != nil {
		im.out.refuse(ch.report, err)
		return im.notes.end(im.router.ctx, ch, nil, m)
	}
	for i := range outs {
		o := &outs[i]
		id, err := im.router.entity(ch, rt, o.fields)
		if err != nil {
			im.out.refuse(ch.report, err)
			continue
		}
		stamped := o.timed && !ch.times.Log
		if !stamped {
			o.time = m.LogTime
		}
		o.time = o.time.Add(ch.times.Offset)
		im.clocks.note(ch, rt, id, stamped, o.time, m.LogTime)
		if !o.owned {
			// The transcoder uses its buffer again; the memory keeps what it is given.
			o.bytes = append(make([]byte, 0, len(o.bytes)), o.bytes...)
		}
		at, err := im.out.add(ch.report, id, o.time, m.LogTime, engram.Payload{Type: rt.payload, Bytes: o.bytes})
		if err != nil {
			return err
		}
		im.notes.part(id, at, o.bytes)
	}
	return im.notes.end(im.router.ctx, ch, rt, m)
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
