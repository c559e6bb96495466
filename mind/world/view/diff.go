package view

import (
	"strings"

	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// Difference tells how an item differs in a forest from one before.
func Difference(after *world.Forest, d *world.Difference) answer.Difference {
	o := answer.Difference{Name: d.Name, Came: d.Before == nil, Went: d.After == nil}
	switch {
	case o.Went:
		if s, ok := after.Removed(d.Name); ok {
			o.Reason, o.By = s.Item.Removed.Reason, s.Who()
		}
		return o
	case o.Came:
		o.Parent = &answer.Exchange{To: parentName(d.After)}
	case d.Reparented:
		o.Parent = &answer.Exchange{From: parentName(d.Before), To: parentName(d.After)}
	}
	o.By = strings.Join(Speakers(d.After), ", ")
	if o.Came {
		return o
	}
	if d.Moved {
		o.Moved = &answer.Movement{Trans: d.Trans, Rot: d.Rot}
	}
	if d.Relabelled {
		o.Label = &answer.Exchange{From: d.Before.Label(), To: d.After.Label()}
	}
	if world.Unlike(d.Before.Description, d.After.Description) {
		o.Kinds = &answer.Exchange{From: strings.Join(Kinds(d.Before), ", "), To: strings.Join(Kinds(d.After), ", ")}
	}
	had, has := d.Before.Placement != nil, d.After.Placement != nil
	o.PoseKnown, o.PoseUnknown = has && !had, had && !has
	o.Described, o.Linked, o.Unlinked = d.Redescribed, d.Linked, d.Unlinked
	for _, s := range d.States {
		x := answer.StateChange{Name: s.Name}
		if s.Before != nil {
			x.From = valueJSON(s.Before.State.Value)
		}
		if s.After != nil {
			x.To = valueJSON(s.After.State.Value)
		}
		o.States = append(o.States, x)
	}
	return o
}

func parentName(m *world.Merged) string {
	if m.Structure == nil {
		return ""
	}
	return m.Structure.Parent
}
