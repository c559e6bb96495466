package ingest

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// ROSReport tells what was exported for ROS.
type ROSReport struct {
	Path     string
	Messages uint64
	Bytes    int64           // of the file
	Span     engram.Interval // of the log times; empty without messages
	Topics   []ROSTopic      // by topic and type
	Missing  []engram.Missing
	Took     time.Duration
}

// ROSTopic tells what became of a topic, or of an entity that has none.
type ROSTopic struct {
	Topic string // or the entity's ID, where nothing was written
	Type  string // of the messages written
	// Messages were written: Recorded of them byte by byte as an import read them, Converted
	// for the other generation of ROS. The others were made of payloads.
	Messages, Recorded, Converted uint64
	// Changed were imported, but the memory stored their payloads with loss. Gone were
	// imported, and their payloads are not there any more. LeftOut cannot be written.
	Changed, Gone, LeftOut uint64
	Notes                  []string
}

func (t *ROSTopic) note(text string) {
	if !slices.Contains(t.Notes, text) && len(t.Notes) < maxReasons {
		t.Notes = append(t.Notes, text)
	}
}

// ExportROS writes what a memory holds as messages of ROS: for ROS 1 a bag, for ROS 2 an MCAP
// file. What was imported from recordings comes as it was recorded: the same bytes, log times,
// order and definitions; of recordings of the other generation each message is rewritten by
// its definition. What else there is comes as the message that it corresponds to, or as one of
// its own that is made of its type. Options are those of [Export], but for Robot and Derive.
// The span is of snapshots' times; what was in force at its start stands there.
//
// The errors are those of [Export].
func ExportROS(ctx context.Context, src Source, path string, v rosmsg.Version, o ExportOptions) (*ROSReport, error) {
	began := time.Now()
	whole := len(o.Patterns) == 0
	o.complete()
	if _, err := os.Stat(path); err == nil {
		return nil, engram.Errorf(engram.AlreadyExists, path, "there is such a file; give another name")
	}
	x := &rosExporter{
		exporter: exporter{ctx: engram.WithAsker(ctx, engram.Nobody), src: src, o: o, types: idf.NewRegistry(), missing: map[missingKey]int{}},
		version:  v, whole: whole, topics: map[[2]string]*ROSTopic{}, entity: map[ownKey]*ownTopic{}, outs: map[string]*rosOut{}, named: map[string]engram.ID{},
	}
	for _, p := range o.Patterns {
		m, err := p.Matcher()
		if err != nil {
			return nil, err
		}
		x.matchers = append(x.matchers, m)
	}
	var err error
	if v == rosmsg.ROS1 {
		x.w, err = recording.CreateBag(path)
	} else {
		x.mcap, err = recording.CreateMCAP(path, "ros2")
		x.w = x.mcap
	}
	if err != nil {
		return nil, err
	}
	r := &ROSReport{Path: path}
	if err = x.write(); err == nil && x.messages == 0 {
		err = engram.Errorf(engram.NotFound, "", "there is nothing to export of what is asked for")
	}
	if err == nil {
		r.Bytes, err = x.w.Finish()
	}
	if err != nil {
		x.w.Discard()
		return nil, err
	}
	r.Messages, r.Span, r.Missing = x.messages, x.written, x.report.Missing
	for _, t := range x.topics {
		r.Topics = append(r.Topics, *t)
	}
	slices.SortFunc(r.Topics, func(a, b ROSTopic) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Type, b.Type))
	})
	r.Took = time.Since(began)
	return r, nil
}

type rosExporter struct {
	exporter
	version  rosmsg.Version
	whole    bool
	matchers []*engram.PatternMatcher
	w        recording.Writer
	mcap     *recording.MCAPWriter // nil for a bag
	topics   map[[2]string]*ROSTopic
	messages uint64
	written  engram.Interval

	batches []recordedBatch // those to come, by the log time of their first message
	cursors cursorHeap
	covered map[engram.ID][]engram.Interval // spans of entities that recordings tell of
	outs    map[string]*rosOut              // by recorded channel
	entity  map[ownKey]*ownTopic
	named   map[string]engram.ID // entities by their topics
	start   engram.Time          // where what holds at all times stands
	enc     rosmsg.Encoder
	raw     []byte
}

// topic returns the report of a topic.
func (x *rosExporter) topic(name, typ string) *ROSTopic {
	t := x.topics[[2]string{name, typ}]
	if t == nil {
		t = &ROSTopic{Topic: name, Type: typ}
		x.topics[[2]string{name, typ}] = t
	}
	return t
}

// put writes a message.
func (x *rosExporter) put(t *ROSTopic, m *recording.Message) error {
	if err := x.w.Write(m); err != nil {
		return err
	}
	if x.messages == 0 {
		x.written = engram.Interval{Start: m.LogTime, End: m.LogTime + 1}
	}
	x.written.Start, x.written.End = min(x.written.Start, m.LogTime), max(x.written.End, m.LogTime+1)
	x.messages++
	t.Messages++
	return nil
}

func (x *rosExporter) matches(id engram.ID) bool {
	return slices.ContainsFunc(x.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) })
}

func (x *rosExporter) write() error {
	if err := x.survey(); err != nil {
		return err
	}
	if x.o.Span.Start > 0 {
		if err := x.inForce(); err != nil {
			return err
		}
	}
	if err := x.others(); err != nil {
		return err
	}
	if len(x.o.Patterns) > 0 {
		err := x.measure()
		switch {
		case engram.CodeOf(err) == engram.NotFound:
		case err != nil:
			return err
		default:
			if err := x.own(); err != nil {
				return err
			}
		}
	}
	return x.drain(engram.MaxTime)
}

// others narrows the patterns down to the provider segments with something that no recording
// tells of.
func (x *rosExporter) others() error {
	kept := map[engram.ID]bool{}
	spans := map[engram.ID]engram.Interval{}
	note := func(item engram.Item) error {
		entity := item.ID.Truncate(engram.LevelEntity)
		have, ok := spans[entity]
		if !ok {
			have = engram.Interval{Start: item.Time, End: item.Time + 1}
		}
		spans[entity] = engram.Interval{Start: min(have.Start, item.Time), End: max(have.End, item.Time+1)}
		return nil
	}
	for _, sel := range []engram.SnapshotSelector{engram.Indices(0, 0), engram.Latest(1)} {
		if err := x.query(sel, false, note); err != nil {
			return err
		}
	}
	for entity, span := range spans {
		if !x.ours(entity) {
			continue
		}
		provider := entity.Truncate(engram.LevelProviderSegment)
		if kept[provider] {
			continue
		}
		some, err := x.beside(entity, span)
		if err != nil {
			return err
		}
		if some {
			kept[provider] = true
		}
	}
	x.o.Patterns = nil
	for _, id := range slices.SortedFunc(maps.Keys(kept), engram.ID.Compare) {
		x.o.Patterns = append(x.o.Patterns, engram.PatternOf(id))
	}
	return nil
}

// beside reports whether there is something of an entity that no recording tells of.
func (x *rosExporter) beside(entity engram.ID, span engram.Interval) (some bool, err error) {
	covered := x.covered[entity]
	if len(covered) == 0 || !x.isCovered(entity, span.Start) || !x.isCovered(entity, span.End-1) {
		return true, nil
	}
	for i := 1; i < len(covered) && !some && err == nil; i++ {
		q := engram.SelectID(entity, engram.In(engram.Interval{Start: covered[i-1].End, End: covered[i].Start}))
		q.Target, q.WithoutPayload = x.o.Target, true
		err = x.src.QueryParts(x.ctx, q, func(r *engram.Result) error {
			for range r.All() {
				some = true
			}
			return nil
		})
	}
	return some, err
}

// ours reports whether an entity is exported at all: what servers note of themselves only if
// it is asked for.
func (x *rosExporter) ours(entity engram.ID) bool {
	if entity.Truncate(engram.LevelCoreSegment) == recordedSegment {
		return false
	}
	return x.matches(entity) && (!x.whole || entity.Memory() != "SystemState")
}

// inForce writes what was in force at the start of the span, of recordings too: a player that
// begins there has static transforms and the like.
func (x *rosExporter) inForce() error {
	items, err := x.gather(engram.AtOrBefore(x.o.Span.Start-1), false)
	if err != nil && engram.CodeOf(err) != engram.NotFound {
		return err
	}
	if err := x.openUntil(engram.MaxTime); err != nil {
		return err
	}
	x.start = x.o.Span.Start
	if len(x.cursors) > 0 { // stamps may lie after log times
		x.start = min(x.start, x.cursors[0].head().log)
	}
	for _, item := range items {
		if entity := item.ID.Truncate(engram.LevelEntity); x.ours(entity) {
			if err := x.item(entity, item, x.start); err != nil {
				return err
			}
		}
	}
	return nil
}

// own writes what no recording tells of, and what recordings tell of between.
func (x *rosExporter) own() error {
	var early []engram.Item // what holds at all times
	begun := x.o.Span.Start > 0
	begin := func(at engram.Time) error {
		begun = true
		if len(x.batches) > 0 {
			at = min(at, x.batches[0].log)
		}
		x.start = at
		for _, item := range early {
			if err := x.item(item.ID.Truncate(engram.LevelEntity), item, x.start); err != nil {
				return err
			}
		}
		return nil
	}
	err := x.windows(func(items []engram.Item) error {
		for _, item := range items {
			entity := item.ID.Truncate(engram.LevelEntity)
			if !x.ours(entity) || x.isCovered(entity, item.Time) {
				continue
			}
			if episode.Timeless(item.Time) {
				early = append(early, item)
				continue
			}
			if !begun {
				if err := begin(item.Time); err != nil {
					return err
				}
			}
			if err := x.drain(item.Time); err != nil {
				return err
			}
			if err := x.item(entity, item, item.Time); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !begun {
		err = begin(1)
	}
	return err
}

// openUntil opens the batches that may have the next message, if it is not after a time.
func (x *rosExporter) openUntil(to engram.Time) error {
	for len(x.batches) > 0 && (len(x.cursors) == 0 || x.batches[0].log <= x.cursors[0].head().log) && x.batches[0].log <= to {
		b := x.batches[0]
		x.batches = x.batches[1:]
		if err := x.open(b); err != nil {
			return err
		}
	}
	return nil
}

// drain writes what recordings tell of up to a time.
func (x *rosExporter) drain(to engram.Time) error {
	for n := 0; ; n++ {
		if n%progressEvery == 0 && x.ctx.Err() != nil {
			return x.ctx.Err()
		}
		if err := x.openUntil(to); err != nil {
			return err
		}
		if len(x.cursors) == 0 || x.cursors[0].head().log > to {
			return nil
		}
		c := x.cursors[0]
		if err := x.recorded(c, c.head()); err != nil {
			return err
		}
		x.cursors.advance()
	}
}
