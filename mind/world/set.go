package world

import "hash/maphash"

// set is a sorted set that old versions of stay readable of: a treap whose nodes are
// copied when a later edit changes them. The zero set is empty.
type set[K comparable] struct{ root *setNode[K] }

type setNode[K comparable] struct {
	key         K
	prio        uint32 // a parent's is at least its children's
	edit        uint32 // the edit that may change this node in place
	left, right *setNode[K]
}

var prioSeed = maphash.MakeSeed()

// order compares keys as cmp.Compare does.
type order[K comparable] func(a, b K) int

// own returns n for a change in an edit.
func own[K comparable](n *setNode[K], edit uint32) *setNode[K] {
	if n.edit == edit {
		return n
	}
	c := *n
	c.edit = edit
	return &c
}

// add puts a key into the set.
func (s *set[K]) add(k K, cmp order[K], edit uint32) {
	if !s.has(k, cmp) {
		s.root = insert(s.root, &setNode[K]{key: k, prio: uint32(maphash.Comparable(prioSeed, k)), edit: edit}, cmp, edit)
	}
}

func insert[K comparable](n, k *setNode[K], cmp order[K], edit uint32) *setNode[K] {
	if n == nil {
		return k
	}
	if k.prio > n.prio {
		k.left, k.right = split(n, k.key, cmp, edit)
		return k
	}
	n = own(n, edit)
	if cmp(k.key, n.key) < 0 {
		n.left = insert(n.left, k, cmp, edit)
	} else {
		n.right = insert(n.right, k, cmp, edit)
	}
	return n
}

// split parts a tree into what is less than k and the rest.
func split[K comparable](n *setNode[K], k K, cmp order[K], edit uint32) (less, rest *setNode[K]) {
	if n == nil {
		return nil, nil
	}
	n = own(n, edit)
	if cmp(n.key, k) < 0 {
		n.right, rest = split(n.right, k, cmp, edit)
		return n, rest
	}
	less, n.left = split(n.left, k, cmp, edit)
	return less, n
}

// remove takes a key out of the set.
func (s *set[K]) remove(k K, cmp order[K], edit uint32) {
	if s.has(k, cmp) {
		s.root = remove(s.root, k, cmp, edit)
	}
}

func remove[K comparable](n *setNode[K], k K, cmp order[K], edit uint32) *setNode[K] {
	c := cmp(k, n.key)
	if c == 0 {
		return join(n.left, n.right, edit)
	}
	n = own(n, edit)
	if c < 0 {
		n.left = remove(n.left, k, cmp, edit)
	} else {
		n.right = remove(n.right, k, cmp, edit)
	}
	return n
}

// join makes one tree of two, of which all keys of a are less than those of b.
func join[K comparable](a, b *setNode[K], edit uint32) *setNode[K] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.prio >= b.prio:
		a = own(a, edit)
		a.right = join(a.right, b, edit)
		return a
	}
	b = own(b, edit)
	b.left = join(a, b.left, edit)
	return b
}

func (s set[K]) has(k K, cmp order[K]) bool {
	for n := s.root; n != nil; {
		c := cmp(k, n.key)
		switch {
		case c == 0:
			return true
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return false
}

func (s set[K]) empty() bool { return s.root == nil }

// from yields the keys from k on, in order.
func (s set[K]) from(k K, cmp order[K], yield func(K) bool) { s.root.from(&k, cmp, yield) }

// all yields every key in order.
func (s set[K]) all(yield func(K) bool) { s.root.from(nil, nil, yield) }

func (n *setNode[K]) from(k *K, cmp order[K], yield func(K) bool) bool {
	for ; n != nil; n = n.right {
		if k != nil && cmp(n.key, *k) < 0 {
			continue // all to the left is less, too
		}
		if !n.left.from(k, cmp, yield) || !yield(n.key) {
			return false
		}
		k = nil // what is to the right is greater
	}
	return true
}
