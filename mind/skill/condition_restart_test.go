package skill_test

import (
	"context"
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

// lives is a robot whose server begins anew.
type lives struct {
	robot
	dir string
}

// inLives runs a test with a server that can begin anew, in time that passes when all wait.
func inLives(t *testing.T, test func(r *lives)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &lives{robot{T: t, ctx: t.Context()}, t.TempDir()}
		r.begin()
		defer func() { r.end() }()
		test(r)
	})
}

func (r *lives) begin() {
	r.Helper()
	types := idf.NewRegistry()
	journal, err := wal.OpenJournal(wal.JournalOptions{Dir: r.dir, Types: types})
	if err != nil {
		r.Fatal(err)
	}
	r.Server, err = server.New(server.Config{Memories: []server.Memory{memories.Skill(), memories.Speech()}, Types: types, Journal: journal, Log: testkit.Quiet})
	if err != nil {
		r.Fatal(err)
	}
}

func (r *lives) end() {
	for _, leave := range r.leaving {
		leave()
	}
	r.leaving = nil
	r.Server.Close()
}

// anew has the server end and begin anew, some time later.
func (r *lives) anew(later time.Duration) {
	r.Helper()
	r.end()
	time.Sleep(later)
	r.begin()
	synctest.Wait()
}

// offered offers Arm/Wave, which is not executed as long as nobody provides it.
func (r *lives) offered() {
	r.Helper()
	newByHand(r.T, r.Server, "Arm", 1).offer("Wave", skill.Description{})
}

// asked returns how many executions there are.
func (r *lives) asked() int {
	r.Helper()
	synctest.Wait()
	all, err := open(r.Server).Executions(r.ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
	if err != nil {
		r.Fatal(err)
	}
	return len(all)
}

// wantAsked checks how many executions there are.
func (r *lives) wantAsked(want int, when string) {
	r.Helper()
	if got := r.asked(); got != want {
		r.Fatalf("%s: %d executions, want %d", when, got, want)
	}
}

// A condition at Level goes on when the server begins anew: it waits for what it started, and else asks again.
func TestLevelGoesOnWhenAServerBeginsAnew(t *testing.T) {
	inLives(t, func(r *lives) {
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "low"`, Trigger: condition.Level, Pause: 10 * time.Second})
		r.says("battery", "low", 1)
		time.Sleep(5 * time.Second)
		r.wantAsked(1, "before")
		r.anew(time.Minute)
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		time.Sleep(5 * time.Second)
		r.wantAsked(2, "after the server began anew")
		time.Sleep(10 * time.Second)
		r.wantAsked(3, "after a pause")
	})
	inLives(t, func(r *lives) {
		r.offered()
		forever := time.Duration(0)
		r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "low"`, Trigger: condition.Level, Patience: &forever})
		r.says("battery", "low", 1)
		time.Sleep(3 * time.Second)
		r.says("battery", "low", 1)
		r.wantAsked(1, "before")
		for range 3 {
			r.anew(time.Second)
			time.Sleep(5 * time.Second)
			r.wantAsked(1, "as long as what it started waits")
		}
	})
}

// What was held, paused or once before a server ended is not asked for again.
func TestConditionsRememberWhenAServerBeginsAnew(t *testing.T) {
	for name, test := range map[string]func(r *lives){
		"hold": func(r *lives) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "stay"`, Hold: time.Second})
			r.says("bob", "stay", 1)
			time.Sleep(time.Hour)
			r.says("eve", "hm", 1)
			r.wantAsked(1, "before")
			r.anew(time.Minute)
			time.Sleep(time.Minute)
			r.wantAsked(1, "after")
		},
		"hold that began before": func(r *lives) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text/Mic/bob", Where: `text == "stay"`, Hold: 30 * time.Second})
			r.says("bob", "stay", 1)
			time.Sleep(20 * time.Second)
			r.says("eve", "hm", 1)
			r.anew(time.Second)
			r.wantAsked(0, "before it is over")
			time.Sleep(time.Minute)
			r.wantAsked(1, "when it is over")
		},
		"pause": func(r *lives) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, Pause: 7 * time.Second})
			for range 20 {
				r.says("bob", "hello", 1)
				time.Sleep(time.Second)
			}
			r.wantAsked(3, "before")
			r.anew(0)
			r.says("bob", "hello", 1)
			r.wantAsked(3, "after")
			time.Sleep(7 * time.Second)
			r.says("bob", "hello", 1)
			r.wantAsked(4, "when it is over")
		},
		"once": func(r *lives) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, OncePer: "text"})
			r.says("bob", "hello", 1)
			time.Sleep(time.Minute)
			r.says("bob", "bye", 1)
			r.wantAsked(2, "before")
			r.anew(time.Second)
			r.says("eve", "hello", 1)
			r.wantAsked(2, "after")
		},
		"a kill long ago": func(r *lives) {
			r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "hello"`})
			heard(r.T, r.Server, "bob", "hello", 1) // no instant is left to ask for it
			r.end()
			time.Sleep(time.Hour)
			r.begin()
			heard(r.T, r.Server, "eve", "hm", 1)
			r.wantAsked(1, "after")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inLives(t, func(r *lives) {
				r.offered()
				test(r)
			})
		})
	}
}

// imports commits as an import does.
func (r *lives) imports(u engram.EntityUpdate, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	results, err := r.Commit(r.ctx, engram.Commit{Updates: []engram.EntityUpdate{u}, Recorded: true})
	if err != nil || results[0].Err != nil {
		r.Fatal(err, results)
	}
}

// Imported conditions ask for nothing, also when a server begins anew, and imported skills that require what there is not do not
// keep others from being looked at.
func TestImportedConditions(t *testing.T) {
	inLives(t, func(r *lives) {
		r.offered()
		codec, err := skill.NewCodec(r.ctx, r.Server)
		if err != nil {
			t.Fatal(err)
		}
		past := engram.Now().Add(-time.Hour)
		c := &skill.Condition{ID: engram.MustID("Skill/Condition/anna/old"), Skill: engram.MustID("Skill/Description/Arm/Wave")}
		c.On = engram.MustPattern("Speech/Text")
		r.imports(codec.ConditionUpdate(c, past))
		for name, term := range map[string]condition.Term{
			"Filter": {Of: engram.MustPattern("Speech/Text"), Where: "text =="}, "Segment": {Of: engram.MustPattern("Sight/Words")}, "All": {Of: engram.MustPattern("*")},
		} {
			d := &skill.Description{ID: engram.MustID("Skill/Description/Past/" + name), Requires: []condition.Term{term}}
			r.imports(codec.DescriptionUpdate(d, past))
		}
		r.says("bob", "hello", 1)
		r.wantAsked(0, "after the import")
		r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "hello"`})
		r.wantAsked(1, "of the condition that was set")
		r.anew(time.Minute)
		r.says("eve", "hello", 1)
		r.wantAsked(2, "after the server began anew")
	})
}

// What a skill requires is looked at from the first instant of a server on.
func TestRequirementsWhenAServerBeginsAnew(t *testing.T) {
	inLives(t, func(r *lives) {
		p := newByHand(t, r.Server, "Arm", 1)
		p.offer("Lift", skill.Description{Requires: []condition.Term{{Of: engram.MustPattern("Speech/Text/*/gripper"), Where: `text == "empty"`}}})
		r.says("gripper", "full", 1)
		forever := time.Duration(0)
		h := r.start(skill.Ask{Skill: "Arm/Lift", Patience: &forever})
		r.end()
		r.begin()
		p.svc, p.epoch = r.Server, 2
		if err := p.renew(time.Minute); err != nil {
			t.Fatal(err)
		}
		if e := p.is(h); e.Status != schedule.Failed || e.Failure == nil || e.Failure.Code != "condition" {
			t.Errorf("it is %+v", e)
		}
	})
}

// A condition with no more than its update in an older time does not take the place of a newer one.
func TestTheNewestConditionCounts(t *testing.T) {
	inBubble(t, func(r *robot) {
		calls := r.counted()
		codec, err := skill.NewCodec(context.Background(), r.Server)
		if err != nil {
			t.Fatal(err)
		}
		r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: `text == "new"`, FromUpdate: fromText})
		c := &skill.Condition{ID: engram.MustID("Skill/Condition/anna/c"), Skill: engram.MustID("Skill/Description/Arm/Wave"), FromUpdate: fromText}
		c.On, c.Where = engram.MustPattern("Speech/Text"), `text == "old"`
		for _, disabled := range []bool{false, true} {
			c.Disabled = disabled
			u, err := codec.ConditionUpdate(c, engram.Now().Add(-time.Second))
			if err != nil {
				t.Fatal(err)
			}
			testkit.Commit(t, r.Server, u)
		}
		r.says("bob", "old", 1)
		r.says("eve", "new", 1)
		wantCalls(t, calls(), "new|eve")
	})
}

// A condition at Level that is to run once for each value does so for the next value, too.
func TestLevelOncePerValue(t *testing.T) {
	inBubble(t, func(r *robot) {
		calls := r.counted()
		r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.Level, OncePer: "text", FromUpdate: fromText})
		for _, text := range []string{"a", "b", "a", "c"} {
			r.says("bob", text, 1)
			time.Sleep(5 * time.Second)
		}
		wantCalls(t, calls(), "a|bob", "b|bob", "c|bob")
	})
}

// A condition whose executions fail at once, or whose requests are refused, asks again after its pause.
func TestLevelWhereItFails(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.counted(condition.Term{Of: engram.MustPattern("Speech/Text/*/never")})
		r.when("c", skill.When{Skill: "Arm/Wave", On: "Speech/Text/*/bob", Trigger: condition.Level, Pause: 10 * time.Second})
		r.says("bob", "hello", 1)
		time.Sleep(25 * time.Second)
		all, err := open(r.Server).Executions(r.ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
		if err != nil || len(all) != 3 {
			t.Errorf("%d executions, %v", len(all), err)
		}
	})
}
