package why_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/why"
)

func TestQuestions(t *testing.T) {
	for text, want := range map[string]bool{
		"Why did you move to the table?": true, "why?": true, "Robot, why did you stop": true, "How come you went to the kitchen?": true,
		"bring me the cup": false, "move to the table": false, "": false, "?": false, "go away": false, "For what reason did you stop?": true,
	} {
		if why.IsQuestion(text) != want {
			t.Errorf("%q is a question: %v", text, !want)
		}
	}
}

func TestWhatAQuestionIsAbout(t *testing.T) {
	id := func(name string) engram.ID { return engram.MustID("Skill/Execution/p/" + name) }
	deeds := []why.Deed{
		{ID: id("table"), Skill: "MoveTo", Status: "Succeeded", Parameters: map[string]any{"location": "Navigation/Location/prior/table"}, Began: 1, Parent: id("bring")},
		{ID: id("table2"), Skill: "MoveTo", Status: "Succeeded", Parameters: map[string]any{"location": "table"}, Began: 2, Parent: id("bring")},
		{ID: id("kitchen"), Skill: "MoveTo", Status: "Succeeded", Parameters: map[string]any{"location": "kitchen"}, Began: 3, Parent: id("bring")},
		{ID: id("bring"), Skill: "BringObject", Status: "Running", Parameters: map[string]any{"object": "red-cup"}, Began: 0},
		{ID: id("put"), Skill: "PutIn", Status: "Failed", Parameters: map[string]any{"object": "milk", "location": "fridge"}, Began: 4},
		{ID: id("open"), Skill: "OpenDoor", Status: "Failed", Began: 5, Parent: id("put")},
		{ID: id("look"), Skill: "LookAround", Status: "Succeeded", Began: 6},
	}
	for question, want := range map[string]string{
		"Why did you move to the table?":         "table2",
		"Why did you go to the kitchen?":         "kitchen",
		"why are you moving to the kitchen":      "kitchen",
		"Why did you move?":                      "kitchen",
		"Why did you fetch the red cup?":         "bring",
		"Why did you move to the moon?":          "",
		"Why did you fail?":                      "put",
		"Why did you do that?":                   "look",
		"Why did you fail to open the door?":     "open",
		"Why didn't you put milk in the fridge?": "put",
		"Why did you dance?":                     "",
	} {
		about, ok := why.About(question, deeds)
		if got := about.ID.Entity(); !ok && want != "" || ok && got != want {
			t.Errorf("%q is about %q (%v), not %q", question, got, ok, want)
		}
	}
}
