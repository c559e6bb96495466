package mission

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// told is a mission without servers, at ten times real time, in which things are said and heard.
func told(t *testing.T, f func(m *Mission, story *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var story bytes.Buffer
		m := &Mission{Clock: newClock(10), events: map[string]*Event{}}
		m.config.Out = &story
		m.background, m.stop = context.WithCancel(t.Context())
		for _, name := range []string{Operator, Worker, Scout1, Scout2} {
			m.members = append(m.members, &member{m: m, name: name, ctx: m.background})
		}
		f(m, &story)
		m.stop()
		for _, b := range m.members {
			b.work.Wait()
		}
	})
}

// passes lets simulated time pass.
func (m *Mission) passes(d time.Duration) { _ = m.Clock.Sleep(m.background, d) }

// hear has members learn of an event.
func (m *Mission) hear(event string, who ...string) {
	for _, name := range who {
		m.note(m.member(name), []string{event})
	}
}

// While something is on its way to the worlds of all, simulated time passes as the wall clock's;
// then it is ten times faster again.
func TestWorldsKeepUp(t *testing.T) {
	told(t, func(m *Mission, story *bytes.Buffer) {
		m.passes(time.Second)
		m.said(m.member(Scout1), BinSeen, m.Clock.Passed())
		began := time.Now()
		m.hear(BinSeen, Scout1)
		m.passes(700 * time.Millisecond)
		if took := time.Since(began).Round(time.Millisecond); took != 700*time.Millisecond {
			t.Errorf("0.7 s on the way took %v", took)
		}
		m.hear(BinSeen, Operator, Scout2, Worker)
		began = time.Now()
		m.passes(time.Second)
		if took := time.Since(began).Round(time.Millisecond); took != 100*time.Millisecond {
			t.Errorf("a second after it took %v", took)
		}
		e := m.Events()[BinSeen]
		if e.Delay.Round(time.Millisecond) != 700*time.Millisecond || e.In[Scout1].Round(time.Millisecond) != 0 || len(e.Late()) > 0 {
			t.Errorf("%+v", e)
		}
		if !strings.Contains(story.String(), "bin seen: in everybody's world 0.70 s after scout1 said so\n") {
			t.Error(story)
		}
	})
}

// What is late is told, when it should be there and when it is, and who has it late.
func TestWorldsAreLate(t *testing.T) {
	told(t, func(m *Mission, story *bytes.Buffer) {
		m.said(m.member(Scout1), BinSeen, 0)
		m.said(m.member(Scout2), BinSeen, m.Clock.Passed()) // saw it, too, and changes nothing
		m.hear(BinSeen, Scout1, Scout2, Worker)
		m.passes(3 * time.Second)
		m.hear(BinSeen, Operator)
		r := &Report{Event: m.Events()}
		e := r.Event[BinSeen]
		if e.By != Scout1 || e.Delay.Round(time.Millisecond) != 3*time.Second || !slices.Equal(e.Late(), []string{Operator}) {
			t.Errorf("%+v", e)
		}
		for _, want := range []string{
			"[   1.0 s]          ! bin seen: after a second not in the world of operator yet\n",
			"bin seen: in everybody's world 3.00 s after scout1 said so, which is late for operator\n",
		} {
			if !strings.Contains(story.String(), want) {
				t.Errorf("%q is not in the story:\n%s", want, story)
			}
		}
		if text := r.String(); !strings.Contains(text, "NOT everything was in everybody's world within a second:\n    bin seen came late to operator") {
			t.Error(text)
		}
		var out struct {
			Soon   bool `json:"within_a_second"`
			Events []struct {
				Name  string
				Delay float64
				Late  []string
			}
		}
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil || out.Soon || len(out.Events) != 1 || out.Events[0].Name != BinSeen || !slices.Equal(out.Events[0].Late, []string{Operator}) {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// A link that is cut is no lateness, and is told.
func TestWorldsOfThoseWhoAreCutOff(t *testing.T) {
	told(t, func(m *Mission, story *bytes.Buffer) {
		m.passes(time.Second)
		m.member(Scout1).cutFrom = m.Clock.Passed()
		m.passes(time.Second)
		m.said(m.member(Scout2), BinSeen, m.Clock.Passed())
		m.said(m.member(Scout2), GarbageSeen, m.Clock.Passed())
		m.hear(BinSeen, Operator, Worker, Scout2)
		m.hear(GarbageSeen, Operator, Scout2)
		m.passes(10 * time.Second)
		m.hear(GarbageSeen, Worker) // nobody cut it off
		m.member(Scout1).cutUntil = m.Clock.Passed()
		m.hear(BinSeen, Scout1)
		m.hear(GarbageSeen, Scout1)
		if e := m.Events()[GarbageSeen]; !slices.Equal(e.Cut, []string{Scout1}) || !slices.Equal(e.Late(), []string{Worker}) {
			t.Errorf("%+v", e)
		}
		if e := m.Events()[BinSeen]; !slices.Equal(e.Cut, []string{Scout1}) || len(e.Late()) > 0 || e.Delay < 9*time.Second {
			t.Errorf("%+v", e)
		}
		if n := strings.Count(story.String(), "cut off: scout1"); n != 4 {
			t.Error(story)
		}
		// Afterwards it is as all others.
		m.said(m.member(Worker), GarbageHeld, m.Clock.Passed())
		m.hear(GarbageHeld, Operator, Worker, Scout2)
		m.passes(2 * time.Second)
		m.hear(GarbageHeld, Scout1)
		if e := m.Events()[GarbageHeld]; len(e.Cut) > 0 || !slices.Equal(e.Late(), []string{Scout1}) {
			t.Errorf("%+v", e)
		}
	})
}

// What somebody said who was killed before anybody heard it was not said.
func TestKilledBeforeAnybodyHeard(t *testing.T) {
	told(t, func(m *Mission, _ *bytes.Buffer) {
		m.said(m.member(Scout2), BinSeen, 0)
		m.hear(BinSeen, Scout2)
		m.forget(m.member(Scout2))
		m.said(m.member(Scout1), BinSeen, m.Clock.Passed())
		if e := m.Events()[BinSeen]; e.By != Scout1 {
			t.Errorf("%+v", e)
		}
	})
}
