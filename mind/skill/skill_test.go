package skill_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// robot is a memory server in a bubble of its own time.
type robot struct {
	*testing.T
	*server.Server
	ctx     context.Context
	leaving []func()
}

// inBubble runs a test with a server, in time that passes when all wait.
func inBubble(t *testing.T, test func(r *robot)) {
	t.Helper()
	withMemories(t, func() []server.Memory { return []server.Memory{memories.Skill(), memories.Speech()} }, test)
}

// withMemories is inBubble with memories that are made in the bubble.
func withMemories(t *testing.T, all func() []server.Memory, test func(r *robot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: all(), Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		r := &robot{T: t, Server: s, ctx: t.Context()}
		defer s.Close()
		defer func() {
			for _, leave := range r.leaving {
				leave()
			}
		}()
		test(r)
	})
}

// open returns the skills of a server.
func open(svc skill.Service) *skill.Skills {
	s, err := skill.Open(context.Background(), svc)
	if err != nil {
		panic(err)
	}
	return s
}

// offers has a provider offer skills. It returns what ends that.
func (r *robot) offers(name string, skills ...skill.Skill) (end func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := open(r.Server).Provide(ctx, name, skill.ProvideOptions{}, skills...); err != nil {
			r.Errorf("%s: %v", name, err)
		}
	})
	end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.leaving = append(r.leaving, end)
	synctest.Wait()
	return end
}

func (r *robot) start(a skill.Ask) *skill.Handle {
	r.Helper()
	h, err := open(r.Server).Start(r.ctx, a)
	if err != nil {
		r.Fatal(err)
	}
	return h
}

func (r *robot) wait(h *skill.Handle) *skill.Execution {
	r.Helper()
	e, err := h.Wait(r.ctx, nil)
	if err != nil {
		r.Fatal(err)
	}
	return e
}

// wave is a skill that takes a second, and stops at once.
func wave(ctx context.Context, c *skill.Call) error {
	c.Expect(time.Second)
	for i := range 10 {
		if err := c.Progress(ctx, float64(i)/10, "waving"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	c.SetResult(map[string]any{"waves": int64(10)})
	return nil
}

// deaf is a skill that does not stop.
func deaf(_ context.Context, _ *skill.Call) error { time.Sleep(10 * time.Second); return nil }

func TestRun(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Wave", Description: skill.Description{Text: "waves", Defaults: map[string]any{"hand": "right"}}, Do: wave})
		e, err := open(r.Server).Run(r.ctx, skill.Ask{Skill: "Arm/Wave", Caller: "anna", Parameters: map[string]any{"times": int64(10)}})
		if err != nil {
			t.Fatal(err)
		}
		if e.Status != schedule.Succeeded || e.Result["waves"] != int64(10) || e.Parameters["hand"] != "right" || e.Parameters["times"] != int64(10) || e.Caller != "anna" || e.Expected != time.Second {
			t.Errorf("it ended as %+v", e)
		}
		history, err := r.Query(r.ctx, engram.PatternOf(e.ID).Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		codec, _ := skill.NewCodec(r.ctx, r.Server)
		for item := range history.All() {
			e, err := codec.Execution(item.ID.Parent(), item.Time, item.Instances)
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, fmt.Sprint(e.Status, " ", e.Progress))
		}
		if len(seen) < 12 || seen[0] != "Preparing -1" || !slices.Contains(seen[1:3], "Running 0") || seen[len(seen)-1] != "Succeeded 1" {
			t.Errorf("its history is %q", seen)
		}
		if _, err := open(r.Server).Follow(engram.MustID("Skill/Execution/Arm/never")).Wait(r.ctx, nil); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("an execution that never was is waited for: %v", err)
		}
		// The result stays: who comes later finds it.
		time.Sleep(time.Hour)
		if e := r.wait(open(r.Server).Follow(e.ID)); e.Result["waves"] != int64(10) {
			t.Errorf("an hour later it is %+v", e)
		}
	})
}

// What is wrong with a request is told to who asks, and nothing is stored.
func TestRequestsThatAreRefused(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Say", Description: skill.Description{ParameterType: "engram.speech.Text"}, Do: wave})
		again := skill.Ask{Skill: "Arm/Say", Name: "say-1", Parameters: map[string]any{"text": "hello"}}
		r.start(again)
		for _, c := range []struct {
			ask  skill.Ask
			code engram.Code
			says string
		}{
			{skill.Ask{Skill: "Arm/Sing"}, engram.NotFound, "Skill/Description/Arm/Sing: no provider offers this skill"},
			{skill.Ask{Skill: "Sing"}, engram.Invalid, "PROVIDER/NAME"},
			{skill.Ask{Skill: "Arm/Say", Parameters: map[string]any{"txt": "hello"}}, engram.Invalid, "txt"},
			{skill.Ask{Skill: "Arm/Say", Parameters: map[string]any{"text": 7.5}}, engram.Invalid, "text"},
			{again, engram.AlreadyExists, "say-1"},
			{skill.Ask{Skill: "Arm/Say", Parent: engram.MustID("Skill/Execution/Arm/none")}, engram.NotFound, "Skill/Execution/Arm/none"},
		} {
			_, err := open(r.Server).Start(r.ctx, c.ask)
			if engram.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%+v: %v; expected %v with %q", c.ask, err, c.code, c.says)
			}
		}
	})
}

// An execution stops at any time, and all that it called.
func TestAbort(t *testing.T) {
	for _, after := range []time.Duration{0, time.Nanosecond, 50 * time.Millisecond, 500 * time.Millisecond, 950 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			inBubble(t, func(r *robot) {
				r.offers("Arm", skill.Skill{Name: "Wave", Do: wave, Description: skill.Description{Resources: []string{"arm"}}}, skill.Skill{Name: "Greet", Do: func(ctx context.Context, c *skill.Call) error {
					_, err := c.Run(ctx, skill.Ask{Skill: "Arm/Wave"})
					return err
				}})
				h := r.start(skill.Ask{Skill: "Arm/Greet", Caller: "anna"})
				time.Sleep(after)
				if err := h.Abort(r.ctx, "enough"); err != nil {
					t.Fatal(err)
				}
				e := r.wait(h)
				if e.Status != schedule.Aborted || e.Stop == nil || e.Stop.Reason != schedule.Asked || e.Stop.Answer != schedule.Confirmed || !strings.Contains(e.Message, "enough") {
					t.Errorf("it ended as %+v %+v", e, e.Stop)
				}
				synctest.Wait()
				all, err := r.Query(r.ctx, engram.MustPattern("Skill/Execution/Arm").Select(engram.Latest(1)))
				if err != nil {
					t.Fatal(err)
				}
				codec, _ := skill.NewCodec(r.ctx, r.Server)
				for item := range all.All() {
					if e, err := codec.Execution(item.ID.Parent(), item.Time, item.Instances); err != nil || !e.Status.Ended() {
						t.Errorf("%v is %+v, %v", item.ID, e, err)
					}
				}
				if err := h.Abort(r.ctx, "again"); err != nil {
					t.Errorf("after the end: %v", err)
				}
			})
		})
	}
}

// Who gives up waiting has it stop, and waits until it has.
func TestRunUntilGivenUp(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		ctx, cancel := context.WithTimeout(r.ctx, 250*time.Millisecond)
		defer cancel()
		e, err := open(r.Server).Run(ctx, skill.Ask{Skill: "Arm/Wave"})
		if e == nil || e.Status != schedule.Aborted || err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("it ended as %+v, %v", e, err)
		}
	})
}

// A failure says where and why; a limit of time is one.
func TestFailures(t *testing.T) {
	inBubble(t, func(r *robot) {
		cup := engram.MustID("Object/Instance/Eye/cup")
		r.offers("Arm",
			skill.Skill{Name: "Grasp", Do: func(context.Context, *skill.Call) error {
				return &skill.Failure{Code: "slipped", Message: "the cup slipped", Retry: true, BlockedBy: []engram.ID{cup}}
			}},
			skill.Skill{Name: "Bring", Do: func(ctx context.Context, c *skill.Call) error {
				_, err := c.Run(ctx, skill.Ask{Skill: "Arm/Grasp"})
				return err
			}},
			skill.Skill{Name: "Panic", Do: func(context.Context, *skill.Call) error { panic("oh") }},
			skill.Skill{Name: "Slow", Description: skill.Description{TimeLimit: 300 * time.Millisecond}, Do: wave},
		)
		for _, c := range []struct{ ask, code, stage, message string }{
			{"Arm/Grasp", "slipped", "Grasp", "the cup slipped"},
			{"Arm/Bring", "slipped", "Bring/Grasp", "the cup slipped"},
			{"Arm/Panic", "internal", "Panic", "the skill panicked: oh"},
			{"Arm/Slow", "time_limit", "Slow", "it took longer than 300ms"},
			{"Arm/Slow", "time_limit", "Slow", "it took longer than 300ms"},
		} {
			e, err := open(r.Server).Run(r.ctx, skill.Ask{Skill: c.ask})
			var f *skill.Failure
			if !errors.As(err, &f) || e.Status != schedule.Failed || f.Code != c.code || f.Stage != c.stage || !strings.Contains(f.Message, c.message) {
				t.Errorf("%s ended as %+v with %+v, %v", c.ask, e, f, err)
			}
		}
	})
}

// Executions that need a resource have it one after the other, the more important first.
func TestResources(t *testing.T) {
	inBubble(t, func(r *robot) {
		var mu sync.Mutex
		var order []string
		busy := 0
		do := func(ctx context.Context, c *skill.Call) error {
			mu.Lock()
			order, busy = append(order, c.Text("name")), busy+1
			if busy > 1 {
				r.Errorf("%q have the arm at once", order)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			busy--
			mu.Unlock()
			return nil
		}
		r.offers("Arm", skill.Skill{Name: "Wave", Description: skill.Description{Resources: []string{"arm"}}, Do: do})
		forever := time.Duration(0)
		var handles []*skill.Handle
		for i, name := range []string{"first", "low", "high", "low again"} {
			priority := []int{0, -1, 5, -1}[i]
			handles = append(handles, r.start(skill.Ask{Skill: "Arm/Wave", Parameters: map[string]any{"name": name}, Priority: &priority, Patience: &forever}))
			synctest.Wait()
		}
		for _, h := range handles {
			r.wait(h)
		}
		if fmt.Sprint(order) != "[first high low low again]" {
			t.Errorf("they had it in the order %q", order)
		}
	})
}

// What has no provider waits for it, and fails when it has waited for too long.
func TestProviderComesLate(t *testing.T) {
	inBubble(t, func(r *robot) {
		leave := r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		leave()
		waits := r.start(skill.Ask{Skill: "Arm/Wave"})
		time.Sleep(3 * time.Second)
		leave = r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		if e := r.wait(waits); e.Status != schedule.Succeeded {
			t.Errorf("it ended as %+v", e)
		}
		leave()
		began := time.Now()
		if e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave"})); e.Status != schedule.Failed || e.Failure == nil || !strings.Contains(e.Failure.Message, "Arm is not there") || time.Since(began) != skill.DefaultPatience {
			t.Errorf("it ended after %v as %+v", time.Since(began), e)
		}
	})
}

// A provider that does not stop in time is fenced: it gets nothing more to do, and what it held is free when its lease is over.
func TestFence(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Deaf", Description: skill.Description{Resources: []string{"arm"}}, Do: deaf})
		r.offers("Hand", skill.Skill{Name: "Wave", Description: skill.Description{Resources: []string{"arm"}}, Do: wave})
		h := r.start(skill.Ask{Skill: "Arm/Deaf"})
		synctest.Wait()
		began := time.Now()
		if err := h.Abort(r.ctx, ""); err != nil {
			t.Fatal(err)
		}
		next := r.start(skill.Ask{Skill: "Hand/Wave"})
		e := r.wait(h)
		if e.Status != schedule.Aborted || e.Stop.Answer != schedule.Unconfirmed || time.Since(began) < 2*time.Second || time.Since(began) > 4*time.Second {
			t.Errorf("after %v it ended as %+v %+v", time.Since(began), e, e.Stop)
		}
		if e := r.wait(next); e.Status != schedule.Succeeded || e.Called.Sub(e.Started) < 2*time.Second {
			t.Errorf("the next ended as %+v", e)
		}
		// When it stands still, it begins anew.
		if e := r.wait(r.start(skill.Ask{Skill: "Arm/Deaf"})); e.Status != schedule.Succeeded {
			t.Errorf("later it ended as %+v", e)
		}
	})
}

// A result that the memory refuses ends the execution as failed, and says why.
func TestResultThatIsRefused(t *testing.T) {
	inBubble(t, func(r *robot) {
		var result map[string]any
		r.offers("Arm", skill.Skill{Name: "Say", Description: skill.Description{ResultType: "engram.speech.Text"}, Do: func(_ context.Context, c *skill.Call) error {
			c.SetResult(result)
			return nil
		}})
		for says, wrong := range map[string]map[string]any{"txt": {"txt": "hello"}, "struct": {"text": struct{ A int }{1}}, "bytes": {"text": strings.Repeat("x", 2<<20)}} {
			result = wrong
			if e := r.wait(r.start(skill.Ask{Skill: "Arm/Say"})); e.Status != schedule.Failed || !strings.Contains(e.Message, says) {
				t.Errorf("with a result that is wrong (%s) it ended as %v: %s", says, e.Status, e.Message)
			}
		}
	})
}

// What is told to stop may fail all the same, and what refused to may be told again.
func TestStoppedAgain(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Hold", Do: func(ctx context.Context, c *skill.Call) error {
			<-c.Stops()
			if err := c.Refuse(c.Lasting(), "the cup would fall"); err != nil {
				return err
			}
			if why := <-c.Stops(); !strings.Contains(why.Message, "now") {
				return &skill.Failure{Code: "wrong", Message: why.Message}
			}
			return &skill.Failure{Code: "fell", Message: "the cup fell"}
		}})
		h := r.start(skill.Ask{Skill: "Arm/Hold"})
		for _, message := range []string{"please", "now"} {
			synctest.Wait()
			if err := h.Abort(r.ctx, message); err != nil {
				t.Fatal(err)
			}
		}
		if e := r.wait(h); e.Status != schedule.Failed || e.Failure.Code != "fell" || e.Stop.Answer != schedule.Confirmed {
			t.Errorf("it ended as %+v with %+v, %+v", e, e.Failure, e.Stop)
		}
	})
}

// A provider that ends leaves what it has not begun, and what may be repeated, to the next; one that is refused changes nothing.
func TestProviderEnds(t *testing.T) {
	inBubble(t, func(r *robot) {
		brakes := func(ctx context.Context, _ *skill.Call) error {
			select {
			case <-ctx.Done():
				time.Sleep(400 * time.Millisecond)
			case <-time.After(time.Second):
			}
			return ctx.Err()
		}
		skills := []skill.Skill{
			{Name: "Once", Description: skill.Description{Resources: []string{"arm"}}, Do: brakes},
			{Name: "Again", Description: skill.Description{Repeatable: true}, Do: brakes},
		}
		end := r.offers("Arm", skills...)
		r.offers("Arm", skill.Skill{Name: "Once", Do: brakes})
		once, again := r.start(skill.Ask{Skill: "Arm/Once"}), r.start(skill.Ask{Skill: "Arm/Again"})
		time.Sleep(200 * time.Millisecond)
		go end()
		synctest.Wait()
		late := r.start(skill.Ask{Skill: "Arm/Again"})
		if e := r.wait(once); e.Status != schedule.Failed || e.Stop.Reason != schedule.ProviderLost || len(e.Resources) != 1 {
			t.Errorf("what may not be repeated ended as %+v %+v", e, e.Stop)
		}
		r.offers("Arm", skills...)
		for _, h := range []*skill.Handle{again, late} {
			if e := r.wait(h); e.Status != schedule.Succeeded {
				t.Errorf("it ended as %+v %+v", e, e.Stop)
			}
		}
	})
}

// givesUp is a memory whose answers to requests nobody waits for.
type givesUp struct{ *server.Server }

func (g givesUp) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	r, err := g.Server.Commit(ctx, c)
	if c.Updates[0].Entity.CoreSegment() == "Request" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r, err
}

// A caller that gives up before it has an answer leaves nothing behind that moves.
func TestStartIsGivenUp(t *testing.T) {
	inBubble(t, func(r *robot) {
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave})
		ctx, cancel := context.WithTimeout(r.ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := open(givesUp{r.Server}).Run(ctx, skill.Ask{Skill: "Arm/Wave"}); err == nil {
			t.Error("it has an answer")
		}
		synctest.Wait()
		all, err := open(r.Server).Executions(r.ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
		if err != nil || len(all) != 1 || all[0].Status != schedule.Aborted {
			t.Errorf("left behind is %+v, %v", all, err)
		}
	})
}
