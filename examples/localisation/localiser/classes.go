package localiser

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/boxes"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
)

// class is what is known of a kind of objects.
type class struct {
	id     engram.ID // of the entity
	name   string
	spoken []string
	box    pose.Pose   // of the bounding box's middle in the object's frame
	sizes  []pose.Vec3 // of the bounding box, m
	places []engram.ID // where its objects are found, the likeliest first
}

// tag is a marker on the objects of a class.
type tag struct {
	class *class
	size  float64   // m
	pose  pose.Pose // of the marker in the object's frame
}

// tagKey names a marker.
type tagKey struct {
	family *marker.Family
	id     int
}

// knowledge is all classes, and what their objects are found by.
type knowledge struct {
	classes []*class
	tags    map[tagKey]tag
	kinds   []boxes.Kind // one for each class of boxed
	boxed   []*class     // classes without markers, which are found by their sizes
}

// readClasses reads what the memory knows of objects. Of wanted only those are kept whose
// name or spoken name is among them; of none, all.
func readClasses(ctx context.Context, svc engram.Reader, wanted []string) (*knowledge, error) {
	r, err := svc.Query(ctx, engram.MustPattern("Object/Class").Select(engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	k := &knowledge{tags: map[tagKey]tag{}}
	missing := map[string]bool{}
	for _, w := range wanted {
		missing[w] = true
	}
	for it := range r.All() {
		m, err := decode("engram.object.Class", it.Snapshot, 0)
		if err != nil {
			continue // somebody else's mistake; others are found all the same
		}
		c := &class{id: it.ID.Truncate(engram.LevelEntity), name: it.ID.Entity(), box: pose.Identity()}
		for _, s := range list(m["spoken_names"]) {
			c.spoken = append(c.spoken, text(s))
		}
		if len(wanted) > 0 {
			is := false
			for _, n := range append(c.spoken, c.name, text(m["name"]), c.id.String()) {
				for w := range missing {
					if w == n {
						is = true
						missing[w] = false
					}
				}
			}
			if !is {
				continue
			}
		}
		k.classes = append(k.classes, c)
		if oobb := object(m["oobb"]); oobb != nil {
			if p, ok := posevalue.OrIdentity(oobb["pose"]); ok {
				c.box = p
			}
			if size := vec(oobb["size"]); min(size.X, size.Y, size.Z) > 0 {
				c.sizes = append(c.sizes, size)
			}
		}
		for _, s := range list(m["sizes"]) {
			if size := vec(s); min(size.X, size.Y, size.Z) > 0 {
				c.sizes = append(c.sizes, size)
			}
		}
		for _, v := range list(m["likely_places"]) {
			if id, ok := v.(engram.ID); ok {
				c.places = append(c.places, id)
			}
		}
		marked := false
		for _, v := range list(m["markers"]) {
			o := object(v)
			f, err := marker.FamilyOf(text(o["family"]))
			p, ok := posevalue.OrIdentity(o["pose"])
			size, id := number(o["size"]), int(number(o["id"]))
			if err != nil || !ok || size <= 0 {
				continue
			}
			k.tags[tagKey{f, id}] = tag{c, size, p}
			marked = true
		}
		if !marked && len(c.sizes) > 0 {
			k.kinds = append(k.kinds, boxes.Kind{Name: c.name, Sizes: c.sizes})
			k.boxed = append(k.boxed, c)
		}
	}
	for w, yes := range missing {
		if yes {
			return nil, engram.Errorf(engram.NotFound, w, "no class of objects of this name in Object/Class")
		}
	}
	if len(k.tags) == 0 && len(k.kinds) == 0 {
		return nil, engram.Errorf(engram.NotFound, "Object/Class", "no class of objects has markers or sizes, by which it could be found")
	}
	return k, nil
}

// decode reads an instance as a type; what extends it reads as it.
func decode(name string, s *engram.Snapshot, instance int) (map[string]any, error) {
	typ, ok := memories.Type(name)
	if !ok {
		return nil, engram.Errorf(engram.Internal, name, "no such type")
	}
	if instance >= len(s.Instances) {
		return nil, engram.Errorf(engram.NotFound, name, "the snapshot has no instance %d", instance)
	}
	v, err := typ.Decode(s.Instances[instance].Payload.Bytes)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string           { s, _ := v.(string); return s }

func number(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	case int32:
		return float64(n)
	case uint32:
		return float64(n)
	case int:
		return float64(n)
	}
	return 0
}

func vec(v any) pose.Vec3 {
	m := object(v)
	return pose.Vec3{X: number(m["x"]), Y: number(m["y"]), Z: number(m["z"])}
}
