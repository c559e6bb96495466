package semmap

import (
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// WriteOptions say what goes into a semantic map.
type WriteOptions struct {
	Root  string // the item that is written with all below it; "" is the whole world
	Names *Names // nil is those of no certain robot
	// Past returns where an item was over time, sorted, such as [world.Memory.Track]; nil
	// is without the past.
	Past func(item string) []world.Edge
}

// Write returns a part of the world as a semantic map that KnowRob's tools understand: its items, the wholes
// that it is in, the joints and components in it, the maps that describe any of it, and a
// SemanticEnvironmentMap that describes all of it. Poses are in one frame, that of the map: the root of the frames
// that the first item is in. What is in another tree of frames is relativeTo the root of that one.
// The error is NotFound.
func Write(f *world.Forest, o WriteOptions) ([]rdf.Triple, error) {
	names := o.Names
	if names == nil {
		names = NewNames("")
		names.Learn(f)
	}
	x := &export{writer: writer{f: f, names: names}, in: map[string]bool{}}
	if o.Past != nil {
		tracks := map[string][]world.Edge{}
		x.past = func(item string) []world.Edge {
			track, known := tracks[item]
			if !known {
				track = o.Past(item)
				tracks[item] = track
			}
			return track
		}
	}
	all := f.All()
	if o.Root != "" {
		path, err := f.PathToRoot(o.Root)
		if err != nil {
			return nil, err
		}
		for _, whole := range slices.Backward(path[1:]) {
			x.take(whole.Name)
		}
		all = f.Subtree(o.Root)
	}
	for m := range all {
		x.take(m.Name)
	}
	x.write(o.Root)
	return bySubject(x.triples), nil
}

// bySubject returns triples with all of one subject in one place.
func bySubject(triples []rdf.Triple) []rdf.Triple {
	number := map[rdf.Term]int{}
	of := make([]int, len(triples)) // the number of each triple's subject
	var next []int                  // where the next triple of a subject goes
	for i, t := range triples {
		n, ok := number[t.S]
		if !ok {
			n = len(number)
			number[t.S] = n
			next = append(next, 0)
		}
		of[i] = n
		next[n]++
	}
	at := 0
	for n, many := range next {
		next[n], at = at, at+many
	}
	sorted := make([]rdf.Triple, len(triples))
	for i, t := range triples {
		sorted[next[of[i]]] = t
		next[of[i]]++
	}
	return sorted
}

// export is a semantic map on its way out.
type export struct {
	writer
	past  func(item string) []world.Edge
	order []string
	in    map[string]bool
	frame string // of the map
}

func (x *export) take(name string) {
	x.order = append(x.order, name)
	x.in[name] = true
}

func (x *export) write(root string) {
	for _, name := range x.order {
		if frame, _ := x.rootOf(name, nil); frame != "" && (x.frame == "" || name == root) {
			x.frame = frame
		}
	}
	environment := x.own("export", root)
	x.add(environment, rdfType, kr("SemanticEnvironmentMap"))
	x.add(environment, rdfType, own("Export"))
	if x.frame != "" {
		x.add(environment, own("mapFrame"), x.iri(x.frame))
	}
	times := map[engram.Time]bool{}
	for _, name := range x.order {
		x.item(name)
		x.component(name)
		x.add(x.iri(name), kr("describedInMap"), environment)
		for t := range x.poses(name) {
			times[t] = true
		}
	}
	last := ""
	for j := range x.f.Joints().All() {
		if x.in[j.Base] && x.in[j.Moved] && j.Name != last {
			x.joint(j.Name)
			last = j.Name
		}
	}
	for m := range x.f.Maps().All() {
		if slices.ContainsFunc(m.Map.Describes, func(item string) bool { return x.in[item] }) || root == "" {
			x.mapped(m.Name)
		}
	}
	for c := range x.f.Components().All() {
		if !x.in[c.Name] && (root == "" || x.in[c.Component.Robot]) {
			x.component(c.Name)
		}
	}
	for _, t := range slices.Sorted(maps.Keys(times)) {
		x.add(TimePoint(t), rdfType, kr("TimePoint"))
	}
}

// poses writes where an item is and, if that is wanted, was, and returns the times.
func (x *export) poses(name string) map[engram.Time]bool {
	times := map[engram.Time]bool{}
	e, stated, ok := x.edge(name)
	if !ok {
		return times
	}
	if x.past != nil {
		for _, was := range x.past(name) {
			if was.Frame == "" || was.Time >= e.Time {
				continue
			}
			frame, at := x.rootOf(name, &was.Time)
			x.perception(name, was, x.relative(frame), at, was.Time, "@"+decimal(int64(was.Time)))
			times[was.Time] = true
		}
	}
	frame, at := x.rootOf(name, nil)
	since := x.since(name)
	x.perception(name, stated, x.relative(frame), at, since, "")
	times[since] = true
	return times
}

func (x *export) relative(frame string) string {
	if frame == x.frame {
		return ""
	}
	return frame
}

// rootOf returns the root of the frames that an item is in, and where it is in that, at present or at
// a time; "" for an item in no frame.
func (x *export) rootOf(name string, at *engram.Time) (root string, p pose.Pose) {
	p = pose.Identity()
	seen := map[string]bool{}
	for e, ok := x.edgeAt(name, at); ok && !seen[name]; e, ok = x.edgeAt(name, at) {
		seen[name] = true
		p, name, root = e.Pose.Mul(p), e.Frame, e.Frame
	}
	return root, p
}

func (x *export) edgeAt(name string, at *engram.Time) (e world.Edge, ok bool) {
	if at == nil {
		e, ok = x.f.Edge(name)
		return e, ok && e.Frame != ""
	}
	for _, was := range x.past(name) {
		if was.Time > *at {
			break
		}
		e = was
	}
	return e, e.Frame != ""
}

// since returns since when an item is where it is: when it, or what it is in, was last moved.
func (x *export) since(name string) (t engram.Time) {
	t = engram.MinTime
	seen := map[string]bool{}
	for e, ok := x.f.Edge(name); ok && e.Frame != "" && !seen[name]; e, ok = x.f.Edge(name) {
		seen[name] = true
		t, name = max(t, e.Time), e.Frame
	}
	return t
}
