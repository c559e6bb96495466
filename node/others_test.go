package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone/embedded"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// putJSON commits a payload, some seconds after 14:03; "@" stands for that time.
func putJSON(t *testing.T, n *Node, typ, entity string, after int64, json string) {
	t.Helper()
	base, _ := engram.MustID("A/B/c/d/2026-03-04 14:03:00").Time()
	parsed, _ := memories.Type(typ)
	bytes, err := parsed.FromJSON([]byte(strings.ReplaceAll(json, "@", "2026-03-04T14:03:")))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, n.Server(), engram.EntityUpdate{Entity: engram.MustID(entity), Time: base + engram.Time(after*1e9),
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: bytes})}})
}

// What one server of a robot has rests on what another one has, and a third says that this is not believed any more.
func TestDoubtOverServers(t *testing.T) {
	address := testkit.FreeAddress(t)
	first := served(t, Config{Memories: []server.Memory{memories.Speech()}, Name: "first", Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	second := served(t, Config{Memories: []server.Memory{memories.Skill()}, Name: "second", Backbone: &Backbone{URL: "nats://" + address}})
	third := served(t, Config{Memories: []server.Memory{memories.SystemState()}, Name: "third", Backbone: &Backbone{URL: "nats://" + address}})
	putJSON(t, first, "engram.speech.Command", "Speech/Command/asr/microphone", 1, `{"timestamp":"@01Z","text":"bring me the cup"}`)
	putJSON(t, second, "engram.skill.Execution", "Skill/Execution/e/bring", 2, `{"timestamp":"@02Z","started":"@02Z","status":"Running","cause":"Speech/Command/asr/microphone"}`)
	putJSON(t, second, "engram.skill.Execution", "Skill/Execution/e/move", 7, `{"timestamp":"@15Z","started":"@07Z","status":"Succeeded","parent":"Skill/Execution/e/bring"}`)
	putJSON(t, second, "engram.skill.Execution", "Skill/Execution/e/other", 7, `{"timestamp":"@15Z","started":"@07Z","status":"Succeeded"}`)
	q := engram.MustPattern("Skill/Execution").Select(engram.Latest(1))
	q.WithoutDoubtful = true
	ask := func() (names []string, missing []engram.Missing) {
		r, err := second.Server().Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for it := range r.All() {
			names = append(names, it.ID.Entity())
		}
		return names, r.Missing
	}
	if names, missing := ask(); len(names) != 3 || len(missing) != 0 {
		t.Errorf("before: %v, and %v is missing", names, missing)
	}
	putJSON(t, third, "engram.system_state.Withdrawal", "SystemState/Withdrawal/me/asr", 40, `{"entities":"Speech/Command","reason":"nobody spoke"}`)
	names, missing := ask()
	if len(names) != 1 || names[0] != "other" || len(missing) != 2 || !strings.HasSuffix(missing[1].Detail, "which is withdrawn: nobody spoke") {
		t.Errorf("after: %v, and %v is missing", names, missing)
	}
}

// What a robot withdraws of its own memories holds for others that build on them.
func TestDoubtOverRobots(t *testing.T) {
	leaves := testkit.FreeAddress(t)
	base := served(t, Config{Robot: "base", Memories: []server.Memory{memories.Skill(), memories.SystemState()}, Name: "base",
		Backbone: &Backbone{Embedded: embedded.Options{Listen: testkit.FreeAddress(t), LeafListen: leaves}}})
	robot := served(t, Config{Robot: "robot1", Memories: []server.Memory{memories.Speech(), memories.SystemState()}, Name: "robot1",
		Backbone: &Backbone{Embedded: embedded.Options{Listen: testkit.FreeAddress(t), LeafOf: []string{"nats-leaf://" + leaves}}}})
	putJSON(t, robot, "engram.speech.Command", "Speech/Command/asr/microphone", 1, `{"timestamp":"@01Z","text":"bring me the cup"}`)
	putJSON(t, base, "engram.skill.Execution", "Skill/Execution/e/bring", 2, `{"timestamp":"@02Z","started":"@02Z","status":"Running","cause":"robot1:Speech/Command/asr/microphone"}`)
	putJSON(t, base, "engram.system_state.Withdrawal", "SystemState/Withdrawal/me/own", 40, `{"entities":"Speech/Command","reason":"the base has no such memory"}`)
	q := engram.MustPattern("Skill/Execution").Select(engram.Latest(1))
	q.WithoutDoubtful = true
	var missing []engram.Missing
	ask := func() int {
		r, err := base.Server().Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		missing = r.Missing
		return len(r.Items())
	}
	testkit.Until(t, func() (string, bool) { // the robots know of each other
		trace := base.Server().Links()
		all, far := trace.Beyond(t.Context())
		if far == nil {
			return "nothing beyond is reached", false
		}
		found, err := all.Resolve(t.Context(), []service.Ref{{ID: engram.MustID("robot1:Speech/Command/asr/microphone"), At: engram.MaxTime}}, service.Options{})
		return fmt.Sprint(found, err), err == nil && found[0].Node.Missing == ""
	})
	if n := ask(); n != 1 || len(missing) != 0 {
		t.Errorf("before: %d, and %v is missing", n, missing)
	}
	putJSON(t, robot, "engram.system_state.Withdrawal", "SystemState/Withdrawal/me/asr", 40, `{"entities":"Speech/Command","reason":"nobody spoke"}`)
	if n := ask(); n != 0 || len(missing) != 1 || !strings.HasSuffix(missing[0].Detail, "which is withdrawn: nobody spoke") {
		t.Errorf("after: %d, and %v is missing", n, missing)
	}
}

// A question that one server hears is answered with what another one of the robot has done.
func TestAnswersFromOtherServers(t *testing.T) {
	address := testkit.FreeAddress(t)
	first := served(t, Config{Memories: []server.Memory{memories.Speech()}, Name: "first", Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	second := served(t, Config{Memories: []server.Memory{memories.Skill()}, Name: "second", Backbone: &Backbone{URL: "nats://" + address}})
	put := func(n *Node, typ, entity string, after int64, json string) {
		t.Helper()
		putJSON(t, n, typ, entity, after, json)
	}
	put(first, "engram.speech.Command", "Speech/Command/asr/microphone", 1, `{"timestamp":"@01Z","text":"bring me the cup"}`)
	put(second, "engram.skill.Execution", "Skill/Execution/e/bring", 2, `{"timestamp":"@02Z","started":"@02Z","skill":"Skill/Description/p/BringObject","status":"Running","cause":"Speech/Command/asr/microphone","parameters":{"object":"cup"}}`)
	put(second, "engram.skill.Execution", "Skill/Execution/e/move", 7, `{"timestamp":"@15Z","started":"@07Z","skill":"Skill/Description/p/MoveTo","status":"Succeeded","parent":"Skill/Execution/e/bring","parameters":{"location":"table"}}`)
	answers, err := first.Server().Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Speech/Answer")}, WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	put(first, "engram.speech.Text", "Speech/Text/asr/microphone", 30, `{"timestamp":"@30Z","text":"Why did you move to the table?"}`)
	answer := testkit.Next(t, answers, 1)[0].Snapshot.Instances[0].Payload
	parsed, _ := memories.Type(answer.Type)
	text, err := parsed.JSON(answer.Bytes, idf.JSONOptions{})
	if want := "MoveTo was run at 14:03:07 because BringObject called it, because 'bring me the cup' was heard at 14:03:01 from microphone"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the answer is %s, not %s (%v)", text, want, err)
	}
}
