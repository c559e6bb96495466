package sim

import (
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
)

// The robot lives in cycles: it is asked for the cup, drives to the table, takes
// the cup and lifts it, is asked to put it back, does so and drives home. Times
// are seconds from the beginning of a cycle.
const (
	cycle = 14.0

	bringAsked  = 0.5
	bringCalled = 0.7
	driveStart  = 0.9
	driveEnd    = 2.7
	graspCalled = 2.8
	graspRetry  = 3.3 // in every second cycle the first grasp fails
	handAtCup   = 3.6
	cupHeld     = 3.8
	cupLifted   = 4.5
	bringDone   = 4.6

	placeAsked  = 7.0
	placeCalled = 7.2
	lowerStart  = 7.3
	cupDown     = 8.1
	cupFree     = 8.3
	armBack     = 9.1
	returnStart = 9.2
	returnEnd   = 11.0
	placeDone   = 11.1
)

// driveDistance is how far the table is from home, metres.
const driveDistance = 0.55

// inCycle returns the number of the cycle that t (seconds of the world) lies in
// and the time since it began.
func inCycle(t float64) (n int, tau float64) {
	f := math.Floor(t / cycle)
	return int(f), t - f*cycle
}

// phase says how far the movements of a cycle are, each from 0 to 1.
type phase struct{ drive, reach, lift, grip float64 }

func phaseAt(t float64) phase {
	_, tau := inCycle(t)
	return phase{
		drive: ramp(tau, driveStart, driveEnd) - ramp(tau, returnStart, returnEnd),
		reach: ramp(tau, graspCalled, handAtCup) - ramp(tau, cupFree, armBack),
		lift:  ramp(tau, cupHeld, cupLifted) - ramp(tau, lowerStart, cupDown),
		grip:  ramp(tau, handAtCup, cupHeld) - ramp(tau, cupDown, cupFree),
	}
}

// holding reports whether the hand holds the cup.
func holding(t float64) bool {
	_, tau := inCycle(t)
	return tau >= cupHeld && tau < cupDown
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
)

// closedHand are the fingers' joints when the hand holds the cup.
var closedHand = [fingerJoints]float64{0.1, -1.3, -0.3, -0.35, -0.8, -0.35, -0.8, -0.35, -0.8, -0.35, -0.8}

// positionsAt returns the joints' true positions.
func positionsAt(t float64) (q positions) {
	p := phaseAt(t)
	for i := range body {
		j := &body[i]
		// Frequencies between 0.1 and 0.35 Hz, a different one for each joint.
		f := 0.1 + 0.25*float64(i*29%NumJoints)/NumJoints
		q[i] = j.rest + j.sway*math.Sin(2*math.Pi*f*t+float64(i))
	}
	// What takes part in grasping does not sway: the cup goes back to where it was.
	for i := range armJoints {
		rest := body[arm(right, i)].rest
		q[arm(right, i)] = rest + p.reach*(graspPose[i]-rest) + p.lift*(liftPose[i]-graspPose[i])
	}
	q[torsoYaw] = body[torsoYaw].rest
	q[torsoLift] = blend(body[torsoLift].rest, graspTorsoLift, p.reach)
	q[torsoPitch] = blend(body[torsoPitch].rest, graspTorsoPitch, p.reach)
	for i := range fingerJoints {
		q[finger(right, i)] = blend(body[finger(right, i)].rest, closedHand[i], p.grip)
	}
	// The head keeps looking at the table when the robot comes closer and bends,
	// and follows the hand.
	q[neckYaw] -= 0.28 * p.reach
	q[neckPitch] += 0.22*p.drive - 0.16*p.reach - 0.08*p.lift
	return q
}

func blend(from, to, s float64) float64 { return from + s*(to-from) }

// baseAt returns the pose.Pose of the robot's base in the map.
func baseAt(t float64) pose.Pose { return pose.Translation(driveDistance*phaseAt(t).drive, 0, 0) }
