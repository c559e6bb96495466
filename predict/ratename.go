package predict

import (
	"slices"
	"strings"
)

// rateNames are what members and their rates are called, in lower case without underscores.
var rateNames = [...][2]string{
	{"position", "velocity"}, {"position", "linearvelocity"}, {"translation", "velocity"}, {"translation", "linearvelocity"},
	{"angle", "angularvelocity"}, {"rotation", "angularvelocity"}, {"orientation", "angularvelocity"},
	{"pose.position", "linearvelocity"}, {"pose.orientation", "angularvelocity"},
	{"pose.position", "twist.linear"}, {"pose.orientation", "twist.angular"},
	{"pose.pose.position", "twist.twist.linear"}, {"pose.pose.orientation", "twist.twist.angular"},
}

// rateSuffixes make the name of a rate from that of its member.
var rateSuffixes = [...]string{"rate", "velocity", "speed", "dot"}

// ratesOf finds the members that are told beside their rates by their names; rotations are where
// x, y, z, w of each begin.
func ratesOf(paths []string, kinds []Kind, rotations []int) Rates {
	r := Rates{By: make([]int, len(paths))}
	at := map[string]int{}
	for i, p := range paths {
		r.By[i] = -1
		at[plain(p)] = i
	}
	// A vector is three members in a row.
	vector := func(i int) bool {
		if i < 0 || i+2 >= len(paths) {
			return false
		}
		of, isX := strings.CutSuffix(paths[i], ".x")
		return isX && paths[i+1] == of+".y" && paths[i+2] == of+".z"
	}
	partOfRotation := make([]bool, len(paths))
	for _, q := range rotations {
		for k := range 4 {
			partOfRotation[q+k] = true
		}
	}
	for _, q := range rotations {
		pose := PoseRates{Translation: -1, Rotation: q, Linear: -1, Angular: rateFor(paths[q], at)}
		if !vector(pose.Angular) || partOfRotation[pose.Angular] {
			pose.Angular = -1
		}
		// Its translation stands beside it.
		of := parent(parent(paths[q]))
		for i := range paths {
			if !vector(i) || partOfRotation[i] || parent(parent(paths[i])) != of || slices.ContainsFunc(r.Poses, func(o PoseRates) bool { return o.Translation == i }) {
				continue
			}
			if by := rateFor(paths[i], at); by != i && vector(by) {
				pose.Translation, pose.Linear = i, by
				break
			}
		}
		if pose.Angular >= 0 || pose.Linear >= 0 {
			r.Poses = append(r.Poses, pose)
		}
	}
	for i, p := range paths {
		inPose := slices.ContainsFunc(r.Poses, func(o PoseRates) bool { return o.Translation >= 0 && i >= o.Translation && i < o.Translation+3 })
		if by := rateFor(p, at); by >= 0 && by != i && !inPose && !partOfRotation[i] && kinds[i] != Held && kinds[by] != Held {
			r.By[i] = by
		}
	}
	return r
}

// plain is a path in lower case without underscores.
func plain(path string) string { return strings.ToLower(strings.ReplaceAll(path, "_", "")) }

// parent is a path without its last name.
func parent(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// rateFor finds the rate of a member by its path, -1 is none.
func rateFor(path string, at map[string]int) int {
	// With a dot on both sides, and one before indices, names are whole.
	p := "." + strings.ReplaceAll(plain(path), "[", ".[") + "."
	find := func(q string) int {
		if i, ok := at[strings.ReplaceAll(strings.Trim(q, "."), ".[", "[")]; ok {
			return i
		}
		return -1
	}
	for _, n := range rateNames {
		if k := strings.LastIndex(p, "."+n[0]+"."); k >= 0 {
			if i := find(p[:k] + "." + n[1] + p[k+1+len(n[0]):]); i >= 0 {
				return i
			}
		}
	}
	for k := len(p) - 1; k > 0; k = strings.LastIndexByte(p[:k], '.') {
		if p[k-1] == ']' {
			continue
		}
		for _, s := range rateSuffixes {
			if i := find(p[:k] + s + p[k:]); i >= 0 {
				return i
			}
		}
	}
	return -1
}
