package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/due"
)

// Bounds of executions that have not ended, and of providers.
const (
	MaxTasks     = 20_000
	MaxProviders = 10_000
)

// Schedule is what is asked for, runs and stops. The zero value is not usable; see [New]. One goroutine at a time.
type Schedule struct {
	tasks     map[engram.ID]*entry // that have not ended
	waiting   []*entry             // were not called, in the order in which they are served
	users     map[string][]*entry  // of each resource: the active tasks that need it
	providers map[string]*provider
	disabled  map[engram.ID]bool // skills
	timers    due.Timers[any]    // each of a *entry or a *provider
	seq       uint64
	changed   []*entry
	stale     bool // a waiting task may be callable
}

// provider is one that was heard of.
type provider struct {
	name   string
	epoch  uint64
	until  engram.Time   // the end of its lease; 0 is over
	lease  time.Duration // how long it is; 0 is unknown
	fenced bool          // its lease is not renewed any more
	heard  bool          // it has renewed its lease since the schedule began
	tasks  map[*entry]bool
	timer  due.Timer[any]
}

// New returns a schedule without executions.
func New() *Schedule {
	return &Schedule{tasks: map[engram.ID]*entry{}, users: map[string][]*entry{}, providers: map[string]*provider{}, disabled: map[engram.ID]bool{}}
}

// Len returns how many executions have not ended.
func (s *Schedule) Len() int { return len(s.tasks) }

// Task returns an execution that has not ended.
func (s *Schedule) Task(id engram.ID) (Task, bool) {
	e := s.tasks[id]
	if e == nil {
		return Task{}, false
	}
	return e.Task, true
}

// Leased returns how long the lease of a provider is; 0 if it has none, or has not renewed it since the schedule began.
func (s *Schedule) Leased(now engram.Time, provider string) time.Duration {
	p := s.providers[provider]
	if p == nil || p.until <= now {
		return 0
	}
	return p.lease
}

// Next returns when Tick is due, 0 if nothing is to come by itself.
func (s *Schedule) Next() engram.Time { return s.timers.Next() }

// May returns why an execution cannot be added, nil if it can: AlreadyExists if it is there, Exhausted if there are too many,
// NotFound or Canceled if its parent is not there or is to stop.
func (s *Schedule) May(t Task) error {
	if s.tasks[t.ID] != nil {
		return engram.Errorf(engram.AlreadyExists, t.ID.String(), "this execution is under way; give the request another name")
	}
	if len(s.tasks) >= MaxTasks {
		return engram.Errorf(engram.Exhausted, t.ID.String(), "%d executions wait or run; ask again when some have ended", MaxTasks)
	}
	if t.Parent.IsRoot() {
		return nil
	}
	parent := s.tasks[t.Parent]
	if parent == nil {
		return engram.Errorf(engram.NotFound, t.Parent.String(), "the execution that calls %s is not under way", t.ID.Entity())
	}
	if parent.Stop != nil && parent.Stop.Answer != Refused {
		return engram.Errorf(engram.Canceled, t.Parent.String(), "the execution that calls %s is to stop", t.ID.Entity())
	}
	return nil
}

// Ask adds an execution, which waits or is called at once. The error is that of [Schedule.May].
func (s *Schedule) Ask(now engram.Time, t Task) ([]Task, error) {
	if err := s.May(t); err != nil {
		return nil, err
	}
	parent := s.tasks[t.Parent]
	t.Status, t.Called, t.Epoch, t.Stop, t.Asked = Preparing, 0, 0, nil, now
	e := s.add(t, parent)
	s.change(e)
	return s.done(now), nil
}

// add adds a task that was not there.
func (s *Schedule) add(t Task, parent *entry) *entry {
	s.seq++
	e := &entry{Task: t, parent: parent, children: map[*entry]bool{}, seq: s.seq}
	e.timer.Of, e.caller.Of = e, callerOf{e}
	s.hear(t.Asked, e)
	if parent != nil {
		parent.children[e] = true
		e.Priority = max(e.Priority, parent.Priority)
	}
	s.tasks[t.ID] = e
	p := s.provider(t.Provider())
	p.tasks[e] = true
	if e.Called == 0 {
		s.wait(e)
	} else {
		s.use(e)
	}
	return e
}

// callerOf is the caller of a task.
type callerOf struct{ *entry }

// hear notes that the caller of a task was heard.
func (s *Schedule) hear(now engram.Time, e *entry) {
	if e.CallerLease > 0 {
		s.timers.Set(&e.caller, now.Add(e.CallerLease))
	}
}

// Heard notes that the caller of an execution is there.
func (s *Schedule) Heard(now engram.Time, id engram.ID) {
	if e := s.tasks[id]; e != nil {
		s.hear(now, e)
	}
}

// wait has a task wait to be called.
func (s *Schedule) wait(e *entry) {
	at, _ := slices.BinarySearchFunc(s.waiting, e, func(a, b *entry) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	s.waiting = slices.Insert(s.waiting, at, e)
	s.stale = true
	if e.Patience > 0 {
		s.timers.Set(&e.timer, e.Asked.Add(e.Patience))
	}
}

func (s *Schedule) use(e *entry) {
	for _, r := range e.Resources {
		s.users[r] = append(s.users[r], e)
	}
}

// release takes a task from its resources.
func (s *Schedule) release(e *entry) {
	for _, r := range e.Resources {
		s.users[r] = slices.DeleteFunc(s.users[r], func(u *entry) bool { return u == e })
		if len(s.users[r]) == 0 {
			delete(s.users, r)
		}
	}
	s.stale = true
}

// provider returns a provider, which may never have been there.
func (s *Schedule) provider(name string) *provider {
	p := s.providers[name]
	if p == nil {
		p = &provider{name: name, tasks: map[*entry]bool{}}
		p.timer.Of = p
		s.providers[name] = p
	}
	return p
}

// change notes that a task changed.
func (s *Schedule) change(e *entry) {
	if !slices.Contains(s.changed, e) {
		s.changed = append(s.changed, e)
	}
}

// done calls what can be called, and returns what has changed since the last event.
func (s *Schedule) done(now engram.Time) []Task {
	s.dispatch(now)
	var all []Task
	for _, e := range s.changed {
		t := e.Task
		if t.Stop != nil {
			stop := *t.Stop
			t.Stop = &stop
		}
		all = append(all, t)
	}
	s.changed = nil
	return all
}

// dispatch calls waiting tasks.
func (s *Schedule) dispatch(now engram.Time) {
	for s.stale {
		s.stale = false
		s.dispatchOnce(now)
	}
}

func (s *Schedule) dispatchOnce(now engram.Time) {
	taken := map[string]bool{} // resources that a task which is served before waits for
	kept := s.waiting[:0]
	for _, e := range s.waiting {
		if e.Status.Ended() {
			continue
		}
		p := s.providers[e.Provider()]
		if p.until == 0 || p.fenced || !p.heard || s.disabled[e.Skill] {
			kept = append(kept, e)
			continue
		}
		if s.free(now, e, taken) {
			e.Called, e.Epoch = now, p.epoch
			s.use(e)
			s.timers.Set(&e.timer, 0)
			if e.Limit > 0 {
				s.timers.Set(&e.timer, now.Add(e.Limit))
			}
			s.change(e)
			continue
		}
		for _, r := range e.Resources {
			taken[r] = true
		}
		kept = append(kept, e)
	}
	clear(s.waiting[len(kept):])
	s.waiting = kept
}

// free reports whether a task may have all of its resources now. Where only tasks hold them that may be preempted by it, these
// are told to stop.
func (s *Schedule) free(now engram.Time, e *entry, taken map[string]bool) bool {
	var holders []*entry
	for _, r := range e.Resources {
		if taken[r] && !slices.ContainsFunc(s.users[r], func(u *entry) bool { return e.within(u) }) {
			return false
		}
		for _, u := range s.users[r] {
			if !s.shares(e, u, r) {
				holders = append(holders, u)
			}
		}
	}
	if len(holders) == 0 {
		return true
	}
	for _, u := range holders {
		if e.Rehearsal || !u.Preemptible || u.Priority >= e.Priority || u.Stop != nil && u.Stop.Answer == Refused {
			return false
		}
	}
	for _, u := range holders {
		s.stop(now, u, Stop{Reason: Preempted, By: e.ID, Message: e.Skill.Entity() + " has a higher priority"})
	}
	return false
}

// shares reports whether a task may use a resource beside one that uses it: what called it uses it, and what that called.
func (s *Schedule) shares(e, u *entry, resource string) bool {
	for p := e.parent; p != nil; p = p.parent {
		if u.within(p) && slices.Contains(s.users[resource], p) {
			return true
		}
	}
	return false
}

// end ends a task. What it called is told to stop.
func (s *Schedule) end(now engram.Time, e *entry, status Status) {
	e.Status = status
	s.change(e)
	s.timers.Set(&e.timer, 0)
	s.timers.Set(&e.caller, 0)
	delete(s.tasks, e.ID)
	delete(s.providers[e.Provider()].tasks, e)
	s.release(e)
	for _, c := range inOrder(e.children) {
		s.stop(now, c, Stop{Reason: ParentEnded, By: e.ID})
	}
	if e.parent != nil {
		delete(e.parent.children, e)
	}
}

// inOrder returns tasks in the order in which they were asked for.
func inOrder(all map[*entry]bool) []*entry {
	list := make([]*entry, 0, len(all))
	for e := range all {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	return list
}

// stop has a task stop, and what it called. One that was not called ends at once.
func (s *Schedule) stop(now engram.Time, e *entry, why Stop) {
	if e.Status == Stopping {
		if e.next == nil && why.Reason != e.Stop.Reason || e.next != nil && why.Reason.weight() > e.next.Reason.weight() {
			e.next = &why
		}
		return
	}
	if e.Status.Ended() {
		return
	}
	for _, c := range inOrder(e.children) {
		s.stop(now, c, Stop{Reason: ParentEnded, By: e.ID})
	}
	if !e.active() {
		why.Answer = Confirmed
		e.Stop = &why
		s.end(now, e, ended(why.Reason))
		return
	}
	why.Deadline = now.Add(max(e.StopWithin, time.Millisecond))
	e.Stop, e.Status = &why, Stopping
	s.timers.Set(&e.timer, why.Deadline)
	s.change(e)
}

// ended returns the status of what was stopped for a reason.
func ended(r Reason) Status {
	if r.fails() {
		return Failed
	}
	return Aborted
}
