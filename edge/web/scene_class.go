package web

import (
	"context"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// classes are how large objects of classes are and how they look, by the entities of
// Object/Class.
type classes map[engram.ID]form

// form is the shape of an object and the box about it, each nil if nobody says.
type form struct {
	shape *world.Shape
	box   *world.Box
}

// classes returns what is known at a time of the classes of a world's items.
func (p *scenes) classes(ctx context.Context, when moment, f *world.Forest) (classes, error) {
	needed := false
	for it := range f.All() {
		needed = needed || it.Description != nil && it.Description.Class != nil && it.Description.Shape == nil
	}
	if !needed {
		return nil, nil
	}
	q := engram.MustPattern("~(.+:)?Object/Class").Select(when.selector())
	q.AsOf, q.Fields = when.asOf, []string{"oobb", "visual_mesh"}
	found, err := p.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	all := classes{}
	for it := range found.All() {
		if len(it.Instances) == 0 {
			continue
		}
		m, err := p.types.decode(ctx, it.Instances[0].Payload)
		if err != nil {
			continue // what cannot be read says nothing
		}
		var is form
		if mesh, _ := m["visual_mesh"].(string); strings.HasPrefix(mesh, "package://") {
			is.shape = &world.Shape{Kind: world.ShapeMesh, Mesh: mesh}
		}
		if box, ok := m["oobb"].(map[string]any); ok {
			is.box = boxOf(box)
		}
		all[it.ID.Truncate(engram.LevelEntity)] = is
	}
	return all, nil
}

// boxOf reads a box of a decoded message; nil if it is none.
func boxOf(m map[string]any) *world.Box {
	at, _ := m["pose"].(map[string]any)
	p, err := transformOf(at["position"], at["orientation"]).Checked()
	size := vectorOf(m["size"])
	if err != nil || !finite(size.X, size.Y, size.Z) || min(size.X, size.Y, size.Z) < 0 {
		return nil
	}
	return &world.Box{Pose: p, Size: size}
}

// transformOf reads a translation and a rotation of decoded messages.
func transformOf(translation, rotation any) pose.Pose {
	r, _ := rotation.(map[string]any)
	v := vectorOf(r)
	w, _ := r["w"].(float64)
	return pose.Pose{T: vectorOf(translation), R: pose.Quat{W: w, X: v.X, Y: v.Y, Z: v.Z}}
}

// vectorOf reads a vector of a decoded message.
func vectorOf(v any) pose.Vec3 {
	m, _ := v.(map[string]any)
	number := func(name string) float64 { f, _ := m[name].(float64); return f }
	return pose.Vec3{X: number("x"), Y: number("y"), Z: number("z")}
}

// formOf returns the form of an item: what is said of it, else of its class.
func (c classes) formOf(d *world.Description) form {
	is := form{d.Shape, d.Box}
	if d.Class == nil {
		return is
	}
	of := c[d.Class.Truncate(engram.LevelEntity)]
	if is.shape == nil {
		is.shape = of.shape
	}
	if is.box == nil {
		is.box = of.box
	}
	return is
}
