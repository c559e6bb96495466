package link

import (
	"errors"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// effects follows links backwards: it finds what links to the snapshots of visits, and to their entities while these
// snapshots are in force there.
func (r *run) effects(causes []visit, depth int) ([]visit, error) {
	if len(causes) == 0 {
		return nil, nil
	}
	ids, err := r.linkingTo(causes)
	if err != nil {
		return nil, err
	}
	if depth > r.o.Depth {
		for _, id := range ids {
			if !r.isKnown(id) {
				r.trace.Cut++
			}
		}
		return nil, nil
	}
	var wanted asks
	for _, id := range ids {
		wanted.add(ref{to: id})
	}
	got, err := r.load(&wanted)
	if err != nil {
		return nil, err
	}
	matches, err := r.match(causes, ids, got)
	return r.addEffects(matches, depth), err
}

// isKnown reports whether a snapshot is in a node.
func (r *run) isKnown(snapshot engram.ID) bool {
	if _, is := r.at[snapshot]; is {
		return true
	}
	i, is := r.at[snapshot.Parent()]
	return is && r.trace.Nodes[i].IsActivity()
}

// errEnough ends a query.
var errEnough = errors.New("enough")

// linkingTo returns the IDs of snapshots that may link to causes, sorted.
func (r *run) linkingTo(causes []visit) ([]engram.ID, error) {
	var into, exactly []engram.ID
	from := engram.MaxTime
	for _, v := range causes {
		n := &r.trace.Nodes[v.node]
		entity := n.ID.Truncate(engram.LevelEntity)
		if n.IsActivity() {
			into = append(into, entity)
			continue
		}
		into, exactly = append(into, n.ID), append(exactly, entity)
		t, _ := n.Time()
		from = min(from, t)
	}
	var mu sync.Mutex // of what follows, and the trace
	found := map[engram.ID]bool{}
	var ids []engram.ID
	add := func(part *engram.Result) error {
		mu.Lock()
		defer mu.Unlock()
		r.trace.lacks(part)
		for item := range part.All() {
			if id := item.ID.Truncate(engram.LevelSnapshot); !found[id] {
				found[id] = true
				ids = append(ids, id)
			}
		}
		if len(ids) > r.o.Nodes {
			return errEnough
		}
		return nil
	}
	var errs [2]error
	var asking sync.WaitGroup
	asking.Go(func() {
		errs[0] = r.parts(engram.Query{LinksTo: into, Memories: r.everywhere(engram.All())}, add)
	})
	if len(exactly) > 0 {
		since := engram.In(engram.Interval{Start: from, End: engram.MaxTime})
		errs[1] = r.parts(engram.Query{LinksTo: exactly, LinksExactly: true, Memories: r.everywhere(since)}, add)
	}
	asking.Wait()
	for _, err := range errs {
		switch {
		case errors.Is(err, errEnough):
			r.trace.Cut++
		case err != nil:
			return nil, err
		}
	}
	slices.SortFunc(ids, engram.ID.Compare)
	return ids, nil
}

// parts asks a query for snapshots without payloads, in parts where the memory gives them.
func (r *run) parts(q engram.Query, part func(*engram.Result) error) error {
	q.WithoutPayload, q.AsOf, q.Target = true, r.o.AsOf, r.o.Target
	if in, ok := r.m.(engram.PartReader); ok {
		return in.QueryParts(r.ctx, q, part)
	}
	result, err := r.m.Query(r.ctx, q)
	if err != nil {
		return err
	}
	return part(result)
}

// everywhere returns the nodes of a query for all entities of the memories that links are followed into.
func (r *run) everywhere(s engram.SnapshotSelector) (nodes []engram.QueryNode) {
	below := []engram.QueryNode{{Children: []engram.QueryNode{{Children: []engram.QueryNode{{Snapshots: []engram.SnapshotSelector{s}}}}}}}
	if len(r.within) == 0 {
		return []engram.QueryNode{{Children: below}}
	}
	for _, p := range r.within {
		nodes = append(nodes, engram.QueryNode{Names: p.Levels[0], Children: below})
	}
	return nodes
}

// match is a link of an effect to a cause.
type match struct {
	effect   Node
	instance int // of the effect's snapshot that has the link
	cause    int // node
	link     ref
}

// match returns the links to causes of what may have some.
func (r *run) match(causes []visit, ids []engram.ID, got *loaded) ([]match, error) {
	of := map[engram.ID][]visit{} // causes by entity
	for _, v := range causes {
		entity := r.trace.Nodes[v.node].ID.Truncate(engram.LevelEntity)
		of[entity] = append(of[entity], v)
	}
	var all []match
	var inForce asks
	for _, id := range ids {
		to := ref{to: id}
		s := to.in(got.snapshots[id.Parent()])
		if s == nil {
			continue // it went meanwhile
		}
		for i := range s.Instances {
			links, err := r.linksOf(id.Parent(), s, i)
			if err != nil {
				return nil, err
			}
			for _, l := range links {
				for _, v := range of[l.ID.Truncate(min(l.ID.Level(), engram.LevelEntity))] {
					m := match{got.node(to), i, v.node, ref{v, s.Time, l.Path, l.ID}}
					if l.ID.Level() == engram.LevelEntity && !r.trace.Nodes[v.node].IsActivity() {
						inForce.add(m.link)
					}
					all = append(all, m)
				}
			}
		}
	}
	then := &loaded{snapshots: map[engram.ID][]*engram.Snapshot{}}
	if err := r.read(&inForce, true, then); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(m match) bool { return !r.isTo(&m.link, then) }), nil
}

// isTo reports whether a link is to the snapshot, instance or activity of its visit.
func (r *run) isTo(l *ref, inForce *loaded) bool {
	n := &r.trace.Nodes[l.node]
	if n.IsActivity() {
		return true
	}
	among := n.Snapshots
	if l.to.Level() == engram.LevelEntity {
		among = inForce.snapshots[l.to]
	}
	s := l.in(among)
	i, one := l.to.Index()
	return s != nil && s.Time == n.Snapshots[0].Time && (!one || i < len(s.Instances) && (l.instance == none || i == l.instance))
}

// addEffects adds nodes and links, and returns what is to be followed then.
func (r *run) addEffects(matches []match, depth int) (found []visit) {
	cut := map[engram.ID]bool{}
	for _, m := range matches {
		if _, known := r.at[m.effect.ID]; !known && r.full() {
			cut[m.effect.ID] = true
			continue
		}
		m.effect.Depth = depth
		v := visit{r.node(m.effect), m.instance}
		if m.effect.IsActivity() {
			v.instance = none
		}
		r.link(Link{v.node, m.cause, m.link.path, m.link.to})
		if !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	r.trace.Cut += len(cut)
	return found
}
