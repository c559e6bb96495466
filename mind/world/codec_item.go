package world

import (
	"math"
	"time"

	"github.com/seed-301d4374/engram"
)

// sourceNumber returns the number of a source on the wire, where 0 is perception: what was written without
// one was perceived.
func sourceNumber(s Source) int32 { return int32(max(s, Perception) - Perception) }

// sourceOf is the reverse of sourceNumber.
func sourceOf(number int32) Source { return Source(min(max(number, 0), math.MaxUint8-1)) + Perception }

func itemValue(it *Item) map[string]any {
	v := map[string]any{"source": sourceNumber(it.Source), "views": int32(it.Views)}
	refer(v, "seen_in", it.SeenIn)
	if s := it.Structure; s != nil {
		o := map[string]any{"parent": s.Parent}
		present(o, "timestamp", s.Time)
		v["structure"] = o
	}
	if p := it.Placement; p != nil {
		o := map[string]any{"frame_id": p.Frame, "pose": poseValue(p.Pose), "pose_covariance": covValue(p.Pose, p.Cov)}
		present(o, "timestamp", p.Time)
		v["placement"] = o
	}
	if d := it.Description; d != nil {
		v["description"] = descriptionValue(d)
	}
	if len(it.LabelEvidence) > 0 {
		v["label_evidence"] = map[string]float64(it.LabelEvidence)
	}
	if r := it.Removed; r != nil {
		o := map[string]any{"reason": r.Reason}
		present(o, "timestamp", r.Time)
		v["removed"] = o
	}
	return v
}

func itemOf(v object) *Item {
	it := &Item{Source: sourceOf(v.number("source")), Views: int(get[int32](v, "views")), SeenIn: v.reference("seen_in")}
	if o, ok := v.sub("structure"); ok {
		it.Structure = &Structure{get[string](o, "parent"), get[engram.Time](o, "timestamp")}
	}
	if o, ok := v.sub("placement"); ok {
		p := o.pose("pose")
		it.Placement = &Placement{get[string](o, "frame_id"), p, o.covariance("pose_covariance", p), get[engram.Time](o, "timestamp")}
	}
	if o, ok := v.sub("description"); ok {
		it.Description = descriptionOf(o)
	}
	for label, w := range get[map[string]any](v, "label_evidence") {
		if it.LabelEvidence == nil {
			it.LabelEvidence = Evidence{}
		}
		it.LabelEvidence[label], _ = w.(float64)
	}
	if o, ok := v.sub("removed"); ok {
		it.Removed = &Removal{get[string](o, "reason"), get[engram.Time](o, "timestamp")}
	}
	return it
}

func descriptionValue(d *Description) map[string]any {
	v := map[string]any{
		"kinds": d.Kinds, "label": d.Label, "spoken_names": d.SpokenNames, "maintainer": d.Maintainer, "properties": d.Properties,
	}
	refer(v, "object_class", d.Class)
	present(v, "timestamp", d.Time)
	if s := d.Shape; s != nil {
		outline := make([]any, len(s.Outline))
		for i, corner := range s.Outline {
			outline[i] = vectorValue(corner)
		}
		shape := map[string]any{"kind": int32(s.Kind), "size": vectorValue(s.Size), "mesh": s.Mesh, "outline": outline}
		if s.Pose != nil {
			shape["pose"] = poseValue(*s.Pose)
		}
		v["shape"] = shape
	}
	if d.Box != nil {
		v["oobb"] = boxValue(d.Box)
	}
	if x := d.Detection; x != nil {
		v["detection"] = map[string]any{"methods": x.Methods, "tags": x.Tags}
	}
	if p := d.Place; p != nil {
		v["place"] = map[string]any{"level": p.Level, "number": p.Number}
	}
	if r := d.Robot; r != nil {
		v["robot"] = map[string]any{"odom_frame_id": r.Odom, "base_frame_id": r.Base}
	}
	return v
}

func descriptionOf(v object) *Description {
	d := &Description{
		Kinds: v.texts("kinds"), Label: get[string](v, "label"), SpokenNames: v.texts("spoken_names"), Class: v.reference("object_class"),
		Maintainer: get[string](v, "maintainer"), Properties: v.properties(), Time: get[engram.Time](v, "timestamp"),
	}
	if o, ok := v.sub("shape"); ok {
		d.Shape = &Shape{Kind: ShapeKind(o.number("kind")), Size: o.vector("size"), Mesh: get[string](o, "mesh")}
		if _, ok := o.sub("pose"); ok {
			p := o.pose("pose")
			d.Shape.Pose = &p
		}
		for _, corner := range get[[]any](o, "outline") {
			c, _ := corner.(map[string]any)
			d.Shape.Outline = append(d.Shape.Outline, vectorOf(c))
		}
	}
	if o, ok := v.sub("oobb"); ok {
		d.Box = &Box{o.pose("pose"), o.vector("size")}
	}
	if o, ok := v.sub("detection"); ok {
		d.Detection = &Detection{o.texts("methods"), o.texts("tags")}
	}
	if o, ok := v.sub("place"); ok {
		d.Place = &Place{get[string](o, "level"), get[string](o, "number")}
	}
	if o, ok := v.sub("robot"); ok {
		d.Robot = &RobotFrames{get[string](o, "odom_frame_id"), get[string](o, "base_frame_id")}
	}
	return d
}

func jointValue(a *Articulation) map[string]any {
	v := map[string]any{
		"base": a.Base, "moved": a.Moved, "kind": int32(a.Kind), "pose": poseValue(a.Pose), "direction": vectorValue(a.Direction),
		"radius": a.Radius, "reference": a.Reference, "value_sigma": a.Sigma, "serves": a.Serves, "source": sourceNumber(a.Source),
	}
	present(v, "timestamp", a.Time)
	present(v, "value_timestamp", a.ValueTime)
	if a.Limits != nil {
		v["limits"] = map[string]any{"lower": a.Limits.Lower, "upper": a.Limits.Upper}
	}
	if a.Value != nil {
		v["value"] = *a.Value
	}
	return v
}

func jointOf(v object) *Articulation {
	a := &Articulation{
		Base: get[string](v, "base"), Moved: get[string](v, "moved"), Kind: JointKind(v.number("kind")), Pose: v.pose("pose"),
		Direction: v.vector("direction"), Radius: get[float64](v, "radius"), Reference: get[float64](v, "reference"),
		Sigma: get[float64](v, "value_sigma"), Serves: v.texts("serves"), Source: sourceOf(v.number("source")),
		Time: get[engram.Time](v, "timestamp"), ValueTime: get[engram.Time](v, "value_timestamp"),
	}
	if o, ok := v.sub("limits"); ok {
		a.Limits = &Limits{get[float64](o, "lower"), get[float64](o, "upper")}
	}
	if value, ok := v["value"].(float64); ok {
		a.Value = &value
	}
	return a
}

func stateValue(s *State) map[string]any {
	v := map[string]any{"item": s.Item, "name": s.Name, "value": s.Value, "source": sourceNumber(s.Source)}
	present(v, "half_life", s.HalfLife)
	return v
}

func stateOf(v object) *State {
	return &State{get[string](v, "item"), get[string](v, "name"), v["value"], sourceOf(v.number("source")), get[time.Duration](v, "half_life")}
}

func lookValue(l *Look) map[string]any {
	v := map[string]any{
		"frame_id": l.Frame, "pose": poseValue(l.Pose), "seen": l.Seen,
		"field_of_view": viewValue(&l.View),
	}
	if s := &l.LookedFor; len(s.Items)+len(s.Classes)+len(s.Kinds) > 0 {
		v["looked_for"] = map[string]any{"items": s.Items, "classes": s.Classes, "kinds": s.Kinds}
	}
	return v
}

func viewValue(v *View) map[string]any {
	return map[string]any{"horizontal": v.Horizontal, "vertical": v.Vertical, "min_range": v.MinRange, "max_range": v.MaxRange}
}

func viewOf(o object) View {
	return View{get[float64](o, "horizontal"), get[float64](o, "vertical"), get[float64](o, "min_range"), get[float64](o, "max_range")}
}

func lookOf(v object) Look {
	l := Look{Frame: get[string](v, "frame_id"), Pose: v.pose("pose"), Seen: v.texts("seen")}
	if o, ok := v.sub("field_of_view"); ok {
		l.View = viewOf(o)
	}
	if o, ok := v.sub("looked_for"); ok {
		l.LookedFor = LookedFor{o.texts("items"), o.texts("classes"), o.texts("kinds")}
	}
	return l
}
