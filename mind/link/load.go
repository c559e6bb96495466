package link

import (
	"cmp"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// asks are what is to be read: selectors by entity.
type asks struct {
	by    map[engram.ID][]engram.SnapshotSelector
	order []engram.ID
}

// mostAsked bounds the selectors of one query.
const mostAsked = 1000

// selectorOf returns what is read for a reference; ok is false of a segment or memory.
func selectorOf(l ref) (s engram.SnapshotSelector, ok bool) {
	t, at := l.to.Time()
	switch {
	case l.to.Level() < engram.LevelEntity:
		return s, false
	case at:
		return engram.At(t), true
	case l.node == none:
		return engram.Latest(1), true
	}
	return engram.AtOrBefore(l.time), true
}

// has reports whether what a reference needs is asked for, or is nothing.
func (a *asks) has(l ref) bool {
	s, ok := selectorOf(l)
	return !ok || slices.Contains(a.by[l.to.Truncate(engram.LevelEntity)], s)
}

// reads reports whether a reference may need no node more than what is asked for: of one entity most are in force together.
func (a *asks) reads(l ref) bool {
	s, ok := selectorOf(l)
	return ok && (s.Kind == engram.KindAtOrBefore && len(a.by[l.to]) > 0 || a.has(l))
}

func (a *asks) add(l ref) {
	if a.has(l) {
		return
	}
	s, _ := selectorOf(l)
	a.put(l.to.Truncate(engram.LevelEntity), s)
}

func (a *asks) put(entity engram.ID, s ...engram.SnapshotSelector) {
	if a.by == nil {
		a.by = map[engram.ID][]engram.SnapshotSelector{}
	}
	if _, there := a.by[entity]; !there {
		a.order = append(a.order, entity)
	}
	a.by[entity] = append(a.by[entity], s...)
}

// loaded is what was read.
type loaded struct {
	snapshots map[engram.ID][]*engram.Snapshot // of entities, by time
	missing   []engram.Missing
}

// load reads what is asked for: payloads, where they may hold links, and all snapshots of activities.
func (r *run) load(a *asks) (*loaded, error) {
	got := &loaded{snapshots: map[engram.ID][]*engram.Snapshot{}}
	var bare, whole asks
	for _, entity := range a.order {
		if _, linking := r.mayHold.Load(entity.Parent()); linking {
			whole.put(entity, a.by[entity]...)
		} else {
			bare.put(entity, a.by[entity]...)
		}
	}
	if err := r.read(&bare, true, got); err != nil {
		return nil, err
	}
	for entity, snapshots := range got.snapshots {
		for _, s := range snapshots {
			linking, err := r.mayLink(entity, s)
			if err != nil {
				return nil, err
			}
			if linking {
				whole.put(entity, engram.At(s.Time))
			}
		}
	}
	if err := r.read(&whole, false, got); err != nil {
		return nil, err
	}
	oldest := &loaded{snapshots: map[engram.ID][]*engram.Snapshot{}}
	if err := r.read(a.unmet(got), true, oldest); err != nil {
		return nil, err
	}
	var activities asks
	for _, entity := range a.order {
		if isActivity(got.snapshots[entity]) || isActivity(oldest.snapshots[entity]) {
			activities.put(entity, engram.All())
		}
	}
	return got, r.read(&activities, false, got)
}

func isActivity(list []*engram.Snapshot) bool {
	return len(list) > 0 && IsActivity(list[0].Instances[0].Payload.Type)
}

// unmet returns what is asked of entities of which not all was found: whether they are activities, by their oldest snapshot.
func (a *asks) unmet(got *loaded) *asks {
	var more asks
	for _, entity := range a.order {
		list := got.snapshots[entity]
		if slices.ContainsFunc(a.by[entity], func(s engram.SnapshotSelector) bool {
			i, there := slices.BinarySearchFunc(list, s.Time, byTime)
			return s.Kind == engram.KindAt && !there || s.Kind == engram.KindAtOrBefore && !there && i == 0
		}) {
			more.put(entity, engram.Indices(0, 0))
		}
	}
	return &more
}

// mayLink reports whether a snapshot may hold links, by the types of its payloads, and keeps that in mind.
func (r *run) mayLink(entity engram.ID, s *engram.Snapshot) (bool, error) {
	for i := range s.Instances {
		t, err := r.Type(r.ctx, s.Instances[i].Payload.Type)
		if err != nil {
			return false, err
		}
		if t != nil && t.Has(idf.KindLink) {
			r.mayHold.Store(entity.Parent(), true)
			return true, nil
		}
	}
	return false, nil
}

// read reads what is asked for, query by query, in the order of IDs.
func (r *run) read(a *asks, bare bool, into *loaded) error {
	slices.SortFunc(a.order, engram.ID.Compare)
	var next asks
	n := 0
	for _, entity := range a.order {
		for selectors := range slices.Chunk(a.by[entity], mostAsked) {
			if n > 0 && n+len(selectors) > mostAsked {
				if err := r.readSome(&next, next.order, bare, into); err != nil {
					return err
				}
				next, n = asks{}, 0
			}
			next.put(entity, selectors...)
			n += len(selectors)
		}
	}
	if n == 0 {
		return nil
	}
	return r.readSome(&next, next.order, bare, into)
}

// readSome reads what is asked for of some entities, sorted. Memories that cannot be asked together are asked one by one:
// what cannot be reached is missing.
func (r *run) readSome(a *asks, entities []engram.ID, bare bool, into *loaded) error {
	q := engram.Query{Memories: tree(entities, a.by, engram.LevelMemory), WithoutPayload: bare, AsOf: r.o.AsOf, Target: r.o.Target}
	result, err := r.m.Query(r.ctx, q)
	switch code := engram.CodeOf(err); {
	case err == nil:
		into.take(result)
		r.trace.copies(result.Copies)
		return nil
	case code != engram.Unavailable && code != engram.NotFound || r.ctx.Err() != nil:
		return err
	}
	if memory := entities[0].Truncate(engram.LevelMemory); memory.Contains(entities[len(entities)-1]) {
		into.missing = append(into.missing, engram.Missing{ID: memory, Reason: engram.MissingUnreachable, Interval: engram.Always()})
		return nil
	}
	for len(entities) > 0 {
		n := slices.IndexFunc(entities, func(id engram.ID) bool { return id.Memory() != entities[0].Memory() })
		if n < 0 {
			n = len(entities)
		}
		if err := r.readSome(a, entities[:n], bare, into); err != nil {
			return err
		}
		entities = entities[n:]
	}
	return nil
}

// tree returns the nodes of a query for entities, which are sorted and share what is above a level.
func tree(entities []engram.ID, by map[engram.ID][]engram.SnapshotSelector, level engram.Level) (nodes []engram.QueryNode) {
	for len(entities) > 0 {
		at := entities[0].Truncate(level)
		n := 1
		for n < len(entities) && at.Contains(entities[n]) {
			n++
		}
		node := engram.QueryNode{Names: engram.OneOf(at.Name())}
		if level == engram.LevelEntity {
			node.Snapshots = by[at]
		} else {
			node.Children = tree(entities[:n], by, level+1)
		}
		nodes = append(nodes, node)
		entities = entities[n:]
	}
	return nodes
}

// take adds a result. What comes again replaces what was there.
func (l *loaded) take(r *engram.Result) {
	for item := range r.All() {
		entity := item.ID.Truncate(engram.LevelEntity)
		list := l.snapshots[entity]
		i, there := slices.BinarySearchFunc(list, item.Time, byTime)
		if there {
			list[i] = item.Snapshot
		} else {
			list = slices.Insert(list, i, item.Snapshot)
		}
		l.snapshots[entity] = list
	}
	l.missing = append(l.missing, r.Missing...)
}

func byTime(s *engram.Snapshot, t engram.Time) int { return cmp.Compare(s.Time, t) }

// node returns what a reference is to.
func (l *loaded) node(to ref) Node {
	if to.to.Level() < engram.LevelEntity {
		return Node{ID: to.to}
	}
	entity := to.to.Truncate(engram.LevelEntity)
	list := l.snapshots[entity]
	if isActivity(list) {
		return Node{ID: entity, Snapshots: list}
	}
	if s := to.in(list); s != nil {
		return Node{ID: entity.At(s.Time), Snapshots: []*engram.Snapshot{s}}
	}
	return Node{ID: to.to, Missing: l.why(to)}
}

// in returns which of an entity's snapshots a reference is to; nil if it is not there.
func (to ref) in(list []*engram.Snapshot) *engram.Snapshot {
	t, exactly := to.to.Time()
	switch {
	case to.node == none && !exactly:
		t = engram.MaxTime
	case !exactly:
		t = to.time
	}
	i, there := slices.BinarySearchFunc(list, t, byTime)
	switch {
	case there:
		return list[i]
	case exactly || i == 0:
		return nil
	}
	return list[i-1]
}

// why returns why what a reference is to is not there.
func (l *loaded) why(to ref) string {
	t, ok := to.to.Time()
	if !ok {
		t = to.time
	}
	for _, m := range l.missing {
		if m.ID.Contains(to.to) && (m.Interval.Empty() || m.Interval.Contains(t)) && m.Reason != engram.MissingAhead {
			return m.Reason
		}
	}
	return Absent
}

// lacks notes what back-links could not be looked for in, and copies, each once.
func (t *Trace) lacks(r *engram.Result) {
	t.copies(r.Copies)
	for _, m := range r.Missing {
		if !slices.ContainsFunc(t.Missing, func(had engram.Missing) bool { return had.ID == m.ID && had.Reason == m.Reason }) {
			t.Missing = append(t.Missing, m)
		}
	}
}

// copies notes that copies answered for memories, each once.
func (t *Trace) copies(used []engram.CopyUsed) {
	for _, c := range used {
		if !slices.ContainsFunc(t.Copies, func(had engram.CopyUsed) bool { return had.Memory == c.Memory && had.Server == c.Server }) {
			t.Copies = append(t.Copies, c)
		}
	}
}
