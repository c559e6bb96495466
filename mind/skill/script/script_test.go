package script_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
	"github.com/seed-301d4374/engram/mind/skill/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// robot is a memory server in a bubble of its own time, with the providers of a file.
type robot struct {
	*testing.T
	*server.Server
	skills *skill.Skills
}

// with runs a test with the providers of a text, in time that passes when all wait.
func with(t *testing.T, text string, test func(r *robot)) {
	t.Helper()
	providers, err := script.Read("arm.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: []server.Memory{memories.Skill(), memories.Speech()}, Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r := &robot{T: t, Server: s}
		if r.skills, err = skill.Open(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var providing sync.WaitGroup
		for _, p := range providers {
			providing.Go(func() {
				if err := p.Provide(ctx, s, skill.ProvideOptions{}); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
			})
		}
		defer providing.Wait()
		defer cancel()
		synctest.Wait()
		test(r)
	})
}

// run runs a skill to its end.
func (r *robot) run(name string, parameters map[string]any) *skill.Execution {
	r.Helper()
	return r.wait(r.start(name, parameters))
}

func (r *robot) start(name string, parameters map[string]any) *skill.Handle {
	r.Helper()
	h, err := r.skills.Start(r.Context(), skill.Ask{Skill: name, Parameters: parameters, Caller: "anna"})
	if err != nil {
		r.Fatal(err)
	}
	return h
}

func (r *robot) wait(h *skill.Handle) *skill.Execution {
	r.Helper()
	e, err := h.Wait(r.Context(), nil)
	if err != nil {
		r.Fatal(err)
	}
	return e
}

func (r *robot) abort(h *skill.Handle, message string) {
	r.Helper()
	if err := h.Abort(r.Context(), message); err != nil {
		r.Fatal(err)
	}
}

// arm is a provider with one skill, Do, whose lines are given.
func arm(lines ...string) string {
	return "providers:\n  Arm:\n    skills:\n      Do:\n        " + strings.Join(lines, "\n        ") + "\n"
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name       string
		text       string
		parameters map[string]any
		want       string
	}{
		{"nothing", arm("text: nothing"), nil, "Succeeded map[]"},
		{"a result", arm(`defaults: {hand: right}`, `steps: [result: {hand: $hand, told: "the $object, $$${n}", all: [$n, 1.5, true, -7]}]`),
			map[string]any{"object": "cup", "n": int64(3)}, "Succeeded map[all:[3 1.5 true -7] hand:right told:the cup, $3]"},
		{"the last result counts", arm(`steps: [result: {a: 1}, result: {b: 2}]`), nil, "Succeeded map[b:2]"},
		{"a result of a type", arm(`result_type: engram.speech.Text`, `steps: [result: {text: hello, duration: 1.5s}]`), nil, "Succeeded map[duration:1.5s text:hello]"},
		{"a result of another type", arm(`result_type: engram.speech.Text`, `steps: [result: {txt: hello}]`), nil, "Failed type mismatch arm.yaml: line 6: engram.speech.Text"},
		{"progress", arm(`steps: [{progress: 0.5, message: "half of $n"}, message: done]`), map[string]any{"n": int64(3)}, "Succeeded map[]"},
		{"a failure", arm(`steps: [{fail: "the $object slipped", code: slipped, retry: true, blocked_by: [Object/Instance/Eye/$object]}]`),
			map[string]any{"object": "cup"}, "Failed slipped the cup slipped true [Object/Instance/Eye/cup]"},
		{"a failure without a code", arm(`steps: [fail: no]`), nil, "Failed failed no false []"},
		{"only where it holds", arm(`steps: [{fail: no, when: {object: milk}}, {result: {n: 1}, when: {n: 2}}]`),
			map[string]any{"object": "cup", "n": int64(2)}, "Succeeded map[n:1]"},
		{"a parameter that is not given", arm(`steps: [result: {object: $object}]`), nil, "Failed invalid arm.yaml: line 5: the parameter object is not given"},
		{"in a step that is left out", arm(`steps: [{result: {object: $object}, when: {object: cup}}]`), nil, "Succeeded map[]"},
		{"repeats", arm(`steps: [{repeat: $n, message: on, steps: [{repeat: 2, steps: [wait: 0s]}]}]`), map[string]any{"n": int64(3)}, "Succeeded map[]"},
		{"repeats what is no number", arm(`steps: [{repeat: $n, steps: [wait: 0s]}]`), map[string]any{"n": "many"}, "Failed internal arm.yaml: line 5: many: a whole number"},
		{"an ID that is none", arm(`steps: [{fail: no, blocked_by: $by}]`), map[string]any{"by": "//"}, "Failed invalid arm.yaml: line 5: "},
		{"runs another", arm(`steps: [{run: Arm/Other, parameters: {n: $n}}]`) + "      Other: {steps: [{fail: it is two, when: {n: 2}}]}\n", map[string]any{"n": int64(2)}, "Failed failed it is two false [] Do/Other"},
		{"runs another with a type", arm(`steps: [{run: Arm/Other, parameters: {text: $text, duration: 2s}}]`) + "      Other: {parameter_type: engram.speech.Text, steps: [fail: $duration]}\n", map[string]any{"text": "a"}, "Failed failed 2s false [] Do/Other"},
		{"runs another that fails", arm(`steps: [{run: Arm/Other, ignore_failure: true}, result: {n: 1}]`) + "      Other: {steps: [fail: no]}\n", nil, "Succeeded map[n:1]"},
		{"runs what nobody offers", arm(`steps: [run: Arm/Sing]`), nil, "Failed not found arm.yaml: line 5: Skill/Description/Arm/Sing: no provider offers"},
		{"writes what is refused", arm(`steps: [{commit: Speech/Text/Arm/word, type: engram.speech.Text, values: {txt: no}}]`), nil, "Failed"},
		{"writes what no memory has", arm(`steps: [{commit: Speech/$n/Arm/word, type: engram.speech.Text}]`), map[string]any{"n": "Texts"}, "Failed not found arm.yaml: line 5: Speech/Texts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			with(t, c.text, func(r *robot) {
				e := r.run("Arm/Do", c.parameters)
				got := fmt.Sprint(e.Status, " ", e.Result)
				if f := e.Failure; f != nil {
					got = fmt.Sprint(e.Status, " ", f.Code, " ", f.Message, " ", f.Retry, " ", f.BlockedBy, " ", f.Stage)
				}
				if !strings.HasPrefix(got, c.want) {
					t.Errorf("it ended as\n%s, not as\n%s", got, c.want)
				}
			})
		})
	}
}

// What is written is there, with parameters, as its type has it.
func TestCommit(t *testing.T) {
	with(t, arm(`steps: [{commit: Speech/Text/Arm/$word, type: engram.speech.Text, values: {text: $word, duration: 300ms}}]`), func(r *robot) {
		if e := r.run("Arm/Do", map[string]any{"word": "hello"}); e.Status != schedule.Succeeded {
			t.Fatalf("it ended as %+v", e.Failure)
		}
		s, err := r.Latest(r.Context(), engram.MustID("Speech/Text/Arm/hello"))
		if err != nil {
			t.Fatal(err)
		}
		def, err := r.Type(r.Context(), "engram.speech.Text")
		if err != nil {
			t.Fatal(err)
		}
		typ, err := idf.ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		v, err := typ.Decode(s.Instances[0].Payload.Bytes)
		if m := v.(map[string]any); err != nil || m["text"] != "hello" || m["duration"] != 300*time.Millisecond {
			t.Errorf("written was %v, %v", v, err)
		}
	})
}

// Steps take their time, and the description is as the file has it.
func TestTimeAndDescription(t *testing.T) {
	with(t, arm(`text: waves`, `resources: [arm, hand]`, `subskills: Arm/Lift`, `priority: 3`, `time_limit: 1m`, `stop_within: 200ms`, `preemptible: true`, `repeatable: true`,
		`requires: lasting no Skill/Activity within 5s`, `resolves: {place: Skill/Activity}`, `defaults: {times: 4}`, `steps: [{repeat: $times, message: waving, steps: [wait: 250ms]}]`), func(r *robot) {
		began := time.Now()
		var progress []float64
		e, err := r.start("Arm/Do", nil).Wait(r.Context(), func(e *skill.Execution) {
			if e.Progress >= 0 && e.Message == "waving" {
				progress = append(progress, e.Progress)
			}
		})
		if err != nil || e.Status != schedule.Succeeded || time.Since(began) != time.Second || fmt.Sprint(progress) != "[0 0.25 0.5 0.75]" {
			t.Errorf("after %v it ended as %+v, %v; it told %v", time.Since(began), e, err, progress)
		}
		offers, err := r.skills.Offers(r.Context(), engram.MustPattern("Skill/Description/Arm"))
		if err != nil || len(offers) != 1 {
			t.Fatalf("%v, %v", offers, err)
		}
		d := offers[0].Description
		want := skill.Description{
			ID: engram.MustID("Skill/Description/Arm/Do"), Text: "waves", Defaults: map[string]any{"times": int64(4)}, TimeLimit: time.Minute, Resources: []string{"arm", "hand"},
			Subskills: []engram.ID{engram.MustID("Skill/Description/Arm/Lift")}, Priority: 3, StopWithin: 200 * time.Millisecond, Preemptible: true, Repeatable: true,
			Requires: []condition.Term{{Of: engram.MustPattern("Skill/Activity"), None: true, Within: 5 * time.Second, Lasting: true}},
			Resolves: map[string]string{"place": "Skill/Activity"},
		}
		if fmt.Sprint(d) != fmt.Sprint(want) {
			t.Errorf("it is described as\n%+v, not\n%+v", d, want)
		}
	})
}

// Each call has its outcome, and the last one holds from then on.
func TestCalls(t *testing.T) {
	with(t, arm(`steps: [result: {n: 0}]`, `calls:`, `- fail: the hand is cold`, `- [result: {n: 2}]`, `- []`), func(r *robot) {
		for i, want := range []string{"Failed the hand is cold map[n:0]", "Succeeded  map[n:2]", "Succeeded  map[n:0]", "Succeeded  map[n:0]"} {
			if e := r.run("Arm/Do", nil); fmt.Sprint(e.Status, " ", e.Message, " ", e.Result) != want {
				t.Errorf("call %d ended as %v %s %v, not %s", i+1, e.Status, e.Message, e.Result, want)
			}
		}
	})
}

// A skill stands still as fast as the file says, and then only has stopped.
func TestStopping(t *testing.T) {
	with(t, arm(`stopping: 300ms`, `steps: [wait: 1h]`), func(r *robot) {
		h := r.start("Arm/Do", nil)
		synctest.Wait()
		began := time.Now()
		r.abort(h, "enough")
		if e := r.wait(h); e.Status != schedule.Aborted || e.Stop.Answer != schedule.Confirmed || time.Since(began) != 300*time.Millisecond {
			t.Errorf("after %v it ended as %+v %+v", time.Since(began), e, e.Stop)
		}
	})
}

// What another skill runs stops with it.
func TestStoppingOfOther(t *testing.T) {
	with(t, arm(`steps: [{run: Arm/Other, ignore_failure: true}]`)+"      Other: {stopping: 100ms, steps: [wait: 1h]}\n", func(r *robot) {
		h := r.start("Arm/Do", nil)
		synctest.Wait()
		r.abort(h, "enough")
		if e := r.wait(h); e.Status != schedule.Aborted || e.Stop.Answer != schedule.Confirmed {
			t.Errorf("it ended as %+v %+v", e, e.Stop)
		}
	})
}

// A stop is refused once, and the next one is obeyed.
func TestRefuse(t *testing.T) {
	with(t, arm(`steps: [refuse: "the $object would fall", wait: 1h]`), func(r *robot) {
		h := r.start("Arm/Do", map[string]any{"object": "cup"})
		synctest.Wait()
		r.abort(h, "please")
		synctest.Wait()
		all, err := r.skills.Executions(r.Context(), engram.PatternOf(h.ID), engram.Latest(1))
		if err != nil || len(all) != 1 || all[0].Status != schedule.Running || all[0].Stop.Answer != schedule.Refused || all[0].Message != "the cup would fall" {
			t.Fatalf("it is %+v, %v", all[0], err)
		}
		r.abort(h, "now")
		if e := r.wait(h); e.Status != schedule.Aborted || e.Stop.Answer != schedule.Confirmed {
			t.Errorf("it ended as %+v %+v", e, e.Stop)
		}
	})
}

// A skill that does not listen is fenced, and its provider begins anew when it stands still.
func TestIgnoreStop(t *testing.T) {
	with(t, arm(`resources: arm`, `steps: [{ignore_stop: true, when: {deaf: true}}, {repeat: 100, message: on, steps: [wait: 100ms]}]`), func(r *robot) {
		h := r.start("Arm/Do", map[string]any{"deaf": true})
		synctest.Wait()
		began := time.Now()
		r.abort(h, "enough")
		if e := r.wait(h); e.Status != schedule.Aborted || e.Stop.Answer != schedule.Unconfirmed || time.Since(began) < 2*time.Second || time.Since(began) > 4*time.Second {
			t.Errorf("after %v it ended as %+v %+v", time.Since(began), e, e.Stop)
		}
		if e := r.run("Arm/Do", nil); e.Status != schedule.Succeeded || time.Since(began) < 20*time.Second {
			t.Errorf("after %v the next ended as %+v %+v", time.Since(began), e, e.Failure)
		}
	})
}

// A provider that ends has what it executes stop, and waits until it has.
func TestProviderEnds(t *testing.T) {
	providers, err := script.Read("arm.yaml", []byte(arm(`stopping: 200ms`, `steps: [wait: 1h]`)))
	if err != nil {
		t.Fatal(err)
	}
	with(t, "providers: {Base: {skills: {Do: }}}", func(r *robot) {
		ctx, cancel := context.WithCancel(r.Context())
		ended := make(chan error)
		go func() { ended <- providers[0].Provide(ctx, r.Server, skill.ProvideOptions{}) }()
		synctest.Wait()
		h := r.start("Arm/Do", nil)
		synctest.Wait()
		began := time.Now()
		cancel()
		if err := <-ended; err != nil || time.Since(began) != 200*time.Millisecond {
			t.Errorf("it ended after %v with %v", time.Since(began), err)
		}
		if e := r.wait(h); e.Status != schedule.Failed || e.Stop.Reason != schedule.ProviderLost {
			t.Errorf("it ended as %+v %+v", e, e.Stop)
		}
	})
}

// What the memory does not know of is told when a provider is to begin, with its line.
func TestTypesThatAreNotThere(t *testing.T) {
	for text, want := range map[string]string{
		arm(`parameter_type: my.Wave`):                                      "arm.yaml: line 4: the skill Do: my.Wave",
		arm(`result_type: my.Wave`):                                         "arm.yaml: line 4: the skill Do: my.Wave",
		arm(`parameter_type: engram.speech.Text`, `defaults: {txt: hello}`): "arm.yaml: line 4: the skill Do: defaults: ",
	} {
		providers, err := script.Read("arm.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		with(t, "providers: {Base: {skills: {Do: }}}", func(r *robot) {
			err := providers[0].Provide(r.Context(), r.Server, skill.ProvideOptions{})
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, not %s", err, want)
			}
		})
	}
}

// The example has the skills of the program beside it.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../../examples/skill/arm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	with(t, string(text), func(r *robot) {
		if e := r.run("Arm/Wave", nil); e.Status != schedule.Succeeded || e.Result["waved"] != int64(2) {
			t.Errorf("Wave ended as %+v", e)
		}
		var f *skill.Failure
		if e := r.run("Arm/Bring", map[string]any{"object": "milk"}); !errors.As(e.Err(), &f) || f.Stage != "Bring/Grasp" || f.Code != "slipped" || !f.Retry {
			t.Errorf("Bring ended as %+v with %+v", e, f)
		}
		if e := r.run("Arm/Bring", nil); e.Status != schedule.Succeeded {
			t.Errorf("Bring ended as %+v", e)
		}
	})
}
