package prolog

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// timePredicates are those over times, events and poses, and over what is computed.
func timePredicates() map[indicator]builtin {
	return map[indicator]builtin{
		{"rdf_triple", 3}: expanding(func(m *machine, args []Term) (bool, error) {
			return m.derived(args[1], args[0], args[2], likely, nil)
		}),
		{"$probable", 4}: expanding(func(m *machine, args []Term) (bool, error) {
			return m.derived(args[1], args[0], args[2], 0, args[3])
		}),
		{"$at", 2}:               holdsAt,
		{"$change_between", 3}:   expanding(changeBetween),
		{"$seconds", 2}:          expanding(secondsOf),
		{"interval", 2}:          expanding(intervalOf),
		{"allen", 3}:             expanding(allen),
		{"$pose", 2}:             expanding(poseOfThing),
		{"$is_property_goal", 2}: isPropertyGoal,
		{"$covering", 3}:         expanding(coveringPoint),
		{"$product", 3}:          matrixProduct,
		{"matrix_rotation", 2}:   matrixRotation,
	}
}

// likely is the probability from which on something computed is so.
const likely = 0.5

// derived is a predicate over what holds and what is computed with a probability of at least so
// much, which is unified with a term, if there is one.
func (m *machine) derived(s, p, o Term, least float64, probability Term) (bool, error) {
	subject, ok, err := resource(s)
	if !ok {
		return false, err
	}
	property, ok, err := resource(p)
	if !ok {
		return false, err
	}
	object, err := m.objectOf(o)
	if err != nil || object.none {
		return false, err
	}
	answers := m.view.Derive(subject, property, object.term)
	if object.isLiteral {
		answers = m.view.DeriveLiteral(subject, property, object.pattern)
	}
	return answer(m, answers, func(d knowledge.Derived) (bool, error) {
		if d.Probability < least || object.keep != nil && !object.keep(d.O) {
			return false, nil
		}
		for _, part := range [...]struct {
			asked rdf.Term
			arg   Term
			found rdf.Term
		}{{subject, s, d.S}, {property, p, d.P}} {
			if part.asked.IsZero() {
				if ok, err := m.unify(part.arg, termOf(part.found)); !ok {
					return false, err
				}
			}
		}
		if probability != nil {
			if ok, err := m.unify(probability, Float(d.Probability)); !ok {
				return false, err
			}
		}
		ok, err := object.unify(m, d.O)
		if ok {
			m.rests(d.Triple)
		}
		return ok, err
	})
}

// viewAt returns the view of another time, or this one if it is of the time.
func (m *machine) viewAt(at engram.Time) (*knowledge.View, error) {
	switch {
	case at == m.view.At:
		return m.view, nil
	case at == m.present:
		return m.asked, nil
	case m.views[at] != nil:
		return m.views[at], nil
	case m.view.Past == nil:
		return nil, thrown(newTerm("existence_error", Atom("time"), Float(float64(at)/1e9)), "nothing is known here of the past")
	}
	m.share.Leave() // it is read from the memories
	v, err := m.view.Past(m.ctx, at)
	if again := m.share.Begin(m.ctx); again != nil {
		return nil, m.ctx.Err()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	if err != nil {
		return nil, thrown(newTerm("existence_error", Atom("time"), Float(float64(at)/1e9)), "%v is not known: %v", at, err)
	}
	if m.views == nil || len(m.views) >= maxViews {
		m.views = map[engram.Time]*knowledge.View{}
	}
	m.views[at] = v
	return v, nil
}

// maxViews is how many views of other times a question keeps.
const maxViews = 64

// holdsAt is $at(Goal, Time): the goal is asked of the view of a time.
func holdsAt(m *machine, args []Term) (bool, error) {
	expanded, err := m.expandArgs(args[1:])
	if err != nil {
		return false, err
	}
	at, err := m.timeArg(expanded[0])
	if err != nil {
		return false, err
	}
	view, err := m.viewAt(at)
	if err != nil {
		return false, err
	}
	m.frame = frame{next: m.follow(), view: view}
	return m.callGoal(args[0])
}

// timeArg reads a time: seconds since 1970, a time point, or now, the time of the question.
func (m *machine) timeArg(t Term) (engram.Time, error) {
	switch t := deref(t).(type) {
	case *Var:
		return 0, instantiationError()
	case Int, Float:
		text, _ := textOf(t)
		if at, ok := computed.TimeOf(rdf.NewText(text)); ok {
			return at, nil
		}
	case Atom:
		if t == "now" {
			return m.present, nil
		}
		if at, ok := computed.TimeOf(rdf.NewIRI(string(t))); ok {
			return at, nil
		}
	case *Compound:
		if t.name == "literal" && len(t.args) == 1 {
			l, ok, err := m.literalOf(t.args[0])
			if err != nil {
				return 0, err
			}
			if ok {
				if at, ok := computed.TimeOf(l); ok {
					return at, nil
				}
			}
		}
	}
	return 0, domainError("time", deref(t))
}

// spanOf reads an event, [Start, End], interval(Start, End) or a time. ok is false of an event
// without a time.
func (m *machine) spanOf(t Term) (when engram.Interval, ok bool, err error) {
	t = deref(t)
	if c, isCompound := t.(*Compound); isCompound && len(c.args) == 2 && (c.name == "interval" || c.name == atomDot) {
		bounds := c.args
		if c.name == atomDot {
			if bounds, err = m.listArg(t); err != nil {
				return when, false, err
			}
			if len(bounds) != 2 {
				return when, false, domainError("interval", t)
			}
		}
		if when.Start, err = m.timeArg(bounds[0]); err != nil {
			return when, false, err
		}
		when.End, err = m.timeArg(bounds[1])
		return when, when.Start <= when.End, err
	}
	if a, isAtom := t.(Atom); isAtom && a != "now" {
		event, _, _ := resource(a)
		when, ok = computed.Interval(m.view, event)
		return when, ok, nil
	}
	at, err := m.timeArg(t)
	return engram.Interval{Start: at, End: at}, err == nil, err
}

// numberOf returns seconds since 1970, whole ones as an integer.
func numberOf(at engram.Time) Term {
	switch {
	case at == engram.MaxTime:
		return Atom("inf")
	case at%1e9 == 0:
		return Int(at / 1e9)
	}
	return Float(float64(at) / 1e9)
}

func secondsOf(m *machine, args []Term) (bool, error) {
	at, err := m.timeArg(args[0])
	if err != nil {
		return false, err
	}
	return m.unify(args[1], numberOf(at))
}

// intervalOf is interval/2: when an event was, as [Start, End] in seconds since 1970.
func intervalOf(m *machine, args []Term) (bool, error) {
	when, ok, err := m.spanOf(args[0])
	if !ok {
		return false, err
	}
	return m.unify(args[1], listOf([]Term{numberOf(when.Start), numberOf(when.End)}, atomNil))
}

// allen is allen/3: how two events or intervals lie to each other, as one of Allen's relations.
func allen(m *machine, args []Term) (bool, error) {
	a, ok, err := m.spanOf(args[0])
	if !ok {
		return false, err
	}
	b, ok, err := m.spanOf(args[2])
	if !ok {
		return false, err
	}
	return m.unify(args[1], Atom(computed.Between(a, b).String()))
}

// changeBetween is $change_between(Start, End, Time): the times in between at which an event of
// the facts starts or ends, and the ends.
func changeBetween(m *machine, args []Term) (bool, error) {
	when, ok, err := m.spanOf(listOf(args[:2], atomNil))
	if !ok {
		return false, err
	}
	times := map[engram.Time]bool{when.Start: true, when.End: true}
	found := []Term{numberOf(when.Start), numberOf(when.End)}
	for _, property := range [...]string{computed.KnowRob + "startTime", computed.KnowRob + "endTime", computed.NS + "startTime", computed.NS + "endTime"} {
		for t := range m.view.Has(rdf.Term{}, rdf.NewIRI(property), rdf.Term{}) {
			if err := m.spend(1); err != nil {
				return false, err
			}
			at, ok := computed.TimeOf(t.O)
			if ok && at > when.Start && at < when.End && !times[at] {
				if err := m.charge(64); err != nil {
					return false, err
				}
				times[at] = true
				found = append(found, numberOf(at))
			}
		}
	}
	return m.anyOf(args[2], found)
}

// poseOfThing is $pose(Thing, Matrix): where things are at the view's time, as the 16 numbers of
// a matrix, row by row; those of the facts as they are written there.
func poseOfThing(m *machine, args []Term) (bool, error) {
	thing, ok, err := resource(args[0])
	if !ok {
		return false, err
	}
	of := computed.New(m.view)
	type at struct {
		thing  rdf.Term
		matrix Term
	}
	found := func(yield func(at) bool) {
		known := map[rdf.Term]bool{}
		// Of items the pose of the box's centre in the root of their frames, as the world has it.
		if scene, ok := m.view.Computed.(interface{ Scene() *computed.Scene }); ok {
			for body := range bodies(scene.Scene(), thing) {
				is := rdf.NewIRI(body.Name)
				if body.Item == "" {
					continue
				}
				if known[is] = true; !yield(at{is, poseMatrix(body.Pose.Mul(body.Box.Pose))}) {
					return
				}
			}
		}
		perceived, _ := of.Compute(thing, computed.KnowRob+"orientation", rdf.Term{})
		for d := range perceived {
			if known[d.S] {
				continue
			}
			matrix, ok := matrixOf(m.view, d.O)
			if !ok {
				p, _, ok := computed.Pose(m.view, d.S, m.view.At)
				if !ok {
					continue
				}
				matrix = poseMatrix(p)
			}
			if !yield(at{d.S, matrix}) {
				return
			}
		}
	}
	return answer(m, found, func(a at) (bool, error) {
		if thing.IsZero() {
			if ok, err := m.unify(args[0], termOf(a.thing)); !ok {
				return false, err
			}
		}
		return m.unify(args[1], a.matrix)
	})
}

// bodies yields the body of a thing, or all.
func bodies(s *computed.Scene, thing rdf.Term) iter.Seq[computed.Body] {
	if thing.IsZero() {
		return s.Bodies()
	}
	return func(yield func(computed.Body) bool) {
		if b, ok := s.Body(thing.Value); ok {
			yield(b)
		}
	}
}

// matrixOf returns the numbers that a rotation matrix of the facts has.
func matrixOf(v *knowledge.View, place rdf.Term) (Term, bool) {
	var cells []Term
	for i := range 4 {
		for j := range 4 {
			cell := rdf.NewIRI(computed.KnowRob + "m" + strconv.Itoa(i) + strconv.Itoa(j))
			for t := range v.OWLHas(place, cell, rdf.Term{}) {
				if n := parseNumber(t.O.Value); t.O.Kind == rdf.Literal && n != nil {
					cells = append(cells, n)
					break
				}
			}
		}
	}
	return listOf(cells, atomNil), len(cells) == 16
}

func poseMatrix(p pose.Pose) Term {
	x, y, z := p.R.Rotate(pose.Vec3{X: 1}), p.R.Rotate(pose.Vec3{Y: 1}), p.R.Rotate(pose.Vec3{Z: 1})
	var cells []Term
	for _, f := range [16]float64{x.X, y.X, z.X, p.T.X, x.Y, y.Y, z.Y, p.T.Y, x.Z, y.Z, z.Z, p.T.Z, 0, 0, 0, 1} {
		cells = append(cells, Float(f))
	}
	return listOf(cells, atomNil)
}

// coveringPoint is $covering(X, Y, Thing): things whose boxes, seen from above, have a point within.
func coveringPoint(m *machine, args []Term) (bool, error) {
	x, ok1 := floatOf(args[0])
	y, ok2 := floatOf(args[1])
	thing, ok, err := resource(args[2])
	if !ok || !ok1 || !ok2 {
		return false, err
	}
	scene, ok := m.view.Computed.(interface{ Scene() *computed.Scene })
	if !ok {
		scene = computed.New(m.view)
	}
	return answer(m, scene.Scene().Covering(x, y), func(name string) (bool, error) {
		if !thing.IsZero() {
			return thing == rdf.NewIRI(name), nil
		}
		return m.unify(args[2], termOf(rdf.NewIRI(name)))
	})
}

// floatOf returns a number as a float.
func floatOf(t Term) (float64, bool) {
	switch t := deref(t).(type) {
	case Int:
		return float64(t), true
	case Float:
		return float64(t), true
	}
	return 0, false
}

// matrixArg reads the 16 numbers of a matrix, row by row.
func matrixArg(m *machine, t Term) (cells [4][4]float64, err error) {
	list, err := m.listArg(t)
	if err != nil {
		return cells, err
	}
	if len(list) != 16 {
		return cells, domainError("matrix", deref(t))
	}
	for i, cell := range list {
		f, ok := floatOf(cell)
		if !ok {
			return cells, wanted("number", deref(cell))
		}
		cells[i/4][i%4] = f
	}
	return cells, nil
}

// matrixProduct is $product(A, B, AB) of matrices of 16 numbers.
func matrixProduct(m *machine, args []Term) (bool, error) {
	a, err := matrixArg(m, args[0])
	if err != nil {
		return false, err
	}
	b, err := matrixArg(m, args[1])
	if err != nil {
		return false, err
	}
	var cells []Term
	for i := range 4 {
		for j := range 4 {
			sum := 0.0
			for k := range 4 {
				sum += a[i][k] * b[k][j]
			}
			cells = append(cells, Float(sum))
		}
	}
	return m.unify(args[2], listOf(cells, atomNil))
}

// matrixRotation is matrix_rotation/2: the rotation of a matrix as [W,X,Y,Z].
func matrixRotation(m *machine, args []Term) (bool, error) {
	cells, err := matrixArg(m, args[0])
	if err != nil {
		return false, err
	}
	q := computed.Rotation(&[3][4]float64{cells[0], cells[1], cells[2]})
	return m.unify(args[1], listOf([]Term{Float(q.W), Float(q.X), Float(q.Y), Float(q.Z)}, atomNil))
}

// isPropertyGoal is $is_property_goal(Goal, Triple): a goal such as knowrob:'on-Physical'(A, B),
// whose name is a property's, is rdf_triple(knowrob:'on-Physical', A, B).
func isPropertyGoal(m *machine, args []Term) (bool, error) {
	c, ok := deref(args[0]).(*Compound)
	if !ok {
		return false, nil
	}
	if c.name == ":" && len(c.args) == 2 {
		prefix, ok1 := deref(c.args[0]).(Atom)
		inner, ok2 := deref(c.args[1]).(*Compound)
		iri, known := m.program.prefixes.IRI(string(prefix))
		if !ok1 || !ok2 || !known || len(inner.args) != 2 {
			return false, nil
		}
		return m.unify(args[1], newTerm("rdf_triple", Atom(iri)+inner.name, inner.args[0], inner.args[1]))
	}
	if i := (indicator{c.name, len(c.args)}); i.arity != 2 || isControl(i) || m.find(i).exists() {
		return false, nil
	}
	return m.unify(args[1], newTerm("rdf_triple", c.name, c.args[0], c.args[1]))
}
