package pose

import (
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
)

// Each pose of a body goes to the anchor that it is below at that time.
func TestLocalizeAcrossAnchors(t *testing.T) {
	s := New(Config{MaxGap: -1})
	ok(t, s.Anchor("site", "odomA"))
	ok(t, s.Anchor("site", "odomB"))
	a := must[*FreeEdge](t)(s.Free("odomA", "base"))
	ok(t, a.Set(0, Translation(10, 0, 0)))
	b := must[*FreeEdge](t)(s.Reparent(second, "odomB", "base"))
	ok(t, b.Set(second, Translation(1000, 0, 0)))
	tx := s.Begin("slam")
	tx.Localize("site", "base", 0, Translation(100, 0, 0), ExactCov())
	tx.Localize("site", "base", second, Translation(200, 0, 0), ExactCov())
	found, err := tx.Check()
	ok(t, err)
	if len(found) != 2 || found[0].Child != "odomA" || found[0].Pose != Translation(90, 0, 0) || found[1].Child != "odomB" || found[1].Pose != Translation(-800, 0, 0) {
		t.Errorf("corrections %+v", found)
	}
	must[Revision](t)(tx.Commit())
	for at, x := range map[engram.Time]float64{0: 100, second: 200} {
		if T, _, fail := s.Lookup("site", "base", at); fail.Code != OK || T.T.X != x {
			t.Errorf("at %v: %v %v; want x = %g", at, T, fail.Err(), x)
		}
	}
}

// A body is where the transaction says, whatever else the transaction changes on the
// way to it, and in whichever order.
func TestTransactionsHaveNoOrder(t *testing.T) {
	for name, ops := range map[string][3]func(tx *Tx){
		"a calibration": {
			func(tx *Tx) { tx.Localize("earth", "cam", second, Translation(100, 0, 0), ExactCov()) },
			func(tx *Tx) { tx.Fix("base", "cam", engram.Always(), Translation(3, 0, 0), ExactCov()) },
			func(tx *Tx) {},
		},
		"a nested anchor": {
			func(tx *Tx) { tx.Localize("earth", "cam", second, Translation(100, 0, 0), ExactCov()) },
			func(tx *Tx) { tx.Key("site", "odom", second, Translation(-1, 0, 0), ExactCov()) },
			func(tx *Tx) { tx.Replace("site", "odom", engram.Interval{Start: 0, End: second}) },
		},
		"the same body below both": {
			func(tx *Tx) { tx.Localize("earth", "cam", second, Translation(100, 0, 0), ExactCov()) },
			func(tx *Tx) { tx.Localize("site", "base", second, Translation(7, 0, 0), ExactCov()) },
			func(tx *Tx) {
				tx.Fix("base", "cam", engram.Interval{Start: second, End: 2 * second}, Translation(0, 5, 0), ExactCov())
			},
		},
		"a new anchor": {
			func(tx *Tx) { tx.Localize("universe", "cam", second, Translation(100, 0, 0), ExactCov()) },
			func(tx *Tx) { tx.Anchor("universe", "earth") },
			func(tx *Tx) { tx.Key("earth", "site", 0, Translation(5, 0, 0), ExactCov()) },
		},
	} {
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			s := rover(t, Config{})
			ok(t, s.Anchor("earth", "site"))
			tx := s.Begin("slam")
			tx.Key("earth", "site", second/2, Translation(0, 0, 2), ExactCov())
			tx.Key("site", "odom", second/2, Translation(0, 3, 0), ExactCov())
			must[Revision](t)(tx.Commit())
			tx = s.Begin("slam")
			for _, i := range order {
				ops[i](tx)
			}
			if _, err := tx.Commit(); err != nil {
				t.Errorf("%s, order %v: %v", name, order, err)
				continue
			}
			world := "earth"
			if name == "a new anchor" {
				world = "universe"
			}
			T, _, fail := s.Lookup(world, "cam", second)
			ok(t, fail.Err())
			if poseError(T, Translation(100, 0, 0)) > 1e-12 {
				t.Errorf("%s, order %v: the camera is at %v; want x = 100", name, order, T)
			}
		}
	}
}

// Two calls that say the same thing differently: the later counts.
func TestLaterCallCounts(t *testing.T) {
	for _, last := range []float64{1, 2} {
		s := rover(t, Config{})
		tx := s.Begin("slam")
		ops := []func(){
			func() { tx.Key("site", "odom", second, Translation(0, 0, 0), ExactCov()) },
			func() { tx.Localize("site", "base", second, Translation(2, 0, 0), ExactCov()) },
		}
		if last == 1 {
			ops[0], ops[1] = ops[1], ops[0]
		}
		for _, op := range ops {
			op()
		}
		must[Revision](t)(tx.Commit())
		if T, _, _ := s.Lookup("site", "base", second); T.T.X != last {
			t.Errorf("x = %g; want %g", T.T.X, last)
		}
	}
}

// Two anchors of which each is above the other at some time cannot both be localized.
func TestAnchorsThroughEachOther(t *testing.T) {
	s := New(Config{MaxGap: -1})
	ok(t, s.Anchor("a", "b"))
	ok(t, s.Anchor("c", "d"))
	free := func(e *FreeEdge, err error) {
		ok(t, err)
		ok(t, e.Set(0, Identity()))
	}
	// a ← b ← c ← d until 1 s, c ← d ← a ← b then
	free(s.Free("b", "c"))
	must[*FreeEdge](t)(s.Reparent(second, "", "c"))
	e := must[*FreeEdge](t)(s.Reparent(second, "d", "a"))
	ok(t, e.Set(second, Identity()))
	tx := s.Begin("slam")
	tx.Localize("a", "d", 0, Identity(), ExactCov())
	tx.Key("c", "d", 0, Identity(), ExactCov())
	tx.Localize("c", "b", second, Identity(), ExactCov())
	_, err := tx.Commit()
	refused(t, err, engram.Conflict, "two transactions")
	if s.Revision() != 2 {
		t.Errorf("revision %d", s.Revision())
	}
}

// A calibration that begins later is no event of re-parenting.
func TestReparentBeforeCalibration(t *testing.T) {
	half := second / 2
	fix := func(s *Store) {
		tx := s.Begin("calibration")
		tx.Fix("A", "C", engram.Interval{Start: half, End: second}, Translation(5, 0, 0), ExactCov())
		must[Revision](t)(tx.Commit())
	}
	for name, first := range map[string]bool{"calibrated first": true, "re-parented first": false} {
		for _, parent := range []string{"B", ""} {
			s := New(Config{})
			ok(t, s.Fixed("A", "C", Translation(1, 0, 0), ExactCov()))
			ok(t, s.Fixed("A", "B", Translation(0, 1, 0), ExactCov()))
			if first {
				fix(s)
			}
			e, err := s.Reparent(3*second/10, parent, "C")
			ok(t, err)
			if !first {
				fix(s)
			}
			if parent != "" {
				ok(t, e.Set(half, Translation(0, 0, 1)))
				ok(t, e.Set(second, Translation(0, 0, 1)))
			}
			for _, at := range []engram.Time{half, 3 * second / 4, second, 2 * second} {
				T, _, fail := s.Lookup("A", "C", at)
				switch {
				case parent == "" && fail.Code != NotConnected,
					parent != "" && at <= second && (fail.Code != OK || T.T != Vec3{0, 1, 1}),
					parent != "" && at > second && fail.Code != TooNew:
					t.Errorf("%s, on %q at %v: %v %v", name, parent, at, T, fail.Code)
				}
			}
			if T, _, _ := s.Lookup("A", "C", second/4); T.T.X != 1 {
				t.Errorf("%s: before, %v", name, T)
			}
			if n := len(s.Edges()); n != map[string]int{"B": 3, "": 2}[parent] {
				t.Errorf("%s, on %q: %d edges", name, parent, n)
			}
		}
	}
}

// A calibration does not touch the times at which the child hangs on the same parent
// by a history of poses.
func TestFixLeavesHistories(t *testing.T) {
	s := New(Config{MaxGap: -1})
	ok(t, s.Fixed("A", "C", Translation(1, 0, 0), ExactCov()))
	must[*FreeEdge](t)(s.Reparent(second, "B", "C"))
	e := must[*FreeEdge](t)(s.Reparent(2*second, "A", "C"))
	for i := engram.Time(2); i < 12; i++ {
		ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
	}
	tx := s.Begin("calibration")
	tx.Fix("A", "C", engram.Interval{Start: second / 2, End: 4*second + second/4}, Translation(9, 0, 0), ExactCov())
	must[Revision](t)(tx.Commit())
	for at, x := range map[engram.Time]float64{0: 1, second / 2: 9, 2*second + second/2: 2.5, 4*second + second/4: 4.25, 4*second + second/8: 4.125, 11 * second: 11} {
		if T, _, fail := s.Lookup("A", "C", at); fail.Code != OK || math.Abs(T.T.X-x) > 1e-12 {
			t.Errorf("at %v: %v %v; want x = %g", at, T, fail.Err(), x)
		}
	}
	if n := len(s.Edges()); n != 4 {
		t.Errorf("%d edges", n)
	}
}

// Who waits for a frame that was re-parented waits at the history that took over.
func TestWaitAfterObserve(t *testing.T) {
	s := New(Config{MaxGap: -1})
	set := func(at engram.Time, parent string) {
		t.Helper()
		e := must[*FreeEdge](t)(s.Observe(at, parent, "cup"))
		ok(t, e.Set(at, Identity()))
	}
	set(0, "table")
	set(2*second, "table")
	set(second, "hand")
	_, _, fail := s.Lookup("table", "cup", 3*second)
	if fail.Code != TooNew {
		t.Fatal(fail.Err())
	}
	written := fail.about.edge.written()
	set(3*second, "table")
	select {
	case <-written:
	default:
		t.Error("the write that answers it wakes nobody")
	}
}
