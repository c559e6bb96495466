package sim

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

func TestBody(t *testing.T) {
	names := map[string]bool{}
	for i := range body {
		j := &body[i]
		if names[j.name] || names[j.link] {
			t.Errorf("%s or its link %s exists twice", j.name, j.link)
		}
		names[j.name], names[j.link] = true, true
		if j.axis.Norm() != 1 || j.lower >= j.upper || j.load <= 0 {
			t.Errorf("%s: axis %v, limits %v to %v, load %v", j.name, j.axis, j.lower, j.upper, j.load)
		}
	}
	for side, s := range sideNames {
		if got := body[hand(side)].name; got != s+"_wrist_roll" {
			t.Errorf("the %s hand hangs on %s", s, got)
		}
		if got := body[finger(side, fingerJoints-1)].name; got != s+"_pinky_distal" {
			t.Errorf("the last joint of the %s hand is %s", s, got)
		}
	}
}

// TestJointsKeepTheirLimits watches two cycles.
func TestJointsKeepTheirLimits(t *testing.T) {
	r := small(t, 1)
	for tick := range 2 * int(cycle) * 100 {
		q, next := r.positions(seconds(tick)), r.positions(seconds(tick+1))
		for i := range q {
			j := &body[i]
			if q[i] < j.lower || q[i] > j.upper {
				t.Fatalf("%s is at %v at %v s, outside %v to %v", j.name, q[i], seconds(tick), j.lower, j.upper)
			}
			if v := math.Abs(next[i]-q[i]) * 100; v > 9 {
				t.Fatalf("%s moves with %v rad/s at %v s", j.name, v, seconds(tick))
			}
		}
	}
}

// TestGrasp checks the cup's way in both rounds: the hand is where the cup is, and nothing jumps.
func TestGrasp(t *testing.T) {
	r := small(t, 1)
	for n := range r.rounds {
		c, began := r.rounds[n].course, float64(n)*cycle
		if len(c.holds) != 1 || len(c.motions[grip]) != 4-2*n || len(c.motions[gaze]) != 1 {
			t.Fatalf("in round %d the cup is held %d times, and the fingers move %d times", n, len(c.holds), len(c.motions[grip]))
		}
		for _, tau := range []float64{c.motions[reach][0].end, c.holds[0].since, c.holds[0].until} {
			s := stateAt(began + tau)
			tcp := s.base.Mul(s.joints.tcp(right))
			if d := tcp.T.Sub(s.objects[cup].T).Norm(); d > 0.01 {
				t.Errorf("%v s after the beginning of round %d the hand is %.3f m from the cup", tau, n, d)
			}
		}
		for _, tau := range []float64{c.holds[0].since, c.holds[0].until} {
			before, after := stateAt(began+tau-1e-6), stateAt(began+tau+1e-6)
			if d, a := before.objects[cup].Distance(after.objects[cup]); d > 1e-4 || a > 1e-4 {
				t.Errorf("%v s after the beginning of round %d the cup jumps by %v m, %v rad", tau, n, d, a)
			}
		}
		s := stateAt(began + 5.5)
		if up := s.objects[cup].T.Z - objects[cup].place.T.Z; up < 0.15 {
			t.Errorf("the cup is lifted by %v m only", up)
		}
		if p, rest := c.phase(cycle), (phase{gaze: 1}); p != rest {
			t.Errorf("round %d ends with %v, want %v", n, p, rest)
		}
	}
	first, second := stateAt(1), stateAt(1+cycle)
	if first.objects != second.objects || first.base.T.Sub(second.base.T).Norm() > 1e-9 {
		t.Error("the second cycle does not begin where the first did")
	}
}

// TestURDF reads the model as any program would, and finds the camera and the hand
// where the simulation has them.
func TestURDF(t *testing.T) {
	model, err := urdf.Read(strings.NewReader(URDF("humanoid")), "humanoid.urdf")
	if err != nil {
		t.Fatal(err)
	}
	q := small(t, 1).positions(4.2)
	value := map[string]float64{}
	for i := range body {
		value[body[i].name] = q[i]
	}
	above := map[string]urdf.Joint{}
	moving := 0
	for _, j := range model.Joints {
		above[j.Child] = j
		if j.Type == urdf.Revolute || j.Type == urdf.Prismatic {
			moving++
		}
	}
	if moving != NumJoints || len(model.Joints) != NumJoints+4 || model.Root != baseFrame {
		t.Errorf("%d of %d joints below %s move", moving, len(model.Joints), model.Root)
	}
	var place func(link string) pose.Pose
	place = func(link string) pose.Pose {
		j, ok := above[link]
		if !ok {
			return pose.Identity()
		}
		p := pose.Pose{T: xyz(j.XYZ[0], j.XYZ[1], j.XYZ[2]), R: pose.RPY(j.RPY[0], j.RPY[1], j.RPY[2])}
		axis := xyz(j.Axis[0], j.Axis[1], j.Axis[2])
		switch j.Type {
		case urdf.Revolute:
			p = p.Mul(pose.Pose{R: pose.AxisAngle(axis, value[j.Name])})
		case urdf.Prismatic:
			p = p.Mul(pose.Pose{T: axis.Scale(value[j.Name]), R: pose.Identity().R})
		}
		return place(j.Parent).Mul(p)
	}
	s := state{base: pose.Identity(), joints: q}
	for link, want := range map[string]pose.Pose{
		leftCameraFrame: s.camera(left), rightCameraFrame: s.camera(right),
		tcpFrame(left): q.tcp(left), tcpFrame(right): q.tcp(right),
	} {
		if d, a := place(link).Distance(want); d > 1e-7 || a > 1e-7 {
			t.Errorf("%s is %v m, %v rad from where the simulation has it", link, d, a)
		}
	}
}

func TestNoise(t *testing.T) {
	n := noise(mix(1))
	sum, squares, highest := 0.0, 0.0, 0.0
	const count = 20_000
	for i := range count {
		v := n.gauss(noiseJoint, i, 3)
		sum, squares, highest = sum+v, squares+v*v, max(highest, math.Abs(v))
	}
	mean, deviation := sum/count, math.Sqrt(squares/count)
	if math.Abs(mean) > 0.03 || math.Abs(deviation-1) > 0.03 || highest > 3.5 {
		t.Errorf("mean %v, standard deviation %v, highest %v", mean, deviation, highest)
	}
	if n.gauss(noiseJoint, 1, 2) == n.gauss(noiseObject, 1, 2) || n.gauss(noiseJoint, 1, 2) == n.gauss(noiseJoint, 2, 1) {
		t.Error("different measurements have the same noise")
	}
}
