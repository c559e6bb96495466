package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const (
	maxTrailSeconds = 3600
	maxTrails       = 50
	trailPoints     = 120 // of a frame, about
	pastTrailPoints = 20  // of one that the pose store has forgotten
	trailShades     = 3   // the older, the paler
)

// trails answers where frames were in the seconds before a time or now, as a scene has things:
//
//	t, asof, since  as of scene
//	fixed           the frame to show them in
//	seconds         how far back; otherwise 10
//	of              a frame, several times; frames that move by themselves, such as those of
//	                robots and items, are shown without it
//
// A frame that did not move has no trail.
func (p *scenes) trails(w http.ResponseWriter, r *http.Request, q query) error {
	ctx := r.Context()
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	seconds, err := q.number("seconds", 1, maxTrailSeconds, 10)
	if err != nil {
		return err
	}
	edges, t, err := treeAt(ctx, p.poses, when.at)
	if err != nil {
		return err
	}
	length := time.Duration(seconds) * time.Second
	times := trailTimes(when.at, length, trailPoints)
	var names []string
	for _, name := range q.Values["of"] {
		names = append(names, t.full(name, ""))
	}
	for _, e := range edges {
		if e.Kind == pose.KindFree && (e.Samples == 0 || e.First > times[0] || e.Last >= times[0]) {
			names = append(names, e.Child)
		}
	}
	fixed := t.full(q.Get("fixed"), "")
	things := []thing{}
	seen := map[string]bool{}
	var forgotten []string
	for _, name := range names {
		if seen[name] || len(things)+len(forgotten) >= maxTrails || t.root(name) != t.root(fixed) || name == fixed {
			continue
		}
		seen[name] = true
		points, known, err := trail(ctx, p.poses, fixed, name, times)
		if err != nil {
			return err
		}
		if !known || when.asOf != nil {
			forgotten = append(forgotten, name)
		} else {
			things = append(things, drawTrail(fixed, name, points)...)
		}
	}
	past, err := p.pastTrails(ctx, when, fixed, forgotten, trailTimes(when.at, length, pastTrailPoints))
	if err != nil {
		return err
	}
	return answer(w, compare(when.at, nil, append(things, past...), q.Get("since")))
}

// trailTimes returns n times up to one. They lie on a grid, so that all but the ends stay as they are when time goes on.
func trailTimes(at engram.Time, length time.Duration, n int) []engram.Time {
	step := length / time.Duration(n)
	times := []engram.Time{at.Add(-length)}
	for t := (at.Add(-length)/engram.Time(step) + 1) * engram.Time(step); t < at; t = t.Add(step) {
		times = append(times, t)
	}
	return append(times, at)
}

// trail returns where a frame was in the fixed one at those of the times of which it is known; known is false if it is of
// none. Where the frame rests there are few points.
func trail(ctx context.Context, poses lookup.Service, fixed, name string, times []engram.Time) (points []pose.Vec3, known bool, err error) {
	ask := func(times []engram.Time) error {
		questions := make([]lookup.Question, len(times))
		for i, t := range times {
			questions[i] = lookup.Question{Target: fixed, Source: name, Time: t}
		}
		answers, err := poses.LookUp(ctx, questions)
		points = points[:0]
		for _, a := range answers {
			if a.Err == nil {
				points = append(points, a.Pose.T)
			}
		}
		return err
	}
	// Of most it is soon found out that they rest.
	few := times
	if len(times) > 2*pastTrailPoints {
		few = nil
		for i := 0; i < len(times); i += len(times) / 10 {
			few = append(few, times[i])
		}
		few = append(few, times[len(times)-1])
	}
	if err := ask(few); err != nil || len(points) == 0 || !moves(points) || len(few) == len(times) {
		return points, len(points) > 0, err
	}
	err = ask(times)
	return points, len(points) > 0, err
}

// moves reports whether points are not all at one place.
func moves(points []pose.Vec3) bool {
	return slices.ContainsFunc(points, func(v pose.Vec3) bool { return v.Sub(points[0]).Norm() > 2e-3 })
}

// pastTrails returns the trails of frames as the memory has them, working and long-term.
func (p *scenes) pastTrails(ctx context.Context, when moment, fixed string, names []string, times []engram.Time) ([]thing, error) {
	if len(names) == 0 {
		return nil, nil
	}
	points := make([][]pose.Vec3, len(names))
	for _, at := range times {
		past, err := p.pastPoses(ctx, moment{at: at, asOf: when.asOf})
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			own, _, err := trail(ctx, past, fixed, name, []engram.Time{at})
			if err != nil {
				return nil, err
			}
			points[i] = append(points[i], own...)
		}
	}
	var things []thing
	for i, name := range names {
		things = append(things, drawTrail(fixed, name, points[i])...)
	}
	return things, nil
}

// drawTrail draws a trail; nothing of what rests.
func drawTrail(fixed, name string, points []pose.Vec3) []thing {
	if len(points) < 2 || !moves(points) {
		return nil
	}
	key := "trail " + name
	e := &foxglovepb.SceneEntity{FrameId: fixed, Id: key}
	for shade := range trailShades {
		from, to := shade*(len(points)-1)/trailShades, (shade+1)*(len(points)-1)/trailShades
		if from == to {
			continue
		}
		line := &foxglovepb.LinePrimitive{
			Type: foxglovepb.LinePrimitive_LINE_STRIP, Thickness: 2.5, ScaleInvariant: true,
			Color: &foxglovepb.Color{R: 0.6, G: 0.47, B: 0.93, A: float64(shade+1) / trailShades},
		}
		for _, v := range points[from : to+1] {
			line.Points = append(line.Points, point(v))
		}
		e.Lines = append(e.Lines, line)
	}
	return []thing{{Key: key, Kind: "scene", Frame: fixed, drawn: []*foxglovepb.SceneEntity{e}}}
}
