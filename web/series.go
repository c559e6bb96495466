package web

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"sync"

	"github.com/seed-301d4374/engram"
	aggregate "github.com/seed-301d4374/engram/query"
)

// maxPaths bounds the series of one piece, and maxBins the bins of all of them.
const (
	maxPaths = 64
	maxBins  = 1 << 17
)

// series answers numbers of an entity over time, as a plot shows them:
//
//	id        an entity, or an instance of one of its snapshots, whose place in the list of instances then counts
//	path      a member that is a number, as idf.Type.Numbers takes it; several may be asked for at once
//	from, to  of which time; otherwise from the first to the newest snapshot
//	n         in how many bins of equal length
//	asof      what was known then
//	csv       1 for all values as they are, as CSV
//
// Of each bin it tells the first, last, lowest, highest and mean value, and the number of values. Where there is nothing
// there is no bin: it is for the page to say what holds in between. So that a value that changed before the time can be
// drawn, the one in force when the time begins is told, too.
func (p *Page) series(w http.ResponseWriter, r *http.Request, q query) error {
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
	s.payload = true
	instance, _ := id.Index()
	numbers := aggregate.NewNumbers(p.types.Type, paths, instance)
	s.fields = p.fieldsOf(r.Context(), id.Truncate(engram.LevelProviderSegment), paths)
	if q.Get("csv") == "1" {
		return p.csv(w, r, s, held, numbers)
	}
	all := make([]binned, len(paths))
	for i := range all {
		all[i].bins = make([]aggregate.Bucket, n)
	}
	if before, err := p.before(r.Context(), s, held); err != nil {
		return err
	} else if before != nil {
		if err := numbers.Read(r.Context(), before); err != nil {
			return err
		}
		for i, v := range numbers.Values {
			all[i].before, all[i].beforeTime = v, before.Time
		}
	} else {
		for i := range all {
			all[i].before = math.NaN()
		}
	}
	if err := p.bin(r.Context(), s, held, numbers, all); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	var out bytes.Buffer
	if err := writeSeries(&out, s, n, numbers, all); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

// bin puts the values of a span into bins: of a long one by several processors, each of which reads a part of the time.
func (p *Page) bin(ctx context.Context, s *span, h held, all *aggregate.Numbers, into []binned) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := s.split(h)
	work := func(part *span, own *aggregate.Numbers, into []binned) {
		n := len(into[0].bins)
		err := p.each(ctx, part, h, func(snap *engram.Snapshot) error {
			if err := own.Read(ctx, snap); err != nil {
				return err
			}
			at := s.binOf(snap.Time, n)
			for i, v := range own.Values {
				into[i].add(at, snap.Time, v)
			}
			return nil
		})
		if err != nil {
			cancel(err)
		}
	}
	others := make([]*aggregate.Numbers, len(parts))
	bins := make([][]binned, len(parts))
	var workers sync.WaitGroup
	for k := range parts[1:] {
		k++
		others[k], bins[k] = all.Again(), make([]binned, len(into))
		for i := range into {
			bins[k][i].bins = make([]aggregate.Bucket, len(into[i].bins))
		}
		workers.Go(func() { work(parts[k], others[k], bins[k]) })
	}
	work(parts[0], all, into)
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for k, part := range parts {
		s.miss(part.missing)
		if k == 0 {
			continue
		}
		all.Join(others[k])
		for i := range into {
			into[i].join(&bins[k][i])
		}
	}
	return nil
}

// before returns the snapshot in force when a span begins, nil if there is none.
func (p *Page) before(ctx context.Context, s *span, h held) (*engram.Snapshot, error) {
	if s.from <= h.first {
		return nil, nil
	}
	snap, err := p.snapshot(ctx, asked{entity: s.entity, selector: engram.AtOrBefore(s.from - 1), asOf: s.asOf}, true)
	if code := engram.CodeOf(err); code == engram.NotFound || code == engram.TooOld {
		return nil, nil
	}
	return snap, err
}

// fieldsOf returns the paths as members that a query can ask for, so that no others are read; nil if payloads of the
// segment, which are of its type or extend it, may not have all of them.
func (p *Page) fieldsOf(ctx context.Context, segment engram.ID, paths []string) []string {
	stats, err := p.svc.Stats(ctx, engram.PatternOf(segment), engram.LevelProviderSegment)
	if err != nil || len(stats) != 1 || stats[0].ID != segment {
		return nil
	}
	t, err := p.types.Type(ctx, stats[0].Type)
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
	bins       []aggregate.Bucket
	before     float64 // the value in force when the first bin begins; NaN if there is none
	beforeTime engram.Time
	odd        int // values that no plot can show: infinite ones
}

// add adds a value.
func (b *binned) add(at int, t engram.Time, v float64) {
	if !b.bins[at].Add(t, v) && math.IsInf(v, 0) {
		b.odd++
	}
}

// join adds what comes later.
func (b *binned) join(later *binned) {
	b.odd += later.odd
	for i := range later.bins {
		b.bins[i].Join(&later.bins[i])
	}
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
	Error  string  `json:"error,omitempty"` // why no payload has such a member
	Before *before `json:"before,omitempty"`
	Odd    int     `json:"odd,omitempty"`
}

type before struct {
	Time  nanoseconds `json:"time"`
	Value float64     `json:"value"`
}

// writeSeries writes series as JSON, with a column for each property of the bins that have values. Times are nanoseconds
// after from. Of a series that has one value in each bin, first says all, and the other values are left out.
func writeSeries(out *bytes.Buffer, s *span, n int, numbers *aggregate.Numbers, all []binned) error {
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
		of := seriesOf{Path: numbers.Paths[i], Odd: b.odd}
		if err := numbers.Err(i); err != nil {
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
		single = single && b.bins[i].Count <= 1
	}
	column := func(name string, value func(to []byte, at int, b *aggregate.Bucket) []byte) {
		out.WriteString(`,"` + name + `":[`)
		separator := false
		for i := range b.bins {
			if b.bins[i].Count == 0 {
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
	number := func(value func(*aggregate.Bucket) float64) func([]byte, int, *aggregate.Bucket) []byte {
		return func(to []byte, _ int, b *aggregate.Bucket) []byte {
			return strconv.AppendFloat(to, value(b), 'g', -1, 64)
		}
	}
	integer := func(value func(*aggregate.Bucket) int64) func([]byte, int, *aggregate.Bucket) []byte {
		return func(to []byte, _ int, b *aggregate.Bucket) []byte { return strconv.AppendInt(to, value(b), 10) }
	}
	column("bin", func(to []byte, at int, _ *aggregate.Bucket) []byte { return strconv.AppendInt(to, int64(at), 10) })
	column("firstTime", integer(func(b *aggregate.Bucket) int64 { return int64(b.FirstTime - from) }))
	column("first", number(func(b *aggregate.Bucket) float64 { return b.First }))
	if single {
		return
	}
	column("lastTime", integer(func(b *aggregate.Bucket) int64 { return int64(b.LastTime - from) }))
	column("last", number(func(b *aggregate.Bucket) float64 { return b.Last }))
	column("low", number(func(b *aggregate.Bucket) float64 { return b.Min }))
	column("high", number(func(b *aggregate.Bucket) float64 { return b.Max }))
	column("mean", number(func(b *aggregate.Bucket) float64 { return b.Mean() }))
	column("count", integer(func(b *aggregate.Bucket) int64 { return int64(b.Count) }))
}
