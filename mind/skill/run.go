package skill

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Ask is what somebody wants to be done.
type Ask struct {
	Skill      string // PROVIDER/NAME
	Parameters map[string]any
	Caller     string         // who asks; "Program" if empty
	Name       string         // of the request; one of its own is made if it is empty
	Parent     engram.ID      // the execution that calls it
	Cause      engram.ID      // what it is asked for because of
	Priority   *int           // nil is the skill's
	Patience   *time.Duration // how long it may wait to be called; nil is [DefaultPatience], 0 is for ever
	TimeLimit  *time.Duration // nil is the skill's
	Rehearsal  Rehearsal      // nothing is to move
	// CallerLease has the execution be aborted where its caller is gone: where nobody has waited for it for so long, in
	// [Skills.Run] or [Handle.Wait]. 0 lets it go on.
	CallerLease time.Duration
}

// skillOf returns the ID of a skill that is named as PROVIDER/NAME.
func skillOf(text string) (engram.ID, error) {
	provider, name, ok := strings.Cut(text, "/")
	if !ok {
		return engram.ID{}, engram.Errorf(engram.Invalid, text, "name a skill as PROVIDER/NAME, such as Arm/Wave")
	}
	return engram.NewID("Skill", "Description", provider, name)
}

// Handle is an execution as its caller sees it. Its methods are safe for concurrent use.
type Handle struct {
	ID     engram.ID // the entity of Skill/Execution
	s      *Skills
	caller string
	asked  bool // by this program: it comes to be there

	request engram.ID
	lease   time.Duration // of the caller; 0 if it need not be there
}

// Start asks for a skill. The error is that of the memory, which checks the request: NotFound without such a skill, Invalid for
// parameters that it does not take, AlreadyExists for a name that was used before, Canceled for a parent that is to stop.
func (s *Skills) Start(ctx context.Context, a Ask) (h *Handle, err error) {
	r := Request{Parameters: a.Parameters, Caller: cmp.Or(a.Caller, "Program"), Parent: a.Parent, Cause: a.Cause, Priority: a.Priority, Patience: a.Patience, TimeLimit: a.TimeLimit, Rehearsal: a.Rehearsal, CallerLease: a.CallerLease}
	if r.Skill, err = skillOf(a.Skill); err != nil {
		return nil, err
	}
	now := engram.Now()
	if r.ID, err = engram.NewID("Skill", "Request", r.Caller, cmp.Or(a.Name, freshName(r.Skill.Entity(), now))); err != nil {
		return nil, err
	}
	id, err := engram.NewID("Skill", "Execution", r.Skill.ProviderSegment(), r.ID.Entity())
	if err != nil {
		return nil, err
	}
	u, err := s.codec.RequestUpdate(&r, now)
	if err != nil {
		return nil, err
	}
	h = &Handle{ID: id, s: s, caller: r.Caller, asked: true, request: r.ID, lease: r.CallerLease}
	for pause, again := time.Millisecond, false; ; pause, again = min(2*pause, time.Second), true {
		err := s.commit(ctx, u, nil)
		switch {
		case err == nil, again && engram.CodeOf(err) == engram.AlreadyExists: // it came though there was no answer
			return h, nil
		case ctx.Err() != nil && engram.CodeOf(err) != engram.Invalid: // it may have come
			h.giveUp(ctx, r.ID)
			return nil, err
		case engram.CodeOf(err) != engram.Unavailable:
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// giveUp has what a request asked for stop, if it came to the memory, which its caller did not wait for.
func (h *Handle) giveUp(ctx context.Context, request engram.ID) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostStopping)
	defer cancel()
	_ = h.abort(late, request, context.Cause(ctx).Error()) // most often it did not come
}

// freshName returns a name that no other request has.
func freshName(skill string, now engram.Time) string {
	return skill + "-" + strconv.FormatUint(uint64(now)/1000, 36) + strconv.FormatUint(uint64(rand.Uint32()), 36)
}

// Follow returns the execution that is called id, such as one that was begun before the caller was.
func (s *Skills) Follow(id engram.ID) *Handle { return &Handle{ID: id, s: s, caller: "Program"} }

// Wait waits until the execution has ended, and calls each, if it is not nil, with what becomes known of it. NotFound if there is
// no such execution.
func (h *Handle) Wait(ctx context.Context, each func(*Execution)) (*Execution, error) {
	if !h.asked {
		if _, err := h.s.svc.Latest(ctx, h.ID); err != nil {
			return nil, err
		}
	}
	if h.lease > 0 {
		waiting, stop := context.WithCancel(ctx)
		var telling sync.WaitGroup
		defer telling.Wait()
		defer stop()
		telling.Go(func() { h.stay(waiting) })
	}
	sub, err := h.s.svc.Subscribe(ctx, engram.Subscription{
		Patterns: []engram.Pattern{engram.PatternOf(h.ID)}, WithData: true, Start: engram.Start{Kind: engram.StartLast, N: 1},
	})
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	var last engram.Time
	for {
		updates, err := sub.Next(ctx)
		if err != nil {
			return nil, err
		}
		for _, u := range updates {
			if u.Snapshot == nil || u.Snapshot.Time < last {
				continue
			}
			last = u.Snapshot.Time
			e, err := h.s.codec.Execution(h.ID, last, u.Snapshot.Instances)
			if err != nil {
				return nil, err
			}
			if each != nil {
				each(e)
			}
			if e.Status.Ended() {
				return e, nil
			}
		}
	}
}

// stay tells that the caller is there, until ctx ends.
func (h *Handle) stay(ctx context.Context) {
	for ctx.Err() == nil {
		u, err := h.s.codec.CallerUpdate(h.request, engram.Now())
		if err := h.s.commit(ctx, u, err); engram.CodeOf(err) == engram.NotFound { // it has ended
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(h.lease / 4):
		}
	}
}

// Abort asks the execution to stop. It does not wait for that, and does nothing to one that has ended.
func (h *Handle) Abort(ctx context.Context, message string) error { return h.abort(ctx, h.ID, message) }

func (h *Handle) abort(ctx context.Context, of engram.ID, message string) error {
	entity, err := engram.NewID("Skill", "Abort", h.caller, h.ID.Entity())
	if err != nil {
		return err
	}
	u, err := h.s.codec.AbortUpdate(entity, of, h.caller, message, engram.Now())
	return h.s.commit(ctx, u, err)
}

// Err returns why an execution that has ended did not succeed, nil if it did. It is a [*Failure] where that is known.
func (e *Execution) Err() error {
	switch {
	case e.Status == schedule.Succeeded:
		return nil
	case e.Failure != nil && e.Status == schedule.Failed:
		return e.Failure
	}
	return &Failure{Code: engram.Canceled.String(), Stage: e.Skill.Entity(), Message: cmp.Or(e.Message, "it was aborted")}
}

// Run asks for a skill and waits until it has ended. If ctx ends before, the execution is told to stop; Run returns then when it
// has. The error is that of [Skills.Start] or [Execution.Err].
func (s *Skills) Run(ctx context.Context, a Ask) (*Execution, error) {
	h, err := s.Start(ctx, a)
	if err != nil {
		return nil, err
	}
	e, err := h.Wait(ctx, nil)
	if err != nil && ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostStopping)
		defer cancel()
		if err := h.Abort(late, context.Cause(ctx).Error()); err != nil {
			return nil, err
		}
		e, err = h.Wait(late, nil)
	}
	if err != nil {
		return nil, err
	}
	return e, e.Err()
}

// mostStopping bounds how long a caller that has given up waits until what it asked for stands still.
const mostStopping = 30 * time.Second
