package why_test

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/link/why"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// robot is a server with the memories that deeds lie in.
type robot struct {
	testing.TB
	*server.Server
}

func newRobot(t testing.TB) robot {
	return robot{t, serving.New(t, memories.Skill(), memories.Speech(), memories.Navigation(), memories.Object(), memories.World())}
}

func clock(text string) engram.Time {
	t, err := engram.ParseTime("2026-03-04 " + text)
	if err != nil {
		panic(err)
	}
	return t
}

// put writes a snapshot from JSON; times of day stand in it as "@14:03:07".
func (r robot) put(typ, entity, at, json string) engram.ID {
	r.Helper()
	def, err := r.Type(r.Context(), typ)
	if err != nil {
		r.Fatal(err)
	}
	parsed, err := idf.ParseType(def)
	if err != nil {
		r.Fatal(err)
	}
	bytes, err := parsed.FromJSON([]byte(strings.ReplaceAll(json, "@", "2026-03-04T")))
	if err != nil {
		r.Fatal(entity, err)
	}
	id := engram.MustID(entity)
	testkit.Commit(r, r, engram.EntityUpdate{Entity: id, Time: clock(at), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: bytes})}})
	return id.At(clock(at))
}

// run writes an execution that ends in a status.
func (r robot) run(name, skill, began, ended, status, more string) {
	r.Helper()
	entity := "Skill/Execution/executor/" + name
	for _, x := range [][2]string{{began, "Running"}, {ended, status}} {
		if x[1] == "" {
			continue
		}
		r.put("engram.skill.Execution", entity, x[0], `{"timestamp":"@`+x[0]+`Z","started":"@`+began+`Z","skill":"Skill/Description/provider/`+skill+`","status":"`+x[1]+`"`+more+`}`)
	}
}

func (r robot) why(id string) string {
	r.Helper()
	a, err := why.Explain(r.Context(), r.Links(), engram.MustID(id), why.Options{Now: clock("20:00:00")})
	if err != nil {
		r.Fatal(err)
	}
	for _, p := range a.Parts {
		for _, l := range p.Links {
			if l.Level() < engram.LevelSnapshot {
				r.Errorf("%q rests on %v, which is no snapshot", p.Text, l)
			}
		}
	}
	return a.Text()
}

func TestWhyAMovement(t *testing.T) {
	r := newRobot(t)
	r.put("engram.speech.Command", "Speech/Command/asr/microphone", "14:03:01", `{"timestamp":"@14:03:01Z","text":"bring me the cup","intent":"bring"}`)
	r.run("bring-1", "BringObject", "14:03:02", "", "", `,"cause":"Speech/Command/asr/microphone","parameters":{"object":"cup"}`)
	r.run("move-1", "MoveTo", "14:03:07", "14:03:15", "Succeeded", `,"parent":"Skill/Execution/executor/bring-1","parameters":{"location":"table"}`)
	if got, want := r.why("Skill/Execution/executor/move-1"), "MoveTo was run at 14:03:07 because BringObject called it, because 'bring me the cup' was heard at 14:03:01 from microphone; succeeded at 14:03:15."; got != want {
		t.Errorf("without a plan:\n%s\nnot\n%s", got, want)
	}
	r.put("foxglove.Grid", "Navigation/Costmap/costs/kitchen", "14:03:05", `{}`)
	r.put("engram.navigation.Event", "Navigation/Event/navigator/robot", "14:03:15", `{"timestamp":"@14:03:15Z","kind":"GoalReached","execution":"Skill/Execution/executor/move-1"}`)
	if got, want := r.why("Skill/Execution/executor/move-1"), "MoveTo was run at 14:03:07 because BringObject called it, because 'bring me the cup' was heard at 14:03:01 from microphone; reached at 14:03:15."; got != want {
		t.Errorf("with an event:\n%s\nnot\n%s", got, want)
	}
	// The plan as the navigation writes it.
	r.put("engram.navigation.Plan", "Navigation/Plan/navigator/move-1", "14:03:08", `{"timestamp":"@14:03:08Z","frame_id":"map","length":3.1,"execution":"Skill/Execution/executor/move-1",`+
		`"costmap":"Navigation/Costmap/costs/kitchen/2026-03-04 14:03:05","map":"World/Map/maps/kitchen"}`)
	r.put("engram.world.Map", "World/Map/maps/kitchen", "13:00:00", `{}`)
	r.put("engram.navigation.Result", "Navigation/Result/navigator/move-1", "14:03:15", `{"timestamp":"@14:03:15Z","success":true,"execution":"Skill/Execution/executor/move-1"}`)
	if got, want := r.why("Skill/Execution/executor/move-1"), "MoveTo was run at 14:03:07 because BringObject called it, because 'bring me the cup' was heard at 14:03:01 from microphone; "+
		"planned 3.1 m on map kitchen (cost map of 14:03:05); reached at 14:03:15."; got != want {
		t.Errorf("with a plan:\n%s\nnot\n%s", got, want)
	}
}

func TestWhyAFailure(t *testing.T) {
	r := newRobot(t)
	r.run("put-1", "PutIn", "14:03:02", "14:03:20", "Failed", `,"caller":"operator","parameters":{"object":"milk","location":"fridge"}`)
	r.run("move-1", "MoveTo", "14:03:03", "14:03:10", "Succeeded", `,"parent":"Skill/Execution/executor/put-1","parameters":{"location":"fridge"}`)
	r.run("open-1", "OpenDoor", "14:03:11", "14:03:19", "Failed", `,"parent":"Skill/Execution/executor/put-1","message":"the handle was not found."`)
	got := r.why("Skill/Execution/executor/put-1")
	if want := "I tried to put the milk in the fridge but I failed to open the door: the handle was not found. PutIn was run at 14:03:02 because operator asked for it; failed at 14:03:20."; got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if got, want := r.why("Skill/Execution/executor/open-1"), "I tried to open the door but I failed: the handle was not found. OpenDoor was run at 14:03:11 because PutIn called it, because operator asked for it; failed at 14:03:19."; got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}
