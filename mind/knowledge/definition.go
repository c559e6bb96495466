package knowledge

// definition is what a class says of its members.
type definition struct {
	*reader
	class uint32
}

// individuals yields i if it is a member, or if it is unbound all that are.
func (d definition) individuals(i uint32, yield func(i uint32) bool) bool {
	if equal := d.value(d.class, owlEquivalentClass); equal != 0 {
		return d.members(i, equal, yield)
	}
	if d.isRDFSIndividual(d.class, owlRestriction) {
		return d.satisfies(i, yield)
	}
	return d.described(i, func(i uint32) bool {
		all := d.has(d.class, rdfsSubClassOf, 0, func(_, super uint32) bool { return d.isIndividual(i, super) })
		return !all || yield(i)
	})
}

// described yields what a union, intersection, complement or enumeration has.
func (d definition) described(i uint32, yield func(i uint32) bool) bool {
	if union := d.value(d.class, owlUnionOf); union != 0 {
		for _, sub := range d.items(union) {
			if !d.members(i, sub, yield) {
				return false
			}
		}
		return true
	}
	if list := d.value(d.class, owlIntersectionOf); list != 0 {
		return d.intersection(i, list, yield)
	}
	if of := d.value(d.class, owlComplementOf); of != 0 {
		other := func(i uint32) bool { return d.isIndividual(i, of) || yield(i) }
		if i == 0 {
			return d.subjects(other)
		}
		return !d.isSubject(i) || other(i)
	}
	if of := d.value(d.class, owlOneOf); of != 0 {
		for _, item := range d.items(of) {
			if (i == 0 || item == i) && !yield(item) {
				return false
			}
		}
	}
	return true
}

// intersection yields what all classes of a collection have.
func (d definition) intersection(i, list uint32, yield func(i uint32) bool) bool {
	classes := d.items(list)
	if len(classes) == 0 {
		return list != rdfNil || i == 0 || yield(i)
	}
	return d.members(i, classes[0], func(i uint32) bool {
		for _, class := range classes[1:] {
			if !d.isIndividual(i, class) {
				return true
			}
		}
		return yield(i)
	})
}

// satisfies yields the individuals that fulfil the restriction, on what is known.
func (d definition) satisfies(i uint32, yield func(i uint32) bool) bool {
	counted := func(i uint32) bool {
		goOn := true
		d.has(d.class, owlOnProperty, 0, func(_, p uint32) bool {
			if d.counts(i, p) {
				goOn = yield(i)
				return false
			}
			return true
		})
		return goOn
	}
	return d.has(d.class, owlOnProperty, 0, func(_, p uint32) bool {
		if value := d.value(d.class, owlHasValue); value != 0 {
			return d.owlHas(i, p, value, func(s, _, _ uint32) bool { return counted(s) })
		}
		if class := d.value(d.class, owlAllValuesFrom); class != 0 {
			return d.allFrom(i, p, class, counted)
		}
		if class := d.value(d.class, owlSomeValuesFrom); class != 0 {
			return d.owlHas(i, p, 0, func(s, _, o uint32) bool { return !d.isIndividual(o, class) || counted(s) })
		}
		if i == 0 {
			return d.subjects(counted)
		}
		return !d.isSubject(i) || counted(i)
	})
}

// allFrom yields who has values of a property, all of them of a class.
func (d definition) allFrom(i, p, class uint32, yield func(i uint32) bool) bool {
	all := map[uint32]bool{}
	var order []uint32
	d.owlHas(i, p, 0, func(s, _, o uint32) bool {
		so, known := all[s]
		if !known {
			order, so = append(order, s), true
		}
		all[s] = so && d.isIndividual(o, class)
		return true
	})
	for _, s := range order {
		if all[s] && !yield(s) {
			return false
		}
	}
	return true
}

// counts says whether i has as many values as the restriction asks.
func (d definition) counts(i, p uint32) bool {
	if exact := d.count(d.class, owlCardinality); exact.said {
		n := 0
		d.has(i, p, 0, func(_, _ uint32) bool { n++; return true })
		return exact.counted() && n == exact.n
	}
	least, most := d.count(d.class, owlMinCardinality), d.count(d.class, owlMaxCardinality)
	if !least.counted() && !most.counted() {
		return d.isSubject(i)
	}
	n := 0
	d.owlHas(i, p, 0, func(_, _, _ uint32) bool { n++; return true })
	return (!least.counted() || n >= least.n) && (!most.ok || n <= most.n)
}
