package pose

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

// A clock that was a year ahead and is set right: the latest poses are of the present, there
// is nothing to interpolate to in a year, and no bound of the history drops what comes.
func TestPosesOfAClockThatWasAhead(t *testing.T) {
	const year, step = engram.Time(365 * 24 * time.Hour), engram.Time(100 * time.Millisecond)
	for name, keep := range map[string]Retention{
		"everything": {}, "age": {MaxAge: 5 * time.Second}, "count": {MaxCount: 40}, "bytes": {MaxBytes: 8 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			present := NewPresent()
			s := New(Config{Retention: keep, Present: present, MaxGap: time.Second})
			base, err := s.Free("map", "base")
			if err != nil {
				t.Fatal(err)
			}
			tool, err := s.Free("base", "tool")
			if err != nil {
				t.Fatal(err)
			}
			now := year
			write := func() {
				t.Helper()
				now += step
				present.Set(now.Add(time.Minute))
				for _, e := range []*FreeEdge{base, tool} {
					if err := e.Set(now, Translation(float64(now%year)/1e9, 0, 0)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 300 {
				write()
			}
			now += year
			for range 300 {
				write()
			}
			now -= year
			path, err := s.Path("map", "tool")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 300 {
				write()
				if _, info, fail := path.LatestCommon(); fail.Code != OK || info.TargetTime != now {
					t.Fatalf("after %d poses the latest are of %v, %v; want %v", i+1, info.TargetTime, fail, now)
				}
				if _, info, fail := path.Latest(time.Second); fail.Code != OK || info.TargetTime != now {
					t.Fatalf("after %d poses the newest is of %v, %v; want %v", i+1, info.TargetTime, fail, now)
				}
				if _, _, fail := path.At(now + step/2); fail.Code != TooNew {
					t.Fatalf("after the latest: %v", fail)
				}
				if T, _, fail := path.At(now - step/2); i > 0 && (fail.Code != OK || T.T.Norm() == 0) {
					t.Fatalf("between the last two: %v", fail)
				}
			}
		})
	}
}

// Whatever the clock does and whatever comes late, an edge has what is of the present, and of
// other times what came when there was nothing of the present after it.
func TestPresentOfAnyClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		present := NewPresent()
		s := New(Config{Present: present, MaxGap: -1})
		e, err := s.Free("map", "base")
		if err != nil {
			t.Fatal(err)
		}
		const year = 1000
		now := engram.Time(10 * year)
		want := map[engram.Time]float64{}
		for i := range rapid.IntRange(1, 120).Draw(t, "writes") {
			now++
			switch rapid.IntRange(0, 12).Draw(t, "clock") {
			case 0:
				now += year
			case 1:
				now -= year
			}
			at := now - engram.Time(rapid.SampledFrom([]int{0, 0, 0, 0, 3, 20, -2 * year}).Draw(t, "late"))
			until := now + 5
			if _, there := want[at]; there {
				continue // that is a revision
			}
			present.Set(until)
			cov := ExactCov()
			if i%3 > 0 {
				err = e.Set(at, Translation(float64(i), 0, 0))
			} else {
				err = e.SetCov(at, Translation(float64(i), 0, 0), cov)
			}
			if err != nil {
				t.Fatal(err)
			}
			if at <= until && slices.Max(append(slices.Collect(maps.Keys(want)), at)) > until {
				maps.DeleteFunc(want, func(at engram.Time, _ float64) bool { return at > until })
			}
			want[at] = float64(i)
			for at, x := range want {
				if T, _, fail := s.Lookup("map", "base", at); fail.Code != OK || T.T != (Vec3{X: x}) {
					t.Fatalf("at %d: %v, %v; want %v", at, T, fail, x)
				}
			}
			last := slices.Max(slices.Collect(maps.Keys(want)))
			if _, _, fail := s.Lookup("map", "base", last+1); fail.Code != TooNew || fail.Last != last {
				t.Fatalf("behind %d: %v", last, fail)
			}
		}
	})
}

// Who reads while the clock is set right sees what was there or what is.
func TestReadersBesideAClockThatIsSet(t *testing.T) {
	present := NewPresent()
	s := New(Config{Present: present, MaxGap: -1})
	e, err := s.Free("map", "base")
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if p, err := s.Path("map", "base"); err == nil {
				if T, info, fail := p.LatestCommon(); fail.Code == OK && T.T.X != float64(info.TargetTime) {
					t.Errorf("at %d it is at %v", info.TargetTime, T)
					return
				}
			}
		}
	})
	for i := range engram.Time(2000) {
		at := i
		if i%100 > 50 {
			at += 1 << 40
		}
		present.Set(at + 5)
		if err := e.Set(at, Translation(float64(at), 0, 0)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	readers.Wait()
}
