package prolog

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

// A Term is one of Atom, String, Int, Float, *Var and *Compound.
type Term any

type (
	// Atom is a name: an IRI, a text of the facts, a constant.
	Atom string
	// String is a text in double quotes, which is not equal to the atom of the same text.
	String string
	// Int is an integer that fits; see big.go.
	Int int64
	// Float is a number with a point.
	Float float64
)

// Var is a variable; ref is what it is bound to, nil while it is free.
type Var struct {
	ref Term
	// How many variables there were before: an age of 47 bits, and firstAge.
	ageLow  uint32
	ageHigh uint16
	// seen is the measurement of memory that has counted the variable; nothing else reads it.
	seen uint16
}

func (v *Var) age() uint64 { return uint64(v.ageHigh)<<32 | uint64(v.ageLow) }

// Compound is a functor with arguments, at least one.
type Compound struct {
	name Atom
	args []Term
	// pos is where the term begins in the sources of its program, 0 for nowhere.
	pos int32
	// seen is the measurement of memory that has counted this term; shared terms belong to a
	// program and are never counted.
	seen uint16
	// ground terms have no variables; only what was read and compiled knows it.
	ground bool
	shared bool
}

const (
	atomNil   = Atom("[]")
	atomTrue  = Atom("true")
	atomFail  = Atom("fail")
	atomFalse = Atom("false")
	atomCurly = Atom("{}")
	atomMinus = Atom("-")
	atomDot   = Atom("[|]") // the functor of lists
	atomComma = Atom(",")
)

func deref(t Term) Term {
	for {
		v, ok := t.(*Var)
		if !ok || v.ref == nil {
			return t
		}
		t = v.ref
	}
}

// isFunctor tells whether t, dereferenced, is a compound term of that name and arity.
func isFunctor(t Term, name Atom, arity int) (*Compound, bool) {
	c, ok := t.(*Compound)
	if !ok || len(c.args) != arity || c.name != name {
		return nil, false
	}
	return c, true
}

func newTerm(name Atom, args ...Term) *Compound { return &Compound{name: name, args: args} }

func cons(head, tail Term) Term {
	return &Compound{name: atomDot, args: []Term{head, tail}}
}

// listOf returns the list of terms that ends in tail.
func listOf(terms []Term, tail Term) Term {
	for i := len(terms) - 1; i >= 0; i-- {
		tail = cons(terms[i], tail)
	}
	return tail
}

// isAtomic reports whether a term is neither a variable nor compound.
func isAtomic(t Term) bool {
	switch t.(type) {
	case Atom, String, Int, *big.Int, Float:
		return true
	}
	return false
}

// textOf returns the text of an atomic term.
func textOf(t Term) (string, bool) {
	switch t := t.(type) {
	case Atom:
		return string(t), true
	case String:
		return string(t), true
	case Int:
		return formatInt(t), true
	case *big.Int:
		return t.String(), true
	case Float:
		return formatFloat(t), true
	}
	return "", false
}

// longText is from how many bytes on a text takes a while to go through.
const longText = 1 << 12

// going counts the time that it takes to go through n bytes of text.
func (h *heap) going(n int) error {
	if n < longText {
		return nil
	}
	return h.spend(int64(n) >> 6)
}

// The standard order: variables, numbers, strings, atoms, compound terms. SWI-Prolog sorts so, though its
// manual has atoms before strings.
func rank(t Term) int {
	switch t.(type) {
	case *Var:
		return 0
	case Int, Float, *big.Int:
		return 1
	case String:
		return 3
	case Atom:
		return 4
	}
	return 5
}

// compareNumbers compares by value: an integer that no float has exactly is not equal to one.
func compareNumbers(a, b Term) int {
	x, ok1 := a.(*big.Int)
	y, ok2 := b.(*big.Int)
	switch {
	case ok1 && isInteger(b), ok2 && isInteger(a):
		return bigOf(a).Cmp(bigOf(b))
	case ok1:
		return compareBig(x, b.(Float))
	case ok2:
		return -compareBig(y, a.(Float))
	}
	switch a := a.(type) {
	case Int:
		switch b := b.(type) {
		case Int:
			return cmp.Compare(a, b)
		case Float:
			return compareIntFloat(a, b)
		}
	case Float:
		switch b := b.(type) {
		case Int:
			return -compareIntFloat(b, a)
		case Float:
			return cmp.Compare(a, b)
		}
	}
	return 0
}

func compareBig(a *big.Int, b Float) int {
	switch {
	case math.IsNaN(float64(b)):
		return 1
	case math.IsInf(float64(b), 0):
		return -int(math.Copysign(1, float64(b)))
	}
	return new(big.Float).SetInt(a).Cmp(big.NewFloat(float64(b)))
}

func compareIntFloat(a Int, b Float) int {
	switch {
	case math.IsNaN(float64(b)):
		return 1
	case b >= 1<<63:
		return -1
	case b < -1<<63:
		return 1
	}
	whole := math.Trunc(float64(b))
	if c := cmp.Compare(a, Int(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, float64(b))
}

// maxNesting is how deep terms may be nested other than by their last arguments.
const maxNesting = 100_000

// compare orders two terms by the standard order of terms.
func (h *heap) compare(a, b Term, depth int) (int, error) {
	for {
		a, b = deref(a), deref(b)
		if err := h.spend(1); err != nil {
			return 0, err
		}
		if depth > maxNesting {
			return 0, errNesting
		}
		if c := cmp.Compare(rank(a), rank(b)); c != 0 {
			return c, nil
		}
		switch a := a.(type) {
		case *Var:
			return cmp.Compare(a.age()|firstAge, b.(*Var).age()|firstAge), nil
		case Atom:
			return strings.Compare(string(a), string(b.(Atom))), h.going(len(a))
		case String:
			return strings.Compare(string(a), string(b.(String))), h.going(len(a))
		case Int, Float, *big.Int:
			c := compareNumbers(a, b)
			if f, ok := a.(Float); ok && c == 0 && f == 0 { // -0.0 comes before 0.0
				if g, ok := b.(Float); ok {
					return cmp.Compare(math.Copysign(1, float64(f)), math.Copysign(1, float64(g))), nil
				}
			}
			if c == 0 { // 1.0 comes before 1
				aInt, bInt := isInteger(a), isInteger(b)
				if aInt != bInt {
					c = 1
					if bInt {
						c = -1
					}
				}
			}
			return c, nil
		}
		ca, cb := a.(*Compound), b.(*Compound)
		if ca == cb {
			return 0, nil
		}
		if c := cmp.Compare(len(ca.args), len(cb.args)); c != 0 {
			return c, nil
		}
		if c := strings.Compare(string(ca.name), string(cb.name)); c != 0 {
			return c, nil
		}
		last := len(ca.args) - 1
		for i := range last {
			if c, err := h.compare(ca.args[i], cb.args[i], depth+1); c != 0 || err != nil {
				return c, err
			}
		}
		a, b = ca.args[last], cb.args[last]
	}
}

// unify makes two terms equal; what it has bound when it fails is undone by who asked.
func (h *heap) unify(a, b Term) (bool, error) { return h.unifyDeep(a, b, 0) }

func (h *heap) unifyDeep(a, b Term, depth int) (bool, error) {
	for {
		a, b = deref(a), deref(b)
		switch x := a.(type) {
		case *Var:
			if y, ok := b.(*Var); ok {
				if x == y {
					return true, nil
				}
				if x.age() < y.age() { // the younger one is bound to the older, and to one that goals wait for
					x, b = y, x
				}
			}
			h.bind(x, b)
			return true, nil
		case *Compound:
			switch y := b.(type) {
			case *Var:
				h.bind(y, x)
				return true, nil
			case *Compound:
				if x == y {
					return true, nil
				}
				if len(x.args) != len(y.args) || x.name != y.name {
					return false, nil
				}
				if depth > maxNesting {
					return false, errNesting
				}
				if err := h.spend(1); err != nil {
					return false, err
				}
				last := len(x.args) - 1
				for i := range last {
					if ok, err := h.unifyDeep(x.args[i], y.args[i], depth+1); !ok {
						return false, err
					}
				}
				a, b = x.args[last], y.args[last]
				continue
			}
			return false, nil
		}
		if y, ok := b.(*Var); ok {
			h.bind(y, a)
			return true, nil
		}
		if z, ok := a.(*big.Int); ok {
			w, ok := b.(*big.Int)
			return ok && z.Cmp(w) == 0, nil
		}
		if f, ok := a.(Float); ok { // a float that is no number is equal to itself
			g, ok := b.(Float)
			return ok && sameFloat(f, g), nil
		}
		if _, ok := b.(*Compound); ok {
			return false, nil
		}
		if s, ok := a.(Atom); ok && len(s) >= longText {
			return a == b, h.going(len(s))
		}
		return a == b, nil
	}
}

// sameFloat tells whether two floats are one term: each that is no number is the same.
func sameFloat(f, g Float) bool {
	return f == g && math.Signbit(float64(f)) == math.Signbit(float64(g)) || f != f && g != g
}

// variableBytes is what a variable takes, with its place in a table of variables.
const variableBytes = 80

// copyTerm returns a copy with fresh variables in the places of the free ones, as renamed says.
func (h *heap) copyTerm(t Term, renamed map[*Var]Term, depth int) (Term, error) {
	t = deref(t)
	switch t := t.(type) {
	case *Var:
		if c, ok := renamed[t]; ok {
			return c, nil
		}
		v := h.newVar()
		renamed[t] = v
		if h.waiting[t] != nil {
			if err := copyWaiting(h, t, v, renamed, depth); err != nil {
				return nil, err
			}
		}
		return v, h.charge(variableBytes)
	case *Compound:
		if t.ground {
			return t, nil
		}
		if depth > maxNesting {
			return nil, errNesting
		}
		top := &Compound{name: t.name, pos: t.pos}
		for at := top; ; {
			if err := h.charge(len(t.args)*16 + 64); err != nil {
				return nil, err
			}
			last := len(t.args) - 1
			args := make([]Term, len(t.args))
			at.args = args
			for i, arg := range t.args[:last] {
				c, err := h.copyTerm(arg, renamed, depth+1)
				if err != nil {
					return nil, err
				}
				args[i] = c
			}
			next, ok := deref(t.args[last]).(*Compound)
			if !ok || next.ground {
				c, err := h.copyTerm(t.args[last], renamed, depth+1)
				args[last] = c
				return top, err
			}
			t = next
			below := &Compound{name: t.name, pos: t.pos}
			args[last], at = below, below
		}
	}
	return t, nil
}

// listTerms returns the elements of a proper list; ok is false for another term, partial
// tells of one that ends in a variable.
func (h *heap) listTerms(t Term) (terms []Term, partial, ok bool, err error) {
	for {
		t = deref(t)
		switch x := t.(type) {
		case *Var:
			return nil, true, false, nil
		case Atom:
			return terms, false, x == atomNil, nil
		case *Compound:
			if x.name != atomDot || len(x.args) != 2 {
				return nil, false, false, nil
			}
			if err := h.charge(16); err != nil {
				return nil, false, false, err
			}
			terms = append(terms, x.args[0])
			t = x.args[1]
		default:
			return nil, false, false, nil
		}
	}
}
