package world

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Location is a goal pose that has a name, as Navigation/Location has it.
type Location struct {
	Name string // of the entity
	Said
	Names  []string  // by which people call it, the usual one first
	Frame  string    // an item or a bare frame
	Pose   pose.Pose // frameFromRobot, metres: where the robot's root link is when it is there
	PartOf string    // the item that it belongs to; "" if that is not said
}

// In returns where the location is in a frame of a forest.
func (l *Location) In(f *Forest, target string) (Located, error) {
	at, err := f.Pose(target, l.Frame)
	if err != nil {
		return Located{}, err
	}
	exact := pose.ExactCov()
	return Located{Pose: at.Pose.Mul(l.Pose), Cov: pose.ComposeCov(&at.Cov, l.Pose, &exact)}, nil
}

// Within reports whether the location belongs to an item, or to something below it. One that says of
// nothing that it is part of it belongs to what its pose is in.
func (l *Location) Within(f *Forest, item string) bool {
	of := l.PartOf
	if of == "" {
		of = l.Frame
	}
	path, err := f.PathToRoot(of)
	return of == item || err == nil && slices.ContainsFunc(path, func(m *Merged) bool { return m.Name == item })
}

// Locations returns the locations that belong to an item, or to something below it, by name and provider;
// all of them if it is "". There are none where the server has no memory Navigation.
func (m *Memory) Locations(ctx context.Context, item string) ([]Location, error) {
	def, err := m.svc.Type(ctx, "engram.navigation.Location")
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	f, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	r, err := m.svc.Query(ctx, engram.MustPattern("Navigation/Location").Select(engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	var all []Location
	for it := range r.All() {
		l, ok := m.codec.location(t, it)
		if ok && (item == "" || l.Within(f, item)) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Location) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.compare(&b.Said)
	})
	return all, nil
}

// location reads a snapshot of Navigation/Location. What is none is left out.
func (c *Codec) location(t *idf.Type, it engram.Item) (Location, bool) {
	if len(it.Instances) == 0 {
		return Location{}, false
	}
	decoded, err := t.Decode(it.Instances[0].Payload.Bytes)
	m, _ := decoded.(map[string]any)
	v := object(m)
	l := Location{Name: it.ID.Entity(), Said: c.said(it.ID, it.Snapshot), Names: v.texts("names"), PartOf: v.link("part_of").Entity()}
	l.Frame = strings.TrimLeft(get[string](v, "frame_id"), "/")
	if err == nil {
		l.Pose, err = v.pose("pose").Checked()
	}
	return l, err == nil
}
