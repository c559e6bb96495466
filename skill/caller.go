package skill

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Start asks for an execution. It returns once the memory has taken the request: NotFound if
// no such skill is known, Invalid or TypeMismatch, naming the member, if the parameters do not
// fit, AlreadyExists if the name was used. Name, Timestamp and Caller are filled in where they
// are empty. With CallerLease the request is renewed until the execution or ctx ends.
func Start(ctx context.Context, svc engram.Service, r Request) (*Ongoing, error) {
	r.Memory = cmp.Or(r.Memory, Memory)
	r.Caller = cmp.Or(r.Caller, "unnamed")
	r.Timestamp = cmp.Or(r.Timestamp, engram.Now())
	r.Name = cmp.Or(r.Name, strconv.FormatInt(int64(r.Timestamp), 36)+"-"+strings.ToLower(rand.Text()[:6]))
	r.Parameters = plain(reflect.ValueOf(r.Parameters))
	id, err := engram.NewID(r.Memory, "Request", r.Caller, r.Name)
	if err != nil {
		return nil, err
	}
	x, err := Follow(svc, id)
	if err != nil {
		return nil, err
	}
	if x.types, err = LoadTypes(ctx, svc); err != nil {
		return nil, err
	}
	x.asked = &r
	if err := x.ask(ctx, r.Timestamp); err != nil {
		return nil, err
	}
	if r.CallerLease > 0 {
		go x.renew(ctx, r.CallerLease/3)
	}
	return x, nil
}

// Run is Start, and waits for the end: it returns the result, or the *[Failure]. When ctx ends
// first the execution is aborted.
func Run(ctx context.Context, svc engram.Service, r Request) (any, error) {
	x, err := Start(ctx, svc, r)
	if err != nil {
		return nil, err
	}
	e, err := x.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*DefaultStopTimeout)
		defer cancel()
		_, abortErr := x.Abort(stop, ReasonOperator, "its caller gave it up")
		return nil, errors.Join(err, abortErr)
	}
	if err != nil {
		return nil, err
	}
	return e.Result, e.Err()
}

// Find returns what became of a request, now or long ago, by the ID of the request or of its
// execution; NotFound if there is none.
func Find(ctx context.Context, svc engram.Service, id engram.ID) (*Execution, error) {
	x, err := Follow(svc, id)
	if err != nil {
		return nil, err
	}
	if x.types, err = LoadTypes(ctx, svc); err != nil {
		return nil, err
	}
	return x.state(ctx)
}

// Follow returns an execution that somebody asked for, by the ID of the request or of the
// execution, to wait for it or abort it.
func Follow(svc engram.Service, id engram.ID) (*Ongoing, error) {
	if id.Level() < engram.LevelEntity || id.CoreSegment() != "Request" && id.CoreSegment() != "Execution" {
		return nil, engram.Errorf(engram.Invalid, id.String(), "this is neither a request for a skill nor an execution")
	}
	ended := make(chan struct{})
	return &Ongoing{svc: svc, id: counterpart(id, "Execution"), request: counterpart(id, "Request"), ended: ended, end: sync.OnceFunc(func() { close(ended) })}, nil
}

// counterpart returns the entity of a request's execution, or of an execution's request.
func counterpart(id engram.ID, segment string) engram.ID {
	other, _ := engram.NewID(id.Memory(), segment, id.ProviderSegment(), id.Entity()) // names that were one's already
	return other
}

// Ongoing is an execution that was asked for. Its methods are safe for concurrent use.
type Ongoing struct {
	svc         engram.Service
	types       *Types
	id, request engram.ID
	asked       *Request // nil if somebody else asked
	ended       chan struct{}
	end         func() // closes ended
}

// ID returns the execution's ID, Request the request's.
func (x *Ongoing) ID() engram.ID { return x.id }

// Request returns the ID of the request.
func (x *Ongoing) Request() engram.ID { return x.request }

// ask commits the request.
func (x *Ongoing) ask(ctx context.Context, at engram.Time) error {
	r := *x.asked
	r.Timestamp = at
	return x.commit(ctx, x.request, at, &r)
}

func (x *Ongoing) commit(ctx context.Context, entity engram.ID, at engram.Time, record any) error {
	u, err := x.types.Update(entity, at, record)
	if err != nil {
		return err
	}
	results, err := x.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

// renew tells that the caller is there. A renewal that is lost is followed by the next one.
func (x *Ongoing) renew(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if engram.CodeOf(x.ask(ctx, engram.Now())) == engram.AlreadyExists { // it has ended
				return
			}
		case <-x.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (x *Ongoing) state(ctx context.Context) (*Execution, error) {
	s, err := x.svc.Latest(ctx, x.id)
	if err != nil {
		return nil, err
	}
	return x.decode(s)
}

func (x *Ongoing) decode(s *engram.Snapshot) (*Execution, error) {
	e := &Execution{ID: x.id}
	return e, x.types.DecodeSnapshot(s, e)
}

// Wait waits for the end and returns it. An execution that failed is no error here: see
// [Execution.Err]. Where the server is away it waits for it to come back.
func (x *Ongoing) Wait(ctx context.Context) (*Execution, error) {
	for e, err := range x.Watch(ctx) {
		if err != nil {
			return nil, err
		}
		if e.Status.Ended() {
			return e, nil
		}
	}
	return nil, context.Cause(ctx)
}

// retryAfter is how long is waited before a server that is away is tried again.
const retryAfter = 100 * time.Millisecond

// Watch yields the state at present and each later one, until it has ended; the last pair
// holds an error if ctx ends before.
func (x *Ongoing) Watch(ctx context.Context) iter.Seq2[*Execution, error] {
	return func(yield func(*Execution, error) bool) {
		if x.types == nil {
			var err error
			if x.types, err = LoadTypes(ctx, x.svc); err != nil {
				yield(nil, err)
				return
			}
		}
		var last engram.Time
		for {
			stream, err := x.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(x.id)},
				Start: engram.Start{Kind: engram.StartLast, N: 1}, WithData: true})
			if err == nil {
				var done bool
				if done, err = x.follow(ctx, stream, &last, yield); done {
					return
				}
			}
			if ctx.Err() != nil || engram.CodeOf(err) == engram.Forbidden || engram.CodeOf(err) == engram.NotFound {
				yield(nil, cmp.Or(ctx.Err(), err))
				return
			}
			if !pause(ctx, retryAfter) {
				yield(nil, ctx.Err())
				return
			}
			x.askAgain(ctx)
		}
	}
}

// follow yields what a stream brings; done is true if nobody wants more.
func (x *Ongoing) follow(ctx context.Context, stream engram.UpdateStream, last *engram.Time, yield func(*Execution, error) bool) (done bool, err error) {
	defer stream.Close()
	for {
		batch, err := stream.Next(ctx)
		if err != nil {
			return false, err
		}
		for _, u := range batch {
			if u.Restarted {
				x.askAgain(ctx)
			}
			if u.Snapshot == nil || u.Snapshot.Time <= *last {
				continue
			}
			*last = u.Snapshot.Time
			e, err := x.decode(u.Snapshot)
			if err != nil {
				yield(nil, err)
				return true, nil
			}
			if e.Status.Ended() {
				x.end()
			}
			if !yield(e, nil) || e.Status.Ended() {
				return true, nil
			}
		}
	}
}

// askAgain commits the request once more if a server that began anew does not have it.
func (x *Ongoing) askAgain(ctx context.Context) {
	if x.asked == nil {
		return
	}
	if _, err := x.svc.Latest(ctx, x.request); engram.CodeOf(err) == engram.NotFound {
		_ = x.ask(ctx, x.asked.Timestamp) // tried again with the next connection
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Abort asks it to stop, and waits for what comes of that: Confirmed, also where it had ended
// by itself or not begun, Unconfirmed, or Refused. It may be asked at any time. reason is one
// of the Reason constants, such as [ReasonOperator].
func (x *Ongoing) Abort(ctx context.Context, reason, message string) (StopAnswer, error) {
	return x.AbortAs(ctx, "", reason, message)
}

// AbortAs is Abort in somebody's name; "" is the caller of the request.
func (x *Ongoing) AbortAs(ctx context.Context, by, reason, message string) (StopAnswer, error) {
	var err error
	if x.types == nil {
		if x.types, err = LoadTypes(ctx, x.svc); err != nil {
			return Pending, err
		}
	}
	by = cmp.Or(by, x.id.ProviderSegment())
	before, err := x.state(ctx)
	if err != nil && engram.CodeOf(err) != engram.NotFound {
		return Pending, err
	}
	abort, err := engram.NewID(x.id.Memory(), "Abort", by, x.id.Entity())
	if err != nil {
		return Pending, err
	}
	at := engram.Now()
	request, _ := x.request.InMemory(Memory)
	err = x.commit(ctx, abort, at, &AbortOrder{Timestamp: at, Request: request, Reason: reason, Message: message, By: by})
	if err != nil {
		return Pending, err
	}
	for e, err := range x.Watch(ctx) {
		switch {
		case err != nil:
			return Pending, err
		case e.Status.Ended() && e.Stop != nil && e.Stop.Answer == Unconfirmed:
			return Unconfirmed, nil
		case e.Status.Ended():
			return Confirmed, nil
		case e.Stop != nil && e.Stop.Answer == Refused && (before == nil || before.Stop == nil || before.Stop.Asked != e.Stop.Asked):
			return Refused, nil
		}
	}
	return Pending, context.Cause(ctx)
}

// Descriptions returns the skills of a memory ("" for [Memory]), by the IDs of their entities.
func Descriptions(ctx context.Context, svc engram.Service, memory string) (map[engram.ID]*Description, error) {
	types, err := LoadTypes(ctx, svc)
	if err != nil {
		return nil, err
	}
	all := map[engram.ID]*Description{}
	err = latest(ctx, svc, types, cmp.Or(memory, Memory), "Description", func(id engram.ID, d *Description) {
		d.Name = id.Entity()
		all[id] = d
	})
	return all, err
}

// latest reads the newest state of each entity of a core segment.
func latest[R any](ctx context.Context, svc engram.Reader, types *Types, memory, segment string, each func(engram.ID, *R)) error {
	m, err := engram.NewID(memory, segment)
	if err != nil {
		return err
	}
	result, err := svc.Query(ctx, engram.PatternOf(m).Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for item := range result.All() {
		r := new(R)
		if err := types.DecodeSnapshot(item.Snapshot, r); err != nil {
			return engram.Errorf(engram.CodeOf(err), item.ID.String(), "%w", err)
		}
		each(item.ID.Truncate(engram.LevelEntity), r)
	}
	return nil
}

// Enable enables or disables a skill, "Grasp" or "Arm/Grasp", of a memory ("" for [Memory]).
// The error is NotFound if there is none, Conflict if several providers offer it and none is
// named.
func Enable(ctx context.Context, svc engram.Service, memory, skill string, enabled bool, by, reason string) error {
	memory = cmp.Or(memory, Memory)
	all, err := Descriptions(ctx, svc, memory)
	if err != nil {
		return err
	}
	var found []engram.ID
	var names []string
	for id := range all {
		names = append(names, id.Entity())
		if skill == id.Entity() || skill == id.ProviderSegment()+"/"+id.Entity() {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return Unknown(skill, names)
	case len(found) > 1:
		slices.SortFunc(found, engram.ID.Compare)
		return engram.Errorf(engram.Conflict, skill, "several providers offer it; name one, such as %s/%s", found[0].ProviderSegment(), found[0].Entity())
	}
	by = cmp.Or(by, "operator")
	entity, err := engram.NewID(memory, "Switch", by, found[0].ProviderSegment()+"/"+found[0].Entity())
	if err != nil {
		return err
	}
	types, err := LoadTypes(ctx, svc)
	if err != nil {
		return err
	}
	x := Ongoing{svc: svc, types: types}
	at := engram.Now()
	target, _ := found[0].InMemory(Memory)
	return x.commit(ctx, entity, at, &Switch{Timestamp: at, Skill: target, Enabled: enabled, By: by, Reason: reason})
}

// namesOf returns the names of skills, for errors.
func namesOf(all map[engram.ID]*Description) []string {
	names := map[string]bool{}
	for id := range all {
		names[id.Entity()] = true
	}
	return slices.Collect(maps.Keys(names))
}
