package service

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Crossing is when an entity will be so that a filter holds.
type Crossing struct {
	Entity engram.ID
	// Time is when it holds by what is expected; Earliest and Latest are when it does by the nearer and by
	// the farther end of the band of 90 %. Latest is 0 if it may not hold within what was asked.
	Time, Earliest, Latest engram.Time
	From                   engram.Time // of the newest snapshot
	// Abstains is why nothing is said, such as a member that the entity does not have; then there is no Time. Earliest is not 0 if it may hold.
	Abstains string
}

const (
	// crossings are the times that are looked at: first far apart, then around each end.
	crossings = 160
	refined   = 40
)

// Until says when a filter will hold of the first instance of an entity, within some time after
// its newest snapshot. What is predicted is asked of p.
func Until(ctx context.Context, p engram.Predictor, types TypeSource, f *idf.Filter, newest engram.Item, within time.Duration) (Crossing, error) {
	c := Crossing{Entity: newest.ID.Truncate(engram.LevelEntity), From: newest.Time}
	t, err := types(newest.Instances[0].Payload.Type)
	if err != nil {
		return c, err
	}
	holds, err := f.Evaluate(t, newest.Snapshot, 0, nil)
	if err != nil {
		c.Abstains = err.Error()
		return c, nil
	}
	if holds {
		c.Time, c.Earliest, c.Latest = newest.Time, newest.Time, newest.Time
		return c, nil
	}
	u := until{ctx: ctx, p: p, t: t, f: f, c: &c}
	// Geometric: soon is told finer than late.
	offsets := make([]time.Duration, crossings)
	first := math.Min(float64(time.Millisecond), float64(within))
	for i := range offsets {
		offsets[i] = time.Duration(first * math.Pow(float64(within)/first, float64(i)/float64(crossings-1)))
	}
	coarse, err := u.look(offsets)
	if err != nil || c.Abstains != "" {
		return c, err
	}
	ends := [3]*engram.Time{&c.Time, &c.Earliest, &c.Latest}
	for k, end := range ends {
		at, found := firstOf(coarse, k)
		if !found {
			continue
		}
		begin := time.Duration(0)
		if at > 0 {
			begin = offsets[at-1]
		}
		fine := make([]time.Duration, refined)
		for i := range fine {
			fine[i] = digits(begin + time.Duration(float64(offsets[at]-begin)*float64(i+1)/refined))
		}
		closer, err := u.look(fine)
		if err != nil {
			return c, err
		}
		*end = c.From.Add(digits(offsets[at]))
		if i, found := firstOf(closer, k); found {
			*end = c.From.Add(fine[i])
		}
	}
	if c.Time == 0 {
		c.Latest = 0
		c.Abstains = fmt.Sprintf("it is not expected within %v", within)
		if c.Earliest != 0 {
			c.Abstains += ", but possible"
		}
		return c, nil
	}
	if c.Earliest == 0 || c.Earliest > c.Time {
		c.Earliest = c.Time
	}
	return c, nil
}

// digits rounds to as many digits as can be meant.
func digits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for unit*10 <= d/1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// until looks at times to come.
type until struct {
	ctx context.Context
	p   engram.Predictor
	t   *idf.Type
	f   *idf.Filter
	c   *Crossing
}

// firstOf is the first time at which the kth of what is asked holds.
func firstOf(holds [][3]bool, k int) (int, bool) {
	for i, h := range holds {
		if h[k] {
			return i, true
		}
	}
	return 0, false
}

// look says of times whether the filter holds by what is expected, by some, and by all of what is within the band.
func (u *until) look(offsets []time.Duration) (holds [][3]bool, err error) {
	ids := make([]engram.ID, len(offsets))
	for i, d := range offsets {
		ids[i] = u.c.Entity.At(u.c.From.Add(d))
	}
	answers, err := u.p.Predict(u.ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range answers {
		a := &answers[i]
		if a.Err != nil {
			u.c.Abstains = a.Err.Error()
			return nil, nil
		}
		mean := u.f.Match(u.t, a.Snapshot, 0)
		h := [3]bool{mean, mean, mean}
		if len(a.Members) > 0 {
			paths := make([]string, len(a.Members))
			low, high := make([]float64, len(a.Members)), make([]float64, len(a.Members))
			for k, m := range a.Members {
				if math.IsInf(m.Low, 0) || math.IsInf(m.High, 0) {
					u.c.Abstains = "too little is known of it yet"
					for _, id := range a.From {
						if id.CoreSegment() == ResetSegment && id.Memory() == Memory {
							at, _ := id.Time()
							u.c.Abstains = "too little is known of it since its reset at " + at.String()
						}
					}
					return nil, nil
				}
				paths[k], low[k], high[k] = m.Path, m.Low, m.High
			}
			for _, end := range [][]float64{low, high} {
				is, err := u.holds(a.Snapshot, paths, end)
				if engram.CodeOf(err) == engram.NotFound {
					u.c.Abstains = "when an image will be so is not predicted"
					return nil, nil
				}
				if err != nil {
					return nil, err
				}
				h[1], h[2] = h[1] || is, h[2] && is
			}
		}
		holds = append(holds, h)
	}
	return holds, nil
}

// holds says whether the filter does of a snapshot with other numbers.
func (u *until) holds(n *engram.Snapshot, paths []string, numbers []float64) (bool, error) {
	instance := n.Instances[0]
	v, err := u.t.Decode(instance.Payload.Bytes)
	if err != nil {
		return false, err
	}
	if v, err = idf.SetNumbers(v, paths, numbers); err != nil {
		return false, err
	}
	if instance.Payload.Bytes, err = u.t.Encode(v); err != nil {
		return false, err
	}
	return u.f.Match(u.t, &engram.Snapshot{Time: n.Time, Instances: []engram.Instance{instance}}, 0), nil
}
