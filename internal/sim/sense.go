package sim

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// State returns the joint states of a tick and, with every second one, where the
// robot is.
func (r *Robot) State(tick int) engram.Commit {
	t := r.Time(tick)
	c := engram.Commit{Updates: []engram.EntityUpdate{update(r.ids.proprioception, t, r.proprioception(tick))}}
	if tick%localizationTicks == 0 {
		c.Updates = append(c.Updates, update(r.ids.base, t, r.localization(tick)))
	}
	return c
}

// What the joints' electronics tell apart, in steps per rad, rad/s and N·m: an encoder of
// 14 bits per turn, hundredths, and the current of a motor in 12 bits.
const (
	positionSteps = 1 << 14 / (2 * math.Pi)
	velocitySteps = 100
	effortSteps   = 20
)

// steps returns the nearest value that is a whole number of steps.
func steps(v, perUnit float64) float64 { return math.Round(v*perUnit) / perUnit }

// proprioception encodes an engram.robot_state.Proprioception.
func (r *Robot) proprioception(tick int) engram.Payload {
	const dt = 1e-3
	s := seconds(tick)
	q, before, after := r.positions(s), r.positions(s-dt/2), r.positions(s+dt/2)
	var velocity, effort [NumJoints]float64
	for i := range q {
		j := &body[i]
		velocity[i] = (after[i]-before[i])/dt + 1e-3*r.noise.gauss(noiseJoint, tick, 2*i)
		// Friction, and a load that grows as the joint leaves its middle.
		effort[i] = j.load * (0.05*velocity[i] + 0.3*math.Sin(q[i]) + 0.01*r.noise.gauss(noiseJoint, tick, 2*i+1))
		q[i] += 1e-4 * r.noise.gauss(noiseJoint, tick, 2*NumJoints+i)
		q[i], velocity[i], effort[i] = steps(q[i], positionSteps), steps(velocity[i], velocitySteps), steps(effort[i], effortSteps)
	}
	b := make([]byte, 0, len(r.names)+3*(8*NumJoints+4)+64)
	b = appendTime(b, 1, r.Time(tick))
	b = appendString(b, 2, baseFrame)
	b = append(b, r.names...)
	b = appendPacked(b, 4, q[:]...)
	b = appendPacked(b, 5, velocity[:]...)
	b = appendPacked(b, 6, effort[:]...)
	// Two hours of battery.
	b = protowire.AppendTag(b, 9, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(max(1-s/7200, 0)))
	return engram.Payload{Type: "engram.robot_state.Proprioception", Bytes: b}
}

// Standard deviations of the robot's localization, m and rad.
const (
	localizationSigma = 0.002
	headingSigma      = 0.001
)

// localization encodes the pose.Pose of the base in odom as an
// engram.robot_state.Localization.
func (r *Robot) localization(tick int) engram.Payload {
	const dt = 1e-3
	s := seconds(tick)
	p := baseAt(r.phase(s))
	velocity := p.R.Conj().Rotate(baseAt(r.phase(s + dt/2)).T.Sub(baseAt(r.phase(s - dt/2)).T)).Scale(1 / dt)
	n := func(i int) float64 { return r.noise.gauss(noiseLocalization, tick, i) }
	p.T.X += localizationSigma * n(0)
	p.T.Y += localizationSigma * n(1)
	q := pose.AxisAngle(vec3{Z: 1}, headingSigma*n(2)).Mul(p.R)
	covariance := [36]float64{0: localizationSigma * localizationSigma, 7: localizationSigma * localizationSigma, 35: headingSigma * headingSigma}
	b := make([]byte, 0, 512)
	b = appendTime(b, 1, r.Time(tick))
	b = appendString(b, 2, odomFrame)
	b = appendString(b, 3, baseFrame)
	b = appendDoubles(b, 4, p.T.X, p.T.Y, p.T.Z)
	b = appendDoubles(b, 5, q.X, q.Y, q.Z, q.W)
	b = appendPacked(b, 6, covariance[:]...)
	b = appendDoubles(b, 7, velocity.X, velocity.Y, velocity.Z)
	b = appendDoubles(b, 8, 0, 0, 0)
	return engram.Payload{Type: "engram.robot_state.Localization", Bytes: b}
}

// Images returns the stereo pair that is taken at the tick, left eye first, as one
// snapshot; nothing at ticks without one.
func (r *Robot) Images(tick int) engram.Commit {
	if tick%imageTicks != 0 {
		return engram.Commit{}
	}
	s, _ := r.state(seconds(tick))
	u := engram.EntityUpdate{Entity: r.ids.images, Time: r.Time(tick)}
	painter := r.renderers.Get().(*renderer)
	for side := range sideNames {
		u.Instances = append(u.Instances, engram.NewInstance(r.image(painter, &s, side, u.Time)))
	}
	r.renderers.Put(painter)
	return engram.Commit{Updates: []engram.EntityUpdate{u}}
}

// image renders straight into a foxglove.RawImage.
func (r *Robot) image(painter *renderer, s *state, side int, t engram.Time) engram.Payload {
	frame := [2]string{leftCameraFrame, rightCameraFrame}[side]
	size := 3 * r.config.Width * r.config.Height
	b := make([]byte, 0, size+128)
	b = appendTime(b, 1, t)
	b = appendFixed32(b, 2, r.config.Width)
	b = appendFixed32(b, 3, r.config.Height)
	b = appendString(b, 4, "rgb8")
	b = appendFixed32(b, 5, 3*r.config.Width)
	b = protowire.AppendVarint(protowire.AppendTag(b, 6, protowire.BytesType), uint64(size))
	pixels := b[len(b) : len(b)+size]
	painter.render(s, side, pixels)
	b = appendString(b[:len(b)+size], 7, frame)
	return engram.Payload{Type: "foxglove.RawImage", Bytes: b}
}

// Objects returns the poses that the object localiser has found at the tick, in an
// image taken a little before; nothing at ticks without any.
func (r *Robot) Objects(tick int) engram.Commit {
	taken := tick - objectDelay
	if taken < 0 || taken%objectTicks != 0 {
		return engram.Commit{}
	}
	t := r.Time(taken)
	s, n := r.state(seconds(taken))
	var c engram.Commit
	var found []string
	for i := range objects {
		seen, confidence := r.localize(&s, i, taken)
		if confidence == 0 {
			continue
		}
		o := &objects[i]
		found = append(found, o.name)
		value := map[string]any{
			"timestamp": t, "frame_id": mapFrame, "pose": poseValue(seen),
			"object_class":       r.id("Object", "Class", o.class),
			"source_image":       r.ids.images.At(t).Instance(left),
			"robot_localization": r.ids.base.At(t).Instance(0),
		}
		if s.held && i == cup {
			value["attachment"] = r.id("Object", "Attachments", o.name).At(r.at(n, s.since)).Instance(0)
		}
		u := update(r.id("Object", "Instance", o.name), t, payload(r.types.instance, value))
		u.Instances[0].Confidence = float32(confidence)
		c.Updates = append(c.Updates, u)
	}
	if taken%lookTicks == 0 {
		c.Updates = append(c.Updates, r.look(&s, t, found))
	}
	return c
}

// localize returns an object's pose.Pose in the map as the object localiser sees it,
// and how sure that is; 0 if it does not see it.
func (r *Robot) localize(s *state, i, tick int) (pose.Pose, float64) {
	truth := s.objects[i]
	inCamera := s.camera(left).Inverse().Apply(truth.T)
	if inCamera.Z < 0.25 {
		return pose.Pose{}, 0
	}
	f := focalLength(r.config.Width)
	u, v := f*inCamera.X/inCamera.Z, f*inCamera.Y/inCamera.Z
	// From 0 in the middle of the image to 1 at its border.
	off := max(math.Abs(u)/(float64(r.config.Width)/2), math.Abs(v)/(float64(r.config.Height)/2))
	if off > 0.97 {
		return pose.Pose{}, 0
	}
	confidence := 0.97 - 0.12*inCamera.Z*inCamera.Z/2 - 0.15*max(off-0.6, 0)
	sigma := 0.001 + 0.0015*inCamera.Z*inCamera.Z
	if i == cup && s.held {
		confidence, sigma = confidence*0.85, sigma*1.5 // the hand hides a part of it
	}
	n := func(k int) float64 { return r.noise.gauss(noiseObject, tick, 8*i+k) }
	seen := truth
	seen.T = seen.T.Add(xyz(n(0), n(1), n(2)).Scale(sigma))
	seen.R = pose.AxisAngle(vec3{Z: 1}, 0.01*n(3)).Mul(seen.R)
	confidence = min(max(confidence+0.01*n(4), 0.05), 1)
	return seen, math.Round(confidence*1000) / 1000
}
