package pose

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

const second = engram.Time(1e9)

// failer is a test, rapid's or testing's.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func must[T any](t failer) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t testing.TB, err error, code engram.Code, says ...string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v; want the code %v", err, code)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error %q does not say %q", err, s)
		}
	}
}

// line writes a motion along x of 1 m/s, a sample per second from 0 to 10 s.
func line(t testing.TB, e *FreeEdge) {
	t.Helper()
	for i := range engram.Time(11) {
		ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
	}
}

func pathOf(t testing.TB, s *Store, target, source string) *Path {
	t.Helper()
	return must[*Path](t)(s.Path(target, source))
}

func TestStructureIsChecked(t *testing.T) {
	s := New(Config{MaxFrames: 6})
	e := must[*FreeEdge](t)(s.Free("map", "base"))
	ok(t, s.Fixed("base", "cam", Identity(), Cov{}))
	ok(t, s.Anchor("earth", "map"))
	revision, frames := s.Revision(), s.states.now().content.frames.len()

	_, err := s.Free("odom", "base")
	refused(t, err, engram.Conflict, "odom ← base", "second parent", "base hangs on map")
	refused(t, s.Fixed("cam", "earth", Identity(), Cov{}), engram.Conflict, "loop", "earth is above cam")
	refused(t, s.Fixed("earth", "earth", Identity(), Cov{}), engram.Conflict, "loop")
	refused(t, s.Anchor("map", "base"), engram.Conflict, "map ← base", "it is free")
	refused(t, s.Fixed("base", "cam", Translation(1, 0, 0), Cov{}), engram.Conflict, "needs a transaction")
	refused(t, s.Fixed("base", "", Identity(), Cov{}), engram.Invalid, "empty")
	refused(t, s.Fixed("base", "nan", Translation(math.NaN(), 0, 0), Cov{}), engram.Invalid, "base ← nan", "not finite")
	refused(t, s.Fixed("base", "long", Pose{R: Quat{W: 1.01}}, Cov{}), engram.Invalid, "length 1.01")
	bad := DiagonalCov(1, 1)
	bad.S[1] = 2
	refused(t, s.Fixed("base", "cov", Identity(), bad), engram.Invalid, "base ← cov", "positive semidefinite")
	_, err = s.Free("base", "x", Uncertain(ConstantNoise(bad)))
	refused(t, err, engram.Invalid, "noise")
	_, err = s.Joint("base", "y", JointSpec{Name: "j", Type: urdf.Revolute, Origin: Identity(), Axis: Vec3{Z: 1}, Mimic: &Mimic{Joint: "k"}})
	refused(t, err, engram.NotFound, `it mimics "k"`)
	_, err = s.Joint("base", "y", JointSpec{Name: "j", Type: urdf.Planar, Origin: Identity()})
	refused(t, err, engram.Invalid, "planar")
	_, err = s.Joint("base", "y", JointSpec{Name: "j", Type: urdf.Revolute, Origin: Identity()})
	refused(t, err, engram.Invalid, "axis")

	if s.Revision() != revision || s.states.now().content.frames.len() != frames {
		t.Error("something that was refused left a trace")
	}
	// Saying the same again is no change.
	ok(t, s.Fixed("base", "cam", Identity(), Cov{}))
	if again := must[*FreeEdge](t)(s.Free("map", "base")); again != e {
		t.Error("the same edge has two handles")
	}
	_, err = s.Free("a", "b")
	ok(t, err)
	_, err = s.Free("b", "c")
	refused(t, err, engram.Exhausted, "MaxFrames")
}

func TestWritesAreChecked(t *testing.T) {
	s := New(Config{})
	e := must[*FreeEdge](t)(s.Free("map", "base"))
	ok(t, e.Set(0, Pose{R: Quat{W: 1.0005}}))
	for _, n := range []float64{1.0049, 0.9951} { // libtf2 takes these
		p := must[Pose](t)(Pose{R: Quat{W: n}}.Checked())
		if p != Identity() {
			t.Errorf("of length %g: %v", n, p)
		}
	}
	for _, p := range []Pose{
		{R: Quat{W: 1.0051}}, {R: Quat{W: 0.9949}}, {}, {R: Quat{W: math.NaN()}}, Translation(0, math.Inf(1), 0), {T: Vec3{X: math.NaN()}, R: Quat{W: 1.0005}},
	} {
		refused(t, e.Set(second, p), engram.Invalid, "edge map ← base")
	}
	refused(t, e.Set(engram.MaxTime, Identity()), engram.OutOfRange)
	bad := ExactCov()
	bad.S[0] = -1
	refused(t, e.SetCov(second, Identity(), bad), engram.Invalid, "map ← base", "semidefinite")
	T, info, fail := pathOf(t, s, "map", "base").LatestCommon()
	ok(t, fail.Err())
	if info.TargetTime != 0 || T != Identity() {
		t.Errorf("what was stored is %v at %v; want the normalised identity at 0", T, info.TargetTime)
	}

	j := must[*JointEdge](t)(s.Joint("base", "head", JointSpec{Name: "pan", Type: urdf.Revolute, Origin: Identity(), Axis: Vec3{Z: 2}}))
	refused(t, j.Set(0, math.NaN(), 0), engram.Invalid, "joint pan")
	refused(t, j.Set(0, 0, -1), engram.Invalid, "sigma -1")
	refused(t, s.SetJoints(0, []JointValue{{Name: "pan", Q: 1}, {Name: "tilt"}}), engram.NotFound, "joint tilt")
	if _, _, fail := pathOf(t, s, "base", "head").At(0); fail.Code != Unset {
		t.Errorf("a refused call stored something: %v", fail.Code)
	}
}

// TestBeyondAndGaps asks beside and between samples under every rule.
func TestBeyondAndGaps(t *testing.T) {
	for name, c := range map[string]struct {
		opts []Option
		at   engram.Time
		code FailureCode
		x    float64
		flag Flags
	}{
		"at a sample":              {nil, 3 * second, OK, 3, 0},
		"between":                  {nil, 3*second + second/4, OK, 3.25, Interpolated},
		"before the first":         {nil, -1, TooOld, 0, 0},
		"after the last":           {nil, 10*second + 1, TooNew, 0, 0},
		"a gap":                    {[]Option{MaxGap(time.Second - 1)}, 3*second + 1, Gap, 0, 0},
		"at a sample beside a gap": {[]Option{MaxGap(time.Second - 1)}, 3 * second, OK, 3, 0},
		"any gap":                  {[]Option{MaxGap(0)}, 3*second + second/2, OK, 3.5, Interpolated},
		"held":                     {[]Option{Hold(time.Second)}, 11 * second, OK, 10, Held},
		"held too long":            {[]Option{Hold(time.Second)}, 11*second + 1, TooNew, 0, 0},
		"extrapolated":             {[]Option{Extrapolate(time.Second)}, 10*second + second/2, OK, 10.5, Extrapolated},
		"extrapolated too far":     {[]Option{Extrapolate(time.Second)}, 11*second + 1, TooNew, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{})
			line(t, must[*FreeEdge](t)(s.Free("map", "base", c.opts...)))
			T, info, fail := pathOf(t, s, "map", "base").At(c.at)
			if fail.Code != c.code {
				t.Fatalf("%v; want %v", fail.Err(), c.code)
			}
			if c.code == OK && (math.Abs(T.T.X-c.x) > 1e-12 || info.Flags != c.flag) {
				t.Errorf("x = %g, flags %v; want %g, %v", T.T.X, info.Flags, c.x, c.flag)
			}
			if c.code == Gap && (fail.First != 3*second || fail.Last != 4*second) {
				t.Errorf("the gap is said to be from %v to %v", fail.First, fail.Last)
			}
			if c.code == TooNew && (fail.First != 0 || fail.Last != 10*second || fail.Time != c.at) {
				t.Errorf("the failure says %v, %v, %v", fail.First, fail.Last, fail.Time)
			}
		})
	}
}

// TestFailuresNameTheGuilty has one bad edge among good ones.
func TestFailuresNameTheGuilty(t *testing.T) {
	s := New(Config{})
	line(t, must[*FreeEdge](t)(s.Free("map", "odom")))
	late := must[*FreeEdge](t)(s.Free("odom", "base"))
	ok(t, late.Set(2*second, Identity()))
	ok(t, late.Set(3*second, Identity()))
	ok(t, s.Fixed("base", "cam", Identity(), Cov{}))
	must[*FreeEdge](t)(s.Free("cam", "tag"))
	must[*FreeEdge](t)(s.Free("island", "boat"))

	for _, c := range []struct {
		target, source string
		at             engram.Time
		code           FailureCode
		thing          string
	}{
		{"map", "cam", 5 * second, TooNew, "edge odom ← base"},
		{"cam", "map", second, TooOld, "edge odom ← base"},
		{"map", "tag", 3 * second, Unset, "edge cam ← tag"},
		{"map", "boat", 3 * second, NotConnected, "path map ← boat"},
		{"map", "ghost", 3 * second, UnknownFrame, "frame ghost"},
		{"ghost", "map", 3 * second, UnknownFrame, "frame ghost"},
	} {
		_, _, fail := s.Lookup(c.target, c.source, c.at)
		var e *engram.Error
		if fail.Code != c.code || !errors.As(fail.Err(), &e) || e.Thing != c.thing || e.Code != c.code.Code() {
			t.Errorf("%s ← %s: %v (%v); want %v about %s", c.target, c.source, fail.Err(), fail.Code, c.code, c.thing)
		}
		var again Failure
		if !errors.As(fail.Err(), &again) || again != fail {
			t.Errorf("%v does not hold its failure", fail.Err())
		}
	}
	if _, err := s.Path("map", "ghost"); !errors.Is(err, engram.NotFound) {
		t.Errorf("a path to nowhere: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { s.Lookup("map", "cam", 5*second) }); n != 0 {
		t.Errorf("a failure allocates %g times", n)
	}
}

func TestLatest(t *testing.T) {
	s := New(Config{})
	line(t, must[*FreeEdge](t)(s.Free("map", "odom")))
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	p := pathOf(t, s, "map", "base")
	if _, _, fail := p.LatestCommon(); fail.Code != Unset {
		t.Errorf("the latest of an edge that was never set: %v", fail.Err())
	}
	ok(t, e.Set(7*second+second/2, Translation(0, 1, 0)))
	T, info, fail := p.LatestCommon()
	if fail.Code != OK || info.TargetTime != 7*second+second/2 || T.T != (Vec3{7.5, 1, 0}) || info.Oldest != 7*second {
		t.Errorf("latest common: %v %+v %v", T, info, fail.Err())
	}
	T, info, fail = p.Latest(2500 * time.Millisecond)
	if fail.Code != OK || info.TargetTime != 10*second || T.T != (Vec3{10, 1, 0}) || info.Flags != Held || info.Oldest != 7*second+second/2 {
		t.Errorf("latest: %v %+v %v", T, info, fail.Err())
	}
	if _, _, fail = p.Latest(2499 * time.Millisecond); fail.Code != TooNew {
		t.Errorf("an edge that lags too much: %v", fail.Err())
	}
}

func TestJointsAndMimics(t *testing.T) {
	s := New(Config{})
	spec := JointSpec{Name: "grip", Type: urdf.Prismatic, Origin: Translation(0, 0, 1), Axis: Vec3{X: 1}}
	must[*JointEdge](t)(s.Joint("hand", "left", spec))
	spec = JointSpec{Name: "other", Type: urdf.Prismatic, Origin: Translation(0, 0, 1), Axis: Vec3{X: 1}, Mimic: &Mimic{"grip", -2, 0.5}}
	other := must[*JointEdge](t)(s.Joint("hand", "right", spec))
	refused(t, other.Set(0, 1, 0), engram.Unsupported)
	p := pathOf(t, s, "hand", "right")

	_, _, fail := p.At(0)
	if parent, child := fail.Edge(); fail.Code != Unset || parent != "hand" || child != "right" {
		t.Errorf("unset: %v", fail.Err())
	}
	ok(t, s.Configure("hand", "left", WhenUnset(UnsetPolicy{Use: true, Q: 0.25, Sigma: 0.1})))
	T, cov, info, fail := p.AtCov(0)
	if fail.Code != OK || T.T != (Vec3{0, 0, 1}) || info.Flags&Defaulted == 0 || math.Abs(cov.At(0, 0)-0.04) > 1e-15 {
		t.Errorf("defaulted: %v %v %v %v", T, cov, info.Flags, fail.Err())
	}
	// Values of the joint that mimics are the driver's hearsay.
	ok(t, s.SetJoints(second, []JointValue{{"grip", 0.1, 0}, {"other", 99, 0}}))
	ok(t, s.SetJoints(2*second, []JointValue{{Name: "grip", Q: 0.2}}))
	T, info, fail = p.At(second + second/2)
	if fail.Code != OK || math.Abs(T.T.X-(-2*0.15+0.5)) > 1e-15 || info.Flags != Interpolated {
		t.Errorf("mimic: %v %v %v", T, info.Flags, fail.Err())
	}
}

// TestContinuousJoint goes over the seam of a joint that reports within ±π.
func TestContinuousJoint(t *testing.T) {
	s := New(Config{})
	j := must[*JointEdge](t)(s.Joint("mast", "radar", JointSpec{Name: "spin", Type: urdf.Continuous, Origin: Identity(), Axis: Vec3{Z: 1}}))
	ok(t, j.Set(0, 3, 0))
	ok(t, j.Set(second, -3, 0))
	T, _, fail := pathOf(t, s, "mast", "radar").At(second / 2)
	ok(t, fail.Err())
	if got := T.R.Angle(); math.Abs(got-math.Pi) > 1e-12 {
		t.Errorf("half way from 3 to -3 rad is %g; want π", got)
	}
}

// What mimics a continuous joint goes the way of that, whatever it is itself, and what
// mimics another joint does not go the short way round.
func TestMimicsOfContinuousJoints(t *testing.T) {
	s := New(Config{})
	joint := func(name string, of urdf.JointType, mimic *Mimic) {
		t.Helper()
		must[*JointEdge](t)(s.Joint("mast", name, JointSpec{Name: name, Type: of, Origin: Identity(), Axis: Vec3{Z: 1}, Mimic: mimic}))
	}
	joint("spin", urdf.Continuous, nil)
	joint("bend", urdf.Revolute, nil)
	joint("same", urdf.Revolute, &Mimic{"spin", 1, 0})
	joint("double", urdf.Continuous, &Mimic{"spin", 2, 0.5})
	joint("lift", urdf.Prismatic, &Mimic{"spin", 0.1, 1})
	joint("chain", urdf.Prismatic, &Mimic{"lift", 2, 1}) // 0.2·q + 3
	joint("follow", urdf.Continuous, &Mimic{"bend", 1, 0})
	joint("chain", urdf.Prismatic, &Mimic{"lift", 2, 1}) // the same again
	for i, q := range []float64{3, -3} {
		ok(t, s.SetJoints(engram.Time(i)*second, []JointValue{{Name: "spin", Q: q, Sigma: 0.1}, {Name: "bend", Q: q}}))
	}
	for name, want := range map[string]float64{"spin": math.Pi, "same": math.Pi, "double": 0.5, "follow": 0, "bend": 0} {
		T, _, fail := s.Lookup("mast", name, second/2)
		if fail.Code != OK || math.Abs(T.R.Angle()-want) > 1e-9 {
			t.Errorf("half way %s is at %g, %v; want %g", name, T.R.Angle(), fail.Err(), want)
		}
	}
	for name, want := range map[string]float64{"lift": 1 + 0.1*math.Pi, "chain": 3 + 0.2*math.Pi} {
		T, _, fail := s.Lookup("mast", name, second/2)
		if fail.Code != OK || math.Abs(T.T.Z-want) > 1e-12 {
			t.Errorf("half way %s is at %g, %v; want %g", name, T.T.Z, fail.Err(), want)
		}
	}
	_, cov, _, _ := pathOf(t, s, "mast", "chain").AtCov(0)
	if math.Abs(cov.At(2, 2)-0.02*0.02) > 1e-15 {
		t.Errorf("what mimics a mimic has variance %g", cov.At(2, 2))
	}
}

// A joint that mimics another has the options of that one.
func TestMimicsHaveTheOptionsOfTheirJoint(t *testing.T) {
	s := New(Config{})
	spec := JointSpec{Name: "pan", Type: urdf.Revolute, Origin: Identity(), Axis: Vec3{Z: 1}}
	must[*JointEdge](t)(s.Joint("mast", "head", spec, Sigma(0.1)))
	spec = JointSpec{Name: "tilt", Type: urdf.Revolute, Origin: Identity(), Axis: Vec3{Y: 1}, Mimic: &Mimic{"pan", 2, 0}}
	must[*JointEdge](t)(s.Joint("mast", "eye", spec, MaxGap(time.Nanosecond)))
	for i := range engram.Time(2) {
		ok(t, s.SetJoints(i*second, []JointValue{{Name: "pan"}}))
	}
	p := pathOf(t, s, "mast", "eye")
	if _, cov, _, fail := p.AtCov(second / 2); fail.Code != OK || math.Abs(cov.At(4, 4)-0.04) > 1e-15 {
		t.Errorf("%v %v", cov, fail.Err())
	}
	ok(t, s.Configure("mast", "head", Hold(time.Second), Sigma(0.2)))
	if _, cov, info, fail := p.AtCov(2 * second); fail.Code != OK || info.Flags&Held == 0 || math.Abs(cov.At(4, 4)-0.16) > 1e-15 {
		t.Errorf("configured: %v %v %v", cov, info.Flags, fail.Err())
	}
	refused(t, s.Configure("mast", "eye", Hold(time.Second)), engram.Unsupported, "tilt", "mimics pan")
}

// Nothing interpolates across the time at which the child of a joint goes elsewhere,
// though the joint's values go on, for those that mimic it.
func TestReparentJoint(t *testing.T) {
	s := New(Config{MaxGap: -1})
	spec := JointSpec{Name: "pan", Type: urdf.Prismatic, Origin: Identity(), Axis: Vec3{X: 1}}
	must[*JointEdge](t)(s.Joint("mast", "head", spec))
	spec = JointSpec{Name: "tilt", Type: urdf.Prismatic, Origin: Identity(), Axis: Vec3{Y: 1}, Mimic: &Mimic{"pan", 1, 0}}
	must[*JointEdge](t)(s.Joint("mast", "eye", spec))
	set := func(at engram.Time) {
		t.Helper()
		ok(t, s.SetJoints(at, []JointValue{{Name: "pan", Q: float64(at) / float64(second)}}))
	}
	for i := range engram.Time(30) {
		set(i * second)
	}
	before := s.Revision()
	hand := must[*FreeEdge](t)(s.Reparent(4*second+second/2, "hand", "head"))
	ok(t, hand.Set(5*second, Identity()))
	set(2*second + second/2)
	for _, c := range []struct {
		child string
		at    engram.Time
		code  FailureCode
	}{
		{"head", 4 * second, OK}, {"head", 4*second + 1, Gap}, {"head", 2*second + second/4, OK},
		{"eye", 4*second + second/4, OK}, {"eye", 29 * second, OK}, {"eye", 30 * second, TooNew},
	} {
		for name, v := range map[string]*View{"now": s.Now(), "before": must[*View](t)(s.View(AsOf(before)))} {
			T, _, fail := must[*Path](t)(v.Path("mast", c.child)).At(c.at)
			code := c.code
			if name == "before" && code == Gap {
				code = OK
			}
			if fail.Code != code || code == OK && math.Abs(T.T.Norm()-float64(c.at)/1e9) > 1e-12 {
				t.Errorf("%s, %s at %v: %v %v; want %v", name, c.child, c.at, T, fail.Err(), code)
			}
		}
		T, _, fail := s.Lookup("mast", c.child, c.at)
		_, _, _, failCov := pathOf(t, s, "mast", c.child).AtCov(c.at)
		if fail.Code != c.code || failCov.Code != c.code {
			t.Errorf("%s at %v: %v %v, %v", c.child, c.at, T, fail.Err(), failCov.Code)
		}
	}
	changes := must[[]Change](t)(s.Diff("mast", "head", before, s.Revision(), Threshold{}))
	if len(changes) != 1 || !changes[0].Failed || changes[0].Start < 4*second || changes[0].Start > 4*second+1 {
		t.Errorf("changes %+v", changes)
	}
}

func TestReparent(t *testing.T) {
	s := New(Config{MaxGap: -1})
	table := must[*FreeEdge](t)(s.Free("table", "cup"))
	must[*FreeEdge](t)(s.Free("table", "hand"))
	line(t, table)
	hand := must[*FreeEdge](t)(s.Reparent(5*second, "hand", "cup"))
	ok(t, hand.Set(6*second, Translation(0, 0, 6)))
	ok(t, hand.Set(8*second, Translation(0, 0, 8)))
	refused(t, table.Set(5*second, Identity()), engram.Conflict, "cup hangs on hand")
	refused(t, hand.Set(5*second-1, Identity()), engram.Conflict, "cup hangs on table")
	back := must[*FreeEdge](t)(s.Reparent(9*second, "table", "cup"))
	if back != table {
		t.Error("the edge back on the table has another handle")
	}
	ok(t, table.Set(9*second, Translation(0, 9, 0)))
	_, err := s.Reparent(7*second, "cup", "hand")
	refused(t, err, engram.Conflict, "loop")

	for _, c := range []struct {
		parent string
		at     engram.Time
		code   FailureCode
		want   Vec3
	}{
		{"table", 3*second + second/2, OK, Vec3{3.5, 0, 0}},
		{"table", 4 * second, OK, Vec3{4, 0, 0}},
		{"table", 4*second + 1, Gap, Vec3{}}, // not towards what it was in the hand
		{"table", 5 * second, Unset, Vec3{}}, // the hand's own edge was never set
		{"hand", 5 * second, TooOld, Vec3{}},
		{"hand", 7 * second, OK, Vec3{0, 0, 7}},
		{"hand", 8*second + 1, Gap, Vec3{}},
		{"table", 9 * second, OK, Vec3{0, 9, 0}},
		{"table", 9*second + 1, TooNew, Vec3{}},
	} {
		T, _, fail := s.Lookup(c.parent, "cup", c.at)
		if fail.Code != c.code || c.code == OK && T.T != c.want {
			t.Errorf("%s ← cup at %v: %v, %v; want %v, %v", c.parent, c.at, T.T, fail.Code, c.want, c.code)
		}
	}
	// The revision before knows nothing of the hand.
	v := must[*View](t)(s.View(0))
	T, _, fail := must[*Path](t)(v.Path("table", "cup")).At(7 * second)
	if fail.Code != OK || T.T.X != 7 {
		t.Errorf("before the cup was grasped: %v %v", T, fail.Err())
	}
}

// TestClear clears a joint that retention has pruned: values of any time are taken, by it and by what mimics it, also where an
// acquisition holds on to what was there. A view of before does not change.
func TestClear(t *testing.T) {
	s := New(Config{})
	spec := JointSpec{Name: "pan", Type: urdf.Prismatic, Origin: Identity(), Axis: Vec3{X: 1}}
	pan := must[*JointEdge](t)(s.Joint("base", "head", spec, Keep(Retention{MaxCount: 16})))
	spec.Name, spec.Mimic = "lid", &Mimic{Joint: "pan", Multiplier: 2}
	lid := must[*JointEdge](t)(s.Joint("head", "lid", spec))
	for i := range engram.Time(200) {
		ok(t, pan.Set(i*second, float64(i), 0))
	}
	must[Acquisition](t)(s.Acquire("head", 190*second))
	refused(t, pan.Set(2*second, 1, 0), engram.TooOld, "pan")

	before := s.Now()
	pan.Clear()
	lid.Clear() // has none of its own
	if _, _, fail := must[*Path](t)(s.Now().Path("base", "lid")).At(199 * second); fail.Code != Unset {
		t.Errorf("after it was cleared: %v", fail.Err())
	}
	if T, _, fail := must[*Path](t)(before.Path("base", "lid")).At(199 * second); fail.Code != OK || T.T.X != 3*199 {
		t.Errorf("by a view of before: %v %v", T, fail.Err())
	}
	ok(t, pan.Set(2*second, 1, 0))
	ok(t, pan.Set(3*second, 2, 0))
	if T, _, fail := s.Lookup("base", "lid", 2*second+second/2); fail.Code != OK || T.T.X != 4.5 {
		t.Errorf("of what was set then: %v %v", T, fail.Err())
	}
}
