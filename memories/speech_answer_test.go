package memories_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

func putJSON(t testing.TB, s *server.Server, typ, entity string, at engram.Time, json string) engram.ID {
	t.Helper()
	bytes, err := typeOf(t, typ).FromJSON([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	id := engram.MustID(entity)
	testkit.Commit(t, s, engram.EntityUpdate{Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: bytes})}})
	return id.At(at)
}

// A question that is heard is answered in Speech/Answer, linked to the question.
func TestQuestionsAreAnswered(t *testing.T) {
	s := serving.New(t, memories.Speech(), memories.Skill(), memories.SystemState())
	answers, err := s.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Speech/Answer")}, WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	base := engram.MustID("Skill/Execution/e/x/2026-03-04 14:03:00")
	now, _ := base.Time()
	command := putJSON(t, s, "engram.speech.Command", "Speech/Command/asr/microphone", now, `{"text":"bring me the cup","intent":"bring"}`)
	putJSON(t, s, "engram.skill.Execution", "Skill/Execution/e/bring", now+1e9, `{"timestamp":"2026-03-04T14:03:01Z","started":"2026-03-04T14:03:01Z","skill":"Skill/Description/p/BringObject","status":"Running","cause":"Speech/Command/asr/microphone","parameters":{"object":"cup"}}`)
	putJSON(t, s, "engram.skill.Execution", "Skill/Execution/e/move", now+2e9, `{"timestamp":"2026-03-04T14:03:02Z","started":"2026-03-04T14:03:02Z","skill":"Skill/Description/p/MoveTo","status":"Succeeded","parent":"Skill/Execution/e/bring","parameters":{"location":"table"}}`)
	const want = "MoveTo was run at 14:03:02 because BringObject called it, because 'bring me the cup' was heard at 14:03:00 from microphone; succeeded at 14:03:02."
	for _, x := range []struct{ typ, entity, question, want string }{
		{"engram.speech.Text", "Speech/Text/asr/microphone", `{"text":"Why did you move to the table?"}`, want},
		{"engram.speech.Command", "Speech/Command/operator/console", `{"text":"explain that","intent":"why","refers_to":["Skill/Execution/e/move"]}`, want},
		{"engram.speech.Command", "Speech/Command/operator/console", `{"text":"","intent":"why","arguments":{"skill":"move","location":"table"}}`, want},
		{"engram.speech.Text", "Speech/Text/asr/microphone", `{"text":"Why did you fly to the moon?"}`, "I do not know that I did that."},
	} {
		now += 10e9
		question := putJSON(t, s, x.typ, x.entity, now, x.question)
		u := testkit.Next(t, answers, 1)[0]
		answer, err := typeOf(t, "engram.speech.Answer").JSON(u.Snapshot.Instances[0].Payload.Bytes, idf.JSONOptions{})
		if err != nil || !strings.Contains(string(answer), x.want) || !strings.Contains(string(answer), question.String()) {
			t.Errorf("%s is answered %s (%v)", x.question, answer, err)
		}
		linked := 0
		for b, err := range s.Links().BackLinks(t.Context(), service.BackQuery{Target: question}) {
			if err != nil || b.Path != "question" {
				t.Errorf("links to the question: %v, %v", b, err)
			}
			linked++
		}
		if linked != 1 {
			t.Errorf("%d answers link to the question %v", linked, question)
		}
	}
	// What is no question has no answer, and the answers rest on what was said.
	linked := 0
	for b, err := range s.Links().BackLinks(t.Context(), service.BackQuery{Target: command, From: engram.MustPattern("Speech/Answer")}) {
		if err != nil || !strings.HasPrefix(b.Path, "rests_on[") {
			t.Errorf("links to the command: %v, %v", b, err)
		}
		linked++
	}
	if linked != 3 {
		t.Errorf("%d answers rest on the command", linked)
	}
	withdraw(t, s, "asr", doubt.Withdrawal{Of: engram.MustPattern("Speech/Command/asr"), During: engram.Always(), Before: engram.MaxTime, Reason: "that was the TV"})
	putJSON(t, s, "engram.speech.Text", "Speech/Text/asr/microphone", now+10e9, `{"text":"Why did you move to the table?"}`)
	u := testkit.Next(t, answers, 1)[0]
	answer, err := typeOf(t, "engram.speech.Answer").JSON(u.Snapshot.Instances[0].Payload.Bytes, idf.JSONOptions{})
	if err != nil || !strings.Contains(string(answer), want+" But I doubt that: what it rests on was withdrawn: that was the TV.") {
		t.Errorf("what is doubtful is answered %s (%v)", answer, err)
	}
}

// Of what a person may say or type, only results of providers that usually answer something are
// told to lack a link; of what is computed all are. A link to prior knowledge is no input.
func TestResultsWithoutInput(t *testing.T) {
	s := serving.New(t, memories.Speech(), memories.Object())
	at := func(second int64) engram.Time { return engram.Time(second * 1e9) }
	putJSON(t, s, "engram.object.Class", "Object/Class/prior/cup", 0, `{}`)
	for i := range int64(4) {
		putJSON(t, s, "engram.speech.Text", "Speech/Text/asr/microphone", at(10+i), `{"text":"bring me the cup"}`)
		putJSON(t, s, "engram.speech.Command", "Speech/Command/console/keyboard", at(10+i), `{"text":"bring me the cup"}`)
		source := `,"source_text":"Speech/Text/asr/microphone"`
		if i == 2 {
			source = ""
		}
		putJSON(t, s, "engram.speech.Command", "Speech/Command/grammar/microphone", at(10+i), `{"text":"bring me the cup"`+source+`}`)
	}
	putJSON(t, s, "engram.object.Instance", "Object/Instance/guesser/cup", at(20), `{"object_class":"Object/Class/prior/cup"}`)
	putJSON(t, s, "engram.object.Instance", "Object/Instance/localiser/cup", at(20), `{"object_class":"Object/Class/prior/cup","source_image":"Vision/ImageRGB/camera/front"}`)
	found, err := s.Links().Check(t.Context(), service.CheckQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range found {
		if c.CanLink {
			got = append(got, fmt.Sprintf("%v %d of %d", c.Provider, c.Unlinked, c.Results))
		}
	}
	if want := "Object/Instance/guesser 1 of 1, Object/Instance/localiser 0 of 1, Speech/Command/grammar 1 of 4"; strings.Join(got, ", ") != want {
		t.Errorf("%s, not %s", strings.Join(got, ", "), want)
	}
}
