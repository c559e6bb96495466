package web

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// maxPaths bounds the series of one piece, and maxBins the bins of all of them.
const (
	maxPaths = 64
	maxBins  = 1 << 17
	// lookBack is in how many snapshots is looked for names of elements that the newest does not have: those of others that
	// write to the same entity.
	lookBack = 16
)

// series answers numbers of an entity over time, as a plot shows them:
//
//	id        an entity, or an instance of one of its snapshots: then that of each snapshot that has the same number
//	path      a member that is a number, as idf.Type.Numbers takes it; several may be asked for at once
//	from, to  of which time; otherwise from the first to the newest snapshot
//	n         in how many bins of equal length
//	asof      what was known then
//	csv       1 for all values as they are, as CSV
//
// Of each bin it tells the first, last, lowest and highest value, and the number of values; empty bins are left out.
// A value holds until the next one, so that of the time before is told, too, and the times from which on no value is in
// force: of the first snapshots without the member, or with NaN or an infinity in it. A snapshot without the name in a path,
// such as position["knee"], tells of others, and changes nothing. Losses that are known are told as gaps.
func (p *plots) series(w http.ResponseWriter, r *http.Request, q query) error {
	id, err := q.id("id")
	if err != nil {
		return err
	}
	paths := q.Values["path"]
	if len(paths) == 0 || len(paths) > maxPaths {
		return engram.Errorf(engram.Invalid, "path", "%d members; 1 to %d can be asked for at once", len(paths), maxPaths)
	}
	n, err := q.number("n", 1, min(maxColumns, maxBins/len(paths)), min(1000, maxBins/len(paths)))
	if err != nil {
		return err
	}
	s, held, err := p.span(r.Context(), q, id.Truncate(engram.LevelEntity))
	if err != nil {
		return err
	}
	instance, _ := id.Index()
	numbers := newNumbers(&p.types, paths, instance)
	if q.Get("csv") == "1" {
		s.payload, s.fields = true, p.fieldsOf(r.Context(), id.Truncate(engram.LevelProviderSegment), paths)
		return p.csv(w, r, s, held, numbers)
	}
	var out bytes.Buffer
	err = p.busy.within(r.Context(), func() error {
		all := make([]binned, len(paths))
		for i := range all {
			all[i].bins, all[i].before = make([]bucket, n), math.NaN()
		}
		if err := p.fill(r.Context(), s, held, numbers, all); err != nil {
			return err
		}
		return writeSeries(&out, s, n, numbers, all)
	})
	if err != nil {
		return err
	}
	headJSON(w)
	_, err = w.Write(out.Bytes())
	return err
}

// fill reads the values in force before a span, and puts those in it into bins.
func (p *plots) fill(ctx context.Context, s *span, h held, numbers *numbers, into []binned) error {
	at, open := s.from, make([]int, len(into)) // the series whose value is still looked for
	for i := range open {
		open[i] = i
	}
	for range lookBack {
		before, err := p.before(ctx, s, at, h)
		if err != nil {
			return err
		}
		if before == nil {
			break
		}
		if err := numbers.read(ctx, before); err != nil {
			return err
		}
		at = before.Time
		open = slices.DeleteFunc(open, func(i int) bool {
			v := numbers.values[i]
			into[i].before, into[i].beforeTime = v, before.Time
			return !idf.IsUnnamed(v)
		})
		if len(open) == 0 {
			break
		}
	}
	return p.bin(ctx, s, h, numbers, into)
}

// bin puts the values of a span into bins: of a long one by several processors, each of which reads one part of the time after
// the other. There are more parts than processors: some are read faster than others, and a processor may have other work.
func (p *plots) bin(ctx context.Context, s *span, h held, of *numbers, into []binned) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := len(into[0].bins)
	spans, readers := s.split(h)
	parts := make([]binnedPart, len(spans))
	var next atomic.Int32
	work := func() {
		for k := int(next.Add(1)) - 1; k < len(parts) && ctx.Err() == nil; k = int(next.Add(1)) - 1 {
			part := &parts[k]
			*part = binnedPart{span: spans[k], of: s, n: n, met: map[string]bool{}}
			if err := p.binPart(ctx, part, of); err != nil {
				cancel(err)
			}
		}
	}
	var workers sync.WaitGroup
	for range readers - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for k := range parts {
		part := &parts[k]
		s.miss(part.missing)
		for _, typ := range slices.Sorted(maps.Keys(part.met)) {
			if _, err := of.meet(ctx, typ); err != nil {
				return err
			}
		}
		for i := range part.bins {
			for at := range part.bins[i] {
				into[i].bins[part.first+at].join(&part.bins[i][at])
			}
		}
	}
	return nil
}

// binnedPart is a part of a span that has n bins.
type binnedPart struct {
	*span
	of    *span
	n     int
	met   map[string]bool // types
	first int             // the first bin with a time of the part
	bins  [][]bucket      // by path, from the first one on
}

// binPart puts the values of a part of a span into its bins, and notes which types are met.
func (p *plots) binPart(ctx context.Context, part *binnedPart, of *numbers) error {
	if part.from >= part.to {
		return nil
	}
	part.first = part.of.binOf(part.from, part.n)
	part.bins = make([][]bucket, len(of.paths))
	for i := range part.bins {
		part.bins[i] = make([]bucket, part.of.binOf(part.to-1, part.n)-part.first+1)
	}
	q := engram.SelectID(part.entity, engram.In(engram.Interval{Start: part.from, End: part.to}))
	q.AsOf = part.asOf
	q.Numbers = &engram.Numbers{
		Paths: of.paths, Instance: of.instance,
		Take: func(t engram.Time, row []float64) error {
			at := part.of.binOf(t, part.n) - part.first
			for i, v := range row {
				part.bins[i][at].add(t, v)
			}
			return nil
		},
		Met: func(typ string) { part.met[typ] = true },
	}
	return p.svc.QueryParts(ctx, q, func(r *engram.Result) error {
		part.miss(r.Missing)
		return nil
	})
}

// before returns the newest snapshot of a span's entity before a time, nil if there is none.
func (p *plots) before(ctx context.Context, s *span, t engram.Time, h held) (*engram.Snapshot, error) {
	if t <= h.first {
		return nil, nil
	}
	snap, err := p.snapshot(ctx, asked{entity: s.entity, selector: engram.AtOrBefore(t - 1), asOf: s.asOf}, true)
	if code := engram.CodeOf(err); code == engram.NotFound || code == engram.TooOld {
		return nil, nil
	}
	return snap, err
}

// fieldsOf returns the paths as members that a query can ask for, so that others are not read from disk; nil if payloads of
// the segment, which are of its type or extend it, may not have all of them, or if some may go by names, which stand elsewhere.
func (p *plots) fieldsOf(ctx context.Context, segment engram.ID, paths []string) []string {
	if slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(path, `["`) }) {
		return nil
	}
	stats, err := p.svc.Stats(ctx, engram.PatternOf(segment), engram.LevelProviderSegment)
	if err != nil || len(stats) != 1 || stats[0].ID != segment {
		return nil
	}
	t, err := p.types.get(ctx, stats[0].Type)
	if err != nil {
		return nil
	}
	if _, err := t.Numbers(paths); err != nil {
		return nil
	}
	if _, err := t.Project(paths); err != nil {
		return nil
	}
	return paths
}

// binned is a series in bins.
type binned struct {
	bins       []bucket
	before     float64 // the value in force when the first bin begins; NaN if there is none
	beforeTime engram.Time
}

// seriesHead and seriesOf are what a piece tells before its columns.
type seriesHead struct {
	ID   engram.ID   `json:"id"`
	From nanoseconds `json:"from"`
	To   nanoseconds `json:"to"`
	N    int         `json:"n"`
	Gaps []gap       `json:"gaps"`
}

type seriesOf struct {
	Path   string  `json:"path"`
	Error  string  `json:"error,omitempty"`  // why no payload has such a member
	Before *before `json:"before,omitempty"` // the value in force when the time begins
	None   int     `json:"none,omitempty"`   // snapshots without a finite number
}

type before struct {
	Time  nanoseconds `json:"time"`
	Value float64     `json:"value"`
}

// writeSeries writes series as JSON, with a column for each property of the bins that have values. Times are nanoseconds
// after from. Of a series with at most one value in each bin, first has all, and the other columns are left out. Ends have
// the times from which on no value is in force, by bin.
func writeSeries(out *bytes.Buffer, s *span, n int, numbers *numbers, all []binned) error {
	head, err := json.Marshal(seriesHead{ID: s.entity, From: nanoseconds(s.from), To: nanoseconds(s.to), N: n, Gaps: s.gaps()})
	if err != nil {
		return err
	}
	out.Write(head[:len(head)-1])
	out.WriteString(`,"series":[`)
	for i := range all {
		if i > 0 {
			out.WriteByte(',')
		}
		b := &all[i]
		of := seriesOf{Path: numbers.paths[i]}
		for k := range b.bins {
			of.None += b.bins[k].none
		}
		if err := numbers.err(i); err != nil {
			of.Error = err.Error()
		}
		if !math.IsNaN(b.before) && !math.IsInf(b.before, 0) {
			of.Before = &before{nanoseconds(b.beforeTime), b.before}
		}
		head, err := json.Marshal(of)
		if err != nil {
			return err
		}
		out.Write(head[:len(head)-1])
		b.write(out, s.from)
		out.WriteByte('}')
	}
	out.WriteString("]}\n")
	return nil
}

func (b *binned) write(out *bytes.Buffer, from engram.Time) {
	single := true
	for i := range b.bins {
		single = single && b.bins[i].count <= 1
	}
	column := func(name string, has func(*bucket) bool, value func(to []byte, at int, b *bucket) []byte) {
		out.WriteString(`,"` + name + `":[`)
		separator := false
		for i := range b.bins {
			if !has(&b.bins[i]) {
				continue
			}
			to := out.AvailableBuffer()
			if separator {
				to = append(to, ',')
			}
			separator = true
			out.Write(value(to, i, &b.bins[i]))
		}
		out.WriteByte(']')
	}
	place := func(to []byte, at int, _ *bucket) []byte { return strconv.AppendInt(to, int64(at), 10) }
	integer := func(value func(*bucket) int64) func([]byte, int, *bucket) []byte {
		return func(to []byte, _ int, b *bucket) []byte { return strconv.AppendInt(to, value(b), 10) }
	}
	number := func(value func(*bucket) float64) func([]byte, int, *bucket) []byte {
		return func(to []byte, _ int, b *bucket) []byte { return strconv.AppendFloat(to, value(b), 'g', -1, 64) }
	}
	ends := func(b *bucket) bool { return b.ended }
	column("endBin", ends, place)
	column("endTime", ends, integer(func(b *bucket) int64 { return int64(b.endTime - from) }))
	filled := func(b *bucket) bool { return b.count > 0 }
	column("bin", filled, place)
	column("firstTime", filled, integer(func(b *bucket) int64 { return int64(b.firstTime - from) }))
	column("first", filled, number(func(b *bucket) float64 { return b.first }))
	if single {
		return
	}
	column("lastTime", filled, integer(func(b *bucket) int64 { return int64(b.lastTime - from) }))
	column("last", filled, number(func(b *bucket) float64 { return b.last }))
	column("low", filled, number(func(b *bucket) float64 { return b.low }))
	column("high", filled, number(func(b *bucket) float64 { return b.high }))
	column("count", filled, integer(func(b *bucket) int64 { return int64(b.count) }))
}
