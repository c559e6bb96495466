package localiser

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/boxes"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/pose"
)

// found is an object that was found, in the camera's frame.
type found struct {
	class      *class
	entity     string
	pose       pose.Pose
	cov        pose.Cov
	confidence float64
	attached   any
	by         string // "tag36h11 7" or "box"
}

// find looks for all that is known in an image. up is against gravity in the camera's
// frame, zero if it is not known.
func (k *knowledge) find(f *frame, guesses map[engram.ID][]guess, likely func(*class) []pose.Vec3, up pose.Vec3) (all []found, cut []marker.Cut, err error) {
	all, cut, err = k.byMarkers(f, guesses)
	if err != nil {
		return nil, nil, err
	}
	if f.depth != nil && len(k.kinds) > 0 {
		all = append(all, k.byBoxes(f, guesses, likely, up)...)
	}
	name(all, guesses)
	return all, cut, nil
}

// byMarkers finds objects by their markers. Those of one object are put together.
func (k *knowledge) byMarkers(f *frame, guesses map[engram.ID][]guess) (all []found, cut []marker.Cut, err error) {
	if len(k.tags) == 0 {
		return nil, nil, nil
	}
	d := marker.Detector{Camera: f.camera, Size: func(family *marker.Family, id int) (float64, bool) {
		t, ok := k.tags[tagKey{family, id}]
		return t.size, ok
	}}
	for _, family := range marker.Families() {
		for key := range k.tags {
			if key.family == family {
				d.Families = append(d.Families, family)
				break
			}
		}
	}
	detections, cut, err := d.Detect(f.rgb)
	if err != nil {
		return nil, nil, err
	}
	for i := range detections {
		det := &detections[i]
		t := k.tags[tagKey{det.Family, det.ID}]
		p, cov := choose(det, t, guesses[t.class.id])
		one := found{class: t.class, pose: p, cov: cov, confidence: det.Confidence(), by: fmt.Sprintf("%s %d", det.Family, det.ID)}
		// Another marker of the same object says the same place.
		merged := false
		for j := range all {
			other := &all[j]
			if other.class == one.class && other.by != one.by && near(other, &one) {
				other.pose, other.cov = together(other, &one)
				other.confidence = 1 - (1-other.confidence)*(1-one.confidence)
				merged = true
				break
			}
		}
		if !merged {
			all = append(all, one)
		}
	}
	return all, cut, nil
}

// choose returns the pose of the object with the marker. Of the two at which a flat marker
// looks alike, the prediction says which one it is, if the image does not; where nothing
// does, the covariance says so.
func choose(d *marker.Detection, t tag, guesses []guess) (pose.Pose, pose.Cov) {
	inObject := t.pose // the marker's axes seen from the object's
	best, bestCov := d.Pose.Mul(inObject.Inverse()), d.Covariance.Transported(inObject)
	if d.OtherProbability < 0.01 {
		return best, bestCov
	}
	other, otherCov := d.Other.Mul(inObject.Inverse()), d.OtherCovariance.Transported(inObject)
	p := d.OtherProbability
	likelihood := func(at pose.Pose, cov pose.Cov) float64 {
		nearest := math.Inf(1)
		for i := range guesses {
			nearest = min(nearest, guesses[i].distance(at, cov))
		}
		return math.Exp(-min(nearest, 100) / 2)
	}
	if a, b := (1-p)*likelihood(best, bestCov), p*likelihood(other, otherCov); a+b > 1e-12 {
		p = b / (a + b)
	}
	if p > 0.5 {
		best, bestCov, other, p = other, otherCov, best, 1-p
	}
	if p < 0.01 {
		return best, bestCov
	}
	// Both may be: the spread between them is part of the uncertainty.
	diff := best.Inverse().Mul(other)
	turn := rotationVector(diff.R)
	xi := [6]float64{diff.T.X, diff.T.Y, diff.T.Z, turn.X, turn.Y, turn.Z}
	m := bestCov.Matrix()
	for i := range 6 {
		for j := range 6 {
			m[i][j] += p * (1 - p) * xi[i] * xi[j]
		}
	}
	if c, err := pose.NewCov(&m); err == nil {
		bestCov = c
	}
	return best, bestCov
}

// near reports whether two markers say that an object is at the same place.
func near(a, b *found) bool {
	far, turned := a.pose.Distance(b.pose)
	return far < 0.05+4*(a.cov.SigmaTrans()+b.cov.SigmaTrans()) && turned < 0.35+4*(a.cov.SigmaRot()+b.cov.SigmaRot())
}

// together returns the mean of two poses, each dimension weighted by what it is worth.
func together(a, b *found) (pose.Pose, pose.Cov) {
	d := a.pose.Inverse().Mul(b.pose)
	turn := rotationVector(d.R)
	xi := [6]float64{d.T.X, d.T.Y, d.T.Z, turn.X, turn.Y, turn.Z}
	var m [6][6]float64
	for i := range 6 {
		va, vb := a.cov.At(i, i), b.cov.At(i, i)
		xi[i] *= va / max(va+vb, 1e-18)
		m[i][i] = va * vb / max(va+vb, 1e-18)
	}
	angle := pose.Vec3{X: xi[3], Y: xi[4], Z: xi[5]}
	step := pose.Pose{T: pose.Vec3{X: xi[0], Y: xi[1], Z: xi[2]}, R: pose.Quat{W: 1}}
	if n := angle.Norm(); n > 1e-12 {
		step.R = pose.AxisAngle(angle.Scale(1/n), n)
	}
	cov, err := pose.NewCov(&m)
	if err != nil {
		cov = a.cov
	}
	return a.pose.Mul(step), cov
}

// How near a box must be to where an object was predicted, or to a place where its class is
// found, to be taken for that and not for another of the same size, m.
const (
	nearGuess = 0.3
	nearPlace = 1.5
)

// byBoxes finds objects without markers by their sizes in the depth image.
func (k *knowledge) byBoxes(f *frame, guesses map[engram.ID][]guess, likely func(*class) []pose.Vec3, up pose.Vec3) (all []found) {
	// expected says how much speaks for a class at a place: a prediction, or a likely place.
	expected := func(c *class, at pose.Vec3) int {
		for _, g := range guesses[c.id] {
			if g.pose.T.Sub(at).Norm() < nearGuess {
				return 2
			}
		}
		for _, p := range likely(c) {
			if p.Sub(at).Norm() < nearPlace {
				return 1
			}
		}
		return 0
	}
	for _, m := range boxes.Match(boxes.Find(f.depth, boxes.Options{Up: up}), k.kinds) {
		if len(m.Others) > 0 {
			// A box that may as well be of another class is what is expected there, or none.
			most, at, tie := expected(k.boxed[m.Kind], m.Middle.T), -1, false
			for i, o := range m.Others {
				switch e := expected(k.boxed[o.Kind], o.Middle.T); {
				case e > most:
					most, at, tie = e, i, false
				case e == most:
					tie = true
				}
			}
			if tie {
				continue
			}
			if at >= 0 {
				m = m.Others[at]
			}
		}
		c := k.boxed[m.Kind]
		one := found{class: c, by: "box", confidence: 0.8 * math.Exp(-m.Error/0.02)}
		distance := math.Inf(1)
		for i, t := range m.Turns {
			p := t.Mul(c.box.Inverse())
			// What looks the same is as it was predicted, or as it comes first.
			d := float64(i)
			for _, g := range guesses[c.id] {
				_, turned := p.Distance(g.pose)
				d = min(d, 100*turned-1000)
			}
			if d < distance {
				distance, one.pose = d, p
			}
		}
		sigma := 0.004 + m.Error/2
		inBox := pose.DiagonalCov(sigma, 0.03)
		one.cov = inBox.Transported(c.box)
		all = append(all, one)
	}
	return all
}

// name gives each object its entity: that of the nearest prediction of its class, or a new
// one: CLASS, CLASS/2 and so on.
func name(all []found, guesses map[engram.ID][]guess) {
	taken := map[string]bool{}
	type pair struct {
		found, guess int
		far          float64
	}
	for _, class := range classesOf(all) {
		gs := guesses[class.id]
		var pairs []pair
		for i := range all {
			for j := range gs {
				if all[i].class == class {
					pairs = append(pairs, pair{i, j, all[i].pose.T.Sub(gs[j].pose.T).Norm()})
				}
			}
		}
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.far, b.far) })
		for _, p := range pairs {
			if all[p.found].entity == "" && !taken[gs[p.guess].entity] {
				all[p.found].entity, all[p.found].attached = gs[p.guess].entity, gs[p.guess].attached
				taken[gs[p.guess].entity] = true
			}
		}
		for i := range all {
			if all[i].class != class || all[i].entity != "" {
				continue
			}
			e := class.name
			for n := 2; taken[e]; n++ {
				e = fmt.Sprintf("%s/%d", class.name, n)
			}
			all[i].entity = e
			taken[e] = true
		}
	}
}

func classesOf(all []found) (classes []*class) {
	for i := range all {
		if !slices.Contains(classes, all[i].class) {
			classes = append(classes, all[i].class)
		}
	}
	return classes
}
