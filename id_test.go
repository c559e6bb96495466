package engram_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

const example = "Grasp/Affordance/MyGraspPlanner/blue-cup/2022-02-18 13:06:56.492182/1"

func TestParseID(t *testing.T) {
	id, err := engram.Parse(example)
	if err != nil {
		t.Fatal(err)
	}
	if got := id.Names(); !slices.Equal(got, []string{"Grasp", "Affordance", "MyGraspPlanner", "blue-cup"}) {
		t.Errorf("names %q", got)
	}
	when, ok := id.Time()
	if want := time.Date(2022, 2, 18, 13, 6, 56, 492182000, time.UTC); !ok || !when.Std().Equal(want) {
		t.Errorf("time %v, %v", when, ok)
	}
	if i, ok := id.Index(); !ok || i != 1 {
		t.Errorf("index %d, %v", i, ok)
	}
	if id.String() != example {
		t.Errorf("prints as %q", id)
	}
}

func TestParseIDEscapes(t *testing.T) {
	id := engram.MustID(`GeneralPurpose/sensor_msgs\/Imu/a\\b/\/imu\/data`)
	want := []string{"GeneralPurpose", "sensor_msgs/Imu", `a\b`, "/imu/data"}
	if got := id.Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if got := id.String(); got != `GeneralPurpose/sensor_msgs\/Imu/a\\b/\/imu\/data` {
		t.Errorf("prints as %s", got)
	}
}

func TestParseIDRefuses(t *testing.T) {
	for text, code := range map[string]engram.Code{
		"/":                              engram.Invalid,
		"a/":                             engram.Invalid,
		"a//b":                           engram.Invalid,
		`a\b`:                            engram.Invalid,
		`a\`:                             engram.Invalid,
		"a\x00b":                         engram.Invalid,
		"a\xffb":                         engram.Invalid,
		strings.Repeat("n", 513):         engram.Invalid,
		"a/b/c/d/yesterday":              engram.Invalid,
		"a/b/c/d/2022-02-30 00:00:00":    engram.Invalid,
		"a/b/c/d/3022-02-18 00:00:00":    engram.OutOfRange,
		"a/b/c/d/99999999999999999999":   engram.Invalid,
		"a/b/c/d/5/-1":                   engram.Invalid,
		"a/b/c/d/5/01":                   engram.Invalid,
		"a/b/c/d/5/1048576":              engram.Invalid,
		"a/b/c/d/5/1/2":                  engram.Invalid,
		"a/b/c/d/2022-02-18 13:06:56./1": engram.Invalid,
	} {
		if id, err := engram.Parse(text); !errors.Is(err, code) {
			t.Errorf("Parse(%.40q) = %v, %v; want %v", text, id, err, code)
		}
	}
}

// drawID draws any valid ID.
func drawID(t *rapid.T) engram.ID {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-z/\\*~. ]{1,8}`),
		rapid.StringN(1, 8, -1).Filter(func(s string) bool { return engram.CheckName(s) == nil }),
	)
	id, err := engram.NewID(rapid.SliceOfN(name, 0, 4).Draw(t, "names")...)
	if err != nil {
		t.Fatal(err)
	}
	if id.Level() == engram.LevelEntity && rapid.Bool().Draw(t, "has time") {
		id = id.At(engram.Time(rapid.Int64().Draw(t, "time")))
		if rapid.Bool().Draw(t, "has index") {
			id = id.Instance(rapid.IntRange(0, engram.MaxIndex).Draw(t, "index"))
		}
	}
	return id
}

func TestIDTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := drawID(t)
		back, err := engram.Parse(id.String())
		if err != nil || back != id {
			t.Fatalf("%q parses to %q, %v", id, back, err)
		}
	})
}

func TestIDOrderAgreesWithContainment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawID(t), drawID(t)
		if (a.Compare(b) == 0) != (a == b) || a.Compare(b) != -b.Compare(a) {
			t.Fatalf("Compare(%q, %q) = %d, reversed %d", a, b, a.Compare(b), b.Compare(a))
		}
		for p := a; ; p = p.Parent() {
			if !p.Contains(a) || p.Compare(a) > 0 {
				t.Fatalf("%q does not contain or follows its descendant %q", p, a)
			}
			if p != a && a.Contains(p) {
				t.Fatalf("%q contains its ancestor %q", a, p)
			}
			if p.IsRoot() {
				break
			}
		}
	})
}

func TestTimeText(t *testing.T) {
	for text, want := range map[string]engram.Time{
		"1970-01-01 00:00:00":           0,
		"0":                             0,
		"-5":                            -5,
		"1969-12-31 23:59:59.999999999": -1,
		"2022-02-18 13:06:56.492182":    1645189616492182000,
		"2022-02-18T13:06:56.492182Z":   1645189616492182000,
		"2022-02-18T14:06:56.5+01:00":   1645189616500000000,
		"2022-02-18 13:06:56.1":         1645189616100000000,
		"2024-02-29 00:00:00":           1709164800000000000,
		"1677-09-21 00:12:43.145224192": engram.MinTime,
		"2262-04-11 23:47:16.854775807": engram.MaxTime,
	} {
		if got, err := engram.ParseTime(text); err != nil || got != want {
			t.Errorf("ParseTime(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestTimeTextAgreesWithStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		when := engram.Time(rapid.Int64().Draw(t, "ns"))
		if want := when.Std().Format("2006-01-02 15:04:05.000000000"); strings.TrimSuffix(want, "000") != when.String() && want != when.String() {
			t.Fatalf("%d prints as %q, want %q", when, when, want)
		}
		if back, err := engram.ParseTime(when.String()); err != nil || back != when {
			t.Fatalf("%q parses to %d, %v; want %d", when, back, err, when)
		}
		if back, err := engram.ParseTime(when.Std().Format(time.RFC3339Nano)); err != nil || back != when {
			t.Fatalf("RFC 3339 text of %d parses to %d, %v", when, back, err)
		}
	})
}

func TestTimeArithmeticClamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, d := engram.Time(rapid.Int64().Draw(t, "a")), time.Duration(rapid.Int64().Draw(t, "d"))
		sum := a.Add(d)
		if exact := float64(a) + float64(d); math.Abs(float64(sum)-min(max(exact, -0x1p63), 0x1p63)) > 4096 {
			t.Fatalf("%d + %d = %d", a, d, sum)
		}
		b := engram.Time(rapid.Int64().Draw(t, "b"))
		if exact := float64(a) - float64(b); math.Abs(float64(a.Sub(b))-min(max(exact, -0x1p63), 0x1p63)) > 4096 {
			t.Fatalf("%d - %d = %d", a, b, a.Sub(b))
		}
	})
	if got := engram.TimeOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)); got != engram.MinTime {
		t.Errorf("the year 1 becomes %d", got)
	}
	if got := engram.TimeOf(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); got != engram.MaxTime {
		t.Errorf("the year 9999 becomes %d", got)
	}
}

func TestInterval(t *testing.T) {
	iv := engram.Interval{Start: 10, End: 20}
	for at, want := range map[engram.Time]bool{9: false, 10: true, 19: true, 20: false} {
		if iv.Contains(at) != want {
			t.Errorf("%v contains %d: %v", iv, at, !want)
		}
	}
	if iv.Overlaps(engram.Interval{Start: 20, End: 30}) || !iv.Overlaps(engram.Interval{Start: 19, End: 20}) {
		t.Error("half-open intervals overlap wrongly")
	}
	if got := engram.Always().String(); got != ".." {
		t.Errorf("Always prints as %q", got)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(example)
	f.Add(`a\/b/c\\d/*/~x`)
	f.Add("a/b/c/d/-1/0")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := engram.Parse(text)
		if err != nil {
			return
		}
		if back, err := engram.Parse(id.String()); err != nil || back != id {
			t.Fatalf("%q parses to %q, which parses to %q, %v", text, id, back, err)
		}
	})
}

func BenchmarkParseID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engram.Parse(example); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrintID(b *testing.B) {
	id := engram.MustID(example)
	b.ReportAllocs()
	for b.Loop() {
		_ = id.String()
	}
}

func TestSplitName(t *testing.T) {
	for name, want := range map[string][2]string{
		"Object": {"", "Object"}, "robot1:Object": {"robot1", "Object"}, "r:a:b": {"r", "a:b"}, ":a": {"", ":a"}, "a:": {"", "a:"},
	} {
		robot, memory := engram.SplitName(name)
		if robot != want[0] || memory != want[1] {
			t.Errorf("%q is %q of %q", name, memory, robot)
		}
	}
}
