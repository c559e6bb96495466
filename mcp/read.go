package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
)

// chosen is what holds for any choice of snapshots.
type chosen struct {
	AsOf   string   `json:"as_of,omitempty" jsonschema:"what the memory knew at this time, when what came later had not arrived"`
	Fields []string `json:"fields,omitempty" jsonschema:"only these members, such as pose.position or position[3]"`
	Type   string   `json:"type,omitempty" jsonschema:"only data of this type, or of one that extends it"`
}

// apply sets it, and a condition.
func (in *chosen) apply(q *engram.Query, where string) (err error) {
	q.Where, q.Type = where, in.Type
	q.AsOf, err = optionalTime(in.AsOf)
	return err
}

type getIn struct {
	chosen
	ID     string `json:"id" jsonschema:"entities, such as Object/Instance or Object/Instance/*/cup; or one snapshot, with its time behind"`
	At     string `json:"at,omitempty" jsonschema:"what was in force at this time; default the newest"`
	Where  string `json:"where,omitempty" jsonschema:"only what satisfies this CEL expression over the members, such as confidence > 0.8 && pose.position.z < 1.0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many entities at most, up to 200; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type snapshotsOut struct {
	Snapshots []snapshot `json:"snapshots"`
	Notes     []string   `json:"notes,omitempty" jsonschema:"what is missing, and why"`
	Next      string     `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

// errEnough ends a query of which enough is known.
var errEnough = errors.New("enough")

func (s *Server) get(ctx context.Context, in getIn) (out snapshotsOut, _ extra, err error) {
	limit, place, err := pageOf(in.Limit, someItems, in.Cursor, 1)
	if err != nil {
		return out, nil, err
	}
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	at, err := optionalTime(in.At)
	if err != nil {
		return out, nil, err
	}
	selector := engram.Latest(1)
	switch {
	case t.time != nil && at != nil:
		return out, nil, engram.Errorf(engram.Invalid, in.At, "the id has a time, and at is another; give one of them")
	case t.time != nil:
		selector = engram.At(*t.time)
	case at != nil:
		selector = engram.AtOrBefore(*at)
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	// Which entities come is asked first, so that only what is shown is carried.
	q := t.pattern.Select(selector)
	if err := in.apply(&q, in.Where); err != nil {
		return out, nil, err
	}
	q.WithoutPayload = true
	var ids []engram.ID // the first of those behind the cursor, one more than are shown
	var missing []engram.Missing
	more := false
	err = m.QueryParts(ctx, q, func(part *engram.Result) error {
		for it := range part.All() {
			id := it.ID.Truncate(engram.LevelEntity)
			if place != nil {
				if after, err := engram.Parse(place[0]); err != nil || id.Compare(after) <= 0 {
					continue
				}
			}
			at, there := slices.BinarySearchFunc(ids, id, engram.ID.Compare)
			if there {
				continue
			}
			if ids = slices.Insert(ids, at, id); len(ids) > limit {
				ids, more = ids[:limit], true
			}
		}
		missing = append(missing, part.Missing...)
		return nil
	})
	if err != nil {
		return out, nil, err
	}
	out.Notes = lacking(missing)
	p := s.newPage(len(ids))
	p.snapshots = []snapshot{}
	var last engram.ID
	for _, id := range ids {
		q := engram.SelectID(id, selector)
		if err := in.apply(&q, in.Where); err != nil {
			return out, nil, err
		}
		q.Fields = in.Fields
		full, err := p.query(ctx, m, q, t.index)
		if err != nil {
			return out, nil, err
		}
		if full {
			more = true
			break
		}
		last = id
	}
	if more {
		out.Next = cursorOf(last.String())
	}
	if len(p.snapshots) == 0 && place == nil {
		return out, nil, s.nothing(ctx, t, out.Notes)
	}
	out.Snapshots = p.snapshots
	return out, p.extra, nil
}

// query adds what a query finds, and reports whether there was no more room.
func (p *page) query(ctx context.Context, m engram.Reader, q engram.Query, index int) (full bool, err error) {
	r, err := m.Query(ctx, q)
	if err != nil {
		return false, err
	}
	for it := range r.All() {
		if index >= len(it.Instances) {
			continue
		}
		if ok, err := p.add(ctx, it, index, q.Fields); err != nil || !ok {
			return !ok, err
		}
	}
	return false, nil
}

// nothing says why nothing was found.
func (s *Server) nothing(ctx context.Context, t target, notes []string) error {
	m, err := s.reach(ctx)
	if err != nil {
		return err
	}
	nodes, err := m.Stats(ctx, t.pattern, max(engram.Level(len(t.pattern.Levels)), engram.LevelMemory))
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return s.absent(ctx, t)
	}
	first, last, some := engram.MaxTime, engram.MinTime, false
	for _, n := range nodes {
		if n.Snapshots > 0 {
			first, last, some = min(first, n.First), max(last, n.Last), true
		}
		if n.Disk.Snapshots > 0 {
			first, last, some = min(first, n.Disk.First), max(last, n.Disk.Last), true
		}
	}
	if !some {
		return engram.Errorf(engram.NotFound, t.text, "it holds nothing%s; list shows what does", behind(notes))
	}
	return engram.Errorf(engram.NotFound, t.text, "no snapshot fits%s; there are some from %s to %s", behind(notes), timeText(first), timeText(last))
}

func behind(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

type historyIn struct {
	chosen
	ID     string `json:"id" jsonschema:"entities, such as Object/Instance/*/cup"`
	From   string `json:"from,omitempty" jsonschema:"begin of the time range, inclusive; default the oldest"`
	To     string `json:"to,omitempty" jsonschema:"end of the time range, exclusive; default the newest"`
	Order  string `json:"order,omitempty" jsonschema:"newest (default) or oldest: which come first"`
	Where  string `json:"where,omitempty" jsonschema:"only what satisfies this CEL expression over the members, such as confidence < 0.5"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many snapshots at most, up to 200; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type historyOut struct {
	snapshotsOut
	Found uint64 `json:"found" jsonschema:"how many snapshots fit, in this part of the answer and behind it"`
}

// moment is a snapshot in the order of a history.
type moment struct {
	time engram.Time
	id   engram.ID // of the entity
}

// compare orders moments by time and then by entity.
func (a moment) compare(b moment) int {
	switch {
	case a.time < b.time:
		return -1
	case a.time > b.time:
		return 1
	}
	return a.id.Compare(b.id)
}

// window keeps the first moments of an order that lie behind a cursor.
type window struct {
	newest bool
	limit  int
	behind *moment
	kept   []moment
	found  uint64
	more   bool
}

// newWindow reads the cursor of a history.
func newWindow(order, cursor string, limit int) (*window, error) {
	w := &window{newest: order != "oldest", limit: limit}
	if order != "" && order != "oldest" && order != "newest" {
		return nil, engram.Errorf(engram.Invalid, order, "order is newest or oldest")
	}
	place, err := placeOf(cursor, 2)
	if err != nil || place == nil {
		return w, err
	}
	t, err := engram.ParseTime(place[0])
	if err != nil {
		return nil, err
	}
	id, err := engram.Parse(place[1])
	w.behind = &moment{t, id}
	return w, err
}

// narrow returns the part of an interval that may lie behind the cursor.
func (w *window) narrow(iv engram.Interval) engram.Interval {
	switch {
	case w.behind == nil:
	case w.newest:
		iv.End = min(iv.End, w.behind.time.Add(1))
	default:
		iv.Start = max(iv.Start, w.behind.time)
	}
	return iv
}

// add keeps a moment if it is among the first; it reports whether it is.
func (w *window) add(m moment) bool {
	order := moment.compare
	if w.newest {
		order = func(a, b moment) int { return b.compare(a) }
	}
	if w.behind != nil && order(m, *w.behind) <= 0 {
		return false
	}
	at, there := slices.BinarySearchFunc(w.kept, m, order)
	if there {
		return false
	}
	w.found++
	if at == w.limit {
		w.more = true
		return false
	}
	if w.kept = slices.Insert(w.kept, at, m); len(w.kept) > w.limit {
		w.kept, w.more = w.kept[:w.limit], true
	}
	return true
}

func (s *Server) history(ctx context.Context, in historyIn) (out historyOut, _ extra, err error) {
	limit, err := limitOf(in.Limit, someItems)
	if err != nil {
		return out, nil, err
	}
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	if t.time != nil {
		return out, nil, engram.Errorf(engram.Invalid, in.ID, "a history is of entities, and this ID has a time; leave the time out, or use get")
	}
	within, err := span(in.From, in.To)
	if err != nil {
		return out, nil, err
	}
	w, err := newWindow(in.Order, in.Cursor, limit)
	if err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	missing, err := w.look(ctx, m, t.pattern, within, &in)
	if err != nil {
		return out, nil, err
	}
	out.Notes, out.Found = lacking(missing), w.found
	p := s.newPage(len(w.kept))
	p.snapshots = []snapshot{}
	for i, at := range w.kept {
		q := engram.SelectID(at.id, engram.At(at.time))
		if err := in.apply(&q, in.Where); err != nil {
			return out, nil, err
		}
		q.Fields = in.Fields
		full, err := p.query(ctx, m, q, -1)
		if err != nil {
			return out, nil, err
		}
		if full {
			w.kept, w.more = w.kept[:i], true
			break
		}
	}
	if w.more && len(w.kept) > 0 {
		last := w.kept[len(w.kept)-1]
		out.Next = cursorOf(last.time.String(), last.id.String())
	}
	if len(p.snapshots) == 0 && w.behind == nil {
		return out, nil, s.nothing(ctx, t, out.Notes)
	}
	out.Snapshots = p.snapshots
	return out, p.extra, nil
}

// look has the window see the times of all snapshots within an interval.
func (w *window) look(ctx context.Context, m *client.Client, p engram.Pattern, within engram.Interval, in *historyIn) (missing []engram.Missing, err error) {
	q := p.Select(engram.In(w.narrow(within)))
	if err := in.apply(&q, in.Where); err != nil {
		return nil, err
	}
	q.WithoutPayload = true
	err = m.QueryParts(ctx, q, func(part *engram.Result) error {
		for it := range part.All() {
			w.add(moment{it.Snapshot.Time, it.ID.Truncate(engram.LevelEntity)})
		}
		missing = append(missing, part.Missing...)
		return nil
	})
	return missing, err
}
