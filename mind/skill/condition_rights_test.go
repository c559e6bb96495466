package skill_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// Where there are rules, who sets a condition, or describes what a skill requires or resolves, must be allowed to read what that is
// about, and who sets a condition to write what it asks for: by a commit, or by a stream of commits.
func TestRightsOfConditions(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.counted()
		policy, err := access.Parse([]byte(`
rules:
  - allow: all
    to: [anna]
    on: [Skill]
  - allow: all
    to: [bob]
    on: [Speech, Skill/Condition, Skill/Description]
  - allow: all
    to: [eve]
    on: [Speech, Skill]
`))
		if err != nil {
			t.Fatal(err)
		}
		rules := access.New(access.Options{})
		defer rules.Close()
		if err := rules.Set(policy); err != nil {
			t.Fatal(err)
		}
		guard := access.NewGuard(r.Server, rules)
		codec, err := skill.NewCodec(r.ctx, r.Server)
		if err != nil {
			t.Fatal(err)
		}
		secret := []condition.Term{{Of: engram.MustPattern("Speech/Text")}}
		set := func(c *skill.Condition) (engram.EntityUpdate, error) {
			c.Skill = engram.MustID("Skill/Description/Arm/Wave")
			return codec.ConditionUpdate(c, engram.Now())
		}
		for what, update := range map[string]func(who string) (engram.EntityUpdate, error){
			"condition": func(who string) (engram.EntityUpdate, error) {
				c := &skill.Condition{ID: engram.MustID("Skill/Condition/" + who + "/on")}
				c.On = engram.MustPattern("Speech/Text")
				return set(c)
			},
			"term": func(who string) (engram.EntityUpdate, error) {
				c := &skill.Condition{ID: engram.MustID("Skill/Condition/" + who + "/term")}
				c.All = secret
				return set(c)
			},
			"requires": func(who string) (engram.EntityUpdate, error) {
				return codec.DescriptionUpdate(&skill.Description{ID: engram.MustID("Skill/Description/" + who + "/Requires"), Requires: secret}, engram.Now())
			},
			"resolves": func(who string) (engram.EntityUpdate, error) {
				return codec.DescriptionUpdate(&skill.Description{ID: engram.MustID("Skill/Description/" + who + "/Resolves"), Resolves: map[string]string{"who": "Speech/Text"}}, engram.Now())
			},
		} {
			for who, may := range map[string]bool{"anna": false, "bob": strings.HasPrefix(what, "re"), "eve": true} {
				ctx := access.WithIdentity(r.ctx, access.Identity(who))
				u, err := update(who)
				if err != nil {
					t.Fatal(err)
				}
				one, err := guard.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
				if err != nil {
					t.Fatal(err)
				}
				stream, err := guard.CommitStream(ctx)
				if err != nil {
					t.Fatal(err)
				}
				u.Time++
				if err := stream.Send(engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil {
					t.Fatal(err)
				}
				streamed, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				stream.Close()
				for _, got := range []error{one[0].Err, streamed[0].Err} {
					if may != (got == nil) || !may && code(got) != engram.Forbidden {
						t.Errorf("%s of %s: %v", what, who, got)
					}
				}
			}
		}
	})
}

// What a condition or a skill is given with that can never be is refused when it is given.
func TestOddValues(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.counted()
		minus, many := -time.Second, make([]condition.Term, condition.MostTerms+1)
		for i := range many {
			many[i].Of = engram.MustPattern("Speech/Text")
		}
		on := skill.When{Skill: "Arm/Wave", On: "Speech/Text"}
		for name, change := range map[string]func(*skill.When){
			"hold":              func(w *skill.When) { w.Hold = minus },
			"pause":             func(w *skill.When) { w.Pause = minus },
			"patience":          func(w *skill.When) { w.Patience = &minus },
			"time limit":        func(w *skill.When) { w.TimeLimit = &minus },
			"terms":             func(w *skill.When) { w.All = many },
			"update of no one":  func(w *skill.When) { w.On, w.All, w.FromUpdate = "", many[:1], fromText },
			"of another robot":  func(w *skill.When) { w.On = "robot1:Speech/Text" },
			"all memories":      func(w *skill.When) { w.On = "*/Text" },
			"of some memories":  func(w *skill.When) { w.On = "~S.*/Text" },
			"another's segment": func(w *skill.When) { w.On = "Speech/~T.*" },
		} {
			w := on
			change(&w)
			if err := open(r.Server).SetCondition(r.ctx, "anna", "c", w); err == nil {
				t.Errorf("%s: it was not refused", name)
			}
		}
		if err := open(r.Server).SetCondition(r.ctx, "anna", strings.Repeat("c", engram.MaxNameLen), on); code(err) != engram.Invalid {
			t.Errorf("a long name: %v", err)
		}
		codec, err := skill.NewCodec(r.ctx, r.Server)
		if err != nil {
			t.Fatal(err)
		}
		old := &skill.Condition{ID: engram.MustID("Skill/Condition/anna/old"), Skill: engram.MustID("Skill/Description/Arm/Wave")}
		old.On = engram.MustPattern("Speech/Text")
		u, err := codec.ConditionUpdate(old, engram.Now().Add(-2*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if results, err := r.Commit(r.ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || code(results[0].Err) != engram.Invalid {
			t.Errorf("a condition of long ago, which would be taken for an imported one: %v %v", results, err)
		}
		u, err = codec.DescriptionUpdate(&skill.Description{ID: engram.MustID("Skill/Description/Arm/Odd"), Requires: many}, engram.Now())
		if err != nil {
			t.Fatal(err)
		}
		if results, err := r.Commit(r.ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || code(results[0].Err) != engram.Exhausted {
			t.Errorf("a skill that requires %d terms: %v %v", len(many), results, err)
		}
		forever := skill.When{Skill: "Arm/Wave", On: "Speech/Text", Hold: 1<<63 - 1, Pause: 1<<63 - 1, All: []condition.Term{{Of: engram.MustPattern("Speech/Text"), Within: 1<<63 - 1}}}
		r.when("forever", forever)
		r.says("bob", "hello", 1)
		synctest.Wait()
		time.Sleep(time.Hour)
	})
}

// A request is of a condition only where the memory makes it.
func TestRequestsOfConditions(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.counted()
		codec, err := skill.NewCodec(r.ctx, r.Server)
		if err != nil {
			t.Fatal(err)
		}
		u, err := codec.RequestUpdate(&skill.Request{
			ID: engram.MustID("Skill/Request/eve/x"), Skill: engram.MustID("Skill/Description/Arm/Wave"), Condition: engram.MustID("Skill/Condition/anna/c"),
		}, engram.Now())
		if err != nil {
			t.Fatal(err)
		}
		if results, err := r.Commit(r.ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		synctest.Wait()
		e, err := open(r.Server).Execution(r.ctx, engram.MustID("Skill/Execution/Arm/x"))
		if err != nil || !e.Condition.IsRoot() {
			t.Errorf("it is of %v: %v", e, err)
		}
	})
}

// An execution whose skill requires what costs too much to look at is not called, and one that goes on is stopped.
func TestRequirementsThatCostTooMuch(t *testing.T) {
	inBubble(t, func(r *robot) {
		list := "[" + strings.Repeat("1, ", 40) + "1]"
		costly := list + ".all(a, " + list + ".all(b, " + list + `.all(c, a + b + c > 0 && text != "x")))`
		term := condition.Term{Of: engram.MustPattern("Speech/Text"), Where: costly, None: true, Lasting: true}
		r.offers("Arm", skill.Skill{Name: "Lift", Description: skill.Description{Requires: []condition.Term{term}}, Do: wave})
		h := r.start(skill.Ask{Skill: "Arm/Lift"})
		time.Sleep(100 * time.Millisecond)
		r.says("bob", "abc", 1)
		for what, e := range map[string]*skill.Execution{"under way": r.wait(h), "later": r.wait(r.start(skill.Ask{Skill: "Arm/Lift"}))} {
			if e.Failure == nil || e.Failure.Code != "condition" || !strings.Contains(e.Failure.Message, "costs too much") {
				t.Errorf("%s: %+v %+v", what, e, e.Failure)
			}
		}
	})
}
