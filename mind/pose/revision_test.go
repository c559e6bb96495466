package pose

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rover has odometry of 1 m/s along x for 10 s below an anchor, and a camera.
func rover(t testing.TB, c Config, opts ...Option) *Store {
	t.Helper()
	s := New(c)
	ok(t, s.Anchor("site", "odom"))
	line(t, must[*FreeEdge](t)(s.Free("odom", "base", opts...)))
	ok(t, s.Fixed("base", "cam", Translation(0, 0, 1), ExactCov()))
	return s
}

func commit(t testing.TB, s *Store, keys ...keyChange) Revision {
	t.Helper()
	tx := s.Begin("slam")
	for _, k := range keys {
		tx.Key("site", "odom", k.t, k.c, *k.cov)
	}
	return must[Revision](t)(tx.Commit())
}

func key(t engram.Time, x, y float64) keyChange {
	exact := ExactCov()
	return keyChange{t, Translation(x, y, 0), &exact}
}

func TestEqualStampRevises(t *testing.T) {
	s := New(Config{})
	e := must[*FreeEdge](t)(s.Free("map", "base"))
	line(t, e)
	ok(t, e.Set(3*second, Translation(3, 0, 0)))
	if s.Revision() != 0 {
		t.Error("the same pose again is a revision")
	}
	ok(t, e.Set(3*second, Translation(3, 7, 0)))
	ok(t, e.SetCov(3*second, Translation(3, 8, 0), ExactCov()))
	if s.Revision() != 2 {
		t.Fatalf("two replacements made revision %d", s.Revision())
	}
	for rev, y := range []float64{0, 7, 8} {
		p := must[*Path](t)(must[*View](t)(s.View(AsOf(rev))).Path("map", "base"))
		T, cov, info, fail := p.AtCov(3 * second)
		if fail.Code != OK || T.T.Y != y || info.Revision != Revision(rev) || (cov.State() == Exact) != (rev == 2) {
			t.Errorf("revision %d: %v %v %v", rev, T, cov, fail.Err())
		}
		if T, _, _ = p.At(2*second + second/2); T.T.Y != y/2 {
			t.Errorf("revision %d, half way: %v", rev, T)
		}
	}
	changes := must[[]Change](t)(s.Diff("map", "base", 0, 2, DefaultThreshold()))
	if len(changes) != 1 || changes[0].Trans != 8 || changes[0].TransAt != 3*second {
		t.Errorf("the difference is %+v", changes)
	}
}

func TestAnchorFollowsTheGeodesic(t *testing.T) {
	// Far from the origin, translation and rotation interpolated apart would cut
	// the corner by metres.
	s := New(Config{MaxGap: -1})
	ok(t, s.Anchor("site", "odom"))
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	far := Translation(1000, 0, 0)
	ok(t, e.Set(0, far))
	ok(t, e.Set(10*second, far))
	turned := Pose{T: Vec3{1000, 0, 0}, R: RPY(0, 0, 0.3)}
	tx := s.Begin("slam")
	tx.Localize("site", "base", 0, far, ExactCov())
	tx.Localize("site", "base", 10*second, turned, ExactCov())
	must[Revision](t)(tx.Commit())
	p := pathOf(t, s, "site", "base")
	T, _, fail := p.At(5 * second)
	ok(t, fail.Err())
	if d := T.T.Sub(far.T).Norm(); d > 1e-9 {
		t.Errorf("half way the rover is %g m off", d)
	}
	if a := T.R.Angle(); math.Abs(a-0.15) > 1e-12 {
		t.Errorf("half way it is turned by %g", a)
	}
	for _, at := range []engram.Time{0, 10 * second} {
		want := map[engram.Time]Pose{0: far, 10 * second: turned}[at]
		if T, _, _ := p.At(at); poseError(T, want) > 1e-9 {
			t.Errorf("at the key %v: %v; want %v", at, T, want)
		}
	}
}

func TestTransactionIsWhole(t *testing.T) {
	s := rover(t, Config{MaxChanges: 3})
	p := pathOf(t, s, "site", "cam")
	if _, _, fail := p.At(second); fail.Code != Unset {
		t.Errorf("an anchor without keys: %v", fail.Err())
	}
	commit(t, s, key(0, 0, 0), key(4*second, 0, 4))
	before, _, _ := p.At(2 * second)
	for name, spoil := range map[string]struct {
		op   func(tx *Tx)
		code engram.Code
	}{
		"bad pose":        {func(tx *Tx) { tx.Key("site", "odom", 0, Pose{}, Cov{}) }, engram.Invalid},
		"bad covariance":  {func(tx *Tx) { tx.Key("site", "odom", 0, Identity(), Cov{Mask: 0xff}) }, engram.Invalid},
		"no such edge":    {func(tx *Tx) { tx.Key("site", "base", 0, Identity(), Cov{}) }, engram.NotFound},
		"not an anchor":   {func(tx *Tx) { tx.Key("odom", "base", 0, Identity(), Cov{}) }, engram.Conflict},
		"not fixed":       {func(tx *Tx) { tx.Fix("odom", "base", engram.Always(), Identity(), Cov{}) }, engram.Conflict},
		"empty interval":  {func(tx *Tx) { tx.Replace("site", "odom", engram.Interval{}) }, engram.Invalid},
		"unknown O":       {func(tx *Tx) { tx.Localize("site", "cam", 99*second, Identity(), Cov{}) }, engram.TooNew},
		"no anchor above": {func(tx *Tx) { tx.Localize("odom", "cam", second, Identity(), Cov{}) }, engram.NotFound},
		"too many": {func(tx *Tx) {
			for i := range engram.Time(3) {
				tx.Key("site", "odom", i, Identity(), Cov{})
			}
		}, engram.Exhausted},
	} {
		tx := s.Begin("slam")
		tx.Key("site", "odom", 2*second, Translation(50, 0, 0), Cov{})
		spoil.op(tx)
		if _, err := tx.Commit(); !errors.Is(err, spoil.code) {
			t.Errorf("%s: %v; want %v", name, err, spoil.code)
		}
		if now, info, _ := p.At(2 * second); now != before || info.Revision != 1 {
			t.Errorf("%s: a refused transaction moved %v to %v in revision %d", name, before, now, info.Revision)
		}
	}
	tx := s.Begin("slam")
	tx.Replace("site", "odom", engram.Interval{Start: 0, End: 10 * second})
	tx.Key("site", "odom", 0, Translation(0, 1, 0), Cov{})
	rev := must[Revision](t)(tx.Commit())
	if now, info, _ := p.At(2 * second); now.T.Y != 1 || info.Revision != rev {
		t.Errorf("after the keys were replaced: %v in revision %d", now, info.Revision)
	}
	if _, err := tx.Commit(); !errors.Is(err, engram.Conflict) {
		t.Errorf("a second commit: %v", err)
	}
	if list := s.Revisions(); list[len(list)-1] != (RevisionInfo{rev, "slam"}) {
		t.Errorf("revisions %v", list)
	}
}

func TestCalibrationHasValidity(t *testing.T) {
	s := rover(t, Config{})
	tx := s.Begin("calibration")
	tx.Fix("base", "cam", engram.Interval{Start: 3 * second, End: 6 * second}, Translation(0, 0, 2), ExactCov())
	rev := must[Revision](t)(tx.Commit())
	p := pathOf(t, s, "odom", "cam")
	for at, z := range map[engram.Time]float64{0: 1, 3*second - 1: 1, 3 * second: 2, 6*second - 1: 2, 6 * second: 1} {
		if T, _, fail := p.At(at); fail.Code != OK || T.T.Z != z {
			t.Errorf("at %v: z = %g, %v; want %g", at, T.T.Z, fail.Err(), z)
		}
	}
	changes := must[[]Change](t)(s.Diff("base", "cam", rev-1, rev, DefaultThreshold()))
	if len(changes) != 1 || changes[0].Start != 3*second || changes[0].End != 6*second || changes[0].Trans != 1 {
		t.Errorf("the difference is %+v", changes)
	}
}

func TestDiffFindsWhatMoved(t *testing.T) {
	s := rover(t, Config{Revisions: 3})
	one := commit(t, s, key(0, 0, 0), key(4*second, 0, 0), key(6*second, 0, 0), key(10*second, 0, 0))
	two := commit(t, s, key(6*second, 0, 0.5))
	changes := must[[]Change](t)(s.Diff("site", "cam", one, two, DefaultThreshold()))
	if len(changes) != 1 || changes[0].Trans != 0.5 || changes[0].TransAt != 6*second || changes[0].Rot != 0 ||
		changes[0].Start < 4*second || changes[0].End > 10*second {
		t.Errorf("the difference is %+v", changes)
	}
	for _, c := range []struct {
		name           string
		target, source string
		a, b           Revision
		th             Threshold
	}{
		{"a revision and itself", "site", "cam", two, two, Threshold{}},
		{"frames below the anchor", "odom", "cam", one, two, Threshold{}},
		{"below the threshold", "site", "cam", one, two, Threshold{Trans: 0.5, Rot: 1}},
		{"keys rewritten as they were", "site", "cam", two, commit(t, s, key(6*second, 0, 0.5), key(0, 0, 0)), Threshold{}},
	} {
		if changes := must[[]Change](t)(s.Diff(c.target, c.source, c.a, c.b, c.th)); len(changes) != 0 {
			t.Errorf("%s differ by %+v", c.name, changes)
		}
	}
	commit(t, s, key(second, 0, 0))
	if _, err := s.Diff("site", "cam", 0, one, Threshold{}); !errors.Is(err, engram.TooOld) {
		t.Errorf("a revision beyond Config.Revisions: %v", err)
	}
	if _, err := s.View(99); !errors.Is(err, engram.TooNew) {
		t.Errorf("a revision to come: %v", err)
	}
}

func TestDiffLooksBetweenKeys(t *testing.T) {
	// The correction turns about the place where the rover ends: at both keys it
	// stands where it stood, and in between it does not.
	s := rover(t, Config{})
	one := commit(t, s, key(0, 0, 0), key(10*second, 0, 0))
	tx := s.Begin("slam")
	tx.Localize("site", "base", 10*second, Pose{T: Vec3{X: 10}, R: RPY(0, 0, 0.1)}, ExactCov())
	two := must[Revision](t)(tx.Commit())
	changes := must[[]Change](t)(s.Diff("site", "base", one, two, DefaultThreshold()))
	if len(changes) != 1 || changes[0].TransAt != 5*second || math.Abs(changes[0].Trans-10*math.Sin(0.025)) > 1e-9 ||
		changes[0].RotAt != 10*second || math.Abs(changes[0].Rot-0.1) > 1e-9 {
		t.Errorf("the difference is %+v", changes)
	}
}

func TestViewStandsStill(t *testing.T) {
	s := rover(t, Config{})
	commit(t, s, key(0, 0, 0))
	v := s.Now()
	p := must[*Path](t)(v.Path("site", "base"))
	before, _, _ := p.At(10 * second)
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	ok(t, e.Set(10*second, Translation(0, 0, 99)))
	ok(t, e.Set(10*second+second/2, Translation(0, 0, 50)))
	ok(t, e.Set(9*second+second/2, Translation(0, 0, 50)))
	commit(t, s, key(0, 5, 5))
	if after, info, fail := p.At(10 * second); after != before || info.Revision != 1 || fail.Code != OK {
		t.Errorf("the view moved from %v to %v", before, after)
	}
	if T, _, _ := p.At(9*second + second/2); T.T.Z != 0 {
		t.Errorf("the view sees a later write: %v", T)
	}
	if _, _, fail := p.At(10*second + 1); fail.Code != TooNew {
		t.Errorf("the view sees a later write: %v", fail.Code)
	}
	if _, _, err := p.Wait(t.Context(), 11*second); !errors.Is(err, engram.TooNew) {
		t.Errorf("waiting for a view to change: %v", err)
	}
}

func TestAcquireKeepsItsSamples(t *testing.T) {
	s := rover(t, Config{Acquisitions: 3}, Keep(Retention{MaxCount: 16}), MaxGap(time.Second))
	ok(t, s.Configure("base", "cam", Hold(0)))
	commit(t, s, key(0, 0, 0))
	a := must[Acquisition](t)(s.Acquire("cam", 2*second+second/4))
	if a.Base != "base" || a.Pose.T != (Vec3{0, 0, 1}) || a.Cov.State() != Exact || a.Info.Revision != 1 {
		t.Errorf("acquired %+v", a)
	}
	exact := must[Acquisition](t)(s.Acquire("cam", 3*second))
	_, err := s.Acquire("ghost", 0)
	refused(t, err, engram.NotFound, "frame ghost")

	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	for i := engram.Time(11); i < 200; i++ {
		ok(t, e.Set(i*second, Translation(float64(i), 0, 0)))
	}
	p := pathOf(t, s, "site", "cam")
	for at, x := range map[engram.Time]float64{a.Time: 2.25, exact.Time: 3, 199 * second: 199, 184 * second: 184} {
		if T, _, fail := p.At(at); fail.Code != OK || T.T.X != x {
			t.Errorf("at %v: %v %v; want x = %g", at, T, fail.Err(), x)
		}
	}
	for at, code := range map[engram.Time]FailureCode{2*second + second/2: Pruned, 2 * second: Pruned, 4 * second: Pruned, -second: TooOld} {
		if _, _, fail := p.At(at); fail.Code != code {
			t.Errorf("at %v: %v; want %v", at, fail.Err(), code)
		}
	}
	refused(t, e.Set(2*second, Identity()), engram.TooOld, "odom ← base", "retention")
	ok(t, s.Release(a.ID))
	if _, _, fail := p.At(a.Time); fail.Code != Pruned {
		t.Errorf("after its release: %v", fail.Code)
	}
	refused(t, s.Release(a.ID), engram.NotFound)
	// Beyond Config.Acquisitions the oldest goes.
	for i := range engram.Time(3) {
		must[Acquisition](t)(s.Acquire("cam", (190+i)*second))
	}
	refused(t, s.Release(exact.ID), engram.NotFound)
	if _, _, fail := p.At(exact.Time); fail.Code != Pruned {
		t.Errorf("after it was dropped: %v", fail.Code)
	}
}

func TestSubscriptions(t *testing.T) {
	s := rover(t, Config{Revisions: 8})
	start := commit(t, s, key(0, 0, 0), key(5*second, 0, 0), key(10*second, 0, 0))
	early := must[Acquisition](t)(s.Acquire("cam", second))
	late := must[Acquisition](t)(s.Acquire("cam", 9*second))
	mine := must[*Subscription](t)(s.Subscribe(Changes{Target: "site", Source: "cam", OnlyAcquired: true}, start))
	all := must[*Subscription](t)(s.Subscribe(Changes{Target: "site", Source: "base", Trans: 0.1, Rot: 1}, start))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mine.Next(ctx); !errors.Is(err, engram.Canceled) {
		t.Errorf("nothing moved, and yet: %v", err)
	}
	// 8 mm each time at the end: nothing, until it adds up.
	commit(t, s, key(10*second, 0, 0.008))
	if _, err := mine.Next(ctx); !errors.Is(err, engram.Canceled) {
		t.Errorf("what moved by less than 1 cm was reported: %v", err)
	}
	to := commit(t, s, key(10*second, 0, 0.016))
	ev := must[Event](t)(mine.Next(t.Context()))
	if ev.From != start || ev.To != to || ev.View.Revision() != to || len(ev.Moved) != 1 || ev.Moved[0].ID != late.ID {
		t.Fatalf("event %+v", ev)
	}
	if m := ev.Moved[0]; math.Abs(m.Trans-0.0128) > 1e-12 || m.Time != 9*second || m.Old.T.Y != 0 || math.Abs(m.New.T.Y-0.0128) > 1e-12 {
		t.Errorf("moved %+v", m)
	}
	// Not acknowledged, it comes again with the next revision; the largest first.
	to = commit(t, s, key(0, 0, 1), key(5*second, 0, 0))
	ev = must[Event](t)(mine.Next(t.Context()))
	if ev.From != start || len(ev.Moved) != 2 || ev.Moved[0].ID != early.ID || ev.Moved[1].ID != late.ID {
		t.Errorf("event %+v", ev)
	}
	mine.Ack(to)
	// One that was made after the acknowledged revision counts from its own.
	fresh := must[Acquisition](t)(s.Acquire("cam", 2*second))
	to = commit(t, s, key(0, 0, 2))
	ev = must[Event](t)(mine.Next(t.Context()))
	if ev.From != mine.Acked() || len(ev.Moved) != 2 || ev.Moved[0].ID != early.ID || ev.Moved[1].ID != fresh.ID {
		t.Errorf("event %+v", ev)
	}
	mine.Ack(to)
	// One made in a revision that was taken back moved, though nothing else did.
	commit(t, s, key(0, 0, 3))
	during := must[Acquisition](t)(s.Acquire("cam", second/2))
	commit(t, s, key(0, 0, 2))
	ev = must[Event](t)(mine.Next(t.Context()))
	if len(ev.Moved) != 1 || ev.Moved[0].ID != during.ID || math.Abs(ev.Moved[0].Trans-0.9) > 1e-12 {
		t.Errorf("taken back: %+v", ev.Moved)
	}

	ev = must[Event](t)(all.Next(t.Context()))
	if ev.From != start || len(ev.Changes) != 1 || ev.Changes[0].Start != 0 || ev.Changes[0].Trans != 2 {
		t.Errorf("all changes: %+v", ev.Changes)
	}
	// Who is away for too long is told so.
	for i := range 9 {
		commit(t, s, key(0, 0, float64(i)))
	}
	if _, err := all.Next(t.Context()); !errors.Is(err, engram.TooOld) {
		t.Errorf("far behind: %v", err)
	}
	for name, err := range map[string]error{
		"TooOld":   errorOf(s.Subscribe(Changes{Target: "site", Source: "cam"}, start)),
		"TooNew":   errorOf(s.Subscribe(Changes{Target: "site", Source: "cam"}, 99)),
		"NotFound": errorOf(s.Subscribe(Changes{Target: "site", Source: "ghost"}, s.Revision())),
		"Invalid":  errorOf(s.Subscribe(Changes{Target: "site", Source: "cam", Trans: -1}, s.Revision())),
	} {
		want := map[string]engram.Code{"TooOld": engram.TooOld, "TooNew": engram.TooNew, "NotFound": engram.NotFound, "Invalid": engram.Invalid}[name]
		if !errors.Is(err, want) {
			t.Errorf("%v; want %v", err, want)
		}
	}
}

func errorOf(_ *Subscription, err error) error { return err }

// TestWait has readers that wait for a sample, for a new edge's first, and in vain.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		e := must[*FreeEdge](t)(s.Free("map", "base"))
		ok(t, e.Set(0, Identity()))
		p := pathOf(t, s, "map", "base")
		type answer struct {
			T   Pose
			err error
		}
		answers := make(chan answer)
		go func() {
			T, _, err := p.Wait(t.Context(), second)
			answers <- answer{T, err}
		}()
		synctest.Wait()
		ok(t, e.Set(second/2, Identity())) // not enough
		synctest.Wait()
		select {
		case a := <-answers:
			t.Fatalf("answered too early: %v", a)
		default:
		}
		ok(t, e.Set(second, Translation(1, 0, 0)))
		if a := <-answers; a.err != nil || a.T.T.X != 1 {
			t.Errorf("waited for %v", a)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := p.Wait(ctx, 2*second)
		refused(t, err, engram.Canceled, "map ← base", "last sample")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cause is lost in %v", err)
		}
		if _, _, err = p.Wait(t.Context(), -second); !errors.Is(err, engram.TooOld) {
			t.Errorf("waiting for the past: %v", err)
		}
		// The structure changes while somebody waits.
		go func() {
			T, _, err := p.Wait(t.Context(), 2*second)
			answers <- answer{T, err}
		}()
		synctest.Wait()
		must[*FreeEdge](t)(s.Reparent(second+1, "hand", "base"))
		if a := <-answers; !errors.Is(a.err, engram.NotFound) {
			t.Errorf("after the frame went elsewhere: %v", a.err)
		}
	})
}

// A sample that is added after its edge was re-parented belongs to earlier revisions,
// too, and moves nothing that was acquired; one that replaces another does not.
func TestAddedSamplesBelongToEarlierRevisions(t *testing.T) {
	s := New(Config{MaxGap: -1})
	table := must[*FreeEdge](t)(s.Free("table", "cup"))
	line(t, table)
	first := s.Now()
	from := s.Revision()
	a := must[Acquisition](t)(s.Acquire("cup", 2*second+second/2))
	must[*FreeEdge](t)(s.Reparent(5*second, "hand", "cup"))
	two := s.Revision()
	must[*FreeEdge](t)(s.Reparent(9*second, "table", "cup"))
	ok(t, table.Set(2*second+second/2, Translation(2.5, 1, 0)))
	ok(t, table.Set(10*second+second/2, Translation(11, 2, 0)))
	ok(t, table.Set(9*second, Translation(9, 3, 0))) // there was one of that time
	at := func(v *View, when engram.Time) float64 {
		T, _, fail := must[*Path](t)(v.Path("table", "cup")).At(when)
		if fail.Code != OK {
			return math.NaN()
		}
		return T.T.Y
	}
	for rev := from; rev <= s.Revision(); rev++ {
		if y := at(must[*View](t)(s.View(AsOf(rev))), 2*second+second/2); y != 1 {
			t.Errorf("revision %d does not know what was added: %g", rev, y)
		}
	}
	one := must[*View](t)(s.View(AsOf(from)))
	if y := at(one, 10*second+second/2); y != 2 {
		t.Errorf("what was added on the table later: %g", y)
	}
	if y := at(one, 9*second); y != 0 {
		t.Errorf("the sample that stood in the first revision: %g", y)
	}
	if y := at(must[*View](t)(s.View(AsOf(two))), 10*second+second/2); !math.IsNaN(y) {
		t.Errorf("in the hand: %g", y)
	}
	if y := at(first, 2*second+second/2); y != 0 {
		t.Errorf("a view that was made before has moved: %g", y)
	}
	if changes := must[[]Change](t)(s.Diff("table", "cup", from, two, Threshold{})); len(changes) != 1 || changes[0].Start < 4*second || !changes[0].Failed {
		t.Errorf("changes %+v", changes)
	}
	sub := must[*Subscription](t)(s.Subscribe(Changes{Target: "table", Source: "cup", OnlyAcquired: true}, from))
	if ev := must[Event](t)(sub.since(from, s.Now())); len(ev.Moved) != 0 {
		t.Errorf("acquisition %d is told as moved: %+v", a.ID, ev.Moved)
	}
	if got, _, _ := s.Lookup("table", "cup", a.Time); got.T.Y != 1 {
		t.Errorf("now: %v", got)
	}
}
