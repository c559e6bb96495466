package engram_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func TestPatternMatches(t *testing.T) {
	cup := engram.MustID("Object/Instance/Vision/cup-12")
	topic := engram.MustID(`Robot/Joints/rec/\/joint_states`)
	for text, want := range map[string][2]bool{ // matches the cup, the topic
		"":                             {true, true},
		"Object":                       {true, false},
		"Object/Instance/*/~cup-\\d+":  {true, false},
		"Object/*/Vision":              {true, false},
		"*/*/*/~.*-1":                  {false, false},
		`*/~Inst.*|Joints`:             {true, true},
		`Robot/Joints/*/\/joint_state`: {false, false},
		`Robot/Joints/*/~\/joint.*`:    {false, true},
		`Robot/Joints/*/\/joint_states`: {
			false, true},
	} {
		p, err := engram.ParsePattern(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		m, err := p.Matcher()
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{m.Match(cup), m.Match(topic)}; got != want {
			t.Errorf("%q matches %v, want %v", text, got, want)
		}
		if m.Match(cup.At(5)) != want[0] {
			t.Errorf("%q treats a snapshot otherwise than its entity", text)
		}
	}
}

func TestPatternDoesNotMatchAboveItself(t *testing.T) {
	m, _ := engram.MustPattern("*/*/*").Matcher()
	if m.Match(engram.MustID("Object/Instance")) {
		t.Error("a pattern of three levels matches a core segment")
	}
}

func TestParsePatternRefuses(t *testing.T) {
	for text, code := range map[string]engram.Code{
		"a/b/c/d/e":                     engram.Invalid,
		"~(":                            engram.Invalid,
		"a//b":                          engram.Invalid,
		`a\b`:                           engram.Invalid,
		"~" + strings.Repeat("x", 1025): engram.Exhausted,
		`~\PL{9}`:                       engram.Exhausted,
		"~((.{50}){5}){4}.{999}.{9}":    engram.Exhausted,
		"~" + strings.Repeat(".{999}", 3) + "/" + strings.Repeat("x", 1025): engram.Exhausted,
	} {
		if _, err := engram.ParsePattern(text); !errors.Is(err, code) {
			t.Errorf("%.30q gives %v, want %v", text, err, code)
		}
	}
}

// Small texts of regular expressions whose compiled form is large count for many.
func TestRegexesCountByTheirSize(t *testing.T) {
	for text, want := range map[string]int{
		"":                       1,
		"Object/Instance/*/cup":  1,
		`Object/*/*/~cup-\d+`:    1,
		"~[a-z]{40}":             2,
		"Object/~.{999}/~.{999}": 61,
		"~" + strings.Repeat("x", 1000) + "/~[a-cx-z]{60}": 35,
	} {
		p := engram.MustPattern(text)
		if got, err := p.Breadth(); err != nil || got != want {
			t.Errorf("%.30q counts for %d, %v; want %d", text, got, err, want)
		}
	}
	q := engram.Query{Memories: make([]engram.QueryNode, 100)}
	for i := range q.Memories {
		q.Memories[i].Names = engram.MatchRegex(fmt.Sprintf(".{999}%d", i))
	}
	if err := q.Check(10_000); err != nil {
		t.Errorf("100 large regexes: %v", err)
	}
	if err := q.Check(3000); !errors.Is(err, engram.Exhausted) {
		t.Errorf("100 large regexes where 3,000 names are allowed: %v", err)
	}
}

// A pattern of an ID matches that ID, its text parses to a pattern that does too,
// and so on, whatever the names are.
func TestPatternOfIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, other := drawID(t), drawID(t)
		p := engram.PatternOf(id)
		back, err := engram.ParsePattern(p.String())
		if err != nil {
			t.Fatalf("pattern %q of %q does not parse: %v", p, id, err)
		}
		m, err := back.Matcher()
		if err != nil {
			t.Fatal(err)
		}
		if !m.Match(id) {
			t.Fatalf("pattern %q does not match its ID %q", p, id)
		}
		if want := id.Truncate(engram.LevelEntity).Contains(other); m.Match(other) != want {
			t.Fatalf("pattern %q matches %q: %v", p, other, !want)
		}
	})
}

func TestPatternTextKeepsRegex(t *testing.T) {
	for _, sel := range []engram.NameSelector{
		engram.MatchRegex(`\/joint.*`), engram.MatchRegex(`/a/b`), engram.MatchRegex(`a\\/b`), engram.OneOf("x", "a/b", "*"),
	} {
		p := engram.Pattern{Levels: []engram.NameSelector{sel, engram.AllNames()}}
		back, err := engram.ParsePattern(p.String())
		if err != nil || len(back.Levels) != 2 {
			t.Errorf("%q parses to %d levels, %v", p, len(back.Levels), err)
			continue
		}
		a, _ := sel.Matcher()
		b, _ := back.Levels[0].Matcher()
		for _, name := range []string{"/joint", "/a/b", `a\/b`, "x", "a/b", "*", "y"} {
			if a.Match(name) != b.Match(name) {
				t.Errorf("%q and its text %q differ on %q", sel.Regex, p, name)
			}
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add(`Object/*/~cup\d+/\*x`)
	f.Add(`~\/a|b/~/`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return
		}
		if back, err := engram.ParsePattern(p.String()); err != nil || back.String() != p.String() {
			t.Fatalf("%q prints as %q, which parses to %q, %v", text, p, back, err)
		}
	})
}

// A star stands for any robot, or for any memory of a robot.
func TestPatternsOverRobots(t *testing.T) {
	for _, c := range []struct{ pattern, matches, not string }{
		{"*:Object", "Object robot1:Object base:Object", "Vision robot1:Vision a:b:Object Objects"},
		{"robot1:*", "robot1:Object robot1:Vision", "Object robot2:Object robot1"},
		{"*:*", "Object robot1:Object", ""},
		{"robot1:Object", "robot1:Object", "Object robot2:Object"},
		{`\*:Object`, "*:Object", "Object robot1:Object"},
		{"~robot[12]:Object", "robot1:Object robot2:Object", "robot3:Object Object"},
		{"a.c:*", "a.c:Object", "abc:Object"},
	} {
		for _, text := range []string{c.pattern, engram.MustPattern(c.pattern).String()} {
			m, err := engram.MustPattern(text).Matcher()
			if err != nil {
				t.Fatal(err)
			}
			match := func(name string) bool {
				id, err := engram.NewID(name)
				if err != nil {
					t.Fatal(err)
				}
				return m.Match(id)
			}
			for _, name := range strings.Fields(c.matches) {
				if !match(name) {
					t.Errorf("%s does not match %s", text, name)
				}
			}
			for _, name := range strings.Fields(c.not) {
				if match(name) {
					t.Errorf("%s matches %s", text, name)
				}
			}
		}
	}
	for _, text := range []string{"*:Object", "robot1:*", "*:*", `*:a.b\/c/Instance`, `a+b:*`, `~r[12]:.*`, `~(?:[^:]+:)?Obj.ct`} {
		p := engram.MustPattern(text)
		if p.String() != text {
			t.Errorf("%s is written %s", text, p)
		}
	}
	for _, odd := range []string{"robot1:*", "*:Object"} {
		id, err := engram.NewID(odd)
		if err != nil {
			t.Fatal(err)
		}
		p := engram.MustPattern(engram.PatternOf(id).String())
		m, err := p.Matcher()
		if err != nil || !m.Match(id) || m.Match(engram.MustID("robot1:Object")) {
			t.Errorf("the name %q is written %s", odd, engram.PatternOf(id))
		}
	}
	if p := engram.MustPattern("Object/*:Instance"); p.Levels[1].Kind != engram.NameOneOf {
		t.Error("below the memory a colon means something")
	}
}

// What is wrong with a regular expression is told of it as it was written, and one that is none
// is none, whatever is put around it.
func TestRegexIsJudgedAsItIsWritten(t *testing.T) {
	for regex, wrong := range map[string]string{"a)|(b": "`a)|(b`", "(a": "`(a`", "a)": "`a)`"} {
		_, err := engram.MatchRegex(regex).Matcher()
		if !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), "^(?:") {
			t.Errorf("%q: %v", regex, err)
		}
	}
}
