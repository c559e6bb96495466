package sim

import (
	"math"
	"slices"

	"github.com/seed-301d4374/engram/mind/pose"
)

// cycle is how long a round of the story takes, in seconds: somebody asks for the cup, and then for it to be put back.
const cycle = 14.0

// inCycle returns the number of the cycle that t (seconds of the world) lies in
// and the time since it began.
func inCycle(t float64) (n int, tau float64) {
	f := math.Floor(t / cycle)
	return int(f), t - f*cycle
}

// driveDistance is how far the table is from home, metres.
const driveDistance = 0.55

// axis is something that the body does as a whole.
type axis int

const (
	gaze  axis = iota // the head turns to one side, to the other and ahead again
	drive             // from home to the table
	reach             // the right hand goes to the cup
	lift              // and up
	grip              // the fingers close
	axes
)

// phase says how far each axis is, from 0 to 1.
type phase [axes]float64

// motion moves an axis. Times are seconds of the course that it is in.
type motion struct {
	start, end float64
	from, to   float64
	stopped    float64 // when it was stopped; infinite if it was not
}

// at returns how far the axis is at a time after the start.
func (m *motion) at(t float64) float64 {
	return blend(m.from, m.to, ramp(min(t, m.stopped), m.start, m.end))
}

// hold is that the hand holds the cup.
type hold struct{ since, until float64 }

// course is what the body does over time. It is not changed once others see it.
type course struct {
	motions [axes][]motion // by start
	holds   []hold         // by since
}

// kept is how many motions of an axis, and how many holds, a course has at most; earlier ones are forgotten.
const kept = 64

// clone returns a copy to be changed.
func (c *course) clone() *course {
	d := &course{holds: slices.Clone(c.holds[max(0, len(c.holds)-kept):])}
	for a, all := range c.motions {
		d.motions[a] = slices.Clone(all[max(0, len(all)-kept):])
	}
	return d
}

func (c *course) phase(t float64) (p phase) {
	for a, all := range c.motions {
		for i := len(all) - 1; i >= 0; i-- {
			if p[a] = all[i].from; all[i].start <= t {
				p[a] = all[i].at(t)
				break
			}
		}
	}
	return p
}

// held returns whether the cup is held, and since when.
func (c *course) held(t float64) (since float64, held bool) {
	for i := len(c.holds) - 1; i >= 0; i-- {
		if h := c.holds[i]; h.since <= t {
			return h.since, t < h.until
		}
	}
	return 0, false
}

// graspPose and liftPose are the right arm's joints when the hand is at the cup
// and when it has lifted it; the torso helps.
var (
	graspPose = [armJoints]float64{0.114, -0.625, -0.215, -0.034, -1.237, 1.412, 0.116, 0.003}
	liftPose  = [armJoints]float64{0.119, -0.648, -0.210, -0.049, -1.995, 1.460, 0.099, 0.750}
)

const (
	graspTorsoLift  = 0.0
	graspTorsoPitch = 0.30
	gazeAngle       = 0.08 // rad, to each side
)

// closedHand are the fingers' joints when the hand holds the cup.
var closedHand = [fingerJoints]float64{0.1, -1.3, -0.3, -0.35, -0.8, -0.35, -0.8, -0.35, -0.8, -0.35, -0.8}

// positionsAt returns the joints' true positions at a time of the world.
func positionsAt(t float64, p phase) (q positions) {
	for i := range body {
		j := &body[i]
		// Frequencies between 0.1 and 0.35 Hz, a different one for each joint.
		f := 0.1 + 0.25*float64(i*29%NumJoints)/NumJoints
		q[i] = j.rest + j.sway*math.Sin(2*math.Pi*f*t+float64(i))
	}
	// What takes part in grasping does not sway: the cup goes back to where it was.
	for i := range armJoints {
		rest := body[arm(right, i)].rest
		q[arm(right, i)] = rest + p[reach]*(graspPose[i]-rest) + p[lift]*(liftPose[i]-graspPose[i])
	}
	q[torsoYaw] = body[torsoYaw].rest
	q[torsoLift] = blend(body[torsoLift].rest, graspTorsoLift, p[reach])
	q[torsoPitch] = blend(body[torsoPitch].rest, graspTorsoPitch, p[reach])
	for i := range fingerJoints {
		q[finger(right, i)] = blend(body[finger(right, i)].rest, closedHand[i], p[grip])
	}
	// The head keeps looking at the table when the robot comes closer and bends,
	// and follows the hand.
	q[neckYaw] += gazeAngle*math.Sin(2*math.Pi*p[gaze]) - 0.28*p[reach]
	q[neckPitch] += 0.22*p[drive] - 0.16*p[reach] - 0.08*p[lift]
	return q
}

func blend(from, to, s float64) float64 { return from + s*(to-from) }

// baseAt returns the pose.Pose of the robot's base in the map.
func baseAt(p phase) pose.Pose { return pose.Translation(driveDistance*p[drive], 0, 0) }
