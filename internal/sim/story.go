package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
)

// command is something that somebody asks for in a cycle.
type command struct {
	asked     float64
	text      string
	intent    string
	arguments map[string]any
	answered  float64
	answer    string
}

var commands = [...]command{
	{bringAsked, "Bring me the cup, please.", "bring", map[string]any{"object": "cup"}, bringDone, "Here you are."},
	{placeAsked, "Put it back on the table.", "place", map[string]any{"object": "cup", "location": "table"}, placeDone, "Done."},
}

// step is a status that an execution reaches.
type step struct {
	at      float64
	status  string
	message string
}

// execution is one execution of a skill in a cycle.
type execution struct {
	skill      string
	command    int // that caused it
	parent     int // the execution that called it; -1 is none
	parameters map[string]any
	steps      []step
}

// run returns the steps of an execution that is called a little before it runs.
func run(runs, ends float64, status, message string) []step {
	return []step{
		{runs - 0.06, "Constructing", ""}, {runs - 0.04, "Initializing", ""}, {runs - 0.02, "Preparing", ""},
		{runs, "Running", ""}, {ends, status, message},
	}
}

// executions returns what the robot does in a cycle. In every second one the first
// grasp fails and is tried again.
func executions(cycle int) []execution {
	theCup := map[string]any{"object": objects[cup].name, "hand": sideNames[right]}
	to := func(location string) map[string]any { return map[string]any{"location": location} }
	list := []execution{
		{"BringObject", 0, -1, theCup, run(bringCalled+0.1, bringDone, "Succeeded", "")},
		{"MoveTo", 0, 0, to("table"), run(driveStart, driveEnd, "Succeeded", "")},
		{"GraspObject", 0, 0, theCup, run(graspCalled, cupLifted+0.05, "Succeeded", "")},
		{"PlaceObject", 1, -1, theCup, run(placeCalled+0.08, placeDone, "Succeeded", "")},
		{"ReleaseObject", 1, 3, theCup, run(lowerStart+0.06, armBack, "Succeeded", "")},
		{"MoveTo", 1, 3, to("home"), run(returnStart, returnEnd, "Succeeded", "")},
	}
	if cycle%2 == 1 {
		failed := run(graspCalled, graspRetry-0.08, "Failed", "the hand would have closed beside the cup")
		list[2].steps = failed
		list = append(list, execution{"GraspObject", 0, 0, theCup, run(graspRetry, cupLifted+0.05, "Succeeded", "")})
	}
	return list
}

// at returns the time of something that happens in a cycle.
func (r *Robot) at(cycleIndex int, tau float64) engram.Time {
	s := float64(cycleIndex)*cycle + tau
	return r.config.Start.Add(time.Duration(math.Round(s*1000)) * time.Millisecond)
}

// heldSince returns whether the cup is held, and since when.
func (r *Robot) heldSince(s float64) (bool, engram.Time) {
	n, _ := inCycle(s)
	return holding(s), r.at(n, cupHeld)
}

func (r *Robot) commandID(cycleIndex, i int) engram.ID {
	return r.id("Speech", "Command", "user").At(r.at(cycleIndex, commands[i].asked))
}

// executionID returns the entity of execution i of a cycle, such as
// "GraspObject-1.3".
func (r *Robot) executionID(cycleIndex, i int, skill string) engram.ID {
	return r.id("Skill", "Execution", fmt.Sprintf("%s-%d.%d", skill, cycleIndex+1, i+1))
}

// Events returns what somebody said and what the robot began or ended since the
// tick before; mostly nothing.
func (r *Robot) Events(tick int) engram.Commit {
	now, before := r.Time(tick), r.Time(tick-1)
	happened := func(t engram.Time) bool { return before < t && t <= now }
	n, _ := inCycle(seconds(tick))
	var c engram.Commit
	for i := range commands {
		c.Updates = append(c.Updates, r.speech(n, i, happened)...)
	}
	for i, e := range executions(n) {
		for k, s := range e.steps {
			if happened(r.at(n, s.at)) {
				c.Updates = append(c.Updates, r.skillStep(n, i, &e, k)...)
			}
		}
	}
	for _, change := range []struct {
		at     float64
		active bool
	}{{cupHeld, true}, {cupDown, false}} {
		if t := r.at(n, change.at); happened(t) {
			o := &objects[cup]
			c.Updates = append(c.Updates, update(r.id("Object", "Attachments", o.name), t, payload(r.types.attachment, map[string]any{
				"timestamp": t, "object": r.id("Object", "Instance", o.name),
				"agent":    r.id("RobotState", "Description", r.config.Robot),
				"frame_id": tcpFrame(right), "pose": poseValue(cupInHand), "active": change.active,
			})))
		}
	}
	return c
}

// speech returns what was said about a command, if it was said just now.
func (r *Robot) speech(cycleIndex, i int, happened func(engram.Time) bool) []engram.EntityUpdate {
	cmd := &commands[i]
	asked, answered := r.at(cycleIndex, cmd.asked), r.at(cycleIndex, cmd.answered)
	text := func(entity, words string, t engram.Time, cause any) engram.EntityUpdate {
		value := map[string]any{
			"timestamp": t, "text": words, "language": "en", "speaker": entity,
			"duration": time.Duration(len(words)) * 60 * time.Millisecond,
		}
		if cause != nil {
			value["cause"] = cause
		}
		return update(r.id("Speech", "Text", entity), t, payload(r.types.text, value))
	}
	var updates []engram.EntityUpdate
	if happened(asked) {
		u := update(r.commandID(cycleIndex, i).Truncate(engram.LevelEntity), asked, payload(r.types.command, map[string]any{
			"timestamp": asked, "text": cmd.text, "intent": cmd.intent, "arguments": cmd.arguments,
			"language": "en", "speaker": "user",
			"source_text": r.id("Speech", "Text", "user").At(asked).Instance(0),
			"refers_to":   []any{r.id("Object", "Instance", objects[cup].name)},
		}))
		u.Instances[0].Confidence = 0.93
		updates = append(updates, text("user", cmd.text, asked, nil), u)
	}
	if happened(answered) {
		for k, e := range executions(cycleIndex) {
			if e.command == i && e.parent < 0 {
				updates = append(updates, text(r.config.Robot, cmd.answer, answered, r.executionID(cycleIndex, k, e.skill)))
			}
		}
	}
	return updates
}

// skillStep returns the execution's state from its step k on, and the transition.
func (r *Robot) skillStep(cycleIndex, i int, e *execution, k int) []engram.EntityUpdate {
	s := &e.steps[k]
	t := r.at(cycleIndex, s.at)
	id := r.executionID(cycleIndex, i, e.skill)
	value := map[string]any{
		"timestamp": t, "skill": r.id("Skill", "Description", e.skill), "status": s.status,
		"parameters": e.parameters, "caller": r.config.Robot, "cause": r.commandID(cycleIndex, e.command).Instance(0),
		"started": r.at(cycleIndex, e.steps[0].at), "message": s.message, "progress": float64(k) / float64(len(e.steps)-1),
	}
	if e.parent >= 0 {
		value["parent"] = r.executionID(cycleIndex, e.parent, executions(cycleIndex)[e.parent].skill)
	}
	change := map[string]any{
		"timestamp": t, "execution": id.At(t), "to_status": s.status, "reason": s.message,
	}
	if k > 0 {
		change["from_status"] = e.steps[k-1].status
	}
	return []engram.EntityUpdate{
		update(id, t, payload(r.types.execution, value)),
		update(r.id("Skill", "Transition", e.skill), t, payload(r.types.transition, change)),
	}
}
