package rdf

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// isomorphic says whether two sets of triples differ in the labels of blank
// nodes only: nodes get colours by what is said of them, and where several have
// the same, one after the other is tried.
func isomorphic(a, b []Triple) bool {
	a, b = unique(a), unique(b)
	return len(a) == len(b) && match(a, b, map[Term]uint64{}, map[Term]uint64{}, 1)
}

func unique(ts []Triple) []Triple {
	seen := map[Triple]bool{}
	var out []Triple
	for _, t := range ts {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

func match(a, b []Triple, fixedA, fixedB map[Term]uint64, next uint64) bool {
	ca, cb := colours(a, fixedA), colours(b, fixedB)
	classesA, classesB := classes(ca), classes(cb)
	if len(classesA) != len(classesB) {
		return false
	}
	var ambiguous uint64
	for colour, nodes := range classesA {
		if len(nodes) != len(classesB[colour]) {
			return false
		}
		if len(nodes) > 1 {
			ambiguous = colour
		}
	}
	if ambiguous == 0 {
		return slices.Equal(coloured(a, ca), coloured(b, cb))
	}
	one := classesA[ambiguous][0]
	fixedA[one] = next
	defer delete(fixedA, one)
	for _, other := range classesB[ambiguous] {
		fixedB[other] = next
		if match(a, b, fixedA, fixedB, next+1) {
			return true
		}
		delete(fixedB, other)
	}
	return false
}

func classes(colours map[Term]uint64) map[uint64][]Term {
	out := map[uint64][]Term{}
	for t, c := range colours {
		out[c] = append(out[c], t)
	}
	return out
}

func colours(ts []Triple, fixed map[Term]uint64) map[Term]uint64 {
	colour := map[Term]uint64{}
	for _, t := range ts {
		for _, n := range []Term{t.S, t.O} {
			if n.Kind == Blank {
				colour[n] = fixed[n]
			}
		}
	}
	for count := 0; ; {
		said := map[Term][]uint64{}
		of := func(t Term) string {
			if c, ok := colour[t]; ok {
				return fmt.Sprint(c)
			}
			return fmt.Sprint(t)
		}
		for _, t := range ts {
			for i, n := range []Term{t.S, t.O} {
				if n.Kind == Blank {
					h := fnv.New64a()
					fmt.Fprint(h, i, "|", of(t.S), "|", t.P, "|", of(t.O))
					said[n] = append(said[n], h.Sum64())
				}
			}
		}
		changed := map[Term]uint64{}
		for n, hashes := range said {
			slices.Sort(hashes)
			h := fnv.New64a()
			fmt.Fprint(h, colour[n], fixed[n], hashes)
			changed[n] = h.Sum64()
		}
		colour = changed
		if n := len(classes(colour)); n == count {
			return colour
		} else {
			count = n
		}
	}
}

func coloured(ts []Triple, colours map[Term]uint64) []string {
	var out []string
	of := func(t Term) string {
		if c, ok := colours[t]; ok {
			return fmt.Sprint(c)
		}
		return fmt.Sprint(t)
	}
	for _, t := range ts {
		out = append(out, of(t.S)+"|"+fmt.Sprint(t.P)+"|"+of(t.O))
	}
	slices.Sort(out)
	return out
}
