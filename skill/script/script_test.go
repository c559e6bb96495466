package script_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/script"
)

const arm = `
provider: Arm
skills:
  Grasp:
    types: {object: String, force: Double?, fingers: List<String>}
    parameters: {object: cup, force: 3}
    duration: [1ms, 2ms]
    messages: [approaching, closing]
    result: {force: 9}
    failure: {on: [2], code: slipped, message: it slipped, retry: "yes"}
  Deaf: {answer: never, stop_timeout: 50ms}
  Stubborn: {duration: 1h, stop: refuse}
  Slow: {duration: 1h, stop: 5ms}
`

func TestScriptedProvider(t *testing.T) {
	s, err := script.Parse([]byte(arm))
	if err != nil {
		t.Fatal(err)
	}
	svc := serving.New(t, memories.All()...)
	serving.Until(t, func(ctx context.Context) error { return s.Run(ctx, svc) })
	ctx := testkit.Context(t)
	testkit.Until(t, func() (string, bool) {
		c, err := skill.Check(ctx, svc, skill.Request{Skill: "Grasp"})
		if err != nil {
			return err.Error(), false
		}
		return "not in service", len(c.Findings) == 0
	})
	for _, wrong := range []map[string]any{{"objct": "cup"}, {"object": 3}, {"force": "much"}, {"fingers": "thumb"}} {
		if _, err := skill.Start(ctx, svc, skill.Request{Skill: "Grasp", Parameters: wrong}); engram.CodeOf(err) != engram.TypeMismatch {
			t.Errorf("with %v: %v", wrong, err)
		}
	}
	all, err := skill.Descriptions(ctx, svc, "")
	if err != nil {
		t.Fatal(err)
	}
	if does, ok := all[engram.MustID("Skill/Description/Arm/Grasp")].Scripted.(map[string]any); !ok || does["messages"] == nil || does["stop"] != "0s" {
		t.Errorf("it is described to do %v", does)
	}
	for _, want := range []string{"", "slipped", ""} {
		_, err := skill.Run(ctx, svc, skill.Request{Skill: "Grasp"})
		if got := codeOf(err); got != want {
			t.Errorf("Grasp ends with %q, not %q: %v", got, want, err)
		}
	}
	for _, c := range []struct {
		name string
		want skill.StopAnswer
	}{{"Stubborn", skill.Refused}, {"Slow", skill.Confirmed}, {"Deaf", skill.Unconfirmed}} {
		x, err := skill.Start(ctx, svc, skill.Request{Skill: c.name})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range x.Watch(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Status == skill.Running {
				break
			}
		}
		if got, err := x.Abort(ctx, skill.ReasonOperator, "enough"); err != nil || got != c.want {
			t.Errorf("the abort of %s is %s, not %s: %v", c.name, got, c.want, err)
		}
	}
}

func codeOf(err error) string {
	if f, ok := err.(*skill.Failure); ok {
		return f.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestBadScripts(t *testing.T) {
	for text, want := range map[string]string{
		"provider: A":                                         "no skills",
		"skills: {G: {duration: soon}}":                       "no duration",
		"skills: {G: {stop: perhaps}}":                        "stop",
		"skills: {G: {answer: always}}":                       "answer",
		"skills: {G: {durration: 1s}}":                        "durration",
		"skills: [":                                           "script",
		"skills: {G: {types: {a: Int}, parameters: {b: 1}}}":  "b has no type",
		"skills: {G: {types: {a: Int}, parameter_type: x.Y}}": "parameter_type",
		"skills: {G: {failure: {on: often}}}":                 "",
		strings.Repeat("[", 10000):                            "script",
	} {
		_, err := script.Parse([]byte(text))
		if engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}
