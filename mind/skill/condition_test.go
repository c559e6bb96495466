package skill_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// says commits a text that was heard, with a confidence.
func (r *robot) says(who, text string, confidence float32) {
	r.Helper()
	time.Sleep(time.Millisecond) // of another time than the last
	heard(r.T, r.Server, who, text, confidence)
	synctest.Wait()
}

func heard(t *testing.T, svc engram.Writer, who, text string, confidence float32) {
	t.Helper()
	of, _ := memories.Type("engram.speech.Text")
	b, err := of.Encode(map[string]any{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	i := engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b})
	i.Confidence = confidence
	testkit.Commit(t, svc, engram.EntityUpdate{Entity: engram.MustID("Speech/Text/Mic/" + who), Time: engram.Now(), Instances: []engram.Instance{i}})
}

// counted offers a skill Arm/Wave that tells what it was called with.
func (r *robot) counted(requires ...condition.Term) (calls func() []string) {
	var mu sync.Mutex
	var all []string
	r.offers("Arm", skill.Skill{Name: "Wave", Description: skill.Description{Requires: requires}, Do: func(_ context.Context, c *skill.Call) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c.Text("text")+"|"+c.Text("who"))
		return nil
	}})
	return func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func (r *robot) when(name string, w skill.When) {
	r.Helper()
	if err := open(r.Server).SetCondition(r.ctx, "anna", name, w); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

var fromText = map[string]string{"text": "text", "who": condition.Name}

func wantCalls(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("it was called with %q, not %q", got, want)
	}
}

// A condition has its skill called when it is fulfilled, with parameters from the update, and the update is the cause.
func TestConditionRunsASkill(t *testing.T) {
	inBubble(t, func(r *robot) {
		calls := r.counted()
		r.when("greet", skill.When{Skill: "Arm/Wave", On: "Speech/Text/*/*", Where: `confidence > 0.8 && text.startsWith("hello")`, FromUpdate: fromText})
		r.says("bob", "hello there", 0.5)
		r.says("bob", "good bye", 0.9)
		wantCalls(t, calls())
		r.says("bob", "hello you", 0.9)
		r.says("bob", "hello again", 0.9) // it goes on
		r.says("eve", "hello", 0.9)
		wantCalls(t, calls(), "hello you|bob", "hello|eve")
		r.says("bob", "hm", 0.9)
		r.says("bob", "hello at last", 0.9)
		wantCalls(t, calls(), "hello you|bob", "hello|eve", "hello at last|bob")

		all, err := open(r.Server).Executions(r.ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
		if err != nil || len(all) != 3 {
			t.Fatal(all, err)
		}
		for _, e := range all {
			if e.Condition != engram.MustID("Skill/Condition/anna/greet") || e.Cause.CoreSegment() != "Text" || e.Caller != "anna" {
				t.Errorf("the execution is %+v", e)
			}
		}
		if err := open(r.Server).EnableCondition(r.ctx, engram.MustID("Skill/Condition/anna/greet"), false); err != nil {
			t.Fatal(err)
		}
		r.says("tom", "hello", 0.9)
		if len(calls()) != 3 {
			t.Error("a disabled condition had its skill called")
		}
		if err := open(r.Server).EnableCondition(r.ctx, engram.MustID("Skill/Condition/anna/greet"), true); err != nil {
			t.Fatal(err)
		}
		if got := calls(); len(got) != 5+1 { // of bob, eve and tom: it is fulfilled for them when it is enabled
			t.Errorf("after it was enabled: %q", got)
		}
	})
}

// Triggers, pauses, holds and once-per have a condition fire as often as they say.
func TestHowOftenAConditionFires(t *testing.T) {
	for name, test := range map[string]func(r *robot, calls func() []string){
		"each update": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, FromUpdate: fromText})
			for _, text := range []string{"a", "b", "b"} {
				r.says("bob", text, 1)
			}
			wantCalls(r.T, calls(), "a|bob", "b|bob", "b|bob")
		},
		"pause": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, Pause: time.Second, FromUpdate: fromText})
			for _, text := range []string{"a", "b", "c"} {
				r.says("bob", text, 1)
				time.Sleep(600 * time.Millisecond)
			}
			wantCalls(r.T, calls(), "a|bob", "c|bob")
		},
		"once per value": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, OncePer: "text", FromUpdate: fromText})
			for _, text := range []string{"a", "b", "a", "b"} {
				r.says("bob", text, 1)
			}
			r.says("eve", "a", 1)
			wantCalls(r.T, calls(), "a|bob", "b|bob")
		},
		"hold": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "stay"`, Hold: time.Second, FromUpdate: fromText})
			r.says("bob", "stay", 1)
			time.Sleep(700 * time.Millisecond)
			r.says("bob", "go", 1)
			time.Sleep(700 * time.Millisecond)
			wantCalls(r.T, calls())
			r.says("bob", "stay", 1)
			time.Sleep(1100 * time.Millisecond)
			wantCalls(r.T, calls(), "stay|bob")
		},
		"level": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "low"`, Trigger: condition.Level, Pause: 10 * time.Second, FromUpdate: fromText})
			r.says("battery", "low", 1)
			time.Sleep(25 * time.Second)
			r.says("battery", "full", 1)
			time.Sleep(25 * time.Second)
			wantCalls(r.T, calls(), "low|battery", "low|battery", "low|battery")
		},
		"terms": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text/*/cup", Where: "confidence > 0.8", FromUpdate: fromText, All: []condition.Term{
				{Of: engram.MustPattern("Speech/Text/*/gripper"), Where: `text == "empty"`},
				{Of: engram.MustPattern("Speech/Text/*/~person.*"), Where: `text == "near"`, None: true},
			}})
			r.says("person1", "near", 1)
			r.says("cup", "seen", 0.9)
			r.says("gripper", "empty", 1)
			wantCalls(r.T, calls())
			r.says("person1", "far", 1)
			wantCalls(r.T, calls(), "seen|cup")
			r.says("person2", "near", 1)
			r.says("person2", "far", 1)
			wantCalls(r.T, calls(), "seen|cup", "seen|cup")
		},
		"terms that grow old": func(r *robot, calls func() []string) {
			r.when("c", skill.When{Skill: "Arm/Wave", Parameters: map[string]any{"text": "quiet"}, All: []condition.Term{{Of: engram.MustPattern("Speech/Text"), None: true, Within: time.Minute}}})
			wantCalls(r.T, calls(), "quiet|") // nothing was heard yet
			r.says("bob", "hello", 1)
			time.Sleep(59 * time.Second)
			r.says("eve", "hello", 1)
			time.Sleep(59 * time.Second)
			wantCalls(r.T, calls(), "quiet|")
			time.Sleep(2 * time.Second)
			wantCalls(r.T, calls(), "quiet|", "quiet|")
		},
		"what is removed": func(r *robot, calls func() []string) {
			r.says("cup", "there", 1)
			r.when("c", skill.When{Skill: "Arm/Wave", Parameters: map[string]any{"text": "gone"}, All: []condition.Term{{Of: engram.MustPattern("Speech/Text/*/cup"), None: true}}})
			wantCalls(r.T, calls())
			if err := r.RemoveSegment(r.ctx, engram.MustID("Speech/Text/Mic")); err != nil {
				r.Fatal(err)
			}
			wantCalls(r.T, calls(), "gone|")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *robot) { test(r, r.counted()) })
		})
	}
}

// What a skill requires is looked at when it is called, and what is lasting as long as it executes; the failure says how things
// are. A check tells that before, and a dry run goes as far as the call.
func TestWhatASkillRequires(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Lift", Description: skill.Description{Resources: []string{"arm"}, Requires: []condition.Term{
			{Text: "the gripper is empty", Of: engram.MustPattern("Speech/Text/*/gripper"), Where: `text == "empty"`},
			{Text: "nobody is near", Of: engram.MustPattern("Speech/Text/*/~person.*"), Where: `text == "near"`, None: true, Lasting: true},
		}}, Do: wave})
		try := func(rehearsal skill.Rehearsal) *skill.Execution {
			return r.wait(r.start(skill.Ask{Skill: "Arm/Lift", Rehearsal: rehearsal}))
		}
		r.says("gripper", "full", 1)
		for _, rehearsal := range []skill.Rehearsal{skill.Check, skill.DryRun, skill.Real} {
			e := try(rehearsal)
			if f := e.Failure; e.Status != schedule.Failed || f == nil || f.Code != "condition" || !f.Retry || !strings.Contains(f.Message, "the gripper is empty") || !strings.Contains(f.Message, `text: "full"`) {
				t.Fatalf("%v: %+v %+v", rehearsal, e, f)
			}
			if e.Called != 0 {
				t.Errorf("%v: it was called", rehearsal)
			}
		}
		r.says("gripper", "empty", 1)
		for _, rehearsal := range []skill.Rehearsal{skill.Check, skill.DryRun} {
			if e := try(rehearsal); e.Status != schedule.Succeeded || e.Called != 0 {
				t.Errorf("%v: %+v", rehearsal, e)
			}
		}
		h := r.start(skill.Ask{Skill: "Arm/Lift"})
		time.Sleep(300 * time.Millisecond)
		if e := try(skill.Check); e.Failure == nil || e.Failure.Message != "arm is in use by "+h.ID.Entity() || !slices.Equal(e.Failure.BlockedBy, []engram.ID{h.ID}) {
			t.Errorf("a check while it executes: %+v", e.Failure)
		}
		r.says("person1", "near", 1)
		e := r.wait(h)
		if e.Status != schedule.Failed || e.Stop == nil || e.Stop.Reason != schedule.Condition || e.Stop.Answer != schedule.Confirmed || !strings.Contains(e.Failure.Message, "nobody is near") {
			t.Errorf("when somebody came near: %+v %+v", e, e.Stop)
		}
	})
}

// Conditions that start each other are stopped, and it is told.
func TestConditionsInACircle(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Talk", Do: func(ctx context.Context, c *skill.Call) error {
			time.Sleep(time.Millisecond)
			of, _ := memories.Type("engram.speech.Text")
			b, err := of.Encode(map[string]any{"text": c.Text("text"), "cause": c.ID})
			if err != nil {
				return err
			}
			testkit.Commit(t, r.Server, engram.EntityUpdate{Entity: engram.MustID("Speech/Text/Arm/self"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b})}})
			return nil
		}})
		for name, other := range map[string]string{"ping": "pong", "pong": "ping"} {
			r.when(name, skill.When{Skill: "Arm/Talk", On: "Speech/Text", Where: `text == "` + name + `"`, Trigger: condition.EachUpdate, Parameters: map[string]any{"text": other}})
		}
		r.says("bob", "ping", 1)
		time.Sleep(time.Minute)
		all, err := open(r.Server).Conditions(r.ctx)
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		if i := slices.IndexFunc(all, func(c *skill.Condition) bool { return c.Disabled && strings.Contains(c.Trouble, "circle") }); i < 0 {
			t.Errorf("none was stopped: %+v", all)
		}
		executions, err := open(r.Server).Executions(r.ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
		if err != nil || len(executions) > 10 {
			t.Errorf("%d executions: %v", len(executions), err)
		}
	})
}

// A condition that cannot be is refused, and the error names what is wrong with it.
func TestConditionsThatAreRefused(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.counted()
		for name, c := range map[string]struct {
			w    skill.When
			code engram.Code
			says string
		}{
			"no skill":          {skill.When{Skill: "Arm/Sing", On: "Speech/Text"}, engram.NotFound, "no provider offers"},
			"nothing":           {skill.When{Skill: "Arm/Wave"}, engram.Invalid, "nothing is demanded"},
			"no segment":        {skill.When{Skill: "Arm/Wave", On: "Speech"}, engram.Invalid, "names a memory and a core segment"},
			"no such segment":   {skill.When{Skill: "Arm/Wave", On: "Speech/Words"}, engram.NotFound, "Words"},
			"no such memory":    {skill.When{Skill: "Arm/Wave", On: "Sight/Words"}, engram.NotFound, "Sight"},
			"a filter":          {skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: "text =="}, engram.Invalid, "text =="},
			"a member":          {skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `txt == "a"`}, engram.Invalid, "txt"},
			"a term":            {skill.When{Skill: "Arm/Wave", All: []condition.Term{{Of: engram.MustPattern("Speech/Text"), Where: "1"}}}, engram.Invalid, "true or false"},
			"hold of an update": {skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, Hold: 1}, engram.Invalid, "hold"},
			"a trigger":         {skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: 7}, engram.Invalid, "trigger 7"},
		} {
			err := open(r.Server).SetCondition(r.ctx, "anna", "c", c.w)
			if code(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if all, err := open(r.Server).Conditions(r.ctx); err != nil || len(all) != 0 {
			t.Errorf("there are conditions: %v %v", all, err)
		}
	})
}

// A server that ends, at whatever instant after an update, asks once for what that fulfilled when it begins anew.
func TestConditionsWhenAServerBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		begin := func() *server.Server {
			types := idf.NewRegistry()
			journal, err := wal.OpenJournal(wal.JournalOptions{Dir: dir, Types: types})
			if err != nil {
				t.Fatal(err)
			}
			s, err := server.New(server.Config{Memories: []server.Memory{memories.Skill(), memories.Speech()}, Types: types, Journal: journal, Log: testkit.Quiet})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := begin()
		newByHand(t, s, "Arm", 1).offer("Wave", skill.Description{})
		forever := time.Duration(0)
		for name, trigger := range map[string]condition.Trigger{"edge": condition.Edge, "each": condition.EachUpdate, "level": condition.Level} {
			w := skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "hello"`, Trigger: trigger, Patience: &forever}
			if err := open(s).SetCondition(t.Context(), "anna", name, w); err != nil {
				t.Fatal(err)
			}
		}
		const rounds = 10
		for i := range rounds {
			who := fmt.Sprint("person", i)
			if i%2 == 0 {
				heard(t, s, who, "hm", 1)
			}
			time.Sleep(time.Millisecond)
			heard(t, s, who, "hello", 1)
			if i%3 == 0 {
				synctest.Wait()
			}
			if i%4 == 0 {
				time.Sleep(20 * time.Second)
			}
			s.Close()
			s = begin()
		}
		defer func() { s.Close() }()
		synctest.Wait()
		time.Sleep(time.Minute)
		all, err := open(s).Executions(t.Context(), engram.MustPattern("Skill/Execution"), engram.Latest(1))
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, e := range all {
			counts[e.Condition.Entity()]++
		}
		for _, name := range []string{"edge", "each", "level"} {
			if counts[name] != rounds {
				t.Errorf("%s: %d executions, want %d", name, counts[name], rounds)
			}
		}
	})
}

// A parameter that names something is resolved when the skill is called; the execution has what it names.
func TestNamesAreResolved(t *testing.T) {
	inBubble(t, func(r *robot) {
		var got any
		r.offers("Base", skill.Skill{Name: "GoTo", Description: skill.Description{Resources: []string{"base"}, Resolves: map[string]string{"to": "Speech/Text"}},
			Do: func(_ context.Context, c *skill.Call) error { got = c.Resolved["to"]; return nil }})
		r.says("table", "by the window", 1)
		e := r.wait(r.start(skill.Ask{Skill: "Base/GoTo", Parameters: map[string]any{"to": "table"}}))
		to, _ := e.Resolved["to"].(map[string]any)
		value, _ := to["value"].(map[string]any)
		id, _ := to["id"].(engram.ID)
		if value["text"] != "by the window" || id.Truncate(engram.LevelEntity) != engram.MustID("Speech/Text/Mic/table") || id.Level() != engram.LevelInstance || got == nil {
			t.Errorf("it was called with %v, and has %+v", got, e.Resolved)
		}
		if e := r.wait(r.start(skill.Ask{Skill: "Base/GoTo", Parameters: map[string]any{"to": map[string]any{"x": 1.0}}})); e.Status != schedule.Succeeded || e.Resolved != nil {
			t.Errorf("with a place that is given as such: %+v", e)
		}
		for name, says := range map[string]string{"tabel": "did you mean table?", "door": "there is no door in Speech/Text"} {
			if _, err := open(r.Server).Start(r.ctx, skill.Ask{Skill: "Base/GoTo", Parameters: map[string]any{"to": name}}); code(err) != engram.Invalid || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "to:") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// What asks for it only as long as it is there is aborted when it is gone, and goes on as long as somebody waits.
func TestCallerIsGone(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave}, skill.Skill{Name: "Deaf", Do: deaf})
		if e := r.wait(r.start(skill.Ask{Skill: "Arm/Deaf", CallerLease: time.Second})); e.Status != schedule.Succeeded {
			t.Errorf("though its caller waits it is %+v %+v", e, e.Stop)
		}
		h := r.start(skill.Ask{Skill: "Arm/Wave", CallerLease: 500 * time.Millisecond})
		time.Sleep(3 * time.Second)
		e, err := open(r.Server).Execution(r.ctx, h.ID)
		if err != nil || e.Status != schedule.Aborted || e.Stop.Reason != schedule.CallerGone || !strings.Contains(e.Message, "its caller is gone") {
			t.Errorf("when its caller is gone it is %+v %+v: %v", e, e.Stop, err)
		}
		if _, err := open(r.Server).Start(r.ctx, skill.Ask{Skill: "Arm/Wave", CallerLease: time.Millisecond}); code(err) != engram.Invalid || !strings.Contains(err.Error(), "caller_lease") {
			t.Error(err)
		}
	})
}
