package knowledge

import "slices"

// An implication is a property whose triples are triples of another, or if back the other way
// round.
type implication struct {
	property uint32
	back     bool
	turned   bool // it was turned round on the way, be it twice: literals do not count
	by       int  // the implication that it is seen from: a property above it, or its inverse
}

// implied is what the triples of a property follow from, by sub-properties, inverses and symmetry,
// whichever of these is said of which.
type implied struct {
	all        []implication // the property itself first
	forward    []uint32      // of all that are not back
	transitive bool          // the property is, or an inverse of it
	plain      bool          // its own triples are all
	asOWLHas   bool          // it is transitive, and owl_has/3 has all
	way        *paths        // a step
	turned     *paths        // a step, but to literals
	back       *paths        // a step the other way round: values by restrictions
	closed     []implication // transitive properties, of one that is not
}

// impliedBy returns what the triples of a property follow from.
func (r *reader) impliedBy(p uint32) *implied {
	it, own := r.pathsOf(p)
	it.impliedOnce.Do(func() { it.implied = newImplied(r, p, it.transitive, own) })
	return it.implied
}

func newPaths() *paths {
	return &paths{values: map[uint32][]uint32{}, valued: map[uint32]map[uint32]bool{}}
}

func newImplied(r *reader, p uint32, transitive bool, own *paths) *implied {
	x := &implied{transitive: transitive, way: newPaths(), turned: newPaths(), back: newPaths()}
	add := func(q uint32, back, turned bool, by int) {
		known := slices.ContainsFunc(x.all, func(other implication) bool { return other.property == q && other.back == back })
		if !known && !r.isLiteral(q) {
			x.all = append(x.all, implication{q, back, turned, by})
		}
	}
	below := func(i int) {
		at := x.all[i]
		r.has(0, rdfsSubPropertyOf, at.property, func(q, _ uint32) bool { add(q, at.back, at.turned, i); return true })
	}
	add(p, false, false, -1)
	for i := 0; i < len(x.all); i++ {
		below(i)
	}
	for i := 0; i < len(x.all); i++ {
		at := x.all[i]
		below(i)
		for _, q := range inversesOf(r, at.property) {
			add(q, !at.back, true, i)
		}
		if r.isRDFSIndividual(at.property, owlSymmetric) {
			add(at.property, !at.back, true, i)
		}
	}
	for _, q := range inversesOf(r, p) {
		of, _ := r.pathsOf(q)
		x.transitive = x.transitive || of.transitive
	}
	for _, at := range x.all {
		switch {
		case at.back:
			x.way.backward = append(x.way.backward, at.property)
			x.back.restrictions(r, at.property)
		case at.turned:
			x.turned.forward = append(x.turned.forward, at.property)
			x.turned.restrictions(r, at.property)
		default:
			x.way.forward = append(x.way.forward, at.property)
			x.way.restrictions(r, at.property)
		}
		if of, _ := r.pathsOf(at.property); of.transitive && !x.transitive {
			x.closed = append(x.closed, at)
		}
	}
	x.forward = slices.Concat(x.way.forward, x.turned.forward)
	x.plain = len(x.all) == 1 && len(x.way.values) == 0 && !x.transitive
	same := func(a, b []uint32) bool {
		return len(a) == len(b) && !slices.ContainsFunc(a, func(q uint32) bool { return !slices.Contains(b, q) })
	}
	x.asOWLHas = transitive && same(x.way.forward, own.forward) && same(x.way.backward, own.backward) && len(x.turned.forward) == 0 && len(x.back.values) == 0
	return x
}

// inversesOf returns what a property is the inverse of, whichever of them says so.
func inversesOf(r *reader, p uint32) []uint32 {
	found := nodes{}
	r.has(p, owlInverseOf, 0, func(_, q uint32) bool { found.add(r.Graph, q); return true })
	r.has(0, owlInverseOf, p, func(q, _ uint32) bool { found.add(r.Graph, q); return true })
	return found.list
}

// single yields what one step connects; each pair may come several times.
func (x *implied) single(r *reader, s, o uint32, yield func(s, o uint32) bool) bool {
	if !r.equivalent(s, x.way, o, yield) {
		return false
	}
	if len(x.turned.forward) > 0 && !r.equivalent(s, x.turned, o, func(s, o uint32) bool { return r.isLiteral(o) || yield(s, o) }) {
		return false
	}
	if len(x.back.values) == 0 || o != 0 && r.isLiteral(o) {
		return true
	}
	return r.equivalent(o, x.back, s, func(o, s uint32) bool { return r.isLiteral(s) || yield(s, o) })
}

// pairs yields what a property p connects that is transitive. A literal is reached by one step only.
func (x *implied) pairs(r *reader, s, p, o uint32, yield func(s, o uint32) bool) bool {
	if o == 0 || r.isLiteral(o) {
		pass := once(yield)
		goOn := x.single(r, s, o, func(s, o uint32) bool { return !r.isLiteral(o) || pass(s, o) })
		if !goOn || o != 0 {
			return goOn
		}
	}
	if x.asOWLHas {
		return r.owlHasOf(s, p, o, yield)
	}
	return walk(r, s, o, func(s, o uint32, yield func(s, o uint32) bool) bool {
		return x.single(r, s, o, func(s, o uint32) bool { return r.isLiteral(o) || yield(s, o) })
	}, yield)
}

// follows yields what a property connects that is not transitive; each pair may come several
// times.
func (x *implied) follows(r *reader, s, o uint32, yield func(s, o uint32) bool) bool {
	if !x.single(r, s, o, yield) {
		return false
	}
	for _, at := range x.closed {
		goOn := true
		if !at.back {
			goOn = r.impliedBy(at.property).pairs(r, s, at.property, o, func(s, o uint32) bool { return at.turned && r.isLiteral(o) || yield(s, o) })
		} else if o == 0 || !r.isLiteral(o) {
			goOn = r.impliedBy(at.property).pairs(r, o, at.property, s, func(o, s uint32) bool { return r.isLiteral(s) || yield(s, o) })
		}
		if !goOn {
			return false
		}
	}
	return true
}

// walk yields what one or more steps connect. No step leads on from a literal.
func walk(r *reader, s, o uint32, step func(s, o uint32, yield func(s, o uint32) bool) bool, yield func(s, o uint32) bool) bool {
	switch {
	case s != 0:
		return reach(r, s, func(n uint32, to func(uint32) bool) bool {
			return r.isLiteral(n) || step(n, 0, func(_, m uint32) bool { return to(m) })
		}, func(n uint32) bool {
			if o != 0 {
				return n != o || yield(s, o) && false
			}
			return yield(s, n)
		})
	case o != 0:
		return reach(r, o, func(n uint32, to func(uint32) bool) bool {
			return step(0, n, func(m, _ uint32) bool { return to(m) })
		}, func(n uint32) bool { return yield(n, o) })
	}
	next := map[uint32][]uint32{}
	var order []uint32
	step(0, 0, func(s, o uint32) bool {
		if next[s] == nil {
			order = append(order, s)
		}
		next[s] = append(next[s], o)
		return true
	})
	for _, s := range order {
		goOn := reach(r, s, func(n uint32, to func(uint32) bool) bool {
			for _, m := range next[n] {
				if !to(m) {
					return false
				}
			}
			return true
		}, func(n uint32) bool { return yield(s, n) })
		if !goOn {
			return false
		}
	}
	return true
}

// reach yields what one or more steps reach, the nearest first.
func reach(r *reader, start uint32, steps func(n uint32, to func(uint32) bool) bool, yield func(uint32) bool) bool {
	reached := nodes{}
	to := func(n uint32) bool { return !reached.add(r.Graph, n) || yield(n) }
	if !steps(start, to) {
		return false
	}
	for i := 0; i < len(reached.list); i++ {
		if n := reached.list[i]; n != start && !(r.goOn() && steps(n, to)) {
			return false
		}
	}
	return true
}
