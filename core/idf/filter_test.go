package idf

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

func snapshotOf(t testing.TB, ty *Type, v any) *engram.Snapshot {
	return &engram.Snapshot{
		Time: 10e9, Arrived: 12e9,
		Instances: []engram.Instance{{
			Payload: engram.Payload{Type: ty.Name(), Bytes: mustEncode(t, ty, v)}, Confidence: 0.8, Sent: 11e9, HasSent: true,
		}},
	}
}

func compileFilter(t testing.TB, expr string) *Filter {
	t.Helper()
	f, err := CompileFilter(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return f
}

func TestFilter(t *testing.T) {
	ty := zoo(t)
	s := snapshotOf(t, ty, map[string]any{
		"name": "cup", "count": 3, "ratio": 0.1, "ok": true, "raw": []byte("abc"), "mood": "glad", "total": uint64(5),
		"joints": []float64{0.5, 1.5}, "tags": []string{"a", "b"}, "points": []any{map[string]any{"x": 1}, map[string]any{"x": 2, "rank": 7}},
		"named": map[string]any{"knee": map[string]any{"x": 3}}, "numbered": map[int]string{5: "five"},
		"rows": [][]map[string]any{{{"x": 5}}, {}}, "nested": map[string]any{"a": map[string]string{"b": "c"}}, "pair": []any{"l", map[string]any{"x": 8}},
		"time": engram.Time(9e9), "took": 90 * time.Second, "seen_in": engram.MustID("Vision/ImageRGB/cam/left"),
		"array": [][]float64{{1, 2}, {3, 4}}, "any": map[string]any{"n": 5, "list": []any{1.5, "x"}, "at": engram.Time(1e9), "none": nil, "f": float32(0.3)},
		"pose": map[string]any{"position": map[string]any{"z": 0.5}}, "place": map[string]any{"label": "home"},
	})
	for expr, want := range map[string]bool{
		// metadata
		`confidence > 0.5`:                          true,
		`confidence == 0.8 && confidence <= 0.8`:    true,
		`confidence > 0.8`:                          false,
		`time == timestamp("1970-01-01T00:00:10Z")`: true,
		`arrived - sent == duration("1s")`:          true,
		`sent > time && arrived > sent`:             true,
		`type == "acme.Zoo"`:                        true,
		`time.getFullYear() == 1970`:                true,
		`timestamp("2026-01-01T00:00:00Z") > time`:  true,
		// members
		`name == "cup"`: true,
		`name.startsWith("c") && name.contains("u")`:         true,
		`name.matches("^c.{1,2}p?$")`:                        true,
		`name.upperAscii() == "CUP"`:                         true,
		`count == 3 && count > 2.5 && count < total`:         true,
		`count * 2 + 1 == 7`:                                 true,
		`ratio == 0.1 && ratio < 0.2`:                        true,
		`ok`:                                                 true,
		`!ok`:                                                false,
		`raw == b"abc" && size(raw) == 3`:                    true,
		`mood == "glad" && mood in ["glad", "sad"]`:          true,
		`joints[1] > 1 && size(joints) == 2`:                 true,
		`joints.exists(j, j > 1.0)`:                          true,
		`joints.all(j, j > 1.0)`:                             false,
		`"b" in tags`:                                        true,
		`points[1].x == 2.0 && points[1].rank == 7`:          true,
		`points.exists(p, p.x == 2.0)`:                       true,
		`points.filter(p, has(p.rank)).size() == 1`:          true,
		`named.knee.x == 3.0 && named["knee"].x > 2`:         true,
		`"knee" in named && !("hip" in named)`:               true,
		`named.all(k, named[k].x > 0.0) && size(named) == 1`: true,
		`numbered[5] == "five"`:                              true,
		`rows[0][0].x == 5.0 && rows[1] == []`:               true,
		`nested.a.b == "c"`:                                  true,
		`pair[0] == "l" && pair[1].x == 8.0`:                 true,
		`payload.time == timestamp("1970-01-01T00:00:09Z")`:  true,
		`took > duration("1m")`:                              true,
		`seen_in == "Vision/ImageRGB/cam/left"`:              true,
		`seen_in.startsWith("Vision/")`:                      true,
		`array[3] == 4.0 && size(array) == 4`:                true,
		`any.n == 5 && any.list[0] == 1.5 && any.f == 0.3`:   true,
		`any.at < time && any.none == null`:                  true,
		`pose.position.z < 1.0`:                              true,
		`pose.position.x == 0.0`:                             true, // not written, but it has a value
		`payload.name == name && payload.pose == pose`:       true,
		`math.greatest(joints[0], joints[1]) == 1.5`:         true,
		`place.label == "home"`:                              true,
		// members that are not there
		`pose.orientation.w > 0.0`:                     false,
		`!(pose.orientation.w > 0.0)`:                  false,
		`has(pose.position) && !has(pose.orientation)`: true,
		`has(payload.note)`:                            false,
		`has(payload.name)`:                            true,
		`word == "home"`:                               false,
		`nosuch == 1`:                                  false,
		`nosuch == 1 || count == 3`:                    true,
		`points[2].x == 0.0`:                           false,
		`named.hip.x == 0.0`:                           false,
		`has(named.hip)`:                               false,
		// what fails does not match
		`name > 5`:                       false,
		`count / 0 == 1`:                 false,
		`name`:                           false,
		`count + 0.5 == 3.5`:             false,
		`[1, 2].map(x, x * 2) == [2, 4]`: true,
		`raw[0] == 1`:                    false,
	} {
		if got := compileFilter(t, expr).Match(ty, s, 0); got != want {
			t.Errorf("%s is %v", expr, got)
		}
	}
}

func TestFilterOnValues(t *testing.T) {
	ty := known(t, engram.ValueType)
	s := snapshotOf(t, ty, map[string]any{"x": 0.5, "names": []any{"a"}, "deep": map[string]any{"y": 2}})
	for expr, want := range map[string]bool{
		`x == 0.5 && "a" in names && deep.y == 2`: true,
		`payload.x == 0.5 && size(payload) == 3`:  true,
		`z == 1`:                                  false,
		`has(payload.deep)`:                       true,
	} {
		if got := compileFilter(t, expr).Match(ty, s, 0); got != want {
			t.Errorf("%s is %v", expr, got)
		}
	}
	number := snapshotOf(t, ty, 5)
	if !compileFilter(t, `payload == 5`).Match(ty, number, 0) || compileFilter(t, `x == 5`).Match(ty, number, 0) {
		t.Error("a number as payload")
	}
	if compileFilter(t, `x == 5`).Match(nil, number, 0) || !compileFilter(t, `confidence > 0.5`).Match(nil, number, 0) {
		t.Error("a payload of unknown type")
	}
}

func TestFilterOfCorruptPayload(t *testing.T) {
	ty := zoo(t)
	s := snapshotOf(t, ty, map[string]any{})
	s.Instances[0].Payload.Bytes = wire{}.varint(1, 5)
	for _, expr := range []string{`name == ""`, `name != "x"`, `!has(payload.name)`, `payload.name == ""`} {
		if compileFilter(t, expr).Match(ty, s, 0) {
			t.Errorf("%s matches a payload that is no wire form", expr)
		}
	}
}

func TestCompileFilterErrors(t *testing.T) {
	for _, c := range []struct {
		expr string
		code engram.Code
		want string
	}{
		{`confidence >`, engram.Invalid, "filter: 1:13: Syntax error"},
		{`confidence >`, engram.Invalid, "\n | confidence >\n | ............^"},
		{``, engram.Invalid, "Syntax error"},
		{`confidence > "x"`, engram.Invalid, "no matching overload for '_>_' applied to '(double, string)'"},
		{`confidence + 1.0`, engram.Invalid, "is a double; a filter says true or false"},
		{`map == 3`, engram.Invalid, "; map is a name of CEL's own, a member is payload.map\n | map == 3"},
		{`list[7] == 1`, engram.Invalid, "; list is a name of CEL's own, a member is payload.list\n"},
		{`nosuch(1)`, engram.Invalid, "undeclared reference to 'nosuch'"},
		{`has(x)`, engram.Invalid, "invalid argument to has() macro; it takes a member of something, such as has(payload.pose)"},
		{`x.matches("(")`, engram.Invalid, "missing closing )"},
		{`x.matches(y)`, engram.Invalid, "must be a string in quotes"},
		{`x.replace("", x) == ""`, engram.Invalid, "replace() is not offered"},
		{`x.exists(a, x.exists(b, x.exists(c, x.exists(d, true))))`, engram.Exhausted, "more than 3 deep"},
		{strings.Repeat("x+", 70) + "x == 1", engram.Exhausted, "more than 64 additions"},
		{strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000), engram.Invalid, "recursion"},
		{`"` + strings.Repeat("x", MaxFilterLen) + `" == ""`, engram.Exhausted, "at most 4096"},
		{`x.matches("` + strings.Repeat("(a{100}){9}", 3) + `")`, engram.Exhausted, "is too large"},
		{`x.matches("(?:` + strings.Repeat(`\\pL`, 900) + `){1000}")`, engram.Exhausted, "is too large"}, // compiled it takes 40 MB
		{strings.Repeat(`x.matches("a{900}") || `, 9) + "true", engram.Exhausted, "too large together"},
	} {
		_, err := CompileFilter(c.expr)
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s:\n%v\nnot %v: %s", c.expr, err, c.code, c.want)
		}
	}
}

// TestFilterIsBounded: an expression that goes through a large list in a large list
// gives up.
func TestFilterIsBounded(t *testing.T) {
	ty := zoo(t)
	points := make([]map[string]any, 5_000)
	s := snapshotOf(t, ty, map[string]any{
		"joints": make([]float64, 20_000), "name": strings.Repeat("x", 1e5), "rows": []any{points, points},
		"tags":  slices.Repeat([]string{strings.Repeat("t", 4000)}, 1000),
		"child": map[string]any{"joints": make([]float64, 20_000)}, "pose": map[string]any{"position": map[string]any{}},
	})
	for _, expr := range []string{
		`joints.all(a, joints.all(b, joints.all(c, c == 0.0)))`,
		`joints.all(a, joints == joints)`,
		`joints.all(a, rows == rows)`,
		`[joints.map(x, x)].all(l, joints.all(a, l == l))`,
		`joints.all(a, (joints + joints) == (joints + joints))`,
		`joints.all(a, math.greatest(joints) == 0.0)`,
		`tags.map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() > 0`,
		`joints.all(a, payload == payload)`,
		`joints.all(a, pose.position.x == 0.0 && child.joints == joints)`,
		`joints.all(a, a in joints && !(1.0 in joints))`,
		`size(joints.map(a, name + name)) > 0`,
		`size(joints.map(a, name.split(""))) > 0`,
	} {
		f := compileFilter(t, expr)
		f.steps = 50_000
		if f.Match(ty, s, 0) {
			t.Errorf("%s came to an end", expr)
		}
	}
	// What is decoded is kept: otherwise this would take 5,000 times 5,000 steps.
	joints := make([]float64, 5_000)
	joints[7] = 1
	s = snapshotOf(t, ty, map[string]any{"joints": make([]float64, 5_000), "child": map[string]any{"joints": joints}})
	if !compileFilter(t, `joints.all(a, child.joints[7] == 1.0 && a == 0.0)`).Match(ty, s, 0) {
		t.Error("going through the list once is too costly")
	}
	if !compileFilter(t, `joints.map(a, a + 1.0).size() == 5000`).Match(ty, s, 0) {
		t.Error("making a list of it is too costly")
	}
}

// What is gone through is charged by its length, whichever function does it: a step stands
// for about as much time everywhere, so that a query's steps bound its time.
func TestFilterChargesWhatItGoesThrough(t *testing.T) {
	ty := zoo(t)
	const size = 160_000
	text := strings.Repeat("ab ", size/3+1)[:size]
	s := snapshotOf(t, ty, map[string]any{
		"name": text, "child": map[string]any{"name": text}, "rows": []any{make([]map[string]any, size)}, "tags": make([]string, size),
		"pose": map[string]any{"position": map[string]any{"x": 1}},
	})
	short := snapshotOf(t, ty, map[string]any{"name": "ab", "child": map[string]any{"name": "ab"}, "pose": map[string]any{"position": map[string]any{"x": 1}}})
	for expr, atLeast := range map[string]int64{
		`name.size() == 3`: size / 16, `size(name) == 3`: size / 16, `[name].size() == 3`: size / 16,
		`name < child.name`: size / 8, `name == child.name`: size / 8, `name.contains("q")`: size / 16, `name.startsWith(child.name)`: size / 8,
		`name.charAt(9) == "x"`: size / 4, `name.indexOf("q") == 3`: size / 4, `name.lastIndexOf("q") == 3`: size / 4, `name.indexOf("q", 3) == 3`: size / 4,
		`name.lowerAscii() == "x"`: size / 4, `name.upperAscii() == "x"`: size / 4, `name.reverse() == "x"`: size / 4, `name.trim() == "x"`: size / 4,
		`name.substring(3) == "x"`: size / 4, `name.substring(3, 5) == "x"`: size / 4, `name.split("").size() == 3`: 2 * size,
		`timestamp(name) == time`: size / 4, `duration(name) == time - sent`: size / 4, `int(name) == 1`: size / 4, `uint(name) == 1u`: size / 4, `double(name) == 1.0`: size / 4,
		`bytes(name) == b"x"`: size / 16, `string(bytes(name)) == "x"`: size / 8, `name + "x" == child.name`: size / 8,
		`name.matches("b+q")`: size * 5 / 2, `name.matches("(a|b| )*(a|b| ){9}q")`: size * 34 / 2,
		`pose.position.x == 2.0`: size / 8, `"k" in named`: size / 8, `joints.size() == 3`: size / 8, // beside rows and tags
	} {
		f := compileFilter(t, expr)
		f.steps = math.MaxInt64
		used := func(s *engram.Snapshot) int64 {
			m := FilterMeter{Left: math.MaxInt64}
			_, _ = f.Evaluate(ty, s, 0, &m)
			return math.MaxInt64 - m.Left
		}
		if got := used(s); got < atLeast {
			t.Errorf("%s is charged %d steps, not %d or more", expr, got, atLeast)
		}
		if got := used(short); got > 100 {
			t.Errorf("%s is charged %d steps of next to nothing", expr, got)
		}
	}
	if f := compileFilter(t, `time.getHours("Europe/Berlin") == 3`); f.nodes < zoneSteps {
		t.Errorf("looking up a time zone is charged %d steps", f.nodes)
	}
}

func TestFilterConcurrently(t *testing.T) {
	ty := zoo(t)
	f := compileFilter(t, `points.exists(p, p.x == double(count)) && named.k.x > 0.0`)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			s := snapshotOf(t, ty, map[string]any{"count": g, "points": []any{map[string]any{"x": g}}, "named": map[string]any{"k": map[string]any{"x": 1}}})
			other := snapshotOf(t, ty, map[string]any{"count": g + 1, "points": []any{map[string]any{"x": g}}})
			for range 200 {
				if !f.Match(ty, s, 0) || f.Match(ty, other, 0) {
					t.Error("one evaluation sees another's payload")
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCompileFilter(f *testing.F) {
	ty := zoo(f)
	s := &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: ty.Name(), Bytes: zooPayload(f)})}}
	for _, expr := range []string{
		`confidence > 0.8 && pose.position.z < 1.0`, `points.exists(p, p.x > 1.0)`, `has(payload.note)`, `named.all(k, named[k].x > 0.0)`,
		`any.deep[2].at < time`, `name.matches("c.p")`, `math.abs(-1) == 1`, `type(name) == string`, `seen_in in ["a"]`, "payload.`seen_in` == \"\"",
		`{"a": 1}.a == 1`, `[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]`, `size(payload) > 0`, `array == [1.0]`,
	} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		f, err := CompileFilter(expr)
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Invalid && code != engram.Exhausted {
				t.Fatalf("%q: %v (%v)", expr, err, code)
			}
			return
		}
		if first := f.Match(ty, s, 0); first != f.Match(ty, s, 0) && !f.folds {
			t.Fatalf("%q matches one time and not the other", expr)
		}
		f.Match(nil, s, 0)
	})
}

func benchmarkFilter(b *testing.B, expr string) {
	ty := known(b, "foxglove.PoseInFrame")
	s := snapshotOf(b, ty, map[string]any{
		"timestamp": engram.Time(5), "frame_id": "map",
		"pose": map[string]any{"position": map[string]any{"x": 1, "y": 2, "z": 0.5}, "orientation": map[string]any{"w": 1}},
	})
	f := compileFilter(b, expr)
	b.ReportAllocs()
	for b.Loop() {
		if !f.Match(ty, s, 0) {
			b.Fatal("does not match")
		}
	}
}

func BenchmarkFilterConfidence(b *testing.B) { benchmarkFilter(b, `confidence > 0.5`) }
func BenchmarkFilterMember(b *testing.B)     { benchmarkFilter(b, `pose.position.z < 1.0`) }
func BenchmarkFilterBoth(b *testing.B) {
	benchmarkFilter(b, `confidence > 0.5 && pose.position.z < 1.0`)
}

func BenchmarkFilterJoints(b *testing.B) {
	ty := compiled(b, "acme.Joints", `syntax = "proto3"; package acme; message Joints { map<string, double> position = 1; }`)
	position := map[string]any{}
	for i := range 43 {
		position[fmt.Sprintf("joint_%d", i)] = float64(i)
	}
	s := snapshotOf(b, ty, map[string]any{"position": position})
	f := compileFilter(b, `position.joint_7 > 1.0`)
	b.ReportAllocs()
	for b.Loop() {
		if !f.Match(ty, s, 0) {
			b.Fatal("does not match")
		}
	}
}

func BenchmarkCompileFilter(b *testing.B) {
	for b.Loop() {
		if _, err := CompileFilter(`confidence > 0.8 && pose.position.z < 1.0`); err != nil {
			b.Fatal(err)
		}
	}
}
