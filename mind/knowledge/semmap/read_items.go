package semmap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// nameAll gives each item its name. Those that have one keep it.
func (r *reader) nameAll() {
	r.name = map[string]string{}
	used := map[string]bool{}
	for _, item := range r.items() {
		for _, iri := range r.groups[item] {
			if name := r.names.Item(iri); name != "" && !used[name] {
				r.name[item], used[name] = name, true
				break
			}
		}
	}
	for _, item := range r.items() {
		name, ok := r.name[item]
		if !ok {
			name = r.names.take(&r.names.items, item, "", func(name string) bool { return used[name] || r.taken(name) })
			r.name[item], used[name] = name, true
		}
		for _, iri := range r.groups[item] {
			if r.names.Item(iri) == "" {
				r.names.join(name, iri)
			}
		}
	}
}

func (r *reader) taken(name string) bool {
	if r.o.World == nil {
		return false
	}
	_, err := r.o.World.Maps().Get(name)
	return err == nil || r.o.World.Has(name)
}

// nameOf returns the name of what an IRI is of: an item, a map as a frame, or what is known
// elsewhere.
func (r *reader) nameOf(iri string) string {
	if name, ok := r.name[r.same.find(iri)]; ok {
		return name
	}
	if r.maps[iri] {
		return r.mapName(iri)
	}
	if name := r.names.Item(iri); name != "" {
		return name
	}
	return r.names.take(&r.names.items, iri, "", r.taken)
}

func (r *reader) mapName(iri string) string {
	return r.names.take(&r.names.maps, iri, "map@", func(name string) bool { return r.taken(name) || r.isItem(name) })
}

func (r *reader) isItem(name string) bool {
	for _, n := range r.name {
		if n == name {
			return true
		}
	}
	return false
}

// readItems returns all items by their first IRI.
func (r *reader) readItems() map[string]*world.NamedItem {
	items := map[string]*world.NamedItem{}
	for _, item := range r.items() {
		it := &world.NamedItem{Name: r.name[item]}
		it.Structure = &world.Structure{}
		r.tellWholes(item)
		if up := r.parent[item]; up != "" {
			it.Structure.Parent = r.name[up]
		}
		it.Source = world.PriorKnowledge
		own := slices.IndexFunc(r.groups[item], func(iri string) bool { return r.is(iri, own("Item")) })
		if own >= 0 {
			it.Source = world.Perception
			get(&r.source, r.groups[item][own], itemFields, &it.Item)
		}
		it.Description = r.describe(item, own >= 0)
		if poses := r.poses[it.Name]; len(poses) > 0 {
			p := poses[len(poses)-1]
			it.Placement = &world.Placement{Frame: p.Frame, Pose: p.Pose, Cov: p.Cov, Time: p.Time}
			if p.Frame == it.Structure.Parent {
				it.Placement.Frame = ""
			}
		}
		items[item] = it
	}
	return items
}

// tellWholes notes what of an item's wholes is odd.
func (r *reader) tellWholes(item string) {
	wholes := r.wholes[item]
	switch up := r.parent[item]; {
	case len(wholes) == 0:
	case up == "":
		r.note(item, "it is a part of itself, by way of %s; it has no parent", strings.Join(wholes, " and "))
	default:
		for _, w := range wholes {
			if w != up && !r.within(up, w) {
				r.note(item, "it is a part of %s, and of %s, which is no part of the other; its parent is the first", up, w)
			}
		}
	}
	if !slices.ContainsFunc(r.groups[item], func(iri string) bool {
		for range r.g.Match(rdf.NewIRI(iri), rdfType, rdf.Term{}) {
			return true
		}
		return false
	}) {
		r.note(item, "nothing is said of what it is")
	}
}

// describe returns what an item is. What was written by us says it in our own words.
func (r *reader) describe(item string, ours bool) *world.Description {
	d := &world.Description{Place: r.placeOf(item)}
	for _, iri := range r.groups[item] {
		get(&r.source, iri, descriptionFields, d)
		r.readForm(iri, d)
		for name, v := range r.readProperties(iri, "") {
			if d.Properties == nil {
				d.Properties = map[string]any{}
			}
			d.Properties[name] = v
		}
	}
	if ours {
		d.SpokenNames, d.Kinds = r.ordered(item, "usualName", "spokenName"), r.ordered(item, "mainKind", "kind")
	} else {
		r.classify(item, d)
		r.label(item, d)
	}
	keep := func(property string, v any) {
		if d.Properties == nil {
			d.Properties = map[string]any{}
		}
		d.Properties[property] = v
	}
	iri := r.names.IRI(r.name[item])
	foreign := iri != r.names.plain("", r.name[item])
	if foreign {
		keep(PropertyIRI, iri)
	}
	var types, same, joined []any
	for _, other := range r.groups[item] {
		switch {
		case other == iri:
		case r.joined[other]:
			joined = append(joined, other)
		default:
			same = append(same, other)
		}
		for _, t := range r.types(other) {
			if t = strings.Replace(t, NSOldKnowRob, NSKnowRob, 1); !slices.Contains(types, any(t)) {
				types = append(types, t)
			}
		}
	}
	if len(same) > 0 {
		keep(propertySame, same)
	}
	if len(joined) > 0 {
		keep(propertyJoined, joined)
	}
	if r.o.Join && r.o.World != nil {
		if m, err := r.o.World.Get(r.name[item]); err == nil && m.Description != nil {
			complete(d, m.Description)
		}
	}
	if foreign && len(types) > 0 && !(len(types) == 1 && d.Class != nil && types[0] == ClassIRI(*d.Class)) {
		keep(propertyTypes, types)
	}
	return d
}

// complete adds to the description of a place what was known of the one that it was joined with.
func complete(d, known *world.Description) {
	d.Label = cmp.Or(d.Label, known.Label)
	for _, name := range known.SpokenNames {
		if name != d.Label && !slices.Contains(d.SpokenNames, name) && len(d.SpokenNames) < world.MaxNames {
			d.SpokenNames = append(d.SpokenNames, name)
		}
	}
	d.Box, d.Shape, d.Detection = cmp.Or(d.Box, known.Box), cmp.Or(d.Shape, known.Shape), cmp.Or(d.Detection, known.Detection)
	d.Maintainer = cmp.Or(d.Maintainer, known.Maintainer)
	for name, v := range known.Properties {
		old, has := d.Properties[name]
		switch {
		case !has:
			if d.Properties == nil {
				d.Properties = map[string]any{}
			}
			d.Properties[name] = v
		case name == propertyJoined:
			all := append(list(v), list(old)...)
			slices.Sort(all)
			var joined []any
			for _, iri := range slices.Compact(all) {
				joined = append(joined, iri)
			}
			d.Properties[name] = joined
		}
	}
}

// ordered reads texts of which the first is distinguished.
func (r *reader) ordered(item, first, each string) (texts []string) {
	for _, iri := range r.groups[item] {
		main := r.object(iri, own(first))
		for _, o := range r.objects(iri, own(each)) {
			if o.Value == main {
				texts = append([]string{main}, texts...)
			} else {
				texts = append(texts, o.Value)
			}
		}
	}
	return texts
}

// readForm reads the sizes, the shape, and what else has groups of its own.
func (r *reader) readForm(iri string, d *world.Description) {
	var size [3]float64
	said := 0
	for i, p := range []string{"depthOfObject", "widthOfObject", "heightOfObject"} {
		if x, ok := r.number(iri, r.k(p)); ok {
			size[i] = x
			said++
		}
	}
	switch {
	case said == 3:
		d.Box = &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: size[0], Y: size[1], Z: size[2]}}
		if p := r.objects(iri, own("boxPose")); len(p) > 0 && !set(&d.Box.Pose, p) {
			r.note(iri, "its boxPose is %q, which is no pose", p[0].Value)
		}
	case said > 0:
		r.note(iri, "only %d of its depth, width and height are said; it has no box", said)
	}
	shape, detection, robot := world.Shape{}, world.Detection{}, world.RobotFrames{}
	if get(&r.source, iri, shapeFields, &shape) {
		d.Shape = &shape
	} else if mesh := cmp.Or(r.object(iri, r.k("pathToCadModel")), r.object(iri, rdf.NewIRI(NSRoboEarth+"linkToCADModel"))); mesh != "" {
		d.Shape = &world.Shape{Kind: world.ShapeMesh, Mesh: mesh}
	}
	if get(&r.source, iri, detectionFields, &detection) {
		d.Detection = &detection
	}
	if get(&r.source, iri, robotFields, &robot) {
		d.Robot = &robot
	}
}

// classify finds the class and the kinds of an item.
func (r *reader) classify(item string, d *world.Description) {
	var types []string
	for _, iri := range r.groups[item] {
		types = append(types, r.types(iri)...)
	}
	slices.Sort(types)
	types = slices.Compact(types)
	is := func(class string) bool {
		return slices.ContainsFunc(types, func(t string) bool { return slices.Contains(r.superclasses(t), r.kr+class) })
	}
	if d.Class == nil && len(types) > 0 {
		special := slices.DeleteFunc(slices.Clone(types), func(t string) bool {
			return slices.ContainsFunc(types, func(o string) bool {
				return o != t && slices.Contains(r.superclasses(o), t) && !slices.Contains(r.superclasses(t), o)
			})
		})
		if id, err := classOf(append(special, types[0])[0]); err == nil {
			d.Class = &id
		} else {
			r.note(item, "its class %s has no name: %v", types[0], err)
		}
	}
	if d.Place != nil {
		d.Kinds = []string{world.KindMap}
	}
	for _, k := range kinds {
		switch {
		case k.kind == world.KindComponent || k.kind == world.KindObject || slices.Contains(d.Kinds, k.kind) || !is(k.class):
		case k.class == "Place" && is("HumanScaleObject"): // to KnowRob what stores things is a place
		default:
			d.Kinds = append(d.Kinds, k.kind)
		}
	}
	if !slices.Contains(d.Kinds, world.KindMap) && !slices.Contains(d.Kinds, world.KindRobot) && !slices.Contains(d.Kinds, KindJoint) {
		kind := world.KindObject
		if slices.ContainsFunc(r.groups[item], func(iri string) bool { return r.maps[iri] }) {
			kind = world.KindMap
		}
		d.Kinds = append(d.Kinds, kind) // after what says more
	}
}

// label chooses what an item is called: in the language that is wanted, before others what is in
// its IRI. The others are spoken names.
func (r *reader) label(item string, d *world.Description) {
	labels := r.values(item, rdfsLabel)
	rank := func(t rdf.Term) int {
		switch {
		case t.Value == local(item):
			return 0
		case t.Lang == r.o.Language:
			return 1
		case t.Lang == "":
			return 2
		case strings.HasPrefix(t.Lang, r.o.Language+"-"):
			return 3
		}
		return 4
	}
	slices.SortStableFunc(labels, func(a, b rdf.Term) int { return rank(a) - rank(b) })
	for _, l := range labels {
		switch text := strings.TrimSpace(l.Value); {
		case text == "":
		case d.Label == "":
			d.Label = text
		case text != d.Label && !slices.Contains(d.SpokenNames, text) && len(d.SpokenNames) < world.MaxNames:
			d.SpokenNames = append(d.SpokenNames, text)
		}
	}
}

// readPoses reads all perceptions of items.
func (r *reader) readPoses() {
	for t := range r.g.Match(rdf.Term{}, r.k("objectActedOn"), rdf.Term{}) {
		if t.O.Kind == rdf.IRI {
			for _, at := range r.objects(ref(t.S), r.k("eventOccursAt")) {
				r.readPose(ref(t.S), t.O.Value, ref(at))
			}
		}
	}
	for t := range r.g.Match(rdf.Term{}, r.k("orientation"), rdf.Term{}) {
		if t.S.Kind == rdf.IRI {
			r.readPose(t.S.Value, t.S.Value, ref(t.O))
		}
	}
	for _, item := range r.items() {
		poses := r.poses[r.name[item]]
		slices.SortFunc(poses, func(a, b Pose) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Event, b.Event)) })
	}
}

// readPose reads where an event saw something.
func (r *reader) readPose(event, acted, at string) {
	item := r.same.find(acted)
	name, ok := r.name[item]
	if !ok {
		if r.maps[acted] {
			if p, ok := r.matrix(at); !ok || p != pose.Identity() {
				r.note(acted, "the event %s has a pose of the map itself, which is not taken", event)
			}
		}
		return
	}
	p := Pose{Item: name, Event: event, Time: r.time(event)}
	if get(&r.source, event, poseFields, &p) { // it is from us
		p.Frame = r.nameOf(r.object(event, own("placedIn")))
	} else {
		if p.Pose, ok = r.matrix(at); !ok {
			return
		}
		if relative := r.object(at, r.k("relativeTo")); relative != "" {
			p.Frame = r.nameOf(relative)
		} else {
			p.Frame = r.frameOf(item)
		}
	}
	if p.Frame == name {
		if p.Pose != pose.Identity() {
			r.note(acted, "the event %s has its pose in its own frame, which is not taken", event)
		}
		return
	}
	r.poses[name] = append(r.poses[name], p)
}

// frameOf returns the frame of the poses of an item: that of the map that describes it, or what it is a
// part of, or of the only one.
func (r *reader) frameOf(item string) string {
	for at := item; at != ""; at = r.parent[at] {
		var best string
		for _, m := range r.values(at, r.k("describedInMap")) {
			if r.maps[m.Value] && (best == "" || r.isA(m.Value, "SemanticEnvironmentMap") && !r.isA(best, "SemanticEnvironmentMap")) {
				best = m.Value
			}
		}
		if best != "" {
			return r.nameOf(best)
		}
	}
	if r.only == "" {
		return r.o.Frame
	}
	return r.nameOf(r.only)
}
