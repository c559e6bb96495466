package link

import (
	"cmp"
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

// linkingTo returns the IDs of snapshots that may link to causes, sorted.
func (r *run) linkingTo(causes []visit) ([]engram.ID, error) {
	var into []engram.ID
	var inForce []*Node // whose entities are linked to as well, while they are in force
	for _, v := range causes {
		switch n := &r.trace.Nodes[v.node]; {
		case n.IsActivity():
			into = append(into, n.ID.Truncate(engram.LevelEntity))
		case n.Missing != "":
			into = append(into, n.ID)
		default:
			into, inForce = append(into, n.ID), append(inForce, n)
		}
	}
	var asking sync.WaitGroup
	var ofEntities linking
	var failed error
	asking.Go(func() { ofEntities, failed = r.linkingToEntities(inForce) })
	all, err := r.linking(into, false, engram.All())
	asking.Wait()
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	all.add(&ofEntities)
	r.trace.lacks(&all.lacks)
	if all.cut {
		r.trace.Cut++
	}
	slices.SortFunc(all.ids, engram.ID.Compare)
	return slices.Compact(all.ids), nil
}

// linkingToEntities returns what may link to the entities of nodes while these are in force.
func (r *run) linkingToEntities(nodes []*Node) (all linking, err error) {
	if len(nodes) == 0 {
		return all, nil
	}
	var entities []engram.ID
	since := engram.Interval{Start: engram.MaxTime, End: engram.MaxTime}
	for _, n := range nodes {
		entities = append(entities, n.ID.Parent())
		since.Start = min(since.Start, n.Snapshots[0].Time)
	}
	if all, err = r.linking(entities, true, engram.In(since)); err != nil || !all.cut {
		return all, err
	}
	all = linking{} // too many for all of the time: each for its own
	for _, n := range nodes {
		iv := engram.Interval{Start: n.Snapshots[0].Time, End: engram.MaxTime}
		after := engram.SelectID(n.ID.Parent(), engram.In(engram.Interval{Start: iv.Start + 1, End: iv.End}))
		err := r.parts(after, func(part *engram.Result) error {
			for item := range part.All() {
				iv.End = item.Time
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return all, err
		}
		one, err := r.linking([]engram.ID{n.ID.Parent()}, true, engram.In(iv))
		if err != nil {
			return all, err
		}
		all.add(&one)
	}
	return all, nil
}

// linking are snapshots that may link to something.
type linking struct {
	ids   []engram.ID
	cut   bool          // there are more
	lacks engram.Result // what is missing, and copies
}

func (l *linking) add(o *linking) {
	l.ids, l.cut = append(l.ids, o.ids...), l.cut || o.cut
	l.lacks.Missing, l.lacks.Copies = append(l.lacks.Missing, o.lacks.Missing...), append(l.lacks.Copies, o.lacks.Copies...)
}

// errEnough ends a query.
var errEnough = errors.New("enough")

// linking returns what links to some IDs, of the snapshots that a selector selects. It changes nothing of the run.
func (r *run) linking(to []engram.ID, exactly bool, s engram.SnapshotSelector) (all linking, err error) {
	q := engram.Query{LinksTo: to, LinksExactly: exactly, Memories: r.everywhere(s)}
	err = r.parts(q, func(part *engram.Result) error {
		for item := range part.All() {
			all.ids = append(all.ids, item.ID.Truncate(engram.LevelSnapshot))
		}
		all.lacks.Missing, all.lacks.Copies = append(all.lacks.Missing, part.Missing...), append(all.lacks.Copies, part.Copies...)
		if all.cut = len(all.ids) > r.o.Nodes; all.cut {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, err
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
		nodes = append(nodes, engram.QueryNode{Names: p, Children: below})
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
	met := map[engram.ID]bool{} // activities, of which there may be several snapshots
	for _, id := range ids {
		effect := got.node(ref{to: id})
		if effect.Missing != "" || met[effect.ID] {
			continue // it went meanwhile, or was looked at
		}
		met[effect.ID] = true
		links, err := r.linksOf(&effect, none)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			for _, v := range of[l.to.Truncate(min(l.to.Level(), engram.LevelEntity))] {
				m := match{effect, l.instance, v.node, ref{v, l.time, l.path, l.to}}
				if l.to.Level() == engram.LevelEntity && !r.trace.Nodes[v.node].IsActivity() {
					inForce.add(m.link)
				}
				all = append(all, m)
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
	at, _ := n.Time()
	if l.to.Level() == engram.LevelEntity {
		s := l.in(inForce.snapshots[l.to])
		return s != nil && s.Time == at
	}
	t, _ := l.to.Time()
	i, one := l.to.Index()
	there := n.Missing != "" || !one || i < len(n.Snapshots[0].Instances)
	return t == at && there && (!one || l.instance == none || i == l.instance)
}

// addEffects adds nodes and links, and returns what is to be followed then.
func (r *run) addEffects(matches []match, depth int) (found []visit) {
	cut := map[engram.ID]bool{}
	for _, m := range matches {
		m.effect.Depth = depth
		i, ok := r.node(m.effect)
		if !ok {
			cut[m.effect.ID] = true
			continue
		}
		v := visit{i, m.instance}
		if m.effect.IsActivity() {
			v.instance = none
		}
		r.link(Link{v.node, m.cause, m.link.path, m.link.to})
		found = append(found, v)
	}
	r.trace.Cut += len(cut)
	return found
}
