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

// Nearest returns the name that is most like a typed one, "" if none is. A third of the letters
// may differ; upper and lower case do not count, and a name that contains the other is near.
func Nearest(typed string, names []string) string {
	if len(typed) > longest {
		return ""
	}
	best, fewest := "", max(1, (len(typed)+1)/3)+1
	for _, name := range names {
		if len(name) > 2*longest {
			continue
		}
		a, b := strings.ToLower(typed), strings.ToLower(name)
		d := edits(a, b)
		if len(a) > 2 && len(b) > 2 && (strings.Contains(b, a) || strings.Contains(a, b)) {
			d = min(d, 1)
		}
		if d < fewest && d < max(len(a), len(b)) { // something is in common
			best, fewest = name, d
		}
	}
	return best
}

// Sort puts the names first whose length is about that of a typed one. Of names that are as near, Nearest
// returns the first: so not one that is a part of the one that is meant.
func Sort(typed string, names []string) {
	apart := func(name string) int { return max(len(name)-len(typed), len(typed)-len(name)) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(apart(a), apart(b)), strings.Compare(a, b)) })
}

// edits counts the bytes to insert, delete, replace or exchange with the next to make b
// of a.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
