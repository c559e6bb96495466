package skill_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Skills of prior knowledge are there before any provider is: who asks for one waits, and its provider may describe it anew.
func TestPriorKnowledge(t *testing.T) {
	pack := fstest.MapFS{"Skill/Description.yaml": &fstest.MapFile{Data: []byte(`
Arm/Wave: {description: waves, default_parameters: {times: 1}, stop_within: 30s}
Arm/Lift: {description: lifts, stop_within: 30s}
`)}}
	for name, order := range map[string][2]int{"after": {0, 1}, "before": {1, 0}} { // the memory begins
		t.Run(name, func(t *testing.T) {
			withMemories(t, func() []server.Memory {
				knowing := memories.Speech()
				knowing.Hooks.Start = memories.PriorKnowledge(pack)
				all := []server.Memory{memories.Skill(), knowing}
				return []server.Memory{all[order[0]], all[order[1]]}
			}, testPriorKnowledge)
		})
	}
}

func testPriorKnowledge(r *robot) {
	is := func(want string) {
		r.Helper()
		var got []string
		offers, err := open(r.Server).Offers(r.ctx, engram.MustPattern("Skill/Description/Arm"))
		if err != nil {
			r.Fatal(err)
		}
		for _, o := range offers {
			got = append(got, o.ID.Entity()+" "+o.State()+" "+o.Text)
		}
		if strings.Join(got, ", ") != want {
			r.Errorf("there are %q, not %s", got, want)
		}
	}
	is("Lift away lifts, Wave away waves")
	if e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave"})); e.Status != schedule.Failed || e.Called != 0 || !strings.Contains(e.Message, "its provider Arm is not there") {
		r.Errorf("without a provider it ended as %+v", e)
	}
	early := r.start(skill.Ask{Skill: "Arm/Wave"})
	lift := r.start(skill.Ask{Skill: "Arm/Lift"})
	time.Sleep(5 * time.Second)
	r.offers("Arm", skill.Skill{Name: "Wave", Description: skill.Description{Text: "waves well", Defaults: map[string]any{"times": int64(2)}}, Do: func(_ context.Context, c *skill.Call) error {
		c.SetResult(c.Parameters)
		return nil
	}})
	if e := r.wait(early); e.Status != schedule.Succeeded || e.Result["times"] != int64(1) {
		r.Errorf("what was asked for before ended as %+v", e)
	}
	if e := r.wait(lift); e.Status != schedule.Failed || !strings.Contains(e.Message, "Arm does not offer this skill") {
		r.Errorf("what the provider does not offer ended as %+v", e)
	}
	is("Lift ready lifts, Wave ready waves well")
	if e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave"})); e.Status != schedule.Succeeded || e.Result["times"] != int64(2) || e.StopWithin != skill.DefaultStopWithin {
		r.Errorf("with a provider it ended as %+v", e)
	}

	// What is known does not go over what the provider says.
	again := fstest.MapFS{"Skill/Description/Arm/Wave.yaml": &fstest.MapFile{Data: []byte("description: waves badly\n")}}
	if _, err := memories.LoadPriorKnowledge(r.ctx, r.Server, again); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	is("Lift ready lifts, Wave ready waves well")
	if e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave"})); e.Result["times"] != int64(2) {
		r.Errorf("after what is known came again it ended as %+v", e)
	}
}

// A provider that says that it stops more slowly than its lease allows is refused, in any order.
func TestLeaseThatIsTooShort(t *testing.T) {
	inBubble(t, func(r *robot) {
		arm := newByHand(r.T, r.Server, "Arm", 10)
		if err := arm.renew(2 * time.Second); err != nil {
			r.Fatal(err)
		}
		d := skill.Description{ID: engram.MustID("Skill/Description/Arm/Wave"), StopWithin: 1500 * time.Millisecond}
		if err := arm.commit(arm.codec.DescriptionUpdate(&d, engram.Now())); code(err) != engram.Invalid || !strings.Contains(err.Error(), "too short for what stops within 1.5s") {
			r.Errorf("it is refused with %v", err)
		}
		d.StopWithin = time.Second
		if err := arm.commit(arm.codec.DescriptionUpdate(&d, engram.Now())); err != nil {
			r.Error(err)
		}
		if err := arm.leave(); err != nil {
			r.Fatal(err)
		}
		d.StopWithin = time.Hour
		if err := arm.commit(arm.codec.DescriptionUpdate(&d, engram.Now())); err != nil {
			r.Errorf("where it has no lease: %v", err)
		}
	})
}
