package access

import (
	"github.com/seed-301d4374/engram"
)

// grant is what the rules say about one identity. Its answers do not change. Safe for
// concurrent use.
type grant struct {
	id      Identity
	all     bool // it may do everything
	forward bool
	rules   []*compiled // about it
	nodes   cache[nodeKey, *node]
	// entities are answers of rules with regular expressions for entities.
	entities cache[entityKey, verdict]
}

type entityKey struct {
	node *node
	name string
}

// nodeKey identifies a memory, core segment, provider segment or the root.
type nodeKey struct{ memory, core, provider string }

// node is what rules say about a node of the hierarchy down to provider segments, and
// about the entities in the latter.
type node struct {
	cover, reach verdict // of rules about the whole node, and of those about something at or below it
	// Of provider segments, what rules say about single entities in addition to cover:
	exact   map[string]verdict
	regexes []*compiled
}

// verdict is what several rules say together.
type verdict struct{ allow, deny Actions }

func (v verdict) with(o verdict) verdict { return verdict{v.allow | o.allow, v.deny | o.deny} }

// granted are the actions that are allowed and not denied.
func (v verdict) granted() Actions { return v.allow &^ v.deny }

// Bounds of what a grant remembers.
const (
	maxNodes    = 8192
	maxEntities = 8192
)

// at returns what the rules say about the node that id names or lies in.
func (g *grant) at(id engram.ID) *node {
	key := nodeKey{id.Memory(), id.CoreSegment(), id.ProviderSegment()}
	if n, ok := g.nodes.get(key); ok {
		return n
	}
	n := g.build(id.Truncate(engram.LevelProviderSegment))
	g.nodes.put(key, n, maxNodes)
	return n
}

func (g *grant) build(id engram.ID) *node {
	n := &node{}
	for _, r := range g.rules {
		if !r.reaches(id) {
			continue
		}
		n.reach = n.reach.with(r.verdict)
		switch {
		case r.depth <= id.Level():
			n.cover = n.cover.with(r.verdict)
		case id.Level() != engram.LevelProviderSegment:
		default:
			names, lists := r.match.Level(engram.LevelEntity).Exact()
			if !lists {
				n.regexes = append(n.regexes, r)
				continue
			}
			if n.exact == nil {
				n.exact = map[string]verdict{}
			}
			for _, name := range names {
				n.exact[name] = n.exact[name].with(r.verdict)
			}
		}
	}
	return n
}

// entity returns what the rules say about an entity in the node.
func (g *grant) entity(n *node, name string) verdict {
	v := n.cover
	if n.exact != nil {
		v = v.with(n.exact[name])
	}
	if len(n.regexes) == 0 {
		return v
	}
	key := entityKey{n, name}
	said, ok := g.entities.get(key)
	if !ok {
		for _, r := range n.regexes {
			if r.match.Level(engram.LevelEntity).Match(name) {
				said = said.with(r.verdict)
			}
		}
		g.entities.put(key, said, maxEntities)
	}
	return v.with(said)
}

// may reports whether the identity may do all of the actions with an entity or what
// lies in it, or with a whole node of the hierarchy and all below it.
func (g *grant) may(a Actions, id engram.ID) bool {
	if g.all {
		return true
	}
	if len(g.rules) == 0 {
		return false
	}
	n := g.at(id)
	if id.Level() >= engram.LevelEntity {
		return g.entity(n, id.Entity()).granted()&a == a
	}
	return n.cover.allow&a == a && n.reach.deny&a == 0
}

// might reports whether there may be something at or below a node with which the
// identity may do one of the actions.
func (g *grant) might(a Actions, id engram.ID) bool {
	if g.all {
		return true
	}
	if len(g.rules) == 0 {
		return false
	}
	n := g.at(id)
	if id.Level() >= engram.LevelEntity {
		return g.entity(n, id.Entity()).granted()&a != 0
	}
	return n.reach.allow&^n.cover.deny&a != 0
}

// visibility returns how much of a node the identity may do all of the actions with.
func (g *grant) visibility(a Actions, id engram.ID) engram.Visibility {
	if g.all {
		return engram.Visible
	}
	if len(g.rules) == 0 {
		return engram.Hidden
	}
	n := g.at(id)
	if id.Level() >= engram.LevelEntity {
		if g.entity(n, id.Entity()).granted()&a == a {
			return engram.Visible
		}
		return engram.Hidden
	}
	switch {
	case n.reach.allow&a != a || n.cover.deny&a != 0:
		return engram.Hidden
	case n.cover.allow&a == a && n.reach.deny&a == 0:
		return engram.Visible
	}
	return engram.Partial
}

// scope is what an identity may do all of some actions with. It implements
// engram.Scope.
type scope struct {
	g *grant
	a Actions
}

func (s scope) Visibility(id engram.ID) engram.Visibility { return s.g.visibility(s.a, id) }

// known is what an identity may know the definition of: that with which it may do
// anything. Who may write below a segment may know it before there is something.
type known struct{ g *grant }

func (s known) Visibility(id engram.ID) engram.Visibility {
	if id.Level() >= engram.LevelEntity {
		if s.g.might(All, id) {
			return engram.Visible
		}
		return engram.Hidden
	}
	switch l := id.Level(); {
	case !s.g.might(All, id):
		return engram.Hidden
	case (l == engram.LevelCoreSegment || l == engram.LevelProviderSegment) && s.g.might(Write|Admin, id):
		return engram.Visible
	}
	for _, a := range actionNames {
		if s.g.visibility(a.action, id) == engram.Visible {
			return engram.Visible
		}
	}
	return engram.Partial
}
