package ltm

import (
	"context"
	"iter"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// reader answers from both memories.
type reader struct {
	*env
	policies *policies
	account  *account
	disk     *disk
	logs     *logs
}

// Query implements engram.Reader. TargetLTM answers from the disk alone, TargetBoth
// from disk and working memory merged, and TargetWM from the working memory.
//
// Snapshots from disk bear the number that they had in the epoch of the server in which
// they were recorded: it identifies an update only together with that epoch. What the
// answer misses is told: what was evicted and lost on its way to the disk, what a
// policy left out, what is damaged.
func (s *reader) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	return s.execute(ctx, q, nil)
}

// QueryParts implements engram.PartReader.
func (s *reader) QueryParts(ctx context.Context, q engram.Query, part func(*engram.Result) error) error {
	_, err := s.execute(ctx, q, part)
	return err
}

// execution is a query at work.
type execution struct {
	s       *reader
	ctx     context.Context
	answer  *query.Answer
	both    bool // the working memory is asked, too
	view    *wm.View
	version *version // pinned
	among   *query.Candidates
	admit   admission
	filter  *query.Filter // of what is selected from; nil takes everything
	payload bool
	waited  bool // for the recorder …
	behind  bool // … which nevertheless has not recorded all yet
	found   query.Selection
	err     error // of looking up names
	told    map[toldLoss]bool

	unknownLosses []unknownLoss          // see unknown
	losses        map[engram.ID][]string // see lossesBelow
}

// fail notes an error of looking up names, which ends the query.
func (x *execution) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

func (s *reader) execute(ctx context.Context, q engram.Query, part func(*engram.Result) error) (*engram.Result, error) {
	if s.wm == nil {
		return nil, errNotBegun
	}
	if q.Target == engram.TargetWM {
		if part == nil {
			return s.wm.Query(ctx, q)
		}
		return nil, s.wm.QueryParts(ctx, q, part)
	}
	limits := s.wm.Limits()
	x := &execution{s: s, ctx: ctx, both: q.Target == engram.TargetBoth}
	var err error
	if x.answer, err = s.wm.Compiler().NewAnswer(ctx, q, s.options.Types, limits.Query(), part); err != nil {
		return nil, err
	}
	look := s.wm.Indexes().For(x.answer, q.AsOf, true) // before the view and the version
	x.answer.Select(&x.found)
	x.filter = x.answer.Filter()
	x.payload = x.answer.WantsPayload()
	x.view = s.wm.View(ctx, q.AsOf)
	x.admit = admission{asOf: engram.MaxTime, epoch: s.wm.Epoch(), horizon: x.view.Number()}
	if q.AsOf != nil {
		x.admit.asOf = *q.AsOf
	}
	if !x.both {
		x.await()
	}
	x.waited = x.waited || s.recorder != nil && s.recorder.progress.recorded(x.admit.horizon)
	x.version = s.disk.episodes.pin()
	defer func() { x.version.release() }()
	x.among = look.Until(x.admit.horizon)
	if x.answer.Scoped() {
		x.answer.Walk(x.namesBelow)
	}
	if err := query.EachChild(ctx, x.names(engram.ID{}), x.answer.Plan(), x.node); err != nil {
		return nil, err
	}
	if x.err != nil {
		return nil, x.err
	}
	return x.answer.Finish()
}

// await waits for the recorder, once: before the disk is read for what the working
// memory may have evicted. What was recorded meanwhile is in a newer version.
func (x *execution) await() {
	if x.waited || x.s.recorder == nil {
		return
	}
	x.waited = true
	x.behind = !x.s.recorder.progress.await(x.ctx, x.admit.horizon)
	if x.version != nil {
		x.version.release()
		x.version = x.s.disk.episodes.pin()
	}
}

// awaitGone waits for the recorder before the disk is asked for names below a parent, if
// the working memory has evicted entities there as a whole: it may know their names alone.
func (x *execution) awaitGone(parent engram.ID) {
	if x.both && parent.Level() == engram.LevelProviderSegment && x.view.Gone(parent).Evictions > 0 {
		x.await()
	}
}

// recorded reports whether everything up to a number was recorded.
func (p *progress) recorded(number uint64) bool { return p.done.Load() >= p.told(number) }

// names are the children of a node of the hierarchy, in either memory.
type names struct {
	x      *execution
	parent engram.ID
}

func (x *execution) names(parent engram.ID) *names { return &names{x, parent} }

// namesBelow yields the names right below a node.
func (x *execution) namesBelow(parent engram.ID) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range x.names(parent).Sorted() {
			if !yield(name) {
				return
			}
		}
	}
}

// live reports whether the working memory's names count: also where the disk alone is asked,
// of the segments in which something may have been that cannot be read, or was lost.
func (n *names) live() bool {
	return n.x.both || len(n.x.version.unread)+len(n.x.s.account.unrecorded) > 0 && n.parent.Level() < engram.LevelCoreSegment
}

// Get implements query.Table.
func (n *names) Get(name string) (engram.ID, bool) {
	id, err := n.parent.Child(name)
	if err != nil {
		return id, false
	}
	if n.live() && n.x.view.Has(id) {
		return id, true
	}
	n.x.awaitGone(n.parent)
	there, err := n.x.s.disk.holds(n.x.ctx, n.x.version, id)
	n.x.fail(err)
	return id, there
}

// Sorted implements query.Table.
func (n *names) Sorted() iter.Seq2[string, engram.ID] {
	return func(yield func(string, engram.ID) bool) {
		var held []string // before the disk's: what goes from here meanwhile is there
		if n.live() {
			held = slices.Collect(n.x.view.Names(n.parent))
		}
		n.x.awaitGone(n.parent)
		disk, err := n.x.s.disk.names(n.x.ctx, n.x.version, n.parent)
		n.x.fail(err)
		each := func(name string) bool {
			id, err := n.parent.Child(name)
			return err != nil || yield(name, id)
		}
		for _, name := range held {
			for ; len(disk) > 0 && disk[0] <= name; disk = disk[1:] {
				if disk[0] < name && !each(disk[0]) {
					return
				}
			}
			if !each(name) {
				return
			}
		}
		for _, name := range disk {
			if !each(name) {
				return
			}
		}
	}
}

// node answers what the query asks of a memory or segment.
func (x *execution) node(id engram.ID, nodes []*query.Node) error {
	seen := x.answer.Sees(id)
	if seen == engram.Hidden {
		return nil
	}
	if err := x.answer.Enter(id.Level(), id, nodes); err != nil {
		return err
	}
	if seen == engram.Visible && id.Level() >= engram.LevelCoreSegment {
		x.missUnknownBelow(id, query.Below(nodes))
		switch {
		case x.answer.Condition() == nil:
			x.missLostBelow(id, query.Below(nodes))
		case id.Level() == engram.LevelCoreSegment:
			x.missUnknownOfType(id, query.Below(nodes))
		}
	}
	if id.Level() == engram.LevelProviderSegment {
		if err := query.EachChild(x.ctx, query.Among[engram.ID](x.among, id, x.names(id)), query.Below(nodes), x.entity); err != nil {
			return err
		}
		switch {
		case seen != engram.Visible:
		case x.answer.Condition() != nil:
			x.missOfType(id, query.Below(nodes))
		default:
			x.missGone(id, query.Below(nodes))
		}
		return nil
	}
	return query.EachChild(x.ctx, x.names(id), query.Below(nodes), x.node)
}

// entity answers what several nodes of the query, which all select it, ask of an
// entity.
func (x *execution) entity(id engram.ID, nodes []*query.Node) error {
	if x.answer.Sees(id) == engram.Hidden {
		return nil
	}
	selectors, limit, err := x.answer.Entity(id, nodes)
	if err != nil || len(selectors) == 0 {
		return err
	}
	x.found.Times = nil
	if x.filter != nil { // else what is selected is filtered
		x.found.Times = x.among.Times(id)
	}
	var w *wm.EntityView
	if x.both {
		w = x.view.Entity(id)
	}
	if w != nil {
		if done, err := x.fromWM(id, w, selectors, limit); done || err != nil {
			return err
		}
	}
	return x.merged(id, w, selectors, limit)
}

// fromWM answers from the working memory alone, if what is on disk cannot change the
// answer; done is false otherwise, and nothing was answered.
func (x *execution) fromWM(id engram.ID, w *wm.EntityView, selectors []engram.SnapshotSelector, limit int) (done bool, err error) {
	floor, any, err := x.s.disk.floor(x.ctx, x.version, id, w, x.admit.asOf)
	if err != nil {
		return false, err
	}
	if any && !mayLieAbove(selectors, floor) {
		return false, nil
	}
	missing, err := w.Read(x.view, selectors, x.filter, limit, &x.found)
	if err != nil {
		return false, err
	}
	if again, more, err := x.s.disk.floor(x.ctx, x.version, id, w, x.admit.asOf); err != nil || more && !liesAbove(&x.found, selectors, again) || missing != nil {
		return false, err
	}
	return true, x.add(id)
}

// mayLieAbove reports whether what selectors select may lie above a time.
func mayLieAbove(selectors []engram.SnapshotSelector, floor engram.Time) bool {
	for _, s := range selectors {
		switch s.Kind {
		case engram.KindLatest:
		case engram.KindAt, engram.KindAtOrBefore, engram.KindNearest:
			if s.Time <= floor {
				return false
			}
		case engram.KindRange:
			if s.Interval.Start <= floor && !s.Interval.Empty() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// liesAbove reports whether all that selectors asked about, beyond what they got, lies
// above a time, and what they got as well.
func liesAbove(found *query.Selection, selectors []engram.SnapshotSelector, floor engram.Time) bool {
	for i, a := range found.Asked {
		if a.First <= floor || selectors[i].Kind == engram.KindAt && selectors[i].Time <= floor {
			return false
		}
	}
	return true
}

// merged answers from disk, and from the working memory if w is not nil.
func (x *execution) merged(id engram.ID, w *wm.EntityView, selectors []engram.SnapshotSelector, limit int) error {
	x.await()
	v, err := x.s.disk.view(x.ctx, x.version, id)
	if err != nil {
		return err
	}
	defer v.close()
	v.present = x.view.Present(id)
	v.wm, v.payload, v.filter = w, x.payload || x.found.Filter.NeedsPayloads(), x.filter
	v.membersName, v.members = x.answer.Members()
	v.admit.asOf, v.admit.epoch, v.admit.horizon = x.admit.asOf, x.admit.epoch, x.admit.horizon
	if w != nil {
		floor, any, err := x.s.disk.floor(x.ctx, x.version, id, w, x.admit.asOf)
		if err != nil {
			return err
		}
		if v.floor = floor; !any {
			v.disk = nil
		}
	}
	if rows := x.answer.Rows(); rows != nil && len(selectors) == 1 && selectors[0].Kind == engram.KindRange && x.filter == nil && x.found.Filter == nil {
		x.found.Reset()
		asked := query.AskedBy(selectors[0])
		if err := v.rows(asked.First, asked.Last, rows, x.answer.Take); err != nil {
			return err
		}
		x.found.Asked = append(x.found.Asked, asked)
		x.missing(id, v, w)
		return x.add(id)
	}
	x.selectFrom(v, selectors, limit)
	if v.err == nil && v.torn() {
		v.damage, v.forgotten = nil, nil
		x.selectFrom(v, selectors, limit)
	}
	if v.err == nil {
		v.err = x.answer.FilterErr()
	}
	if v.err != nil {
		return v.err
	}
	if len(selectors) > 1 {
		x.found.Unite()
	}
	x.missing(id, v, w)
	return x.add(id)
}

func (x *execution) selectFrom(v *view, selectors []engram.SnapshotSelector, limit int) {
	x.found.Reset()
	for _, sel := range selectors {
		query.Select[engram.Time](&x.found, v, sel, limit)
	}
}

// add adds what was found of an entity to the answer.
func (x *execution) add(id engram.ID) error {
	if x.answer.Condition() == nil {
		x.missUnknown(id)
		x.missLostBefore(id)
	}
	if err := x.answer.Add(id, &x.found); err != nil {
		return err
	}
	return x.answer.Flush()
}
