package predict

import "slices"

// Some members are told at a lower rate than the snapshots come: in between they repeat what they
// said. A hand that tells its joints eight times a second within states that come thirty times a
// second is such a group. What counts for them is when they are told next, which their age
// says, and what they say then.

// repeating finds the groups of members that repeat themselves and change together.
func repeating(values [][]float64) []group {
	if len(values) < 32 {
		return nil
	}
	n := len(values[0])
	changes := make([][]bool, n)
	count := make([]int, n)
	for i := range n {
		changes[i] = make([]bool, len(values))
		for s := 1; s < len(values); s++ {
			if values[s][i] != values[s-1][i] {
				changes[i][s] = true
				count[i]++
			}
		}
	}
	var groups []group
	taken := make([]bool, n)
	candidate := func(i int) bool {
		return !taken[i] && count[i] >= 8 && float64(count[i]) <= (1-repeats)*float64(len(values)-1)
	}
	// Those that change most often first: the others of a group change when it does, if they do.
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return count[b] - count[a] })
	for k, i := range order {
		if !candidate(i) {
			continue
		}
		taken[i] = true
		g := group{Members: []int{i}}
		for _, j := range order[k+1:] {
			if !candidate(j) {
				continue
			}
			both := 0
			for s := range values {
				if changes[i][s] && changes[j][s] {
					both++
				}
			}
			if 4*both >= 3*count[j] {
				taken[j] = true
				g.Members = append(g.Members, j)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// changed reports whether any of a group's members differs between two rows.
func (g *group) changed(a, b []float64) bool {
	for _, i := range g.Members {
		if a[i] != b[i] {
			return true
		}
	}
	return false
}

// within are the last of the horizons at which it matters when a group is told next.
func within() int {
	h := 0
	for h+1 < len(horizons) && horizons[h+1] <= toldWithin {
		h++
	}
	return h
}

func (m *Model) addTold(g *group, e Series, all [][]float32) {
	told := make([]bool, len(e.Values))
	age := 0
	ages := make([]int, len(e.Values))
	for s := 1; s < len(e.Values); s++ {
		told[s] = g.changed(e.Values[s-1], e.Values[s])
		if age++; told[s] {
			age = 0
		}
		ages[s] = age
	}
	var f [most]float64
	for s := backmost * m.stride; s < len(e.Values); s++ {
		values := func(back int) []float64 { return e.Values[s-back] }
		inputs := func(back int) []float64 { return e.Inputs[s-back] }
		var rates func(back int) []float32
		if all != nil {
			rates = func(back int) []float32 { return all[s-back] }
		}
		for h := range within() + 1 {
			if s+horizons[h] >= len(e.Values) {
				break
			}
			last := 0
			for d := horizons[h]; d > 0; d-- {
				if told[s+d] {
					last = d
					break
				}
			}
			g.Next[min(ages[s], toldAges-1)][h][last]++
		}
		for _, i := range g.Members {
			m.features(values, inputs, rates, i, &f)
			for d := range toldWithin {
				if s+d+1 >= len(e.Values) || !told[s+d+1] {
					continue
				}
				u := &m.members[i].told[d]
				y := e.Values[s+d+1][i] - e.Values[s][i]
				u.count(&f)
				u.truth(0, &f, y)
			}
		}
	}
}

func (m *Model) sayTold(g *group, values, inputs func(back int) []float64, rates func(back int) []float32, age int, out []float32) {
	n := len(m.Kinds)
	var f [most]float64
	next := &g.Next[min(age, toldAges-1)]
	for _, i := range g.Members {
		m.features(values, inputs, rates, i, &f)
		for h := range within() + 1 {
			total := 0.0
			for _, c := range next[h] {
				total += c
			}
			if total < 4 {
				continue
			}
			y := 0.0
			for d := 1; d <= horizons[h]; d++ {
				if c := next[h][d]; c > 0 {
					y += c / total * dot(&m.members[i].wd[d-1], &f)
				}
			}
			out[(h*n+i)*2+1] = float32(y)
		}
	}
}
