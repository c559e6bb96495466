package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/doubt"
)

// maxDoubted bounds the snapshots that one query looks at for one that is not doubtful.
const maxDoubted = 100_000

// queryUndoubted answers a query that wants nothing that is withdrawn or rests on what is.
func queryUndoubted(ctx context.Context, s *Server, q engram.Query) (*engram.Result, error) {
	if err := q.Check(0); err != nil {
		return nil, err
	}
	q.WithoutDoubtful = false
	u := undoubted{s: s, q: q, judge: doubt.NewJudge(s.links.Doubts(ctx), q.AsOf)}
	r := &engram.Result{}
	rest := q
	rest.Memories = only(q.Memories, func(sel engram.SnapshotSelector) bool { return !chooses(sel) })
	if len(rest.Memories) > 0 || len(q.Memories) == 0 {
		var err error
		if r, err = s.query(ctx, rest); err != nil {
			return nil, err
		}
		left, err := u.leaveOut(ctx, r)
		if err != nil {
			return nil, err
		}
		r.Missing = append(r.Missing, u.told(ctx, left)...)
	}
	for _, sel := range choosing(q.Memories, nil) {
		chosen, err := u.choose(ctx, sel)
		if err != nil {
			return nil, err
		}
		r.Merge(chosen)
	}
	r.Missing = append(r.Missing, u.judge.Missing...)
	tidy(r.Memories)
	return r, nil
}

type undoubted struct {
	s     *Server
	q     engram.Query
	judge *doubt.Judge
}

// leftOut is what is doubtful of an entity, and the newest of it.
type leftOut struct {
	entity      engram.ID
	count       uint64
	first, last engram.Time
	why         *doubt.Verdict
}

// leaveOut takes out of a result what is doubtful, and returns what of each entity.
func (u *undoubted) leaveOut(ctx context.Context, r *engram.Result) (left []leftOut, err error) {
	items := r.Items()
	verdicts, err := u.judge.Items(engram.WithScope(ctx, nil), items) // with the server's rights
	if err != nil {
		return nil, err
	}
	drop := map[engram.ID]bool{}
	for i, v := range verdicts {
		if v == nil {
			continue
		}
		drop[items[i].ID] = true
		entity, at := items[i].ID.Truncate(engram.LevelEntity), items[i].Time
		if len(left) == 0 || left[len(left)-1].entity != entity {
			left = append(left, leftOut{entity: entity, first: at})
		}
		l := &left[len(left)-1]
		l.count++
		l.last, l.why = at, v
	}
	if len(drop) > 0 {
		prune(r.Memories, engram.ID{}, drop)
	}
	return left, nil
}

// prune takes snapshots out of a result.
func prune(nodes []*engram.ResultNode, above engram.ID, drop map[engram.ID]bool) {
	for _, n := range nodes {
		id, err := above.Child(n.Name)
		if err != nil {
			continue
		}
		n.Snapshots = slices.DeleteFunc(n.Snapshots, func(s *engram.Snapshot) bool { return drop[id.At(s.Time)] })
		prune(n.Children, id, drop)
	}
}

// told says what was left out, with no more of the reason than the caller may read.
func (u *undoubted) told(ctx context.Context, left []leftOut) (missing []engram.Missing) {
	scope := engram.ScopeOf(ctx)
	for _, l := range left {
		detail, rests := strings.CutPrefix(l.why.Within(scope), "doubtful: ")
		if !rests {
			detail = "it is " + detail
		}
		missing = append(missing, engram.Missing{
			ID: l.entity, Reason: engram.MissingDoubtful, Count: l.count, Detail: detail,
			Interval: engram.Interval{Start: l.first, End: l.last + 1}, Example: l.entity.At(l.last),
		})
	}
	return missing
}

// chooses reports whether what a selector selects depends on which snapshots there are.
func chooses(sel engram.SnapshotSelector) bool {
	switch sel.Kind {
	case engram.KindLatest, engram.KindAtOrBefore, engram.KindNearest, engram.KindIndexRange:
		return true
	}
	return false
}

// choosing adds the selectors that choose, each once.
func choosing(nodes []engram.QueryNode, found []engram.SnapshotSelector) []engram.SnapshotSelector {
	for i := range nodes {
		for _, sel := range nodes[i].Snapshots {
			if chooses(sel) && !slices.Contains(found, sel) {
				found = append(found, sel)
			}
		}
		found = choosing(nodes[i].Children, found)
	}
	return found
}

// choose answers the part of the query with one of its selectors that choose.
func (u *undoubted) choose(ctx context.Context, sel engram.SnapshotSelector) (*engram.Result, error) {
	q := u.q
	q.Memories = only(q.Memories, func(other engram.SnapshotSelector) bool { return other == sel })
	r, err := u.s.query(ctx, q)
	if err != nil {
		return nil, err
	}
	left, err := u.leaveOut(ctx, r)
	if err != nil {
		return nil, err
	}
	if q.FilterOrder == engram.SelectThenFilter && (q.Where != "" || q.Type != "") { // what was chosen may have been filtered
		q = u.candidates(q.Memories)
		all, err := u.s.query(ctx, q)
		if err != nil {
			return nil, err
		}
		if left, err = u.leaveOut(ctx, all); err != nil {
			return nil, err
		}
	}
	for _, l := range left {
		takeOut(r, l.entity)
		times, err := u.others(ctx, l, sel)
		if err != nil {
			return nil, err
		}
		if len(times) == 0 {
			continue
		}
		found := u.q
		var at []engram.SnapshotSelector
		for _, t := range times {
			at = append(at, engram.At(t))
		}
		found.Memories = engram.SelectID(l.entity, at...).Memories
		more, err := u.s.query(ctx, found)
		if err != nil {
			return nil, err
		}
		r.Merge(more)
	}
	r.Missing = append(r.Missing, u.told(ctx, left)...)
	return r, nil
}

// candidates returns the query for the snapshots that selectors choose among, without payloads.
func (u *undoubted) candidates(nodes []engram.QueryNode) engram.Query {
	q := u.q
	q.Memories, q.Fields, q.WithoutPayload = nodes, nil, true
	if q.FilterOrder == engram.SelectThenFilter {
		q.Where, q.Type = "", ""
	}
	return q
}

// others returns the times of what a selector chooses of an entity among what is not doubtful.
func (u *undoubted) others(ctx context.Context, l leftOut, sel engram.SnapshotSelector) ([]engram.Time, error) {
	switch sel.Kind {
	case engram.KindNearest:
		good, _, err := u.undoubtedIn(ctx, l.entity, engram.Interval{Start: sel.Time.Add(-sel.Within), End: sel.Time.Add(sel.Within).Add(1)}, 0)
		if err != nil || len(good) == 0 {
			return nil, err
		}
		return []engram.Time{slices.MinFunc(good, func(a, b engram.Time) int { return cmp.Compare(distance(a, sel.Time), distance(b, sel.Time)) })}, nil
	case engram.KindIndexRange:
		good, _, err := u.undoubtedIn(ctx, l.entity, engram.Always(), 0)
		if err != nil {
			return nil, err
		}
		first, last := sel.First, sel.Last
		if first < 0 {
			first = max(first+len(good), 0)
		}
		if last < 0 {
			last += len(good)
		}
		if last = min(last, len(good)-1); first > last {
			return nil, nil
		}
		return good[first : last+1], nil
	}
	n, end := 1, sel.Time
	if sel.Kind == engram.KindLatest {
		n, end = sel.N, engram.MaxTime
	} else if end < engram.MaxTime {
		end++
	}
	// Ever longer spans back from the newest that is doubtful.
	var good []engram.Time
	seen := 0
	for span := time.Second; ; span *= 8 {
		start := l.last.Add(-span)
		if span > 100*365*24*time.Hour {
			start = engram.MinTime
		}
		more, looked, err := u.undoubtedIn(ctx, l.entity, engram.Interval{Start: start, End: end}, n-len(good))
		if err != nil {
			return nil, err
		}
		good = append(more, good...)
		if len(good) >= n {
			return good[len(good)-n:], nil
		}
		if start == engram.MinTime {
			return good, nil
		}
		if seen += looked; seen > maxDoubted {
			return nil, engram.Errorf(engram.Exhausted, l.entity.String(), "its newest %d snapshots are all doubtful; ask for those before", seen)
		}
		end = start
	}
}

// undoubtedIn returns the times of an entity's snapshots in an interval that are not doubtful, in order, the newest n of them
// if n is not 0; and how many there are in all.
func (u *undoubted) undoubtedIn(ctx context.Context, entity engram.ID, during engram.Interval, n int) (good []engram.Time, looked int, err error) {
	r, err := u.s.query(ctx, u.candidates(engram.SelectID(entity, engram.In(during)).Memories))
	if err != nil {
		return nil, 0, err
	}
	items := r.Items()
	looked = len(items)
	for len(items) > 0 && (n == 0 || len(good) < n) {
		some := items // the newest first, since those before need not be read then
		if n > 0 {
			some = items[max(len(items)-max(n, 64), 0):]
		}
		verdicts, err := u.judge.Items(engram.WithScope(ctx, nil), some)
		if err != nil {
			return nil, 0, err
		}
		for i, v := range slices.Backward(verdicts) {
			if v == nil {
				good = append(good, some[i].Time)
			}
		}
		items = items[:len(items)-len(some)]
	}
	slices.Reverse(good)
	if n > 0 {
		good = good[max(len(good)-n, 0):]
	}
	return good, looked, nil
}

func distance(a, b engram.Time) time.Duration {
	if a < b {
		return b.Sub(a)
	}
	return a.Sub(b)
}
