package ltm_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// beginCopying begins an epoch with a copy, robot1:Test.
func beginCopying(t *testing.T, o ltm.Options) *life {
	t.Helper()
	o.Log, o.DiskLimit = quiet, 1
	s, err := ltm.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{Store: s, wm: wm.New(wm.Config{Types: s.Types(), Journal: s.Journal(), Now: o.Now})}
	t.Cleanup(func() { l.end(t) })
	if err := l.wm.Copies().Add("robot1:Test"); err != nil {
		t.Fatal(err)
	}
	if l.begun, err = s.Begin(t.Context(), l.wm); err != nil {
		t.Fatal(err)
	}
	err = l.wm.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("robot1:Test/Core"), Durability: engram.Logged})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) copied(t *testing.T, entity string, at, arrived engram.Time) {
	t.Helper()
	s := &engram.Snapshot{Time: at, Arrived: arrived, Instances: []engram.Instance{{Sent: arrived, HasSent: true, Confidence: 1}}}
	results, err := l.wm.Copies().Write(context.Background(), []wm.Copied{{Entity: engram.MustID(entity), Snapshot: s}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
}

// What an entity of a copy is, is a value in force of the next episode when it has not
// changed for a while, by the holder's clock, not its owner's.
func TestValuesInForceOfCopies(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		var now atomic.Int64
		now.Store(1e18)
		l := beginCopying(t, ltm.Options{Dir: fastDir(t), Now: func() engram.Time { return engram.Time(now.Load()) }})
		l.copied(t, "robot1:Test/Core/p/quiet", 1, engram.Time(now.Load()).Add(skew))
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		now.Add(int64(time.Minute))
		l.copied(t, "robot1:Test/Core/p/busy", 1, engram.Time(now.Load()).Add(skew))
		l.copied(t, "robot1:Test/Core/p/busy", 2, engram.Time(now.Load()).Add(skew)+1)
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		list, err := l.Episodes(t.Context(), engram.Always())
		if err != nil || len(list) != 2 {
			t.Fatalf("%d episodes, %v", len(list), err)
		}
		var inForce uint64
		for _, e := range list {
			inForce += e.InForce
		}
		if inForce != 1 {
			t.Errorf("with the owner's clock off by %v, %d values are in force at the start of the second episode; want that of the quiet entity", skew, inForce)
		}
	}
}

// An order to forget that is finished in the next epoch is about the copies that were
// there when it was given, and not about those that came since, whatever the clocks say.
func TestForgettingCopiesIsFinishedLater(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		dir := fastDir(t)
		l := beginCopying(t, ltm.Options{Dir: dir})
		arrived := engram.Now().Add(skew)
		l.copied(t, "robot1:Test/Core/p/e", 1, arrived)
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		l.copied(t, "robot1:Test/Core/p/e", 2, arrived+1)
		epoch := l.wm.Epoch()
		l.end(t)
		if err := ltm.AddOrder(dir, "robot1:Test", epoch, map[string]engram.Time{"robot1:Test": arrived + 1}); err != nil {
			t.Fatal(err)
		}
		l = beginCopying(t, ltm.Options{Dir: dir, ForgetEvery: time.Hour})
		l.copied(t, "robot1:Test/Core/p/e", 3, arrived+2)
		for len(l.Orders()) > 0 {
			time.Sleep(time.Millisecond)
		}
		if got, _ := l.times(t, "robot1:Test/Core/p/e", engram.TargetBoth, engram.All()); len(got) != 1 || got[0] != 3 {
			t.Errorf("with the owner's clock off by %v there is %v; want what came after the order", skew, got)
		}
	}
}

// An order about copies that is given again because it failed is one order; one of the
// same moment about other times is another one.
func TestForgettingCopiesAgainIsOneOrder(t *testing.T) {
	const cup = "robot1:Test/Core/p/cup"
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	l := beginCopying(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	for i := range engram.Time(4) {
		l.copied(t, cup, i, 10+i)
	}
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: ".rewrite", Err: vfs.ErrFull})
	forget := func(at engram.Time) error {
		_, err := l.ForgetCopied(t.Context(), engram.MustPattern(cup), engram.Interval{Start: at, End: at + 1}, nil, 20, "asked")
		return err
	}
	for range 5 {
		for at := range engram.Time(2) {
			if err := forget(at); err == nil {
				t.Error("forgetting on a full disk succeeds")
			}
		}
	}
	if n := len(l.Orders()); n != 2 {
		t.Errorf("%d orders; two were given, again and again", n)
	}
	disk.Heal()
	if err := forget(0); err != nil {
		t.Error(err)
	}
	left := len(l.Orders())
	if got, _ := l.times(t, cup, engram.TargetLTM, engram.At(1)); left > 1 || left == 0 && len(got) > 0 { // it may be finished by itself
		t.Errorf("%d orders; one of two is done", left)
	}
	if err := forget(1); err != nil || len(l.Orders()) > 0 {
		t.Errorf("%d orders, %v; both are done", len(l.Orders()), err)
	}
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{2, 3}) {
		t.Errorf("there is %v", got)
	}
}

// Health says which order fails, also when another one with the same reason does not.
func TestHealthTellsOrdersApart(t *testing.T) {
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	l := beginCopying(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	cups := []string{"robot1:Test/Core/p/red", "robot1:Test/Core/p/blue"}
	for i, cup := range cups { // each in an episode of its own
		l.copied(t, cup, 1, engram.Time(10+i))
		l.copied(t, cup, 2, engram.Time(20+i))
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: ".rewrite", Err: vfs.ErrFull})
	for i, cup := range cups {
		if _, err := l.ForgetCopied(t.Context(), engram.MustPattern(cup), engram.Always(), nil, engram.Time(10+i), "asked"); err == nil {
			t.Error("forgetting on a full disk succeeds")
		}
	}
	l.FinishOrders()
	l.wantHealth(t, "both fail", "blue", "red")
	disk.Heal()
	disk.Inject(vfs.Fault{Op: vfs.OpWrite, Name: filepath.Base(files(t, l.Dir(), "episodes/*.mcap")[0]) + ".rewrite", Err: vfs.ErrFull})
	l.FinishOrders()
	l.wantHealth(t, "one fails", "red")
	disk.Heal()
	if _, err := l.ForgetCopied(t.Context(), engram.MustPattern(cups[0]), engram.Always(), nil, 10, "asked"); err != nil {
		t.Error(err)
	}
	l.FinishOrders()
	l.wantHealth(t, "none fails")
}

// What is sealed while it is looked for is found, once.
func TestForgettingFindsWhatIsSealedMeanwhile(t *testing.T) {
	l := beginCopying(t, ltm.Options{Dir: fastDir(t)})
	l.copied(t, "robot1:Test/Core/p/red", 1, 10)
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	l.copied(t, "robot1:Test/Core/p/blue", 1, 11)
	found, err := l.SurveyOf(t.Context(), "robot1:Test", func() {
		if err := l.Seal(t.Context(), "test"); err != nil {
			t.Error(err)
		}
	})
	if err != nil || found.Versions != 2 {
		t.Errorf("found %+v, %v; want both versions on disk", found, err)
	}
}

// What the disk refuses to take just now is forgotten when it is there, though neither
// memory has it.
func TestForgettingWhatIsNotRecordedYet(t *testing.T) {
	const cup = "robot1:Test/Few/p/cup"
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	l := beginCopying(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	few := engram.CoreSegment{ID: engram.MustID("robot1:Test/Few"), Durability: engram.Logged, History: engram.Bounds{MaxCount: 1}}
	if err := l.wm.AddCoreSegment(t.Context(), few); err != nil {
		t.Fatal(err)
	}
	disk.Inject(vfs.Fault{Op: vfs.OpCreate, Name: "episodes", Err: vfs.ErrFull})
	for i := range engram.Time(3) {
		l.copied(t, cup, i, 10+i)
	}
	forget := func() error {
		_, err := l.ForgetCopied(t.Context(), engram.MustPattern(cup), engram.Interval{Start: 0, End: 1}, nil, 20, "asked")
		return err
	}
	if err := forget(); err == nil {
		t.Error("what is on its way to a disk that refuses it is said to be forgotten")
	}
	disk.Heal()
	if err := forget(); err != nil {
		t.Error(err)
	}
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{1, 2}) {
		t.Errorf("there is %v", got)
	}
}

// What its owner has forgotten does not come back with an episode that the system refused at
// the start.
func TestForgettingCopiesWaitsForWhatIsRefused(t *testing.T) {
	const cup = "robot1:Test/Core/p/cup"
	dir := fastDir(t)
	l := beginCopying(t, ltm.Options{Dir: dir})
	for i := range engram.Time(4) {
		l.copied(t, cup, i, 10+i)
	}
	l.end(t)
	if err := os.Chtimes(files(t, dir, "episodes/*.mcap")[0], engram.Time(1).Std(), engram.Time(1).Std()); err != nil { // so that it is read again
		t.Fatal(err)
	}
	disk := vfs.NewFaulty(vfs.OS, dir)
	disk.Inject(vfs.Fault{Op: vfs.OpOpen, Name: ".mcap", Err: syscall.EMFILE})
	l = beginCopying(t, ltm.Options{Dir: dir, FS: disk})
	if _, err := l.ForgetCopied(t.Context(), engram.MustPattern(cup), engram.Always(), nil, 11, "asked"); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("forgetting says %v; want Unavailable", err)
	}
	disk.Heal()
	if err := l.TryAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.FinishOrders()
	if got, _ := l.times(t, cup, engram.TargetBoth, engram.All()); !slices.Equal(got, []engram.Time{2, 3}) || len(l.Orders()) > 0 {
		t.Errorf("there is %v; orders %+v", got, l.Orders())
	}
}
