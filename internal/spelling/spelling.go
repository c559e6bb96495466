// Package spelling finds the name that somebody meant who typed another.
//
// It is no public API: several wings share it.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// longest bounds what is compared, in bytes: nothing longer is a slip of the pen.
const longest = 100

// Nearest returns the name that is most like a typed one, of equally near ones the first; "" if none is. A third of the
// letters may differ; upper and lower case do not count, and a name that contains the other is near.
func Nearest(typed string, names []string) (best string) {
	s := NewSearch(typed)
	for _, name := range names {
		if d, nearer := s.distance(name, s.fewest); nearer {
			best, s.fewest = name, d
		}
	}
	return best
}

// Search finds the name that is most like a typed one, as [Nearest] does, among names that are offered in any order.
type Search struct {
	typed  string // in lower case
	fewest int    // edits to the nearest so far
	found  string
	bag    [256]int16 // how often it has each byte
	rows   [3][]int   // of edits, those that the next one needs
}

// NewSearch returns a search that no name was offered to.
func NewSearch(typed string) *Search {
	s := &Search{typed: strings.ToLower(typed), fewest: max(1, (len(typed)+1)/3) + 1}
	if len(typed) > longest {
		s.fewest = 0
	}
	for _, c := range []byte(s.typed) {
		s.bag[c]++
	}
	return s
}

// Offer reports whether a name is nearer than all that were offered before, or as near and before them in the order of
// strings, or the same as the nearest of them. It is the nearest then.
func (s *Search) Offer(name string) bool {
	d, near := s.distance(name, s.fewest+1)
	if !near || d == s.fewest && name > s.found {
		return false
	}
	s.fewest, s.found = d, name
	return true
}

// distance returns how far a name is from the typed one, if that is less than a bound. Most names are farther by their
// lengths or by the letters that they have, which costs little to tell.
func (s *Search) distance(name string, below int) (d int, less bool) {
	if below <= 0 || len(name) > 2*longest {
		return 0, false
	}
	a, b := s.typed, strings.ToLower(name)
	if within := len(a) > 2 && len(b) > 2 && (strings.Contains(b, a) || strings.Contains(a, b)); within && a != b {
		d = 1
	} else if d = s.least(b, below); d < below {
		d = s.edits(b, below)
	}
	return d, d < below && d < max(len(a), len(b)) // something is in common
}

// least returns how many edits there are at least to make b: the difference of the lengths if that reaches a bound, else by the
// bytes that only one of both has.
func (s *Search) least(b string, bound int) int {
	apart := len(b) - len(s.typed)
	if apart >= bound || -apart >= bound {
		return max(apart, -apart)
	}
	surplus := 0 // bytes of b that the typed name has not
	for i := range len(b) {
		if s.bag[b[i]]--; s.bag[b[i]] < 0 {
			surplus++
		}
	}
	for i := range len(b) {
		s.bag[b[i]]++
	}
	return max(surplus, surplus-apart)
}

// Sort puts the names first whose length is about that of a typed one. Of names that are as near, Nearest
// returns the first: so not one that is a part of the one that is meant.
func Sort(typed string, names []string) {
	apart := func(name string) int { return max(len(name)-len(typed), len(typed)-len(name)) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(apart(a), apart(b)), strings.Compare(a, b)) })
}

// edits counts the bytes to insert, delete, replace or exchange with the next to make b of the typed name, but no more
// than a bound.
func (s *Search) edits(b string, bound int) int {
	a := s.typed
	for i := range s.rows {
		s.rows[i] = slices.Grow(s.rows[i][:0], len(b)+1)[:len(b)+1]
	}
	beyond, before, row := s.rows[0], s.rows[1], s.rows[2] // of the last two bytes of a, and of this one
	for j := range row {
		row[j] = j
	}
	least := 0 // in the last row
	for i := 1; i <= len(a); i++ {
		beyond, before, row = before, row, beyond
		row[0] = i
		prior := least
		least = i
		for j := 1; j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				row[j] = before[j-1]
			} else {
				row[j] = 1 + min(before[j], row[j-1], before[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], beyond[j-2]+1)
			}
			least = min(least, row[j])
		}
		if min(least, prior) >= bound { // each later row goes on from one of these
			return bound
		}
	}
	return min(row[len(b)], bound)
}
