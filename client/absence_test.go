package client

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
)

// What a subscription tells of servers that go and come back, each once.
func TestAbsences(t *testing.T) {
	up := func(server string, memories ...string) state {
		return state{key: serverKey{server: server}, memories: memories, there: true}
	}
	silent := func(s state) state { s.suspected = 5; return s }
	heard := func(s state, times uint64) state { s.heard = times; return s }
	of := func(robot string, s state) state { s.key.robot = robot; return s }
	closed := func(s state) state { s.there = false; return s }
	away := func(server string, since engram.Time, memories ...string) engram.Absence {
		return engram.Absence{Server: server, Since: since, Memories: memories}
	}
	back := func(a engram.Absence, at engram.Time) engram.Absence { a.Until = at; return a }
	by := func(a engram.Absence, server string, memories ...string) engram.Absence {
		a.Server, a.Memories = server, memories
		return a
	}
	a, b, c := up("a", "A"), up("b", "r:B", "r:C"), up("a", "C")
	for name, steps := range map[string][]struct {
		now  []state
		told []engram.Absence
	}{
		"silent":             {{[]state{a, b}, nil}, {[]state{a, silent(b)}, []engram.Absence{away("b", 5, "r:B", "r:C")}}, {[]state{a, silent(b)}, nil}, {[]state{a, b}, []engram.Absence{back(away("b", 5, "r:B", "r:C"), 3)}}, {[]state{a, b}, nil}},
		"from the beginning": {{[]state{silent(b)}, []engram.Absence{away("b", 5, "r:B", "r:C")}}},
		"gone":               {{[]state{a, b}, nil}, {[]state{a}, []engram.Absence{away("b", 1, "r:B", "r:C")}}, {[]state{a}, nil}, {[]state{a, closed(b)}, nil}, {[]state{a, b}, []engram.Absence{back(away("b", 1, "r:B", "r:C"), 4)}}},
		"silent, then gone":  {{[]state{silent(b)}, []engram.Absence{away("b", 5, "r:B", "r:C")}}, {nil, nil}, {nil, nil}, {[]state{b}, []engram.Absence{back(away("b", 5, "r:B", "r:C"), 3)}}},
		"moved":              {{[]state{a}, nil}, {[]state{up("x", "A")}, nil}, {[]state{up("x", "A")}, nil}},
		"taken over":         {{[]state{a}, nil}, {nil, []engram.Absence{away("a", 1, "A")}}, {[]state{up("x", "A")}, []engram.Absence{by(back(away("a", 1, "A"), 2), "x", "A")}}, {[]state{up("x", "A")}, nil}},
		"taken over, not yet there": {{[]state{a}, nil}, {[]state{silent(a)}, []engram.Absence{away("a", 5, "A")}}, {[]state{closed(up("x", "A"))}, nil},
			{[]state{up("x", "A")}, []engram.Absence{by(back(away("a", 5, "A"), 3), "x", "A")}}, {[]state{up("x", "A")}, nil}},
		"taken over by two": {{[]state{silent(b)}, []engram.Absence{away("b", 5, "r:B", "r:C")}}, {[]state{up("x", "r:B")}, []engram.Absence{by(back(away("b", 5), 1), "x", "r:B")}},
			{[]state{up("x", "r:B"), up("y", "r:C")}, []engram.Absence{by(back(away("b", 5), 2), "y", "r:C")}}, {[]state{up("x", "r:B"), up("y", "r:C")}, nil}},
		"taken over in part": {{[]state{silent(b)}, []engram.Absence{away("b", 5, "r:B", "r:C")}}, {[]state{up("x", "r:B")}, []engram.Absence{by(back(away("b", 5), 1), "x", "r:B")}},
			{[]state{up("x", "r:B"), up("b", "r:C")}, []engram.Absence{back(away("b", 5, "r:C"), 2)}}},
		"two at once":       {{[]state{b, a}, nil}, {nil, []engram.Absence{away("a", 1, "A"), away("b", 1, "r:B", "r:C")}}},
		"silent, but heard": {{[]state{b}, nil}, {[]state{heard(silent(b), 1)}, nil}, {[]state{heard(silent(b), 2)}, nil}, {[]state{heard(silent(b), 2)}, []engram.Absence{away("b", 5, "r:B", "r:C")}}},
		"of the same name":  {{[]state{of("x", a), of("y", c)}, nil}, {[]state{of("x", a), silent(of("y", c))}, []engram.Absence{away("a", 5, "C")}}, {[]state{of("x", a), of("y", c)}, []engram.Absence{back(away("a", 5, "C"), 2)}}},
		"not there yet":     {{[]state{closed(a)}, nil}, {[]state{a}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			all := &absences{gone: map[serverKey]*engram.Absence{}}
			for i, step := range steps {
				var told []engram.Absence
				updates, again := all.look(step.now, engram.Time(i), func(string) engram.Time { return 0 })
				if again && len(step.told) > 0 {
					t.Errorf("step %d is to be looked at again", i)
				}
				for _, u := range updates {
					told = append(told, *u.Absence)
				}
				same := slices.EqualFunc(told, step.told, func(x, y engram.Absence) bool {
					return x.Server == y.Server && x.Since == y.Since && x.Until == y.Until && slices.Equal(x.Memories, y.Memories)
				})
				if !same {
					t.Fatalf("step %d told %+v, want %+v", i, told, step.told)
				}
			}
		})
	}
}
