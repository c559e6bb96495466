package world

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func clockSaid(by, of string, at engram.Time, offset, uncertainty time.Duration) ClockStatement {
	return ClockStatement{Said{Provider: "server of " + by, Robot: by, Time: at, Arrived: at}, Skew{of, offset, uncertainty}}
}

func clocks(t *rapid.T) []ClockStatement {
	robot := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	all := make([]ClockStatement, rapid.IntRange(0, 12).Draw(t, "clocks"))
	for i := range all {
		all[i] = clockSaid(robot.Draw(t, "by"), robot.Draw(t, "of"), engram.Time(i),
			time.Duration(rapid.IntRange(-9, 9).Draw(t, "offset"))*time.Second, time.Duration(rapid.IntRange(0, 3).Draw(t, "uncertainty"))*time.Millisecond)
	}
	return all
}

// The same measurements give the same offsets, whatever their order; seen from another robot all of
// those that are joined differ by the same.
func TestOffsetsOfTheSameMeasurements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := clocks(t)
		a := Offsets(all, "a")
		if b := Offsets(rapid.Permutation(all).Draw(t, "order"), "a"); !maps.Equal(a, b) {
			t.Fatalf("%v is not %v", a, b)
		}
		b := Offsets(all, "b")
		if a["b"] != 0 && a["b"] != -b["a"] {
			t.Fatalf("b from a: %v, a from b: %v", a["b"], b["a"])
		}
		for robot := range a {
			if _, joined := b[robot]; !joined || a[robot]-b[robot] != 0 && a[robot]-b[robot] != a["b"] {
				t.Fatalf("%s: %v and %v, b from a: %v", robot, a[robot], b[robot], a["b"])
			}
		}
	})
}

func TestOffsets(t *testing.T) {
	got := Offsets([]ClockStatement{
		clockSaid("b", "a", 1, -10*time.Second, time.Millisecond),    // b is 10 s ahead of a
		clockSaid("b", "c", 1, 5*time.Second, time.Millisecond),      // c is 15 s ahead of a
		clockSaid("a", "c", 9, 2*time.Second, 5*time.Millisecond),    // less sure than the way over b
		clockSaid("a", "b", 9, 3*time.Second, 10*time.Millisecond),   // less sure than what b says
		clockSaid("x", "y", 1, 12*time.Millisecond, time.Nanosecond), // rounded
	}, "a")
	want := map[string]time.Duration{"a": 0, "b": -10 * time.Second, "c": -15 * time.Second, "x": 0, "y": -10 * time.Millisecond}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Measurements that come later merge all anew: forests with the same statements are equal, whatever the
// order, and equal to those by rules with these offsets.
func TestMeasuredClocksMergeAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said, measured := statements(t), clocks(t)
		for i := range measured { // near enough to change what counts
			measured[i].Skew.Offset /= 1e9 / clockGrain
			if measured[i].Robot == "b" {
				measured[i].Robot = "r"
			}
		}
		for i := range said {
			said[i].Time *= engram.Time(clockGrain)
			if r := rapid.SampledFrom([]string{"a", "r", ""}).Draw(t, "robot"); r != "" {
				said[i].Robot = r
			}
		}
		x, y := NewBuilder(DefaultRules()), NewBuilder(DefaultRules())
		x.robot, y.robot = "a", "a"
		for _, m := range measured {
			x.putClock(m)
		}
		for _, s := range said {
			if err := x.Put(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range rapid.Permutation(said).Draw(t, "order") {
			if err := y.Put(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range rapid.Permutation(measured).Draw(t, "order") {
			y.putClock(m)
			y.Forest()
		}
		a, b := dump(x.Forest()), dump(y.Forest())
		if a != b {
			t.Fatalf("%s\nis not\n%s", a, b)
		}
	})
}

func TestClocksThatAreApart(t *testing.T) {
	b := build(t, at("cup", "eye", 12, thing("table", 0, 0, 0)))
	b.robot = "rover"
	said := at("cup", "nose", 5, thing("shelf", 0, 0, 0))
	said.Robot = "tug"
	if err := b.Put(said); err != nil {
		t.Fatal(err)
	}
	parent := func() string { m, _ := b.Forest().Get("cup"); return m.Structure.Parent }
	if got := parent(); got != "table" {
		t.Errorf("it is on the %s", got)
	}
	b.putClock(clockSaid("rover", "tug", 1, -10*time.Second, time.Millisecond))
	if got := parent(); got != "shelf" {
		t.Errorf("it is on the %s", got)
	}
}
