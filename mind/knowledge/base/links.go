package base

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/world"
)

// links returns the IDs of the snapshots that a triple lies in or was computed from.
func (b *Base) links(s *state, t rdf.Triple) []engram.ID {
	var ids []engram.ID
	for entity, snapshot := range s.said {
		// A blank node may lie anywhere.
		if iriOf(s.names, entity) != t.S.Value && t.S.Kind == rdf.IRI || !slices.Contains(b.triplesOf(s, entity, snapshot), t) {
			continue
		}
		ids = append(ids, entity.At(snapshot.Time))
	}
	if s.forest != nil {
		stated := false
		for range s.graph.Match(t.S, t.P, t.O) {
			stated = true
		}
		for _, term := range []rdf.Term{t.S, t.O} {
			name := s.itemOf(term)
			if name == "" || stated && !slices.Contains(s.world([]string{name}), t) {
				continue
			}
			ids = append(ids, itemLinks(s.forest, name, s.robot, t)...)
		}
	}
	slices.SortFunc(ids, func(a, b engram.ID) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(ids)
}

// itemOf returns the item that a term is about: the item itself, or what belongs to it.
func (s *state) itemOf(t rdf.Term) string {
	if t.Kind != rdf.IRI {
		return ""
	}
	if name := s.names.Item(t.Value); name != "" && s.forest.Has(name) {
		return name
	}
	return semmap.ItemOf(s.names, t.Value)
}

// itemLinks returns the snapshot that says of an item what is in a triple: what it is a part of, what it is, or where
// it is.
func itemLinks(f *world.Forest, name, robot string, t rdf.Triple) []engram.ID {
	m, err := f.Get(name)
	if err != nil {
		return nil
	}
	by := m.Placed
	switch property := t.P.Value; {
	case property == semmap.NSKnowRob+"properPhysicalParts":
		by = m.Structured
	case property == rdf.NS+"type", property == rdf.NSRDFS+"label", strings.HasSuffix(property, "OfObject"), strings.HasPrefix(property, semmap.NSProperty):
		by = m.Described
	}
	segment := map[world.Home]string{world.InWorld: "World/Item", world.InInstance: "Object/Instance", world.InAttachment: "Object/Attachments"}
	if by == nil || segment[by.Home] == "" {
		return nil
	}
	id, err := engram.MustID(segment[by.Home]).Child(by.Provider)
	if err == nil {
		id, err = id.Child(name)
	}
	if err == nil && by.Robot != "" && by.Robot != robot {
		id, err = id.InMemory(by.Robot + ":" + id.Memory())
	}
	if err != nil {
		return nil
	}
	return []engram.ID{id.At(by.Time)}
}
