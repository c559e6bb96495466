package executor

import (
	"cmp"
	"context"
	"log/slog"
	"maps"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// parametersOf returns what a request calls a skill with.
func parametersOf(r *skill.Request, d *skill.Description) map[string]any {
	if d.Defaults == nil {
		return r.Parameters
	}
	all := maps.Clone(d.Defaults)
	maps.Copy(all, r.Parameters)
	return all
}

// put stores an update.
type put = func(engram.EntityUpdate) error

// plainly reports whether an update is stored as it is: an import's, which is of another time.
func plainly(ctx context.Context) bool { return server.Recorded(ctx) }

// request is the hook of Skill/Request. Who asks is answered when the execution is written, so that nothing is to be done for
// requests when a server begins anew: one without an execution was never answered.
func (x *Executor) request(ctx context.Context, u engram.EntityUpdate, store put) error {
	written, err := x.accept(ctx, u, store)
	if err != nil || written == nil || ctx.Value(own{}) == x { // a condition does not wait
		return err
	}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		server.Note(ctx, engram.Errorf(engram.Unavailable, u.Entity.String(), "the request is stored; that its execution is, was not awaited: %w", context.Cause(ctx)))
		return nil
	}
}

// accept checks and stores a request, and begins its execution. It returns nil where there is none to wait for.
func (x *Executor) accept(ctx context.Context, u engram.EntityUpdate, store put) (written <-chan struct{}, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if plainly(ctx) || x.svc == nil {
		return nil, store(u)
	}
	r, err := x.codec.Request(u.Entity, u.Instances)
	if err != nil {
		return nil, err
	}
	d, err := x.described(r.Skill)
	if err != nil {
		return nil, err
	}
	if ctx.Value(own{}) != x {
		r.Condition = engram.ID{} // which only the memory asks for
	}
	e := begun(r, d)
	first, err := x.codec.ExecutionUpdate(&e)
	if err != nil {
		return nil, err
	}
	if len(first.Instances[0].Payload.Bytes) > mostBytes {
		return nil, engram.Errorf(engram.Invalid, u.Entity.String(), "a request and the defaults of its skill take more than %d bytes; link to what is larger", mostBytes)
	}
	if err := x.read.checkParameters(ctx, e.Parameters, d); err != nil {
		return nil, err
	}
	if e.Patience < 0 || e.TimeLimit < 0 {
		return nil, engram.Errorf(engram.Invalid, u.Entity.String(), "patience and time_limit are 0 or more")
	}
	if e.CallerLease != 0 && (e.CallerLease < skill.ShortestLease || e.CallerLease > skill.LongestLease) {
		return nil, engram.Errorf(engram.Invalid, u.Entity.String(), "a caller_lease of %v: from %v to %v, or 0", e.CallerLease, skill.ShortestLease, skill.LongestLease)
	}
	if e.Resolved, err = x.read.resolve(ctx, e.Parameters, d); err != nil {
		return nil, err
	}
	if x.records[e.ID] != nil {
		return nil, engram.Errorf(engram.AlreadyExists, e.ID.String(), "a request of this name is under way; give this one a name of its own")
	}
	if _, err := x.svc.Latest(engram.WithScope(ctx, nil), e.ID); err == nil {
		return nil, engram.Errorf(engram.AlreadyExists, e.ID.String(), "a request of this name was there before; give this one a name of its own")
	} else if engram.CodeOf(err) != engram.NotFound {
		return nil, err
	}
	if err := x.schedule.May(taskOf(&e)); err != nil {
		return nil, err
	}
	if x.closing {
		return nil, engram.Errorf(engram.Unavailable, u.Entity.String(), "the memory server closes")
	}
	if err := store(u); err != nil {
		return nil, err
	}
	if e.Rehearsal == skill.Check {
		return x.checked(ctx, e, d), nil
	}
	return x.ask(e)
}

// mostBytes bounds requests and what providers say of executions.
const mostBytes = 1 << 20

// described returns the description of a skill that a request names.
func (x *Executor) described(id engram.ID) (*skill.Description, error) {
	if d := x.descriptions[id]; d != nil {
		return d, nil
	}
	if id.CoreSegment() != "Description" || id.Level() != engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, id.String(), "a request names a skill as Skill/Description/PROVIDER/NAME")
	}
	return nil, engram.Errorf(engram.NotFound, id.String(), "no provider offers this skill; 'engram skill ls' lists those there are")
}

// abort is the hook of Skill/Abort.
func (x *Executor) abort(ctx context.Context, u engram.EntityUpdate, store put) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if plainly(ctx) || x.svc == nil {
		return store(u)
	}
	of, caller, message, err := x.codec.Abort(u.Entity, u.Instances)
	if err != nil {
		return err
	}
	if id, ok := x.requests[of]; ok {
		of = id
	}
	if x.records[of] == nil {
		if _, err := x.svc.Latest(engram.WithScope(ctx, nil), of); err != nil {
			return err
		}
		return store(u) // it has ended, which is what was wanted
	}
	if caller != "" && message == "" {
		message = "by " + caller
	}
	// What is to stop does, also where nothing can be written.
	changes, err := x.schedule.Abort(x.now(), of, schedule.Stop{Reason: schedule.Asked, Message: message, By: u.Entity.At(u.Time)})
	x.changed(changes)
	return cmp.Or(err, store(u))
}

// caller is the hook of Skill/Caller.
func (x *Executor) caller(ctx context.Context, u engram.EntityUpdate, store put) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if plainly(ctx) || x.svc == nil {
		return store(u)
	}
	request, err := engram.NewID("Skill", "Request", u.Entity.ProviderSegment(), u.Entity.Entity())
	if err != nil {
		return err
	}
	id, ok := x.requests[request]
	if !ok {
		return engram.Errorf(engram.NotFound, u.Entity.String(), "what this caller has asked for is not under way")
	}
	x.schedule.Heard(x.now(), id)
	return store(u)
}

// provider is the hook of Skill/Provider.
func (x *Executor) provider(ctx context.Context, u engram.EntityUpdate, store put) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if plainly(ctx) || x.svc == nil {
		return store(u)
	}
	l, err := x.codec.Lease(u.Entity, u.Instances)
	if err != nil {
		return err
	}
	if u.Entity.ProviderSegment() != u.Entity.Entity() {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "the entity of a provider is called as its provider segment: Skill/Provider/%s/%s", u.Entity.ProviderSegment(), u.Entity.ProviderSegment())
	}
	if int64(l.Epoch) < 1 {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "an epoch is wanted: a number from 1 on that is greater each time that the provider begins, such as the time in nanoseconds")
	}
	if !l.Ended && (l.Lease < skill.ShortestLease || l.Lease > skill.LongestLease) {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "a lease of %v: from %v to %v", l.Lease, skill.ShortestLease, skill.LongestLease)
	}
	var changes []schedule.Task
	if l.Ended {
		changes = x.schedule.Leave(x.now(), u.Entity.Entity(), l.Epoch)
	} else {
		changes, err = x.schedule.Lease(x.now(), u.Entity.Entity(), l.Epoch, l.Lease, l.Renewal)
	}
	x.changed(changes)
	if err != nil {
		return err
	}
	return store(u)
}

// enable is the hook of Skill/Switch.
func (x *Executor) enable(ctx context.Context, u engram.EntityUpdate, store put) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if plainly(ctx) || x.svc == nil {
		return store(u)
	}
	of, on, _, err := x.codec.Switch(u.Entity, u.Instances)
	if err != nil {
		return err
	}
	if _, err := x.described(of); err != nil {
		return err
	}
	if err := store(u); err != nil {
		return err
	}
	if u.Time >= x.switched[of] { // the newest of all who said so counts
		x.switched[of] = u.Time
		x.changed(x.schedule.Enable(x.now(), of, on))
	}
	return nil
}

// maxDescriptions bounds the skills.
const maxDescriptions = 10_000

// describe is the hook of Skill/Description. What comes from elsewhere, as prior knowledge does, describes a skill as well; the
// newest description counts.
func (x *Executor) describe(ctx context.Context, u engram.EntityUpdate, store put) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.svc == nil {
		return store(u)
	}
	d, err := x.codec.Description(u.Entity, u.Instances)
	if err != nil {
		return store(u) // which says best what is wrong with it
	}
	read, wrong := readFor(d)
	if !plainly(ctx) {
		if err := cmp.Or(x.checkDescription(ctx, d), wrong); err != nil {
			return err
		}
	}
	if err := mayRead(ctx, read); err != nil {
		return err
	}
	if x.descriptions[u.Entity] == nil && len(x.descriptions) >= maxDescriptions {
		return engram.Errorf(engram.Exhausted, u.Entity.String(), "there are %d skills", maxDescriptions)
	}
	if err := store(u); err != nil {
		return err
	}
	if u.Time < x.dated[u.Entity] {
		return nil
	}
	x.descriptions[u.Entity], x.dated[u.Entity] = d, u.Time
	if err := x.standing.require(ctx, d.ID, d.Requires); err != nil { // it is looked at when the skill is called
		slog.Warn("what a skill requires cannot be followed", "skill", d.ID.String(), "error", err)
	}
	return nil
}

// report is the hook of Skill/Execution.
func (x *Executor) report(ctx context.Context, u engram.EntityUpdate, store put) error {
	if ctx.Value(own{}) == x {
		return store(u)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.svc == nil || plainly(ctx) && x.records[u.Entity] == nil {
		return store(u)
	}
	said, err := x.codec.Execution(u.Entity, u.Time, u.Instances)
	rec := x.records[u.Entity]
	if err != nil {
		if rec == nil {
			return store(u) // which says best what is wrong with it
		}
		return err
	}
	if rec == nil && said.Epoch == 0 {
		return x.noted(ctx, u, said, store)
	}
	report := schedule.Report{Epoch: said.Epoch, Status: said.Status, Refused: said.Stop != nil && said.Stop.Answer == schedule.Refused}
	at := x.now()
	if err := x.schedule.Check(at, u.Entity, report); err != nil {
		return err
	}
	if said.Status > schedule.Stopping {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "there is no status %v", said.Status)
	}
	if n := len(u.Instances[0].Payload.Bytes); n > mostBytes {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "what is said of it takes %d bytes, of at most %d; link to what is larger", n, mostBytes)
	}
	if t, _ := x.schedule.Task(u.Entity); t.Status == schedule.Stopping && said.Status == schedule.Failed && said.Failure != nil && said.Failure.Code == engram.Canceled.String() {
		// What it called stopped with it, which it heard first.
		report.Status, said.Failure, said.Message = schedule.Aborted, nil, ""
	}
	d := x.descriptions[rec.Skill]
	if said.Result != nil && d != nil {
		if err := x.read.checkResult(ctx, said.Result, d); err != nil {
			return err
		}
	}
	before := rec.Execution
	if rec.Message, rec.Expected = said.Message, said.Expected; said.Progress >= 0 {
		rec.Progress = min(said.Progress, 1)
	}
	if said.Result != nil {
		rec.Result = said.Result
	}
	if report.Status == schedule.Succeeded && rec.Progress >= 0 {
		rec.Progress = 1
	}
	if rec.Failure = said.Failure; rec.Failure == nil && report.Status == schedule.Failed {
		rec.Failure = &skill.Failure{Message: said.Message}
	}
	if rec.Failure != nil && rec.Failure.Stage == "" {
		rec.Failure.Stage = x.stage(rec)
	}
	changes, err := x.schedule.Report(at, u.Entity, report)
	if err != nil { // its lease ended just now
		rec.Execution = before
		x.changed(changes)
		return err
	}
	return x.reported(u, rec, changes, store)
}

// reported stores what a provider said of an execution, with what the schedule made of it.
func (x *Executor) reported(u engram.EntityUpdate, rec *record, changes []schedule.Task, store put) error {
	rest := changes[:0]
	ended, told := false, false
	for i := range changes {
		if t := &changes[i]; t.ID == u.Entity {
			message := rec.Message
			x.take(rec, t)
			if message != "" {
				rec.Message = message
			}
			ended, told = t.Status.Ended(), true
			continue
		}
		rest = append(rest, changes[i])
	}
	if !told { // which only says more of it
		rec.Time = max(x.clock(), rec.Time+1)
	}
	e := rec.Execution
	if ended {
		x.over(rec)
	}
	next, err := x.codec.ExecutionUpdate(&e)
	if err == nil {
		err = store(next)
	}
	if err != nil { // the schedule has it; it is written later
		x.later(write{Execution: &e})
	}
	x.changed(rest)
	return err
}

// noted stores an execution that somebody only notes, as robots do that run their skills themselves.
func (x *Executor) noted(ctx context.Context, u engram.EntityUpdate, said *skill.Execution, store put) error {
	if !said.Request.IsRoot() {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "epoch is missing: a provider says of an execution that it was handed which epoch of it that was")
	}
	last, err := x.svc.Latest(engram.WithScope(ctx, nil), u.Entity)
	if err == nil {
		if was, err := x.codec.Execution(u.Entity, last.Time, last.Instances); err == nil && !was.Request.IsRoot() {
			return engram.Errorf(engram.Conflict, u.Entity.String(), "this execution was asked for and has ended")
		}
	} else if engram.CodeOf(err) != engram.NotFound {
		return err
	}
	return store(u)
}

// stage names the skills from the one that was called first to an execution's.
func (x *Executor) stage(rec *record) string {
	path := rec.Skill.Entity()
	for range 20 {
		if rec = x.records[rec.Parent]; rec == nil {
			break
		}
		path = rec.Skill.Entity() + "/" + path
	}
	return path
}
