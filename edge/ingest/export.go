package ingest

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// Source is what an export needs of a memory.
type Source interface {
	engram.PartReader
	engram.Reader
	engram.Segments
	engram.Types
}

// ExportOptions say what is exported, and how.
type ExportOptions struct {
	Patterns []engram.Pattern // of entities; none is all
	// Span of the snapshots' times; the zero Interval is all. What was in force at its
	// start is exported as well.
	Span   engram.Interval
	Target engram.Target // TargetBoth unless it is set
	Robot  string        // its name, noted in the file
	// Progress is called every now and then with how much of the span of time has been
	// dealt with, in nanoseconds.
	Progress func(done, total int64)
}

// ExportReport tells what was exported.
type ExportReport struct {
	Path      string
	Entities  int
	Snapshots uint64 // with those in force
	InForce   uint64 // in force at the start of the span
	Bytes     int64  // of the file
	// Span is of what was recorded: without what was in force and what holds at all
	// times. It is empty if there is nothing else.
	Span    engram.Interval
	Missing []engram.Missing // what was asked for and is not there any more
	Took    time.Duration
}

// Export writes what a memory holds into a recording that stands alone: an MCAP file
// with a channel of typed protobuf messages for each entity, which any robotics tool
// opens, and from which [Import] makes the same memory. It is in the layout of
// episodes, docs/formats/episode.md, with every payload in its plain form. Versions
// that were superseded are not in it. It is written strictly in the order of time,
// window by window, and takes a bounded amount of memory however much is exported.
//
// The error is AlreadyExists if there is such a file, and NotFound if there is nothing
// to export; then, and when it fails, no file is left.
func Export(ctx context.Context, src Source, path string, o ExportOptions) (*ExportReport, error) {
	began := time.Now()
	if o.Span == (engram.Interval{}) {
		o.Span = engram.Always()
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []engram.Pattern{{}}
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if _, err := os.Stat(path); err == nil {
		return nil, engram.Errorf(engram.AlreadyExists, path, "there is such a file; give another name")
	}
	x := &exporter{
		ctx: ctx, src: src, o: o, types: idf.NewRegistry(), channels: map[engram.ID]*episode.Channel{},
		missing: map[missingKey]int{}, segments: map[engram.ID]engram.Description{},
	}
	x.report.Path = path
	if err := x.measure(); err != nil {
		return nil, err
	}
	labels, err := x.describe()
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	x.w, err = episode.Create(dir, name, episode.Info{Robot: o.Robot, Labels: labels}, episode.Options{Types: x.types, Mode: 0o666, Strict: true})
	if err != nil {
		return nil, err
	}
	info, err := x.write()
	err = errors.Join(err, x.w.Close())
	if err != nil {
		if gone := os.Remove(path + ".open"); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return nil, err
	}
	r := &x.report
	r.Entities, r.Snapshots, r.InForce, r.Bytes, r.Span = len(x.channels), info.Snapshots, info.InForce, info.Bytes, episode.RecordedFromZero(info.Recorded, info.Span)
	r.Took = time.Since(began)
	return r, nil
}

type exporter struct {
	ctx      context.Context
	src      Source
	o        ExportOptions
	types    *idf.Registry
	w        *episode.Writer
	held     engram.Interval // what there is of the span
	segments map[engram.ID]engram.Description
	channels map[engram.ID]*episode.Channel
	missing  map[missingKey]int // indices into the report's
	report   ExportReport
}

type missingKey struct {
	id     engram.ID
	reason string
}

// query asks for what selectors select of all patterns, part by part.
func (x *exporter) query(sel engram.SnapshotSelector, payload bool, each func(engram.Item) error) error {
	for _, p := range x.o.Patterns {
		q := p.Select(sel)
		q.Target, q.WithoutPayload = x.o.Target, !payload
		err := x.src.QueryParts(x.ctx, q, func(r *engram.Result) error {
			if payload {
				for _, m := range r.Missing {
					x.miss(m)
				}
			}
			for item := range r.All() {
				if err := each(item); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) miss(m engram.Missing) {
	k := missingKey{m.ID, m.Reason}
	i, ok := x.missing[k]
	if !ok {
		x.missing[k] = len(x.report.Missing)
		x.report.Missing = append(x.report.Missing, m)
		return
	}
	have := &x.report.Missing[i]
	have.Count = max(have.Count, m.Count)
	have.Interval.Start, have.Interval.End = min(have.Interval.Start, m.Interval.Start), max(have.Interval.End, m.Interval.End)
}

// measure finds out what there is of the span.
func (x *exporter) measure() error {
	first, last, any := engram.MaxTime, engram.MinTime, false
	note := func(item engram.Item) error {
		first, last, any = min(first, item.Time), max(last, item.Time), true
		return nil
	}
	if err := x.query(engram.Indices(0, 0), false, note); err != nil {
		return err
	}
	if err := x.query(engram.Indices(-1, -1), false, note); err != nil { // beyond the present, too
		return err
	}
	x.held = engram.Interval{Start: max(first, x.o.Span.Start), End: min(last.Add(1), x.o.Span.End)}
	if !any || first >= x.o.Span.End {
		return engram.Errorf(engram.NotFound, "", "there is nothing to export of what is asked for")
	}
	return nil
}

// describe returns the labels that tell of the segments.
func (x *exporter) describe() (map[string]string, error) {
	var segments []exportedSegment
	for _, p := range x.o.Patterns {
		p.Levels = p.Levels[:min(len(p.Levels), int(engram.LevelProviderSegment))]
		found, err := x.src.Describe(x.ctx, p)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if _, ok := x.segments[d.ID]; ok {
				continue
			}
			x.segments[d.ID] = d
			segments = append(segments, exportedOf(&d))
		}
	}
	slices.SortFunc(segments, func(a, b exportedSegment) int { return a.ID.Compare(b.ID) })
	labels := map[string]string{"reason": "export"}
	for _, p := range x.o.Patterns {
		if text := p.String(); text != "" {
			labels["patterns"] += text + "\n"
		}
	}
	text, err := json.Marshal(segments)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, labelSegments, "cannot be encoded: %w", err)
	}
	labels[labelSegments] = string(text)
	return labels, nil
}

// describeTypes notes the types of core segments that no channel has.
func (x *exporter) describeTypes() error {
	coded := map[string]string{}
	have := map[string]bool{engram.ValueType: true}
	for _, ch := range x.channels {
		have[ch.Type.Name] = true
	}
	for entity := range x.channels {
		d, ok := x.segments[entity.Truncate(engram.LevelCoreSegment)]
		if !ok || have[d.Type] {
			continue
		}
		def, err := x.typeOf(d.Type)
		if err != nil {
			return err
		}
		have[d.Type] = true
		coded[d.Type] = base64.StdEncoding.EncodeToString(def.Descriptors)
	}
	if len(coded) == 0 {
		return nil
	}
	text, err := json.Marshal(coded)
	if err != nil {
		return engram.Errorf(engram.Internal, labelTypes, "cannot be encoded: %w", err)
	}
	x.w.Label(labelTypes, string(text))
	return nil
}

// channelIdentity is what a channel of an export says of its segments, for whom the rest
// of the file is lost: other tools keep channels with their metadata.
type channelIdentity struct {
	Core     exportedSegment `json:"core"`
	Provider exportedSegment `json:"provider"`
	// CoreType is the core segment's type, an encoded FileDescriptorSet, where it is not
	// the channel's.
	CoreType []byte `json:"core_type,omitempty"`
}

// identity returns a channel's identity as text; typ is the type of its payloads.
func (x *exporter) identity(entity engram.ID, typ string) (string, error) {
	core, ok := x.segments[entity.Truncate(engram.LevelCoreSegment)]
	if !ok {
		return "", nil
	}
	who := channelIdentity{Core: exportedOf(&core)}
	if provider, ok := x.segments[entity.Truncate(engram.LevelProviderSegment)]; ok {
		who.Provider = exportedOf(&provider)
	}
	if core.Type != typ && core.Type != engram.ValueType {
		def, err := x.typeOf(core.Type)
		if err != nil {
			return "", err
		}
		who.CoreType = def.Descriptors
	}
	text, err := json.Marshal(who)
	if err != nil {
		return "", engram.Errorf(engram.Internal, entity.String(), "its segments cannot be described: %w", err)
	}
	return string(text), nil
}

func exportedOf(d *engram.Description) exportedSegment {
	return exportedSegment{
		ID: d.ID, Type: d.Type, MaxCount: d.History.MaxCount, MaxAge: int64(d.History.MaxAge), MaxBytes: d.History.MaxBytes,
		Durability: d.Durability.String(), FixedProviders: d.FixedProviders, MaxAhead: int64(d.MaxAhead),
	}
}

// Labels of an exported episode: its segments, and the types of its core segments,
// which its channels need not have.
const (
	labelSegments = "segments"
	labelTypes    = "types"
)

// exportedSegment describes a segment in a label.
type exportedSegment struct {
	ID             engram.ID `json:"id"`
	Type           string    `json:"type"`
	MaxCount       int       `json:"max_count,omitempty"`
	MaxAge         int64     `json:"max_age,omitempty"` // nanoseconds
	MaxBytes       int64     `json:"max_bytes,omitempty"`
	Durability     string    `json:"durability,omitempty"`
	FixedProviders bool      `json:"fixed_providers,omitempty"`
	MaxAhead       int64     `json:"max_ahead,omitempty"` // nanoseconds; 0 is the default, negative any
}

// typeOf returns a type, and makes it known to the file's writer.
func (x *exporter) typeOf(name string) (engram.TypeDef, error) {
	if t, ok := x.types.Get(name); ok {
		return t.Def(), nil
	}
	def, err := x.src.Type(x.ctx, name)
	if err != nil {
		return def, err
	}
	_, err = x.types.Add(def)
	return def, err
}

// A window of time is made longer while it has few snapshots and bytes, and shorter when
// it has more; one that has far more is given up and begun anew, shorter.
const (
	windowStart = time.Second
	windowMost  = 50_000   // snapshots
	windowBytes = 16 << 20 // of payloads
	windowLeast = time.Millisecond
)

// errTooMuch is why a window is given up.
var errTooMuch = errors.New("the window holds too much")

func (x *exporter) write() (episode.Info, error) {
	if start := x.o.Span.Start; start > engram.MinTime {
		items, err := x.gather(engram.AtOrBefore(start-1), false)
		if err != nil {
			return episode.Info{}, err
		}
		for _, item := range items {
			if err := x.add(item, true); err != nil {
				return episode.Info{}, err
			}
		}
	}
	total := int64(x.held.End.Sub(x.held.Start))
	step := windowStart
	for at := x.held.Start; at < x.held.End; {
		x.o.Progress(int64(at.Sub(x.held.Start)), total)
		iv := engram.Interval{Start: at, End: min(at.Add(step), x.held.End)}
		items, err := x.gather(engram.In(iv), step > windowLeast)
		if errors.Is(err, errTooMuch) {
			step = max(step/8, windowLeast)
			continue
		}
		if err != nil {
			return episode.Info{}, err
		}
		bytes := 0
		for _, item := range items {
			bytes += item.Size()
			if err := x.add(item, false); err != nil {
				return episode.Info{}, err
			}
		}
		at = iv.End
		switch n := len(items); {
		case n > windowMost/2 || bytes > windowBytes:
			step = max(step/2, windowLeast)
		case n < windowMost/8 && bytes < windowBytes/4 && step < 365*24*time.Hour:
			step *= 2
		}
	}
	x.o.Progress(total, total)
	if err := x.describeTypes(); err != nil {
		return episode.Info{}, err
	}
	return x.w.Seal(x.ctx)
}

// gather returns what is selected in the order of time, each once though several patterns
// match it. If it is bounded and there is too much, the error is errTooMuch.
func (x *exporter) gather(sel engram.SnapshotSelector, bounded bool) (items []engram.Item, err error) {
	bytes := 0
	err = x.query(sel, true, func(item engram.Item) error {
		items = append(items, item)
		bytes += item.Size()
		if bounded && (len(items) > windowMost || bytes > 4*windowBytes) {
			return errTooMuch
		}
		return nil
	})
	slices.SortStableFunc(items, func(a, b engram.Item) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), a.ID.Compare(b.ID))
	})
	return slices.CompactFunc(items, func(a, b engram.Item) bool { return a.ID == b.ID }), err
}

// add puts a snapshot into the file.
func (x *exporter) add(item engram.Item, inForce bool) error {
	entity := item.ID.Truncate(engram.LevelEntity)
	ch := x.channels[entity]
	if ch == nil {
		name := item.Instances[0].Payload.Type
		for _, level := range []engram.Level{engram.LevelCoreSegment, engram.LevelProviderSegment} {
			if d, ok := x.segments[entity.Truncate(level)]; ok {
				name = d.Type
			}
		}
		def, err := x.typeOf(name)
		if err != nil {
			return err
		}
		t, _ := x.types.Get(name)
		ch = &episode.Channel{Entity: entity, Type: def, Policy: "export", Codec: codec.Config{Codec: codec.Plain, Payload: t, Types: x.types}}
		if ch.Segment, err = x.identity(entity, name); err != nil {
			return err
		}
		x.channels[entity] = ch
	}
	for i := range item.Instances {
		if _, err := x.typeOf(item.Instances[i].Payload.Type); err != nil {
			return err
		}
		if err := x.aside(item.Instances[i].Payload); err != nil {
			return err
		}
	}
	return x.w.Add(x.ctx, ch, item.Snapshot, inForce)
}
