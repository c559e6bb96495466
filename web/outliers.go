package web

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// outlier is something in a recording that one should look at: a gap in what comes regularly, or a jerk of a joint.
type outlier struct {
	Kind  string      `json:"kind"` // "gap" or "jerk"
	ID    engram.ID   `json:"id"`
	Joint string      `json:"joint,omitempty"`
	From  nanoseconds `json:"from"`
	To    nanoseconds `json:"to"`
	// Times is how much longer than what is usual the gap is, or how much stronger the jerk.
	Times float64 `json:"times"`
}

// outliers is what was found, the worst first of each kind.
type outliers struct {
	List  []outlier    `json:"list"`
	More  int          `json:"more"`            // that are not in the list
	Until *nanoseconds `json:"until,omitempty"` // to where was looked, if not all of it
}

const (
	maxLooked   = 200     // entities that are looked at, those with most snapshots
	maxVersions = 500_000 // snapshots whose times are looked at, of all entities
	maxPostures = 30_000  // joint states that are looked at, of each entity
	maxOutliers = 20      // that are told of each kind

	leastRegular = 20                     // intervals by which one knows that something comes regularly
	gapTimes     = 10                     // longer than usual is a gap …
	gapLeast     = 500 * time.Millisecond // … that is at least so long
	jerkTimes    = 10                     // stronger than all but a hundredth is an outlier
	jerkApart    = 500 * time.Millisecond // two of a joint that are told
)

// jointsType is what joint states are of.
const jointsType = "engram.robot_state.Proprioception"

// outliers answers what stands out in a span of time:
//
//	from, to  the span, to not in it
func (p *Page) outliers(w http.ResponseWriter, r *http.Request, q query) error {
	var iv engram.Interval
	var err error
	if iv.Start, err = q.time("from", engram.MinTime); err != nil {
		return err
	}
	if iv.End, err = q.time("to", engram.MaxTime); err != nil {
		return err
	}
	stats, err := p.svc.Stats(r.Context(), engram.Pattern{}, engram.LevelEntity)
	if err != nil {
		return err
	}
	stats = slices.DeleteFunc(stats, func(s engram.Stats) bool {
		return s.ID.Level() != engram.LevelEntity || s.Snapshots+s.Disk.Snapshots < leastRegular
	})
	slices.SortFunc(stats, func(a, b engram.Stats) int {
		return cmp.Or(cmp.Compare(b.Snapshots+b.Disk.Snapshots, a.Snapshots+a.Disk.Snapshots), a.ID.Compare(b.ID))
	})
	found := outliers{List: []outlier{}}
	left, until := maxVersions, iv.End
	var gaps, jerks []outlier
	for _, s := range stats[:min(len(stats), maxLooked)] {
		h, look := heldOf(&s), &looked{of: s.ID, until: iv.End}
		if h.first >= iv.End || h.last < iv.Start {
			continue
		}
		if err := p.look(r.Context(), iv, look, h, &left); err != nil {
			return err
		}
		gaps, jerks = append(gaps, look.gaps()...), append(jerks, look.jerks()...)
		if look.until < iv.End {
			until = min(until, look.until)
		}
	}
	if until < iv.End {
		found.Until = exact(until)
	}
	for _, list := range [][]outlier{gaps, jerks} {
		slices.SortStableFunc(list, func(a, b outlier) int { return cmp.Compare(b.Times, a.Times) })
		n := min(len(list), maxOutliers)
		found.List, found.More = append(found.List, list[:n]...), found.More+len(list)-n
	}
	return answer(w, found)
}

// looked is an entity that is looked at.
type looked struct {
	of       engram.ID
	until    engram.Time
	times    []engram.Time
	postures []posture // of joint states
	names    []string  // of joints
}

type posture struct {
	at        engram.Time
	positions []float32
}

// errLooked ends a look at an entity.
var errLooked = engram.Errorf(engram.Exhausted, "", "enough was looked at")

// look reads the times of an entity's snapshots, and the positions of joints.
func (p *Page) look(ctx context.Context, iv engram.Interval, l *looked, h held, left *int) error {
	s := &span{entity: l.of, from: iv.Start, to: iv.End}
	enough := func(at engram.Time) error {
		l.until = at
		return errLooked
	}
	visit := func(snap *engram.Snapshot) error {
		if *left == 0 {
			return enough(snap.Time)
		}
		*left--
		l.times = append(l.times, snap.Time)
		return nil
	}
	if err := p.each(ctx, s, h, visit); err != nil && err != errLooked {
		return err
	}
	if l.of.CoreSegment() != "Proprioception" || len(l.times) == 0 {
		return nil
	}
	s.payload = true
	err := p.each(ctx, s, h, func(snap *engram.Snapshot) error {
		if len(l.postures) == maxPostures {
			return enough(snap.Time)
		}
		return l.feel(ctx, p, snap)
	})
	if err == errLooked {
		err = nil
	}
	return err
}

// feel takes the positions of joints; what cannot be read, or is of other joints than before, has none.
func (l *looked) feel(ctx context.Context, p *Page, snap *engram.Snapshot) error {
	payload := snap.Instances[0].Payload
	if payload.Type != jointsType {
		return nil
	}
	m, err := p.types.Decode(ctx, payload)
	if err != nil {
		return ctx.Err()
	}
	names, _ := m["name"].([]any)
	positions, _ := m["position"].([]any)
	if l.names == nil {
		for _, n := range names {
			name, _ := n.(string)
			l.names = append(l.names, name)
		}
	}
	if len(positions) != len(l.names) || len(names) != len(l.names) {
		return nil
	}
	at := posture{snap.Time, make([]float32, len(positions))}
	for i, v := range positions {
		q, _ := v.(float64)
		at.positions[i] = float32(q)
	}
	l.postures = append(l.postures, at)
	return nil
}

// gaps returns where nothing came of what comes regularly.
func (l *looked) gaps() (list []outlier) {
	between := make([]time.Duration, 0, len(l.times))
	for i := 1; i < len(l.times); i++ {
		between = append(between, l.times[i].Sub(l.times[i-1]))
	}
	if len(between) < leastRegular {
		return nil
	}
	sorted := slices.Sorted(slices.Values(between))
	usual, often := max(sorted[len(sorted)/2], 1), sorted[len(sorted)*9/10]
	if often > 3*usual {
		return nil // it comes when something happens
	}
	for i, d := range between {
		if d > gapTimes*usual && d >= gapLeast {
			list = append(list, outlier{Kind: "gap", ID: l.of, From: nanoseconds(l.times[i]), To: nanoseconds(l.times[i+1]), Times: float64(d) / float64(usual)})
		}
	}
	return list
}

// jerks returns where joints were jerked far more than they are else.
func (l *looked) jerks() (list []outlier) {
	if len(l.postures) < 4*leastRegular {
		return nil
	}
	n := len(l.names)
	jerk := make([]float32, 0, n*len(l.postures))
	var moving []float32
	for i := 3; i < len(l.postures); i++ {
		for j := range n {
			v := float32(jerkAt(l.postures[i-3:i+1], j))
			jerk = append(jerk, v)
			if v > 0 {
				moving = append(moving, v)
			}
		}
	}
	if len(moving) < leastRegular {
		return nil
	}
	slices.Sort(moving)
	usual := moving[len(moving)*99/100]
	last := make(map[int]int, n) // by joint, which of the list is its last
	for i := 3; i < len(l.postures); i++ {
		for j := range n {
			v := jerk[(i-3)*n+j]
			if v <= jerkTimes*usual {
				continue
			}
			at := l.postures[i-1].at
			if k, ok := last[j]; ok && at.Sub(engram.Time(list[k].To)) < jerkApart {
				list[k].To, list[k].Times = nanoseconds(at), max(list[k].Times, float64(v/usual))
				continue
			}
			last[j] = len(list)
			list = append(list, outlier{Kind: "jerk", ID: l.of, Joint: l.names[j], From: nanoseconds(l.postures[i-2].at), To: nanoseconds(at), Times: float64(v / usual)})
		}
	}
	return list
}

// jerkAt returns how strongly a joint was jerked in four postures, in its unit per s³; 0 where there is a gap.
func jerkAt(four []posture, joint int) float64 {
	var t, q [4]float64
	for k, p := range four {
		t[k], q[k] = p.at.Sub(four[0].at).Seconds(), float64(p.positions[joint])
	}
	if first := t[1] - t[0]; t[3] <= 0 || t[2] <= t[1] || t[3] <= t[2] || first <= 0 || t[3] > 3*gapTimes*first {
		return 0
	}
	// The third divided difference is a sixth of the third derivative.
	for order := 1; order < 4; order++ {
		for k := range 4 - order {
			q[k] = (q[k+1] - q[k]) / (t[k+order] - t[k])
		}
	}
	if v := math.Abs(6 * q[0]); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return 0
}
