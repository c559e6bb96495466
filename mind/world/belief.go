package world

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// View is what a sensor reaches, in its optical frame: x right, y down, z ahead.
type View struct {
	Horizontal, Vertical float64 // full angles, rad; a horizontal one of 2 pi is all around
	MinRange, MaxRange   float64 // metres
}

// Look says that a sensor looked somewhere, and what it saw.
type Look struct {
	Sensor string
	Said
	Frame string    // name of the item in whose frame Pose is
	Pose  pose.Pose // frameFromSensor
	View  View
	Seen  []string // names of items
	// LookedFor is what it would have seen: of other items that it did not see it tells nothing.
	LookedFor LookedFor
}

// LookedFor says what a detector would report where it is in view: items by their names, their classes or their
// kinds. The zero value is nothing.
type LookedFor struct{ Items, Classes, Kinds []string }

// has reports whether an item is among what was looked for. Nobody looks for places.
func (s *LookedFor) has(m *Merged) bool {
	if m.Is(KindMap) {
		return false
	}
	if slices.Contains(s.Items, m.Name) {
		return true
	}
	d := m.Description
	return d != nil && (slices.Contains(s.Classes, d.ClassName()) || slices.ContainsFunc(d.Kinds, func(k string) bool { return slices.Contains(s.Kinds, k) }))
}

// Check returns an Invalid error if nothing can have looked so.
func (l *Look) Check() error {
	if _, err := l.Pose.Checked(); err != nil {
		return engram.Errorf(engram.Invalid, l.Sensor, "%w", err)
	}
	if l.View.Vertical == 0 {
		return engram.Errorf(engram.Invalid, l.Sensor, "its field of view is 0 rad high; vertical is the full angle, more than 0")
	}
	return l.View.check(l.Sensor)
}

// check returns an Invalid error about a sensor that can reach nothing so. A flat scanner is 0 rad high.
func (v *View) check(sensor string) error {
	fail := func(format string, args ...any) error {
		return engram.Errorf(engram.Invalid, sensor, "its field of view "+format, args...)
	}
	switch {
	case !(v.Horizontal > 0) || math.IsInf(v.Horizontal, 0):
		return fail("is %g rad wide; horizontal is the full angle, more than 0 (2 pi is all around)", v.Horizontal)
	case !(v.Vertical >= 0) || math.IsInf(v.Vertical, 0):
		return fail("is %g rad high; vertical is the full angle, 0 for a flat scanner, else more", v.Vertical)
	case !(v.MinRange >= 0):
		return fail("begins at %g m; min_range is 0 or more", v.MinRange)
	case !(v.MaxRange > v.MinRange):
		return fail("goes from %g m to %g m; max_range is more than min_range", v.MinRange, v.MaxRange)
	}
	return nil
}

// Belief is how sure it is that an item is still where it is said to be.
type Belief struct {
	P      float64     // probability
	Seen   engram.Time // when it was last seen or stated
	By     string      // by which sensor or provider, after its robot
	Looked int         // looks since that would have shown it, and did not
}

// Belief returns how sure it is at a time that the item is where the forest has it, from
// looks in any order; those after the time do not count.
//
// It is the persistence filter of Rosen, Mason and Leonard (ICRA 2016) with an exponential prior, clamped as the cells of
// OctoMap are (Hornung et al. 2013). It begins with the confidence of the statement that placed the item, at its time; of an
// item without a pose, of that which gave it its parent. Between two events it falls by half in each half-life
// ([Rules.HalfLife]). What was perceived to hang on it, a statement of a parent, shows that the item is there: the
// belief begins anew at that time, with the statement's confidence if that is more. With d = [Rules].Detection and
// f = [Rules].FalseAlarm, a look that saw the item, or what hangs on it, takes it from p to p·d / (p·d + (1-p)·f), and
// one that looked for it, reached its place and did not see it, to
// p·(1-d) / (p·(1-d) + (1-p)·(1-f)). Looks of one sensor within [Rules].Correlation of one that counted do not count. When
// somebody looks, a statement has at most 0.95, looks have led to between 0.001 and 0.999, and
// what was away since t is back with the probability 0.05·(1 - 2^(-t/half-life)).
//
// A look reaches a place that is in
// the sensor's view and range, unless another item's box is in between, that of a place
// excepted; places are not looked for. Sensors and items are where the forest has them. Times are compared with the
// clocks of robots corrected.
func (f *Forest) Belief(name string, at engram.Time, looks []Look) (Belief, error) {
	n := f.item(name)
	if n == nil {
		return Belief{}, notFound(name)
	}
	said, when := n.merged.whereabouts()
	if said == nil {
		return Belief{}, engram.Errorf(engram.NotFound, name, "nobody says where it is, so nothing can be believed of it; state its pose or its parent")
	}
	return beliefIn(f, n, said, when, at, looks), nil
}

// beliefIn is [Forest.Belief] of an item of which a statement says since when it is where it is.
func beliefIn(f *Forest, n *node, said *Statement, when, at engram.Time, looks []Look) Belief {
	b := belief{
		halfLife: f.rules.HalfLife(n.merged.Item), rules: &f.rules,
		Belief: Belief{P: said.Confidence, Seen: when.Add(f.rules.Offsets[said.Robot]), By: said.Who()},
	}
	b.now = b.Seen
	for _, l := range f.relevant(n, b.Seen, at, looks) {
		b.fade(l.at)
		if l.look == nil {
			b.bears(&l)
		} else {
			b.look(&l)
		}
	}
	b.fade(at)
	return b.Belief
}

// belief is a belief on its way through time.
type belief struct {
	Belief
	now      engram.Time
	last     engram.Time // when somebody looked last, that counted; 0 if nobody has since it began
	halfLife time.Duration
	rules    *Rules
	counted  map[sensor]engram.Time // when each looked last, that counted
}

// sensor is one that looks.
type sensor struct{ name, provider, robot string }

func (b *belief) fade(to engram.Time) {
	b.P *= faded(to.Sub(b.now), b.halfLife)
	b.now = max(b.now, to)
}

func (b *belief) look(e *event) {
	by := sensor{e.look.Sensor, e.look.Provider, e.look.Robot}
	t, again := b.counted[by]
	if counts := !again || e.at.Sub(t) >= b.rules.Correlation; counts {
		if b.counted == nil {
			b.counted = map[sensor]engram.Time{}
		}
		b.counted[by] = e.at
		b.count(e)
	} else if !e.seen {
		return
	}
	if e.seen {
		b.Seen, b.By, b.Looked = b.now, e.by, 0
	} else {
		b.Looked++
	}
}

// bears takes a statement that something hangs on the item.
func (b *belief) bears(e *event) {
	b.P = max(b.P, e.said.Confidence)
	b.Seen, b.By, b.Looked, b.last = b.now, e.by, 0, 0
}

// count changes the probability by a look.
func (b *belief) count(e *event) {
	if b.last == 0 {
		b.last, b.P = b.Seen, min(b.P, surest)
	}
	b.P += (1 - b.P) * comesBack * (1 - faded(e.at.Sub(b.last), b.halfLife))
	b.last = e.at
	there, away := b.rules.Detection, b.rules.FalseAlarm
	if !e.seen {
		there, away = 1-there, 1-away
	}
	if is, not := b.P*there, (1-b.P)*away; is+not > 0 {
		b.P = is / (is + not)
	}
	b.P = min(max(b.P, 1-clamp), clamp)
}

const (
	// surest is how sure a statement is at most when somebody looks: else one of confidence 1 would
	// outlast all looks.
	surest = 0.95
	// clamp is how sure looks make at most that an item is there, or is not: what changes later is noticed after some more.
	clamp = 0.999
	// comesBack is the probability that what went away is back after a long time.
	comesBack = 0.05
)

// event is a look that tells of an item, or a statement that another one hangs on it.
type event struct {
	at   engram.Time
	seen bool
	by   string // the sensor, or the provider
	said *Said
	look *Look // nil for a statement
}

// relevant returns the looks after since and up to at that saw the item, or reached it
// without seeing it, and what was perceived then to hang on it, by time.
func (f *Forest) relevant(n *node, since, at engram.Time, looks []Look) []event {
	var events []event
	sight := sight{f: f, of: n}
	placed := n.merged.Placement != nil
	on := sight.hanging(len(looks) > 0, func(s *Statement, t engram.Time) {
		if t > since && t <= at {
			events = append(events, event{t, true, s.Who(), &s.Said, nil})
		}
	})
	hangs := func(l *Look, t engram.Time) bool {
		return len(on) > 0 && slices.ContainsFunc(l.Seen, func(child string) bool {
			since, is := on[child]
			return is && t >= since
		})
	}
	for i := range looks {
		l := &looks[i]
		t := l.Time.Add(f.rules.Offsets[l.Robot])
		if t <= since || t > at {
			continue
		}
		seen := slices.Contains(l.Seen, n.name) || hangs(l, t)
		if seen || placed && l.LookedFor.has(n.merged) && sight.reaches(l) {
			events = append(events, event{t, seen, l.Sensor, &l.Said, l})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		last := func(e *event) int { // a statement outweighs the looks of its time
			if e.look == nil {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(last(&a), last(&b)), cmp.Compare(a.by, b.by), a.said.compare(b.said))
	})
	return events
}

// sight tells which looks reach an item, and what hangs on it.
type sight struct {
	f  *Forest
	of *node

	frame         string // of the look before: most are in the same one
	frameFromRoot pose.Pose
	item          pose.Vec3 // in that frame
	inTree        bool
	boxes         []solid // what may be in between, once it is needed
	boxed         bool
}

// hanging returns since when others hang on an item, by their names, or nothing if that is not wanted: who sees the cup on the table knows that the table
// is there. It calls perceived with each statement by perception that something hangs on the item, or on what hangs on it since
// before. Places bear nothing. It keeps its own stack, as subtree does.
func (s *sight) hanging(wanted bool, perceived func(*Statement, engram.Time)) map[string]engram.Time {
	if s.of.children.empty() || s.of.merged.Is(KindMap) {
		return nil
	}
	var on map[string]engram.Time
	if wanted {
		on = map[string]engram.Time{}
	}
	type bearing struct {
		*node
		since engram.Time
	}
	for stack := []bearing{{s.of, engram.MinTime}}; len(stack) > 0; {
		by := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s.f.below(by.node, func(c *node) bool {
			said := c.merged.Structured
			t := said.at(c.merged.Structure.Time).Add(s.f.rules.Offsets[said.Robot])
			if t >= by.since && said.Item.Source == Perception {
				perceived(said, t)
			}
			since := max(by.since, t)
			if wanted {
				on[c.name] = since
			}
			stack = append(stack, bearing{c, since})
			return true
		})
	}
	return on
}

// solid is a box that hides what is behind it.
type solid struct {
	of     *node
	at     pose.Vec3 // of its centre, in the root's frame
	radius float64   // of the sphere around it
}

// reaches reports whether the sensor would have seen the item where it is.
func (s *sight) reaches(l *Look) bool {
	if l.Frame != s.frame || s.frame == "" {
		s.enter(l.Frame)
	}
	if !s.inTree {
		return false
	}
	d := s.item.Sub(l.Pose.T)
	if r2 := d.Dot(d); r2 > l.View.MaxRange*l.View.MaxRange || r2 < l.View.MinRange*l.View.MinRange {
		return false
	}
	if !l.View.covers(l.Pose.R.Conj().Rotate(d)) {
		return false
	}
	return !s.hidden(s.frameFromRoot.Inverse().Apply(l.Pose.T))
}

// enter goes over to looks in another frame.
func (s *sight) enter(frame string) {
	s.frame = frame
	n := s.f.frame(frame)
	if s.inTree = n != nil && n.root == s.of.root; s.inTree {
		s.frameFromRoot = n.rootFromItem.Inverse()
		s.item = s.frameFromRoot.Apply(s.of.rootFromItem.T)
	}
}

// covers reports whether a point in the sensor's frame lies within the angles.
func (v View) covers(p pose.Vec3) bool {
	if p.Z <= 0 && v.Horizontal < math.Pi {
		return false // behind: most are
	}
	return math.Abs(math.Atan2(p.X, p.Z)) <= v.Horizontal/2 &&
		math.Abs(math.Atan2(p.Y, math.Hypot(p.X, p.Z))) <= v.Vertical/2
}

// hidden reports whether a box is between the item and a point in the root's frame. One that
// the point lies in hides nothing.
func (s *sight) hidden(from pose.Vec3) bool {
	if !s.boxed {
		s.boxes, s.boxed = s.f.solids(s.of.root, s.of), true
	}
	for i := range s.boxes {
		b := &s.boxes[i]
		if b.between(from, s.of.rootFromItem.T) {
			return true
		}
	}
	return false
}

// solids returns the boxes of a tree of frames, without that of an item and those of places.
func (f *Forest) solids(root int32, of *node) []solid {
	var boxes []solid
	f.eachTagged(tagBox, "", func(n *node) bool {
		if n.root == root && n != of && !n.merged.Is(KindMap) {
			b := n.merged.Description.Box
			boxes = append(boxes, solid{n, n.rootFromItem.Apply(b.Pose.T), b.Size.Norm() / 2})
		}
		return true
	})
	return boxes
}

// between reports whether the way between two points in the root's frame goes into the box.
// Most do not come near it, which costs little to tell.
func (b *solid) between(from, to pose.Vec3) bool {
	d, c := to.Sub(from), b.at.Sub(from)
	along := min(max(c.Dot(d), 0), d.Dot(d)) // times the square of the way's length
	if along > 0 {
		c = c.Sub(d.Scale(along / d.Dot(d)))
	}
	if c.Dot(c) > b.radius*b.radius {
		return false
	}
	box := b.of.merged.Description.Box
	boxFromRoot := b.of.rootFromItem.Mul(box.Pose).Inverse()
	return crossed(box.Size, boxFromRoot.Apply(from), boxFromRoot.Apply(to))
}

// surface is how deep a point lies within a box that does not just touch it, metres: what stands on
// a table is not in it, nor hidden by it.
const surface = 1e-3

// crossed reports whether the way between two points in the frame of a box goes into it
// from outside (the slab method).
func crossed(size, from, to pose.Vec3) bool {
	enter, leave := 0.0, 1.0
	d := to.Sub(from)
	for _, axis := range [3][3]float64{{from.X, d.X, size.X / 2}, {from.Y, d.Y, size.Y / 2}, {from.Z, d.Z, size.Z / 2}} {
		at, along, half := axis[0], axis[1], axis[2]-min(surface, axis[2]/2)
		if along == 0 {
			if math.Abs(at) > half {
				return false
			}
			continue
		}
		t0, t1 := (-half-at)/along, (half-at)/along
		enter, leave = max(enter, min(t0, t1)), min(leave, max(t0, t1))
	}
	return enter < leave && enter > 0 && enter < 1
}
