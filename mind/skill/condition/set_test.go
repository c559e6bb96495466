package condition

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// item is that an entity is there with a confidence at a time.
func item(name string, at engram.Time, confidence float32) engram.Item {
	return engram.Item{ID: engram.MustID("M/A/p/" + name).At(at), Snapshot: &engram.Snapshot{Time: at, Arrived: at, Instances: []engram.Instance{{Confidence: confidence}}}}
}

func items(all ...engram.Item) Present {
	return func(engram.Pattern) ([]engram.Item, error) { return all, nil }
}

var greet = engram.MustID("Skill/Condition/c/greet")

// However many things fulfilled a condition before, it goes on.
func TestManyThingsBefore(t *testing.T) {
	s := New(func(string) *idf.Type { return nil }, nil)
	var all []engram.Item
	for i := range 2 * mostBurst {
		all = append(all, item(fmt.Sprint("x", i), 1, 1))
	}
	s.Quiet(func() {
		if _, err := s.Put(2, greet.At(2), Condition{On: engram.MustPattern("M/A")}, items(all...)); err != nil {
			t.Fatal(err)
		}
	})
	if stopped := s.Stopped(); len(stopped) > 0 {
		t.Errorf("%d conditions are stopped: %v", len(stopped), stopped[0].Err)
	}
	if fired := s.Apply(3, item("y", 3, 1)); len(fired) != 1 {
		t.Errorf("it fires %v", fired)
	}
}

// A condition that fires too often is stopped once, and fires no more.
func TestTooOftenIsToldOnce(t *testing.T) {
	s := New(func(string) *idf.Type { return nil }, nil)
	if _, err := s.Put(1, greet.At(1), Condition{On: engram.MustPattern("M/A"), Trigger: EachUpdate}, items()); err != nil {
		t.Fatal(err)
	}
	fired := 0
	for i := range 3 * mostBurst {
		fired += len(s.Apply(2, item("x", engram.Time(2+i), 1)))
	}
	if stopped := s.Stopped(); len(stopped) != 1 || fired != mostBurst {
		t.Errorf("it is stopped %d times, and fires %d times", len(stopped), fired)
	}
}

// Where the newest of an entity was removed, what is there then counts, and nothing in between.
func TestAnOlderOneIsThere(t *testing.T) {
	s := New(func(string) *idf.Type { return nil }, nil)
	none := Condition{All: []Term{{Of: engram.MustPattern("M/A"), None: true}}}
	if _, err := s.Put(1, greet.At(1), none, items(item("x", 1, 1))); err != nil {
		t.Fatal(err)
	}
	old := item("x", 1, 1)
	if fired := append(s.Apply(2, item("x", 2, 1)), s.Present(3, "M", []engram.Item{old})...); len(fired) > 0 {
		t.Errorf("it fires though there was one always: %v", fired)
	}
	if fired := s.Present(4, "M", nil); len(fired) != 1 {
		t.Errorf("when there is none it fires %v", fired)
	}
}

// A filter that costs too much is stopped also where what it is asked of is there when the condition is given.
func TestCostlyFromTheBeginning(t *testing.T) {
	list := "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"
	costly := list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c > 0 && confidence > 0.0)))"
	s := New(func(string) *idf.Type { return nil }, nil)
	for i := range 2 { // of the second the filter is known
		id := engram.MustID(fmt.Sprint("Skill/Condition/c/", i))
		if _, err := s.Put(2, id.At(2), Condition{All: []Term{{Of: engram.MustPattern("M/A"), Where: costly, None: true}}}, items(item("x", 1, 1))); err != nil {
			t.Fatal(err)
		}
		if stopped := s.Stopped(); len(stopped) != 1 || stopped[0].Condition != id || s.Has(id) {
			t.Errorf("%v: %v", id, stopped)
		}
	}
}

// A condition at Level fires in the past for nothing, and after it for what does not go on, when its pause is over.
func TestLevelInThePast(t *testing.T) {
	second := engram.Time(time.Second)
	s := New(func(string) *idf.Type { return nil }, nil)
	s.Past()
	s.Quiet(func() {
		if _, err := s.Put(second, greet.At(1), Condition{On: engram.MustPattern("M/A"), Trigger: Level, Pause: 10 * time.Second, Hold: time.Second}, items(item("x", 1, 1), item("y", 1, 1), item("z", 1, 1))); err != nil {
			t.Fatal(err)
		}
	})
	s.Noted(second, greet, engram.MustID("M/A/p/y"), 5*second)
	fired := s.Apply(6*second, item("x", 6*second, 1))
	fired = append(fired, s.Running(7*second, greet, engram.MustID("M/A/p/z"), true)...)
	if len(fired) > 0 {
		t.Errorf("in the past it fires %v", fired)
	}
	if fired = s.Resume(8 * second); len(fired) != 1 || fired[0].Thing != engram.MustID("M/A/p/x") {
		t.Errorf("after it, it fires %v", fired)
	}
	if fired = s.Tick(20 * second); len(fired) != 1 || fired[0].Thing != engram.MustID("M/A/p/y") {
		t.Errorf("after the pause it fires %v", fired)
	}
}
