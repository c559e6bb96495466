package pose

import (
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// Kind is the kind of an edge.
type Kind uint8

// The kinds of edges.
const (
	// KindFixed is a calibration: a constant, revisable, with validity.
	KindFixed Kind = iota
	// KindJoint is a URDF joint with a history of its value.
	KindJoint
	// KindFree is a history of poses: odometry, an object.
	KindFree
	// KindAnchor is a world frame over an odometry frame: a correction at key times.
	KindAnchor
)

var kindNames = [...]string{"fixed", "joint", "free", "anchor"}

// String returns "fixed", "joint", "free" or "anchor".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown kind"
}

type (
	poseHistory  = history[Pose, Cov]
	valueHistory = history[float64, float64]
)

// edge is what joins a child frame to its parent during one period. It is
// immutable, but for the samples in its history.
type edge struct {
	kind                  Kind
	parent, child         int32
	parentName, childName string
	about                 *subject
	cfg                   edgeConfig
	rules                 rules

	fixed fixedValue   // KindFixed
	said  *fixedValue  // KindFixed: what was stated of it; nil of an edge that nobody observed
	poses *poseHistory // KindFree
	joint *JointSpec   // KindJoint
	value jointValue   // KindJoint: of the joint, or of the one it mimics
	keys  *anchorKeys  // KindAnchor
}

// jointValue is where a joint has its value from: itself, or the joint that it mimics,
// with that one's options.
type jointValue struct {
	of      *JointSpec
	history *valueHistory
	unset   UnsetPolicy
	sigma   float64 // of values without their own; NaN: unknown
}

type fixedValue struct {
	pose Pose
	cov  Cov
}

// edgeConfig is what options set.
type edgeConfig struct {
	maxGap    time.Duration // 0: the store's default
	beyond    beyondMode
	maxAge    time.Duration
	noise     Noise
	propagate bool
	sigma     float64 // of a joint; NaN: unknown
	unset     UnsetPolicy
	retention *Retention // nil: the store's default
	foreign   bool
}

// UnsetPolicy says what a joint answers that was never set: by default the failure
// [Unset], and with Use the value Q with the standard deviation Sigma; the answer
// is then flagged Defaulted.
type UnsetPolicy struct {
	Use      bool
	Q, Sigma float64
}

// Option configures an edge.
type Option func(*edgeConfig)

// MaxGap sets how far apart two samples may be for times between them to be
// answered; d <= 0 means any distance. The default is the store's.
func MaxGap(d time.Duration) Option {
	return func(c *edgeConfig) {
		if c.maxGap = d; d <= 0 {
			c.maxGap = -1
		}
	}
}

// Hold answers times up to maxAge after the last sample with that sample. Without
// Hold and [Extrapolate] they fail with TooNew.
func Hold(maxAge time.Duration) Option {
	return func(c *edgeConfig) { c.beyond, c.maxAge = beyondHold, max(maxAge, 0) }
}

// Rest is Hold without end, for what stays where it was put until somebody says otherwise. An
// edge that rests has no latest time: [Path.LatestCommon] and [Path.Latest] ask it when the
// others have theirs.
func Rest() Option {
	return func(c *edgeConfig) { c.beyond, c.maxAge = beyondHold, math.MaxInt64 }
}

// rests reports whether the edge has the option [Rest].
func (r *rules) rests() bool { return r.beyond == beyondHold && r.maxAge == math.MaxInt64 }

// Extrapolate answers times up to maxAge after the last sample by continuing the
// motion between the last two at constant velocity. One sample is held, and the answer flagged
// Held and Extrapolated; if retention dropped those before it, the failure is [Pruned].
func Extrapolate(maxAge time.Duration) Option {
	return func(c *edgeConfig) { c.beyond, c.maxAge = beyondExtrapolate, max(maxAge, 0) }
}

// Uncertain sets the noise model of an edge's samples that bring no covariance of
// their own. The default is [UnknownNoise].
func Uncertain(n Noise) Option { return func(c *edgeConfig) { c.noise = n } }

// Propagate takes the errors of neighbouring samples, or of an anchor's keys, as
// independent of each other, and answers between two of them what first order
// propagation of both makes of that ([PropagateCov], [PropagateGeodesicCov]). It has no
// effect on [GrowthNoise], nor between two odometry samples whose covariances say how
// much was gathered since an anchor's key. Without it the covariance is mixed: see
// [InterpolateCov].
func Propagate() Option { return func(c *edgeConfig) { c.propagate = true } }

// Sigma sets the standard deviation of a joint's values that are set without one,
// in radians or metres; 0 means exact. The default is unknown.
func Sigma(sigma float64) Option { return func(c *edgeConfig) { c.sigma = sigma } }

// WhenUnset sets what a joint that was never set answers.
func WhenUnset(p UnsetPolicy) Option { return func(c *edgeConfig) { c.unset = p } }

// Foreign marks an edge as one that somebody else says than the rest: [EdgeInfo] tells.
func Foreign() Option { return func(c *edgeConfig) { c.foreign = true } }

// Keep sets how much history the edge keeps. The default is the store's. It has no
// effect on an edge that exists already.
func Keep(r Retention) Option { return func(c *edgeConfig) { c.retention = &r } }

type noiseKind uint8

const (
	noiseUnknown noiseKind = iota
	noiseExact
	noiseConstant
	noiseGrowth
)

// Noise is the uncertainty of an edge's samples that bring no covariance of their
// own. A sample that brings one ([FreeEdge.SetCov]) always has that one.
type Noise struct {
	kind      noiseKind
	cov, rate Cov
}

// UnknownNoise says nothing about the samples.
func UnknownNoise() Noise { return Noise{} }

// ExactNoise takes the samples as free of error.
func ExactNoise() Noise { return Noise{kind: noiseExact, cov: ExactCov()} }

// ConstantNoise gives every sample the covariance c, independent of the others.
func ConstantNoise(c Cov) Noise { return Noise{kind: noiseConstant, cov: c} }

// GrowthNoise is a random walk, as that of odometry: the covariance start, and
// perSecond more for each second since the edge's first sample or, below an
// Anchor, away from the nearest key.
func GrowthNoise(start, perSecond Cov) Noise {
	return Noise{kind: noiseGrowth, cov: start, rate: perSecond}
}

func (n *Noise) check() error {
	var err error
	if n.kind == noiseConstant || n.kind == noiseGrowth {
		if n.cov, err = n.cov.Checked(); err == nil {
			n.rate, err = n.rate.checked()
		}
	}
	return err
}

// JointSpec describes a [KindJoint] edge. The pose of the child is
// Origin·motion(q), q in radians or metres.
type JointSpec struct {
	Name   string         // absolute, such as "rover1/pan"
	Type   urdf.JointType // Revolute, Continuous or Prismatic
	Origin Pose           // of the joint frame in the parent
	Axis   Vec3           // unit vector in the joint frame
	Limit  *urdf.Limit    // nil for none; kept for readers, values beyond are stored too
	Mimic  *Mimic         // nil for a joint with a value of its own
}

// Mimic makes a joint's value Multiplier·q + Offset, q the value of the joint with
// the absolute name Joint, evaluated at look-up: between samples q is what that joint
// has, which goes the short way round if that is continuous. A joint that mimics one
// that mimics has the value of the first. All its options are those of the first, too.
type Mimic struct {
	Joint      string
	Multiplier float64
	Offset     float64
}

// check normalises the spec's poses and axes.
func (j *JointSpec) check() error {
	if err := engram.CheckName(j.Name); err != nil {
		return err
	}
	if j.Type != urdf.Revolute && j.Type != urdf.Continuous && j.Type != urdf.Prismatic {
		return engram.Errorf(engram.Invalid, j.Name, "a joint edge is revolute, continuous or prismatic, not %s; a planar or floating joint is a Free edge", j.Type)
	}
	if !j.Origin.check() {
		err := j.Origin.refusal()
		err.Thing = j.Name
		return err
	}
	n := j.Axis.Norm()
	if !finite(n) || n < 1e-9 {
		return engram.Errorf(engram.Invalid, j.Name, "axis %v gives no direction", j.Axis)
	}
	j.Axis = j.Axis.Scale(1 / n)
	if j.Mimic != nil && !(finite(j.Mimic.Multiplier) && finite(j.Mimic.Offset)) {
		return engram.Errorf(engram.Invalid, j.Name, "mimic of %q with multiplier %g and offset %g", j.Mimic.Joint, j.Mimic.Multiplier, j.Mimic.Offset)
	}
	return nil
}

// jumps reports whether the joint's motion is not continuous where the value that it
// mimics, or has, goes over the seam of a continuous joint.
func (e *edge) jumps() bool {
	scale, _ := e.joint.scaleOffset()
	return e.value.of.Type == urdf.Continuous && (e.joint.Type == urdf.Prismatic || scale != math.Trunc(scale))
}

// scaleOffset returns the factors of the mimic, 1 and 0 without one.
func (j *JointSpec) scaleOffset() (scale, offset float64) {
	if j.Mimic == nil {
		return 1, 0
	}
	return j.Mimic.Multiplier, j.Mimic.Offset
}

// between interpolates the value at the fraction u from a to b. A continuous joint
// that reports its value within ±π goes the short way round.
func (j *JointSpec) between(a, b, u float64) float64 {
	d := b - a
	if j.Type == urdf.Continuous && math.Abs(d) > math.Pi {
		d = math.Remainder(d, 2*math.Pi)
	}
	return a + u*d
}

// twist returns the motion of the child per unit of the joint's value, in the
// child's axes.
func (j *JointSpec) twist() Twist {
	if j.Type == urdf.Prismatic {
		return Twist{Rho: j.Axis}
	}
	return Twist{Phi: j.Axis}
}

// move sets acc to acc·motion(q).
func (j *JointSpec) move(acc *Pose, q float64) {
	if j.Type == urdf.Prismatic {
		acc.T = acc.T.Add(acc.R.Rotate(j.Axis.Scale(q)))
		return
	}
	acc.R = acc.R.Mul(AxisAngle(j.Axis, q))
}
