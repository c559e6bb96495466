package link

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/service"
)

// Reader is how Local reads the memories.
type Reader interface {
	engram.Reader
	engram.PartReader
}

// Config is what Local reads.
type Config struct {
	Robot  string // whose memories have plain names; "" if it has none
	Reader Reader
	Types  *idf.Registry
	// Index calls read with the index once it has seen every update up to the newest; with
	// the entities of which it may lack something. read keeps neither.
	Index func(ctx context.Context, read func(x *Index, unsure map[engram.ID]bool) error) error
	// View returns the working memory at one moment, or of what it knew at asOf.
	View func(ctx context.Context, asOf *engram.Time) View
	// Hosts reports whether the server has a memory, its own or a copy.
	Hosts func(memory string) bool
	// Since is when this epoch began.
	Since engram.Time
	// Keeps says that there is a long-term memory: what the working memory lacks may be there.
	Keeps bool
	// Elsewhere returns what reads memories of other servers; nil if there are none.
	Elsewhere func(ctx context.Context) (Elsewhere, error)
	// Losses changes when something that was on disk may be there no more.
	Losses func() uint64
}

// View is the working memory at one moment, one entity after the other. It is used by one
// goroutine.
type View interface {
	// Whole reports whether it has, as it came, all that was committed in this epoch to the
	// provider segment of an entity.
	Whole(entity engram.ID) bool
	// To has it show an entity; false if there is none of that ID.
	To(entity engram.ID) bool
	// At returns the entity's snapshot of a time, or nil. It is quickest in the order of times.
	At(t engram.Time) *engram.Snapshot
	// Next returns the entity's first snapshot after a time, or nil, and whether the view
	// shows one at or before that: then there is none in between.
	Next(t engram.Time) (s *engram.Snapshot, complete bool)
}

// Local follows links in the memories of a server in the same process.
type Local struct {
	Config
	disk *verdicts
}

// NewLocal returns what follows links in what c reads.
func NewLocal(c Config) Local { return Local{c, &verdicts{}} }

var _ interface {
	service.Service
	service.Follower
	service.Doubter
} = Local{}

const (
	maxFan       = 10_000  // sources of a node that a trace follows
	maxMembers   = 1 << 16 // bytes of the members of a node
	maxSelectors = 64      // times that the disk is asked for one by one
)

// BackLinks implements [service.Service].
func (l Local) BackLinks(ctx context.Context, q service.BackQuery) iter.Seq2[service.BackLink, error] {
	return func(yield func(service.BackLink, error) bool) {
		n := 0
		more := false
		err := l.backLinks(ctx, &q, func(link *service.BackLink) bool {
			if more = q.Limit > 0 && n == q.Limit; more {
				return false
			}
			n++
			return yield(*link, nil)
		})
		if err == nil && more {
			err = service.ErrMore
		}
		if err != nil {
			yield(service.BackLink{}, err)
		}
	}
}

// backLinks calls visit with each link until it returns false.
func (l Local) backLinks(ctx context.Context, q *service.BackQuery, visit func(*service.BackLink) bool) error {
	w, err := l.want(ctx, q)
	if err != nil {
		return err
	}
	sources, err := l.sources(ctx, w, q)
	if err != nil {
		return err
	}
	entity := w.target.Truncate(engram.LevelEntity)
	link := service.BackLink{}
	for _, g := range sources.groups {
		for i := range g.list {
			if i%4096 == 4095 && ctx.Err() != nil {
				return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
			}
			e := &g.list[i]
			link.Source = g.entity.At(e.time).Instance(int(e.instance & instanceMask))
			link.Arrived, link.Path, link.Target = e.arrived, sources.paths[e.path], e.target(entity)
			if !visit(&link) {
				return nil
			}
		}
	}
	return nil
}

// want says what a question for back-links looks for.
func (l Local) want(ctx context.Context, q *service.BackQuery) (*wanted, error) {
	if q.Target.IsRoot() {
		return nil, engram.Errorf(engram.Invalid, "", "back-links of everything are asked for; name an entity, a snapshot or an instance")
	}
	w := &wanted{target: plain(l.Robot, q.Target), first: engram.MinTime, until: engram.MaxTime, span: q.Span, asOf: engram.MaxTime}
	if q.AsOf != nil {
		w.asOf = *q.AsOf
	}
	if q.Span == (engram.Interval{}) {
		w.span = engram.Always()
	}
	if q.At != nil {
		w.span.End = min(w.span.End, q.At.Add(1))
	}
	match, err := matcher([]engram.Pattern{q.From})
	if err != nil {
		return nil, err
	}
	w.matcher = l.mayEnter(ctx, match)
	if t, ok := w.target.Time(); ok {
		w.first = t
		switch {
		case q.Until != nil:
			w.until = *q.Until
		case l.Hosts(w.target.Memory()):
			w.until, err = l.until(ctx, l.View(ctx, q.AsOf), w.target.Truncate(engram.LevelEntity), t, q.AsOf)
		}
	}
	return w, err
}

// mayEnter returns what matches among what the caller may read.
func (l Local) mayEnter(ctx context.Context, match func(engram.ID) bool) func(engram.ID) bool {
	scope := engram.ScopeOf(ctx)
	if scope == nil {
		return match
	}
	return func(id engram.ID) bool {
		return scope.Visibility(id.Truncate(engram.LevelEntity)) != engram.Hidden && (match == nil || match(id))
	}
}

// matcher returns what one of the patterns selects of entities; nil if it is everything.
func matcher(patterns []engram.Pattern) (func(engram.ID) bool, error) {
	var all []*engram.PatternMatcher
	for _, p := range patterns {
		if len(p.Levels) == 0 {
			return nil, nil
		}
		m, err := p.Matcher()
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return func(id engram.ID) bool {
		return slices.ContainsFunc(all, func(m *engram.PatternMatcher) bool { return m.Match(id) })
	}, nil
}

// found is what the index and the memories say.
type found struct {
	index  *Index // to be told from others; it is read only under its lock
	groups []group
	paths  []string
}

// sources returns the links that are asked for and that the memories have.
func (l Local) sources(ctx context.Context, w *wanted, q *service.BackQuery) (found, error) {
	var f found
	var unsure []engram.ID
	err := l.Index(ctx, func(x *Index, u map[engram.ID]bool) error {
		f.index, f.groups, f.paths = x, x.find(w), x.paths.list
		for id := range u {
			if w.matcher == nil || w.matcher(id) {
				unsure = append(unsure, id)
			}
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	if len(unsure) > 0 {
		if err := l.readUnsure(ctx, w, q, unsure, &f); err != nil {
			return f, err
		}
	}
	view := l.View(ctx, q.AsOf)
	for i := range f.groups {
		g := &f.groups[i]
		if q.At != nil {
			err = l.keepInForce(ctx, g, *q.At, q.AsOf)
		} else {
			err = l.keepShown(ctx, view, &f, g, q.AsOf)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// keepInForce takes away what is not of the snapshot that was in force at a time.
func (l Local) keepInForce(ctx context.Context, g *group, at engram.Time, asOf *engram.Time) error {
	query := engram.SelectID(g.entity, engram.AtOrBefore(at))
	query.AsOf, query.WithoutPayload = asOf, true
	r, err := l.Reader.Query(ctx, query)
	if err != nil {
		return err
	}
	in := r.Items()
	g.list = slices.DeleteFunc(g.list, func(e entry) bool {
		return len(in) != 1 || in[0].Time != e.time || in[0].Arrived != e.arrived
	})
	return nil
}

// keepShown takes away what the memories do not have any more, or not yet.
func (l Local) keepShown(ctx context.Context, view View, f *found, g *group, asOf *engram.Time) error {
	if view.Whole(g.entity) && (!l.Keeps || !slices.ContainsFunc(g.list, func(e entry) bool { return e.arrived < l.Since })) {
		return nil
	}
	shown := view.To(g.entity)
	kept := g.list[:0]
	var gone []entry
	// What the archive listed is there, and shown, unless something went, or came that may
	// supersede it.
	calm := g.late == 0 && l.Losses != nil && l.Losses() == f.index.losses
	var s *engram.Snapshot
	var last engram.Time // g.list is overwritten
	for i, e := range g.list {
		if shown && (i == 0 || e.time != last) {
			s = view.At(e.time)
		}
		last = e.time
		switch {
		case s != nil:
			if s.Arrived == e.arrived {
				kept = append(kept, e)
			}
		case calm && e.listed():
			kept = append(kept, e)
		case l.Keeps:
			gone = append(gone, e)
		}
	}
	if len(gone) == 0 {
		g.list = kept
		return nil
	}
	there, err := l.onDisk(ctx, f, g, gone, asOf)
	if err != nil {
		return err
	}
	n := len(kept)
	for _, e := range gone {
		if arrived, ok := there[e.time]; ok && arrived == e.arrived {
			kept = append(kept, e)
		}
	}
	g.list = kept
	if n > 0 && len(kept) > n {
		g.order()
	}
	return nil
}

// onDisk returns when the snapshots of an entity arrived that both memories have at the
// times of links; 0 where there is none.
func (l Local) onDisk(ctx context.Context, f *found, g *group, links []entry, asOf *engram.Time) (map[engram.Time]engram.Time, error) {
	if asOf != nil || l.Losses == nil {
		there := map[engram.Time]engram.Time{}
		return there, l.look(ctx, g.entity, links, asOf, there)
	}
	known := verdict{index: f.index, losses: l.Losses(), late: g.late}
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	v := l.disk.of[g.entity]
	if v == nil || v.index != known.index || v.losses != known.losses || v.late != known.late {
		if v != nil {
			l.disk.times -= len(v.there)
		}
		v = &known
		v.there = map[engram.Time]engram.Time{}
	}
	links = slices.DeleteFunc(slices.Clone(links), func(e entry) bool {
		_, ok := v.there[e.time]
		return ok
	})
	if len(links) == 0 {
		return v.there, nil
	}
	before := len(v.there)
	if err := l.look(ctx, g.entity, links, nil, v.there); err != nil {
		return nil, err
	}
	for _, e := range links {
		if _, ok := v.there[e.time]; !ok {
			v.there[e.time] = 0
		}
	}
	if l.disk.times > maxVerdicts || l.disk.of == nil {
		l.disk.of, l.disk.times, before = map[engram.ID]*verdict{}, 0, 0
	}
	l.disk.of[g.entity] = v
	l.disk.times += len(v.there) - before
	return v.there, nil
}

// verdicts are what the disk was found to have of sources. They hold as long as nothing goes
// from there, and no version comes to the source that may supersede another one.
type verdicts struct {
	mu    sync.Mutex
	of    map[engram.ID]*verdict
	times int // in all
}

type verdict struct {
	index  *Index
	losses uint64
	late   uint32
	there  map[engram.Time]engram.Time // when the snapshot of a time arrived, 0 if there is none
}

// maxVerdicts bounds the times of verdicts, of some 30 bytes each.
const maxVerdicts = 1_000_000

// look asks both memories for the snapshots of an entity at the times of links.
func (l Local) look(ctx context.Context, entity engram.ID, links []entry, asOf *engram.Time, there map[engram.Time]engram.Time) error {
	var times []engram.SnapshotSelector
	for i, e := range links {
		if i == 0 || e.time != links[i-1].time {
			times = append(times, engram.At(e.time))
		}
	}
	if len(times) > maxSelectors {
		times = []engram.SnapshotSelector{engram.In(engram.Interval{Start: links[0].time, End: links[len(links)-1].time.Add(1)})}
	}
	query := engram.SelectID(entity, times...)
	query.AsOf, query.WithoutPayload = asOf, true
	return l.Reader.QueryParts(ctx, query, func(r *engram.Result) error {
		for s := range r.All() {
			there[s.Time] = s.Arrived
		}
		return nil
	})
}

// readUnsure reads the links of entities of which the index may lack some.
func (l Local) readUnsure(ctx context.Context, w *wanted, q *service.BackQuery, unsure []engram.ID, f *found) error {
	x := NewIndex(l.Types, l.Robot, nil)
	for _, id := range unsure {
		query := engram.SelectID(id, engram.In(w.span))
		query.AsOf = q.AsOf
		err := l.Reader.QueryParts(ctx, query, func(r *engram.Result) error {
			for s := range r.All() {
				x.Add(id, s.Snapshot)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	f.groups = slices.DeleteFunc(f.groups, func(g group) bool { return slices.Contains(unsure, g.entity) })
	base := uint32(len(f.paths))
	f.paths = append(slices.Clip(f.paths), x.paths.list...)
	for _, g := range x.find(w) {
		for i := range g.list {
			g.list[i].path += base
		}
		f.groups = append(f.groups, g)
	}
	slices.SortFunc(f.groups, func(a, b group) int { return a.entity.Compare(b.entity) })
	return nil
}

// until returns when the snapshot after t begins; MaxTime if there is none.
func (l Local) until(ctx context.Context, view View, entity engram.ID, t engram.Time, asOf *engram.Time) (engram.Time, error) {
	next := engram.MaxTime
	if engram.VisibilityIn(engram.ScopeOf(ctx), entity) == engram.Hidden {
		return next, nil
	}
	if view.To(entity) {
		s, complete := view.Next(t)
		if s != nil {
			next = s.Time
		}
		if complete {
			return next, nil
		}
	}
	if !l.Keeps {
		return next, nil
	}
	// The disk is asked farther and farther away, beyond nine years for all that is left.
	for reach := time.Second; ; reach *= 16 {
		end := next
		if reach < 1<<58 {
			end = min(t.Add(reach), next)
		}
		query := engram.SelectID(entity, engram.In(engram.Interval{Start: t.Add(1), End: end}))
		query.AsOf, query.WithoutPayload = asOf, true
		first := engram.MaxTime
		err := l.Reader.QueryParts(ctx, query, func(r *engram.Result) error {
			for s := range r.All() {
				first = min(first, s.Time)
			}
			return nil
		})
		if err != nil || first < engram.MaxTime {
			return first, err
		}
		if end == next {
			return next, nil
		}
	}
}

// Trace implements [service.Service].
func (l Local) Trace(ctx context.Context, q service.TraceQuery) iter.Seq2[service.Part, error] {
	return service.Walk(ctx, l, q)
}

// Doubted implements [service.Doubter].
func (l Local) Doubted(ctx context.Context, trace iter.Seq2[service.Part, error], asOf *engram.Time) iter.Seq2[service.Part, error] {
	return doubt.Trace(ctx, l.Doubts(ctx), trace, asOf)
}

// Resolve implements [service.Follower].
func (l Local) Resolve(ctx context.Context, refs []service.Ref, o service.Options) ([]service.Resolved, error) {
	view := l.View(ctx, o.AsOf)
	all := make([]service.Resolved, len(refs))
	for i, ref := range refs {
		ref.ID = plain(l.Robot, ref.ID)
		if err := l.resolve(ctx, view, ref, &o, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (l Local) resolve(ctx context.Context, view View, ref service.Ref, o *service.Options, r *service.Resolved) error {
	s, missing, err := l.find(ctx, ref, o.AsOf, false)
	if err != nil {
		return err
	}
	r.Node = service.Node{ID: ref.ID, First: ref.At, Until: engram.MaxTime, Missing: missing}
	if t, ok := ref.ID.Time(); s == nil && ok && o.Spans && missing != service.MissingNoRight && missing != service.MissingElsewhere {
		r.Node.Until, err = l.until(ctx, view, ref.ID.Truncate(engram.LevelEntity), t, o.AsOf)
	}
	if s == nil {
		return err
	}
	if err := l.describe(ctx, view, ref.ID, s, o, &r.Node); err != nil {
		return err
	}
	entity := ref.ID.Truncate(engram.LevelEntity)
	only, one := ref.ID.Index()
	for i := range s.Instances {
		if one && i != only {
			continue
		}
		p := &s.Instances[i].Payload
		t, ok := l.Types.Get(p.Type)
		if !ok {
			continue
		}
		err := t.Walk(p.Bytes, idf.KindLink, func(f *idf.Found) bool {
			if id, ok := linked(l.Robot, entity, f.Bytes); ok {
				r.Links = append(r.Links, service.Link{Path: string(f.Path), Instance: i, ID: id})
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// find returns the snapshot that a reference means; nil with the reason if it is not there,
// and without one if the reference means no snapshot.
func (l Local) find(ctx context.Context, ref service.Ref, asOf *engram.Time, bare bool) (*engram.Snapshot, string, error) {
	if engram.VisibilityIn(engram.ScopeOf(ctx), ref.ID.Truncate(engram.LevelEntity)) == engram.Hidden {
		return nil, service.MissingNoRight, nil
	}
	if !l.Hosts(ref.ID.Memory()) {
		return nil, service.MissingElsewhere, nil
	}
	if ref.ID.Level() < engram.LevelEntity {
		return nil, "", nil
	}
	entity := ref.ID.Truncate(engram.LevelEntity)
	selector := engram.AtOrBefore(ref.At)
	if t, ok := ref.ID.Time(); ok {
		selector = engram.At(t)
	} else if ref.At == engram.MaxTime {
		selector = engram.Latest(1)
	}
	ask := func(s engram.SnapshotSelector) (*engram.Snapshot, []engram.Missing, error) {
		q := engram.SelectID(entity, s)
		q.AsOf, q.WithoutPayload = asOf, bare
		r, err := l.Reader.Query(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		for it := range r.All() {
			return it.Snapshot, nil, nil
		}
		return nil, r.Missing, nil
	}
	s, missing, err := ask(selector)
	if err != nil {
		return nil, "", err
	}
	if s == nil && len(missing) == 0 && ref.ID.Level() == engram.LevelEntity {
		// It began after it was linked to: the first one is meant.
		if s, _, err = ask(engram.Indices(0, 0)); err != nil {
			return nil, "", err
		}
	}
	if i, ok := ref.ID.Index(); s != nil && ok && i >= len(s.Instances) {
		s = nil
	}
	if s == nil {
		return nil, reason(missing), nil
	}
	return s, "", nil
}

// reason returns why something is not there.
func reason(missing []engram.Missing) string {
	for _, r := range []string{engram.MissingForgotten, engram.MissingFiltered, engram.MissingLeftOut, engram.MissingDamaged, engram.MissingEvicted} {
		if slices.ContainsFunc(missing, func(m engram.Missing) bool { return m.Reason == r }) {
			return r
		}
	}
	if len(missing) > 0 {
		return missing[0].Reason
	}
	return service.MissingNever
}

// describe fills the node of a snapshot, or of an instance if id is that of one.
func (l Local) describe(ctx context.Context, view View, id engram.ID, s *engram.Snapshot, o *service.Options, n *service.Node) error {
	entity := id.Truncate(engram.LevelEntity)
	first := 0
	n.ID, n.First, n.Arrived, n.Instances = entity.At(s.Time), s.Time, s.Arrived, len(s.Instances)
	index, one := id.Index()
	if one {
		first = index
		n.ID = n.ID.Instance(index)
	}
	n.Until = engram.MaxTime
	var err error
	if o.Spans {
		if n.Until, err = l.until(ctx, view, entity, s.Time, o.AsOf); err != nil {
			return err
		}
	}
	if len(s.Instances) == 0 {
		return nil
	}
	in := &s.Instances[first]
	n.Type, n.Confidence = in.Payload.Type, in.Confidence
	t, ok := l.Types.Get(n.Type)
	if !ok {
		return nil
	}
	n.Stages = hasStages(t)
	if !o.Members {
		return nil
	}
	n.Members, err = t.JSON(in.Payload.Bytes, idf.JSONOptions{SummarizeBytes: 64, AllMembers: true})
	if err != nil || len(n.Members) > maxMembers {
		n.Members = nil // it is not for people, and the node says what it is
	}
	if !json.Valid(n.Members) {
		n.Members = nil
	}
	return nil
}

// hasStages reports whether snapshots of a type are stages of one thing: they say how far
// it has come, since when.
func hasStages(t *idf.Type) bool {
	f := t.Descriptor().Fields()
	return f.ByName("status") != nil && f.ByName("started") != nil
}

// Sources implements [service.Follower].
func (l Local) Sources(ctx context.Context, nodes []service.Span, o service.Options) ([]service.Sources, error) {
	match, err := matcher(o.Within)
	if err != nil {
		return nil, err
	}
	view := l.View(ctx, o.AsOf)
	all := make([]service.Sources, len(nodes))
	for i, n := range nodes {
		until := n.Until
		q := service.BackQuery{Target: n.ID, Until: &until, AsOf: o.AsOf}
		w, err := l.want(ctx, &q)
		if err != nil {
			return nil, err
		}
		w.first = n.First
		w.matcher = l.mayEnter(ctx, match)
		f, err := l.sources(ctx, w, &q)
		if err != nil {
			return nil, err
		}
		for _, g := range f.groups {
			if len(g.list) == 0 {
				continue
			}
			if len(all[i].Of) == maxFan {
				all[i].More = true
				break
			}
			source, there, err := l.source(ctx, view, g, f.paths, n.ID.Truncate(engram.LevelEntity), &o)
			if err != nil {
				return nil, err
			}
			if there {
				all[i].Of = append(all[i].Of, source)
			}
		}
	}
	return all, nil
}

// source makes a node of what an entity's snapshots say that link to another node.
func (l Local) source(ctx context.Context, view View, g group, paths []string, target engram.ID, o *service.Options) (out service.Source, there bool, err error) {
	first, last := g.list[0].time, g.list[len(g.list)-1].time
	s, _, err := l.find(ctx, service.Ref{ID: g.entity.At(last)}, o.AsOf, false)
	if s == nil || err != nil { // it went meanwhile
		return out, false, err
	}
	if err := l.describe(ctx, view, g.entity, s, o, &out.Node); err != nil {
		return out, false, err
	}
	out.Node.First = first
	said := map[uint32]bool{}
	for i := len(g.list) - 1; i >= 0; i-- { // the newest of each path
		e := &g.list[i]
		if !said[e.path] {
			said[e.path] = true
			out.Links = append(out.Links, service.Link{Path: paths[e.path], Instance: int(e.instance & instanceMask), ID: e.target(target)})
		}
	}
	slices.Reverse(out.Links)
	return out, true, nil
}
