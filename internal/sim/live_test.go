package sim

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/link/reason"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// alive is a robot that lives in a server.
type alive struct {
	*testing.T
	*Robot
	srv    *server.Server
	skills *skill.Skills
	stop   func() Report
}

// inLife runs f in a bubble of its own, beside a robot that lives.
func inLife(t *testing.T, f func(a *alive)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, err := server.New(server.Config{Memories: memories.All(), Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		r, err := New(Config{Start: engram.Now(), Width: 32, Height: 24})
		if err != nil {
			t.Fatal(err)
		}
		skills, err := skill.Open(t.Context(), srv)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		reports := make(chan Report, 1)
		go func() {
			report, err := r.Live(ctx, srv)
			if err != nil || report.Refused > 0 {
				t.Errorf("it lived with %+v, %v", report, err)
			}
			reports <- report
		}()
		a := &alive{T: t, Robot: r, srv: srv, skills: skills}
		a.stop = sync.OnceValue(func() Report { end(); return <-reports })
		f(a)
		a.stop()
	})
}

// done returns the executions, as they were last, in the order in which they were asked for.
func (a *alive) done() []*skill.Execution {
	a.Helper()
	all, err := a.skills.Executions(context.Background(), engram.MustPattern("Skill/Execution"), engram.Latest(1))
	if err != nil {
		a.Fatal(err)
	}
	// In a bubble one can be asked for at the time at which what calls it was.
	slices.SortStableFunc(all, func(a, b *skill.Execution) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), cmp.Compare(len(a.Parent.String()), len(b.Parent.String())))
	})
	return all
}

// told returns executions in words.
func told(all []*skill.Execution) (words []string) {
	for _, e := range all {
		words = append(words, e.Skill.ProviderSegment()+"/"+e.Skill.Entity()+" "+e.Status.String())
	}
	return words
}

// at lets the world's time come.
func (a *alive) at(seconds float64) {
	time.Sleep(time.Until(a.config.Start.Std().Add(time.Duration(seconds * float64(time.Second)))))
	synctest.Wait()
}

func (a *alive) is(want ...string) {
	a.Helper()
	if got := told(a.done()); !slices.Equal(got, want) {
		a.Errorf("the executions are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The memory's executor executes the story; why is told as before.
func TestLive(t *testing.T) {
	inLife(t, func(a *alive) {
		t := a.T
		a.at(6)
		brought := []string{
			"Story/BringObject Succeeded", "Head/LookFor Succeeded", "Platform/GoTo Succeeded", "Arm/Grasp Failed", "Arm/Grasp Succeeded", "Arm/HandOver Succeeded",
		}
		a.is(brought...)
		all := a.done()
		for i, e := range all {
			parent := all[0].ID
			if i == 0 {
				parent = engram.ID{}
			}
			if e.Epoch == 0 || e.Request.IsRoot() || e.Expected == 0 || e.Parent != parent || e.Time > a.Time(600) {
				t.Errorf("of %v is told %+v", e.ID, e)
			}
		}
		asked, err := a.srv.Latest(t.Context(), a.id("Speech", "Command", "user"))
		if err != nil || all[0].Cause != a.commandID(asked.Time) {
			t.Errorf("it was brought because of %v, of %+v, %v", all[0].Cause, asked, err)
		}
		cupID := a.id("Object", "Instance", "cup")
		if f := all[3].Failure; f == nil || f.Code != "slipped" || f.Stage != "BringObject/Grasp" || !f.Retry || !slices.Equal(f.BlockedBy, []engram.ID{cupID}) {
			t.Errorf("the first grasp failed with %+v", f)
		}
		if id, ok := all[1].Result["object"].(engram.ID); !ok || id != cupID {
			t.Errorf("looking for the cup found %v", all[1].Result)
		}
		why := func(id engram.ID, words ...string) {
			t.Helper()
			answer, err := reason.New(a.srv, "").Why(t.Context(), id, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range words {
				if !strings.Contains(answer.Text(), w) {
					t.Errorf("%q lacks %q", answer.Text(), w)
				}
			}
		}
		const heard = "because BringObject (object: cup) called it, because “Bring me the cup, please” was heard at "
		why(cupID, "The cup was seen at ", "The cup had been held by humanoid in right_hand_tcp since ", "That was during Grasp (object: cup), ", heard)
		why(all[0].ID, "Grasp (object: cup) failed at ", ": the cup slipped out of the hand; it was tried again at ", " and succeeded at ", "BringObject succeeded at ")
		why(all[2].ID, "GoTo (location: table) was run at ", heard, "GoTo succeeded at ")
		why(a.id("Speech", "Text", "humanoid"), "“Here you are” was said at ", ", because BringObject (object: cup) succeeded at ")

		a.at(11)
		a.is(append(brought, "Story/PlaceObject Succeeded", "Arm/PutDown Succeeded", "Platform/GoTo Succeeded")...)
		if a.live.holding() || a.live.phase()[drive] != 0 {
			t.Error("the cup is not back")
		}
		report := a.stop()
		if report.Skipped > 0 || report.Ticks < 1100 {
			t.Errorf("%+v", report)
		}
		offers, err := a.skills.Offers(t.Context(), engram.MustPattern("Skill/Description"))
		if err != nil || len(offers) != len(a.abilities) {
			t.Fatal(offers, err)
		}
		for _, o := range offers {
			if o.Present || len(o.Active) > 0 || len(o.Resources) == 0 {
				t.Errorf("after the end %v is %s: %+v", o.ID, o.State(), o)
			}
		}
	})
}

// A story that is told to stop leaves the body where it is, and can be gone on with.
func TestLiveStops(t *testing.T) {
	inLife(t, func(a *alive) {
		t := a.T
		a.at(1.8)
		all := a.done()
		if err := a.skills.Follow(all[0].ID).Abort(t.Context(), "mind the cup"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		a.is("Story/BringObject Aborted", "Head/LookFor Succeeded", "Platform/GoTo Aborted")
		for _, e := range a.done() {
			if e.Stop != nil && e.Stop.Answer != schedule.Confirmed {
				t.Errorf("%v was told to stop: %+v", e.ID, e.Stop)
			}
		}
		stands := a.phase(1.81)
		a.at(10)
		if p := a.phase(10); p != stands || p[drive] < 0.1 || p[drive] > 0.9 {
			t.Errorf("it was stopped at %v, and is at %v", stands, p)
		}
		s, err := a.srv.Latest(t.Context(), a.id("Speech", "Text", "humanoid"))
		if err != nil {
			t.Fatal(err)
		}
		if words := decode(t, s.Instances[0].Payload)["text"]; words != "I could not: it was told to stop: mind the cup." {
			t.Errorf("it says %q", words)
		}
		// By hand, and between rounds.
		for _, want := range []struct{ skill, failure string }{
			{"Arm/HandOver", "HandOver: the hand holds nothing"},
			{"Arm/PutDown", "PutDown: the hand holds nothing"},
			{"Arm/Grasp", "Grasp: the cup is out of reach; Platform/GoTo location=table comes first"},
			{"Story/BringObject", ""},
			{"Story/BringObject", ""}, // it holds the cup
		} {
			e, err := a.skills.Run(t.Context(), skill.Ask{Skill: want.skill})
			if (err == nil) != (want.failure == "") || err != nil && err.Error() != want.failure {
				t.Errorf("%s ended with %+v, %v", want.skill, e, err)
			}
		}
		if p := a.live.phase(); !a.live.holding() || p[lift] != 1 {
			t.Errorf("the cup is not held out: %v", p)
		}
		for _, want := range []struct {
			ask     skill.Ask
			failure string
		}{
			{skill.Ask{Skill: "Platform/GoTo", Parameters: map[string]any{"location": "moon"}}, "GoTo: there is no place called “moon”; home and table are"},
			{skill.Ask{Skill: "Head/LookFor", Parameters: map[string]any{"object": "ball"}}, "LookFor: nobody has shown the robot what “ball” is"},
			{skill.Ask{Skill: "Arm/Grasp", Parameters: map[string]any{"object": "book"}}, "Grasp: the hand has no grasp for “book”; for the cup it has"},
			{skill.Ask{Skill: "Story/PlaceObject", Parameters: map[string]any{"location": "floor"}}, "PlaceObject: things are put on the table, not on “floor”"},
			{skill.Ask{Skill: "Platform/GoTo", Parameters: map[string]any{"location": "home"}}, ""},
			{skill.Ask{Skill: "Arm/PutDown"}, "PutDown: there is nothing to put it on; Platform/GoTo location=table comes first"},
		} {
			if _, err := a.skills.Run(t.Context(), want.ask); (err == nil) != (want.failure == "") || err != nil && err.Error() != want.failure {
				t.Errorf("%+v ended with %v", want.ask, err)
			}
		}
	})
}

// What anybody asks for by speech is done. A robot whose program ends stops that, and its body, in order.
func TestLiveHears(t *testing.T) {
	inLife(t, func(a *alive) {
		t := a.T
		a.at(6)
		home := command{text: "Back with it.", intent: "place", arguments: map[string]any{"location": "table"}}
		updates := a.asked(engram.Now(), &home)
		testkit.Commit(t, a.srv, updates[1])
		a.at(6.6)
		a.stop()
		all := a.done()
		if got := told(all[6:]); !slices.Equal(got, []string{"Story/PlaceObject Aborted", "Arm/PutDown Aborted"}) {
			t.Errorf("what was asked for by speech ended as %v", got)
		}
		if m := all[6].Message; m != "it was told to stop: the robot's program ends" {
			t.Errorf("it ended because of %q", m)
		}
		if a.live.phase()[lift] == 1 || !a.live.holding() {
			t.Error("the cup was not being put down")
		}
		// Another life goes on with the body as it is.
		ctx, end := context.WithCancel(t.Context())
		lived := make(chan error, 1)
		go func() {
			_, err := a.Live(ctx, a.srv)
			lived <- err
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := a.skills.Run(t.Context(), skill.Ask{Skill: "Story/PlaceObject"}); err != nil {
			t.Error(err)
		}
		end()
		if err := <-lived; err != nil {
			t.Error(err)
		}
	})
}
