package localiser

import (
	"context"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// guess is where the memory predicts an object to be.
type guess struct {
	entity   string
	pose     pose.Pose // in the camera's frame
	cov      pose.Cov
	attached any // what holds it
}

// guesses asks the memory where the objects of the provider will be at the time of the
// image, by class. Objects that it cannot say it of, and such in frames that the poses do
// not know, are left out: then there is no first guess.
func (l *Localiser) guesses(ctx context.Context, f *frame) (map[engram.ID][]guess, error) {
	segment := l.instances
	r, err := l.svc.Query(ctx, engram.PatternOf(segment).Select(engram.Latest(1)))
	if err != nil && engram.CodeOf(err) != engram.NotFound {
		return nil, err
	}
	var ids []engram.ID
	if r != nil {
		for it := range r.All() {
			ids = append(ids, it.ID.Truncate(engram.LevelEntity).At(f.time))
		}
	}
	all := map[engram.ID][]guess{}
	if len(ids) == 0 {
		return all, nil
	}
	answers, err := l.svc.Predict(ctx, ids)
	if engram.CodeOf(err) == engram.Unsupported {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.Err != nil {
			continue
		}
		m, err := decode("engram.object.Instance", a.Snapshot, 0)
		if err != nil {
			continue
		}
		p, ok := posevalue.OrIdentity(m["pose"])
		of, isLink := m["object_class"].(engram.ID)
		if !ok || !isLink {
			continue
		}
		cov := posevalue.Cov(m["pose_covariance"], p)
		if in := text(m["frame_id"]); in != f.name {
			t, ok := l.lookUp(ctx, f.name, in, f.time)
			if !ok {
				continue
			}
			p = t.Pose.Mul(p) // the covariance is in the object's own axes
		}
		class := of.Truncate(engram.LevelEntity)
		all[class] = append(all[class], guess{entity: a.ID.Entity(), pose: p, cov: cov, attached: m["attachment"]})
	}
	return all, nil
}

// likely returns where the places are at which objects of a class are found, in the
// camera's frame: locations, items of the world, other objects. Of what nobody knows the
// pose it says nothing.
func (l *Localiser) likely(ctx context.Context, f *frame, c *class) (places []pose.Vec3) {
	for _, id := range c.places {
		in, at := id.Entity(), pose.Identity() // items are frames
		if id.Memory() != "World" {
			typ := map[string]string{"Location": "engram.navigation.Location", "Instance": "engram.object.Instance"}[id.CoreSegment()]
			s, err := l.svc.Latest(ctx, id.Truncate(engram.LevelEntity))
			if err != nil || typ == "" {
				continue
			}
			m, err := decode(typ, s, 0)
			if err != nil {
				continue
			}
			p, ok := posevalue.OrIdentity(m["pose"])
			if !ok {
				continue
			}
			in, at = text(m["frame_id"]), p
		}
		if in == f.name {
			places = append(places, at.T)
		} else if t, ok := l.lookUp(ctx, f.name, in, f.time); ok {
			places = append(places, t.Pose.Apply(at.T))
		}
	}
	return places
}

// lookUp asks where a frame is at a time, or, where that is not known yet, last.
func (l *Localiser) lookUp(ctx context.Context, target, source string, at engram.Time) (service.Answer, bool) {
	if l.poses == nil || target == "" || source == "" {
		return service.Answer{}, false
	}
	a, err := l.poses.LookUp(ctx, []service.Question{{Target: target, Source: source, Time: at, Cov: true}})
	if err != nil || a[0].Err != nil {
		return service.Answer{}, false
	}
	return a[0], true
}

// distance returns how far a pose is from a guess, squared, in standard deviations of
// both: along each axis and about each.
func (g *guess) distance(p pose.Pose, cov pose.Cov) float64 {
	d := p.Inverse().Mul(g.pose)
	turn := rotationVector(d.R)
	xi := [6]float64{d.T.X, d.T.Y, d.T.Z, turn.X, turn.Y, turn.Z}
	sum := 0.0
	for i, x := range xi {
		v := cov.At(i, i) + g.cov.At(i, i)
		if v <= 0 {
			v = 1e-4
		}
		sum += x * x / v
	}
	return sum
}

func rotationVector(q pose.Quat) pose.Vec3 {
	v := pose.Vec3{X: q.X, Y: q.Y, Z: q.Z}
	if q.W < 0 {
		v = v.Scale(-1)
	}
	n := v.Norm()
	if n < 1e-12 {
		return v.Scale(2)
	}
	return v.Scale(2 * math.Atan2(n, math.Abs(q.W)) / n)
}
