package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill/script"
)

func TestRead(t *testing.T) {
	all, err := script.Read("two.yaml", []byte(`
# Two providers.
providers:
  Base:
    lease: 5s
    skills:
      MoveTo: {stop_within: 2s, steps: [wait: 1s]}
  Arm:
    skills:
      Wave:
      Grasp:
        text: |
          closes the hand
          around an object
        defaults: &cup {object: cup}
        calls:
          - fail: no
          - run: Base/MoveTo
            parameters: *cup
`))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range all {
		got += fmt.Sprintf("%s%v%v ", p.Name, p.Lease, p.Names())
	}
	if got != "Arm0s[Grasp Wave] Base5s[MoveTo] " {
		t.Errorf("read was %s", got)
	}
}

// Each mistake names the file, the line and the key.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "line 1: a file of providers: providers is missing"},
		{"only a comment", "# nothing\n", "line 1: a file of providers: providers is missing"},
		{"a list", "- a\n", "line 1: a file of providers: a mapping is expected, not a list"},
		{"no YAML", "providers: [\n", "line 1: the YAML cannot be parsed: sequence end token"},
		{"two documents", "providers: {}\n---\nproviders: {}\n", "2 YAML documents"},
		{"deep", strings.Repeat("[", 100_000), "nest"},
		{"another key", "provider:\n", `line 1: a file of providers: unknown key "provider"; did you mean providers?`},
		{"no providers", "providers:\n", "line 1: providers: there are none"},
		{"a provider without skills", "providers:\n  Arm: {lease: 2s}\n", "line 2: the provider Arm: skills is missing"},
		{"a provider with no skill", "providers:\n  Arm:\n    skills: {}\n", "line 3: skills of Arm: there are none"},
		{"two providers of one name", "providers:\n  Arm: {skills: {A: }}\n  Arm: {skills: {B: }}\n", `line 3: the YAML cannot be parsed: mapping key "Arm" already defined`},
		{"a short lease", "providers:\n  Arm:\n    lease: 1s\n    skills: {A: {stop_within: 2s}}\n", "line 3: the provider Arm: lease: 1s: from 100ms to 1m0s, and at least twice as long as stopping may take, 2s"},
		{"a lease that is none", "providers:\n  Arm:\n    lease: 5\n    skills: {A: }\n", `line 3: the provider Arm: lease: "5" is no span of time`},
		{"a name that is none", "providers:\n  \"\": {skills: {A: }}\n", "line 2: "},
		{"an unknown key", arm("texd: waves"), `line 5: the skill Do: unknown key "texd"; did you mean text?`},
		{"a skill that is a text", arm("waves"), `the skill Do: a mapping is expected, not "waves"`},
		{"a text that is a list", arm("text: [a]"), "line 5: the skill Do: text: a text is expected, not a list"},
		{"a span of time", arm("time_limit: -1s"), `line 5: the skill Do: time_limit: "-1s" is no span of time`},
		{"true or false", arm("preemptible: yes"), `line 5: the skill Do: preemptible: true or false is expected, not "yes"`},
		{"a number", arm("priority: 1.5"), `line 5: the skill Do: priority: a whole number is expected, not "1.5"`},
		{"a large number", arm("priority: 3000000000"), `line 5: the skill Do: priority: a whole number`},
		{"a subskill", arm("subskills: Wave"), `line 5: the skill Do: subskills: "Wave": name a skill as PROVIDER/NAME`},
		{"a term", arm("requires: every thing"), `line 5: the skill Do: requires: `},
		{"a pattern", arm("resolves: {a: 5}"), `line 5: the skill Do: resolves: a: the pattern of the entities`},
		{"defaults that are a list", arm("defaults: [a]"), `line 5: the skill Do: defaults: a mapping is expected, not a list`},
		{"defaults of parameters", arm("defaults: {a: $b}"), `line 5: the skill Do: defaults: $b: a default names no other parameter`},
		{"an alias in the structure", "providers:\n  Arm: &arm {skills: {A: }}\n  Leg: *arm\n", "line 2: the provider Arm: a mapping is expected, not an anchor"},
		{"steps that are a mapping", arm("steps: {wait: 1s}"), "line 5: the skill Do: steps: a list is expected, not a mapping"},
		{"a step that is a text", arm("steps: [wait]"), `line 5: a step: a mapping is expected, not "wait"`},
		{"a step of nothing", arm("steps: [{}]"), "line 5: a step says what is done: wait, progress"},
		{"a step with only when", arm("steps: [when: {a: 1}]"), "line 5: a step says what is done"},
		{"an unknown step", arm("steps:", "- wiat: 1s"), `line 6: a step: unknown key "wiat"; did you mean wait?`},
		{"a key of a step that is not there", arm("steps: [run: Arm/Wave, parameters: {}]"), `line 5: a step: parameters stands in one step with run: {run: …, parameters: …}`},
		{"two steps in one", arm("steps:", "- wait: 1s", "  result: {}"), `line 6: the step wait: result is a step of its own; begin it with "- "`},
		{"a failure's message", arm("steps:", "- fail: slipped", "  message: it slipped"), `line 6: the step fail: its message stands after "fail:"`},
		{"a key that is not the step's", arm("steps:", "- wait: 1s", "  code: a"), `line 7: the step wait: unknown key "code"; it has wait, when`},
		{"a step as a mapping", arm("steps:", "- fail: {code: a}"), "line 6: the step fail: fail: a plain value is expected, not a mapping; what else there is to say, such as code, retry, blocked_by, when, stands beside it"},
		{"progress", arm("steps: [progress: 2]"), `line 5: the step progress: progress: a number from 0 to 1 is expected, not "2"`},
		{"a dollar sign", arm("steps: [message: 5 $]"), `line 5: the step message: message: "5 $": $ names a parameter`},
		{"an entity", arm("steps: [{commit: Object/Instance, type: a}]"), `line 5: the step commit: commit: "Object/Instance": name an entity`},
		{"a commit without a type", arm("steps: [commit: Object/Instance/Arm/cup]"), `line 5: the step commit: type is missing`},
		{"a condition", arm("steps: [{wait: 1s, when: {a: [1]}}]"), `line 5: the step wait: when: a: a plain value is expected`},
		{"a link", arm("steps: [{fail: no, blocked_by: //}]"), `line 5: the step fail: blocked_by: `},
		{"how often", arm("steps: [{repeat: -1, steps: []}]"), `line 5: the step repeat: repeat: a whole number from 0 to 1000000 is expected, not "-1"`},
		{"how often in words", arm("steps: [{repeat: often, steps: []}]"), `line 5: the step repeat: repeat: a whole number from 0 to 1000000 is expected, not "often"`},
		{"nothing to repeat", arm("steps: [repeat: 2]"), `line 5: the step repeat: steps is missing`},
		{"an empty text", arm("steps: [refuse: '']"), `line 5: the step refuse: refuse: it is empty`},
		{"a text that is nothing", arm("steps:", "- refuse:"), `line 6: the step refuse: refuse: a text is expected, not nothing`},
		{"a name that is nothing", "providers:\n  ~: {skills: {A: }}\n", `line 2: providers: a name is expected, not nothing`},
		{"a skill that is nothing", arm("steps:", "- run: ''"), `line 6: the step run: run: `},
		{"an ID that is nothing", arm("steps: [{fail: no, blocked_by: ['', [a]]}]"), `line 5: the step fail: blocked_by: texts are expected, not a list`},
		{"too deep", arm("steps: " + strings.Repeat("[{repeat: 2, steps: ", 9) + "[]" + strings.Repeat("}]", 9)), `steps nest more than 8 deep`},
		{"no calls", arm("calls: []"), `line 5: the skill Do: calls: what is done at the first call is missing`},
		{"too many steps", arm("steps:" + strings.Repeat("\n        - wait: 0s", script.MaxSteps+1)), "line 10006: there are more than 10000 steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := script.Read("arm.yaml", []byte(c.text))
			if engram.CodeOf(err) != engram.Invalid || !strings.HasPrefix(fmt.Sprint(err), "arm.yaml: ") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v\nwanted is\n%s", err, c.want)
			}
		})
	}
	if _, err := script.Read("arm.yaml", make([]byte, script.MaxFile+1)); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("of a large file: %v", err)
	}
}

// One reading tells of all mistakes, up to a bound.
func TestAllMistakes(t *testing.T) {
	for n, want := range map[int]int{3: 3, 100: 20} {
		_, err := script.Read("arm.yaml", []byte(arm("steps:"+strings.Repeat("\n        - wiat: 1s", n))))
		if err == nil || strings.Count(err.Error(), "did you mean wait") != want {
			t.Errorf("of %d mistakes it tells %v", n, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		arm(`defaults: {n: 1}`, `steps: [{repeat: $n, steps: [wait: 1s]}, {run: Arm/Do, parameters: {a: "${b} $$"}}, fail: no]`, `calls: [[], refuse: no]`),
		arm(`steps: [{commit: Object/Instance/Arm/$a, type: t, values: {a: [!!float 1, .inf, ~]}, when: {a: 1}}, progress: 1e-3, ignore_stop: true]`),
		"providers: &a {Arm: *a}", "? a\n: b", "- - -",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := script.Read("a.yaml", text)
		if err == nil && len(all) == 0 {
			t.Error("there are neither providers nor a mistake")
		}
	})
}
