package spelling

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What is found is what a comparison of all names in full finds, whatever is passed over early.
func TestSearchFindsWhatComparingAllFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = "abAé/1"[r.IntN(7)]
		}
		return string(b)
	}
	for range 20_000 {
		typed := word(8)
		names := make([]string, r.IntN(12))
		for i := range names {
			if names[i] = word(10); r.IntN(3) == 0 && len(typed) > 1 { // two letters exchanged, or one more
				at := r.IntN(len(typed) - 1)
				names[i] = typed[:at] + typed[at+1:at+2] + typed[at:at+1] + typed[at+2:] + word(1)
			}
		}
		if got, want := Nearest(typed, names), nearestOfAll(typed, names); got != want {
			t.Fatalf("Nearest(%q, %q) = %q, want %q", typed, names, got, want)
		}
		s, found := NewSearch(typed), ""
		for _, name := range names {
			if s.Offer(name) {
				found = name
			}
		}
		slices.Sort(names)
		if want := nearestOfAll(typed, names); found != want {
			t.Fatalf("of %q offered in some order, %q is nearest to %q, want %q", names, found, typed, want)
		}
	}
}

// nearestOfAll is [Nearest] by all edits to each name.
func nearestOfAll(typed string, names []string) string {
	if len(typed) > longest {
		return ""
	}
	best, fewest := "", max(1, (len(typed)+1)/3)+1
	for _, name := range names {
		if len(name) > 2*longest {
			continue
		}
		a, b := strings.ToLower(typed), strings.ToLower(name)
		d := editsOfAll(a, b)
		if len(a) > 2 && len(b) > 2 && (strings.Contains(b, a) || strings.Contains(a, b)) {
			d = min(d, 1)
		}
		if d < fewest && d < max(len(a), len(b)) {
			best, fewest = name, d
		}
	}
	return best
}

func editsOfAll(a, b string) int {
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
