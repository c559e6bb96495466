package executor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// Config is what an Executor is made of.
type Config struct {
	// Resolve returns a request's parameters as the provider gets them: defaults filled in,
	// names resolved, checked. An error that is a *skill.Failure is the execution's.
	Resolve func(d *skill.Description, parameters any) (any, error)
	// Claimed reports whether the memory has an execution of that ID that the executor does
	// not know (any more), since it has ended.
	Claimed func(execution engram.ID) bool
	// Began is when the memory server began, Grace how long from then on providers are waited
	// for that were there before.
	Began engram.Time
	Grace time.Duration
}

// Action is something to carry out: [Write], [Tell], [Fence], [Watch] or [Unwatch].
type Action interface{ action() }

// Write says to commit a snapshot of an execution, and where Transition is not nil that as
// well, for the entity Of. What is told later must not be told before it is written.
type Write struct {
	Execution  skill.Execution
	Transition *skill.Transition
	Of         engram.ID // Skill/Transition/<provider>/<skill>
}

// Tell says to commit an order for a provider, for the entity Call.
type Tell struct {
	Call  engram.ID
	Order skill.Order
}

// Fence says not to take anything any more from runs of the provider up to the epoch.
type Fence struct {
	Provider string
	Epoch    int64
}

// Watch says to evaluate conditions now and whenever they may have changed, and to tell
// [Executor.Conditions], until Unwatch.
type Watch struct {
	Execution  engram.ID
	Conditions []skill.Requirement
}

// Unwatch ends a Watch.
type Unwatch struct{ Execution engram.ID }

func (Write) action()   {}
func (Tell) action()    {}
func (Fence) action()   {}
func (Watch) action()   {}
func (Unwatch) action() {}

// Unmet is a condition that does not hold.
type Unmet struct {
	Name, Value string
	IDs         []engram.ID
}

// Executor decides. It is used by one goroutine. Its methods take the present time, which
// never runs backwards for it, and return what is to be done, in order.
type Executor struct {
	cfg Config
	now engram.Time
	out []Action
	roster
	active   map[engram.ID]*execution // claimed and not ended
	list     []*execution             // the same, in the order they were claimed
	orphans  []*orphan
	aborts   map[engram.ID]skill.AbortOrder // of requests that did not come yet
	abortsIn []engram.ID                    // their order
	written  map[engram.ID]engram.Time      // the newest transition, by its entity
}

// roster is who offers what.
type roster struct {
	providers map[string]*provider
	offers    map[string]map[string]*offer // by skill, then provider
}

// provider is what is known of one.
type provider struct {
	name      string
	epoch     int64
	lease     time.Duration
	inService bool
	heard     engram.Time
	fenced    int64 // epochs up to it
}

func (p *provider) serving() bool { return p != nil && p.inService && p.epoch > p.fenced }

// offer is a skill of a provider.
type offer struct {
	provider string
	desc     *skill.Description // nil if only a switch of it is known
	disabled bool
	switched engram.Time
	switches string // the reason
}

// orphan holds resources of what may still move although its execution has ended, or waits to
// be begun again.
type orphan struct {
	execution engram.ID
	provider  string
	epoch     int64
	resources []string
	within    time.Duration // what a standstill may take
	until     engram.Time
}

// execution is one that has not ended.
type execution struct {
	skill.Execution
	req      skill.Request
	offer    *offer // that the parameters were resolved for
	parent   *execution
	children []*execution

	met      bool // the conditions hold
	watching bool
	unmet    []Unmet

	callerHeard engram.Time
	callerGone  bool            // noticed
	timedOut    bool            // noticed
	refused     map[string]bool // reasons for which the provider has refused to stop
	failure     *skill.Failure  // why it waits, as it will be told if it waits too long
	orphan      *orphan         // its attempt before
	ending      func()          // ends it when its children have ended
}

func (x *execution) holds() bool { return x.Status == skill.Running || x.Status == skill.Stopping }
func (x *execution) waits() bool { return x.Status == skill.Preparing }

// within reports whether x is a, or was called by it, however deep.
func (x *execution) within(a *execution) bool {
	for ; x != nil; x = x.parent {
		if x == a {
			return true
		}
	}
	return false
}

// maxAborts is how many aborts of requests that did not come are remembered.
const maxAborts = 10_000

// New returns an executor that knows nothing yet.
func New(c Config) *Executor {
	return &Executor{
		cfg: c, now: c.Began,
		roster: roster{providers: map[string]*provider{}, offers: map[string]map[string]*offer{}},
		active: map[engram.ID]*execution{}, aborts: map[engram.ID]skill.AbortOrder{}, written: map[engram.ID]engram.Time{},
	}
}

// at begins an event.
func (e *Executor) at(now engram.Time) { e.now = max(e.now, now) }

// done ends an event: what has become due is done, and what can start starts.
func (e *Executor) done() []Action {
	e.expire()
	e.startAll()
	out := e.out
	e.out = nil
	return out
}

func (e *Executor) do(a Action) { e.out = append(e.out, a) }

// Advance tells that time has passed.
func (e *Executor) Advance(now engram.Time) []Action {
	e.at(now)
	return e.done()
}

// Describe tells of a skill that a provider offers.
func (e *Executor) Describe(now engram.Time, provider string, d skill.Description) []Action {
	e.at(now)
	e.describe(provider, d)
	return e.done()
}

func (e *roster) describe(provider string, d skill.Description) {
	e.offer(provider, d.Name).desc = &d
}

func (e *roster) offer(provider, name string) *offer {
	of := e.offers[name]
	if of == nil {
		of = map[string]*offer{}
		e.offers[name] = of
	}
	if of[provider] == nil {
		of[provider] = &offer{provider: provider}
	}
	return of[provider]
}

// Switch tells that a skill was enabled or disabled. What runs of a disabled skill is stopped.
func (e *Executor) Switch(now engram.Time, s skill.Switch) []Action {
	e.at(now)
	e.switched(s)
	return e.done()
}

func (e *Executor) switched(s skill.Switch) {
	o := e.offer(s.Skill.ProviderSegment(), s.Skill.Entity())
	if s.Timestamp < o.switched {
		return
	}
	o.disabled, o.switched, o.switches = !s.Enabled, s.Timestamp, s.Reason
	if s.Enabled {
		return
	}
	for _, x := range slices.Clone(e.list) {
		if x.holds() && x.offer == o {
			e.stop(x, skill.AbortOrder{Reason: skill.ReasonDisabled, By: s.By, Message: s.Reason})
		}
	}
}

// Provider tells that a provider lives, or ends orderly.
func (e *Executor) Provider(now engram.Time, name string, s skill.ProviderState) []Action {
	e.at(now)
	p := e.provider(name)
	if s.Epoch < p.epoch || s.Epoch <= p.fenced {
		return e.done()
	}
	if s.Epoch > p.epoch {
		e.lose(p, "began anew")
		// Who begins anew has the hardware in its hands.
		e.orphans = slices.DeleteFunc(e.orphans, func(o *orphan) bool { return o.provider == name && o.epoch < s.Epoch })
	}
	e.hear(p, s)
	if !s.InService {
		e.lose(p, "has ended")
	}
	return e.done()
}

func (e *Executor) hear(p *provider, s skill.ProviderState) {
	p.epoch, p.lease, p.heard, p.inService = s.Epoch, s.Lease, e.now, s.InService
	if p.lease <= 0 {
		p.lease = skill.DefaultLease
	}
}

func (e *roster) provider(name string) *provider {
	p := e.providers[name]
	if p == nil {
		p = &provider{name: name, lease: skill.DefaultLease}
		e.providers[name] = p
	}
	return p
}

// lose ends what a provider's present run executes: nobody knows whether it stands still.
func (e *Executor) lose(p *provider, what string) {
	p.inService = false
	lost := false
	for _, x := range slices.Clone(e.list) {
		if !x.holds() || x.ending != nil || x.SkillProvider != p.name || x.ProviderEpoch != p.epoch {
			continue
		}
		lost = true
		e.orphaned(x, p.heard.Add(p.lease+x.stopWithin()))
		if x.Status == skill.Stopping {
			e.endStopped(x, skill.Unconfirmed)
			continue
		}
		e.fail(x, &skill.Failure{Code: skill.CodeLostProvider, Retry: skill.RetryLater,
			Message: fmt.Sprintf("the provider %s %s", p.name, what)})
	}
	if lost {
		e.fence(p, p.epoch)
	}
}

func (e *Executor) fence(p *provider, epoch int64) {
	if epoch > p.fenced {
		p.fenced = epoch
		e.do(Fence{p.name, epoch})
	}
}

func (e *Executor) orphaned(x *execution, until engram.Time) *orphan {
	o := &orphan{execution: x.ID, provider: x.SkillProvider, epoch: x.ProviderEpoch, resources: x.Resources, within: x.stopWithin(), until: until}
	e.orphans = append(e.orphans, o)
	return o
}

// Abort tells that a request shall not be executed, or not any further.
func (e *Executor) Abort(now engram.Time, a skill.AbortOrder) []Action {
	e.at(now)
	id, err := executionOf(a.Request)
	if err != nil {
		return e.done()
	}
	if x := e.active[id]; x != nil {
		e.abort(x, a)
	} else if _, again := e.aborts[id]; !again && !e.cfg.Claimed(id) {
		e.remember(id, a)
	}
	return e.done()
}

func (e *Executor) remember(id engram.ID, a skill.AbortOrder) {
	e.aborts[id] = a
	e.abortsIn = append(e.abortsIn, id)
	if len(e.abortsIn) > maxAborts {
		delete(e.aborts, e.abortsIn[0])
		e.abortsIn = slices.Delete(e.abortsIn, 0, 1)
	}
}

// abort stops what runs, and ends what does not run yet.
func (e *Executor) abort(x *execution, a skill.AbortOrder) {
	switch {
	case x.holds():
		e.stop(x, a)
	default:
		x.Stop = &skill.Stop{Reason: a.Reason, Message: a.Message, By: a.By, Asked: e.now}
		answer := skill.Confirmed
		if x.orphan != nil && slices.Contains(e.orphans, x.orphan) {
			answer = skill.Unconfirmed
		}
		e.endStopped(x, answer)
	}
}

// stop tells the provider to stop, and the children's.
func (e *Executor) stop(x *execution, a skill.AbortOrder) {
	if x.Status == skill.Stopping || x.ending != nil {
		return
	}
	x.Stop = &skill.Stop{Reason: a.Reason, Message: a.Message, By: a.By, Asked: e.now, Deadline: e.now.Add(x.stopWithin())}
	e.enter(x, skill.Stopping, stopSentence(x.Stop))
	e.tellStop(x)
	e.abortChildren(x, a.By)
}

func (e *Executor) tellStop(x *execution) {
	e.do(Tell{callOf(x.SkillProvider, x.ID), skill.Order{
		Timestamp: x.Timestamp, Execution: x.ID, Skill: x.Skill.Entity(), Action: skill.StopAction, ProviderEpoch: x.ProviderEpoch,
		Attempt: x.Attempt, Deadline: x.Stop.Deadline, Reason: x.Stop.Reason, Caller: x.Caller, Cause: x.Cause,
	}})
}

func (e *Executor) abortChildren(x *execution, by string) {
	for _, c := range slices.Clone(x.children) {
		e.abort(c, skill.AbortOrder{Reason: skill.ReasonParent, By: by, Message: "what called it ends"})
	}
}

func stopSentence(s *skill.Stop) string {
	return strings.TrimSuffix("stopping: "+cmp.Or(s.Message, s.Reason), ": ")
}

// stopWithin returns how long a stop of x and of what it called may take.
func (x *execution) stopWithin() time.Duration {
	own := skill.DefaultStopTimeout
	if x.offer != nil {
		own = x.offer.desc.StopWithin()
	}
	var most time.Duration
	for _, c := range x.children {
		most = max(most, c.stopWithin())
	}
	return own + most
}

// Report tells what a provider says. What is said of another run or attempt than is asked
// counts for nothing, but that an orphan stands still.
func (e *Executor) Report(now engram.Time, provider string, r skill.Report) []Action {
	e.at(now)
	still := r.Kind == skill.ReportSucceeded || r.Kind == skill.ReportFailed || r.Kind == skill.ReportStopped
	if still {
		e.orphans = slices.DeleteFunc(e.orphans, func(o *orphan) bool {
			return o.execution == r.Execution && o.provider == provider && o.epoch == r.ProviderEpoch
		})
	}
	x := e.active[r.Execution]
	if x == nil || !x.holds() || x.ending != nil || x.SkillProvider != provider || x.ProviderEpoch != r.ProviderEpoch ||
		r.Attempt != 0 && r.Attempt != x.Attempt {
		return e.done()
	}
	if r.Intermediate != nil {
		x.Intermediate = r.Intermediate
	}
	switch r.Kind {
	case skill.ReportAccepted, skill.ReportRunning:
		x.Progress, x.Message = max(0, min(r.Progress, 1)), r.Message
		e.write(x, nil)
	case skill.ReportSucceeded:
		x.Result = r.Result
		if x.Stop != nil && x.Stop.Answer == skill.Pending {
			x.Stop.Answer = skill.Confirmed
		}
		x.Progress = 1
		e.end(x, skill.Succeeded, r.Message)
	case skill.ReportFailed:
		if r.Failure == nil {
			r.Failure = &skill.Failure{Code: skill.CodeProvider, Message: r.Message}
		}
		if x.Status == skill.Stopping {
			x.Failure = r.Failure
			e.endStopped(x, skill.Confirmed)
			break
		}
		e.fail(x, r.Failure)
	case skill.ReportStopped:
		if x.Status == skill.Stopping {
			e.endStopped(x, skill.Confirmed)
			break
		}
		e.fail(x, &skill.Failure{Code: skill.CodeLostProvider, Retry: skill.RetryLater,
			Message: cmp.Or(r.Message, fmt.Sprintf("the provider %s stopped it by itself", provider))})
	case skill.ReportStopRefused:
		if x.Status != skill.Stopping {
			break
		}
		x.Stop.Answer = skill.Refused
		if x.refused == nil {
			x.refused = map[string]bool{}
		}
		x.refused[x.Stop.Reason] = true
		e.enter(x, skill.Running, cmp.Or(r.Message, "the provider refuses to stop"))
	}
	return e.done()
}

// Conditions tells which of the watched conditions of an execution do not hold.
func (e *Executor) Conditions(now engram.Time, id engram.ID, unmet []Unmet) []Action {
	e.at(now)
	if x := e.active[id]; x != nil && x.watching {
		x.unmet, x.met = unmet, len(unmet) == 0
	}
	return e.done()
}

// Next returns when [Executor.Advance] is due; false if only events count.
func (e *Executor) Next() (next engram.Time, ok bool) {
	at := func(t engram.Time) {
		if !ok || t < next {
			next, ok = t, true
		}
	}
	for _, p := range e.providers {
		if p.inService {
			at(p.heard.Add(p.lease))
		}
	}
	for _, x := range e.list {
		if x.ending != nil {
			continue
		}
		if x.Status == skill.Stopping {
			at(x.Stop.Deadline)
		} else if x.Deadline != 0 && !x.timedOut {
			at(x.Deadline)
		}
		if x.req.CallerLease > 0 && !x.callerGone {
			at(x.callerHeard.Add(x.req.CallerLease))
		}
		if x.waits() && e.now < e.cfg.grace() {
			at(e.cfg.grace())
		}
	}
	for _, o := range e.orphans {
		at(o.until)
	}
	return next, ok
}

// grace returns until when providers are waited for that were there before.
func (c *Config) grace() engram.Time { return c.Began.Add(c.Grace) }

// expire does what is due.
func (e *Executor) expire() {
	for _, name := range sortedKeys(e.providers) {
		if p := e.providers[name]; p.inService && e.now >= p.heard.Add(p.lease) {
			e.lose(p, fmt.Sprintf("was not heard of for %s", p.lease))
		}
	}
	for _, o := range slices.Clone(e.orphans) {
		e.overdue(o)
	}
	for _, x := range slices.Clone(e.list) {
		if e.active[x.ID] != x || x.ending != nil {
			continue
		}
		if x.req.CallerLease > 0 && !x.callerGone && e.now >= x.callerHeard.Add(x.req.CallerLease) {
			x.callerGone = true
			if x.onCallerGone() == skill.AbortWhenGone {
				e.abort(x, skill.AbortOrder{Reason: skill.ReasonCallerGone, Message: fmt.Sprintf("nothing was heard of %s for %s", x.Caller, x.req.CallerLease)})
			}
		}
		switch {
		case e.active[x.ID] != x:
		case x.Status == skill.Stopping:
			if e.now >= x.Stop.Deadline {
				e.silent(x)
			}
		case x.Deadline == 0 || x.timedOut || e.now < x.Deadline:
		case x.holds():
			x.timedOut = true
			e.stop(x, skill.AbortOrder{Reason: skill.ReasonTimeout, Message: "it takes longer than it may"})
		default:
			f := skill.Failure{Code: skill.CodeTimeout, Message: "it did not come to run in time", Retry: skill.RetryLater}
			if x.failure != nil {
				f = *x.failure
				if f.Code != skill.CodeOutOfService && f.Code != skill.CodeDisabled {
					f.Code = skill.CodeTimeout
				}
				f.Message = "it did not come to run in time: " + f.Message
			}
			e.fail(x, &f)
		}
	}
}

// overdue drops an orphan that has stopped by itself by now. If its provider lives and has not
// said so, that is not believed any more, and has to stop by itself from now on.
func (e *Executor) overdue(o *orphan) {
	if e.now < o.until {
		return
	}
	if p := e.provider(o.provider); p.epoch == o.epoch {
		o.until = p.heard.Add(p.lease + o.within)
		if p.serving() {
			e.fence(p, p.epoch)
			e.lose(p, "did not answer and is not believed any more")
		}
	}
	if e.now >= o.until {
		e.orphans = slices.DeleteFunc(e.orphans, func(other *orphan) bool { return other == o })
	}
}

func (x *execution) onCallerGone() string {
	s := x.req.OnCallerGone
	if s == "" && x.offer != nil {
		s = x.offer.desc.OnCallerGone
	}
	return s
}

// silent ends an execution whose provider has not answered an order to stop, and fences that.
func (e *Executor) silent(x *execution) {
	p := e.provider(x.SkillProvider)
	e.orphaned(x, e.now.Add(p.lease+x.stopWithin()))
	epoch := x.ProviderEpoch
	e.endStopped(x, skill.Unconfirmed)
	e.fence(p, epoch)
	if p.epoch == epoch {
		e.lose(p, "did not answer and is not believed any more")
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// executionOf returns the execution of a request, by the ID of either, or of a snapshot.
func executionOf(id engram.ID) (engram.ID, error) {
	return engram.NewID(skill.Memory, "Execution", id.ProviderSegment(), id.Entity())
}

func callOf(provider string, execution engram.ID) engram.ID {
	id, err := engram.NewID(skill.Memory, "Call", provider, callName(execution))
	if err != nil {
		panic(err) // only what has such a name is started
	}
	return id
}

func callName(execution engram.ID) string {
	return execution.ProviderSegment() + "." + execution.Entity()
}
