package skill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// note stores a snapshot of an execution that nobody asked for.
func (r *robot) note(e *skill.Execution) {
	r.Helper()
	codec, err := skill.NewCodec(r.ctx, r.Server)
	if err != nil {
		r.Fatal(err)
	}
	u, err := codec.ExecutionUpdate(e)
	if err != nil {
		r.Fatal(err)
	}
	results, err := r.Commit(r.ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err := errors.Join(err, results[0].Err); err != nil {
		r.Fatal(err)
	}
}

// An execution waits for a resource, runs, and takes its time to stop.
func TestPhases(t *testing.T) {
	inBubble(t, func(r *robot) {
		arm := skill.Description{Resources: []string{"arm"}, StopWithin: time.Second}
		slow := func(ctx context.Context, _ *skill.Call) error {
			<-ctx.Done()
			time.Sleep(300 * time.Millisecond)
			return context.Cause(ctx)
		}
		r.offers("Arm", skill.Skill{Name: "Slow", Description: arm, Do: slow}, skill.Skill{Name: "Wave", Description: arm, Do: wave})
		r.start(skill.Ask{Skill: "Arm/Wave"})
		h := r.start(skill.Ask{Skill: "Arm/Slow"})
		time.Sleep(3 * time.Second) // a second of which the other one waves
		synctest.Wait()
		phases := func() skill.Phases {
			all, err := open(r.Server).Timeline(r.ctx, h.ID)
			if err != nil {
				t.Fatal(err)
			}
			return skill.PhasesOf(all, engram.Now())
		}
		near := func(got, want skill.Phases) {
			t.Helper()
			if fmt.Sprint(got.Waited.Round(time.Millisecond), got.Ran.Round(time.Millisecond), got.Stopped.Round(time.Millisecond)) != fmt.Sprint(want.Waited, want.Ran, want.Stopped) {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		near(phases(), skill.Phases{Waited: time.Second, Ran: 2 * time.Second})
		if err := h.Abort(r.ctx, ""); err != nil {
			t.Fatal(err)
		}
		r.wait(h)
		time.Sleep(time.Hour) // which does not count
		near(phases(), skill.Phases{Waited: time.Second, Ran: 2 * time.Second, Stopped: 300 * time.Millisecond})
	})
}

// What is known of an execution is by its last snapshot only, where others are not kept.
func TestPhasesOfWhatIsLeft(t *testing.T) {
	request := engram.MustID("Skill/Request/a/b")
	at := func(seconds int) engram.Time {
		return engram.Time(100 * time.Second).Add(time.Duration(seconds) * time.Second)
	}
	for name, c := range map[string]struct {
		e    skill.Execution
		want skill.Phases
	}{
		"called":       {skill.Execution{Request: request, Status: schedule.Succeeded, Started: at(0), Called: at(1), Time: at(3)}, skill.Phases{Waited: time.Second, Ran: 2 * time.Second}},
		"never called": {skill.Execution{Request: request, Status: schedule.Failed, Started: at(0), Time: at(3)}, skill.Phases{Waited: 3 * time.Second}},
		"noted":        {skill.Execution{Status: schedule.Succeeded, Started: at(0), Time: at(3)}, skill.Phases{Ran: 3 * time.Second}},
		"noted, runs":  {skill.Execution{Status: schedule.Running, Started: at(0), Time: at(3)}, skill.Phases{Ran: 9 * time.Second}},
		"noted, waits": {skill.Execution{Status: schedule.Preparing, Started: at(0), Time: at(3)}, skill.Phases{Waited: 9 * time.Second}},
		"of no time":   {skill.Execution{Status: schedule.Succeeded, Time: at(3)}, skill.Phases{}},
	} {
		if got := skill.PhasesOf([]*skill.Execution{&c.e}, at(9)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// familyText writes a family in a line.
func familyText(f *skill.Relative) string {
	text := f.ID.Entity()
	if f.Execution == nil {
		text += "?"
	}
	if len(f.Calls) == 0 {
		return text
	}
	text += "("
	for i, c := range f.Calls {
		if i > 0 {
			text += " "
		}
		text += familyText(c)
	}
	return text + ")"
}

func TestFamily(t *testing.T) {
	inBubble(t, func(r *robot) {
		id := func(name string) engram.ID { return engram.MustID("Skill/Execution/Sim/" + name) }
		for i, pair := range [][2]string{{"a", "gone"}, {"b", "a"}, {"c", "b"}, {"d", "b"}, {"e", "d"}, {"other", "a"}, {"round", "trip"}, {"trip", "round"}} {
			r.note(&skill.Execution{
				ID: id(pair[0]), Time: engram.Now(), Skill: engram.MustID("Skill/Description/Sim/X"), Status: schedule.Running, Parent: id(pair[1]),
				Started: engram.Now().Add(time.Duration(i)), Progress: -1, Failure: &skill.Failure{BlockedBy: []engram.ID{id("b")}}, // which calls nothing
			})
		}
		for of, want := range map[string]string{"b": "gone?(a(b(c d(e))))", "e": "gone?(a(b(d(e))))", "a": "gone?(a(b(c d(e)) other))", "round": "round(trip)"} {
			s := open(r.Server)
			e, err := s.Execution(r.ctx, id(of))
			if err != nil {
				t.Fatal(err)
			}
			family, cut, err := s.Family(r.ctx, e)
			if got := familyText(family); err != nil || cut != 0 || got != want {
				t.Errorf("%s: %s, %d, %v, want %s", of, got, cut, err, want)
			}
		}
		if _, err := open(r.Server).Timeline(r.ctx, id("none")); engram.CodeOf(err) != engram.NotFound {
			t.Error(err)
		}
		all, err := open(r.Server).ExecutionsOf(r.ctx, engram.MustID("Skill/Description/Sim/X"))
		if err != nil || len(all) != 8 || all[0].ID != id("a") || all[7].ID != id("trip") {
			t.Errorf("%v, %v", all, err)
		}
	})
}

// Who switched a skill is told with why.
func TestOfferTellsOfSwitch(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		s := open(r.Server)
		id := engram.MustID("Skill/Description/Arm/Wave")
		for _, on := range []bool{true, false} {
			if err := s.Enable(r.ctx, id, on, "anna", fmt.Sprint("it is ", on)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		all, err := s.Offers(r.ctx, engram.PatternOf(id))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if o := all[0]; o.Enabled || o.Switched == nil || o.Switched.Who != "anna" || o.Switched.Message != "it is false" || o.Lease.Lease != 2*time.Second {
			t.Errorf("%+v, %+v", o, o.Switched)
		}
	})
}
