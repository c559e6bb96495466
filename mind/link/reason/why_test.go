package reason_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/link/reason"
	"github.com/seed-301d4374/engram/mind/memories"
)

// robot is a memory that a test writes in. Times are seconds of 1 May 2026 after noon.
type robot struct {
	testing.TB
	*server.Server
}

func newRobot(t testing.TB) *robot {
	t.Helper()
	s, err := server.New(server.Config{Memories: []server.Memory{memories.Speech(), memories.Skill(), memories.Object(), memories.Navigation(), memories.Vision(), memories.RobotState()}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &robot{t, s}
}

func noon(seconds float64) engram.Time {
	t, err := engram.ParseTime("2026-05-01 12:00:00")
	if err != nil {
		panic(err)
	}
	return t + engram.Time(seconds*1e9)
}

func (r *robot) write(entity, typ string, seconds float64, value map[string]any) engram.ID {
	r.Helper()
	of, ok := memories.Type(typ)
	if !ok {
		r.Fatalf("there is no type %s", typ)
	}
	b, err := of.Encode(value)
	if err != nil {
		r.Fatal(err)
	}
	id := engram.MustID(entity)
	testkit.Commit(r, r, engram.EntityUpdate{Entity: id, Time: noon(seconds), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}})
	return id.At(noon(seconds))
}

// hears notes what was said, and what was understood.
func (r *robot) hears(seconds float64, text string) engram.ID {
	said := r.write("Speech/Text/Mic/anna", "engram.speech.Text", seconds, map[string]any{"text": text, "speaker": "anna"})
	return r.write("Speech/Command/Ear/anna", "engram.speech.Command", seconds+0.2, map[string]any{"text": strings.ToLower(text), "source_text": said.Instance(0), "speaker": "anna"})
}

// runs notes an execution that ends with a status; none if that is empty.
func (r *robot) runs(name string, from, to float64, status, message string, value map[string]any) engram.ID {
	r.Helper()
	skill, _, _ := strings.Cut(name, "-")
	value["skill"], value["status"], value["started"] = engram.MustID("Skill/Description/Arm/"+skill), "Running", noon(from)
	r.write("Skill/Execution/Arm/"+name, "engram.skill.Execution", from, value)
	if status != "" {
		value["status"], value["message"] = status, message
		r.write("Skill/Execution/Arm/"+name, "engram.skill.Execution", to, value)
	}
	return engram.MustID("Skill/Execution/Arm/" + name)
}

func (r *robot) why(id engram.ID) *reason.Answer {
	r.Helper()
	a, err := reason.New(r, "").Why(r.Context(), id, nil)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// The questions of the ArMem paper, section 6, are answered: why the robot moved to the table, and what became of the milk.
func TestQuestionsOfThePaper(t *testing.T) {
	r := newRobot(t)
	cup := r.hears(1, "Bring me the cup.")
	bring := r.runs("BringObject-1", 2, 20, "Succeeded", "", map[string]any{"cause": cup, "parameters": map[string]any{"object": "cup"}})
	move := r.runs("MoveTo-2", 3, 15, "Succeeded", "", map[string]any{"parent": bring, "cause": cup, "parameters": map[string]any{"location": "table"}})
	table := r.write("Navigation/Location/Map/table", "engram.navigation.Location", 0, map[string]any{"frame_id": "map"})
	began := r.write("Navigation/Event/Navigator/platform", "engram.navigation.Event", 4, map[string]any{"kind": "Started", "execution": move, "goal": table.Parent()})
	r.write("Navigation/Result/Navigator/platform", "engram.navigation.Result", 15, map[string]any{"success": true, "ended_by": "GoalReached", "path_length": 3.14, "goal": table.Parent(), "events": []any{began}})

	milk := r.hears(30, "Put the milk in the fridge!")
	put := r.runs("PutObject-3", 31, 50, "Failed", "the fridge is closed", map[string]any{"cause": milk, "parameters": map[string]any{"object": "milk", "into": "fridge"}})
	r.runs("OpenDoor-4", 35, 40, "Failed", "the handle slipped out of the hand", map[string]any{"parent": put})
	r.runs("OpenDoor-5", 41, 48, "Failed", "the handle slipped again", map[string]any{"parent": put})
	for _, c := range []struct {
		of   engram.ID
		want []string
	}{
		{move, []string{
			"MoveTo (location: table) was run at 2026-05-01 12:00:03, because BringObject (object: cup) called it, because “Bring me the cup” was heard at 12:00:01 from anna.",
			"The way to table was 3.1 m long and ended at 12:00:15: the goal was reached.",
			"MoveTo succeeded at 12:00:15.",
		}},
		{put, []string{
			"PutObject (into: fridge, object: milk) was run at 2026-05-01 12:00:31, because “Put the milk in the fridge!” was heard at 12:00:30 from anna.",
			"OpenDoor failed at 12:00:40: the handle slipped out of the hand; it was tried again at 12:00:41 and failed at 12:00:48: the handle slipped again.",
			"PutObject failed at 12:00:50: the fridge is closed.",
		}},
		{milk, []string{"“Put the milk in the fridge!” was heard at 2026-05-01 12:00:30 from anna."}},
	} {
		a := r.why(c.of)
		var got []string
		for _, s := range a.Sentences {
			got = append(got, s.Text)
			if len(s.Links) == 0 {
				t.Errorf("%q rests on nothing", s.Text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("why %s?\n%s\nwant\n%s", c.of, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The way that the robot took is explained: what it was planned on, what stopped it, and why it was planned again.
func TestWhyThisWay(t *testing.T) {
	r := newRobot(t)
	move := r.runs("GoTo-1", 1, 20, "Succeeded", "", map[string]any{"caller": "anna", "parameters": map[string]any{"to": "table"}})
	planning := r.runs("Plan-2", 2, 3, "Succeeded", "", map[string]any{"parent": move})
	again := r.runs("Plan-3", 8, 9, "Succeeded", "", map[string]any{"parent": move})
	costs := r.write("Navigation/Costmap/Planner/kitchen", "foxglove.Grid", 1, map[string]any{"frame_id": "map"})
	robot := r.write("RobotState/Localization/Tim/odom", "engram.robot_state.Localization", 1.5, map[string]any{"parent_frame_id": "odom", "child_frame_id": "base"})
	person := r.write("Object/Instance/Eye/person", "engram.object.Instance", 5, map[string]any{"frame_id": "map"})
	path := map[string]any{"goal_name": "table", "frame_id": "map", "length": 3.14, "execution": planning, "costmap": costs, "robot_localization": robot}
	first := r.write("Navigation/Plan/Planner/table", "engram.navigation.Plan", 2.5, path)
	r.write("Navigation/Event/Navigator/platform", "engram.navigation.Event", 6, map[string]any{"kind": "SafetyStop", "execution": move, "message": "the person is 0.4 m ahead", "obstacle": person, "plan": first})
	path["execution"], path["replaces"], path["obstacle"], path["length"] = again, first, person, 4.2
	delete(path, "robot_localization")
	second := r.write("Navigation/Plan/Planner/table", "engram.navigation.Plan", 8.5, path)
	r.write("Navigation/Result/Navigator/platform", "engram.navigation.Result", 19, map[string]any{"success": true, "ended_by": "GoalReached", "path_length": 5.0, "execution": move, "plan": second})
	var got []string
	for _, s := range r.why(move).Sentences {
		got = append(got, s.Text)
	}
	want := []string{
		"GoTo (to: table) was run at 2026-05-01 12:00:01, because anna asked for it.",
		"A path of 3.1 m to table was planned at 12:00:02.5, on the cost map of kitchen of 12:00:01, from where the robot was at 12:00:01.5.",
		"Safety stop on the way at 12:00:06: the person is 0.4 m ahead.",
		"Another path of 4.2 m to table was planned at 12:00:08.5, because the person was in the way, on the cost map of kitchen of 12:00:01.",
		"The way was 5.0 m long and ended at 12:00:19: the goal was reached.",
		"GoTo succeeded at 12:00:20.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The pose of an object leads back to the sentence that was heard, through what holds it and what the robot did then.
func TestWhyIsTheCupThere(t *testing.T) {
	r := newRobot(t)
	bring := r.runs("BringObject-1", 2, 0, "", "", map[string]any{"cause": r.hears(1, "Bring me the cup")})
	r.runs("GraspObject-2", 4, 6, "Succeeded", "", map[string]any{"parent": bring})
	held := r.write("Object/Attachments/Arm/cup", "engram.object.Attachment", 5, map[string]any{"object": engram.MustID("Object/Instance/Eye/cup"), "frame_id": "right_hand", "active": true})
	image := engram.MustID("Vision/ImageRGB/Eye/left").At(noon(8.5))
	pose := r.write("Object/Instance/Eye/cup", "engram.object.Instance", 8.5, map[string]any{"source_image": image.Instance(0), "attachment": held.Instance(0)})
	a := r.why(pose)
	want := "The cup was seen at 2026-05-01 12:00:08.5 by Eye in the image of left of 12:00:08.5 (which is not there). " +
		"The cup had been held in right_hand since 12:00:05. " +
		"That was during GraspObject, 12:00:04 to 12:00:06, because BringObject called it, because “Bring me the cup” was heard at 12:00:01 from anna."
	if a.Text() != want {
		t.Errorf("why?\n%s\nwant\n%s", a.Text(), want)
	}
	rests := fmt.Sprint(a.Sentences[2].Links)
	if want := "[Skill/Execution/Arm/GraspObject-2 Skill/Execution/Arm/BringObject-1 Speech/Command/Ear/anna/2026-05-01 12:00:01.200000 Speech/Text/Mic/anna/2026-05-01 12:00:01.000000]"; rests != want {
		t.Errorf("it rests on %s, want %s", rests, want)
	}
	if a := r.why(bring); a.Sentences[0].Text != "BringObject has been running since 2026-05-01 12:00:02, because “Bring me the cup” was heard at 12:00:01 from anna." {
		t.Errorf("while it runs: %s", a.Text())
	}
}

// An activity that a component opened is a reason, and a span of time, too.
func TestWhyDuringAnActivity(t *testing.T) {
	r := newRobot(t)
	r.write("Skill/Activity/Guard/patrol-7", "engram.skill.Activity", 10, map[string]any{"name": "patrol", "started": noon(10), "caller": "the night watch"})
	r.write("Skill/Activity/Guard/patrol-7", "engram.skill.Activity", 90, map[string]any{"name": "patrol", "started": noon(10), "ended": noon(90), "caller": "the night watch"})
	for at, want := range map[float64]string{
		50:  "The door was there at 2026-05-01 12:00:50, says Eye. That was during patrol, 12:00:10 to 12:01:30, because the night watch asked for it.",
		100: "The door was there at 2026-05-01 12:01:40, says Eye.",
	} {
		if a := r.why(r.write("Object/Instance/Eye/door", "engram.object.Instance", at, nil)); a.Text() != want {
			t.Errorf("why?\n%s\nwant\n%s", a.Text(), want)
		}
	}
	if a := r.why(engram.MustID("Skill/Activity/Guard/patrol-7")); a.Text() != "Patrol went on from 2026-05-01 12:00:10 to 12:01:30, because the night watch asked for it." {
		t.Errorf("why the patrol? %s", a.Text())
	}
}

// Callers that call each other in a circle, and causes that are gone, end the reasons.
func TestReasonsThatLeadNowhere(t *testing.T) {
	r := newRobot(t)
	a, b := engram.MustID("Skill/Execution/Arm/Lift-1"), engram.MustID("Skill/Execution/Arm/Hold-2")
	r.runs("Lift-1", 1, 3, "Aborted", "", map[string]any{"parent": b})
	r.runs("Hold-2", 2, 4, "Succeeded", "", map[string]any{"parent": a})
	if got := r.why(a).Text(); got != "Lift was run at 2026-05-01 12:00:01, because Hold called it. Lift was aborted at 12:00:03." {
		t.Errorf("in a circle: %s", got)
	}
	r.runs("Wave-3", 5, 6, "Succeeded", "", map[string]any{"cause": engram.MustID("Speech/Command/Ear/bob").At(noon(4))})
	if got := r.why(engram.MustID("Skill/Execution/Arm/Wave-3")).Text(); got != "Wave was run at 2026-05-01 12:00:05, because of Command bob of 12:00:04, which is not there. Wave succeeded at 12:00:06." {
		t.Errorf("of what is gone: %s", got)
	}
	r.runs("Nod-4", 5, 6, "Succeeded", "", map[string]any{"parent": engram.MustID("Skill/Execution/Arm/Gone-9")})
	if got := r.why(engram.MustID("Skill/Execution/Arm/Nod-4")).Text(); got != "Nod was run at 2026-05-01 12:00:05, because Gone-9 called it, which is not there. Nod succeeded at 12:00:06." {
		t.Errorf("of a caller that is gone: %s", got)
	}
	text := r.write("Speech/Text/Mic/bob", "engram.speech.Text", 90000, map[string]any{"text": "hm"})
	if got := r.why(text).Text(); got != "“hm” was heard at 2026-05-02 13:00:00." {
		t.Errorf("of a text: %s", got)
	}
	if _, err := reason.New(r, "").Why(context.Background(), engram.MustID("Speech/Text/Mic/never"), nil); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("of what never was: %v", err)
	}
}

// Nothing is told that was not so: no retry of something else, no reading that was not linked to, no activity that was cut
// off long ago, no time of what has none; and what was aborted, or failed deep below, is told.
func TestReasonsInventNothing(t *testing.T) {
	r := newRobot(t)
	tidy := r.runs("Tidy-1", 1, 20, "Failed", "", map[string]any{"caller": "anna"})
	r.runs("Grasp-2", 2, 3, "Failed", "too slippery", map[string]any{"parent": tidy, "parameters": map[string]any{"object": "cup"}})
	r.runs("Grasp-3", 4, 5, "Succeeded", "", map[string]any{"parent": tidy, "parameters": map[string]any{"object": "plate"}})
	lift := r.runs("Lift-4", 6, 12, "Failed", "", map[string]any{"parent": tidy})
	drive := r.runs("Drive-5", 7, 11, "Failed", "", map[string]any{"parent": lift})
	r.runs("Turn-6", 8, 10, "Aborted", "emergency stop", map[string]any{"parent": drive})
	want := "Tidy was run at 2026-05-01 12:00:01, because anna asked for it. Grasp (object: cup) failed at 12:00:03: too slippery. " +
		"Turn was aborted at 12:00:10: emergency stop. Drive failed at 12:00:11. Lift failed at 12:00:12. Tidy failed at 12:00:20."
	if got := r.why(tidy).Text(); got != want {
		t.Errorf("why?\n%s\nwant\n%s", got, want)
	}

	of, _ := memories.Type("engram.speech.Text")
	var readings []engram.Instance
	for _, text := range []string{"first", "second"} {
		b, err := of.Encode(map[string]any{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		readings = append(readings, engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b}))
	}
	two := engram.MustID("Speech/Text/Mic/two")
	testkit.Commit(t, r, engram.EntityUpdate{Entity: two, Time: noon(30), Instances: readings})
	if got := r.why(two.At(noon(30)).Instance(1)).Text(); got != "“second” was heard at 2026-05-01 12:00:30." {
		t.Errorf("of the second reading: %s", got)
	}
	say := r.runs("Say-7", 31, 32, "Succeeded", "", map[string]any{"cause": two.At(noon(30)).Instance(1)})
	if got := r.why(say).Sentences[0].Text; got != "Say was run at 2026-05-01 12:00:31, because “second” was heard at 12:00:30." {
		t.Errorf("because of the second reading: %s", got)
	}

	r.runs("Stuck-8", 40, 0, "", "", map[string]any{"caller": "nobody"}) // its component was killed
	r.runs("Guide-9", 5000, 5300, "Succeeded", "", map[string]any{"caller": "bob"})
	for _, c := range []struct { // in the order of their times: the bounds keep nothing much older than the newest
		at   float64
		want string
	}{
		{100, "The door was there at 2026-05-01 12:01:40, says Eye. That was during Stuck, since 12:00:40, because nobody asked for it."},
		{4000, "The door was there at 2026-05-01 13:06:40, says Eye."},
		{5300, "The door was there at 2026-05-01 13:28:20, says Eye. That was during Guide, 13:23:20 to 13:28:20, because bob asked for it."},
	} {
		if got := r.why(r.write("Object/Instance/Eye/door", "engram.object.Instance", c.at, nil)).Text(); got != c.want {
			t.Errorf("why?\n%s\nwant\n%s", got, c.want)
		}
	}

	nod := r.runs("Nod-10", 6000, 6001, "Succeeded", "", map[string]any{"cause": engram.MustID("Speech/Text/Mic/never")})
	if got := r.why(nod).Sentences[0].Text; got != "Nod was run at 2026-05-01 13:40:00, because of Text never, which is not there." {
		t.Errorf("of what has no time: %s", got)
	}
	r.write("Object/Attachments/Arm/mug", "engram.object.Attachment", 6100, map[string]any{"object": engram.MustID("Object/Instance/Eye/mug"), "agent": engram.MustID("RobotState/Description/Arm/humanoid"), "active": false})
	if got := r.why(r.write("Object/Instance/Eye/mug", "engram.object.Instance", 6200, nil)).Text(); got != "The mug was there at 2026-05-01 13:43:20, says Eye. The mug was let go at 13:41:40." {
		t.Errorf("of what was let go: %s", got)
	}
}
