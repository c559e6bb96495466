package ingest

import (
	"container/heap"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/tempdir"
)

// IsEpisode reports whether a file is an export or an episode of a long-term memory, or
// what another program made of exports by sorting, compressing, filtering or merging: of
// these [ImportEpisode] makes the same memory.
func IsEpisode(path string) bool { return asWritten(path) || hasIdentity(path) }

// asWritten reports whether a file begins as an episode does.
func asWritten(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, episode.HeadBytes)
	n, _ := f.ReadAt(head, 0)
	return episode.Begins(head[:n])
}

// openEpisode opens an episode. Of a damaged one it opens what can be saved of it, in
// a file that done removes, and tells what is lost.
func openEpisode(ctx context.Context, path string) (r *episode.Reader, lost []recording.Loss, done func(), err error) {
	o := episode.Options{Types: idf.NewRegistry(), Cache: episode.NewCache(cacheBytes)}
	r, err = episode.Open(path, o)
	if engram.CodeOf(err) != engram.Corrupt || errors.Is(err, episode.ErrRewritten) {
		return r, nil, func() { r.Close() }, err
	}
	dir, err := tempdir.Make("engram-import-")
	if err != nil {
		return nil, nil, nil, engram.Errorf(engram.Unavailable, path, "is damaged, and there is no room to repair a copy of it: %w", err)
	}
	saved := filepath.Join(dir.Path, "saved.mcap")
	_, problems, err := episode.Repair(ctx, path, saved, o)
	if err == nil {
		r, err = episode.Open(saved, o)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, dir.Remove())
	}
	for _, p := range problems {
		lost = append(lost, recording.Loss{File: path, Offset: p.Offset, Reason: p.What})
	}
	if len(lost) == 0 {
		lost = append(lost, recording.Loss{File: path, Reason: "the file has no end; what it holds of messages is whole"})
	}
	return r, lost, func() { r.Close(); dir.Remove() }, nil
}

// ImportEpisode commits what an export or an episode holds under the same IDs, with
// the same times, confidences, instances and times of sending; core segments and types
// that are not there are added. Of a damaged file what is whole is imported, and the
// report names the loss. What another program made of exports is imported in the same way,
// by what the channels say of themselves; what else such a file holds is imported as by
// [Import]. The memory gives it times of arrival and numbers of its
// own. Of Options, Mark, Rate and Progress count.
func ImportEpisode(ctx context.Context, dst Destination, path string, o Options) (*Report, error) {
	began := time.Now()
	if o.Rate < 0 || o.Rate != o.Rate {
		return nil, engram.Errorf(engram.Invalid, path, "the rate %v is not a positive number", o.Rate)
	}
	if !asWritten(path) {
		return importRewritten(ctx, dst, path, o, began)
	}
	r, lost, done, err := openEpisode(ctx, path)
	if errors.Is(err, episode.ErrRewritten) {
		return importRewritten(ctx, dst, path, o, began)
	}
	if err != nil {
		return nil, err
	}
	defer done()
	report := &Report{File: path, Loss: lost}
	im := &episodeImporter{ctx: ctx, dst: dst, r: r, o: o, report: report}
	if err := im.define(); err != nil {
		return nil, err
	}
	if im.out, err = newSender(ctx, dst, marking{set: o.Mark, span: episode.RecordedFromZero(r.Info().Recorded, r.Info().Span)}); err == nil {
		err = im.run()
		err = errors.Join(err, im.out.finish(err == nil))
		report.Evictions, report.Displaced = im.out.keep.finish(dst)
	}
	for _, l := range im.lanes {
		report.Topics = append(report.Topics, l.topic)
	}
	return report, report.finish(ctx, began, err)
}

// Bounds of what an import of an episode holds at once.
const (
	cacheBytes = 32 << 20
	aheadBytes = 64 << 20 // of payloads that are read ahead, of all entities
	aheadMost  = 256      // snapshots of one entity
)

type episodeImporter struct {
	ctx    context.Context
	dst    Destination
	r      *episode.Reader
	o      Options
	report *Report
	out    *sender
	pace   pace
	lanes  []*entityLane
}

// define makes the episode's types and segments known. What is there already in
// another form stays, and refuses what does not fit it.
func (im *episodeImporter) define() error {
	types, err := im.r.Types()
	if err != nil {
		return err
	}
	info := im.r.Info()
	var coded map[string]string
	if text := info.Labels[labelTypes]; text != "" {
		if err := json.Unmarshal([]byte(text), &coded); err != nil {
			return engram.Errorf(engram.Corrupt, info.Name, "its account of types cannot be read: %w", err)
		}
	}
	for name, text := range coded {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return engram.Errorf(engram.Corrupt, info.Name, "the type %s cannot be read: %w", name, err)
		}
		if !slices.ContainsFunc(types, func(t engram.TypeDef) bool { return t.Name == name }) {
			types = append(types, engram.TypeDef{Name: name, Descriptors: b})
		}
	}
	for _, t := range types {
		if err := im.dst.AddType(im.ctx, t); fatal(err) {
			return err
		}
	}
	var segments []exportedSegment
	if text := info.Labels[labelSegments]; text != "" {
		if err := json.Unmarshal([]byte(text), &segments); err != nil {
			return engram.Errorf(engram.Corrupt, info.Name, "its account of segments cannot be read: %w", err)
		}
	} else {
		segments = im.guessSegments()
	}
	used := map[engram.ID]bool{}
	for _, e := range im.r.Entities() {
		used[e.ID.Truncate(engram.LevelCoreSegment)] = true
		used[e.ID.Truncate(engram.LevelProviderSegment)] = true
	}
	for _, s := range segments { // core segments come before their providers
		if !used[s.ID] {
			continue
		}
		if err := addSegment(im.ctx, im.dst, s); err != nil {
			return err
		}
	}
	return nil
}

// addSegment adds a segment that is not there. The error is of what ends an import.
func addSegment(ctx context.Context, dst Destination, s exportedSegment) error {
	have, err := dst.Describe(ctx, engram.PatternOf(s.ID))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(have, func(d engram.Description) bool { return d.ID == s.ID }) {
		return nil
	}
	switch s.ID.Level() {
	case engram.LevelCoreSegment:
		seg := engram.CoreSegment{ID: s.ID, Type: s.Type, FixedProviders: s.FixedProviders, MaxAhead: time.Duration(s.MaxAhead)}
		seg.History = engram.Bounds{MaxCount: s.MaxCount, MaxAge: time.Duration(s.MaxAge), MaxBytes: s.MaxBytes}
		for _, d := range []engram.Durability{engram.Logged, engram.Synced} {
			if s.Durability == d.String() {
				seg.Durability = d
			}
		}
		err = dst.AddCoreSegment(ctx, seg)
		if engram.CodeOf(err) == engram.Unsupported { // there is no log for its durability
			seg.Durability = engram.Volatile
			err = dst.AddCoreSegment(ctx, seg)
		}
	case engram.LevelProviderSegment:
		err = dst.AddProviderSegment(ctx, engram.ProviderSegment{ID: s.ID, Type: s.Type})
	}
	if fatal(err) {
		return err
	}
	return nil
}

// guessSegments returns core segments for an episode that does not describe them: of
// the type that all payloads in them have, or of any.
func (im *episodeImporter) guessSegments() []exportedSegment {
	types := map[engram.ID]string{}
	for _, e := range im.r.Entities() {
		core := e.ID.Truncate(engram.LevelCoreSegment)
		if t, ok := types[core]; ok && t != e.Type {
			types[core] = engram.ValueType
		} else {
			types[core] = e.Type
		}
	}
	var out []exportedSegment
	for id, t := range types {
		out = append(out, exportedSegment{ID: id, Type: t})
	}
	slices.SortFunc(out, func(a, b exportedSegment) int { return a.ID.Compare(b.ID) })
	return out
}

// fatal reports whether an error of a definition ends the import; others are said by
// the updates that are refused because of them.
func fatal(err error) bool {
	code := engram.CodeOf(err)
	return err != nil && (code == engram.Unavailable || code == engram.Canceled)
}

// run commits all, in the order of time.
func (im *episodeImporter) run() error {
	entities := im.r.Entities()
	var lanes laneHeap
	for i := range entities {
		e := &entities[i]
		tl, err := im.r.Timeline(e.ID)
		if err != nil {
			im.lose(e.ID, int(e.Snapshots), err)
			continue
		}
		ahead := int64(aheadBytes) / int64(len(entities)) / max(1, e.Bytes/int64(max(e.Snapshots, 1)))
		l := &entityLane{id: e.ID, timeline: tl, blocks: tl.Blocks(), ahead: int(min(max(ahead, 1), aheadMost))}
		l.topic = TopicReport{Topic: e.ID.String(), Type: e.Type, Encoding: "protobuf"}
		l.topic.target(e.ID.Truncate(engram.LevelCoreSegment))
		im.lanes = append(im.lanes, l)
		if err := l.next(im); err != nil {
			return err
		}
		if l.head() != nil {
			lanes = append(lanes, l)
		}
	}
	heap.Init(&lanes)
	span := im.r.Info().Span
	im.pace.rate = im.o.Rate
	for n := 0; len(lanes) > 0; n++ {
		if n%progressEvery == 0 {
			if err := im.ctx.Err(); err != nil {
				return err
			}
			if im.o.Progress != nil {
				im.o.Progress(int64(lanes[0].head().Time.Sub(span.Start)), int64(span.End.Sub(span.Start)))
			}
		}
		l := lanes[0]
		s := l.head()
		if err := im.pace.wait(im.ctx, s.Time, im.out.flush); err != nil {
			return err
		}
		l.topic.Messages++
		r := im.report
		if r.Span.Empty() {
			r.Span = engram.Interval{Start: s.Time, End: s.Time + 1}
		}
		r.Span.Start, r.Span.End = min(r.Span.Start, s.Time), max(r.Span.End, s.Time+1)
		r.Bytes += uint64(s.Size())
		if err := im.out.addAll(&l.topic, l.id, s.Time, s.Instances); err != nil {
			return err
		}
		l.loaded = l.loaded[1:]
		if err := l.next(im); err != nil {
			return err
		}
		if l.head() == nil {
			heap.Pop(&lanes)
		} else {
			heap.Fix(&lanes, 0)
		}
	}
	return nil
}

// lose notes what cannot be read.
func (im *episodeImporter) lose(id engram.ID, n int, err error) {
	im.report.Loss = append(im.report.Loss, recording.Loss{
		File: im.report.File, Messages: uint64(n), Topics: []string{id.String()}, Reason: err.Error(),
	})
}

// entityLane reads an entity's versions in the order of time.
type entityLane struct {
	id       engram.ID
	timeline episode.Timeline
	blocks   []episode.Block
	block    int
	at       int // the next version of the block to be loaded
	ahead    int // versions that are loaded at once
	loaded   []*engram.Snapshot
	topic    TopicReport
}

func (l *entityLane) head() *engram.Snapshot {
	if len(l.loaded) == 0 {
		return nil
	}
	return l.loaded[0]
}

// next loads more if nothing is loaded.
func (l *entityLane) next(im *episodeImporter) error {
	for len(l.loaded) == 0 && l.block < len(l.blocks) {
		n := l.blocks[l.block].Count
		if l.at >= n {
			l.block, l.at = l.block+1, 0
			continue
		}
		end := min(l.at+l.ahead, n)
		found, err := l.timeline.Load(im.ctx, l.block, l.at, end)
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Corrupt && code != engram.Unsupported {
				return err
			}
			im.lose(l.id, end-l.at, err)
		}
		l.loaded, l.at = slices.Clone(found), end
	}
	return nil
}

// laneHeap has the lane with the earliest time first.
type laneHeap []*entityLane

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h laneHeap) Len() int           { return len(h) }
func (h laneHeap) Less(i, j int) bool { return h[i].head().Time < h[j].head().Time }
func (h laneHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *laneHeap) Push(x any)        { *h = append(*h, x.(*entityLane)) }
func (h *laneHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	*h = old[:len(old)-1]
	return l
}
