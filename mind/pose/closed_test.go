package pose

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// What is refused leaves the histories open.
func TestRefusedReparentLeavesNoTrace(t *testing.T) {
	s := New(Config{MaxGap: -1})
	e := must[*FreeEdge](t)(s.Free("table", "cup"))
	line(t, e)
	edges, frames := s.Edges(), s.states.now().content.frames.len()
	impossible := Uncertain(ConstantNoise(Cov{Mask: 0xff}))
	_, err := s.Reparent(5*second, "hand", "cup", impossible)
	refused(t, err, engram.Invalid, "noise")
	_, err = s.Observe(4*second+1, "hand", "cup", impossible)
	refused(t, err, engram.Invalid, "noise")
	ok(t, e.Set(7*second, Translation(70, 0, 0)))
	ok(t, e.Set(11*second, Translation(11, 0, 0)))
	for at, x := range map[engram.Time]float64{5 * second: 5, 7 * second: 70, 11 * second: 11} {
		if T, _, fail := s.Lookup("table", "cup", at); fail.Code != OK || T.T.X != x {
			t.Errorf("at %v: %v, %v; want x = %g", at, T, fail.Err(), x)
		}
	}
	if now := s.Edges(); len(now) != len(edges) || now[0].Samples != 12 || s.states.now().content.frames.len() != frames || s.Revision() != 1 {
		t.Errorf("left %+v in revision %d", now, s.Revision())
	}
}

// A write that succeeds while parents change can be looked up, whichever comes first.
func TestWritesBesideNewParents(t *testing.T) {
	const n = 300
	s := New(Config{MaxGap: -1})
	parents := [2]string{"table", "hand"}
	var edges [2]*FreeEdge
	for i, p := range parents {
		edges[i] = must[*FreeEdge](t)(s.Observe(engram.Time(i), p, "cup"))
		ok(t, edges[i].Set(engram.Time(i), Identity()))
	}
	var stored [2][]engram.Time
	var wg sync.WaitGroup
	for i, p := range parents {
		wg.Go(func() {
			for k := engram.Time(1); k < n; k++ {
				at := 2*((k*37)%n)*1000 + engram.Time(i)*1000 // out of order, and in turn
				if _, err := s.Observe(at, p, "cup"); err != nil {
					continue
				}
				switch err := edges[i].Set(at, Translation(float64(at), 0, 0)); engram.CodeOf(err) {
				case 0:
					stored[i] = append(stored[i], at)
				case engram.Conflict: // the other parent took over at once
				default:
					t.Error(err)
				}
				// Refused, and so without effect.
				_, err := s.Reparent(at, "shelf", "cup", Uncertain(ConstantNoise(Cov{Mask: 0xff})))
				if engram.CodeOf(err) != engram.Invalid {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i, p := range parents {
		if len(stored[i]) < n/2 {
			t.Errorf("%s: only %d writes", p, len(stored[i]))
		}
		for _, at := range stored[i] {
			if T, _, fail := s.Lookup(p, "cup", at); fail.Code != OK || T.T.X != float64(at) {
				t.Fatalf("the pose on the %s at %d was lost: %v %v", p, at, T, fail.Err())
			}
		}
	}
}

// Pins go to the histories that take over, and go from there when they are released.
func TestPinsFollowNewParents(t *testing.T) {
	s := New(Config{})
	e := must[*FreeEdge](t)(s.Free("table", "cup", Keep(Retention{MaxCount: 16})))
	line(t, e)
	a := must[Acquisition](t)(s.Acquire("cup", 2*second))
	b := must[Acquisition](t)(s.Acquire("cup", 2*second))
	late := must[Acquisition](t)(s.Acquire("cup", 9*second))
	must[*FreeEdge](t)(s.Reparent(300*second, "hand", "cup"))
	must[*FreeEdge](t)(s.Reparent(200*second, "hand", "cup"))
	for i := engram.Time(11); i < 200; i++ {
		ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
	}
	at := func(t engram.Time) FailureCode {
		_, _, fail := s.Lookup("table", "cup", t)
		return fail.Code
	}
	if at(2*second) != OK || at(9*second) != OK || at(3*second) != Pruned {
		t.Fatalf("pinned: %v and %v; not pinned: %v", at(2*second), at(9*second), at(3*second))
	}
	ok(t, s.Release(a.ID))
	if at(2*second) != OK {
		t.Error("what another acquisition relies on was let go")
	}
	ok(t, s.Release(b.ID))
	ok(t, s.Release(late.ID))
	if at(2*second) != Pruned || at(9*second) != Pruned {
		t.Error("the samples outlive their release")
	}
	// A sensor that cannot be acquired pins nothing.
	must[*JointEdge](t)(s.Joint("cup", "lid", JointSpec{Name: "lid", Origin: Identity(), Axis: Vec3{Z: 1}, Type: urdf.Revolute}))
	_, err := s.Acquire("lid", 199*second)
	refused(t, err, engram.NotFound, "cup ← lid")
	for _, span := range *e.spans.Load() {
		if n := len(span.h.pins) + len(span.h.body.Load().pinned); n != 0 {
			t.Errorf("%d pins outlive their release", n)
		}
	}
}

// What is pinned does not reach over the time at which a frame leaves its parent: the
// sample behind that time is forgotten with the others.
func TestPinsEndWithTheirParent(t *testing.T) {
	for _, hold := range []bool{false, true} {
		s := New(Config{})
		e := must[*FreeEdge](t)(s.Free("table", "cup", Keep(Retention{MaxCount: 16})))
		if hold {
			ok(t, s.Configure("table", "cup", Hold(time.Second)))
		}
		line(t, e)
		at := 2*second + second/2
		must[Acquisition](t)(s.Acquire("cup", at))
		for i := engram.Time(11); i < 200; i++ {
			ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
		}
		before := s.Now()
		must[*FreeEdge](t)(s.Reparent(2*second+3*second/4, "hand", "cup"))
		T, _, fail := s.Lookup("table", "cup", at)
		if hold && (fail.Code != OK || T.T.X != 2) || !hold && fail.Code != Gap {
			t.Errorf("held %v: %v %v", hold, T, fail.Code)
		}
		if T, _, fail := must[*Path](t)(before.Path("table", "cup")).At(at); fail.Code != OK || T.T.X != 2.5 {
			t.Errorf("in the revision before: %v %v", T, fail.Code)
		}
	}
}

// Between the look-up of an acquisition and its pin nothing is pruned.
func TestAcquireBesidePruning(t *testing.T) {
	s := New(Config{MaxGap: time.Hour})
	j := must[*JointEdge](t)(s.Joint("base", "cam", JointSpec{Name: "pan", Origin: Identity(), Axis: Vec3{Z: 1}, Type: urdf.Revolute}, Keep(Retention{MaxCount: 16})))
	ok(t, j.Set(0, 0, 0))
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for i := engram.Time(1); i < 20_000; i++ {
			if err := j.Set(i, float64(i), 0); err != nil {
				t.Error(err)
				return
			}
		}
	})
	acquired := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		last := j.h.snapshot()
		at := last.first()
		a, err := s.Acquire("cam", at)
		if err != nil {
			continue // pruned before
		}
		acquired++
		if _, _, fail := s.Lookup("base", "cam", a.Time); fail.Code != OK {
			t.Fatalf("acquired and lost: %v", fail.Err())
		}
		if acquired%2 == 0 {
			ok(t, s.Release(a.ID))
		}
	}
	wg.Wait()
	if acquired == 0 {
		t.Error("nothing was acquired")
	}
}

func TestFailuresShowNoMagicTime(t *testing.T) {
	s := New(Config{})
	must[*FreeEdge](t)(s.Free("map", "base"))
	must[*FreeEdge](t)(s.Free("island", "boat"))
	for _, source := range []string{"base", "boat"} {
		_, _, fail := pathOf(t, s, "map", source).LatestCommon()
		if text := fail.Err().Error(); strings.Contains(text, "2262") || !strings.Contains(text, "latest") {
			t.Errorf("%q", text)
		}
	}
	e := must[*FreeEdge](t)(s.Free("map", "base"))
	if text := e.Set(engram.MaxTime, Identity()).Error(); strings.Contains(text, "2262") {
		t.Errorf("%q", text)
	}
}
