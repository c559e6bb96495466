package reason_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/link/reason"
)

// Questions that were asked by speech are answered, once, and the answers link to what they rest on.
func TestListen(t *testing.T) {
	r := newRobot(t)
	cup := r.hears(1, "Bring me the blue cup.")
	bring := r.runs("BringObject-1", 2, 20, "Succeeded", "", map[string]any{"cause": cup, "parameters": map[string]any{"object": "blue_cup"}})
	r.runs("MoveTo-2", 3, 8, "Failed", "a chair stands in the way", map[string]any{"parent": bring, "parameters": map[string]any{"location": "window"}})
	move := r.runs("MoveTo-3", 9, 15, "Succeeded", "", map[string]any{"parent": bring, "parameters": map[string]any{"location": "table"}})
	r.runs("MoveTo-4", 17, 19, "Succeeded", "", map[string]any{"parent": bring, "parameters": map[string]any{"location": "home"}})
	patrol := engram.MustID("Skill/Activity/Guard/patrol-7")
	r.write(patrol.String(), "engram.skill.Activity", 21, map[string]any{"name": "night patrol", "started": noon(21)})
	object := r.write("Object/Instance/Eye/blue_cup", "engram.object.Instance", 14, map[string]any{"frame_id": "map"})
	r.write("Object/Instance/Eye/cup", "engram.object.Instance", 14, map[string]any{"frame_id": "map"})

	asked := func(seconds float64, text, intent string, about ...any) {
		value := map[string]any{"text": text, "refers_to": about}
		if intent != "" {
			value["intent"] = intent
		}
		r.write("Speech/Command/Ear/bob", "engram.speech.Command", seconds, value)
	}
	type want struct {
		about engram.ID
		words string
	}
	wants := []want{
		{move, "MoveTo (location: table) was run at 2026-05-01 12:00:09, because BringObject (object: blue_cup) called it"},
		{engram.MustID("Skill/Execution/Arm/MoveTo-4"), "location: home"}, // the last, where nothing else decides
		{engram.MustID("Skill/Execution/Arm/MoveTo-2"), "MoveTo failed at 12:00:08: a chair stands in the way."},
		{patrol, "Night patrol has been going on"},
		{object.Parent(), "The blue_cup was there"},
		{bring, "BringObject succeeded"},
		{engram.ID{}, "Nothing was found that the question could be about."},
		{engram.MustID("Object/Instance/Eye/spoon"), "spoon is not known, or not any more."},
		{patrol, "Night patrol"},
	}
	asked(30, "Why did you move to the table?", "")
	asked(31, "why did you move?", "")
	asked(32, "Why have you been moving to the window so slowly?", "")
	asked(33, "Why are you on patrol?", "why")
	asked(34, "why is the blue cup there", "")
	asked(35, "What for?", "Why", bring)
	asked(36, "bring me the cup, and tell me why", "") // no question
	asked(37, "why not bring the cup", "bring")        // no question, as who understood it says
	asked(38, "Why is the sky blue?", "")
	asked(39, "Why is the spoon gone?", "", engram.MustID("Object/Instance/Eye/spoon"))
	asked(40, "Why do you patrol?", "")

	for round := range 2 { // those of the first are not answered again
		var replies []reason.Reply
		if round == 1 {
			asked(41, "Why?", "", move)
			wants = []want{{move, "MoveTo"}}
		}
		err := reason.Listen(r.Context(), r, reason.ListenOptions{
			Robot: "armar", Start: engram.Start{Kind: engram.StartTime, Time: engram.MinTime},
			Replied: func(one reason.Reply) bool {
				replies = append(replies, one)
				return len(replies) < len(wants)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range wants {
			got := replies[i]
			if w.about.IsRoot() != (len(got.About) == 0) || len(got.About) > 0 && got.About[0] != w.about || !strings.Contains(got.Text, w.words) || got.Err != nil {
				t.Errorf("%q was taken to be about %v and answered with %q, %v; expected %v and %q", got.Asked, got.About, got.Text, got.Err, w.about, w.words)
			}
			// The answer is found from its question, and from what it rests on.
			for _, to := range append([]engram.ID{got.Question}, got.About...) {
				q := engram.MustPattern("Speech/Answer").Select(engram.All())
				q.LinksTo = []engram.ID{to}
				found, err := r.Query(r.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(found.Items(), func(it engram.Item) bool { return it.ID == got.ID }) {
					t.Errorf("the answer %v is not found from %v", got.ID, to)
				}
			}
		}
	}
	last, err := r.Latest(r.Context(), engram.MustID("Speech/Answer/Reason/bob"))
	if err != nil {
		t.Fatal(err)
	}
	if a := r.why(engram.MustID("Speech/Answer/Reason/bob")); !strings.Contains(a.Text(), "by armar, because “Why?” was heard at 12:00:41") || last.Time <= noon(41) {
		t.Errorf("of the answer of %v is said: %s", last.Time, a.Text())
	}
}

// What cannot be answered or written is told, and the listener goes on; it ends with its context.
func TestListenGoesOn(t *testing.T) {
	r := newRobot(t)
	r.write("Speech/Command/Ear/bob", "engram.speech.Command", 1, map[string]any{"text": "why did you wave?"})
	r.write("Speech/Command/Ear/bob", "engram.speech.Command", 2, map[string]any{"text": "why did you nod?"})
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	var asked []string
	err := reason.Listen(ctx, &refusing{robot: r}, reason.ListenOptions{Start: engram.Start{Kind: engram.StartTime}, Replied: func(one reason.Reply) bool {
		asked = append(asked, one.Asked)
		if len(asked) == 1 && engram.CodeOf(one.Err) != engram.Forbidden || len(asked) == 2 && one.Err != nil {
			t.Errorf("of %q is told: %v", one.Asked, one.Err)
		}
		if len(asked) == 2 {
			stop()
		}
		return true
	}})
	if err != nil || len(asked) != 2 {
		t.Errorf("it ended with %v, and was asked %q", err, asked)
	}
}

// refusing refuses the first commit.
type refusing struct {
	*robot
	was bool
}

func (r *refusing) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if !r.was {
		r.was = true
		return nil, engram.Errorf(engram.Forbidden, "Speech", "not for you")
	}
	return r.robot.Commit(ctx, c)
}
