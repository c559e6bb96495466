package sim

import (
	"math"
	"sort"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
	"github.com/seed-301d4374/engram/mind/world"
)

// at returns the time of something that happens in a cycle.
func (r *Robot) at(cycleIndex int, tau float64) engram.Time {
	s := float64(cycleIndex)*cycle + tau
	return r.config.Start.Add(time.Duration(math.Round(s*1000)) * time.Millisecond)
}

// course returns what the body does about a time of the world, and the cycle whose beginning the course counts from.
func (r *Robot) course(t float64) (c *course, cycleIndex int) {
	if r.live != nil {
		return r.live.course.Load(), 0
	}
	n, _ := inCycle(t)
	return r.rounds[n&1].course, n
}

func (r *Robot) phase(t float64) phase {
	c, n := r.course(t)
	return c.phase(t - float64(n)*cycle)
}

func (r *Robot) positions(t float64) positions { return positionsAt(t, r.phase(t)) }

// state returns the world at a time, and the cycle whose beginning its holds count from.
func (r *Robot) state(t float64) (s state, cycleIndex int) {
	c, n := r.course(t)
	return c.state(t, float64(n)*cycle), n
}

// Events returns what somebody said and what the robot began or ended since the
// tick before; mostly nothing. Of a robot that lives by [Robot.Live] it returns each once.
func (r *Robot) Events(tick int) (c engram.Commit) {
	now, before := r.Time(tick), r.Time(tick-1)
	if r.live != nil {
		c.Updates = r.live.take(now)
		return c
	}
	n, tau := inCycle(seconds(tick))
	events := r.rounds[n&1].events
	// Times are rounded to milliseconds.
	first := tau - Period.Seconds() - 0.001
	for _, e := range events[sort.Search(len(events), func(i int) bool { return events[i].at >= first }):] {
		t := r.at(n, e.at)
		if t > now {
			break
		}
		if t > before {
			c.Updates = append(c.Updates, e.updates(n)...)
		}
	}
	return c
}

// commandID returns the command that was given at a time.
func (r *Robot) commandID(t engram.Time) engram.ID {
	return r.id("Speech", "Command", "user").At(t).Instance(0)
}

// utterance returns that somebody began to speak; cause is of what, the root if of nothing.
func (r *Robot) utterance(t engram.Time, speaker, words string, cause engram.ID) engram.EntityUpdate {
	value := map[string]any{
		"timestamp": t, "text": words, "language": "en", "speaker": speaker,
		"duration": time.Duration(len(words)) * 60 * time.Millisecond,
	}
	if !cause.IsRoot() {
		value["cause"] = cause
	}
	return update(r.id("Speech", "Text", speaker), t, payload(r.types.text, value))
}

// asked returns what is heard of a command.
func (r *Robot) asked(t engram.Time, c *command) []engram.EntityUpdate {
	u := update(r.id("Speech", "Command", "user"), t, payload(r.types.command, map[string]any{
		"timestamp": t, "text": c.text, "intent": c.intent, "arguments": c.arguments,
		"language": "en", "speaker": "user",
		"source_text": r.id("Speech", "Text", "user").At(t).Instance(0),
		"refers_to":   []any{r.id("Object", "Instance", objects[cup].name)},
	}))
	u.Instances[0].Confidence = 0.93
	return []engram.EntityUpdate{r.utterance(t, "user", c.text, engram.ID{}), u}
}

// said returns what the robot says, and because of what.
func (r *Robot) said(t engram.Time, words string, cause engram.ID) []engram.EntityUpdate {
	return []engram.EntityUpdate{r.utterance(t, r.config.Robot, words, cause)}
}

// attached returns that the hand holds the cup, or that it is on the table again.
func (r *Robot) attached(t engram.Time, active bool) []engram.EntityUpdate {
	o := &objects[cup]
	updates := []engram.EntityUpdate{update(r.id("Object", "Attachments", o.name), t, payload(r.types.attachment, map[string]any{
		"timestamp": t, "object": r.id("Object", "Instance", o.name),
		"agent":    r.id("RobotState", "Description", r.config.Robot),
		"frame_id": tcpFrame(right), "pose": poseValue(cupInHand), "active": active,
	}))}
	if !active {
		updates = append(updates, r.item(o.name, t.Add(1), world.Item{Structure: &world.Structure{Parent: tableItem}, Source: world.PriorKnowledge}))
	}
	return updates
}

// never is the status of what was not begun.
const never schedule.Status = math.MaxUint8

// noted returns that an execution has come so far, and was so far before.
func (r *Robot) noted(e *skill.Execution, from schedule.Status) []engram.EntityUpdate {
	u, err := r.skills.ExecutionUpdate(e)
	if err != nil {
		panic(err) // it is the robot's own
	}
	if from == e.Status {
		return []engram.EntityUpdate{u}
	}
	change := map[string]any{"timestamp": e.Time, "execution": e.ID.At(e.Time), "to_status": e.Status.String(), "reason": e.Message}
	if from != never {
		change["from_status"] = from.String()
	}
	transition, err := engram.NewID("Skill", "Transition", e.Skill.ProviderSegment(), e.Skill.Entity())
	if err != nil {
		panic(err) // so are its names
	}
	return []engram.EntityUpdate{u, update(transition, e.Time, payload(r.types.transition, change))}
}
