package skill_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// byHand is a provider that writes what it does by itself, as one in another language.
type byHand struct {
	*testing.T
	svc   skill.Service
	codec *skill.Codec
	name  string
	epoch uint64
}

func newByHand(t *testing.T, svc skill.Service, name string, epoch uint64) *byHand {
	t.Helper()
	codec, err := skill.NewCodec(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	return &byHand{t, svc, codec, name, epoch}
}

func (p *byHand) commit(u engram.EntityUpdate, err error) error {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	r, err := p.svc.Commit(p.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		p.Fatal(err)
	}
	return r[0].Err
}

func (p *byHand) offer(name string, d skill.Description) {
	p.Helper()
	d.ID = engram.MustID("Skill/Description/" + p.name + "/" + name)
	if err := p.commit(p.codec.DescriptionUpdate(&d, engram.Now())); err != nil {
		p.Fatal(err)
	}
}

func (p *byHand) renew(lease time.Duration) error {
	p.Helper()
	return p.commit(p.codec.LeaseUpdate(engram.MustID("Skill/Provider/"+p.name+"/"+p.name), skill.Lease{Epoch: p.epoch, Lease: lease}, engram.Now()))
}

func (p *byHand) leave() error {
	p.Helper()
	return p.commit(p.codec.LeaseUpdate(engram.MustID("Skill/Provider/"+p.name+"/"+p.name), skill.Lease{Epoch: p.epoch, Ended: true}, engram.Now()))
}

func (p *byHand) report(h *skill.Handle, status schedule.Status, change func(*skill.Execution)) error {
	p.Helper()
	e := &skill.Execution{ID: h.ID, Time: engram.Now(), Status: status, Epoch: p.epoch, Progress: -1}
	if change != nil {
		change(e)
	}
	return p.commit(p.codec.ExecutionUpdate(e))
}

// is returns an execution as the memory has it now.
func (p *byHand) is(h *skill.Handle) *skill.Execution {
	p.Helper()
	synctest.Wait()
	s, err := p.svc.Latest(p.Context(), h.ID)
	if err != nil {
		p.Fatal(err)
	}
	e, err := p.codec.Execution(h.ID, s.Time, s.Instances)
	if err != nil {
		p.Fatal(err)
	}
	return e
}

func (p *byHand) want(h *skill.Handle, status schedule.Status) *skill.Execution {
	p.Helper()
	e := p.is(h)
	if e.Status != status {
		p.Fatalf("%s is %v, not %v: %+v %+v", h.ID.Entity(), e.Status, status, e, e.Stop)
	}
	return e
}

func code(err error) engram.Code { return engram.CodeOf(err) }

// A server that begins anew goes on where it was: what waits is called when its provider comes, what a provider runs that
// comes back goes on, and what has none has failed.
func TestServerBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		begin := func() *server.Server {
			types := idf.NewRegistry()
			journal, err := wal.OpenJournal(wal.JournalOptions{Dir: dir, Types: types})
			if err != nil {
				t.Fatal(err)
			}
			s, err := server.New(server.Config{Memories: []server.Memory{memories.Skill()}, Types: types, Journal: journal, Log: testkit.Quiet})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := begin()
		defer func() { s.Close() }()
		arm, base, none := newByHand(t, s, "Arm", 10), newByHand(t, s, "Base", 20), newByHand(t, s, "None", 30)
		forever := time.Duration(0)
		start := func(name string) *skill.Handle {
			t.Helper()
			h, err := open(s).Start(t.Context(), skill.Ask{Skill: name, Patience: &forever, Parameters: map[string]any{"n": int64(1)}})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		arm.offer("Wave", skill.Description{Resources: []string{"arm"}})
		base.offer("Drive", skill.Description{})
		base.offer("Turn", skill.Description{Repeatable: true})
		none.offer("Dream", skill.Description{})
		for p, lease := range map[*byHand]time.Duration{arm: time.Minute, base: 5 * time.Second} {
			if err := p.renew(lease); err != nil {
				t.Fatal(err)
			}
		}
		waves, queued, drives, turns, dreams, stops := start("Arm/Wave"), start("Arm/Wave"), start("Base/Drive"), start("Base/Turn"), start("None/Dream"), start("Base/Drive")
		synctest.Wait()
		for h, p := range map[*skill.Handle]*byHand{waves: arm, drives: base, turns: base, stops: base} {
			if err := p.report(h, schedule.Running, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := stops.Abort(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		arm.want(queued, schedule.Preparing)
		base.want(stops, schedule.Stopping)

		s.Close()
		s = begin()
		arm, base, none = newByHand(t, s, "Arm", 10), newByHand(t, s, "Base", 20), newByHand(t, s, "None", 31)
		arm.want(waves, schedule.Running)
		if err := arm.renew(time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := arm.report(waves, schedule.Running, func(e *skill.Execution) { e.Progress = 0.5 }); err != nil {
			t.Fatal(err)
		}
		if e := arm.want(waves, schedule.Running); e.Progress != 0.5 || e.Parameters["n"] != int64(1) {
			t.Errorf("it goes on as %+v", e)
		}
		arm.want(queued, schedule.Preparing)
		if err := none.renew(time.Minute); err != nil {
			t.Fatal(err)
		}
		if e := none.want(dreams, schedule.Preparing); e.Epoch != 31 {
			t.Errorf("what waited for its provider is %+v", e)
		}
		// Base does not come back.
		time.Sleep(10 * time.Second)
		if e := base.want(drives, schedule.Failed); e.Stop.Reason != schedule.ProviderLost || e.Failure.Code != "unavailable" || !strings.Contains(e.Failure.Message, "lost") {
			t.Errorf("it failed as %+v", e.Failure)
		}
		base.want(stops, schedule.Aborted)
		if e := base.want(turns, schedule.Preparing); e.Called != 0 || e.Epoch != 0 {
			t.Errorf("what may be called again is %+v", e)
		}
		if err := base.renew(time.Second); code(err) != engram.Conflict {
			t.Errorf("its old epoch is let in again: %v", err)
		}
		base.epoch = 21
		if err := base.renew(time.Minute); err != nil {
			t.Fatal(err)
		}
		if e := base.want(turns, schedule.Preparing); e.Epoch != 21 {
			t.Errorf("what may be called again is %+v", e)
		}
		if err := arm.report(waves, schedule.Succeeded, nil); err != nil {
			t.Fatal(err)
		}
		if e := arm.want(queued, schedule.Preparing); e.Epoch != 10 {
			t.Errorf("the next is %+v", e)
		}
	})
}

// What is no word of the provider that was handed an execution is refused.
func TestReportsThatAreRefused(t *testing.T) {
	inBubble(t, func(r *robot) {
		arm := newByHand(t, r.Server, "Arm", 10)
		arm.offer("Say", skill.Description{ResultType: "engram.speech.Text"})
		h := r.start(skill.Ask{Skill: "Arm/Say"})
		if err := arm.report(h, schedule.Running, nil); code(err) != engram.Conflict {
			t.Errorf("before it was called: %v", err)
		}
		if err := arm.renew(50 * time.Millisecond); code(err) != engram.Invalid {
			t.Errorf("a short lease: %v", err)
		}
		if err := arm.renew(time.Second); err != nil {
			t.Fatal(err)
		}
		other := newByHand(t, r.Server, "Arm", 11)
		if err := other.renew(time.Second); code(err) != engram.AlreadyExists || !strings.Contains(fmt.Sprint(err), "2000-01-01 00:00:01") {
			t.Errorf("a second provider of the name: %v", err)
		}
		if err := other.report(h, schedule.Running, nil); code(err) != engram.Conflict {
			t.Errorf("another epoch: %v", err)
		}
		other.epoch = 0
		if err := other.report(h, schedule.Running, nil); code(err) != engram.Conflict {
			t.Errorf("without an epoch: %v", err)
		}
		if err := other.renew(time.Second); code(err) != engram.Invalid || !strings.Contains(fmt.Sprint(err), "epoch") {
			t.Errorf("a lease without an epoch: %v", err)
		}
		if err := arm.report(h, schedule.Succeeded, func(e *skill.Execution) { e.Result = map[string]any{"text": "a", "words": int64(1)} }); code(err) != engram.Invalid || !strings.Contains(fmt.Sprint(err), "words") {
			t.Errorf("a result of the wrong type: %v", err)
		}
		arm.want(h, schedule.Preparing)
		if err := arm.report(h, schedule.Succeeded, func(e *skill.Execution) { e.Result = map[string]any{"text": "a"} }); err != nil {
			t.Errorf("a result: %v", err)
		}
		if err := arm.report(h, schedule.Running, nil); code(err) != engram.NotFound {
			t.Errorf("after the end: %v", err)
		}
		other.epoch = 0
		if err := other.report(h, schedule.Running, nil); code(err) != engram.Conflict {
			t.Errorf("after the end, without an epoch: %v", err)
		}
		arm.want(h, schedule.Succeeded)
		unknown := &skill.Handle{ID: engram.MustID("Skill/Execution/Arm/never")}
		if err := arm.report(unknown, schedule.Running, nil); code(err) != engram.NotFound {
			t.Errorf("of what was never asked for: %v", err)
		}
		arm.epoch = 0
		if err := arm.report(unknown, schedule.Running, nil); err != nil {
			t.Errorf("what is only noted: %v", err)
		}
		if err := arm.commit(arm.codec.AbortUpdate(engram.MustID("Skill/Abort/me/x"), engram.MustID("Skill/Execution/Arm/none"), "", "", 1)); code(err) != engram.NotFound {
			t.Errorf("an abort of nothing: %v", err)
		}
	})
}

// An execution that is told to stop may refuse, and a skill that is disabled is not called.
func TestRefusalAndSwitch(t *testing.T) {
	inBubble(t, func(r *robot) {
		arm := newByHand(t, r.Server, "Arm", 10)
		arm.offer("Wave", skill.Description{})
		if err := arm.renew(time.Minute); err != nil {
			t.Fatal(err)
		}
		h := r.start(skill.Ask{Skill: "Arm/Wave"})
		synctest.Wait()
		if err := h.Abort(r.ctx, ""); err != nil {
			t.Fatal(err)
		}
		if err := arm.report(h, schedule.Running, func(e *skill.Execution) {
			e.Message, e.Stop = "the cup would fall", &schedule.Stop{Answer: schedule.Refused}
		}); err != nil {
			t.Fatal(err)
		}
		if e := arm.want(h, schedule.Running); e.Stop.Answer != schedule.Refused || e.Message != "the cup would fall" {
			t.Errorf("it goes on as %+v %+v", e, e.Stop)
		}
		time.Sleep(10 * time.Second)
		if err := arm.report(h, schedule.Succeeded, nil); err != nil {
			t.Fatal(err)
		}
		arm.want(h, schedule.Succeeded)

		wave := engram.MustID("Skill/Description/Arm/Wave")
		turn := func(on bool) {
			t.Helper()
			if err := arm.commit(arm.codec.SwitchUpdate(engram.MustID("Skill/Switch/me/Wave"), wave, on, "", engram.Now())); err != nil {
				t.Fatal(err)
			}
		}
		turn(false)
		h = r.start(skill.Ask{Skill: "Arm/Wave"})
		if e := arm.want(h, schedule.Preparing); e.Called != 0 {
			t.Errorf("a skill that is disabled was called: %+v", e)
		}
		time.Sleep(time.Second)
		turn(true)
		if e := arm.want(h, schedule.Preparing); e.Called == 0 {
			t.Errorf("a skill that is enabled was not called: %+v", e)
		}
		if err := arm.leave(); err != nil {
			t.Fatal(err)
		}
		if e := arm.want(h, schedule.Preparing); e.Called != 0 {
			t.Errorf("what its provider did not begin before it ended is %+v", e)
		}
	})
}

// cutOff is a memory to which nothing can be written for a while, without an answer.
type cutOff struct {
	*server.Server
	cut atomic.Bool
}

func (c *cutOff) Commit(ctx context.Context, all engram.Commit) ([]engram.UpdateResult, error) {
	if c.cut.Load() {
		<-ctx.Done()
		return nil, engram.Errorf(engram.Unavailable, "Skill", "cut off: %w", ctx.Err())
	}
	return c.Server.Commit(ctx, all)
}

// A provider that cannot renew its lease stops what it executes before that is over, and begins anew when it can.
func TestProviderIsCutOff(t *testing.T) {
	inBubble(t, func(r *robot) {
		svc := &cutOff{Server: r.Server}
		stopped := make(chan time.Time, 2)
		ctx, cancel := context.WithCancel(r.ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			err := open(svc).Provide(ctx, "Base", skill.ProvideOptions{}, skill.Skill{Name: "Drive", Description: skill.Description{StopWithin: time.Second, Resources: []string{"platform"}}, Do: func(ctx context.Context, c *skill.Call) error {
				select {
				case <-ctx.Done():
					time.Sleep(900 * time.Millisecond) // it brakes
					stopped <- time.Now()
				case <-time.After(20 * time.Second):
				}
				return context.Cause(ctx)
			}})
			if err != nil {
				r.Error(err)
			}
		})
		r.leaving = append(r.leaving, func() { cancel(); wg.Wait() })
		synctest.Wait()
		h := r.start(skill.Ask{Skill: "Base/Drive"})
		next := r.start(skill.Ask{Skill: "Base/Drive"})
		time.Sleep(5 * time.Second)
		svc.cut.Store(true)
		e := r.wait(h)
		if e.Status != schedule.Failed || e.Stop.Reason != schedule.ProviderLost {
			t.Errorf("it ended as %+v %+v", e, e.Stop)
		}
		select {
		case at := <-stopped:
			if engram.TimeOf(at) > e.Time {
				t.Errorf("it stood still at %v, after its lease was over at %v", at, e.Time)
			}
		default:
			t.Error("it drives on though its lease is over")
		}
		svc.cut.Store(false)
		if e := r.wait(next); e.Status != schedule.Succeeded {
			t.Errorf("the next ended as %+v", e)
		}
	})
}

// cut is a server that a program cannot write to for some time.
type cut struct {
	*server.Server
	off atomic.Bool
}

func (c *cut) Commit(ctx context.Context, all engram.Commit) ([]engram.UpdateResult, error) {
	if c.off.Load() {
		return nil, engram.Errorf(engram.Unavailable, "server", "the network is cut")
	}
	return c.Server.Commit(ctx, all)
}

// What a provider has begun is not begun again by it, though the memory was not reached to be told of that.
func TestBegunIsNotBegunAgain(t *testing.T) {
	inBubble(t, func(r *robot) {
		network := &cut{Server: r.Server}
		var calls atomic.Int64
		ctx, cancel := context.WithCancel(r.ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			err := open(network).Provide(ctx, "Arm", skill.ProvideOptions{}, skill.Skill{Name: "Wave", Do: func(ctx context.Context, _ *skill.Call) error {
				if calls.Add(1) > 1 {
					return nil
				}
				network.off.Store(true)
				<-ctx.Done() // the lease cannot be renewed
				time.AfterFunc(100*time.Millisecond, func() { network.off.Store(false) })
				return context.Cause(ctx)
			}})
			if err != nil {
				t.Error(err)
			}
		})
		defer func() { cancel(); wg.Wait() }()
		synctest.Wait()
		e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave"}))
		if e.Status != schedule.Failed || e.Stop == nil || e.Stop.Reason != schedule.ProviderLost || calls.Load() != 1 {
			t.Errorf("after %d calls it is %+v %+v", calls.Load(), e, e.Stop)
		}
		if e := r.wait(r.start(skill.Ask{Skill: "Arm/Wave"})); e.Status != schedule.Succeeded {
			t.Errorf("the next is %+v", e)
		}
	})
}
