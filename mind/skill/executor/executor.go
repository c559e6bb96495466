package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Executor is the hooks of a memory Skill. All methods are safe for concurrent use.
type Executor struct {
	kick  chan struct{} // something is to be written, or due earlier
	began time.Time
	clock func() engram.Time
	poses lookup.Service

	mu           sync.Mutex
	svc          engram.Service // nil before the start, and where the server has no other types
	codec        *skill.Codec
	read         *reader
	standing     *standing
	schedule     *schedule.Schedule
	descriptions map[engram.ID]*skill.Description
	dated        map[engram.ID]engram.Time // of which time these are
	records      map[engram.ID]*record     // of what has not ended
	requests     map[engram.ID]engram.ID   // the executions of records, by their requests
	switched     map[engram.ID]engram.Time // when a skill was enabled or disabled last
	pending      []write                   // in order
	trouble      error                     // of the last write
	closing      bool                      // the server closes: nothing is begun any more
}

// write is an execution to be written.
type write struct {
	*skill.Execution
	done chan<- struct{} // closed when it is written, or never will be; nil if nobody waits
}

func (w write) end() {
	if w.done != nil {
		close(w.done)
	}
}

// record is an execution as it was written last, or is to be.
type record struct{ skill.Execution }

// New returns an executor for one server, with its poses; nil without any.
func New(poses lookup.Service) *Executor {
	return &Executor{
		poses: poses,
		kick:  make(chan struct{}, 1), began: time.Now(), clock: engram.Now, schedule: schedule.New(), descriptions: map[engram.ID]*skill.Description{},
		dated: map[engram.ID]engram.Time{}, records: map[engram.ID]*record{}, requests: map[engram.ID]engram.ID{}, switched: map[engram.ID]engram.Time{},
	}
}

// Hooks returns the hooks of the memory Skill.
func (x *Executor) Hooks() server.Hooks {
	return server.Hooks{
		Start: x.start, Run: x.run, Troubles: x.troubles,
		Write: map[string]server.WriteHook{
			"Request": x.request, "Abort": x.abort, "Provider": x.provider, "Switch": x.enable, "Execution": x.report, "Description": x.describe, "Condition": x.condition, "Caller": x.caller,
		},
	}
}

// now returns the present of the schedule, on which a clock that is set has no effect: leases and limits are spans of time.
// When the executor began it was that of the clock.
func (x *Executor) now() engram.Time { return engram.TimeOf(x.began).Add(time.Since(x.began)) }

// shown returns a time of the schedule as the clock has it now.
func (x *Executor) shown(t engram.Time) engram.Time {
	if t == 0 {
		return 0
	}
	return t.Add(x.clock().Sub(x.now()))
}

// grace is how long a provider may need to come back after the server has, and at least how long its lease was.
const grace = 5 * time.Second

// start reads what the memory has.
func (x *Executor) start(ctx context.Context, svc engram.Service) error {
	codec, err := skill.NewCodec(ctx, svc)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.svc, x.codec, x.read = svc, codec, newReader(svc, x.poses, codec)
	x.standing = newStanding(x.read, x.now)
	if err := x.restore(ctx); err != nil {
		return err
	}
	if err := x.standing.restored(ctx, x.requiring()); err != nil { // of a program that is away
		slog.Warn("it is not known which updates conditions of skills have seen", "error", err)
	}
	return nil
}

// own marks what the executor itself commits.
type own struct{}

// run writes what is to be written, and does what is due.
func (x *Executor) run(ctx context.Context, svc engram.Service) error {
	ctx = context.WithValue(ctx, own{}, x)
	defer x.end(context.WithoutCancel(ctx), svc)
	var acting sync.WaitGroup
	defer acting.Wait()
	acting.Go(func() { x.act(ctx) })
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	pause := time.Duration(0) // after a write that failed
	for {
		x.mu.Lock()
		x.changed(x.schedule.Tick(x.now()))
		writes := x.pending
		x.pending = nil
		wait := time.Hour
		if next := x.schedule.Next(); next != 0 {
			wait = max(next.Sub(x.now()), 0)
		}
		x.mu.Unlock()
		if left := x.write(ctx, svc, writes); len(left) > 0 {
			x.mu.Lock()
			x.pending = append(left, x.pending...)
			x.mu.Unlock()
			pause = min(max(2*pause, 10*time.Millisecond), time.Second)
			wait = min(wait, pause)
		} else if pause = 0; len(writes) > 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-x.kick:
			if pause > 0 { // what comes meanwhile changes nothing
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(pause):
				}
			}
		}
	}
}

// end writes what is to be written when the server closes.
func (x *Executor) end(ctx context.Context, svc engram.Service) {
	x.mu.Lock()
	x.closing = true
	writes := x.pending
	x.pending = nil
	x.mu.Unlock()
	for _, w := range x.write(ctx, svc, writes) {
		w.end()
	}
}

// write writes executions, and returns those that are to be written later.
func (x *Executor) write(ctx context.Context, svc engram.Service, all []write) (left []write) {
	if len(all) == 0 {
		return nil
	}
	var c engram.Commit
	var unwritten error
	all = slices.DeleteFunc(all, func(w write) bool {
		u, err := x.codec.ExecutionUpdate(w.Execution)
		if err != nil {
			unwritten = err
			w.end()
			return true
		}
		c.Updates = append(c.Updates, u)
		return false
	})
	results, err := svc.Commit(ctx, c)
	if err != nil {
		x.note(err)
		return all
	}
	for i, r := range results {
		unwritten = cmp.Or(unwritten, r.Err)
		switch engram.CodeOf(r.Err) {
		case engram.Unavailable, engram.Exhausted, engram.TooNew:
			left = append(left, all[i])
		default:
			all[i].end()
		}
	}
	x.note(unwritten)
	return left
}

func (x *Executor) note(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.trouble = err
}

func (x *Executor) troubles() (all []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.trouble != nil {
		all = append(all, fmt.Sprintf("executions of skills wait, because they cannot be written: %v", x.trouble))
	}
	if x.standing != nil {
		all = append(all, x.standing.troubles()...)
	}
	return all
}

// changed takes over what the schedule has changed, to be written.
func (x *Executor) changed(tasks []schedule.Task) {
	for i := 0; i < len(tasks); i++ {
		t := &tasks[i]
		r := x.records[t.ID]
		if r == nil {
			continue
		}
		if r.Called == 0 && t.Called != 0 && t.Status == schedule.Preparing {
			if status, why := x.obstacle(r); status.Ended() {
				tasks = append(tasks, x.schedule.Drop(x.now(), t.ID, status, why)...)
				continue
			}
		}
		x.take(r, t)
		e := r.Execution
		x.later(write{Execution: &e})
		if t.Status.Ended() {
			x.over(r)
		}
	}
	if len(tasks) > 0 { // the schedule has another time to wait for
		x.wake()
	}
}

// later has an execution be written.
func (x *Executor) later(w write) {
	x.pending = append(x.pending, w)
	x.wake()
}

func (x *Executor) wake() {
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// take takes over what the schedule says of an execution.
func (x *Executor) take(r *record, t *schedule.Task) {
	r.Time = max(x.clock(), r.Time+1)
	if t.Called == 0 || r.Called == 0 || r.Epoch != t.Epoch {
		r.Called = x.shown(t.Called)
	}
	r.Status, r.Epoch, r.Priority = t.Status, t.Epoch, t.Priority
	if t.Stop != nil {
		t.Stop.Deadline = x.shown(t.Stop.Deadline)
	}
	if r.Stop = t.Stop; t.Stop == nil || t.Status != schedule.Failed && t.Status != schedule.Aborted || r.Failure != nil {
		return
	}
	f := &skill.Failure{Code: codes[t.Stop.Reason], Message: sentence(t.Stop), Retry: t.Stop.Reason != schedule.Asked}
	if !t.Stop.By.IsRoot() {
		f.BlockedBy = []engram.ID{t.Stop.By}
	}
	if r.Message = f.Message; t.Status == schedule.Failed {
		f.Stage = x.stage(r)
		r.Failure = f
	}
}

// codes are those of failures, by what stopped an execution.
var codes = map[schedule.Reason]string{
	schedule.Asked: "canceled", schedule.ParentEnded: "canceled", schedule.Preempted: "preempted", schedule.TimeLimit: "time_limit",
	schedule.ProviderLost: "unavailable", schedule.CallerGone: "canceled", schedule.Waited: "unavailable", schedule.Condition: "condition",
}

// sentence says why an execution was stopped.
func sentence(s *schedule.Stop) string {
	text := map[schedule.Reason]string{
		schedule.Asked: "it was told to stop", schedule.ParentEnded: "what called it stopped", schedule.Preempted: "another skill needed the resource",
		schedule.TimeLimit: "it took too long", schedule.ProviderLost: "its provider was lost", schedule.CallerGone: "its caller is gone", schedule.Waited: "it waited too long", schedule.Condition: "what it requires does not hold",
	}[s.Reason]
	if s.Message != "" {
		text += ": " + s.Message
	}
	if s.Answer == schedule.Unconfirmed {
		text += "; its provider did not confirm that it stands still"
	}
	return text
}

// restore reads descriptions, switches and what was under way.
func (x *Executor) restore(ctx context.Context) error {
	latest := func(segment string, each func(entity engram.ID, s engram.Item) error) error {
		r, err := x.svc.Query(ctx, engram.MustPattern("Skill/"+segment).Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		for item := range r.All() {
			if err := each(item.ID.Parent(), item); err != nil {
				return err
			}
		}
		return nil
	}
	err := latest("Description", func(entity engram.ID, s engram.Item) error {
		if d, err := x.codec.Description(entity, s.Instances); err == nil {
			x.descriptions[entity], x.dated[entity] = d, s.Time
		}
		return nil
	})
	if err != nil {
		return err
	}
	off := map[engram.ID]bool{}
	err = latest("Switch", func(entity engram.ID, s engram.Item) error {
		if of, on, _, err := x.codec.Switch(entity, s.Instances); err == nil && s.Time >= x.switched[of] {
			off[of], x.switched[of] = !on, s.Time
		}
		return nil
	})
	if err != nil {
		return err
	}
	for of := range off {
		x.schedule.Enable(x.now(), of, !off[of])
	}
	leases := map[string]time.Duration{}
	err = latest("Provider", func(entity engram.ID, s engram.Item) error {
		if l, err := x.codec.Lease(entity, s.Instances); err == nil {
			leases[entity.Entity()] = l.Lease
		}
		return nil
	})
	if err != nil {
		return err
	}
	var tasks []schedule.Task
	err = latest("Execution", func(entity engram.ID, s engram.Item) error {
		e, err := x.codec.Execution(entity, s.Time, s.Instances)
		if err != nil || e.Request.IsRoot() || e.Status.Ended() || imported(s) {
			return nil
		}
		x.records[entity], x.requests[e.Request] = &record{*e}, entity
		tasks = append(tasks, taskOf(e))
		return nil
	})
	if err != nil {
		return err
	}
	x.changed(x.schedule.Restore(x.now(), tasks, func(provider string) time.Duration {
		lease, known := leases[provider]
		if !known {
			lease = skill.LongestLease
		}
		return max(grace, lease)
	}))
	return nil
}

// imported reports whether a snapshot came long after its time, as those of recordings do.
func imported(s engram.Item) bool {
	late := s.Arrived.Sub(s.Time)
	return late < -time.Minute || late > time.Minute
}

// taskOf returns what the schedule is to know of an execution.
func taskOf(e *skill.Execution) schedule.Task {
	return schedule.Task{
		ID: e.ID, Skill: e.Skill, Parent: e.Parent, Priority: e.Priority, Patience: e.Patience, Limit: e.TimeLimit, StopWithin: e.StopWithin,
		Resources: e.Resources, Preemptible: e.Preemptible, Repeatable: e.Repeatable,
		Rehearsal: e.Rehearsal != skill.Real, CallerLease: e.CallerLease,
		Asked: e.Time, Status: e.Status, Called: e.Called, Epoch: e.Epoch, Stop: e.Stop, // as it waits, if it was not called
	}
}

// executionOf returns the execution that answers a request.
func executionOf(r *skill.Request) engram.ID {
	id, err := engram.NewID("Skill", "Execution", r.Skill.ProviderSegment(), r.ID.Entity())
	if err != nil {
		return engram.ID{}
	}
	return id
}

// ask adds the execution of a request to the schedule, which may take it.
func (x *Executor) ask(e skill.Execution) (written <-chan struct{}, err error) {
	e.Time, e.Started = x.clock(), x.clock()
	x.records[e.ID] = &record{e}
	x.records[e.ID].Time-- // of the first snapshot is the time itself
	changes, err := x.schedule.Ask(x.now(), taskOf(&e))
	if err != nil {
		delete(x.records, e.ID)
		return nil, err
	}
	x.requests[e.Request] = e.ID
	x.changed(changes)
	done := make(chan struct{})
	for i := range x.pending {
		if x.pending[i].ID == e.ID {
			x.pending[i].done = done
			return done, nil
		}
	}
	close(done)
	return done, nil
}

// begun returns the execution of a request as it begins.
func begun(r *skill.Request, d *skill.Description) skill.Execution {
	e := skill.Execution{
		ID: executionOf(r), Skill: r.Skill, Status: schedule.Preparing, Parameters: parametersOf(r, d), Caller: r.Caller, Parent: r.Parent, Cause: r.Cause,
		Condition: r.Condition, Rehearsal: r.Rehearsal, CallerLease: r.CallerLease, Progress: -1, Request: r.ID, Priority: d.Priority, Patience: skill.DefaultPatience, TimeLimit: d.TimeLimit,
		Resources: d.Resources, StopWithin: cmp.Or(d.StopWithin, skill.DefaultStopWithin), Preemptible: d.Preemptible, Repeatable: d.Repeatable,
	}
	if r.Priority != nil {
		e.Priority = *r.Priority
	}
	if r.Patience != nil {
		e.Patience = *r.Patience
	}
	if r.TimeLimit != nil {
		e.TimeLimit = *r.TimeLimit
	}
	return e
}
