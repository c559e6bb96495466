package pose

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// Whatever the order in which poses with their parents come, the answers are those
// of the order in which they were true.
func TestObserveInAnyOrder(t *testing.T) {
	parents := []string{"table", "gripper", "shelf"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "samples")
		var samples []int // the parent, by time
		for range n {
			samples = append(samples, rapid.IntRange(0, len(parents)-1).Draw(t, "parent"))
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		write := func(order []int) *Store {
			s := New(Config{MaxGap: -1})
			for _, p := range parents[1:] {
				if err := s.Fixed(parents[0], p, Translation(0, 100, 0), ExactCov()); err != nil {
					t.Fatal(err)
				}
			}
			for _, i := range order {
				at, parent := engram.Time(i)*1e9, parents[samples[i]]
				before := s.Revision()
				changes, err := s.CheckObserve(at, parent, "cup")
				if err != nil || s.Revision() != before {
					t.Fatalf("%v at %v: %v", parent, at, err)
				}
				e, err := s.Observe(at, parent, "cup")
				if err != nil {
					t.Fatal(err)
				}
				if again, err := s.CheckObserve(at, parent, "cup"); again || err != nil {
					t.Fatalf("%v at %v again: %v, %v", parent, at, again, err)
				}
				if !changes && s.Revision() != before {
					t.Fatalf("%v at %v was to change nothing, and is a revision", parent, at)
				}
				if err := e.Set(at, Translation(float64(i), 0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}
		inOrder, shuffled := write(order), write(rapid.Permutation(order).Draw(t, "order"))
		for at := engram.Time(-1e9); at <= engram.Time(n)*1e9; at += 25e7 {
			a, infoA, failA := inOrder.Lookup("table", "cup", at)
			b, infoB, failB := shuffled.Lookup("table", "cup", at)
			if a != b || infoA.Flags != infoB.Flags || failA.Code != failB.Code {
				t.Fatalf("at %v: %v %v %v in order; %v %v %v else", at, a, infoA.Flags, failA.Err(), b, infoB.Flags, failB.Err())
			}
			if i := int(at / 1e9); at%1e9 == 0 && i >= 0 && i < n {
				want := Translation(float64(i), 0, 0)
				if samples[i] != 0 {
					want.T.Y = 100
				}
				if failA.Code != OK || a != want {
					t.Fatalf("at %v: %v, %v; want %v", at, a, failA.Err(), want)
				}
			}
		}
		periods := func(s *Store) (out []EdgeInfo) {
			for _, e := range s.Edges() {
				if e.Child == "cup" {
					e.Bytes = 0
					out = append(out, e)
				}
			}
			return out
		}
		if a, b := periods(inOrder), periods(shuffled); !slices.Equal(a, b) {
			t.Fatalf("edges %+v in order; %+v else", a, b)
		}
	})
}

// Statements of rest and poses in motion come in any order, with the parents that they name,
// and the newest at or before a time counts, whichever was known first. While a frame rests,
// the value stated last counts for all of the rest; what rests first did so before.
func TestStatementsInAnyOrder(t *testing.T) {
	type said struct {
		parent int
		rests  bool
		x      float64
	}
	parents := []string{"table", "gripper", "shelf"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, maxStated).Draw(t, "statements")
		all := make([]said, n) // by time
		order := make([]int, n)
		for i := range all {
			all[i] = said{rapid.IntRange(0, 2).Draw(t, "parent"), rapid.Bool().Draw(t, "rests"), float64(10 * i)}
			if all[i].rests {
				all[i].x = float64(rapid.IntRange(1, 2).Draw(t, "value"))
			}
			order[i] = i
		}
		s := New(Config{MaxGap: -1})
		for i, p := range parents[1:] {
			if err := s.Fixed(parents[0], p, Translation(0, float64(100*(i+1)), 0), ExactCov()); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range rapid.Permutation(order).Draw(t, "order") {
			at, parent, p := engram.Time(i)*1e9, parents[all[i].parent], Translation(all[i].x, 0, 0)
			if all[i].rests {
				before := s.Revision()
				_, err := s.Statements("driver").Check(at, parent, "cup")
				if err != nil || s.Revision() != before {
					t.Fatal(err)
				}
				for range 2 { // publishers repeat themselves
					if err := s.Statements("driver").Observe(at, parent, "cup", p, Cov{}); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			e, err := s.Observe(at, parent, "cup")
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Set(at, p); err != nil {
				t.Fatal(err)
			}
		}
		for at := engram.Time(-1e9); at <= engram.Time(n)*1e9; at += 25e7 {
			i, u := int(at/1e9), float64(at%1e9)/1e9
			if i >= n {
				i, u = n-1, 1
			}
			want, known := Pose{}, true
			switch {
			case at < 0 && !all[0].rests:
				known = false
			case all[max(i, 0)].rests:
				i, first := max(i, 0), all[max(i, 0)]
				for i+1 < n && all[i+1].rests && all[i+1].parent == first.parent {
					i++
				}
				want = Translation(all[i].x, float64(100*first.parent), 0)
			default:
				known = u == 0 || i+1 < n && !all[i+1].rests && all[i+1].parent == all[i].parent
				want = Translation(all[i].x+10*u, float64(100*all[i].parent), 0)
			}
			got, _, fail := s.Lookup("table", "cup", at)
			if (fail.Code == OK) != known || known && poseError(got, want) > 1e-9 {
				t.Fatalf("at %v: %v, %v; want %v, %v", at, got, fail.Err(), want, known)
			}
		}
	})
}

// What was stated already is found to be so in the present content, without a lock and a copy of it.
func TestRepeatedStatementTakesNoLock(t *testing.T) {
	s := New(Config{})
	say := func(at engram.Time) {
		t.Helper()
		ok(t, s.Statements("driver").Observe(at, "base", "cam", Translation(1, 0, 0), Cov{}))
	}
	for i := range engram.Time(maxStated) {
		say(i)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		say(3)             // that very statement
		say(2 * maxStated) // one more that says the same
	}()
	<-done
}

// What was stated again does not undo a calibration, another value does, as a revision of its
// author; and of a frame that nobody observed nothing can be stated.
func TestStatementsAndCalibrations(t *testing.T) {
	s := New(Config{})
	say := func(at engram.Time, x float64) {
		t.Helper()
		ok(t, s.Statements("driver").Observe(at, "base", "cam", Translation(x, 0, 0), Cov{}))
	}
	at := func(when engram.Time, x float64) {
		t.Helper()
		if p, _, fail := s.Lookup("base", "cam", when); fail.Code != OK || p.T.X != x {
			t.Errorf("at %v: %v, %v; want %g", when, p, fail.Err(), x)
		}
	}
	say(1e9, 1)
	tx := s.Begin("calibration")
	tx.Fix("base", "cam", engram.Interval{Start: 3e9, End: 5e9}, Translation(7, 0, 0), ExactCov())
	rev := must[Revision](t)(tx.Commit())
	for i := range engram.Time(20) {
		say((2+i)*1e9, 1)
	}
	at(2e9, 1)
	at(4e9, 7)
	at(9e9, 1)
	if s.Revision() != rev || len(s.states.now().content.frames.at(1).stated) != maxStated {
		t.Errorf("what was stated already is revision %d, %d statements are remembered", s.Revision()-rev, len(s.states.now().content.frames.at(1).stated))
	}
	say(30e9, 2)
	at(0, 2)
	at(4e9, 2)
	if all := s.Revisions(); len(all) != 3 || all[2].Author != "driver" {
		t.Errorf("%+v", all)
	}
	if v := must[*View](t)(s.View(AsOf(rev))); v != nil {
		if p, _, _ := must[*Path](t)(v.Path("base", "cam")).At(4e9); p.T.X != 7 {
			t.Errorf("the calibration of then: %v", p)
		}
	}
	ok(t, s.Fixed("base", "mast", Identity(), ExactCov()))
	must[*JointEdge](t)(s.Joint("base", "arm", JointSpec{Name: "arm", Type: urdf.Prismatic, Origin: Identity(), Axis: Vec3{1, 0, 0}}))
	for child, parent := range map[string]string{"mast": "base", "cam": "cam", "arm": "base", "base": "cam"} {
		_, err := s.Statements("driver").Check(1e9, parent, child)
		refused(t, err, engram.Conflict, child)
		refused(t, s.Statements("driver").Observe(1e9, parent, child, Identity(), Cov{}), engram.Conflict, child)
	}
	refused(t, s.Statements("driver").Observe(1e9, "mast", "cam", Identity(), Cov{}), engram.Conflict, "second parent") // at that very time
	refused(t, s.Statements("driver").Observe(engram.MaxTime, "mast", "cam", Identity(), Cov{}), engram.OutOfRange, "")
	refused(t, s.Statements("driver").Observe(2e9, "mast", "cam", Pose{}, Cov{}), engram.Invalid, "")
	at(9e9, 2)
}

func TestObserveRefuses(t *testing.T) {
	s := New(Config{})
	e, err := s.Observe(1e9, "table", "cup")
	if err != nil || s.Revision() != 0 {
		t.Fatal(err, s.Revision())
	}
	if err := e.Set(1e9, Identity()); err != nil {
		t.Fatal(err)
	}
	if err := s.Fixed("room", "table", Identity(), ExactCov()); err != nil {
		t.Fatal(err)
	}
	if err := s.Anchor("room", "odom"); err != nil {
		t.Fatal(err)
	}
	edges := s.Edges()
	for _, c := range []struct {
		t             engram.Time
		parent, child string
		want          engram.Code
	}{
		{1e9, "gripper", "cup", engram.Conflict}, // it is on the table at that very time
		{2e9, "cup", "cup", engram.Conflict},
		{2e9, "cup", "table", engram.Conflict}, // fixed
		{2e9, "cup", "room", engram.Conflict},  // a loop
		{2e9, "room", "odom", engram.Conflict}, // an anchor
		{2e9, "gripper", "", engram.Invalid},
		{engram.MaxTime, "gripper", "cup", engram.OutOfRange},
	} {
		if _, err := s.CheckObserve(c.t, c.parent, c.child); engram.CodeOf(err) != c.want {
			t.Errorf("checked %+v: %v", c, err)
		}
		if _, err := s.Observe(c.t, c.parent, c.child, MaxGap(time.Second)); engram.CodeOf(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := s.Observe(2e9, "gripper", "cup", Uncertain(ConstantNoise(Cov{Mask: 0xff}))); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("an impossible option: %v", err)
	}
	if err := e.Set(3e9, Identity()); err != nil {
		t.Errorf("after refusals: %v", err)
	}
	if after := s.Edges(); len(after) != len(edges) || s.Revision() != 0 {
		t.Errorf("refusals left %+v, revision %d", after, s.Revision())
	}
}

// A transaction that is refused leaves no anchor behind, one that is checked only
// changes nothing, and what it localizes is told.
func TestTxAnchorAndCheck(t *testing.T) {
	s := New(Config{})
	e, err := s.Free("odom", "base")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Set(1e9, Translation(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	refused := s.Begin("slam")
	refused.Anchor("map", "odom")
	refused.Key("map", "odom", 1e9, Identity(), Cov{})
	refused.Localize("map", "base", 9e9, Identity(), Cov{}) // odometry does not know
	if _, err := refused.Check(); engram.CodeOf(err) != engram.TooNew {
		t.Errorf("checked: %v", err)
	}
	if _, err := refused.Commit(); engram.CodeOf(err) != engram.TooNew {
		t.Errorf("committed: %v", err)
	}
	if edges := s.Edges(); len(edges) != 1 || s.Revision() != 0 {
		t.Errorf("a refused transaction left %+v", edges)
	}
	if err := s.Anchor("earth", "odom"); err != nil {
		t.Errorf("a refused transaction's parent stands in the way: %v", err)
	}
	tx := s.Begin("slam")
	tx.Anchor("earth", "odom")
	tx.Localize("earth", "base", 1e9, Translation(5, 0, 0), DiagonalCov(0.1, 0.1))
	for range 2 {
		found, err := tx.Check()
		if err != nil || len(found) != 1 || found[0].Child != "odom" || found[0].Pose != Translation(4, 0, 0) || found[0].Cov.State() != Estimated || s.Revision() != 0 {
			t.Errorf("checked %+v, %v", found, err)
		}
	}
	if rev, err := tx.Commit(); err != nil || rev != 1 {
		t.Error(rev, err)
	}
}
