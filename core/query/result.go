package query

import "github.com/seed-301d4374/engram"

// builder builds a result tree in the order of names. A node is made when
// something is found below it.
type builder struct {
	result  *engram.Result
	missing []engram.Missing
	path    [engram.LevelEntity]struct { // from the memory down, as far as entered
		name string
		node *engram.ResultNode // nil if not made yet
	}
	count int // snapshots and nodes in the result
	bytes int // of payloads in a part

	nodes []engram.ResultNode // made in blocks
	slots []*engram.Snapshot  // for entities with one snapshot
}

// enter says which node of level l comes next.
func (b *builder) enter(l engram.Level, id engram.ID) {
	for i := int(l) - 1; i < len(b.path); i++ {
		b.path[i].node = nil
	}
	b.path[l-1].name = id.Name()
}

// name adds the node entered last at level l to the result.
func (b *builder) name(l engram.Level) *engram.ResultNode {
	p := &b.path[l-1]
	if p.node != nil {
		return p.node
	}
	if b.result == nil {
		b.result = &engram.Result{}
	}
	siblings := &b.result.Memories
	if l > engram.LevelMemory {
		siblings = &b.name(l - 1).Children
	}
	if len(b.nodes) == 0 {
		b.nodes = make([]engram.ResultNode, min(b.count+4, 64))
	}
	p.node, b.nodes = &b.nodes[0], b.nodes[1:]
	p.node.Name = p.name
	*siblings = append(*siblings, p.node)
	b.count++
	return p.node
}

// add adds snapshots to the entity entered last.
func (b *builder) add(snapshots []*engram.Snapshot) {
	n := b.name(engram.LevelEntity)
	if len(snapshots) == 1 && n.Snapshots == nil {
		if len(b.slots) == 0 {
			b.slots = make([]*engram.Snapshot, min(b.count+1, 64))
		}
		n.Snapshots, b.slots = b.slots[:0:1], b.slots[1:]
	}
	n.Snapshots = append(n.Snapshots, snapshots...)
	b.count += len(snapshots)
}

// room returns how many of the snapshots, at least one, still belong into the part.
func (b *builder) room(snapshots []*engram.Snapshot) int {
	for i, s := range snapshots {
		b.bytes += s.Size()
		if b.count+i+1 >= partNodes || b.bytes >= partBytes {
			return i + 1
		}
	}
	return len(snapshots)
}

// take returns what was built, and begins anew below the nodes that were entered.
func (b *builder) take() *engram.Result {
	r := b.result
	if r == nil {
		r = &engram.Result{}
	}
	r.Missing = b.missing
	b.result, b.missing, b.count, b.bytes = nil, nil, 0, 0
	for i := range b.path {
		b.path[i].node = nil
	}
	return r
}
