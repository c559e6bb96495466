package link

import "github.com/seed-301d4374/engram"

// causes follows the links of visits to what they are to.
func (r *run) causes(found []visit, depth int) ([]visit, error) {
	var refs []ref
	for _, v := range found {
		links, err := r.linksOf(&r.trace.Nodes[v.node], v.instance)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if r.follows(l.to.Memory()) {
				refs = append(refs, ref{visit{v.node, l.instance}, l.time, l.path, l.to})
			}
		}
	}
	if depth > r.o.Depth {
		r.trace.Cut += len(refs)
		return nil, nil
	}
	return r.resolve(refs, depth)
}

// resolve finds out what links are to, adds nodes and links, and returns what is to be followed then.
func (r *run) resolve(refs []ref, depth int) (found []visit, err error) {
	var wanted asks
	kept := refs[:0]
	room := r.o.Nodes - len(r.trace.Nodes) + mostAsked // of what is read some may be one node
	for _, l := range refs {
		if _, known := r.at[l.to.Truncate(min(l.to.Level(), engram.LevelSnapshot))]; !known && !wanted.reads(l) {
			if room == 0 {
				r.trace.Cut++
				continue
			}
			room--
		}
		kept = append(kept, l)
		wanted.add(l)
	}
	got, err := r.load(&wanted)
	if err != nil {
		return nil, err
	}
	cut := map[engram.ID]bool{}
	for _, l := range kept {
		n, instance := got.node(l), none
		if i, ok := l.to.Index(); ok && !n.IsActivity() && n.Missing == "" {
			if instance = i; i >= len(n.Snapshots[0].Instances) {
				n, instance = Node{ID: l.to, Missing: Absent}, none
			}
		}
		n.Depth = depth
		to, ok := r.node(n)
		if !ok {
			cut[n.ID] = true
			continue
		}
		if l.node != none {
			r.link(Link{l.node, to, l.path, l.to})
		}
		if n.Missing == "" && len(n.Snapshots) > 0 {
			found = append(found, visit{to, instance})
		}
	}
	r.trace.Cut += len(cut)
	return found, nil
}
