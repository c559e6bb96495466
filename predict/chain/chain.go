// Package chain says where frames will be: the way between two frames, with each edge on it that moves predicted from its
// last samples. So what hangs on something that moves is predicted with it: a cup in a hand with the arm, a camera on a
// head with the robot, in any frame that is asked for.
//
// An edge's motion is learned by a [predict.Tracker], as the positions and the turns since its last sample: a joint turns on
// about its axis, and a platform goes on along its way. Edges are predicted apart and then put together, so that steady joints
// make the curved way of a hand.
//
// It asks a [service.Service] and keeps nothing. Safe for concurrent use.
package chain

import (
	"context"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
	"github.com/seed-301d4374/engram/predict"
)

const (
	// Longest is how long a motion goes on after the last sample; later the edge stays where it is expected then, and is
	// less sure with time.
	Longest = 2 * time.Second
	// samples are how many of an edge are learned from, at most.
	samples = 64
	// seldom is from what usual distance in time on samples tell no motion.
	seldom = 2 * time.Second
	// within is how far an edge may have turned among its samples, rad.
	within = 2.5
)

// Answer is a predicted pose target ← source.
type Answer struct {
	Target, Source string // full names
	Pose           pose.Pose
	// Cov is of what is predicted, and of what is known as far as that has a covariance; what has none counts as free of
	// error. It is unknown where an edge that moves has too few samples to say.
	Cov    pose.Cov
	Moving []Edge // the edges that were predicted, from the target to the source
}

// Edge is one that was predicted.
type Edge struct {
	Parent, Child string
	Last          engram.Time // its newest sample
	Horizon       time.Duration
	Model         string // that counted most
}

// LookUp says where source will be in target at a time, the frames named as in [service.Question]. Where all edges have
// samples of that time it is what is known. The errors are those of a question: NotFound for frames that there are not or that
// are not connected, TooOld and OutOfRange for times that have passed.
func LookUp(ctx context.Context, poses service.Service, target, source string, at engram.Time) (*Answer, error) {
	asked, err := poses.LookUp(ctx, []service.Question{{Target: target, Source: source, When: service.At, Time: at, Cov: true}, {Target: target, Source: source, When: service.LatestCommon, Cov: true}})
	if err != nil {
		return nil, err
	}
	known, latest := &asked[0], &asked[1]
	if known.Err == nil && known.Info.Flags&(pose.Held|pose.Extrapolated) == 0 {
		return &Answer{Target: known.Target, Source: known.Source, Pose: known.Pose, Cov: known.Cov}, nil
	}
	if known.Err != nil && engram.CodeOf(known.Err) != engram.TooNew {
		return nil, known.Err
	}
	if latest.Err != nil {
		return nil, latest.Err
	}
	edges, err := poses.Path(ctx, latest.Target, latest.Source, at)
	if err != nil {
		return nil, err
	}
	a := &Answer{Target: latest.Target, Source: latest.Source, Pose: pose.Identity(), Cov: pose.ExactCov()}
	here := a.Target
	for i := range edges {
		p, cov, e, err := edge(ctx, poses, &edges[i], at)
		if err != nil {
			return nil, err
		}
		switch {
		case e != nil:
			a.Moving = append(a.Moving, *e)
		case cov.State() == pose.Unknown:
			cov = pose.ExactCov()
		}
		if here == edges[i].Child {
			cov = pose.InverseCov(p, &cov)
			p, here = p.Inverse(), edges[i].Parent
		} else {
			here = edges[i].Child
		}
		a.Cov = pose.ComposeCov(&a.Cov, p, &cov)
		a.Pose = a.Pose.Mul(p)
	}
	return a, nil
}

// edge returns where a child will be in its parent; e is nil if that is known.
func edge(ctx context.Context, poses service.Service, info *pose.EdgeInfo, at engram.Time) (p pose.Pose, cov pose.Cov, e *Edge, err error) {
	moves := info.Kind == pose.KindFree || info.Kind == pose.KindJoint
	ask := func(q service.Question) (*service.Answer, error) {
		q.Target, q.Source, q.Cov = info.Parent, info.Child, true
		got, err := poses.LookUp(ctx, []service.Question{q})
		if err != nil {
			return nil, err
		}
		return &got[0], got[0].Err
	}
	known, err := ask(service.Question{When: service.At, Time: at})
	if engram.CodeOf(err) == engram.TooNew {
		known, err = ask(service.Question{When: service.LatestCommon})
	}
	if err != nil {
		return p, cov, nil, err
	}
	if !moves || info.Samples < 3 || info.Last >= at {
		return known.Pose, known.Cov, nil, nil
	}
	period := info.Last.Sub(info.First) / time.Duration(info.Samples-1)
	if period <= 0 || period > seldom {
		return known.Pose, known.Cov, nil, nil
	}
	past, err := lately(ctx, poses, info, period)
	if err != nil || len(past) < 3 {
		return known.Pose, known.Cov, nil, err
	}
	p, cov, model, err := ahead(past, at)
	if err != nil {
		return p, cov, nil, err
	}
	return p, cov, &Edge{Parent: info.Parent, Child: info.Child, Last: info.Last, Horizon: at.Sub(info.Last), Model: model}, nil
}

// placed is where an edge's child was in its parent.
type placed struct {
	at engram.Time
	pose.Pose
}

// lately returns where an edge was at its last times, the newest last, as far back as one motion goes.
func lately(ctx context.Context, poses service.Service, info *pose.EdgeInfo, period time.Duration) ([]placed, error) {
	var questions []service.Question
	for k := range samples {
		at := info.Last.Add(-time.Duration(k) * period)
		if at < info.First {
			break
		}
		questions = append(questions, service.Question{Target: info.Parent, Source: info.Child, When: service.At, Time: at})
	}
	answers, err := poses.LookUp(ctx, questions)
	if err != nil {
		return nil, err
	}
	past := make([]placed, 0, len(answers))
	for k := range answers {
		if answers[k].Err != nil {
			break // a gap, or it hung on something else
		}
		p := placed{questions[k].Time, answers[k].Pose}
		if k > 0 {
			if _, turn := past[0].Distance(p.Pose); turn > within {
				break
			}
		}
		past = append(past, p)
	}
	for i, j := 0, len(past)-1; i < j; i, j = i+1, j-1 {
		past[i], past[j] = past[j], past[i]
	}
	return past, nil
}

// ahead predicts the next place.
func ahead(past []placed, at engram.Time) (p pose.Pose, cov pose.Cov, model string, err error) {
	last := past[len(past)-1]
	tracker, err := predict.NewTracker(make([]predict.Kind, 6))
	if err != nil {
		return p, cov, "", err
	}
	for _, before := range past {
		turn := pose.Log(pose.Pose{R: last.R.Conj().Mul(before.R)}).Phi
		t := before.T
		tracker.Observe(before.at, []float64{t.X, t.Y, t.Z, turn.X, turn.Y, turn.Z}, nil)
	}
	until := at
	if end := last.at.Add(Longest); until > end {
		until = end
	}
	var f predict.Forecast
	if err := tracker.Predict(until, &f); err != nil {
		return p, cov, "", err
	}
	m := f.Mean
	p.T = pose.Vec3{X: m[0], Y: m[1], Z: m[2]}
	p.R = last.R.Mul(pose.Exp(pose.Twist{Phi: pose.Vec3{X: m[3], Y: m[4], Z: m[5]}}).R)
	// What comes after Longest is a walk from there.
	grown := math.Sqrt(max(1, float64(at.Sub(last.at))/float64(until.Sub(last.at))))
	trans, rot := grown*largest(f.SD[:3]), grown*largest(f.SD[3:])
	if finite := !math.IsInf(trans, 0) && !math.IsInf(rot, 0); finite {
		cov = pose.DiagonalCov(trans, rot)
	}
	model, most := "hold", 0.0
	for i, name := range f.Model {
		if moved := math.Abs(m[i] - []float64{last.T.X, last.T.Y, last.T.Z, 0, 0, 0}[i]); moved > most {
			model, most = name, moved
		}
	}
	return p, cov, model, nil
}

// largest is the largest of standard deviations.
func largest(sd []float64) (most float64) {
	for _, x := range sd {
		most = max(most, x)
	}
	return most
}
