package pose

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

// One sample that was always alone has no motion to continue and is held, which the flags say;
// one whose predecessors were dropped is not taken for that.
func TestExtrapolateFromOneSample(t *testing.T) {
	s := New(Config{})
	e := must[*FreeEdge](t)(s.Free("map", "cup", Extrapolate(10*time.Second), Keep(Retention{MaxCount: 8})))
	at := func(when engram.Time, x float64, flags Flags, code FailureCode) {
		t.Helper()
		p, info, fail := s.Lookup("map", "cup", when)
		if fail.Code != code || code == OK && (p.T.X != x || info.Flags != flags) {
			t.Errorf("at %v: %v, %v, %v; want %g, %v, %v", when, p, info.Flags, fail.Err(), x, flags, code)
		}
	}
	ok(t, e.Set(0, Identity()))
	at(second/2, 0, Held|Extrapolated, OK)
	for i := range engram.Time(17) {
		ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
	}
	if info := s.Edges()[0]; info.Pruned != 8 {
		t.Fatalf("%+v", info)
	}
	at(16*second+second/2, 16.5, Extrapolated, OK)
	must[*FreeEdge](t)(s.Reparent(9*second, "hand", "cup"))
	at(8*second, 8, 0, OK)
	at(8*second+second/2, 0, 0, Pruned)
	if _, _, _, fail := pathOf(t, s, "map", "cup").AtCov(8*second + second/2); fail.Code != Pruned {
		t.Errorf("with the covariance: %v", fail.Err())
	}
}

// The options of a period add to those of the last one, by time, under the same parent.
func TestReparentAddsToTheOptionsOfTheLastPeriod(t *testing.T) {
	s := New(Config{})
	ok(t, must[*FreeEdge](t)(s.Free("map", "cup", Hold(time.Second))).Set(0, Identity()))
	must[*FreeEdge](t)(s.Reparent(5*second, "hand", "cup"))
	late := must[*FreeEdge](t)(s.Reparent(20*second, "map", "cup", Extrapolate(3*time.Second)))
	ok(t, late.Set(20*second, Identity()))
	must[*FreeEdge](t)(s.Reparent(10*second, "map", "cup")) // until 20 s
	ok(t, must[*FreeEdge](t)(s.Free("map", "cup")).Set(10*second, Identity()))
	for _, c := range []struct {
		at   engram.Time
		code FailureCode
	}{
		{1 * second, OK}, {2 * second, Gap}, {13 * second, OK}, {14 * second, Gap}, {23 * second, OK}, {24 * second, TooNew},
	} {
		if _, _, fail := s.Lookup("map", "cup", c.at); fail.Code != c.code {
			t.Errorf("at %v: %v; want %v", c.at, fail.Err(), c.code)
		}
	}
}

// To name the parent again says nothing; to name it from an earlier time on is another period,
// and nothing goes from one to the other.
func TestTwoReparentsToOneParent(t *testing.T) {
	for _, c := range []struct {
		order   []engram.Time
		periods int
		before  FailureCode // between the last pose before the second time and that
		after   FailureCode // between that and the first pose after it
	}{
		{[]engram.Time{1, 5}, 1, OK, OK}, {[]engram.Time{5, 1}, 2, Gap, TooOld},
	} {
		s := New(Config{MaxGap: -1})
		ok(t, must[*FreeEdge](t)(s.Free("map", "cup")).Set(0, Identity()))
		for _, at := range c.order {
			must[*FreeEdge](t)(s.Reparent(at*second, "hand", "cup"))
		}
		e := must[*FreeEdge](t)(s.Free("hand", "cup"))
		ok(t, e.Set(4*second, Translation(4, 0, 0)))
		ok(t, e.Set(6*second, Translation(6, 0, 0)))
		if n := len(s.Edges()) - 1; n != c.periods {
			t.Errorf("%v: %d periods on the hand, want %d", c.order, n, c.periods)
		}
		for at, code := range map[engram.Time]FailureCode{4 * second: OK, 45e8: c.before, 55e8: c.after, 6 * second: OK} {
			if _, _, fail := s.Lookup("hand", "cup", at); fail.Code != code {
				t.Errorf("%v at %v: %v, want %v", c.order, at, fail.Err(), code)
			}
		}
	}
}

// A sample of Retrace without a covariance has that of the edge's noise, as one that is set has.
func TestRetraceWithoutCovariance(t *testing.T) {
	s := New(Config{})
	noise := DiagonalCov(0.1, 0.2)
	span := Span{Parent: "map", Samples: []Sample{{0, Identity(), Cov{}}, {second, Identity(), ExactCov()}}}
	must[*FreeEdge](t)(s.Retrace("cup", []Span{span}, Uncertain(ConstantNoise(noise))))
	must[*FreeEdge](t)(s.Retrace("mug", []Span{span}))
	for _, c := range []struct {
		frame string
		at    engram.Time
		want  Cov
	}{
		{"cup", 0, noise}, {"cup", second, ExactCov()}, {"mug", 0, Cov{}}, {"mug", second, ExactCov()},
	} {
		if got := covAt(t, s, "map", c.frame, c.at); got != c.want {
			t.Errorf("%s at %v: %v, want %v", c.frame, c.at, got, c.want)
		}
	}
}

// A Localize that a later Key overrules leaves nothing behind, but must be possible; and what it
// would have come to is told all the same.
func TestKeyOverrulesLocalize(t *testing.T) {
	s := New(Config{})
	ok(t, s.Anchor("map", "odom"))
	ok(t, must[*FreeEdge](t)(s.Free("odom", "base")).Set(second, Translation(1, 0, 0)))
	tx := s.Begin("slam")
	tx.Localize("map", "base", second, Translation(5, 0, 0), DiagonalCov(0.1, 0.1))
	tx.Key("map", "odom", second, Translation(9, 0, 0), ExactCov())
	if found, err := tx.Check(); err != nil || len(found) != 1 || found[0].Pose != Translation(4, 0, 0) {
		t.Errorf("%+v, %v", found, err)
	}
	must[Revision](t)(tx.Commit())
	if p, cov, _, fail := pathOf(t, s, "map", "odom").AtCov(second); fail.Code != OK || p != Translation(9, 0, 0) || cov != ExactCov() {
		t.Errorf("%v, %v, %v", p, cov, fail.Err())
	}
	tx = s.Begin("slam")
	tx.Localize("map", "base", 7*second, Identity(), Cov{}) // odometry does not know
	tx.Key("map", "odom", 7*second, Translation(9, 0, 0), ExactCov())
	_, err := tx.Commit()
	refused(t, err, engram.TooNew)
}

// What was stated of the edge before, at or after a re-parenting, is forgotten: it says nothing of
// the time before, nor of a later rest on the same parent.
func TestReparentForgetsStatements(t *testing.T) {
	for _, parent := range []string{"hand", ""} {
		s := New(Config{})
		say := func(at engram.Time, x float64) {
			t.Helper()
			ok(t, s.Statements("driver").Observe(at*second, "table", "cup", Translation(x, 0, 0), Cov{}))
		}
		at := func(x float64, times ...engram.Time) {
			t.Helper()
			for _, when := range times {
				if p, _, fail := s.Lookup("table", "cup", when*second); fail.Code != OK || p.T.X != x {
					t.Errorf("%q: at %d s: %v, %v; want %g", parent, when, p, fail.Err(), x)
				}
			}
		}
		say(0, 1)
		say(20, 2)
		at(2, 5, 15, 25)
		rev := s.Revision()
		must[*FreeEdge](t)(s.Reparent(10*second, parent, "cup"))
		at(1, 5)
		if s.Revision() != rev+1 {
			t.Errorf("%q: it is %d revisions", parent, s.Revision()-rev)
		}
		say(12, 3)
		at(3, 15, 25)
	}
}

// A frame that is on nothing from a time on is so however it came to be on nothing before.
func TestTwoReparentsToNothing(t *testing.T) {
	s := New(Config{})
	must[*FreeEdge](t)(s.Free("table", "cup"))
	for _, at := range []engram.Time{10, 5} {
		must[*FreeEdge](t)(s.Reparent(at*second, "", "cup"))
	}
	ok(t, must[*FreeEdge](t)(s.Reparent(7*second, "hand", "cup")).Set(9*second, Identity()))
	all := s.Edges()
	if last := all[len(all)-1]; last.Parent != "hand" || last.Valid != (engram.Interval{Start: 7 * second, End: 10 * second}) {
		t.Errorf("%+v", all)
	}
}
