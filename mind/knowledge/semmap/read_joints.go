package semmap

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// readJoints reads the articulations: those that we wrote, and items that are joints.
func (r *reader) readJoints() {
	ours := map[string]bool{}
	for _, iri := range r.subjects(rdfType, own("Item")) {
		ours[r.same.find(iri)] = true // we would have said that it is one
	}
	for _, iri := range r.subjects(rdfType, own("Articulation")) {
		item := r.same.find(iri)
		name, ok := r.name[item]
		if !ok {
			name = strings.TrimPrefix(local(iri), "joint@")
		}
		ours[item] = true
		j := Joint{Name: name}
		j.Source = world.Perception // as where none is said
		get(&r.source, iri, jointFields, &j.Articulation)
		j.Base, j.Moved = r.nameOf(r.object(iri, own("base"))), r.nameOf(r.object(iri, own("moved")))
		for _, floor := range r.objects(iri, own("serves")) {
			j.Serves = append(j.Serves, r.nameOf(floor.Value))
		}
		j.Direction = r.direction(iri)
		r.limits(iri, &j.Articulation)
		r.takeJoint(iri, j)
	}
	for _, item := range r.items() {
		if ours[item] || !r.anyIs(item, "Joint-Physical") {
			continue
		}
		if j, ok := r.foreignJoint(item); ok {
			r.takeJoint(item, j)
		}
	}
}

func (r *reader) anyIs(item string, class string) bool {
	return slices.ContainsFunc(r.groups[item], func(iri string) bool { return r.isA(iri, class) })
}

func (r *reader) takeJoint(iri string, j Joint) {
	if err := j.Check(j.Name); err != nil {
		r.refuse(iri, err)
		return
	}
	r.out.Joints = append(r.out.Joints, j)
}

// foreignJoint reads an item as an articulation.
func (r *reader) foreignJoint(item string) (j Joint, ok bool) {
	base, moved, ok := r.joins(item)
	if !ok {
		return j, false
	}
	j = Joint{Name: r.name[item]}
	j.Base, j.Moved, j.Source = r.name[base], r.name[moved], world.PriorKnowledge
	for _, iri := range r.groups[item] {
		r.limits(iri, &j.Articulation)
		if d := r.direction(iri); d != (pose.Vec3{}) {
			j.Direction = d
		}
	}
	if j.Pose, ok = r.between(base, item); !ok {
		j.Pose = pose.Identity()
		r.note(item, "where the joint is in %s is not said; it is taken to be at its origin", base)
	}
	switch {
	case r.anyIs(item, "PrismaticJoint"):
		j.Kind = world.Prismatic
		if j.Direction == (pose.Vec3{}) {
			j.Direction = pose.Vec3{X: 1}
			r.note(item, "the joint has no direction; it is taken to be x")
		}
		j.SetDirection(j.Direction)
	case r.anyIs(item, "HingedJoint"):
		j.Kind = world.Revolute
		j.SetAxis(j.Direction)
		j.Direction = pose.Vec3{}
	}
	return j, true
}

// limits reads how far a joint goes, and its radius.
func (r *reader) limits(iri string, a *world.Articulation) {
	lower, low := r.number(iri, r.k("minJointValue"))
	upper, high := r.number(iri, r.k("maxJointValue"))
	switch {
	case low && high:
		a.Limits = &world.Limits{Lower: lower, Upper: upper}
	case low || high:
		r.note(iri, "the joint has only one limit, which is not taken")
	}
	radius, ok := r.number(iri, r.k("turnRadius"))
	if !ok {
		radius, ok = r.number(iri, r.k("radius"))
	}
	if ok {
		a.Radius = radius
	}
}

// joins returns what a joint joins: the items that it is rigidly connected to, or of which one is
// hinged to the other. The one that the other is a part of stays; else the one that has the joint as a part.
func (r *reader) joins(item string) (base, moved string, ok bool) {
	var both []string
	add := func(iri string) {
		if i := r.same.find(iri); i != item && r.groups[i] != nil && !slices.Contains(both, i) {
			both = append(both, i)
		}
	}
	for _, o := range r.values(item, r.k("connectedTo-Rigidly")) {
		add(o.Value)
	}
	if len(both) < 2 {
		for _, whole := range r.wholes[item] {
			for _, p := range []string{"hingedTo", "prismaticallyConnectedTo"} {
				for _, o := range r.values(whole, r.k(p)) {
					add(whole)
					add(o.Value)
				}
				for _, iri := range r.groups[whole] {
					for _, s := range r.subjects(r.k(p), rdf.NewIRI(iri)) {
						add(whole)
						add(s)
					}
				}
			}
		}
	}
	if len(both) != 2 {
		r.note(item, "the joint joins %d items, not 2; there is no articulation of it", len(both))
		return "", "", false
	}
	slices.Sort(both)
	base, moved = both[0], both[1]
	above, below := r.within(moved, base), r.within(base, moved)
	if below && !above || above == below && slices.Contains(r.wholes[item], moved) && !slices.Contains(r.wholes[item], base) {
		base, moved = moved, base
	}
	return base, moved, true
}

// between returns where an item is in another one, by the newest poses of both.
func (r *reader) between(base, item string) (pose.Pose, bool) {
	a, b := r.poses[r.name[base]], r.poses[r.name[item]]
	if len(b) > 0 && b[len(b)-1].Frame == r.name[base] {
		return b[len(b)-1].Pose, true
	}
	if len(a) == 0 || len(b) == 0 || a[len(a)-1].Frame != b[len(b)-1].Frame {
		return pose.Pose{}, false
	}
	return a[len(a)-1].Pose.Inverse().Mul(b[len(b)-1].Pose), true
}

// readMaps reads the maps.
func (r *reader) readMaps() {
	described := map[string][]string{}
	for t := range r.g.Match(rdf.Term{}, r.k("describedInMap"), rdf.Term{}) {
		if name, ok := r.name[r.same.find(t.S.Value)]; ok && !slices.Contains(described[t.O.Value], name) {
			described[t.O.Value] = append(described[t.O.Value], name)
		}
	}
	for _, iri := range slices.Sorted(maps.Keys(r.maps)) {
		m := Map{Name: r.mapName(iri)}
		m.Kind = r.mapKind(iri)
		if frame := r.object(iri, own("mapFrame")); frame != "" {
			m.Frame = r.nameOf(frame)
		}
		get(&r.source, iri, mapFields, &m.Map)
		var extent world.Box
		if get(&r.source, iri, boxFields, &extent) {
			m.Extent = &extent
		}
		m.URL = cmp.Or(r.object(iri, rdf.NewIRI(NSRoboEarth+"linkToMapFile")), r.object(iri, r.k("linkToMapFile")))
		m.Properties = r.readProperties(iri, "map/")
		keep := func(property, v string) {
			if v != "" && m.Properties == nil {
				m.Properties = map[string]any{}
			}
			if v != "" {
				m.Properties[property] = v
			}
		}
		keep("image", cmp.Or(r.object(iri, rdf.NewIRI(NSRoboEarth+"linkToImageFile")), r.object(iri, r.k("linkToImageFile"))))
		if iri != r.names.plain("map@", m.Name) {
			keep(PropertyIRI, iri)
		}
		m.Describes = described[iri]
		slices.Sort(m.Describes)
		if m.Format == "" && m.URL != "" {
			m.Format = formatOf(m.URL)
		}
		if err := m.Check(m.Name); err != nil {
			r.refuse(iri, err)
			continue
		}
		r.out.Maps = append(r.out.Maps, m)
	}
}

func (r *reader) mapKind(iri string) world.MapKind {
	for _, t := range r.types(iri) {
		for _, super := range r.superclasses(strings.Replace(t, NSOldKnowRob, NSKnowRob, 1)) {
			if i := slices.Index(mapClasses[:], super); i >= 0 {
				return world.MapKind(i)
			}
		}
	}
	return world.SemanticMap
}

// readStates reads the states of items.
func (r *reader) readStates() {
	ours := map[string]bool{}
	for _, iri := range r.subjects(rdfType, own("State")) {
		s := State{Confidence: 1}
		item := r.object(iri, own("stateOf"))
		values := r.objects(iri, own("value"))
		s.Source = world.Perception // as where none is said
		get(&r.source, iri, stateFields, &s)
		if s.Item = r.nameOf(item); item == "" || s.Name == "" || len(values) == 0 {
			r.note(iri, "the state has no item, name or value")
			continue
		}
		s.Value = valueOf(values[0])
		ours[s.Item+"\n"+s.Name] = true
		r.out.States = append(r.out.States, s)
	}
	for _, item := range r.items() {
		for _, o := range r.values(item, r.k("stateOfObject")) {
			if name := r.name[item]; !ours[name+"\nstateOfObject"] {
				ours[name+"\nstateOfObject"] = true
				s := State{Confidence: 1}
				s.Item, s.Name, s.Value, s.Source = name, "stateOfObject", local(o.Value), world.PriorKnowledge
				r.out.States = append(r.out.States, s)
			}
		}
	}
}

// readComponents reads the components.
func (r *reader) readComponents() {
	for _, iri := range r.subjects(rdfType, own("Component")) {
		c := Component{Name: r.nameOf(iri)}
		get(&r.source, iri, componentFields, &c.Component)
		var view world.View
		if get(&r.source, iri, viewFields, &view) {
			c.View = &view
		}
		for p, at := range map[string]*string{"onRobot": &c.Robot, "dataFrame": &c.Frame} {
			if o := r.object(iri, own(p)); o != "" {
				*at = r.nameOf(o)
			}
		}
		c.Properties = r.readProperties(iri, "component/")
		if err := c.Check(c.Name); err != nil {
			r.refuse(iri, err)
			continue
		}
		r.out.Components = append(r.out.Components, c)
	}
}

// finish checks the items, and puts all in order.
func (r *reader) finish(items map[string]*world.NamedItem) {
	order := r.items()
	depth := map[string]int{}
	for _, item := range order {
		depth[item] = r.depth(item)
	}
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(items[a].Name, items[b].Name))
	})
	for _, item := range order {
		it := items[item]
		if err := it.Check(it.Name); err != nil {
			r.refuse(item, err)
			continue
		}
		r.out.Items = append(r.out.Items, *it)
		r.out.Poses = append(r.out.Poses, r.poses[it.Name]...)
	}
	slices.SortStableFunc(r.out.Poses, func(a, b Pose) int { return cmp.Compare(a.Item, b.Item) })
	slices.SortStableFunc(r.out.Joints, func(a, b Joint) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.out.Maps, func(a, b Map) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.out.States, func(a, b State) int { return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Name, b.Name)) })
	slices.SortFunc(r.out.Components, func(a, b Component) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.out.Notes, func(a, b Note) int { return cmp.Or(cmp.Compare(a.IRI, b.IRI), cmp.Compare(a.Text, b.Text)) })
	r.out.Notes = slices.Compact(r.out.Notes)
}
