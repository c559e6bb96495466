package ingest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/lerobot"
)

// LeRobotSignal chooses what a feature of a data set is made of.
type LeRobotSignal struct {
	Name     string         // of images: what follows observation.images.; "" is made of the entity's name
	Entities engram.Pattern // of each provider
	Fields   []string       // of numbers: members, lists or elements of lists; none is what the type suggests
}

// LeRobotOptions say what goes into a data set, and how.
type LeRobotOptions struct {
	ExportOptions // without Derive
	FPS           int
	// Commanded reports whether an entity tells what a robot was told to do, and not what it did; nil is never.
	Commanded func(engram.ID) bool
	// Of these nil is the default: joints that are felt, joints that are commanded, images. A slice that is
	// empty and not nil is none.
	State, Action, Images []LeRobotSignal
	Task                  string // what is done in all episodes; "" is found in the memory
	// Nearest lets a frame have a sample of up to one frame after it, if that is nearer. Otherwise it has
	// what was in force.
	Nearest bool
	// Episodes are spans of time that become an episode each; without any, what a provider gave is one.
	Episodes []engram.Interval
}

// LeRobotReport tells what was written.
type LeRobotReport struct {
	Path   string
	FPS    int
	Robot  string
	Frames int
	Tasks  []string
	Bytes  int64 // of all files
	// Episodes in their order, and what resampling did with each signal in each.
	Episodes []LeRobotEpisode
	Signals  []SignalReport
	Notes    []string
	Missing  []engram.Missing
	Took     time.Duration
}

// LeRobotEpisode tells of an episode.
type LeRobotEpisode struct {
	Source   string
	Span     engram.Interval // of the frames' times
	Frames   int
	Untasked int // frames of which nothing tells what is done
	// CutStart and CutEnd are how much of a signal lies before the first frame and after the last one,
	// since another signal has not begun, or has ended.
	CutStart, CutEnd time.Duration
}

// leRobotExporter reads a memory signal by signal.
type leRobotExporter struct {
	exporter
	lo       LeRobotOptions
	lr       LeRobotReport
	matchers []*engram.PatternMatcher
	w        *lerobot.Writer
	config   lerobot.Config
}

// ExportLeRobot writes what a memory holds as a data set of LeRobot, version 3.0, into a folder that is
// not there yet. Each provider that gives all features is an episode; where none does, as on a robot whose
// camera and joints come from different programs, all of them together are one. All signals are resampled
// onto one clock, which runs from when the last of them has begun until the first of them ends. It takes a
// bounded amount of memory.
//
// The errors name the entity. NotFound: a feature without data, or no task. Conflict: changing joints or
// sizes of images. Invalid: a list and its names of unequal lengths. OutOfRange: missing numbers and NaN,
// signals without a common time. Unavailable: no ffmpeg. After an error no folder is left.
func ExportLeRobot(ctx context.Context, src Source, path string, o LeRobotOptions) (*LeRobotReport, error) {
	began := time.Now()
	o.complete()
	if o.FPS < 0 || o.FPS > maxFPS {
		return nil, engram.Errorf(engram.Invalid, path, "%d frames per second are not between 1 and %d", o.FPS, maxFPS)
	}
	x := &leRobotExporter{exporter: exporter{ctx: engram.WithAsker(ctx, engram.Nobody), src: src, o: o.ExportOptions, types: idf.NewRegistry(), missing: map[missingKey]int{}}, lo: o}
	x.lr = LeRobotReport{Path: path, FPS: o.FPS, Robot: o.Robot}
	for _, p := range o.Patterns {
		m, err := p.Matcher()
		if err != nil {
			return nil, err
		}
		x.matchers = append(x.matchers, m)
	}
	err := x.all()
	if err == nil {
		var s lerobot.Summary
		s, err = x.w.Finish()
		x.lr.Frames, x.lr.Tasks, x.lr.Bytes = s.Frames, s.Tasks, s.Bytes
	}
	if err != nil {
		if x.w != nil {
			x.w.Discard()
		}
		return nil, err
	}
	x.lr.Missing, x.lr.Took = x.report.Missing, time.Since(began)
	return &x.lr, nil
}

const maxFPS = 1000

func (x *leRobotExporter) all() error {
	sources, err := x.sources()
	if err != nil {
		return err
	}
	spans := x.lo.Episodes
	if len(spans) == 0 {
		spans = []engram.Interval{engram.Always()}
	}
	for _, span := range spans {
		n := len(x.lr.Episodes)
		var apart error
		for i := range sources {
			err := x.episode(&sources[i], engram.Interval{Start: max(span.Start, x.lo.Span.Start), End: min(span.End, x.lo.Span.End)})
			if engram.CodeOf(err) == engram.OutOfRange && len(x.lo.Episodes) > 0 && len(sources) > 1 && isApart(err) {
				apart = err // another source may be of that time
				continue
			}
			if err != nil {
				return err
			}
		}
		if len(x.lr.Episodes) == n {
			return apart
		}
	}
	return nil
}

// apartError is the error of signals that do not meet in time.
type apartError struct{ error }

// Unwrap returns the error with its code.
func (e *apartError) Unwrap() error { return e.error }

// lanes makes ready what an episode is read by, with the samples in force at its start.
func (x *leRobotExporter) lanes(s *episodeSource, at engram.Time, early map[engram.ID][]engram.Time) (c lerobot.Config, numbers [][]*vectorLane, images []*imageLane, err error) {
	c = lerobot.Config{FPS: x.lr.FPS, Robot: x.lo.Robot}
	for i := range s.signals {
		e := &s.signals[i]
		l := &lane{feature: e.feature, entity: e.entity, usual: medianInterval(early[e.entity])}
		l.report = SignalReport{Episode: len(x.lr.Episodes), Feature: e.feature, Entity: e.entity}
		first, err := x.firstSample(x.ctx, e.entity, at)
		if err != nil {
			return c, nil, nil, err
		}
		l.add(first, at, time.Second)
		if kindOf(e.feature) == "image" {
			im := &imageLane{lane: l}
			if err := im.read(first); err != nil {
				return c, nil, nil, err
			}
			images, c.Images = append(images, im), append(c.Images, lerobot.Image{Name: e.feature, Width: im.width, Height: im.height})
			continue
		}
		if _, err := x.typeOf(first.payload.Type); err != nil {
			return c, nil, nil, err
		}
		t, _ := x.types.Get(first.payload.Type)
		v, err := newVectorLane(l, t, e.fields, first.payload.Bytes)
		if err != nil {
			return c, nil, nil, err
		}
		k := slices.IndexFunc(c.Vectors, func(v lerobot.Vector) bool { return v.Name == e.feature })
		if k < 0 {
			k, c.Vectors, numbers = len(c.Vectors), append(c.Vectors, lerobot.Vector{Name: e.feature}), append(numbers, nil)
		}
		numbers[k] = append(numbers[k], v)
	}
	for k, lanes := range numbers {
		c.Vectors[k].Elements = elementNames(lanes)
	}
	return c, numbers, images, nil
}

// elementNames names the elements of lanes side by side, with the entity where two would have one name.
func elementNames(lanes []*vectorLane) (names []string) {
	count := map[string]int{}
	for _, l := range lanes {
		for _, n := range l.labels {
			count[n]++
		}
	}
	for _, l := range lanes {
		for _, n := range l.labels {
			if count[n] > 1 {
				n = strings.Trim(strings.ReplaceAll(l.entity.Entity(), "/", "_"), "_") + "." + n
			}
			names = append(names, n)
		}
	}
	return names
}

// meet returns when all signals of a source are there.
func meet(s *episodeSource, span engram.Interval) (iv engram.Interval, err error) {
	first, last := &s.signals[0], &s.signals[0]
	for i := range s.signals {
		e := &s.signals[i]
		if e.first > first.first {
			first = e
		}
		if e.last < last.last {
			last = e
		}
	}
	iv = engram.Interval{Start: max(first.first, span.Start), End: min(last.last, span.End)}
	if first.first > last.last {
		return iv, &apartError{engram.Errorf(engram.OutOfRange, s.name, "its signals do not meet in time: %s ends at %s, before %s begins at %s; name others by --state, --action and --image", last.entity, last.last, first.entity, first.first)}
	}
	if iv.Start >= iv.End {
		return iv, &apartError{engram.Errorf(engram.OutOfRange, s.name, "its signals are all there from %s to %s only, which is not in the span that is asked for", first.first, last.last)}
	}
	return iv, nil
}

func isApart(err error) bool { _, ok := err.(*apartError); return ok }

// episode writes what a source gave in a span.
func (x *leRobotExporter) episode(s *episodeSource, span engram.Interval) error {
	iv, err := meet(s, span)
	if err != nil {
		return err
	}
	early := map[engram.ID][]engram.Time{}
	for i := range s.signals {
		e := &s.signals[i]
		if early[e.entity], err = x.early(e); err != nil {
			return err
		}
	}
	if x.lr.FPS == 0 {
		x.lr.FPS = usualFPS(s, early)
	}
	tasks, err := x.tasks(s, engram.Interval{Start: iv.Start, End: iv.End.Add(1)})
	if err != nil {
		return err
	}
	c, numbers, images, err := x.lanes(s, iv.Start, early)
	if err != nil {
		return err
	}
	if x.w == nil {
		if x.w, err = lerobot.Create(x.ctx, x.lr.Path, c); err != nil {
			return err
		}
		x.config = c
	} else if what := unlike(&x.config, &c); what != "" {
		return engram.Errorf(engram.Conflict, s.name, "the episode of %s cannot be in one data set with that of %s: %s; export them one by one, or choose by --state, --action and --image", s.name, x.lr.Episodes[0].Source, what)
	}
	r := &resampling{x: x, clock: clock{iv.Start, x.lr.FPS}, numbers: numbers, images: images, tasks: tasks, byEntity: map[engram.ID][]*lane{}}
	r.end = iv.End
	for _, lanes := range numbers {
		for _, l := range lanes {
			r.lanes = append(r.lanes, l.lane)
		}
	}
	for _, l := range images {
		r.lanes = append(r.lanes, l.lane)
	}
	x.o.Patterns = nil
	for _, l := range r.lanes {
		if r.byEntity[l.entity] == nil {
			x.o.Patterns = append(x.o.Patterns, engram.PatternOf(l.entity))
		}
		r.byEntity[l.entity] = append(r.byEntity[l.entity], l)
	}
	x.held = engram.Interval{Start: iv.Start.Add(sameTime + 1), End: iv.End.Add(r.ahead() + sameTime + 1)}
	if err := x.windows(r.add); err != nil {
		return err
	}
	if err := r.emit(engram.MaxTime); err != nil {
		return err
	}
	if err := x.w.EndEpisode(); err != nil {
		return err
	}
	ep := LeRobotEpisode{Source: s.name, Frames: r.frame, Untasked: r.untasked, Span: engram.Interval{Start: iv.Start, End: r.tick(r.frame-1) + 1}}
	for _, e := range s.signals {
		ep.CutStart = max(ep.CutStart, iv.Start.Sub(max(e.first, span.Start)))
		ep.CutEnd = max(ep.CutEnd, min(e.last, span.End).Sub(iv.End))
	}
	x.lr.Episodes = append(x.lr.Episodes, ep)
	for _, l := range r.lanes {
		l.drop(max(0, len(l.queue))) // what is left over was for no frame
		x.lr.Signals = append(x.lr.Signals, l.report)
	}
	return nil
}

// usualFPS returns the rate of the images or, without, of the first signal.
func usualFPS(s *episodeSource, early map[engram.ID][]engram.Time) int {
	e := s.signals[0]
	if i := slices.IndexFunc(s.signals, func(e signalEntity) bool { return kindOf(e.feature) == "image" }); i >= 0 {
		e = s.signals[i]
	}
	usual := medianInterval(early[e.entity])
	if usual <= 0 {
		return 1
	}
	return int(min(max(1, math.Round(float64(time.Second)/float64(usual))), maxFPS))
}

// unlike says how the features of two episodes differ; "" if they do not.
func unlike(a, b *lerobot.Config) string {
	for i := range max(len(a.Vectors), len(b.Vectors)) {
		if i >= len(a.Vectors) || i >= len(b.Vectors) || a.Vectors[i].Name != b.Vectors[i].Name {
			return "they have other features"
		}
		if v, w := a.Vectors[i], b.Vectors[i]; !slices.Equal(v.Elements, w.Elements) {
			return fmt.Sprintf("of %s, %s", v.Name, changed(v.Elements, w.Elements))
		}
	}
	if !reflect.DeepEqual(a.Images, b.Images) {
		return fmt.Sprintf("their images are %s and %s", imagesText(a.Images), imagesText(b.Images))
	}
	return ""
}

func imagesText(all []lerobot.Image) string {
	var parts []string
	for _, i := range all {
		parts = append(parts, fmt.Sprintf("%s of %dx%d", i.Name, i.Width, i.Height))
	}
	return strings.Join(parts, " and ")
}

// resampling makes the frames of an episode of its samples.
type resampling struct {
	x *leRobotExporter
	clock
	end      engram.Time
	numbers  [][]*vectorLane
	images   []*imageLane
	lanes    []*lane
	byEntity map[engram.ID][]*lane
	tasks    []taskAt
	frame    int
	untasked int
}

// ahead is how far after a frame's time its samples may be.
func (r *resampling) ahead() time.Duration {
	if r.x.lo.Nearest {
		return r.period()
	}
	return 0
}

// add takes samples in the order of time.
func (r *resampling) add(items []engram.Item) error {
	for _, item := range items {
		if err := r.emit(item.Time); err != nil {
			return err
		}
		for _, l := range r.byEntity[item.ID.Truncate(engram.LevelEntity)] {
			if item.Time > l.newest {
				l.add(laneSample{time: item.Time, payload: item.Instances[0].Payload}, r.tick(r.frame), r.period())
			}
		}
	}
	return r.x.ctx.Err()
}

// emit writes the frames that no sample from a time on can be for.
func (r *resampling) emit(until engram.Time) error {
	for at := r.tick(r.frame); at <= r.end.Add(sameTime) && at.Add(r.ahead()+sameTime) < until; at = r.tick(r.frame) {
		f := lerobot.Frame{Task: r.task(at)}
		for _, lanes := range r.numbers {
			var values []float64
			for _, l := range lanes {
				s, _, err := l.take(at, r.x.lo.Nearest)
				if err != nil {
					return err
				}
				v, err := l.read(s)
				if err != nil {
					return err
				}
				values = append(values, v...)
			}
			f.Vectors = append(f.Vectors, values)
		}
		for _, l := range r.images {
			s, fresh, err := l.take(at, r.x.lo.Nearest)
			if err == nil && fresh {
				err = l.read(s)
			}
			if err != nil {
				return err
			}
			f.Images = append(f.Images, l.pixels)
		}
		if err := r.x.w.Add(f); err != nil {
			return err
		}
		r.frame++
	}
	return nil
}

// task returns what is being done at a time.
func (r *resampling) task(at engram.Time) string {
	for len(r.tasks) > 1 && r.tasks[1].from <= at.Add(sameTime) {
		r.tasks = r.tasks[1:]
	}
	if r.tasks[0].from > at.Add(sameTime) || r.tasks[0].text == "" {
		r.untasked++
		return ""
	}
	return r.tasks[0].text
}
