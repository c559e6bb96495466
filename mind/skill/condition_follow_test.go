package skill_test

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// A condition fires for updates that came after it was set, also where another one has more be followed.
func TestAConditionIsOfWhatComesLater(t *testing.T) {
	inBubble(t, func(r *robot) {
		calls := r.counted()
		r.when("first", skill.When{Skill: "Arm/Wave", On: "Speech/Text/*/never"})
		r.says("bob", "before", 1)
		r.when("each", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Trigger: condition.EachUpdate, FromUpdate: fromText})
		r.when("more", skill.When{Skill: "Arm/Wave", On: "Skill/Request/*/never"})
		r.says("bob", "after", 1)
		wantCalls(t, calls(), "after|bob")
	})
}

// The failure names what stands against a lasting term, of however many there are.
func TestWhatStandsAgainstALastingTerm(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Lift", Do: wave, Description: skill.Description{Requires: []condition.Term{
			{Of: engram.MustPattern("Speech/Text/*/~person.*"), Where: `text == "near"`, None: true, Lasting: true},
		}}})
		for _, who := range []string{"person1", "person2", "person3", "person4", "person5"} {
			r.says(who, "far", 1)
		}
		h := r.start(skill.Ask{Skill: "Arm/Lift"})
		time.Sleep(100 * time.Millisecond)
		r.says("person5", "near", 1)
		want := `no Speech/Text/*/~person.* where text == "near": Speech/Text/Mic/person5 is {text: "near"}, confidence 1`
		if e := r.wait(h); e.Failure == nil || e.Failure.Message != "what it requires does not hold: wanted is "+want {
			t.Errorf("it failed with %+v", e.Failure)
		}
	})
}

// What a condition takes from updates that these do not have is told when it is set.
func TestMembersThatUpdatesDoNotHave(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.counted()
		for name, w := range map[string]skill.When{
			"once per":      {OncePer: "txt"},
			"from":          {FromUpdate: map[string]string{"text": "txt"}},
			"of a member":   {OncePer: "text.length"},
			"another such$": {OncePer: "$names"},
		} {
			w.Skill, w.On = "Arm/Wave", "Speech/Text"
			if err := open(r.Server).SetCondition(r.ctx, "anna", "c", w); code(err) != engram.Invalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A path that no type has is refused, and nothing else.
func TestPathsOfMembers(t *testing.T) {
	of, _ := memories.Type("engram.skill.Request")
	for path, ok := range map[string]bool{
		"": true, "$name": true, "$names": false, "caller": true, "calller": false, "parameters.a-b": true, "parameters.3": true, "parameters.x.0": true, "caller.x": false,
	} {
		if err := condition.CheckPath(path, []*idf.Type{of}); ok != (err == nil) || !ok && engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := condition.CheckPath("any", nil); err != nil {
		t.Error(err)
	}
}
